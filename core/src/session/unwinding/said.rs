//! What the user is told of stacks that were unwound.

use std::cmp::Reverse;

use perftab_perfdata::error::{Warning, WarningKind};
use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::sort_by_key;
use perftab_perfdata::text::{counted, grouped, printable};
use perftab_profile::{DsoId, DsoKind, Profile, PseudoFrame, advice_on_copy};

use super::{StackEnd, UnwoundRow};

/// Reasons that a message names.
const NAMED: usize = 3;

/// All that is to be said of these.
pub(super) fn of(profile: &Profile, rows: &[UnwoundRow]) -> Vec<Warning> {
    let have = |samples| counted(samples, "sample has", "samples have");
    let guessed = rows.iter().filter(|row| row.guessed.is_some()).count() as u64;
    let guessed = (guessed > 0).then(|| {
        let message = format!(
            "{} callers that were guessed by frame pointer, as no unwind tables are here. They are marked, \
             and may be wrong.",
            have(guessed)
        );
        warning(WarningKind::NotUnwound, guessed, message)
    });
    let without = profile.stack_dumps.saturating_sub(rows.len() as u64);
    let without = (without > 0).then(|| {
        let message = format!(
            "{} a copy of the user stack that could not be used: it is empty, too much had to wait for its turn, or \
             the recording has changed since. Only the innermost user frame is shown.",
            have(without)
        );
        warning(WarningKind::NotUnwound, without, message)
    });
    let truncated = rows.iter().filter(|row| row.end == StackEnd::Truncated).count() as u64;
    let truncated = (truncated > 0).then(|| {
        let message = format!(
            "{} a stack that is longer than its copy: its outermost frames are missing.{}",
            have(truncated),
            smallest_cut(profile).map_or(String::new(), |it| format!(" {}", advice_on_copy(it)))
        );
        warning(WarningKind::TruncatedStacks, truncated, message)
    });
    stopped(profile, rows).into_iter().chain(guessed).chain(without).chain(truncated).collect()
}

/// Bytes of the smallest copy behind which a stack goes on.
fn smallest_cut(profile: &Profile) -> Option<u32> {
    let remarks = PseudoFrame::known_unwinding_in(&profile.dsos)?;
    let frames = profile.frames.iter().filter(|(_, frame)| frame.dso == remarks);
    let copies = frames.filter_map(|(_, frame)| match PseudoFrame::of_number(frame.address)? {
        PseudoFrame::Truncated { copied } => Some(copied),
        _ => None,
    });
    copies.min()
}

fn warning(kind: WarningKind, samples: u64, message: String) -> Warning {
    Warning { kind, offset: None, count: 1, samples: Some(samples), message }
}

/// Of stacks that stop too early, with the most frequent reasons.
fn stopped(profile: &Profile, rows: &[UnwoundRow]) -> Option<Warning> {
    let mut by_end: Map<StackEnd, u64> = Map::new();
    for row in rows {
        if !matches!(row.end, StackEnd::Root | StackEnd::Truncated) {
            *by_end.entry(row.end).or_default() += 1;
        }
    }
    let mut stopped: Vec<(StackEnd, u64)> = by_end.iter().map(|(&end, &n)| (end, n)).collect();
    sort_by_key(&mut stopped, |&(end, samples)| (Reverse(samples), end));
    let all: u64 = stopped.iter().map(|(_, samples)| samples).sum();
    let name = |dso: DsoId| printable(profile.dsos.get(dso).name());
    let is_unknown = |dso: DsoId| profile.dsos.get(dso).is_unidentified_file();
    let reason = |&(end, samples): &(StackEnd, u64)| {
        let why = match end {
            StackEnd::NoTables(dso) if is_unknown(dso) => format!(
                "in {} (recorded without a build-id, as perf does without --buildid-mmap)",
                name(dso)
            ),
            StackEnd::NoTables(dso) if profile.dsos.get(dso).kind == DsoKind::Anon => format!(
                "in {}, code made at run time (only a jitdump may tell how it is unwound, as with \
                 Python's -X perf_jit or Node.js's --perf-prof-unwinding-info)",
                name(dso)
            ),
            StackEnd::NoTables(dso) => format!("in {} (no unwind tables here)", name(dso)),
            StackEnd::NotCovered(dso) => {
                format!("in code of {} that its unwind tables leave out", name(dso))
            }
            StackEnd::ReturnProbe => {
                "where a uretprobe has taken the place of what a function returns to".to_owned()
            }
            StackEnd::NoRegisters => "of 32-bit programs or without registers".to_owned(),
            StackEnd::Lost | StackEnd::Root | StackEnd::Truncated => {
                "where the copy contradicts the files".to_owned()
            }
        };
        format!("{} {why}", grouped(samples))
    };
    let reasons: Vec<String> = stopped.iter().take(NAMED).map(reason).collect();
    let more = match stopped.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and in {more} more"),
    };
    let message = format!(
        "{} a stack that stops before the first function of its thread: {}{more}.",
        counted(all, "sample has", "samples have"),
        reasons.join("; ")
    );
    (all > 0).then(|| warning(WarningKind::NotUnwound, all, message))
}
