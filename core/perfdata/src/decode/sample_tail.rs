//! What follows the call chain of a sample, field by field.
//!
//! Only some readers want it, so it is decoded apart from the rest. In the order of
//! `perf_output_sample` (`kernel/events/core.c`), each where its bit of `sample_type` is set:
//!
//! ```c
//! u32 size; u8 raw[size];                                      // RAW, 4 + size a multiple of 8
//! u64 nr; [u64 hw_idx]; struct perf_branch_entry lbr[nr]; [u64 counters[nr]]; // BRANCH_STACK
//! u64 abi; u64 regs[popcount(mask)] if abi;                    // REGS_USER
//! u64 size; u8 stack[size]; u64 dyn_size if size;              // STACK_USER
//! u64 weight or { u32, u16, u16 };                             // WEIGHT, WEIGHT_STRUCT
//! u64 data_src; u64 transaction;                               // DATA_SRC, TRANSACTION
//! u64 abi; u64 regs[popcount(mask)] if abi;                    // REGS_INTR
//! u64 phys_addr; u64 cgroup; u64 data_page_size; u64 code_page_size;
//! u64 size; u8 aux[size];                                      // AUX
//! ```

use std::ops::Range;

use super::sample::{Words, tail_start};
use crate::decode::attr::{SampleLayout, TailLayout};
use crate::decode::{ByteOrder, Cursor};
use crate::error::DecodeError;
use crate::format::attr::{branch_sample_type, sample_type};

/// Bytes of an entry of a branch stack.
const BRANCH_SIZE: usize = 24;

/// The fields after the call chain; `None` for those that were not recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleTail<'a> {
    /// Payload of a tracepoint, in the producer's own layout.
    pub raw: Option<&'a [u8]>,
    /// Last branches.
    pub branches: Option<BranchStack<'a>>,
    /// Registers of user space.
    pub user_registers: Option<Registers<'a>>,
    /// Copy of the user stack; empty in samples that waited for their turn in the order of time,
    /// see [`stack_dump`].
    pub user_stack: Option<UserStack<'a>>,
    /// Cost of the sampled access, by the hardware's measure.
    pub weight: Option<Weight>,
    /// What memory access it was, `union perf_mem_data_src`.
    pub data_source: Option<u64>,
    /// Flags of the transaction that was aborted.
    pub transaction: Option<u64>,
    /// Registers where the event's interrupt came.
    pub interrupt_registers: Option<Registers<'a>>,
    /// Physical data address.
    pub physical_address: Option<u64>,
    /// Id of the cgroup.
    pub cgroup: Option<u64>,
    /// Size of the page of the data address.
    pub data_page_size: Option<u64>,
    /// Size of the page of the instruction pointer.
    pub code_page_size: Option<u64>,
    /// A piece of an instruction trace.
    pub aux: Option<&'a [u8]>,
}

/// Whether the fields and the record end in the same place, as they must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailEnd {
    /// They do.
    Exact,
    /// Bytes follow the last field.
    Early,
    /// A field does not fit; it and those after it are absent.
    Cut,
}

impl<'a> SampleTail<'a> {
    /// Decodes [`super::sample::RawSample::tail`].
    pub fn decode(layout: &TailLayout, tail: &'a [u8], order: ByteOrder) -> (Self, TailEnd) {
        let decode = |index| Self::with_index(layout, tail, order, index);
        let decoded = decode(HardwareIndex::AsAsked);
        // The kernel leaves the index away where it had no branches at all, which only the end
        // of the record can tell from an index.
        let is_empty = decoded.0.branches.is_some_and(|branches| branches.entries.is_empty());
        let is_asked = layout.branch_sample_type & branch_sample_type::HW_INDEX != 0;
        if decoded.1 != TailEnd::Exact && is_asked && (is_empty || decoded.0.branches.is_none()) {
            let without = decode(HardwareIndex::LeftAway);
            if without.1 == TailEnd::Exact {
                return without;
            }
        }
        decoded
    }

