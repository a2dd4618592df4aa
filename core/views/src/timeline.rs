//! What ran when: the weight of samples by time, as tracks of stacked areas.
//!
//! A query's filters decide which samples count, its range apart: the timeline is where a range is
//! chosen. Of its steps those count that take samples away. The weight of a sample is spread over the time
//! for which it stands ([`super::sample_spans`]); time off the CPU stands where it ended.

use perftab_perfdata::map::Map;
use perftab_perfdata::slice::Slice;
use perftab_perfdata::sorting::sort_by_key;
use std::cmp::Reverse;
use std::ops::Range;

use perftab_names::Symbols;
use perftab_profile::{Profile, StackId, ThreadId};
use serde::{Deserialize, Serialize};

use crate::Query;
use crate::call_tree::Label;
use crate::column::Float32Array;
use crate::filter::Filter;
use crate::label::{Kind, Labels, OwnCode};
use crate::sample_spans::SampleSpans;
use crate::serialize_weight;
use crate::tasks::{self, ProcessSums, Span, TaskSums};
use crate::weights::Sum;

/// Kinds that areas are stacked of: [`Kind::Own`] to [`Kind::Unnamed`], and what is no code.
pub const KINDS: usize = 6;
/// More bins than pixels are of no use.
const MOST_BINS: u32 = 4096;
/// Tracks times bins; the tracks after those are left out and counted.
const MOST_CELLS: usize = 1 << 19;

/// What is asked of a timeline. Times are nanoseconds since the first of the recording.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct TimelineRequest {
    /// What a track is.
    pub by: TrackBy,
    /// Their order.
    pub sort: TrackSort,
    /// Processes (pids) that are opened: their threads have tracks, too.
    pub open: Vec<u32>,
    /// Where the first bin begins.
    pub start: f64,
    /// Where the last one ends; 0 for the end of the recording.
    pub end: f64,
    /// How many bins.
    pub bins: u32,
}

/// What a track is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum TrackBy {
    /// A process, by pid.
    Process,
    /// A thread, by tid.
    Thread,
    /// A CPU; these are in the order of their numbers.
    Cpu,
}

/// The order of tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum TrackSort {
    /// Heaviest first, over the whole recording.
    Weight,
    /// By the first sample.
    Start,
}

/// The weight of samples by time, in tracks of which the first is all CPUs. Times are nanoseconds since the
/// first of the recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// Where the first bin begins.
    #[serde(serialize_with = "serialize_weight")]
    pub start: u64,
    /// Where the last one ends.
    #[serde(serialize_with = "serialize_weight")]
    pub end: u64,
    /// How many there are.
    pub bins: u32,
    /// How many kinds of code are stacked in each: own, system, kernel, JIT, unnamed, what is no code.
    pub kinds: u32,
    /// In order.
    pub tracks: Vec<Track>,
    /// Tracks that there was no room for: the last in order.
    pub left_out: u32,
    /// Weights: track by track, bin by bin, kind by kind ([`KINDS`]).
    pub weights: Float32Array,
}

/// A track's header.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct Track {
    /// The same as long as the recording is open: `all`, `p` and a pid, `t` and a tid, `c` and a CPU.
    pub key: String,
    /// Name.
    pub label: String,
    /// What to say beside it: how many threads or CPUs it is of, or which thread it is.
    pub sub: String,
    /// Samples of the whole recording that pass the filters.
    #[serde(serialize_with = "serialize_weight")]
    pub samples: u64,
    /// Their weight.
    #[serde(serialize_with = "serialize_weight")]
    pub weight: u64,
    /// 1 for a thread of an opened process, else 0.
    pub level: u8,
    /// How many threads a process has, as far as they are known apart; 0 for what is no process.
    pub threads: u32,
    /// The process, if it is one or of one.
    pub pid: Option<u32>,
    /// The thread, if it is one.
    pub tid: Option<u32>,
    /// The CPU, if it is one.
    pub cpu: Option<u16>,
    /// The largest sum of a bin.
    pub peak: f64,
}

/// By stack: the kind of the code that its samples ended in, as a position among [`KINDS`].
pub fn leaf_kinds(profile: &Profile, symbols: &Symbols, own: &OwnCode) -> Vec<u8> {
    let labels = Labels::new(profile, symbols).counting(own);
    let of_frame: Vec<u8> = profile
        .frames
        .iter()
        .map(|(frame, _)| {
            let leaf = symbols.levels(frame).last();
            leaf.map_or(PSEUDO, |level| place(labels.kind(Label::Function(level.function))))
        })
        .collect();
    let of_stack = (0..profile.stacks.len() as u32).map(|stack| {
        let leaf = profile.stacks.get(StackId(stack));
        leaf.map_or(PSEUDO, |(_, frame)| of_frame[frame.index()])
    });
    of_stack.collect()
}

