//! Copies of user stacks, kept from the first reading for whoever unwinds them.
//!
//! Most of a copy is what the one before of its thread had at the same addresses, so of each only the words are kept
//! that differ: of `perf record --call-graph dwarf` of Python, Node.js and compilers a fifteenth, of compilers alone a
//! fifth. They are put together again exactly. Readers and writers have the same pictures of stacks, in which the word
//! of an address has its place wherever the stack pointer is.
//!
//! Where that would be too much, nothing is kept, and the recording is read once more.

use std::sync::Arc;

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::sample::Words;
use perftab_perfdata::decode::sample_tail::{RegisterAbi, Registers, SampleTail, UserStack};

use super::watch::{DumpedSample, SampleKey};
use crate::Profile;

/// Bytes that are kept.
const MAX_KEPT: usize = 128 << 20;
/// Pictures of stacks. Threads share them, by number: where two take turns more differs.
const PICTURES: usize = 256;
const WORD: usize = size_of::<u64>();
/// Words of a stack for which one word says which of them differ.
const GROUP: usize = u64::BITS as usize;
/// Words that are compared at once: most are as they were.
const AT_ONCE: usize = 8;
/// Words of a copy and its registers, and those that say which differ: a record has less than 64 KiB.
const MOST_CHANGES: usize = 9 << 10;
/// Words of a chunk: 1 MiB.
const CHUNK: usize = 1 << 17;

/// Copies of stacks, in the order of the recording.
#[derive(Default)]
pub struct KeptDumps {
    keys: Vec<SampleKey>,
    dumps: Vec<KeptDump>,
    /// What differs, dump after dump: which registers and their values, then the same of each group of words.
    changes: Vec<Vec<u64>>,
    pictures: Pictures,
    is_given_up: bool,
}

#[derive(Clone, Copy)]
struct KeptDump {
    /// What program it is of, and which registers were recorded.
    registers: Option<(RegisterAbi, u64)>,
    order: ByteOrder,
    picture: u8,
    /// Words that were copied.
    words: u16,
    /// Bytes that were to be copied.
    most: u32,
}

/// What was on some stacks last, and in the registers.
struct Picture {
    registers: [u64; GROUP],
    /// As many words as a power of two.
    stack: Vec<u64>,
}

/// None before the first copy.
#[derive(Default)]
struct Pictures(Vec<Picture>);

impl KeptDumps {
    /// Keeps a copy, if all before are kept; `None` stands for one that is not read yet: its sample may have several rows, or
    /// is not as it should be.
    pub(super) fn keep<'a>(&mut self, sample: impl FnOnce() -> Option<DumpedSample<'a>>) {
        if self.is_given_up {
            return;
        }
        match sample().filter(|_| self.size() < MAX_KEPT) {
            Some(sample) => self.add(&sample),
            None => *self = Self { is_given_up: true, ..Self::default() },
        }
    }

    /// Bytes of memory.
    fn size(&self) -> usize {
        let of_each = size_of::<SampleKey>() + size_of::<KeptDump>();
        self.changes.len() * CHUNK * WORD + self.keys.len() * of_each
    }

    fn add(&mut self, sample: &DumpedSample<'_>) {
        let SampleTail { user_registers, user_stack, .. } = sample.tail;
        let Some(stack) = user_stack.filter(|stack| !stack.bytes.is_empty()) else { return };
        let dump = KeptDump {
            registers: user_registers.map(|it| (it.abi, it.mask)),
            order: user_registers.map_or(ByteOrder::Little, |it| it.values.order()),
            picture: sample.key.tid as u8,
            words: (stack.bytes.len() / WORD) as u16,
            most: stack.most as u32,
        };
        let has_room = |chunk: &Vec<u64>| chunk.len() + MOST_CHANGES <= CHUNK;
        if !self.changes.last().is_some_and(has_room) {
            self.changes.push(Vec::with_capacity(CHUNK));
        }
        let Some(changes) = self.changes.last_mut() else { return };
        let values = user_registers.map_or(&[][..], |it| it.values.bytes());
        let picture = self.pictures.of(dump);
        note(&mut picture.registers, values, changes);
        let [first, second] = picture.stack_of(dump);
        let (bytes, rest) = stack.bytes.split_at(first.len() * WORD);
        note(first, bytes, changes);
        note(second, rest, changes);
        self.keys.push(sample.key);
        self.dumps.push(dump);
    }

    /// Nothing more is kept.
    pub(super) fn end(mut self) -> Self {
        self.pictures = Pictures::default();
        self
    }

    /// Begins to read them; `None` if they are not all of the recording, or if rows of its profile cannot be told apart.
    pub fn read(self: &Arc<Self>, profile: &Profile) -> Option<KeptReading> {
        let rows = self.keys.iter().map(|key| key.row_in(profile)).collect::<Option<_>>()?;
        self.read_as(rows)
    }

    fn read_as(self: &Arc<Self>, rows: Arc<[usize]>) -> Option<KeptReading> {
        let reading = || KeptReading::begin(Arc::clone(self), rows);
        (!self.is_given_up && !self.dumps.is_empty()).then(reading)
    }
}

