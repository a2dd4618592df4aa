//! What can go wrong with a file, and what was lost without failing it.
//!
//! Before the first record an error is fatal; after it, damage becomes a [`Warning`] and what was
//! read is shown.

use std::fmt;

use serde::Serialize;

/// Why a file cannot be opened at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Where in the file, in bytes from its start.
    pub offset: u64,
    /// What is wrong there.
    pub kind: DecodeErrorKind,
}

/// The ways in which a file cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeErrorKind {
    /// It does not begin with perf's magic; these are the bytes it begins with (at most 4).
    NotPerfData {
        /// The first bytes of the file.
        first_bytes: Vec<u8>,
    },
    /// It is packed, and what is packed does not begin with perf's magic.
    NotPerfDataInside {
        /// What it is packed in.
        wrapper: &'static str,
        /// The first bytes of what is packed (at most 4).
        first_bytes: Vec<u8>,
    },
    /// It ends inside something that must be there.
    Truncated {
        /// What was being read.
        what: &'static str,
    },
    /// A field holds a value that nothing can be made of.
    Invalid {
        /// Which field.
        what: &'static str,
        /// The value found.
        value: u64,
    },
    /// A form of the format that this version does not read.
    Unsupported {
        /// Which form.
        what: &'static str,
    },
    /// What it is packed in could not be unpacked.
    Unpacking {
        /// What is wrong.
        message: String,
    },
    /// The bytes could not be read.
    Read {
        /// What the host said.
        message: String,
    },
}

impl DecodeErrorKind {
    /// The same error, said of a place.
    pub fn at(self, offset: u64) -> DecodeError {
        DecodeError { offset, kind: self }
    }

    /// A stable word for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotPerfData { .. } => "not-perf-data",
            Self::NotPerfDataInside { .. } => "not-perf-data-inside",
            Self::Truncated { .. } => "truncated",
            Self::Invalid { .. } => "invalid",
            Self::Unsupported { .. } => "unsupported",
            Self::Unpacking { .. } => "unpacking",
            Self::Read { .. } => "read",
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = self.offset;
        match &self.kind {
            DecodeErrorKind::NotPerfData { first_bytes } if first_bytes.is_empty() => {
                write!(f, "not a perf.data file: it is empty")
            }
            DecodeErrorKind::NotPerfData { first_bytes } => {
                write!(f, "not a perf.data file: it begins with")?;
                first_bytes.iter().try_for_each(|byte| write!(f, " {byte:02x}"))
            }
            DecodeErrorKind::NotPerfDataInside { wrapper, first_bytes }
                if first_bytes.is_empty() =>
            {
                write!(f, "not a perf.data file: the {wrapper} data is empty")
            }
            DecodeErrorKind::NotPerfDataInside { wrapper, first_bytes } => {
                write!(f, "not a perf.data file: the {wrapper} data begins with")?;
                first_bytes.iter().try_for_each(|byte| write!(f, " {byte:02x}"))
            }
            DecodeErrorKind::Truncated { what } => {
                write!(f, "the file ends inside {what}, at {offset:#x}")
            }
            DecodeErrorKind::Invalid { what, value } => {
                write!(f, "{what} is {value} at {offset:#x}, which is impossible")
            }
            DecodeErrorKind::Unsupported { what } => write!(f, "{what} cannot be read yet"),
            DecodeErrorKind::Unpacking { message } => {
                write!(f, "the file could not be unpacked: {message}")
            }
            DecodeErrorKind::Read { message } => {
                write!(f, "reading at {offset:#x} failed: {message}")
            }
        }
    }
}

impl std::error::Error for DecodeError {}

/// What kind of loss or doubt a warning tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// The recorder died before it wrote the end of the file.
    Unfinished,
    /// Files of a recording in a folder are absent.
    PartsMissing,
    /// The file ends inside a record or before the end of its data section.
    Truncated,
    /// What stands where a record should begin is none: nothing behind it could be read.
    Damaged,
    /// Packed records, or the packed file, could not be unpacked to the end.
    Unpacking,
    /// A section of the file lies where it cannot be, or is cut.
    BadSection,
    /// A record or feature could not be decoded and was passed over.
    Unreadable,
    /// A form of record that this version passes over.
    Unsupported,
    /// Stacks were copied and are not unwound: samples have their innermost frames only.
    NotUnwound,
    /// Stacks are deeper than what was recorded of them: samples lack their outermost frames.
    TruncatedStacks,
    /// Code that was built without frame pointers was recorded by them: samples lack callers or have wrong ones.
    NoFramePointers,
    /// Stacks are larger than what a record has room for: their outermost frames were read later, and may be wrong.
    StacksReadLater,
    /// Text stands among the records, which a recorder printed.
    Text,
    /// The kernel or the recorder lost samples.
    Lost,
    /// Records came later than the order of the file allows.
    OutOfOrder,
    /// Samples have no time: they are shown in the order of the file.
    NoTime,
    /// Samples whose event is not described in the file.
    UnknownEvent,
    /// Two sources name different build-ids for one DSO.
    BuildIdConflict,
    /// A DSO whose identity cannot be told.
    Ambiguous,
    /// The recording is still being read, or was no further when reading was cancelled.
    PartRead,
}

/// Something that was lost or is doubtful, in a file that was opened all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
pub struct Warning {
    /// What kind.
    pub kind: WarningKind,
    /// Where it was met first, in bytes from the start of the file; `None` if not in one place.
    pub offset: Option<u64>,
    /// How often.
    pub count: u64,
    /// Samples that are lost, or that say less than the others, where that is known.
    pub samples: Option<u64>,
    /// A sentence for humans.
    pub message: String,
}
