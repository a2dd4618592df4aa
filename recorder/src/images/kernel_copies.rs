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
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use perftab_core::{Kallsyms, stamp_of_kallsyms, stamped_kallsyms};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::format::BuildId;

use crate::own_folder::OwnFolder;
use crate::scratch::{PASSING, UnnamedFile};

/// Of so many kernels, each of which takes some 5 MB.
const MOST_COPIES: usize = 4;

/// Where copies are kept.
#[derive(Debug, Clone)]
pub struct KernelCopies {
    folder: OwnFolder,
}

impl KernelCopies {
    /// Those of this user.
    pub fn of_user() -> Self {
        Self { folder: OwnFolder::of_user("kallsyms") }
    }

    /// Nowhere.
    #[cfg(test)]
    pub fn none() -> Self {
        Self { folder: OwnFolder::none() }
    }

    /// In a folder of their own.
    #[cfg(test)]
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder: OwnFolder::at(folder) }
    }

    /// The copy of a build. Its first line is of this build; whether it holds is seen as it is read.
    pub fn open(&self, id: BuildId) -> Option<(PathBuf, File)> {
        let name = id.to_string();
        let file = self.folder.open(&name)?;
        let mut start = begin_of_stamp(id);
        let expected = start.clone();
        file.read_exact_at(&mut start, 0).ok()?;
        (start == expected).then_some((self.folder.path()?.join(name), file))
    }

    /// The same, but that the first line holds.
    pub fn open_checked(&self, id: BuildId) -> Option<File> {
        let (_, file) = self.open(id)?;
        read_checked(&file, id)?;
        Some(file)
    }

    /// The text of the same.
    pub fn read(&self, id: BuildId) -> Option<Vec<u8>> {
        read_checked(&self.open(id)?.1, id)
    }

    /// Keeps a copy of `/proc/kallsyms`, of a kernel of this build, unless that hides its addresses from
    /// this user. A home that cannot be written to is no reason to go without names.
    pub fn keep(&self, id: BuildId, text: &[u8]) {
        let _ = self.folder.create().and_then(|folder| keep_in(folder, id, text));
    }
}

fn read_checked(file: &File, id: BuildId) -> Option<Vec<u8>> {
    let mut text = vec![0; usize::try_from(file.metadata().ok()?.len()).ok()?];
    file.read_exact_at(&mut text, 0).ok()?;
    (stamp_of_kallsyms(&text) == Some(id)).then_some(text)
}

/// The first line of a copy, up to the hash of what follows.
fn begin_of_stamp(id: BuildId) -> Vec<u8> {
    let mut line = stamped_kallsyms(id, b"");
    let hash = line.windows(7).position(|at| at == b"sha256=");
    line.truncate(hash.unwrap_or(line.len()));
    line
}

fn keep_in(folder: &Path, id: BuildId, text: &[u8]) -> io::Result<()> {
    // Several commands may do so at once, and each may be killed.
    let mut copy = UnnamedFile::create(folder, 0o400)?;
    if Kallsyms::read(&SliceSource::new(text)).is_ok() {
        copy.file.write_all(&stamped_kallsyms(id, &of_kernel(text)))?;
        copy.rename_to(&folder.join(id.to_string()))?;
    }
    forget_oldest(folder)
}

/// The lines without an owner: a module or BPF program stands behind a tab.
fn of_kernel(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    lines.filter(|line| !line.contains(&b'\t')).flatten().copied().collect()
}

