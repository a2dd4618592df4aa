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

use super::calls::{CallNumber, Calls};
use super::exported_samples::{ExportedSamples, Track};
use super::protobuf::Message;
use super::{ExportRequest, Next, Pieces};

/// A profile that is being written.
pub(super) struct Pprof {
    name: String,
    at: At,
    tables: Tables,
    /// Of the thread that is gone through: what ended in each call.
    ended: Vec<(CallNumber, Sum)>,
    ended_in: Map<CallNumber, usize>,
}

/// What comes next. Rows, samples, locations, functions and texts are pieces by themselves.
#[derive(Clone, Copy)]
enum At {
    Head,
    /// Adds up the samples of a thread.
    Row {
        event: usize,
        track: usize,
        row: usize,
    },
    /// Writes what was added up.
    Sample {
        event: usize,
        track: usize,
        sample: usize,
    },
    Location(usize),
    Function(usize),
    Mappings,
    Text(usize),
    End,
}

impl Pprof {
    pub fn new(request: &ExportRequest) -> Self {
        Self {
            name: printable(&request.name).into_owned(),
            at: At::Head,
            tables: Tables::default(),
            ended: Vec::new(),
            ended_in: Map::new(),
        }
    }

    /// Events and times.
    fn head(&mut self, of: &Profile, taken: &ExportedSamples, out: &mut Vec<u8>) {
        let mut head = Message::default();
        for (place, rows) in taken.events.iter().enumerate() {
            let Some(event) = of.event(rows.query.event) else { continue };
            let name = printable(&event.name);
            let samples = format!("{name} samples");
            for (name, unit) in [(samples.as_str(), "count"), (&name, unit(event.unit()))] {
                let mut value_type = Message::default();
                value_type.number(value_type::TYPE, self.tables.text(name));
                value_type.number(value_type::UNIT, self.tables.text(unit));
                head.message(profile::SAMPLE_TYPE, &value_type);
            }
            if place == 0 {
                head.number(profile::DEFAULT_SAMPLE_TYPE, self.tables.text(&name));
            }
        }
        let times = || taken.tracks().flat_map(|(_, track)| ends_of(of, track));
        if let (Some(first), Some(last)) = (times().min(), times().max()) {
            head.number(profile::DURATION_NANOS, last - first);
            let wall = of.clocks.wall.map(|wall| wall.wall_nanos(first));
            head.number(profile::TIME_NANOS, wall.unwrap_or_default());
        }
        let comment = format!("{}, written by perftab {}", self.name, env!("CARGO_PKG_VERSION"));
        head.packed(profile::COMMENT, [self.tables.text(&comment)]);
        head.write_fields(out);
    }

    fn add(&mut self, calls: &Calls<'_>, row: u32) {
        let samples = &calls.profile.samples;
        let end = calls.end_of_row(row);
        let row = row as usize;
        let place = *self.ended_in.entry(end).or_insert_with(|| {
            self.ended.push((end, Sum::default()));
            self.ended.len() - 1
        });
        let sum = Sum { weight: samples.weight[row], samples: samples.count(row) };
        self.ended[place].1.add(sum);
    }

    fn write_sample(
        &mut self,
        calls: &Calls<'_>,
        taken: &ExportedSamples,
        (event, track): (usize, usize),
        (end, sum): (CallNumber, Sum),
        out: &mut Vec<u8>,
    ) {
        let mut message = Message::default();
        let mut locations = Vec::new();
        let mut call = end;
        while let Some((caller, code)) = calls.get(call) {
            locations.push(self.tables.location(calls, code));
            call = caller;
        }
        message.packed(sample::LOCATION_ID, locations);
        let values = (0..taken.events.len()).flat_map(|place| match place == event {
            true => [sum.samples, sum.weight],
            false => [0, 0],
        });
        // They are signed in the format.
        message.packed(sample::VALUE, values.map(|value| value.min(i64::MAX as u64)));
        let thread = calls.profile.threads.thread(taken.events[event].tracks[track].thread);
        let process = calls.profile.threads.process(thread.process);
        let text = |name| printable(calls.profile.strings.get(name));
        for (key, value) in [("process", text(process.name)), ("thread", text(thread.name))] {
            let value = (label::STR, self.tables.text(&value));
            self.add_label(&mut message, key, value);
        }
        for (key, value) in [("pid", process.pid), ("tid", thread.tid)] {
            self.add_label(&mut message, key, (label::NUM, value.into()));
        }
        message.write(profile::SAMPLE, out);
    }

    fn add_label(&mut self, sample: &mut Message, key: &str, (field, value): (u32, u64)) {
        let mut label = Message::default();
        label.number(label::KEY, self.tables.text(key));
        label.number(field, value);
        sample.message(sample::LABEL, &label);
    }
}

/// When a thread's first and last sample were taken, of those that have a time.
fn ends_of(profile: &Profile, track: &Track) -> impl Iterator<Item = u64> {
    let time = |&row: &u32| profile.samples.time_nanos[row as usize];
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

impl Pieces for Pprof {
    fn event(&self) -> usize {
        match self.at {
            At::Row { event, .. } | At::Sample { event, .. } => event,
            At::Head | At::Location(_) | At::Function(_) | At::Mappings | At::Text(_) | At::End => {
                0
            }
        }
    }

    fn next(&mut self, calls: &Calls<'_>, taken: &ExportedSamples, out: &mut Vec<u8>) -> Next {
        self.at = match self.at {
            At::Head => {
                self.head(calls.profile, taken, out);
                At::Row { event: 0, track: 0, row: 0 }
            }
            At::Row { event, .. } if event == taken.events.len() => At::Location(0),
            At::Row { event, track, .. } if track == taken.events[event].tracks.len() => {
                At::Row { event: event + 1, track: 0, row: 0 }
            }
            At::Row { event, track, row } => {
                match taken.events[event].tracks[track].rows.get(row) {
                    Some(&sample) => {
                        self.add(calls, sample);
                        At::Row { event, track, row: row + 1 }
                    }
                    None => At::Sample { event, track, sample: 0 },
                }
            }
            At::Sample { event, track, sample } => match self.ended.get(sample).copied() {
                Some(ended) => {
                    self.write_sample(calls, taken, (event, track), ended, out);
                    At::Sample { event, track, sample: sample + 1 }
                }
                None => {
                    self.ended.clear();
                    self.ended_in.clear();
                    At::Row { event, track: track + 1, row: 0 }
                }
            },
            At::Location(location) => match self.tables.write_location(calls, location, out) {
                Next::Piece => At::Location(location + 1),
                Next::End => At::Function(0),
            },
            At::Function(function) => match self.tables.write_function(calls, function, out) {
                Next::Piece => At::Function(function + 1),
                Next::End => At::Mappings,
            },
            At::Mappings => {
                self.tables.write_mappings(calls, out);
                At::Text(0)
            }
            At::Text(text) => match self.tables.write_text(text, out) {
                Next::Piece => At::Text(text + 1),
                Next::End => At::End,
            },
            At::End => return Next::End,
        };
        Next::Piece
    }
}
