//! Procedure linkage tables: which function each of their entries jumps to.
//!
//! Nothing says how large a table's header and entries are. It depends on the linker, on its options
//! (lazy, `-z now`, `-z ibtplt`, `-z retpolineplt`, `-z pac-plt`) and on the machine, and not even
//! the order of the entries must be that of the relocations. So the code itself is read: an entry
//! loads its target from a slot of the global offset table, and the dynamic linker writes into that
//! slot the address of the symbol of its relocation. An entry that is not understood has no name.
//!
//! Of x86, whose instructions differ in length, a table is read from its start to the first
//! instruction that no linker is known to put there. Elsewhere each word is an instruction.

use perftab_perfdata::map::Map;

use object::elf::{self, Machine};
use perftab_perfdata::decode::ReadError;

use super::elf::{Class, Elf, RawRelocation, Section};
use super::image::Image;

/// An entry of a procedure linkage table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PltEntry {
    /// Where it begins.
    pub start: u64,
    /// Where it ends (exclusive).
    pub end: u64,
    /// Index of the dynamic symbol that it jumps to.
    pub symbol: u32,
}

/// The entries of all linkage tables of a file that jump to a symbol, in no order.
pub(super) fn plt_entries(image: &Image, elf: &Elf) -> Result<Vec<PltEntry>, ReadError> {
    let Some(kinds) = SlotKinds::of(elf.machine) else { return Ok(Vec::new()) };
    let slots = slots(image, elf, &kinds)?;
    if slots.is_empty() {
        return Ok(Vec::new());
    }
    let got = match elf.machine {
        elf::EM_386 => plt_got(image, elf)?,
        _ => None,
    };
    let mut jumps = Vec::new();
    for section in within_file(image, elf.sections.iter().filter(|section| is_table(section))) {
        let code = image.section_bytes(elf, section)?;
        let table = Table { elf, code: &code, address: section.address };
        jumps.extend(table.jumps(got));
    }
    // The table's header reads what the dynamic linker left there. But if another entry reads what no
    // relocation writes, the register does not hold what it is taken for.
    let is_relative = |jump: &&Jump| jump.base == Base::Register;
    let is_base_wrong = jumps.iter().filter(is_relative).any(|jump| {
        let is_header = got.is_some_and(|got| jump.slot == got.wrapping_add(HEADER_SLOT_386));
        !is_header && !slots.contains_key(&jump.slot)
    });
    jumps.retain(|jump| jump.base == Base::Known || !is_base_wrong);
    let entry = |jump: Jump| {
        let symbol = slots.get(&jump.slot).copied().flatten()?;
        Some(PltEntry { start: jump.start, end: jump.end, symbol })
    };
    Ok(jumps.into_iter().filter_map(entry).collect())
}

/// Where the third word of the table is that the dynamic linker fills (System V ABI, i386).
const HEADER_SLOT_386: u64 = 8;

/// The numbers of relocations that write the address of a symbol into a slot.
struct SlotKinds {
    of_symbol: [u32; 2],
}

impl SlotKinds {
    /// GLOB_DAT, or what stands for it, and JUMP_SLOT, as in the psABI of each machine.
    fn of(machine: Machine) -> Option<Self> {
        let of_symbol = match machine {
            elf::EM_386 | elf::EM_X86_64 => [6, 7],
            elf::EM_ARM => [21, 22],
            elf::EM_AARCH64 => [1025, 1026],
            elf::EM_S390 => [10, 11],
            // R_RISCV_64, R_LARCH_64.
            elf::EM_RISCV | elf::EM_LOONGARCH => [2, 5],
            _ => return None,
        };
        Some(Self { of_symbol })
    }
}

/// By address of a slot: the dynamic symbol whose address is written there. `None` inside: something
/// else is, or it cannot be told what.
fn slots(image: &Image, elf: &Elf, kinds: &SlotKinds) -> Result<Map<u64, Option<u32>>, ReadError> {
    let mut slots = Map::new();
    let is_relocations = |section: &&Section| {
        matches!(section.kind, elf::SHT_RELA | elf::SHT_REL) && is_loaded(section)
    };
    for section in within_file(image, elf.sections.iter().filter(is_relocations)) {
        let symbols = elf.sections.get(section.link as usize);
        let is_dynamic = symbols.is_some_and(|symbols| symbols.kind == elf::SHT_DYNSYM);
        let bytes = image.section_bytes(elf, section)?;
        elf.for_each_relocation(section, &bytes, |relocation| {
            let RawRelocation { offset, kind, symbol, addend } = relocation;
            // Most are of no symbol, and count only where the base of all is in doubt.
            if symbol == 0 && elf.machine != elf::EM_386 {
                return;
            }
            let is_address = kinds.of_symbol.contains(&kind) && addend.is_none_or(|it| it == 0);
            let found = Some(symbol).filter(|&it| is_dynamic && is_address && it != 0);
            let known = slots.entry(offset).or_insert(found);
            if *known != found {
                *known = None;
            }
        });
    }
    Ok(slots)
}

