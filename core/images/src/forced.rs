//! Names that the user insists on: from a file that is not known to be the one that ran.
//!
//! They never pass for others. [`ForcedImage`] is a type of its own, which nothing that takes a
//! [`super::MatchedImage`] accepts, and the only way from it to a name is
//! `Symbols::force` of `perftab_names`, which marks each with `Provenance::Forced`:
//!
//! ```compile_fail,E0308
//! use perftab_images::{ForcedImage, SymbolTable};
//!
//! fn names_without_a_mark(image: ForcedImage) {
//!     let _ = SymbolTable::read(&[image]);
//! }
//! ```
//!
//! ```compile_fail,E0308
//! use perftab_images::{ForcedImage, InlineFrames, SymbolTable};
//!
//! fn lines_of_another_build(image: &ForcedImage) {
//!     let _ = InlineFrames::read(image, None, &SymbolTable::default());
//! }
//! ```
//!
//! ```compile_fail,E0308
//! use perftab_images::{DsoImages, ForcedImage};
//!
//! fn among_the_matched(images: &mut DsoImages, image: ForcedImage) {
//!     let _ = images.add(image);
//! }
//! ```
//!
//! Only functions are named: lines and inlined functions of another build are wrong more often than
//! not, and would look exact.

use std::fmt;

use perftab_dsos::{Dso, DsoId, Identity};
use perftab_perfdata::decode::ReadError;
use serde::Serialize;

use super::image::Image;
use super::placement::{Placement, Unplaced};
use super::rejection::Rejection;
use super::symbol_table::SymbolTable;

/// A file that shall name a DSO although it does not match, or nothing tells whether it does.
#[derive(Debug)]
pub struct ForcedImage {
    dso: DsoId,
    image: Image,
}

impl ForcedImage {
    /// The user insists on `image` for `dso`, of which he was told what it means.
    pub fn insist(dso: DsoId, image: Image) -> Self {
        Self { dso, image }
    }

    /// The DSO that it shall name.
    pub fn dso(&self) -> DsoId {
        self.dso
    }

    /// What the host calls the file.
    pub fn name(&self) -> &str {
        self.image.name()
    }

    /// What the file says that it is, which is not what was recorded.
    pub fn identity(&self) -> Option<Identity> {
        self.image.identity()
    }
}

/// The functions of a forced image.
#[derive(Debug)]
pub struct ForcedNames {
    image: ForcedImage,
    symbols: SymbolTable,
}

impl ForcedNames {
    /// Reads the symbols of a forced image.
    pub fn read(image: ForcedImage) -> Result<Self, ReadError> {
        let symbols = SymbolTable::of(&[&image.image])?;
        Ok(Self { image, symbols })
    }

    /// The DSO that they name.
    pub fn dso(&self) -> DsoId {
        self.image.dso
    }

    pub(super) fn symbols(&self) -> &SymbolTable {
        &self.symbols
    }

    /// How frame addresses of `dso` become addresses of the file.
    pub(super) fn placement<'a>(&'a self, dso: &'a Dso) -> Result<Placement<'a>, Unplaced> {
        Placement::of_forced(dso, &self.image.image, &self.symbols)
    }
}

/// Why a file cannot be forced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ForceError {
    /// There is no such DSO.
    NoSuchDso,
    /// The DSO has names that are known to be right.
    HasNames,
    /// The file is of no use to anybody.
    Unusable {
        /// Why.
        reason: Rejection,
    },
    /// It is not known where its code lay.
    NotPlaced {
        /// Why.
        message: String,
    },
    /// It has no function at any address that was recorded in the DSO.
    NamesNothing,
}

impl fmt::Display for ForceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchDso => f.write_str("no DSO of this name was recorded"),
            Self::HasNames => {
                f.write_str("it already has names of the right build; there is nothing to force")
            }
            Self::Unusable { reason } => reason.fmt(f),
            Self::NotPlaced { message } => f.write_str(message),
            Self::NamesNothing => f.write_str(
                "the file names none of the addresses that were recorded: it may have no symbols",
            ),
        }
    }
}

impl std::error::Error for ForceError {}

impl From<Unplaced> for ForceError {
    fn from(unplaced: Unplaced) -> Self {
        Self::NotPlaced { message: unplaced.sentence().to_owned() }
    }
}
