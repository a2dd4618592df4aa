//! What `perftab report` is asked for: what rows are, how they are ordered, and which columns are printed.

use std::num::NonZeroU64;

use anyhow::bail;
use perftab_core::{
    AccessKey, AccessPart, FunctionKey, FunctionOrder, Key, Measure, SortDirection,
};

use super::branches;
use super::rows::Column;
use crate::cli::{ReportArgs, ReportField, ReportFields, SortKey, TopArgs};

/// What rows are and how they are ordered.
pub struct Sort {
    /// Empty: a row is a function.
    pub rows: Vec<Key>,
    pub order: FunctionOrder,
    pub measure: Measure,
    /// Those of `--fields`.
    pub columns: Option<Vec<Column>>,
    /// Columns of numbers beside the shares.
    pub more: Vec<Column>,
}

/// Rows of `--mem-mode`, as perf has them by default.
const OF_ACCESSES: [Key; 10] = [
    Key::Access(AccessKey::LocalWeight),
    Key::Access(AccessKey::Part(AccessPart::Level)),
    Key::Function,
    Key::Dso,
    Key::Access(AccessKey::Object),
    Key::Access(AccessKey::Dso),
    Key::Access(AccessKey::Part(AccessPart::Snoop)),
    Key::Access(AccessKey::Part(AccessPart::Tlb)),
    Key::Access(AccessKey::Part(AccessPart::Lock)),
    Key::Access(AccessKey::Part(AccessPart::Blocked)),
];

impl Sort {
    /// Says of keys that do not go together why.
    pub fn of(args: &ReportArgs) -> anyhow::Result<Self> {
        let default = if args.children { FunctionKey::Total } else { FunctionKey::SelfWeight };
        let (mut rows, key) = rows_and_order(&args.sort, default, args.time_quantum)?;
        let asked = [
            (args.rows.show_nr_samples, Column::Samples),
            (args.rows.show_total_period, Column::Period),
        ];
        let more: Vec<Column> = asked.into_iter().filter(|it| it.0).map(|it| it.1).collect();
        let columns = match &args.fields {
            Some(fields) => Some(columns(fields, &mut rows, args.time_quantum)?),
            // For programs, by which every text is a column.
            None if args.rows.field_separator.is_some() && !args.mem_mode => {
                if rows.is_empty() {
                    rows.extend([Key::Function, Key::Dso]);
                }
                let shares = [Column::Own, Column::Total].into_iter();
                let keys = rows.iter().map(|&key| Column::Key(key));
                Some(shares.chain(more.iter().copied()).chain(keys).collect())
            }
            None => None,
        };
        if args.inverted && !rows.is_empty() {
            bail!("--inverted works for functions only");
        }
        if args.mem_mode && args.inverted {
            bail!("--mem-mode counts no callers; leave --inverted out");
        }
        if !args.mem_mode && rows.iter().any(|key| matches!(key, Key::Access(_))) {
            bail!(
                "--sort by memory accesses needs --mem-mode, in which samples count what they cost"
            );
        }
        if args.mem_mode && rows.is_empty() {
            rows.extend(OF_ACCESSES);
        }
        // As in perf, which begins with threads.
        if args.rows.hierarchy && rows.is_empty() {
            rows.extend([Key::Comm, Key::Dso, Key::Function]);
        }
        // They choose functions, so these are seen.
        let chooses = !args.rows.symbols.symbols.is_empty() || args.rows.symbol_filter.is_some();
        let is_table = columns.is_none() && !args.rows.hierarchy && !rows.is_empty();
        if chooses && is_table && !rows.contains(&Key::Function) {
            rows.push(Key::Function);
        }
        if !args.mem_mode && !args.rows.hierarchy && columns.is_none() && are_functions(&rows) {
            rows.clear();
        }
        // As in perf, the first share orders rows; `--sort self` is there if nothing is said.
        let share = columns.iter().flatten().find(|it| matches!(it, Column::Own | Column::Total));
        let key = match (key, share) {
            (FunctionKey::SelfWeight, Some(Column::Total)) => FunctionKey::Total,
            (key, _) => key,
        };
        let direction = match key {
            FunctionKey::Name | FunctionKey::Dso => SortDirection::Ascending,
            FunctionKey::SelfWeight | FunctionKey::Total | FunctionKey::Mean => {
                SortDirection::Descending
            }
        };
        let measure = if args.mem_mode { Measure::Cost } else { Measure::Period };
        Ok(Self { rows, order: FunctionOrder { key, direction }, measure, columns, more })
    }
}

