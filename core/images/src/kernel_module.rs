//! Where the kernel puts the sections of a module, and its DWARF at these addresses.
//!
//! A module is a relocatable file: its sections have no addresses before it is loaded. What is
//! recorded is where its memory begins; which section begins how far behind that is worked out here
//! as the kernel's loader does it, and is called its address: a module is treated as if it were
//! linked at 0.
//!
//! **The rule** (`layout_sections` in kernel/module/main.c, Linux 6.1; `__layout_sections` with
//! the same order since 6.4): first come the sections with `SHF_EXECINSTR` and `SHF_ALLOC`, in the
//! order of the section headers, each at the next multiple of its alignment; those whose names
//! begin with `.init` are put elsewhere and freed. Since 6.4 code has memory of its own, and its
//! start is what /proc/modules says and recorders write down, so nothing changes for code.
//!
//! **What is refused.** On some machines the loader makes room for jumps
//! (`module_frob_arch_sections`): arm64 sizes `.plt`, `.init.plt` and `.text.ftrace_trampoline`
//! when it loads, by rules that change from version to version. What stands behind such a section
//! has no address here. Other machines than x86 and arm64 have no layout at all (s390 counts from
//! `.text`, PowerPC and RISC-V make stubs). Nothing is guessed: where a section has no address, its
//! functions have no names.

use object::elf::{self, Machine};
use perftab_perfdata::decode::ReadError;

use super::dwarf::Budget;
use super::elf::{Elf, RawRelocation, RawSymbol, Section};
use super::image::Image;

/// Addresses of a module's sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModuleLayout {
    /// By section, `None` for what has no memory.
    addresses: Vec<Option<u64>>,
    /// The end of the code whose addresses are those of the kernel. Behind it come the other
    /// sections, so that nothing in DWARF is at the address of code.
    code_end: u64,
}

impl ModuleLayout {
    /// The layout of a relocatable file; `None` if it is none, or not of a machine whose loader is
    /// known here.
    pub fn of(elf: &Elf) -> Option<Self> {
        if elf.kind != elf::ET_REL || !is_known(elf.machine) {
            return None;
        }
        let mut addresses = vec![None; elf.sections.len()];
        let mut code_end = 0;
        for (address, section) in addresses.iter_mut().zip(&elf.sections) {
            if !stays_code(section) {
                continue;
            }
            if is_sized_by_loader(elf.machine, section) {
                break;
            }
            *address = Some(place(section, &mut code_end)?);
        }
        let mut end = code_end;
        for (address, section) in addresses.iter_mut().zip(&elf.sections) {
            if address.is_none() && section.is_allocated() {
                *address = Some(place(section, &mut end)?);
            }
        }
        Some(Self { addresses, code_end })
    }

    /// Where code whose address is known ends.
    pub fn code_end(&self) -> u64 {
        self.code_end
    }

    /// Where each section of code begins and ends.
    pub fn code<'e>(&'e self, elf: &'e Elf) -> impl Iterator<Item = (u64, u64)> + 'e {
        let placed = self.addresses.iter().zip(&elf.sections);
        let range = |(address, section): (&Option<u64>, &Section)| {
            let start = (*address)?;
            (start < self.code_end).then(|| (start, start.saturating_add(section.size)))
        };
        placed.filter_map(range)
    }

    /// The address of a symbol of code; `None` if it is something else or has no known address.
    pub fn code_address(&self, symbol: &RawSymbol) -> Option<u64> {
        let base = (*self.addresses.get(usize::from(symbol.section.0))?)?;
        let address = base.checked_add(symbol.value)?;
        (base < self.code_end && address < self.code_end).then_some(address)
    }

    /// What a relocation against a symbol adds: its address, or in a section without memory (of
    /// DWARF) its offset.
    fn value(&self, symbol: &RawSymbol) -> u64 {
        let section = self.addresses.get(usize::from(symbol.section.0));
        section.copied().flatten().unwrap_or(0).wrapping_add(symbol.value)
    }
}

