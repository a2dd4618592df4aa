//! A call tree laid out as boxes, for the width that is there.
//!
//! Call nodes narrower than a limit are folded into one box, so that the number of boxes is
//! bounded by the width and the depth, not by the tree. Narrow unnamed siblings of one DSO are
//! drawn as one box too, and what lies below them is drawn together. The tree itself keeps every
//! address.
//!
//! Where nothing has names, nearly every call node is a part of such a box, and laying out goes through
//! all of them, row by row.

use std::ops::Deref;

use perftab_perfdata::slice::{Slice, at_once};
use perftab_perfdata::sorting::sort_by_numbers;
use perftab_perfdata::text::counted;

use crate::boxes::{BoxContent, Boxes, Edges, Weights};
pub use crate::boxes::{FlameGraph, NONE};
use perftab_names::Symbols;
use perftab_profile::{DsoId, Profile};

use crate::call_tree::{CallNodeId, CallTree, Label};
use crate::grouping::{Grouping, SharedBox};
use crate::label::{Kind, OwnCode};
use crate::search::Pattern;

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
    /// What is coloured as own code.
    pub own: OwnCode,
}

/// A tree that is laid out: all of it is there, or it is made where it is looked at.
pub trait Source {
    /// A call node, or samples of one, that shares a box with others.
    type Part: Copy;

    /// What is there.
    fn tree(&self) -> impl Deref<Target = CallTree>;
    /// Goes on with making the children of a call node, for about so many call nodes, which it
    /// counts down; true when they are there.
    fn open(&self, id: CallNodeId, left: &mut usize) -> bool;
    /// Calls `add` with each part of a call node.
    fn for_each_part(&self, id: CallNodeId, add: &mut dyn FnMut(Self::Part));
    /// What the call node of a part stands for.
    fn label(&self, part: Self::Part) -> Label;
    /// What breaks ties.
    fn rank(&self, part: Self::Part) -> CallNodeId;
    /// What is known of a part.
    fn amount(&self, part: Self::Part) -> Amount;
    /// Calls `add` with each child of a part.
    fn for_each_below(&self, part: Self::Part, add: &mut dyn FnMut(Self::Part));
    /// Parts with the same number have the same below them, and are joined.
    fn meets_at(&self, part: Self::Part) -> Option<u32>;
    /// One part for two that meet.
    fn join(&self, one: &mut Self::Part, other: Self::Part);
    /// How many call nodes a box of some parts stands for.
    fn count(&self, amount: Amount) -> u32;
    /// The call node of some parts if they are of one alone.
    fn only(&self, parts: &[Self::Part]) -> Option<CallNodeId>;
}

/// What some parts come to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Amount {
    /// Weight of samples through them.
    pub total: u64,
    /// Weight of samples that end in them.
    pub own: u64,
    /// How many call nodes they are of.
    pub nodes: u32,
    /// How many labels these have.
    pub labels: u32,
}

impl Amount {
    /// Adds another part of the same label.
    pub(super) fn add_part(&mut self, part: Self) {
        self.total = self.total.saturating_add(part.total);
        self.own = self.own.saturating_add(part.own);
        self.nodes = self.nodes.saturating_add(part.nodes);
    }

    /// Adds what has other labels.
    pub(super) fn add(&mut self, other: Self) {
        self.add_part(other);
        self.labels = self.labels.saturating_add(other.labels);
    }
}

/// A tree that is all there.
impl Source for &CallTree {
    type Part = CallNodeId;

    fn tree(&self) -> impl Deref<Target = CallTree> {
        *self
    }

    fn open(&self, _: CallNodeId, _: &mut usize) -> bool {
        true
    }

    fn for_each_part(&self, id: CallNodeId, add: &mut dyn FnMut(CallNodeId)) {
        add(id);
    }

    fn label(&self, part: CallNodeId) -> Label {
        CallTree::label(self, part)
    }

    fn rank(&self, part: CallNodeId) -> CallNodeId {
        part
    }

    fn amount(&self, part: CallNodeId) -> Amount {
        let (total, own) = (self.total(part).weight, self.self_sum(part).weight);
        Amount { total, own, nodes: 1, labels: 1 }
    }

    fn for_each_below(&self, part: CallNodeId, add: &mut dyn FnMut(CallNodeId)) {
        self.children(part).iter().for_each(|&child| add(child));
    }

    fn meets_at(&self, _: CallNodeId) -> Option<u32> {
        None
    }

    fn join(&self, _: &mut CallNodeId, _: CallNodeId) {}

