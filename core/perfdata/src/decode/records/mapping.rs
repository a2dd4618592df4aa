//! MMAP and MMAP2: files that were mapped.

use std::borrow::Cow;

use super::{RecordHeader, body};
use crate::decode::{ByteOrder, Cursor};
use crate::error::DecodeError;
use crate::format::BuildId;
use crate::format::record::{RecordType, misc};
use crate::identity::MappedFrom;

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
    if header.misc & misc::MMAP_BUILD_ID != 0
        && let Some(id) = written_build_id(cursor.rest())
    {
        cursor.take(4 + BuildId::MAX_LENGTH)?;
        return Ok(BuildId::new(id).map_or(MappedFrom::Nothing, MappedFrom::BuildId));
    }
    let (major, minor) = (cursor.u32()?, cursor.u32()?);
    let (inode, generation) = (cursor.u64()?, cursor.u64()?);
    Ok(match inode {
        0 => MappedFrom::Nothing,
        _ => MappedFrom::Inode { major, minor, inode, generation },
    })
}

/// The build-id, if there is one: its length, three zeros, and the id, filled up with zeros
/// (kernel/events/core.c, `perf_event_mmap_output`).
///
/// The bit in the header does not suffice. While another recorder asks for build-ids the kernel
/// (seen in 6.18) sets it in the records of those who did not, too, whose inodes follow: it writes
/// one header for all of them, and takes back no bit of it.
fn written_build_id(rest: &[u8]) -> Option<&[u8]> {
    let (&[length, reserved @ ..], rest) = rest.split_first_chunk::<4>()?;
    let (id, padding) = rest.get(..BuildId::MAX_LENGTH)?.split_at_checked(usize::from(length))?;
    let zeros = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
    (zeros(&reserved) && zeros(padding)).then_some(id)
}

/// Linux 3.12 to 3.15 and RHEL 7's 3.10 wrote MMAP2 without `prot` and `flags`: the path stands
/// where they should be. No protection looks like the beginning of a path.
fn lacks_protection(rest: &[u8]) -> bool {
    matches!(rest, [b'/' | b'[', second, ..] if *second != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Device 254:0, inode 0x4fa87: what a recorder got that had not asked for build-ids.
    const INODE: [u8; 24] =
        [254, 0, 0, 0, 0, 0, 0, 0, 0x87, 0xfa, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    #[test]
    fn inodes_under_the_bit_of_build_ids_are_inodes() {
        assert_eq!(written_build_id(&INODE), None);
        // Device 8:1, with a generation.
        let mut other = INODE;
        (other[0], other[4], other[20]) = (8, 1, 77);
        assert_eq!(written_build_id(&other), None);
        // Device 259:0: three bytes, were it a length.
        (other[0], other[1], other[20]) = (3, 1, 0);
        assert_eq!(written_build_id(&other), None);
    }

    #[test]
    fn build_ids_of_every_length_are_build_ids() {
        for length in 0..=20 {
            let mut bytes = [0; 24];
            bytes[0] = length;
            bytes[4..][..usize::from(length)].fill(7);
            assert_eq!(written_build_id(&bytes), Some(&[7; 20][..usize::from(length)]));
        }
        assert_eq!(written_build_id(&[20; 23]), None);
    }
}
