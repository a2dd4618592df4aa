//! What the decoders of packed bytes have in common: `wrapper` (a whole recording in gzip, xz or
//! zstd) and `compressed` (its records, in zstd).
//!
//! They take input in blocks of any size and give output in pieces as it is known, so that memory
//! is that of a window and not of the file, however much comes out of it.

use std::fmt;

/// Takes packed bytes as they come.
pub(super) trait Unpacker {
    /// The next piece of output, of at most 1 MiB. Takes what it used off the front of `input`;
    /// `None` when it needs more than `input` had. After an error nothing but `break_off` follows.
    fn next(&mut self, input: &mut &[u8]) -> Result<Option<&[u8]>, UnpackErrorKind>;

    /// Whether the packed bytes may end here.
    fn may_end(&self) -> bool;

    /// Says that nothing more comes, or nothing that can be read: what is held back for later
    /// input comes out of `next`, which is given no more input.
    fn break_off(&mut self) {}
}

/// Hands over what `unpacker` still holds when nothing more comes that it can read.
pub(super) fn drain(unpacker: &mut dyn Unpacker, out: &mut dyn FnMut(&[u8])) {
    unpacker.break_off();
    while let Ok(Some(piece)) = unpacker.next(&mut &[][..]) {
        out(piece);
    }
}

/// The largest window that is accepted: memory that a few bytes of input can ask for. It is what
/// the tools take too unless told otherwise (`zstd -d` stops at 2^27, `xz -9` needs 2^26).
pub(super) const WINDOW_MAX: u64 = 128 << 20;

/// Why packed bytes could not be read on. What came out before stays valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpackError {
    /// Name of the format, for humans.
    pub format: &'static str,
    /// About where among the packed bytes: they were read up to here.
    pub offset: u64,
    /// What is wrong there.
    pub kind: UnpackErrorKind,
}

/// The ways in which packed bytes cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnpackErrorKind {
    /// They end in the middle.
    Truncated,
    /// They contradict their format.
    Damaged {
        /// Where in the format.
        what: &'static str,
    },
    /// A checksum does not fit what came out.
    Checksum,
    /// They want a larger window than is accepted.
    Window {
        /// How large, in bytes.
        bytes: u64,
    },
    /// They use a part of the format that is not read.
    Unsupported {
        /// Which part.
        what: &'static str,
    },
    /// Something else follows on their end.
    Trailing,
    /// More comes out of one chunk than a recorder puts into one.
    TooLong,
}

impl fmt::Display for UnpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, offset, kind } = self;
        match kind {
            UnpackErrorKind::Truncated => write!(f, "the {format} data ends early, at {offset:#x}"),
            UnpackErrorKind::Damaged { what } => {
                write!(f, "the {format} data is damaged at {offset:#x}: {what}")
            }
            UnpackErrorKind::Checksum => {
                write!(f, "the {format} checksum at {offset:#x} does not match the data")
            }
            UnpackErrorKind::Window { bytes } => write!(
                f,
                "the {format} data at {offset:#x} needs a window of {} MB; the limit is {} MB",
                bytes.div_ceil(1_000_000),
                WINDOW_MAX / 1_000_000
            ),
            UnpackErrorKind::Unsupported { what } => {
                write!(f, "the {format} data at {offset:#x} uses {what}, which perftab cannot read")
            }
            UnpackErrorKind::Trailing => {
                write!(f, "something else follows the {format} data, at {offset:#x}")
            }
            UnpackErrorKind::TooLong => {
                write!(f, "the {format} data at {offset:#x} holds more than a recorder writes")
            }
        }
    }
}

impl std::error::Error for UnpackError {}
