#!/bin/sh
# Makes a small project to try the example on, and prints its path. An argument names another directory.
set -eu
dir=${1:-.holdpoint/examples/dependency-update}
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
cat >deps.txt <<'EOF'
parser 1.1.0
renderer 2.4.1
store 0.9.3
EOF
cat >newest.txt <<'EOF'
parser 1.2.0
renderer 3.0.0
store 0.9.3
EOF
cat >outdated.sh <<'EOF'
#!/bin/sh
# What the index has that deps.txt does not.
grep -vxFf deps.txt newest.txt || echo nothing
EOF
cat >test.sh <<'EOF'
#!/bin/sh
# The program still draws with the interface of renderer 2.
if grep -q '^renderer 3' deps.txt; then
  echo 'draw: no such function in renderer 3'
  exit 1
fi
echo ok
EOF
chmod +x outdated.sh test.sh
pwd
