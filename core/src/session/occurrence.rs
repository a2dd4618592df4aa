//! Who ran what is selected, and when: [`perftab_views::occurrence`] for hosts.

use std::sync::Arc;

use perftab_perfdata::slice::Work;
use perftab_views::occurrence::{Occurrence, ResolvedSubject, Subject, occurrence};
use perftab_views::{Direction, Query};
use serde::Deserialize;

use crate::session::Session;

/// What is asked of a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct OccurrenceRequest {
    /// What is selected.
    pub subject: Subject,
    /// How many bins of time.
    pub bins: u32,
}

impl Session {
    /// Who ran something, and when; `None` where there is no such call node or function. Filters and steps of
    /// the query apply; the tree around a function is not looked at.
    pub(super) fn occurrence(
        &mut self,
        query: &Query,
        request: OccurrenceRequest,
    ) -> Option<Work<Occurrence>> {
        let shown = Query { around: None, ..query.clone() };
        let meant = self.meant(&shown, request.subject)?;
        let query = Query { direction: Direction::Callees, ..shown };
        let (_, _, tree, _) = self.parts_and_ends(&query);
        let meant = meant.ends(tree);
        let (_, ends) = self.trees.with_ends(&query)?;
        let profile = Arc::clone(&self.profile);
        Some(Work::new(async move |slice| {
            occurrence(&profile, &query, &ends, &meant, request.bins, &slice).await
        }))
    }

    fn meant(&mut self, query: &Query, subject: Subject) -> Option<ResolvedSubject> {
        match subject {
            Subject::Function(function) => {
                self.symbols.function_of_number(function).map(ResolvedSubject::Function)
            }
            Subject::CallNode(call_node) => {
                let tree = self.tree(query);
                Some(ResolvedSubject::call_node(tree, query.direction, tree.id(call_node)?))
            }
        }
    }
}
