//! A call tree laid out as boxes, for the width that is there.
//!
//! Call nodes narrower than a limit are folded into one box, so that the number of boxes is
//! bounded by the width and the depth, not by the tree. Narrow unnamed siblings of one DSO are
//! drawn as one box too, and what lies below them is drawn together. The tree itself keeps every
//! address.

use std::collections::HashMap;

use serde::Deserialize;

use crate::profile::{DsoId, Profile, hash_text};
use crate::symbolize::Symbols;
use crate::views::call_tree::{CallNodeId, CallTree, Label};
use crate::views::label::{Kind, Labels, mark};
use crate::views::search::Pattern;

/// Stands in columns where there is no call node or label.
pub const NONE: u32 = u32::MAX;
/// Boxes narrower than this have no text.
const MIN_LABEL_WIDTH: f64 = 26.0;
/// Unnamed siblings of one DSO that are narrower than this are one box.
const MIN_UNNAMED_WIDTH: f64 = 4.0;
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
    /// How code without names is drawn.
    pub unnamed: Unnamed,
}

/// How unnamed siblings are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Unnamed {
    /// Each address by itself, unless it is very narrow.
    #[default]
    EachAddress,
    /// All addresses of a DSO as one.
    OnePerDso,
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
enum Placed {
    /// One call node, or several that are drawn as one.
    Calls { calls: Calls, start: f64 },
    /// The narrow children of one box.
    Folded { start: f64, folded: Folded },
}

/// What a box stands for.
enum Calls {
    One(CallNodeId),
    /// Unnamed siblings of one DSO, or calls of one function from those. Never fewer than two.
    Several(Vec<CallNodeId>),
}

impl Calls {
    fn of(mut ids: Vec<CallNodeId>) -> Self {
        match (ids.pop(), ids.is_empty()) {
            (Some(only), true) => Self::One(only),
            (last, _) => {
                ids.extend(last);
                Self::Several(ids)
            }
        }
    }

    fn ids(&self) -> &[CallNodeId] {
        match self {
            Self::One(id) => std::slice::from_ref(id),
            Self::Several(ids) => ids,
        }
    }
}

/// Calls too narrow for boxes of their own.
#[derive(Clone, Copy, Default)]
struct Folded {
    weight: u64,
    self_weight: u64,
    count: u32,
}

/// The boxes below one box, while they are being found.
#[derive(Default)]
struct Below {
    boxes: Vec<(Calls, u64)>,
    /// Unnamed calls that share a box, by DSO.
    unnamed: HashMap<DsoId, (Vec<CallNodeId>, u64)>,
    folded: Folded,
}

