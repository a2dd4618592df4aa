//! Boxes of graphs: their columns, and how a box comes by its text, its colour and its marks.

use perftab_perfdata::map::Map;

use perftab_names::{FunctionId, Symbols};
use perftab_profile::{Profile, hash_text};

use crate::call_tree::{CallNodeId, Label};
use crate::label::{Kind, Labels, OwnCode, mark};
use crate::search::{Finder, Pattern};

/// Stands in columns where there is no call node or label.
pub const NONE: u32 = u32::MAX;
/// Boxes narrower than this have no text.
const MIN_LABEL_WIDTH: f64 = 26.0;
/// Number of shades by which neighbours are told apart.
const SHADES: u64 = 3;

/// Boxes, as columns; those of a row stand together, from left to right.
#[derive(Clone, Debug, Default)]
pub struct FlameGraph {
    /// First box of each row, and one more.
    pub row_start: Vec<u32>,
    /// Left edge in pixels.
    pub start: Vec<f32>,
    /// Right edge in pixels.
    pub end: Vec<f32>,
    /// Call node, or [`NONE`] for a box that stands for several.
    pub call_node: Vec<u32>,
    /// How many call nodes a box stands for, if they are several; else 0.
    pub folded: Vec<u32>,
    /// [`Kind`].
    pub kind: Vec<u8>,
    /// 0 to 2, by name.
    pub shade: Vec<u8>,
    /// Bits of [`mark`].
    pub marks: Vec<u8>,
    /// Equal for the same function, else [`NONE`].
    pub function: Vec<u32>,
    /// Its DSO, or [`NONE`].
    pub dso: Vec<u32>,
    /// Position in `labels`, or [`NONE`] for boxes too narrow for text.
    pub label: Vec<u32>,
    /// Texts.
    pub labels: Vec<String>,
    /// Weight.
    pub total: Vec<f64>,
    /// Weight of samples that ended in it.
    pub self_weight: Vec<f64>,
}

/// Writes the boxes of a graph, row after row.
pub(super) struct Boxes<'a> {
    pub labels: Labels<'a>,
    search: Option<Finder<'a>>,
    graph: FlameGraph,
    texts: Map<Label, LabelText>,
}

/// Where a box stands, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edges {
    pub start: f64,
    pub end: f64,
}

impl Edges {
    pub fn width(self) -> f64 {
        self.end - self.start
    }
}

/// Weight of samples through a box, and of those that end in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    pub total: f64,
    pub own: f64,
}

/// What a box stands for, and how it looks.
pub(super) struct BoxContent {
    /// [`NONE`] if it stands for several.
    pub call_node: u32,
    /// How many it stands for, if they are several; else 0.
    pub several: u32,
    /// What its colour and marks are those of.
    pub label: Label,
    /// Equal for the same function.
    pub function: Option<FunctionId>,
    pub text: LabelText,
    /// [`mark::MATCH`] or nothing.
    pub found: u8,
}

/// What is known of a label's text.
#[derive(Clone, Copy)]
pub(super) struct LabelText {
    /// Position in the graph's labels, or [`NONE`] if no box has been wide enough for it.
    number: u32,
    shade: u8,
}

impl<'a> Boxes<'a> {
    pub fn new(profile: &'a Profile, symbols: &'a Symbols, search: Option<&'a Pattern>) -> Self {
        let search = search.map(|pattern| Finder::new(profile, symbols, pattern));
        let (graph, texts) = (FlameGraph::default(), Map::default());
        Self { labels: Labels::new(profile, symbols), search, graph, texts }
    }

    /// The same, where colours follow what is counted as own code.
    pub fn counting(self, own: &'a OwnCode) -> Self {
        Self { labels: self.labels.counting(own), ..self }
    }

    /// What is pushed from now on stands in the next row.
    pub fn begin_row(&mut self) {
        self.graph.row_start.push(self.graph.start.len() as u32);
    }

    /// A call node.
    pub fn push_call(&mut self, id: CallNodeId, label: Label, edges: Edges, weights: Weights) {
        let content = BoxContent {
            call_node: id.0,
            several: 0,
            label,
            function: label.function(),
            text: self.label(label, edges.width()),
            found: self.found(label),
        };
        self.push(&content, edges, weights);
    }

    /// A box.
    pub fn push(&mut self, content: &BoxContent, edges: Edges, weights: Weights) {
        let graph = &mut self.graph;
        graph.call_node.push(content.call_node);
        graph.folded.push(content.several);
        graph.kind.push(self.labels.kind(content.label) as u8);
        graph.marks.push(self.labels.marks(content.label) | content.found);
        graph.function.push(content.function.map_or(NONE, |function| function.0));
        graph.dso.push(self.labels.dso(content.label).map_or(NONE, |dso| dso.0));
        self.place(edges, weights, content.text);
    }

    /// So many narrow calls.
    pub fn push_folded(&mut self, count: u32, edges: Edges, weights: Weights) {
        let graph = &mut self.graph;
        graph.call_node.push(NONE);
        graph.folded.push(count);
        graph.kind.push(Kind::Folded as u8);
        graph.marks.push(mark::PSEUDO);
        graph.function.push(NONE);
        graph.dso.push(NONE);
        self.place(edges, weights, LabelText { number: NONE, shade: 0 });
    }

    /// The columns.
    pub fn finish(mut self) -> FlameGraph {
        self.begin_row();
        self.graph
    }

    fn place(&mut self, edges: Edges, weights: Weights, text: LabelText) {
        let graph = &mut self.graph;
        graph.start.push(edges.start as f32);
        graph.end.push(edges.end as f32);
        graph.total.push(weights.total);
        graph.self_weight.push(weights.own);
        graph.label.push(text.number);
        graph.shade.push(text.shade);
    }

    /// [`mark::MATCH`] if the search finds the label.
    pub fn found(&mut self, label: Label) -> u8 {
        let found = self.search.as_mut().is_some_and(|finder| finder.finds(label));
        if found { mark::MATCH } else { 0 }
    }

    /// A text that no other box has.
    pub fn text(&mut self, width: f64, text: impl FnOnce(&Labels<'_>) -> String) -> LabelText {
        if width < MIN_LABEL_WIDTH {
            return LabelText { number: NONE, shade: 0 };
        }
        self.graph.labels.push(text(&self.labels));
        LabelText { number: self.graph.labels.len() as u32 - 1, shade: 0 }
    }

    /// The text of a box, once for all boxes that have it, and its shade.
    pub fn label(&mut self, label: Label, width: f64) -> LabelText {
        let text = match self.texts.get(&label) {
            Some(&known) if known.number != NONE || width < MIN_LABEL_WIDTH => known,
            _ => {
                let text = self.labels.text_alone(label);
                let shade = (hash_text(&text) % SHADES) as u8;
                let number = match width < MIN_LABEL_WIDTH {
                    true => NONE,
                    false => {
                        self.graph.labels.push(text);
                        self.graph.labels.len() as u32 - 1
                    }
                };
                let made = LabelText { number, shade };
                self.texts.insert(label, made);
                made
            }
        };
        match width < MIN_LABEL_WIDTH {
            true => LabelText { number: NONE, ..text },
            false => text,
        }
    }
}
