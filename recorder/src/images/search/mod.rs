//! Offers every file that may name a recording's DSOs to its session: files the user names, then
//! this machine's, then those of debuginfod servers.
//!
//! All of them are only offered. Which are used, the session decides by their build-ids. What was
//! tried for a DSO and what came of it is noted in the session, for those who wonder.

mod companions;
mod servers;
mod this_machine;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::iter;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use perftab_core::session::{OfferReport, OfferStep, Session, WantedDso};
use perftab_core::{DsoId, DsoKind, ImageContents, Rejection};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::format::BuildId;

use super::candidates::Candidates;
use super::code_of_processes;
use super::folders::files_below;
use super::forced;
use super::local::{self, Places};
use super::named::{NamedFile, NamedReport, Offered};
use super::trusted::{self, Making};
use crate::cli::NameArgs;
use crate::debuginfod_client::{Client, Patience};
use crate::descriptors::raise_descriptor_limit;
use crate::file_source::FileSource;
use crate::output::{self, Progress, Unit};
use crate::recording::Recording;

/// Frames named between two updates of the progress bar.
const FRAMES_AT_ONCE: usize = 4096;
/// Bytes of a file looked at between two updates.
const BYTES_AT_ONCE: usize = 16 << 20;

/// Finds images and lets the session unwind its stacks and name its frames from them. `recording` is what it was read
/// from, unless that was a link.
///
/// Fails only if that can't be read again, or a file or folder that the user named can't be read or used as he wants.
pub fn name_frames(
    session: &mut Session,
    recording: Option<&Recording>,
    args: &NameArgs,
) -> anyhow::Result<()> {
    let say = &mut |file: NamedFile| file.notices.iter().for_each(output::notice);
    name_frames_with(session, recording, args, say)
}

/// The same, but that the host says what came of the files that the user named: of each, in their order.
pub fn name_frames_with(
    session: &mut Session,
    recording: Option<&Recording>,
    args: &NameArgs,
    say: &mut dyn FnMut(NamedFile),
) -> anyhow::Result<()> {
    raise_descriptor_limit();
    let images = &args.images;
    let mut search = Search::new(session);
    if let Some(vmlinux) = &args.vmlinux {
        search.offer_vmlinux(vmlinux)?;
    }
    let named: Vec<NamedReport> =
        images.image.iter().map(|path| search.offer_named(path)).collect::<Result<_, _>>()?;
    let mut machine =
        (!images.no_local).then(|| search.candidates(images.cache.buildid_dir.as_deref()));
    if let Some(machine) = &mut machine {
        search.offer_local(machine);
    }
    search.offer_embedded();
    let written = recording.and_then(Recording::written);
    for &guesses in args.guesses() {
        search.session.guess_callers(guesses);
        loop {
            search.unwind(recording, machine.as_mut())?;
            if machine.is_some() {
                // Unwound stacks lead to more of it, and it may tell how they go on.
                code_of_processes::offer(search.session, written);
                search.unwind(recording, machine.as_mut())?;
            }
            // Stacks may go on in what comes, and lead to other files.
            if !search.fetch(Client::new(images, Patience::OfCommand))? {
                break;
            }
        }
    }
    search.session.forget_kept_dumps();
    search.find_supplementary(images, machine.as_ref().map(Candidates::places))?;
    if args.vmlinux.is_none() {
        search.say_missing_kernels();
    }
    resolve(search.session);
    while machine.as_ref().is_some_and(|it| search.find_split_units(it.places())) {
        resolve(search.session);
    }
    let waiting: HashSet<&str> = search.session.waiting_files().collect();
    let used_code: HashSet<&str> = search.session.used_code_tables().collect();
    named.iter().for_each(|file| say(file.named(&waiting, &used_code)));
    let places = machine.map(|machine| machine.places().clone());
    forced::force(session, args)?;
    if args.trust_paths {
        let making = recording.map(|recording| Making::of(recording, session));
        let places = places.unwrap_or_else(|| Places::of_this_machine(None));
        trusted::force(session, making.as_ref(), &places);
    }
    Ok(())
}

