//! Where this machine may have the files of a DSO, best first. Every command looks here and nowhere else:
//! what names frames, what serves a page, what packs binaries.
//!
//! Constraint: all of it are only candidates, whose build-ids decide.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use perftab_core::DsoKind;
use perftab_perfdata::format::BuildId;

use super::identity;
use super::kernel::KernelPlaces;
use super::local::{self, Places};
use super::roots::foreign_roots;
use super::still_mapped::still_mapped;

/// A DSO whose files are looked for.
pub struct SoughtDso<'a> {
    /// What kind of thing.
    pub kind: DsoKind,
    /// Path as recorded.
    pub path: &'a str,
    /// The path that the build-id table has for it, where that is another.
    pub listed_as: Option<&'a str>,
    /// What its build-id may be; none if it was recorded without one.
    pub ids: Vec<BuildId>,
}

impl<'a> SoughtDso<'a> {
    /// The paths that the recording has for it. `[vdso]`, `//anon` and what a stranger's recording may hold are none.
    fn paths(&self) -> impl Iterator<Item = &'a Path> {
        let paths = [Some(self.path), self.listed_as].into_iter().flatten();
        paths.map(Path::new).filter(|path| path.is_absolute())
    }
}

/// This machine, for the DSOs of a recording.
pub struct Candidates {
    places: Places,
    kernels: KernelPlaces,
    /// What recorded processes that still run have for their root, if another.
    roots: Vec<PathBuf>,
    pids: Vec<u32>,
    /// Files that they have mapped and whose names are gone, once these are asked for.
    still_mapped: OnceCell<HashMap<PathBuf, Vec<PathBuf>>>,
}

impl Candidates {
    /// For a recording of processes `pids` under a kernel of this release.
    pub fn new(places: Places, release: Option<&str>, pids: Vec<u32>) -> Self {
        let kernels = KernelPlaces::new(Path::new("/"), release);
        let roots = foreign_roots(pids.clone());
        Self { places, kernels, roots, pids, still_mapped: OnceCell::new() }
    }

    /// Folders that are laid out by build-id.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Kernels, and their symbols.
    pub fn kernels(&self) -> &KernelPlaces {
        &self.kernels
    }

    /// Where the file that was mapped may lie.
    pub fn executables(&mut self, dso: &SoughtDso<'_>) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        match dso.kind {
            DsoKind::Kernel => paths.extend(self.kernels.kernels(dso.listed_as)),
            DsoKind::Module => {
                let known = [Some(dso.path), dso.listed_as];
                paths.extend(self.kernels.modules(known.into_iter().flatten()));
            }
            _ => {
                for path in dso.paths() {
                    let below_root = path.strip_prefix("/").unwrap_or(path);
                    paths.push(path.to_owned());
                    paths.extend(self.roots.iter().map(|root| root.join(below_root)));
                    let mapped = self.still_mapped.get_or_init(|| still_mapped(self.pids.clone()));
                    paths.extend(mapped.get(path).into_iter().flatten().cloned());
                }
            }
        }
        paths.extend(dso.ids.iter().flat_map(|&id| self.places.executables(id)));
        paths
    }

    /// Where its debug file may lie, besides where its executable says: see [`Self::linked_from`].
    pub fn debug_files(&self, dso: &SoughtDso<'_>) -> Vec<PathBuf> {
        let by_id = dso.ids.iter().flat_map(|&id| self.places.debug_files(id));
        let is_of_kernel = matches!(dso.kind, DsoKind::Kernel | DsoKind::Module);
        let by_path = dso.paths().filter(|_| !is_of_kernel);
        by_id.chain(by_path.flat_map(|path| self.places.of_path(path))).collect()
    }

    /// Where the debug file may lie that the image at `path` names.
    pub fn linked_from(&self, path: &Path) -> Vec<PathBuf> {
        let image = local::open_regular(path).and_then(|file| identity::image(&file).ok()?);
        let link = image.and_then(|image| image.debug_link());
        link.map_or(Vec::new(), |link| self.places.debug_links(path, Some(OsStr::new(&link))))
    }
}
