//! A program of very many functions that call each other this way and that: its recordings hold
//! more call nodes and names than fit into most links.

use std::fmt::Write;

const WHAT: [&str; 24] = [
    "parse", "flush", "gather", "resize", "lookup", "insert", "rotate", "encode", "verify",
    "split", "merge", "copy", "scan", "reserve", "publish", "schedule", "compare", "prepare",
    "release", "match", "collect", "rewrite", "update", "visit",
];
const OF: [&str; 40] = [
    "header", "bucket", "token", "window", "socket", "buffer", "record", "segment", "packet",
    "cursor", "column", "vertex", "symbol", "filter", "channel", "worker", "session", "journal",
    "region", "matrix", "pixel", "glyph", "clause", "shard", "frame", "branch", "digest", "stream",
    "bitmap", "kernel", "lease", "mirror", "domain", "ticket", "volume", "anchor", "needle",
    "ledger", "orbit", "prism",
];

/// Its source in C. Run, it works for so many milliseconds of processor time.
pub fn source(milliseconds: u32) -> String {
    let names: Vec<String> =
        OF.iter().flat_map(|of| WHAT.iter().map(move |what| format!("{what}_{of}"))).collect();
    let mut source = String::from(
        "#include <time.h>\n\
         static volatile unsigned long sink;\n\
         static unsigned long random = 88172645463325252;\n\
         static unsigned long next(void) {\n\
           random ^= random << 13; random ^= random >> 7; random ^= random << 17;\n\
           return random;\n\
         }\n\
         #define WORK for (int i = 0; i < 2000; i++) sink += i;\n",
    );
    for name in &names {
        let _ = writeln!(source, "void {name}(int depth);");
    }
    for (index, name) in names.iter().enumerate() {
        // Some are called far more often than others.
        let callee = |step: usize| &names[(index * 7 + step * step * 31 + 1) % names.len()];
        let calls: String = (0..5)
            .map(|step| format!("case {step}: {}(depth - 1); break;\n", callee(step)))
            .collect();
        let _ = writeln!(
            source,
            "__attribute__((noinline)) void {name}(int depth) {{\n\
             WORK if (depth > 0) switch (next() % 7 % 5) {{\n{calls}}} WORK\n}}"
        );
    }
    let _ = writeln!(
        source,
        "int main(void) {{\n\
         while (clock() < {milliseconds} * (CLOCKS_PER_SEC / 1000)) {}(20);\n\
         return 0;\n}}",
        names[0]
    );
    source
}
