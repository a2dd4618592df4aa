//! Samples with a copy of the stack, as the kernel lays them out.
//!
//! The copy takes the room that was asked for, however little of it is there. What is not there is left out as records
//! leave the ring.

use std::ops::Range;

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::decode::sample::Counters as CounterValues;
use perftab_perfdata::format::attr::sample_type;
use perftab_perfdata::format::record::{
    CONTEXT_USER, MAX_RECORD_SIZE, RECORD_HEADER_SIZE, RecordType,
};

use super::counters::Counters;
use super::without_period::WithoutPeriod;

/// Registers of a program of 64 bits (`PERF_SAMPLE_REGS_ABI_64`).
const ABI_64: u64 = 2;

/// Where the fields of such samples stand; all events have the same but for the period.
#[derive(Clone, Debug)]
pub struct StackSamples {
    pid: usize,
    time: usize,
    /// What comes before values and chain.
    fixed_end: usize,
    /// Ids of events without a period: there it is that much less.
    without_period: WithoutPeriod,
    /// The shape of the values of counters, if there are any.
    values: Option<u64>,
    has_raw: bool,
    /// Which registers are copied, a bit for each.
    registers: u64,
    /// How many bytes of a stack are to be copied.
    asked: usize,
}

/// How far a stack was walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// To the first function of its thread.
    Root,
    /// So far too: so many frames by the copy, and the others by what the thread had there later.
    RootBehind(usize),
    /// As far as it was copied.
    EndOfCopy,
}

/// Where the fields of one stand, in bytes from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Places {
    chain: usize,
    chain_end: usize,
    registers: usize,
    has_registers: bool,
    stack: usize,
    /// Bytes of the copy, and those of them that the stack had.
    room: usize,
    valid: usize,
    /// Where the copy ends, with the number of bytes that are valid.
    end: usize,
}

/// A sample whose user stack can be walked.
pub struct Walkable<'a> {
    /// By perf's numbers.
    pub registers: CopiedRegisters<'a>,
    /// From the stack pointer on.
    pub stack: &'a [u8],
    /// Whether there may be more of it.
    pub extent: CopyExtent,
    /// Whose stack it is.
    pub thread: Thread,
}

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    /// Its process.
    pub pid: u32,
    /// Its own number.
    pub tid: u32,
}

/// How much of a stack is in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyExtent {
    /// All that could be read.
    AllThereIs,
    /// All that was asked for, or that a record has room for.
    AllAskedFor,
}

/// Values of registers.
#[derive(Clone, Copy)]
pub struct CopiedRegisters<'a> {
    mask: u64,
    values: &'a [u8],
}

impl CopiedRegisters<'_> {
    /// The value of the register with this number.
    pub fn get(self, number: u32) -> Option<u64> {
        let bit = 1u64.checked_shl(number).filter(|bit| self.mask & bit != 0)?;
        word_in(self.values, 8 * (self.mask & (bit - 1)).count_ones() as usize)
    }
}

impl StackSamples {
    /// Of those that the kernel is asked for; `None` if they have no copy of the stack.
    pub fn of(counters: &Counters) -> Option<Self> {
        let attr = &counters.events.first()?.attr;
        let (registers, stack) = (attr.sample_regs_user, attr.sample_stack_user);
        let all = Self::new(counters.sample_type(), counters.read_format(), registers, stack)?;
        Some(Self { without_period: counters.without_period(), ..all })
    }

    /// Of samples with these fields, values and registers, and so many bytes of stack.
    pub(super) fn new(bits: u64, values: Option<u64>, registers: u64, asked: u32) -> Option<Self> {
        let width = |bit: u64| if bits & bit != 0 { 8 } else { 0 };
        let pid = RECORD_HEADER_SIZE + width(sample_type::IDENTIFIER) + width(sample_type::IP);
        let time = pid + width(sample_type::TID);
        let fixed_end = time
            + [sample_type::TIME, sample_type::ADDR, sample_type::CPU, sample_type::PERIOD]
                .map(width)
                .iter()
                .sum::<usize>();
        let has_raw = bits & sample_type::RAW != 0;
        let has_copy = bits & sample_type::STACK_USER != 0;
        let asked = usize::try_from(asked).ok()?;
        let without_period = WithoutPeriod::default();
        has_copy.then_some(Self {
            pid,
            time,
            fixed_end,
            without_period,
            values,
            has_raw,
            registers,
            asked,
        })
    }

