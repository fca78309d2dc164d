#!/usr/bin/env bash
# test.sh checks price.sh. Its exit status is the number of failures.
set -uo pipefail
cd "$(dirname "$0")"

failed=0 checked=0

check() {
  local got
  checked=$((checked + 1))
  got=$(bash price.sh "$1" "$2")
  if [ "$got" = "$3" ]; then
    echo "ok    $1 cents at $2 % is $3"
  else
    echo "FAIL  $1 cents at $2 %: want $3, got $got"
    failed=$((failed + 1))
  fi
}

check 1000 19 1190
check 100 7 107
check 999 19 1189
check 50 7 54

echo "$failed of $checked failed"
exit "$failed"
