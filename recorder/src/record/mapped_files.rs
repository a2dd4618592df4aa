//! What became of mapped files by the end of the recording.
//!
//! Those that have a build-id in their mappings need nothing but a warning if another build is there
//! now. What the others are, `identify.rs` finds out.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::SystemTime;

use perftab_perfdata::format::build_id::BuildId;
use perftab_perfdata::format::elf_note::build_id_of_elf;
use perftab_perfdata::format::write::CpuMode;

use super::identify::CLOCK_TICK;
use super::tally::Tally;
use crate::file_source::FileSource;
use crate::images::answering;
use crate::images::local::open_regular;
use crate::late_ids::changed;

/// Paths that now lead to another build than the one that ran. Only a file that was written to
/// since the recording began is opened.
pub fn changed_since(began: SystemTime, tally: &Tally) -> BTreeSet<Vec<u8>> {
    let began = began.checked_sub(CLOCK_TICK).unwrap_or(began);
    let mut recorded: BTreeMap<Vec<u8>, Vec<BuildId>> = BTreeMap::new();
    for (path, id, mode) in tally.mapped_files() {
        if mode == CpuMode::User && path.starts_with(b"/") {
            recorded.entry(path).or_default().push(id);
        }
    }
    let is_another = |path: &[u8], ids: &[BuildId]| {
        answering::metadata(path_of(path)).is_some_and(|metadata| changed(&metadata) >= began)
            && regular_file(path)
                .is_some_and(|(file, _)| build_id(file).is_none_or(|now| !ids.contains(&now)))
    };
    recorded.retain(|path, ids| is_another(path, ids));
    recorded.into_keys().collect()
}

/// A path as it was recorded.
pub fn path_of(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

/// Only files have notes.
pub fn regular_file(path: &[u8]) -> Option<(File, Metadata)> {
    let file = open_regular(path_of(path))?;
    let metadata = file.metadata().ok().filter(Metadata::is_file)?;
    Some((file, metadata))
}

fn build_id(file: File) -> Option<BuildId> {
    build_id_of_elf(&FileSource::new(file).ok()?)
}
