//! Numbers and texts as bits, each with what stood before it as context.

use super::arithmetic::Line;
use super::mixer::{MAX_CONTEXTS, Mixer, MixerSelection, hash};
use crate::SnapshotError;
use perftab_perfdata::slice::Slice;

/// Sets of weights of the first mixer that texts have; numbers have those before.
const FIRST_OF_TEXTS: usize = 128;
/// Sets of weights of the second mixer that texts have.
const SECOND_OF_TEXTS: usize = 256;
/// Sets of weights of the second mixer for bits below the highest one.
const SECOND_OF_MANTISSAS: usize = 64;
/// Contexts of texts that are the last bytes: one to four of them, and six.
const ORDERS: usize = 5;

/// Carries numbers and texts over a line.
pub(super) struct Symbols<L> {
    line: L,
    mixer: Mixer,
    /// Numbers and bytes that may still come.
    left: usize,
    slice: Slice,
}

/// The text that another is carried after.
#[derive(Clone, Copy)]
pub(super) struct PrecedingText<'a> {
    /// The text before in the same table; empty if there is no order.
    pub text: &'a [u8],
    /// Bytes that both have.
    pub shared: usize,
}

impl<L: Line> Symbols<L> {
    pub fn new(line: L, mixer: Mixer, left: usize) -> Self {
        Self { line, mixer, left, slice: Slice::endless() }
    }

    /// Rests whenever a slice is over.
    pub fn in_slices(self, slice: Slice) -> Self {
        Self { slice, ..self }
    }

    /// Between two symbols: where work may be let go of.
    pub async fn rest(&self) {
        self.slice.rest().await;
    }

    /// The line, and what the model has learned.
    pub fn into_parts(self) -> (L, Mixer) {
        (self.line, self.mixer)
    }

    /// Counts a number or byte.
    fn admit(&mut self) -> Result<(), SnapshotError> {
        let left = self.left.checked_sub(1).filter(|_| !self.line.is_over());
        self.left = left.ok_or(SnapshotError::Invalid { what: "compressed data" })?;
        self.slice.count();
        Ok(())
    }

    /// A number of a stream: how many bits it has, one by one, and then the bits below the
    /// highest, from the highest.
    pub fn number(
        &mut self,
        stream: u32,
        number: u64,
        contexts: &[u32],
    ) -> Result<u64, SnapshotError> {
        self.admit()?;
        let mut salted = [0; MAX_CONTEXTS];
        let count = contexts.len().min(MAX_CONTEXTS);
        for (index, (salted, &context)) in salted.iter_mut().zip(contexts).enumerate() {
            *salted = hash(context, stream * 32 + index as u32);
        }
        let contexts = &salted[..count];
        let first = stream as usize % 64 * 2;

        let length = 64 - number.leading_zeros();
        let mut bits = 0;
        let mut groups = self.mixer.groups(contexts, 0);
        while bits < 64 {
            if bits > 0 && bits % 16 == 0 {
                groups = self.mixer.groups(contexts, bits);
            }
            let selection =
                MixerSelection { first, second: bits as usize, correction: stream * 64 + bits };
            let is_more = u32::from(bits < length);
            if self.mixer.carry(&mut self.line, is_more, &groups, bits as usize, selection) == 0 {
                break;
            }
            bits += 1;
        }

        let mut carried = u64::from(bits > 0);
        let mut place = 1;
        for below in 0..bits.saturating_sub(1) {
            if below % 4 == 0 {
                // Of bits further down only where they are is known.
                let above = if below < 12 { carried as u32 } else { 0 };
                groups = self.mixer.groups(contexts, hash(bits << 8 | below, above) | 1 << 31);
                place = 1;
            }
            let bit = (number >> (bits - 2 - below)) as u32 & 1;
            let selection = MixerSelection {
                first: first + 1,
                second: SECOND_OF_MANTISSAS + below.min(63) as usize,
                correction: 2048 + stream * 64 + bits,
            };
            let bit = self.mixer.carry(&mut self.line, bit, &groups, place, selection);
            place = place << 1 | bit as usize;
            carried = carried << 1 | u64::from(bit);
        }
        Ok(carried)
    }

    /// A text of a stream, and the 0 that ends it. What it shares with the one before is known.
    pub fn text(
        &mut self,
        stream: u32,
        text: &[u8],
        before: PrecedingText<'_>,
    ) -> Result<Vec<u8>, SnapshotError> {
        let mut context = TextContext::new();
        let shared = before.shared.min(before.text.len());
        let mut carried = before.text[..shared].to_vec();
        carried.iter().for_each(|&byte| context.push(byte));
        loop {
            // In a table the next byte is another than the one before had.
            let other = match carried.len() == shared {
                true => 256 | before.text.get(shared).copied().map_or(0, u32::from),
                false => 0,
            };
            let byte = text.get(carried.len()).copied().unwrap_or(0);
            let byte = self.byte(byte, &context.contexts(stream, other), context.last())?;
            if byte == 0 {
                return Ok(carried);
            }
            carried.push(byte);
            context.push(byte);
        }
    }

    fn byte(&mut self, byte: u8, contexts: &[u32], last: u32) -> Result<u8, SnapshotError> {
        self.admit()?;
        let mut carried = 1u32;
        for half in [4, 0] {
            let groups = self.mixer.groups(contexts, carried);
            let mut place = 1;
            for bit in (half..half + 4).rev() {
                let met = self.mixer.met(&groups, place).skip(1).take(ORDERS);
                let longest = met.take_while(|&met| met > 0).count();
                let selection = MixerSelection {
                    first: FIRST_OF_TEXTS + longest * 8 + bit,
                    second: SECOND_OF_TEXTS + carried as usize,
                    correction: hash(last << 8 | carried, 3),
                };
                let one = u32::from(byte >> bit) & 1;
                let one = self.mixer.carry(&mut self.line, one, &groups, place, selection);
                place = place << 1 | one as usize;
                carried = carried << 1 | one;
            }
        }
        Ok(carried as u8)
    }

    /// A byte that no model guesses.
    pub fn noise(&mut self, byte: u8) -> Result<u8, SnapshotError> {
        self.admit()?;
        let bits = (0..8).rev().map(|bit| u32::from(byte >> bit) & 1);
        Ok(bits.fold(0, |byte, bit| byte << 1 | self.line.carry(bit, 1 << 15) as u8))
    }
}

/// What has been seen of a text that comes byte by byte.
struct TextContext {
    /// The last eight bytes, the last one lowest.
    last: u64,
    /// The word so far: letters and digits.
    word: u32,
}

impl TextContext {
    fn new() -> Self {
        Self { last: 0, word: 0 }
    }

    fn push(&mut self, byte: u8) {
        self.last = self.last << 8 | u64::from(byte);
        self.word = match byte.is_ascii_alphanumeric() || !byte.is_ascii() {
            true => hash(self.word.wrapping_add(1), u32::from(byte)),
            false => 0,
        };
    }

    fn last(&self) -> u32 {
        self.last as u32 & 0xff
    }

    fn contexts(&self, stream: u32, other: u32) -> [u32; 8] {
        let newest = |bytes: u32| {
            let kept = self.last << (64 - 8 * bytes);
            hash(kept as u32, hash((kept >> 32) as u32, bytes))
        };
        let mut contexts = [
            hash(stream, 0),
            newest(1),
            newest(2),
            newest(3),
            newest(4),
            newest(6),
            self.word,
            hash(hash(other, stream), self.last()),
        ];
        for (index, context) in contexts.iter_mut().enumerate() {
            *context = hash(*context, 4096 + index as u32);
        }
        contexts
    }
}
