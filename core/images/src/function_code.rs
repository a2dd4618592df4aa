//! The bytes of a function and what they were made of, for whoever shows them as instructions.
//!
//! Of files of processes and of the kernel. A kernel changes some of its code as it boots and while it runs (calls that
//! are made direct, features of the CPU, probes), so that whoever shows this says so. Of its modules there is none: in
//! their files nothing has its address yet, so that calls lead nowhere.

use std::num::NonZeroU32;
use std::rc::Rc;

use object::elf;
use perftab_dsos::{Dso, DsoId, DsoKind};
use perftab_perfdata::decode::ReadError;

use super::address::Svma;
use super::demangle::demangle;
use super::dso_images::DsoImages;
use super::image::Image;
use super::naming::{DsoNaming, NamedLevel, NamingDepth, PLT_SUFFIX};
use super::same_code::has_code;
use super::symbol_table::{Addresses, SymbolKind};

/// Of a longer function the beginning is read.
pub const MAX_CODE: u64 = 4 << 20;

/// What instructions are encoded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// x86 in 64-bit mode.
    X86_64,
    /// x86 in 32-bit mode.
    X86,
    /// arm64.
    Aarch64,
}

impl Machine {
    const NAMES: [(Self, &'static str); 3] =
        [(Self::X86_64, "x86-64"), (Self::X86, "x86"), (Self::Aarch64, "arm64")];

    /// What it is called.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(machine, _)| *machine == self).map_or("", |(_, name)| name)
    }

    /// That of ELF files (`e_machine`).
    pub fn from_elf(machine: u16) -> Option<Self> {
        match elf::Machine(machine) {
            elf::EM_X86_64 => Some(Self::X86_64),
            elf::EM_386 => Some(Self::X86),
            elf::EM_AARCH64 => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// That of programs on a machine which `uname -m` calls so.
    pub fn from_uname(arch: &str) -> Option<Self> {
        match arch {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// The one that is called so.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(machine, _)| *machine)
    }
}

/// The code of a function, from a file that passed the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCode {
    /// What it is encoded for.
    pub machine: Machine,
    /// Where it begins, as [`perftab_dsos::Frame::address`].
    pub start: u64,
    /// The same in the file's own addresses, which its disassemblies have.
    pub start_in_file: Svma,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Where a function is, for a host that has its bytes from elsewhere: a kernel's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionPlace {
    /// As in [`FunctionCode`].
    pub start: u64,
    /// As there.
    pub start_in_file: Svma,
    /// How many bytes it has, of which no more are shown.
    pub length: u64,
    /// What it is called, as its symbol is.
    pub name: String,
}

/// What an instruction was made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeOrigin {
    /// The innermost function that is inlined there; `None` if it is the function's own.
    pub inlined: Option<Rc<str>>,
    /// The line, of what is inlined there if something is; `None` if no file tells.
    pub line: Option<CodeLine>,
}

/// A line of source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodeLine {
    /// Path of the source file, as the debug information has it.
    pub file: Rc<str>,
    /// Counted from 1.
    pub line: NonZeroU32,
}

impl Image {
    /// So many bytes of code from an address on, or those that there are, and what they are encoded for; `None` if there
    /// are none.
    pub(super) fn code(
        &self,
        start: Svma,
        length: u64,
    ) -> Result<Option<(Machine, Vec<u8>)>, ReadError> {
        let Some(elf) = self.elf() else { return Ok(None) };
        let Some(machine) = Machine::from_elf(elf.machine.0) else { return Ok(None) };
        let mut segments = elf.segments.iter().filter(|segment| segment.is_executable_load());
        let Some((offset, there)) = segments.find_map(|segment| segment.file_range_from(start))
        else {
            return Ok(None);
        };
        Ok(Some((machine, self.source().read_vec(offset.0, length.min(there))?)))
    }
}

impl DsoImages {
    /// What the code at addresses of a DSO was made of, in their order. Ascending ones take the least time.
    pub fn code_origins(&self, id: DsoId, dso: &Dso, addresses: &[u64]) -> Vec<CodeOrigin> {
        let mut naming = DsoNaming::new(id, NamingDepth::Inlined);
        let named = self.name(&mut naming, dso, addresses.iter().copied());
        let Some(names) = named.map(|named| named.names) else {
            return vec![CodeOrigin::default(); addresses.len()];
        };
        let functions: Vec<Rc<str>> = names.functions.iter().map(|name| (**name).into()).collect();
        let origin = |levels: &[NamedLevel]| {
            let innermost = levels.last();
            let function = innermost.filter(|_| levels.len() > 1).and_then(|level| level.function);
            let inlined = function.and_then(|it| functions.get(it.0 as usize)).map(Rc::clone);
            let line = innermost.and_then(|level| {
                let file = names.files.get(level.file?.0 as usize)?;
                Some(CodeLine { file: Rc::clone(file), line: level.line? })
            });
            CodeOrigin { inlined, line }
        };
        names.by_address().map(origin).collect()
    }

