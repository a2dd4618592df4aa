//! Writes a snapshot: as much of the call tree as fits. [`Sharing`] does it a step at a time.

mod bins;
mod body;
mod calls;
mod dsos;
mod heat;
mod link_context;
mod samples;
mod search;
mod sums;
mod tasks;
mod texts;
mod times;
mod work;

pub use self::heat::HotPlace;
pub(super) use self::texts::RedactedText;
pub use self::texts::{InProfile, Part, Renamed, SharedPart, SharedTexts};
pub use self::work::{LinkCache, Sharing, SharingStep};
use super::{Contents, ShareOptions, Shared, TooSmall};

/// The largest snapshot within the budget, at once.
pub fn encode(contents: &Contents<'_>, options: &ShareOptions) -> Result<Shared, TooSmall> {
    let (mut sharing, mut link_cache) = (Sharing::new(options), LinkCache::default());
    loop {
        if let SharingStep::Done(made) = sharing.step(contents, &mut link_cache, usize::MAX) {
            return made;
        }
    }
}
