//! Where something is, by its hash.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::OnceLock;

/// Finds places by the hash of what is there. Open addressing with linear probing; a slot holds half of the hash, so
/// that what it leads to, which is seldom in the processor's cache, is asked only where the answer will be yes.
#[derive(Clone, Debug, Default)]
pub struct Index {
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
    /// An empty one that does not grow before it has so many places.
    pub fn with_room_for(count: usize) -> Self {
        let length = (count * 2).next_power_of_two().max(LEAST);
        Self { slots: vec![Slot::default(); length], taken: 0 }
    }

    /// How many places it has.
    pub fn len(&self) -> usize {
        self.taken
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// The place of this hash for which `equals` holds; for look-ups by the million, as it is compiled for each.
    #[inline(always)]
    pub fn find(&self, hash: u32, equals: impl Fn(usize) -> bool) -> Option<usize> {
        self.slot_of(hash, equals).map(|at| self.slots[at].taken as usize - 1)
    }

    /// The same, compiled once.
    pub(super) fn find_seldom(&self, hash: u32, equals: &dyn Fn(usize) -> bool) -> Option<usize> {
        self.find(hash, equals)
    }

    /// The place that a key with this hash most likely has, for one read of memory: whoever asks compares it, and
    /// where it is another, [`Self::find`] tells.
    #[inline(always)]
    pub fn guess(&self, hash: u32) -> Option<usize> {
        let at = hash as usize & self.slots.len().wrapping_sub(1);
        (self.slots.get(at)?.taken as usize).checked_sub(1)
    }

    /// Adds a place that is not in it.
    pub fn add(&mut self, hash: u32, place: usize) {
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
        if let Some(at) = self.slot_of(hash, |it| it == place) {
            self.free(at);
        }
        if let Some(at) = self.slot_of(moved_hash, |it| it == moved) {
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

    #[inline(always)]
    fn slot_of(&self, hash: u32, equals: impl Fn(usize) -> bool) -> Option<usize> {
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

static SEED: OnceLock<u64> = OnceLock::new();

/// Says what hashes depend on, before the first one, where `std` has no random numbers: in WebAssembly.
pub fn seed(random: u64) {
    // Whoever hashed before has another; both are as good.
    let _ = SEED.set(random | 1);
}

/// A number that is another in each process: for hashes of what strangers may have chosen.
pub fn secret() -> u32 {
    seed_of_hashes() as u32
}

fn seed_of_hashes() -> u64 {
    *SEED.get_or_init(|| RandomState::new().hash_one(0) | 1)
}

/// Mixes what a key is made of. Both halves of a product with a secret factor: who does not know it cannot tell which
/// keys collide.
struct Mixer {
    state: u64,
    factor: u64,
}

impl Mixer {
    fn new() -> Self {
        let seed = seed_of_hashes();
        Self { state: seed, factor: seed.rotate_left(32) ^ 0x9e37_79b9_7f4a_7c14 | 1 }
    }

    fn mix(&mut self, word: u64) {
        let product = u128::from(self.state ^ word).wrapping_mul(self.factor.into());
        self.state = (product as u64 ^ (product >> 64) as u64).rotate_left(23);
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
        let mixed = self.state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 32)
    }
}

pub(super) fn hash_of<K: Hash + ?Sized>(key: &K) -> u32 {
    let mut mixer = Mixer::new();
    key.hash(&mut mixer);
    mixer.finish() as u32
}
