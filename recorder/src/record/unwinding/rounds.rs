//! Records of rounds, with samples that have their callers instead of a copy of their stack.
//!
//! What is mapped has to be known as it was when a sample was taken, and records of other CPUs may come later in a round.
//! So a round waits until it is whole, and is gone through in the order of time; what is later than the moment at which it
//! began may have to wait for the next one. The order in which records are passed on is that of the rings, but for the
//! few samples that waited: readers sort what is between two rounds.

use std::collections::HashMap;
use std::mem;
use std::ops::Range;

use perftab_core::images::{
    Registers, RuleFound, StackCopy, UnwoundMachine, Walk, WalkEnd, WalkedCode,
};
use perftab_perfdata::address_bits::AddressBits;
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::{RecordHeader, decode_lost, lost_by};
use perftab_perfdata::format::record::RecordType;
use perftab_perfdata::format::write::SampleIdTrailer;

use super::super::clock::Clock;
use super::super::stack_sample::{CopyExtent, Reached, StackSamples, Thread, Walkable};
use super::deep_stacks::{DeepStacks, WalkedCopy};
use super::files::{FileNumber, Files, Rule};
use super::frames::FrameList;
use super::spaces::{MadeCode, Space, Spaces, Version};

/// Addresses that are known at once: half a megabyte.
const KNOWN_PLACES: usize = 1 << 14;

/// How samples fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fared {
    /// Their stacks were walked to the root.
    pub walked: u64,
    /// Some of these by what lies beyond their copies.
    pub beyond: u64,
    /// Or as far as they were copied.
    pub cut: u64,
    /// They keep their copies, as the root was not reached.
    pub unfinished: u64,
    /// They keep their copies, as there was no time.
    pub skipped: u64,
}

impl Fared {
    /// Counts others, too.
    pub fn add(&mut self, other: Self) {
        let Self { walked, beyond, cut, unfinished, skipped } = self;
        *walked += other.walked;
        *beyond += other.beyond;
        *cut += other.cut;
        *unfinished += other.unfinished;
        *skipped += other.skipped;
    }
}

/// What is needed to understand the records of a recording.
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

    /// What is kept of a copy that was walked as far as anybody can.
    fn cut(&self, walk: &Walk, copy: &StackCopy<'_>) -> Written {
        let passed = walk.registers().stack_pointer().saturating_sub(copy.start);
        Written::Cut(self.of_made_code.max(usize::try_from(passed).unwrap_or(usize::MAX)))
    }

    /// What a walk begins with.
    fn registers(&self, walkable: &Walkable<'_>, space: &Space) -> Option<Registers> {
        let bits = AddressBits::up_to(space.highest().unwrap_or(u64::MAX));
        Registers::new(self.machine, bits, |number| walkable.registers.get(number))
    }

    /// Of which counter of sideband records were lost, and how many.
    fn gap(&self, header: RecordHeader, record: &[u8]) -> Option<(u64, u64)> {
        if header.record_type != RecordType::LOST {
            return None;
        }
        let counter = lost_by(record, 0, ByteOrder::NATIVE).ok()?;
        let lost = decode_lost(header, record, 0, ByteOrder::NATIVE).ok()?;
        self.sideband.contains(&counter).then_some((counter, lost))
    }

    /// Whether a record tells what is mapped in a process.
    fn is_of_mappings(&self, header: RecordHeader, record: &[u8]) -> bool {
        let types = [RecordType::MMAP2, RecordType::COMM, RecordType::FORK, RecordType::EXIT];
        types.contains(&header.record_type) || self.gap(header, record).is_some()
    }
}

/// Walks the samples of rounds.
pub struct Rounds {
    records: Records,
    spaces: Spaces,
    code: Code,
    deep_stacks: DeepStacks,
    cut: HashMap<Thread, Cut>,
    /// What has come of the present round.
    round: Vec<Vec<u8>>,
    /// What has to be passed on with it of the round before.
    late_samples: Vec<u8>,
    /// What was passed on with the round before, and still has to be known.
    late_mappings: Vec<u8>,
    order: Vec<Entry>,
    callers: FrameList,
    fared: Fared,
}

/// A record that has its turn.
#[derive(Clone, Copy)]
struct Entry {
    time: u64,
    /// In which piece of memory, and where in that.
    piece: u32,
    at: u32,
    /// What becomes of it.
    written: Written,
}