/// Where the global offset table begins, as code for i386 has it in `ebx`: DT_PLTGOT.
fn plt_got(image: &Image, elf: &Elf) -> Result<Option<u64>, ReadError> {
    const DT_PLTGOT: u32 = 3;
    let Some(section) = elf.section_of_kind(elf::SHT_DYNAMIC) else { return Ok(None) };
    let bytes = image.section_bytes(elf, section)?;
    let (pairs, _) = bytes.as_chunks::<8>();
    let mut tags = pairs.iter().map(|pair| (word_at(pair, 0), word_at(pair, 4)));
    let got = tags.find(|&(tag, _)| tag == Some(DT_PLTGOT)).and_then(|(_, value)| value);
    Ok(got.map(u64::from))
}

fn is_table(section: &Section) -> bool {
    let has_name = section.name.starts_with(".plt") || section.name.starts_with(".iplt");
    has_name && section.is_executable() && is_loaded(section)
}

/// True for what is in the file as it is in memory.
fn is_loaded(section: &Section) -> bool {
    section.is_allocated() && section.has_bytes() && section.flags.0 & elf::SHF_COMPRESSED.0 == 0
}

/// Sections until they have more bytes than the file: thousands of headers may name the same ones.
fn within_file<'a>(
    image: &Image,
    sections: impl Iterator<Item = &'a Section>,
) -> impl Iterator<Item = &'a Section> {
    let mut left = image.source().len();
    sections.map_while(move |section| {
        left = left.checked_sub(section.size)?;
        Some(section)
    })
}

/// What an entry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Jump {
    start: u64,
    end: u64,
    /// Address of what it loads its target from.
    slot: u64,
    base: Base,
}

/// How the address of a slot is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    /// By the instruction.
    Known,
    /// By a register that callers set.
    Register,
}

/// The code of one table.
struct Table<'a> {
    elf: &'a Elf,
    code: &'a [u8],
    address: u64,
}

impl Table<'_> {
    /// `got` is where `ebx` of code for i386 points.
    fn jumps(&self, got: Option<u64>) -> Vec<Jump> {
        match self.elf.machine {
            elf::EM_X86_64 => self.x86(step_x86_64),
            elf::EM_386 => self.x86(|code, _| step_386(code, got)),
            elf::EM_S390 => self.s390(),
            elf::EM_AARCH64 => self.words(entry_aarch64),
            elf::EM_ARM => self.words(entry_arm),
            elf::EM_RISCV => self.words(entry_riscv),
            elf::EM_LOONGARCH => self.words(entry_loongarch),
            _ => Vec::new(),
        }
    }

    /// An address of the file that the code belongs to.
    fn wrapped(&self, address: u64) -> u64 {
        match self.elf.class {
            Class::Elf32 => address & u64::from(u32::MAX),
            Class::Elf64 => address,
        }
    }

    fn x86(&self, step: impl Fn(&[u8], u64) -> Option<(usize, Step)>) -> Vec<Jump> {
        let mut entries = X86Entries::default();
        let mut at = 0;
        while let Some(rest) = self.code.get(at..)
            && let Some((length, step)) = step(rest, self.address.wrapping_add(at as u64))
            && length <= rest.len()
        {
            entries.take(at, step);
            at += length;
        }
        entries.close(at);
        let address = |at: usize| self.address.wrapping_add(at as u64);
        let jump = |(start, end, slot, base): (usize, usize, u64, Base)| Jump {
            start: address(start),
            end: address(end),
            slot: self.wrapped(slot),
            base,
        };
        entries.found.into_iter().map(jump).collect()
    }

    fn words(&self, entry: fn(&[u32], u64) -> Option<WordEntry>) -> Vec<Jump> {
        let (words, _) = self.code.as_chunks::<4>();
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let address = |at: usize| self.address.wrapping_add(at as u64 * 4);
        let mut jumps = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let Some(found) = entry(&words[at..], address(at)) else {
                at += 1;
                continue;
            };
            let end = at + found.length;
            let filled = words[end..].iter().take_while(|&&word| is_filler(self.elf.machine, word));
            let end = end + filled.count();
            let (start, slot) = (address(at), self.wrapped(found.slot));
            jumps.push(Jump { start, end: address(end), slot, base: Base::Known });
            at = end;
        }
        jumps
    }

    /// `larl %r1,SLOT; lg %r1,0(%r1); br %r1`, and how it is bound: 32 bytes each.
    fn s390(&self) -> Vec<Jump> {
        let (entries, _) = self.code.as_chunks::<32>();
        let jump = |(index, entry): (usize, &[u8; 32])| {
            let start = self.address.wrapping_add(index as u64 * 32);
            let [0xc0, 0x10, a, b, c, d, 0xe3, 0x10, 0x10, 0, 0, 0x04, 0x07, 0xf1, ..] = *entry
            else {
                return None;
            };
            let halves = i64::from(i32::from_be_bytes([a, b, c, d]));
            let slot = start.wrapping_add_signed(halves * 2);
            Some(Jump { start, end: start.wrapping_add(32), slot, base: Base::Known })
        };
        entries.iter().enumerate().filter_map(jump).collect()
    }
}

