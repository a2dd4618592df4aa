//! Collapsed stacks, the text that flame graph tools read: `process;outer;inner weight`, one line
//! for each stack that samples ended in, heaviest subtrees first.
//!
//! The format has no way to quote, so `;` in a name is written `:` and line breaks as escapes.

use std::io::Write;

use perftab_views::call_tree::CallNodeId;

use crate::ExportRequest;
use crate::names::Names;
use crate::out::Out;
use crate::source::Source;

/// Walks through the tree of the request's query.
pub(crate) async fn write(request: &ExportRequest, source: &Source, out: &mut Out) {
    let tree = source.tree(&request.query, out.rows()).await;
    let names = Names::new(&source.profile, &source.symbols);
    out.pieces().expect(tree.len());
    // Call nodes to be visited, the next one last, each with how deep it lies.
    let mut open = if tree.is_empty() { Vec::new() } else { vec![(CallNodeId::ROOT, 0)] };
    // Names from the root's child to the call node visited last.
    let mut path: Vec<String> = Vec::new();
    while let Some((id, depth)) = open.pop() {
        let children = tree.children(id).iter().rev();
        open.extend(children.map(|&child| (child, depth + 1)));
        if id == CallNodeId::ROOT {
            continue;
        }
        path.truncate(depth - 1);
        path.push(escape(&names.text(tree.label(id))));
        let weight = tree.self_sum(id).weight;
        if weight > 0 {
            let _ = writeln!(out.bytes, "{} {weight}", path.join(";"));
        }
        out.rest().await;
    }
}

fn escape(name: &str) -> String {
    name.replace(';', ":").replace(char::is_control, " ")
}
