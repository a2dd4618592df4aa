//! Callers that chains by frame pointers lack, as the link register of arm64 has them.
//!
//! The unwind tables of the code that ran say at which instructions that register has the function's caller: nothing was
//! called yet, or what was saved has been taken back. That needs no copy of a stack, so nothing is walked: of each row it is
//! known what the caller would be ([`LeafCallers`](perftab_profile::LeafCallers)), and it is put into the stack or not. It is
//! so even if the chain goes on with the same address: a function that calls itself has not set up its frame yet.

use perftab_images::RowMemory;
use perftab_perfdata::address_bits::AddressBits;
use perftab_perfdata::format::attr::ARM64_LINK_REGISTER;
use perftab_profile::{Frame, FrameId, Frames, LeafCaller, Profile, StackId, Stacks};

use super::Unwound;
use super::walker::Walker;
use crate::session::WatchedSample;

impl Walker {
    /// Which callers link registers have by the tables that are here, by their numbers.
    pub fn leaf_callers(&self) -> Vec<bool> {
        let mut memory = RowMemory::default();
        let known = self.profile.leaf_callers.known().iter();
        known.map(|it| self.is_called_from_register(it.leaf, &mut memory)).collect()
    }

    /// Whether the link register has the caller when this code runs.
    fn is_called_from_register(&self, leaf: Frame, memory: &mut RowMemory) -> bool {
        let tables = self.tables.get(&leaf.dso);
        let row = tables.and_then(|tables| tables.rules().row(leaf.address, memory));
        row.is_some_and(|row| row.returns_to_register(self.machine))
    }

    /// The addresses of user space of a sample whose chain lacks a caller; `None` if it is not known to.
    pub(super) fn with_leaf_caller(&mut self, sample: &WatchedSample<'_>) -> Option<Vec<u64>> {
        let LeafCaller { leaf, .. } = self.profile.leaf_callers.of_row(sample.row)?;
        if !self.is_called_from_register(leaf, &mut RowMemory::default()) {
            return None;
        }
        let highest = self.profile.mappings.highest_in(sample.space_in(&self.profile)?)?;
        let link = sample.tail.user_registers?.get(ARM64_LINK_REGISTER)?;
        // The upper half is the kernel's, which comes first.
        let of_user = sample.addresses().into_iter().skip_while(|address| address >> 63 == 1);
        let mut addresses: Vec<u64> = of_user.collect();
        addresses.insert(addresses.len().min(1), AddressBits::up_to(highest).of(link));
        Some(addresses)
    }
}

impl Unwound {
    /// Puts callers that were not found before into the stacks of their rows.
    pub(super) fn put_leaf_callers(
        &mut self,
        found: &[bool],
        profile: &mut Profile,
        (frames, stacks): (&mut Frames, &mut Stacks),
    ) {
        let Profile { leaf_callers, samples, .. } = profile;
        self.leaf_callers.resize(found.len(), false);
        for (row, number) in leaf_callers.rows() {
            if found[number] && !self.leaf_callers[number] {
                let [leaf, caller] = ids_of(leaf_callers.known()[number], frames);
                if let Some(stack) = samples.stack.get(row) {
                    samples.set_stack(row, with_caller(*stack, leaf, caller, stacks));
                }
            }
        }
        self.leaf_callers.iter_mut().zip(found).for_each(|(known, found)| *known |= found);
    }
}

fn ids_of(LeafCaller { leaf, caller }: LeafCaller, frames: &mut Frames) -> [FrameId; 2] {
    [frames.intern(leaf), frames.intern(caller)]
}

/// A stack in which `leaf` was called from `caller`.
fn with_caller(stack: StackId, leaf: FrameId, caller: FrameId, stacks: &mut Stacks) -> StackId {
    let mut inner = Vec::new();
    let mut next = stack;
    while let Some((callers, frame)) = stacks.get(next) {
        inner.push(frame);
        if frame == leaf {
            let callers = stacks.intern(callers, caller);
            return inner.into_iter().rev().fold(callers, |stack, it| stacks.intern(stack, it));
        }
        next = callers;
    }
    stack
}
