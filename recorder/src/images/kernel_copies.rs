//! Copies of the running kernel's symbols: `~/.cache/perftab/kallsyms/ID`, ID being its build-id.
//!
//! To write down its symbols takes a kernel 40 ms, half of what `perftab report` takes on a small
//! recording. What is kept are those of the kernel itself. Modules and BPF programs come and go while it
//! runs, and their names are not taken from there.
//!
//! The first line vouches for the rest ([`stamped_kallsyms`]): a copy that was cut or changed is read as
//! none, and made anew. Where a kernel lies in memory changes with each boot; names are found by the
//! distance to its start, as with any other file of it.

use std::cmp::Reverse;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use perftab_core::{Kallsyms, stamped_kallsyms};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::format::BuildId;

use super::local::open_regular;
use crate::debuginfod_client;
use crate::file_source::FileSource;
use crate::scratch;

/// Of so many kernels, each of which takes some 5 MB.
const MOST_COPIES: usize = 4;

/// Where copies are kept.
#[derive(Debug, Clone)]
pub struct KernelCopies {
    /// None where the user has no home.
    folder: Option<PathBuf>,
}

impl KernelCopies {
    /// Those of this user.
    pub fn of_user() -> Self {
        let folder = debuginfod_client::user_caches().map(|it| it.join("perftab/kallsyms"));
        Self { folder }
    }

    /// The copy of a build, as it lies there: whether its first line holds has not been looked at.
    pub fn open(&self, id: BuildId) -> Option<(PathBuf, File)> {
        let path = self.folder.as_ref()?.join(id.to_string());
        let file = open_regular(&path)?;
        Some((path, file))
    }

    /// The same, but that it is of this build.
    pub fn open_checked(&self, id: BuildId) -> Option<File> {
        let (_, file) = self.open(id)?;
        let source = FileSource::new(file.try_clone().ok()?).ok()?;
        let stamp = Kallsyms::read(&source).ok()?.stamp();
        (stamp == Some(id)).then_some(file)
    }

    /// Keeps a copy of `/proc/kallsyms`, of a kernel of this build, unless that hides its addresses from
    /// this user. A home that cannot be written to is no reason to go without names.
    pub fn keep(&self, id: BuildId, text: &[u8]) {
        if let Some(folder) = &self.folder
            && Kallsyms::read(&SliceSource::new(text)).is_ok()
        {
            let _ = keep_in(folder, id, text);
        }
    }
}

fn keep_in(folder: &Path, id: BuildId, text: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let path = folder.join(id.to_string());
    // Several commands may do so at once, and each may be killed.
    let passing = folder.join(format!(".{}", scratch::unique_suffix()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&passing)
        .and_then(|mut file| file.write_all(&stamped_kallsyms(id, &of_kernel(text))))
        .and_then(|()| fs::rename(&passing, &path));
    if written.is_err() {
        let _ = fs::remove_file(&passing);
    }
    forget_oldest(folder)?;
    written
}

/// The lines without an owner: a module or BPF program stands behind a tab.
fn of_kernel(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    lines.filter(|line| !line.contains(&b'\t')).flatten().copied().collect()
}

/// Removes copies until there are no more than [`MOST_COPIES`]: also what was left by commands that were
/// killed.
fn forget_oldest(folder: &Path) -> io::Result<()> {
    let mut copies: Vec<_> = fs::read_dir(folder)?
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    copies.sort_by_key(|(modified, _)| Reverse(*modified));
    copies.iter().skip(MOST_COPIES).for_each(|(_, path)| drop(fs::remove_file(path)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"\
ffffffff81000000 T _text
ffffffff81000100 t do_one
ffffffff81001000 T _etext
ffffffffc0000800 t ext4_init\t[ext4]
";

    fn copies() -> KernelCopies {
        let name = format!("perftab-kernel-copies-{}", scratch::unique_suffix());
        KernelCopies { folder: Some(std::env::temp_dir().join(name)) }
    }

    fn id(first: u8) -> BuildId {
        BuildId::new(&[first; 20]).expect("not all zero")
    }

    #[test]
    fn b23_a_copy_is_of_its_build_until_a_byte_changes() {
        let copies = copies();
        assert!(copies.open(id(7)).is_none());
        copies.keep(id(7), TEXT);
        assert!(copies.open_checked(id(7)).is_some() && copies.open(id(8)).is_none());
        let (path, _) = copies.open(id(7)).expect("it was kept");
        let copy = fs::read(&path).expect("it can be read");
        let lines = copy.split(|&byte| byte == b'\n').skip(1);
        assert!(lines.eq(TEXT.split(|&byte| byte == b'\n').filter(|it| !it.contains(&b'\t'))));
        // Of another build under its name, cut, or changed.
        fs::write(path.with_file_name(id(8).to_string()), &copy).expect("it can be written");
        assert!(copies.open_checked(id(8)).is_none());
        for broken in [&copy[..copy.len() - 1], &[&copy[..], b"ffffffff81002000 t x\n"].concat()] {
            fs::write(&path, broken).expect("it can be written");
            assert!(copies.open_checked(id(7)).is_none());
        }
        copies.keep(id(7), TEXT);
        assert!(copies.open_checked(id(7)).is_some());
        copies.keep(id(9), b"0000000000000000 T _text\n0000000000000000 t do_one\n");
        assert!(copies.open(id(9)).is_none(), "addresses that are hidden");
        let _ = fs::remove_dir_all(copies.folder.expect("it has one"));
    }

    #[test]
    fn the_copies_of_few_kernels_are_kept() {
        let copies = copies();
        let folder = copies.folder.clone().expect("it has one");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(".left"), b"by a command that was killed").expect("a file");
        let old = std::time::SystemTime::UNIX_EPOCH;
        File::open(folder.join(".left")).and_then(|it| it.set_modified(old)).expect("a time");
        for first in 1..=MOST_COPIES as u8 + 3 {
            copies.keep(id(first), TEXT);
        }
        let names = fs::read_dir(&folder).expect("a folder").flatten().map(|it| it.file_name());
        let names: Vec<_> = names.collect();
        assert_eq!(names.len(), MOST_COPIES, "{names:?}");
        assert!(!names.iter().any(|name| name == ".left"));
        let _ = fs::remove_dir_all(folder);
    }
}
