//! `-o -`: the recording as perf writes it into a pipe, for whoever reads it at once.
//!
//! What a file has around its records comes as records: events and features before all others, build-ids at the end
//! (`perf_event__synthesize_for_pipe` in `tools/perf/util/synthetic-events.c`). A record has at most 64 KiB. So the
//! kernel's symbols and the hashes of files without a build-id have no place here; names come from the machine that
//! reads it, which mostly is this one.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use anyhow::{Context, Result, anyhow};
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::format::feature::Feature;
use perftab_perfdata::format::record::RecordType;
use perftab_perfdata::format::write;

use super::recording_file::{EventHead, FileEnd, LeftOut};

/// How messages call it.
pub const NAME: &str = "standard output";

/// Standard output, while a recording is written there.
pub struct RecordingStream {
    to: File,
    /// Bytes so far.
    size: u64,
    /// Those of records, without what comes before.
    data_size: u64,
    state: State,
}

/// What a reader finds at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Whole,
    /// A record of which not all could be written: nothing may follow.
    Broken,
}

/// What comes before the records of a stream.
pub fn head(events: &[EventHead<'_>], features: &[(Feature, Vec<u8>)]) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    write::stream_header(&mut head);
    for event in events {
        write::header_attr(&mut head, event.attr, event.ids).ok_or_else(|| {
            anyhow!("so many counters do not fit into a stream; choose CPUs with -C, or record into a file")
        })?;
    }
    for (feature, payload) in features {
        match *feature {
            Feature::TRACING_DATA => write::header_tracing_data(&mut head, payload),
            // What is too long says nothing that a reader could not do without.
            feature => drop(write::header_feature(&mut head, feature, payload)),
        }
    }
    Ok(head)
}

impl RecordingStream {
    /// Writes what comes before the records.
    pub fn begin(head: &[u8]) -> Result<Self> {
        let to = io::stdout().as_fd().try_clone_to_owned().context(NAME)?;
        let mut stream = Self::to(File::from(to));
        stream.write(head).1.with_context(|| format!("{NAME} cannot be written"))?;
        Ok(stream)
    }

    /// One with nothing in it.
    pub(super) fn to(to: File) -> Self {
        Self { to, size: 0, data_size: 0, state: State::Whole }
    }

    /// Bytes of records written.
    pub fn data_size(&self) -> u64 {
        self.data_size
    }

    /// Appends whole records. If that fails, so many bytes of them were written, which nobody takes back.
    pub fn append(&mut self, records: &[u8]) -> (usize, io::Result<()>) {
        let (count, written) = self.write(records);
        self.data_size += count as u64;
        (count, written)
    }

    fn write(&mut self, bytes: &[u8]) -> (usize, io::Result<()>) {
        let (mut count, mut written) = (0, Ok(()));
        while count < bytes.len() && written.is_ok() {
            match self.to.write(&bytes[count..]) {
                Ok(0) => written = Err(io::ErrorKind::WriteZero.into()),
                Ok(more) => count += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => written = Err(error),
            }
        }
        if written.is_err() {
            self.state = State::Broken;
        }
        self.size += count as u64;
        (count, written)
    }

    /// Writes the build-ids. Whoever has gone away does not miss them.
    pub fn finish(mut self, end: FileEnd) -> Result<(u64, LeftOut)> {
        if self.state == State::Broken {
            return Ok((self.size, LeftOut::Something));
        }
        let table = end.features.into_iter().find(|(feature, _)| *feature == Feature::BUILD_ID);
        let mut entries = table.map(|(_, payload)| payload).unwrap_or_default();
        let kind = RecordType::HEADER_BUILD_ID.0.to_ne_bytes();
        let mut at = 0;
        while let Some((_, entry, _)) = RecordHeader::split(&entries[at..], ByteOrder::NATIVE) {
            let length = entry.len();
            entries[at..at + kind.len()].copy_from_slice(&kind);
            at += length;
        }
        let (_, written) = self.write(&entries);
        let left_out = if written.is_ok() { LeftOut::Nothing } else { LeftOut::Something };
        Ok((self.size, left_out))
    }
}
