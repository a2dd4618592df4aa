#!/bin/sh
# The workload that `cargo xtask bench record` walks stacks of, until it is ended: a C compiler beside a Rust build from
# nothing, whose stacks are deep.
#
#   build.sh FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
mkdir -p "$folder"
while :; do gcc -O2 -g -c -o "$folder/textstat.o" "$here/textstat.c"; done &
cd "$here/../.."
while :; do
  rm -rf "$folder/target"
  cargo build --quiet --offline --locked --release -p perftab-views --target-dir "$folder/target"
done
