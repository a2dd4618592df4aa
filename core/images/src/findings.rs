//! What files turned out to be: all that a profile is told of them besides names.

use perftab_dsos::{DsoId, Identity};
use perftab_perfdata::format::package_note::PackageNote;
use serde::{Deserialize, Serialize};

use super::image_contents::ImageContents;
use super::rejection::Rejection;

/// What a file turned out to be. These are plain values: whoever takes them in compares the identities
/// with the recorded ones, wherever they come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What the host calls the file.
    pub name: String,
    /// The package that it is from.
    pub package: Option<PackageNote>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It passed the gate.
    Matched(MatchedFile),
    /// It has what files that passed the gate have in common with others.
    Shared {
        /// The DSOs that those files are of.
        dsos: Vec<DsoId>,
    },
    /// It is not used.
    Refused {
        /// Why.
        rejection: Rejection,
        /// What made it, in words.
        toolchain: Option<String>,
    },
}

/// A file that passed the gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchedFile {
    /// What it is.
    pub identity: Identity,
    /// What it holds.
    pub gives: ImageContents,
    /// The DSOs that have its identity.
    pub dsos: Vec<DsoId>,
    /// Those of them that it cannot give names to, and why: a sentence for people.
    pub unplaced: Vec<(DsoId, String)>,
}
