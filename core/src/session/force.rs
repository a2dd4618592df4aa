//! The override: names from a file that is not known to be the one that ran, because the user says
//! so.

use perftab_images::{ForceError, ForcedImage, ForcedNames, Image, Rejection};
use perftab_names::Status;
use perftab_perfdata::decode::ByteSource;
use perftab_profile::DsoId;

use super::{AdmittedFile, Session};

/// What became of a file that the user insisted on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForceResult {
    /// It names the DSO, and every name is marked.
    Forced {
        /// Frames that got a name; at least one.
        frames: usize,
    },
    /// It is the file that ran: nothing had to be forced.
    Matched {
        /// Numbers in the ledger of the DSOs that it names.
        dsos: Vec<u32>,
        /// What it holds, in words.
        gives: &'static str,
    },
}

impl Session {
    /// Names a DSO that has no names from a file that does not match, or of which nothing tells
    /// whether it does. Every name is marked, in every view and export, until
    /// [`Self::unforce`] or until a file comes that matches. `name` is what the host calls the file.
    pub fn force(
        &mut self,
        dso: DsoId,
        name: &str,
        source: Box<dyn ByteSource>,
    ) -> Result<ForceResult, ForceError> {
        if dso.index() >= self.profile.dsos.len() {
            return Err(ForceError::NoSuchDso);
        }
        let unusable = |reason: Rejection| ForceError::Unusable { reason };
        let image = Image::open(name, source).map_err(|error| unusable(error.into()))?;
        if self.recorded.matches(dso, &image) {
            let AdmittedFile { dsos, gives } =
                self.admit_image(name, Ok(image)).map_err(unusable)?;
            return Ok(ForceResult::Matched {
                dsos: dsos.iter().map(|dso| dso.0).collect(),
                gives,
            });
        }
        let status = self.ledger.row(dso).status;
        if matches!(status, Status::Matched | Status::Embedded | Status::NoSymbols) {
            return Err(ForceError::HasNames);
        }
        let found = image.identity();
        let unreadable = |message: String| unusable(Rejection::Unreadable { message });
        let forced = ForcedNames::read(ForcedImage::insist(dso, image))
            .map_err(|error| unreadable(error.to_string()))?;
        self.unforce(dso);
        let frames = self.symbols.force(&self.profile, &forced)?;
        self.names_changed();
        self.ledger.forced(dso, name, found);
        Ok(ForceResult::Forced { frames })
    }

    /// Takes forced names away: addresses are shown again, and the ledger says what it said before.
    /// Names that were forced before a link was made stay, with their mark.
    pub fn unforce(&mut self, dso: DsoId) {
        if self.ledger.unforced(dso).is_some() {
            self.symbols.unforce(dso);
            self.names_changed();
        }
    }
}
