//! One thread's stacks along time, laid out as boxes.
//!
//! A sample lasts until the thread's next one, so the samples of a box are those with a time from
//! its left to before its right edge: a range drawn along a box's edges takes just its samples. A
//! sample of a derived event lasts for its weight, which is time, and ends when it was taken.
//!
//! Where the next sample is far away the thread did not run, or was not sampled: a sample then lasts
//! for the event's usual distance, and nothing stands after it. The usual distance is the median over
//! the samples of all threads, not those of the one that is drawn: a thread that runs for a
//! millisecond a second would seem to run all the time. Far is four such distances, since a busy
//! machine may miss some.
//!
//! Neighbours whose stacks begin alike share boxes. What is too narrow is folded with its
//! neighbours of the same caller, so the number of boxes is bounded by the width and the depth. What has
//! gaps around it has no neighbours: its outermost call is drawn as wide as a pixel at least. The
//! samples of the window are gone through once, each for as many levels as it differs from the one
//! before it; nothing is kept between two questions.

use perftab_names::Symbols;
use perftab_profile::{Event, EventOrigin, Profile};

use crate::boxes::{BoxContent, Boxes, Edges, FlameGraph, Weights};
use crate::call_tree::{CallNodeId, CallTree, Label};
use crate::ends::Ends;
use crate::filter::Filter;
use crate::label::OwnCode;
use crate::search::Pattern;
use crate::weights::Sum;

/// As many usual distances without a sample are a gap.
const GAP: u64 = 4;
/// Distances of which the median is taken; of more, an even choice.
const MOST_DISTANCES: usize = 100_000;
/// The usual distance where no thread has two samples, in nanoseconds.
const UNKNOWN_DISTANCE: u64 = 1_000_000;

/// What part of the time to lay out, and how wide.
#[derive(Clone, Debug)]
pub struct Window {
    /// The thread's id (tid).
    pub thread: u32,
    /// When the left edge is, in nanoseconds since [`Profile::first_time`].
    pub start: u64,
    /// When the right edge is.
    pub end: u64,
    /// Width in pixels.
    pub width: f64,
    /// Narrower boxes are folded.
    pub min_width: f64,
    /// What is searched for.
    pub search: Option<Pattern>,
    /// What is coloured as own code.
    pub own: OwnCode,
}

/// Boxes over time; the first row is the thread.
#[derive(Clone, Debug, Default)]
pub struct TimeOrder {
    /// The boxes. Their call nodes are of the query's tree of callees; the first row's is its root.
    pub graph: FlameGraph,
    /// By box: how many samples are in it, and, if it is cut off by the window, in the window.
    pub samples: Vec<u64>,
    /// Why there is no box.
    pub nothing: Option<EmptyReason>,
    /// The event's usual distance between samples of a thread, in nanoseconds.
    pub distance: u64,
}

/// Why nothing is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum EmptyReason {
    /// Samples have no time: what is open came by a link, or was recorded without.
    NoTimes,
    /// The recording has no such thread.
    NoThread,
    /// The filters leave none of the thread's samples, or none is in the window.
    NoSamples,
}

impl EmptyReason {
    /// As the page knows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoTimes => "no-times",
            Self::NoThread => "no-thread",
            Self::NoSamples => "no-samples",
        }
    }
}

/// The usual distance between samples of an event, in nanoseconds; see the module.
pub fn usual_distance(profile: &Profile, event: u32) -> u64 {
    let threads = profile.threads.threads.len();
    median_distance(profile, event, threads, |row| profile.samples.thread.at(row).index())
}

