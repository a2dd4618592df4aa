//! What became of mapped files by the end of the recording.
//!
//! The kernel writes a build-id into most mappings, and that is what counts. What it could not read
//! from the disk in time, or what has no id, is looked at here, once for each file: at the path
//! recorded, if that still leads to the inode that was mapped and nothing was written to it since
//! the recording began. A file's time only ever speaks against it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use perftab_core::format::build_id::BuildId;
use perftab_core::format::elf_note::build_id_of_elf;
use perftab_core::format::perftab_section::{FileIdentity, InodeKey, MappedFile};
use perftab_core::format::write::CpuMode;
use perftab_core::symbolize::content_hash;

use super::tally::Tally;
use crate::file_source::FileSource;
use crate::late_ids::changed;

/// File times are those of the last tick of the kernel's clock, which may be 100 Hz.
const CLOCK_TICK: Duration = Duration::from_millis(10);

/// What a look at the files told.
#[derive(Debug, Default)]
pub struct FilesAtEnd {
    /// Paths that now lead to another build than the one that ran.
    pub changed: BTreeSet<Vec<u8>>,
    /// Paths of files that were written to, and that nothing identifies.
    pub doubtful: BTreeSet<Vec<u8>>,
    /// What files are that were mapped without a build-id.
    pub identities: Vec<MappedFile>,
    /// The build-ids among those, by path.
    pub build_ids: BTreeSet<(Vec<u8>, BuildId)>,
}

impl FilesAtEnd {
    /// Looks at every file that was mapped; `began` is when the recording did.
    pub fn look(tally: &Tally, began: SystemTime) -> Self {
        let began = began.checked_sub(CLOCK_TICK).unwrap_or(began);
        let mut files = Self::default();
        let mut recorded: BTreeMap<Vec<u8>, Vec<BuildId>> = BTreeMap::new();
        for (path, id, mode) in tally.mapped_files() {
            if mode == CpuMode::User && path.starts_with(b"/") {
                recorded.entry(path).or_default().push(id);
            }
        }
        for (path, ids) in recorded {
            files.compare(path, &ids, began);
        }
        // One look for a file, though it is known with its generation and without.
        let mut without: BTreeMap<_, Vec<u64>> = BTreeMap::new();
        for (path, inode) in tally.files_without_id() {
            let key = (path, InodeKey { generation: 0, ..inode });
            without.entry(key).or_default().push(inode.generation);
        }
        for ((path, inode), generations) in without {
            files.identify(path, inode, &generations, began);
        }
        files
    }

    /// Only a file that was written to is opened.
    fn compare(&mut self, path: Vec<u8>, ids: &[BuildId], began: SystemTime) {
        let metadata = Path::new(OsStr::from_bytes(&path)).metadata();
        if !metadata.is_ok_and(|metadata| changed(&metadata) >= began) {
            return;
        }
        let Some((file, _)) = regular_file(&path) else { return };
        if build_id(file).is_none_or(|now| !ids.contains(&now)) {
            self.changed.insert(path);
        }
    }

    fn identify(&mut self, path: Vec<u8>, inode: InodeKey, generations: &[u64], began: SystemTime) {
        let Some((file, metadata)) = regular_file(&path) else { return };
        let is_same = metadata.ino() == inode.inode
            && metadata.dev() == rustix::fs::makedev(inode.major, inode.minor);
        if changed(&metadata) >= began {
            // Permissions and links are not content, though they change the time that is asked.
            if !is_same || metadata.modified().is_ok_and(|modified| modified >= began) {
                self.doubtful.insert(path);
            }
            return;
        }
        if !is_same {
            return;
        }
        let Ok(source) = FileSource::new(file) else { return };
        let identity = match build_id_of_elf(&source) {
            Some(id) => {
                self.build_ids.insert((path, id));
                FileIdentity::Gnu(id)
            }
            None => match content_hash(&source) {
                Ok(hash) => FileIdentity::Content(hash.0),
                Err(_) => return,
            },
        };
        let known_as = generations.iter();
        let known_as = known_as.map(|&generation| InodeKey { generation, ..inode });
        self.identities.extend(known_as.map(|inode| MappedFile { inode, identity }));
    }
}

/// Opening a device could do things; only files have notes.
fn regular_file(path: &[u8]) -> Option<(File, Metadata)> {
    let path = Path::new(OsStr::from_bytes(path));
    path.metadata().ok().filter(Metadata::is_file)?;
    let file = File::open(path).ok()?;
    let metadata = file.metadata().ok().filter(Metadata::is_file)?;
    Some((file, metadata))
}

fn build_id(file: File) -> Option<BuildId> {
    build_id_of_elf(&FileSource::new(file).ok()?)
}
