//! The processed format of Firefox Profiler, version 62: its tables of calls are shared by all
//! threads (`src/types/profile.ts` and `docs-developer/CHANGELOG-formats.md` of the profiler, and
//! the files that samply writes). Newer profilers read older versions.
//!
//! Each thread is one of the profile for each event that it has samples of. Weights of time are
//! milliseconds; the format has no other unit that fits, so all others are called samples there.
//! Frames have no addresses: the format wants them relative to the image as it is in memory, and a
//! recording knows offsets in files. So nobody can look up a wrong name by them, and the profile
//! says that its names are final, which also keeps the profiler from asking a server for more.

mod tables;

use perftab_perfdata::map::Map;
use std::io::Write;

use perftab_perfdata::text::printable;
use perftab_profile::{Profile, Unit};
use tables::Tables;

use super::calls::Calls;
use super::exported_samples::{ExportedSamples, Track};
use super::{ExportRequest, Next, Pieces, json};

/// A profile that is being written.
pub(super) struct Firefox {
    name: String,
    /// Nanoseconds between samples of a thread.
    distance: u64,
    /// What times count from; `None` if samples have none.
    first: Option<u64>,
    at: At,
    tables: Tables,
    /// By table of calls and number: the innermost of the call's entries in the stack table, one
    /// more than its place; 0 for calls that no sample passes through.
    entries: Vec<Vec<u32>>,
    /// How often a thread's id was written: ids must differ.
    ids: Map<u32, u32>,
}

/// What comes next. Calls and rows are pieces by themselves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Head,
    /// Numbers the calls of a table, and gathers their frames.
    Number {
        table: usize,
        call: usize,
    },
    Stacks {
        column: StackColumn,
        table: usize,
        call: usize,
    },
    /// The other shared tables, column by column.
    Shared(usize),
    Thread {
        event: usize,
        track: usize,
    },
    Rows {
        column: Column,
        event: usize,
        track: usize,
        row: usize,
    },
    End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StackColumn {
    Frame,
    Prefix,
}

/// A column of a thread's samples.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Stack,
    Time,
    Weight,
}

impl Firefox {
    pub fn new(
        request: &ExportRequest,
        profile: &Profile,
        taken: &ExportedSamples,
        distance: u64,
    ) -> Self {
        Self {
            name: printable(&request.name).into_owned(),
            distance,
            first: profile.first_time(),
            at: At::Head,
            tables: Tables::default(),
            entries: taken.tables.iter().map(|table| vec![0; table.len()]).collect(),
            ids: Map::new(),
        }
    }

    fn head(&self, calls: &Calls<'_>, out: &mut Vec<u8>) {
        let profile = calls.profile;
        let _ = write!(
            out,
            "{{\"meta\":{{\"version\":24,\"preprocessedProfileVersion\":62,\"processType\":0,\
             \"debug\":false,\"stackwalk\":1,\"symbolicated\":true,\"markerSchema\":[],\
             \"usesOnlyOneStackType\":true,\"doesNotUseFrameImplementation\":true,\
             \"sourceCodeIsNotOnSearchfox\":true,\"pausedRanges\":[],\
             \"extensions\":{{\"baseURL\":[],\"id\":[],\"name\":[],\"length\":0}},\
             \"sampleUnits\":{{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}},\
             \"importedFrom\":\"perftab {}\",\"product\":",
            env!("CARGO_PKG_VERSION")
        );
        json::string(out, &self.name);
        out.extend_from_slice(b",\"interval\":");
        json::milliseconds(out, self.distance);
        let start = profile.clocks.wall.zip(self.first);
        let start = start.map_or(0, |(wall, first)| wall.wall_nanos(first));
        out.extend_from_slice(b",\"startTime\":");
        json::milliseconds(out, start);
        if let Some(release) = &profile.host.os_release {
            out.extend_from_slice(b",\"oscpu\":");
            json::string(out, &format!("Linux {}", printable(release)));
        }
        out.push(b',');
        json::list(out, "categories", tables::CATEGORIES, |out, (name, color)| {
            let _ = write!(
                out,
                "{{\"name\":\"{name}\",\"color\":\"{color}\",\"subcategories\":[\"Other\"]}}"
            );
        });
        out.extend_from_slice(b"},\"pages\":[],\"counters\":[],\"profilerOverhead\":[]");
    }

