//! What a memory access was, as the hardware says: `union perf_mem_data_src`.
//!
//! Bits are those of `include/uapi/linux/perf_event.h` (Linux 6.15). The union is declared for both byte
//! orders so that as a number it is the same in both. Texts are perf's
//! (tools/perf/util/mem-events.c, Linux 6.1), but for levels that got a meaning later: 5 to 8 are named as
//! newer kernels define them, and hops that none defines are shown as a number.

use std::fmt::{self, Display, Formatter};

/// A memory access, field by field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataSource(u64);

/// A part of what is known of an access. Each has a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessPart {
    /// Load, store, prefetch, execute.
    Operation,
    /// Where the data was found: cache, memory, how far away.
    Level,
    /// What other caches said.
    Snoop,
    /// How the address was translated.
    Tlb,
    /// Whether it was locked.
    Lock,
    /// What a load had to wait for.
    Blocked,
}

/// Bits of a field: the first, and how many.
type Bits = (u32, u32);

const OPERATION: Bits = (0, 5);
const LEVEL: Bits = (5, 14);
const SNOOP: Bits = (19, 5);
const LOCK: Bits = (24, 2);
const TLB: Bits = (26, 7);
const LEVEL_NUMBER: Bits = (33, 4);
const REMOTE: Bits = (37, 1);
const SNOOP_MORE: Bits = (38, 2);
const BLOCKED: Bits = (40, 3);
const HOPS: Bits = (43, 3);

/// The lowest bit of most fields: nothing is known.
const NOT_AVAILABLE: u64 = 1;
/// Bits of [`LEVEL`] and [`TLB`].
const HIT: u64 = 2;
const MISS: u64 = 4;

const OPERATIONS: [&str; 5] = ["N/A", "LOAD", "STORE", "PFETCH", "EXEC"];
/// Hit and miss have no names here: they come last.
const LEVELS: [&str; 14] = [
    "N/A",
    "",
    "",
    "L1",
    "LFB/MAB",
    "L2",
    "L3",
    "Local RAM",
    "Remote RAM (1 hop)",
    "Remote RAM (2 hops)",
    "Remote Cache (1 hop)",
    "Remote Cache (2 hops)",
    "I/O",
    "Uncached",
];
/// By number from 1 on.
const LEVEL_NUMBERS: [&str; 15] = [
    "L1",
    "L2",
    "L3",
    "L4",
    "L2 MHB",
    "Memory-side Cache",
    "L0",
    "Uncached",
    "CXL",
    "I/O",
    "Any cache",
    "LFB/MAB",
    "RAM",
    "PMEM",
    "N/A",
];
/// By number from 1 on.
const HOP_NAMES: [&str; 4] =
    ["core, same node", "node, same socket", "socket, same board", "board"];
const SNOOPS: [&str; 5] = ["N/A", "None", "Hit", "Miss", "HitM"];
const MORE_SNOOPS: [&str; 2] = ["Fwd", "Peer"];
const TLBS: [&str; 7] = ["N/A", "", "", "L1", "L2", "Walker", "Fault"];

impl DataSource {
    /// What is said of samples that have no such field: perf's `PERF_MEM_DATA_SRC_NONE`.
    pub const NONE: Self = Self(
        NOT_AVAILABLE << OPERATION.0
            | NOT_AVAILABLE << LEVEL.0
            | NOT_AVAILABLE << SNOOP.0
            | NOT_AVAILABLE << LOCK.0
            | NOT_AVAILABLE << TLB.0,
    );

    /// The field of a sample. Any number is one.
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// As it stands in the sample.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The bits that the text of a part is made of.
    pub fn only(self, part: AccessPart) -> Self {
        let fields: &[Bits] = match part {
            AccessPart::Operation => &[OPERATION],
            AccessPart::Level => &[LEVEL, LEVEL_NUMBER, REMOTE, HOPS],
            AccessPart::Snoop => &[SNOOP, SNOOP_MORE],
            AccessPart::Tlb => &[TLB],
            AccessPart::Lock => &[LOCK],
            AccessPart::Blocked => &[BLOCKED],
        };
        Self(fields.iter().fold(0, |bits, &field| bits | self.field(field) << field.0))
    }

    /// What is known of a part, as perf writes it.
    pub fn text(self, part: AccessPart) -> impl Display {
        PartText { source: self, part }
    }

    fn field(self, (first, width): Bits) -> u64 {
        self.0 >> first & ((1 << width) - 1)
    }

