//! Samples by task, CPU, DSO, file and function: `perftab report --sort`.

use perftab_names::Provenance;
use perftab_perfdata::sorting::sort_by;
use perftab_perfdata::text::printable;
use perftab_views::breakdown::{self, Key, Row, Value};
use perftab_views::filter::Filter;
use perftab_views::functions::{FunctionKey, FunctionOrder, SortDirection};
use perftab_views::{Direction, Group, Query};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::session::Session;

/// Rows in order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Breakdown {
    /// What rows are told apart by.
    #[serde(rename = "sort", serialize_with = "serialize_keys")]
    pub keys: Vec<Key>,
    /// Rows.
    pub rows: Vec<BreakdownRow>,
}

/// Samples that have the same value for each key. In JSON an object with a member for each key.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakdownRow {
    /// One for each key.
    pub cells: Vec<Cell>,
    /// Weight of samples that ended there.
    pub self_weight: u64,
    /// Weight of samples that were anywhere there.
    pub total: u64,
    /// Samples that ended there.
    pub self_samples: u64,
    /// Samples that were anywhere there.
    pub total_samples: u64,
}

/// What a row has for a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// A number of a process, thread or CPU.
    Number(Key, u32),
    /// A name or path.
    Text(Key, String),
    /// A function.
    Function {
        /// Its name; null if there is none.
        name: Option<String>,
        /// Its address in its DSO, if it has no name.
        address: Option<u64>,
        /// True if the name comes from a file that does not match.
        forced: bool,
    },
    /// Nothing of the kind: code in no mapping, or of no known file.
    Nothing(Key),
}

impl Session {
    /// Breaks the samples of a query down by keys; at most `limit` rows.
    pub fn breakdown(
        &mut self,
        query: &Query,
        keys: &[Key],
        order: FunctionOrder,
        limit: usize,
    ) -> Breakdown {
        let (direction, group) = (Direction::Callees, Group::None);
        let query = Query { direction, group, around: None, ..query.clone() };
        let (profile, symbols, tree, ends) = self.parts_and_ends(&query);
        let filter = Filter::new(profile, &query);
        let rows = breakdown::rows(profile, symbols, tree, &filter, ends, keys);
        let mut rows: Vec<BreakdownRow> =
            rows.into_iter().map(|row| self.breakdown_row(keys, &row)).collect();
        sort(&mut rows, order);
        rows.truncate(limit);
        Breakdown { keys: keys.to_vec(), rows }
    }

    fn breakdown_row(&self, keys: &[Key], row: &Row) -> BreakdownRow {
        let cell = |(&key, &value): (&Key, &Value)| {
            let text = |text: &str| Cell::Text(key, printable(text).into_owned());
            match value {
                Value::Comm(name) => text(self.profile.strings.get(name)),
                Value::Pid(number) | Value::Tid(number) => Cell::Number(key, number),
                Value::Cpu(number) => Cell::Number(key, number.into()),
                Value::Dso(dso) => text(&self.profile.dsos.get(dso).path),
                Value::File(file) => text(self.symbols.file(file)),
                Value::Function(function) => {
                    let function = self.symbols.function(function);
                    let name = function.name.map(|name| printable(name).into_owned());
                    let address = name.is_none().then_some(function.address);
                    let forced = function.provenance == Provenance::Forced;
                    Cell::Function { name, address, forced }
                }
                Value::Nothing => Cell::Nothing(key),
            }
        };
        BreakdownRow {
            cells: keys.iter().zip(&row.values).map(cell).collect(),
            self_weight: row.self_sum.weight,
            total: row.total.weight,
            self_samples: row.self_sum.samples,
            total_samples: row.total.samples,
        }
    }
}

/// Rows of one weight stand by their cells.
fn sort(rows: &mut [BreakdownRow], order: FunctionOrder) {
    sort_by(rows, |a, b| {
        let directed = |ordering: std::cmp::Ordering| match order.direction {
            SortDirection::Descending => ordering.reverse(),
            SortDirection::Ascending => ordering,
        };
        let weights = |row: &BreakdownRow| match order.key {
            FunctionKey::Total => (row.total, row.self_weight),
            _ => (row.self_weight, row.total),
        };
        match order.key {
            FunctionKey::Name | FunctionKey::Dso => directed(a.cells.cmp(&b.cells)),
            _ => directed(weights(a).cmp(&weights(b))).then_with(|| a.cells.cmp(&b.cells)),
        }
    });
}

impl Serialize for BreakdownRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for cell in &self.cells {
            match cell {
                Cell::Number(key, number) => map.serialize_entry(key.name(), number)?,
                Cell::Text(key, text) => map.serialize_entry(key.name(), text)?,
                Cell::Function { name, address, forced } => {
                    map.serialize_entry(Key::Function.name(), name)?;
                    let address = address.map(|address| format!("{address:x}"));
                    map.serialize_entry("address", &address)?;
                    map.serialize_entry("forced", forced)?;
                }
                Cell::Nothing(key) => map.serialize_entry(key.name(), &None::<()>)?,
            }
        }
        map.serialize_entry("self", &self.self_weight)?;
        map.serialize_entry("total", &self.total)?;
        map.serialize_entry("self_samples", &self.self_samples)?;
        map.serialize_entry("total_samples", &self.total_samples)?;
        map.end()
    }
}

fn serialize_keys<S: Serializer>(keys: &[Key], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(keys.iter().map(|key| key.name()))
}