    fn with_index(
        layout: &TailLayout,
        tail: &'a [u8],
        order: ByteOrder,
        index: HardwareIndex,
    ) -> (Self, TailEnd) {
        let mut cursor = Cursor::new(tail, 0, order, "a sample");
        let mut decoded = Self::default();
        let end = match decoded.read(layout, &mut cursor, index) {
            Err(_) => TailEnd::Cut,
            Ok(()) if cursor.rest().is_empty() => TailEnd::Exact,
            Ok(()) => TailEnd::Early,
        };
        (decoded, end)
    }

    /// Fills in the fields until one does not fit.
    fn read(
        &mut self,
        layout: &TailLayout,
        cursor: &mut Cursor<'a>,
        index: HardwareIndex,
    ) -> Result<(), DecodeError> {
        let tail = cursor.rest().len();
        if layout.has(sample_type::RAW) {
            let size = cursor.u32()?;
            self.raw = Some(cursor.take_u64(size.into())?);
        }
        if layout.has(sample_type::BRANCH_STACK) {
            let index = match layout.branch_sample_type & branch_sample_type::HW_INDEX {
                0 => HardwareIndex::LeftAway,
                _ => index,
            };
            self.branches = Some(BranchStack::read(layout, cursor, index)?);
        }
        if layout.has(sample_type::REGS_USER) {
            self.user_registers = Registers::read(layout.user_registers, cursor)?;
        }
        if layout.has(sample_type::STACK_USER) {
            self.user_stack = Some(UserStack::read(cursor, tail)?);
        }
        if layout.has(sample_type::WEIGHT | sample_type::WEIGHT_STRUCT) {
            let word = cursor.u64()?;
            self.weight = Some(match layout.has(sample_type::WEIGHT_STRUCT) {
                true => Weight::parted(word),
                false => Weight::Whole(word),
            });
        }
        let mut word = |bit| layout.has(bit).then(|| cursor.u64()).transpose();
        self.data_source = word(sample_type::DATA_SRC)?;
        self.transaction = word(sample_type::TRANSACTION)?;
        if layout.has(sample_type::REGS_INTR) {
            self.interrupt_registers = Registers::read(layout.interrupt_registers, cursor)?;
        }
        let mut word = |bit| layout.has(bit).then(|| cursor.u64()).transpose();
        self.physical_address = word(sample_type::PHYS_ADDR)?;
        self.cgroup = word(sample_type::CGROUP)?;
        self.data_page_size = word(sample_type::DATA_PAGE_SIZE)?;
        self.code_page_size = word(sample_type::CODE_PAGE_SIZE)?;
        if layout.has(sample_type::AUX) {
            let size = cursor.u64()?;
            self.aux = Some(cursor.take_u64(size)?);
        }
        Ok(())
    }
}

/// Copy of the top of the user stack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserStack<'a> {
    /// What the kernel could copy, from the stack pointer on.
    pub bytes: &'a [u8],
    /// How many bytes it would have copied of a stack that long.
    pub most: usize,
    /// Where the field begins in the tail, and where it ends.
    span: (usize, usize),
}

impl<'a> UserStack<'a> {
    /// A copy that stands in no record.
    pub fn of(bytes: &'a [u8], most: usize) -> Self {
        Self { bytes, most, span: (0, 0) }
    }

    /// Where in the tail the field stands: from its size to the count of valid bytes.
    pub fn span(&self) -> Range<usize> {
        self.span.0..self.span.1
    }

    /// `u64 size`, the bytes, and how many of them are valid. `all` is the whole tail.
    fn read(cursor: &mut Cursor<'a>, all: usize) -> Result<Self, DecodeError> {
        let start = all - cursor.rest().len();
        let size = cursor.u64()?;
        let bytes = cursor.take_u64(size)?;
        let valid = if size == 0 { 0 } else { cursor.u64()? };
        let valid = usize::try_from(valid).unwrap_or(bytes.len()).min(bytes.len());
        Ok(Self {
            bytes: &bytes[..valid],
            most: bytes.len(),
            span: (start, all - cursor.rest().len()),
        })
    }
}

