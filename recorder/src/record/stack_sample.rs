//! Samples with a copy of the stack, as the kernel lays them out.
//!
//! The copy takes the room that was asked for, however little of it is there. What is not there is left out as records
//! leave the ring.

use std::ops::Range;

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::decode::sample::{self, RawSample};
use perftab_perfdata::decode::sample_tail::{RegisterAbi, Registers, SampleTail, UserStack};
use perftab_perfdata::format::record::{CONTEXT_USER, MAX_RECORD_SIZE, RecordType};

use super::sample_layouts::{SampleLayouts, chain_in};

/// What is known of such samples before any is taken.
#[derive(Clone, Debug)]
pub struct StackSamples {
    layouts: SampleLayouts,
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

/// What one has, and where: in bytes from its beginning.
struct Fields<'a> {
    raw: RawSample<'a>,
    /// From the count of its words on.
    chain: Range<usize>,
    registers_at: usize,
    /// Of a thread that has a part in user space.
    registers: Option<Registers<'a>>,
    /// From its size to the count of bytes that are valid.
    stack_at: Range<usize>,
    stack: UserStack<'a>,
}

/// A sample whose user stack can be walked.
pub struct Walkable<'a> {
    /// By perf's numbers.
    pub registers: Registers<'a>,
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

impl StackSamples {
    /// Of these samples, with so many bytes of the stack; `None` if they have no copy.
    pub fn new(layouts: SampleLayouts, asked: u32) -> Option<Self> {
        let asked = usize::try_from(asked).ok()?;
        (asked > 0).then_some(Self { layouts, asked })
    }

    /// When a sample was taken.
    pub fn time(&self, record: &[u8]) -> Option<u64> {
        self.layouts.time(record)
    }

    fn fields<'a>(&self, record: &'a [u8]) -> Option<Fields<'a>> {
        let (layout, body) = self.layouts.of_sample(record)?;
        let raw = sample::decode(layout, body, ByteOrder::NATIVE)?;
        let chain = chain_in(record, &raw);
        let (tail, _) = SampleTail::decode(&layout.tail, raw.tail, ByteOrder::NATIVE);
        let (registers, stack) = (tail.user_registers, tail.user_stack?);
        let span = stack.span();
        let stack_at = chain.end + span.start..chain.end + span.end;
        let of_registers = 8 + registers.map_or(0, |registers| registers.values.bytes().len());
        Some(Fields {
            raw,
            chain,
            registers_at: stack_at.start.checked_sub(of_registers)?,
            registers,
            stack_at,
            stack,
        })
    }

    /// What of a sample can be walked, if anything.
    pub fn walkable<'a>(&self, record: &'a [u8]) -> Option<Walkable<'a>> {
        let Fields { raw, registers, stack, .. } = self.fields(record)?;
        let registers = registers.filter(|it| it.abi == RegisterAbi::Bits64)?;
        let has_filled_record =
            record.len() > MAX_RECORD_SIZE - 64 && stack.bytes.len() == stack.most;
        (!stack.bytes.is_empty()).then_some(Walkable {
            registers,
            stack: stack.bytes,
            extent: match stack.bytes.len() >= self.asked || has_filled_record {
                true => CopyExtent::AllAskedFor,
                false => CopyExtent::AllThereIs,
            },
            thread: Thread { pid: raw.pid, tid: raw.tid },
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
        let fields = self.fields(record)?;
        // Where it goes on by what was read later, a second marker stands.
        let in_copy = match reached {
            Reached::RootBehind(frames) => frames.min(callers.len()),
            Reached::Root | Reached::EndOfCopy => callers.len(),
        };
        let (callers, behind) = callers.split_at(in_copy);
        let marked_again = if behind.is_empty() { &[][..] } else { &[CONTEXT_USER] };
        let words = 1 + callers.len() + marked_again.len() + behind.len();
        let callers_size = 8 * words;
        if record.len() - fields.stack_at.len() + 16 + callers_size > MAX_RECORD_SIZE {
            return None;
        }
        let count = (fields.raw.call_chain.len() + words) as u64;
        let start = out.len();
        out.extend_from_slice(record.get(..fields.chain.start)?);
        out.extend_from_slice(&count.to_ne_bytes());
        out.extend_from_slice(fields.raw.call_chain.bytes());
        let (&innermost, callers) = callers.split_first()?;
        let within_call = |returns_to: &u64| returns_to.wrapping_sub(1);
        let chain = [CONTEXT_USER, innermost].into_iter().chain(callers.iter().map(within_call));
        let behind = marked_again.iter().copied().chain(behind.iter().map(within_call));
        out.extend(chain.chain(behind).flat_map(u64::to_ne_bytes));
        out.extend_from_slice(record.get(fields.chain.end..fields.registers_at)?);
        match reached {
            Reached::Root | Reached::RootBehind(_) => out.extend_from_slice(&[0; 8]),
            Reached::EndOfCopy => {
                out.extend_from_slice(record.get(fields.registers_at..fields.stack_at.start)?);
            }
        }
        // No bytes of stack.
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(record.get(fields.stack_at.end..)?);
        set_size(&mut out[start..]);
        Some(())
    }

    /// Appends a sample with so many bytes of its copy; `None` if it has no more.
    pub fn write_cut(&self, record: &[u8], kept: usize, out: &mut Vec<u8>) -> Option<()> {
        let fields = self.fields(record)?;
        // What the stack did not fill is what was in the ring before.
        let kept = kept.min(fields.stack.bytes.len()).next_multiple_of(8);
        (fields.stack.most > kept).then(|| fields.append_cut(record, kept, out))
    }

    /// Appends a record without what of its copy is not there.
    pub fn copy(&self, record: &[u8], out: &mut Vec<u8>) {
        let is_sample = RecordHeader::read(record, ByteOrder::NATIVE)
            .is_some_and(|header| header.record_type == RecordType::SAMPLE);
        let fields = if is_sample { self.fields(record) } else { None };
        match fields.filter(|fields| fields.registers.is_some() && fields.stack.most > 0) {
            None => out.extend_from_slice(record),
            Some(fields) => {
                let there = fields.stack.bytes.len().next_multiple_of(8).min(fields.stack.most);
                fields.append_cut(record, there, out);
            }
        }
    }
}

