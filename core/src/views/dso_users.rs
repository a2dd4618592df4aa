//! Who ran the code of one DSO, and when: what tells two builds of one path apart.
//!
//! One pass over stacks and one over samples. It is asked of a DSO that somebody looks at; kept for
//! all of them it would be a table of DSOs by processes.

use serde::Serialize;

use crate::profile::{DsoId, Profile, StackId};
use crate::views::runners::{RunnerCounts, Runners};

/// Who ran a DSO, and when.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
pub struct DsoUsers {
    /// Processes with samples that the DSO is anywhere in.
    #[serde(flatten)]
    pub runners: Runners,
    /// The first sample in it, in nanoseconds since the first of the recording. `None` where
    /// samples have no time, and where there are none.
    pub start: Option<f64>,
    /// The last.
    pub end: Option<f64>,
}

/// Looks at all recorded events.
pub fn dso_users(profile: &Profile, dso: DsoId) -> DsoUsers {
    let through = stacks_through(profile, dso);
    let samples = &profile.samples;
    let mut counts = RunnerCounts::new(profile);
    let mut times: Option<(u64, u64)> = None;
    let mut first = None;
    for row in profile.recorded_rows() {
        let time = samples.time_nanos[row];
        first = first.or(Some(time).filter(|&time| time > 0));
        if !through[samples.stack[row].index()] {
            continue;
        }
        counts.add(samples.thread[row], samples.count(row));
        if time > 0 {
            let (start, end) = times.unwrap_or((time, time));
            times = Some((start.min(time), end.max(time)));
        }
    }
    let since = |time: u64| time.saturating_sub(first.unwrap_or(0)) as f64;
    DsoUsers {
        runners: counts.finish(profile),
        start: times.map(|(start, _)| since(start)),
        end: times.map(|(_, end)| since(end)),
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
            users.runners.processes.iter().map(|user| (&*user.name, user.samples)).collect();
        assert_eq!(named, [("nginx", 2), ("node", 1)]);
        assert_eq!(users.runners.more, 0);
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
        assert_eq!((users.runners.processes.len(), users.runners.more), (8, 12));
    }
}
