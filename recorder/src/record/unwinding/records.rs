//! What is needed to understand the records of a recording.

use perftab_core::images::{Registers, StackCopy, UnwoundMachine, Walk};
use perftab_perfdata::address_bits::AddressBits;
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::{RecordHeader, decode_lost, lost_by};
use perftab_perfdata::format::record::RecordType;
use perftab_perfdata::format::write::SampleIdTrailer;

use super::super::clock::Clock;
use super::super::stack_sample::{StackSamples, Walkable};
use super::spaces::Space;

/// The shape of the records of a recording.
#[derive(Clone)]
pub struct Records {
    /// Samples.
    pub samples: StackSamples,
    /// The others.
    pub trailer: SampleIdTrailer,
    /// Ids of what reports mappings and threads.
    pub sideband: Vec<u64>,
    /// Whose registers they are.
    pub machine: UnwoundMachine,
    /// By which they have their times.
    pub clock: Clock,
    /// Bytes of a copy that are kept where the stack goes through code that a process made without rules.
    pub of_made_code: usize,
}

impl Records {
    /// When a record came about; `None` if it does not say.
    pub fn time(&self, header: RecordHeader, record: &[u8]) -> Option<u64> {
        match header.record_type {
            RecordType::SAMPLE => self.samples.time(record),
            // Those from 64 on are ours; they end without a time.
            RecordType(64..) => None,
            _ => self.trailer.time_of(record),
        }
    }

    /// Bytes that are kept of a copy that was walked as far as anybody can.
    pub fn kept_of(&self, walk: &Walk, copy: &StackCopy<'_>) -> usize {
        let passed = walk.registers().stack_pointer().saturating_sub(copy.start);
        self.of_made_code.max(usize::try_from(passed).unwrap_or(usize::MAX))
    }

    /// What a walk begins with.
    pub fn registers(&self, walkable: &Walkable<'_>, space: &Space) -> Option<Registers> {
        let bits = AddressBits::up_to(space.highest().unwrap_or(u64::MAX));
        Registers::new(self.machine, bits, |number| walkable.registers.get(number))
    }

    /// Of which counter of sideband records were lost, and how many.
    pub fn gap(&self, header: RecordHeader, record: &[u8]) -> Option<(u64, u64)> {
        if header.record_type != RecordType::LOST {
            return None;
        }
        let counter = lost_by(record, 0, ByteOrder::NATIVE).ok()?;
        let lost = decode_lost(header, record, 0, ByteOrder::NATIVE).ok()?;
        self.sideband.contains(&counter).then_some((counter, lost))
    }

    /// Whether a record tells what is mapped in a process.
    pub fn is_of_mappings(&self, header: RecordHeader, record: &[u8]) -> bool {
        let types = [RecordType::MMAP2, RecordType::COMM, RecordType::FORK, RecordType::EXIT];
        types.contains(&header.record_type) || self.gap(header, record).is_some()
    }
}

/// Each record with the place where it begins.
pub fn for_each_record(records: &[u8], mut each: impl FnMut(usize, RecordHeader, &[u8])) {
    let mut left = records;
    while let Some((header, record, rest)) = RecordHeader::split(left, ByteOrder::NATIVE) {
        each(records.len() - left.len(), header, record);
        left = rest;
    }
}
