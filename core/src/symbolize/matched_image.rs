//! The gate: the only place where it is decided that a file may give names.
//!
//! A file is used if it *is* the file that ran, by the identity in its own bytes. Its name and
//! path never decide anything; they only make a refusal easier to understand.
//!
//! [`MatchedImage`] has private fields and one constructor. Symbol tables, inline frames, unwind
//! tables and sources take a `&MatchedImage`, so that no code can name a frame from a file that
//! did not pass:
//!
//! ```compile_fail,E0451
//! use perftab_core::symbolize::{Image, MatchedImage};
//!
//! fn without_the_gate(image: Image) -> MatchedImage {
//!     MatchedImage { identity: image.identity().unwrap(), dsos: Vec::new(), image }
//! }
//! ```
//!
//! ```compile_fail,E0308
//! use perftab_core::symbolize::{Image, SymbolTable};
//!
//! fn names_of_any_file(image: Image) {
//!     let _ = SymbolTable::read(&[image]);
//! }
//! ```

use super::embedded::{EmbeddedSymbols, SymbolsOf};
use super::image::{Basis, Content, Image};
use super::recorded::RecordedIdentities;
use super::rejection::Rejection;
use crate::profile::{DsoId, DsoKind, Identity};

/// A file whose identity is one that was recorded.
#[derive(Debug)]
pub struct MatchedImage {
    identity: Identity,
    dsos: Vec<DsoId>,
    kind: DsoKind,
    image: Image,
}

impl MatchedImage {
    /// Admits `image` if a DSO was recorded with its identity.
    pub fn admit(recorded: &RecordedIdentities, image: Image) -> Result<Self, Rejection> {
        let Some(identity) = recorded.identity_of(&image) else {
            return Err(match image.content() {
                Content::PerfMap => Rejection::PerfMap,
                Content::Kallsyms(_) => Rejection::KallsymsWithoutIdentity,
                Content::Elf(_) => Rejection::nothing_recorded(recorded, image.name(), None),
            });
        };
        let mut dsos = recorded.with_identity(identity);
        if let Content::Kallsyms(kallsyms) = image.content() {
            dsos.retain(|&dso| recorded.kind(dso) == Some(DsoKind::Kernel));
            if image.basis() == Basis::Claim {
                recorded.check_claim(&mut dsos, kallsyms, identity)?;
            }
        }
        let kind = dsos.first().and_then(|&dso| recorded.kind(dso));
        match kind {
            Some(kind) => Ok(Self { identity, dsos, kind, image }),
            None => Err(Rejection::nothing_recorded(recorded, image.name(), image.build_id())),
        }
    }

    /// What the file is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// The DSOs it gives names to; at least one.
    pub fn dsos(&self) -> &[DsoId] {
        &self.dsos
    }

    /// What the host calls the file.
    pub fn name(&self) -> &str {
        self.image.name()
    }

    /// What kind of thing it is an image of.
    pub fn kind(&self) -> DsoKind {
        self.kind
    }

    pub(super) fn image(&self) -> &Image {
        &self.image
    }
}

/// Symbols that travelled in the recording, of DSOs that were recorded; `embedded.rs` says why they
/// may give names.
#[derive(Debug)]
pub struct MatchedSymbols {
    dsos: Vec<DsoId>,
    symbols: EmbeddedSymbols,
}

impl MatchedSymbols {
    /// Admits `symbols` if what they are symbols of was recorded.
    pub fn admit(recorded: &RecordedIdentities, mut symbols: EmbeddedSymbols) -> Option<Self> {
        let kind_of = |dso: DsoId| recorded.kind(dso);
        let dsos: Vec<DsoId> = match symbols.of {
            SymbolsOf::Build { identity, kind } => {
                let same_identity = recorded.with_identity(identity).into_iter();
                same_identity.filter(|&dso| kind_of(dso) == Some(kind)).collect()
            }
            SymbolsOf::Dso(dso) => kind_of(dso).map(|_| dso).into_iter().collect(),
        };
        if dsos.is_empty() {
            return None;
        }
        symbols.symbols.sort_by_key(|symbol| symbol.address);
        Some(Self { dsos, symbols })
    }

    /// The DSOs they name; at least one.
    pub fn dsos(&self) -> &[DsoId] {
        &self.dsos
    }

    pub(super) fn symbols(&self) -> &EmbeddedSymbols {
        &self.symbols
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::BuildId;
    use crate::profile::{Dsos, MappedFrom};
    use crate::symbolize::EmbeddedSymbol;

    fn symbols(of: SymbolsOf) -> EmbeddedSymbols {
        let symbol = |address| EmbeddedSymbol { address, size: 8, name: format!("at_{address}") };
        EmbeddedSymbols { of, name: "app".to_owned(), symbols: vec![symbol(16), symbol(0)] }
    }

    #[test]
    fn symbols_of_a_build_name_its_kind_only() {
        let id = BuildId::new(&[1, 2, 3, 4]).expect("not all zero");
        let other = BuildId::new(&[1, 2, 3, 5]).expect("not all zero");
        let mut dsos = Dsos::default();
        let user = dsos.intern("/bin/app", DsoKind::User, MappedFrom::BuildId(id), None);
        let kernel =
            dsos.intern("[kernel.kallsyms]", DsoKind::Kernel, MappedFrom::BuildId(id), None);
        let recorded = RecordedIdentities::new(&dsos);
        let admit = |id, kind| {
            let identity = Identity::Gnu(id);
            let matched =
                MatchedSymbols::admit(&recorded, symbols(SymbolsOf::Build { identity, kind }));
            matched.map(|matched| matched.dsos().to_vec())
        };
        assert_eq!(admit(id, DsoKind::User), Some(vec![user]));
        assert_eq!(admit(id, DsoKind::Kernel), Some(vec![kernel]));
        assert_eq!(admit(id, DsoKind::Module), None);
        assert_eq!(admit(other, DsoKind::User), None);
    }

    #[test]
    fn symbols_of_a_dso_need_no_identity_but_the_dso() {
        let mut dsos = Dsos::default();
        let program = dsos.intern("bpf_prog_1_x", DsoKind::Jit, MappedFrom::Nothing, None);
        let recorded = RecordedIdentities::new(&dsos);
        let admit = |dso| MatchedSymbols::admit(&recorded, symbols(SymbolsOf::Dso(dso)));
        let matched = admit(program).expect("it was recorded");
        assert_eq!(matched.dsos(), [program]);
        let name = |address| matched.symbols().at(address).map(|symbol| symbol.name.as_str());
        assert_eq!(
            [name(0), name(7), name(8), name(23), name(24)],
            [Some("at_0"), Some("at_0"), None, Some("at_16"), None]
        );
        assert!(admit(DsoId(1)).is_none());
    }
}