/// What one instruction of a table for x86 tells.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// An entry begins here (`endbr`), or what is none (a `push` of a slot).
    Begin,
    /// An entry begins here if the one before has its slot.
    MayBegin,
    /// A jump to what a slot holds; a new entry if the one before has its slot.
    Jump(u64, Base),
    /// The same, to be jumped to by the next branch.
    Load(u64, Base),
    /// A branch to a place in the table.
    Branch,
    /// Anything else that is known to be in tables.
    Other,
}

/// Entries of a table for x86: each has one slot, and begins where the one before it has got its own.
#[derive(Default)]
struct X86Entries {
    found: Vec<(usize, usize, u64, Base)>,
    open: Option<Open>,
}

struct Open {
    start: usize,
    slot: Option<(u64, Base)>,
    /// True once the slot's content was jumped to.
    is_proven: bool,
}

impl X86Entries {
    fn take(&mut self, at: usize, step: Step) {
        let has_slot = self.open.as_ref().is_none_or(|open| open.slot.is_some());
        match step {
            Step::Begin => self.begin(at),
            Step::MayBegin | Step::Jump(..) | Step::Load(..) if has_slot => self.begin(at),
            _ => {}
        }
        let Some(open) = &mut self.open else { return };
        match step {
            Step::Jump(slot, base) => {
                open.slot = Some((slot, base));
                open.is_proven = true;
            }
            Step::Load(slot, base) => open.slot = Some((slot, base)),
            Step::Branch => open.is_proven |= open.slot.is_some(),
            Step::Begin | Step::MayBegin | Step::Other => {}
        }
    }

    fn begin(&mut self, at: usize) {
        self.close(at);
        self.open = Some(Open { start: at, slot: None, is_proven: false });
    }

    fn close(&mut self, at: usize) {
        if let Some(Open { start, slot: Some((slot, base)), is_proven: true }) = self.open.take() {
            self.found.push((start, at, slot, base));
        }
    }
}

/// How long the instruction is, which may be more than is there, and what it does.
fn step_x86_64(code: &[u8], at: u64) -> Option<(usize, Step)> {
    let relative = |length: usize| {
        let distance = i64::from(word_at(code, length - 4)?.cast_signed());
        Some(at.wrapping_add(length as u64).wrapping_add_signed(distance))
    };
    Some(match code {
        [0xf3, 0x0f, 0x1e, 0xfa, ..] => (4, Step::Begin),
        [0xff, 0x35, ..] => (6, Step::Begin),
        [0xff, 0x25, ..] => (6, Step::Jump(relative(6)?, Base::Known)),
        [0xf2, 0xff, 0x25, ..] => (7, Step::Jump(relative(7)?, Base::Known)),
        // mov SLOT(%rip),%r11
        [0x4c, 0x8b, 0x1d, ..] => (7, Step::Load(relative(7)?, Base::Known)),
        // mov $INDEX,%r11d
        [0x41, 0xbb, ..] => (6, Step::MayBegin),
        // push %r11; mov %r11,(%rsp)
        [0x41, 0x53, ..] => (2, Step::Other),
        [0x4c, 0x89, 0x1c, 0x24, ..] => (4, Step::Other),
        _ => return step_x86(code),
    })
}

