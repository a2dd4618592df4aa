//! `perftab buildid kcore`: the code of a kernel and its modules as it runs, into the cache.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use perftab_perfdata::format::BuildId;
use perftab_perfdata::format::elf_note::{Endian, build_id_in_notes, build_id_of_elf};

use super::{Verdicts, cache};
use crate::buildid_cache::Kcore;
use crate::cli::KcoreArgs;
use crate::file_source::FileSource;
use crate::output::Outcome;

/// Copies what is in a kcore of the kernel's functions, with `kallsyms` and `modules` beside it.
pub fn run(args: &KcoreArgs) -> anyhow::Result<Outcome> {
    let cache = cache(&args.cache)?;
    let path = if args.from.is_dir() { args.from.join("kcore") } else { args.from.clone() };
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read(&path).with_context(|| path.display().to_string())
    };
    let unreadable = || match path == Path::new("/proc/kcore") {
        true => format!("{} (needs root, and a kernel that has it)", path.display()),
        false => path.display().to_string(),
    };
    let kcore = Kcore {
        memory: File::open(&path).with_context(unreadable)?,
        kallsyms: read("kallsyms")?,
        modules: read("modules")?,
    };
    let Some(id) = kernel_of(&folder, &kcore)? else {
        bail!(
            "{}: cannot tell which kernel it is; sys/kernel/notes must be beside its folder",
            path.display()
        );
    };
    let mut verdicts = Verdicts::new();
    match cache.store_kcore(id, &kcore, args.force) {
        Ok(_) => verdicts.ok(id, "[kernel.kcore]")?,
        Err(error) => verdicts.fail(id, "[kernel.kcore]", error)?,
    }
    verdicts.finish("kernels were not stored", Outcome::Complete)
}

/// By the notes in the folder that plays /sys, else by a note in the file.
fn kernel_of(folder: &Path, kcore: &Kcore) -> anyhow::Result<Option<BuildId>> {
    let notes = match folder == Path::new("/proc") {
        true => PathBuf::from("/sys/kernel/notes"),
        false => folder.join("../sys/kernel/notes"),
    };
    let by_notes = fs::read(notes).ok().and_then(|notes| build_id_in_notes(&notes, Endian::NATIVE));
    let source = FileSource::new(kcore.memory.try_clone()?)?;
    Ok(by_notes.or_else(|| build_id_of_elf(&source)))
}
