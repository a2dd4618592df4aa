//! Processes, threads and CPUs, with what was sampled of each: what menus and tracks are made of.

use perftab_perfdata::map::Map;
use perftab_perfdata::slice::{Slice, at_once};
use perftab_perfdata::sorting::sort_by_key;
use std::ops::Range;

use perftab_perfdata::text::printable;
use perftab_profile::{Profile, StringId, ThreadId};
use serde::Serialize;

use crate::Query;
use crate::ends::RemainingSamples;
use crate::filter::Filter;
use crate::serialize_weight;
use crate::weights::Sum;

/// Samples of a CPU that is not recorded.
pub const NO_CPU: u16 = u16::MAX;

/// Samples, and when the first and the last of them were, in nanoseconds since
/// [`Profile::first_time`]. Those without a time count, and are at no time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// How much there is.
    pub sum: Sum,
    /// First and last.
    pub times: Option<(u64, u64)>,
}

impl Span {
    fn add(&mut self, sum: Sum, time: Option<u64>) {
        self.sum.add(sum);
        if let Some(time) = time {
            self.times = Some(match self.times {
                None => (time, time),
                Some((first, last)) => (first.min(time), last.max(time)),
            });
        }
    }

    /// Both together.
    pub fn merge(&mut self, other: Self) {
        self.sum.add(other.sum);
        self.times = match (self.times, other.times) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }

    /// When the first was; 0 for those without a time.
    pub fn start(&self) -> u64 {
        self.times.map_or(0, |times| times.0)
    }
}

/// How much was sampled of each thread and on each CPU.
#[derive(Clone, Debug, Default)]
pub struct TaskSums {
    /// By [`ThreadId`].
    pub threads: Vec<Span>,
    /// By CPU.
    cpus: Map<u16, Span>,
    /// What steps leave.
    left: RemainingSamples,
}

impl TaskSums {
    /// What steps leave of the samples that are summed.
    pub(super) fn left(&self) -> &RemainingSamples {
        &self.left
    }

    /// The query with the range and everything that does not filter left out: queries that are the
    /// same then have the same sums, if steps leave the same.
    pub fn key(query: &Query) -> Query {
        Query {
            event: query.event,
            processes: query.processes.clone(),
            threads: query.threads.clone(),
            cpus: query.cpus.clone(),
            comms: query.comms.clone(),
            dsos: query.dsos.clone(),
            ..Query::default()
        }
    }

    /// Those of threads, by [`ThreadId`]; of CPUs there are none.
    pub(super) fn of_threads(threads: Vec<Span>) -> Self {
        Self { threads, ..Self::default() }
    }

    /// All of a query's samples, whenever they were.
    pub fn new(profile: &Profile, query: &Query) -> Self {
        at_once(async |slice| Self::of(profile, query, RemainingSamples::default(), slice).await)
    }

    /// The same of what steps leave, in slices of rows.
    pub async fn of(
        profile: &Profile,
        query: &Query,
        left: RemainingSamples,
        slice: &Slice,
    ) -> Self {
        let filter_query = Self::key(query);
        let filter = Filter::new(profile, &filter_query);
        let samples = &profile.samples;
        let first_time = profile.first_time();
        let threads = vec![Span::default(); profile.threads.threads.len()];
        let mut sums = Self { threads, cpus: Map::new(), left };
        let mut rows = 0..samples.len();
        while let Some(part) = slice.part(&mut rows).await {
            // Neighbours are often of one CPU, and a look-up for each would cost more than the rest.
            let mut cpu = (NO_CPU, Span::default());
            for row in part {
                if !filter.is_of_event(row) || filter.removed_by(row).is_some() {
                    continue;
                }
                if !sums.left.has(profile, row) {
                    continue;
                }
                let time = since(first_time, samples.time_nanos.at(row));
                let sum = filter.sum(row);
                sums.threads[samples.thread.at(row).index()].add(sum, time);
                if samples.cpu.at(row) != cpu.0 {
                    sums.add_cpu(cpu);
                    cpu = (samples.cpu.at(row), Span::default());
                }
                cpu.1.add(sum, time);
            }
            sums.add_cpu(cpu);
        }
        sums
    }

    /// Those of each CPU in order; samples that do not say on which they were are on none.
    pub fn cpus(&self) -> Vec<(u16, Span)> {
        let mut cpus = self.cpus.clone().into_sorted();
        cpus.retain(|(cpu, _)| *cpu != NO_CPU);
        cpus
    }

    fn add_cpu(&mut self, (cpu, span): (u16, Span)) {
        if span.sum.samples > 0 {
            self.cpus.entry(cpu).or_default().merge(span);
        }
    }

    /// The processes that have samples, by pid. A pid that was used again is one process; it has the
    /// name, as its threads have, under which most was sampled.
    pub fn processes(&self, profile: &Profile) -> Vec<(u32, ProcessSums)> {
        let mut processes: Map<u32, ProcessSums> = Map::new();
        let sampled = self.threads.iter().enumerate().filter(|(_, span)| span.sum.samples > 0);
        for (id, &span) in sampled {
            let thread = profile.threads.thread(ThreadId(id as u32));
            let process = profile.threads.process(thread.process);
            let sums = processes.entry(process.pid).or_default();
            sums.named.add(process.name, span);
            sums.threads.entry(thread.tid).or_default().add(thread.name, span);
        }
        processes.into_sorted()
    }
}

