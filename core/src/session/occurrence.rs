//! Who ran what is selected, and when: [`perftab_views::occurrence`] for hosts.

use std::rc::Rc;

use perftab_views::occurrence::{Occurrence, ResolvedSubject, Subject, occurrence};
use perftab_views::{Direction, Query};
use serde::Deserialize;

use crate::session::Session;
use crate::session::desk::Desk;

/// What is asked of a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct OccurrenceRequest {
    /// What is selected.
    pub subject: Subject,
    /// How many bins of time.
    pub bins: u32,
}

impl Desk {
    /// Who ran something, and when. Filters and steps of the query apply; the tree around a function is not
    /// looked at. `None` where there is no such call node or function, or where names changed meanwhile and
    /// with them all numbers.
    pub async fn occurrence(
        &self,
        query: &Query,
        request: OccurrenceRequest,
    ) -> Option<Occurrence> {
        let shown = Query { around: None, ..query.clone() };
        let query = Query { direction: Direction::Callees, ..shown.clone() };
        let (generation, profile) =
            self.ask(|session| (session.generation, Rc::clone(&session.profile)));
        let (meant, ends) = self.ask(|session| {
            let meant = session.meant(&shown, request.subject)?;
            let (_, _, tree, _) = session.parts_and_ends(&query);
            let meant = meant.ends(tree);
            Some((meant, session.trees.with_ends(&query)?.1))
        })?;
        let found = occurrence(&profile, &query, &ends, &meant, request.bins, &self.slice).await;
        self.ask(|session| session.generation == generation).then_some(found)
    }
}

impl Session {
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