/// The median of times between two samples that have the same of so many slots, waits apart.
pub(super) fn median_distance(
    profile: &Profile,
    event: u32,
    slots: usize,
    slot: impl Fn(usize) -> usize,
) -> u64 {
    let samples = &profile.samples;
    let events = profile.event_set(event);
    let lasts: Vec<bool> = profile.events.iter().map(is_derived).collect();
    let mut last = vec![0u64; slots];
    let mut distances: Vec<u64> = Vec::new();
    let every = samples.len().div_ceil(MOST_DISTANCES).max(1);
    let mut count = 0usize;
    let is_meant = |&row: &usize| {
        let event = samples.event[row];
        events.has(event) && !lasts.get(usize::from(event)).is_some_and(|&lasts| lasts)
    };
    for row in (0..samples.len()).filter(is_meant) {
        let time = samples.time_nanos.at(row);
        let before = std::mem::replace(&mut last[slot(row)], time);
        if before != 0 && time > before {
            count += 1;
            if count.is_multiple_of(every) {
                distances.push(time - before);
            }
        }
    }
    let middle = distances.len() / 2;
    match distances.is_empty() {
        true => UNKNOWN_DISTANCE,
        false => *distances.select_nth_unstable(middle).1,
    }
}

/// Lays out the samples of one thread that a query takes. `tree` is the query's tree of callees,
/// `distance` what [`usual_distance`] says of its event.
pub fn layout(
    profile: &Profile,
    symbols: &Symbols,
    tree: &CallTree,
    filter: &Filter<'_>,
    ends: &Ends,
    distance: u64,
    window: &Window,
) -> TimeOrder {
    let nothing = |why| TimeOrder { nothing: Some(why), distance, ..TimeOrder::default() };
    let Some(first) = profile.first_time() else { return nothing(EmptyReason::NoTimes) };
    let Some(thread) = profile.threads.threads.iter().rfind(|it| it.tid == window.thread) else {
        return nothing(EmptyReason::NoThread);
    };
    let scale = Scale::new(first, window);
    let mut pieces = Pieces::new(tree, scale, window.min_width);
    let samples = &profile.samples;
    spans(profile, filter, window.thread, distance, &scale, |span| {
        let passes = filter.removed_by(span.row).is_none();
        let leaf = || ends.of(samples.thread.at(span.row), samples.stack[span.row]);
        match passes.then(leaf).flatten() {
            Some(leaf) => pieces.add(&span, leaf, filter.sum(span.row)),
            None => pieces.close_to(0),
        }
    });
    pieces.close_to(0);
    let boxes = Boxes::new(profile, symbols, window.search.as_ref()).counting(&window.own);
    let name = boxes.labels.thread_text(*thread);
    match pieces.write(boxes, &name) {
        Some((graph, samples)) => TimeOrder { graph, samples, nothing: None, distance },
        None => nothing(EmptyReason::NoSamples),
    }
}

/// Times of the recorder's clock as pixels.
#[derive(Clone, Copy)]
struct Scale {
    start: u64,
    end: u64,
    pixels_per_nano: f64,
}

impl Scale {
    fn new(first: u64, window: &Window) -> Self {
        let start = first.saturating_add(window.start);
        let end = first.saturating_add(window.end).max(start.saturating_add(1));
        Self { start, end, pixels_per_nano: window.width / (end - start).max(1) as f64 }
    }

    /// Cut off at the window.
    fn edges(&self, start: u64, end: u64) -> Edges {
        let pixel = |time: u64| {
            (time.clamp(self.start, self.end) - self.start) as f64 * self.pixels_per_nano
        };
        Edges { start: pixel(start), end: pixel(end) }
    }

    fn sees(&self, start: u64, end: u64) -> bool {
        start < self.end && end > self.start
    }
}

/// How long a sample lasts.
struct Span {
    start: u64,
    end: u64,
    row: usize,
}