const PSEUDO: u8 = KINDS as u8 - 1;

fn place(kind: Kind) -> u8 {
    match kind {
        Kind::Own => 0,
        Kind::System => 1,
        Kind::Kernel => 2,
        Kind::Jit => 3,
        Kind::Unnamed => 4,
        Kind::Pseudo | Kind::Folded => PSEUDO,
    }
}

/// The timeline of the samples of `query`, whose sums over the whole recording are `sums`; `spans` are the
/// times for which they stand, and `kinds` are [`leaf_kinds`]. In slices of rows.
pub async fn timeline(
    profile: &Profile,
    query: &Query,
    request: &TimelineRequest,
    sums: &TaskSums,
    mut spans: SampleSpans,
    kinds: &[u8],
    slice: &Slice,
) -> Timeline {
    let times = tasks::window(profile, request.start as u64, request.end as u64);
    let mut rows = spans.rows(profile, &times);
    let (mut timeline, lanes) = Timeline::blank(profile, sums, request, times);
    let Timeline { start, end, bins, ref mut weights, .. } = timeline;
    let query = TaskSums::key(query);
    let filter = Filter::new(profile, &query);
    let samples = &profile.samples;
    slice.expect(rows.len());
    while let Some(part) = slice.part(&mut rows).await {
        for row in part {
            let Some(span) = spans.next_left(profile, &filter, sums.left(), row) else { continue };
            let kind = usize::from(kinds[samples.stack[row].index()]);
            let weight = samples.weight.at(row) as f64;
            let [process, thread] = lanes.of_thread(samples.thread.at(row));
            let cpu = lanes.of_cpu(samples.cpu.at(row));
            let tracks = [0, process, thread, cpu];
            span.spread(&(start..end), bins as usize, |bin, share| {
                for track in tracks.into_iter().filter(|&track| track != NO_TRACK) {
                    let cell = (track as usize * bins as usize + bin) * KINDS + kind;
                    weights[cell] += (weight * share) as f32;
                }
            });
        }
    }
    timeline.with_peaks()
}

impl Timeline {
    /// The tracks of a request with nothing in them, and which samples go into them.
    pub(super) fn blank(
        profile: &Profile,
        sums: &TaskSums,
        request: &TimelineRequest,
        times: Range<u64>,
    ) -> (Self, Lanes) {
        let bins = request.bins.clamp(1, MOST_BINS);
        let mut tracks: Vec<Track> =
            plan(profile, sums, request).into_iter().map(|(track, _)| track).collect();
        let most = (MOST_CELLS / bins as usize).max(2);
        let left_out = tracks.len().saturating_sub(most) as u32;
        tracks.truncate(most);
        let lanes = Lanes::new(profile, &tracks);
        let weights = vec![0.0; tracks.len() * bins as usize * KINDS].into();
        let (start, end) = (times.start, times.end);
        let kinds = KINDS as u32;
        (Self { start, end, bins, kinds, tracks, left_out, weights }, lanes)
    }

    /// With the largest sum of each track, when all is added up.
    pub(super) fn with_peaks(mut self) -> Self {
        let of_track = self.weights.chunks(self.bins as usize * KINDS);
        for (track, weights) in self.tracks.iter_mut().zip(of_track) {
            let sums = weights.chunks(KINDS).map(|kinds| kinds.iter().map(|&w| f64::from(w)).sum());
            track.peak = sums.fold(0.0, f64::max);
        }
        self
    }
}

/// The header of a track, and what there is of it.
type Planned = (Track, Span);