    fn count(&self, amount: Amount) -> u32 {
        amount.nodes
    }

    fn only(&self, parts: &[CallNodeId]) -> Option<CallNodeId> {
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
    at_once(async |slice| layout_in_slices(profile, symbols, source, window, slice).await)
}

/// The same in slices of call nodes. More of the tree may be opened in between.
pub async fn layout_in_slices(
    profile: &Profile,
    symbols: &Symbols,
    source: impl Source,
    window: &Window,
    slice: &Slice,
) -> FlameGraph {
    let total = source.tree().total(window.root).weight as f64;
    let boxes = Boxes::new(profile, symbols, window.search.as_ref()).counting(&window.own);
    let mut layout = Layout { source, window, scale: window.width / total, boxes };
    let mut row = Vec::new();
    if total > 0.0 && window.width > 0.0 {
        row.push(RowBox::Calls { calls: Calls::One(window.root), start: 0.0 });
    }
    while !row.is_empty() {
        layout.boxes.begin_row();
        let mut below = Vec::new();
        for row_box in row {
            slice.rest().await;
            slice.count();
            match row_box {
                RowBox::Calls { calls, start } => {
                    layout.push(&calls, start);
                    let children = layout.children(calls, slice).await;
                    layout.place(children, start, &mut below);
                }
                RowBox::Folded { start, folded } => layout.push_folded(start, folded),
            }
        }
        row = below;
    }
    layout.boxes.finish()
}

/// A box of a row, by its left edge in pixels.
enum RowBox<P> {
    /// One call node, or several that are drawn as one.
    Calls { calls: Calls<P>, start: f64 },
    /// The narrow children of one box.
    Folded { start: f64, folded: Amount },
}

/// What a box stands for.
enum Calls<P> {
    One(CallNodeId),
    /// Unnamed siblings of one DSO, or calls of one function from those. Never fewer than two.
    Several(SharedBox<P>),
}

/// The boxes below one box, while they are being found.
struct ChildBoxes<P> {
    boxes: Vec<(Calls<P>, u64, CallNodeId)>,
    /// Unnamed calls that share a box, by DSO.
    unnamed: Vec<(DsoId, SharedBox<P>)>,
    folded: Amount,
}

impl<P> ChildBoxes<P> {
    /// Those that share the box of a DSO.
    fn shared(&mut self, dso: DsoId) -> &mut SharedBox<P> {
        let known = self.unnamed.iter().position(|(known, _)| *known == dso);
        let at = known.unwrap_or_else(|| {
            self.unnamed.push((dso, SharedBox::default()));
            self.unnamed.len() - 1
        });
        &mut self.unnamed[at].1
    }
}

struct Layout<'a, S: Source> {
    source: S,
    window: &'a Window,
    scale: f64,
    boxes: Boxes<'a>,
}

