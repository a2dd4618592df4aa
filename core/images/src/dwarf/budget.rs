//! What the DWARF of one image may cost.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use perftab_perfdata::decode::ReadError;

/// Whatever the size of a file, this much is there for it.
const ALWAYS: u64 = 64 << 20;
/// Bytes of memory for each byte of the file: compressed sections and what is kept of them.
const PER_BYTE: u64 = 64;
/// Bytes that are decoded, again or for the first time, for each byte of its sections. Each is
/// decoded about three times where every function is looked up.
const WORK_PER_BYTE: u64 = 16;

/// How much one image may use, whatever it holds: a tab has 4 GiB for everything.
#[cfg(target_pointer_width = "32")]
const MOST: u64 = 1 << 30;
#[cfg(not(target_pointer_width = "32"))]
const MOST: u64 = 8 << 30;

/// Memory and work that are left for an image.
#[derive(Debug)]
pub(crate) struct Budget {
    memory: AtomicU64,
    work: AtomicU64,
    /// What was over budget first, so that some address has fewer levels than its file tells.
    fault: OnceLock<Fault>,
}

/// Why something of DWARF is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It would need more memory than its image may use.
    Memory,
    /// It would have to be decoded more often than its image may ask for.
    Work,
    /// It cannot be understood.
    Damaged,
}

impl From<gimli::Error> for Fault {
    fn from(_: gimli::Error) -> Self {
        Self::Damaged
    }
}

impl Budget {
    /// For an image whose file has so many bytes.
    pub fn of_file(bytes: u64) -> Self {
        let memory = ALWAYS.saturating_add(bytes.saturating_mul(PER_BYTE)).min(MOST);
        Self { memory: memory.into(), work: ALWAYS.into(), fault: OnceLock::new() }
    }

    /// What is left of its memory.
    pub fn memory(&self) -> u64 {
        self.memory.load(Relaxed)
    }

    /// Takes memory for sections, and has more work done for them.
    pub fn hold_sections(&self, bytes: u64) -> Result<(), ReadError> {
        self.add_work_for(bytes);
        self.hold(bytes).map_err(|_| over_budget())
    }

    /// Has more work done, for so many bytes that came.
    pub fn add_work_for(&self, bytes: u64) {
        self.work.store(
            self.work.load(Relaxed).saturating_add(bytes.saturating_mul(WORK_PER_BYTE)),
            Relaxed,
        );
    }

    /// Takes memory.
    pub fn hold(&self, bytes: u64) -> Result<(), Fault> {
        self.memory
            .store(self.memory.load(Relaxed).checked_sub(bytes).ok_or(Fault::Memory)?, Relaxed);
        Ok(())
    }

    /// Takes memory for one more of a kind. Vectors grow by doubling, so each may be there twice.
    pub fn hold_one<T>(&self) -> Result<(), Fault> {
        self.hold(2 * size_of::<T>() as u64)
    }

    /// Sets back to what was left when there was less held.
    pub fn release_to(&self, memory: u64) {
        self.memory.store(memory, Relaxed);
    }

    /// Decodes so many bytes. Whoever asks for more than is left leaves nothing, as many others may ask for as much.
    pub fn work(&self, bytes: u64) -> Result<(), Fault> {
        let left = self.work.load(Relaxed).checked_sub(bytes);
        self.work.store(left.unwrap_or(0), Relaxed);
        left.map(|_| ()).ok_or(Fault::Work)
    }

    /// Notes what was left out.
    pub fn note(&self, fault: Fault) {
        if fault != Fault::Damaged {
            let _first = self.fault.set(fault);
        }
    }

    /// What was left out for want of memory or work, if anything.
    pub fn fault(&self) -> Option<Fault> {
        self.fault.get().copied()
    }
}

/// What people are told.
pub(crate) fn over_budget() -> ReadError {
    ReadError::new("its debug information needs more memory than a file of its size may use")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_for_more_than_is_left_leaves_nothing() {
        let budget = Budget::of_file(0);
        assert_eq!(budget.work(ALWAYS - 1), Ok(()));
        assert_eq!([2, 1].map(|bytes| budget.work(bytes)), [Err(Fault::Work); 2]);
    }
}
