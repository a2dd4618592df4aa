//! What the cache has of a build, checked.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use perftab_perfdata::format::BuildId;

use super::Cache;
use super::content::{self, OtherContent};
use super::layout::{self, EntryName, Part};
use crate::images::local;
use crate::images::unpacked::unpacked;

/// What makes a file of an entry the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Its content has the build-id.
    Content,
    /// Its name alone: it has nothing in it that says what it is. For the gate that is no proof.
    Name,
}

/// A file that is what its name says.
#[derive(Debug)]
pub struct CachedFile {
    /// What it is of the build.
    pub part: Part,
    /// The file as it was checked, at its beginning; unpacked if it is packed, as perf keeps modules.
    pub file: File,
    /// What it is: by its content, or only by its name.
    pub build: BuildId,
    /// How far it can be trusted.
    pub proof: Proof,
}

/// A file that is not what its name says; never to be used.
#[derive(Debug)]
pub struct CorruptEntry {
    /// Where it lies.
    pub path: PathBuf,
    /// What it is instead.
    pub holds: OtherContent,
}

/// What the cache has of a build.
#[derive(Debug)]
pub struct Entry {
    /// The build.
    pub id: BuildId,
    /// What it is a build of, as the cache knows it.
    pub name: EntryName,
    /// What may be used.
    pub found: Vec<CachedFile>,
    /// What may not.
    pub spoiled: Vec<CorruptEntry>,
}

impl Entry {
    /// One of the files.
    pub fn part(&self, part: Part) -> Option<&CachedFile> {
        self.found.iter().find(|found| found.part == part)
    }
}

impl Cache {
    /// The entry of a build, each of its files checked. `None` if there is none, or nothing in it.
    pub fn lookup(&self, id: BuildId) -> Option<Entry> {
        let name = layout::entry_of_target(&fs::read_link(self.link(id)?).ok()?, id)?;
        let entry = self.read_entry(id, name);
        (!entry.found.is_empty() || !entry.spoiled.is_empty()).then_some(entry)
    }

    /// Every build that has a link, in the order of their paths. Files are opened one entry at a
    /// time, as the iterator goes on.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        let mut named: Vec<(EntryName, BuildId)> = Vec::new();
        for first in names_in(&self.links()) {
            for rest in names_in(&self.links().join(&first)) {
                let id = layout::id_of_link(first.as_ref(), rest.as_ref());
                let target = id.and_then(|id| fs::read_link(self.link(id)?).ok());
                if let (Some(id), Some(target)) = (id, target)
                    && let Some(name) = layout::entry_of_target(&target, id)
                {
                    named.push((name, id));
                }
            }
        }
        named.sort_by(|(name, id), (other, other_id)| {
            (name.as_path(), id).cmp(&(other.as_path(), other_id))
        });
        named.into_iter().map(|(name, id)| self.read_entry(id, name))
    }

    fn read_entry(&self, id: BuildId, name: EntryName) -> Entry {
        let folder = self.folder(&name, id);
        let mut entry = Entry { id, name, found: Vec::new(), spoiled: Vec::new() };
        // An entry that an old perf made is the file itself.
        if folder.is_file() {
            let part = match entry.name == EntryName::kernel() {
                true => Part::Kallsyms,
                false => Part::Elf,
            };
            entry.read_part(part, &folder);
        } else {
            for part in Part::ALL {
                entry.read_part(part, &folder.join(&*part.file_name()));
            }
        }
        entry
    }
}

impl Entry {
    fn read_part(&mut self, part: Part, path: &Path) {
        let path = path.to_owned();
        // What can't be read is not there; what can't be unpacked, or is no image, is spoiled.
        let Some(file) = local::open_regular(&path) else { return };
        let Ok(file) = unpacked(file) else {
            self.spoiled.push(CorruptEntry { path, holds: OtherContent::NoBuildId });
            return;
        };
        match content::check(&file, self.id, part) {
            Ok(Ok((build, proof))) => self.found.push(CachedFile { part, file, build, proof }),
            Ok(Err(holds)) => self.spoiled.push(CorruptEntry { path, holds }),
            Err(_) => {}
        }
    }
}

/// The names in a folder; none if it can't be read.
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