/// The latest sample of a thread, whose stack is longer than its copy, and it is not known how it goes on.
struct Cut {
    /// Where in the order of time.
    at: usize,
    /// Those that were found, among the callers of the round.
    callers: Range<usize>,
}

/// How a record is passed on.
#[derive(Clone, Copy)]
enum Written {
    /// As it is.
    Whole,
    /// With these callers among those of the round, and without a copy.
    Walked { from: u32, to: u32, reached: Reached },
    /// With no more than so many bytes of its copy.
    Cut(usize),
}

impl Written {
    /// The callers of a stack that is longer than its copy.
    fn cut(self) -> Option<Range<usize>> {
        match self {
            Self::Walked { from, to, reached: Reached::EndOfCopy } => {
                Some(from as usize..to as usize)
            }
            _ => None,
        }
    }
}

/// The code of all processes.
struct Code {
    files: Files,
    known: Vec<KnownPlace>,
}

/// A place in code.
#[derive(Clone, Copy)]
struct Place {
    file: Option<FileNumber>,
    offset: u64,
    rule: Rule,
}

#[derive(Clone, Copy)]
struct KnownPlace {
    address: u64,
    version: Version,
    place: Place,
}

impl Rounds {
    /// Nothing is known yet.
    pub fn new(records: Records) -> Self {
        let nowhere = Place { file: None, offset: 0, rule: Rule::NoTables };
        let nowhere = KnownPlace { address: 0, version: Version::default(), place: nowhere };
        Self {
            spaces: Spaces::new(records.trailer),
            code: Code { files: Files::new(records.clock), known: vec![nowhere; KNOWN_PLACES] },
            records,
            deep_stacks: DeepStacks::default(),
            cut: HashMap::new(),
            round: Vec::new(),
            late_samples: Vec::new(),
            late_mappings: Vec::new(),
            order: Vec::new(),
            callers: FrameList::default(),
            fared: Fared::default(),
        }
    }

    /// How samples fared since this was asked last.
    pub fn take_fared(&mut self) -> Fared {
        mem::take(&mut self.fared)
    }

    /// Takes note of what ran before: it is passed on by others.
    pub fn know(&mut self, described: &[u8]) {
        for_each_record(described, |_, header, record| {
            self.spaces.apply(header, record, &mut self.code.files);
        });
    }

    /// Takes records of the present round.
    pub fn add(&mut self, records: Vec<u8>) {
        self.round.push(records);
    }

    /// Takes records that are passed on as they are, as there is no time; gives them back.
    pub fn pass(&mut self, records: Vec<u8>) -> Vec<u8> {
        for_each_record(&records, |_, header, record| {
            self.fared.skipped += u64::from(header.record_type == RecordType::SAMPLE);
            if self.records.is_of_mappings(header, record) {
                self.late_mappings.extend_from_slice(record);
            }
        });
        records
    }

    /// The records of a round that is whole: all records from before `horizon` have come. Gives back the memory in which
    /// they came.
    pub fn end(&mut self, horizon: u64) -> (Vec<u8>, Vec<Vec<u8>>) {
        let mut pieces =
            vec![mem::take(&mut self.late_mappings), mem::take(&mut self.late_samples)];
        pieces.append(&mut self.round);
        self.put_in_order(&pieces);
        self.callers.truncate(0);
        let mut order = mem::take(&mut self.order);
        let in_time = order.iter_mut().take_while(|entry| entry.time <= horizon);
        for (at, entry) in in_time.enumerate() {
            let record = &pieces[entry.piece as usize][entry.at as usize..];
            let Some((header, record, _)) = RecordHeader::split(record, ByteOrder::NATIVE) else {
                continue;
            };
            if header.record_type == RecordType::SAMPLE {
                if let Some(walkable) = self.records.samples.walkable(record) {
                    let written = self.walk(&walkable);
                    entry.written = self.walk_on(at, entry.time, written, &walkable);
                }
            } else if let Some((counter, lost)) = self.records.gap(header, record) {
                self.spaces.lost(counter, lost);
            } else {
                self.spaces.apply(header, record, &mut self.code.files);
            }
        }
        self.read_beyond(&order, &pieces);
        let mut out = Vec::with_capacity(pieces.iter().map(Vec::len).sum::<usize>() / 8);
        // In the order in which they lie there.
        order.sort_unstable_by_key(|entry| (entry.piece, entry.at));
        let mut entries = order.iter().peekable();
        for (number, piece) in pieces.iter().enumerate() {
            for_each_record(piece, |at, header, record| {
                let is_it = |entry: &&Entry| (entry.piece, entry.at) == (number as u32, at as u32);
                let entry = entries.next_if(|entry| is_it(entry)).copied();
                let is_sample = header.record_type == RecordType::SAMPLE;
                let is_late = entry.is_some_and(|entry| entry.time > horizon);
                match entry {
                    Some(_) if is_late && is_sample => self.late_samples.extend_from_slice(record),
                    Some(entry) if is_sample => self.write(entry, record, &mut out),
                    _ => {
                        if is_late {
                            self.late_mappings.extend_from_slice(record);
                        }
                        if number > 0 {
                            out.extend_from_slice(record);
                        }
                    }
                }
            });
        }
        self.order = order;
        (out, pieces.split_off(2))
    }

