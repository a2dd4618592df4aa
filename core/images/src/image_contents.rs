//! What a file is good for.

use serde::{Deserialize, Serialize};

/// What a file holds that is of use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageContents {
    /// Names of functions.
    pub functions: bool,
    /// Inline frames, files and lines.
    pub inlines: bool,
    /// Tables for unwinding stack dumps.
    pub unwinding: bool,
    /// The symbols of all functions, and not only of those that it exports.
    pub symbol_table: bool,
    /// Nothing but the code of a kernel as it ran.
    pub memory: bool,
}

impl ImageContents {
    /// The best of it, in words.
    pub fn sentence(self) -> &'static str {
        match self {
            Self { inlines: true, .. } => "inlines and source lines",
            Self { functions: true, .. } => "function names only",
            Self { unwinding: true, .. } => "unwind tables",
            Self { memory: true, .. } => "the kernel's code as it ran",
            _ => "no symbols",
        }
    }

    /// What both hold together.
    pub fn and(self, other: Self) -> Self {
        Self {
            functions: self.functions || other.functions,
            inlines: self.inlines || other.inlines,
            unwinding: self.unwinding || other.unwinding,
            symbol_table: self.symbol_table || other.symbol_table,
            memory: self.memory || other.memory,
        }
    }
}
