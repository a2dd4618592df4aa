//! What made a candidate, in words: "GCC: (Debian 12.2.0-14) 12.2.0, x86-64, DWARF 5". Somebody who
//! was given another build sees from it which build that is. A hint, which decides nothing.

use object::{Endianness, elf};
use perftab_perfdata::decode::ByteSource;
use perftab_perfdata::text::printable;

use super::elf::Elf;
use super::image::Image;

/// Compilers leave a line each in `.comment`; the first is that of the start-up code or of the
/// program, and there is no telling how many follow.
const MAX_COMMENT: u64 = 256;

impl Image {
    /// Compiler, machine and DWARF version; `None` for what is no ELF file.
    pub fn toolchain(&self) -> Option<String> {
        let elf = self.elf()?;
        let parts = [compiler(elf, self.source()), machine(elf), Some(dwarf(elf, self.source()))];
        Some(parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// The first line of `.comment`, whose lines end in a zero.
fn compiler(elf: &Elf, source: &dyn ByteSource) -> Option<String> {
    let section = elf.section_with_bytes(".comment")?;
    let bytes = source.read_vec(section.offset, section.size.min(MAX_COMMENT)).ok()?;
    let line = bytes.split(|&byte| byte == 0).find(|line| !line.is_empty())?;
    Some(printable(&String::from_utf8_lossy(line)).into_owned())
}

fn machine(elf: &Elf) -> Option<String> {
    let name = match elf.machine {
        elf::EM_X86_64 => "x86-64",
        elf::EM_386 => "x86",
        elf::EM_AARCH64 => "arm64",
        elf::EM_ARM => "arm",
        elf::EM_RISCV => "riscv",
        elf::EM_PPC64 => "ppc64",
        elf::EM_S390 => "s390x",
        _ => return None,
    };
    Some(name.to_owned())
}

/// The version stands behind the length of the first unit (DWARF 5, 7.5.1): 4 bytes, or 12 where
/// the first four are all ones.
fn dwarf(elf: &Elf, source: &dyn ByteSource) -> String {
    let Some(section) = elf.section_with_bytes(".debug_info") else {
        return "no DWARF".to_owned();
    };
    let is_packed = section.flags.0 & elf::SHF_COMPRESSED.0 != 0;
    let head = source.read_vec(section.offset, section.size.min(14)).unwrap_or_default();
    let at = if head.starts_with(&[0xff; 4]) { 12 } else { 4 };
    let version = head.get(at..at + 2).and_then(|bytes| bytes.try_into().ok());
    let version = version.map(|bytes: [u8; 2]| match elf.endian {
        Endianness::Little => u16::from_le_bytes(bytes),
        Endianness::Big => u16::from_be_bytes(bytes),
    });
    match version {
        Some(version @ 2..=5) if !is_packed => format!("DWARF {version}"),
        _ => "DWARF".to_owned(),
    }
}
