//! Where the file of a mapping is to be had, and whether it is that.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{fstatfs, makedev};

/// Where a process has a file mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedAt {
    /// The process.
    pub pid: u32,
    /// The first address.
    pub start: u64,
    /// Behind the last.
    pub end: u64,
}

/// Where the file may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// It leads there.
    pub path: PathBuf,
    seen_by: SeenBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SeenBy {
    /// perftab, which may have another root.
    Us,
    /// The process that mapped it.
    Process,
}

impl MappedAt {
    /// Places to look at, one after the other; none of them is sure to be that file. A process in a container has a root of
    /// its own. What became of the file's name does not matter to the last two: the one needs privileges, the other is the
    /// program of the process.
    pub fn places(self, path: &Path) -> Vec<Place> {
        let Self { pid, start, end } = self;
        let Ok(below_root) = path.strip_prefix("/") else { return Vec::new() };
        let process = Path::new("/proc").join(pid.to_string());
        let of_process = [
            process.join("root").join(below_root),
            process.join(format!("map_files/{start:x}-{end:x}")),
            process.join("exe"),
        ];
        let of_process = of_process.map(|path| Place { path, seen_by: SeenBy::Process });
        let ours = Place { path: path.to_owned(), seen_by: SeenBy::Us };
        [ours].into_iter().chain(of_process).collect()
    }
}

impl Place {
    /// Whether the file here has the device and the inode that were recorded.
    ///
    /// Of a file in an overlay, as containers have them, Linux 6.1 records those of the layer below, and tells everybody
    /// the device of the overlay; 6.18 does not. The inode's number is the same where all layers are in one file system.
    pub fn has_inode(
        &self,
        file: &File,
        metadata: &Metadata,
        (major, minor): (u32, u32),
        inode: u64,
    ) -> bool {
        const OVERLAYFS_SUPER_MAGIC: u32 = 0x794c_7630;
        let is_overlay = || {
            self.seen_by == SeenBy::Process
                && fstatfs(file).is_ok_and(|it| it.f_type as u32 == OVERLAYFS_SUPER_MAGIC)
        };
        metadata.ino() == inode && (metadata.dev() == makedev(major, minor) || is_overlay())
    }
}
