//! The file format of speedscope (`file-format-schema.json` in its release): a sampled profile for
//! each thread and event, heaviest first, in the order of time. Samples that follow each other in
//! one stack are one.

use perftab_perfdata::map::Map;
use std::io::Write;

use perftab_perfdata::text::printable;
use perftab_profile::{Profile, Unit};
use perftab_views::call_tree::Label;

use crate::calls::{CallNumber, Calls, Code};
use crate::exported_samples::{ExportedSamples, Track};
use crate::names::Names;
use crate::out::Out;
use crate::source::Source;
use crate::{ExportRequest, json};

/// Writes it, a run of samples a piece.
pub(crate) async fn write(request: &ExportRequest, source: &Source, out: &mut Out) {
    let taken = ExportedSamples::of(source, request.queries(&source.profile), out.rows()).await;
    out.pieces().expect(2 * taken.samples());
    let mut frames = Frames::default();
    head(&request.name, &mut out.bytes);
    for (event, rows) in taken.events.iter().enumerate() {
        let calls = source.calls(&rows.query, out.rows()).await;
        for (place, track) in rows.tracks.iter().enumerate() {
            begin_track(&calls, &taken, (event, place), &mut out.bytes);
            let mut row = 0;
            while row < track.rows.len() {
                let (end, next) = end_of_run(&calls, track, row);
                json::separate(&mut out.bytes, row);
                frames.write_stack(&calls, end, &mut out.bytes);
                row = next;
                out.rest().await;
            }
            out.bytes.extend_from_slice(b"],\"weights\":[");
            let mut row = 0;
            while row < track.rows.len() {
                let (_, next) = end_of_run(&calls, track, row);
                let rows = track.rows[row..next].iter();
                let weights = rows.map(|&row| calls.codes.profile.samples.weight.at(row as usize));
                json::separate(&mut out.bytes, row);
                let _ = write!(out.bytes, "{}", weights.fold(0, u64::saturating_add));
                row = next;
                out.rest().await;
            }
            out.bytes.extend_from_slice(b"]}");
        }
    }
    out.bytes.extend_from_slice(b"],\"shared\":{\"frames\":[");
    let names = Names::new(&source.profile, &source.symbols);
    for (place, &label) in frames.labels.iter().enumerate() {
        json::separate(&mut out.bytes, place);
        write_frame(&source.profile, &names, label, &mut out.bytes);
        out.rest().await;
    }
    out.bytes.extend_from_slice(b"]}}\n");
}

/// The functions that samples have met.
#[derive(Default)]
struct Frames {
    /// By label: its place among speedscope's frames.
    places: Map<Label, u32>,
    labels: Vec<Label>,
    /// Frames of one sample, outermost first.
    stack: Vec<u32>,
}

impl Frames {
    fn write_stack(&mut self, calls: &Calls, end: CallNumber, out: &mut Vec<u8>) {
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
    fn push_code(&mut self, calls: &Calls, code: Code) {
        let Self { places, labels, stack } = self;
        let from = stack.len();
        calls.codes.for_each_part(code, |part| {
            // Inlined or called, it is one function.
            let label = part.label.function().map_or(part.label, Label::Function);
            stack.push(*places.entry(label).or_insert_with(|| {
                labels.push(label);
                labels.len() as u32 - 1
            }));
        });
        stack[from..].reverse();
    }
}

fn head(name: &str, out: &mut Vec<u8>) {
    let _ = write!(
        out,
        "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\
         \"exporter\":\"perftab {}\",\"name\":",
        env!("CARGO_PKG_VERSION")
    );
    json::string(out, &printable(name));
    out.extend_from_slice(b",\"activeProfileIndex\":0,\"profiles\":[");
}

fn begin_track(calls: &Calls, taken: &ExportedSamples, at: (usize, usize), out: &mut Vec<u8>) {
    let (event, track) = at;
    let rows = &taken.events[event];
    let event_of = calls.codes.profile.event(rows.query.event);
    let thread = calls.codes.profile.threads.thread(rows.tracks[track].thread);
    let mut name = calls.codes.names().labels.thread_text(thread);
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

fn write_frame(profile: &Profile, names: &Names<'_>, label: Label, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"name\":");
    json::string(out, &names.text(label));
    if let Some(dso) = names.labels.dso(label) {
        out.extend_from_slice(b",\"file\":");
        json::string(out, &printable(&profile.dsos.get(dso).path));
    }
    out.push(b'}');
}

/// Rows that are looked at in one piece.
const LONGEST_RUN: usize = 1 << 14;

/// The row after the last of those from `row` on that end in the same call.
fn end_of_run(calls: &Calls, track: &Track, row: usize) -> (CallNumber, usize) {
    let end = calls.end_of_row(track.rows[row]);
    let rows = track.rows[row..].iter().take(LONGEST_RUN);
    let same = rows.take_while(|&&row| calls.end_of_row(row) == end);
    (end, row + same.count())
}