/// What `perftab top` is asked for: what rows are, none for functions, and by what they are ordered.
pub fn of_top(args: &TopArgs) -> anyhow::Result<(Vec<Key>, FunctionKey)> {
    use SortKey::{Comm, Cpu, Dso, Function, Own, Pid, Socket, Tid, Total};
    let of_top = [Own, Total, Comm, Pid, Tid, Cpu, Socket, Dso, Function];
    if !args.sort.iter().all(|key| of_top.contains(key)) {
        bail!(
            "--sort: there are comm,pid,tid,cpu,socket,dso,sym, and to order by self,total; perftab report has the others"
        );
    }
    let default = if args.children { FunctionKey::Total } else { FunctionKey::SelfWeight };
    // No time is among them.
    let (mut rows, order) = rows_and_order(&args.sort, default, NonZeroU64::MIN)?;
    if are_functions(&rows) {
        rows.clear();
    }
    if !rows.is_empty() && (args.hide_kernel || args.hide_user) {
        bail!("-K and -U hide functions: rows are such by --sort sym or sym,dso, or without it");
    }
    Ok((rows, order))
}

/// What rows are by keys, and what they are ordered by.
fn rows_and_order(
    sort: &[SortKey],
    default: FunctionKey,
    quantum: NonZeroU64,
) -> anyhow::Result<(Vec<Key>, FunctionKey)> {
    let (mut rows, mut orders) = (Vec::new(), Vec::new());
    for &key in sort {
        match key {
            SortKey::Own => orders.push(default),
            SortKey::Total => orders.push(FunctionKey::Total),
            SortKey::Name => orders.push(FunctionKey::Name),
            key => rows.extend(row_key(key, quantum)?),
        }
    }
    if orders.len() > 1 {
        bail!("--sort takes only one of self, total and name");
    }
    Ok((rows, orders.pop().unwrap_or(default)))
}

/// Whether a row by these keys is a function, which is one of its DSO in any case.
fn are_functions(rows: &[Key]) -> bool {
    rows.contains(&Key::Function) && rows.iter().all(|key| matches!(key, Key::Function | Key::Dso))
}

/// The columns that are asked for, then the other keys of rows. Adds those that are asked for to the keys.
fn columns(
    fields: &ReportFields,
    rows: &mut Vec<Key>,
    quantum: NonZeroU64,
) -> anyhow::Result<Vec<Column>> {
    let mut columns = Vec::new();
    if let ReportFields::Added(_) = fields {
        if rows.is_empty() {
            rows.extend([Key::Function, Key::Dso]);
        }
        columns.extend([Column::Own, Column::Total]);
        columns.extend(rows.iter().map(|&key| Column::Key(key)));
    }
    for field in fields.named() {
        let column = match *field {
            ReportField::Sample => Column::Samples,
            ReportField::Period => Column::Period,
            ReportField::Key(SortKey::Own) => Column::Own,
            ReportField::Key(SortKey::Total) => Column::Total,
            ReportField::Key(key) => match row_key(key, quantum)? {
                Some(key) => Column::Key(key),
                None => continue,
            },
        };
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    for column in &columns {
        if let Column::Key(key) = column
            && !rows.contains(key)
        {
            rows.push(*key);
        }
    }
    // perf has one row for all then, which says little.
    if rows.is_empty() {
        rows.extend([Key::Function, Key::Dso]);
    }
    let others = rows.iter().map(|&key| Column::Key(key)).filter(|it| !columns.contains(it));
    columns.extend(others.collect::<Vec<_>>());
    Ok(columns)
}

/// What a row is by a key; `None` if the key is an order.
fn row_key(key: SortKey, quantum: NonZeroU64) -> anyhow::Result<Option<Key>> {
    Ok(Some(match key {
        SortKey::Own | SortKey::Total | SortKey::Name => return Ok(None),
        SortKey::Comm => Key::Comm,
        SortKey::Pid => Key::Pid,
        SortKey::Tid => Key::Tid,
        SortKey::Cpu => Key::Cpu,
        SortKey::Socket => Key::Socket,
        SortKey::Time => Key::Time(quantum),
        SortKey::Dso => Key::Dso,
        SortKey::File => Key::File,
        SortKey::Line => Key::Line,
        SortKey::Function => Key::Function,
        key => match access_key(key) {
            Some(key) => Key::Access(key),
            None => {
                branches::refuse(key)?;
                return Ok(None);
            }
        },
    }))
}

fn access_key(key: SortKey) -> Option<AccessKey> {
    Some(match key {
        SortKey::LocalWeight => AccessKey::LocalWeight,
        SortKey::Weight => AccessKey::Weight,
        SortKey::Mem => AccessKey::Part(AccessPart::Level),
        SortKey::DataSymbol => AccessKey::Object,
        SortKey::DataDso => AccessKey::Dso,
        SortKey::Snoop => AccessKey::Part(AccessPart::Snoop),
        SortKey::Tlb => AccessKey::Part(AccessPart::Tlb),
        SortKey::Locked => AccessKey::Part(AccessPart::Lock),
        SortKey::Blocked => AccessKey::Part(AccessPart::Blocked),
        SortKey::PhysicalAddress => AccessKey::PhysicalAddress,
        SortKey::PageSize => AccessKey::PageSize,
        _ => return None,
    })
}
