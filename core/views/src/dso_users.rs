//! Who ran the code of DSOs, and when: what tells two builds of one path apart.
//!
//! It goes through all stacks and all samples once for up to 64 DSOs. It is asked of those that
//! somebody looks at; kept for all of them it would be a table of DSOs by processes.

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

/// [`DsoUsers`] of several DSOs, found step by step: of all recorded events.
pub struct UsersScan {
    wanted: Vec<DsoId>,
    found: Vec<DsoUsers>,
    pass: Pass,
}

/// One way through the profile, for [`AT_ONCE`] of the DSOs.
#[derive(Default)]
struct Pass {
    /// By stack: which of the DSOs are on it. What a stack stands on comes before it.
    through: Vec<u64>,
    /// For each of the DSOs.
    counts: Vec<(RunnerCounts, Option<(u64, u64)>)>,
    /// Rows of samples gone through.
    rows: usize,
    /// The first time of all.
    first: Option<u64>,
}

impl UsersScan {
    /// Of these DSOs, in this order.
    pub fn new(wanted: Vec<DsoId>) -> Self {
        Self { wanted, found: Vec::new(), pass: Pass::default() }
    }

    /// Goes through about so many more stacks or rows; true when there are none left.
    pub fn step(&mut self, profile: &Profile, rows: usize) -> bool {
        let left = &self.wanted[self.found.len()..];
        let now = &left[..left.len().min(AT_ONCE)];
        if now.is_empty() {
            return true;
        }
        if self.pass.step(profile, now, rows) {
            let pass = std::mem::take(&mut self.pass);
            self.found.extend(pass.finish(profile));
        }
        self.found.len() == self.wanted.len()
    }

    /// Stacks and rows gone through, and all that there are to go through.
    pub fn progress(&self, profile: &Profile) -> (usize, usize) {
        let all = profile.stacks.len() + profile.samples.len();
        let passes = |dsos: usize| dsos.div_ceil(AT_ONCE);
        let before = passes(self.found.len()) * all;
        (before + self.pass.through.len() + self.pass.rows, passes(self.wanted.len()) * all)
    }

    /// What was found, in the order in which it was asked for.
    pub fn finish(self) -> Vec<DsoUsers> {
        self.found
    }
}

impl Pass {
    /// True when all samples have been gone through.
    fn step(&mut self, profile: &Profile, dsos: &[DsoId], rows: usize) -> bool {
        let stacks = profile.stacks.len();
        if self.counts.is_empty() {
            self.counts.extend(dsos.iter().map(|_| (RunnerCounts::new(profile), None)));
            self.through.reserve_exact(stacks);
        }
        if self.through.len() < stacks {
            let to = self.through.len().saturating_add(rows).min(stacks);
            self.look_at_stacks(profile, dsos, to);
            return false;
        }
        let to = self.rows.saturating_add(rows).min(profile.samples.len());
        self.count(profile, to);
        to == profile.samples.len()
    }

    fn look_at_stacks(&mut self, profile: &Profile, dsos: &[DsoId], to: usize) {
        let mut bits = vec![0; profile.dsos.len()];
        for (place, dso) in dsos.iter().enumerate() {
            if let Some(bits) = bits.get_mut(dso.index()) {
                *bits |= 1 << place;
            }
        }
        for stack in self.through.len()..to {
            let through = match profile.stacks.get(StackId(stack as u32)) {
                Some((prefix, frame)) => {
                    self.through[prefix.index()] | bits[profile.frames.get(frame).dso.index()]
                }
                None => 0,
            };
            self.through.push(through);
        }
    }

    fn count(&mut self, profile: &Profile, to: usize) {
        let samples = &profile.samples;
        for row in profile.recorded_rows_of(self.rows..to) {
            let time = samples.time_nanos[row];
            self.first = self.first.or(Some(time).filter(|&time| time > 0));
            let mut through = self.through[samples.stack[row].index()];
            while through != 0 {
                let (counts, times) = &mut self.counts[through.trailing_zeros() as usize];
                through &= through - 1;
                counts.add(samples.thread[row], samples.count(row));
                if time > 0 {
                    let (start, end) = times.unwrap_or((time, time));
                    *times = Some((start.min(time), end.max(time)));
                }
            }
        }
        self.rows = to;
    }

    fn finish(self, profile: &Profile) -> impl Iterator<Item = DsoUsers> {
        let Self { counts, first, .. } = self;
        let since = move |time: u64| time.saturating_sub(first.unwrap_or(0)) as f64;
        counts.into_iter().map(move |(counts, times)| DsoUsers {
            runners: counts.finish(profile),
            start: times.map(|(start, _)| since(start)),
            end: times.map(|(_, end)| since(end)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::fixture;

    /// The DSO of the fixture's own code is its first.
    const APP: DsoId = DsoId(0);

    /// In steps of one, so that each of them is met.
    fn users_of(stacks: &str, dsos: Vec<DsoId>) -> Vec<DsoUsers> {
        let profile = fixture(stacks).profile;
        let mut scan = UsersScan::new(dsos);
        let mut before = 0;
        while !scan.step(&profile, 1) {
            let (done, total) = scan.progress(&profile);
            assert!(before < done && done <= total, "{before} < {done} <= {total}");
            before = done;
        }
        scan.finish()
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