impl Layout<'_> {
    /// Row by row: the boxes of one are the children of those above.
    fn rows(&mut self, scale: f64) {
        let mut row = vec![Placed::Calls { calls: Calls::One(self.window.root), start: 0.0 }];
        while !row.is_empty() {
            self.graph.row_start.push(self.graph.start.len() as u32);
            let mut below = Vec::new();
            for placed in row {
                match placed {
                    Placed::Calls { calls, start } => {
                        self.push(&calls, start, scale);
                        self.children(&calls, start, scale, &mut below);
                    }
                    Placed::Folded { start, folded } => self.push_folded(start, scale, folded),
                }
            }
            row = below;
        }
    }

    /// Children stand side by side from their parent's left edge, heaviest first.
    fn children(&self, calls: &Calls, start: f64, scale: f64, row: &mut Vec<Placed>) {
        let mut below = Below::default();
        match calls {
            Calls::One(id) => {
                for &child in self.tree.children(*id) {
                    self.put(&mut below, Calls::One(child), scale);
                }
            }
            Calls::Several(ids) => {
                for calls in self.by_label(ids) {
                    self.put(&mut below, calls, scale);
                }
            }
        }
        let Below { mut boxes, unnamed, mut folded } = below;
        for (ids, weight) in unnamed.into_values() {
            if weight as f64 * scale >= self.window.min_width {
                boxes.push((Calls::of(ids), weight));
            } else {
                self.fold(&mut folded, &ids);
            }
        }
        // Ids break ties, since a hash table has no order.
        boxes.sort_by_key(|(calls, weight)| (std::cmp::Reverse(*weight), calls.ids()[0]));
        let mut start = start;
        for (calls, weight) in boxes {
            row.push(Placed::Calls { calls, start });
            start += weight as f64 * scale;
        }
        if folded.weight > 0 && folded.weight as f64 * scale >= self.window.min_width {
            row.push(Placed::Folded { start, folded });
        }
    }

    /// The children of several call nodes, those of one label together.
    fn by_label(&self, parents: &[CallNodeId]) -> Vec<Calls> {
        let mut place: HashMap<Label, usize> = HashMap::new();
        let mut groups: Vec<Vec<CallNodeId>> = Vec::new();
        for &child in parents.iter().flat_map(|&parent| self.tree.children(parent)) {
            let at = *place.entry(self.tree.label(child)).or_insert(groups.len());
            if at == groups.len() {
                groups.push(Vec::new());
            }
            groups[at].push(child);
        }
        groups.into_iter().map(Calls::of).collect()
    }

    /// Gives calls a box, or a part of one.
    fn put(&self, below: &mut Below, calls: Calls, scale: f64) {
        let weight = self.total(&calls);
        let width = weight as f64 * scale;
        let shares = width < MIN_UNNAMED_WIDTH || self.window.unnamed == Unnamed::OnePerDso;
        match self.unnamed_in(calls.ids()[0]).filter(|_| shares) {
            Some(dso) => {
                let (ids, sum) = below.unnamed.entry(dso).or_default();
                ids.extend_from_slice(calls.ids());
                *sum = sum.saturating_add(weight);
            }
            None if width >= self.window.min_width => below.boxes.push((calls, weight)),
            None => self.fold(&mut below.folded, calls.ids()),
        }
    }

    fn fold(&self, folded: &mut Folded, ids: &[CallNodeId]) {
        for &id in ids {
            folded.weight = folded.weight.saturating_add(self.tree.total(id).weight);
            folded.self_weight = folded.self_weight.saturating_add(self.tree.self_sum(id).weight);
            folded.count += 1;
        }
    }

    fn total(&self, calls: &Calls) -> u64 {
        let weights = calls.ids().iter().map(|&id| self.tree.total(id).weight);
        weights.fold(0, u64::saturating_add)
    }

    /// The DSO of code without a name.
    fn unnamed_in(&self, id: CallNodeId) -> Option<DsoId> {
        let label = self.tree.label(id);
        let dso = self.labels.dso(label)?;
        (self.labels.kind(label) == Kind::Unnamed).then_some(dso)
    }

    fn push(&mut self, calls: &Calls, start: f64, scale: f64) {
        let label = self.tree.label(calls.ids()[0]);
        let weight = self.total(calls) as f64;
        let found = calls.ids().iter().any(|&id| self.finds(self.tree.label(id)));
        let own = calls.ids().iter().map(|&id| self.tree.self_sum(id).weight);
        let own = own.fold(0, u64::saturating_add) as f64;
        let is_one_function = calls.ids().iter().all(|&id| self.tree.label(id) == label);
        let text = match is_one_function {
            true => self.label(label, weight * scale),
            false => self.addresses(label, calls.ids().len(), weight * scale),
        };
        let graph = &mut self.graph;
        let (call_node, folded) = match calls {
            Calls::One(id) => (id.0, 0),
            Calls::Several(ids) => (NONE, ids.len() as u32),
        };
        graph.call_node.push(call_node);
        graph.folded.push(folded);
        graph.kind.push(self.labels.kind(label) as u8);
        let marks = self.labels.marks(label);
        graph.marks.push(if found { marks | mark::MATCH } else { marks });
        let function = label.function().filter(|_| is_one_function);
        graph.function.push(function.map_or(NONE, |function| function.0));
        graph.dso.push(self.labels.dso(label).map_or(NONE, |dso| dso.0));
        graph.self_weight.push(own);
        self.place(start, weight, scale, text);
    }

    fn finds(&mut self, label: Label) -> bool {
        let Some(pattern) = &self.window.search else { return false };
        if let Some(&found) = self.found.get(&label) {
            return found;
        }
        let found = pattern.finds_label(self.profile, &self.labels, label);
        self.found.insert(label, found);
        found
    }

    fn push_folded(&mut self, start: f64, scale: f64, folded: Folded) {
        let graph = &mut self.graph;
        graph.call_node.push(NONE);
        graph.folded.push(folded.count);
        graph.kind.push(Kind::Folded as u8);
        graph.marks.push(mark::PSEUDO);
        graph.function.push(NONE);
        graph.dso.push(NONE);
        graph.self_weight.push(folded.self_weight as f64);
        self.place(start, folded.weight as f64, scale, LabelText { number: NONE, shade: 0 });
    }

    fn place(&mut self, start: f64, weight: f64, scale: f64, text: LabelText) {
        let graph = &mut self.graph;
        graph.start.push(start as f32);
        graph.end.push((start + weight * scale) as f32);
        graph.total.push(weight);
        graph.label.push(text.number);
        graph.shade.push(text.shade);
    }

    /// The text of a box of several addresses: "libcrypto.so.3, 14 addresses".
    fn addresses(&mut self, label: Label, count: usize, width: f64) -> LabelText {
        if width < MIN_LABEL_WIDTH {
            return LabelText { number: NONE, shade: 0 };
        }
        let dso = self.labels.dso_name(label);
        self.graph.labels.push(format!("{dso}, {count} addresses"));
        LabelText { number: self.graph.labels.len() as u32 - 1, shade: 0 }
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
