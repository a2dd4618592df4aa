//! Tables as bytes: files may be in another worker than the stacks.
//!
//! Numbers of eight bytes, little-endian, and the sections. Both ends are of one version. Whoever takes them in compares
//! the identity that stands beside them, as with names.

use std::sync::Arc;

use gimli::RunTimeEndian;
use object::elf;
use perftab_dsos::Identity;

use super::registers::UnwoundMachine;
use super::tables::{FileRules, Form, FrameSections, Kind, Table, UnwindTables};
use crate::code_ranges::CodeRanges;
use crate::dwarf::Budget;
use crate::elf::Segment;
use crate::placement::OwnedPlacement;
use crate::rest::Rest;

impl UnwindTables {
    /// All of them but [`Self::identity`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut numbers = |numbers: &[u64], section: &[u8]| {
            numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            bytes.extend_from_slice(section);
        };
        let FileRules { place, entry, sections } = &self.rules;
        numbers(&[*entry], &[]);
        match place {
            OwnedPlacement::Slide(slide) => numbers(&[u64::MAX, *slide], &[]),
            OwnedPlacement::Segments(segments) => {
                let loads = || segments.iter().filter(|it| it.kind == elf::PT_LOAD);
                numbers(&[loads().count() as u64], &[]);
                for Segment { flags, offset, address, file_size, .. } in loads() {
                    numbers(&[flags.0.into(), *offset, *address, *file_size], &[]);
                }
            }
        }
        for Table { bytes, form, code, .. } in &sections.tables {
            let Form { kind, endian, address_size, machine, address, text } = *form;
            let is_eh = u64::from(kind == Kind::EhFrame);
            let is_big = u64::from(endian == RunTimeEndian::Big);
            let is_arm = u64::from(machine == Some(UnwoundMachine::Aarch64));
            numbers(&[is_eh, is_big, u64::from(address_size), is_arm, address, text], &[]);
            numbers(&[code.as_slice().len() as u64], &[]);
            code.as_slice().iter().for_each(|&(start, end)| numbers(&[start, end], &[]));
            numbers(&[bytes.len() as u64], bytes);
        }
        bytes
    }

    /// The other way round; `None` if they are none.
    pub fn from_bytes(identity: Identity, bytes: &[u8]) -> Option<Self> {
        let mut rest = Rest(bytes);
        let entry = rest.number()?;
        let place = match rest.number()? {
            u64::MAX => OwnedPlacement::Slide(rest.number()?),
            count => OwnedPlacement::Segments(rest.all(count, segment)?.into()),
        };
        let mut tables = Vec::new();
        while !rest.0.is_empty() {
            let [is_eh, is_big, size, is_arm, address, text] = rest.numbers()?;
            let form = Form {
                kind: if is_eh == 1 { Kind::EhFrame } else { Kind::DebugFrame },
                endian: if is_big == 1 { RunTimeEndian::Big } else { RunTimeEndian::Little },
                address_size: u8::try_from(size).ok().filter(|size| [4, 8].contains(size))?,
                machine: Some(match is_arm {
                    1 => UnwoundMachine::Aarch64,
                    _ => UnwoundMachine::X86_64,
                }),
                address,
                text,
            };
            let count = rest.number()?;
            let code = rest.all(count, |rest| rest.numbers().map(|[start, end]| (start, end)))?;
            let length = rest.number()?;
            let section = rest.take(length)?.to_vec();
            let budget = Budget::of_file(length);
            budget.hold_sections(length).ok()?;
            tables.push(Table::new(section, form, CodeRanges::of_ranges(code), budget));
        }
        let sections = Arc::new(FrameSections::of(tables));
        Some(Self { identity, rules: FileRules { place, entry, sections } })
    }
}

fn segment(rest: &mut Rest<'_>) -> Option<Segment> {
    let [flags, offset, address, file_size] = rest.numbers()?;
    let flags = elf::ProgramFlags(flags as u32);
    let (kind, memory_size, align) = (elf::PT_LOAD, file_size, 0);
    Some(Segment { kind, flags, offset, address, file_size, memory_size, align })
}
