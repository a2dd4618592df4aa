//! Both sides as boxes, for the width that is there.

use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::{number_of, sort_by_numbers};

use perftab_profile::hash_text;

use super::{Change, ComparedSide, Comparison, Measures, Presence, Sums, Width};
use crate::call_tree::CallNodeId;
use crate::flame_graph::{FlameGraph, NONE};
use crate::label::{Kind, mark};

/// Boxes narrower than this have no text.
const MIN_LABEL_WIDTH: f64 = 26.0;
const SHADES: u64 = 3;
/// What stands before the text of what one side lacks, so that colour and outline are not alone.
const ONLY_AFTER: &str = "+ ";
const ONLY_BEFORE: &str = "\u{2212} ";

/// What part of the tree to lay out, and how wide.
#[derive(Clone, Copy, Debug)]
pub struct ComparedWindow {
    /// The call node that fills the width.
    pub root: CallNodeId,
    /// Whose weights are widths.
    pub width: Width,
    /// Width in pixels.
    pub pixels: f64,
    /// Narrower call nodes are folded.
    pub min_pixels: f64,
}

/// Boxes and how they changed, as columns; those of a row stand together, from left to right.
#[derive(Clone, Debug, Default)]
pub struct ComparedGraph {
    /// The boxes; their total is what their width is made of, on the basis, and their DSO is a pair
    /// of DSOs.
    pub boxes: FlameGraph,
    /// Before, on the basis.
    pub before: Vec<f64>,
    /// After, on the basis.
    pub after: Vec<f64>,
    /// −3 to 3.
    pub step: Vec<i8>,
    /// [`Presence`].
    pub presence: Vec<u8>,
}

impl Comparison {
    /// Lays out the part below `window.root`; `is_match` says which labels a search finds.
    pub fn layout(
        &self,
        measures: &Measures,
        window: &ComparedWindow,
        is_match: &dyn Fn(u32) -> bool,
    ) -> ComparedGraph {
        let mut layout = Layout {
            comparison: self,
            measures,
            window,
            is_match,
            found: Map::new(),
            texts: Map::new(),
            graph: ComparedGraph::default(),
        };
        let whole = layout.width_of(window.root);
        if whole > 0.0 && window.pixels > 0.0 {
            layout.rows(window.pixels / whole);
        }
        let mut graph = layout.graph;
        graph.boxes.row_start.push(graph.boxes.start.len() as u32);
        graph
    }

    /// Children as a screen orders them, widest first; those without any width last.
    pub fn children_by_width(
        &self,
        measures: &Measures,
        width: Width,
        id: CallNodeId,
    ) -> Vec<CallNodeId> {
        let mut children: Vec<(f64, CallNodeId)> = self
            .children(id)
            .iter()
            .map(|&child| (measures.width(width, self.total(child)), child))
            .collect();
        sort_by_width(&mut children);
        children.into_iter().map(|(_, child)| child).collect()
    }
}

/// Equal widths stay in the order in which they were met first.
fn sort_by_width(children: &mut [(f64, CallNodeId)]) {
    sort_by_numbers(children, |&(width, id)| (!number_of(width), id.0.into()));
}

struct Layout<'a> {
    comparison: &'a Comparison,
    measures: &'a Measures,
    window: &'a ComparedWindow,
    is_match: &'a dyn Fn(u32) -> bool,
    found: Map<u32, bool>,
    /// By label and presence: position of the text, [`NONE`] if no box has been wide enough.
    texts: Map<(u32, u8), (u32, u8)>,
    graph: ComparedGraph,
}

#[derive(Clone, Copy)]
enum RowBox {
    One { id: CallNodeId, start: f64 },
    Folded { start: f64, width: f64, folded: Folded },
}

/// Narrow call nodes as one box.
#[derive(Clone, Copy, Default)]
struct Folded {
    sums: Sums,
    count: u32,
    /// The side that may have some of them without a name: what is known of the sum is no more than of those.
    without_names: Option<ComparedSide>,
}