    /// When a sample was taken.
    pub fn time(&self, record: &[u8]) -> Option<u64> {
        word_in(record, self.time)
    }

    fn places(&self, size: usize, word: impl Fn(usize) -> Option<u64>) -> Option<Places> {
        let number = |at| usize::try_from(word(at)?).ok().filter(|number| *number <= size);
        let fixed_end = self.fixed_end - self.without_period.shift(|| word(RECORD_HEADER_SIZE));
        let of_values = match self.values {
            Some(format) => CounterValues::size_from(format, word(fixed_end)?)?,
            None => 0,
        };
        let chain = fixed_end + of_values;
        let chain_end = chain + 8 + 8 * number(chain)?;
        let mut at = chain_end;
        if self.has_raw {
            // A size of 32 bits, which fills up a word with what follows.
            at += 4 + (word(at)? as u32) as usize;
        }
        let (registers, has_registers) = (at, word(at)? != 0);
        let copied = if has_registers { self.registers.count_ones() as usize } else { 0 };
        let stack = registers + 8 + 8 * copied;
        let room = number(stack)?;
        let (valid, end) = match room {
            0 => (0, stack + 8),
            _ => (number(stack + 8 + room)?.min(room), stack + 8 + room + 8),
        };
        let places = Places { chain, chain_end, registers, has_registers, stack, room, valid, end };
        (end <= size).then_some(places)
    }

    fn places_in(&self, record: &[u8]) -> Option<Places> {
        self.places(record.len(), |at| word_in(record, at))
    }

