//! What a query leaves of a recording, and what its parts are called.

use perftab_profile::DsoId;
use perftab_views::call_path;
use perftab_views::function_ref::{DsoRef, FunctionRef, PathPart};
use perftab_views::shown::ShownSamples;
use perftab_views::{Query, shown};

use crate::session::Session;

impl Session {
    /// What the filters and steps of a query leave, and what each takes away.
    pub fn shown(&mut self, query: &Query) -> ShownSamples {
        let all = shown::all(&self.profile, query.event);
        let index = self.tree_index(query);
        ShownSamples::new(query, all, &self.trees.cached[index].account)
    }

    /// What a function is called; `None` if there is none of this number.
    pub fn function_ref(&self, function: u32) -> Option<FunctionRef> {
        let function = self.symbols.function_of_number(function)?;
        Some(FunctionRef::of(&self.profile, &self.symbols, function))
    }

    /// What a DSO is called; `None` if there is none of this number.
    pub fn dso_ref(&self, dso: u32) -> Option<DsoRef> {
        let known = (dso as usize) < self.profile.dsos.len();
        known.then(|| DsoRef::of(self.profile.dsos.get(DsoId(dso))))
    }

    /// The way from the root to a call node, the root left out.
    pub fn call_node_path(&mut self, query: &Query, call_node: u32) -> Vec<PathPart> {
        let (profile, symbols, tree) = self.parts(query);
        let id = tree.id(call_node);
        id.map_or_else(Vec::new, |id| call_path::of(profile, symbols, tree, id, query.group))
    }
}
