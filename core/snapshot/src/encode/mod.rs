//! Writes a snapshot: as much of the call tree as fits.

mod attempts;
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

use perftab_perfdata::slice::at_once;

pub use self::attempts::{LinkTools, link};
pub use self::heat::HotPlace;
pub use self::link_context::{LinkContext, LinkKey};
pub(super) use self::texts::RedactedText;
pub use self::texts::{Part, ProfileTextCounts, RenamedText, SharedPart, SharedTexts};
use super::{Contents, EncodedSnapshot, ShareOptions, TooSmall};

/// The largest snapshot within the budget, at once.
pub fn encode(
    contents: &Contents<'_>,
    options: &ShareOptions,
) -> Result<EncodedSnapshot, TooSmall> {
    at_once(async |slice| {
        let context = LinkContext::of(contents, &LinkKey::of(options), slice).await;
        link(contents, options, &context, &LinkTools::default(), slice).await
    })
}
