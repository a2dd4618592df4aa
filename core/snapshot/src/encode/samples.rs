//! Every single sample: when it was, whose, where, and in which call node it ended.

use perftab_profile::{StringId, ThreadId};
use perftab_views::time_order::usual_distance;

use super::body::Body;
use super::calls::Entry;
use super::sums::{Unit, greatest_common_divisor};
use super::tasks::group_numbers;
use crate::codes::{self, code};
use crate::fields::{Field, Writer, zigzag};
use crate::forecast::{Forecast, Row};
use crate::{Contents, MAX_PROCESSES, MAX_ROWS, MAX_THREADS, Times, marks};

/// Whether each row of a profile is one sample, and there are no more than can be written.
pub(super) fn are_single(contents: &Contents<'_>) -> bool {
    let samples = &contents.profile.samples;
    let tasks = &contents.profile.threads;
    let has_few_tasks =
        tasks.processes.len() <= MAX_PROCESSES && tasks.threads.len() <= MAX_THREADS;
    let has_few_samples = !samples.is_empty() && samples.len() <= MAX_ROWS;
    samples.count.is_empty() && has_few_samples && has_few_tasks
}

impl<'a> Body<'_, 'a> {
    /// By event.
    fn units_of_samples(&self) -> Vec<Unit> {
        let samples = &self.contents.profile.samples;
        let events = self.contents.profile.events.len();
        let mut units = vec![Unit { unit: 0, is_regular: true }; events];
        for (row, _) in self.tree.rows(self.contents.profile) {
            let weight = samples.weight.at(row);
            let known = &mut units[usize::from(samples.event[row])];
            known.is_regular &= known.unit == 0 || known.unit == weight;
            known.unit = greatest_common_divisor(known.unit, weight);
        }
        units.iter_mut().for_each(|unit| unit.unit = unit.unit.max(1));
        units
    }

    /// Writes events and all samples, in the order in which they are.
    pub fn write_samples(&self, out: &mut Writer<'a>, entries: &[Entry]) -> Vec<Unit> {
        let units = self.units_of_samples();
        self.write_events(out, &units);
        let profile = self.contents.profile;
        let events = profile.events.len() as u32;
        let distances: Vec<u64> = (0..events).map(|event| usual_distance(profile, event)).collect();
        let mut is_used = vec![false; profile.threads.threads.len()];
        let mut rows = 0u64;
        for (row, _) in self.tree.rows(profile) {
            is_used[profile.samples.thread.at(row).index()] = true;
            rows += 1;
        }
        let threads: Vec<ThreadId> =
            (0..).map(ThreadId).zip(is_used).filter(|it| it.1).map(|it| it.0).collect();
        out.byte(Field::Times, code(&codes::TIMES, &Times::Samples));
        out.number(Field::Times, rows);
        distances.iter().for_each(|&distance| out.number(Field::Times, distance));
        let numbers = self.write_tasks(out, entries, &threads);

        let mut number_of_node = vec![0u32; self.tree.nodes.len()];
        for (entry, number) in entries.iter().zip(0..) {
            entry.node.into_iter().for_each(|node| number_of_node[node as usize] = number);
        }
        let first = self.scope.facts.time.map_or(0, |(first, _)| first);
        let mut forecast = Forecast::new(distances, threads.len());
        for (row, node) in self.tree.rows(profile) {
            let Some(sample) = profile.samples.get(row) else { continue };
            let is_timed = sample.time_nanos != 0;
            let unit = units[sample.event.index()];
            let row = Row {
                event: sample.event.0 as u16,
                cpu: sample.cpu,
                thread: numbers.get(&sample.thread).copied().unwrap_or_default(),
                time: is_timed.then(|| sample.time_nanos.wrapping_sub(first)),
                node: number_of_node[node as usize],
                weight: sample.weight / unit.unit,
            };
            write_row(out, &forecast, &row);
            if !unit.is_regular {
                let change = row.weight.wrapping_sub(forecast.weight(row.event));
                out.number(Field::SampleWeights, zigzag(change as i64));
            }
            forecast.note(row);
        }
        let groups = group_numbers(entries);
        let group = |name: StringId| groups.get(&name).copied();
        marks::write(out, &profile.marks, &self.scope.facts, group);
        units
    }
}

fn write_row(out: &mut Writer<'_>, forecast: &Forecast, row: &Row) {
    let mut kind = u64::from(row.event) << codes::EVENT_SHIFT;
    if row.cpu != forecast.cpu() {
        kind |= codes::OTHER_CPU;
        out.number(Field::SampleCpus, u64::from(row.cpu.wrapping_add(1)));
    }
    if row.thread != forecast.thread(row.cpu) {
        kind |= codes::OTHER_THREAD;
        out.number(Field::SampleThreads, u64::from(row.thread));
    }
    match row.time {
        None => kind |= codes::NO_TIME,
        Some(time) if time == forecast.same_time() => kind |= codes::SAME_TIME,
        Some(time) => {
            let late = zigzag(time.wrapping_sub(forecast.time(row.event, row.thread)) as i64);
            out.byte(Field::SampleTimeLows, late as u8);
            out.number(Field::SampleTimes, late >> 8);
        }
    }
    out.number(Field::SampleKinds, kind);
    match forecast.place(row.thread, row.node) {
        Some(place) => out.number(Field::SampleNodes, place as u64 + 1),
        None => {
            out.number(Field::SampleNodes, 0);
            let far = i64::from(row.node) - i64::from(forecast.node(row.thread));
            out.number(Field::SampleNewNodes, zigzag(far));
        }
    }
}
