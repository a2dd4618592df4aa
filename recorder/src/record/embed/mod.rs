//! `--embed`: what travels in the recording, so that names need nothing of this machine.
//!
//! | kind | what | when it is read |
//! |---|---|---|
//! | `kernel` | functions of the kernel that samples hit | with every checkpoint |
//! | `jit` | what processes say of the code that they made: perf maps, jitdumps | when the recording ends |
//! | `unwind` | rules by which callers are found, of files that samples hit | after it, see [`hit_files`] |
//! | `symbols` | symbol tables of those that are of no distribution, or have no build-id | with these |
//!
//! Constraint: a reader treats all of it as it treats a file that somebody gives it. Its build-id decides.

mod elf_parts;
mod embedding;
pub mod hit_files;
mod process_code;

use anyhow::{Result, bail};
use clap::ValueEnum;

use super::output_options::OutputPlan;
pub use elf_parts::ElfPart;
pub use embedding::{Complete, Embedding};
pub use process_code::{ProcessCode, SumOfCode};

/// What may travel in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EmbedKind {
    /// Functions of the kernel that samples hit
    Kernel,
    /// Perf maps and jitdumps of sampled processes
    Jit,
    /// Unwind tables of files that samples hit
    Unwind,
    /// Symbols of those outside of /usr, /lib and /bin, or without a build-id
    Symbols,
    /// Nothing
    None,
}

/// Where it can be embedded.
pub fn checked(asked: &[EmbedKind], output: &OutputPlan) -> Result<Vec<EmbedKind>> {
    let kinds: Vec<EmbedKind> =
        asked.iter().copied().filter(|kind| *kind != EmbedKind::None).collect();
    if kinds.len() < asked.len() && !kinds.is_empty() {
        bail!("--embed: none goes with nothing else");
    }
    if !parts_of_files(&kinds).is_empty() && *output == OutputPlan::Stream {
        bail!("--embed: unwind and symbols are added to a file that has ended; leave out -o -");
    }
    Ok(kinds)
}

/// What is taken of the files that samples hit.
pub fn parts_of_files(kinds: &[EmbedKind]) -> Vec<ElfPart> {
    let part = |kind: &EmbedKind| match kind {
        EmbedKind::Unwind => Some(ElfPart::Unwind),
        EmbedKind::Symbols => Some(ElfPart::Symbols),
        EmbedKind::Kernel | EmbedKind::Jit | EmbedKind::None => None,
    };
    kinds.iter().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn parts_of_files_need_a_file_that_they_are_added_to() {
        let kinds = [EmbedKind::Jit, EmbedKind::Symbols];
        let file = OutputPlan::File(PathBuf::from("perf.data"));
        assert_eq!(checked(&kinds, &file).expect("both"), kinds);
        assert!(checked(&kinds, &OutputPlan::Stream).unwrap_err().to_string().contains("-o -"));
        assert!(checked(&[EmbedKind::Jit], &OutputPlan::Stream).is_ok());
    }
}
