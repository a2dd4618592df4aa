//! Frames that walks have found.

use std::ops::Range;

/// Frames of a stack, the innermost first.
pub struct Frames<'a> {
    /// Where each goes on: those of callers are what is returned to.
    pub addresses: &'a [u64],
    /// Where the stack of each begins.
    pub stack_pointers: &'a [u64],
}

/// The frames of a round's samples, one sample behind the other.
#[derive(Default)]
pub struct FrameList {
    addresses: Vec<u64>,
    stack_pointers: Vec<u64>,
}

impl FrameList {
    /// A frame that goes on at the address, and whose stack begins at the pointer.
    #[inline(always)]
    pub fn push(&mut self, address: u64, stack_pointer: u64) {
        self.addresses.push(address);
        self.stack_pointers.push(stack_pointer);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Appends some once more.
    pub fn repeat(&mut self, range: Range<usize>) {
        self.addresses.extend_from_within(range.clone());
        self.stack_pointers.extend_from_within(range);
    }

    /// Forgets those from there on.
    pub fn truncate(&mut self, length: usize) {
        self.addresses.truncate(length);
        self.stack_pointers.truncate(length);
    }

    /// Those of a sample.
    pub fn frames(&self, range: &Range<usize>) -> Option<Frames<'_>> {
        Some(Frames {
            addresses: self.addresses.get(range.clone())?,
            stack_pointers: self.stack_pointers.get(range.clone())?,
        })
    }
}
