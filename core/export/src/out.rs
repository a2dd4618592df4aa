//! Where files are written, and how far a slice goes.

use std::cell::Cell;
use std::rc::Rc;

use perftab_perfdata::slice::{Rest, Slice};

/// Bytes after which a slice ends, however much of it is left: a stack of thousands of calls is one piece.
const ENOUGH: usize = 4 << 20;

/// A slice of so many rows of samples takes about as long as to write a small piece.
pub const ROWS_A_PIECE: usize = 16;

/// A file that is being written.
pub struct Out {
    /// What was written in this slice.
    pub(crate) bytes: Vec<u8>,
    written: Rc<Cell<Vec<u8>>>,
    rows: Slice,
    pieces: Slice,
}

impl Out {
    /// Whoever works takes what is in `written` after each slice. These are in rows of samples.
    pub fn new(written: Rc<Cell<Vec<u8>>>, rows: Slice) -> Self {
        let pieces = rows.in_units_of(ROWS_A_PIECE);
        Self { bytes: Vec::new(), written, rows, pieces }
    }

    /// For work before anything is written.
    pub(crate) fn rows(&self) -> &Slice {
        &self.rows
    }

    /// For work of which one takes as long as a small piece.
    pub(crate) fn pieces(&self) -> &Slice {
        &self.pieces
    }

    /// To be awaited after each small piece that was written: a sample, a call, a function.
    #[inline(never)]
    pub(crate) fn rest(&mut self) -> Rest<'_> {
        self.pieces.count();
        if self.bytes.len() >= ENOUGH || self.pieces.is_over() {
            self.give();
            return self.pieces.next();
        }
        self.pieces.rest()
    }

    /// Hands over what was written.
    pub(crate) fn give(&mut self) {
        let mut written = self.written.take();
        written.append(&mut self.bytes);
        self.written.set(written);
    }
}
