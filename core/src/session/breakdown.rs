//! Samples by task, CPU, DSO, file, line and function: `perftab report --sort`.

use std::num::NonZeroU32;

use perftab_names::Provenance;
use perftab_perfdata::decode::data_source::page_size_text;
use perftab_perfdata::sorting::sort_by;
use perftab_perfdata::text::printable;
use perftab_views::breakdown::{self, Key, Measure, Observed, Row, Value};
use perftab_views::data_access::{AccessKey, AccessNames, AccessValue};
use perftab_views::filter::Filter;
use perftab_views::functions::{FunctionKey, FunctionOrder, SortDirection};
use perftab_views::hot_lines::SourceLine;
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
    /// If that is what samples count for: what all their accesses cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
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
    /// A number of a process, thread or CPU, or a cost.
    Number(Key, u64),
    /// An address of data; in JSON as hex, so that it is told from a name.
    Address(Key, u64),
    /// A name or path.
    Text(Key, String),
    /// A line of source; in JSON as `file:line`.
    Line {
        /// Path of its file.
        file: String,
        /// Counted from 1.
        line: NonZeroU32,
    },
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
    /// Breaks the samples of a query down by keys; at most `limit` rows. Data has its names after
    /// [`Self::name_data`].
    pub fn breakdown(
        &mut self,
        query: &Query,
        measure: Measure,
        keys: &[Key],
        order: FunctionOrder,
        limit: usize,
    ) -> Breakdown {
        let (direction, group) = (Direction::Callees, Group::None);
        let query = Query { direction, group, around: None, ..query.clone() };
        if keys.iter().any(|key| matches!(key, Key::Access(key) if key.is_of_place())) {
            self.look_up_data();
        }
        // Trees are made meanwhile, for which the whole session is needed.
        let data = &*self.data.names.clone().unwrap_or_default();
        let (profile, symbols, tree, ends) = self.parts_and_ends(&query);
        let filter = Filter::new(profile, &query);
        let inlines = query.inlines;
        let observed = Observed { profile, symbols, data, tree, ends, inlines };
        let rows = breakdown::rows(observed, &filter, measure, keys);
        let whole = || rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.self_sum.weight));
        let cost = (measure == Measure::Cost).then(whole);
        let mut rows: Vec<BreakdownRow> =
            rows.into_iter().map(|row| self.breakdown_row(data, keys, &row)).collect();
        sort(&mut rows, order);
        rows.truncate(limit);
        Breakdown { keys: keys.to_vec(), cost, rows }
    }

    fn breakdown_row(&self, data: &AccessNames, keys: &[Key], row: &Row) -> BreakdownRow {
        let cell = |(&key, &value): (&Key, &Value)| {
            let text = |text: &str| Cell::Text(key, printable(text).into_owned());
            match value {
                Value::Comm(name) => text(self.profile.strings.get(name)),
                Value::Pid(number) | Value::Tid(number) => Cell::Number(key, number.into()),
                Value::Cpu(number) => Cell::Number(key, number.into()),
                Value::Socket(number) => Cell::Number(key, number.into()),
                Value::Time(nanos) => Cell::Number(key, nanos),
                Value::Dso(dso) => text(&self.profile.dsos.get(dso).path),
                Value::File(file) => text(self.symbols.file(file)),
                Value::Line(SourceLine { file: Some(file), line: Some(line) }) => {
                    Cell::Line { file: printable(self.symbols.file(file)).into_owned(), line }
                }
                Value::Function(function) => {
                    let function = self.symbols.function(function);
                    let name = function.name.map(|name| printable(name).into_owned());
                    let address = name.is_none().then_some(function.address);
                    let forced = function.provenance == Provenance::Forced;
                    Cell::Function { name, address, forced }
                }
                Value::Access(value) => self.access_cell(data, key, value, row),
                Value::Line(_) | Value::Nothing => Cell::Nothing(key),
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

impl Session {
    fn access_cell(&self, data: &AccessNames, key: Key, value: AccessValue, row: &Row) -> Cell {
        let Key::Access(of) = key else { return Cell::Nothing(key) };
        let text = |text: String| Cell::Text(key, text);
        match (value, of) {
            (AccessValue::Part(source), AccessKey::Part(part)) => {
                text(source.text(part).to_string().trim_end().to_owned())
            }
            (AccessValue::Number(cost), AccessKey::Weight) => {
                Cell::Number(key, cost.saturating_mul(row.self_sum.samples))
            }
            (AccessValue::Number(size), AccessKey::PageSize) => text(page_size_text(size)),
            (AccessValue::Number(address), AccessKey::PhysicalAddress)
            | (AccessValue::Address(address), _) => Cell::Address(key, address),
            (AccessValue::Number(number), _) => Cell::Number(key, number),
            (AccessValue::Object(_, object), _) => {
                let name = printable(data.names.text(object.name));
                text(match object.offset {
                    Some(offset) => format!("{name}+{offset:#x}"),
                    None => name.into_owned(),
                })
            }
            (AccessValue::Dso(Some(dso)), _) => {
                text(printable(&self.profile.dsos.get(dso).path).into_owned())
            }
            (AccessValue::Dso(None) | AccessValue::Part(_), _) => Cell::Nothing(key),
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
                Cell::Address(key, address) => {
                    map.serialize_entry(key.name(), &format!("{address:#x}"))?;
                }
                Cell::Text(key, text) => map.serialize_entry(key.name(), text)?,
                Cell::Line { file, line } => {
                    map.serialize_entry(Key::Line.name(), &format!("{file}:{line}"))?;
                }
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