impl Layout<'_> {
    fn width_of(&self, id: CallNodeId) -> f64 {
        self.measures.width(self.window.width, self.comparison.total(id))
    }

    /// Row by row: the boxes of one are the children of those above.
    fn rows(&mut self, scale: f64) {
        let mut row = vec![RowBox::One { id: self.window.root, start: 0.0 }];
        while !row.is_empty() {
            self.graph.boxes.row_start.push(self.graph.boxes.start.len() as u32);
            let mut below = Vec::new();
            for placed in row {
                match placed {
                    RowBox::One { id, start } => {
                        self.push(id, start, scale);
                        self.children(id, start, scale, &mut below);
                    }
                    RowBox::Folded { start, width, folded } => {
                        self.push_folded(start, width, scale, folded);
                    }
                }
            }
            row = below;
        }
    }

    fn children(&self, id: CallNodeId, start: f64, scale: f64, below: &mut Vec<RowBox>) {
        let (mut start, mut narrow, mut wide) = (start, Folded::default(), Vec::new());
        for &child in self.comparison.children(id) {
            let width = self.width_of(child);
            if width * scale >= self.window.min_pixels {
                wide.push((width, child));
            } else if width > 0.0 {
                narrow.sums.add(self.comparison.total(child));
                narrow.count += 1;
                let lacking = self.comparison.unnamed_by(child);
                narrow.without_names = narrow.without_names.or(lacking);
            }
        }
        sort_by_width(&mut wide);
        for (width, id) in wide {
            below.push(RowBox::One { id, start });
            start += width * scale;
        }
        let width = self.measures.width(self.window.width, narrow.sums);
        if width * scale >= self.window.min_pixels {
            below.push(RowBox::Folded { start, width, folded: narrow });
        }
    }

    fn push(&mut self, id: CallNodeId, start: f64, scale: f64) {
        let number = self.comparison.label[id.0 as usize];
        let label = *self.comparison.label(id);
        let sums = self.comparison.total(id);
        let width = self.width_of(id);
        let presence = self.comparison.presence(id);
        let is_match = self.is_match;
        let found = *self.found.entry(label.function).or_insert_with(|| is_match(label.function));
        let (text, shade) = self.text(number, presence, width * scale);
        let boxes = &mut self.graph.boxes;
        boxes.call_node.push(id.0);
        boxes.folded.push(0);
        boxes.kind.push(label.kind as u8);
        boxes.marks.push(if found { label.marks | mark::MATCH } else { label.marks });
        let is_function = label.marks & mark::PSEUDO == 0;
        boxes.function.push(if is_function { label.function } else { NONE });
        boxes.label.push(text);
        boxes.shade.push(shade);
        boxes.dso.push(label.pair.unwrap_or(NONE));
        let own = self.measures.width(self.window.width, self.comparison.self_sums(id));
        boxes.self_weight.push(own);
        let change = self.comparison.change(self.measures, id, sums);
        self.place(start, width, scale, change, presence);
    }

    fn push_folded(&mut self, start: f64, width: f64, scale: f64, folded: Folded) {
        let Folded { sums, count, without_names } = folded;
        let change = match without_names {
            None => self.measures.change(sums),
            Some(side) => self.measures.unknown_change(sums, side),
        };
        let boxes = &mut self.graph.boxes;
        boxes.call_node.push(NONE);
        boxes.folded.push(count);
        boxes.kind.push(Kind::Folded as u8);
        boxes.marks.push(mark::PSEUDO);
        boxes.function.push(NONE);
        boxes.label.push(NONE);
        boxes.shade.push(0);
        boxes.dso.push(NONE);
        boxes.self_weight.push(0.0);
        self.place(start, width, scale, change, Presence::Both);
    }

    fn place(&mut self, start: f64, width: f64, scale: f64, change: Change, presence: Presence) {
        let graph = &mut self.graph;
        graph.boxes.start.push(start as f32);
        graph.boxes.end.push((start + width * scale) as f32);
        graph.boxes.total.push(width);
        graph.before.push(change.before);
        graph.after.push(change.after);
        graph.step.push(change.step);
        graph.presence.push(presence as u8);
    }

    fn text(&mut self, number: u32, presence: Presence, pixels: f64) -> (u32, u8) {
        let key = (number, presence as u8);
        let is_wide = pixels >= MIN_LABEL_WIDTH;
        let (position, shade) = match self.texts.get(&key) {
            Some(&known) if known.0 != NONE || !is_wide => known,
            _ => {
                let text = self.comparison.text(&self.comparison.labels[number as usize]);
                let shade = (hash_text(&text) % SHADES) as u8;
                let labels = &mut self.graph.boxes.labels;
                let position = if is_wide { labels.len() as u32 } else { NONE };
                if is_wide {
                    labels.push(match presence {
                        Presence::Both => text,
                        Presence::OnlyAfter => [ONLY_AFTER, &text].concat(),
                        Presence::OnlyBefore => [ONLY_BEFORE, &text].concat(),
                    });
                }
                self.texts.insert(key, (position, shade));
                (position, shade)
            }
        };
        (if is_wide { position } else { NONE }, shade)
    }
}
