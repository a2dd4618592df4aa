//! The ring buffer that the kernel writes the records of one CPU into.
//!
//! One page of control data (`struct perf_event_mmap_page`), then a power of two of data pages.
//! The kernel advances `data_head`, we advance `data_tail`; what lies between is ours to read.
//! Records are copied out at once, so that the kernel gets its space back early; or they are lent to whoever reads them where
//! they are, and gives the space back: nothing outside this file ever refers to memory that the kernel writes.
//!
//! With `sys.rs` the only file that may contain `unsafe`.

use std::collections::VecDeque;
use std::io;
use std::mem::offset_of;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
            let record = with_its_rest(begun, rest);
            take(&record);
            rest = &rest[record.len() - begun.len()..];
        }
        let left = for_each_whole(rest, &mut take);
        if !left.is_empty() {
            take(left);
        }
    }
}

/// A record that begins in one place and goes on at the beginning of another; nothing if it does not begin.
fn with_its_rest(begun: &[u8], rest: &[u8]) -> Vec<u8> {
    // Records are of whole words, so the first has the size.
    let size = RecordHeader::read(begun, ByteOrder::NATIVE).map_or(0, |it| it.size);
    let missing = size.saturating_sub(begun.len()).min(rest.len());
    [begun, &rest[..missing]].concat()
}

/// Gives back what is behind the last one.
fn for_each_whole<'a>(mut records: &'a [u8], take: &mut impl FnMut(&[u8])) -> &'a [u8] {
    while let Some((_, record, rest)) = RecordHeader::split(records, ByteOrder::NATIVE) {
        take(record);
        records = rest;
    }
    records
}

/// A ring whose records are taken in the order in which they came.
pub struct Ring(Arc<SharedRing>);

struct SharedRing {
    mapping: Mapping,
    taken: Mutex<Taken>,
}

/// How much of a ring was taken.
#[derive(Default)]
struct Taken {
    /// Everything before this was copied or lent.
    until: u64,
    /// Where what is lent begins.
    lent: VecDeque<u64>,
}

/// The memory of a ring; unmapped when dropped.
struct Mapping {
    base: NonNull<u8>,
    page: usize,
    data_size: usize,
}

// SAFETY: this memory belongs to no thread. Its two counters are accessed as atomic words, and its records are only read, by
// whoever knows that the kernel does not write there.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// Whole records, wherever they are.
pub enum TakenRecords {
    /// In their ring.
    Lent(LentRecords),
    /// In memory of ours.
    Copied(Vec<u8>),
}

/// Records in a ring. The kernel gets their space back when they are dropped.
pub struct LentRecords {
    ring: Arc<SharedRing>,
    begin: u64,
    length: usize,
}

impl Deref for TakenRecords {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Copied(records) => records,
            // SAFETY: the kernel wrote them before it moved the head, and does not write there again before the tail moves,
            // for which this is dropped first.
            Self::Lent(lent) => unsafe { lent.ring.mapping.records(lent.begin, lent.length) },
        }
    }
}

impl TakenRecords {
    /// Bytes in memory of ours.
    pub fn copied(&self) -> usize {
        match self {
            Self::Lent(_) => 0,
            Self::Copied(records) => records.len(),
        }
    }
}

impl Drop for LentRecords {
    fn drop(&mut self) {
        self.ring.take(|taken| taken.lent.retain(|begin| *begin != self.begin));
    }
}

impl Ring {
    /// Maps the ring of an event, with `data_size` bytes for records: a power of two of pages.
    /// EPERM: more memory than `kernel.perf_event_mlock_kb` and the user's limit allow.
    pub fn map(event: BorrowedFd<'_>, data_size: usize) -> io::Result<Self> {
        let mapping = Mapping::map(event, data_size, ProtFlags::READ | ProtFlags::WRITE)?;
        Ok(Self(Arc::new(SharedRing { mapping, taken: Mutex::default() })))
    }