/// Where in `body` the copy of the user stack stands: from its size to the count of valid bytes.
/// [`NO_STACK_DUMP`] in its place leaves a sample without a copy and everything else as it was,
/// which is how samples wait for their turn. `None` if there is no copy, or if the sample does not
/// end where its fields do, so that what seems to be one may be none.
pub fn stack_dump(layout: &SampleLayout, body: &[u8], order: ByteOrder) -> Option<Range<usize>> {
    if !layout.tail.has(sample_type::STACK_USER) {
        return None;
    }
    let start = tail_start(layout, body, order)?;
    let (tail, end) = SampleTail::decode(&layout.tail, body.get(start..)?, order);
    let span = tail.user_stack.filter(|_| end == TailEnd::Exact)?.span();
    Some(start + span.start..start + span.end)
}

/// A stack dump of no bytes.
pub const NO_STACK_DUMP: [u8; 8] = [0; 8];

/// Weight of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// One number.
    Whole(u64),
    /// Three numbers, whose meaning the CPU decides; the first is the whole cost.
    Parted(u32, u16, u16),
}

impl Weight {
    /// The whole cost.
    pub fn cost(self) -> u64 {
        match self {
            Self::Whole(cost) => cost,
            Self::Parted(cost, ..) => cost.into(),
        }
    }

    /// `union perf_sample_weight` is declared for both byte orders so that the first part is the
    /// low half of the word.
    fn parted(word: u64) -> Self {
        Self::Parted(word as u32, (word >> 32) as u16, (word >> 48) as u16)
    }
}

/// Values of registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Registers<'a> {
    /// Registers of a 32-bit or a 64-bit program.
    pub abi: RegisterAbi,
    /// Which registers, a bit for each, numbered by the architecture.
    pub mask: u64,
    /// Their values, by ascending number.
    pub values: Words<'a>,
}

/// Width of the program whose registers they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterAbi {
    /// 32 bits.
    Bits32,
    /// 64 bits.
    Bits64,
}

impl<'a> Registers<'a> {
    fn read(mask: u64, cursor: &mut Cursor<'a>) -> Result<Option<Self>, DecodeError> {
        let abi = match cursor.u64()? {
            0 => return Ok(None),
            1 => RegisterAbi::Bits32,
            _ => RegisterAbi::Bits64,
        };
        let values = cursor.take(mask.count_ones() as usize * 8)?;
        Ok(Some(Self { abi, mask, values: Words::new(values, cursor.order()) }))
    }

    /// The value of the register of this number.
    pub fn get(&self, number: u32) -> Option<u64> {
        let bit = 1u64.checked_shl(number)?;
        let before = (self.mask & (bit - 1)).count_ones() as usize;
        (self.mask & bit != 0).then(|| self.values.get(before)).flatten()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HardwareIndex {
    AsAsked,
    LeftAway,
}

/// Which branches were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchesAsked {
    /// Those of every kind: what ran between two that follow each other ran in a line.
    Any,
    /// Those of some kinds, such as calls.
    Some,
}

/// The last branches before the sample, newest first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BranchStack<'a> {
    /// Which branches can be among them.
    pub asked: BranchesAsked,
    /// Where in the hardware's ring the newest entry stands; `None` if unknown or not recorded.
    pub hardware_index: Option<u64>,
    entries: Words<'a>,
    /// Occurrences of events during each branch, in bits that the PMU decides.
    pub counters: Option<Words<'a>>,
}

impl<'a> BranchStack<'a> {
    fn read(
        layout: &TailLayout,
        cursor: &mut Cursor<'a>,
        index: HardwareIndex,
    ) -> Result<Self, DecodeError> {
        let order = cursor.order();
        let count = cursor.u64()?;
        let hardware_index = match index {
            HardwareIndex::AsAsked => Some(cursor.u64()?).filter(|&index| index != u64::MAX),
            HardwareIndex::LeftAway => None,
        };
        let entries = cursor.take_u64(count.saturating_mul(BRANCH_SIZE as u64))?;
        let has_counters = layout.branch_sample_type & branch_sample_type::COUNTERS != 0;
        let counters =
            has_counters.then(|| cursor.take_u64(count.saturating_mul(8))).transpose()?;
        let asked = match layout.branch_sample_type & branch_sample_type::ANY {
            0 => BranchesAsked::Some,
            _ => BranchesAsked::Any,
        };
        Ok(Self {
            asked,
            hardware_index,
            entries: Words::new(entries, order),
            counters: counters.map(|bytes| Words::new(bytes, order)),
        })
    }

