//! Samples that may have the names of another program, because a mapping may have been lost.
//!
//! The kernel writes LOST when there is room in a ring buffer again. What it tells of was lost since
//! the record before it in the same ring, so samples are doubtful from there on, in whatever ring
//! they are: those of all processes until LOST, then those of each until it maps something or begins
//! another program.
//!
//! perftab's recorder has rings of their own for mappings and threads, and its section names their
//! counters: a loss in another ring costs no mapping. Other recorders have a ring for each CPU, with
//! everything in it.

use perftab_perfdata::decode::records::LossesToldOf;
use perftab_perfdata::map::{Map, Set};
use std::ops::Range;

/// Which samples are doubtful. They are counted from the first that was read.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// Ids of the counters whose rings alone have mappings; empty if others may have them, too.
    sideband: Set<u64>,
    told_of: LossesToldOf,
    /// Samples read so far.
    samples: u64,
    /// How many had been read when the last record came of a ring of sideband, by its counter.
    by_counter: Map<u64, u64>,
    /// The same of rings with everything in them, by CPU.
    by_cpu: Vec<u64>,
    /// Runs of doubtful samples, ascending.
    doubtful: Vec<Range<u64>>,
}

/// Whether the names of a sample can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mappings {
    /// What is mapped in its process is known.
    Sure,
    /// Something may have been mapped since then.
    Doubtful,
}

impl Doubt {
    /// With the ids of the counters that have all mappings in rings of their own, if they do.
    pub(super) fn new(sideband: impl IntoIterator<Item = u64>) -> Self {
        Self { sideband: sideband.into_iter().collect(), ..Self::default() }
    }

    /// A sample, taken on a CPU.
    #[inline]
    pub(super) fn sample(&mut self, cpu: u16, mappings: Mappings) {
        let number = self.samples;
        self.samples += 1;
        if self.sideband.is_empty() {
            *self.of_cpu(cpu) = self.samples;
        }
        if mappings == Mappings::Doubtful {
            match self.doubtful.last_mut() {
                Some(last) if last.end == number => last.end += 1,
                _ => self.doubtful.push(number..number + 1),
            }
        }
    }

    /// Any other record of the kernel, with what it says of itself.
    pub(super) fn record(&mut self, counter: Option<u64>, cpu: u16) {
        if self.sideband.is_empty() {
            *self.of_cpu(cpu) = self.samples;
        } else if let Some(counter) = counter.filter(|counter| self.sideband.contains(counter)) {
            self.by_counter.insert(counter, self.samples);
        }
    }

    /// So many records of a counter's ring were lost. Says what became of the mappings of all processes.
    pub(super) fn lost(&mut self, counter: u64, cpu: u16, count: u64) -> Mappings {
        if !self.told_of.is_new(counter, count) {
            return Mappings::Sure;
        }
        let since = match self.sideband.is_empty() {
            true => *self.of_cpu(cpu),
            false if self.sideband.contains(&counter) => {
                self.by_counter.get(&counter).copied().unwrap_or(0)
            }
            false => return Mappings::Sure,
        };
        let mut run = since..self.samples;
        if !run.is_empty() {
            while let Some(last) = self.doubtful.pop_if(|last| last.end >= run.start) {
                run.start = run.start.min(last.start);
            }
            self.doubtful.push(run);
        }
        Mappings::Doubtful
    }

    /// How many samples are doubtful.
    pub(super) fn count(&self) -> u64 {
        self.doubtful.iter().map(|run| run.end - run.start).sum()
    }

    fn of_cpu(&mut self, cpu: u16) -> &mut u64 {
        let index = usize::from(cpu);
        if self.by_cpu.len() <= index {
            self.by_cpu.resize(index + 1, 0);
        }
        &mut self.by_cpu[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubt_begins_with_the_record_before_the_loss() {
        let mut doubt = Doubt::new([7, 8]);
        let samples = |doubt: &mut Doubt, count| {
            (0..count).for_each(|_| doubt.sample(0, Mappings::Sure));
        };
        samples(&mut doubt, 10);
        doubt.record(Some(7), 0);
        samples(&mut doubt, 5);
        // Records of other rings are before a loss, but not of the ring's.
        doubt.record(Some(8), 1);
        doubt.record(Some(100), 0);
        samples(&mut doubt, 3);
        assert_eq!(doubt.lost(100, 0, 1), Mappings::Sure);
        assert_eq!(doubt.count(), 0);
        assert_eq!(doubt.lost(8, 1, 1), Mappings::Doubtful);
        assert_eq!(doubt.count(), 3);
        assert_eq!(doubt.lost(7, 0, 1), Mappings::Doubtful);
        assert_eq!(doubt.count(), 8, "five more, and none twice");
        doubt.sample(0, Mappings::Doubtful);
        doubt.sample(0, Mappings::Sure);
        doubt.sample(0, Mappings::Doubtful);
        assert_eq!(doubt.count(), 10);
        doubt.record(Some(7), 0);
        assert_eq!(doubt.lost(7, 0, 1), Mappings::Doubtful);
        assert_eq!(doubt.count(), 10);
    }

    /// What runs may have been described anew before the kernel tells of the loss.
    #[test]
    fn a_loss_that_was_told_of_is_doubted_once() {
        let mut doubt = Doubt::new([7]);
        doubt.record(Some(7), 0);
        doubt.sample(0, Mappings::Sure);
        assert_eq!(doubt.lost(7, 0, 0), Mappings::Doubtful);
        doubt.sample(0, Mappings::Sure);
        assert_eq!(doubt.lost(7, 0, 30), Mappings::Sure);
        assert_eq!(doubt.count(), 1);
        assert_eq!(doubt.lost(7, 0, 30), Mappings::Doubtful);
        assert_eq!(doubt.count(), 2);
    }

    #[test]
    fn a_ring_of_which_nothing_came_may_have_lost_everything() {
        let mut doubt = Doubt::new([7]);
        doubt.sample(0, Mappings::Sure);
        doubt.sample(0, Mappings::Sure);
        doubt.lost(7, 0, 1);
        assert_eq!(doubt.count(), 2);
    }

    #[test]
    fn where_everything_is_in_one_ring_its_samples_are_records_of_it() {
        let mut doubt = Doubt::default();
        for cpu in [0, 1, 1, 0, 1, 1, 1] {
            doubt.sample(cpu, Mappings::Sure);
        }
        assert_eq!(doubt.lost(1, 0, 1), Mappings::Doubtful);
        assert_eq!(doubt.count(), 3, "those after the last of CPU 0");
    }
}
