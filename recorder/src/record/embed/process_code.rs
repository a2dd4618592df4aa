//! What processes that were sampled say of the code that they made: read when the recording ends, as another machine
//! has none of it, and this one not for long.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::time::SystemTime;

use perftab_core::session::RecordedJitdump;
use perftab_core::{is_jitdump, is_perf_map, lines_left_out};
use perftab_perfdata::format::perftab_section::{EmbeddedFile, PerfMap};

use crate::images::code_of_processes::{is_of, jitdump, perf_map};

/// Bytes of all of it together. Java's perf maps are tens of megabytes, and are packed to a fifth.
const MAX_SIZE: u64 = 64 << 20;
/// Processes that are looked at.
const PROCESSES_MAX: usize = 4096;

/// Perf maps and jitdumps.
#[derive(Default)]
pub struct ProcessCode {
    /// Of each process one at most.
    pub perf_maps: Vec<PerfMap>,
    /// As they are.
    pub jitdumps: Vec<EmbeddedFile>,
    /// How many jitdumps there was no room for.
    pub too_large: usize,
}

/// How much of it there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumOfCode {
    /// That say anything.
    pub processes: usize,
    /// Bytes before packing.
    pub size: u64,
    /// Jitdumps that there was no room for.
    pub too_large: usize,
    /// Lines of perf maps that say nothing of code.
    pub no_lines: u64,
}

impl ProcessCode {
    /// Those of these processes, which were recorded since then, and these jitdumps.
    pub fn read(
        pids: &BTreeSet<u32>,
        began: SystemTime,
        mapped: impl IntoIterator<Item = RecordedJitdump>,
    ) -> Self {
        let mut code = Self::default();
        let mut left = MAX_SIZE;
        let recorded = began..SystemTime::now();
        for &pid in pids.iter().take(PROCESSES_MAX) {
            let Some((_, file)) = perf_map(pid) else { continue };
            if file.metadata().is_ok_and(|metadata| is_of(pid, &metadata, &recorded))
                && let Some(text) = lines(file, left)
            {
                left -= text.len() as u64;
                code.perf_maps.push(PerfMap { pid, text });
            }
        }
        for mapped in mapped.into_iter().take(PROCESSES_MAX) {
            let Some(found) = jitdump(&mapped) else { continue };
            match whole(found.file, left) {
                // Whatever else has its name stays out of the recording.
                Some(bytes) if !is_jitdump(&bytes) => {}
                Some(bytes) => {
                    left -= bytes.len() as u64;
                    // By the recorded path a reader knows who mapped it.
                    code.jitdumps.push(EmbeddedFile { name: mapped.path, bytes: bytes.into() });
                }
                None => code.too_large += 1,
            }
        }
        code
    }

    /// To be told.
    pub fn sum(&self) -> SumOfCode {
        let maps = self.perf_maps.iter().map(|map| map.text.len());
        let dumps = self.jitdumps.iter().map(|file| file.bytes.len());
        SumOfCode {
            processes: self.perf_maps.len() + self.jitdumps.len(),
            size: maps.chain(dumps).sum::<usize>() as u64,
            too_large: self.too_large,
            no_lines: self.perf_maps.iter().map(|map| lines_left_out(&map.text)).sum(),
        }
    }
}

/// A file in whole lines; `None` if it is empty or too large.
fn lines(file: File, most: u64) -> Option<Vec<u8>> {
    let mut text = whole(file, most)?;
    let end = text.iter().rposition(|&byte| byte == b'\n')? + 1;
    text.truncate(end);
    is_perf_map(&text).then_some(text)
}

/// All of a file; `None` if that is more.
fn whole(file: File, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}
