//! What a text finds, while it is looked for.

use perftab_views::call_tree::CallNodeId;
use perftab_views::column::Uint32Array;
use perftab_views::search::{self, BadPattern, Pattern, SearchMatches, TreeSearch};
use perftab_views::weights::Sum;
use perftab_views::{Query, serialize_weight};
use serde::{Serialize, Serializer};

use crate::session::desk::{Scan, ScanStep};
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

/// A [`SearchResult`] to be. The query's tree is made first, if it is not there.
pub struct SearchWork {
    query: Query,
    pattern: Result<Option<Pattern>, BadPattern>,
    /// Of names; if these change it begins anew.
    generation: u32,
    search: Option<Box<TreeSearch>>,
}

impl Session {
    /// Begins to look for a text; an empty one finds nothing.
    pub fn search_work(&self, query: &Query, text: &str) -> SearchWork {
        SearchWork {
            query: query.clone(),
            pattern: Pattern::parse(text),
            generation: self.generation,
            search: None,
        }
    }

    /// The same at once.
    pub fn search(&mut self, query: &Query, text: &str) -> SearchResult {
        let mut work = self.search_work(query, text);
        loop {
            if let ScanStep::Done(result) = work.step(self, usize::MAX) {
                return result;
            }
        }
    }
}

impl Scan for SearchWork {
    type Answer = SearchResult;

    fn step(&mut self, session: &mut Session, rows: usize) -> ScanStep<SearchResult> {
        let step = session.make_tree(&self.query, TreeDetail::Tree, rows);
        if let ScanStep::More { done, total } = step {
            return ScanStep::More { done, total };
        }
        if self.generation != session.generation {
            self.generation = session.generation;
            self.search = None;
        }
        let index = session.tree_index(&self.query);
        let names = (&*session.profile, &session.symbols);
        let tree = &mut session.trees.cached[index].tree;
        let Ok(Some(pattern)) = &self.pattern else {
            let nothing = SearchMatches { sum: Sum::default(), functions: 0, matches: Vec::new() };
            return ScanStep::Done(self.result(nothing, tree));
        };
        let search = self.search.get_or_insert_with(|| Box::new(TreeSearch::new(pattern.clone())));
        let callees = match tree {
            Tree::Whole(tree) => tree,
            Tree::Inverted(inverted) => inverted.callees(),
        };
        match search.step(names, callees, (rows / ROWS_OF_A_CALL_NODE).max(1)) {
            None => ScanStep::More { done: 0, total: 1 },
            Some(found) => {
                let found = match tree {
                    Tree::Whole(_) => found,
                    Tree::Inverted(inverted) => search::in_inverted(inverted, found),
                };
                ScanStep::Done(self.result(found, tree))
            }
        }
    }
}

impl SearchWork {
    fn result(&self, found: SearchMatches, tree: &Tree) -> SearchResult {
        let all = tree.get().total(CallNodeId::ROOT).weight;
        SearchResult {
            functions: found.functions,
            samples: found.sum.samples,
            weight: found.sum.weight as f64,
            share: found.sum.weight as f64 / all.max(1) as f64,
            matches: found.matches.iter().map(|id| id.0).collect(),
            problem: self.pattern.as_ref().err().cloned(),
        }
    }
}