/// Every sample of the event and the thread that is seen in the window, in the order of time; those
/// that filters take away too, since they end what was before them.
fn spans(
    profile: &Profile,
    filter: &Filter<'_>,
    tid: u32,
    distance: u64,
    scale: &Scale,
    mut each: impl FnMut(Span),
) {
    let is_of_thread: Vec<bool> = profile.threads.threads.iter().map(|it| it.tid == tid).collect();
    let samples = &profile.samples;
    let is_meant = |&row: &usize| {
        is_of_thread[samples.thread.at(row).index()]
            && filter.is_of_event(row)
            && samples.time_nanos.at(row) != 0
    };
    let mut each = |start: u64, end: u64, row: usize| {
        if scale.sees(start, end) {
            each(Span { start, end, row });
        }
    };
    let lasts: Vec<bool> = profile.events.iter().map(is_derived).collect();
    let gap = distance.saturating_mul(GAP);
    let until = match filter.has_any(&lasts) {
        // A sample that was taken after the window may have lasted since before it.
        true => u64::MAX,
        false => scale.end.saturating_add(gap),
    };
    let mut last: Option<(usize, u64)> = None;
    let mut ended = 0;
    for row in samples.rows_within(scale.start.saturating_sub(gap), until).filter(is_meant) {
        let time = samples.time_nanos.at(row);
        if time < ended {
            continue; // Damage has mixed up the order.
        }
        let lasted = lasts.get(usize::from(samples.event[row])).is_some_and(|&lasts| lasts);
        let start = match lasted {
            true => time.saturating_sub(samples.weight.at(row)).max(ended),
            false => time,
        };
        if let Some((row, began)) = last.take() {
            let is_next = start - began <= gap;
            each(began, if is_next { start } else { began.saturating_add(distance) }, row);
        }
        match lasted {
            true => each(start, time, row),
            false => last = Some((row, time)),
        }
        ended = time;
        if start >= scale.end && samples.is_in_order() {
            break;
        }
    }
    if let Some((row, start)) = last {
        each(start, start.saturating_add(distance), row);
    }
}

fn is_derived(event: &Event) -> bool {
    event.origin == EventOrigin::Derived
}

/// A call node for as long as samples follow each other in it; or several narrow ones.
struct Piece {
    node: CallNodeId,
    /// How many pieces this is.
    count: u32,
    start: u64,
    end: u64,
    total: Sum,
    own: Sum,
}

/// A piece that has not ended.
struct OpenPiece {
    node: CallNodeId,
    start: u64,
    /// The sum of all samples before.
    before: Sum,
    own: Sum,
}

/// A row below the thread's.
#[derive(Default)]
struct Row {
    pieces: Vec<Piece>,
    /// Narrow pieces side by side, the last of which has just ended.
    narrow: Option<Piece>,
}

/// The pieces of all rows, while the samples are gone through.
struct Pieces<'a> {
    tree: &'a CallTree,
    scale: Scale,
    min_width: f64,
    open: Vec<OpenPiece>,
    rows: Vec<Row>,
    /// The way to the last leaf: filled anew for each that differs.
    path: Vec<CallNodeId>,
    leaf: Option<CallNodeId>,
    sum: Sum,
    /// When the first sample began, and when the last has ended.
    bounds: Option<(u64, u64)>,
}

impl<'a> Pieces<'a> {
    fn new(tree: &'a CallTree, scale: Scale, min_width: f64) -> Self {
        Self {
            tree,
            scale,
            min_width,
            open: Vec::new(),
            rows: Vec::new(),
            path: Vec::new(),
            leaf: None,
            sum: Sum::default(),
            bounds: None,
        }
    }

    fn add(&mut self, span: &Span, leaf: CallNodeId, sum: Sum) {
        let ended = self.bounds.map_or(span.start, |(_, end)| end);
        if span.start > ended {
            self.close_to(0);
        }
        if self.leaf != Some(leaf) {
            self.find_path(leaf);
            let same = self.open.iter().zip(&self.path).take_while(|(open, id)| open.node == **id);
            let same = same.count();
            self.close_to(same);
            for &node in &self.path[same..] {
                let (start, before) = (span.start, self.sum);
                self.open.push(OpenPiece { node, start, before, own: Sum::default() });
            }
            self.rows.resize_with(self.rows.len().max(self.open.len()), Row::default);
            self.leaf = Some(leaf);
        }
        if let Some(innermost) = self.open.last_mut() {
            innermost.own.add(sum);
        }
        self.sum.add(sum);
        let (start, _) = *self.bounds.get_or_insert((span.start, span.end));
        self.bounds = Some((start, span.end));
    }

    /// Outermost first, without what stands for everything or a group.
    fn find_path(&mut self, leaf: CallNodeId) {
        self.path.clear();
        let mut next = Some(leaf);
        while let Some(id) = next.filter(|&id| !is_group(self.tree.label(id))) {
            self.path.push(id);
            next = self.tree.parent(id);
        }
        self.path.reverse();
    }

