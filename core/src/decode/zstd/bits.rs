//! Bits, read forward (descriptions of tables) and backward (everything that is coded).

/// Reads from the least significant bit of the first byte on.
pub(super) struct ForwardBits<'a> {
    bytes: &'a [u8],
    bit: usize,
}

impl<'a> ForwardBits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, bit: 0 }
    }

    /// The next `count` bits, at most 16, without passing over them. Zeros lie behind the end.
    pub(super) fn peek(&self, count: u32) -> u32 {
        let bytes = self.bytes.get(self.bit / 8..).unwrap_or_default();
        let word = bytes.iter().take(4).rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        word >> (self.bit % 8) & ((1 << count) - 1)
    }

    pub(super) fn skip(&mut self, count: u32) {
        self.bit += count as usize;
    }

    pub(super) fn take(&mut self, count: u32) -> u32 {
        let value = self.peek(count);
        self.skip(count);
        value
    }

    /// The bytes behind the one that was begun last; `None` if more was read than there was.
    pub(super) fn rest(&self) -> Option<&'a [u8]> {
        self.bytes.get(self.bit.div_ceil(8)..)
    }
}

/// Reads from the end on. The highest bit set in the last byte marks where the bits begin; it is
/// none of them.
#[derive(Clone, Copy)]
pub(super) struct BackwardBits<'a> {
    bytes: &'a [u8],
    /// How many have not been read; negative when more were read than there are.
    left: isize,
}

impl<'a> BackwardBits<'a> {
    /// `None` without a mark.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let mark = bytes.last()?.checked_ilog2()?;
        Some(Self { bytes, left: (bytes.len() as isize - 1) * 8 + mark as isize })
    }

    pub(super) fn left(&self) -> isize {
        self.left
    }

    /// The next `count` bits, at most 56. Zeros lie behind the end.
    #[inline(always)]
    pub(super) fn peek(&self, count: u32) -> u64 {
        let begin = self.left - count as isize;
        let Ok(bit) = usize::try_from(begin) else { return self.peek_over_end(count) };
        let word = match self.bytes.get(bit / 8..bit / 8 + 8) {
            Some(bytes) => bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)),
            None => self.last_word(bit / 8),
        };
        word >> (bit % 8) & ((1 << count) - 1)
    }

    #[inline(always)]
    pub(super) fn skip(&mut self, count: u32) {
        self.left -= count as isize;
    }

    #[inline(always)]
    pub(super) fn take(&mut self, count: u32) -> u64 {
        let value = self.peek(count);
        self.skip(count);
        value
    }

    /// The next bits at the top of a word, at least 57 of them; `None` near the end.
    #[inline(always)]
    pub(super) fn top_word(&self) -> Option<u64> {
        let left = usize::try_from(self.left).ok()?;
        let end = left.div_ceil(8);
        let word = self.bytes.get(end.checked_sub(8)?..end)?.first_chunk()?;
        Some(u64::from_le_bytes(*word) << (end * 8 - left))
    }

    #[cold]
    fn last_word(&self, byte: usize) -> u64 {
        let bytes = self.bytes.get(byte..).unwrap_or_default();
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    }

    #[cold]
    fn peek_over_end(&self, count: u32) -> u64 {
        let there = self.left.max(0) as u32;
        // `there` is less than `count`, so at most 55.
        let bits = self.last_word_of_eight() & ((1 << there) - 1);
        bits << (count - there)
    }

    fn last_word_of_eight(&self) -> u64 {
        let bytes = self.bytes.get(..8).unwrap_or(self.bytes);
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    }
}
