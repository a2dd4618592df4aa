//! Files that were replaced or removed, of recorded processes that still run: each has its own for as long as it is mapped.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Processes that still run whose mappings are looked at.
const PROCESSES_MAX: usize = 64;
/// What the kernel writes behind the path of a file whose name is gone.
const DELETED: &[u8] = b" (deleted)";

/// Where the kernel has the code of such files, by the path that each had: `/proc/PID/map_files`, which needs root, and
/// `/proc/PID/exe`. A process id may have gone to another process since; its files pass the gate or they don't.
pub fn still_mapped(mut pids: Vec<u32>) -> HashMap<PathBuf, Vec<PathBuf>> {
    pids.sort_unstable();
    pids.dedup();
    let mut found: HashMap<PathBuf, Vec<PathBuf>> = HashMap::new();
    let mut known = HashSet::new();
    let maps = |pid: u32| Some((pid, fs::read(format!("/proc/{pid}/maps")).ok()?));
    for (pid, maps) in pids.into_iter().filter_map(maps).take(PROCESSES_MAX) {
        let of_process = Path::new("/proc").join(pid.to_string());
        for Gone { file, range, path } in maps.split(|byte| *byte == b'\n').filter_map(gone) {
            // Most of them are of many processes.
            if known.insert(file) {
                let paths = found.entry(path).or_default();
                paths.push(of_process.join("map_files").join(range));
                paths.push(of_process.join("exe"));
            }
        }
    }
    found
}

/// Code of a file whose name is gone.
#[derive(Debug, PartialEq, Eq)]
struct Gone {
    /// Device and inode.
    file: (String, String),
    range: String,
    path: PathBuf,
}

/// Of a line of /proc/PID/maps: `START-END PERM OFFSET DEVICE INODE   PATH (deleted)`.
fn gone(line: &[u8]) -> Option<Gone> {
    let fields = line.strip_suffix(DELETED)?;
    let slash = fields.iter().position(|byte| *byte == b'/')?;
    let (fields, path) = fields.split_at(slash);
    let text = std::str::from_utf8(fields).ok()?;
    let mut words = text.split_ascii_whitespace();
    let (range, permissions) = (words.next()?, words.next()?);
    let (_offset, device, inode) = (words.next()?, words.next()?, words.next()?);
    permissions.contains('x').then(|| Gone {
        file: (device.to_owned(), inode.to_owned()),
        range: range.to_owned(),
        path: PathBuf::from(OsStr::from_bytes(path)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_code_whose_file_is_gone() {
        let line = "7f00-8000 r-xp 00003000 fe:1a 247749   /opt/a b (deleted)";
        let file = ("fe:1a".to_owned(), "247749".to_owned());
        let expected = Gone { file, range: "7f00-8000".to_owned(), path: "/opt/a b".into() };
        assert_eq!(gone(line.as_bytes()), Some(expected));
        for other in [
            "7f00-8000 r--p 00003000 fe:1a 247749   /opt/a b (deleted)",
            "7f00-8000 r-xp 00003000 fe:1a 247749   /opt/a b",
            "7f00-8000 r-xp 00000000 00:00 0   [vdso]",
            " (deleted)",
            "/ (deleted)",
        ] {
            assert_eq!(gone(other.as_bytes()), None, "{other}");
        }
    }
}
