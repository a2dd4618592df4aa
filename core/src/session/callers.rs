//! Functions with what called them, and what called that: `perftab report --inverted`.

use perftab_perfdata::map::Set;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use perftab_names::{Provenance, Symbols};
use perftab_perfdata::text::printable;
use perftab_profile::Profile;
use perftab_views::call_tree::{CallNodeId, CallTree, Label};
use perftab_views::{Direction, Group, Query};
use serde::Serialize;

use crate::session::Session;

/// Levels beyond are left out: a recording may hold stacks of any depth.
const MOST_LEVELS: usize = 512;

/// Functions, and the ways that led to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callers {
    /// Heaviest first.
    pub functions: Vec<Caller>,
    /// How much of the ways is there.
    pub extent: CallersExtent,
}

/// How much of the ways that led to functions is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallersExtent {
    /// All of them, up to 512 calls.
    Whole,
    /// Only the heaviest calls: more would have taken more memory than they may.
    Heaviest,
}

/// A function, or one of the ways that led to one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Caller {
    /// Its name; null if there is none.
    pub name: Option<String>,
    /// Its address in its DSO in hex, if there is no name.
    pub address: Option<String>,
    /// Path of its DSO; null for code in no mapping.
    pub dso: Option<String>,
    /// True if it is inlined here.
    pub inlined: bool,
    /// True if the name comes from a file that does not match.
    pub forced: bool,
    /// Weight of samples that ended in the function on this way.
    pub weight: u64,
    /// Those samples.
    pub samples: u64,
    /// What called it, heaviest first.
    pub callers: Vec<Caller>,
}

impl Session {
    /// The functions that samples of a query ended in, heaviest first and at most `limit` of them,
    /// each with the ways that led to it, which may take so many bytes: in a small file each stack can
    /// have a way of its own through hundreds of functions with long names.
    pub fn callers(&mut self, query: &Query, limit: usize, bytes: usize) -> Callers {
        let (direction, group) = (Direction::Inverted, Group::None);
        let query = Query { direction, group, around: None, ..query.clone() };
        let leaves = self.children(&query, CallNodeId::ROOT);
        let leaves = leaves[..limit.min(leaves.len())].to_vec();
        let (kept, extent) = self.heaviest(&query, &leaves, bytes);
        let (profile, symbols, tree) = self.parts(&query);
        let functions = leaves.iter().filter(|id| kept.contains(id));
        let functions = functions.map(|&id| caller(profile, symbols, tree, id, &kept)).collect();
        Callers { functions, extent }
    }

    /// Call nodes at and below some, heaviest first, as many as take so many bytes. A call node is as
    /// heavy as its children at least, so none is there without its parent.
    fn heaviest(
        &mut self,
        query: &Query,
        leaves: &[CallNodeId],
        mut bytes: usize,
    ) -> (Set<CallNodeId>, CallersExtent) {
        let mut kept = Set::new();
        let mut open: BinaryHeap<(u64, Reverse<CallNodeId>, usize)> = BinaryHeap::new();
        let add = |open: &mut BinaryHeap<_>, tree: &CallTree, ids: &[CallNodeId], level: usize| {
            open.extend(ids.iter().map(|&id| (tree.total(id).weight, Reverse(id), level)));
        };
        add(&mut open, self.tree(query), leaves, 1);
        while let Some((_, Reverse(id), level)) = open.pop() {
            let (profile, symbols, tree) = self.parts(query);
            let function = tree.label(id).function().map(|id| symbols.function(id));
            let texts = function.map_or(0, |function| {
                function.name.map_or(0, str::len) + profile.dsos.get(function.dso).path.len()
            });
            let Some(left) = bytes.checked_sub(size_of::<Caller>() + texts) else {
                return (kept, CallersExtent::Heaviest);
            };
            bytes = left;
            kept.insert(id);
            if level < MOST_LEVELS {
                let children = self.children(query, id).to_vec();
                add(&mut open, self.tree(query), &children, level + 1);
            }
        }
        (kept, CallersExtent::Whole)
    }
}

fn caller(
    profile: &Profile,
    symbols: &Symbols,
    tree: &CallTree,
    id: CallNodeId,
    kept: &Set<CallNodeId>,
) -> Caller {
    let label = tree.label(id);
    let function = label.function().map(|id| symbols.function(id));
    let name = function.and_then(|function| function.name);
    let address = function.filter(|_| name.is_none()).map(|function| function.address);
    let dso = function.map(|function| profile.dsos.get(function.dso).path.as_str());
    let total = tree.total(id);
    let below = tree.children(id).iter().filter(|id| kept.contains(id));
    let callers = below.map(|&id| caller(profile, symbols, tree, id, kept));
    Caller {
        name: name.map(|name| printable(name).into_owned()),
        address: address.map(|address| format!("{address:x}")),
        dso: dso.map(str::to_owned),
        inlined: matches!(label, Label::Inlined(_)),
        forced: function.is_some_and(|function| function.provenance == Provenance::Forced),
        weight: total.weight,
        samples: total.samples,
        callers: callers.collect(),
    }
}
