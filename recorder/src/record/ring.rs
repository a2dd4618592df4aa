//! The ring buffer that the kernel writes the records of one CPU into.
//!
//! One page of control data (`struct perf_event_mmap_page`), then a power of two of data pages.
//! The kernel advances `data_head`, we advance `data_tail`; what lies between is ours to read.
//! Records are copied out at once: the kernel gets its space back early, and nothing outside this
//! file ever refers to memory that the kernel writes.
//!
//! With `sys.rs` the only file that may contain `unsafe`.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::perf_event_mmap_page;
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use rustix::mm::{MapFlags, ProtFlags};

/// No record of mappings or threads is larger: an MMAP2 record without its name has 72 bytes, a name
/// at most 4096, and what ends a record at most 64.
const LARGEST_SIDEBAND: usize = 72 + 4096 + 64;

/// How a ring was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Every record of mappings or threads would have had space.
    Free,
    /// One may have had none.
    Full,
}

/// The records of a ring, which may go on at its beginning.
pub struct RingBytes<'a> {
    /// Up to the ring's end.
    pub first: &'a [u8],
    /// From its beginning on.
    pub second: &'a [u8],
}

impl RingBytes<'_> {
    /// Appends all of them.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.first);
        out.extend_from_slice(self.second);
    }

    /// Each of them by itself; the one that goes on at the beginning is put together. What is none comes last, whole.
    pub fn for_each(&self, mut take: impl FnMut(&[u8])) {
        let (begun, mut rest) = (for_each_whole(self.first, &mut take), self.second);
        if !begun.is_empty() {
            // Records are of whole words, so the first has the size.
            let size = RecordHeader::read(begun, ByteOrder::NATIVE).map_or(0, |it| it.size);
            let missing = size.saturating_sub(begun.len()).min(rest.len());
            take(&[begun, &rest[..missing]].concat());
            rest = &rest[missing..];
        }
        let left = for_each_whole(rest, &mut take);
        if !left.is_empty() {
            take(left);
        }
    }
}

/// Gives back what is behind the last one.
fn for_each_whole<'a>(mut records: &'a [u8], take: &mut impl FnMut(&[u8])) -> &'a [u8] {
    while let Some((_, record, rest)) = RecordHeader::split(records, ByteOrder::NATIVE) {
        take(record);
        records = rest;
    }
    records
}

/// A mapped ring; unmapped when dropped.
pub struct Ring {
    base: NonNull<u8>,
    page: usize,
    data_size: usize,
    tail: u64,
}

impl Ring {
    /// Maps the ring of an event, with `data_size` bytes for records: a power of two of pages.
    /// EPERM: more memory than `kernel.perf_event_mlock_kb` and the user's limit allow.
    pub fn map(event: BorrowedFd<'_>, data_size: usize) -> io::Result<Self> {
        Self::map_as(event, data_size, ProtFlags::READ | ProtFlags::WRITE)
    }

