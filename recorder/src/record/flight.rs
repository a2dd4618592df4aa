//! `--overwrite`: a flight recorder. Samples stay in rings that the kernel writes over again and again, and are written
//! into a file when somebody asks, when a trigger says so, and at the end.
//!
//! What is mapped and which threads there are comes through rings of its own, as ever, and is kept here: from a
//! description of what ran, all that came since. That grows, so after some megabytes there is a new description, and
//! what came before the last two is forgotten, with the samples that are as old. So memory is bounded, and no sample is
//! in a file without what was mapped then.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::format::record::{RECORD_HEADER_SIZE, RecordType};
use perftab_perfdata::format::write;
use perftab_perfdata::format::write::SampleIdTrailer;

use super::clock::Clock;
use super::describe::DESCRIBE_ROUND;
use super::identify::BUDGET;
use super::options::Plan;
use super::part::{Destination, Memory, Part, pieces};
use super::sample_layouts::SampleLayouts;
use super::session::{Session, WRITE_SIZE};
use super::trigger::{Condition, Trigger};
use super::unwound::Lending;
use crate::output::notice;

/// Bytes of records of mappings and threads after which what runs is described anew.
const GENERATION_MAX: u64 = 32 << 20;
/// Triggers are looked at so often.
const LOOK: Duration = Duration::from_secs(1);

/// What a flight recorder has besides its rings.
pub struct Flight {
    /// What was kept before the part that is kept at present.
    older: Option<Memory>,
    /// When both began.
    older_begun: u64,
    begun: u64,
    conditions: Vec<(Condition, State)>,
    at_end: AtEnd,
    /// A condition that holds from the beginning has a file, too, but not one without a sample.
    looked: Instant,
}

/// Whether a condition has had its file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    WasNot,
    WasSo,
}

/// Whether a file is written at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// In any case.
    Written,
    /// Only if the command failed.
    IfFailed,
}

impl Flight {
    /// From the beginning of a recording.
    pub fn new(triggers: &[Trigger]) -> Self {
        let conditions = triggers.iter().filter_map(|trigger| match trigger {
            Trigger::Machine(condition) => Some((condition.clone(), State::WasNot)),
            Trigger::Failure => None,
        });
        Self {
            older: None,
            older_begun: 0,
            begun: 0,
            conditions: conditions.collect(),
            at_end: match triggers.contains(&Trigger::Failure) {
                true => AtEnd::IfFailed,
                false => AtEnd::Written,
            },
            looked: Instant::now(),
        }
    }

    /// The name of a condition that has become so.
    pub fn triggered(&mut self) -> Option<String> {
        if self.looked.elapsed() < LOOK {
            return None;
        }
        self.looked = Instant::now();
        let mut name = None;
        for (condition, state) in &mut self.conditions {
            let is_so = condition.holds(Path::new("/")).unwrap_or(false);
            if is_so && *state == State::WasNot {
                name = Some(condition.name().to_owned());
            }
            *state = if is_so { State::WasSo } else { State::WasNot };
        }
        name
    }

    /// Whether a file is written when the command has ended with this exit code, if it has.
    pub fn writes_at_end(&self, exit_code: Option<u8>) -> bool {
        self.at_end == AtEnd::Written || exit_code.is_some_and(|code| code != 0)
    }
}

impl Session {
    /// Describes what runs anew, once much has been kept.
    pub(super) fn forget_what_is_old(&mut self, plan: &Plan) -> Result<()> {
        let Some(flight) = &mut self.flight else { return Ok(()) };
        if self.part.to.data_size() < GENERATION_MAX {
            return Ok(());
        }
        flight.older_begun = std::mem::replace(&mut flight.begun, Clock::record_time());
        let before = self.begin_part(Destination::Memory(Memory::default()), plan)?;
        if let (Some(flight), Destination::Memory(memory)) = (&mut self.flight, before.to) {
            flight.older = Some(memory);
        }
        Ok(())
    }

    /// A file with the samples that are in the rings, and with what they need.
    pub(super) fn recall(&mut self, path: &Path, plan: &Plan) -> Result<Part> {
        let mut samples = Vec::new();
        for ring in &mut self.counters.overwritten {
            ring.read_into(&mut samples).context("a ring cannot be read")?;
        }
        // In this order: what they are in was mapped before.
        self.keep_what_comes();
        let mut part =
            Part::begin(self.new_file(path)?, self.part.tally.of_next_part(), plan.packing)?;
        let Some(flight) = &self.flight else { return Ok(part) };
        let begun = if flight.older.is_some() { flight.older_begun } else { flight.begun };
        // What comes while it is written is for the next one.
        for (index, length) in self.kept().map(<[u8]>::len).into_iter().enumerate() {
            let mut at = 0;
            while at < length {
                let mut pieces = pieces(&self.kept()[index][at..length], WRITE_SIZE);
                let Some(mut piece) = pieces.next().map(<[u8]>::to_vec) else { break };
                drop(pieces);
                at += piece.len();
                part.take(&mut piece);
                self.keep_what_comes();
            }
        }
        let mut samples = since(&samples, begun, &self.layouts, self.trailer);
        write::finished_round(&mut samples);
        for piece in pieces(&samples, WRITE_SIZE) {
            part.take(&mut piece.to_vec());
            self.keep_what_comes();
        }
        if let Some(identifier) = &mut self.identifier {
            identifier.add(part.tally.take_new_files_without_id());
            self.wait_for_identities(Instant::now() + BUDGET);
        }
        Ok(part)
    }

    /// What samples that are kept need, in the order in which it is written. Only the last of it grows.
    fn kept(&self) -> [&[u8]; 3] {
        let Destination::Memory(present) = &self.part.to else { return [&[]; 3] };
        match self.flight.as_ref().and_then(|flight| flight.older.as_ref()) {
            Some(older) => [&older.described, &older.records, &present.records],
            None => [&present.described, &[], &present.records],
        }
    }

    /// Waits until it is known what files are, but not longer than this.
    fn wait_for_identities(&mut self, end: Instant) {
        while let Some(identifier) = &mut self.identifier
            && !identifier.wait(end.min(Instant::now() + DESCRIBE_ROUND))
            && Instant::now() < end
        {
            self.keep_what_comes();
        }
    }

    /// What is mapped while a file is written is kept: rings of sideband are full sooner.
    fn keep_what_comes(&mut self) {
        self.empty_rings(Lending::Refused);
        self.write_buffer();
    }

    /// Writes what there is into a file of its own.
    pub(super) fn write_flight(&mut self, plan: &Plan, why: Option<&str>) -> Result<()> {
        let Some(name) = self.parts.as_ref().map(super::parts::Parts::next_name) else {
            return Ok(());
        };
        if let Some(why) = why.filter(|_| !self.is_quiet) {
            notice(format_args!("{why}: writing what is kept"));
        }
        let part = self.recall(&name, plan)?;
        self.complete(part, PathBuf::from(&name));
        Ok(())
    }
}

/// Records from a time on. Of the older ones, it is not known any more what was mapped.
fn since(
    mut records: &[u8],
    begun: u64,
    layouts: &SampleLayouts,
    trailer: SampleIdTrailer,
) -> Vec<u8> {
    let mut kept = Vec::with_capacity(records.len() + RECORD_HEADER_SIZE);
    while let Some((header, record, rest)) = RecordHeader::split(records, ByteOrder::NATIVE) {
        let time = match header.record_type {
            RecordType::SAMPLE => layouts.time(record),
            _ => trailer.time_of(record),
        };
        if time.is_none_or(|time| time >= begun) {
            kept.extend_from_slice(record);
        }
        records = rest;
    }
    kept
}