    /// Has every complete record copied and gives its space back to the kernel.
    pub fn drain(&mut self, copy: impl FnOnce(RingBytes<'_>)) -> Fill {
        let (begin, first, second) = self.0.untaken();
        let filled = first + second;
        if filled == 0 {
            return Fill::Free;
        }
        // SAFETY: the kernel does not write between tail and head, and the slices end before the tail moves.
        unsafe {
            let mapping = &self.0.mapping;
            copy(RingBytes {
                first: mapping.records(begin, first),
                second: mapping.records(begin + first as u64, second),
            });
        }
        self.0.take(|taken| taken.until = begin + filled as u64);
        match filled + LARGEST_SIDEBAND > self.0.mapping.data_size {
            true => Fill::Full,
            false => Fill::Free,
        }
    }

    /// Lends every complete record. One that goes on at the ring's beginning is copied.
    pub fn lend(&mut self, mut to: impl FnMut(TakenRecords)) {
        let (begin, first, second) = self.0.untaken();
        let behind = begin + first as u64;
        if second == 0 {
            return self.lend_some(begin, first, &mut to);
        }
        // SAFETY: as in `drain`.
        let (torn, rest) = unsafe {
            let mapping = &self.0.mapping;
            let torn = for_each_whole(mapping.records(begin, first), &mut |_| {});
            (torn, mapping.records(behind, second))
        };
        let whole = first - torn.len();
        let torn = with_its_rest(torn, rest);
        let after = begin + (whole + torn.len()) as u64;
        self.lend_some(begin, whole, &mut to);
        if !torn.is_empty() {
            self.0.take(|taken| taken.until = after);
            to(TakenRecords::Copied(torn));
        }
        self.lend_some(after, (behind + second as u64 - after) as usize, &mut to);
    }

    /// Lends records that lie in one place.
    fn lend_some(&mut self, begin: u64, length: usize, to: &mut impl FnMut(TakenRecords)) {
        if length > 0 {
            self.0.take(|taken| {
                taken.lent.push_back(begin);
                taken.until = begin + length as u64;
            });
            to(TakenRecords::Lent(LentRecords { ring: Arc::clone(&self.0), begin, length }));
        }
    }

    /// Whether anything is lent: until that comes back, the kernel gets no space back.
    pub fn is_lent(&self) -> bool {
        !self.0.taken.lock().unwrap_or_else(PoisonError::into_inner).lent.is_empty()
    }
}

impl SharedRing {
    /// Where begins what is not taken yet, how much of it there is up to the ring's end, and how much at its beginning.
    fn untaken(&self) -> (u64, usize, usize) {
        let (data_size, head) = (self.mapping.data_size, self.mapping.head());
        let begin = self.taken.lock().unwrap_or_else(PoisonError::into_inner).until;
        let filled = usize::try_from(head.wrapping_sub(begin)).unwrap_or(usize::MAX);
        debug_assert!(filled <= data_size);
        let filled = filled.min(data_size);
        let first = filled.min(data_size - (begin % data_size as u64) as usize);
        (begin, first, filled - first)
    }

    /// Changes what is taken, and gives the kernel what nobody reads any more.
    fn take(&self, change: impl FnOnce(&mut Taken)) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut taken);
        // Release: what was read there was read before the kernel may write there again.
        let tail = self.mapping.counter(offset_of!(perf_event_mmap_page, data_tail));
        tail.store(taken.tail(), Ordering::Release);
    }
}

impl Taken {
    /// Up to where nobody reads any more.
    fn tail(&self) -> u64 {
        self.lent.front().copied().unwrap_or(self.until)
    }
}

impl Mapping {
    fn map(event: BorrowedFd<'_>, data_size: usize, access: ProtFlags) -> io::Result<Self> {
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
        Ok(Self { base, page, data_size })
    }

    /// So many bytes at a position, which do not go on at the ring's beginning.
    ///
    /// # Safety
    ///
    /// The kernel has written them, and does not write there while they are borrowed.
    unsafe fn records(&self, position: u64, length: usize) -> &[u8] {
        let start = (position % self.data_size as u64) as usize;
        debug_assert!(length <= self.data_size - start);
        // SAFETY: that lies within the data pages, which are mapped for as long as self lives.
        unsafe {
            let data = self.base.as_ptr().add(self.page);
            std::slice::from_raw_parts(data.add(start), length)
        }
    }

    /// Up to where the kernel has written.
    fn head(&self) -> u64 {
        // Acquire pairs with the kernel's barrier before it publishes the head
        // (`perf_output_put_handle`): the records up to it are there.
        self.counter(offset_of!(perf_event_mmap_page, data_head)).load(Ordering::Acquire)
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
    mapping: Mapping,
    /// Where the latest record began that was read.
    latest: u64,
    owner: OwnedFd,
}

impl OverwrittenRing {
    /// As [`Ring::map`], of an event with `write_backward`. That it cannot be written to tells the kernel to write over
    /// what is there.
    pub fn map(event: BorrowedFd<'_>, data_size: usize) -> io::Result<Self> {
        let mapping = Mapping::map(event, data_size, ProtFlags::READ)?;
        Ok(Self { mapping, latest: 0, owner: event.try_clone_to_owned()? })
    }

    /// Appends the records that have come since this was last read and are still there, the latest first.
    pub fn read_into(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        super::sys::set_output(self.owner.as_fd(), super::sys::RingOutput::Paused)?;
        self.copy_into(out);
        super::sys::set_output(self.owner.as_fd(), super::sys::RingOutput::Resumed)
    }

