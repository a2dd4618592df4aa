//! Symbols that travel inside a recording: of the kernel and its modules, whose addresses only the
//! machine knows that recorded; of BPF programs and other code that has no file; and of any DSO,
//! where the recorder reads symbol tables (simpleperf).
//!
//! # Why they may give names
//!
//! They pass the gate (`MatchedSymbols::admit` of `perftab_names`) like a file, and for the same reason: it
//! is known what they are symbols *of*. There are two ways to know.
//!
//! - [`SymbolsOf::Build`]: they carry an identity, and it is the recorded one. Nothing tells them
//!   from a file then, except that no file had to be found.
//! - [`SymbolsOf::Dso`]: the recording itself says them of this very DSO. A KSYMBOL record gives
//!   a range of addresses and its name in one statement, so there is no file and nothing that could
//!   be another build. simpleperf writes symbols for the DSOs that it mapped in the same recording.
//!   A path is not such a statement: where several DSOs have the path that symbols are
//!   recorded under, they belong to none of them.
//!
//! Either way the statement and the samples were written by one recorder in one recording. That is
//! why only this crate can make [`EmbeddedSymbols`], and does so only while it reads a recording:
//!
//! ```compile_fail,E0639
//! use perftab_profile::{DsoId, EmbeddedSymbols, SymbolsOf};
//!
//! fn symbols_from_elsewhere() -> EmbeddedSymbols {
//!     EmbeddedSymbols { of: SymbolsOf::Dso(DsoId(0)), name: String::new(), symbols: Vec::new() }
//! }
//! ```

use crate::{DsoId, DsoKind, Identity};

/// What symbols in a recording belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolsOf {
    /// All DSOs of one kind that were recorded with this identity. The kind says how the
    /// addresses count: those of a kernel are AVMAs and must not be looked for in user space.
    Build {
        /// What the symbols were read from.
        identity: Identity,
        /// What kind of DSO that was.
        kind: DsoKind,
    },
    /// The one DSO that the recording says them of.
    Dso(DsoId),
}

/// A symbol at its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedSymbol {
    /// Where it begins, counted as [`crate::Frame::address`] is in its DSO: AVMA for the
    /// kernel and its modules, file offset for files, offset from the start for a BPF program.
    pub address: u64,
    /// Bytes that it covers.
    pub size: u64,
    /// Its name, as the linker knows it.
    pub name: String,
}

/// Symbols of one DSO or build, as the recording has them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmbeddedSymbols {
    /// What they are symbols of.
    pub of: SymbolsOf,
    /// Path of the DSO, for humans.
    pub name: String,
    /// In any order; the gate sorts them.
    pub symbols: Vec<EmbeddedSymbol>,
}

impl EmbeddedSymbols {
    /// Symbols that no recording has.
    #[cfg(feature = "testing")]
    pub fn for_tests(of: SymbolsOf, name: &str, symbols: Vec<EmbeddedSymbol>) -> Self {
        Self { of, name: name.to_owned(), symbols }
    }

    /// The symbol that covers `address`; the symbols are sorted.
    pub fn at(&self, address: u64) -> Option<&EmbeddedSymbol> {
        let next = self.symbols.partition_point(|symbol| symbol.address <= address);
        let symbol = self.symbols.get(next.checked_sub(1)?)?;
        (address.checked_sub(symbol.address)? < symbol.size).then_some(symbol)
    }
}