impl Pictures {
    /// The picture for a copy, large enough for it.
    fn of(&mut self, dump: KeptDump) -> &mut Picture {
        self.0.resize_with(PICTURES, || Picture { registers: [0; GROUP], stack: Vec::new() });
        let picture = &mut self.0[usize::from(dump.picture)];
        let words = usize::from(dump.words).next_power_of_two();
        if picture.stack.len() < words {
            picture.stack = vec![0; words];
        }
        picture
    }
}

impl Picture {
    /// Where the words of a copy are, whose registers it has: up to its end, and from its beginning on.
    fn stack_of(&mut self, dump: KeptDump) -> [&mut [u64]; 2] {
        let (mask, words) = (dump.registers.map_or(0, |it| it.1), usize::from(dump.words));
        // By `asm/perf_regs.h` of arm64, which has 33 registers, and x86. Elsewhere more differs.
        let pointer = if mask >> 32 & 1 == 0 { 7 } else { 31 };
        let before = (mask & ((1 << pointer) - 1)).count_ones() as usize;
        let from = (self.registers[before] as usize / WORD) & (self.stack.len() - 1);
        let (start, end) = self.stack.split_at_mut(from);
        let first = words.min(end.len());
        [&mut end[..first], &mut start[..words - first]]
    }
}

/// Makes words those that `bytes` have, and notes which differed.
fn note(known: &mut [u64], bytes: &[u8], changes: &mut Vec<u64>) {
    for (known, bytes) in known.chunks_mut(GROUP).zip(bytes.as_chunks().0.chunks(GROUP)) {
        let noted = changes.len();
        changes.push(0);
        let mut which = 0;
        let (known, known_rest) = known[..bytes.len()].as_chunks_mut::<AT_ONCE>();
        let (bytes, rest) = bytes.as_chunks::<AT_ONCE>();
        let behind = known.len() * AT_ONCE;
        for (place, (known, bytes)) in known.iter_mut().zip(bytes).enumerate() {
            if differ(known, bytes) {
                which |= note_each(known, bytes, changes) << (place * AT_ONCE);
            }
        }
        which |= note_each(known_rest, rest, changes) << (behind % GROUP);
        changes[noted] = which;
    }
}

#[inline(always)]
fn differ(known: &[u64; AT_ONCE], bytes: &[[u8; WORD]; AT_ONCE]) -> bool {
    let mut difference = 0;
    for place in 0..AT_ONCE {
        difference |= known[place] ^ u64::from_le_bytes(bytes[place]);
    }
    difference != 0
}

/// Which of these words differ, a bit for each.
fn note_each(known: &mut [u64], bytes: &[[u8; WORD]], changes: &mut Vec<u64>) -> u64 {
    let mut which = 0;
    for (place, (known, bytes)) in known.iter_mut().zip(bytes).enumerate() {
        let word = u64::from_le_bytes(*bytes);
        if *known != word {
            *known = word;
            which |= 1 << place;
            changes.push(word);
        }
    }
    which
}

