//! Rows of a column in chunks, of which the full ones are kept in a form of their own.

/// Rows of a chunk.
pub(super) const CHUNK: usize = 1 << 16;

/// It grows without a copy of what is there already, which in WebAssembly, where memory is never given
/// back, would cost twice its size. A copy shares the full chunks if a copy of theirs does.
#[derive(Clone, Debug)]
pub(super) struct Chunks<T, C> {
    pub full: Vec<C>,
    /// The rows after those, fewer than a chunk has.
    pub last: Vec<T>,
}

impl<T, C> Default for Chunks<T, C> {
    fn default() -> Self {
        Self { full: Vec::new(), last: Vec::new() }
    }
}

impl<T, C: for<'a> From<&'a [T]>> Chunks<T, C> {
    /// Adds a row.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        self.last.push(value);
        if self.last.len() == CHUNK {
            self.end_chunk();
        }
    }

    fn end_chunk(&mut self) {
        self.full.push(C::from(&self.last));
        self.last.clear();
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.full.len() * CHUNK + self.last.len()
    }

    /// The full chunk that a row is in, and which of its rows it is.
    #[inline]
    pub fn full(&self, row: usize) -> Option<(&C, usize)> {
        Some((self.full.get(row / CHUNK)?, row % CHUNK))
    }

    /// A row behind those.
    #[inline]
    pub fn last(&self, row: usize) -> Option<&T> {
        self.last.get(row.checked_sub(self.full.len() * CHUNK)?)
    }

    /// The full chunk that a row is in, or the row itself behind those, to be changed.
    pub fn place(&mut self, row: usize) -> Place<'_, T, C> {
        let behind = self.full.len() * CHUNK;
        match self.full.get_mut(row / CHUNK) {
            Some(chunk) => Place::Full(chunk, row % CHUNK),
            None => Place::Last(self.last.get_mut(row - behind)),
        }
    }
}

/// Where a row is.
pub(super) enum Place<'a, T, C> {
    /// A row of a full chunk.
    Full(&'a mut C, usize),
    /// Behind those, if it is there.
    Last(Option<&'a mut T>),
}
