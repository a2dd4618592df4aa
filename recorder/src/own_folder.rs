//! Folders below `~/.cache/perftab`, in which this user keeps what saves time.
//!
//! Constraint: what is kept is believed, so it must be this user's own, in a folder of his own. Where that is somebody else's
//! (`sudo -E`, a shared `$XDG_CACHE_HOME`), nothing is kept.

use std::fs::{DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::debuginfod_client;
use crate::images::local::open_regular;

/// A folder of this user's, if he can have one.
#[derive(Debug, Clone)]
pub struct OwnFolder(Option<PathBuf>);

impl OwnFolder {
    /// The one of this name.
    pub fn of_user(name: &str) -> Self {
        Self::below(debuginfod_client::user_caches(), name)
    }

    /// None.
    #[cfg(test)]
    pub fn none() -> Self {
        Self(None)
    }

    /// Any folder.
    #[cfg(test)]
    pub fn at(folder: PathBuf) -> Self {
        Self(Some(folder))
    }

    /// The one of this name in a folder for caches.
    pub fn below(caches: Option<PathBuf>, name: &str) -> Self {
        // A home that is new has no folder for caches yet.
        let is_own = |caches: &PathBuf| match caches.symlink_metadata() {
            Ok(_) => is_own_folder(caches),
            Err(_) => caches.parent().is_some_and(is_own_folder),
        };
        Self(caches.filter(is_own).map(|caches| caches.join("perftab").join(name)))
    }

    /// Where it is, if it is there and is this user's.
    pub fn path(&self) -> Option<&Path> {
        self.0.as_deref().filter(|folder| is_own_folder(folder))
    }

    /// Opens a file in it that is this user's.
    pub fn open(&self, name: &str) -> Option<File> {
        let file = open_regular(&self.path()?.join(name))?;
        is_own(&file.metadata().ok()?).then_some(file)
    }

    /// Makes it, if it is not there.
    pub fn create(&self) -> io::Result<&Path> {
        let Some(folder) = &self.0 else { return Err(io::ErrorKind::NotFound.into()) };
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        self.path().ok_or_else(|| io::ErrorKind::PermissionDenied.into())
    }
}

fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

fn is_own_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir() && is_own(&metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_others_is_none_of_this_user() {
        // `/` belongs to root.
        let of_root = OwnFolder::below(Some(PathBuf::from("/")), "hashes");
        assert_eq!(of_root.0.is_some(), rustix::process::geteuid().is_root());
        assert!(OwnFolder::below(None, "hashes").create().is_err());
    }
}
