//! What a sender chooses: how much is written, and what of it.

use perftab_views::Query;
use perftab_views::function_ref::DsoRef;
use serde::{Deserialize, Serialize};

use super::{Contents, Disclosure, Privacy};

/// How much is written, and what of it. The default tells the least, of the whole profile.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase", default)]
pub struct ShareOptions {
    /// Characters that the payload may have, the address before it not counted.
    pub characters: usize,
    /// What may be told.
    pub privacy: Privacy,
    /// What is written: all, or of every event what the filters and steps of a query leave. How the
    /// query's tree stands changes nothing, except that inlined functions which it merges stay so.
    pub query: Option<Query>,
    /// DSOs that count as own code, whatever their folder says, for what is told of own code and for
    /// the timeline.
    pub own: Vec<DsoRef>,
    /// How the sender looks at it, as the text that a page's address has after `s2&`; empty for not
    /// at all. What it names is told as the rest is.
    pub view: String,
    /// The most that is written of times; less where there is no room for it.
    pub times: Times,
    /// What the sender calls the profile; empty for nothing, and so is the name that every recording
    /// has at first.
    pub title: String,
}

/// A file that nobody gave a name.
const NO_TITLE: &str = "perf.data";
/// Characters; longer titles are cut.
const LONGEST_TITLE: usize = 200;

impl ShareOptions {
    /// What the profile is called in the link, if anything.
    pub(super) fn told_title(&self) -> Option<&str> {
        let title = self.title.trim();
        let end = title.char_indices().nth(LONGEST_TITLE).map_or(title.len(), |(end, _)| end);
        (!title.is_empty() && title != NO_TITLE).then(|| &title[..end])
    }

    /// Whether anything is told of what stands at lines or addresses.
    pub(super) fn includes_texts(&self, contents: &Contents<'_>) -> bool {
        let texts = &contents.facts.texts;
        let choices = [
            (self.privacy.source(), texts.lines().next().is_some()),
            (self.privacy.assembly(), texts.instructions().next().is_some()),
        ];
        choices.contains(&(Disclosure::Included, true))
    }
}

impl Default for ShareOptions {
    fn default() -> Self {
        Self {
            characters: usize::MAX,
            privacy: Privacy::default(),
            query: None,
            own: Vec::new(),
            view: String::new(),
            times: Times::Samples,
            title: String::new(),
        }
    }
}

/// What is known of when samples were, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Times {
    /// When the first and the last were.
    #[default]
    None,
    /// How much of each process there was, by bins of time.
    Processes,
    /// How much of each thread.
    Threads,
    /// Every sample: its time, thread, CPU and call node.
    Samples,
}
