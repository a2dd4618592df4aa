//! Functions with what called them, and what called that: `perftab report --inverted`.

use perftab_names::{Provenance, Symbols};
use perftab_perfdata::text::printable;
use perftab_profile::Profile;
use perftab_views::call_tree::{CallNodeId, CallTree, Label};
use perftab_views::{Direction, Group, Query};
use serde::Serialize;

use crate::session::Session;

/// Levels beyond are left out: a recording may hold stacks of any depth.
const MOST_LEVELS: usize = 512;

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
    /// each with all ways that led to it.
    pub fn callers(&mut self, query: &Query, limit: usize) -> Vec<Caller> {
        let (direction, group) = (Direction::Inverted, Group::None);
        let query = Query { direction, group, around: None, ..query.clone() };
        let leaves = self.children(&query, CallNodeId::ROOT);
        let mut wanted = leaves[..limit.min(leaves.len())].to_vec();
        for _ in 0..MOST_LEVELS {
            wanted = wanted.iter().flat_map(|&id| self.children(&query, id).to_vec()).collect();
        }
        let (profile, symbols, tree) = self.parts(&query);
        let leaves = tree.children(CallNodeId::ROOT).iter().take(limit);
        leaves.map(|&id| caller(profile, symbols, tree, id, MOST_LEVELS)).collect()
    }
}

fn caller(
    profile: &Profile,
    symbols: &Symbols,
    tree: &CallTree,
    id: CallNodeId,
    levels: usize,
) -> Caller {
    let label = tree.label(id);
    let function = label.function().map(|id| symbols.function(id));
    let name = function.and_then(|function| function.name);
    let address = function.filter(|_| name.is_none()).map(|function| function.address);
    let dso = function.map(|function| profile.dsos.get(function.dso).path.as_str());
    let total = tree.total(id);
    let below = if levels > 1 { tree.children(id) } else { &[] };
    let callers = below.iter().map(|&id| caller(profile, symbols, tree, id, levels - 1));
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
