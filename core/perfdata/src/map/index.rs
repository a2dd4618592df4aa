//! Where something is, by its hash.

use std::hash::{Hash, Hasher};

/// Finds places by the hash of what is there. Open addressing with linear probing; a slot holds half of the hash, so
/// that what it leads to, which is seldom in the processor's cache, is asked only where the answer will be yes.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// The length is a power of two, or zero.
    slots: Vec<Slot>,
    taken: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    hash: u32,
    /// Place + 1; 0 is free.
    taken: u32,
}

/// Slots of the smallest index.
const LEAST: usize = 8;

impl Index {
    /// The place of this hash for which `equals` holds.
    pub(super) fn find(&self, hash: u32, equals: &dyn Fn(usize) -> bool) -> Option<usize> {
        self.slot_of(hash, equals).map(|at| self.slots[at].taken as usize - 1)
    }

    /// Adds a place that is not in it.
    pub(super) fn add(&mut self, hash: u32, place: usize) {
        // Sparse enough for a look-up that fails, as most do while a map fills.
        if (self.taken + 1) * 3 > self.slots.len() * 2 {
            let length = (self.slots.len() * 2).max(LEAST);
            let old = std::mem::replace(&mut self.slots, vec![Slot::default(); length]);
            old.into_iter().filter(|slot| slot.taken != 0).for_each(|slot| self.put(slot));
        }
        self.taken += 1;
        self.put(Slot { hash, taken: place as u32 + 1 });
    }

    /// Takes a place out, and gives it to what was at another, unless that is the same.
    pub(super) fn remove(
        &mut self,
        (hash, place): (u32, usize),
        (moved_hash, moved): (u32, usize),
    ) {
        if let Some(at) = self.slot_of(hash, &|it| it == place) {
            self.free(at);
        }
        if let Some(at) = self.slot_of(moved_hash, &|it| it == moved) {
            self.slots[at].taken = place as u32 + 1;
        }
    }

    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.taken = 0;
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }

    fn slot_of(&self, hash: u32, equals: &dyn Fn(usize) -> bool) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.taken == 0 {
                return None;
            }
            if slot.hash == hash && equals(slot.taken as usize - 1) {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    fn put(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut at = slot.hash as usize & mask;
        while self.slots[at].taken != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    /// Frees a slot, and moves up those behind it that could not have theirs: a look-up ends at a free one.
    fn free(&mut self, mut free: usize) {
        let mask = self.slots.len() - 1;
        self.taken -= 1;
        let mut at = free;
        loop {
            self.slots[free] = Slot::default();
            loop {
                at = (at + 1) & mask;
                let slot = self.slots[at];
                if slot.taken == 0 {
                    return;
                }
                // As far from where it would be as from the free slot, or farther.
                let distance = at.wrapping_sub(slot.hash as usize) & mask;
                if distance >= at.wrapping_sub(free) & mask {
                    self.slots[free] = slot;
                    free = at;
                    break;
                }
            }
        }
    }
}

/// Mixes what a key is made of.
#[derive(Default)]
struct Mixer(u64);

impl Mixer {
    fn mix(&mut self, word: u64) {
        let mixed = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

impl Hasher for Mixer {
    #[inline(never)]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for &word in words {
            self.mix(u64::from_le_bytes(word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    fn write_u8(&mut self, number: u8) {
        self.mix(number.into());
    }

    fn write_u16(&mut self, number: u16) {
        self.mix(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.mix(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    fn finish(&self) -> u64 {
        let mixed = self.0.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 32)
    }
}

pub(super) fn hash_of<K: Hash + ?Sized>(key: &K) -> u32 {
    let mut mixer = Mixer::default();
    key.hash(&mut mixer);
    mixer.finish() as u32
}