/// The next address for a section; `None` if its header is nonsense.
fn place(section: &Section, end: &mut u64) -> Option<u64> {
    let address = end.checked_next_multiple_of(section.align.max(1))?;
    *end = address.checked_add(section.size)?;
    Some(address)
}

fn is_known(machine: Machine) -> bool {
    matches!(machine, elf::EM_X86_64 | elf::EM_386 | elf::EM_AARCH64)
}

/// Code that is kept when the module has been initialized.
fn stays_code(section: &Section) -> bool {
    section.is_allocated() && section.is_executable() && !section.name.starts_with(".init")
}

/// True if the file does not say how large the section will be.
fn is_sized_by_loader(machine: Machine, section: &Section) -> bool {
    machine == elf::EM_AARCH64 && matches!(&*section.name, ".plt" | ".text.ftrace_trampoline")
}

/// The bytes of a section of a relocatable file with its relocations applied.
pub(super) struct RelocatedSections<'a> {
    image: &'a Image,
    elf: &'a Elf,
    /// What each symbol adds.
    values: Vec<u64>,
    budget: &'a Budget,
}

impl<'a> RelocatedSections<'a> {
    /// Reads the symbols that relocations refer to.
    pub fn new(
        image: &'a Image,
        elf: &'a Elf,
        layout: &ModuleLayout,
        budget: &'a Budget,
    ) -> Result<Self, ReadError> {
        let mut values = Vec::new();
        if let Some(section) = elf.section_of_kind(elf::SHT_SYMTAB) {
            // What each adds is shorter than its entry.
            let symbols = image.section_within(elf, section, budget)?;
            elf.for_each_symbol(&symbols, |symbol| values.push(layout.value(&symbol)));
        }
        Ok(Self { image, elf, values, budget })
    }

    /// Fails if the section has a relocation that is not understood: numbers that are half right
    /// would give wrong lines.
    pub fn section_bytes(&self, section: &Section) -> Result<Vec<u8>, ReadError> {
        let mut bytes = self.image.section_bytes(self.elf, section)?;
        let is_it = |other: &Section| std::ptr::eq(other, section);
        let Some(index) = self.elf.sections.iter().position(is_it) else { return Ok(bytes) };
        for relocations in self.elf.sections.iter().filter(|relocations| {
            matches!(relocations.kind, elf::SHT_RELA | elf::SHT_REL)
                && relocations.info as usize == index
                && relocations.has_bytes()
        }) {
            let before = self.budget.memory();
            let entries = self.image.section_within(self.elf, relocations, self.budget)?;
            let mut is_understood = true;
            self.elf.for_each_relocation(relocations, &entries, |relocation| {
                is_understood = is_understood && self.apply(&mut bytes, relocation).is_some();
            });
            drop(entries);
            self.budget.release_to(before);
            if !is_understood {
                let message = format!("{}: a relocation is not understood", section.name);
                return Err(ReadError::new(message));
            }
        }
        Ok(bytes)
    }

    fn apply(&self, bytes: &mut [u8], relocation: RawRelocation) -> Option<()> {
        let RawRelocation { offset, kind, symbol, addend } = relocation;
        let Some(size) = size_of_absolute(self.elf.machine, kind)? else { return Some(()) };
        let start = usize::try_from(offset).ok()?;
        let place = bytes.get_mut(start..start.checked_add(size)?)?;
        let mut word = [0; 8];
        let is_little = self.elf.endian == object::Endianness::Little;
        let within = if is_little { 0..size } else { 8 - size..8 };
        let addend = addend.unwrap_or_else(|| {
            word[within.clone()].copy_from_slice(place);
            if is_little { i64::from_le_bytes(word) } else { i64::from_be_bytes(word) }
        });
        let value = self.values.get(symbol as usize)?.wrapping_add_signed(addend);
        word = if is_little { value.to_le_bytes() } else { value.to_be_bytes() };
        place.copy_from_slice(&word[within]);
        Some(())
    }
}