/// The tracks of a request; the first is all CPUs.
fn plan(profile: &Profile, sums: &TaskSums, request: &TimelineRequest) -> Vec<Planned> {
    let mut all = Span::default();
    sums.threads.iter().for_each(|&span| all.merge(span));
    let cpus = sums.cpus();
    let sub = if cpus.is_empty() { String::new() } else { cpus.len().to_string() };
    let mut tracks = vec![planned("all", "All CPUs".to_owned(), sub, all)];
    match request.by {
        TrackBy::Cpu => tracks.extend(cpus.into_iter().map(|(cpu, span)| {
            let (track, span) =
                planned(&format!("c{cpu}"), format!("CPU {cpu}"), String::new(), span);
            (Track { cpu: Some(cpu), ..track }, span)
        })),
        TrackBy::Thread => {
            let processes = sums.processes(profile);
            let mut threads: Vec<Planned> =
                processes.iter().flat_map(|(pid, it)| threads(profile, *pid, it, 0)).collect();
            in_order(&mut threads, request.sort);
            tracks.extend(threads);
        }
        TrackBy::Process => {
            let processes = sums.processes(profile);
            let mut headers = process_headers(profile, &processes);
            in_order(&mut headers, request.sort);
            let processes: Map<u32, ProcessSums> = processes.into_iter().collect();
            for header in headers {
                let opened = header.0.pid.filter(|pid| request.open.contains(pid));
                tracks.push(header);
                if let Some((pid, process)) =
                    opened.and_then(|pid| Some((pid, processes.get(&pid)?)))
                {
                    let mut threads = threads(profile, pid, process, 1);
                    in_order(&mut threads, request.sort);
                    tracks.extend(threads);
                }
            }
        }
    }
    tracks
}

/// Processes by name; of several of one name each says its pid.
fn process_headers(profile: &Profile, processes: &[(u32, ProcessSums)]) -> Vec<Planned> {
    let names: Vec<String> = processes.iter().map(|(_, it)| it.named.name(profile)).collect();
    let mut named: Map<&str, u32> = Map::new();
    names.iter().for_each(|name| *named.entry(name).or_default() += 1);
    let headers = processes.iter().zip(&names).map(|((pid, process), name)| {
        let label = if named[name.as_str()] > 1 { format!("{name} ({pid})") } else { name.clone() };
        let threads = process.threads.len() as u32;
        let sub = match threads {
            1 => "1 thread".to_owned(),
            count => format!("{count} threads"),
        };
        let (track, span) = planned(&format!("p{pid}"), label, sub, process.named.span);
        (Track { pid: Some(*pid), threads, ..track }, span)
    });
    headers.collect()
}

fn threads(profile: &Profile, pid: u32, process: &ProcessSums, level: u8) -> Vec<Planned> {
    let threads = process.threads.sorted().into_iter().map(|(&tid, named)| {
        let sub = format!("tid {tid}");
        let (track, span) = planned(&format!("t{tid}"), named.name(profile), sub, named.span);
        (Track { pid: Some(pid), tid: Some(tid), level, ..track }, span)
    });
    threads.collect()
}

fn planned(key: &str, label: String, sub: String, span: Span) -> Planned {
    let Sum { samples, weight } = span.sum;
    (Track { key: key.to_owned(), label, sub, samples, weight, ..Track::default() }, span)
}

/// Equals stay in the order of their numbers.
fn in_order(tracks: &mut [Planned], sort: TrackSort) {
    match sort {
        TrackSort::Weight => sort_by_key(tracks, |(_, span)| Reverse(span.sum.weight)),
        TrackSort::Start => sort_by_key(tracks, |(_, span)| span.start()),
    }
}

/// Which tracks samples go into, all CPUs apart.
pub(super) struct Lanes {
    /// By thread: its process's and its own.
    of_thread: Vec<[u32; 2]>,
    of_cpu: Vec<u32>,
}

/// In [`Lanes`]: no track.
pub(super) const NO_TRACK: u32 = u32::MAX;

impl Lanes {
    fn new(profile: &Profile, tracks: &[Track]) -> Self {
        let mut of_cpu = Vec::new();
        let mut of_task: Map<(u32, Option<u32>), u32> = Map::new();
        for (place, track) in (0u32..).zip(tracks) {
            if let Some(cpu) = track.cpu.map(usize::from) {
                of_cpu.resize(of_cpu.len().max(cpu + 1), NO_TRACK);
                of_cpu[cpu] = place;
            }
            of_task.extend(track.pid.map(|pid| ((pid, track.tid), place)));
        }
        let of_thread = profile.threads.threads.iter().map(|thread| {
            let pid = profile.threads.process(thread.process).pid;
            [None, Some(thread.tid)]
                .map(|tid| of_task.get(&(pid, tid)).copied().unwrap_or(NO_TRACK))
        });
        Self { of_thread: of_thread.collect(), of_cpu }
    }

    /// The track of its process, and its own.
    pub(super) fn of_thread(&self, thread: ThreadId) -> [u32; 2] {
        self.of_thread[thread.index()]
    }

    fn of_cpu(&self, cpu: u16) -> u32 {
        self.of_cpu.get(usize::from(cpu)).copied().unwrap_or(NO_TRACK)
    }
}
