#!/bin/sh
# Makes the directory that the agent keeps its notes in, and prints its path. An argument names another one.
set -eu
dir=${1:-.holdpoint/examples/page-watch}
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
echo 'All systems work.' >seen.txt
pwd
