//! A call node and what is around it, in one answer: cards, panels, and what assistive technology is told
//! are made of it.

use perftab_views::Query;
use serde::Serialize;

use crate::session::{CallNodeDetail, CallTreeRows, Session};

/// A call node and what is around it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct CallNodeAround {
    /// Itself.
    pub detail: CallNodeDetail,
    /// From the root to the call node, both included.
    pub path: CallTreeRows,
    /// The nearest callees of its caller, itself among them; null for the root.
    pub siblings: Option<CallTreeRows>,
    /// Heaviest first.
    pub children: CallTreeRows,
}

impl Session {
    /// With at most so many callees, and about so many siblings; `None` if there is none with this id.
    pub fn call_node_around(
        &mut self,
        query: &Query,
        call_node: u32,
        most: usize,
    ) -> Option<CallNodeAround> {
        let detail = self.call_node_detail(query, call_node)?;
        let (place, half) = (detail.pos_in_set as usize - 1, most / 2);
        let near = place.saturating_sub(half)..place.saturating_add(half).saturating_add(1);
        let parent = detail.parent;
        Some(CallNodeAround {
            detail,
            path: self.call_tree_path(query, call_node),
            siblings: parent.map(|parent| self.call_tree_children_in(query, parent, near)),
            children: self.call_tree_children_in(query, call_node, 0..most),
        })
    }
}
