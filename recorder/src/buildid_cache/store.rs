//! Puts files into the cache and takes them out.
//!
//! A file is copied under a passing name into the root, checked, and renamed into its place, so
//! that nobody sees a part of it. Never a hard link: it would change with the original. Placing
//! and removing hold a lock on the folder of links, which every process of ours honours. perf
//! knows no lock; what it does meanwhile may take an entry away, but can't leave a wrong one.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use perftab_perfdata::format::BuildId;
use rustix::fs::{FlockOperation, flock};

use super::Cache;
use super::content::{self, OtherContent};
use super::layout::{self, EntryName, Part};
use super::lookup::names_in;
use crate::images::local;
use crate::images::unpacked::unpacked;
use crate::scratch::{self, PASSING, UnnamedFile};

/// A passing file older than this was left by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// What is to be stored.
pub enum Bytes<'a> {
    /// A file, from its beginning.
    File(&'a File),
    /// Bytes that are in no file.
    Memory(&'a [u8]),
}

/// What to do with a file that is there and right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Leave it.
    Keep,
    /// Put the new one in its place.
    Replace,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreOutcome {
    /// It is in the cache now.
    New,
    /// It was there.
    Already,
}

/// Why a file is not in the cache.
#[derive(Debug)]
pub enum StoreError {
    /// Its content is not what it was to be stored as.
    Other(OtherContent),
    /// It changed while it was copied.
    Changed,
    /// There is no place for such an id.
    ShortId,
    /// The file or the cache can't be read or written.
    Io(PathBuf, io::Error),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(OtherContent::Build(id)) => write!(f, "its build-id is {id}"),
            Self::Other(OtherContent::NoBuildId) => f.write_str("it has no build-id"),
            Self::Changed => f.write_str("it changed while it was copied; store it again"),
            Self::ShortId => f.write_str("the cache cannot hold a build-id of one byte"),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for StoreError {}

impl Cache {
    /// Stores a file of the build `id`, unless it is there. Its content must have the id.
    ///
    /// An entry that the build has already, under whatever path, is where it goes.
    pub fn store(
        &self,
        id: BuildId,
        name: &EntryName,
        part: Part,
        bytes: Bytes<'_>,
        existing: Existing,
    ) -> Result<StoreOutcome, StoreError> {
        let link = self.link(id).ok_or(StoreError::ShortId)?;
        if existing == Existing::Keep && self.has(id, part) {
            return Ok(StoreOutcome::Already);
        }
        let copy = self.copy(id, part, bytes)?;
        let _lock = self.lock();
        let at = |path: &Path, error| StoreError::Io(path.to_owned(), error);
        let (name, folder) = self.folder_for(id, name, &link).map_err(|error| at(&link, error))?;
        let place = folder.join(&*part.file_name());
        // Another process may have been faster.
        let is_there = existing == Existing::Keep && is_right(&place, id, part);
        if !is_there {
            let within = place.parent().unwrap_or(&folder);
            fs::create_dir_all(within).map_err(|error| at(within, error))?;
            copy.rename_to(&place).map_err(|error| at(&place, error))?;
        }
        set_link(&link, &layout::link_target(&name, id)).map_err(|error| at(&link, error))?;
        Ok(if is_there { StoreOutcome::Already } else { StoreOutcome::New })
    }

    /// Whether the cache has a file of a build, and it is right.
    pub fn has(&self, id: BuildId, part: Part) -> bool {
        match part {
            Part::Companion(_) => {
                self.link(id).is_some_and(|link| is_right(&link.join(&*part.file_name()), id, part))
            }
            _ => self.lookup(id).is_some_and(|entry| entry.part(part).is_some()),
        }
    }

    /// Removes the entry of a build with everything that is kept with it. Returns whether there
    /// was one.
    pub fn remove(&self, id: BuildId) -> io::Result<bool> {
        let Some(link) = self.link(id) else { return Ok(false) };
        let _lock = self.lock();
        let target = match fs::read_link(&link) {
            Ok(target) => target,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        fs::remove_file(&link)?;
        // What a link that is none of ours leads to stays.
        let Some(name) = layout::entry_of_target(&target, id) else { return Ok(true) };
        remove_folder(&self.folder(&name, id))?;
        Ok(true)
    }

    /// A complete copy under a passing name, right by its content.
    fn copy(&self, id: BuildId, part: Part, bytes: Bytes<'_>) -> Result<UnnamedFile, StoreError> {
        let at = |error| StoreError::Io(self.root.clone(), error);
        fs::create_dir_all(self.links()).map_err(at)?;
        self.remove_abandoned();
        let mut copy = UnnamedFile::create(&self.root, mode(part, &bytes)).map_err(at)?;
        match bytes {
            Bytes::Memory(bytes) => copy.file.write_all(bytes).map_err(at)?,
            Bytes::File(mut file) => {
                let before = state(file).map_err(at)?;
                file.seek(SeekFrom::Start(0)).map_err(at)?;
                io::copy(&mut file, &mut copy.file).map_err(at)?;
                if state(file).map_err(at)? != before {
                    return Err(StoreError::Changed);
                }
            }
        }
        match content::check(&copy.file, id, part).map_err(at)? {
            Ok(_) => Ok(copy),
            Err(holds) => Err(StoreError::Other(holds)),
        }
    }

    /// Where the files of a build are to go: its entry, else a new one. Makes room for it.
    fn folder_for(
        &self,
        id: BuildId,
        name: &EntryName,
        link: &Path,
    ) -> io::Result<(EntryName, PathBuf)> {
        let known = fs::read_link(link).ok().and_then(|to| layout::entry_of_target(&to, id));
        let name = known.unwrap_or_else(|| name.clone());
        let folder = self.folder(&name, id);
        if !folder.is_dir() && folder.symlink_metadata().is_ok() {
            self.make_folder_of_file(&name, id, &folder)?;
        }
        Ok((name, folder))
    }

    /// An entry that an old perf made is the file itself: it becomes a folder that holds it.
    fn make_folder_of_file(&self, name: &EntryName, id: BuildId, file: &Path) -> io::Result<()> {
        let part = if *name == EntryName::kernel() { Part::Kallsyms } else { Part::Elf };
        if !is_right(file, id, part) {
            return fs::remove_file(file);
        }
        let passing = self.root.join(format!("{PASSING}{}", scratch::unique_suffix()));
        fs::rename(file, &passing)?;
        fs::create_dir(file)?;
        fs::rename(&passing, file.join(&*part.file_name()))
    }

    /// Held until dropped. Where locks are not to be had, renaming alone must do.
    pub(super) fn lock(&self) -> Option<File> {
        let folder = File::open(self.links()).ok()?;
        flock(&folder, FlockOperation::LockExclusive).ok()?;
        Some(folder)
    }

    fn remove_abandoned(&self) {
        for name in names_in(&self.root) {
            let path = self.root.join(&name);
            let age = || path.symlink_metadata().ok()?.modified().ok()?.elapsed().ok();
            if name.starts_with(PASSING) && age().is_some_and(|age| age > ABANDONED) {
                let _ = remove_folder(&path);
            }
        }
    }
}

/// Who may read a copy: who may read the original. Addresses of the kernel are for whoever could
/// read them.
fn mode(part: Part, bytes: &Bytes<'_>) -> u32 {
    match (part, bytes) {
        (Part::Kallsyms, _) => 0o400,
        (_, Bytes::File(file)) => file.metadata().map_or(0o400, |metadata| metadata.mode() & 0o777),
        (_, Bytes::Memory(_)) => 0o444,
    }
}

/// What changes when a file is written to.
fn state(file: &File) -> io::Result<(u64, Option<SystemTime>, i64, i64)> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.modified().ok(), metadata.ctime(), metadata.ctime_nsec()))
}

fn is_right(path: &Path, id: BuildId, part: Part) -> bool {
    let file = local::open_regular(path).and_then(|file| unpacked(file).ok());
    file.is_some_and(|file| matches!(content::check(&file, id, part), Ok(Ok(_))))
}

/// Makes `link` lead to `target`.
fn set_link(link: &Path, target: &Path) -> io::Result<()> {
    if fs::read_link(link).is_ok_and(|known| known == target) {
        return Ok(());
    }
    let Some(folder) = link.parent() else { return Ok(()) };
    fs::create_dir_all(folder)?;
    // perf passes over what is no hex.
    let passing = folder.join(format!("{PASSING}{}", scratch::unique_suffix()));
    symlink(target, &passing)?;
    fs::rename(&passing, link).inspect_err(|_| {
        let _ = fs::remove_file(&passing);
    })
}

/// Removes a folder with what is in it, or a file; what is not there is removed.
fn remove_folder(folder: &Path) -> io::Result<()> {
    let removed = match folder.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(folder),
        Ok(_) => fs::remove_file(folder),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
