//! From the first byte of a recording to a [`Session`].

use crate::decode::ByteSource;
use crate::decode::features::Features;
use crate::decode::header::{Header, Section};
use crate::error::{DecodeError, Warning, WarningKind};
use crate::format::perftab_section::{self, KernelImage};
use crate::ingest::Ingest;
use crate::profile::{DsoKind, Identity};
use crate::session::{FormatInfo, Session};
use crate::symbolize::{EmbeddedSymbol, EmbeddedSymbols, SymbolsOf};

/// A recording that is being read.
///
/// ```no_run
/// # fn host(source: &dyn perftab_core::decode::ByteSource) -> Result<(), Box<dyn std::error::Error>> {
/// use perftab_core::session::Opening;
/// let mut opening = Opening::new(source)?;
/// let data = opening.data();
/// let mut offset = data.offset;
/// while offset < data.offset + data.size {
///     let length = (data.offset + data.size - offset).min(1 << 20);
///     opening.push(&source.read_vec(offset, length)?);
///     offset += length;
/// }
/// let session = opening.finish();
/// # Ok(())
/// # }
/// ```
pub struct Opening {
    format: FormatInfo,
    data: Section,
    ingest: Ingest,
    pushed: u64,
    perftab: Option<Vec<u8>>,
}

/// How far the reading has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpeningProgress {
    /// Bytes of records read.
    pub bytes: u64,
    /// Bytes of records that there are.
    pub total: u64,
    /// Samples met.
    pub samples: u64,
}

impl Opening {
    /// Reads header and feature sections.
    pub fn new(source: &dyn ByteSource) -> Result<Self, DecodeError> {
        let header = Header::read(source)?;
        let features = Features::read(source, &header);
        Ok(Self {
            format: FormatInfo::of_file(header.order),
            // A cut file has fewer bytes than its header says; the ingest says so at the end.
            data: Section {
                offset: header.data.offset,
                size: header.data.size.min(source.len().saturating_sub(header.data.offset)),
            },
            ingest: Ingest::new(&header, &features),
            pushed: 0,
            perftab: features.perftab,
        })
    }

    /// Where the records are that [`Self::push`] wants.
    pub fn data(&self) -> Section {
        self.data
    }

    /// Takes the next bytes of the records, in blocks of any size.
    pub fn push(&mut self, block: &[u8]) {
        self.pushed = self.pushed.saturating_add(block.len() as u64);
        self.ingest.push(block);
    }

    /// How far it has come.
    pub fn progress(&self) -> OpeningProgress {
        OpeningProgress {
            bytes: self.pushed.min(self.data.size),
            total: self.data.size,
            samples: self.ingest.samples(),
        }
    }

    /// Ends the reading, early too: what has been pushed is shown.
    pub fn finish(self) -> Session {
        let (profile, mut warnings) = self.ingest.finish();
        let embedded = match self.perftab.as_deref().map(perftab_section::decode) {
            None => Vec::new(),
            Some(Ok(images)) => images.into_iter().map(embedded_symbols).collect(),
            Some(Err(error)) => {
                warnings.push(Warning {
                    kind: WarningKind::Unreadable,
                    offset: None,
                    count: 1,
                    message: format!("Kernel symbols in the recording were left out: {error}."),
                });
                Vec::new()
            }
        };
        Session::new(profile, self.format, warnings, embedded)
    }
}

fn embedded_symbols(image: perftab_section::KernelSymbols) -> EmbeddedSymbols {
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
