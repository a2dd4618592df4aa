//! A call tree laid out as boxes, for the width that is there.
//!
//! Call nodes narrower than a limit are folded into one box, so that the number of boxes is
//! bounded by the width and the depth, not by the tree. Narrow unnamed siblings of one DSO are
//! drawn as one box too, and what lies below them is drawn together. The tree itself keeps every
//! address.

use std::collections::HashMap;

use serde::Deserialize;

use crate::profile::{DsoId, Profile};
use crate::symbolize::Symbols;
use crate::views::boxes::{Boxes, Drawn, Edges, Weights};
pub use crate::views::boxes::{FlameGraph, NONE};
use crate::views::call_tree::{CallNodeId, CallTree, Label};
use crate::views::label::Kind;
use crate::views::search::Pattern;

/// Unnamed siblings of one DSO that are narrower than this are one box.
const MIN_UNNAMED_WIDTH: f64 = 4.0;
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

/// A tree that is laid out: all of it is there, or it is made where it is looked at.
pub trait Source {
    /// A call node, or samples of one, that shares a box with others.
    type Part: Copy;

    /// What is there.
    fn tree(&self) -> &CallTree;
    /// Makes the children of a call node.
    fn open(&mut self, id: CallNodeId);
    /// Adds the parts of a call node.
    fn add_parts(&self, id: CallNodeId, parts: &mut Vec<Self::Part>);
    /// What the call node of a part stands for.
    fn label(&self, part: Self::Part) -> Label;
    /// Weight of samples through some parts, and of those that end in them.
    fn sums(&self, parts: &[Self::Part]) -> (u64, u64);
    /// How many call nodes some parts stand for.
    fn count(&self, parts: &[Self::Part]) -> u32;
    /// What breaks ties.
    fn rank(&self, part: Self::Part) -> CallNodeId;
    /// The children of some parts, those of one label together.
    fn below(&self, parts: &[Self::Part]) -> Vec<Vec<Self::Part>>;
    /// The call node of some parts if they are of one alone.
    fn only(&mut self, parts: &[Self::Part]) -> Option<CallNodeId>;
}

/// A tree that is all there.
impl Source for &CallTree {
    type Part = CallNodeId;

    fn tree(&self) -> &CallTree {
        self
    }

    fn open(&mut self, _: CallNodeId) {}

    fn add_parts(&self, id: CallNodeId, parts: &mut Vec<CallNodeId>) {
        parts.push(id);
    }

    fn label(&self, part: CallNodeId) -> Label {
        CallTree::label(self, part)
    }

    fn sums(&self, parts: &[CallNodeId]) -> (u64, u64) {
        let add = |(total, own): (u64, u64), &id: &CallNodeId| {
            (
                total.saturating_add(self.total(id).weight),
                own.saturating_add(self.self_sum(id).weight),
            )
        };
        parts.iter().fold((0, 0), add)
    }

    fn count(&self, parts: &[CallNodeId]) -> u32 {
        parts.len() as u32
    }

    fn rank(&self, part: CallNodeId) -> CallNodeId {
        part
    }

    fn below(&self, parts: &[CallNodeId]) -> Vec<Vec<CallNodeId>> {
        let mut place: HashMap<Label, usize> = HashMap::new();
        let mut groups: Vec<Vec<CallNodeId>> = Vec::new();
        for &child in parts.iter().flat_map(|&parent| self.children(parent)) {
            let at = *place.entry(CallTree::label(self, child)).or_insert(groups.len());
            if at == groups.len() {
                groups.push(Vec::new());
            }
            groups[at].push(child);
        }
        groups
    }

    fn only(&mut self, parts: &[CallNodeId]) -> Option<CallNodeId> {
        parts.first().copied().filter(|_| parts.len() == 1)
    }
}

/// Lays out the part of a tree below `window.root`.
pub fn layout(
    profile: &Profile,
    symbols: &Symbols,
    source: impl Source,
    window: &Window,
) -> FlameGraph {
    let boxes = Boxes::new(profile, symbols, window.search.as_ref());
    let total = source.tree().total(window.root).weight as f64;
    let mut layout = Layout { source, window, boxes };
    if total > 0.0 && window.width > 0.0 {
        layout.rows(window.width / total);
    }
    layout.boxes.finish()
}

struct Layout<'a, S: Source> {
    source: S,
    window: &'a Window,
    boxes: Boxes<'a>,
}

/// A box of a row, by its left edge in pixels.
enum Placed<P> {
    /// One call node, or several that are drawn as one.
    Calls { calls: Calls<P>, start: f64 },
    /// The narrow children of one box.
    Folded { start: f64, folded: Folded },
}

/// What a box stands for.
enum Calls<P> {
    One(CallNodeId),
    /// Unnamed siblings of one DSO, or calls of one function from those. Never fewer than two.
    Several(Vec<P>),
}

/// Calls too narrow for boxes of their own.
#[derive(Clone, Copy, Default)]
struct Folded {
    weight: u64,
    self_weight: u64,
    count: u32,
}

/// The boxes below one box, while they are being found.
struct Below<P> {
    boxes: Vec<(Calls<P>, u64, CallNodeId)>,
    /// Unnamed calls that share a box, by DSO.
    unnamed: HashMap<DsoId, Vec<P>>,
    folded: Folded,
}

