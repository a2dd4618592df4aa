//! Writes a snapshot: as much of the call tree as fits. [`LinkBuilder`] does it a step at a time.

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
pub use self::texts::{Part, ProfileTextCounts, RenamedText, SharedPart, SharedTexts};
pub use self::work::{LinkBuilder, LinkCache, LinkStep};
use super::{Contents, EncodedSnapshot, ShareOptions, TooSmall};

/// The largest snapshot within the budget, at once.
pub fn encode(
    contents: &Contents<'_>,
    options: &ShareOptions,
) -> Result<EncodedSnapshot, TooSmall> {
    let (mut builder, mut link_cache) = (LinkBuilder::new(options), LinkCache::default());
    loop {
        if let LinkStep::Done(made) = builder.step(contents, &mut link_cache, usize::MAX) {
            return made;
        }
    }
}