/// A process and its threads.
#[derive(Clone, Debug, Default)]
pub struct ProcessSums {
    /// All of it.
    pub named: NamedSpan,
    /// Its threads.
    pub threads: Map<u32, NamedSpan>,
}

/// What had one number, perhaps under several names.
#[derive(Clone, Debug, Default)]
pub struct NamedSpan {
    /// All of it.
    pub span: Span,
    names: Map<StringId, Sum>,
}

impl NamedSpan {
    fn add(&mut self, name: StringId, span: Span) {
        self.span.merge(span);
        self.names.entry(name).or_default().add(span.sum);
    }

    /// The name under which most was sampled; of equals the first that was met in the recording.
    pub fn name(&self, profile: &Profile) -> String {
        let most = self
            .names
            .iter()
            .max_by_key(|(name, sum)| (sum.weight, sum.samples, std::cmp::Reverse(name.0)));
        let name = most.map_or("", |(&name, _)| profile.strings.get(name));
        printable(name).into_owned()
    }
}

/// A time of the recorder's clock, counted from the first; `None` for a sample without one.
pub(super) fn since(first_time: Option<u64>, time_nanos: u64) -> Option<u64> {
    let first = first_time.filter(|_| time_nanos != 0)?;
    Some(time_nanos.saturating_sub(first))
}

/// Times of a view, made those that there can be: an `end` of 0 stands for the end of the recording,
/// which is where a view ends at the latest.
pub(super) fn window(profile: &Profile, start: u64, end: u64) -> Range<u64> {
    let samples = &profile.samples;
    let first = profile.first_time();
    let last = match samples.is_in_order() {
        true => samples.len().checked_sub(1).map(|row| samples.time_nanos.at(row)),
        false => samples.time_nanos.iter().max(),
    };
    let length = match &profile.bins {
        Some(bins) => bins.length,
        None => last.and_then(|last| since(first, last)).map_or(0, |last| last.saturating_add(1)),
    };
    let end = if end == 0 { length } else { end.min(length) };
    start.min(end)..end
}

/// Every process, thread and CPU that has samples of an event.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct TaskRows {
    /// Heaviest first.
    pub processes: Vec<ProcessRow>,
    /// By number.
    pub cpus: Vec<CpuRow>,
}

/// A process. Times are nanoseconds since the first of the recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct ProcessRow {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its samples.
    #[serde(serialize_with = "serialize_weight")]
    pub samples: u64,
    /// Their weight.
    #[serde(serialize_with = "serialize_weight")]
    pub weight: u64,
    /// Its first sample.
    #[serde(serialize_with = "serialize_weight")]
    pub start: u64,
    /// Its last.
    #[serde(serialize_with = "serialize_weight")]
    pub end: u64,
    /// Heaviest first.
    pub threads: Vec<ThreadRow>,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct ThreadRow {
    /// Its id.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Its samples.
    #[serde(serialize_with = "serialize_weight")]
    pub samples: u64,
    /// Their weight.
    #[serde(serialize_with = "serialize_weight")]
    pub weight: u64,
    /// Its first sample.
    #[serde(serialize_with = "serialize_weight")]
    pub start: u64,
    /// Its last.
    #[serde(serialize_with = "serialize_weight")]
    pub end: u64,
}

/// A CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct CpuRow {
    /// Its number.
    pub cpu: u16,
    /// Samples on it.
    #[serde(serialize_with = "serialize_weight")]
    pub samples: u64,
}

/// The rows that these sums make.
pub fn rows(profile: &Profile, sums: &TaskSums) -> TaskRows {
    let times = |span: Span| span.times.unwrap_or_default();
    let mut processes: Vec<ProcessRow> = sums
        .processes(profile)
        .into_iter()
        .map(|(pid, process)| {
            let mut threads: Vec<ThreadRow> = process
                .threads
                .sorted()
                .into_iter()
                .map(|(&tid, named)| {
                    let NamedSpan { span, .. } = *named;
                    let (start, end) = times(span);
                    let Sum { samples, weight } = span.sum;
                    ThreadRow { tid, name: named.name(profile), samples, weight, start, end }
                })
                .collect();
            sort_by_key(&mut threads, |row| std::cmp::Reverse(row.weight));
            let name = process.named.name(profile);
            let span = process.named.span;
            let (start, end) = times(span);
            let Sum { samples, weight } = span.sum;
            ProcessRow { pid, name, samples, weight, start, end, threads }
        })
        .collect();
    sort_by_key(&mut processes, |row| std::cmp::Reverse(row.weight));
    let cpus = sums.cpus().into_iter();
    let cpus = cpus.map(|(cpu, span)| CpuRow { cpu, samples: span.sum.samples }).collect();
    TaskRows { processes, cpus }
}
