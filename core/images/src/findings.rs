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
    /// It has the code of what ran, and no names.
    Memory {
        /// The kernels that it is of.
        dsos: Vec<DsoId>,
    },
    /// It is not used.
    Refused(Refusal),
}

/// What a profile is told of a [`Rejection`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Why the file is not used: a sentence for people.
    pub why: String,
    /// Whose it may have been thought to be.
    pub candidate: Candidate,
    /// A DSO of its name has another build-id.
    pub other_build: Option<OtherBuild>,
}

/// The DSOs that somebody may have thought a refused file to be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Candidate {
    /// Those of its name.
    Namesakes,
    /// Kernels.
    Kernels,
    /// The code that the process of its name made.
    OfCodeTable,
}

/// A file that was refused is another build than the one recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherBuild {
    /// What was recorded under its name.
    pub dso: DsoId,
    /// The file's build-id, in hex.
    pub found: String,
    /// What made the file, in words.
    pub toolchain: Option<String>,
}

impl Refusal {
    pub(super) fn new(rejection: &Rejection, toolchain: Option<String>) -> Self {
        let candidate = match rejection {
            Rejection::KallsymsWithoutIdentity
            | Rejection::KallsymsDisagrees { .. }
            | Rejection::KallsymsUnusable { .. } => Candidate::Kernels,
            Rejection::CodeTable { .. } => Candidate::OfCodeTable,
            _ => Candidate::Namesakes,
        };
        let other_build = match rejection {
            Rejection::NothingRecordedHasIt { found, same_name: Some(same_name) } => {
                Some(OtherBuild { dso: DsoId(same_name.dso), found: found.clone(), toolchain })
            }
            _ => None,
        };
        Self { why: rejection.to_string(), candidate, other_build }
    }
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
