//! Hashes of large files, from one command to the next: `~/.cache/perftab/hashes/BOOT_ID`.
//!
//! A file without a build-id is known by a hash of all of it, which takes a second for 1 GB. `record` needs it of what runs,
//! `report` and `view` of what they find: each time of the same files. So a hash is kept, and holds while its file is what it
//! was.
//!
//! That it is, its times have to prove, which elsewhere only ever speak against a file. So hashes are kept
//!
//! - for this boot: another gives device numbers to other file systems;
//! - on file systems that keep the time of the latest change as they keep what was written, and while these can be written
//!   to. What a server changed is known late, and an image may have the times of the image before it;
//! - of files that nobody has changed for [`SETTLED`]. Who writes through a mapping changes the time once, and not again
//!   before that has gone to disk, which takes up to 35 s (`vm.dirty_expire_centisecs`, `vm.dirty_writeback_centisecs`).

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use perftab_perfdata::identity::ContentHash;
use rustix::fs::StatVfsMountFlags;

use crate::late_ids::changed;
use crate::own_folder::OwnFolder;
use crate::scratch::{PASSING, UnnamedFile};

/// Smaller files are hashed in the time in which a hash is looked up and written.
const SMALLEST: u64 = 1 << 20;
/// So long ago a file was changed, at least.
const SETTLED: Duration = Duration::from_secs(120);
/// So many hashes are kept, the latest.
const MOST: usize = 1000;
/// They are not read further than this.
const LONGEST: u64 = 1 << 20;
/// ext2 to ext4, XFS, Btrfs: `f_type` in statfs(2).
const FILE_SYSTEMS: [u64; 3] = [0xef53, 0x5846_5342, 0x9123_683e];

/// A file as it is until somebody changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unchanged {
    /// The boot and what the file is in it, as they are kept.
    boot: String,
    file: String,
}

impl Unchanged {
    /// `None` if it has no longer the length that it had when it was opened, if its times prove nothing, or if it is small.
    pub fn of(file: &File, length: u64) -> Option<Self> {
        let metadata = file.metadata().ok()?;
        let is_whole = metadata.len() == length && length >= SMALLEST;
        if !is_whole || !is_settled(&metadata, SystemTime::now()) {
            return None;
        }
        let (kind, mount) = (rustix::fs::fstatfs(file).ok()?, rustix::fs::fstatvfs(file).ok()?);
        let is_known = FILE_SYSTEMS.iter().any(|known| u64::try_from(kind.f_type) == Ok(*known));
        if !is_known || mount.f_flag.contains(StatVfsMountFlags::RDONLY) {
            return None;
        }
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let (boot, file) = (boot.trim().to_owned(), line_of(mount.f_fsid, &metadata));
        is_boot(&boot).then_some(Self { boot, file })
    }
}

/// The file system, and in it the inode, its length, when its content and when anything of it was changed.
fn line_of(file_system: u64, it: &Metadata) -> String {
    let modified = format!("{}.{:09}", it.mtime(), it.mtime_nsec());
    let changed = format!("{}.{:09}", it.ctime(), it.ctime_nsec());
    let (device, inode, length) = (it.dev(), it.ino(), it.len());
    format!("{file_system:x} {device:x} {inode} {length} {modified} {changed} ")
}

/// A time that is yet to come, as the clock was set back, says nothing.
fn is_settled(metadata: &Metadata, now: SystemTime) -> bool {
    now.duration_since(changed(metadata)).is_ok_and(|ago| ago >= SETTLED)
}

/// 36 hex digits and dashes.
fn is_boot(name: &str) -> bool {
    name.len() == 36 && name.bytes().all(|it| it == b'-' || it.is_ascii_hexdigit())
}

/// Where hashes are kept.
#[derive(Debug)]
pub struct KeptHashes {
    folder: OwnFolder,
}

impl KeptHashes {
    /// Those of this user.
    pub fn of_user() -> Self {
        Self { folder: OwnFolder::of_user("hashes") }
    }

    /// The hash of a file.
    pub fn get(&self, of: &Unchanged) -> Option<ContentHash> {
        let text = self.read(of)?;
        let hash = text.lines().rev().find_map(|line| line.strip_prefix(&of.file))?;
        ContentHash::from_hex(hash)
    }

    /// Keeps the hash of a file. If it cannot be written, the file is hashed another time.
    pub fn keep(&self, of: &Unchanged, hash: ContentHash) {
        let _ = self.write(of, hash);
    }

