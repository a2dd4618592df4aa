//! Records of rounds, with samples that have their callers instead of a copy of their stack.
//!
//! What is mapped has to be known as it was when a sample was taken, and records of other CPUs may come later in a round.
//! So a round waits until it is whole, and is gone through in the order of time; what is later than the moment at which it
//! began may have to wait for the next one. The order in which records are passed on is that of the rings, but for the
//! few samples that waited: readers sort what is between two rounds.

mod cut_stacks;

use std::collections::HashMap;
use std::mem;

use perftab_core::images::{StackCopy, Walk, WalkEnd};
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::format::record::RecordType;

use super::super::ring::TakenRecords;
use super::super::stack_sample::{CopyExtent, Reached, Thread, Walkable};
use super::code::{Code, Passage, Place};
use super::deep_stacks::DeepStacks;
use super::files::Reading;
use super::frames::FrameList;
use super::records::{Records, for_each_record};
use super::spaces::{MadeCode, Spaces};
use cut_stacks::{Cut, CutStacks, MayWait};

/// After so many nanoseconds no sample waits at the end of a round that readers are to be told of.
const WHOLE_WITHIN: u64 = 1_000_000_000;

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
    /// They wait for the next round, to fare then.
    pub held: u64,
}

impl Fared {
    /// Counts others, too.
    pub fn add(&mut self, other: Self) {
        let Self { walked, beyond, cut, unfinished, skipped, held } = self;
        *walked += other.walked;
        *beyond += other.beyond;
        *cut += other.cut;
        *unfinished += other.unfinished;
        *skipped += other.skipped;
        *held += other.held;
    }
}

/// Walks the samples of rounds.
pub struct Rounds {
    records: Records,
    spaces: Spaces,
    code: Code,
    deep_stacks: DeepStacks,
    /// Of the present round.
    cut: HashMap<Thread, CutStacks>,
    /// Time of the latest record that was passed on.
    passed_on: u64,
    /// What that was when readers were told that a round is whole, the last time and the time before.
    told: [u64; 2],
    /// Up to when all records had come when samples began to wait, since readers were told.
    waits_since: Option<u64>,
    /// What has come of the present round.
    round: Vec<TakenRecords>,
    /// The one that is whole, while it is gone through.
    under_way: Option<UnderWay>,
    /// What has to be passed on with it of the round before.
    late_samples: Vec<u8>,
    /// What was passed on with the round before, and still has to be known.
    late_mappings: Vec<u8>,
    order: Vec<Entry>,
    callers: FrameList,
    fared: Fared,
}

/// A round that is whole.
struct UnderWay {
    pieces: Vec<TakenRecords>,
    /// In the order of time.
    order: Vec<Entry>,
    /// Which of these comes next.
    at: usize,
    horizon: u64,
    says_so: Vec<u8>,
}

/// A walk came to code of a file that is not read yet, and may not be.
struct FileIsUnread;

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

impl Entry {
    fn record<'a>(&self, pieces: &'a [TakenRecords]) -> Option<(RecordHeader, &'a [u8])> {
        let from = &pieces[self.piece as usize][self.at as usize..];
        RecordHeader::split(from, ByteOrder::NATIVE).map(|(header, record, _)| (header, record))
    }
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
    /// Not in this round.
    InTheNext,
}