    /// What of a sample can be walked, if anything.
    pub fn walkable<'a>(&self, record: &'a [u8]) -> Option<Walkable<'a>> {
        let places = self.places_in(record)?;
        let is_64_bit = word_in(record, places.registers)? == ABI_64;
        if places.valid == 0 || !is_64_bit {
            return None;
        }
        Some(Walkable {
            registers: CopiedRegisters {
                mask: self.registers,
                values: record.get(places.registers + 8..places.stack)?,
            },
            stack: record.get(places.stack + 8..)?.get(..places.valid)?,
            extent: match places.valid >= self.asked || record.len() > MAX_RECORD_SIZE - 64 {
                true => CopyExtent::AllAskedFor,
                false => CopyExtent::AllThereIs,
            },
            thread: {
                let both = word_in(record, self.pid)?;
                Thread { pid: both as u32, tid: (both >> 32) as u32 }
            },
        })
    }

    /// Appends a sample with its callers in place of registers and copy: addresses, innermost first, of callers those that
    /// they return to. Written are those before, within the calls, as perf tells them where it walks: it names an address of
    /// a chain as it is, and what a call returns to that never returns is another function. Registers without a copy say that there are more
    /// callers: perf takes no notice of them. `None` if it has no room for all this.
    pub fn write_walked(
        &self,
        record: &[u8],
        callers: &[u64],
        reached: Reached,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let places = self.places_in(record)?;
        // Where it goes on by what was read later, a second marker stands.
        let in_copy = match reached {
            Reached::RootBehind(frames) => frames.min(callers.len()),
            Reached::Root | Reached::EndOfCopy => callers.len(),
        };
        let (callers, behind) = callers.split_at(in_copy);
        let marked_again = if behind.is_empty() { &[][..] } else { &[CONTEXT_USER] };
        let words = 1 + callers.len() + marked_again.len() + behind.len();
        let callers_size = 8 * words;
        if record.len() - (places.end - places.stack) + 16 + callers_size > MAX_RECORD_SIZE {
            return None;
        }
        let count = word_in(record, places.chain)? + words as u64;
        let start = out.len();
        out.extend_from_slice(record.get(..places.chain)?);
        out.extend_from_slice(&count.to_ne_bytes());
        out.extend_from_slice(record.get(places.chain + 8..places.chain_end)?);
        let (&innermost, callers) = callers.split_first()?;
        let within_call = |returns_to: &u64| returns_to.wrapping_sub(1);
        let chain = [CONTEXT_USER, innermost].into_iter().chain(callers.iter().map(within_call));
        let behind = marked_again.iter().copied().chain(behind.iter().map(within_call));
        out.extend(chain.chain(behind).flat_map(u64::to_ne_bytes));
        out.extend_from_slice(record.get(places.chain_end..places.registers)?);
        match reached {
            Reached::Root | Reached::RootBehind(_) => out.extend_from_slice(&[0; 8]),
            Reached::EndOfCopy => {
                out.extend_from_slice(record.get(places.registers..places.stack)?);
            }
        }
        // No bytes of stack.
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(record.get(places.end..)?);
        set_size(&mut out[start..]);
        Some(())
    }

    /// Appends a sample with so many bytes of its copy; `None` if it has no more.
    pub fn write_cut(&self, record: &[u8], kept: usize, out: &mut Vec<u8>) -> Option<()> {
        let kept = kept.next_multiple_of(8);
        let places = self.places_in(record).filter(|places| places.room > kept)?;
        RingBytes { first: record, second: &[] }.append_cut(0..record.len(), places, kept, out);
        Some(())
    }

    /// Appends what a ring holds, in one or two pieces, without what of copies is not there.
    pub fn copy(&self, ring: &RingBytes<'_>, out: &mut Vec<u8>) {
        out.reserve(ring.len());
        let mut at = 0;
        while let Some(header) = ring.header(at) {
            if header.size < RECORD_HEADER_SIZE || at + header.size > ring.len() {
                break;
            }
            let places = match header.record_type {
                RecordType::SAMPLE => self.places(header.size, |within| ring.word(at + within)),
                _ => None,
            };
            match places.filter(|places| places.has_registers && places.room > 0) {
                None => ring.append(at..at + header.size, out),
                Some(places) => {
                    let kept = places.valid.next_multiple_of(8).min(places.room);
                    ring.append_cut(at..at + header.size, places, kept, out);
                }
            }
            at += header.size;
        }
        ring.append(at..ring.len(), out);
    }
}

/// The records of a ring, which may go on at its beginning.
pub struct RingBytes<'a> {
    /// Up to the ring's end.
    pub first: &'a [u8],
    /// From its beginning on.
    pub second: &'a [u8],
}

impl RingBytes<'_> {
    /// How many bytes they are.
    pub fn len(&self) -> usize {
        self.first.len() + self.second.len()
    }

    /// Records are of whole words, so none is in both pieces.
    fn word(&self, at: usize) -> Option<u64> {
        match at.checked_sub(self.first.len()) {
            None => word_in(self.first, at),
            Some(at) => word_in(self.second, at),
        }
    }

    fn header(&self, at: usize) -> Option<RecordHeader> {
        RecordHeader::read(&self.word(at)?.to_ne_bytes(), ByteOrder::NATIVE)
    }

    /// Appends all of it.
    pub fn append_all(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.first);
        out.extend_from_slice(self.second);
    }

    /// Appends a sample with so many whole words of its copy.
    fn append_cut(&self, sample: Range<usize>, places: Places, kept: usize, out: &mut Vec<u8>) {
        let (at, start) = (sample.start, out.len());
        self.append(at..at + places.stack, out);
        out.extend_from_slice(&(kept as u64).to_ne_bytes());
        if kept > 0 {
            let copy = at + places.stack + 8;
            self.append(copy..copy + kept, out);
            out.extend_from_slice(&(places.valid.min(kept) as u64).to_ne_bytes());
        }
        self.append(at + places.end..sample.end, out);
        set_size(&mut out[start..]);
    }

    fn append(&self, range: Range<usize>, out: &mut Vec<u8>) {
        let split = self.first.len();
        let of = |piece: &[u8], start: usize, end: usize, out: &mut Vec<u8>| {
            out.extend_from_slice(piece.get(start..end).unwrap_or_default());
        };
        of(self.first, range.start.min(split), range.end.min(split), out);
        of(self.second, range.start.max(split) - split, range.end.max(split) - split, out);
    }
}

