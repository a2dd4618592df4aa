//! From the address of a frame to the address that a file has for it.
//!
//! | DSO | its frames have | what is recorded of its place |
//! |---|---|---|
//! | file of a process | file offset | where the executable mapping begins |
//! | kernel | AVMA | where its reference symbol was (KASLR moves all of it by one distance) |
//! | kernel module | AVMA | where its memory began, each time that it was loaded |
//! | memory without a file | AVMA | nothing is needed |
//!
//! Constraint: a file of the right build in the wrong place gives wrong names as surely as a wrong
//! file. Where the recording does not say where a DSO was, or says two things, there is no
//! placement, and the reason is shown.

use std::sync::Arc;

use perftab_dsos::{Dso, DsoKind, KernelPlace};

use super::address::{FileOffset, Svma};
use super::elf::{Class, Elf, Segment, svma_in};
use super::image::{Content, Image};
use super::kernel_module::ModuleLayout;
use super::mapped_code::{self, MappedCode};
use super::symbol_table::SymbolTable;

/// A kernel is moved by whole pages; on x86 by 2 MiB, on arm64 by 64 KiB.
const PAGE: u64 = 4096;

/// A rule from frame addresses to addresses of a file.
#[derive(Clone, Copy)]
pub(super) enum Placement<'a> {
    /// Through the program headers of the file that was mapped.
    Segments(&'a Elf),
    /// By a constant: this much is subtracted.
    Slide(u64),
    /// From where the module was loaded, as far as its code goes.
    Module {
        /// Where that was.
        place: &'a KernelPlace,
        /// How far it goes.
        code_end: u64,
    },
}

/// The same of code of processes, without the file.
#[derive(Clone)]
pub(super) enum OwnedPlacement {
    Segments(Arc<[Segment]>),
    Slide(u64),
}

impl OwnedPlacement {
    pub fn svma(&self, address: u64) -> Option<Svma> {
        match self {
            Self::Segments(segments) => svma_in(segments, FileOffset(address)),
            Self::Slide(slide) => Some(Svma(address.wrapping_sub(*slide))),
        }
    }
}

/// Why the addresses of a DSO cannot be looked up in a file of its build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unplaced {
    /// There is nothing to look up.
    NoCode,
    /// What was mapped is no part of the file, and nothing tells what of the file it is.
    Elsewhere,
    /// More than one file of the build was mapped, with the code at different offsets.
    Several,
    /// The recorder was not allowed to see where.
    Hidden,
    /// The recording says more than one place.
    Moved,
    /// The file has no such symbol as the recording refers to, or not where it can have been.
    NoReference,
    /// Its sections have no addresses before it is loaded, and where the kernel puts them on this
    /// machine is not known here.
    NoLayout,
}

impl Unplaced {
    /// What is, then what to do.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NoCode => "the file has no code",
            Self::Elsewhere => {
                "its code is not at the offsets that were mapped, so its addresses stay without \
                 names: give the file that ran"
            }
            Self::Several => {
                "two files of its build ran under one path, with their code at different offsets \
                 (as patchelf leaves it), so its addresses stay without names: record again with \
                 one of them"
            }
            Self::Hidden => {
                "its load address was not recorded, so its addresses stay without names: record \
                 as root, or with kernel.kptr_restrict=0"
            }
            Self::Moved => {
                "the recording has it in more than one place, so its addresses stay without names"
            }
            Self::NoReference => {
                "the file lacks the recording's reference symbol, so its addresses stay \
                 without names: give the vmlinux with its symbols"
            }
            Self::NoLayout => {
                "where the kernel loaded this module's sections is not known, so its addresses \
                 stay without names: record with `perftab record`, which keeps its symbols"
            }
        }
    }
}

impl<'a> Placement<'a> {
    /// How frame addresses of `dso` become addresses in `symbols`, whose first file is `image`.
    pub fn of(dso: &'a Dso, image: &'a Image, symbols: &SymbolTable) -> Result<Self, Unplaced> {
        let place = &dso.kernel_place;
        match (dso.kind, image.content()) {
            (DsoKind::Kernel, Content::Elf(_) | Content::Kallsyms(_)) => kernel(place, symbols),
            (DsoKind::Module, Content::Elf(elf)) => module(place, elf),
            (DsoKind::Vdso, Content::Elf(elf)) => Ok(Self::Segments(elf)),
            (DsoKind::User, Content::Elf(elf)) => match mapped_code::place(elf, &dso.executable) {
                MappedCode::SameOffsets => Ok(Self::Segments(elf)),
                MappedCode::Moved { slide } => Ok(Self::Slide(slide)),
                MappedCode::Unknown => Err(Unplaced::Elsewhere),
                MappedCode::Several => Err(Unplaced::Several),
            },
            // It has addresses at run time, as the frames of memory without a file have.
            (DsoKind::Anon, Content::Code(_)) => Ok(Self::Slide(0)),
            _ => Err(Unplaced::NoCode),
        }
    }

