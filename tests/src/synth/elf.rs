//! ELF files for x86-64 that no compiler would write: System V ABI, chapters 4 and 5 ("Object Files",
//! "Program Loading").

/// SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOTE.
const PROGBITS: u32 = 1;
/// A table of symbols.
pub const SYMTAB: u32 = 2;
/// The same for the dynamic linker.
pub const DYNSYM: u32 = 11;
/// Relocations with addends.
pub const RELA: u32 = 4;
/// The names of one.
pub const STRTAB: u32 = 3;
const NOTE: u32 = 7;
/// SHF_COMPRESSED.
pub const COMPRESSED: u64 = 1 << 11;

/// Where the code begins, in the file and in memory.
pub const CODE: u64 = 0x1000;

/// A section behind the code.
#[derive(Clone, Copy, Debug)]
pub struct ElfSection<'a> {
    /// Its name.
    pub name: &'a str,
    /// SHT_*.
    pub kind: u32,
    /// SHF_*.
    pub flags: u64,
    /// What it holds.
    pub bytes: &'a [u8],
    /// Where it is in memory; 0: where it is in the file, if it is loaded.
    pub address: u64,
    /// The section that it refers to.
    pub link: &'a str,
}

impl<'a> ElfSection<'a> {
    /// Of debug information.
    pub fn debug(name: &'a str, bytes: &'a [u8]) -> Self {
        Self { name, kind: PROGBITS, flags: 0, bytes, address: 0, link: "" }
    }
}

/// A shared object of a build-id with so many bytes of code, all of it `nop`.
pub fn elf(id: &[u8], code: usize, sections: &[ElfSection<'_>]) -> Vec<u8> {
    let note = [&4u32.to_le_bytes()[..], &(id.len() as u32).to_le_bytes(), &3u32.to_le_bytes()];
    let note = [&note.concat()[..], b"GNU\0", id].concat();
    let nops = vec![0x90; code];
    let mut all = vec![
        ElfSection { name: "", kind: 0, flags: 0, bytes: &[], address: 0, link: "" },
        ElfSection { name: ".note", kind: NOTE, flags: 2, bytes: &note, address: 0, link: "" },
        ElfSection { name: ".text", kind: PROGBITS, flags: 6, bytes: &nops, address: 0, link: "" },
    ];
    all.extend_from_slice(sections);
    let mut names = vec![0];
    let mut name_at = Vec::new();
    for section in &all {
        name_at.push(names.len() as u32);
        names.extend(section.name.bytes().chain([0]));
    }
    name_at.push(names.len() as u32);
    names.extend(b".shstrtab\0");
    all.push(ElfSection {
        name: ".shstrtab",
        kind: STRTAB,
        flags: 0,
        bytes: &names,
        address: 0,
        link: "",
    });

    let mut file = vec![0; 64 + 56];
    let mut headers = Vec::new();
    for (section, name) in all.iter().zip(&name_at) {
        let is_code = section.name == ".text";
        let align = if is_code { CODE as usize } else { 8 };
        file.resize(file.len().next_multiple_of(align), 0);
        let offset = file.len() as u64;
        file.extend_from_slice(section.bytes);
        let address = match section.address {
            0 if section.flags & 2 != 0 => offset,
            address => address,
        };
        let link = all.iter().position(|it| it.name == section.link).unwrap_or(0) as u32;
        headers.extend(name.to_le_bytes());
        headers.extend(section.kind.to_le_bytes());
        for word in [section.flags, address, offset, section.bytes.len() as u64] {
            headers.extend(word.to_le_bytes());
        }
        headers.extend([link.to_le_bytes(), 0u32.to_le_bytes()].concat());
        let entry = if [SYMTAB, DYNSYM, RELA].contains(&section.kind) { 24u64 } else { 0 };
        headers.extend([8u64.to_le_bytes(), entry.to_le_bytes()].concat());
    }
    file.resize(file.len().next_multiple_of(8), 0);
    let table = file.len() as u64;
    file.extend_from_slice(&headers);

    let mut head = b"\x7fELF\x02\x01\x01".to_vec();
    head.resize(16, 0);
    head.extend([3u16.to_le_bytes(), 62u16.to_le_bytes()].concat());
    head.extend(1u32.to_le_bytes());
    for word in [0u64, 64, table] {
        head.extend(word.to_le_bytes());
    }
    head.extend(0u32.to_le_bytes());
    for half in [64u16, 56, 1, 64, all.len() as u16, all.len() as u16 - 1] {
        head.extend(half.to_le_bytes());
    }
    // PT_LOAD, to be read and executed.
    head.extend([1u32.to_le_bytes(), 5u32.to_le_bytes()].concat());
    for word in [CODE, CODE, CODE, code as u64, code as u64, 0x1000] {
        head.extend(word.to_le_bytes());
    }
    file[..head.len()].copy_from_slice(&head);
    file
}

/// An entry of a table of symbols: a function.
pub fn symbol(name: u32, start: u64, size: u64) -> Vec<u8> {
    // STB_GLOBAL, STT_FUNC; the section is that of the code.
    let head = [&name.to_le_bytes()[..], &[0x12, 0], &2u16.to_le_bytes()].concat();
    [&head[..], &start.to_le_bytes(), &size.to_le_bytes()].concat()
}

/// What a compressed section holds: zlib, so many bytes when it is inflated, as its header says.
pub fn compressed(inflated: u64, packed: &[u8]) -> Vec<u8> {
    let head = [1u32.to_le_bytes(), 0u32.to_le_bytes()].concat();
    [&head[..], &inflated.to_le_bytes(), &1u64.to_le_bytes(), packed].concat()
}