/// Removes copies until there are no more than [`MOST_COPIES`]: also what was left by commands that were
/// killed. Nothing else that may be there.
fn forget_oldest(folder: &Path) -> io::Result<()> {
    let is_copy = |name: &str| name.starts_with(PASSING) || BuildId::from_hex(name).is_some();
    let mut copies: Vec<_> = fs::read_dir(folder)?
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_copy))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    copies.sort_by_key(|(modified, _)| Reverse(*modified));
    copies.iter().skip(MOST_COPIES).for_each(|(_, path)| drop(fs::remove_file(path)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    const TEXT: &[u8] = b"\
ffffffff81000000 T _text
ffffffff81000100 t do_one
ffffffff81001000 T _etext
ffffffffc0000800 t ext4_init\t[ext4]
";

    /// Of a home that has no folder for caches yet.
    fn copies() -> (PathBuf, KernelCopies) {
        let name = format!("perftab-kernel-copies-{}", scratch::unique_suffix());
        let home = std::env::temp_dir().join(name);
        fs::create_dir(&home).expect("a folder");
        let copies =
            KernelCopies { folder: OwnFolder::below(Some(home.join(".cache")), "kallsyms") };
        (home, copies)
    }

    fn id(first: u8) -> BuildId {
        BuildId::new(&[first; 20]).expect("not all zero")
    }

    /// A copy is not to be written to.
    fn replace(path: &Path, bytes: &[u8]) {
        fs::remove_file(path).expect("it is there");
        fs::write(path, bytes).expect("it can be written");
    }

    #[test]
    fn b23_a_copy_is_of_its_build_until_a_byte_changes() {
        let (home, copies) = copies();
        assert!(copies.open(id(7)).is_none());
        copies.keep(id(7), TEXT);
        assert!(copies.open_checked(id(7)).is_some() && copies.open(id(8)).is_none());
        let (path, _) = copies.open(id(7)).expect("it was kept");
        let copy = fs::read(&path).expect("it can be read");
        let lines = copy.split(|&byte| byte == b'\n').skip(1);
        assert!(lines.eq(TEXT.split(|&byte| byte == b'\n').filter(|it| !it.contains(&b'\t'))));
        // Of another build under its name, cut, or changed.
        fs::write(path.with_file_name(id(8).to_string()), &copy).expect("it can be written");
        assert!(copies.open(id(8)).is_none());
        for broken in [&copy[..copy.len() - 1], &[&copy[..], b"ffffffff81002000 t x\n"].concat()] {
            replace(&path, broken);
            assert!(copies.open_checked(id(7)).is_none());
        }
        replace(&path, TEXT);
        assert!(copies.open(id(7)).is_none(), "nothing says which build it is of");
        copies.keep(id(7), TEXT);
        assert!(copies.open_checked(id(7)).is_some());
        copies.keep(id(9), b"0000000000000000 T _text\n0000000000000000 t do_one\n");
        assert!(copies.open(id(9)).is_none(), "addresses that are hidden");
        let _ = fs::remove_dir_all(home);
    }

    #[test]
    fn the_copies_of_few_kernels_are_kept() {
        let (home, copies) = copies();
        let folder = copies.folder.create().expect("it can be made").to_owned();
        let old = std::time::SystemTime::UNIX_EPOCH;
        for name in [".perftab-7-1", "notes", ".hidden"] {
            let file = File::create(folder.join(name));
            file.and_then(|file| file.set_modified(old)).expect("a file");
        }
        for first in 1..=MOST_COPIES as u8 + 3 {
            copies.keep(id(first), TEXT);
        }
        let names = fs::read_dir(&folder).expect("a folder").flatten().map(|it| it.file_name());
        let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        assert_eq!(names.len(), MOST_COPIES + 2, "{names:?}");
        assert!(names.contains(&"notes".to_owned()) && names.contains(&".hidden".to_owned()));
        let _ = fs::remove_dir_all(home);
    }

    #[test]
    fn there_are_no_copies_in_a_folder_of_others() {
        let (home, copies) = copies();
        copies.keep(id(7), TEXT);
        let elsewhere = home.join("elsewhere");
        fs::rename(home.join(".cache/perftab/kallsyms"), &elsewhere).expect("it can be moved");
        std::os::unix::fs::symlink(&elsewhere, home.join(".cache/perftab/kallsyms"))
            .expect("a link");
        assert!(copies.open(id(7)).is_none());
        copies.keep(id(8), TEXT);
        assert!(!elsewhere.join(id(8).to_string()).exists());
        let _ = fs::remove_dir_all(home);
    }
}
