#!/usr/bin/env bash
# price.sh NET VAT: the gross price of NET cents at VAT percent, in cents, rounded to the nearest cent.
set -euo pipefail

net=$1
vat=$2
echo $(( net * (100 + vat) / 100 ))
