//! Graphs of one range after the other, as they are asked for while a range is dragged.

use std::sync::Arc;

use perftab_perfdata::slice::Work;
use perftab_views::Query;
use perftab_views::call_tree::{CallNodeId, Label};
use perftab_views::filter::TimeRange;
use perftab_views::flame_graph::{self, FlameGraph};
use perftab_views::label::{Labels, OwnCode};
use perftab_views::placed::{self, PlacedSamples};
use perftab_views::weights::Sum;

use crate::session::times::ScanStep;
use crate::session::{FlameWindow, PathStep, Session, TreeDetail};

/// What makes graphs of ranges quick, for one query without its range at a time.
#[derive(Default)]
pub(super) enum Ranges {
    /// Nobody asked.
    #[default]
    Unasked,
    /// Samples are being placed.
    Placing(Box<Placing>),
    /// They are.
    Placed(Box<PlacedSamples>),
}

/// Of which query, and the work.
type Placing = (Query, Work<PlacedSamples>);

/// The graph of a range while it is dragged.
#[derive(Clone, Debug)]
pub struct RangePreview {
    /// Its boxes. Their call nodes are of no tree.
    pub graph: FlameGraph,
    /// The way from the root to the call node that fills the width, both included.
    pub path: Vec<PathStep>,
    /// Samples through that.
    pub root: Sum,
    /// All samples of the range.
    pub all: Sum,
}

impl Session {
    /// Makes previews of a query's ranges quick, whatever range it has now: makes the tree of its callees
    /// ([`placed::callees_of`], with [`TreeDetail::Ends`]) if that is not there, and goes through about so many
    /// rows of samples more, until there are none left. Whoever stops in between can go on later, as
    /// long as neither names nor filters have changed; else it begins anew.
    pub fn place_samples(&mut self, query: &Query, rows: usize) -> ScanStep<()> {
        let by = placed::key(query);
        let mut placing = match std::mem::take(&mut self.ranges) {
            Ranges::Placing(begun) if begun.0 == by => begun.1,
            Ranges::Placed(placed) if *placed.by() == by => {
                self.ranges = Ranges::Placed(placed);
                return ScanStep::Done(());
            }
            _ => {
                let callees = placed::callees_of(query);
                if let more @ ScanStep::More { .. } =
                    self.make_tree(&callees, TreeDetail::Ends, rows)
                {
                    return more;
                }
                let Some((tree, ends)) = self.trees.with_ends(&callees) else {
                    return ScanStep::More { done: 0, total: 1 };
                };
                let (profile, query) = (Arc::clone(&self.profile), query.clone());
                Work::new(async move |slice| {
                    let most = placed::MOST_CALL_NODES;
                    placed::place(&profile, &query, tree, ends, most, &slice).await
                })
            }
        };
        match ScanStep::of(&mut placing, rows) {
            ScanStep::More { done, total } => {
                self.ranges = Ranges::Placing(Box::new((by, placing)));
                ScanStep::More { done, total }
            }
            ScanStep::Done(placed) => {
                self.ranges = Ranges::Placed(placed.into());
                ScanStep::Done(())
            }
        }
    }

    /// True if [`Self::place_samples`] makes a tree first.
    pub(super) fn places_in_new_tree(&self, query: &Query) -> bool {
        let by = placed::key(query);
        let is_begun = match &self.ranges {
            Ranges::Unasked => false,
            Ranges::Placing(begun) => begun.0 == by,
            Ranges::Placed(placed) => *placed.by() == by,
        };
        !is_begun && self.trees.with_ends(&placed::callees_of(query)).is_none()
    }

    /// The graph of a query with this range instead of its own, below the call node that the window's
    /// root is in the query's tree, as far as samples pass through there. Totals are exact; what is
    /// narrow in the whole recording may be missing. `None` if samples are not placed
    /// ([`Self::place_samples`]).
    pub fn range_preview(
        &mut self,
        query: &Query,
        range: TimeRange,
        window: &FlameWindow,
    ) -> Option<RangePreview> {
        let way = match window.root {
            0 => Vec::new(),
            number => {
                let tree = self.tree(query);
                let path = tree.id(number).map_or_else(Vec::new, |id| tree.path(id));
                path.into_iter().skip(1).map(|id| tree.label(id)).collect()
            }
        };
        let ranged = Query { range: Some(range), ..query.clone() };
        let (profile, symbols) = (&self.profile, &self.symbols);
        let Ranges::Placed(placed) = &mut self.ranges else { return None };
        if *placed.by() != placed::key(query) {
            return None;
        }
        let tree = placed.tree(profile, symbols, &ranged);
        let child = |at: CallNodeId, label: &Label| {
            tree.children(at).iter().copied().find(|&child| tree.label(child) == *label)
        };
        let (mut path, mut root) = (vec![CallNodeId::ROOT], CallNodeId::ROOT);
        for label in &way {
            let Some(next) = child(root, label) else { break };
            path.push(next);
            root = next;
        }
        let labels = Labels::new(profile, symbols);
        let step = |&id: &CallNodeId| {
            let label = tree.label(id);
            PathStep { call_node: id.0, name: labels.text_alone(label), flags: labels.marks(label) }
        };
        Some(RangePreview {
            path: path.iter().map(step).collect(),
            root: tree.total(root),
            all: tree.total(CallNodeId::ROOT),
            graph: flame_graph::layout(
                profile,
                symbols,
                &tree,
                &window.in_tree(root, OwnCode::of(profile, query)),
            ),
        })
    }
}