    /// The branches, newest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Branch> + 'a {
        let order = self.entries.order();
        let mut words = self.entries.iter();
        (0..words.len() / 3).map(move |_| {
            let mut word = || words.next().unwrap_or(0);
            Branch { from: word(), to: word(), flags: BranchFlags::of_word(word(), order) }
        })
    }

    /// The same up to the first entry that was never filled: kernels copy a buffer whole that the CPU had emptied when
    /// another thread began to run.
    pub fn filled(&self) -> impl Iterator<Item = Branch> + 'a {
        self.iter().take_while(|branch| branch.from != 0 || branch.to != 0)
    }

    /// How many branches there are.
    pub fn len(&self) -> usize {
        self.entries.len() / 3
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A branch that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Address of the branch.
    pub from: u64,
    /// Where it led.
    pub to: u64,
    /// What is known of it.
    pub flags: BranchFlags,
}

/// What is known of a branch, numbered as little-endian machines lay the C bit field out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BranchFlags(u64);

impl BranchFlags {
    /// First bit and width of each field of `struct perf_branch_entry` after `to`: mispred,
    /// predicted, in_tx, abort, cycles, type, spec, new_type, priv.
    const FIELDS: [(u32, u32); 9] =
        [(0, 1), (1, 1), (2, 1), (3, 1), (4, 16), (20, 4), (24, 2), (26, 4), (30, 3)];

    /// Of the word that a machine of this byte order writes: compilers for big-endian ones allocate each field from the
    /// top.
    pub fn of_word(word: u64, order: ByteOrder) -> Self {
        Self(match order {
            ByteOrder::Little => word,
            ByteOrder::Big => Self::FIELDS.iter().fold(0, |flags, &(first, width)| {
                flags | (word >> (64 - first - width) & ((1 << width) - 1)) << first
            }),
        })
    }

    fn field(self, index: usize) -> u64 {
        let (first, width) = Self::FIELDS[index];
        self.0 >> first & ((1 << width) - 1)
    }

    /// The same without type, speculation and privilege.
    pub fn outcome(self) -> Self {
        Self(self.0 & 0xf_ffff)
    }

    /// The same without cycles.
    pub fn without_cycles(self) -> Self {
        Self(self.0 & !0xf_fff0)
    }

    /// The target was mispredicted.
    pub fn is_mispredicted(self) -> bool {
        self.field(0) != 0
    }

    /// The target was predicted.
    pub fn is_predicted(self) -> bool {
        self.field(1) != 0
    }

    /// Inside of a transaction.
    pub fn is_in_transaction(self) -> bool {
        self.field(2) != 0
    }

    /// The transaction was aborted.
    pub fn is_abort(self) -> bool {
        self.field(3) != 0
    }

    /// Cycles since the branch before; 0 if unknown.
    pub fn cycles(self) -> u16 {
        self.field(4) as u16
    }

    /// `PERF_BR_*`; the extended ones (`PERF_BR_NEW_*`) begin at 16.
    pub fn branch_type(self) -> u8 {
        /// `PERF_BR_EXTEND_ABI`: the other field has it.
        const EXTENDED: u64 = 15;
        match self.field(5) {
            EXTENDED => 16 + self.field(7) as u8,
            known => known as u8,
        }
    }

    /// The same as a word of `perf script` (`PERF_BR_*` without what they begin with); empty if it is not known.
    pub fn branch_type_name(self) -> &'static str {
        /// By number; `include/uapi/linux/perf_event.h`, Linux 6.1.
        const NAMES: [&str; 24] = [
            "",
            "COND",
            "UNCOND",
            "IND",
            "CALL",
            "IND_CALL",
            "RET",
            "SYSCALL",
            "SYSRET",
            "COND_CALL",
            "COND_RET",
            "ERET",
            "IRQ",
            "SERROR",
            "NO_TX",
            "",
            "FAULT_ALGN",
            "FAULT_DATA",
            "FAULT_INST",
            "ARCH_1",
            "ARCH_2",
            "ARCH_3",
            "ARCH_4",
            "ARCH_5",
        ];
        NAMES.get(usize::from(self.branch_type())).copied().unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::attr::Attr;
    use crate::decode::sample;

