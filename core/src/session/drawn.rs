//! Graphs as they cross to the page: columns of their boxes, and what these are a part of.

use perftab_views::column::{Float32Array, Float64Array, Int8Array, Uint8Array, Uint32Array};
use perftab_views::compare::ComparedGraph;
use perftab_views::flame_graph::FlameGraph;
use perftab_views::time_order::{EmptyReason, TimeOrder};
use perftab_views::{Direction, Query};
use serde::Serialize;

use crate::session::{
    CompareView, ComparedTrees, FlameWindow, PathStep, RangePreview, Session, TimeWindow,
};

/// Boxes of a graph, row by row; those of a row from left to right.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct DrawnGraph {
    /// How many rows there are.
    pub depths: u32,
    /// First box of each row, and one more.
    pub row_start: Uint32Array,
    /// Left edge in pixels.
    pub start: Float32Array,
    /// Right edge in pixels.
    pub end: Float32Array,
    /// 0xffffffff for a box that stands for several.
    pub call_node: Uint32Array,
    /// How many those are, else 0: narrow calls, or unnamed code of one DSO.
    pub folded: Uint32Array,
    /// [`perftab_views::label::Kind`].
    pub kind: Uint8Array,
    /// 0 to 2, by name.
    pub shade: Uint8Array,
    /// Bits of [`perftab_views::label::mark`].
    pub flags: Uint8Array,
    /// Equal for the same function; 0xffffffff for what is none.
    pub function_id: Uint32Array,
    /// Number in the ledger, 0xffffffff for none; of a comparison the number of a pair.
    pub dso: Uint32Array,
    /// Position in `labels`, 0xffffffff for none.
    pub label: Uint32Array,
    /// Texts.
    pub labels: Vec<String>,
    /// Weight of samples through each: of a comparison what its width is made of, on the basis.
    pub total: Float64Array,
    /// Weight of samples that ended in each.
    #[serde(rename = "self")]
    pub self_weight: Float64Array,
    /// From the root to the call node that fills the width.
    pub path: Vec<PathStep>,
    /// The weight of what fills the width.
    pub root_total: f64,
    /// Its samples.
    pub root_samples: f64,
    /// The weight of all that is shown.
    pub all_total: f64,
    /// Its samples.
    pub all_samples: f64,
    /// Ids of call nodes are of one generation; those of a comparison are its maker's to count.
    pub generation: u32,
}

/// One thread's stacks along time. The first row is the thread; call nodes are those of the query's
/// tree of callees. No path leads to what fills the width.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct DrawnTimeOrder {
    /// The boxes.
    #[serde(flatten)]
    pub graph: DrawnGraph,
    /// By box.
    pub samples: Float64Array,
    /// Why there is no box.
    pub nothing: Option<EmptyReason>,
    /// The event's usual distance between samples of a thread, in nanoseconds.
    pub distance: f64,
}

/// Boxes of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct DrawnComparison {
    /// The boxes.
    #[serde(flatten)]
    pub graph: DrawnGraph,
    /// By box, on the basis: percent, weight in a second, or weight.
    pub before: Float64Array,
    /// The same after.
    pub after: Float64Array,
    /// −3 to 3.
    pub step: Int8Array,
    /// 0 both, 1 only after, 2 only before.
    pub presence: Uint8Array,
}

/// What some of a graph comes to: weight, and samples.
type Amount = (f64, f64);

impl DrawnGraph {
    fn new(boxes: FlameGraph, path: Vec<PathStep>, root: Amount, all: Amount) -> Self {
        Self {
            depths: boxes.row_start.len().saturating_sub(1) as u32,
            row_start: boxes.row_start.into(),
            start: boxes.start.into(),
            end: boxes.end.into(),
            call_node: boxes.call_node.into(),
            folded: boxes.folded.into(),
            kind: boxes.kind.into(),
            shade: boxes.shade.into(),
            flags: boxes.marks.into(),
            function_id: boxes.function.into(),
            dso: boxes.dso.into(),
            label: boxes.label.into(),
            labels: boxes.labels,
            total: boxes.total.into(),
            self_weight: boxes.self_weight.into(),
            path,
            root_total: root.0,
            root_samples: root.1,
            all_total: all.0,
            all_samples: all.1,
            generation: 0,
        }
    }
}

impl Session {
    /// The boxes of a query below a call node.
    pub fn drawn(&mut self, query: &Query, root: u32, boxes: FlameGraph) -> DrawnGraph {
        let path = self.path(query, root);
        let all = self.total(query);
        let all = (all.weight as f64, all.samples as f64);
        let root = self.call_node_detail(query, root);
        let root = root.map_or(all, |root| (root.total_weight, root.total_samples as f64));
        DrawnGraph { generation: self.generation, ..DrawnGraph::new(boxes, path, root, all) }
    }

    /// [`Self::range_preview`], of the call nodes of no tree.
    pub fn drawn_preview(&self, preview: RangePreview) -> DrawnGraph {
        let RangePreview { graph, path, root, all } = preview;
        let [root, all] = [root, all].map(|sum| (sum.weight as f64, sum.samples as f64));
        DrawnGraph { generation: self.generation, ..DrawnGraph::new(graph, path, root, all) }
    }

    /// [`Self::time_order`], and what it is a part of.
    pub fn drawn_time_order(&mut self, query: &Query, window: &TimeWindow) -> DrawnTimeOrder {
        let TimeOrder { graph, samples, nothing, distance } = self.time_order(query, window);
        let query = Query { direction: Direction::Callees, around: None, ..query.clone() };
        let all = self.total(&query);
        let samples: Float64Array = samples.into_iter().map(|samples| samples as f64).collect();
        let first = |column: &[f64]| column.first().copied().unwrap_or_default();
        let root = (first(&graph.total), first(&samples));
        let all = (all.weight as f64, all.samples as f64);
        let graph = DrawnGraph::new(graph, Vec::new(), root, all);
        let graph = DrawnGraph { generation: self.generation, ..graph };
        DrawnTimeOrder { graph, samples, nothing, distance: distance as f64 }
    }
}

impl ComparedTrees {
    /// [`Self::flame_graph`], and what it is a part of.
    pub fn drawn(&self, view: CompareView, window: &FlameWindow) -> DrawnComparison {
        let ComparedGraph { boxes, before, after, step, presence } = self.flame_graph(view, window);
        let [all, root] = [0, window.root].map(|call_node| {
            let (width, samples) = self.width(view, call_node);
            (width, samples as f64)
        });
        DrawnComparison {
            graph: DrawnGraph::new(boxes, self.path(window.root), root, all),
            before: before.into(),
            after: after.into(),
            step: step.into(),
            presence: presence.into(),
        }
    }
}