    /// What covers an address of the file that has the code of a DSO: `name`, `name+0x10`, `name@plt`.
    pub fn name_in_file(&self, id: DsoId, address: Svma) -> Option<String> {
        let (mut name, within) = self.symbol_in_file(id, address)?;
        if within > 0 {
            name.push_str(&format!("+{within:#x}"));
        }
        Some(name)
    }

    /// The name of what covers an address of a DSO, as frames have it, and how far behind its start that is.
    pub fn symbol_at(&self, id: DsoId, dso: &Dso, address: u64) -> Option<(String, u64)> {
        let at = self.build(id)?.placement(dso).ok()?.svma(address)?;
        self.symbol_in_file(id, at)
    }

    fn symbol_in_file(&self, id: DsoId, address: Svma) -> Option<(String, u64)> {
        let symbol = self.build(id)?.symbols().at(address)?;
        let mut name = demangle(symbol.name).into_owned();
        if symbol.kind == SymbolKind::Plt {
            name.push_str(PLT_SUFFIX);
        }
        Some((name, address.0 - symbol.start.0))
    }

    /// Where the function at an address of a DSO is, by its symbol.
    pub fn function_place(&self, id: DsoId, dso: &Dso, address: u64) -> Option<FunctionPlace> {
        let build = self.build(id)?;
        let at = build.placement(dso).ok()?.svma(address)?;
        let symbol = build.symbols().at(at)?;
        Some(FunctionPlace {
            start: address.checked_sub(at.0 - symbol.start.0)?,
            start_in_file: symbol.start,
            length: symbol.end.0.checked_sub(symbol.start.0)?.min(MAX_CODE),
            name: symbol.name.to_owned(),
        })
    }

    /// MD5 of the source file of this path that the code at an address of a DSO was made of, where its
    /// debug information says it.
    pub fn source_md5(&self, id: DsoId, dso: &Dso, address: u64, path: &str) -> Option<[u8; 16]> {
        let build = self.build(id)?;
        let at = build.placement(dso).ok()?.svma(address)?;
        build.inline_frames()?.source_md5(at, path)
    }

    /// The text of that source file, where its debug information holds it.
    pub fn embedded_source(
        &self,
        id: DsoId,
        dso: &Dso,
        address: u64,
        path: &str,
    ) -> Option<Vec<u8>> {
        let build = self.build(id)?;
        let at = build.placement(dso).ok()?.svma(address)?;
        build.inline_frames()?.embedded_source(at, path)
    }

    /// The code of the function at an address of a kernel as it ran. `None` where no symbol covers it or no copy of
    /// its memory is here.
    pub fn code_in_memory(&self, id: DsoId, dso: &Dso, address: u64) -> Option<FunctionCode> {
        let build = self.build(id)?;
        let memory = build.memory().filter(|memory| memory.matched().dsos().contains(&id))?;
        let at = build.placement(dso).ok()?.svma(address)?;
        let symbol = build.symbols().at(at)?;
        let start = address.checked_sub(at.0 - symbol.start.0)?;
        let (machine, bytes) = memory.code(build.symbols(), symbol.start, symbol.end)?;
        Some(FunctionCode { machine, start, start_in_file: symbol.start, bytes })
    }

    /// The code of the function at an address of a DSO. `None` where no symbol covers it or no matched
    /// file has its bytes. A list of a kernel's symbols has other addresses than its file.
    pub fn function_code(&self, id: DsoId, dso: &Dso, address: u64) -> Option<FunctionCode> {
        let build = self.build(id).filter(|build| match dso.kind {
            DsoKind::User => true,
            DsoKind::Kernel => build.symbols().addresses() == Addresses::AsLinked,
            _ => false,
        })?;
        let image = self.of(id).first()?.image();
        image.elf().filter(|elf| has_code(elf))?;
        let at = build.placement(dso).ok()?.svma(address)?;
        let symbol = build.symbols().at(at)?;
        let length = symbol.end.0.checked_sub(symbol.start.0)?.min(MAX_CODE);
        let (machine, bytes) = image.code(symbol.start, length).ok()??;
        let start = address.checked_sub(at.0 - symbol.start.0)?;
        Some(FunctionCode { machine, start, start_in_file: symbol.start, bytes })
    }
}
