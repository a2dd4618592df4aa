#!/bin/sh
# The workload of `cargo xtask bench`: ROUNDS of native code with and without frame pointers, a
# compiler, an interpreter and a just-in-time compiler, in many short processes.
#
#   bench.sh TEXTSTAT ROUNDS
set -eu
here=$(cd "$(dirname "$0")" && pwd)
textstat=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 143' TERM
round=0
while [ "$round" -lt "$2" ]; do
  "$here/demo.sh" "$textstat"
  for level in 1 2 3; do
    gcc "-O$level" -g -c -o "$scratch/textstat.o" "$here/textstat.c"
    objdump -d --no-show-raw-insn "$scratch/textstat.o" | grep -c call
  done
  perl -e 'my %h; for my $i (1..600000) { $h{($i * 7919) % 50021} .= "x" } print scalar(keys %h), "\n"'
  node -e 'const a=[]; for (let i=0;i<60000;i++) a.push({k:i*7919%50021,s:"x".repeat(i%60)});
           for (let j=0;j<4;j++) console.log(JSON.parse(JSON.stringify(a)).sort((p,q)=>p.k-q.k).length)'
  round=$((round + 1))
done
