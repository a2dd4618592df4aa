//! The call tree of both sides as rows of a table.

use crate::session::{CompareView, Comparing};
use crate::views::call_tree::CallNodeId;
use crate::views::compare::{Change, Width};
use crate::views::flame_graph::NONE;
use crate::views::label::mark;

/// Call nodes of both sides, as columns. Weights are those of samples through each, on the basis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedTreeRows {
    /// Ids.
    pub call_node: Vec<u32>,
    /// Equal for the same function, else [`NONE`].
    pub function: Vec<u32>,
    /// Callees.
    pub child_count: Vec<u32>,
    /// Place among its siblings, from 1.
    pub pos_in_set: Vec<u32>,
    /// Siblings, itself included.
    pub set_size: Vec<u32>,
    /// Before.
    pub before: Vec<f64>,
    /// After.
    pub after: Vec<f64>,
    /// How much more it is after.
    pub change: Vec<f64>,
    /// 1 if the change is beyond noise.
    pub certain: Vec<u8>,
    /// [`crate::views::compare::Presence`].
    pub presence: Vec<u8>,
    /// [`crate::views::label::Kind`].
    pub kind: Vec<u8>,
    /// Bits of [`mark`].
    pub marks: Vec<u8>,
    /// Texts.
    pub names: Vec<String>,
    /// Names of DSOs; empty where there is none.
    pub dsos: Vec<String>,
}

impl Comparing {
    /// The callees of a call node, those first that have most weight on both sides together; at
    /// most `most` of them. An unknown call node has none. By how much they changed they would be
    /// in a worse order: changes below a call cancel each other.
    pub fn children(&self, view: CompareView, call_node: u32, most: usize) -> ComparedTreeRows {
        let mut rows = ComparedTreeRows::default();
        let Some(id) = self.comparison.id(call_node) else { return rows };
        let measures = self.measures(view);
        let children = self.comparison.children_by_width(&measures, Width::Both, id);
        let count = children.len() as u32;
        for (place, child) in (1..).zip(children).take(most) {
            rows.push(self, child, measures.change(self.comparison.total(child)));
            rows.pos_in_set.push(place);
            rows.set_size.push(count);
        }
        rows
    }
}

impl ComparedTreeRows {
    fn push(&mut self, comparing: &Comparing, id: CallNodeId, change: Change) {
        let comparison = &comparing.comparison;
        let label = comparison.label(id);
        self.call_node.push(id.0);
        let is_code = label.marks & mark::PSEUDO == 0;
        self.function.push(if is_code { label.function } else { NONE });
        self.child_count.push(comparison.children(id).len() as u32);
        self.before.push(change.before);
        self.after.push(change.after);
        self.change.push(change.change);
        self.certain.push(u8::from(change.is_certain));
        self.presence.push(comparison.presence(id) as u8);
        self.kind.push(label.kind as u8);
        self.marks.push(label.marks);
        self.names.push(comparison.text(label));
        let dso = label.pair.map(|pair| comparing.pair(pair).name.clone());
        self.dsos.push(dso.unwrap_or_default());
    }
}