fn step_386(code: &[u8], got: Option<u64>) -> Option<(usize, Step)> {
    let absolute = |at: usize| word_at(code, at).map(u64::from);
    let relative = |at: usize| {
        let distance = i64::from(word_at(code, at)?.cast_signed());
        Some(got?.wrapping_add_signed(distance))
    };
    Some(match code {
        [0xf3, 0x0f, 0x1e, 0xfb, ..] => (4, Step::Begin),
        [0xff, 0x35 | 0xb3, ..] => (6, Step::Begin),
        [0xff, 0x25, ..] => (6, Step::Jump(absolute(2)?, Base::Known)),
        [0xff, 0xa3, ..] => (6, Step::Jump(relative(2)?, Base::Register)),
        // mov SLOT,%eax; mov SLOT(%ebx),%eax
        [0xa1, ..] => (5, Step::Load(absolute(1)?, Base::Known)),
        [0x8b, 0x83, ..] => (6, Step::Load(relative(2)?, Base::Register)),
        // push %eax; mov $INDEX,%ecx
        [0x50, ..] => (1, Step::MayBegin),
        [0xb9, ..] => (5, Step::MayBegin),
        // Of headers: push %ecx; lea SLOT(%ebx),%ecx; push (%ecx); jmp *4(%ecx);
        // mov %ecx,(%esp); mov 4(%esp),%ecx; mov %eax,4(%esp); mov %ecx,%eax; pop %ecx
        [0x51 | 0x59, ..] => (1, Step::Other),
        [0x8d, 0x8b, ..] => (6, Step::Other),
        [0xff, 0x31, ..] | [0x89, 0xc8, ..] => (2, Step::Other),
        [0xff, 0x61, _, ..] | [0x89, 0x0c, 0x24, ..] => (3, Step::Other),
        [0x8b, 0x4c, 0x24, _, ..] | [0x89, 0x44, 0x24, _, ..] => (4, Step::Other),
        _ => return step_x86(code),
    })
}

/// What is the same in both modes; `None`: not known to be in tables.
fn step_x86(code: &[u8]) -> Option<(usize, Step)> {
    Some(match code {
        // push $INDEX
        [0x68, ..] => (5, Step::Other),
        [0xe8 | 0xe9, ..] => (5, Step::Branch),
        [0xf2, 0xe9, ..] => (6, Step::Branch),
        [0xeb, ..] => (2, Step::Branch),
        // ret, int3, nop, zeros
        [0xc3 | 0xcc | 0x90 | 0, ..] => (1, Step::Other),
        // pause; lfence
        [0xf3, 0x90, ..] => (2, Step::Other),
        [0x0f, 0xae, 0xe8, ..] => (3, Step::Other),
        _ => (length_of_nop(code)?, Step::Other),
    })
}

/// `xchg %ax,%ax` and `nopw`, with any number of prefixes.
fn length_of_nop(code: &[u8]) -> Option<usize> {
    let prefixes = code.iter().take_while(|&&byte| matches!(byte, 0x66 | 0x2e)).count();
    let behind = match code.get(prefixes..)? {
        [0x90, ..] => 1,
        [0x0f, 0x1f, 0x00, ..] => 3,
        [0x0f, 0x1f, 0x40, ..] => 4,
        [0x0f, 0x1f, 0x44, ..] => 5,
        [0x0f, 0x1f, 0x80, ..] => 7,
        [0x0f, 0x1f, 0x84, ..] => 8,
        _ => return None,
    };
    Some(prefixes + behind)
}

/// An entry of whole words.
struct WordEntry {
    /// Words of it.
    length: usize,
    slot: u64,
}

/// True for what linkers put behind an entry, to fill it up.
fn is_filler(machine: Machine, word: u32) -> bool {
    match machine {
        elf::EM_AARCH64 => word == 0xd503_201f,
        elf::EM_RISCV => word == 0x0000_0013,
        elf::EM_LOONGARCH => word == 0x0340_0000,
        // lld's trap.
        elf::EM_ARM => word == 0xd4d4_d4d4,
        _ => false,
    }
}

