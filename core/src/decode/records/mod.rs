//! Records that are not samples.

use std::borrow::Cow;

use crate::decode::{ByteOrder, Cursor};
use crate::error::DecodeError;
use crate::format::BuildId;
use crate::format::record::{RECORD_HEADER_SIZE, RecordType, misc};
use crate::profile::MappedFrom;

/// A record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// What it is.
    pub record_type: RecordType,
    /// Flags, by type.
    pub misc: u16,
    /// Bytes of the whole record.
    pub size: usize,
}

impl RecordHeader {
    /// The header that `bytes` begin with; `None` if they are fewer than eight.
    #[inline]
    pub fn read(bytes: &[u8], order: ByteOrder) -> Option<Self> {
        let header = bytes.first_chunk::<RECORD_HEADER_SIZE>()?;
        let [t0, t1, t2, t3, m0, m1, s0, s1] = *header;
        Some(Self {
            record_type: RecordType(order.u32([t0, t1, t2, t3])),
            misc: order.u16([m0, m1]),
            size: usize::from(order.u16([s0, s1])),
        })
    }

    /// The whole record that `records` begin with, its header first, and what follows it. `None`
    /// at their end, and where no record can begin: its size is less than its header's or more
    /// than there is.
    #[inline]
    pub fn split(records: &[u8], order: ByteOrder) -> Option<(Self, &[u8], &[u8])> {
        let header = Self::read(records, order).filter(|it| it.size >= RECORD_HEADER_SIZE)?;
        let (record, rest) = records.split_at_checked(header.size)?;
        Some((header, record, rest))
    }

    /// The CPU mode in `misc`.
    pub fn cpu_mode(self) -> u16 {
        self.misc & misc::CPUMODE_MASK
    }
}

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
    /// It is data.
    Data,
}

/// `PROT_EXEC` of `mmap(2)`.
const PROT_EXEC: u32 = 4;

impl<'a> MmapRecord<'a> {
    /// Decodes MMAP or MMAP2; `bytes` are the record without its trailer, at `offset`.
    pub fn decode(
        header: RecordHeader,
        bytes: &'a [u8],
        offset: u64,
        order: ByteOrder,
    ) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes, offset, order, "an MMAP record");
        cursor.take(RECORD_HEADER_SIZE)?;
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
                if protection & PROT_EXEC == 0 {
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

/// A thread was named.
#[derive(Clone, Debug, PartialEq)]
pub struct CommRecord<'a> {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Its name.
    pub name: Cow<'a, str>,
    /// Why.
    pub cause: CommCause,
}

/// Why a thread has a new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommCause {
    /// It called exec: its mappings are gone.
    Exec,
    /// It was renamed.
    Rename,
}

impl<'a> CommRecord<'a> {
    /// `struct { u32 pid, tid; char comm[]; }`
    pub fn decode(
        header: RecordHeader,
        bytes: &'a [u8],
        offset: u64,
        order: ByteOrder,
    ) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes, offset, order, "a COMM record");
        cursor.take(RECORD_HEADER_SIZE)?;
        Ok(Self {
            pid: cursor.u32()?,
            tid: cursor.u32()?,
            name: String::from_utf8_lossy(cursor.c_string()),
            cause: match header.misc & misc::COMM_EXEC {
                0 => CommCause::Rename,
                _ => CommCause::Exec,
            },
        })
    }
}

/// A thread began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    /// Its process.
    pub pid: u32,
    /// The process of the thread that began it.
    pub parent_pid: u32,
    /// The thread.
    pub tid: u32,
    /// The thread that began it.
    pub parent_tid: u32,
    /// Whether a new process has its parent's mappings.
    pub mappings: ForkMappings,
}

/// What a new process begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkMappings {
    /// A copy of its parent's mappings.
    Copied,
    /// Nothing: the record was synthesised for a process that was there already, and its own
    /// mappings follow (`PERF_RECORD_MISC_FORK_EXEC` in perf).
    Own,
}

impl TaskRecord {
    /// `struct { u32 pid, ppid, tid, ptid; u64 time; }`
    pub fn decode(
        header: RecordHeader,
        bytes: &[u8],
        offset: u64,
        order: ByteOrder,
    ) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes, offset, order, "a FORK record");
        cursor.take(RECORD_HEADER_SIZE)?;
        Ok(Self {
            pid: cursor.u32()?,
            parent_pid: cursor.u32()?,
            tid: cursor.u32()?,
            parent_tid: cursor.u32()?,
            mappings: match header.misc & misc::FORK_EXEC {
                0 => ForkMappings::Copied,
                _ => ForkMappings::Own,
            },
        })
    }
}

/// How many records a LOST (`u64 id, lost`) or LOST_SAMPLES (`u64 lost`) record tells of.
pub fn decode_lost(
    header: RecordHeader,
    bytes: &[u8],
    offset: u64,
    order: ByteOrder,
) -> Result<u64, DecodeError> {
    let mut cursor = Cursor::new(bytes, offset, order, "a LOST record");
    cursor.take(RECORD_HEADER_SIZE)?;
    if header.record_type == RecordType::LOST {
        cursor.u64()?;
    }
    cursor.u64()
}
