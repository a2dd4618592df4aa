//! Which rows of a report are printed, and what their shares are of.

use anyhow::bail;
use perftab_core::session::{Breakdown, Cell, Report, ReportFunction};
use perftab_core::{FunctionKey, FunctionOrder, Key};
use serde_json::Value;

use crate::cli::{Percentage, RowArgs};
use crate::commands::filter;

/// The options of perf for it.
pub struct RowScope<'a> {
    args: &'a RowArgs,
    order: FunctionKey,
    /// Weight that shares are of.
    pub whole: f64,
    /// Smaller shares are not printed, in percent.
    pub least: f64,
}

impl<'a> RowScope<'a> {
    /// For rows in this order, of the samples of a report.
    pub fn new(args: &'a RowArgs, order: FunctionOrder, report: &Report<'_>) -> Self {
        let whole = match args.percentage {
            Percentage::Relative => report.weight,
            Percentage::Absolute => report.all_weight,
        };
        let least = args.percent_limit.unwrap_or(0.0);
        Self { args, order: order.key, whole: whole as f64, least }
    }

    /// Whether all rows are printed, whatever their number.
    pub fn is_everything(args: &RowArgs) -> bool {
        args.symbols.symbols.is_empty()
            && args.symbol_filter.is_none()
            && !args.hide_unresolved
            && args.percent_limit.is_none()
    }

    /// What to say where these options left no row of a report, though there are samples.
    pub fn nothing_left(args: &RowArgs) -> String {
        match &args.symbol_filter {
            _ if !args.symbols.symbols.is_empty() => {
                "no function with samples is called so: -S takes whole names, --symbol-filter a part of them"
                    .to_owned()
            }
            Some(part) => format!("no function with samples has '{part}' in its name"),
            None => "all rows are below --percent-limit, or have no name".to_owned(),
        }
    }

    /// Whether rows of a function are printed; `None` has no name.
    pub fn takes_name(&self, name: Option<&str>) -> bool {
        let RowArgs { symbols, symbol_filter, hide_unresolved, .. } = self.args;
        let has_part = match name {
            None => !hide_unresolved && symbol_filter.is_none(),
            Some(name) => symbol_filter.as_ref().is_none_or(|part| name.contains(part.as_str())),
        };
        has_part && filter::is_asked_for(symbols, || name)
    }

    /// Whether the row of a function is printed.
    pub fn takes_function(&self, function: &ReportFunction<'_>) -> bool {
        self.takes_name(function.name.as_deref())
            && self.takes_weight(function.self_weight, function.total)
    }

    /// Whether a row has weight enough, by what rows are in the order of.
    pub fn takes_weight(&self, own: u64, total: u64) -> bool {
        let weight = if self.order == FunctionKey::Total { total } else { own };
        weight as f64 >= self.least / 100.0 * self.whole
    }

    /// Whether so much of what ended somewhere is printed.
    pub fn takes_own(&self, own: u64) -> bool {
        own as f64 >= self.least / 100.0 * self.whole
    }

    /// Leaves those rows in a table that are printed.
    pub fn limit(&self, breakdown: &mut Breakdown, limit: usize) -> anyhow::Result<()> {
        self.limit_names(breakdown)?;
        breakdown.rows.retain(|row| self.takes_weight(row.self_weight, row.total));
        breakdown.rows.truncate(limit);
        Ok(())
    }

    /// Leaves those rows in a table that are of functions which are printed.
    pub fn limit_names(&self, breakdown: &mut Breakdown) -> anyhow::Result<()> {
        let is_of_functions = breakdown.keys.contains(&Key::Function);
        let RowArgs { symbols, symbol_filter, hide_unresolved, .. } = self.args;
        if !is_of_functions
            && (!symbols.symbols.is_empty() || symbol_filter.is_some() || *hide_unresolved)
        {
            bail!("rows are no functions: add sym to --sort, or use --focus NAME");
        }
        breakdown.rows.retain(|row| {
            let mut cells = row.cells.iter();
            let name = cells.find_map(|cell| match cell {
                Cell::Function { name, .. } => Some(name.as_deref()),
                _ => None,
            });
            self.takes_name(name.flatten())
        });
        Ok(())
    }

    /// The same of functions in JSON.
    pub fn limit_json(&self, json: &mut Value, limit: usize) {
        let Some(functions) = json["functions"].as_array_mut() else { return };
        functions.retain(|function| {
            let number = |key: &str| function[key].as_u64().unwrap_or_default();
            self.takes_name(function["name"].as_str())
                && self.takes_weight(number("self"), number("total"))
        });
        functions.truncate(limit);
    }
}
