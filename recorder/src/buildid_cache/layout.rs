//! Where things lie in the cache (tools/perf/util/build-id.c, as of Linux 6.1):
//!
//! ```text
//! ROOT/usr/bin/app/ID/elf                  what was mapped
//!                     debug                its separate debug file
//!                     unit/DWO-ID          what its debug information names (ours)
//!                     shared/ID            the same
//!                     probes               perf's notes on probes and SDT markers
//! ROOT/[vdso]/ID/vdso
//! ROOT/[kernel.kallsyms]/ID/kallsyms       symbols of a kernel as it ran; beside it `elf`, a vmlinux
//! ROOT/[kernel.kcore]/ID/TIME/{kcore,kallsyms,modules}
//! ROOT/.build-id/ID[..2]/ID[2..]           link to ../../usr/bin/app/ID
//! ```
//!
//! Before Linux 4.9 `usr/bin/app/ID` was the file itself; such entries are read.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use perftab_core::CompanionId;
use perftab_perfdata::format::BuildId;

use super::Cache;

/// Folder of the links.
const LINKS: &str = ".build-id";

/// A file of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// What was mapped, or a vmlinux.
    Elf,
    /// The vdso, from memory.
    Vdso,
    /// The separate debug file.
    Debug,
    /// /proc/kallsyms as it was.
    Kallsyms,
    /// What its debug information names: a file by its own id. perf knows no such thing and passes over it.
    Companion(CompanionId),
}

impl Part {
    /// All that have content of a build and one name, best first.
    pub const ALL: [Self; 4] = [Self::Elf, Self::Vdso, Self::Debug, Self::Kallsyms];

    /// What perf calls it; a companion is in a folder for its kind.
    pub fn file_name(self) -> Cow<'static, str> {
        match self {
            Self::Elf => "elf".into(),
            Self::Vdso => "vdso".into(),
            Self::Debug => "debug".into(),
            Self::Kallsyms => "kallsyms".into(),
            Self::Companion(id) => id.to_string().into(),
        }
    }
}

/// The folder below the root that all builds of one path share: `usr/bin/app`, `[vdso]`.
///
/// All its components are normal, so that what a stranger's recording calls a path can't lead out
/// of the cache, and none is the folder of the links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryName(PathBuf);

impl EntryName {
    /// Of an absolute path, or of a name in brackets. `None` for what is neither.
    pub fn new(path: &Path) -> Option<Self> {
        let is_special = path.as_os_str().as_encoded_bytes().starts_with(b"[");
        let below = if is_special { path } else { path.strip_prefix("/").ok()? };
        Self::below_root(below)
    }

    /// The kernel, whatever its file was.
    pub fn kernel() -> Self {
        Self(PathBuf::from("[kernel.kallsyms]"))
    }

    fn below_root(path: &Path) -> Option<Self> {
        let is_normal = path.components().all(|part| matches!(part, Component::Normal(_)));
        let first = path.components().next()?.as_os_str();
        (is_normal && first != LINKS).then(|| Self(path.components().collect()))
    }

    /// Below the root.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for EntryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.0.as_os_str().as_encoded_bytes().starts_with(b"[") { "" } else { "/" };
        write!(f, "{slash}{}", self.0.display())
    }
}

impl Cache {
    pub(super) fn links(&self) -> PathBuf {
        self.root.join(LINKS)
    }

    /// The link to a build's folder. `None` for an id of one byte: nothing is left for its name.
    pub(super) fn link(&self, id: BuildId) -> Option<PathBuf> {
        Some(self.root.join(link_name(id)?))
    }

    /// The folder of a build.
    pub(super) fn folder(&self, name: &EntryName, id: BuildId) -> PathBuf {
        self.root.join(name.as_path()).join(id.to_string())
    }
}

/// The link to a build's folder, below the root.
pub fn link_name(id: BuildId) -> Option<PathBuf> {
    let hex = id.to_string();
    let (first, rest) = hex.split_at(2);
    (!rest.is_empty()).then(|| Path::new(LINKS).join(first).join(rest))
}

/// What the link of a build says.
pub fn link_target(name: &EntryName, id: BuildId) -> PathBuf {
    Path::new("../..").join(name.as_path()).join(id.to_string())
}

/// The entry that a link's target names, if it is one of this cache and of this build.
pub fn entry_of_target(target: &Path, id: BuildId) -> Option<EntryName> {
    let below = target.strip_prefix("../..").ok()?;
    if below.file_name() != Some(OsStr::new(&id.to_string())) {
        return None;
    }
    EntryName::below_root(below.parent()?)
}

/// The id that the two parts of a link's name make.
pub fn id_of_link(first: &OsStr, rest: &OsStr) -> Option<BuildId> {
    let (first, rest) = (first.to_str()?, rest.to_str()?);
    if first.len() != 2 || rest.is_empty() {
        return None;
    }
    let id = BuildId::from_hex(&format!("{first}{rest}"))?;
    // Digits in upper case would be another name.
    (id.to_string() == format!("{first}{rest}")).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> BuildId {
        BuildId::from_hex("9f31c07a").unwrap()
    }

    #[test]
    fn names_stay_below_the_root() {
        for path in ["/usr/bin/app", "//usr/./bin/app", "[vdso]", "/a", "/lib/[x]"] {
            assert!(EntryName::new(Path::new(path)).is_some(), "{path}");
        }
        for path in
            ["", "/", "app", "./app", "/a/../b", "..", "[x]/../../y", "/.build-id/9f/31", "//"]
        {
            assert_eq!(EntryName::new(Path::new(path)), None, "{path}");
        }
        assert_eq!(EntryName::new(Path::new("//usr//bin")).unwrap().to_string(), "/usr/bin");
        assert_eq!(EntryName::kernel().to_string(), "[kernel.kallsyms]");
    }

    #[test]
    fn links_lead_to_the_folder_of_their_build_and_nowhere_else() {
        let name = EntryName::new(Path::new("/usr/bin/app")).unwrap();
        let target = link_target(&name, id());
        assert_eq!(target, Path::new("../../usr/bin/app/9f31c07a"));
        assert_eq!(entry_of_target(&target, id()), Some(name));
        for other in [
            "/usr/bin/app/9f31c07a",
            "../../usr/bin/app/9f31c07b",
            "../../../etc/9f31c07a",
            "../../9f31c07a",
            "../../.build-id/9f31c07a",
            "",
        ] {
            assert_eq!(entry_of_target(Path::new(other), id()), None, "{other}");
        }
    }

    #[test]
    fn names_of_links_are_ids() {
        assert_eq!(link_name(id()), Some(".build-id/9f/31c07a".into()));
        assert_eq!(link_name(BuildId::new(&[7]).unwrap()), None);
        let read = |first: &str, rest: &str| id_of_link(first.as_ref(), rest.as_ref());
        assert_eq!(read("9f", "31c07a"), Some(id()));
        for (first, rest) in [("9", "f31c07a"), ("9f", ""), ("9F", "31c07a"), ("9f", "31c07x")] {
            assert_eq!(read(first, rest), None, "{first}/{rest}");
        }
    }
}
