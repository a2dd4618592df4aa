//! Who ran the code of DSOs, and when: what tells two builds of one path apart.
//!
//! It goes through all stacks and all samples once for up to 64 DSOs. It is asked of those that
//! somebody looks at; kept for all of them it would be a table of DSOs by processes.

use perftab_perfdata::slice::Slice;
use perftab_profile::{DsoId, Profile, StackId};
use serde::Serialize;

use crate::runners::{RunnerCounts, Runners};

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

/// DSOs that one pass looks for: a bit of each stack for each.
const AT_ONCE: usize = u64::BITS as usize;

/// Who ran these DSOs, and when, in the same order: of all recorded events, in slices of stacks and rows.
pub async fn users(profile: &Profile, wanted: &[DsoId], slice: &Slice) -> Vec<DsoUsers> {
    let a_pass = profile.stacks.len() + profile.samples.len();
    slice.expect(wanted.len().div_ceil(AT_ONCE) * a_pass);
    let mut found = Vec::new();
    for dsos in wanted.chunks(AT_ONCE) {
        let through = through(profile, dsos, slice).await;
        found.extend(users_of(profile, dsos, &through, slice).await);
    }
    found
}

/// By stack: which of these DSOs are on it.
async fn through(profile: &Profile, dsos: &[DsoId], slice: &Slice) -> Vec<u64> {
    let mut bits = vec![0; profile.dsos.len()];
    for (place, dso) in dsos.iter().enumerate() {
        if let Some(bits) = bits.get_mut(dso.index()) {
            *bits |= 1 << place;
        }
    }
    let mut stacks = 0..profile.stacks.len();
    let mut through = Vec::with_capacity(stacks.len());
    while let Some(part) = slice.part(&mut stacks).await {
        for stack in part {
            // What a stack stands on comes before it.
            through.push(match profile.stacks.get(StackId(stack as u32)) {
                Some((prefix, frame)) => {
                    through[prefix.index()] | bits[profile.frames.get(frame).dso.index()]
                }
                None => 0,
            });
        }
    }
    through
}

async fn users_of(
    profile: &Profile,
    dsos: &[DsoId],
    through: &[u64],
    slice: &Slice,
) -> impl Iterator<Item = DsoUsers> {
    let none = |_: &DsoId| (RunnerCounts::new(profile), None);
    let mut counts: Vec<(RunnerCounts, Option<(u64, u64)>)> = dsos.iter().map(none).collect();
    let mut first = None;
    let samples = &profile.samples;
    let mut rows = 0..samples.len();
    while let Some(part) = slice.part(&mut rows).await {
        for row in profile.recorded_rows_of(part) {
            let time = samples.time_nanos.at(row);
            first = first.or(Some(time).filter(|&time| time > 0));
            let mut through = through[samples.stack[row].index()];
            while through != 0 {
                let (counts, times) = &mut counts[through.trailing_zeros() as usize];
                through &= through - 1;
                counts.add(samples.thread.at(row), samples.count(row));
                if time > 0 {
                    let (start, end) = times.unwrap_or((time, time));
                    *times = Some((start.min(time), end.max(time)));
                }
            }
        }
    }
    let since = move |time: u64| time.saturating_sub(first.unwrap_or(0)) as f64;
    counts.into_iter().map(move |(counts, times)| DsoUsers {
        runners: counts.finish(profile),
        start: times.map(|(start, _)| since(start)),
        end: times.map(|(_, end)| since(end)),
    })
}

#[cfg(test)]
mod tests {
    use perftab_perfdata::slice::Work;

    use super::*;
    use crate::fixture::fixture;

    /// The DSO of the fixture's own code is its first.
    const APP: DsoId = DsoId(0);

    /// In slices of one, so that each of them is met.
    fn users_of(stacks: &str, dsos: Vec<DsoId>) -> Vec<DsoUsers> {
        let profile = fixture(stacks).profile;
        let mut work = Work::new(async move |slice| super::users(&profile, &dsos, &slice).await);
        let mut before = 0;
        loop {
            if let Some(found) = work.step(1) {
                return found;
            }
            let (done, total) = work.progress();
            assert!(before < done && done <= total, "{before} < {done} <= {total}");
            before = done;
        }
    }

    fn users(stacks: &str) -> DsoUsers {
        users_of(stacks, vec![APP]).remove(0)
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
        assert_eq!(users_of("p: A 1", vec![DsoId(77)]), [DsoUsers::default()]);
        assert_eq!(users_of("p: A 1", Vec::new()), []);
    }

    #[test]
    fn more_dsos_than_one_pass_takes_are_those_one_by_one() {
        let stacks = "
            nginx: A ~2 1
            node: ~2 A 1
            nginx: A 1
            ";
        let dsos: Vec<DsoId> = (0..150).map(|number| DsoId(number % 3)).collect();
        let one_by_one: Vec<DsoUsers> =
            dsos.iter().map(|&dso| users_of(stacks, vec![dso]).remove(0)).collect();
        assert_eq!(users_of(stacks, dsos), one_by_one);
        assert_ne!(one_by_one[0], one_by_one[1]);
    }

    #[test]
    fn many_processes_are_counted_not_named() {
        let stacks: String = (0..20).map(|number| format!("p{number}: A 1\n")).collect();
        let users = users(&stacks);
        assert_eq!((users.runners.processes.len(), users.runners.more), (8, 12));
    }
}
