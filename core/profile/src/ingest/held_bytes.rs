//! Bytes that are held for a while, in chunks that are used again as soon as nothing of them is held.
//!
//! What waits for its turn waits about as long as what was pushed beside it, so chunks become free as
//! whole ones. One buffer for everything cost a second copy of what stays at the end of each round. Where
//! little of many chunks waits long, whoever holds it asks [`HeldBytes::is_sparse`], and holds it anew.

/// Bytes of a chunk, which is more than a record has: small enough to stay in the processor's cache
/// from when they are copied there until they are read.
const CHUNK: usize = 512 << 10;

/// Chunks that are kept to be used again: 16 MiB.
const MAX_SPARE: usize = 32;

/// The chunks.
#[derive(Default)]
pub(super) struct HeldBytes {
    chunks: Vec<Chunk>,
    /// Those of which nothing is held; the last is filled next.
    free: Vec<u32>,
    /// The one that is being filled.
    filled: Option<u32>,
    held: usize,
}

#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// Pieces in it that are held.
    pieces: usize,
}

/// Where a piece is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    chunk: u32,
    start: u32,
    length: u32,
}

impl HeldBytes {
    /// Holds a copy of `bytes`, which are no more than a record has.
    #[inline(always)]
    pub(super) fn hold(&mut self, bytes: &[u8]) -> Piece {
        let has_room = |chunk: &Chunk| chunk.bytes.len() + bytes.len() <= CHUNK;
        let index = match self.filled {
            Some(index) if has_room(&self.chunks[index as usize]) => index,
            _ => self.begin_chunk(),
        };
        let chunk = &mut self.chunks[index as usize];
        let start = chunk.bytes.len() as u32;
        chunk.bytes.extend_from_slice(bytes);
        chunk.pieces += 1;
        self.held += bytes.len();
        Piece { chunk: index, start, length: bytes.len() as u32 }
    }

    /// How many bytes are held.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    #[cold]
    fn begin_chunk(&mut self) -> u32 {
        // What was filled before may be empty already: its pieces were given back meanwhile.
        let filled = self.filled.take();
        if let Some(index) = filled.filter(|&index| self.chunks[index as usize].pieces == 0) {
            self.free_chunk(index);
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.chunks.push(Chunk::default());
            self.chunks.len() as u32 - 1
        });
        self.chunks[index as usize].bytes.reserve(CHUNK);
        self.filled = Some(index);
        index
    }

    fn free_chunk(&mut self, index: u32) {
        let bytes = &mut self.chunks[index as usize].bytes;
        bytes.clear();
        if self.free.len() >= MAX_SPARE {
            *bytes = Vec::new();
        }
        self.free.push(index);
    }

    /// The bytes of a piece.
    #[inline(always)]
    pub(super) fn get(&self, piece: Piece) -> &[u8] {
        let start = piece.start as usize;
        &self.chunks[piece.chunk as usize].bytes[start..start + piece.length as usize]
    }

    /// Holds a piece no longer.
    #[inline(always)]
    pub(super) fn give_back(&mut self, piece: Piece) {
        self.held -= piece.length as usize;
        let chunk = &mut self.chunks[piece.chunk as usize];
        chunk.pieces -= 1;
        if chunk.pieces == 0 && self.filled != Some(piece.chunk) {
            self.free_chunk(piece.chunk);
        }
    }

    /// True if most of the memory is of pieces that are not held any more.
    pub(super) fn is_sparse(&self) -> bool {
        (self.chunks.len() - self.free.len()) * CHUNK > 2 * self.held + MAX_SPARE * CHUNK
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn pieces_are_what_was_held_and_chunks_are_used_again() {
        let mut held = HeldBytes::default();
        let mut pieces: VecDeque<(Piece, Vec<u8>)> = VecDeque::new();
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for number in 0..2_000_u32 {
            let length = match random(200) {
                0 => u64::from(u16::MAX),
                1 => 0,
                _ => random(5_000),
            };
            let bytes = vec![number as u8; length as usize];
            pieces.push_back((held.hold(&bytes), bytes));
            while pieces.len() > 300 {
                let at = random(20) as usize;
                let (piece, bytes) = pieces.remove(at).expect("there are 300");
                assert_eq!(held.get(piece), bytes);
                held.give_back(piece);
            }
            assert_eq!(held.held, pieces.iter().map(|(_, bytes)| bytes.len()).sum::<usize>());
        }
        for (piece, bytes) in pieces {
            assert_eq!(held.get(piece), bytes);
            held.give_back(piece);
        }
        assert_eq!(held.held, 0);
        assert!(held.chunks.len() < 10, "{} chunks", held.chunks.len());
        assert_eq!(held.free.len(), held.chunks.len() - 1, "all but the one that is filled");
        assert!(held.chunks.iter().all(|chunk| chunk.bytes.capacity() <= CHUNK));
    }

    #[test]
    fn a_piece_of_each_chunk_is_seen_to_hold_all_of_them() {
        let mut held = HeldBytes::default();
        let mut kept = Vec::new();
        for _ in 0..3 * MAX_SPARE {
            kept.push(held.hold(&[7]));
            let large = held.hold(&[0; CHUNK - 1]);
            assert!(!held.is_sparse() || kept.len() > MAX_SPARE);
            held.give_back(large);
        }
        assert!(held.is_sparse());
        let mut anew = HeldBytes::default();
        kept.iter_mut().for_each(|piece| *piece = anew.hold(held.get(*piece)));
        assert!(!anew.is_sparse());
        assert!(kept.iter().all(|piece| anew.get(*piece) == [7]));
    }
}
