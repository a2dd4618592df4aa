//! gzip, xz, zstd or bzip2 around a whole file: `perf record -o - | zstd > recording.zst`, a kernel
//! module, or what was packed to be sent.
//!
//! Output is passed on as it comes and never kept, so a recording may be far larger than memory.
//! There is no limit to how much comes out: a recording of zeros is small when packed, and honest.

mod bzip2;
mod gzip;
mod xz;

use crate::decode::unpack::{self, UnpackErrorKind, Unpacker};
use crate::decode::zstd::{self, Zstd};

pub use crate::decode::unpack::UnpackError;

/// What a file is packed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapper {
    /// RFC 1952.
    Gzip,
    /// The .xz file format, 1.2.
    Xz,
    /// RFC 8878.
    Zstd,
    /// bzip2 1.0.
    Bzip2,
}

impl Wrapper {
    /// How many first bytes [`Self::detect`] looks at.
    pub const MAGIC_LENGTH: usize = 6;

    /// What a file that begins with these bytes is packed in; `None` if it is not.
    pub fn detect(first_bytes: &[u8]) -> Option<Self> {
        if first_bytes.starts_with(&gzip::MAGIC) {
            Some(Self::Gzip)
        } else if first_bytes.starts_with(&xz::MAGIC) {
            Some(Self::Xz)
        } else if zstd::begins_frame(first_bytes) {
            Some(Self::Zstd)
        } else if bzip2::begins_stream(first_bytes) {
            Some(Self::Bzip2)
        } else {
            None
        }
    }

    /// Its name, for humans and programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
        }
    }
}

/// Unpacks a wrapped file, pushed into it in blocks of any size.
pub struct Unwrap {
    wrapper: Wrapper,
    unpacker: Box<dyn Unpacker>,
    /// Packed bytes used up.
    taken: u64,
    failed: Option<UnpackError>,
}

impl Unwrap {
    /// From the first byte of the packed file.
    pub fn new(wrapper: Wrapper) -> Self {
        let unpacker: Box<dyn Unpacker> = match wrapper {
            Wrapper::Gzip => Box::new(gzip::Gzip::default()),
            Wrapper::Xz => Box::new(xz::Xz::default()),
            Wrapper::Zstd => Box::new(Zstd::default()),
            Wrapper::Bzip2 => Box::new(bzip2::Bzip2::default()),
        };
        Self { wrapper, unpacker, taken: 0, failed: None }
    }

    /// Takes the next packed bytes and hands what they give to `out`, in pieces of at most 1 MiB.
    ///
    /// What was handed over before an error stays valid; after it every push gives it again.
    pub fn push(
        &mut self,
        mut block: &[u8],
        out: &mut dyn FnMut(&[u8]),
    ) -> Result<(), UnpackError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        loop {
            let before = block.len();
            let result = self.unpacker.next(&mut block);
            self.taken += (before - block.len()) as u64;
            match result {
                Ok(Some(piece)) => out(piece),
                Ok(None) => return Ok(()),
                Err(kind) => return Err(self.fail(kind, out)),
            }
        }
    }

    /// The next piece, of at most 1 MiB, of what `input` gives. Takes what it used off its front;
    /// `None` when it needs more. For those who cannot take all of it at once, as [`Self::push`]
    /// wants; after an error nothing more comes.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<&[u8]>, UnpackError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let before = input.len();
        let result = self.unpacker.next(input);
        self.taken += (before - input.len()) as u64;
        result.map_err(|kind| {
            let error = UnpackError { format: self.wrapper.name(), offset: self.taken, kind };
            self.failed.insert(error).clone()
        })
    }

    /// Hands over what was held back, after an error of [`Self::next`].
    pub fn drain(&mut self, out: &mut dyn FnMut(&[u8])) {
        unpack::drain(&mut *self.unpacker, out);
    }

    /// Says that the packed file ends here. An error if that is in the middle; what can be told
    /// from the beginning of it is handed over.
    pub fn finish(&mut self, out: &mut dyn FnMut(&[u8])) -> Result<(), UnpackError> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None if self.unpacker.may_end() => Ok(()),
            None => Err(self.fail(UnpackErrorKind::Truncated, out)),
        }
    }

    fn fail(&mut self, kind: UnpackErrorKind, out: &mut dyn FnMut(&[u8])) -> UnpackError {
        self.drain(out);
        let error = UnpackError { format: self.wrapper.name(), offset: self.taken, kind };
        self.failed = Some(error.clone());
        error
    }
}