fn word_in(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Notes in a record how long it has become.
fn set_size(record: &mut [u8]) {
    let size = record.len() as u16;
    record[6..8].copy_from_slice(&size.to_ne_bytes());
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Fields and registers of samples that are made here: of the latter stack and instruction pointer.
    pub const BITS: u64 = sample_type::IP
        | sample_type::TID
        | sample_type::TIME
        | sample_type::CALLCHAIN
        | sample_type::REGS_USER
        | sample_type::STACK_USER;
    /// The same.
    pub const REGISTERS: u64 =
        if cfg!(target_arch = "x86_64") { 1 << 7 | 1 << 8 } else { 1 << 31 | 1 << 32 };

    /// As the kernel writes it: process 7 at this address, with room for so many bytes of its stack.
    pub fn sample(ip: u64, time: u64, stack: &[u8], room: usize) -> Vec<u8> {
        let kernel = [(-128_i64) as u64, 0xffff_ffff_8000_0000];
        let mut words = vec![ip, 7 | 7 << 32, time, 2, kernel[0], kernel[1]];
        words.extend([ABI_64, 0x7000, ip, room as u64]);
        let mut body: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
        if room > 0 {
            body.extend_from_slice(stack);
            body.resize(body.len() + room - stack.len(), 0xaa);
            body.extend_from_slice(&(stack.len() as u64).to_ne_bytes());
        }
        record(RecordType::SAMPLE, &body)
    }

    fn record(kind: RecordType, body: &[u8]) -> Vec<u8> {
        let size = (RECORD_HEADER_SIZE + body.len()) as u16;
        [&kind.0.to_ne_bytes()[..], &[0; 2], &size.to_ne_bytes(), body].concat()
    }

    #[test]
    fn what_of_a_copy_is_not_there_does_not_leave_the_ring() {
        let samples = StackSamples::new(BITS, None, REGISTERS, 64).expect("copies");
        let before = record(RecordType::COMM, b"12345678");
        let taken = [
            before.clone(),
            sample(0x1234, 5, b"copied", 64),
            sample(0x1234, 6, &[], 64),
            sample(0x1234, 7, &[], 0),
            before.clone(),
        ];
        let kept = [
            before.clone(),
            [&sample(0x1234, 5, b"copied\xaa\xaa", 8)[..], &[][..]].concat(),
            sample(0x1234, 6, &[], 0),
            sample(0x1234, 7, &[], 0),
            before,
        ];
        let mut kept = kept.concat();
        // Six of the eight bytes are valid.
        let at = 16 + sample(0x1234, 5, &[0; 8], 8).len() - 8;
        kept[at..at + 8].copy_from_slice(&6_u64.to_ne_bytes());
        let taken = taken.concat();
        for end in (0..=taken.len()).step_by(8) {
            let (first, second) = taken.split_at(end);
            let mut out = Vec::new();
            samples.copy(&RingBytes { first, second }, &mut out);
            assert_eq!(out, kept, "the ring ends at {end}");
        }
    }

    /// The samples of a leader have the values of its group before their chain.
    #[test]
    fn values_of_counters_stay_where_they_are() {
        use perftab_perfdata::format::attr::read_format::{GROUP, ID, LOST, TOTAL_TIME_RUNNING};

        let alone = sample(0x1234, 5, &[1; 16], 32);
        let chain = 8 + 3 * 8;
        let mut walked_alone = Vec::new();
        let samples = StackSamples::new(BITS, None, REGISTERS, 16).expect("copies");
        samples.write_walked(&alone, &[0x1234], Reached::Root, &mut walked_alone).expect("room");
        for (format, values) in [
            (ID, &[70, 1][..]),
            (GROUP | ID | LOST, &[2, 70, 1, 0, 80, 2, 0]),
            (GROUP | ID | TOTAL_TIME_RUNNING, &[2, 900, 70, 1, 80, 2]),
        ] {
            let values: Vec<u8> = values.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
            let with_values = |record: &[u8]| {
                let mut with = [&record[..chain], &values, &record[chain..]].concat();
                set_size(&mut with);
                with
            };
            let taken = with_values(&alone);
            let samples = StackSamples::new(BITS | sample_type::READ, Some(format), REGISTERS, 16);
            let samples = samples.expect("copies");
            assert_eq!(samples.walkable(&taken).expect("it has a copy").stack, &[1; 16]);
            let mut out = Vec::new();
            samples.write_walked(&taken, &[0x1234], Reached::Root, &mut out).expect("room");
            assert_eq!(out, with_values(&walked_alone));
            for cut in 0..taken.len() {
                let _nothing_happens = samples.walkable(&taken[..cut]);
            }
        }
    }

    #[test]
    fn callers_take_the_place_of_registers_and_stack() {
        let samples = StackSamples::new(BITS, None, REGISTERS, 16).expect("copies");
        let taken = sample(0x1234, 5, &[1; 16], 32);
        let walkable = samples.walkable(&taken).expect("it has a copy");
        assert_eq!(walkable.thread, Thread { pid: 7, tid: 7 });
        assert_eq!(walkable.stack, &[1; 16]);
        assert_eq!(walkable.extent, CopyExtent::AllAskedFor);
        let numbers = if cfg!(target_arch = "x86_64") { [7, 8, 6] } else { [31, 32, 29] };
        let values = numbers.map(|number| walkable.registers.get(number));
        assert_eq!(values, [Some(0x7000), Some(0x1234), None]);
        let mut out = Vec::new();
        let callers = [0x1234, 0x5678];
        samples.write_walked(&taken, &callers, Reached::Root, &mut out).expect("there is room");
        let words_of = |record: &[u8]| -> Vec<u64> {
            record[8..].as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
        };
        let words = words_of(&out);
        let kernel = [(-128_i64) as u64, 0xffff_ffff_8000_0000];
        let chain = [5, kernel[0], kernel[1], CONTEXT_USER, 0x1234, 0x5677];
        assert_eq!(words, [&[0x1234, 7 | 7 << 32, 5][..], &chain, &[0, 0]].concat());
        assert_eq!(usize::from(u16::from_ne_bytes([out[6], out[7]])), out.len());
        assert!(samples.walkable(&out).is_none());
        let mut longer = Vec::new();
        let callers = [0x1234, 0x5678, 0x9abc];
        samples
            .write_walked(&taken, &callers, Reached::RootBehind(2), &mut longer)
            .expect("there is room");
        let chain = [7, kernel[0], kernel[1], CONTEXT_USER, 0x1234, 0x5677, CONTEXT_USER, 0x9abb];
        let expected = [&[0x1234, 7 | 7 << 32, 5][..], &chain, &[0, 0]].concat();
        assert_eq!(words_of(&longer), expected);
        let callers = [0x1234, 0x5678];
        let mut cut = Vec::new();
        samples
            .write_walked(&taken, &callers, Reached::EndOfCopy, &mut cut)
            .expect("there is room");
        let registers = [ABI_64, 0x7000, 0x1234, 0];
        assert_eq!(words_of(&cut), [&words[..words.len() - 2], &registers].concat());
        let cut = |copy: &[u8], room| {
            let mut less = Vec::new();
            let cut = samples.write_cut(&sample(0x1234, 5, copy, room), 10, &mut less);
            cut.map(|()| less)
        };
        assert_eq!(cut(&[1; 24], 32), Some(sample(0x1234, 5, &[1; 16], 16)));
        assert_eq!(cut(&[1; 16], 16), None);
        let long = samples.write_walked(&taken, &[1; 8200], Reached::Root, &mut out);
        assert!(long.is_none(), "a record has 64 KiB");
        // Whatever is in it.
        for cut in 0..taken.len() {
            let _nothing_happens = samples.walkable(&taken[..cut]);
        }
    }
}
