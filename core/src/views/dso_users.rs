//! Who ran the code of one DSO, and when: what tells two builds of one path apart.
//!
//! One pass over stacks and one over samples. It is asked of a DSO that somebody looks at; kept for
//! all of them it would be a table of DSOs by processes.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::profile::{DsoId, ProcessId, Profile, StackId};
use crate::text::printable;

/// So many processes are named; the others are counted.
const MOST_NAMED: usize = 8;

/// A process with samples in a DSO.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct DsoUser {
    /// Its id at the time of recording.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its threads that have such samples.
    pub threads: u32,
    /// Samples that the DSO is anywhere in.
    pub samples: u64,
}

/// Who ran a DSO, and when.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
pub struct DsoUsers {
    /// Processes, most samples first; of one that calls exec what it was before and after.
    pub processes: Vec<DsoUser>,
    /// Processes beyond those.
    pub more: u32,
    /// The first sample in it, in nanoseconds since the first of the recording. `None` where
    /// samples have no time, and where there are none.
    pub start: Option<f64>,
    /// The last.
    pub end: Option<f64>,
}

/// What one process has of it.
#[derive(Default)]
struct Use {
    threads: BTreeSet<u32>,
    samples: u64,
}

/// Looks at all recorded events.
pub fn dso_users(profile: &Profile, dso: DsoId) -> DsoUsers {
    let through = stacks_through(profile, dso);
    let samples = &profile.samples;
    let mut uses: BTreeMap<ProcessId, Use> = BTreeMap::new();
    let mut times: Option<(u64, u64)> = None;
    let mut first = None;
    for row in profile.recorded_rows() {
        let time = samples.time_nanos[row];
        first = first.or(Some(time).filter(|&time| time > 0));
        if !through[samples.stack[row].index()] {
            continue;
        }
        let thread = profile.threads.thread(samples.thread[row]);
        let of = uses.entry(thread.process).or_default();
        of.threads.insert(thread.tid);
        of.samples = of.samples.saturating_add(samples.count(row));
        if time > 0 {
            let (start, end) = times.unwrap_or((time, time));
            times = Some((start.min(time), end.max(time)));
        }
    }
    let since = |time: u64| time.saturating_sub(first.unwrap_or(0)) as f64;
    let mut processes: Vec<DsoUser> =
        uses.into_iter().map(|(id, of)| user(profile, id, &of)).collect();
    processes.sort_by_key(|user| (std::cmp::Reverse(user.samples), user.pid));
    let more = processes.len().saturating_sub(MOST_NAMED) as u32;
    processes.truncate(MOST_NAMED);
    DsoUsers {
        processes,
        more,
        start: times.map(|(start, _)| since(start)),
        end: times.map(|(_, end)| since(end)),
    }
}

fn user(profile: &Profile, id: ProcessId, of: &Use) -> DsoUser {
    let process = profile.threads.process(id);
    DsoUser {
        pid: process.pid,
        name: printable(profile.strings.get(process.name)).into_owned(),
        threads: of.threads.len() as u32,
        samples: of.samples,
    }
}

/// By stack: whether a frame of the DSO is on it. What a stack stands on comes before it.
fn stacks_through(profile: &Profile, dso: DsoId) -> Vec<bool> {
    let mut through = vec![false; profile.stacks.len()];
    for stack in 1..profile.stacks.len() {
        if let Some((prefix, frame)) = profile.stacks.get(StackId(stack as u32)) {
            through[stack] = through[prefix.index()] || profile.frames.get(frame).dso == dso;
        }
    }
    through
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::fixture::fixture;

    /// The DSO of the fixture's own code is its first.
    const APP: DsoId = DsoId(0);

    fn users(stacks: &str) -> DsoUsers {
        dso_users(&fixture(stacks).profile, APP)
    }

    #[test]
    fn processes_are_counted_by_sample_most_first() {
        let users = users(
            "
            nginx: A B 1
            node: A 1
            nginx: A 1
            other: ~2 1
            ",
        );
        let named: Vec<(&str, u64)> =
            users.processes.iter().map(|user| (&*user.name, user.samples)).collect();
        assert_eq!(named, [("nginx", 2), ("node", 1)]);
        assert_eq!(users.more, 0);
    }

    #[test]
    fn times_are_those_of_samples_in_it_since_the_first_of_all() {
        // Samples of the fixture are a nanosecond apart.
        let users = users(
            "
            p: ~2 1
            p: A 1
            p: ~2 A 1
            p: ~2 1
            ",
        );
        assert_eq!((users.start, users.end), (Some(1.0), Some(2.0)));
    }

    #[test]
    fn what_nobody_ran_has_no_users_and_no_time() {
        assert_eq!(users("p: ~2 1"), DsoUsers::default());
        assert_eq!(dso_users(&fixture("p: A 1").profile, DsoId(77)), DsoUsers::default());
    }

    #[test]
    fn many_processes_are_counted_not_named() {
        let stacks: String = (0..20).map(|number| format!("p{number}: A 1\n")).collect();
        let users = users(&stacks);
        assert_eq!((users.processes.len(), users.more), (8, 12));
    }
}
