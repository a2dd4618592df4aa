//! Graphs of one range after the other, as they are asked for while a range is dragged.

use crate::profile::Profile;
use crate::session::Session;
use crate::session::times::ScanStep;
use crate::symbolize::Symbols;
use crate::views::Query;
use crate::views::build::Built;
use crate::views::placed::{Placed, PlacedBy, Placement, Placing};

/// What makes trees of ranges quick, for one query without its range at a time.
#[derive(Default)]
pub(super) enum Ranges {
    /// Nobody asked.
    #[default]
    Unasked,
    /// Samples are being placed.
    Placing(Placing),
    /// They are.
    Placed(Placed),
    /// They cannot be: trees of ranges are built as all others.
    TooMany(PlacedBy),
}

impl Ranges {
    /// The tree of a query's range, if samples are placed for it.
    pub(super) fn build(
        &mut self,
        profile: &Profile,
        symbols: &Symbols,
        query: &Query,
    ) -> Option<Built> {
        match self {
            Self::Placed(placed)
                if query.range.is_some() && *placed.by() == PlacedBy::of(query) =>
            {
                Some(placed.build(profile, symbols, query))
            }
            _ => None,
        }
    }
}

impl Session {
    /// Makes graphs of a query's ranges quick, whatever range it has now: goes through about so many
    /// rows of samples more, until there are none left. Whoever stops in between can go on later, as
    /// long as neither names nor filters have changed; else it begins anew.
    pub fn place_samples(&mut self, query: &Query, rows: usize) -> ScanStep<()> {
        let by = PlacedBy::of(query);
        let placing = match std::mem::take(&mut self.ranges) {
            Ranges::Placing(placing) if *placing.by() == by => placing,
            Ranges::Placed(placed) if *placed.by() == by => {
                self.ranges = Ranges::Placed(placed);
                return ScanStep::Done(());
            }
            Ranges::TooMany(known) if known == by => {
                self.ranges = Ranges::TooMany(known);
                return ScanStep::Done(());
            }
            _ => Placing::new(&self.profile, query),
        };
        let total = self.profile.samples.len();
        self.ranges = match placing.step(&self.profile, &self.symbols, rows) {
            Placement::More(placing) => {
                let done = placing.rows_done();
                self.ranges = Ranges::Placing(placing);
                return ScanStep::More { done, total };
            }
            Placement::Done(placed) => Ranges::Placed(placed),
            Placement::TooMany => Ranges::TooMany(by),
        };
        ScanStep::Done(())
    }

    /// Where a call node of a query is when it has another range: the end of its path, as far as
    /// samples pass through there.
    pub fn call_node_in_range(&mut self, query: &Query, call_node: u32, ranged: &Query) -> u32 {
        let tree = self.tree(query);
        let Some(id) = tree.id(call_node) else { return 0 };
        let labels: Vec<_> = tree.path(id).into_iter().skip(1).map(|id| tree.label(id)).collect();
        let tree = self.tree(ranged);
        let mut at = crate::views::call_tree::CallNodeId::ROOT;
        for label in labels {
            match tree.children(at).iter().find(|&&child| tree.label(child) == label) {
                Some(&child) => at = child,
                None => break,
            }
        }
        at.0
    }
}