/// The same from the files of this machine alone, and without lines and inlined functions: in moments, for a session that
/// soon gives way to another.
pub fn name_frames_here(session: &mut Session, copies: NewCopies) {
    raise_descriptor_limit();
    let mut search = Search { copies, ..Search::new(session) };
    let mut machine = search.candidates(None);
    search.offer_local(&mut machine);
    offer_code_of_processes(search.session);
}

/// What processes that run say of their code, and the names of all that there is.
pub fn offer_code_of_processes(session: &mut Session) {
    code_of_processes::offer(session, None);
    resolve(session);
}

/// Names the frames of all DSOs that have files, with a progress bar.
pub fn resolve(session: &mut Session) {
    let mut progress = None;
    loop {
        let named = session.name_frames(FRAMES_AT_ONCE);
        if named.is_complete() {
            return;
        }
        let total = Some(named.total as u64);
        let bar = progress.get_or_insert_with(|| Progress::begin("Naming", Unit::Frames, total));
        bar.update(named.done as u64);
    }
}

/// Whether a copy of the running kernel's symbols is kept where there is none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewCopies {
    /// For the next that looks for them.
    Kept,
    /// Nothing is left behind.
    LeftOut,
}

struct Search<'a> {
    session: &'a mut Session,
    copies: NewCopies,
    /// What came of each file offered, by device and inode: one file has many paths.
    offered: HashMap<(u64, u64), String>,
    /// DSOs that a file names.
    named: HashSet<DsoId>,
    /// DSOs with a file that has names of functions.
    have_functions: HashSet<DsoId>,
    /// DSOs with a file that tells source lines; more than that is nowhere to be had.
    have_lines: HashSet<DsoId>,
    /// What was wanted at first, most samples first, and then what stacks led to.
    wanted: Vec<WantedDso>,
    /// How many of these were looked for on this machine.
    looked_for: usize,
    /// How many servers were asked for.
    asked_for: usize,
    /// Units that were not used as they are newer than their programs.
    newer_units: HashSet<PathBuf>,
}

impl<'a> Search<'a> {
    fn new(session: &'a mut Session) -> Self {
        let wanted = session.wanted();
        Self {
            session,
            copies: NewCopies::Kept,
            offered: HashMap::new(),
            named: HashSet::new(),
            have_functions: HashSet::new(),
            have_lines: HashSet::new(),
            wanted,
            looked_for: 0,
            asked_for: 0,
            newer_units: HashSet::new(),
        }
    }

    /// Offers what travelled in the recording. Parts of files do not make up for whole ones, so those are looked for all
    /// the same.
    fn offer_embedded(&mut self) {
        for file in self.session.embedded_files().to_vec() {
            let source = Box::new(SliceSource::new(Arc::clone(&file.bytes)));
            self.session.offer(&file.shown_name(), source).finish(self.session);
        }
    }

    /// Where this machine may have files.
    fn candidates(&self, buildid_dir: Option<&Path>) -> Candidates {
        let places = Places::of_this_machine(buildid_dir);
        let profile = self.session.profile();
        let pids = profile.threads.processes.iter().map(|process| process.pid).collect();
        Candidates::new(places, profile.host.os_release.as_deref(), pids)
    }

    /// Unwinds stacks that were copied, and looks for the files of the code that they lead to, until they lead no
    /// further.
    fn unwind(
        &mut self,
        recording: Option<&Recording>,
        mut machine: Option<&mut Candidates>,
    ) -> anyhow::Result<()> {
        let Some(recording) = recording else { return Ok(()) };
        let mut known: HashSet<DsoId> = self.session.wanted().iter().map(|it| it.dso).collect();
        while recording.unwind(self.session)? {
            let mut more = self.session.wanted();
            more.retain(|wanted| known.insert(wanted.dso));
            self.wanted.extend(more);
            match &mut machine {
                Some(machine) => self.offer_local(machine),
                None => break,
            }
        }
        Ok(())
    }