impl Fields<'_> {
    /// Appends the sample that they are of with so many whole words of its copy.
    fn append_cut(&self, record: &[u8], kept: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&record[..self.stack_at.start]);
        out.extend_from_slice(&(kept as u64).to_ne_bytes());
        if kept > 0 {
            out.extend_from_slice(&record[self.stack_at.start + 8..][..kept]);
            let valid = self.stack.bytes.len().min(kept);
            out.extend_from_slice(&(valid as u64).to_ne_bytes());
        }
        out.extend_from_slice(&record[self.stack_at.end..]);
        set_size(&mut out[start..]);
    }
}

/// Notes in a record how long it has become.
pub(super) fn set_size(record: &mut [u8]) {
    let size = record.len() as u16;
    record[6..8].copy_from_slice(&size.to_ne_bytes());
}

#[cfg(test)]
pub mod tests {
    use perf_event_open_sys::bindings::perf_event_attr;
    use perftab_perfdata::format::attr::sample_type;
    use perftab_perfdata::format::record::RECORD_HEADER_SIZE;

    use super::super::ring::RingBytes;
    use super::super::ring_copy::RingCopy;
    use super::super::sample_layouts::tests::{of_events, with};
    use super::*;

    /// `PERF_SAMPLE_REGS_ABI_64`.
    const ABI_64: u64 = 2;

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

    /// Those, with so many bytes of the stack.
    pub fn samples(asked: u32) -> StackSamples {
        samples_with(BITS, 0, asked)
    }

    fn samples_with(sample_type: u64, read_format: u64, asked: u32) -> StackSamples {
        let attr = with(sample_type);
        let attr = perf_event_attr { read_format, sample_regs_user: REGISTERS, ..attr };
        StackSamples::new(of_events([(attr, &[][..])]), asked).expect("copies")
    }

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
        let copy = RingCopy::WithoutRoomOfStacks(samples(64));
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
            copy.copy(&RingBytes { first, second }, &mut out);
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
        let samples = samples(16);
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
            let samples = samples_with(BITS | sample_type::READ, format, 16);
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
        let samples = samples(16);
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
        // No more than was there.
        assert_eq!(cut(&[1; 8], 32), Some(sample(0x1234, 5, &[1; 8], 8)));
        let extent = |copied: usize, room| {
            let taken = sample(0x1234, 5, &vec![1; copied], room);
            self::samples(65_528).walkable(&taken).map(|it| it.extent)
        };
        // The kernel has made less room than was asked for.
        assert_eq!(extent(65_400, 65_400), Some(CopyExtent::AllAskedFor));
        assert_eq!(extent(65_392, 65_400), Some(CopyExtent::AllThereIs));
        assert_eq!(extent(64, 64), Some(CopyExtent::AllThereIs));
        let long = samples.write_walked(&taken, &[1; 8200], Reached::Root, &mut out);
        assert!(long.is_none(), "a record has 64 KiB");
        // Whatever is in it.
        for cut in 0..taken.len() {
            let _nothing_happens = samples.walkable(&taken[..cut]);
        }
    }
}
