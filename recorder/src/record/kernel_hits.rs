//! What was executed in the kernel: addresses, and the functions that they are in.

use perftab_perfdata::format::perftab_section::KernelSymbols;
use perftab_perfdata::map::Set;

use super::kernel::{KernelFunctions, RunningKernel};

/// More than functions of any kernel; beyond it no more are collected.
const MAX: usize = 1 << 20;
/// Most addresses were there a moment ago, and so many are kept where the processor's cache has them: at 9,999 call chains
/// a second the set took more time than anything else outside of the kernel.
const RECENT: usize = 1 << 11;

/// Each address and each function once.
#[derive(Debug, Default)]
pub struct KernelHits {
    addresses: Set<u64>,
    /// Those whose functions were not looked up yet.
    new: Vec<u64>,
    functions: KernelFunctions,
    /// Modules whose functions were known then.
    modules: usize,
    /// What was taken note of, by a part of it. Empty until there is something.
    recent: Vec<u64>,
}

impl KernelHits {
    /// Takes note of an instruction's address.
    pub fn executed(&mut self, address: u64) {
        if !self.is_recent(address) {
            self.insert(address);
        }
    }

    /// Takes note of an address that is returned to, and of the byte before, where the call is. Below an interrupt stands the
    /// interrupted address, which nothing marks: it may be the first of its function, so both are kept.
    pub fn returned_to(&mut self, address: u64) {
        // No address of the kernel is the complement of another.
        if !self.is_recent(!address) {
            self.insert(address);
            self.insert(address.wrapping_sub(1));
        }
    }

    /// All functions that were hit. (They are asked for each second. To look all of them up again took a quarter of the
    /// recorder's time.)
    pub fn functions(&mut self, kernel: &RunningKernel) -> Vec<KernelSymbols> {
        let modules = kernel.modules.with_own_symbols();
        let new = std::mem::take(&mut self.new);
        // A module may be known later than an address in it.
        let due = if modules == self.modules { new } else { self.addresses().collect() };
        self.modules = modules;
        kernel.look_up(due, &mut self.functions);
        self.functions.by_image()
    }

    pub fn addresses(&self) -> impl Iterator<Item = u64> {
        self.addresses.iter().copied()
    }

    /// Whether something was met lately; by now it was.
    fn is_recent(&mut self, what: u64) -> bool {
        if self.recent.is_empty() {
            self.recent.resize(RECENT, 0);
        }
        // Fibonacci hashing: the upper bits of the product depend on all others.
        let place = what.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RECENT.ilog2());
        let recent = &mut self.recent[place as usize % RECENT];
        std::mem::replace(recent, what) == what
    }

    fn insert(&mut self, address: u64) {
        if self.addresses.len() < MAX && self.addresses.insert(address) {
            self.new.push(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_is_there_however_many_come_and_in_whichever_order() {
        let mut hits = KernelHits::default();
        let mut expected = BTreeSet::new();
        let mut random = 0x1234_5678_u64;
        for _ in 0..40 * RECENT {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let address = 0xffff_ffff_8100_0000 | random >> 50;
            match random & 1 << 20 {
                0 => {
                    hits.executed(address);
                    expected.insert(address);
                }
                _ => {
                    hits.returned_to(address);
                    expected.extend([address, address - 1]);
                }
            }
        }
        assert!(expected.len() > 4 * RECENT);
        assert_eq!(hits.addresses().collect::<BTreeSet<_>>(), expected);
    }
}