    /// Offers a file; `None` if it is none that can be read, or was offered before.
    fn offer(&mut self, path: &Path) -> Option<OfferReport> {
        let file = local::open_regular(path)?;
        let metadata = file.metadata().ok()?;
        let key = (metadata.dev(), metadata.ino());
        if self.offered.contains_key(&key) {
            return None;
        }
        let source = FileSource::new(file).ok()?;
        let name = path.to_string_lossy();
        let report = self.offer_source(&name, source);
        self.offered.insert(key, words_of(&report));
        Some(report)
    }

    fn offer_source(&mut self, name: &str, source: FileSource) -> OfferReport {
        let mut offer = self.session.offer(name, Box::new(source));
        let mut progress = None;
        let report = loop {
            match offer.step(self.session, BYTES_AT_ONCE) {
                OfferStep::Done(report) => break report,
                OfferStep::More { done, total } => {
                    let begin =
                        || Progress::begin(&format!("Reading {name}"), Unit::Bytes, Some(total));
                    progress.get_or_insert_with(begin).update(done);
                }
            }
        };
        self.take(&report);
        report
    }

    /// Keeps in mind what a file was good for.
    fn take(&mut self, report: &OfferReport) {
        let nothing = ImageContents::default();
        let lines = ImageContents { inlines: true, ..nothing }.sentence();
        let functions = ImageContents { functions: true, ..nothing }.sentence();
        for used in &report.used {
            let dsos = || used.dsos.iter().map(|&row| DsoId(row));
            self.named.extend(dsos());
            if [lines, functions].contains(&used.gives) {
                self.have_functions.extend(dsos());
            }
            if used.gives == lines {
                self.have_lines.extend(dsos());
            }
        }
    }

    /// The kernel's file, named by the user: no other is looked for. If it is not the kernel that
    /// ran, [`forced::force`] says so.
    fn offer_vmlinux(&mut self, path: &Path) -> anyhow::Result<()> {
        fs::metadata(path).with_context(|| format!("--vmlinux {}", path.display()))?;
        self.wanted.retain(|wanted| wanted.kind != DsoKind::Kernel);
        self.offer(path);
        Ok(())
    }

    /// A file or folder that the user named.
    fn offer_named(&mut self, path: &Path) -> anyhow::Result<NamedReport> {
        let metadata = fs::metadata(path).with_context(|| format!("--image {}", path.display()))?;
        let offered = if metadata.is_dir() {
            let mut sum = OfferReport::default();
            // What compilers split off comes after the programs that name it.
            let mut files = files_below(path);
            files.sort_by_key(|file| file.extension() == Some(OsStr::new("dwo")));
            for file in files {
                if let Some(mut report) = self.offer(&file) {
                    sum.unrelated += report.unrelated;
                    sum.others += report.others;
                    sum.used.append(&mut report.used);
                    sum.not_used.append(&mut report.not_used);
                }
            }
            Offered::Folder(sum)
        } else if !metadata.is_file() {
            Offered::Unreadable
        } else {
            self.offer(path).map_or(Offered::Before, Offered::File)
        };
        Ok(NamedReport { path: path.to_owned(), offered })
    }
}

/// What came of a file, in few words.
fn words_of(report: &OfferReport) -> String {
    if !report.used.is_empty() {
        return "another build that was also recorded".to_owned();
    }
    match report.not_used.first().map(|refused| (&refused.reason, &refused.message)) {
        Some((Rejection::NothingRecordedHasIt { found, .. }, _)) => {
            format!("another build, {found}")
        }
        Some((Rejection::NoIdentityInFile, _)) => "has no build-id".to_owned(),
        Some((_, message)) => message.clone(),
        None => "no file of this build".to_owned(),
    }
}

/// What a recorded id may be: as it stands, and without the zeros that perf may have padded it
/// with. Core's gate decides about the file.
fn readings(build_id: Option<BuildId>) -> impl Iterator<Item = BuildId> {
    build_id.into_iter().flat_map(|id| iter::once(id).chain(id.without_padding()))
}
