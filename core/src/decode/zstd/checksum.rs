//! XXH64 with seed 0, of which a frame keeps the low half (RFC 8878, 3.1.1).

const PRIME_1: u64 = 0x9e37_79b1_85eb_ca87;
const PRIME_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const PRIME_3: u64 = 0x1656_67b1_9e37_79f9;
const PRIME_4: u64 = 0x85eb_ca77_c2b2_ae63;
const PRIME_5: u64 = 0x27d4_eb2f_1656_67c5;

const STRIPE: usize = 32;

pub(super) struct Xxh64 {
    lanes: [u64; 4],
    /// Less than a stripe.
    rest: Vec<u8>,
    length: u64,
}

impl Default for Xxh64 {
    fn default() -> Self {
        let lanes = [PRIME_1.wrapping_add(PRIME_2), PRIME_2, 0, PRIME_1.wrapping_neg()];
        Self { lanes, rest: Vec::new(), length: 0 }
    }
}

impl Xxh64 {
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        self.length = self.length.wrapping_add(bytes.len() as u64);
        if !self.rest.is_empty() {
            let (fill, after) = bytes.split_at((STRIPE - self.rest.len()).min(bytes.len()));
            self.rest.extend_from_slice(fill);
            bytes = after;
            let Some(stripe) = self.rest.first_chunk() else { return };
            self.lanes = consume(self.lanes, stripe);
            self.rest.clear();
        }
        let (stripes, rest) = bytes.as_chunks();
        self.lanes = stripes.iter().fold(self.lanes, consume);
        self.rest.extend_from_slice(rest);
    }

    pub(super) fn finish(&self) -> u64 {
        let [a, b, c, d] = self.lanes;
        let mut hash = if self.length < STRIPE as u64 {
            PRIME_5
        } else {
            let rotated =
                [a.rotate_left(1), b.rotate_left(7), c.rotate_left(12), d.rotate_left(18)];
            let sum = rotated.into_iter().fold(0, u64::wrapping_add);
            self.lanes.into_iter().fold(sum, |hash, lane| {
                (hash ^ round(0, lane)).wrapping_mul(PRIME_1).wrapping_add(PRIME_4)
            })
        };
        hash = hash.wrapping_add(self.length);

        let (words, rest) = self.rest.as_chunks();
        for word in words {
            hash ^= round(0, u64::from_le_bytes(*word));
            hash = hash.rotate_left(27).wrapping_mul(PRIME_1).wrapping_add(PRIME_4);
        }
        let (halves, rest) = rest.as_chunks();
        for half in halves {
            hash ^= u64::from(u32::from_le_bytes(*half)).wrapping_mul(PRIME_1);
            hash = hash.rotate_left(23).wrapping_mul(PRIME_2).wrapping_add(PRIME_3);
        }
        for byte in rest {
            hash ^= u64::from(*byte).wrapping_mul(PRIME_5);
            hash = hash.rotate_left(11).wrapping_mul(PRIME_1);
        }

        hash = (hash ^ hash >> 33).wrapping_mul(PRIME_2);
        hash = (hash ^ hash >> 29).wrapping_mul(PRIME_3);
        hash ^ hash >> 32
    }
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(PRIME_2)).rotate_left(31).wrapping_mul(PRIME_1)
}

fn consume(mut lanes: [u64; 4], stripe: &[u8; STRIPE]) -> [u64; 4] {
    let (words, _) = stripe.as_chunks();
    for (lane, word) in lanes.iter_mut().zip(words) {
        *lane = round(*lane, u64::from_le_bytes(*word));
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(bytes: &[u8], block: usize) -> u64 {
        let mut hash = Xxh64::default();
        bytes.chunks(block).for_each(|bytes| hash.update(bytes));
        hash.finish()
    }

    /// The reference's own first test value. That others are right too, the `zstd` tool says, which
    /// writes one behind every frame (`tests/tests/packed.rs`).
    #[test]
    fn of_nothing() {
        assert_eq!(hash(&[], 1), 0xef46_db37_51d8_e999);
    }

    #[test]
    fn blocks_of_any_size_give_one_hash() {
        let bytes: Vec<u8> = (0..200_u8).collect();
        for block in 1..70 {
            assert_eq!(hash(&bytes, block), hash(&bytes, 200), "{block}");
        }
    }
}