impl Rounds {
    /// Nothing is known yet.
    pub fn new(records: Records) -> Self {
        Self {
            spaces: Spaces::new(records.trailer),
            code: Code::new(records.clock),
            records,
            deep_stacks: DeepStacks::default(),
            cut: HashMap::new(),
            passed_on: 0,
            told: [0; 2],
            waits_since: None,
            round: Vec::new(),
            under_way: None,
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
    pub fn add(&mut self, records: TakenRecords) {
        self.round.push(records);
    }

    /// Takes records that are passed on as they are, as there is no time; gives them back.
    pub fn pass(&mut self, records: Vec<u8>) -> Vec<u8> {
        for_each_record(&records, |_, header, record| {
            self.passed_on = self.records.time(header, record).unwrap_or(0).max(self.passed_on);
            self.fared.skipped += u64::from(header.record_type == RecordType::SAMPLE);
            if self.records.is_of_mappings(header, record) {
                self.late_mappings.extend_from_slice(record);
            }
        });
        records
    }

    /// The round is whole: all records from before `horizon` have come. `says_so` tells readers.
    pub fn end(&mut self, horizon: u64, says_so: Vec<u8>) {
        let mut pieces = Vec::from(
            [&mut self.late_mappings, &mut self.late_samples]
                .map(|it| TakenRecords::Copied(mem::take(it))),
        );
        pieces.append(&mut self.round);
        self.put_in_order(&pieces);
        self.callers.truncate(0);
        let order = mem::take(&mut self.order);
        self.under_way = Some(UnderWay { pieces, order, at: 0, horizon, says_so });
    }

    /// The records of the round that is whole. Behind them stands what says so, unless samples are still to come. Gives back the
    /// memory in which they came. `None` if a file has to be read first and may not be: it goes on from there.
    pub fn go_on(&mut self, reading: Reading) -> Option<(Vec<u8>, Vec<TakenRecords>)> {
        let UnderWay { pieces, mut order, at, horizon, says_so } = self.under_way.take()?;
        let in_time = order.partition_point(|entry| entry.time <= horizon);
        for at in at..in_time {
            let Some((header, record)) = order[at].record(&pieces) else { continue };
            if header.record_type == RecordType::SAMPLE {
                if let Some(walkable) = self.records.samples.walkable(record) {
                    let Ok((written, cut)) = self.walk(at, &walkable, reading) else {
                        self.under_way = Some(UnderWay { pieces, order, at, horizon, says_so });
                        return None;
                    };
                    order[at].written = match cut {
                        Some(cut) => self.walk_on(cut, written, &walkable, &mut order, &pieces),
                        None => self.note_uncut(written, &walkable),
                    };
                }
            } else if let Some((counter, lost)) = self.records.gap(header, record) {
                self.spaces.lost(counter, lost);
            } else {
                self.spaces.apply(header, record, &mut self.code.files);
            }
        }
        let waits_since = self.waits_since.unwrap_or(horizon);
        let is_overdue = horizon >= waits_since.saturating_add(WHOLE_WITHIN);
        let may_wait = match is_overdue && !says_so.is_empty() {
            true => MayWait::No,
            false => MayWait::Yes,
        };
        let is_whole = self.read_beyond(&mut order, &pieces, horizon, may_wait);
        if !is_whole {
            self.waits_since = Some(waits_since);
        }
        let mut out = Vec::with_capacity(pieces.iter().map(|it| it.len()).sum::<usize>() / 32);
        // In the order in which they lie there.
        order.sort_unstable_by_key(|entry| (entry.piece, entry.at));
        let mut entries = order.iter().peekable();
        for (number, piece) in pieces.iter().enumerate() {
            for_each_record(piece, |at, header, record| {
                let is_it = |entry: &&Entry| (entry.piece, entry.at) == (number as u32, at as u32);
                let entry = entries.next_if(|entry| is_it(entry)).copied();
                let is_sample = header.record_type == RecordType::SAMPLE;
                let is_late = entry.is_some_and(|entry| {
                    entry.time > horizon || matches!(entry.written, Written::InTheNext)
                });
                if is_late && is_sample {
                    return self.records.samples.copy(record, &mut self.late_samples);
                }
                self.passed_on = self.records.time(header, record).unwrap_or(0).max(self.passed_on);
                match entry {
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
        if is_whole && !says_so.is_empty() {
            out.extend_from_slice(&says_so);
            self.told = [self.passed_on, self.told[0]];
            self.waits_since = None;
        }
        let mut pieces = pieces;
        Some((out, pieces.split_off(2)))
    }

    /// Samples and what tells of mappings, by time.
    fn put_in_order(&mut self, pieces: &[TakenRecords]) {
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

    /// Walks the stack of a sample. The callers that were found are kept if no more of them can be found by its copy, and a walk
    /// that came to the end of that may go on.
    fn walk(
        &mut self,
        at: usize,
        walkable: &Walkable<'_>,
        reading: Reading,
    ) -> Result<(Written, Option<Cut>), FileIsUnread> {
        let Self { records, spaces, code, callers, fared, .. } = self;
        let from = callers.len();
        let walked = spaces.of(walkable.thread.pid).and_then(|space| {
            let registers = records.registers(walkable, space)?;
            let (start, bytes) = (registers.stack_pointer(), walkable.stack);
            let copy = StackCopy { start, bytes, beyond: &[] };
            let mut walk = Walk::new(registers, &copy);
            let mut passage = Passage::new(code, space, walkable.thread.pid, reading, callers);
            let reached = match (walk.go(&mut passage, &copy), walkable.extent) {
                (WalkEnd::Root, _) => Reached::Root,
                // Whoever reads the copy comes no further.
                (WalkEnd::Truncated, CopyExtent::AllAskedFor) => Reached::EndOfCopy,
                // Whoever reads the copy comes as far, and may guess how it goes on, or have a debug file that tells: as far as
                // 8 KiB reach, which is what perf copies. In a static program of musl every thread ends so.
                (WalkEnd::NotCovered(_) | WalkEnd::Lost, _) => {
                    return Some(Ok((Written::Cut(records.kept_of(&walk, &copy)), None)));
                }
                (WalkEnd::NoTables(Place { file: None, .. }), _)
                    if space.made_code == MadeCode::WithoutRules =>
                {
                    return Some(Ok((Written::Cut(records.kept_of(&walk, &copy)), None)));
                }
                (WalkEnd::NoTables(place), _) if place.is_unread() => {
                    return Some(Err(FileIsUnread));
                }
                (WalkEnd::ReturnProbe, _) => {
                    return Some(Ok((Written::Cut(records.kept_of(&walk, &copy)), None)));
                }
                _ => return None,
            };
            // What a signal has interrupted is no address to return to, which a chain cannot say.
            if walk.signals() > 0 {
                return None;
            }
            let found = from..passage.callers.len();
            let written = Written::Walked { from: from as u32, to: found.end as u32, reached };
            let is_cut = reached == Reached::EndOfCopy;
            Some(Ok((written, is_cut.then_some(Cut { at, start, found, walk }))))
        });
        let walked = walked.unwrap_or(Ok((Written::Whole, None)));
        let (written, cut) = walked.inspect_err(|_| callers.truncate(from))?;
        match written {
            Written::Walked { .. } if cut.is_some() => fared.cut += 1,
            Written::Walked { .. } => fared.walked += 1,
            Written::Whole | Written::Cut(_) | Written::InTheNext => {
                fared.unfinished += 1;
                callers.truncate(from);
            }
        }
        Ok((written, cut))
    }

    fn write(&mut self, entry: Entry, record: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let samples = &self.records.samples;
        let written = match entry.written {
            Written::Whole | Written::InTheNext => None,
            Written::Cut(kept) => samples.write_cut(record, kept, out),
            Written::Walked { from, to, reached } => {
                let frames = self.callers.frames(&(from as usize..to as usize));
                frames.and_then(|it| samples.write_walked(record, it.addresses, reached, out))
            }
        };
        if written.is_none() {
            out.truncate(start);
            samples.copy(record, out);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::os::unix::fs::MetadataExt;

    use perftab_core::images::UnwoundMachine;
    use perftab_perfdata::format::record::CONTEXT_USER;
    use perftab_perfdata::format::write::{self, CpuMode, Fork, Mmap2, SampleIdTrailer};

    use super::super::super::clock::Clock;
    use super::super::super::stack_sample::tests::{BITS, sample, samples};
    use super::*;

    const BASE: u64 = 0x5000_0000_0000;

    pub fn records() -> Records {
        Records {
            samples: samples(64),
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
        let samples = samples(64);
        samples.write_walked(sample, &[root()], Reached::Root, &mut out).expect("there is room");
        assert!(out.windows(8).any(|word| word == CONTEXT_USER.to_ne_bytes()));
        out
    }

    fn add(rounds: &mut Rounds, records: Vec<u8>) {
        rounds.add(TakenRecords::Copied(records));
    }

    fn ended(rounds: &mut Rounds, horizon: u64) -> Vec<u8> {
        rounds.end(horizon, Vec::new());
        rounds.go_on(Reading::Allowed).expect("a round").0
    }

    fn fared(walked: u64, unfinished: u64, skipped: u64) -> Fared {
        Fared { walked, unfinished, skipped, ..Fared::default() }
    }

    /// What is mapped comes through another ring, which may be read after that of the sample.
    #[test]
    fn what_is_mapped_counts_from_its_time_on_wherever_it_stands() {
        let mut rounds = rounds();
        let (early, late) = (sample(root(), 10, &[0; 64], 64), sample(root(), 30, &[0; 64], 64));
        let mapped = begins(20, 0);
        add(&mut rounds, [&late[..], &early].concat());
        add(&mut rounds, mapped.clone());
        let out = ended(&mut rounds, 40);
        assert!(out == [&walked(&late)[..], &early, &mapped].concat());
        assert_eq!(rounds.take_fared(), fared(1, 1, 0));
        // In no mapping, so nothing is known of it.
        add(&mut rounds, sample(BASE - 8, 50, &[0; 64], 64));
        assert!(ended(&mut rounds, 60) == sample(BASE - 8, 50, &[0; 16], 16));
        assert_eq!(rounds.take_fared(), fared(0, 1, 0));
    }

    /// Once for each file: what is known of it then is at hand.
    #[test]
    fn a_round_stops_where_a_file_has_to_be_read_and_goes_on_from_there() {
        let mut rounds = rounds();
        let taken = |time| sample(root(), time, &[0; 64], 64);
        let unknown = sample(BASE - 8, 25, &[0; 64], 64);
        let mapped = begins(20, 0);
        add(&mut rounds, [&mapped[..], &unknown, &taken(30), &taken(31)].concat());
        rounds.end(40, Vec::new());
        for _ in 0..2 {
            assert!(rounds.go_on(Reading::Refused).is_none());
        }
        assert_eq!(rounds.fared, fared(0, 1, 0), "up to there");
        let (out, _) = rounds.go_on(Reading::Allowed).expect("a round");
        let unknown = sample(BASE - 8, 25, &[0; 16], 16);
        assert!(out == [&mapped[..], &unknown, &walked(&taken(30)), &walked(&taken(31))].concat());
        assert_eq!(rounds.take_fared(), fared(2, 1, 0));
        add(&mut rounds, taken(50));
        rounds.end(60, Vec::new());
        let (out, _) = rounds.go_on(Reading::Refused).expect("nothing to be read");
        assert!(out == walked(&taken(50)));
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
        add(&mut rounds, [&late[..], &early].concat());
        assert!(ended(&mut rounds, 20) == walked(&early));
        add(&mut rounds, exec.clone());
        let kept = sample(root(), 30, &[0; 16], 16);
        assert!(ended(&mut rounds, 40) == [&kept[..], &exec].concat());
        assert_eq!(rounds.take_fared(), fared(1, 1, 0));
    }

    #[test]
    fn copies_are_kept_where_there_is_no_time_no_file_or_a_gap() {
        let mut rounds = rounds();
        let taken = sample(root(), 30, &[0; 64], 64);
        let in_haste = [&begins(10, 0)[..], &taken].concat();
        assert!(rounds.pass(in_haste.clone()) == in_haste);
        // What is mapped is known all the same.
        add(&mut rounds, taken.clone());
        assert!(ended(&mut rounds, 40) == walked(&taken));
        assert_eq!(rounds.take_fared(), fared(1, 0, 1));
        // Mappings were lost.
        let mut lost = Vec::new();
        write::lost(&mut lost, 99, 1, trailer().at(50));
        let taken = sample(root(), 60, &[0; 64], 64);
        add(&mut rounds, [&lost[..], &taken].concat());
        assert!(ended(&mut rounds, 70) == [&lost[..], &taken].concat());
        // Nor does the file tell of all its code, such as its header.
        let taken = sample(BASE + 16, 72, &[1; 64], 64);
        let kept = sample(BASE + 16, 72, &[1; 16], 16);
        let begun = begins(71, 0);
        add(&mut rounds, [&begun[..], &taken].concat());
        assert!(ended(&mut rounds, 73) == [&begun[..], &kept].concat());
        assert_eq!(rounds.take_fared(), fared(0, 2, 0));
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
        add(&mut rounds, [&begun[..], &taken].concat());
        assert!(ended(&mut rounds, 79) == [&begun[..], &kept].concat());
        let jitdump = anonymous(b"/tmp/jit-7.dump", 0x3000);
        add(&mut rounds, [&jitdump[..], &taken].concat());
        assert!(ended(&mut rounds, 79) == [&jitdump[..], &taken].concat());
        assert_eq!(rounds.take_fared(), fared(0, 2, 0));
        // Another file has the path by now.
        let mapped = begins(80, 1);
        let taken = sample(root(), 90, &[0; 64], 64);
        add(&mut rounds, [&mapped[..], &taken].concat());
        assert!(ended(&mut rounds, 100) == [&mapped[..], &taken].concat());
        assert_eq!(rounds.take_fared(), fared(0, 1, 0));
    }
}
