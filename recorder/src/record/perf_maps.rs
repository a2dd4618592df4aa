//! What processes that were sampled say of the code that they made: read when the recording ends, as another machine
//! has none of it, and this one not for long.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::time::SystemTime;

use perftab_core::is_perf_map;
use perftab_perfdata::format::perftab_section::PerfMap;

use crate::images::code_of_processes::{is_of, perf_map};

/// Bytes of all perf maps together. Java's are tens of megabytes, and are packed to a fifth.
const MAX_SIZE: u64 = 64 << 20;
/// Processes that are looked at.
const PROCESSES_MAX: usize = 4096;

/// Those of these processes, which were recorded since then.
pub fn of_processes(pids: &BTreeSet<u32>, began: SystemTime) -> Vec<PerfMap> {
    let mut left = MAX_SIZE;
    let recorded = began..SystemTime::now();
    let maps = pids.iter().take(PROCESSES_MAX).filter_map(|&pid| {
        let (_, file) = perf_map(pid)?;
        if !is_of(pid, &file.metadata().ok()?, &recorded) {
            return None;
        }
        let text = lines(file, left)?;
        left -= text.len() as u64;
        Some(PerfMap { pid, text })
    });
    maps.collect()
}

/// A file in whole lines; `None` if it is empty or too large.
fn lines(file: File, most: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    file.take(most + 1).read_to_end(&mut text).ok()?;
    let end = text.iter().rposition(|&byte| byte == b'\n')? + 1;
    text.truncate(end);
    // Whatever else has its name stays out of the recording.
    (text.len() as u64 <= most && is_perf_map(&text)).then_some(text)
}
