//! MMAP and MMAP2: files that were mapped.

use std::borrow::Cow;

use super::{RecordHeader, body};
use crate::decode::{ByteOrder, Cursor};
use crate::error::DecodeError;
use crate::format::BuildId;
use crate::format::record::{RecordType, misc};
use crate::profile::MappedFrom;

/// A file was mapped.
///
/// ```c
/// struct { u32 pid, tid; u64 addr, len, pgoff;         // MMAP and MMAP2
///          union { struct { u32 maj, min; u64 ino, ino_generation; };
///                  struct { u8 size; u8 _; u16 _; u8 id[20]; }; };  // with misc bit 14
///          u32 prot, flags;                            // MMAP2 alone
///          char filename[]; };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MmapRecord<'a> {
    /// Process; [`crate::format::record::KERNEL_PID`] for the kernel.
    pub pid: u32,
    /// First address.
    pub address: u64,
    /// Bytes.
    pub length: u64,
    /// File offset of the first address; for the kernel the address of its reference symbol.
    pub page_offset: u64,
    /// What stands for the file's content.
    pub mapped_from: MappedFrom,
    /// PROT_EXEC is set, or nothing says that it is not.
    pub access: MappingAccess,
    /// Path, as the kernel had it.
    pub path: Cow<'a, str>,
}

/// Whether code can run in a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappingAccess {
    /// It can.
    Executable,
    /// It is data, which may be bytecode.
    Data,
    /// It is code that a run time compiled, noted by simpleperf under a path that exists for its
    /// symbols alone. Nothing is at the page offset.
    JitSymbols,
}

/// `PROT_EXEC` of `mmap(2)`.
const PROT_EXEC: u32 = 4;
/// What can be allowed; a map that allows nothing was recorded by a tool that does not tell.
const PROT_ALL: u32 = 7;
/// simpleperf's own bit, `map_flags::PROT_JIT_SYMFILE_MAP`.
const PROT_JIT_SYMBOLS: u32 = 0x4000;

impl<'a> MmapRecord<'a> {
    /// Decodes MMAP or MMAP2; `bytes` are the record without its trailer, at `offset`.
    pub fn decode(
        header: RecordHeader,
        bytes: &'a [u8],
        offset: u64,
        order: ByteOrder,
    ) -> Result<Self, DecodeError> {
        let mut cursor = body(bytes, offset, order, "an MMAP record")?;
        let pid = cursor.u32()?;
        let _tid = cursor.u32()?;
        let address = cursor.u64()?;
        let length = cursor.u64()?;
        let page_offset = cursor.u64()?;
        let mut access = match header.misc & misc::MMAP_DATA {
            0 => MappingAccess::Executable,
            _ => MappingAccess::Data,
        };
        let mut mapped_from = MappedFrom::Nothing;
        if header.record_type == RecordType::MMAP2 {
            mapped_from = mapped_file(header, &mut cursor)?;
            if !lacks_protection(cursor.rest()) {
                let protection = cursor.u32()?;
                let _flags = cursor.u32()?;
                let allowed = protection & PROT_ALL;
                if protection & PROT_JIT_SYMBOLS != 0 {
                    access = MappingAccess::JitSymbols;
                } else if allowed != 0 && allowed & PROT_EXEC == 0 {
                    access = MappingAccess::Data;
                }
            }
        }
        let path = String::from_utf8_lossy(cursor.c_string());
        Ok(Self { pid, address, length, page_offset, mapped_from, access, path })
    }
}

fn mapped_file(header: RecordHeader, cursor: &mut Cursor<'_>) -> Result<MappedFrom, DecodeError> {
    if header.misc & misc::MMAP_BUILD_ID != 0 {
        let size = usize::from(cursor.u8()?).min(BuildId::MAX_LENGTH);
        cursor.take(3)?;
        let id = cursor.take(BuildId::MAX_LENGTH)?;
        return Ok(BuildId::new(&id[..size]).map_or(MappedFrom::Nothing, MappedFrom::BuildId));
    }
    let (major, minor) = (cursor.u32()?, cursor.u32()?);
    let (inode, generation) = (cursor.u64()?, cursor.u64()?);
    Ok(match inode {
        0 => MappedFrom::Nothing,
        _ => MappedFrom::Inode { major, minor, inode, generation },
    })
}

/// Linux 3.12 to 3.15 and RHEL 7's 3.10 wrote MMAP2 without `prot` and `flags`: the path stands
/// where they should be. No protection looks like the beginning of a path.
fn lacks_protection(rest: &[u8]) -> bool {
    matches!(rest, [b'/' | b'[', second, ..] if *second != 0)
}