    /// `perf_event_attr` with these words at these offsets.
    fn layout(sample_type: u64, fields: &[(usize, u64)], order: ByteOrder) -> SampleLayout {
        let mut attr = [0; 144];
        let mut put = |offset: usize, word: u64| {
            let bytes = match order {
                ByteOrder::Little => word.to_le_bytes(),
                ByteOrder::Big => word.to_be_bytes(),
            };
            attr[offset..offset + 8].copy_from_slice(&bytes);
        };
        put(24, sample_type);
        fields.iter().for_each(|&(offset, word)| put(offset, word));
        let size = match order {
            ByteOrder::Little => 144u32.to_le_bytes(),
            ByteOrder::Big => 144u32.to_be_bytes(),
        };
        attr[4..8].copy_from_slice(&size);
        SampleLayout::new(&Attr::read(&attr, 0, order).expect("an attr"))
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    const BRANCH_SAMPLE_TYPE: usize = 72;
    const USER_REGISTERS: usize = 80;
    const INTERRUPT_REGISTERS: usize = 96;

    /// Every field that comes after the call chain, bit by bit in the order of the record.
    #[test]
    fn every_field_has_its_place() {
        let bits = [0u32, 5, 10, 11, 12, 13, 24, 15, 17, 18, 19, 21, 22, 23, 20];
        let sample_type = bits.iter().fold(0, |bits, bit| bits | 1u64 << bit);
        let asked = [
            (BRANCH_SAMPLE_TYPE, 1 << 17 | 1 << 19),
            (USER_REGISTERS, 0b1001_0000),
            (INTERRUPT_REGISTERS, 0b1),
        ];
        let layout = layout(sample_type, &asked, ByteOrder::Little);
        let mut body = words(&[0xfeed, 2, 0xaa, 0xbb]); // IP, call chain
        body.extend([4, 0, 0, 0, 9, 8, 7, 6]); // RAW
        body.extend(words(&[1, 5, 0x10, 0x20, 1 << 1 | 300 << 4 | 15 << 20 | 3 << 26, 77]));
        body.extend(words(&[2, 0x44, 0x77])); // two user registers
        body.extend(words(&[16, 0x51, 0x52, 8])); // stack dump, half of it valid
        body.extend(words(&[3 << 48 | 2 << 32 | 1, 0xd5, 0x7a])); // weight, data_src, transaction
        body.extend(words(&[1, 0x99])); // one register at the interrupt
        body.extend(words(&[0xfa, 0xc6, 4096, 8192])); // physical address … page sizes
        body.extend(words(&[8, 0xa0a0])); // AUX

        let raw = sample::decode(&layout, &body, ByteOrder::Little).expect("a sample");
        assert_eq!(raw.call_chain.iter().collect::<Vec<_>>(), [0xaa, 0xbb]);
        let (tail, end) = SampleTail::decode(&layout.tail, raw.tail, ByteOrder::Little);
        assert_eq!(end, TailEnd::Exact);
        assert_eq!(tail.raw, Some(&[9, 8, 7, 6][..]));
        let branches = tail.branches.expect("branches");
        assert_eq!(branches.hardware_index, Some(5));
        let [branch] = branches.iter().collect::<Vec<_>>()[..] else { panic!("one branch") };
        assert_eq!((branch.from, branch.to), (0x10, 0x20));
        assert!(branch.flags.is_predicted() && !branch.flags.is_mispredicted());
        assert_eq!((branch.flags.cycles(), branch.flags.branch_type()), (300, 19));
        assert_eq!(branches.counters.expect("counters").iter().collect::<Vec<_>>(), [77]);
        let registers = tail.user_registers.expect("registers");
        assert_eq!((registers.get(4), registers.get(7)), (Some(0x44), Some(0x77)));
        assert_eq!((registers.get(5), registers.get(64)), (None, None));
        assert_eq!(tail.user_stack.expect("a stack").bytes, words(&[0x51]));
        assert_eq!(tail.weight, Some(Weight::Parted(1, 2, 3)));
        assert_eq!((tail.data_source, tail.transaction), (Some(0xd5), Some(0x7a)));
        assert_eq!(tail.interrupt_registers.and_then(|it| it.get(0)), Some(0x99));
        assert_eq!((tail.physical_address, tail.cgroup), (Some(0xfa), Some(0xc6)));
        assert_eq!((tail.data_page_size, tail.code_page_size), (Some(4096), Some(8192)));
        assert_eq!(tail.aux, Some(&words(&[0xa0a0])[..]));

        // Without its stack dump the sample says the same of everything else.
        let dump = stack_dump(&layout, &body, ByteOrder::Little).expect("a dump");
        let held = [&body[..dump.start], &NO_STACK_DUMP, &body[dump.end..]].concat();
        assert_eq!(body.len() - held.len(), 24);
        let raw = sample::decode(&layout, &held, ByteOrder::Little).expect("a sample");
        let (without, end) = SampleTail::decode(&layout.tail, raw.tail, ByteOrder::Little);
        assert_eq!(end, TailEnd::Exact);
        assert!(without.user_stack.expect("an empty stack").bytes.is_empty());
        assert_eq!(SampleTail { user_stack: tail.user_stack, ..without }, tail);
    }

    #[test]
    fn a_sample_cut_anywhere_keeps_the_fields_before_the_cut() {
        let bits = 1 << 12 | 1 << 14 | 1 << 21; // REGS_USER, WEIGHT, CGROUP
        let layout = layout(bits, &[(USER_REGISTERS, 0b11)], ByteOrder::Little);
        let whole = words(&[2, 0x44, 0x77, 12, 0xc6]);
        for length in 0..whole.len() {
            let (tail, end) = SampleTail::decode(&layout.tail, &whole[..length], ByteOrder::Little);
            assert_eq!(end, TailEnd::Cut);
            assert_eq!(tail.user_registers.is_some(), length >= 24);
            assert_eq!(tail.weight.is_some(), length >= 32);
            assert_eq!(tail.cgroup, None);
        }
        let longer = [&whole[..], &[0; 8]].concat();
        let (tail, end) = SampleTail::decode(&layout.tail, &longer, ByteOrder::Little);
        assert_eq!((tail.cgroup, end), (Some(0xc6), TailEnd::Early));
    }

    #[test]
    fn counts_beyond_the_record_are_cuts() {
        let raw = layout(1 << 10, &[], ByteOrder::Little);
        let (_, end) = SampleTail::decode(&raw.tail, &[8, 0, 0, 0, 1, 2, 3, 4], ByteOrder::Little);
        assert_eq!(end, TailEnd::Cut);
        for bit in [11, 13, 20] {
            let layout = layout(1 << bit, &[(BRANCH_SAMPLE_TYPE, 1 << 19)], ByteOrder::Little);
            for count in [9, 1 << 61, u64::MAX / 24 + 2, u64::MAX] {
                let (_, end) =
                    SampleTail::decode(&layout.tail, &words(&[count, 0]), ByteOrder::Little);
                assert_eq!(end, TailEnd::Cut, "bit {bit}, count {count}");
            }
        }
    }

    #[test]
    fn no_branches_come_with_and_without_an_index() {
        let bits = 1 << 11 | 1 << 14; // BRANCH_STACK, WEIGHT
        let layout = layout(bits, &[(BRANCH_SAMPLE_TYPE, 1 << 17)], ByteOrder::Little);
        for tail in [words(&[0, 3, 12]), words(&[0, 12])] {
            let (tail, end) = SampleTail::decode(&layout.tail, &tail, ByteOrder::Little);
            assert_eq!((tail.weight, end), (Some(Weight::Whole(12)), TailEnd::Exact));
            assert!(tail.branches.is_some_and(|branches| branches.is_empty()));
        }
    }

    #[test]
    fn branch_flags_of_big_endian_machines() {
        let word = 1 << 62 | 300 << 44 | 15 << 40 | 2 << 38 | 3 << 34 | 1 << 31;
        let flags = BranchFlags::of_word(word, ByteOrder::Big);
        assert!(flags.is_predicted() && !flags.is_mispredicted());
        assert!(!flags.is_in_transaction() && !flags.is_abort());
        assert_eq!((flags.cycles(), flags.branch_type()), (300, 19));
    }
}