    /// The same for a file that need not be of that build: where nothing fits, its own offsets count.
    pub fn of_forced(
        dso: &'a Dso,
        image: &'a Image,
        symbols: &SymbolTable,
    ) -> Result<Self, Unplaced> {
        match (Self::of(dso, image, symbols), image.content()) {
            (Err(Unplaced::Elsewhere | Unplaced::Several), Content::Elf(elf)) => {
                Ok(Self::Segments(elf))
            }
            (placed, _) => placed,
        }
    }

    /// `None` of a kernel's module.
    pub fn to_owned(self) -> Option<OwnedPlacement> {
        match self {
            Self::Segments(elf) => Some(OwnedPlacement::Segments(elf.segments.as_slice().into())),
            Self::Slide(slide) => Some(OwnedPlacement::Slide(slide)),
            Self::Module { .. } => None,
        }
    }

    /// The same of an address of data. Where the code of a file was moved, nothing tells where its data
    /// is, and of a module it is not known.
    pub fn svma_of_data(&self, kind: DsoKind, address: u64) -> Option<Svma> {
        match self {
            Self::Segments(elf) => elf.svma_of_data(FileOffset(address)),
            Self::Slide(_) if kind == DsoKind::Kernel => self.svma(address),
            Self::Slide(_) | Self::Module { .. } => None,
        }
    }

    /// The address in the file; `None` if the file has nothing there.
    pub fn svma(&self, address: u64) -> Option<Svma> {
        match self {
            Self::Segments(elf) => elf.svma_from_file_offset(FileOffset(address)),
            Self::Slide(slide) => Some(Svma(address.wrapping_sub(*slide))),
            Self::Module { place, code_end } => {
                let behind = |start: u64| address.checked_sub(start).filter(|at| at < code_end);
                let mut found = place.references().filter_map(behind);
                // At two places of one module: nobody knows in which it ran.
                match (found.next(), found.next()) {
                    (Some(at), None) => Some(Svma(at)),
                    _ => None,
                }
            }
        }
    }
}

/// A kernel is slid by the very symbol whose address was recorded. `_text` and `_stext` are at one
/// address on x86 and 64 KiB apart on arm64, so one cannot stand in for the other.
fn kernel<'a>(place: &KernelPlace, symbols: &SymbolTable) -> Result<Placement<'a>, Unplaced> {
    let reference = place.reference.ok_or(Unplaced::Hidden)?;
    if !place.moved_to.is_empty() {
        return Err(Unplaced::Moved);
    }
    let svma = match place.symbol.as_deref() {
        Some(name) => symbols.reference(name),
        None => match (symbols.reference("_text"), symbols.reference("_stext")) {
            (Some(text), Some(stext)) if text != stext => None,
            (text, stext) => text.or(stext),
        },
    };
    let svma = svma.filter(|svma| svma.0 != 0).ok_or(Unplaced::NoReference)?;
    let slide = reference.wrapping_sub(svma.0);
    match slide % PAGE {
        0 => Ok(Placement::Slide(slide)),
        _ => Err(Unplaced::NoReference),
    }
}

fn module<'a>(place: &'a KernelPlace, elf: &Elf) -> Result<Placement<'a>, Unplaced> {
    let code_end = ModuleLayout::of(elf).map(|layout| layout.code_end());
    let code_end = code_end.filter(|&end| end > 0).ok_or(Unplaced::NoLayout)?;
    // 64-bit kernels have the upper half: what is in the lower one was hidden, or is damaged.
    let can_be = |start: u64| match elf.class {
        Class::Elf64 => start >> 63 == 1,
        Class::Elf32 => start != 0,
    };
    if place.reference.is_none() || !place.references().all(can_be) {
        return Err(Unplaced::Hidden);
    }
    // The mapping covers the code, and mostly the data too.
    let is_too_short =
        |range: &std::ops::Range<u64>| range.end.wrapping_sub(range.start) < code_end;
    if place.range.as_ref().is_some_and(is_too_short) {
        return Err(Unplaced::NoLayout);
    }
    Ok(Placement::Module { place, code_end })
}
