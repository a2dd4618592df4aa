//! Where this machine keeps the files of a build.
//!
//! | place | what | written by |
//! |---|---|---|
//! | `/usr/lib/debug/.build-id/xx/yy….debug` | debug file | debug packages |
//! | `/usr/lib/debug/.build-id/xx/yy…` | link to the executable | debug packages of rpm systems |
//! | `~/.debug/.build-id/xx/yy…/{elf,debug}` | executable, debug file | `perf buildid-cache` |
//! | `~/.debug/.build-id/xx/yy…` | link to the executable itself | the same before Linux 4.10 |
//! | `~/.cache/debuginfod_client/ID/{executable,debuginfo}` | as named | debuginfod's clients |

use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};

use perftab_core::format::BuildId;

use super::identity;
use crate::debuginfod_client;

/// Folders that are laid out by build-id.
#[derive(Debug, Clone)]
pub struct Places {
    debug_packages: PathBuf,
    perf_cache: Option<PathBuf>,
    debuginfod_cache: Option<PathBuf>,
}

impl Places {
    /// Those of this machine and user.
    pub fn of_this_machine() -> Self {
        let home = env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        Self {
            debug_packages: PathBuf::from("/usr/lib/debug"),
            perf_cache: home.map(|home| home.join(".debug")),
            debuginfod_cache: debuginfod_client::cache_folder(),
        }
    }

    /// Where the executable of a build may lie, best first.
    pub fn executables(&self, id: BuildId) -> Vec<PathBuf> {
        let links = self.link_folders(id);
        let in_perf_cache = links.perf_cache.map(|link| [link.join("elf"), link]);
        let in_debuginfod_cache = self.in_debuginfod_cache(id, "executable");
        let paths = in_debuginfod_cache.into_iter().chain(in_perf_cache.into_iter().flatten());
        paths.chain([links.debug_packages]).collect()
    }

    /// Where the debug file of a build may lie, best first.
    pub fn debug_files(&self, id: BuildId) -> Vec<PathBuf> {
        let links = self.link_folders(id);
        let mut packaged = links.debug_packages.into_os_string();
        packaged.push(".debug");
        let in_perf_cache = links.perf_cache.map(|link| link.join("debug"));
        let in_debuginfod_cache = self.in_debuginfod_cache(id, "debuginfo");
        [PathBuf::from(packaged)]
            .into_iter()
            .chain(in_debuginfod_cache)
            .chain(in_perf_cache)
            .collect()
    }

    fn in_debuginfod_cache(&self, id: BuildId, name: &str) -> Option<PathBuf> {
        Some(self.debuginfod_cache.as_ref()?.join(id.to_string()).join(name))
    }

    /// `.build-id/xx/yy…` in each folder that has such links.
    fn link_folders(&self, id: BuildId) -> Links {
        let hex = id.to_string();
        let (first, rest) = hex.split_at(2);
        let link = |folder: &Path| folder.join(".build-id").join(first).join(rest);
        Links {
            debug_packages: link(&self.debug_packages),
            perf_cache: self.perf_cache.as_deref().map(link),
        }
    }
}

struct Links {
    debug_packages: PathBuf,
    perf_cache: Option<PathBuf>,
}

/// The first of `paths` that is a file with this build-id. Others are passed over: a cache entry
/// may hold another build than its name says (perf hard-links files into its own, and overwriting
/// the original in place changes the entry).
pub fn open_matching(paths: impl IntoIterator<Item = PathBuf>, id: BuildId) -> Option<File> {
    paths.into_iter().find_map(|path| {
        let file = open_regular(&path)?;
        (identity::build_id(&file).ok()? == Some(id)).then_some(file)
    })
}

/// Opens a regular file; a pipe or device under a recorded path must not be touched.
pub fn open_regular(path: &Path) -> Option<File> {
    path.metadata().ok().filter(|metadata| metadata.is_file())?;
    File::open(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places {
            debug_packages: "/usr/lib/debug".into(),
            perf_cache: Some("/home/me/.debug".into()),
            debuginfod_cache: Some("/home/me/.cache/debuginfod_client".into()),
        }
    }

    #[test]
    fn a_build_has_its_places() {
        let id = BuildId::from_hex("9f31c07a").unwrap();
        let paths = |paths: Vec<PathBuf>| -> Vec<String> {
            paths.into_iter().map(|path| path.display().to_string()).collect()
        };
        assert_eq!(
            paths(places().executables(id)),
            [
                "/home/me/.cache/debuginfod_client/9f31c07a/executable",
                "/home/me/.debug/.build-id/9f/31c07a/elf",
                "/home/me/.debug/.build-id/9f/31c07a",
                "/usr/lib/debug/.build-id/9f/31c07a",
            ]
        );
        assert_eq!(
            paths(places().debug_files(id)),
            [
                "/usr/lib/debug/.build-id/9f/31c07a.debug",
                "/home/me/.cache/debuginfod_client/9f31c07a/debuginfo",
                "/home/me/.debug/.build-id/9f/31c07a/debug",
            ]
        );
    }

    #[test]
    fn only_the_right_build_is_opened() {
        let this = env::current_exe().unwrap();
        let id = identity::build_id(&File::open(&this).unwrap()).unwrap().unwrap();
        let other = BuildId::from_hex("9f31c07a").unwrap();
        let paths =
            || [PathBuf::from("/dev/zero"), "/nowhere".into(), "/etc/passwd".into(), this.clone()];
        assert!(open_matching(paths(), id).is_some());
        assert!(open_matching(paths(), other).is_none());
    }
}
