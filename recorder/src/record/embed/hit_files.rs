//! Parts of the files that samples hit, added to a recording that has ended: then it is known which these are.

use std::collections::HashSet;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use perftab_core::session::{Session, WantedDso};
use perftab_core::{DsoKind, Identity};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::format::footer::Footer;
use perftab_perfdata::format::perftab_section::{self, EmbeddedFile, PerftabSection};
use rustix::fs::{FallocateFlags, OFlags};

use super::elf_parts::{ElfPart, Parts, WholeElf};
use crate::images::candidates::{Candidates, SoughtDso};
use crate::images::local::{self, Holding, Places};
use crate::late_ids::ThisMachine;
use crate::record::identify::IdentifiedFiles;
use crate::record::own_vdso;
use crate::recording::Recording;

/// Bytes of all parts together, before packing.
const MAX_SIZE: usize = 128 << 20;

/// What was added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// Of so many files.
    pub files: usize,
    /// Bytes before packing.
    pub size: usize,
    /// Bytes that the recording has more than before.
    pub growth: u64,
    /// Files that there was no room for.
    pub left_out: usize,
}

/// What was there could not be written back after an error: the recording is damaged.
#[derive(Clone, Copy, Debug)]
pub struct HalfChanged;

impl fmt::Display for HalfChanged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its end is damaged, but all its samples are there")
    }
}

/// Adds these parts of the files that the samples of a recording hit, most samples first; `open` are those that were
/// identified while it was recorded. If that fails, it is as it was, unless the error says [`HalfChanged`].
pub fn add(path: &Path, asked: &[ElfPart], open: &IdentifiedFiles) -> Result<Added> {
    let recording = Recording::open(path)?;
    let mut session = recording.read(ThisMachine::Asked)?;
    let mut gathered = Gathered::new(&session, asked, open);
    loop {
        gathered.take_new(&mut session);
        // Stacks that were copied lead to other files.
        if !recording.unwind(&mut session)? {
            break;
        }
    }
    if !gathered.files.is_empty() {
        let cannot = || format!("parts of files cannot be embedded in {}", path.display());
        gathered.added.growth = add_files(path, gathered.files).with_context(cannot)?;
    }
    Ok(gathered.added)
}

/// Parts that were found so far.
struct Gathered<'a> {
    asked: &'a [ElfPart],
    open: &'a IdentifiedFiles,
    machine: Candidates,
    seen: HashSet<Identity>,
    files: Vec<EmbeddedFile>,
    added: Added,
}

impl<'a> Gathered<'a> {
    fn new(session: &Session, asked: &'a [ElfPart], open: &'a IdentifiedFiles) -> Self {
        let profile = session.profile();
        let pids = profile.threads.processes.iter().map(|process| process.pid).collect();
        let places = Places::of_this_machine(None);
        let machine = Candidates::new(places, profile.host.os_release.as_deref(), pids);
        let (seen, files) = (HashSet::new(), Vec::new());
        Self { asked, open, machine, seen, files, added: Added::default() }
    }

    fn take_new(&mut self, session: &mut Session) {
        for wanted in session.wanted() {
            if matches!(wanted.kind, DsoKind::User | DsoKind::Vdso)
                && self.seen.insert(wanted.identity)
                && let Some(file) = self.find(&wanted, session)
            {
                self.take(&wanted, &file, session);
            }
        }
    }

    fn find(&mut self, wanted: &WantedDso, session: &Session) -> Option<WholeElf> {
        if wanted.kind == DsoKind::Vdso {
            return own_vdso().map(WholeElf::Memory);
        }
        if let Some(file) = self.open.get(&wanted.identity) {
            return file.try_clone().ok().map(WholeElf::File);
        }
        let id = wanted.build_id?;
        let listed_as = session.profile().dsos.get(wanted.dso).listed_as.as_deref();
        let sought = SoughtDso { kind: wanted.kind, path: &wanted.path, listed_as, ids: vec![id] };
        let found = local::open_matching(self.machine.executables(&sought), id, Holding::Code);
        found.map(|it| WholeElf::File(it.file))
    }