    /// Gives the levels of a call the next entries of the stack table.
    fn number(&mut self, calls: &Calls<'_>, table: usize, call: usize) {
        if let Some((_, code)) = calls.get(call as u32) {
            self.entries[table][call] = self.tables.add_call(calls, code);
        }
    }

    /// The entries of one call in a column of the stack table.
    fn stack_entries(
        &self,
        calls: &Calls<'_>,
        column: StackColumn,
        (table, call): (usize, usize),
        out: &mut Vec<u8>,
    ) {
        let Some((caller, code)) = calls.get(call as u32) else { return };
        let last = self.entries[table][call];
        let frames = self.tables.frames_of(code);
        let first = last - frames.len() as u32;
        for (place, frame) in (first..last).zip(frames) {
            out.extend_from_slice(if place == 0 { b"" } else { b"," });
            match column {
                StackColumn::Frame => drop(write!(out, "{frame}")),
                StackColumn::Prefix if place > first => drop(write!(out, "{}", place - 1)),
                StackColumn::Prefix => {
                    let caller = self.entries[table][caller as usize].checked_sub(1);
                    json::number_or_null(out, caller);
                }
            }
        }
    }

    fn begin_thread(
        &mut self,
        calls: &Calls<'_>,
        taken: &ExportedSamples,
        at: (usize, usize),
        out: &mut Vec<u8>,
    ) {
        let (event, track) = at;
        let thread = calls.profile.threads.thread(taken.events[event].tracks[track].thread);
        let process = calls.profile.threads.process(thread.process);
        let text = |name| printable(calls.profile.strings.get(name)).into_owned();
        let mut name = text(thread.name);
        if taken.events.len() > 1 {
            let event = calls.profile.event(taken.events[event].query.event);
            name = format!("{name} ({})", printable(event.map_or("", |event| &event.name)));
        }
        let written = self.ids.entry(thread.tid).or_default();
        let is_first = std::mem::replace(written, *written + 1) == 0;
        let is_main = is_first && thread.tid == process.pid;
        out.extend_from_slice(if taken.is_first(at) { b"" } else { b"," });
        out.extend_from_slice(b"{\"name\":");
        json::string(out, &name);
        out.extend_from_slice(b",\"processName\":");
        json::string(out, &text(process.name));
        let again =
            if is_first { String::new() } else { format!(".{}", self.ids[&thread.tid] - 1) };
        let _ = write!(
            out,
            ",\"pid\":\"{}\",\"tid\":\"{}{again}\",\"isMainThread\":{is_main},\
             \"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,\
             \"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\
             \"markers\":{{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],\
             \"category\":[],\"length\":0}},\"samples\":{{",
            process.pid, thread.tid
        );
    }

    fn end_thread(
        calls: &Calls<'_>,
        taken: &ExportedSamples,
        at: (usize, usize),
        out: &mut Vec<u8>,
    ) {
        let unit = match unit(calls, taken, at.0) {
            Unit::Ns => "tracing-ms",
            Unit::Cycles | Unit::Instructions | Unit::Events => "samples",
        };
        let rows = taken.events[at.0].tracks[at.1].rows.len();
        let _ = write!(out, ",\"weightType\":\"{unit}\",\"length\":{rows}}}}}");
    }

    /// What a row has in a column.
    fn value(
        &self,
        calls: &Calls<'_>,
        taken: &ExportedSamples,
        column: Column,
        (event, track, row): (usize, usize, usize),
        out: &mut Vec<u8>,
    ) {
        let track = &taken.events[event].tracks[track];
        let sample = track.rows[row];
        match column {
            Column::Stack => {
                let end = calls.end_of_row(sample) as usize;
                json::number_or_null(out, self.entries[taken.table(event)][end].checked_sub(1));
            }
            Column::Time => json::milliseconds(out, self.time(calls.profile, track, row)),
            Column::Weight => {
                let weight = calls.profile.samples.weight[sample as usize];
                match unit(calls, taken, event) {
                    Unit::Ns => json::milliseconds(out, weight),
                    Unit::Cycles | Unit::Instructions | Unit::Events => {
                        drop(write!(out, "{weight}"))
                    }
                }
            }
        }
    }

    /// Nanoseconds since the first sample. Where times were not recorded, samples stand one after
    /// the other.
    fn time(&self, profile: &Profile, track: &Track, row: usize) -> u64 {
        match self.first {
            None => self.distance.saturating_mul(row as u64),
            Some(first) => {
                profile.samples.time_nanos[track.rows[row] as usize].saturating_sub(first)
            }
        }
    }
}

