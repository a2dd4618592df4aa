//! Symbols that travel inside a recording: those of the kernel and its modules, whose addresses
//! only the machine knows that recorded.

use crate::profile::{DsoKind, Identity};

/// A symbol at its address at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedSymbol {
    /// Where it begins (AVMA).
    pub avma: u64,
    /// Bytes that it covers.
    pub size: u64,
    /// Its name, as the linker knows it.
    pub name: String,
}

/// The symbols of one DSO. They pass the gate like a file:
/// [`super::MatchedSymbols::admit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedSymbols {
    /// The build they belong to.
    pub identity: Identity,
    /// What they are symbols of.
    pub kind: DsoKind,
    /// Path of the DSO, for humans.
    pub name: String,
    /// By ascending address; the gate sorts them.
    pub symbols: Vec<EmbeddedSymbol>,
}

impl EmbeddedSymbols {
    /// The symbol that covers `avma`.
    pub(super) fn at(&self, avma: u64) -> Option<&EmbeddedSymbol> {
        let next = self.symbols.partition_point(|symbol| symbol.avma <= avma);
        let symbol = self.symbols.get(next.checked_sub(1)?)?;
        (avma.checked_sub(symbol.avma)? < symbol.size).then_some(symbol)
    }
}
