//! What of stacks lies beyond their copies: a record has room for 64 KiB of a stack, and compilers use more.
//!
//! After each round it is read from threads whose latest sample has such a stack (/proc/TID/mem; the kernel lets whoever may
//! trace them). By then a thread may have returned, which leaves what was there below its stack. So the samples that come next
//! decide: what was read goes on for them if the outermost calls of their copies stand where they stood before and after it
//! was read, and most of the data around is the same. A sample that contradicts ends what is known. The same goes for samples
//! from before it was read, back to the first that contradicts: they wait until a later one tells whether it holds.
//! (Of a first round, in which tables were loaded, that was up to a fifth of a second.)
//!
//! A thread that returned, and called all the same functions again from as deep in its stack by another way, is possible, so
//! such callers are marked.
//!
//! That the bytes at the end of a copy are the same says too little: in rustc these are often a part of one large buffer,
//! which nobody has written to. That all of them are says too much: functions write to what their callers have there. That
//! the calls stand when it is read says too little as well: of a program that takes another way each 3 ms, 2 to 6 in 160 stacks
//! had the way that came next.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::mem;
use std::os::unix::fs::FileExt;

use super::super::clock::Clock;
use super::super::stack_sample::Thread;
use super::frames::Frames;

/// Of so many calls at the end of a copy each has to stand where it stood.
const CALLS: usize = 3;
/// Where there are no more, of so many.
const CALLS_LEAST: usize = 2;
/// So many bytes of a copy's end are compared, of which three quarters have to be the same.
const COMPARED: usize = 4096;
/// So much is read beyond a copy at most.
const MOST_BEYOND: u64 = 1 << 20;
/// No more than so many bytes of a stack belong to the first function of its thread.
const FIRST_FRAME: u64 = 4096;
/// Threads of which that is known at once.
const ENDS_MAX: usize = 1024;
/// Memory for what lies below what is known, at a time.
const ROOM: usize = 1 << 18;
/// So much is known of a stack at most.
const MOST_KNOWN: usize = 2 << 20;
/// So many nanoseconds after a stack was read, it is no more waited for a sample that shows for which ones that holds. A thread
/// that runs has one each 10 ms at 99 Hz.
const NEXT_COMES_WITHIN: u64 = 50_000_000;
/// Threads whose stacks are kept at once.
const THREADS_MAX: usize = 32;

/// The stacks of threads that had more than fits into a copy.
#[derive(Default)]
pub struct DeepStacks {
    by_thread: HashMap<Thread, DeepStack>,
    /// Memory for the next one.
    spare: Vec<u8>,
    /// Where the first function of a thread has its part. Behind the stack is often that of another thread: up to the megabyte
    /// was read where copies are short, which took half of the processor time.
    ends: HashMap<Thread, u64>,
}

/// How a stack goes on from its copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond<T> {
    /// So.
    Known(T),
    /// Nobody knows, and it has to be read.
    Unknown,
    /// What is known does not lead to a root.
    NoRoot,
    /// That was read after the copy was made, and may be what came next: the next copy tells. To read it once more would put
    /// that off, for ever where records are behind.
    ReadLater,
}

/// Bytes of a stack.
struct DeepStack {
    /// Those from `start` on, behind room for more of them.
    bytes: Vec<u8>,
    room: usize,
    start: u64,
    /// By the clock of records.
    read_at: u64,
}

impl DeepStacks {
    /// How a stack goes on behind its copy, which was made at that time.
    pub fn known(&mut self, of: Thread, copy: &WalkedCopy<'_>, time: u64) -> Beyond<&[u8]> {
        let Some(stack) = self.by_thread.get(&of) else { return Beyond::Unknown };
        if !stack.continues(copy) {
            // The thread was elsewhere since.
            self.forget(of);
            return Beyond::Unknown;
        }
        if time <= stack.read_at {
            return Beyond::ReadLater;
        }
        self.update(of, copy.start, copy.bytes);
        let beyond = self.by_thread.get(&of).and_then(|stack| stack.beyond(copy));
        beyond.map_or(Beyond::Unknown, Beyond::Known)
    }