/// `[bti c;] adrp x16,PAGE; ldr x17,[x16,LOW]; [add x16,x16,LOW;] [autia1716;] br x17`, and the same
/// with 32-bit pointers.
fn entry_aarch64(words: &[u32], address: u64) -> Option<WordEntry> {
    const BTI_C: u32 = 0xd503_245f;
    const AUTIA1716: u32 = 0xd503_219f;
    const BR_X17: u32 = 0xd61f_0220;
    let marks = usize::from(words.first() == Some(&BTI_C));
    let [adrp, ldr, rest @ ..] = words.get(marks..)? else { return None };
    let width = match ldr & 0xffc0_03ff {
        0xf940_0211 => 8,
        0xb940_0211 => 4,
        _ => return None,
    };
    if adrp & 0x9f00_001f != 0x9000_0010 {
        return None;
    }
    let is_between = |&&word: &&u32| word & 0xff80_03ff == 0x9100_0210 || word == AUTIA1716;
    let between = rest.iter().take_while(is_between).count();
    if between > 2 || rest.get(between) != Some(&BR_X17) {
        return None;
    }
    let pages = sign_extended((adrp >> 5 & 0x7_ffff) << 2 | adrp >> 29 & 3, 21);
    let page = (address.wrapping_add(marks as u64 * 4) & !0xfff).wrapping_add_signed(pages << 12);
    let slot = page.wrapping_add(u64::from(ldr >> 10 & 0xfff) * width);
    Some(WordEntry { length: marks + 3 + between, slot })
}

/// `[bx pc; nop;] add ip,pc,A; add ip,ip,B; [add ip,ip,C;] ldr pc,[ip,D]!`: the first two are Thumb.
fn entry_arm(words: &[u32], address: u64) -> Option<WordEntry> {
    let marks = usize::from(matches!(words.first(), Some(0x46c0_4778 | 0xe7fd_4778)));
    let words = words.get(marks..)?;
    // Eight bits, rotated to the right by twice the four in front of them.
    let immediate = |word: u32| (word & 0xff).rotate_right((word >> 8 & 0xf) * 2);
    let mut slot = (address as u32).wrapping_add(marks as u32 * 4 + 8);
    for (index, &word) in words.iter().enumerate().take(4) {
        match (index, word >> 12) {
            (0, 0xe28fc) | (1 | 2, 0xe28cc) => slot = slot.wrapping_add(immediate(word)),
            (2 | 3, 0xe5bcf) => {
                let slot = u64::from(slot.wrapping_add(word & 0xfff));
                return Some(WordEntry { length: marks + index + 1, slot });
            }
            _ => return None,
        }
    }
    None
}

/// `[lpad;] auipc t3,HIGH; l[wd] t3,LOW(t3); jalr t1,t3`.
fn entry_riscv(words: &[u32], address: u64) -> Option<WordEntry> {
    let marks = usize::from(words.first().is_some_and(|word| word & 0xfff == 0x017));
    let [auipc, load, 0x000e_0367, ..] = *words.get(marks..)? else { return None };
    if auipc & 0xfff != 0xe17 || !matches!(load & 0x000f_ffff, 0xe_3e03 | 0xe_2e03) {
        return None;
    }
    let high = i64::from((auipc & 0xffff_f000).cast_signed());
    let low = sign_extended(load >> 20, 12);
    let at = address.wrapping_add(marks as u64 * 4);
    let slot = at.wrapping_add_signed(high).wrapping_add_signed(low);
    Some(WordEntry { length: marks + 3, slot })
}

/// `pcaddu12i $t3,HIGH; ld.[wd] $t3,$t3,LOW; jirl $t1,$t3,0`.
fn entry_loongarch(words: &[u32], address: u64) -> Option<WordEntry> {
    let [high, load, 0x4c00_01ed, ..] = *words else { return None };
    let is_load = matches!(load & 0xffc0_03ff, 0x28c0_01ef | 0x2880_01ef);
    if high & 0xfe00_001f != 0x1c00_000f || !is_load {
        return None;
    }
    let pages = sign_extended(high >> 5 & 0xf_ffff, 20);
    let low = sign_extended(load >> 10 & 0xfff, 12);
    let slot = address.wrapping_add_signed(pages << 12).wrapping_add_signed(low);
    Some(WordEntry { length: 3, slot })
}

/// The lowest `bits` of a word as a number with a sign.
fn sign_extended(word: u32, bits: u32) -> i64 {
    let unused = 32 - bits;
    i64::from((word << unused).cast_signed() >> unused)
}

/// A little-endian word in code.
fn word_at(code: &[u8], at: usize) -> Option<u32> {
    code.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}

#[cfg(test)]
#[path = "plt_tests.rs"]
mod tests;
