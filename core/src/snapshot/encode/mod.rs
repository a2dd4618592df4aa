//! Writes a snapshot: as much of the call tree as fits. [`Sharing`] does it a step at a time.

mod bins;
mod body;
mod calls;
mod dsos;
mod ground;
mod heat;
mod samples;
mod search;
mod sums;
mod tasks;
mod texts;
mod times;
mod work;

pub use self::heat::HotPlace;
pub(super) use self::texts::Told;
pub use self::texts::{InProfile, Part, Renamed, SharedPart, SharedTexts};
pub use self::work::{Sharing, SharingStep, Workshop};
use super::{Contents, ShareOptions, Shared, TooSmall};

/// The largest snapshot within the budget, at once.
pub fn encode(contents: &Contents<'_>, options: &ShareOptions) -> Result<Shared, TooSmall> {
    let (mut sharing, mut workshop) = (Sharing::new(options), Workshop::default());
    loop {
        if let SharingStep::Done(made) = sharing.step(contents, &mut workshop, usize::MAX) {
            return made;
        }
    }
}