    /// Samples and what tells of mappings, by time.
    fn put_in_order(&mut self, pieces: &[Vec<u8>]) {
        self.order.clear();
        for (piece, records) in pieces.iter().enumerate() {
            for_each_record(records, |at, header, record| {
                let is_sample = header.record_type == RecordType::SAMPLE;
                if is_sample || self.records.is_of_mappings(header, record) {
                    let time = self.records.time(header, record).unwrap_or(0);
                    let (piece, at) = (piece as u32, at as u32);
                    self.order.push(Entry { time, piece, at, written: Written::Whole });
                }
            });
        }
        // Stable: those of one time stay as they came.
        self.order.sort_by_key(|entry| entry.time);
    }

    /// Walks the stack of a sample. The callers that were found are kept if no more of them can be found.
    fn walk(&mut self, walkable: &Walkable<'_>) -> Written {
        let Self { records, spaces, code, callers, fared, .. } = self;
        let from = callers.len();
        let walked = spaces.of(walkable.thread.pid).and_then(|space| {
            let registers = records.registers(walkable, space)?;
            let copy = StackCopy { start: registers.stack_pointer(), bytes: walkable.stack };
            let mut walk = Walk::new(registers, &copy);
            let mut passage = Passage { code, space, pid: walkable.thread.pid, callers };
            let reached = match (walk.go(&mut passage, &copy), walkable.extent) {
                (WalkEnd::Root, _) => Reached::Root,
                // Whoever reads the copy comes no further.
                (WalkEnd::Truncated, CopyExtent::AllAskedFor) => Reached::EndOfCopy,
                // Whoever reads the copy comes as far, and may guess how it goes on.
                (WalkEnd::NoTables(Place { file: None, .. }), _)
                    if space.made_code == MadeCode::WithoutRules =>
                {
                    return Some(records.cut(&walk, &copy));
                }
                (WalkEnd::ReturnProbe, _) => return Some(records.cut(&walk, &copy)),
                _ => return None,
            };
            let (from, to) = (from as u32, passage.callers.len() as u32);
            // What a signal has interrupted is no address to return to, which a chain cannot say.
            (walk.signals() == 0).then_some(Written::Walked { from, to, reached })
        });
        let written = walked.unwrap_or(Written::Whole);
        match written {
            Written::Walked { reached: Reached::Root | Reached::RootBehind(_), .. } => {
                fared.walked += 1;
            }
            Written::Walked { reached: Reached::EndOfCopy, .. } => fared.cut += 1,
            Written::Whole | Written::Cut(_) => {
                fared.unfinished += 1;
                callers.truncate(from);
            }
        }
        written
    }

    /// Walks the stack of a sample on, if it is longer than its copy and it is known how; takes note of it if it is not.
    fn walk_on(
        &mut self,
        at: usize,
        time: u64,
        written: Written,
        walkable: &Walkable<'_>,
    ) -> Written {
        let thread = walkable.thread;
        self.cut.remove(&thread);
        let Some(callers) = written.cut() else {
            self.note_start(walkable, written);
            return written;
        };
        match self.walk_beyond(walkable, time, &callers) {
            Some(written) => {
                self.fared.cut -= 1;
                self.fared.walked += 1;
                self.fared.beyond += 1;
                written
            }
            None => {
                self.cut.insert(thread, Cut { at, callers });
                written
            }
        }
    }

