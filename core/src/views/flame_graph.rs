//! A call tree laid out as boxes, for the width that is there.
//!
//! Call nodes narrower than a limit are folded into one box, so that the number of boxes is
//! bounded by the width and the depth, not by the tree.

use std::collections::HashMap;

use crate::profile::{Profile, hash_text};
use crate::symbolize::Symbols;
use crate::views::call_tree::{CallNodeId, CallTree, Label};
use crate::views::label::{Kind, Labels, mark};
use crate::views::search::Pattern;
use crate::views::weights::Sum;

/// Stands in columns where there is no call node or label.
pub const NONE: u32 = u32::MAX;
/// Boxes narrower than this have no text.
const MIN_LABEL_WIDTH: f64 = 26.0;
/// Number of shades by which neighbours are told apart.
const SHADES: u64 = 3;

/// What part of the tree to lay out, and how wide.
#[derive(Clone, Debug)]
pub struct Window {
    /// The call node that fills the width.
    pub root: CallNodeId,
    /// Width in pixels.
    pub width: f64,
    /// Narrower call nodes are folded.
    pub min_width: f64,
    /// What is searched for.
    pub search: Option<Pattern>,
}

/// Boxes, as columns; those of a row stand together, from left to right.
#[derive(Clone, Debug, Default)]
pub struct FlameGraph {
    /// First box of each row, and one more.
    pub row_start: Vec<u32>,
    /// Left edge in pixels.
    pub start: Vec<f32>,
    /// Right edge in pixels.
    pub end: Vec<f32>,
    /// Call node, or [`NONE`] for a folded box.
    pub call_node: Vec<u32>,
    /// How many call nodes a box stands for, if it is folded; else 0.
    pub folded: Vec<u32>,
    /// [`Kind`].
    pub kind: Vec<u8>,
    /// 0 to 2, by name.
    pub shade: Vec<u8>,
    /// Bits of [`mark`].
    pub marks: Vec<u8>,
    /// Equal for the same function, else [`NONE`].
    pub function: Vec<u32>,
    /// Position in `labels`, or [`NONE`] for boxes too narrow for text.
    pub label: Vec<u32>,
    /// Texts.
    pub labels: Vec<String>,
    /// Weight.
    pub total: Vec<f64>,
}

/// Lays out the part of `tree` below `window.root`.
pub fn layout(
    profile: &Profile,
    symbols: &Symbols,
    tree: &CallTree,
    window: &Window,
) -> FlameGraph {
    let mut layout = Layout {
        labels: Labels::new(profile, symbols),
        profile,
        tree,
        window,
        graph: FlameGraph::default(),
        texts: HashMap::new(),
        found: HashMap::new(),
    };
    let total = tree.total(window.root).weight as f64;
    if total > 0.0 && window.width > 0.0 {
        layout.rows(window.width / total);
    }
    layout.graph.row_start.push(layout.graph.start.len() as u32);
    layout.graph
}

struct Layout<'a> {
    labels: Labels<'a>,
    profile: &'a Profile,
    tree: &'a CallTree,
    window: &'a Window,
    graph: FlameGraph,
    texts: HashMap<Label, LabelText>,
    /// Whether the search finds a label: each is asked once.
    found: HashMap<Label, bool>,
}

/// A box of a row, by its left edge in pixels.
#[derive(Clone, Copy)]
enum Placed {
    /// A call node.
    One { id: CallNodeId, start: f64 },
    /// The narrow children of one call node.
    Folded { start: f64, weight: u64, count: u32 },
}

impl Layout<'_> {
    /// Row by row: the boxes of one are the children of those above.
    fn rows(&mut self, scale: f64) {
        let mut row = vec![Placed::One { id: self.window.root, start: 0.0 }];
        while !row.is_empty() {
            self.graph.row_start.push(self.graph.start.len() as u32);
            let mut below = Vec::new();
            for placed in row {
                match placed {
                    Placed::One { id, start } => {
                        self.push(id, start, scale);
                        self.children(id, start, scale, &mut below);
                    }
                    Placed::Folded { start, weight, count } => {
                        self.push_folded(start, weight, scale, count);
                    }
                }
            }
            row = below;
        }
    }

    /// Children stand side by side from their parent's left edge, heaviest first.
    fn children(&self, id: CallNodeId, start: f64, scale: f64, below: &mut Vec<Placed>) {
        let width = |weight: u64| weight as f64 * scale;
        let children = self.tree.children(id);
        let wide = children.partition_point(|&child| {
            width(self.tree.total(child).weight) >= self.window.min_width
        });
        let (wide, narrow) = children.split_at(wide);
        let mut start = start;
        for &id in wide {
            below.push(Placed::One { id, start });
            start += width(self.tree.total(id).weight);
        }
        let mut folded = Sum::default();
        narrow.iter().for_each(|&child| folded.add(self.tree.total(child)));
        let weight = folded.weight;
        if weight > 0 && width(weight) >= self.window.min_width {
            below.push(Placed::Folded { start, weight, count: narrow.len() as u32 });
        }
    }

    fn push(&mut self, id: CallNodeId, start: f64, scale: f64) {
        let label = self.tree.label(id);
        let weight = self.tree.total(id).weight as f64;
        let found = match self.found.get(&label) {
            Some(&found) => found,
            None => {
                let pattern = self.window.search.as_ref();
                let found =
                    pattern.is_some_and(|text| text.finds_label(self.profile, &self.labels, label));
                self.found.insert(label, found);
                found
            }
        };
        let graph = &mut self.graph;
        graph.call_node.push(id.0);
        graph.folded.push(0);
        graph.kind.push(self.labels.kind(label) as u8);
        let marks = self.labels.marks(label);
        graph.marks.push(if found { marks | mark::MATCH } else { marks });
        graph.function.push(label.function().map_or(NONE, |function| function.0));
        let text = self.label(label, weight * scale);
        self.place(start, weight, scale, text);
    }

    fn push_folded(&mut self, start: f64, weight: u64, scale: f64, count: u32) {
        let graph = &mut self.graph;
        graph.call_node.push(NONE);
        graph.folded.push(count);
        graph.kind.push(Kind::Folded as u8);
        graph.marks.push(mark::PSEUDO);
        graph.function.push(NONE);
        self.place(start, weight as f64, scale, LabelText { number: NONE, shade: 0 });
    }

    fn place(&mut self, start: f64, weight: f64, scale: f64, text: LabelText) {
        let graph = &mut self.graph;
        graph.start.push(start as f32);
        graph.end.push((start + weight * scale) as f32);
        graph.total.push(weight);
        graph.label.push(text.number);
        graph.shade.push(text.shade);
    }

    /// The text of a box, once for all boxes that have it, and its shade.
    fn label(&mut self, label: Label, width: f64) -> LabelText {
        let text = match self.texts.get(&label) {
            Some(&known) if known.number != NONE || width < MIN_LABEL_WIDTH => known,
            _ => {
                let text = self.labels.text(label);
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

/// What is known of a label's text.
#[derive(Clone, Copy)]
struct LabelText {
    /// Position in the graph's labels, or [`NONE`] if no box has been wide enough for it.
    number: u32,
    shade: u8,
}