/// Makes words those that were noted.
fn follow(known: &mut [u64], changes: &mut impl Iterator<Item = u64>) {
    for known in known.chunks_mut(GROUP) {
        let mut which = changes.next().unwrap_or(0);
        while which != 0 {
            let place = which.trailing_zeros() as usize;
            which &= which - 1;
            if let (Some(known), Some(word)) = (known.get_mut(place), changes.next()) {
                *known = word;
            }
        }
    }
}

fn put(words: &[u64], bytes: &mut [u8]) {
    for (word, bytes) in words.iter().zip(bytes.as_chunks_mut().0) {
        *bytes = word.to_le_bytes();
    }
}

/// Copies of stacks being put together again, one after the other.
pub struct KeptReading {
    kept: Arc<KeptDumps>,
    rows: Arc<[usize]>,
    /// Number of the next copy.
    next: usize,
    pictures: Pictures,
    /// The chunk of changes, and which of its words is the next.
    at: (usize, usize),
    /// Registers and stack of the last copy.
    bytes: Vec<u8>,
}

impl KeptReading {
    /// Of no copies.
    pub fn nothing() -> Self {
        Self::begin(Arc::default(), Arc::new([]))
    }

    fn begin(kept: Arc<KeptDumps>, rows: Arc<[usize]>) -> Self {
        let (pictures, bytes) = (Pictures::default(), Vec::new());
        Self { kept, rows, next: 0, pictures, at: (0, 0), bytes }
    }

    /// The same from the beginning, for another thread.
    pub fn again(&self) -> Self {
        Self::begin(Arc::clone(&self.kept), Arc::clone(&self.rows))
    }

    /// Goes on to the next copy: the row of its sample.
    pub fn go_on(&mut self) -> Option<usize> {
        let Self { kept, rows, next, pictures, at: (chunk, word), .. } = self;
        let dump = *kept.dumps.get(*next)?;
        if *word == kept.changes.get(*chunk)?.len() {
            (*chunk, *word) = (*chunk + 1, 0);
        }
        let changes = kept.changes.get(*chunk)?.get(*word..)?;
        let mut left = changes.iter().copied();
        let picture = pictures.of(dump);
        let registers = dump.registers.map_or(0, |it| it.1.count_ones());
        follow(&mut picture.registers[..registers as usize], &mut left);
        picture.stack_of(dump).into_iter().for_each(|words| follow(words, &mut left));
        *word += changes.len() - left.len();
        *next += 1;
        rows.get(*next - 1).copied()
    }

    /// How many copies were gone through, and of how many.
    pub fn progress(&self) -> (usize, usize) {
        (self.next, self.rows.len())
    }

    /// What the sample of the last copy has behind its call chain, as far as it matters for the stack.
    pub fn tail(&mut self) -> SampleTail<'_> {
        let Some(&dump) = self.next.checked_sub(1).and_then(|last| self.kept.dumps.get(last))
        else {
            return SampleTail::default();
        };
        let picture = self.pictures.of(dump);
        let (abi, mask) = dump.registers.unwrap_or((RegisterAbi::Bits64, 0));
        let registers = mask.count_ones() as usize;
        self.bytes.resize((registers + usize::from(dump.words)) * WORD, 0);
        let (of_registers, of_stack) = self.bytes.split_at_mut(registers * WORD);
        put(&picture.registers[..registers], of_registers);
        let [first, second] = picture.stack_of(dump);
        let (of_first, of_second) = of_stack.split_at_mut(first.len() * WORD);
        put(first, of_first);
        put(second, of_second);
        let (registers, stack) = self.bytes.split_at(registers * WORD);
        let values = Words::new(registers, dump.order);
        SampleTail {
            user_registers: dump.registers.map(|_| Registers { abi, mask, values }),
            user_stack: Some(UserStack::of(stack, dump.most as usize)),
            ..SampleTail::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EventId;

    struct Random(u64);

    impl Random {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % end
        }
    }

    struct Copy {
        tid: u32,
        mask: u64,
        registers: Vec<u8>,
        stack: Vec<u8>,
    }

