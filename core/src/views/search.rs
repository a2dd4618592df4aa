//! Which functions a text finds.

use crate::profile::Profile;
use crate::symbolize::Symbols;
use crate::views::call_tree::{CallNodeId, CallTree, Label, Visit};
use crate::views::functions;
use crate::views::label::Labels;
use crate::views::weights::Sum;

/// A text to look for in the names of functions and DSOs. Lower case finds both cases; a capital
/// letter finds capitals only.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    case: Case,
}

#[derive(Clone, Copy, Debug)]
enum Case {
    Ignored,
    Kept,
}

impl Pattern {
    /// `None` for a text of nothing but white space.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let case = if text.chars().any(char::is_uppercase) { Case::Kept } else { Case::Ignored };
        (!text.is_empty()).then(|| Self { text: text.to_owned(), case })
    }

    /// True if `name` has the text in it.
    pub fn finds(&self, name: &str) -> bool {
        match self.case {
            Case::Kept => name.contains(&self.text),
            Case::Ignored => name.to_lowercase().contains(&self.text),
        }
    }

    /// True if it finds the call node's name or DSO.
    pub fn finds_label(&self, profile: &Profile, labels: &Labels<'_>, label: Label) -> bool {
        let in_dso =
            || labels.dso(label).is_some_and(|dso| self.finds(profile.dsos.get(dso).name()));
        label != Label::All && (self.finds(&labels.text(label)) || in_dso())
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Samples that have at least one match on their stack.
    pub sum: Sum,
    /// The heaviest call node of each function that matches, heaviest function first.
    pub matches: Vec<CallNodeId>,
}

/// Searches a call tree.
pub fn search(profile: &Profile, symbols: &Symbols, tree: &CallTree, pattern: &Pattern) -> Found {
    let labels = Labels::new(profile, symbols);
    let mut found: Vec<_> = functions::sums(tree)
        .into_iter()
        .filter(|sum| pattern.finds_label(profile, &labels, sum.label))
        .collect();
    found.sort_by_key(|sum| std::cmp::Reverse(sum.total.weight));
    let matching: std::collections::HashSet<Label> = found.iter().map(|sum| sum.label).collect();

    let mut sum = Sum::default();
    let mut depth = 0u32;
    tree.walk(|id, visit| {
        let label = match tree.label(id) {
            Label::Inlined(function) => Label::Function(function),
            label => label,
        };
        if !matching.contains(&label) {
            return;
        }
        match visit {
            Visit::Enter => {
                if depth == 0 {
                    sum.add(tree.total(id));
                }
                depth += 1;
            }
            Visit::Leave => depth -= 1,
        }
    });
    Found { sum, matches: found.into_iter().map(|sum| sum.heaviest).collect() }
}
