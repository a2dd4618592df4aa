//! The gate for symbols that travelled in the recording.

use perftab_images::RecordedIdentities;
use perftab_perfdata::sorting::sort_by_numbers;
use perftab_profile::{DsoId, EmbeddedSymbol, EmbeddedSymbols, SymbolsOf};

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
        sort_by_numbers(&mut symbols.symbols, |symbol| (symbol.address, 0));
        Some(Self { dsos, symbols })
    }

    /// The DSOs they name; at least one.
    pub fn dsos(&self) -> &[DsoId] {
        &self.dsos
    }

    /// The symbol that covers an address.
    pub fn at(&self, address: u64) -> Option<&EmbeddedSymbol> {
        self.symbols.at(address)
    }
}

#[cfg(test)]
mod tests {
    use perftab_perfdata::format::BuildId;
    use perftab_profile::EmbeddedSymbol;
    use perftab_profile::{DsoKind, Dsos, Identity, MappedFrom};

    use super::*;

    fn symbols(of: SymbolsOf) -> EmbeddedSymbols {
        let symbol = |address| EmbeddedSymbol { address, size: 8, name: format!("at_{address}") };
        EmbeddedSymbols::for_tests(of, "app", vec![symbol(16), symbol(0)])
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
        let name = |address| matched.at(address).map(|symbol| symbol.name.as_str());
        assert_eq!(
            [name(0), name(7), name(8), name(23), name(24)],
            [Some("at_0"), Some("at_0"), None, Some("at_16"), None]
        );
        assert!(admit(DsoId(1)).is_none());
    }
}