impl<S: Source> Layout<'_, S> {
    /// Row by row: the boxes of one are the children of those above.
    fn rows(&mut self, scale: f64) {
        let mut row = vec![Placed::Calls { calls: Calls::One(self.window.root), start: 0.0 }];
        while !row.is_empty() {
            self.boxes.begin_row();
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
    fn children(
        &mut self,
        calls: &Calls<S::Part>,
        start: f64,
        scale: f64,
        row: &mut Vec<Placed<S::Part>>,
    ) {
        let (boxes, unnamed) = (Vec::new(), HashMap::new());
        let mut below = Below { boxes, unnamed, folded: Folded::default() };
        match calls {
            Calls::One(id) => {
                self.source.open(*id);
                for &child in self.source.tree().children(*id) {
                    self.put_one(&mut below, child, scale);
                }
            }
            Calls::Several(parts) => {
                for parts in self.source.below(parts) {
                    self.put_several(&mut below, parts, scale);
                }
            }
        }
        for (_, parts) in std::mem::take(&mut below.unnamed) {
            self.put_box(&mut below, parts, scale);
        }
        let Below { mut boxes, folded, .. } = below;
        // Ranks break ties, since a hash table has no order.
        boxes.sort_by_key(|(_, weight, rank)| (std::cmp::Reverse(*weight), *rank));
        let mut start = start;
        for (calls, weight, _) in boxes {
            row.push(Placed::Calls { calls, start });
            start += weight as f64 * scale;
        }
        if folded.weight > 0 && folded.weight as f64 * scale >= self.window.min_width {
            row.push(Placed::Folded { start, folded });
        }
    }

    /// Gives a call node a box, or a part of one.
    fn put_one(&self, below: &mut Below<S::Part>, id: CallNodeId, scale: f64) {
        let tree = self.source.tree();
        let weight = tree.total(id).weight;
        match self.shared(tree.label(id), weight, scale) {
            Some(dso) => self.source.add_parts(id, below.unnamed.entry(dso).or_default()),
            None if weight as f64 * scale >= self.window.min_width => {
                below.boxes.push((Calls::One(id), weight, id));
            }
            None => below.folded.add((weight, tree.self_sum(id).weight), 1),
        }
    }

    /// The same for calls of one label.
    fn put_several(&mut self, below: &mut Below<S::Part>, parts: Vec<S::Part>, scale: f64) {
        let weight = self.source.sums(&parts).0;
        match self.shared(self.source.label(parts[0]), weight, scale) {
            Some(dso) => below.unnamed.entry(dso).or_default().extend(parts),
            None => self.put_box(below, parts, scale),
        }
    }

    /// A box, unless it would be too narrow.
    fn put_box(&mut self, below: &mut Below<S::Part>, parts: Vec<S::Part>, scale: f64) {
        let (weight, own) = self.source.sums(&parts);
        if (weight as f64 * scale) < self.window.min_width {
            below.folded.add((weight, own), self.source.count(&parts));
            return;
        }
        let rank = self.source.rank(parts[0]);
        let calls = self.source.only(&parts).map_or_else(|| Calls::Several(parts), Calls::One);
        below.boxes.push((calls, weight, rank));
    }

    /// The DSO with whose other calls one shares a box: of code without a name that is narrow.
    fn shared(&self, label: Label, weight: u64, scale: f64) -> Option<DsoId> {
        let is_narrow = (weight as f64 * scale) < MIN_UNNAMED_WIDTH;
        let dso = self.boxes.labels.dso(label)?;
        let is_unnamed = self.boxes.labels.kind(label) == Kind::Unnamed;
        let is_shared = is_narrow || self.window.unnamed == Unnamed::OnePerDso;
        (is_unnamed && is_shared).then_some(dso)
    }

    fn push(&mut self, calls: &Calls<S::Part>, start: f64, scale: f64) {
        let edges = |weight: u64| Edges { start, end: start + weight as f64 * scale };
        let parts = match calls {
            Calls::One(id) => {
                let tree = self.source.tree();
                let (total, own) = (tree.total(*id).weight, tree.self_sum(*id).weight);
                let weights = Weights { total: total as f64, own: own as f64 };
                self.boxes.push_call(*id, tree.label(*id), edges(total), weights);
                return;
            }
            Calls::Several(parts) => parts,
        };
        let label = self.source.label(parts[0]);
        let (total, own) = self.source.sums(parts);
        let edges = edges(total);
        let several = self.source.count(parts);
        let labels = parts.iter().map(|&part| self.source.label(part));
        let found = labels.clone().fold(0, |found, label| found | self.boxes.found(label));
        let is_one_function = labels.into_iter().all(|each| each == label);
        let text = match is_one_function {
            true => self.boxes.label(label, edges.width()),
            // "libcrypto.so.3, 14 addresses"
            false => self.boxes.text(edges.width(), |labels| {
                format!("{}, {several} addresses", labels.dso_name(label))
            }),
        };
        let function = label.function().filter(|_| is_one_function);
        let drawn = Drawn { call_node: NONE, several, label, function, text, found };
        self.boxes.push(&drawn, edges, Weights { total: total as f64, own: own as f64 });
    }

    fn push_folded(&mut self, start: f64, scale: f64, folded: Folded) {
        let (total, own) = (folded.weight as f64, folded.self_weight as f64);
        let edges = Edges { start, end: start + total * scale };
        self.boxes.push_folded(folded.count, edges, Weights { total, own });
    }
}

impl Folded {
    fn add(&mut self, (weight, own): (u64, u64), count: u32) {
        self.weight = self.weight.saturating_add(weight);
        self.self_weight = self.self_weight.saturating_add(own);
        self.count += count;
    }
}
