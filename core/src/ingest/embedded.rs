//! Symbols that travel in a recording → what the gate takes.

use super::warnings::Warnings;
use crate::decode::features::Features;
use crate::error::WarningKind;
use crate::format::perftab_section::{self, KernelImage, OsRelease};
use crate::profile::{Distribution, DsoKind, Identity};
use crate::symbolize::{EmbeddedSymbol, EmbeddedSymbols, SymbolsOf};
use crate::text::printable;

/// What perftab's own section holds: symbols, and the distribution of the machine.
pub(super) fn perftab(
    features: &Features,
    warnings: &mut Warnings,
) -> (Vec<EmbeddedSymbols>, Option<Distribution>) {
    match features.perftab.as_deref().map(perftab_section::decode) {
        None => (Vec::new(), None),
        Some(Ok(section)) => {
            let symbols = section.kernel.into_iter().map(kernel_symbols).collect();
            (symbols, section.os_release.and_then(distribution))
        }
        Some(Err(error)) => {
            warnings.add(WarningKind::Unreadable, None, || {
                format!("Kernel symbols in the recording were left out: {error}.")
            });
            (Vec::new(), None)
        }
    }
}

fn distribution(release: OsRelease) -> Option<Distribution> {
    let text = |text: &str| printable(text).into_owned();
    let optional = |value: &str| (!value.is_empty()).then(|| text(value));
    Some(Distribution {
        id: optional(&release.id)?,
        like: release.id_like.split_whitespace().map(text).collect(),
        version: optional(&release.version_id),
        name: optional(&release.name),
    })
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
