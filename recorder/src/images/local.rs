//! Where this machine may keep the files of a build.
//!
//! By build-id:
//!
//! | place | what | written by |
//! |---|---|---|
//! | `/usr/lib/debug/.build-id/xx/yy….debug` | debug file | debug packages |
//! | `/usr/lib/debug/.build-id/xx/yy…` | link to the executable | debug packages of rpm systems |
//! | `~/.debug/.build-id/xx/yy…/{elf,vdso,debug}` | executable, debug file | `perf buildid-cache` |
//! | `~/.debug/.build-id/xx/yy…` | link to the executable itself | the same before Linux 4.10 |
//! | `~/.debug/.build-id/xx/yy…/{unit,shared}/ID` | what debug information names | `perftab buildid` |
//! | `~/.cache/debuginfod_client/ID/{executable,debuginfo}` | as named | debuginfod's clients |
//!
//! By path: the recorded one, and beside it where gdb's manual ("Debugging Information in Separate
//! Files") has debug files lie. For kernels and their modules see `kernel.rs`.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use perftab_core::{CompanionId, Image};
use perftab_perfdata::format::BuildId;

use super::unpacked::unpacked;
use super::{answering, identity};
use crate::buildid_cache::Cache;
use crate::debuginfod_client;

/// Folders that are laid out by build-id.
#[derive(Debug, Clone)]
pub struct Places {
    debug_packages: PathBuf,
    perf_cache: Option<PathBuf>,
    debuginfod_cache: Option<PathBuf>,
}

impl Places {
    /// Those of this machine and user; `buildid_dir` is where perf's cache is said to be.
    pub fn of_this_machine(buildid_dir: Option<&Path>) -> Self {
        Self {
            debug_packages: PathBuf::from("/usr/lib/debug"),
            perf_cache: Cache::of_user(buildid_dir).map(|cache| cache.root().to_owned()),
            debuginfod_cache: debuginfod_client::cache_folder(),
        }
    }

    /// Where the executable of a build may lie, best first.
    pub fn executables(&self, id: BuildId) -> Vec<PathBuf> {
        let links = self.link_folders(id);
        let in_perf_cache =
            links.perf_cache.map(|link| [link.join("elf"), link.join("vdso"), link]);
        let in_debuginfod_cache = self.in_debuginfod_cache(id, "executable");
        let paths = in_perf_cache.into_iter().flatten().chain([links.debug_packages]);
        paths.chain(in_debuginfod_cache).collect()
    }

    /// Where the debug file of a build may lie, best first.
    pub fn debug_files(&self, id: BuildId) -> Vec<PathBuf> {
        let links = self.link_folders(id);
        let packaged = with_suffix(&links.debug_packages, ".debug");
        let in_perf_cache = links.perf_cache.map(|link| link.join("debug"));
        let in_debuginfod_cache = self.in_debuginfod_cache(id, "debuginfo");
        in_perf_cache.into_iter().chain([packaged]).chain(in_debuginfod_cache).collect()
    }

    /// Where what the debug information of a build names may lie by its id, best first.
    pub fn companions(&self, build: BuildId, id: CompanionId) -> Vec<PathBuf> {
        let stored = self.link_folders(build).perf_cache.map(|link| link.join(id.to_string()));
        let by_id = match id {
            CompanionId::Unit(_) => Vec::new(),
            CompanionId::Shared(id) => self.debug_files(id),
        };
        stored.into_iter().chain(by_id).collect()
    }

    /// Where a file mapped from `path`, and a debug file that a debug package has for it, may lie.
    pub fn of_path(&self, path: &Path) -> Vec<PathBuf> {
        // `[vdso]`, `//anon` and what a stranger's recording may hold.
        let Ok(below_root) = path.strip_prefix("/") else { return Vec::new() };
        let packaged = self.debug_packages.join(below_root);
        let paths = vec![path.to_owned(), with_suffix(&packaged, ".debug"), packaged];
        paths.into_iter().chain(self.debug_links(path, None)).collect()
    }

    /// Where the debug file of the image at `path` lies if it has this `.gnu_debuglink`, or the
    /// usual one if it isn't known.
    pub fn debug_links(&self, path: &Path, link: Option<&OsStr>) -> Vec<PathBuf> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Vec::new();
        };
        let usual = with_suffix(Path::new(name), ".debug").into_os_string();
        let link = Path::new(link.unwrap_or(&usual));
        // A link is a file name; anything else would lead out of these folders.
        if link.file_name() != Some(link.as_os_str()) {
            return Vec::new();
        }
        let mut paths = vec![folder.join(link), folder.join(".debug").join(link)];
        if let Ok(below_root) = folder.strip_prefix("/") {
            paths.push(self.debug_packages.join(below_root).join(link));
        }
        paths
    }

    /// Where copies of the symbols of a kernel may lie: perf's `[kernel.kallsyms]/ID/kallsyms`, and
    /// before Linux 4.10 that folder was the file.
    pub fn kernel_symbols(&self, id: BuildId) -> Vec<PathBuf> {
        let link = self.link_folders(id).perf_cache;
        link.map_or(Vec::new(), |link| vec![link.join("kallsyms"), link])
    }

    fn in_debuginfod_cache(&self, id: BuildId, name: &str) -> Option<PathBuf> {
        Some(self.debuginfod_cache.as_ref()?.join(id.to_string()).join(name))
    }

    /// The folders that are laid out by build-id, for people.
    pub fn by_id(&self) -> String {
        let folders =
            [&self.perf_cache, &Some(self.debug_packages.clone()), &self.debuginfod_cache];
        let folders: Vec<String> =
            folders.into_iter().flatten().map(|folder| folder.display().to_string()).collect();
        folders.join(", ")
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

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    PathBuf::from(path)
}