    /// Ends what is deeper than so many rows, where the last sample ended.
    fn close_to(&mut self, depth: usize) {
        let Some((_, end)) = self.bounds else { return };
        self.leaf = None;
        while self.open.len() > depth {
            let Some(OpenPiece { node, start, before, own }) = self.open.pop() else { return };
            let total = self.sum.without(before);
            let piece = Piece { node, count: 1, start, end, total, own };
            let row = self.open.len();
            self.end_narrow(row + 1);
            self.put(row, piece);
        }
    }

    fn put(&mut self, row: usize, piece: Piece) {
        let is_wide = self.is_wide(&piece);
        // Gaps are between outermost calls alone.
        let least = if row == 0 { self.least_length() } else { 0 };
        match &mut self.rows[row].narrow {
            Some(narrow)
                if !is_wide
                    && piece.start <= narrow.end.max(narrow.start.saturating_add(least)) =>
            {
                narrow.end = piece.end;
                narrow.count = narrow.count.saturating_add(1);
                narrow.total.add(piece.total);
                narrow.own.add(piece.own);
            }
            Some(narrow) => {
                narrow.end = narrow.end.max(narrow.start.saturating_add(least).min(piece.start));
                self.end_narrow(row);
                self.keep(row, piece, is_wide);
            }
            None => self.keep(row, piece, is_wide),
        }
    }

    fn keep(&mut self, row: usize, piece: Piece, is_wide: bool) {
        let Row { pieces, narrow } = &mut self.rows[row];
        match is_wide {
            true => pieces.push(piece),
            false => *narrow = Some(piece),
        }
    }

    /// Nothing more is folded with what was narrow in a row.
    fn end_narrow(&mut self, row: usize) {
        let narrow = self.rows.get_mut(row).and_then(|row| row.narrow.take());
        if let Some(piece) = narrow.filter(|piece| self.is_wide(piece)) {
            self.rows[row].pieces.push(piece);
        }
    }

    /// How long what stands alone is drawn: as long as a pixel shows, as half of one may fall between two.
    fn least_length(&self) -> u64 {
        let width = self.min_width.max(1.0);
        ((width / self.scale.pixels_per_nano).ceil() as u64).saturating_add(1)
    }

    fn is_wide(&self, piece: &Piece) -> bool {
        self.scale.edges(piece.start, piece.end).width() >= self.min_width
    }

    /// All rows as boxes, with the samples of each box; `None` if no sample was met. The first row
    /// is the thread.
    fn write(mut self, mut boxes: Boxes<'_>, thread: &str) -> Option<(FlameGraph, Vec<u64>)> {
        let (start, mut end) = self.bounds?;
        let least = self.least_length();
        if let Some(narrow) = self.rows.first_mut().and_then(|row| row.narrow.as_mut()) {
            narrow.end = narrow.end.max(narrow.start.saturating_add(least));
            end = end.max(narrow.end);
        }
        self.end_narrow(0);
        let edges = self.scale.edges(start, end);
        let content = BoxContent {
            call_node: CallNodeId::ROOT.0,
            several: 0,
            label: Label::All,
            function: None,
            text: boxes.text(edges.width(), |_| thread.to_owned()),
            found: 0,
        };
        boxes.begin_row();
        boxes.push(&content, edges, Weights { total: self.sum.weight as f64, own: 0.0 });
        let mut samples = vec![self.sum.samples];
        for row in self.rows.iter().filter(|row| !row.pieces.is_empty()) {
            boxes.begin_row();
            for piece in &row.pieces {
                let edges = self.scale.edges(piece.start, piece.end);
                let (total, own) = (piece.total.weight as f64, piece.own.weight as f64);
                let weights = Weights { total, own };
                match piece.count {
                    1 => boxes.push_call(piece.node, self.tree.label(piece.node), edges, weights),
                    count => boxes.push_folded(count, edges, weights),
                }
                samples.push(piece.total.samples);
            }
        }
        Some((boxes.finish(), samples))
    }
}

fn is_group(label: Label) -> bool {
    label.is_group()
}