    /// The first that is set, as only one should be.
    fn write_operation(self, out: &mut Formatter<'_>) -> fmt::Result {
        let operation = self.field(OPERATION);
        let known = OPERATIONS.get(operation.trailing_zeros() as usize);
        out.write_str(known.unwrap_or(&"No"))
    }

    fn write_level(self, out: &mut Formatter<'_>) -> fmt::Result {
        let level = self.field(LEVEL);
        let is_remote = self.field(REMOTE) != 0;
        let number = LEVEL_NUMBERS.get((self.field(LEVEL_NUMBER) as usize).wrapping_sub(1));
        if is_remote {
            out.write_str("Remote ")?;
        }
        let mut list = List::default();
        // How far it was says more than the older bits.
        match self.field(HOPS) as usize {
            0 => list.write_set(out, level, &LEVELS)?,
            hops => match HOP_NAMES.get(hops - 1) {
                Some(name) => write!(out, "{name} ")?,
                None => write!(out, "{hops} hops ")?,
            },
        }
        if let Some(number) = number {
            list.write(out, number)?;
        }
        if list.is_empty() && !is_remote && self.field(HOPS) == 0 {
            out.write_str("N/A")?;
        }
        write_outcome(out, level)
    }

    fn write_snoop(self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut list = List::default();
        list.write_set(out, self.field(SNOOP), &SNOOPS)?;
        list.write_set(out, self.field(SNOOP_MORE), &MORE_SNOOPS)?;
        if list.is_empty() { out.write_str("N/A") } else { Ok(()) }
    }

    fn write_tlb(self, out: &mut Formatter<'_>) -> fmt::Result {
        let tlb = self.field(TLB);
        let mut list = List::default();
        list.write_set(out, tlb, &TLBS)?;
        if list.is_empty() {
            out.write_str("N/A")?;
        }
        write_outcome(out, tlb)
    }

    fn write_lock(self, out: &mut Formatter<'_>) -> fmt::Result {
        const LOCKED: u64 = 2;
        let lock = self.field(LOCK);
        out.write_str(match (lock & NOT_AVAILABLE, lock & LOCKED) {
            (0, 0) => "No",
            (0, _) => "Yes",
            _ => "N/A",
        })
    }

    fn write_blocked(self, out: &mut Formatter<'_>) -> fmt::Result {
        const DATA: u64 = 2;
        const ADDRESS: u64 = 4;
        let blocked = self.field(BLOCKED);
        out.write_str(match (blocked & NOT_AVAILABLE, blocked & DATA, blocked & ADDRESS) {
            (0, DATA, ADDRESS) => "Data Addr",
            (0, DATA, _) => "Data",
            (0, _, ADDRESS) => "Addr",
            _ => "N/A",
        })
    }
}

/// All parts, as `perf script` writes them.
impl Display for DataSource {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let text = |part| self.text(part);
        write!(out, "|OP {}", text(AccessPart::Operation))?;
        write!(out, "|LVL {}", text(AccessPart::Level))?;
        write!(out, "|SNP {}", text(AccessPart::Snoop))?;
        write!(out, "|TLB {}", text(AccessPart::Tlb))?;
        write!(out, "|LCK {}", text(AccessPart::Lock))?;
        write!(out, "|BLK  {}", text(AccessPart::Blocked))
    }
}

struct PartText {
    source: DataSource,
    part: AccessPart,
}

impl Display for PartText {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self.part {
            AccessPart::Operation => self.source.write_operation(out),
            AccessPart::Level => self.source.write_level(out),
            AccessPart::Snoop => self.source.write_snoop(out),
            AccessPart::Tlb => self.source.write_tlb(out),
            AccessPart::Lock => self.source.write_lock(out),
            AccessPart::Blocked => self.source.write_blocked(out),
        }
    }
}

fn write_outcome(out: &mut Formatter<'_>, bits: u64) -> fmt::Result {
    out.write_str(if bits & HIT != 0 { " hit" } else { "" })?;
    out.write_str(if bits & MISS != 0 { " miss" } else { "" })
}

/// Names with "or" between them.
#[derive(Default)]
struct List {
    written: usize,
}

impl List {
    fn is_empty(&self) -> bool {
        self.written == 0
    }

    fn write(&mut self, out: &mut Formatter<'_>, name: &str) -> fmt::Result {
        if !self.is_empty() {
            out.write_str(" or ")?;
        }
        self.written += 1;
        out.write_str(name)
    }

