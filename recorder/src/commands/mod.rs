//! One file a command over recordings; each asks core's `Session` and prints the answer.

pub mod annotate;
pub mod buildid;
pub mod diff;
mod doubts;
pub mod evlist;
pub mod export;
mod filter;
mod header;
pub mod help_files;
pub mod info;
pub mod list;
pub mod record;
pub mod report;
pub mod script;
pub mod share;
pub mod top;
pub mod version;

use anyhow::bail;
use perftab_core::NamingDepth;
use perftab_core::session::Session;
use perftab_perfdata::error::WarningKind;

use crate::cli::{InputArgs, NameArgs};
use crate::images::search;
use crate::input::Input;
use crate::late_ids::ThisMachine;
use crate::output::{self, Outcome};

/// Reads a recording or what was shared; its frames have no names but those it carries.
fn read(input: &InputArgs) -> anyhow::Result<Session> {
    Input::open(input.path())?.read(ThisMachine::Asked)
}

/// What to say of an answer without samples, where the recording has some.
const NO_SAMPLE_LEFT: &str =
    "the filters leave no sample: perftab report --sort comm,pid,dso lists what there is";

/// Whether the data of memory accesses gets names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DataNaming {
    /// It does, and files are looked for that have them.
    Named,
    LeftOut,
}

/// Reads a recording and names its frames.
fn read_named(input: &InputArgs, images: &NameArgs, depth: NamingDepth) -> anyhow::Result<Session> {
    read_named_with(input, images, depth, DataNaming::LeftOut)
}

fn read_named_with(
    input: &InputArgs,
    images: &NameArgs,
    depth: NamingDepth,
    data: DataNaming,
) -> anyhow::Result<Session> {
    let input = Input::open(input.path())?;
    let mut session = input.read(images.images.this_machine())?;
    session.set_naming_depth(depth);
    if data == DataNaming::Named {
        session.look_up_data();
    }
    search::name_frames(&mut session, input.recording(), images)?;
    if data == DataNaming::Named {
        session.name_data();
    }
    Ok(session)
}

/// The number of the event of this name; without a name, of the first that has samples.
fn event_number(session: &Session, name: Option<&str>) -> anyhow::Result<u32> {
    let profile = session.profile();
    let events = || profile.events.iter().chain(profile.wall_clock.as_ref().map(|it| &it.event));
    let found = match name {
        Some(name) => events().position(|event| event.name == name),
        None => Some(events().position(|event| event.samples > 0).unwrap_or(0)),
    };
    match (found, name) {
        (Some(index), _) => Ok(index as u32),
        (None, name) => {
            let known: Vec<&str> = events().map(|event| event.name.as_str()).collect();
            let known = known.join(", ");
            bail!("no event {} in the recording; it has: {known}", name.unwrap_or_default())
        }
    }
}

/// The same as [`finish`] for what shows names, which says before why there are none, or why they
/// may be wrong.
fn finish_named(session: &Session) -> Outcome {
    doubts::say(session);
    finish(session)
}

/// Prints the warnings of a session, and says whether anything was lost.
fn finish(session: &Session) -> Outcome {
    for warning in session.warnings() {
        match warning.offset {
            Some(offset) if !warning.message.contains("0x") => {
                output::notice(format_args!("warning: at {offset:#x}: {}", warning.message));
            }
            _ => output::notice(format_args!("warning: {}", warning.message)),
        }
    }
    let lost = session.profile().lost;
    let is_whole = session.warnings().iter().all(|warning| match warning.kind {
        WarningKind::BuildIdConflict
        | WarningKind::Ambiguous
        | WarningKind::Text
        | WarningKind::NoFramePointers
        | WarningKind::StacksReadLater
        | WarningKind::NoTime => true,
        WarningKind::Unfinished
        | WarningKind::PartsMissing
        | WarningKind::PartRead
        | WarningKind::Damaged
        | WarningKind::Unpacking
        | WarningKind::BadSection
        | WarningKind::Truncated
        | WarningKind::Unreadable
        | WarningKind::Unsupported
        | WarningKind::NotUnwound
        | WarningKind::TruncatedStacks
        | WarningKind::Lost
        | WarningKind::OutOfOrder
        | WarningKind::UnknownEvent => false,
    });
    if is_whole && lost.events == 0 && lost.samples == 0 {
        Outcome::Complete
    } else {
        Outcome::WithLosses
    }
}
