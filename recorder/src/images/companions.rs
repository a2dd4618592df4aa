//! Where this machine may have the companions of an image: files that did not run and have a part of its debug
//! information (`.dwo`, `.dwp`, what dwz shares).
//!
//! Only paths that the image's own DWARF names are looked at, and what has the image's name beside it. Whatever is
//! there is handed out only if it says itself that it is the companion of that id.

use std::collections::HashSet;
use std::fs::File;
use std::iter;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use perftab_core::{Companion, CompanionId, Image, NamedCompanion};
use perftab_perfdata::format::BuildId;

use super::identity;
use super::local::{self, Places};

/// What an image names.
pub struct Companions {
    named: Vec<NamedCompanion>,
    /// Where the files of its build are.
    of: Vec<PathBuf>,
    build: BuildId,
}

impl Companions {
    /// Of an image of `build` with debug information; `of` are the paths of the files of that build, as far as they
    /// have any.
    pub fn of(image: &Image, build: BuildId, of: Vec<PathBuf>) -> Self {
        Self { named: Companion::named_by(image), of, build }
    }

    /// All that are here, one after the other: a package once, by one of its ids.
    pub fn open_all(&self, places: &Places) -> impl Iterator<Item = (CompanionId, File)> {
        let mut seen = HashSet::new();
        self.named
            .iter()
            .filter_map(move |named| {
                let file = self.open(named.id, places)?;
                let metadata = file.metadata().ok()?;
                Some(((named.id, file), seen.insert((metadata.dev(), metadata.ino()))))
            })
            .filter_map(|(found, is_new)| is_new.then_some(found))
    }

    /// One of them, if it is here.
    pub fn open(&self, id: CompanionId, places: &Places) -> Option<File> {
        let named = self.named.iter().find(|named| named.id == id)?;
        let of = || self.of.iter().map(PathBuf::as_path);
        let mut paths = places.companions(self.build, id);
        match id {
            CompanionId::Unit(_) => {
                paths.extend(of().flat_map(packages_of));
                // What a page asks for it uses, so nothing doubtful is handed out.
                paths.extend(unit_paths(named, of()).into_iter().filter(|it| !is_newer(it, of())));
            }
            CompanionId::Shared(_) => {
                let folders = of().filter_map(Path::parent);
                paths.extend(folders.map(|folder| folder.join(&named.path)));
            }
        }
        paths.into_iter().find_map(|path| {
            let file = local::open_regular(&path)?;
            let companion = Companion::of(identity::image(&file).ok()??).ok()?;
            companion.is(id).then_some(file)
        })
    }
}

/// Where a package of split units may lie for a file that names them: `FILE.dwp`, also of `FILE.debug`.
pub fn packages_of(file: &Path) -> Vec<PathBuf> {
    let plain = file.extension().filter(|end| *end == "debug").map(|_| file.with_extension("dwp"));
    let mut package = file.as_os_str().to_owned();
    package.push(".dwp");
    iter::once(PathBuf::from(package)).chain(plain).collect()
}

/// Where a split unit may lie that the files `of` name: where the compiler put it, and beside them.
pub fn unit_paths<'a>(unit: &NamedCompanion, of: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    let path = Path::new(&unit.path);
    let beside = of.filter_map(|file| Some(file.parent()?.join(path.file_name()?)));
    iter::once(path.to_owned()).chain(beside).collect()
}

/// Whether a unit was written after the programs that name it. Compilers write units before a linker writes the program,
/// and an id need not tell a unit of a later build from its own: clang's says nothing of where code lies.
pub fn is_newer<'a>(unit: &Path, of: impl Iterator<Item = &'a Path>) -> bool {
    let linked = of.filter_map(modified).max();
    modified(unit).zip(linked).is_some_and(|(written, linked)| written > linked)
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}
