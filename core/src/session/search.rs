//! What a text finds, while it is looked for.

use std::rc::Rc;
use std::sync::Arc;

use perftab_perfdata::slice::Work;
use perftab_views::call_tree::CallNodeId;
use perftab_views::column::Uint32Array;
use perftab_views::search::{self, BadPattern, Pattern, SearchMatches, search_in_slices};
use perftab_views::{Query, serialize_weight};
use serde::{Serialize, Serializer};

use crate::session::Session;
use crate::session::trees::{ROWS_OF_A_CALL_NODE, Tree};

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    /// Functions that match.
    pub functions: u32,
    /// Samples that have one of them on their stack.
    #[serde(serialize_with = "serialize_weight")]
    pub samples: u64,
    /// Their weight.
    pub weight: f64,
    /// Part of what is shown, 0 to 1.
    pub share: f64,
    /// Heaviest call node of each function, heaviest function first.
    pub matches: Uint32Array,
    /// Why the text cannot be looked for, in words; null if it can.
    #[serde(serialize_with = "serialize_problem")]
    #[cfg_attr(feature = "typescript", tsify(type = "string | null"))]
    pub problem: Option<BadPattern>,
}

fn serialize_problem<S: Serializer>(
    problem: &Option<BadPattern>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match problem {
        Some(problem) => serializer.collect_str(problem),
        None => serializer.serialize_none(),
    }
}

impl Session {
    /// What a text finds; an empty one finds nothing.
    pub fn search(&mut self, query: &Query, text: &str) -> SearchResult {
        let pattern = Pattern::parse(text);
        let found = self.search_work(query, &pattern).step(usize::MAX).unwrap_or_default();
        self.found(query, pattern, found)
    }

    /// Looks for a text: what [`Self::found`] is told in the end.
    pub(super) fn search_work(
        &mut self,
        query: &Query,
        pattern: &Result<Option<Pattern>, BadPattern>,
    ) -> Work<SearchMatches> {
        let Ok(Some(pattern)) = pattern.clone() else {
            return Work::new(async |_| SearchMatches::default());
        };
        let callees = match self.cached_tree(query) {
            Tree::Whole(tree) => Arc::clone(tree),
            Tree::Inverted(inverted) => Arc::clone(inverted.callees()),
        };
        let profile = Rc::clone(&self.profile);
        self.symbols.read(|symbols| {
            Work::new(async move |slice| {
                let slice = slice.in_units_of(ROWS_OF_A_CALL_NODE);
                search_in_slices(&profile, &symbols, &callees, &pattern, &slice).await
            })
        })
    }

    /// What was found in the callees of a query, in its tree.
    pub(super) fn found(
        &mut self,
        query: &Query,
        pattern: Result<Option<Pattern>, BadPattern>,
        found: SearchMatches,
    ) -> SearchResult {
        let tree = self.cached_tree(query);
        let found = match tree {
            Tree::Whole(_) => found,
            Tree::Inverted(inverted) => search::in_inverted(inverted, found),
        };
        let all = tree.get().total(CallNodeId::ROOT).weight;
        SearchResult {
            functions: found.functions,
            samples: found.sum.samples,
            weight: found.sum.weight as f64,
            share: found.sum.weight as f64 / all.max(1) as f64,
            matches: found.matches.iter().map(|id| id.0).collect(),
            problem: pattern.err(),
        }
    }
}