    /// Takes note of where the stack of a thread begins by now.
    fn note_start(&mut self, walkable: &Walkable<'_>, written: Written) {
        let Self { records, spaces, deep_stacks, .. } = self;
        let thread = walkable.thread;
        let space = spaces.of(thread.pid).filter(|_| deep_stacks.has(thread));
        let registers = space.and_then(|space| records.registers(walkable, space));
        let Some(start) = registers.map(|it| it.stack_pointer()) else { return };
        match written {
            Written::Walked { .. } => deep_stacks.update(thread, start, walkable.stack),
            // There may be more of it, which is not known to go on as what is known.
            Written::Whole | Written::Cut(_) => deep_stacks.leave(thread, start),
        }
    }

    /// Walks a stack to its root by what is known beyond its copy, as far as which it was walked.
    fn walk_beyond(
        &mut self,
        walkable: &Walkable<'_>,
        time: u64,
        found: &Range<usize>,
    ) -> Option<Written> {
        let Self { records, spaces, code, deep_stacks, callers, .. } = self;
        let (pid, bytes) = (walkable.thread.pid, walkable.stack);
        let space = spaces.of(pid)?;
        let registers = records.registers(walkable, space)?;
        let start = registers.stack_pointer();
        let walked = WalkedCopy { start, bytes, frames: callers.frames(found)? };
        let beyond = deep_stacks.known(walkable.thread, &walked, time)?;
        // It may have as many frames as its copy, which is as many as a record has room for.
        let mut walk = Walk::new(registers, &StackCopy { start, bytes });
        let from = callers.len();
        let mut passage = Passage { code, space, pid, callers };
        let end = walk.go(&mut passage, &StackCopy { start, bytes: beyond });
        let is_root = matches!(end, WalkEnd::Root) && walk.signals() == 0;
        deep_stacks.note_end(walkable.thread, is_root.then(|| walk.registers().stack_pointer()));
        if !is_root {
            callers.truncate(from);
            return None;
        }
        let (from, to) = (from as u32, callers.len() as u32);
        Some(Written::Walked { from, to, reached: Reached::RootBehind(found.len()) })
    }

    /// Reads how stacks go on of which this is not known.
    fn read_beyond(&mut self, order: &[Entry], pieces: &[Vec<u8>]) {
        let Self { records, spaces, deep_stacks, callers, cut, .. } = self;
        for (thread, Cut { at, callers: found }) in cut.drain() {
            let record = order.get(at).and_then(|entry| {
                let from = &pieces[entry.piece as usize][entry.at as usize..];
                RecordHeader::split(from, ByteOrder::NATIVE).map(|(_, record, _)| record)
            });
            let walkable = record.and_then(|record| records.samples.walkable(record));
            let space = spaces.of(thread.pid);
            if let (Some(walkable), Some(space), Some(frames)) =
                (walkable, space, callers.frames(&found))
                && let Some(registers) = records.registers(&walkable, space)
            {
                let start = registers.stack_pointer();
                deep_stacks.read(thread, &WalkedCopy { start, bytes: walkable.stack, frames });
            }
        }
    }

    fn write(&mut self, entry: Entry, record: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let samples = &self.records.samples;
        let written = match entry.written {
            Written::Whole => None,
            Written::Cut(kept) => samples.write_cut(record, kept, out),
            Written::Walked { from, to, reached } => {
                let frames = self.callers.frames(&(from as usize..to as usize));
                frames.and_then(|it| samples.write_walked(record, it.addresses, reached, out))
            }
        };
        if written.is_none() {
            out.truncate(start);
            out.extend_from_slice(record);
        }
    }
}

fn for_each_record(records: &[u8], mut each: impl FnMut(usize, RecordHeader, &[u8])) {
    let mut left = records;
    while let Some((header, record, rest)) = RecordHeader::split(left, ByteOrder::NATIVE) {
        each(records.len() - left.len(), header, record);
        left = rest;
    }
}

/// A walk through the code of a process.
struct Passage<'a> {
    code: &'a mut Code,
    space: &'a Space,
    pid: u32,
    callers: &'a mut FrameList,
}

