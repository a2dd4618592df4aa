//! Blocks, and the window of what came out before (RFC 8878, 3.1.1.2).

use super::huffman::Huffman;
use super::sequences::{Sequences, Step};
use super::{BLOCK_MAX, damaged};
use crate::decode::unpack::UnpackErrorKind;

/// Decodes the blocks of one frame after another.
#[derive(Default)]
pub(super) struct Blocks {
    /// What came out: at least the last window of it, the last block at its end.
    history: Vec<u8>,
    /// Where the last block begins in `history`.
    begin: usize,
    window: usize,
    /// Literals of the block.
    literals: Vec<u8>,
    /// Kept from block to block, for one may say "the same as before".
    huffman: Huffman,
    sequences: Sequences,
}

impl Blocks {
    pub(super) fn begin_frame(&mut self, window: usize) {
        self.window = window;
        self.history.clear();
        self.begin = 0;
        self.huffman.clear();
        self.sequences.begin_frame();
    }

    /// What the last block gave.
    pub(super) fn output(&self) -> &[u8] {
        self.history.get(self.begin..).unwrap_or_default()
    }

    /// Drops what lies before the window, not at every block, and makes room for the next.
    fn make_room(&mut self) {
        let slack = (self.window / 2).clamp(2 * BLOCK_MAX, 8 << 20);
        if self.history.len() > self.window + slack {
            let before = self.history.len() - self.window;
            self.history.drain(..before);
        }
        if self.history.capacity() - self.history.len() < BLOCK_MAX {
            // Grows with what really came out, however large a window the header asks for.
            let most = self.window + slack + BLOCK_MAX;
            let wanted = (2 * self.history.len()).max(2 * BLOCK_MAX).min(most);
            self.history.reserve_exact(wanted.saturating_sub(self.history.len()).max(BLOCK_MAX));
        }
        self.begin = self.history.len();
    }

    pub(super) fn raw(&mut self, body: &[u8]) {
        self.make_room();
        self.history.extend_from_slice(body);
    }

    /// `body` is the one byte.
    pub(super) fn repeated(&mut self, body: &[u8], times: usize) {
        self.make_room();
        let byte = body.first().copied().unwrap_or(0);
        self.history.resize(self.begin + times, byte);
    }

    pub(super) fn compressed(
        &mut self,
        body: &[u8],
        block_max: usize,
    ) -> Result<(), UnpackErrorKind> {
        self.make_room();
        let decoded = self.decode(body, block_max);
        if decoded.is_err() {
            self.history.truncate(self.begin);
        }
        decoded.map_err(damaged)
    }

    fn decode(&mut self, body: &[u8], block_max: usize) -> Result<(), &'static str> {
        let body = self.read_literals(body, block_max)?;
        let Self { history, literals, sequences, begin, .. } = self;
        let end = *begin + block_max;
        let mut literals = &literals[..];
        sequences.decode(body, |step| {
            let Step { literals: count, offset, length } = step;
            let (now, later) =
                literals.split_at_checked(count).ok_or("a sequence wants too many literals")?;
            literals = later;
            history.extend_from_slice(now);
            if history.len() + length > end {
                return Err("a block gives more than it can");
            }
            copy_match(history, offset, length)
        })?;
        if history.len() + literals.len() > end {
            return Err("a block gives more than it can");
        }
        history.extend_from_slice(literals);
        Ok(())
    }

    /// Decodes the literals section; what follows it.
    fn read_literals<'a>(
        &mut self,
        body: &'a [u8],
        block_max: usize,
    ) -> Result<&'a [u8], &'static str> {
        const CUT: &str = "literals are cut off";
        let first = *body.first().ok_or(CUT)?;
        let (kind, format) = (first & 3, first >> 2 & 3);
        let coded = kind >= 2;
        // Lengths of the header and of each size in it, in bytes and bits.
        let (header, skip, bits) = match (coded, format) {
            (false, 0 | 2) => (1, 3, 5),
            (false, 1) => (2, 4, 12),
            (false, _) => (3, 4, 20),
            (true, 0 | 1) => (3, 4, 10),
            (true, 2) => (4, 4, 14),
            (true, _) => (5, 4, 18),
        };
        let (header, body) = body.split_at_checked(header).ok_or(CUT)?;
        let word = header.iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
        let size = |at: u32| (word >> at) as usize & ((1 << bits) - 1);
        let count = size(skip);
        if count > block_max {
            return Err("a block has more literals than it can");
        }
        self.literals.clear();
        match kind {
            0 => {
                let (literals, rest) = body.split_at_checked(count).ok_or(CUT)?;
                self.literals.extend_from_slice(literals);
                Ok(rest)
            }
            1 => {
                let (byte, rest) = body.split_first().ok_or(CUT)?;
                self.literals.resize(count, *byte);
                Ok(rest)
            }
            _ => {
                let (mut streams, rest) = body.split_at_checked(size(skip + bits)).ok_or(CUT)?;
                if kind == 2 {
                    streams = self.huffman.read(streams)?;
                } else if self.huffman.is_empty() {
                    return Err("literals refer to a Huffman tree that is not there");
                }
                self.literals.resize(count, 0);
                if format == 0 {
                    self.huffman.decode(streams, &mut self.literals)?;
                } else {
                    self.decode_four(streams, count)?;
                }
                Ok(rest)
            }
        }
    }

    /// Three lengths and four streams. Each of the first three gives a quarter, rounded up.
    fn decode_four(&mut self, streams: &[u8], count: usize) -> Result<(), &'static str> {
        const CUT: &str = "a stream of literals is cut off";
        let (lengths, mut rest) = streams.split_at_checked(6).ok_or(CUT)?;
        let quarter = count.div_ceil(4);
        let mut out = &mut self.literals[..];
        let mut streams: [&[u8]; 4] = Default::default();
        let mut quarters: [&mut [u8]; 4] = Default::default();
        let (lengths, _) = lengths.as_chunks();
        for ((length, stream), part) in lengths.iter().zip(&mut streams).zip(&mut quarters) {
            let length = usize::from(u16::from_le_bytes(*length));
            (*stream, rest) = rest.split_at_checked(length).ok_or(CUT)?;
            (*part, out) = out.split_at_mut_checked(quarter).ok_or("too few literals for four")?;
        }
        streams[3] = rest;
        quarters[3] = out;
        self.huffman.decode_four(streams, quarters)
    }
}

/// Appends `length` bytes as they are `offset` bytes back, which may run into what is appended.
#[inline]
fn copy_match(history: &mut Vec<u8>, offset: usize, length: usize) -> Result<(), &'static str> {
    let begin = history
        .len()
        .checked_sub(offset)
        .filter(|_| offset > 0)
        .ok_or("a match lies before the window")?;
    let mut left = length;
    while left > 0 {
        // What repeats is there twice after the first round, four times after the second.
        let now = left.min(history.len() - begin);
        history.extend_from_within(begin..begin + now);
        left -= now;
    }
    Ok(())
}
