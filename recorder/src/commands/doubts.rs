//! Why names lack, or may be wrong, in a line each. The ledger has the reason of each DSO; these are
//! for whoever reads only the names.

use perftab_core::session::{DsoRow, FidelityInfo, Session};
use perftab_core::{DsoId, DsoKind, Status};

use super::share::keeps;
use crate::images::trusted::is_outcome;
use crate::output::{self, percent, printable};

/// So many paths stand in a line.
const MOST_NAMED: usize = 5;
/// From this share of samples on, something is said of code that can have names.
const WORTH_SAYING: f64 = 0.01;
const REMEDY: &str = "perftab record and perf record --buildid-mmap";
/// What is left to do with a recording that is there.
const BY_PATH: &str =
    ". On the machine that recorded, --trust-paths uses its files, each name marked [forced]";

/// Prints them to standard error.
pub fn say(session: &Session) {
    if let Some(fidelity) = session.fidelity() {
        let carrier = session.format().mode;
        let keeps = keeps(&FidelityInfo::from(fidelity));
        output::notice(format_args!(
            "names in this {carrier} are its sender's and cannot be checked; {keeps}"
        ));
        let events = session.info().events;
        let part = events.iter().find_map(|event| Some((&event.name, event.part_of?.samples)));
        if let Some((event, samples)) = part {
            let samples = output::counted(samples, "sample", "samples");
            output::notice(format_args!(
                "it holds a part of a recording with {samples} of {event}"
            ));
        }
    }
    let rows = session.dsos();
    let were_trusted = rows.iter().any(|row| row.tried.iter().any(|it| is_outcome(&it.outcome)));
    let by_path = if were_trusted { "" } else { BY_PATH };
    if lacks_build_ids(&rows) {
        output::notice(format_args!(
            "the recording has no build-ids, so no code has names. {REMEDY} write them{by_path}"
        ));
        return;
    }
    // What there is more to say of has a warning of its own.
    let has_no_id = |row: &&DsoRow| {
        let dso = session.profile().dsos.get(DsoId(row.id));
        let is_file = matches!(row.kind, "user" | "module" | "kernel");
        let is_unexplained = dso.no_identity_because.is_none() && !dso.is_deleted;
        row.status == Status::NoIdentity && row.leaf_samples > 0 && is_file && is_unexplained
    };
    if let Some((paths, share)) = named(&rows, has_no_id) {
        let recorder = session.profile().recorder.version.as_deref().unwrap_or_default();
        // It identifies each file that it can read.
        let remedy = match recorder.starts_with("perftab") {
            true => "perftab record could not read it in time, or was told not to with -B",
            false => &format!("{REMEDY} write them"),
        };
        output::notice(format_args!(
            "recorded without a build-id, so without names: {paths}, where {share} of samples end. \
             {remedy}{by_path}"
        ));
    }
    let is_missing = |row: &&DsoRow| {
        row.kind == "user" && row.status == Status::Missing && row.leaf_share >= WORTH_SAYING
    };
    if session.fidelity().is_none()
        && let Some((paths, share)) = named(&rows, is_missing)
    {
        output::notice(format_args!(
            "without names, as the file that ran is not here: {paths}, where {share} of samples end. Give it with \
             --image; perftab buildid archive takes such files along where a recording was made"
        ));
    }
    let made: f64 =
        rows.iter().filter(|row| is_made_code(session, row)).map(|row| row.leaf_share).sum();
    if made >= WORTH_SAYING && session.fidelity().is_none() {
        let share = percent(made, 1.0);
        output::notice(format_args!(
            "{share} of samples end in code that processes made while they ran, without names. They say what it is called with \
             java: jcmd PID Compiler.perfmap; node --perf-basic-prof; python -X perf; .NET: DOTNET_PerfMapEnabled=1. perftab \
             record then takes that along"
        ));
    }
    let is_late = |row: &&DsoRow| row.leaf_samples > 0 && has_late_id(session, row);
    if let Some((paths, share)) = named(&rows, is_late) {
        output::notice(format_args!(
            "these build-ids were read when the recording ended, and are wrong for files that were \
             replaced before: {paths}, where {share} of samples end. {REMEDY} record them at once"
        ));
    }
}

/// Whether it is memory that was no file's, in which samples ended.
fn is_made_code(session: &Session, row: &DsoRow) -> bool {
    session.profile().dsos.get(DsoId(row.id)).kind == DsoKind::Anon
}

fn has_late_id(session: &Session, row: &DsoRow) -> bool {
    session.late_identity(DsoId(row.id)).is_some()
}

/// Paths of those rows, and the share of samples that end in them; `None` if there is none.
fn named(rows: &[DsoRow], is_one: impl Fn(&&DsoRow) -> bool) -> Option<(String, String)> {
    let found: Vec<&DsoRow> = rows.iter().filter(is_one).collect();
    if found.is_empty() {
        return None;
    }
    let share: f64 = found.iter().map(|row| row.leaf_share).sum();
    let paths = found.iter().take(MOST_NAMED).map(|row| printable(&row.path).into_owned());
    let mut paths = paths.collect::<Vec<_>>().join(", ");
    if found.len() > MOST_NAMED {
        paths.push_str(&format!(" and {} more", found.len() - MOST_NAMED));
    }
    Some((paths, percent(share, 1.0)))
}

/// Whether nothing that was sampled can have a name. What carries its symbols has names without.
fn lacks_build_ids(rows: &[DsoRow]) -> bool {
    let mut sampled = rows.iter().filter(|row| row.samples > 0).peekable();
    let lacks_one = |row: &DsoRow| row.build_id.is_none() && row.status == Status::NoIdentity;
    sampled.peek().is_some() && sampled.all(lacks_one)
}
