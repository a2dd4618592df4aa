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

/// Lays out the part of `tree` below `window.root`.
pub fn layout(
    profile: &Profile,
    symbols: &Symbols,
    tree: &CallTree,
    window: &Window,
) -> FlameGraph {
    let boxes = Boxes::new(profile, symbols, window.search.as_ref());
    let mut layout = Layout { tree, window, boxes };
    let total = tree.total(window.root).weight as f64;
    if total > 0.0 && window.width > 0.0 {
        layout.rows(window.width / total);
    }
    layout.boxes.finish()
}

struct Layout<'a> {
    tree: &'a CallTree,
    window: &'a Window,
    boxes: Boxes<'a>,
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
        let dso = self.boxes.labels.dso(label)?;
        (self.boxes.labels.kind(label) == Kind::Unnamed).then_some(dso)
    }

    fn push(&mut self, calls: &Calls, start: f64, scale: f64) {
        let label = self.tree.label(calls.ids()[0]);
        let weight = self.total(calls) as f64;
        let own = calls.ids().iter().map(|&id| self.tree.self_sum(id).weight);
        let own = own.fold(0, u64::saturating_add) as f64;
        let edges = Edges { start, end: start + weight * scale };
        let weights = Weights { total: weight, own };
        let Calls::Several(ids) = calls else {
            self.boxes.push_call(calls.ids()[0], label, edges, weights);
            return;
        };
        let found = ids.iter().fold(0, |found, &id| found | self.boxes.found(self.tree.label(id)));
        let is_one_function = ids.iter().all(|&id| self.tree.label(id) == label);
        let text = match is_one_function {
            true => self.boxes.label(label, edges.width()),
            // "libcrypto.so.3, 14 addresses"
            false => self.boxes.text(edges.width(), |labels| {
                format!("{}, {} addresses", labels.dso_name(label), ids.len())
            }),
        };
        let function = label.function().filter(|_| is_one_function);
        let several = ids.len() as u32;
        let drawn = Drawn { call_node: NONE, several, label, function, text, found };
        self.boxes.push(&drawn, edges, weights);
    }

    fn push_folded(&mut self, start: f64, scale: f64, folded: Folded) {
        let (total, own) = (folded.weight as f64, folded.self_weight as f64);
        let edges = Edges { start, end: start + total * scale };
        self.boxes.push_folded(folded.count, edges, Weights { total, own });
    }
}
