//! `perftab version`.

use std::io::Write;

use crate::cli::VersionArgs;
use crate::output::{Outcome, Results};
use crate::page;

/// Prints the version, and what this build can do, in the form of `perf version --build-options`.
pub fn run(args: &VersionArgs) -> anyhow::Result<Outcome> {
    let mut results = Results::new();
    writeln!(results, "perftab version {}", env!("CARGO_PKG_VERSION"))?;
    if args.build_options {
        let options = [
            ("page", page::is_there(), "the viewer: perftab view, export --to html"),
            ("dwarf", true, "inline functions, source lines, unwinding"),
            ("debuginfod", true, "names from servers"),
            ("zlib", true, "recordings and debug information in gzip"),
            ("lzma", true, "the same in xz"),
            ("zstd", true, "the same in zstd, and perf record -z"),
            ("jitdump", true, "code that is made at run time"),
            ("libunwind", false, "stacks are unwound by perftab itself"),
            ("bpf", false, "no BPF programs are loaded"),
        ];
        for (name, is_on, what) in options {
            let state = if is_on { "on " } else { "OFF" };
            writeln!(results, "{name:>22}: [ {state} ]  # {what}")?;
        }
    }
    results.flush()?;
    Ok(Outcome::Complete)
}
