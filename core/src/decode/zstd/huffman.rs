//! The Huffman code of literals (RFC 8878, 4.2).

use super::bits::BackwardBits;
use super::fse;

/// Longest code.
const BITS_MAX: u32 = 11;
/// Accuracy of the table that codes the weights.
const WEIGHT_ACCURACY_MAX: u32 = 6;
/// A weight is at most the longest code; the last symbol's is not written.
const WEIGHTS_MAX: usize = 255;

#[derive(Clone, Copy, Default)]
struct Entry {
    symbol: u8,
    bits: u8,
}

/// From the next `bits` bits to a symbol and the length of its code.
#[derive(Default)]
pub(super) struct Huffman {
    entries: Vec<Entry>,
    bits: u32,
    weights: fse::Table,
}

impl Huffman {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Reads a tree's description. What follows it.
    pub(super) fn read<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], &'static str> {
        const CUT: &str = "a Huffman tree is cut off";
        let (&header, bytes) = bytes.split_first().ok_or(CUT)?;
        let mut weights = [0_u8; WEIGHTS_MAX + 1];
        let (count, rest) = if header < 128 {
            let (coded, rest) = bytes.split_at_checked(usize::from(header)).ok_or(CUT)?;
            (self.read_coded_weights(coded, &mut weights)?, rest)
        } else {
            // Half a byte each.
            let count = usize::from(header) - 127;
            let (pairs, rest) = bytes.split_at_checked(count.div_ceil(2)).ok_or(CUT)?;
            for (weights, pair) in weights.chunks_mut(2).zip(pairs) {
                weights.copy_from_slice(&[pair >> 4, pair & 15]);
            }
            (count, rest)
        };
        self.build(&mut weights, count)?;
        Ok(rest)
    }

    /// Two states take turns until the bits run out; then both give what they hold.
    fn read_coded_weights(
        &mut self,
        coded: &[u8],
        weights: &mut [u8; WEIGHTS_MAX + 1],
    ) -> Result<usize, &'static str> {
        let codes: [fse::Code; BITS_MAX as usize + 2] = std::array::from_fn(|n| (n as u32, 0));
        let rest = self.weights.read(coded, WEIGHT_ACCURACY_MAX, &codes)?;
        let mut bits = BackwardBits::new(rest).ok_or("a Huffman tree has no bits")?;
        let accuracy = self.weights.accuracy;
        let mut turn = self.weights.state(bits.take(accuracy) as usize);
        let mut other = self.weights.state(bits.take(accuracy) as usize);
        if bits.left() < 0 {
            return Err("a Huffman tree is cut off");
        }
        let mut count = 0;
        let mut give = |state: fse::State| {
            let weight = weights[..WEIGHTS_MAX].get_mut(count);
            *weight.ok_or("a Huffman tree has too many symbols")? = state.value as u8;
            count += 1;
            Ok::<_, &'static str>(())
        };
        loop {
            give(turn)?;
            let next = usize::from(turn.next) + bits.take(u32::from(turn.bits)) as usize;
            turn = self.weights.state(next);
            if bits.left() < 0 {
                give(other)?;
                return Ok(count);
            }
            std::mem::swap(&mut turn, &mut other);
        }
    }

    fn build(&mut self, weights: &mut [u8], count: usize) -> Result<(), &'static str> {
        const WRONG: &str = "the weights of a Huffman tree do not add up";
        if weights[..count].iter().any(|weight| u32::from(*weight) > BITS_MAX) {
            return Err(WRONG);
        }
        // 2^(weight-1) entries each; the last symbol has what is missing to a power of two.
        let entries = |weight: u8| 1_u32 << weight >> 1;
        let sum: u32 = weights[..count].iter().map(|weight| entries(*weight)).sum();
        let bits = sum.checked_ilog2().ok_or(WRONG)? + 1;
        let missing = (1 << bits) - sum;
        if bits > BITS_MAX || !missing.is_power_of_two() {
            return Err(WRONG);
        }
        weights[count] = missing.ilog2() as u8 + 1;

        self.bits = bits;
        self.entries.clear();
        for weight in 1..=bits as u8 {
            for (symbol, _) in
                weights[..=count].iter().enumerate().filter(|(_, other)| **other == weight)
            {
                let entry = Entry { symbol: symbol as u8, bits: bits as u8 + 1 - weight };
                let end = self.entries.len() + entries(weight) as usize;
                self.entries.resize(end, entry);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn entry(&self, index: u64) -> Entry {
        self.entries.get(index as usize).copied().unwrap_or_default()
    }

    /// Decodes one stream, which must give exactly what `out` has room for.
    pub(super) fn decode(&self, stream: &[u8], out: &mut [u8]) -> Result<(), &'static str> {
        let mut bits = BackwardBits::new(stream).ok_or("literals have no bits")?;
        self.decode_rest(&mut bits, out)
    }

    fn decode_rest(&self, bits: &mut BackwardBits, out: &mut [u8]) -> Result<(), &'static str> {
        for out in out {
            let entry = self.entry(bits.peek(self.bits));
            *out = entry.symbol;
            bits.skip(u32::from(entry.bits));
        }
        if bits.left() == 0 { Ok(()) } else { Err("literals end in the middle of their bits") }
    }

    /// Decodes four streams side by side: a processor does more at once that way.
    pub(super) fn decode_four(
        &self,
        streams: [&[u8]; 4],
        out: [&mut [u8]; 4],
    ) -> Result<(), &'static str> {
        /// So many codes are at hand in one word: 5 of at most 11 bits, of 57.
        const AT_ONCE: usize = 5;
        let [Some(a), Some(b), Some(c), Some(d)] = streams.map(BackwardBits::new) else {
            return Err("literals have no bits");
        };
        let mut bits = [a, b, c, d];
        let shift = 64 - self.bits;
        let shortest = out.iter().map(|out| out.len()).min().unwrap_or(0);
        let mut at = 0;
        while at + AT_ONCE <= shortest {
            let [Some(a), Some(b), Some(c), Some(d)] = bits.map(|bits| bits.top_word()) else {
                break;
            };
            let mut words = [a, b, c, d];
            let mut used = [0_u32; 4];
            let mut rows = [[0_u8; 4]; AT_ONCE];
            for row in &mut rows {
                for lane in 0..4 {
                    let entry = self.entry(words[lane] >> shift);
                    row[lane] = entry.symbol;
                    words[lane] <<= entry.bits;
                    used[lane] += u32::from(entry.bits);
                }
            }
            for lane in 0..4 {
                out[lane][at..at + AT_ONCE].copy_from_slice(&rows.map(|row| row[lane]));
                bits[lane].skip(used[lane]);
            }
            at += AT_ONCE;
        }
        for (bits, out) in bits.iter_mut().zip(out) {
            self.decode_rest(bits, out.get_mut(at..).unwrap_or_default())?;
        }
        Ok(())
    }
}
