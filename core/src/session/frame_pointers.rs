//! Code that was built without frame pointers, in a recording that follows them.
//!
//! The kernel takes the register for a frame pointer whatever it holds, and writes down what it finds there
//! (`perf_callchain_user` in arch/x86/events/core.c, Linux 6.12). Where that lies in no mapping, it is no caller, so the
//! function inside of it had something else in the register. Some words that are none are in a mapping all the same, and
//! where the register was not used, the caller alone is missing; so the true share is larger.

use std::cmp::Reverse;

use perftab_perfdata::error::{Warning, WarningKind};
use perftab_perfdata::sorting::sort_by_key;
use perftab_perfdata::text::{counted, printable};
use perftab_profile::{Dso, DsoKind, Profile};
use perftab_views::coverage::DsoUse;

/// Fewer samples may be of code whose mapping was lost.
const FEWEST: u64 = 20;
/// One of so many samples in a DSO.
const RARE: u64 = 20;
/// DSOs that the message names.
const NAMED: usize = 3;

/// Tells of the DSOs that seem to have none. `lost_callers` has by DSO in how many samples its caller lies nowhere.
pub(super) fn missing(profile: &Profile, dsos: &[DsoUse], lost_callers: &[u64]) -> Option<Warning> {
    let uses = dsos.iter().zip(lost_callers);
    let mut without: Vec<(&Dso, u64)> = profile
        .dsos
        .iter()
        .zip(uses)
        .filter(|((_, dso), _)| dso.kind == DsoKind::User)
        .filter(|(_, (used, lost))| **lost >= FEWEST && lost.saturating_mul(RARE) >= used.samples)
        .map(|((_, dso), (used, _))| (dso, used.samples))
        .collect();
    sort_by_key(&mut without, |&(_, samples)| Reverse(samples));
    let most = without.first()?.1;
    let named = without.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|(dso, samples)| {
            format!("{} ({})", printable(dso.name()), counted(*samples, "sample", "samples"))
        })
        .collect();
    let more = match without.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "Built without frame pointers, as it seems: {}{more}. Callers of this code are missing or wrong. Record with \
         perftab record --call-graph dwarf.",
        named.join(", ")
    );
    let (kind, count) = (WarningKind::NoFramePointers, without.len() as u64);
    Some(Warning { kind, offset: None, count, samples: Some(most), message })
}
