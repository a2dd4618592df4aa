//! Collapsed stacks, the text that flame graph tools read: `process;outer;inner weight`, one line
//! for each stack that samples ended in, heaviest subtrees first.
//!
//! The format has no way to quote, so `;` in a name is written `:` and line breaks as escapes.

use std::io::Write;

use perftab_names::Symbols;
use perftab_profile::Profile;
use perftab_views::call_tree::{CallNodeId, CallTree};

use super::names::Names;
use super::{Next, TreePieces};

/// A walk through the tree, a call node a piece.
#[derive(Default)]
pub(crate) struct Collapsed {
    /// Call nodes to be visited, the next one last, each with how deep it lies.
    open: Option<Vec<(CallNodeId, usize)>>,
    /// Names from the root's child to the call node visited last.
    path: Vec<String>,
}

impl TreePieces for Collapsed {
    fn next(
        &mut self,
        profile: &Profile,
        symbols: &Symbols,
        tree: &CallTree,
        out: &mut Vec<u8>,
    ) -> Next {
        let open = self.open.get_or_insert_with(|| {
            if tree.is_empty() { Vec::new() } else { vec![(CallNodeId::ROOT, 0)] }
        });
        let Some((id, depth)) = open.pop() else { return Next::End };
        let children = tree.children(id).iter().rev();
        open.extend(children.map(|&child| (child, depth + 1)));
        if id == CallNodeId::ROOT {
            return Next::Piece;
        }
        self.path.truncate(depth - 1);
        self.path.push(escape(&Names::new(profile, symbols).text(tree.label(id))));
        let weight = tree.self_sum(id).weight;
        if weight > 0 {
            let _ = writeln!(out, "{} {weight}", self.path.join(";"));
        }
        Next::Piece
    }
}

fn escape(name: &str) -> String {
    name.replace(';', ":").replace(char::is_control, " ")
}