/// How many bytes a relocation sets to symbol plus addend; `Some(None)`: it does nothing. Compilers
/// write no others into the sections of DWARF that are read here.
fn size_of_absolute(machine: Machine, kind: u32) -> Option<Option<usize>> {
    let of = |none: &[u32], four: &[u32], eight: &[u32]| {
        let is_in = |kinds: &[u32]| kinds.contains(&kind);
        match () {
            () if is_in(none) => Some(None),
            () if is_in(four) => Some(Some(4)),
            () if is_in(eight) => Some(Some(8)),
            () => None,
        }
    };
    match machine {
        // R_X86_64_NONE; _32, _32S; _64
        elf::EM_X86_64 => of(&[0], &[10, 11], &[1]),
        // R_386_NONE; _32
        elf::EM_386 => of(&[0], &[1], &[]),
        // R_AARCH64_NONE, and as it was at first; _ABS32; _ABS64
        elf::EM_AARCH64 => of(&[0, 256], &[258], &[257]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::Class;

    /// A relocatable file of sections with name, flags, size and alignment.
    fn elf(machine: Machine, sections: &[(&str, u32, u64, u64)]) -> Elf {
        let section = |&(name, flags, size, align): &(&str, u32, u64, u64)| Section {
            name: name.to_owned(),
            kind: elf::SHT_PROGBITS,
            flags: elf::SectionFlags(flags.into()),
            address: 0,
            offset: 64,
            size,
            link: 0,
            info: 0,
            align,
        };
        Elf {
            class: Class::Elf64,
            endian: object::Endianness::Little,
            kind: elf::ET_REL,
            machine,
            entry: 0,
            end: 0,
            segments: Vec::new(),
            sections: sections.iter().map(section).collect(),
        }
    }

    /// SHF_ALLOC, and with SHF_EXECINSTR.
    const DATA: u32 = 2;
    const CODE: u32 = 6;

    #[test]
    fn code_lies_in_the_order_of_headers_and_what_initializes_does_not() {
        let it = elf(
            elf::EM_X86_64,
            &[
                (".note.gnu.build-id", DATA, 0x24, 4),
                (".text", CODE, 0x101, 16),
                (".init.text", CODE, 0x50, 16),
                (".static_call.text", CODE, 0x10, 4),
                (".data", DATA, 0x40, 32),
                (".exit.text", CODE, 0x21, 1),
                (".debug_info", 0, 0x1000, 1),
                (".altinstr_replacement", CODE, 5, 8),
            ],
        );
        let layout = ModuleLayout::of(&it).unwrap();
        let code: Vec<_> = layout.code(&it).collect();
        assert_eq!(code, [(0, 0x101), (0x104, 0x114), (0x114, 0x135), (0x138, 0x13d)]);
        assert_eq!(layout.code_end(), 0x13d);
        let others: Vec<_> = [0, 2, 4].map(|section| layout.addresses[section].unwrap()).into();
        assert!(others.iter().all(|&address| address >= 0x13d), "{others:x?}");
        assert_eq!(layout.addresses[6], None);
    }

    #[test]
    fn what_stands_behind_a_section_that_the_loader_sizes_has_no_address() {
        let sections = [(".text", CODE, 0x100, 16), (".plt", CODE, 1, 1), (".fixup", CODE, 9, 4)];
        let end = |machine, sections: &[(&str, u32, u64, u64)]| {
            ModuleLayout::of(&elf(machine, sections)).map(|layout| layout.code_end())
        };
        assert_eq!(end(elf::EM_AARCH64, &sections), Some(0x100));
        assert_eq!(end(elf::EM_AARCH64, &sections[1..]), Some(0));
        assert_eq!(end(elf::EM_X86_64, &sections), Some(0x10d));
        for machine in [elf::EM_S390, elf::EM_PPC64, elf::EM_RISCV] {
            assert_eq!(end(machine, &sections), None);
        }
        // Sizes and alignments that no file has.
        for (size, align) in [(u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)] {
            let hostile = [(".text", CODE, 8, 8), (".text.x", CODE, size, align)];
            assert_eq!(end(elf::EM_X86_64, &hostile), None);
        }
    }
}