impl<S: Source> Layout<'_, S> {
    /// The boxes below a box.
    async fn children(&mut self, calls: Calls<S::Part>, slice: &Slice) -> ChildBoxes<S::Part> {
        let (boxes, unnamed) = (Vec::new(), Vec::new());
        let mut below = ChildBoxes { boxes, unnamed, folded: Amount::default() };
        match calls {
            Calls::One(id) => {
                slice.until(|left| self.source.open(id, left)).await;
                let mut places = 0..self.source.tree().children(id).len();
                while let Some(part) = slice.part(&mut places).await {
                    for place in part {
                        let child = self.source.tree().children(id)[place];
                        self.put_one(&mut below, child);
                    }
                }
            }
            // Their children are put together by label, each of which has a box, or a part of one.
            Calls::Several(SharedBox { parts, .. }) => {
                let mut grouping = Grouping::default();
                let mut places = 0..parts.len();
                while let Some(part) = slice.part(&mut places).await {
                    for &part in &parts[part] {
                        grouping.add_below(&self.source, part);
                    }
                }
                drop(parts);
                let mut groups = 0..grouping.len();
                while let Some(part) = slice.part(&mut groups).await {
                    for place in part {
                        self.put_several(&mut below, grouping.take(place));
                    }
                }
            }
        }
        below
    }

    /// Children stand side by side from their parent's left edge, heaviest first.
    fn place(
        &mut self,
        mut below: ChildBoxes<S::Part>,
        start: f64,
        row: &mut Vec<RowBox<S::Part>>,
    ) {
        for (_, shared) in std::mem::take(&mut below.unnamed) {
            self.put_box(&mut below, shared);
        }
        let ChildBoxes { mut boxes, folded, .. } = below;
        // Ranks break ties: what is met first depends on how deep a tree was opened.
        sort_by_numbers(&mut boxes, |(_, weight, rank)| (!weight, rank.0.into()));
        let mut start = start;
        for (calls, weight, _) in boxes {
            row.push(RowBox::Calls { calls, start });
            start += weight as f64 * self.scale;
        }
        if folded.total > 0 && folded.total as f64 * self.scale >= self.window.min_width {
            row.push(RowBox::Folded { start, folded });
        }
    }

    /// Gives a call node a box, or a part of one.
    fn put_one(&mut self, below: &mut ChildBoxes<S::Part>, id: CallNodeId) {
        let tree = self.source.tree();
        let (label, total) = (tree.label(id), tree.total(id).weight);
        let amount = Amount { total, own: tree.self_sum(id).weight, nodes: 1, labels: 1 };
        match self.shares(label, total) {
            Some(dso) => {
                let found = self.boxes.found(label);
                let shared = below.shared(dso);
                let parts = &mut shared.parts;
                let mut nodes = 0u32;
                self.source.for_each_part(id, &mut |part| {
                    parts.push(part);
                    nodes = nodes.saturating_add(1);
                });
                shared.note(Amount { nodes, ..amount }, found);
            }
            None if total as f64 * self.scale >= self.window.min_width => {
                below.boxes.push((Calls::One(id), total, id));
            }
            None => below.folded.add(amount),
        }
    }

    /// The same for calls of one label.
    fn put_several(&mut self, below: &mut ChildBoxes<S::Part>, group: SharedBox<S::Part>) {
        let label = self.source.label(group.parts[0]);
        match self.shares(label, group.amount.total) {
            Some(dso) => {
                let found = self.boxes.found(label);
                let shared = below.shared(dso);
                shared.parts.extend(&group.parts);
                shared.note(group.amount, found);
            }
            None => self.put_box(below, group),
        }
    }

    /// A box, unless it would be too narrow.
    fn put_box(&mut self, below: &mut ChildBoxes<S::Part>, shared: SharedBox<S::Part>) {
        let amount = shared.amount;
        if (amount.total as f64 * self.scale) < self.window.min_width {
            let nodes = self.source.count(amount);
            below.folded.add(Amount { nodes, ..amount });
            return;
        }
        let rank = self.source.rank(shared.parts[0]);
        let only = self.source.only(&shared.parts);
        let calls = only.map_or_else(|| Calls::Several(shared), Calls::One);
        below.boxes.push((calls, amount.total, rank));
    }

    /// The DSO with whose other calls one shares a box: of code without a name that is narrow.
    fn shares(&self, label: Label, weight: u64) -> Option<DsoId> {
        if weight as f64 * self.scale >= MIN_UNNAMED_WIDTH {
            return None;
        }
        let dso = self.boxes.labels.dso(label)?;
        (self.boxes.labels.kind(label) == Kind::Unnamed).then_some(dso)
    }

    fn push(&mut self, calls: &Calls<S::Part>, start: f64) {
        let edges = |weight: u64| Edges { start, end: start + weight as f64 * self.scale };
        let SharedBox { parts, amount, found } = match calls {
            Calls::One(id) => {
                let tree = self.source.tree();
                let (total, own) = (tree.total(*id).weight, tree.self_sum(*id).weight);
                let weights = Weights { total: total as f64, own: own as f64 };
                self.boxes.push_call(*id, tree.label(*id), edges(total), weights);
                return;
            }
            Calls::Several(shared) => shared,
        };
        let label = self.source.label(parts[0]);
        let edges = edges(amount.total);
        let several = self.source.count(*amount);
        let is_one_function = amount.labels == 1;
        let text = match is_one_function {
            true => self.boxes.label(label, edges.width()),
            // "libcrypto.so.3, 14 addresses"
            false => self.boxes.text(edges.width(), |labels| {
                let addresses = counted(several.into(), "address", "addresses");
                format!("{}, {addresses}", labels.dso_name(label))
            }),
        };
        let found = if is_one_function { self.boxes.found(label) } else { *found };
        let function = label.function().filter(|_| is_one_function);
        let content = BoxContent { call_node: NONE, several, label, function, text, found };
        let weights = Weights { total: amount.total as f64, own: amount.own as f64 };
        self.boxes.push(&content, edges, weights);
    }

    fn push_folded(&mut self, start: f64, folded: Amount) {
        let (total, own) = (folded.total as f64, folded.own as f64);
        let edges = Edges { start, end: start + total * self.scale };
        self.boxes.push_folded(folded.nodes, edges, Weights { total, own });
    }
}
