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
use perftab_views::time_order::usual_distance;
use tables::Tables;

use crate::exported_samples::{ExportedSamples, Track};
use crate::out::Out;
use crate::source::Source;
use crate::{ExportRequest, json};

/// Writes it: calls, rows and tables are pieces by themselves.
pub(crate) async fn write(request: &ExportRequest, source: &Source, out: &mut Out) {
    let taken = ExportedSamples::of(source, request.queries(&source.profile), out.rows()).await;
    out.pieces().expect(3 * taken.samples() + 2 * taken.calls());
    let mut firefox = Firefox::new(request, source, &taken);
    firefox.head(&source.profile, &mut out.bytes);
    firefox.stack_table(source, &taken, out).await;
    let Firefox { tables, .. } = &mut firefox;
    tables.write_frames(&mut out.bytes);
    out.rest().await;
    tables.write_functions(&mut out.bytes);
    out.rest().await;
    tables.write_images(&source.profile, &mut out.bytes);
    tables.write_sources(&source.symbols, &mut out.bytes);
    out.rest().await;
    tables.write_texts(&mut out.bytes);
    out.rest().await;
    tables.write_libs(&source.profile, &mut out.bytes);
    firefox.threads(source, &taken, out).await;
}

/// A profile that is being written.
struct Firefox {
    name: String,
    /// Nanoseconds between samples of a thread.
    distance: u64,
    /// What times count from; `None` if samples have none.
    first: Option<u64>,
    tables: Tables,
    /// By table of calls and number: the innermost of the call's entries in the stack table, one
    /// more than its place; 0 for calls that no sample passes through.
    entries: Vec<Vec<u32>>,
    /// How often a thread's id was written: ids must differ.
    ids: Map<u32, u32>,
}

impl Firefox {
    fn new(request: &ExportRequest, source: &Source, taken: &ExportedSamples) -> Self {
        Self {
            name: printable(&request.name).into_owned(),
            distance: usual_distance(&source.profile, request.query.event),
            first: source.profile.first_time(),
            tables: Tables::default(),
            entries: taken.tables.iter().map(|table| vec![0; table.len()]).collect(),
            ids: Map::new(),
        }
    }

    fn head(&self, profile: &Profile, out: &mut Vec<u8>) {
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

    /// Two columns with an entry for each level of each call. The first gives the entries their numbers, and gathers
    /// their frames.
    async fn stack_table(&mut self, source: &Source, taken: &ExportedSamples, out: &mut Out) {
        let Self { tables, entries, .. } = self;
        out.bytes.extend_from_slice(b",\"shared\":{\"stackTable\":{\"frame\":[");
        for (table, used) in taken.tables.iter().enumerate() {
            let calls = source.calls(taken.query_of(table), out.rows()).await;
            for (call, _) in used.iter().enumerate().filter(|(_, used)| **used) {
                let Some((_, code)) = calls.get(call as u32) else { continue };
                let first = tables.stack_length();
                entries[table][call] = tables.add_call(&calls.codes, code);
                for (place, frame) in (first..).zip(tables.frames_of(code)) {
                    json::separate(&mut out.bytes, place as usize);
                    let _ = write!(out.bytes, "{frame}");
                }
                out.rest().await;
            }
        }
        out.bytes.extend_from_slice(b"],\"prefix\":[");
        for (table, entries) in entries.iter().enumerate() {
            let calls = source.calls(taken.query_of(table), out.rows()).await;
            for (call, &last) in entries.iter().enumerate().filter(|(_, last)| **last != 0) {
                let Some((caller, code)) = calls.get(call as u32) else { continue };
                let first = last - tables.frames_of(code).len() as u32;
                let caller = entries[caller as usize].checked_sub(1);
                for place in first..last {
                    json::separate(&mut out.bytes, place as usize);
                    let before = if place > first { Some(place - 1) } else { caller };
                    json::number_or_null(&mut out.bytes, before);
                }
                out.rest().await;
            }
        }
        let _ = write!(out.bytes, "],\"length\":{}}}", tables.stack_length());
    }

    async fn threads(&mut self, source: &Source, taken: &ExportedSamples, out: &mut Out) {
        let (profile, samples) = (&source.profile, &source.profile.samples);
        out.bytes.extend_from_slice(b",\"threads\":[");
        for (event, rows) in taken.events.iter().enumerate() {
            let calls = source.calls(&rows.query, out.rows()).await;
            for (place, track) in rows.tracks.iter().enumerate() {
                let entries = &self.entries[taken.table(event)];
                begin_thread(profile, taken, (event, place), &mut self.ids, &mut out.bytes);
                out.bytes.extend_from_slice(b"\"stack\":[");
                for (row, &sample) in track.rows.iter().enumerate() {
                    json::separate(&mut out.bytes, row);
                    let entry = entries[calls.end_of_row(sample) as usize];
                    json::number_or_null(&mut out.bytes, entry.checked_sub(1));
                    out.rest().await;
                }
                out.bytes.extend_from_slice(b"],\"time\":[");
                for row in 0..track.rows.len() {
                    json::separate(&mut out.bytes, row);
                    json::milliseconds(&mut out.bytes, self.time(profile, track, row));
                    out.rest().await;
                }
                out.bytes.extend_from_slice(b"],\"weight\":[");
                let unit = profile.event(rows.query.event).map(|event| event.unit());
                for (row, &sample) in track.rows.iter().enumerate() {
                    json::separate(&mut out.bytes, row);
                    let weight = samples.weight.at(sample as usize);
                    match unit {
                        Some(Unit::Ns) => json::milliseconds(&mut out.bytes, weight),
                        _ => drop(write!(out.bytes, "{weight}")),
                    }
                    out.rest().await;
                }
                let unit = if unit == Some(Unit::Ns) { "tracing-ms" } else { "samples" };
                let count = track.rows.len();
                let _ = write!(out.bytes, "],\"weightType\":\"{unit}\",\"length\":{count}}}}}");
            }
        }
        out.bytes.extend_from_slice(b"]}\n");
    }

    /// Nanoseconds since the first sample. Where times were not recorded, samples stand one after
    /// the other.
    fn time(&self, profile: &Profile, track: &Track, row: usize) -> u64 {
        match self.first {
            None => self.distance.saturating_mul(row as u64),
            Some(first) => {
                profile.samples.time_nanos.at(track.rows[row] as usize).saturating_sub(first)
            }
        }
    }
}

fn begin_thread(
    profile: &Profile,
    taken: &ExportedSamples,
    at: (usize, usize),
    ids: &mut Map<u32, u32>,
    out: &mut Vec<u8>,
) {
    let (event, track) = at;
    let thread = profile.threads.thread(taken.events[event].tracks[track].thread);
    let process = profile.threads.process(thread.process);
    let text = |name| printable(profile.strings.get(name)).into_owned();
    let mut name = text(thread.name);
    if taken.events.len() > 1 {
        let event = profile.event(taken.events[event].query.event);
        name = format!("{name} ({})", printable(event.map_or("", |event| &event.name)));
    }
    let written = ids.entry(thread.tid).or_default();
    let is_first = std::mem::replace(written, *written + 1) == 0;
    let is_main = is_first && thread.tid == process.pid;
    out.extend_from_slice(if taken.is_first(at) { b"" } else { b"," });
    out.extend_from_slice(b"{\"name\":");
    json::string(out, &name);
    out.extend_from_slice(b",\"processName\":");
    json::string(out, &text(process.name));
    let again = if is_first { String::new() } else { format!(".{}", ids[&thread.tid] - 1) };
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
