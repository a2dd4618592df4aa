//! The time order of one thread, as the page asks for it.

use perftab_views::filter::Filter;
use perftab_views::label::OwnCode;
use perftab_views::search::Pattern;
use perftab_views::time_order::{self, TimeOrder, Window};
use perftab_views::{Direction, Query};
use serde::Deserialize;

use crate::session::Session;

/// What part of a thread's time is asked for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct TimeWindow {
    /// The thread's id (tid).
    pub thread: u32,
    /// When the left edge is, in nanoseconds since the first time of the recording.
    pub start: f64,
    /// When the right edge is.
    pub end: f64,
    /// Width in pixels.
    pub width_px: f64,
    /// Narrower boxes are folded.
    pub min_px: f64,
    /// Text that is searched for; empty for none.
    pub search: String,
}

impl Session {
    /// Boxes of one thread over time. The query's filters and steps apply; inverting changes
    /// nothing here, and the tree around a function is not looked at.
    pub fn time_order(&mut self, query: &Query, window: &TimeWindow) -> TimeOrder {
        let query = Query { direction: Direction::Callees, around: None, ..query.clone() };
        let distance = self.usual_distance(query.event);
        let (profile, symbols, tree, ends) = self.parts_and_ends(&query);
        let window = Window {
            thread: window.thread,
            // A cast saturates: what is no number, or less than 0, is 0.
            start: window.start as u64,
            end: window.end as u64,
            width: window.width_px.clamp(0.0, 100_000.0),
            min_width: window.min_px.max(0.1),
            search: Pattern::new(&window.search),
            own: OwnCode::of(profile, &query),
        };
        let filter = Filter::new(profile, &query);
        time_order::layout(profile, symbols, tree, &filter, ends, distance, &window)
    }

    /// It takes a pass over all samples, and never changes.
    pub(super) fn usual_distance(&mut self, event: u32) -> u64 {
        match self.distances.get(&event) {
            Some(&known) => known,
            None => {
                let distance = time_order::usual_distance(&self.profile, event);
                self.distances.insert(event, distance);
                distance
            }
        }
    }
}