    /// Whether what was read may hold for a copy that was made before: it agrees, and what comes next has not come yet. All
    /// records have come up to `horizon`.
    pub fn may_hold(&self, of: Thread, copy: &WalkedCopy<'_>, horizon: u64) -> bool {
        let stack = self.by_thread.get(&of).filter(|stack| stack.continues(copy));
        stack.is_some_and(|stack| horizon < stack.read_at.saturating_add(NEXT_COMES_WITHIN))
    }

    /// The same of a copy that was made before the rest was read, once a later one has shown that this holds.
    pub fn known_by_now(&self, of: Thread, copy: &WalkedCopy<'_>) -> Beyond<&[u8]> {
        let stack = self.by_thread.get(&of).filter(|stack| stack.continues(copy));
        stack.and_then(|stack| stack.beyond(copy)).map_or(Beyond::Unknown, Beyond::Known)
    }

    /// Reads how the stack of a thread goes on now, whose latest copy this is: for samples to come.
    pub fn read(&mut self, of: Thread, copy: &WalkedCopy<'_>) {
        if self.by_thread.len() >= THREADS_MAX {
            // Whatever is needed is read again.
            self.by_thread.clear();
        }
        let end = self.ends.get(&of).map(|end| end.saturating_add(FIRST_FRAME));
        if let Some(stack) = DeepStack::read(of, copy, end, &mut self.spare) {
            self.forget(of);
            self.by_thread.insert(of, stack);
            self.update(of, copy.start, copy.bytes);
        }
    }

    /// Takes note of where the first function of a thread has its part of the stack, if a walk came as far.
    pub fn note_end(&mut self, of: Thread, at: Option<u64>) {
        if self.ends.len() >= ENDS_MAX {
            self.ends.clear();
        }
        match at {
            Some(at) => self.ends.insert(of, at),
            None => self.ends.remove(&of),
        };
    }

    /// Whether anything is known of a stack.
    pub fn has(&self, of: Thread) -> bool {
        self.by_thread.contains_key(&of)
    }

    /// Takes note of where the stack of a thread begins by now.
    pub fn leave(&mut self, of: Thread, start: u64) {
        if self.by_thread.get(&of).is_some_and(|stack| start > stack.start) {
            self.update(of, start, &[]);
        }
    }

    /// Takes note of a copy that reaches as far as what is known or goes on in it: what lies below is no part of the stack any
    /// more.
    pub fn update(&mut self, of: Thread, start: u64, bytes: &[u8]) {
        if let Some(stack) = self.by_thread.get_mut(&of)
            && !stack.take(start, bytes)
        {
            self.forget(of);
        }
    }

    fn forget(&mut self, of: Thread) {
        if let Some(stack) = self.by_thread.remove(&of) {
            self.spare = stack.bytes;
        }
    }
}

/// A copy of a stack that was walked as far as it goes.
pub struct WalkedCopy<'a> {
    /// Address of the first byte.
    pub start: u64,
    /// What was there.
    pub bytes: &'a [u8],
    /// What was found.
    pub frames: Frames<'a>,
}

