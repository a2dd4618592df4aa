//! Why a file is not used: what is, and what to do.

use std::fmt;

use perftab_perfdata::format::BuildId;
use perftab_perfdata::text::printable;
use serde::Serialize;

use super::image::NotAnImage;
use super::recorded::RecordedIdentities;

/// A DSO of the same file name as a file that was refused; a hint for humans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct SameName {
    /// Row of the ledger.
    pub dso: u32,
    /// The identity that was recorded, in hex.
    pub wanted: String,
}

/// Why a file is not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Rejection {
    /// It is no ELF file; these are the bytes it begins with (at most 16).
    NotAnImage {
        /// The first bytes of the file.
        first_bytes: Vec<u8>,
    },
    /// It has no build-id, and nothing was recorded with its content hash.
    NoIdentityInFile,
    /// It has a build-id, but nothing that was recorded has the same.
    NothingRecordedHasIt {
        /// The build-id found, in hex.
        found: String,
        /// What was recorded under the file's name.
        same_name: Option<SameName>,
    },
    /// The DSO of the file's name was recorded without an identity, so nothing can match it.
    RecordedWithoutIdentity {
        /// The path recorded.
        path: String,
    },
    /// It is what a process says of its code, but none that was recorded, or not of the code that ran.
    CodeTable {
        /// Why, and what to do.
        message: String,
    },
    /// It is a copy of kallsyms, in which nothing says of which kernel.
    KallsymsWithoutIdentity,
    /// It is a copy of kallsyms that is kept under the right build-id, but the kernel that was
    /// recorded had other addresses.
    KallsymsDisagrees {
        /// The build-id that it is kept under, in hex.
        claimed: String,
        /// What differs.
        message: String,
    },
    /// It is kallsyms, or a copy, but of no use.
    KallsymsUnusable {
        /// Why, and what to do.
        message: String,
    },
    /// It has a build-id that was recorded, but a file with the same id and other code came before.
    SameIdOtherCode {
        /// The build-id of both, in hex.
        found: String,
        /// The host's name of the file that came first, which stays.
        first: String,
    },
    /// It has a part of the debug information of other files, and none of those here names it. It is
    /// kept until one does.
    NotNamedYet,
    /// The same, but too many are kept.
    NotNamed,
    /// Its bytes could not be had.
    Unreadable {
        /// What the host said.
        message: String,
    },
}

impl Rejection {
    /// Files alone do not tell whether the code that a process made is that which was recorded.
    pub(super) fn undecided() -> Self {
        let message = "nothing but the recording tells whether it is of its code".to_owned();
        Self::CodeTable { message }
    }

    pub(super) fn nothing_recorded(
        recorded: &RecordedIdentities,
        name: &str,
        found: Option<BuildId>,
    ) -> Self {
        let same_name = recorded.of_name(name);
        let wanted = same_name.iter().find_map(|same| {
            Some(SameName { dso: same.dso.0, wanted: same.identity?.to_string() })
        });
        match (found, wanted, same_name.first()) {
            (_, None, Some(same)) => Self::RecordedWithoutIdentity { path: same.path.clone() },
            (None, _, _) => Self::NoIdentityInFile,
            (Some(id), same_name, _) => {
                Self::NothingRecordedHasIt { found: id.to_string(), same_name }
            }
        }
    }
}

impl From<NotAnImage> for Rejection {
    fn from(error: NotAnImage) -> Self {
        match error {
            NotAnImage::NotElf { first_bytes } => Self::NotAnImage { first_bytes },
            NotAnImage::Kallsyms(fault) => Self::KallsymsUnusable { message: fault.to_string() },
            NotAnImage::Unreadable { message } => Self::Unreadable { message },
        }
    }
}

impl fmt::Display for Rejection {
    /// What is, then what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnImage { first_bytes } if first_bytes.is_empty() => {
                f.write_str("not an ELF file: it is empty")
            }
            Self::NotAnImage { first_bytes } => {
                f.write_str("not an ELF file: it begins with")?;
                first_bytes.iter().take(4).try_for_each(|byte| write!(f, " {byte:02x}"))
            }
            Self::NoIdentityInFile => f.write_str(
                "the file has no build-id, and no file with its content was recorded: link with \
                 --build-id and record again",
            ),
            Self::NothingRecordedHasIt { found, same_name: None } => write!(
                f,
                "no recorded DSO has build-id {found}: `perftab buildid list` prints those that \
                 were recorded"
            ),
            Self::NothingRecordedHasIt { found, same_name: Some(same_name) } => write!(
                f,
                "another build: wanted {}, found {found}: give the file that ran, or fetch it by \
                 its build-id",
                same_name.wanted
            ),
            Self::RecordedWithoutIdentity { path } => write!(
                f,
                "{} was recorded without a build-id, so no file can be verified as the one that \
                 ran: record again with `perftab record`",
                printable(path)
            ),
            Self::CodeTable { message } => f.write_str(&printable(message)),
            Self::KallsymsWithoutIdentity => f.write_str(
                "a copy of kallsyms that does not say which kernel it is from: give the \
                 vmlinux, or a copy that perftab wrote, which says so in its first line",
            ),
            Self::KallsymsDisagrees { claimed, message } => write!(
                f,
                "a copy of kallsyms stored under build-id {claimed}, but {}: it is from \
                 another boot or kernel; give the vmlinux",
                printable(message)
            ),
            Self::KallsymsUnusable { message } => {
                write!(f, "unusable kallsyms: {}", printable(message))
            }
            Self::SameIdOtherCode { found, first } => write!(
                f,
                "the same build-id as {}, {found}, but different code: the first is kept; one of \
                 them was changed after it was linked",
                printable(first)
            ),
            Self::NotNamedYet => f.write_str(
                "a part of the debug information of another file, and no file here names it: it \
                 is used once the program is given that it was built with",
            ),
            Self::NotNamed => f.write_str(
                "a part of the debug information of another file, and no file here names it: give \
                 the program that it was built with first",
            ),
            Self::Unreadable { message } => {
                write!(f, "the file could not be read: {}", printable(message))
            }
        }
    }
}

impl std::error::Error for Rejection {}
