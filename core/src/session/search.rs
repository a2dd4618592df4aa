//! What a text finds, while it is looked for.

use std::sync::Arc;

use perftab_views::call_tree::CallNodeId;
use perftab_views::column::Uint32Array;
use perftab_views::search::{self, BadPattern, Pattern, SearchMatches, search_in_slices};
use perftab_views::{Query, serialize_weight};
use serde::{Serialize, Serializer};

use crate::session::desk::{Desk, SessionWork};
use crate::session::trees::{ROWS_OF_A_CALL_NODE, Tree};
use crate::session::{Session, TreeDetail};

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
        let (query, text) = (query.clone(), text.to_owned());
        SessionWork::new(async move |desk| desk.search(&query, &text).await).finish(self)
    }
}

impl Desk {
    /// The same. The query's tree is made first, if it is not there.
    pub async fn search(&self, query: &Query, text: &str) -> SearchResult {
        let pattern = Pattern::parse(text);
        self.make_tree(query, TreeDetail::Tree).await;
        let found = match &pattern {
            Ok(Some(pattern)) => {
                let callees = self.ask(|session| match session.cached_tree(query) {
                    Tree::Whole(tree) => Arc::clone(tree),
                    Tree::Inverted(inverted) => Arc::clone(inverted.callees()),
                });
                let (profile, symbols) = self.names();
                let slice = self.slice.in_units_of(ROWS_OF_A_CALL_NODE);
                search_in_slices(&profile, &symbols, &callees, pattern, &slice).await
            }
            _ => SearchMatches::default(),
        };
        // It may have been forgotten meanwhile.
        self.make_tree(query, TreeDetail::Tree).await;
        self.ask(|session| {
            let tree = session.cached_tree(query);
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
        })
    }
}
