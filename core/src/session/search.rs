//! What a text finds, while it is looked for.

use std::sync::Arc;

use perftab_perfdata::slice::Work;
use perftab_views::call_tree::CallNodeId;
use perftab_views::column::{Float64Array, Uint8Array, Uint32Array};
use perftab_views::functions;
use perftab_views::label::{Kind, Labels, OwnCode};
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
    /// The first of these functions.
    pub listed: FoundRows,
    /// Why the text cannot be looked for, in words; null if it can.
    #[serde(serialize_with = "serialize_problem")]
    #[cfg_attr(feature = "typescript", tsify(type = "string | null"))]
    pub problem: Option<BadPattern>,
}

/// So many functions are listed by name.
pub(super) const MOST_LISTED: usize = 100;

/// Functions that a search found, heaviest first, as columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct FoundRows {
    /// Texts.
    pub names: Vec<String>,
    /// Names of DSOs; empty where there is none.
    pub dsos: Vec<String>,
    /// [`perftab_views::label::Kind`].
    pub kind: Uint8Array,
    /// Bits of [`perftab_views::label::mark`].
    #[serde(rename = "flags")]
    pub marks: Uint8Array,
    /// Part of what is shown that each is anywhere in, 0 to 1; of two profiles, of the side after.
    pub share: Float64Array,
}

impl FoundRows {
    pub(super) fn push(&mut self, name: String, dso: String, looks: (Kind, u8), share: f64) {
        let (kind, marks) = looks;
        self.names.push(name);
        self.dsos.push(dso);
        self.kind.push(kind as u8);
        self.marks.push(marks);
        self.share.push(share);
    }
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
        let profile = Arc::clone(&self.profile);
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
        let found = match self.cached_tree(query) {
            Tree::Whole(_) => found,
            Tree::Inverted(inverted) => search::in_inverted(inverted, found),
        };
        let (profile, symbols, tree) = self.parts(query);
        let all = tree.total(CallNodeId::ROOT).weight;
        let own = OwnCode::of(profile, query);
        let labels = Labels::new(profile, symbols).counting(&own);
        let mut listed = FoundRows::default();
        for &sum in found.matches.iter().take(MOST_LISTED) {
            let row = functions::row(&labels, sum);
            let share = sum.total.weight as f64 / all.max(1) as f64;
            listed.push(row.name, row.dso, (row.kind, row.marks), share);
        }
        SearchResult {
            functions: found.functions,
            samples: found.sum.samples,
            weight: found.sum.weight as f64,
            share: found.sum.weight as f64 / all.max(1) as f64,
            matches: found.matches.iter().map(|function| function.heaviest.0).collect(),
            listed,
            problem: pattern.err(),
        }
    }
}