    fn copy_into(&mut self, out: &mut Vec<u8>) {
        let Mapping { base, page, data_size } = self.mapping;
        // The head goes down. Acquire as in `drain`.
        let position = self.mapping.counter(offset_of!(perf_event_mmap_page, data_head));
        let head = position.load(Ordering::Acquire);
        let length =
            usize::try_from(self.latest.wrapping_sub(head)).unwrap_or(usize::MAX).min(data_size);
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
        self.latest = head;
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing borrows it any more. A failure leaves it mapped
        // until the process ends, which harms nobody.
        let _ =
            unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.page + self.data_size) };
    }
}

#[cfg(test)]
mod tests {
    use perf_event_open_sys::bindings::{PERF_COUNT_SW_DUMMY, PERF_TYPE_SOFTWARE};
    use perftab_perfdata::format::record::RecordType;

    use super::super::sys::{self, Scope};
    use super::*;

    /// Bytes of each record here: of a name of seven letters, and of what says that some were lost.
    const RECORD: usize = 24;

    /// What a thread is called while its ring has a page.
    struct Names {
        _event: OwnedFd,
        ring: Ring,
        given: usize,
    }

    impl Names {
        fn of_this_thread() -> Self {
            let mut attr = sys::empty_attr();
            (attr.type_, attr.config) = (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY.into());
            attr.set_exclude_kernel(1);
            attr.set_comm(1);
            let event = sys::open_event(&attr, Scope::Own).expect("a counter of this thread");
            let ring = Ring::map(event.as_fd(), rustix::param::page_size()).expect("a ring");
            Self { _event: event, ring, given: 0 }
        }

        fn give(&mut self, count: usize) {
            for _ in 0..count {
                let name = format!("n{:06}\0", self.given);
                let name = std::ffi::CStr::from_bytes_with_nul(name.as_bytes()).expect("a name");
                rustix::thread::set_name(name).expect("a name is taken");
                self.given += 1;
            }
        }

        fn lend(&mut self) -> Vec<TakenRecords> {
            let mut lent = Vec::new();
            self.ring.lend(|records| lent.push(records));
            lent
        }
    }

    /// Names, and how many records were lost.
    fn said(records: &[u8]) -> Vec<String> {
        let mut said = Vec::new();
        let rest = for_each_whole(records, &mut |record| {
            assert_eq!(record.len(), RECORD);
            let header = RecordHeader::read(record, ByteOrder::NATIVE).expect("a header");
            said.push(match header.record_type {
                RecordType::COMM => String::from_utf8_lossy(&record[16..23]).into_owned(),
                RecordType::LOST => format!("lost {}", record[16]),
                other => panic!("{other:?}"),
            });
        });
        assert!(rest.is_empty());
        said
    }

    #[test]
    fn what_is_lent_is_not_written_over_and_has_its_place_back_afterwards() {
        let mut names = Names::of_this_thread();
        let room = (rustix::param::page_size() - 1) / RECORD;
        let expected = |from: usize, to: usize| (from..to).map(|it| format!("n{it:06}"));
        names.give(100);
        let first = names.lend();
        assert_eq!(first.len(), 1);
        assert!(names.ring.is_lent());
        names.give(100);
        let second = names.lend();
        assert!(said(&first[0]).into_iter().eq(expected(0, 100)));
        assert!(said(&second[0]).into_iter().eq(expected(100, room)));
        // Whoever has the second is done before.
        drop(second);
        names.give(1);
        assert!(names.lend().is_empty());
        assert!(said(&first[0]).into_iter().eq(expected(0, 100)));
        drop(first);
        assert!(!names.ring.is_lent());
        // The first of them goes on at the beginning of the ring.
        names.give(2);
        let third = names.lend();
        assert!(matches!(third[..], [TakenRecords::Copied(_), TakenRecords::Lent(_)]));
        assert!(names.lend().is_empty());
        let lost = format!("lost {}", 201 - room);
        let come = third.iter().flat_map(|records| said(records));
        assert!(come.eq([lost].into_iter().chain(expected(201, 203))));
        drop(third);
        // Copied behind what is lent.
        names.give(50);
        let fourth = names.lend();
        names.give(60);
        let mut copied = Vec::new();
        names.ring.drain(|records| records.append_to(&mut copied));
        assert!(said(&copied).into_iter().eq(expected(253, 313)));
        assert!(names.ring.is_lent());
        drop(fourth);
        assert!(!names.ring.is_lent());
        // Each comes once, also one that goes on at the beginning while it is the last.
        let mut torn = 0;
        for _ in 0..4 * room {
            let expected = format!("n{:06}", names.given);
            names.give(1);
            let [ref come] = names.lend()[..] else { panic!("one record in one piece") };
            assert_eq!(said(come), [expected]);
            torn += usize::from(matches!(come, TakenRecords::Copied(_)));
            assert!(names.lend().is_empty());
            names.ring.drain(|_| panic!("it was lent"));
        }
        assert!(torn >= 2);
    }
}
