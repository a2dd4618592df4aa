//! What the machine of a recording is told of processes that made code, to find what they say of it.
//!
//! As with [`RecordedFiles`](super::RecordedFiles), the page has read the recording, and `perftab view` can look:
//! [`CodeWanted`] crosses as JSON, and tables come back as bytes.

use perftab_dsos::pid_of_jitdump;
use perftab_images::CodeTable;
use perftab_profile::{Dso, MappedFrom, ProcessId};
use serde::{Deserialize, Serialize};

use super::Session;

/// The processes of a recording that made code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeWanted {
    /// The machine's name.
    pub hostname: Option<String>,
    /// When the first and the last sample were taken, in nanoseconds since 1970.
    pub taken_nanos: Option<(u64, u64)>,
    /// How long that took, in nanoseconds.
    pub length_nanos: u64,
    /// Those with samples in memory without a file, each once.
    pub pids: Vec<u32>,
    /// What they mapped so that it is in the recording.
    pub jitdumps: Vec<RecordedJitdump>,
}

/// A jitdump that a process mapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedJitdump {
    /// The process.
    pub pid: u32,
    /// Path as recorded.
    pub path: String,
    /// Its inode number.
    pub inode: u64,
}

impl CodeWanted {
    /// As it crosses.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

impl Session {
    /// What this machine is told, of processes that it was not told of before: stacks that are unwound lead to code of
    /// more. `None` if none made code.
    pub fn code_wanted(&mut self) -> Option<CodeWanted> {
        let profile = &self.profile;
        let pid = |process: ProcessId| profile.threads.process(process).pid;
        let mut pids: Vec<u32> =
            profile.run_times().iter().map(|run_time| pid(run_time.process)).collect();
        perftab_perfdata::sorting::sort(&mut pids);
        pids.dedup();
        let asked = &mut self.code_asked;
        pids.retain(|&pid| asked.insert(pid));
        let jitdump = |dso: &Dso| {
            pid_of_jitdump(&dso.path)?;
            let MappedFrom::Inode { inode, .. } = dso.mapped_from else { return None };
            let pid = pid(dso.process?);
            let path = dso.path.clone();
            pids.contains(&pid).then_some(RecordedJitdump { pid, path, inode })
        };
        let jitdumps = profile.dsos.iter().filter_map(|(_, dso)| jitdump(dso)).collect();
        // Not those in the header: perf 6.1 says zero there if it keeps no build-ids at the end.
        let taken = self.facts.time;
        let wall = profile.clocks.wall;
        let taken_nanos = wall
            .zip(taken)
            .map(|(wall, (first, last))| (wall.wall_nanos(first), wall.wall_nanos(last)));
        let length_nanos = taken.map_or(0, |(first, last)| last - first);
        let hostname = profile.host.hostname.clone();
        let wanted = CodeWanted { hostname, taken_nanos, length_nanos, pids, jitdumps };
        (!wanted.pids.is_empty()).then_some(wanted)
    }
}

/// Tables as they come back: of each its length in eight bytes, little-endian, and its bytes.
pub fn code_to_bytes(tables: &[CodeTable]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for table in tables {
        let table = table.to_bytes();
        bytes.extend_from_slice(&(table.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&table);
    }
    bytes
}

/// The other way round; what is behind the first that is none is left out.
pub fn code_from_bytes(mut bytes: &[u8]) -> Vec<CodeTable> {
    let mut tables = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk()
        && let Ok(length) = usize::try_from(u64::from_le_bytes(*length))
        && let Some((table, rest)) = rest.split_at_checked(length)
        && let Some(table) = CodeTable::from_bytes(table)
    {
        tables.push(table);
        bytes = rest;
    }
    tables
}
