//! The format of pprof (`proto/profile.proto` of github.com/google/pprof), before gzip.
//!
//! A sample of the format is all samples of a thread that ended in one stack. It has two values for
//! each event: how many samples, and their weight. Fields of the outermost message may come in any
//! order, so samples are written first, and what they refer to when all of it is known.

mod fields;
mod tables;

use perftab_perfdata::map::Map;

use fields::{label, profile, sample, value_type};
use perftab_perfdata::text::printable;
use perftab_profile::{Profile, Unit};
use perftab_views::weights::Sum;
use tables::Tables;

use crate::ExportRequest;
use crate::calls::{CallNumber, Calls};
use crate::exported_samples::{ExportedSamples, Track};
use crate::out::Out;
use crate::protobuf::Message;
use crate::source::Source;

/// Writes it: rows, samples, locations, functions and texts are pieces by themselves.
pub(crate) async fn write(request: &ExportRequest, source: &Source, out: &mut Out) {
    let taken = ExportedSamples::of(source, request.queries(&source.profile), out.rows()).await;
    out.pieces().expect(taken.samples() + 3 * taken.calls());
    let mut tables = Tables::default();
    head(&mut tables, &request.name, &source.profile, &taken, &mut out.bytes);
    out.rest().await;
    for (event, rows) in taken.events.iter().enumerate() {
        let calls = source.calls(&rows.query, out.rows()).await;
        for track in &rows.tracks {
            let mut ended = Ended::default();
            let mut all = 0..track.rows.len();
            while let Some(part) = out.pieces().part(&mut all).await {
                track.rows[part].iter().for_each(|&row| ended.add(&calls, row));
            }
            let values = Values { event, events: taken.events.len() };
            for sample in ended.samples {
                write_sample(&mut tables, &calls, track, &values, sample, &mut out.bytes);
                out.rest().await;
            }
        }
    }
    let codes = source.codes(&request.query);
    for place in 0..tables.locations() {
        tables.write_location(&codes, place, &mut out.bytes);
        out.rest().await;
    }
    for place in 0..tables.functions() {
        tables.write_function(&codes, place, &mut out.bytes);
        out.rest().await;
    }
    tables.write_mappings(&codes, &mut out.bytes);
    out.rest().await;
    for number in 0..tables.texts() {
        tables.write_text(number, &mut out.bytes);
        out.rest().await;
    }
}

/// Of the samples of a thread: what ended in each call.
#[derive(Default)]
struct Ended {
    samples: Vec<(CallNumber, Sum)>,
    in_call: Map<CallNumber, usize>,
}

/// A sample has values for all events.
struct Values {
    event: usize,
    events: usize,
}

impl Ended {
    fn add(&mut self, calls: &Calls, row: u32) {
        let samples = &calls.codes.profile.samples;
        let end = calls.end_of_row(row);
        let row = row as usize;
        let place = *self.in_call.entry(end).or_insert_with(|| {
            self.samples.push((end, Sum::default()));
            self.samples.len() - 1
        });
        let sum = Sum { weight: samples.weight.at(row), samples: samples.count(row) };
        self.samples[place].1.add(sum);
    }
}

/// Events and times.
fn head(tables: &mut Tables, name: &str, of: &Profile, taken: &ExportedSamples, out: &mut Vec<u8>) {
    let mut head = Message::default();
    for (place, rows) in taken.events.iter().enumerate() {
        let Some(event) = of.event(rows.query.event) else { continue };
        let name = printable(&event.name);
        let samples = format!("{name} samples");
        for (name, unit) in [(samples.as_str(), "count"), (&name, unit(event.unit()))] {
            let mut value_type = Message::default();
            value_type.number(value_type::TYPE, tables.text(name));
            value_type.number(value_type::UNIT, tables.text(unit));
            head.message(profile::SAMPLE_TYPE, &value_type);
        }
        if place == 0 {
            head.number(profile::DEFAULT_SAMPLE_TYPE, tables.text(&name));
        }
    }
    let times = || taken.tracks().flat_map(|(_, track)| ends_of(of, track));
    if let (Some(first), Some(last)) = (times().min(), times().max()) {
        head.number(profile::DURATION_NANOS, last - first);
        let wall = of.clocks.wall.map(|wall| wall.wall_nanos(first));
        head.number(profile::TIME_NANOS, wall.unwrap_or_default());
    }
    let comment = format!("{}, written by perftab {}", printable(name), env!("CARGO_PKG_VERSION"));
    head.packed(profile::COMMENT, [tables.text(&comment)]);
    head.write_fields(out);
}

fn write_sample(
    tables: &mut Tables,
    calls: &Calls,
    track: &Track,
    values: &Values,
    (end, sum): (CallNumber, Sum),
    out: &mut Vec<u8>,
) {
    let mut message = Message::default();
    let mut locations = Vec::new();
    let mut call = end;
    while let Some((caller, code)) = calls.get(call) {
        locations.push(tables.location(&calls.codes, code));
        call = caller;
    }
    message.packed(sample::LOCATION_ID, locations);
    let values = (0..values.events).flat_map(|place| match place == values.event {
        true => [sum.samples, sum.weight],
        false => [0, 0],
    });
    // They are signed in the format.
    message.packed(sample::VALUE, values.map(|value| value.min(i64::MAX as u64)));
    let of = &calls.codes.profile;
    let thread = of.threads.thread(track.thread);
    let process = of.threads.process(thread.process);
    let text = |name| printable(of.strings.get(name));
    for (key, value) in [("process", text(process.name)), ("thread", text(thread.name))] {
        let value = (label::STR, tables.text(&value));
        add_label(tables, &mut message, key, value);
    }
    for (key, value) in [("pid", process.pid), ("tid", thread.tid)] {
        add_label(tables, &mut message, key, (label::NUM, value.into()));
    }
    message.write(profile::SAMPLE, out);
}

fn add_label(tables: &mut Tables, sample: &mut Message, key: &str, (field, value): (u32, u64)) {
    let mut label = Message::default();
    label.number(label::KEY, tables.text(key));
    label.number(field, value);
    sample.message(sample::LABEL, &label);
}

/// When a thread's first and last sample were taken, of those that have a time.
fn ends_of(profile: &Profile, track: &Track) -> impl Iterator<Item = u64> {
    let time = |&row: &u32| profile.samples.time_nanos.at(row as usize);
    let first = track.rows.iter().map(time).find(|&time| time != 0);
    first.into_iter().chain(track.rows.last().map(time).filter(|&time| time != 0))
}

/// As pprof knows it: it converts times, and shows others as they are.
fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "nanoseconds",
        Unit::Cycles => "cycles",
        Unit::Instructions => "instructions",
        Unit::Events => "count",
    }
}