    /// The names of the bits that are set.
    fn write_set(&mut self, out: &mut Formatter<'_>, bits: u64, names: &[&str]) -> fmt::Result {
        let set = names.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 != 0);
        for (_, name) in set.filter(|(_, name)| !name.is_empty()) {
            self.write(out, name)?;
        }
        Ok(())
    }
}

/// Bytes of a page, as perf writes them (`get_page_size_name` in tools/perf/util/event.c, Linux 6.1): a unit is left where less
/// than two of the next are.
pub fn page_size_text(bytes: u64) -> String {
    if bytes == 0 {
        return "N/A".to_owned();
    }
    let (mut number, mut unit) = (bytes, "B");
    for larger in ["K", "M", "G"] {
        if number / 1024 > 1 {
            (number, unit) = (number / 1024, larger);
        }
    }
    format!("{number}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(number: u64) -> String {
        DataSource::new(number).to_string()
    }

    // Numbers and texts of `perf script -F data_src` of perf 6.1; `real/memory_accesses.rs` has all bits.
    #[test]
    fn texts_are_those_of_perf() {
        let known = [
            (0x0, "|OP No|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A"),
            (0x102_2810_0142, "|OP LOAD|LVL L1 or L1 hit|SNP None|TLB L1 hit|LCK No|BLK  N/A"),
            (
                0x246_4a20_0442,
                "|OP LOAD|LVL L2 or L3 hit|SNP Hit or Fwd|TLB L2 hit|LCK Yes|BLK  Data",
            ),
            (
                0x41a_9240_1082,
                "|OP LOAD|LVL Local RAM or RAM miss|SNP Miss|TLB Walker miss|LCK Yes|BLK  Addr",
            ),
            (
                0x83a_0000_1040,
                "|OP No|LVL Remote core, same node RAM hit|SNP N/A|TLB N/A|LCK No|BLK  N/A",
            ),
        ];
        for (number, text) in known {
            assert_eq!(texts(number), text, "{number:#x}");
        }
        assert_eq!(
            DataSource::NONE.to_string(),
            "|OP N/A|LVL N/A|SNP N/A|TLB N/A|LCK N/A|BLK  N/A"
        );
    }

    #[test]
    fn levels_that_newer_kernels_define_have_their_names() {
        let level = |number: u64| {
            DataSource::new(number << LEVEL_NUMBER.0 | 2 << LEVEL.0).text(AccessPart::Level)
        };
        let texts: Vec<String> = (5..9).map(|number| level(number).to_string()).collect();
        assert_eq!(texts, ["L2 MHB hit", "Memory-side Cache hit", "L0 hit", "Uncached hit"]);
    }

    #[test]
    fn parts_have_all_bits_that_their_text_needs_and_no_other() {
        use AccessPart::*;
        const PARTS: [AccessPart; 6] = [Operation, Level, Snoop, Tlb, Lock, Blocked];
        let all = PARTS.map(|part| DataSource::new(u64::MAX).only(part).number());
        assert_eq!(all.iter().fold(0, |bits, part| bits | part), (1 << (HOPS.0 + HOPS.1)) - 1);
        assert_eq!(all.iter().map(|part| part.count_ones()).sum::<u32>(), HOPS.0 + HOPS.1);
        for part in PARTS {
            for number in [0, u64::MAX, 0x246_4a20_0442, 0x83a_0000_1040, 0x41a_9240_1082] {
                let source = DataSource::new(number);
                assert_eq!(source.only(part).text(part).to_string(), source.text(part).to_string());
            }
        }
    }

    // As `perf report --sort data_page_size` of perf 6.1 prints them.
    #[test]
    fn sizes_of_pages_are_those_of_perf() {
        let sizes = [0, 1024, 4096, 12345, 64 << 10, 2 << 20, 1 << 30, 16 << 30, u64::MAX];
        let texts = ["N/A", "1024B", "4K", "12K", "64K", "2M", "1024M", "16G", "17179869183G"];
        assert_eq!(sizes.map(page_size_text), texts);
    }

    #[test]
    fn any_number_has_a_text() {
        for number in [u64::MAX, 7 << HOPS.0, 5 << HOPS.0 | 1 << LEVEL_NUMBER.0] {
            assert!(texts(number).starts_with("|OP "), "{number:#x}");
        }
        let far = DataSource::new(7 << HOPS.0).text(AccessPart::Level);
        assert_eq!(far.to_string(), "7 hops ");
    }
}