    fn read(&self, of: &Unchanged) -> Option<String> {
        let mut text = String::new();
        self.folder.open(&of.boot)?.take(LONGEST).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Two commands may do so at once: then the hash of one is found another time.
    fn write(&self, of: &Unchanged, hash: ContentHash) -> io::Result<()> {
        let folder = self.folder.create()?;
        let kept = self.read(of).unwrap_or_default();
        let mut lines: Vec<_> = kept.lines().filter(|it| !it.starts_with(&of.file)).collect();
        lines.drain(..lines.len().saturating_sub(MOST - 1));
        let line = format!("{}{hash}", of.file);
        lines.push(&line);
        let mut file = UnnamedFile::create(folder, 0o400)?;
        file.file.write_all((lines.join("\n") + "\n").as_bytes())?;
        file.rename_to(&folder.join(&of.boot))?;
        let names = fs::read_dir(folder)?.flatten().map(|entry| entry.file_name());
        // Of other boots, and what was left by commands that were killed.
        let is_old = |name: &str| name.starts_with(PASSING) || is_boot(name) && name != of.boot;
        for name in names.filter(|name| name.to_str().is_some_and(is_old)) {
            fs::remove_file(folder.join(name))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::scratch;

    const BOOT: &str = "01234567-89ab-cdef-0123-456789abcdef";

    fn folder() -> PathBuf {
        std::env::temp_dir().join(format!("perftab-hashes-{}", scratch::unique_suffix()))
    }

    fn unchanged(boot: &str, file: &str) -> Unchanged {
        Unchanged { boot: boot.to_owned(), file: file.to_owned() }
    }

    #[test]
    fn a_hash_is_that_of_a_file_in_a_boot() {
        let folder = folder();
        let hashes = KeptHashes { folder: OwnFolder::at(folder.clone()) };
        let (one, two) = (unchanged(BOOT, "1 2 3 "), unchanged(BOOT, "1 2 33 "));
        let [first, second] = [[1; 16], [2; 16]].map(ContentHash);
        assert_eq!(hashes.get(&one), None);
        hashes.keep(&one, first);
        assert_eq!((hashes.get(&one), hashes.get(&two)), (Some(first), None));
        hashes.keep(&two, second);
        hashes.keep(&one, second);
        assert_eq!((hashes.get(&one), hashes.get(&two)), (Some(second), Some(second)));
        let other = unchanged(&BOOT.replace('0', "f"), "1 2 3 ");
        assert_eq!(hashes.get(&other), None);
        for name in ["notes", ".perftab-7-1"] {
            fs::write(folder.join(name), "").expect("it can be written");
        }
        hashes.keep(&other, first);
        assert_eq!((hashes.get(&other), hashes.get(&one)), (Some(first), None));
        assert!(folder.join("notes").exists() && !folder.join(".perftab-7-1").exists());
        let _ = fs::remove_dir_all(folder);
    }

    #[test]
    fn the_latest_hashes_are_kept() {
        let folder = folder();
        let hashes = KeptHashes { folder: OwnFolder::at(folder.clone()) };
        let of = |number: usize| unchanged(BOOT, &format!("{number} "));
        let lines: Vec<_> = (0..MOST + 5).map(|it| format!("{it} {}", "0".repeat(32))).collect();
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join(BOOT), lines.join("\n")).expect("it can be written");
        assert_eq!(hashes.get(&of(5)), Some(ContentHash([0; 16])));
        hashes.keep(&of(MOST + 5), ContentHash([1; 16]));
        assert_eq!(hashes.get(&of(5)), None);
        assert_eq!(hashes.get(&of(6)), Some(ContentHash([0; 16])));
        assert_eq!(hashes.get(&of(MOST + 5)), Some(ContentHash([1; 16])));
        let _ = fs::remove_dir_all(folder);
    }

    #[test]
    fn whatever_changes_a_file_changes_what_it_is() {
        let path = folder();
        fs::write(&path, "code").expect("it can be written");
        let now = || fs::metadata(&path).expect("it is there");
        let before = now();
        let changed_at = changed(&before);
        assert!(!is_settled(&before, changed_at + SETTLED / 2));
        assert!(is_settled(&before, changed_at + SETTLED));
        assert!(!is_settled(&before, changed_at - SETTLED));
        assert_eq!(line_of(1, &before), line_of(1, &now()));
        assert_ne!(line_of(1, &before), line_of(2, &before));
        // Until the clock of files has gone on.
        let line = line_of(1, &before);
        while changed(&now()) == changed_at {
            fs::write(&path, "edoc").expect("it can be written");
            // The time of the content can be set back, that of the change cannot.
            let file = File::options().write(true).open(&path).expect("it is there");
            file.set_modified(before.modified().expect("it has one")).expect("it can be set");
        }
        assert_eq!(now().modified().ok(), before.modified().ok());
        assert_ne!(line_of(1, &now()), line);
        let _ = fs::remove_file(path);
    }
}
