//! Symbols that travel in a recording → what the gate takes.

use super::warnings::Warnings;
use crate::decode::features::Features;
use crate::error::WarningKind;
use crate::format::perftab_section::{self, KernelImage};
use crate::profile::{DsoKind, Identity};
use crate::symbolize::{EmbeddedSymbol, EmbeddedSymbols, SymbolsOf};

/// All symbols that the recording holds.
pub(super) fn symbols(features: &Features, warnings: &mut Warnings) -> Vec<EmbeddedSymbols> {
    match features.perftab.as_deref().map(perftab_section::decode) {
        None => Vec::new(),
        Some(Ok(images)) => images.into_iter().map(kernel_symbols).collect(),
        Some(Err(error)) => {
            warnings.add(WarningKind::Unreadable, None, || {
                format!("Kernel symbols in the recording were left out: {error}.")
            });
            Vec::new()
        }
    }
}

fn kernel_symbols(image: perftab_section::KernelSymbols) -> EmbeddedSymbols {
    let symbols = image.symbols.into_iter().map(|symbol| EmbeddedSymbol {
        address: symbol.address,
        size: u64::from(symbol.size),
        name: symbol.name,
    });
    let kind = match image.image {
        KernelImage::Kernel => DsoKind::Kernel,
        KernelImage::Module => DsoKind::Module,
    };
    EmbeddedSymbols {
        of: SymbolsOf::Build { identity: Identity::Gnu(image.build_id), kind },
        name: image.name,
        symbols: symbols.collect(),
    }
}
