//! The file format of speedscope (`file-format-schema.json` in its release): a sampled profile for
//! each thread and event, heaviest first, in the order of time. Samples that follow each other in
//! one stack are one.

use perftab_perfdata::map::Map;
use std::io::Write;

use perftab_perfdata::text::printable;
use perftab_profile::Unit;
use perftab_views::call_tree::Label;

use super::calls::{CallNumber, Calls, Code};
use super::exported_samples::{ExportedSamples, Track};
use super::{ExportRequest, Next, Pieces, json};

/// A profile that is being written, a run of samples a piece.
pub(super) struct Speedscope {
    name: String,
    at: At,
    /// Functions by their place among speedscope's frames.
    frames: Map<Label, u32>,
    labels: Vec<Label>,
    /// Frames of one sample, outermost first.
    stack: Vec<u32>,
}

/// What comes next.
#[derive(Clone, Copy)]
enum At {
    Head,
    Track { event: usize, track: usize },
    Samples { event: usize, track: usize, row: usize },
    Weights { event: usize, track: usize, row: usize },
    Frame(usize),
    End,
}

impl Speedscope {
    pub fn new(request: &ExportRequest) -> Self {
        let name = printable(&request.name).into_owned();
        let (frames, labels, stack) = (Map::new(), Vec::new(), Vec::new());
        Self { name, at: At::Head, frames, labels, stack }
    }

    fn head(&self, out: &mut Vec<u8>) {
        let _ = write!(
            out,
            "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\
             \"exporter\":\"perftab {}\",\"name\":",
            env!("CARGO_PKG_VERSION")
        );
        json::string(out, &self.name);
        out.extend_from_slice(b",\"activeProfileIndex\":0,\"profiles\":[");
    }

    fn begin_track(
        &self,
        calls: &Calls<'_>,
        taken: &ExportedSamples,
        at: (usize, usize),
        out: &mut Vec<u8>,
    ) {
        let (event, track) = at;
        let rows = &taken.events[event];
        let event_of = calls.profile.event(rows.query.event);
        let thread = calls.profile.threads.thread(rows.tracks[track].thread);
        let mut name = calls.names().labels.thread_text(thread);
        if taken.events.len() > 1 {
            let event = event_of.map_or("", |event| event.name.as_str());
            name = format!("{name}, {}", printable(event));
        }
        let unit = match event_of.map(|event| event.unit()) {
            Some(Unit::Ns) => "nanoseconds",
            _ => "none",
        };
        out.extend_from_slice(if taken.is_first(at) { b"" } else { b"," });
        out.extend_from_slice(b"{\"type\":\"sampled\",\"name\":");
        json::string(out, &name);
        let _ = write!(
            out,
            ",\"unit\":\"{unit}\",\"startValue\":0,\"endValue\":{},\"samples\":[",
            rows.tracks[track].sum.weight
        );
    }

    fn write_stack(&mut self, calls: &Calls<'_>, end: CallNumber, out: &mut Vec<u8>) {
        self.stack.clear();
        let mut call = end;
        while let Some((caller, code)) = calls.get(call) {
            self.push_code(calls, code);
            call = caller;
        }
        out.push(b'[');
        for (place, frame) in self.stack.iter().rev().enumerate() {
            let separator = if place == 0 { "" } else { "," };
            let _ = write!(out, "{separator}{frame}");
        }
        out.push(b']');
    }

    /// Innermost level first.
    fn push_code(&mut self, calls: &Calls<'_>, code: Code) {
        let Self { frames, labels, stack, .. } = self;
        let from = stack.len();
        calls.for_each_part(code, |part| {
            // Inlined or called, it is one function.
            let label = part.label.function().map_or(part.label, Label::Function);
            stack.push(*frames.entry(label).or_insert_with(|| {
                labels.push(label);
                labels.len() as u32 - 1
            }));
        });
        stack[from..].reverse();
    }

    fn write_frame(&self, calls: &Calls<'_>, frame: usize, out: &mut Vec<u8>) {
        let (label, names) = (self.labels[frame], calls.names());
        out.extend_from_slice(if frame == 0 { b"{\"name\":" } else { b",{\"name\":" });
        json::string(out, &names.text(label));
        if let Some(dso) = names.labels.dso(label) {
            out.extend_from_slice(b",\"file\":");
            json::string(out, &printable(&calls.profile.dsos.get(dso).path));
        }
        out.push(b'}');
    }
}

/// Rows that are looked at in one piece.
const LONGEST_RUN: usize = 1 << 14;

/// The row after the last of those from `row` on that end in the same call.
fn end_of_run(calls: &Calls<'_>, track: &Track, row: usize) -> (CallNumber, usize) {
    let end = calls.end_of_row(track.rows[row]);
    let rows = track.rows[row..].iter().take(LONGEST_RUN);
    let same = rows.take_while(|&&row| calls.end_of_row(row) == end);
    (end, row + same.count())
}

impl Pieces for Speedscope {
    fn event(&self) -> usize {
        match self.at {
            At::Head | At::Frame(_) | At::End => 0,
            At::Track { event, .. } | At::Samples { event, .. } | At::Weights { event, .. } => {
                event
            }
        }
    }

    fn next(&mut self, calls: &Calls<'_>, taken: &ExportedSamples, out: &mut Vec<u8>) -> Next {
        let track_of = |event: usize, track: usize| &taken.events[event].tracks[track];
        self.at = match self.at {
            At::Head => {
                self.head(out);
                At::Track { event: 0, track: 0 }
            }
            At::Track { event, .. } if event == taken.events.len() => {
                out.extend_from_slice(b"],\"shared\":{\"frames\":[");
                At::Frame(0)
            }
            At::Track { event, track } if track == taken.events[event].tracks.len() => {
                At::Track { event: event + 1, track: 0 }
            }
            At::Track { event, track } => {
                self.begin_track(calls, taken, (event, track), out);
                At::Samples { event, track, row: 0 }
            }
            At::Samples { event, track, row } if row == track_of(event, track).rows.len() => {
                out.extend_from_slice(b"],\"weights\":[");
                At::Weights { event, track, row: 0 }
            }
            At::Samples { event, track, row } => {
                out.extend_from_slice(if row == 0 { b"" } else { b"," });
                let (end, next) = end_of_run(calls, track_of(event, track), row);
                self.write_stack(calls, end, out);
                At::Samples { event, track, row: next }
            }
            At::Weights { event, track, row } if row == track_of(event, track).rows.len() => {
                out.extend_from_slice(b"]}");
                At::Track { event, track: track + 1 }
            }
            At::Weights { event, track, row } => {
                out.extend_from_slice(if row == 0 { b"" } else { b"," });
                let (_, next) = end_of_run(calls, track_of(event, track), row);
                let rows = track_of(event, track).rows[row..next].iter();
                let weights = rows.map(|&row| calls.profile.samples.weight[row as usize]);
                let _ = write!(out, "{}", weights.fold(0, u64::saturating_add));
                At::Weights { event, track, row: next }
            }
            At::Frame(frame) if frame == self.labels.len() => {
                out.extend_from_slice(b"]}}\n");
                At::End
            }
            At::Frame(frame) => {
                self.write_frame(calls, frame, out);
                At::Frame(frame + 1)
            }
            At::End => return Next::End,
        };
        Next::Piece
    }
}
