//! Rows of tables of both sides: call nodes, and functions and how they changed.

use perftab_views::call_tree::CallNodeId;
use perftab_views::column::{Float64Array, Uint8Array, Uint32Array};
use perftab_views::compare::{
    Change, ChangeKey, ComparedLabel, ComparedSide, FunctionChange, Presence, Width,
};
use perftab_views::flame_graph::NONE;
use perftab_views::label::mark;
use serde::Serialize;

use crate::session::{CompareView, ComparedTrees};

/// What rows of both sides have in common, as columns. Weights are on the basis.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct ComparedRows {
    /// Before.
    pub before: Float64Array,
    /// After.
    pub after: Float64Array,
    /// How much more it is after.
    pub change: Float64Array,
    /// 1 if the change is beyond noise.
    pub certain: Uint8Array,
    /// [`Presence`].
    pub presence: Uint8Array,
    /// [`perftab_views::label::Kind`].
    pub kind: Uint8Array,
    /// Bits of [`mark`].
    #[serde(rename = "flags")]
    pub marks: Uint8Array,
    /// Texts.
    pub names: Vec<String>,
    /// Names of DSOs; empty where there is none.
    pub dsos: Vec<String>,
    /// The side that has no names where the other has, so that no change is known: 1 before, 2 after, 0 neither.
    pub without_names: Uint8Array,
}

/// Call nodes of both sides, as columns. Weights are those of samples through each.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct ComparedTreeRows {
    /// Ids.
    pub call_node: Uint32Array,
    /// Equal for the same function, else [`NONE`].
    #[serde(rename = "functionId")]
    pub function: Uint32Array,
    /// Callees.
    pub child_count: Uint32Array,
    /// Place among its siblings, from 1.
    pub pos_in_set: Uint32Array,
    /// Siblings, itself included.
    pub set_size: Uint32Array,
    /// What each is, on both sides.
    #[serde(flatten)]
    pub rows: ComparedRows,
}

/// Functions of a table of changes, as columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct ChangeRows {
    /// All functions, of which these are a part.
    #[serde(rename = "totalCount")]
    pub count: u32,
    /// The largest change of all, without its sign.
    pub largest: f64,
    /// Equal for the same function.
    #[serde(rename = "functionId")]
    pub function: Uint32Array,
    /// The call node of each that has the most samples.
    pub heaviest: Uint32Array,
    /// What each is, on both sides.
    #[serde(flatten)]
    pub rows: ComparedRows,
}

impl ComparedTrees {
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
            let total = self.comparison.total(child);
            rows.push(self, child, self.comparison.change(&measures, child, total));
            rows.pos_in_set.push(place);
            rows.set_size.push(count);
        }
        rows
    }
}

impl ComparedTreeRows {
    fn push(&mut self, compared: &ComparedTrees, id: CallNodeId, change: Change) {
        let comparison = &compared.comparison;
        let label = comparison.label(id);
        self.call_node.push(id.0);
        let is_code = label.marks & mark::PSEUDO == 0;
        self.function.push(if is_code { label.function } else { NONE });
        self.child_count.push(comparison.children(id).len() as u32);
        self.rows.push(compared, label, change, comparison.presence(id), label.marks);
    }
}

impl ChangeRows {
    pub(super) fn push(
        &mut self,
        compared: &ComparedTrees,
        function: &FunctionChange,
        change: Change,
        key: ChangeKey,
    ) {
        let label = compared.comparison.label_of(function.label);
        self.function.push(function.label);
        self.heaviest.push(function.heaviest.0);
        let presence = compared.comparison.function_presence(function, key);
        let inlined = if function.is_inlined { mark::INLINED } else { 0 };
        self.rows.push(compared, label, change, presence, label.marks | inlined);
    }
}

impl ComparedRows {
    fn push(
        &mut self,
        compared: &ComparedTrees,
        label: &ComparedLabel,
        change: Change,
        presence: Presence,
        marks: u8,
    ) {
        self.before.push(change.before);
        self.after.push(change.after);
        self.change.push(change.change);
        self.certain.push(u8::from(change.is_certain));
        self.presence.push(presence as u8);
        self.kind.push(label.kind as u8);
        self.marks.push(marks);
        self.names.push(compared.comparison.text(label));
        let dso = label.pair.map(|pair| compared.pair(pair).name.clone());
        self.dsos.push(dso.unwrap_or_default());
        self.without_names.push(match change.without_names {
            None => 0,
            Some(ComparedSide::Before) => 1,
            Some(ComparedSide::After) => 2,
        });
    }
}