    impl Copy {
        /// Of a stack that ends at an address of this thread, with as many bytes, of which some differ each time.
        fn of(random: &mut Random, mask: u64, length: u64) -> Self {
            let tid = random.below(600) as u32;
            let end = 0x7fff_0000_0000 + (u64::from(tid) << 24);
            let start = end - length - random.below(3) / 2;
            let values =
                (0..64).filter(|number| mask >> number & 1 == 1).map(|number| match number {
                    7 | 31 => start,
                    _ => random.below(4),
                });
            let registers = values.flat_map(u64::to_le_bytes).collect();
            let stack = (0..length / 8).map(|word| match random.below(50) {
                0 => random.below(1 << 31) << 16,
                _ => (end - length + 8 * word) / 0x100,
            });
            let mut stack: Vec<u8> = stack.flat_map(u64::to_le_bytes).collect();
            stack.resize(length as usize, 1);
            Self { tid, mask, registers, stack }
        }

        fn tail(&self, length: usize) -> SampleTail<'_> {
            let values = Words::new(&self.registers, ByteOrder::Little);
            let registers = Registers { abi: RegisterAbi::Bits64, mask: self.mask, values };
            let stack = UserStack::of(&self.stack[..length], 65_528);
            let user_registers = (self.mask != 0).then_some(registers);
            SampleTail { user_registers, user_stack: Some(stack), ..SampleTail::default() }
        }

        fn sample(&self) -> DumpedSample<'_> {
            let key =
                SampleKey { time_nanos: 1, tid: self.tid, event: EventId(0), cpu: 0, weight: 1 };
            DumpedSample { key, pid: 1, tail: self.tail(self.stack.len()) }
        }
    }

    #[test]
    fn copies_come_out_as_they_went_in() {
        let mut random = Random(1);
        let masks = [0xff_0fff, (1 << 33) - 1, 1 << 7 | 1 << 8, u64::MAX, 0];
        let copies: Vec<Copy> = (0..3_000)
            .map(|_| {
                let length = match random.below(20) {
                    0 => random.below(65_528),
                    few => 1 + few % 7 * random.below(1_500),
                };
                let mask = masks[random.below(5) as usize];
                Copy::of(&mut random, mask, length)
            })
            .filter(|copy| !copy.stack.is_empty())
            .collect();
        let mut kept = KeptDumps::default();
        copies.iter().for_each(|copy| kept.keep(|| Some(copy.sample())));
        let rows = (0..copies.len()).rev().collect();
        let mut reading = Arc::new(kept.end()).read_as(rows).expect("they are kept");
        for (number, copy) in copies.iter().enumerate() {
            assert_eq!(reading.go_on(), Some(copies.len() - 1 - number));
            assert_eq!(reading.progress(), (number + 1, copies.len()));
            // A rest of a word is not kept.
            let whole = copy.stack.len() / 8 * 8;
            assert!(reading.tail() == copy.tail(whole), "{number}");
        }
        assert_eq!(reading.go_on(), None);
    }

    #[test]
    fn what_is_too_much_or_not_whole_is_not_kept() {
        let mut random = Random(2);
        let mut copy = Copy::of(&mut random, 0xff_0fff, 32 << 10);
        let mut kept = KeptDumps::default();
        let mut bytes = 0;
        while !kept.is_given_up {
            copy.stack.as_chunks_mut().0.iter_mut().for_each(|word: &mut [u8; 8]| {
                *word = (u64::from_le_bytes(*word) ^ 0x5555).to_le_bytes();
            });
            kept.keep(|| Some(copy.sample()));
            bytes += copy.stack.len();
            assert!(kept.size() <= MAX_KEPT + CHUNK * WORD);
        }
        assert!(bytes > MAX_KEPT / 2 && kept.size() == 0);
        assert!(Arc::new(kept.end()).read_as([].into()).is_none());

        let mut kept = KeptDumps::default();
        kept.keep(|| Some(copy.sample()));
        kept.keep(|| None);
        kept.keep(|| Some(copy.sample()));
        assert!(Arc::new(kept.end()).read_as([].into()).is_none());
    }
}
