//! For which time a sample stands: that since the sample before it on its CPU, two periods at most.
//!
//! A sample of a clock or of cycles says what ran while its period went by. Drawn at its moment with all of
//! its weight, a thread that runs all the time looks like a comb wherever the bins of a view and the
//! period do not fit each other. Where CPUs are not known, the sample before is the thread's own.
//!
//! What happens at a moment stays there: each single occurrence of an event that counts some, and a wait,
//! which ended then.

use std::ops::Range;

use perftab_profile::{Event, EventOrigin, Profile, Unit};

use crate::ends::RemainingSamples;
use crate::filter::Filter;
use crate::tasks::NO_CPU;
use crate::time_order::median_distance;

/// So many periods without a sample on a CPU, and nothing ran there, or something else did.
const LONGEST: u64 = 2;
/// Weights of which the median is taken; of more, an even choice.
const MOST_WEIGHTS: usize = 10_000;
/// CPUs, and behind them threads whose CPU is not known.
const FIRST_THREAD: usize = NO_CPU as usize + 1;

/// The nanoseconds for which a sample of an event usually stands: of a clock they are its weight.
pub fn period(profile: &Profile, event: u32) -> u64 {
    let events = profile.event_set(event);
    let clock = |event: &Event| event.origin == EventOrigin::Recorded && event.unit() == Unit::Ns;
    let is_clock: Vec<bool> =
        (0..).zip(&profile.events).map(|(id, event)| events.has(id) && clock(event)).collect();
    if is_clock.contains(&true) {
        let samples = &profile.samples;
        let every = samples.len().div_ceil(MOST_WEIGHTS).max(1);
        let of_clock = |row: &usize| is_clock[usize::from(samples.event[*row])];
        let mut weights: Vec<u64> = (0..samples.len())
            .filter(of_clock)
            .step_by(every)
            .map(|row| samples.weight.at(row))
            .collect();
        let middle = weights.len() / 2;
        if !weights.is_empty() {
            return *weights.select_nth_unstable(middle).1;
        }
    }
    let slots = FIRST_THREAD + profile.threads.threads.len();
    median_distance(profile, event, slots, |row| slot(profile, row))
}

fn slot(profile: &Profile, row: usize) -> usize {
    match profile.samples.cpu.at(row) {
        NO_CPU => FIRST_THREAD + profile.samples.thread.at(row).index(),
        cpu => usize::from(cpu),
    }
}

/// Where samples of an event begin and end, row by row.
pub struct SampleSpans {
    longest: u64,
    /// By event.
    lasts: Vec<Lasts>,
    /// [`Profile::first_time`], or 0.
    first_time: u64,
    /// When the last sample was: by CPU, and by thread where CPUs are not known; as far as they were met.
    before: [Vec<u64>; 2],
}

/// How long samples of an event last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lasts {
    Moment,
    /// A moment, if it stands for one occurrence.
    Occurrence,
    Since,
}

impl SampleSpans {
    /// Of samples with this [`period`].
    pub fn new(profile: &Profile, period: u64) -> Self {
        let lasts = profile.events.iter().map(|event| match (event.origin, event.unit()) {
            // Damage mixes up the order of samples; then nothing says what was before.
            _ if !profile.samples.is_in_order() => Lasts::Moment,
            (EventOrigin::Derived, _) => Lasts::Moment,
            (EventOrigin::Recorded, Unit::Events) => Lasts::Occurrence,
            (EventOrigin::Recorded, _) => Lasts::Since,
        });
        Self {
            longest: period.saturating_mul(LONGEST),
            lasts: lasts.collect(),
            first_time: profile.first_time().unwrap_or_default(),
            before: [Vec::new(), Vec::new()],
        }
    }

