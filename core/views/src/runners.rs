//! Who ran something: the processes that have samples of it, most samples first.

use perftab_perfdata::map::{Map, Set};
use perftab_perfdata::sorting::sort_by_key;
use std::cmp::Reverse;

use perftab_perfdata::text::printable;
use perftab_profile::{ProcessId, Profile, ThreadId};
use serde::Serialize;

/// So many processes are named; the others are counted.
const MOST_NAMED: usize = 8;

/// A process that ran it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct Runner {
    /// Its id at the time of recording.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its threads that ran it.
    pub threads: u32,
    /// Its samples of it.
    pub samples: u64,
}

/// All that ran it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct Runners {
    /// Processes, most samples first; of one that calls exec what it was before and after.
    pub processes: Vec<Runner>,
    /// Processes beyond those.
    pub more: u32,
}

/// Samples by thread, while they are counted.
pub(super) struct RunnerCounts(Vec<u64>);

impl RunnerCounts {
    pub fn new(profile: &Profile) -> Self {
        Self(vec![0; profile.threads.threads.len()])
    }

    /// A thread has so many samples more.
    pub fn add(&mut self, thread: ThreadId, samples: u64) {
        let known = &mut self.0[thread.index()];
        *known = known.saturating_add(samples);
    }

    pub fn finish(&self, profile: &Profile) -> Runners {
        let mut of: Map<ProcessId, (Set<u32>, u64)> = Map::new();
        let ran = self.0.iter().zip(&profile.threads.threads).filter(|&(&samples, _)| samples > 0);
        for (samples, thread) in ran {
            let (threads, sum) = of.entry(thread.process).or_default();
            threads.insert(thread.tid);
            *sum = sum.saturating_add(*samples);
        }
        let mut processes: Vec<Runner> = of
            .into_sorted()
            .into_iter()
            .map(|(id, (threads, samples))| {
                let process = profile.threads.process(id);
                let name = printable(profile.strings.get(process.name)).into_owned();
                Runner { pid: process.pid, name, threads: threads.len() as u32, samples }
            })
            .collect();
        sort_by_key(&mut processes, |runner| (Reverse(runner.samples), runner.pid));
        let more = processes.len().saturating_sub(MOST_NAMED) as u32;
        processes.truncate(MOST_NAMED);
        Runners { processes, more }
    }
}
