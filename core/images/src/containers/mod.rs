//! What is inside of files that hold others: packed ones (gzip, xz, zstd, bzip2) and archives (tar,
//! zip, ar and with it .deb, cpio and with it .rpm), in each other too, as a `.ko.xz` in a `.tar.gz`.
//!
//! Everything is told by content; names decide nothing. Bytes are read once, in order, so that a
//! file of any size needs the memory of a few windows, and in small steps, however much comes out
//! of little: a layer hands at most 1 MiB on before the host is asked again.

mod ar;
mod cpio;
mod layers;
mod rpm;
mod sparse;
mod tar;
mod zip;

use std::fmt;

use perftab_perfdata::decode::unpack::UnpackError;
use perftab_perfdata::decode::wrapper::{Unwrap, Wrapper};

pub use layers::{HEAD, Layers, MemberUse, Visitor};

/// Longest name that is kept of a member.
const MAX_NAME: usize = 4096;

/// What a file holds others in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Compressed, with one file in it.
    Packed(Wrapper),
    /// tar.
    Tar,
    /// zip.
    Zip,
    /// ar, as of a .deb.
    Ar,
    /// cpio, as in a .rpm.
    Cpio,
    /// rpm.
    Rpm,
}

impl Form {
    /// How many first bytes [`Self::detect`] looks at.
    pub const DETECTED_IN: usize = tar::BLOCK;

    /// What a file that begins with these bytes holds others in; `None` if it is none that is read.
    pub fn detect(first_bytes: &[u8]) -> Option<Self> {
        if let Some(wrapper) = Wrapper::detect(first_bytes) {
            Some(Self::Packed(wrapper))
        } else if first_bytes.starts_with(&ar::MAGIC) {
            Some(Self::Ar)
        } else if first_bytes.starts_with(&rpm::MAGIC) {
            Some(Self::Rpm)
        } else if cpio::begins_archive(first_bytes) {
            Some(Self::Cpio)
        } else if zip::begins_archive(first_bytes) {
            Some(Self::Zip)
        } else if tar::begins_archive(first_bytes) {
            Some(Self::Tar)
        } else {
            None
        }
    }

    fn open(self) -> Box<dyn Container> {
        match self {
            Self::Packed(wrapper) => {
                Box::new(PackedFile { unwrap: Unwrap::new(wrapper), has_begun: false })
            }
            Self::Tar => Box::new(tar::Tar::default()),
            Self::Zip => Box::new(zip::Zip::default()),
            Self::Ar => Box::new(ar::Ar::default()),
            Self::Cpio => Box::new(cpio::Cpio::default()),
            Self::Rpm => Box::new(rpm::Rpm::default()),
        }
    }
}

/// What a container says next.
enum Part<'a> {
    /// Nothing without more input; all that there was has been taken.
    NeedsInput,
    /// A member begins; without a name, it goes by the container's.
    Begin { name: String },
    /// The next bytes of the member that began.
    Bytes(&'a [u8]),
    /// A member that is not given, and why.
    Lost { name: String, why: ContainerError },
    /// The member is whole. One that lasts to the end of its container does not say so.
    End,
}

impl<'a> Part<'a> {
    /// What was taken of a member that is not whole yet.
    fn of_bytes(taken: &'a [u8]) -> Self {
        if taken.is_empty() { Self::NeedsInput } else { Self::Bytes(taken) }
    }
}

/// Takes the bytes of a container in order and gives its members one after the other.
trait Container {
    /// The next part. Takes what it used off the front of `input`. Nothing follows on an error.
    fn next<'a>(&'a mut self, input: &mut &'a [u8]) -> Result<Part<'a>, ContainerError>;

    /// Says that no more input comes; an error if that is in the middle.
    fn finish(&mut self) -> Result<(), ContainerError>;
}

/// Why a container could not be read on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContainerError {
    /// The packed bytes.
    Unpack(UnpackError),
    /// It ends in the middle.
    Truncated {
        /// What it is.
        form: &'static str,
    },
    /// It contradicts its format.
    Damaged {
        /// What it is.
        form: &'static str,
        /// Where.
        what: &'static str,
    },
    /// It is in more layers than are opened.
    TooDeep,
    /// A member is larger than what is kept in memory.
    TooLarge {
        /// The most that is kept.
        bytes: u64,
    },
    /// More comes out of it than anybody packs.
    Bomb {
        /// The most that is read.
        bytes: u64,
    },
}

impl fmt::Display for ContainerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unpack(error) => error.fmt(f),
            Self::Truncated { form } => write!(f, "the {form} archive ends early"),
            Self::Damaged { form, what } => write!(f, "the {form} archive is damaged: {what}"),
            Self::TooDeep => {
                write!(f, "it is compressed in more than {} layers", layers::DEPTH_MAX)
            }
            Self::TooLarge { bytes } => write!(
                f,
                "it unpacks to more than {} MB, the most that is kept in memory; unpack it first",
                bytes / 1_000_000
            ),
            Self::Bomb { bytes } => {
                write!(f, "it unpacks to more than {} GB; unpack it first", bytes / 1_000_000_000)
            }
        }
    }
}

/// A packed file: a container of one member, which goes by the same name.
struct PackedFile {
    unwrap: Unwrap,
    has_begun: bool,
}

impl Container for PackedFile {
    fn next<'a>(&'a mut self, input: &mut &'a [u8]) -> Result<Part<'a>, ContainerError> {
        if !self.has_begun {
            self.has_begun = true;
            return Ok(Part::Begin { name: String::new() });
        }
        match self.unwrap.next(input).map_err(ContainerError::Unpack)? {
            Some(piece) => Ok(Part::Bytes(piece)),
            None => Ok(Part::NeedsInput),
        }
    }

    fn finish(&mut self) -> Result<(), ContainerError> {
        self.unwrap.finish(&mut |_| {}).map_err(ContainerError::Unpack)
    }
}

/// The name of what is packed in a file of this name.
pub fn unpacked_name(name: &str) -> &str {
    [".gz", ".xz", ".zst", ".bz2"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// A member's name as it is shown; names come from strangers.
fn member_name(bytes: &[u8]) -> String {
    let bytes = bytes.get(..MAX_NAME).unwrap_or(bytes);
    let name = String::from_utf8_lossy(bytes);
    perftab_perfdata::text::printable(name.strip_prefix("./").unwrap_or(&name)).into_owned()
}

/// Collects a field of `length` bytes out of `input`; false until all of it came.
fn collect(field: &mut Vec<u8>, length: usize, input: &mut &[u8]) -> bool {
    let missing = length.saturating_sub(field.len());
    let (taken, rest) = input.split_at(missing.min(input.len()));
    field.extend_from_slice(taken);
    *input = rest;
    field.len() >= length
}

/// Takes up to `left` bytes off the front of `input`.
fn take<'a>(left: &mut u64, input: &mut &'a [u8]) -> &'a [u8] {
    let now = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
    let (taken, rest) = input.split_at(now);
    *input = rest;
    *left -= now as u64;
    taken
}
