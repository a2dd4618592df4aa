#!/bin/sh
# The workload of `cargo xtask demo`, some seconds long: a program of ours with debug information,
# and a pipeline of the system's.  demo.sh TEXTSTAT
set -eu
textstat=$1
"$textstat" study 6000000 20250101 &
"$textstat" words 3000000 42 | LC_ALL=C sort | uniq -c | LC_ALL=C sort -rn | gzip -9 | wc -c
"$textstat" study 4000000 7
wait
