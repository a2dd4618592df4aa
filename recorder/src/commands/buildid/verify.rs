//! `perftab buildid verify`: is this machine the one that was recorded, build by build?
//!
//! What is compared is what would run now: the file under the recorded path, the module that is
//! loaded, the kernel that runs. Other files of the same build do not count; `store` finds those.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, bail};
use perftab_core::session::Session;
use perftab_core::{DsoKind, Identity, Image, module_name};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::format::BuildId;
use perftab_perfdata::format::elf_note::{Endian, build_id_in_notes};

use super::Verdicts;
use super::targets::{DsoSelection, Target, targets};
use crate::buildid_cache::EntryName;
use crate::cli::VerifyArgs;
use crate::commands::finish;
use crate::images::unpacked::unpacked;
use crate::images::{identity, local};
use crate::input::Input;
use crate::late_ids::ThisMachine;
use crate::output::Outcome;
use crate::record::own_vdso;
use crate::recording::Recording;

/// The notes of a kernel are under a kilobyte.
const NOTES_MAX: u64 = 64 << 10;

/// Compares.
pub fn run(args: &VerifyArgs) -> anyhow::Result<Outcome> {
    if let Some(notes) = &args.kernel_notes
        && notes == Path::new("-")
        && args.input.path() == Path::new("-")
    {
        bail!("the recording and the notes cannot both be standard input");
    }
    let input = Input::open(args.input.path())?;
    if let Input::Recording(recording) = &input
        && let Some(id) = kernel_in_notes(recording)?
    {
        return verify_notes(id);
    }
    let session = input.read(ThisMachine::Asked)?;
    let outcome = finish(&session);
    match &args.kernel_notes {
        Some(notes) => verify_kernel(&session, notes, outcome),
        None => verify_all(&session, DsoSelection::with_hits(args.with_hits), outcome),
    }
}

/// The notes of a remote kernel against the kernel that runs here.
fn verify_notes(id: BuildId) -> anyhow::Result<Outcome> {
    let mut verdicts = Verdicts::new();
    compare(
        &mut verdicts,
        &id.to_string(),
        &EntryName::kernel().to_string(),
        running(|it| it == id),
    )?;
    verdicts.finish("kernels are another build here", Outcome::Complete)
}

/// The kernel of a recording against the notes of another machine's.
fn verify_kernel(session: &Session, notes: &Path, outcome: Outcome) -> anyhow::Result<Outcome> {
    let mut bytes = Vec::new();
    match notes == Path::new("-") {
        true => io::stdin().lock().take(NOTES_MAX).read_to_end(&mut bytes),
        false => File::open(notes).and_then(|file| file.take(NOTES_MAX).read_to_end(&mut bytes)),
    }
    .with_context(|| notes.display().to_string())?;
    let there = build_id_of_notes(&bytes)
        .with_context(|| format!("{}: no build-id among these notes", notes.display()))?;
    let mut verdicts = Verdicts::new();
    let kernels =
        targets(session, DsoSelection::All).into_iter().filter(|t| t.kind == DsoKind::Kernel);
    for kernel in kernels {
        let state = match kernel.is(Identity::Gnu(there)) {
            true => State::Same,
            false => State::Other(format!("the notes have {there}")),
        };
        compare(&mut verdicts, &kernel.identity.to_string(), kernel.shown(), state)?;
    }
    if verdicts.ok + verdicts.failed == 0 {
        bail!("the recording has no build-id of the kernel");
    }
    verdicts.finish("kernels are another build there", outcome)
}

fn verify_all(session: &Session, which: DsoSelection, outcome: Outcome) -> anyhow::Result<Outcome> {
    let mut verdicts = Verdicts::new();
    for target in targets(session, which) {
        compare(&mut verdicts, &target.identity.to_string(), target.shown(), state(&target))?;
    }
    verdicts.finish("DSOs are another build here, or gone", outcome)
}

/// What has the place of a DSO now.
enum State {
    Same,
    Other(String),
    Gone(String),
}

fn compare(verdicts: &mut Verdicts, id: &str, path: &str, state: State) -> io::Result<()> {
    match state {
        State::Same => verdicts.ok(id, path),
        State::Other(what) | State::Gone(what) => verdicts.fail(id, path, what),
    }
}

fn state(target: &Target) -> State {
    match target.kind {
        DsoKind::Kernel => match target.identity {
            Identity::Gnu(_) => running(|it| target.is(Identity::Gnu(it))),
            Identity::Content(_) => State::Gone("no kernel has such an identity".to_owned()),
        },
        DsoKind::Vdso => {
            let id = own_vdso().and_then(|bytes| {
                let image = Image::open("[vdso]", Box::new(SliceSource::new(bytes))).ok()?;
                identity::build_id_of(&image)
            });
            in_place(target, id, "no vdso here")
        }
        DsoKind::Module => match identity::loaded_module(&module_name(target.shown())) {
            Some(id) => in_place(target, Some(id), ""),
            None => at_path(target, "not loaded, and no file there"),
        },
        _ => at_path(target, "gone"),
    }
}

fn running(is_it: impl Fn(BuildId) -> bool) -> State {
    match identity::running_kernel() {
        Some(id) if is_it(id) => State::Same,
        Some(id) => State::Other(format!("the running kernel is {id}")),
        None => State::Gone("/sys/kernel/notes has no build-id".to_owned()),
    }
}

fn in_place(target: &Target, found: Option<BuildId>, absent: &str) -> State {
    match found {
        Some(id) if target.is(Identity::Gnu(id)) => State::Same,
        Some(id) => State::Other(format!("now {id}")),
        None => State::Gone(absent.to_owned()),
    }
}

fn at_path(target: &Target, gone: &str) -> State {
    let Some(file) = target.paths().find_map(local::open_regular) else {
        return State::Gone(gone.to_owned());
    };
    let image = unpacked(file).ok().and_then(|file| identity::image(&file).ok()?);
    match image.and_then(|image| image.identity()) {
        Some(found) if target.is(found) => State::Same,
        Some(Identity::Gnu(id)) => State::Other(format!("now {id}")),
        Some(Identity::Content(_)) => State::Other("now a file without a build-id".to_owned()),
        None => State::Other("no longer an ELF file".to_owned()),
    }
}

/// The build-id in what was given in the place of a recording, if it is the notes of a kernel.
/// What a recording begins with, packed or not, would be a note of gigabytes.
fn kernel_in_notes(recording: &Recording) -> io::Result<Option<BuildId>> {
    let Some(file) = recording.reopen(0).transpose()? else { return Ok(None) };
    if file.metadata()?.len() > NOTES_MAX {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(NOTES_MAX).read_to_end(&mut bytes)?;
    Ok(build_id_of_notes(&bytes))
}

/// The machine the notes come from may have the other byte order.
fn build_id_of_notes(notes: &[u8]) -> Option<BuildId> {
    [Endian::Little, Endian::Big].into_iter().find_map(|endian| build_id_in_notes(notes, endian))
}