fn unit(calls: &Calls<'_>, taken: &ExportedSamples, event: usize) -> Unit {
    let event = calls.profile.event(taken.events[event].query.event);
    event.map_or(Unit::Events, |event| event.unit())
}

impl StackColumn {
    fn begin(self, out: &mut Vec<u8>) {
        out.extend_from_slice(match self {
            Self::Frame => b",\"shared\":{\"stackTable\":{\"frame\":[",
            Self::Prefix => b"],\"prefix\":[",
        });
    }
}

impl Column {
    fn begin(self, out: &mut Vec<u8>) {
        out.extend_from_slice(match self {
            Self::Stack => b"\"stack\":[",
            Self::Time => b"],\"time\":[",
            Self::Weight => b"],\"weight\":[",
        });
    }

    fn next(self) -> Option<Self> {
        match self {
            Self::Stack => Some(Self::Time),
            Self::Time => Some(Self::Weight),
            Self::Weight => None,
        }
    }
}

impl Pieces for Firefox {
    fn event(&self) -> usize {
        match self.at {
            // Where events have calls of their own, there is a table for each.
            At::Number { table, .. } | At::Stacks { table, .. } => table,
            At::Thread { event, .. } | At::Rows { event, .. } => event,
            At::Head | At::Shared(_) | At::End => 0,
        }
    }

    fn next(&mut self, calls: &Calls<'_>, taken: &ExportedSamples, out: &mut Vec<u8>) -> Next {
        self.at = match self.at {
            At::Head => {
                self.head(calls, out);
                At::Number { table: 0, call: 0 }
            }
            At::Number { table, .. } if table == taken.tables.len() => {
                StackColumn::Frame.begin(out);
                At::Stacks { column: StackColumn::Frame, table: 0, call: 0 }
            }
            At::Number { table, call } if call == taken.tables[table].len() => {
                At::Number { table: table + 1, call: 0 }
            }
            At::Number { table, call } => {
                if taken.tables[table][call] {
                    self.number(calls, table, call);
                }
                At::Number { table, call: call + 1 }
            }
            At::Stacks { column, table, .. } if table == taken.tables.len() => match column {
                StackColumn::Frame => {
                    StackColumn::Prefix.begin(out);
                    At::Stacks { column: StackColumn::Prefix, table: 0, call: 0 }
                }
                StackColumn::Prefix => {
                    let _ = write!(out, "],\"length\":{}}}", self.tables.stack_length());
                    At::Shared(0)
                }
            },
            At::Stacks { column, table, call } if call == taken.tables[table].len() => {
                At::Stacks { column, table: table + 1, call: 0 }
            }
            At::Stacks { column, table, call } => {
                if self.entries[table][call] != 0 {
                    self.stack_entries(calls, column, (table, call), out);
                }
                At::Stacks { column, table, call: call + 1 }
            }
            At::Shared(column) => {
                match self.tables.write(column, calls.profile, calls.symbols, out) {
                    Next::Piece => At::Shared(column + 1),
                    Next::End => {
                        out.extend_from_slice(b",\"threads\":[");
                        At::Thread { event: 0, track: 0 }
                    }
                }
            }
            At::Thread { event, .. } if event == taken.events.len() => {
                out.extend_from_slice(b"]}\n");
                At::End
            }
            At::Thread { event, track } if track == taken.events[event].tracks.len() => {
                At::Thread { event: event + 1, track: 0 }
            }
            At::Thread { event, track } => {
                self.begin_thread(calls, taken, (event, track), out);
                Column::Stack.begin(out);
                At::Rows { column: Column::Stack, event, track, row: 0 }
            }
            At::Rows { column, event, track, row }
                if row == taken.events[event].tracks[track].rows.len() =>
            {
                match column.next() {
                    Some(column) => {
                        column.begin(out);
                        At::Rows { column, event, track, row: 0 }
                    }
                    None => {
                        out.push(b']');
                        Self::end_thread(calls, taken, (event, track), out);
                        At::Thread { event, track: track + 1 }
                    }
                }
            }
            At::Rows { column, event, track, row } => {
                out.extend_from_slice(if row == 0 { b"" } else { b"," });
                self.value(calls, taken, column, (event, track, row), out);
                At::Rows { column, event, track, row: row + 1 }
            }
            At::End => return Next::End,
        };
        Next::Piece
    }
}