    /// Rows among which all samples are that stand for any of these times, and those before them on their
    /// CPUs. Times are nanoseconds since the first of the recording.
    pub fn rows(&self, profile: &Profile, times: &Range<u64>) -> Range<usize> {
        let at = |time: u64| self.first_time.saturating_add(time);
        // 0 stands for no time. Times before the first count as that.
        let from = match times.start.checked_sub(self.longest) {
            None | Some(0) => 1,
            Some(start) => at(start).max(1),
        };
        profile.samples.rows_within(from, at(times.end.saturating_add(self.longest)))
    }

    /// The time of a sample, if it passes the filter, whose event's samples are all asked for in their order,
    /// and if steps have left it.
    #[inline]
    pub(super) fn next_left(
        &mut self,
        profile: &Profile,
        filter: &Filter<'_>,
        left: &RemainingSamples,
        row: usize,
    ) -> Option<SampleSpan> {
        if !filter.is_of_event(row) {
            return None;
        }
        let span = self.next(profile, row)?;
        (filter.removed_by(row).is_none() && left.has(profile, row)).then_some(span)
    }

    /// The time of a sample, whose event is one of those that are looked at: all of these are to be asked
    /// for in their order, whether they count or not. `None` for one without a time.
    pub fn next(&mut self, profile: &Profile, row: usize) -> Option<SampleSpan> {
        let samples = &profile.samples;
        let time = samples.time_nanos.at(row);
        if time == 0 {
            return None;
        }
        let end = time.saturating_sub(self.first_time);
        let lasts = self.lasts.get(usize::from(samples.event[row])).copied();
        let start = match lasts.unwrap_or(Lasts::Moment) {
            Lasts::Moment => end,
            Lasts::Occurrence if samples.weight.at(row) <= 1 => end,
            Lasts::Occurrence | Lasts::Since => {
                let before = std::mem::replace(self.before(profile, row), time);
                end.saturating_sub(self.longest.min(time.saturating_sub(before)))
            }
        };
        Some(SampleSpan { start, end })
    }
}

impl SampleSpans {
    /// When the last sample was where that of a row was taken; 0 for the first.
    fn before(&mut self, profile: &Profile, row: usize) -> &mut u64 {
        let slot = slot(profile, row);
        let (of, at) = match slot.checked_sub(FIRST_THREAD) {
            None => (0, slot),
            Some(thread) => (1, thread),
        };
        let known = &mut self.before[of];
        if known.len() <= at {
            known.resize(at + 1, 0);
        }
        &mut known[at]
    }
}

/// The time for which a sample stands, in nanoseconds since the first of the recording; a moment if both
/// ends are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleSpan {
    /// When it begins.
    pub start: u64,
    /// When it ends: when the sample was taken.
    pub end: u64,
}

impl SampleSpan {
    /// How much of it lies in a time: 0 to 1.
    pub fn share_in(self, times: &Range<u64>) -> f64 {
        if self.start == self.end {
            return if times.contains(&self.end) { 1.0 } else { 0.0 };
        }
        let within = self.end.min(times.end).saturating_sub(self.start.max(times.start));
        within as f64 / (self.end - self.start) as f64
    }

    /// Calls `each` with every bin that it lies in and how much of it lies there, where `times` are in so many
    /// equal bins.
    pub fn spread(self, times: &Range<u64>, bins: usize, mut each: impl FnMut(usize, f64)) {
        let whole = self.share_in(times);
        if whole <= 0.0 || bins == 0 {
            return;
        }
        let per_nano = bins as f64 / (times.end - times.start).max(1) as f64;
        let place = |time: u64| time.saturating_sub(times.start) as f64 * per_nano;
        let (left, right) = (place(self.start), place(self.end.min(times.end)));
        let last = bins - 1;
        let (from, to) = ((left as usize).min(last), (right as usize).min(last));
        if from == to {
            return each(from, whole);
        }
        let of_bin = whole / (right - left);
        each(from, ((from + 1) as f64 - left) * of_bin);
        (from + 1..to).for_each(|bin| each(bin, of_bin));
        each(to, (right - to as f64) * of_bin);
    }
}
