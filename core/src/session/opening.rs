//! From the first byte of a recording to a [`Session`].

use crate::decode::ByteSource;
use crate::decode::features::Features;
use crate::decode::header::Header;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::ingest::{Ingest, SampleWatcher};
use crate::session::{FormatInfo, Session};

/// A recording that is being read: what a host does is the same for every form of it.
///
/// ```no_run
/// # fn host(source: &dyn perftab_core::decode::ByteSource) -> Result<(), Box<dyn std::error::Error>> {
/// use perftab_core::session::Opening;
/// let mut opening = Opening::new(&[source])?;
/// while let Some(wanted) = opening.wants() {
///     opening.push(&source.read_vec(wanted.offset, wanted.length.min(1 << 20))?);
/// }
/// let session = opening.finish();
/// # Ok(())
/// # }
/// ```
pub struct Opening {
    format: FormatInfo,
    ingest: Ingest,
    pushed: u64,
    total: u64,
}

/// Bytes to be pushed next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedBytes {
    /// Of which part; 0 for a recording of one file.
    pub part: usize,
    /// From where in it. After a push this is mostly where that one ended, but need not be.
    pub offset: u64,
    /// How many from there; they may come in blocks of any size.
    pub length: u64,
}

/// How far the reading has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpeningProgress {
    /// Bytes read or passed over.
    pub bytes: u64,
    /// Bytes that there are to read.
    pub total: u64,
    /// Samples met.
    pub samples: u64,
}

impl Opening {
    /// Reads what is needed before the records. `parts` is the one file; of a recording in a
    /// folder it is `data` first, and then `data.0`, `data.1` and so on in any order.
    pub fn new(parts: &[&dyn ByteSource]) -> Result<Self, DecodeError> {
        let &[source] = parts else {
            return Err(DecodeErrorKind::Unsupported { what: "a recording in a folder" }.at(0));
        };
        let mut header = Header::read(source)?;
        let features = Features::read(source, &header);
        let total = header.data.size.min(source.len().saturating_sub(header.data.offset));
        // An end that cannot be is as good as none.
        header.data.size = header.data.size.min(u64::MAX - header.data.offset);
        Ok(Self {
            format: FormatInfo::of_file(header.order),
            ingest: Ingest::new(&header, features),
            pushed: 0,
            total,
        })
    }

    /// Has every sample shown to `watcher`, in the order of the profile's.
    pub fn watch(&mut self, watcher: SampleWatcher) {
        self.ingest.watch(watcher);
    }

    /// Which bytes are wanted next; `None` if all have been read.
    pub fn wants(&self) -> Option<WantedBytes> {
        if self.pushed >= self.total {
            return None;
        }
        let (offset, length) = self.ingest.wants()?;
        // A cut file has fewer bytes than its header says; the ingest says so at the end.
        Some(WantedBytes { part: 0, offset, length: length.min(self.total - self.pushed) })
    }

    /// Takes the bytes from where [`Self::wants`] says on, as many as it says or fewer. None at
    /// all say that the part has no more.
    pub fn push(&mut self, block: &[u8]) {
        self.pushed = self.pushed.saturating_add(block.len() as u64);
        self.ingest.push(block);
    }

    /// How far it has come.
    pub fn progress(&self) -> OpeningProgress {
        OpeningProgress {
            bytes: self.pushed.min(self.total),
            total: self.total,
            samples: self.ingest.samples(),
        }
    }

    /// Ends the reading, early too: what has been pushed is shown.
    pub fn finish(self) -> Session {
        Session::new(self.ingest.finish(), self.format)
    }

    /// Ends the reading where only [`Self::watch`]ing was wanted. The last samples are shown now.
    pub fn finish_watching(self) {
        self.ingest.finish();
    }
}