impl WalkedCode for Passage<'_> {
    type Place = Place;

    #[inline(always)]
    fn enter(&mut self, address: u64, next: u64, stack_pointer: u64) -> Option<Place> {
        self.callers.push(next, stack_pointer);
        let Self { code: Code { files, known }, space, pid, .. } = self;
        let known = &mut known[(address ^ address >> 14) as usize % KNOWN_PLACES];
        if known.address != address || known.version != space.version {
            let mapping = space.at(address)?;
            let offset = mapping.offset(address);
            let rule = match mapping.file {
                Some(file) => files.rule(file, offset, mapping.in_process(*pid)),
                None => Rule::NoTables,
            };
            let place = Place { file: mapping.file, offset, rule };
            // A file that is not found may be through another process.
            if rule == Rule::NoTables {
                return Some(place);
            }
            *known = KnownPlace { address, version: space.version, place };
        }
        Some(known.place)
    }

    #[inline(always)]
    fn rule(&mut self, place: Place) -> RuleFound<'_> {
        match place.rule {
            Rule::Row(number) => RuleFound::Row(self.code.files.row(number)),
            Rule::NotCovered => RuleFound::NotCovered,
            Rule::NoTables => RuleFound::NoTables,
        }
    }

    fn ends_before_function(&self, place: Place) -> bool {
        let Place { file, offset, .. } = place;
        let files = &self.code.files;
        file.is_some_and(|file| files.begins_behind_padding(file, offset.wrapping_add(1)))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::os::unix::fs::MetadataExt;

    use perftab_perfdata::format::record::CONTEXT_USER;
    use perftab_perfdata::format::write::{self, CpuMode, Fork, Mmap2};

    use super::super::super::stack_sample::tests::{BITS, REGISTERS, sample};
    use super::*;

    const BASE: u64 = 0x5000_0000_0000;

    pub fn records() -> Records {
        Records {
            samples: StackSamples::new(BITS, None, REGISTERS, 64).expect("copies"),
            trailer: trailer(),
            sideband: vec![99],
            machine: UnwoundMachine::of(std::env::consts::ARCH).expect("a machine"),
            clock: Clock::now(),
            of_made_code: 16,
        }
    }

    fn rounds() -> Rounds {
        Rounds::new(records())
    }

    fn trailer() -> SampleIdTrailer {
        SampleIdTrailer::of_sample_type(BITS)
    }

    /// A process that begins at a time with this very program mapped, whole and from [`BASE`] on.
    fn begins(time: u64, inode_differs_by: u64) -> Vec<u8> {
        let path = std::env::current_exe().expect("a program");
        let metadata = path.metadata().expect("it is there");
        let device = metadata.dev();
        let file = write::MappedFile::Inode {
            major: rustix::fs::major(device),
            minor: rustix::fs::minor(device),
            inode: metadata.ino() + inode_differs_by,
        };
        let mut out = Vec::new();
        let born = Fork { pid: 7, tid: 7, parent_pid: 1, parent_tid: 1 };
        write::fork(&mut out, born, trailer().at(time));
        let mapped = Mmap2 {
            pid: 7,
            cpu_mode: CpuMode::User,
            address: BASE,
            length: metadata.len(),
            page_offset: 0,
            file,
            protection: 5,
            flags: 2,
            name: path.to_str().expect("text").as_bytes(),
        };
        write::mmap2(&mut out, &mapped, trailer().at(time));
        out
    }

    /// Where the program begins: nobody has called that.
    fn root() -> u64 {
        let program = std::fs::read(std::env::current_exe().expect("a program")).expect("bytes");
        let word = |at: usize| u64::from_le_bytes(*program[at..].first_chunk().expect("eight"));
        let (entry, headers) = (word(24), word(32) as usize);
        let count = usize::from(u16::from_le_bytes([program[56], program[57]]));
        let segments = (0..count).map(|number| headers + 56 * number);
        let mut loaded = segments.filter(|&at| word(at) as u32 == 1);
        let is_of_it =
            |&at: &usize| (word(at + 16)..word(at + 16) + word(at + 32)).contains(&entry);
        let at = loaded.find(is_of_it).expect("a segment");
        BASE + entry - word(at + 16) + word(at + 8)
    }

    fn walked(sample: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let samples = StackSamples::new(BITS, None, REGISTERS, 64).expect("copies");
        samples.write_walked(sample, &[root()], Reached::Root, &mut out).expect("there is room");
        assert!(out.windows(8).any(|word| word == CONTEXT_USER.to_ne_bytes()));
        out
    }

    fn ended(rounds: &mut Rounds, horizon: u64) -> Vec<u8> {
        rounds.end(horizon).0
    }

    fn fared(walked: u64, unfinished: u64, skipped: u64) -> Fared {
        Fared { walked, unfinished, skipped, beyond: 0, cut: 0 }
    }

    /// What is mapped comes through another ring, which may be read after that of the sample.
    #[test]
    fn what_is_mapped_counts_from_its_time_on_wherever_it_stands() {
        let mut rounds = rounds();
        let (early, late) = (sample(root(), 10, &[0; 64], 64), sample(root(), 30, &[0; 64], 64));
        let mapped = begins(20, 0);
        rounds.add([&late[..], &early].concat());
        rounds.add(mapped.clone());
        let out = ended(&mut rounds, 40);
        assert!(out == [&walked(&late)[..], &early, &mapped].concat());
        assert_eq!(rounds.take_fared(), fared(1, 1, 0));
        // In no mapping, so nothing is known of it.
        let lost = sample(BASE - 8, 50, &[0; 64], 64);
        rounds.add(lost.clone());
        assert!(ended(&mut rounds, 60) == lost);
        assert_eq!(rounds.take_fared(), fared(0, 1, 0));
    }

    #[test]
    fn what_is_later_than_a_round_waits_for_the_next_one() {
        let mut rounds = rounds();
        let (early, late) = (sample(root(), 10, &[0; 64], 64), sample(root(), 30, &[0; 64], 64));
        let mut described = Vec::new();
        described.extend_from_slice(&begins(0, 0));
        rounds.know(&described);
        // Another program, as the next round tells: the sample is of that.
        let mut exec = Vec::new();
        write::comm(&mut exec, 7, 7, b"other", trailer().at(25));
        exec[5] |= 1 << 5;
        rounds.add([&late[..], &early].concat());
        assert!(ended(&mut rounds, 20) == walked(&early));
        rounds.add(exec.clone());
        assert!(ended(&mut rounds, 40) == [&late[..], &exec].concat());
        assert_eq!(rounds.take_fared(), fared(1, 1, 0));
    }

    #[test]
    fn copies_are_kept_where_there_is_no_time_no_file_or_a_gap() {
        let mut rounds = rounds();
        let taken = sample(root(), 30, &[0; 64], 64);
        let in_haste = [&begins(10, 0)[..], &taken].concat();
        assert!(rounds.pass(in_haste.clone()) == in_haste);
        // What is mapped is known all the same.
        rounds.add(taken.clone());
        assert!(ended(&mut rounds, 40) == walked(&taken));
        assert_eq!(rounds.take_fared(), fared(1, 0, 1));
        // Mappings were lost.
        let mut lost = Vec::new();
        write::lost(&mut lost, 99, 1, trailer().at(50));
        let taken = sample(root(), 60, &[0; 64], 64);
        rounds.add([&lost[..], &taken].concat());
        assert!(ended(&mut rounds, 70) == [&lost[..], &taken].concat());
        // Nobody knows how code goes on that a process made, unless a jitdump tells.
        let anonymous = |name: &[u8], address| {
            let file = write::MappedFile::Inode { major: 0, minor: 0, inode: 0 };
            let (pid, cpu_mode, length, page_offset) = (7, CpuMode::User, 0x1000, 0);
            let (protection, flags) = (5, 2);
            let map = Mmap2 {
                pid,
                cpu_mode,
                address,
                length,
                page_offset,
                file,
                protection,
                flags,
                name,
            };
            let mut out = Vec::new();
            write::mmap2(&mut out, &map, trailer().at(75));
            out
        };
        let taken = sample(0x1010, 78, &[1; 64], 64);
        let kept = sample(0x1010, 78, &[1; 16], 16);
        let begun = [&begins(74, 0)[..], &anonymous(b"//anon", 0x1000)].concat();
        rounds.add([&begun[..], &taken].concat());
        assert!(ended(&mut rounds, 79) == [&begun[..], &kept].concat());
        let jitdump = anonymous(b"/tmp/jit-7.dump", 0x3000);
        rounds.add([&jitdump[..], &taken].concat());
        assert!(ended(&mut rounds, 79) == [&jitdump[..], &taken].concat());
        assert_eq!(rounds.take_fared(), fared(0, 3, 0));
        // Another file has the path by now.
        let mapped = begins(80, 1);
        let taken = sample(root(), 90, &[0; 64], 64);
        rounds.add([&mapped[..], &taken].concat());
        assert!(ended(&mut rounds, 100) == [&mapped[..], &taken].concat());
        assert_eq!(rounds.take_fared(), fared(0, 1, 0));
    }
}
