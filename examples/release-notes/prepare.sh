#!/bin/sh
# Makes a small repository to try the example on, and prints its path. An argument names another directory.
set -eu
dir=${1:-.holdpoint/examples/release-notes}
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
{
  git init -q -b main .
  git config user.name example
  git config user.email example@localhost
  git config commit.gpgsign false
  printf '# Changes\n\n## 1.0.0\n\n- The first release.\n' >CHANGES.md
  git add CHANGES.md
  git commit -q -m 'First release'
  git tag v1.0.0
  for change in 'Prices in Swiss francs' 'Print the basket as JSON' 'Round prices to the nearest cent' 'Tests run in parallel'; do
    git commit -q --allow-empty -m "$change"
  done
} >&2
pwd
