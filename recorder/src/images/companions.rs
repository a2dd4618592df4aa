//! Where this machine may have the companions of an image: files that did not run and have a part of its debug
//! information (`.dwo`, `.dwp`, what dwz shares).
//!
//! Only files that the user named are looked at, paths that the image's own DWARF names, and what has the image's name
//! beside it. Whatever is there is handed out only if it says itself that it is the companion of that id.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::iter;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use perftab_core::{Companion, CompanionId, Image, NamedCompanion};
use perftab_perfdata::format::BuildId;

use super::local::{self, Places};
use super::unpacked::unpacked;
use super::{answering, identity};

/// Companions that the user named, by what images name them by.
#[derive(Default)]
pub struct GivenCompanions(HashMap<CompanionId, PathBuf>);

impl GivenCompanions {
    /// Takes the file at a path, of which this is the image; gives it back if it is none that others name.
    pub fn add(&mut self, image: Image, path: &Path) -> Result<(), Box<Image>> {
        let companion = Companion::of(image)?;
        for id in companion.ids() {
            self.0.entry(id).or_insert_with(|| path.to_owned());
        }
        Ok(())
    }
}

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
    pub fn open_all<'a>(
        &'a self,
        given: &'a GivenCompanions,
        places: Option<&'a Places>,
    ) -> impl Iterator<Item = (CompanionId, File)> + 'a {
        let mut seen = HashSet::new();
        self.named.iter().filter_map(move |named| {
            if seen.contains(&named.id) {
                return None;
            }
            let (companion, file) = self.find(named, given, places)?;
            seen.extend(companion.ids());
            Some((named.id, file))
        })
    }

    /// One of them, if it is here.
    pub fn open(
        &self,
        id: CompanionId,
        given: &GivenCompanions,
        places: Option<&Places>,
    ) -> Option<File> {
        let named = self.named.iter().find(|named| named.id == id)?;
        self.find(named, given, places).map(|(_, file)| file)
    }

    fn find(
        &self,
        named: &NamedCompanion,
        given: &GivenCompanions,
        places: Option<&Places>,
    ) -> Option<(Companion, File)> {
        let given = given.0.get(&named.id);
        let given = given.and_then(|path| unpacked(local::open_regular(path)?).ok());
        let places = places.map(|places| self.paths(named, places)).unwrap_or_default();
        let here = places.iter().filter_map(|path| local::open_regular(path));
        given.into_iter().chain(here).find_map(|file| {
            let companion = Companion::of(identity::image(&file).ok()??).ok()?;
            companion.is(named.id).then_some((companion, file))
        })
    }

    /// Where one may lie on this machine, best first.
    fn paths(&self, named: &NamedCompanion, places: &Places) -> Vec<PathBuf> {
        let of = || self.of.iter().map(PathBuf::as_path);
        let mut paths = places.companions(self.build, named.id);
        match named.id {
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
        paths
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
    answering::metadata(path)?.modified().ok()
}
