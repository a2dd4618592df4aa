//! Names as other tools get them.

use perftab_names::Symbols;
use perftab_perfdata::text::printable;
use perftab_profile::Profile;
use perftab_views::call_tree::Label;
use perftab_views::label::{Labels, OwnCode, mark};

/// Before a name from a file of another build.
const FORCED: &str = "[forced] ";

/// Names calls of one profile.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    profile: &'a Profile,
    symbols: &'a Symbols,
    pub labels: Labels<'a>,
}

impl<'a> Names<'a> {
    pub fn new(profile: &'a Profile, symbols: &'a Symbols) -> Self {
        Self { profile, symbols, labels: Labels::new(profile, symbols) }
    }

    /// The same, where categories follow what is counted as own code.
    pub fn counting(self, own: &'a OwnCode) -> Self {
        Self { labels: self.labels.counting(own), ..self }
    }

    /// A name that stands by itself: code without one is `libz.so.1+0x1b8f`.
    pub fn text(&self, label: Label) -> String {
        let text = self.labels.text(label);
        let is_forced = self.labels.marks(label) & mark::FORCED != 0;
        let one = label.function().filter(|id| id.as_unnamed_of().is_none());
        match one.map(|function| self.symbols.function(function)) {
            Some(function) if function.name.is_none() => {
                let dso = printable(self.profile.dsos.get(function.dso).name());
                format!("{dso}+{text}")
            }
            _ if is_forced => format!("{FORCED}{text}"),
            _ => text,
        }
    }
}