    fn map_as(event: BorrowedFd<'_>, data_size: usize, access: ProtFlags) -> io::Result<Self> {
        let page = rustix::param::page_size();
        if !data_size.is_multiple_of(page) || !(data_size / page).is_power_of_two() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: a new mapping at an address of the kernel's choice, of an event that is open.
        // It stays mapped until Drop.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                page + data_size,
                access,
                MapFlags::SHARED,
                event,
                0,
            )?
        };
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { base, page, data_size, tail: 0 })
    }

    /// Has every complete record copied and gives its space back to the kernel.
    pub fn drain(&mut self, copy: impl FnOnce(RingBytes<'_>)) -> Fill {
        // Acquire pairs with the kernel's barrier before it publishes the head
        // (`perf_output_put_handle`): the records up to it are there.
        let head =
            self.counter(offset_of!(perf_event_mmap_page, data_head)).load(Ordering::Acquire);
        let filled = usize::try_from(head.wrapping_sub(self.tail)).unwrap_or(usize::MAX);
        if filled == 0 {
            return Fill::Free;
        }
        debug_assert!(filled <= self.data_size);
        let filled = filled.min(self.data_size);
        let start = (self.tail % self.data_size as u64) as usize;
        let first = filled.min(self.data_size - start);
        // SAFETY: both ranges lie within the data pages. The kernel does not write between tail
        // and head, and the slices end before the tail moves.
        unsafe {
            let data = self.base.as_ptr().add(self.page);
            copy(RingBytes {
                first: std::slice::from_raw_parts(data.add(start), first),
                second: std::slice::from_raw_parts(data, filled - first),
            });
        }
        self.tail = head;
        // Release: the copy is done before the kernel may write there again.
        self.counter(offset_of!(perf_event_mmap_page, data_tail)).store(head, Ordering::Release);
        if filled + LARGEST_SIDEBAND > self.data_size { Fill::Full } else { Fill::Free }
    }

    fn counter(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: data_head and data_tail are aligned u64s in the control page, which is mapped
        // for as long as self lives and which both sides access as single 64-bit words.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(offset).cast::<u64>()) }
    }
}

/// A ring that the kernel fills from its end to its start, over what is oldest: nobody gives space back. It is read
/// while its output is paused. Unmapped when dropped.
pub struct OverwrittenRing {
    mapping: Ring,
    owner: OwnedFd,
}

impl OverwrittenRing {
    /// As [`Ring::map`], of an event with `write_backward`. That it cannot be written to tells the kernel to write over
    /// what is there.
    pub fn map(event: BorrowedFd<'_>, data_size: usize) -> io::Result<Self> {
        let mapping = Ring::map_as(event, data_size, ProtFlags::READ)?;
        Ok(Self { mapping, owner: event.try_clone_to_owned()? })
    }

    /// Appends the records that have come since this was last read and are still there, the latest first.
    pub fn read_into(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        super::sys::set_output(self.owner.as_fd(), super::sys::RingOutput::Paused)?;
        self.copy_into(out);
        super::sys::set_output(self.owner.as_fd(), super::sys::RingOutput::Resumed)
    }

    fn copy_into(&mut self, out: &mut Vec<u8>) {
        let Ring { base, page, data_size, tail } = self.mapping;
        // The head goes down. Acquire as in `drain`.
        let position = self.mapping.counter(offset_of!(perf_event_mmap_page, data_head));
        let head = position.load(Ordering::Acquire);
        let length = usize::try_from(tail.wrapping_sub(head)).unwrap_or(usize::MAX).min(data_size);
        let start = (head % data_size as u64) as usize;
        let first = length.min(data_size - start);
        let begin = out.len();
        out.reserve(length);
        // SAFETY: both ranges lie within the data pages, and together they are as long as what was reserved. They are
        // copied as raw bytes, without a reference to them: a record that the kernel was writing when it was paused
        // may still change the last of them, which are cut off below.
        unsafe {
            let data = base.as_ptr().add(page);
            let to = out.as_mut_ptr().add(begin);
            std::ptr::copy_nonoverlapping(data.add(start), to, first);
            std::ptr::copy_nonoverlapping(data, to.add(first), length - first);
            out.set_len(begin + length);
        }
        let late = head.wrapping_sub(position.load(Ordering::Acquire));
        let valid = data_size.saturating_sub(usize::try_from(late).unwrap_or(usize::MAX));
        out.truncate(begin + length.min(valid));
        // Of the oldest, the end may have been written over.
        let mut whole = begin;
        while let Some((_, record, _)) = RecordHeader::split(&out[whole..], ByteOrder::NATIVE) {
            whole += record.len();
        }
        out.truncate(whole);
        self.mapping.tail = head;
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing borrows it any more. A failure leaves it mapped
        // until the process ends, which harms nobody.
        let _ =
            unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.page + self.data_size) };
    }
}