impl WalkedCopy<'_> {
    /// Where in the copy the outermost addresses stand that are returned to, the outermost first.
    fn calls(&self) -> impl Iterator<Item = usize> {
        let Frames { addresses, stack_pointers } = self.frames;
        let callees = stack_pointers.windows(2);
        let calls = addresses.get(1..).unwrap_or_default().iter().zip(callees).rev();
        calls.filter_map(|(address, callee)| self.place_of(*address, callee)).take(CALLS)
    }

    /// Where a function has the address that it returns to, between its own stack and that of its caller: at its end on
    /// x86-64, anywhere on arm64.
    fn place_of(&self, address: u64, callee: &[u64]) -> Option<usize> {
        let &[from, to] = callee else { return None };
        let at = |pointer: u64| usize::try_from(pointer.checked_sub(self.start)?).ok();
        let (from, to) = (at(from)?, at(to)?.min(self.bytes.len()));
        let words = self.bytes.get(from..to)?.as_chunks().0;
        let place = words.iter().rposition(|word| *word == address.to_le_bytes())?;
        Some(from + 8 * place)
    }

    /// Whether what is there now leads to the callers that the copy led to; `here` gives bytes at an address.
    fn still_leads_there(&self, here: impl Fn(u64, &mut [u8]) -> Option<()>) -> bool {
        let is_there = |at: usize| {
            let then: &[u8; 8] = self.bytes.get(at..)?.first_chunk()?;
            let mut now = [0; 8];
            here(self.start.checked_add(at as u64)?, &mut now)?;
            (now == *then).then_some(())
        };
        let mut calls = 0;
        for place in self.calls() {
            if is_there(place).is_none() {
                return false;
            }
            calls += 1;
        }
        calls >= CALLS_LEAST && self.is_like(here).is_some_and(|same| same >= COMPARED / 4 * 3)
    }

    /// How many bytes at the end of the copy are the same.
    fn is_like(&self, here: impl Fn(u64, &mut [u8]) -> Option<()>) -> Option<usize> {
        let then: &[u8; COMPARED] = self.bytes.last_chunk()?;
        let mut now = [0; COMPARED];
        here(self.end()?, &mut now)?;
        // In pieces whose count fits into a byte: compilers compare many bytes at once then.
        let pieces = then.as_chunks::<128>().0.iter().zip(now.as_chunks::<128>().0);
        let same = pieces.map(|(then, now)| {
            let same = then.iter().zip(now).map(|(then, now)| u8::from(then == now));
            usize::from(same.sum::<u8>())
        });
        Some(same.sum())
    }

    /// Where the part begins that is compared.
    fn end(&self) -> Option<u64> {
        self.start.checked_add(self.bytes.len().checked_sub(COMPARED)? as u64)
    }
}

impl DeepStack {
    fn known(&self) -> &[u8] {
        self.bytes.get(self.room..).unwrap_or_default()
    }

    /// What is behind a copy.
    fn beyond(&self, copy: &WalkedCopy<'_>) -> Option<&[u8]> {
        let end = copy.start.checked_add(copy.bytes.len() as u64)?;
        self.known().get(usize::try_from(end.checked_sub(self.start)?).ok()?..)
    }

    /// Whether it holds for what is beyond a copy.
    fn continues(&self, copy: &WalkedCopy<'_>) -> bool {
        let here = |address: u64, bytes: &mut [u8]| {
            let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
            bytes.copy_from_slice(self.known().get(at..)?.get(..bytes.len())?);
            Some(())
        };
        copy.still_leads_there(here)
    }

    /// Reads what is there now, as far as the stack's end if that is known, into memory that it takes.
    fn read(
        thread: Thread,
        copy: &WalkedCopy<'_>,
        end: Option<u64>,
        memory_for_it: &mut Vec<u8>,
    ) -> Option<Self> {
        let memory = File::open(format!("/proc/{}/mem", thread.tid)).ok()?;
        let here = |address, bytes: &mut [u8]| memory.read_exact_at(bytes, address).ok();
        if !copy.still_leads_there(here) {
            return None;
        }
        let start = copy.end()?;
        // Room for the copy, which has yet to come, and no more memory than there is stack. A tenth of all time was spent on
        // clearing it.
        let room = copy.bytes.len();
        let bytes = memory_for_it;
        bytes.resize(room.max(bytes.len()), 0);
        bytes.truncate(room);
        let most = end.map_or(MOST_BEYOND, |end| end.saturating_sub(start).min(MOST_BEYOND));
        (&memory).seek(SeekFrom::Start(start)).ok()?;
        // Whatever there is.
        let _ = (&memory).take(most).read_to_end(bytes);
        // It did all the time.
        let read_at = Clock::record_time();
        let is_it = copy.still_leads_there(here);
        is_it.then(|| Self { bytes: mem::take(bytes), room, start, read_at })
    }

