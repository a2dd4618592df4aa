//! Bytes that another worker has written: numbers of eight bytes, little-endian, and texts.

/// What is still to be read.
pub(crate) struct Rest<'a>(pub &'a [u8]);

impl<'a> Rest<'a> {
    /// So many bytes.
    pub fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// The same as text.
    pub fn text(&mut self, length: u64) -> Option<String> {
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }

    pub fn number(&mut self) -> Option<u64> {
        self.take(8)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    pub fn numbers<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.number()?;
        }
        Some(numbers)
    }

    /// So many of a kind, each of which takes some bytes.
    pub fn all<T>(&mut self, count: u64, each: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        (0..count).map(|_| each(self)).collect()
    }
}
