//! Memory accesses for the page: [`perftab_views::accesses`] for hosts.

use std::ops::Range;
use std::sync::Arc;

use perftab_perfdata::slice::Work;
use perftab_views::Query;
use perftab_views::accesses::{self, AccessGroup, AccessRow, ShownAccess};
use perftab_views::column::{Float64Array, Uint8Array, Uint32Array};
use perftab_views::functions::FunctionOrder;
use perftab_views::label::{Labels, OwnCode};
use serde::Serialize;

use crate::session::Session;

/// To add up an access takes about as long as to take so many rows of samples.
const ROWS_OF_AN_ACCESS: usize = 4;

/// Accesses of a table, as columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct AccessRows {
    /// All rows, of which these are a part.
    #[serde(rename = "totalCount")]
    pub count: u32,
    /// What the accesses of all rows cost.
    pub all_cost: f64,
    /// How many those are.
    pub all_accesses: f64,
    /// The largest of the costs, of all rows.
    pub largest_cost: f64,
    /// What a row is known by, until data gets other names.
    #[serde(rename = "functionId")]
    pub id: Uint32Array,
    /// What the accesses of each cost, at least 1 an access.
    pub cost: Float64Array,
    /// How many there are.
    pub accesses: Float64Array,
    /// What one cost; 0 if that was not recorded.
    pub mean_cost: Float64Array,
    /// [`perftab_views::label::Kind`].
    pub kind: Uint8Array,
    /// Texts.
    pub names: Vec<String>,
    /// Names of DSOs; empty for what is in none, or is one.
    pub dsos: Vec<String>,
}

/// The rows that were asked for last: a table asks for some of them at a time.
pub(super) struct KnownAccesses {
    query: Query,
    group: AccessGroup,
    order: FunctionOrder,
    rows: Vec<AccessRow>,
}

impl Session {
    /// True if rows in this order are there.
    pub(super) fn knows_accesses(
        &self,
        query: &Query,
        group: AccessGroup,
        order: FunctionOrder,
    ) -> bool {
        let is_it = |known: &KnownAccesses| {
            (known.group, known.order) == (group, order) && known.query == *query
        };
        self.data.known_rows.as_ref().is_some_and(is_it)
    }

    /// Adds up the accesses that a query takes. Objects are those that were looked up.
    pub(super) fn access_rows(
        &mut self,
        query: &Query,
        group: AccessGroup,
        order: FunctionOrder,
    ) -> Work<KnownAccesses> {
        let left = self.all_left(query);
        let (profile, query) = (Arc::clone(&self.profile), query.clone());
        let data = self.data.names.clone().unwrap_or_default();
        let work = Work::new(async move |slice| {
            let slice = slice.in_units_of(ROWS_OF_AN_ACCESS);
            let of = (&*profile, &*data, &left);
            let rows = accesses::rows(of, &query, group, order, &slice).await;
            KnownAccesses { query, group, order, rows }
        });
        // Those change together.
        self.symbols.is_read_by(&work);
        work
    }

    /// Keeps rows for whoever asks for more of them.
    pub(super) fn keep_accesses(&mut self, rows: KnownAccesses) {
        self.data.known_rows = Some(rows);
    }

    /// Those that are known at these places.
    pub(super) fn accesses_at(&self, query: &Query, places: Range<usize>) -> AccessRows {
        let all = self.data.known_rows.as_ref().map_or(&[][..], |known| &known.rows);
        let mut rows = AccessRows { count: all.len() as u32, ..AccessRows::default() };
        for row in all {
            rows.all_cost += row.sum.cost as f64;
            rows.all_accesses += row.sum.accesses as f64;
            rows.largest_cost = rows.largest_cost.max(row.sum.cost as f64);
        }
        let to = places.end.min(all.len());
        let (own, data) = (OwnCode::of(&self.profile, query), &self.data.names);
        let data = &*data.clone().unwrap_or_default();
        let labels = Labels::new(&self.profile, &self.symbols).counting(&own);
        for &AccessRow { id, subject, sum } in &all[places.start.min(to)..to] {
            let ShownAccess { name, within, kind } = subject.shown(&self.profile, data, &labels);
            rows.id.push(id);
            rows.cost.push(sum.cost as f64);
            rows.accesses.push(sum.accesses as f64);
            rows.mean_cost.push(sum.mean());
            rows.kind.push(kind as u8);
            rows.names.push(name);
            rows.dsos.push(within);
        }
        rows
    }
}