    fn take(&mut self, wanted: &WantedDso, file: &WholeElf, session: &mut Session) {
        // Servers know files by their build-ids alone.
        let of_content = match wanted.identity {
            Identity::Content(hash) => Some(hash),
            Identity::Gnu(_) => None,
        };
        let is_asked = |part: &ElfPart| of_content.is_some() || is_embedded(*part, &wanted.path);
        let asked: Vec<ElfPart> = self.asked.iter().copied().filter(is_asked).collect();
        let left = MAX_SIZE - self.added.size;
        let mut embedded = None;
        let parts = match file.parts(&asked, of_content, left) {
            // What was written to since has the same inode, and says nothing of what it was.
            Parts::Are(_) if of_content.is_some() && !file.is(wanted.identity) => return,
            parts => parts,
        };
        match parts {
            Parts::Are(bytes) => {
                self.added.files += 1;
                self.added.size += bytes.len();
                let bytes: Arc<[u8]> = bytes.into();
                embedded = Some(bytes.clone()).filter(|_| asked.contains(&ElfPart::Unwind));
                self.files.push(EmbeddedFile { name: wanted.path.clone(), bytes });
            }
            Parts::None => {}
            Parts::TooLarge => self.added.left_out += 1,
        }
        // Stacks go on through files of which no more than symbols are wanted, and through those that are left out.
        let rules =
            embedded.or_else(|| match file.parts(&[ElfPart::Unwind], of_content, MAX_SIZE) {
                Parts::Are(bytes) => Some(bytes.into()),
                Parts::None | Parts::TooLarge => None,
            });
        if let Some(rules) = rules {
            drop(session.admit(&wanted.path, Box::new(SliceSource::new(rules))));
        }
    }
}

/// Symbols of a distribution's files are to be had from its servers. Those of others are here alone.
fn is_embedded(part: ElfPart, path: &str) -> bool {
    const OF_DISTRIBUTION: [&str; 6] = ["/usr/", "/lib/", "/lib32/", "/lib64/", "/bin/", "/sbin/"];
    let is_of_distribution = OF_DISTRIBUTION.iter().any(|folder| path.starts_with(folder))
        && !path.starts_with("/usr/local/");
    part == ElfPart::Unwind || !is_of_distribution
}

/// Writes the section anew, with these files. It is the last of the recording, so that nothing else is moved. Returns how
/// many bytes that adds.
fn add_files(path: &Path, files: Vec<EmbeddedFile>) -> Result<u64> {
    // The one that was written, and no link that somebody put there since.
    let flags = OFlags::NOFOLLOW.bits() as i32;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
    let end = file.metadata()?.len();
    let (at, mut section) = section_of(&file, end)?;
    section.embedded.extend(files);
    let payload = perftab_section::encode(&section);
    let bytes = [&payload[..], &Footer::of(&payload).encode()].concat();
    let length = bytes.len() as u64;
    // A disk that is full is better known before anything is written over.
    match rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, at, length) {
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
        Err(error) => return Err(io::Error::from(error).into()),
    }
    let mut before = vec![0; usize::try_from(end - at)?];
    file.read_exact_at(&mut before, at)?;
    if let Err(error) = write_end(&file, at, &bytes) {
        return Err(match write_end(&file, at, &before) {
            Ok(()) => error.into(),
            Err(_) => anyhow::Error::from(error).context(HalfChanged),
        });
    }
    Ok((at + length).saturating_sub(end))
}

fn write_end(file: &File, at: u64, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, at)?;
    file.set_len(at + bytes.len() as u64)
}

/// Where the section begins, and what is in it.
fn section_of(file: &File, end: u64) -> Result<(u64, PerftabSection)> {
    let nothing = (end, PerftabSection::default());
    let Some(footer_at) = end.checked_sub(Footer::SIZE) else { return Ok(nothing) };
    let mut bytes = vec![0; Footer::SIZE as usize];
    file.read_exact_at(&mut bytes, footer_at)?;
    let Some(footer) = Footer::decode(&bytes) else { return Ok(nothing) };
    let Some(at) = footer_at.checked_sub(footer.length) else { return Ok(nothing) };
    let mut payload = vec![0; usize::try_from(footer.length)?];
    file.read_exact_at(&mut payload, at)?;
    Ok((at, footer.open(&payload)?))
}
