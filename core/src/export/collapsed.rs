//! Collapsed stacks, the text that flame graph tools read: `process;outer;inner weight`, one line
//! for each stack that samples ended in. Forced names are marked `[forced] name`.
//!
//! The format has no way to quote, so `;` in a name is written `:` and line breaks as spaces.

use std::fmt::Write;

use crate::profile::Profile;
use crate::symbolize::Symbols;
use crate::views::call_tree::{CallNodeId, CallTree, Visit};
use crate::views::label::{Labels, mark};

/// All stacks of a call tree, heaviest subtrees first.
pub fn export(profile: &Profile, symbols: &Symbols, tree: &CallTree) -> String {
    let labels = Labels::new(profile, symbols);
    let mut text = String::new();
    let mut path: Vec<String> = Vec::new();
    tree.walk(|id, visit| {
        if id == CallNodeId::ROOT {
            return;
        }
        if visit == Visit::Leave {
            path.pop();
            return;
        }
        let label = tree.label(id);
        let forced = if labels.marks(label) & mark::FORCED != 0 { "[forced] " } else { "" };
        path.push(format!("{forced}{}", escape(&labels.text(label))));
        let weight = tree.self_sum(id).weight;
        if weight > 0 {
            let _ = writeln!(text, "{} {weight}", path.join(";"));
        }
    });
    text
}

fn escape(name: &str) -> String {
    name.replace(';', ":").replace(char::is_control, " ")
}
