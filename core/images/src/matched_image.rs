//! The gate: the only place where it is decided that a file may give names.
//!
//! A file is used if it *is* the file that ran, by the identity in its own bytes. Its name and
//! path never decide anything; they only make a refusal easier to understand.
//!
//! [`MatchedImage`] has private fields and one constructor. Symbol tables, inline frames, unwind
//! tables and sources take a `&MatchedImage`, so that no code can name a frame from a file that
//! did not pass:
//!
//! ```compile_fail,E0451
//! use perftab_images::{Image, MatchedImage};
//!
//! fn without_the_gate(image: Image) -> MatchedImage {
//!     MatchedImage { identity: image.identity().unwrap(), dsos: Vec::new(), image }
//! }
//! ```
//!
//! ```compile_fail,E0308
//! use perftab_images::{Image, SymbolTable};
//!
//! fn names_of_any_file(image: Image) {
//!     let _ = SymbolTable::read(&[image]);
//! }
//! ```

use perftab_dsos::{DsoId, DsoKind, Identity};

use super::image::{Basis, Content, Image};
use super::recorded::RecordedIdentities;
use super::rejection::Rejection;

/// A file whose identity is one that was recorded.
#[derive(Debug)]
pub struct MatchedImage {
    identity: Identity,
    dsos: Vec<DsoId>,
    kind: DsoKind,
    image: Image,
}

impl MatchedImage {
    /// Admits `image` if a DSO was recorded with its identity.
    pub fn admit(recorded: &RecordedIdentities, image: Image) -> Result<Self, Rejection> {
        let Some(identity) = recorded.identity_of(&image) else {
            return Err(match image.content() {
                Content::Code(_) => Rejection::undecided(),
                Content::Kallsyms(_) => Rejection::KallsymsWithoutIdentity,
                Content::Elf(_) => Rejection::nothing_recorded(recorded, image.name(), None),
            });
        };
        let mut dsos = recorded.with_identity(identity);
        if let Content::Kallsyms(kallsyms) = image.content() {
            dsos.retain(|&dso| recorded.kind(dso) == Some(DsoKind::Kernel));
            if image.basis() == Basis::Claim {
                recorded.check_claim(&mut dsos, kallsyms, identity)?;
            }
        }
        let kind = dsos.first().and_then(|&dso| recorded.kind(dso));
        match kind {
            Some(kind) => Ok(Self { identity, dsos, kind, image }),
            None => Err(Rejection::nothing_recorded(recorded, image.name(), image.build_id())),
        }
    }

    /// What the file is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// The DSOs it gives names to; at least one.
    pub fn dsos(&self) -> &[DsoId] {
        &self.dsos
    }

    /// What the host calls the file.
    pub fn name(&self) -> &str {
        self.image.name()
    }

    /// What kind of thing it is an image of.
    pub fn kind(&self) -> DsoKind {
        self.kind
    }

    pub(super) fn image(&self) -> &Image {
        &self.image
    }
}
