//! COMM, FORK and EXIT, THREAD_MAP: threads, and what they are called.

use std::borrow::Cow;

use super::{RecordHeader, body};
use crate::decode::cursor::until_nul;
use crate::decode::{ByteOrder, Cursor};
use crate::error::DecodeError;
use crate::format::record::misc;

/// A thread was named.
#[derive(Clone, Debug, PartialEq)]
pub struct CommRecord<'a> {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Its name.
    pub name: Cow<'a, str>,
    /// Why.
    pub cause: CommCause,
}

/// Why a thread has a new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommCause {
    /// It called exec: its mappings are gone.
    Exec,
    /// It was renamed.
    Rename,
}

impl<'a> CommRecord<'a> {
    /// `struct { u32 pid, tid; char comm[]; }`
    pub fn decode(
        header: RecordHeader,
        bytes: &'a [u8],
        offset: u64,
        order: ByteOrder,
    ) -> Result<Self, DecodeError> {
        let mut cursor = body(bytes, offset, order, "a COMM record")?;
        Ok(Self {
            pid: cursor.u32()?,
            tid: cursor.u32()?,
            name: String::from_utf8_lossy(cursor.c_string()),
            cause: match header.misc & misc::COMM_EXEC {
                0 => CommCause::Rename,
                _ => CommCause::Exec,
            },
        })
    }
}

/// A thread began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    /// Its process.
    pub pid: u32,
    /// The process of the thread that began it.
    pub parent_pid: u32,
    /// The thread.
    pub tid: u32,
    /// The thread that began it.
    pub parent_tid: u32,
    /// Whether a new process has its parent's mappings.
    pub mappings: ForkMappings,
}

/// What a new process begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkMappings {
    /// A copy of its parent's mappings.
    Copied,
    /// Nothing: the record was synthesised for a process that was there already, and its own
    /// mappings follow (`PERF_RECORD_MISC_FORK_EXEC` in perf).
    Own,
}

impl TaskRecord {
    /// `struct { u32 pid, ppid, tid, ptid; u64 time; }`
    pub fn decode(
        header: RecordHeader,
        bytes: &[u8],
        offset: u64,
        order: ByteOrder,
    ) -> Result<Self, DecodeError> {
        let mut cursor = body(bytes, offset, order, "a FORK record")?;
        Ok(Self {
            pid: cursor.u32()?,
            parent_pid: cursor.u32()?,
            tid: cursor.u32()?,
            parent_tid: cursor.u32()?,
            mappings: match header.misc & misc::FORK_EXEC {
                0 => ForkMappings::Copied,
                _ => ForkMappings::Own,
            },
        })
    }
}

/// The threads that a recorder was told to measure, with their names (THREAD_MAP).
///
/// ```c
/// struct { u64 nr; struct { u64 pid; char comm[16]; } entries[]; };
/// // struct perf_record_thread_map in tools/lib/perf/include/perf/event.h
/// ```
#[derive(Clone, Debug)]
pub struct ThreadNames<'a> {
    left: u64,
    entries: Cursor<'a>,
}

impl<'a> ThreadNames<'a> {
    /// Decodes THREAD_MAP.
    pub fn decode(bytes: &'a [u8], offset: u64, order: ByteOrder) -> Result<Self, DecodeError> {
        let mut entries = body(bytes, offset, order, "a THREAD_MAP record")?;
        Ok(Self { left: entries.u64()?, entries })
    }
}

impl<'a> Iterator for ThreadNames<'a> {
    /// A thread's id and its name; what was not named has an empty one.
    type Item = (u32, Cow<'a, str>);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        // -1 stands for all threads.
        let tid = self.entries.u64().ok()? as u32;
        let name = self.entries.take(16).ok()?;
        Some((tid, String::from_utf8_lossy(until_nul(name))))
    }
}
