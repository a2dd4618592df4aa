//! Symbols that travel in a recording → what the gate takes.

use perftab_perfdata::map::Map;

use perftab_perfdata::decode::features::Features;
use perftab_perfdata::error::WarningKind;
use perftab_perfdata::format::perftab_section::{
    self, EmbeddedFile, FileIdentity, InodeKey, KernelImage, MappedFile, OsRelease, PerfMap,
    RecorderState,
};
use perftab_perfdata::text::printable;

use super::warnings::Warnings;
use crate::{ContentHash, Distribution, DsoKind, Identity, MappedFrom};
use crate::{EmbeddedSymbol, EmbeddedSymbols, SymbolsOf};

/// What perftab's own section holds.
#[derive(Default)]
pub(super) struct PerftabSectionData {
    /// Of the kernel and its modules.
    pub symbols: Vec<EmbeddedSymbols>,
    /// Of the machine.
    pub distribution: Option<Distribution>,
    /// What files are that were mapped without a build-id.
    pub files: Map<MappedFrom, Identity>,
    /// What processes say of the code that they made.
    pub perf_maps: Vec<PerfMap>,
    /// Files that travel with the recording.
    pub embedded: Vec<EmbeddedFile>,
}

impl PerftabSectionData {
    /// Reads the section, if there is one.
    pub(super) fn take(features: &mut Features, warnings: &mut Warnings) -> Self {
        match features.perftab.take() {
            None => Self::default(),
            Some(Ok(section)) => {
                if section.recorder == RecorderState::AtWork {
                    warnings.add(WarningKind::Unfinished, None, || {
                        "The recorder was killed. Up to a second before that is missing.".to_owned()
                    });
                }
                Self {
                    symbols: section.kernel.into_iter().map(kernel_symbols).collect(),
                    distribution: section.os_release.and_then(distribution),
                    files: files(&section.files),
                    perf_maps: section.perf_maps,
                    embedded: section.embedded,
                }
            }
            Some(Err(error)) => {
                warnings.add(WarningKind::Unreadable, None, || {
                    format!(
                        "perftab's own section, with kernel symbols and more, could not be \
                         read: {error}."
                    )
                });
                Self::default()
            }
        }
    }
}

/// What files are that were mapped without a build-id, by inode.
pub(super) fn files(files: &[MappedFile]) -> Map<MappedFrom, Identity> {
    files.iter().map(file).collect()
}

fn file(file: &MappedFile) -> (MappedFrom, Identity) {
    let InodeKey { major, minor, inode, generation } = file.inode;
    let identity = match file.identity {
        FileIdentity::Gnu(id) => Identity::Gnu(id),
        FileIdentity::Content(hash) => Identity::Content(ContentHash(hash)),
    };
    (MappedFrom::Inode { major, minor, inode, generation }, identity)
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