struct Links {
    debug_packages: PathBuf,
    perf_cache: Option<PathBuf>,
}

/// What a file must hold to be of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// Instructions: the file that was mapped.
    Code,
    /// DWARF: a debug file, or an executable that was not stripped.
    Dwarf,
}

impl Holding {
    fn is_in(self, image: &Image) -> bool {
        let sections: &[&str] = match self {
            Self::Code => &[".text"],
            Self::Dwarf => &[".debug_info", ".zdebug_info"],
        };
        sections.iter().any(|name| image.section_range(name).is_some())
    }
}

/// A file that was found.
pub struct Located {
    /// Where; `None` if it has no name.
    pub path: Option<PathBuf>,
    /// The file, unpacked.
    pub file: File,
}

/// The first of `paths` that is a file with this build-id and holds what is asked for. Others are
/// passed over: a cache entry may hold another build than its name says (perf hard-links files
/// into its own, and overwriting the original in place changes the entry).
pub fn open_matching(
    paths: impl IntoIterator<Item = PathBuf>,
    id: BuildId,
    holding: Holding,
) -> Option<Located> {
    paths.into_iter().find_map(|path| {
        // Modules are installed packed.
        let file = unpacked(open_regular(&path)?).ok()?;
        let image = identity::image(&file).ok()??;
        let is_it = identity::build_id_of(&image) == Some(id) && holding.is_in(&image);
        is_it.then_some(Located { path: Some(path), file })
    })
}

/// Opens a regular file; a pipe or device under a recorded path must not be touched, nor what does not answer.
pub fn open_regular(path: &Path) -> Option<File> {
    answering::metadata(path).filter(|metadata| metadata.is_file())?;
    File::open(path).ok()
}

#[cfg(test)]
mod tests {
    use std::env;

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
        assert_eq!(
            text(places().executables(id)),
            [
                "/home/me/.debug/.build-id/9f/31c07a/elf",
                "/home/me/.debug/.build-id/9f/31c07a/vdso",
                "/home/me/.debug/.build-id/9f/31c07a",
                "/usr/lib/debug/.build-id/9f/31c07a",
                "/home/me/.cache/debuginfod_client/9f31c07a/executable",
            ]
        );
        assert_eq!(
            text(places().debug_files(id)),
            [
                "/home/me/.debug/.build-id/9f/31c07a/debug",
                "/usr/lib/debug/.build-id/9f/31c07a.debug",
                "/home/me/.cache/debuginfod_client/9f31c07a/debuginfo",
            ]
        );
    }

    fn text(paths: Vec<PathBuf>) -> Vec<String> {
        paths.into_iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn a_path_has_its_debug_files() {
        assert_eq!(
            text(places().of_path(Path::new("/opt/app/server"))),
            [
                "/opt/app/server",
                "/usr/lib/debug/opt/app/server.debug",
                "/usr/lib/debug/opt/app/server",
                "/opt/app/server.debug",
                "/opt/app/.debug/server.debug",
                "/usr/lib/debug/opt/app/server.debug",
            ]
        );
        assert_eq!(
            text(places().debug_links(Path::new("/opt/app/server"), Some("x.dbg".as_ref()))),
            ["/opt/app/x.dbg", "/opt/app/.debug/x.dbg", "/usr/lib/debug/opt/app/x.dbg"]
        );
    }

    #[test]
    fn nothing_is_looked_for_outside_of_the_places() {
        for path in ["[vdso]", "//anon/..", "relative/path", ""] {
            let paths = text(places().of_path(Path::new(path)));
            assert!(paths.iter().all(|path| path.starts_with('/')), "{path}: {paths:?}");
        }
        assert_eq!(text(places().of_path(Path::new("[vdso]"))), [""; 0]);
        for link in ["../../etc/shadow", "/etc/shadow", "..", "a/b", ""] {
            let paths = places().debug_links(Path::new("/opt/app"), Some(link.as_ref()));
            assert_eq!(text(paths), [""; 0], "{link}");
        }
    }

    #[test]
    fn only_the_right_build_is_opened() {
        let this = env::current_exe().unwrap();
        let id = identity::build_id(&File::open(&this).unwrap()).unwrap().unwrap();
        let other = BuildId::from_hex("9f31c07a").unwrap();
        let paths =
            || [PathBuf::from("/dev/zero"), "/nowhere".into(), "/etc/passwd".into(), this.clone()];
        assert!(open_matching(paths(), id, Holding::Code).is_some());
        assert!(open_matching(paths(), other, Holding::Code).is_none());
    }
}