    /// Takes a copy that goes on in what is known; false if there is more than may be known of it, or if all of it has been
    /// left.
    fn take(&mut self, start: u64, bytes: &[u8]) -> bool {
        if let Some(below) = self.start.checked_sub(start) {
            let below = usize::try_from(below).unwrap_or(usize::MAX);
            if below > bytes.len() || self.known().len() + below > MOST_KNOWN {
                return false;
            }
            if let Some(more) = below.checked_sub(self.room).filter(|more| *more > 0) {
                let more = more.next_multiple_of(ROOM);
                let end = self.bytes.len();
                self.bytes.resize(end + more, 0);
                self.bytes.copy_within(self.room..end, self.room + more);
                self.room += more;
            }
            self.room -= below;
        } else {
            let within = usize::try_from(start - self.start).unwrap_or(usize::MAX);
            if within >= self.known().len() {
                return false;
            }
            self.room += within;
        }
        self.start = start;
        let known = &mut self.bytes[self.room..];
        let length = known.len().min(bytes.len());
        known[..length].copy_from_slice(&bytes[..length]);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COPIED: usize = 64 << 10;
    const CALLERS: [u64; 4] = [0x1000, 0x2000, 0x3000, 0x4000];

    /// This thread, and a stack in its memory: 256 KiB, in whose copy three calls stand below where frames begin.
    struct Stack {
        of: Thread,
        bytes: Vec<u8>,
    }

    impl Stack {
        fn new() -> Self {
            let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            let bytes = (0..256 << 10).map(|at: u32| (at / 4 % 251) as u8).collect();
            let mut stack = Self { of: Thread { pid: std::process::id(), tid }, bytes };
            stack.call(0);
            stack
        }

        /// Writes what all frames were called by.
        fn call(&mut self, from: usize) {
            for (frame, caller) in CALLERS.iter().enumerate().skip(1) {
                self.put(from, frame, *caller);
            }
        }

        /// Where a frame begins in a copy.
        fn begins(frame: usize) -> usize {
            frame * 16 * 1024
        }

        /// Writes what a frame was called by, in the copy from there on.
        fn put(&mut self, from: usize, frame: usize, caller: u64) {
            let at = from + Self::begins(frame) - 8;
            self.bytes[at..at + 8].copy_from_slice(&caller.to_ne_bytes());
        }

        fn address(&self, from: usize) -> u64 {
            self.bytes.as_ptr() as u64 + from as u64
        }

        /// Has `then` look at a copy of the stack that was taken from there on.
        fn look<T>(&self, from: usize, copy: &[u8], then: impl FnOnce(&WalkedCopy<'_>) -> T) -> T {
            let start = self.address(from);
            let stack_pointers = [0, 1, 2, 3].map(|frame| start + Self::begins(frame) as u64);
            let frames = Frames { addresses: &CALLERS, stack_pointers: &stack_pointers };
            then(&WalkedCopy { start, bytes: copy, frames })
        }

        fn read(&self, deep: &mut DeepStacks, from: usize, copy: &[u8]) {
            self.look(from, copy, |copy| deep.read(self.of, copy));
        }

        fn known(&self, deep: &mut DeepStacks, from: usize, copy: &[u8]) -> Option<Vec<u8>> {
            let later = u64::MAX;
            self.look(from, copy, |copy| match deep.known(self.of, copy, later) {
                Beyond::Known(beyond) => Some([copy.bytes, beyond].concat()),
                Beyond::Unknown | Beyond::NoRoot | Beyond::ReadLater => None,
            })
        }

        /// What is known once it was read with that copy, for the same once more.
        fn read_and_known(&self, copy: &[u8]) -> Option<Vec<u8>> {
            let mut deep = DeepStacks::default();
            self.read(&mut deep, 0, copy);
            self.known(&mut deep, 0, copy)
        }
    }

    #[test]
    fn what_is_beyond_a_copy_counts_while_the_calls_stand() {
        let mut stack = Stack::new();
        let copy = stack.bytes[..COPIED].to_vec();
        // Functions write to what their callers have there.
        stack.bytes[COPIED - 500..COPIED - 100].fill(1);
        let mut deep = DeepStacks::default();
        assert!(stack.known(&mut deep, 0, &copy).is_none());
        stack.read(&mut deep, 0, &copy);
        let known = stack.known(&mut deep, 0, &copy).expect("it is known");
        assert!(known.starts_with(&[&copy, &stack.bytes[COPIED..]].concat()));
        // By a sample that was taken before, which says nothing; but the later one does of that.
        stack.look(0, &copy, |copy| {
            assert_eq!(deep.known(stack.of, copy, 0), Beyond::ReadLater);
            assert_eq!(deep.known_by_now(stack.of, copy), Beyond::Known(&known[COPIED..]));
        });
        // Whatever is there by now.
        let before = stack.bytes.clone();
        stack.bytes[COPIED..].fill(2);
        let known = stack.known(&mut deep, 0, &copy).expect("it is known");
        assert!(known.starts_with(&[&copy, &before[COPIED..]].concat()));
        // A copy that contradicts ends it.
        let mut other = copy.clone();
        other[COPIED - 2000..COPIED - 100].fill(1);
        assert_eq!(
            stack.look(0, &other, |copy| deep.known_by_now(stack.of, copy)),
            Beyond::Unknown
        );
        assert!(stack.known(&mut deep, 0, &other).is_none());
        assert!(stack.known(&mut deep, 0, &copy).is_none());
        // Another stack is there than was copied.
        stack.put(0, 2, 0x5000);
        assert!(stack.read_and_known(&copy).is_none());
    }

    /// Memory below the stack pointer keeps what it had.
    #[test]
    fn what_a_thread_has_returned_from_says_nothing() {
        let stack = Stack::new();
        let copy = stack.bytes[..COPIED].to_vec();
        let mut deep = DeepStacks::default();
        for (smaller, there) in [(Stack::begins(1) - 8, true), (Stack::begins(2), false)] {
            for bytes in [&stack.bytes[smaller..], &[]] {
                stack.read(&mut deep, 0, &copy);
                match bytes {
                    [] => deep.leave(stack.of, stack.address(smaller)),
                    _ => deep.update(stack.of, stack.address(smaller), bytes),
                }
                assert_eq!(stack.known(&mut deep, 0, &copy).is_some(), there);
            }
        }
        stack.read(&mut deep, 0, &copy);
        deep.leave(stack.of, u64::MAX);
        assert!(!deep.has(stack.of));
    }

    #[test]
    fn a_stack_is_read_as_far_as_its_first_function() {
        let stack = Stack::new();
        let copy = stack.bytes[..COPIED].to_vec();
        let mut deep = DeepStacks::default();
        let end = 2 * COPIED;
        deep.note_end(stack.of, Some(stack.address(end)));
        stack.read(&mut deep, 0, &copy);
        let known = stack.known(&mut deep, 0, &copy).expect("it is known");
        assert!(known == stack.bytes[..end + FIRST_FRAME as usize]);
        // A walk needed more.
        deep.note_end(stack.of, None);
        stack.read(&mut deep, 0, &copy);
        let known = stack.known(&mut deep, 0, &copy).expect("it is known");
        assert!(known.starts_with(&stack.bytes));
    }

    #[test]
    fn data_alone_says_nothing_of_callers_nor_do_calls_alone() {
        let mut stack = Stack::new();
        let copy = stack.bytes[..COPIED].to_vec();
        assert!(stack.read_and_known(&copy).is_some());
        stack.bytes[COPIED - 2000..COPIED - 100].fill(1);
        assert!(stack.read_and_known(&copy).is_none());
        let mut stack = Stack::new();
        stack.put(0, 3, 0);
        stack.put(0, 2, 0);
        let copy = stack.bytes[..COPIED].to_vec();
        assert!(stack.read_and_known(&copy).is_none());
    }

    #[test]
    fn a_stack_is_known_by_copies_of_its_parts() {
        let mut stack = Stack::new();
        let mut deep = DeepStacks::default();
        let (low, high) = (0, 128 << 10);
        stack.call(high);
        let copy = stack.bytes[high..high + COPIED].to_vec();
        stack.read(&mut deep, high, &copy);
        // Deeper: a copy reaches into what is known, or it is read again.
        for from in [96 << 10, 64 << 10, 32 << 10, low] {
            stack.call(from);
            let copy = stack.bytes[from..from + COPIED].to_vec();
            if stack.known(&mut deep, from, &copy).is_none() {
                stack.read(&mut deep, from, &copy);
            }
            let known = stack.known(&mut deep, from, &copy).expect("it is known");
            assert!(known.starts_with(&stack.bytes[from..]), "from {from}");
        }
        // A thread may go on from further out.
        let copy = stack.bytes[high..high + COPIED].to_vec();
        let known = stack.known(&mut deep, high, &copy).expect("it is known");
        assert!(known.starts_with(&stack.bytes[high..]));
    }
}
