//! `report --hierarchy`: rows below each other, by one key after the other, as `perf report --hierarchy` prints them.
//!
//! Shares are of what ended there: only these add up.

use std::collections::BTreeMap;
use std::io::{self, Write};

use perftab_core::session::{Breakdown, BreakdownRow, Cell};

use super::rows::{Column, text, title};
use super::scope::RowScope;
use crate::output::{Results, grouped, is_quiet, percent, printable};

/// Prints at most `limit` rows of the first key, and all that is below them.
pub fn write(
    results: &mut Results,
    breakdown: &Breakdown,
    scope: &RowScope<'_>,
    more: &[Column],
    limit: usize,
) -> io::Result<()> {
    if !is_quiet() {
        let titles: Vec<&str> = breakdown.keys.iter().map(|&key| title(key)).collect();
        let more: String = more.iter().map(|it| format!(" {:>15}", it.title())).collect();
        writeln!(results, "#  Self{more}   {}", titles.join(" / "))?;
    }
    let mut printer = Printer { results, scope, more };
    printer.write(breakdown.rows.iter().collect(), 0, limit)
}

struct Printer<'a> {
    results: &'a mut Results,
    scope: &'a RowScope<'a>,
    more: &'a [Column],
}

/// Rows with the same cell.
#[derive(Default)]
struct Sum<'a> {
    rows: Vec<&'a BreakdownRow>,
    weight: u64,
    samples: u64,
}

impl Printer<'_> {
    /// As deep as there are keys.
    fn write(&mut self, rows: Vec<&BreakdownRow>, level: usize, limit: usize) -> io::Result<()> {
        let mut sums = BTreeMap::<&Cell, Sum<'_>>::new();
        for row in rows {
            let Some(cell) = row.cells.get(level) else { return Ok(()) };
            let sum = sums.entry(cell).or_default();
            sum.weight = sum.weight.saturating_add(row.self_weight);
            sum.samples = sum.samples.saturating_add(row.self_samples);
            sum.rows.push(row);
        }
        let mut sums: Vec<(&Cell, Sum<'_>)> = sums.into_iter().collect();
        sums.retain(|(_, sum)| sum.samples > 0 && self.scope.takes_own(sum.weight));
        sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.weight));
        for (cell, sum) in sums.into_iter().take(limit) {
            let share = percent(sum.weight as f64, self.scope.whole);
            write!(self.results, "{share:>7}")?;
            for column in self.more {
                let number = match column {
                    Column::Samples => sum.samples,
                    _ => sum.weight,
                };
                write!(self.results, " {:>15}", grouped(number))?;
            }
            let name = text(cell);
            writeln!(self.results, "   {:indent$}{}", "", printable(&name), indent = 2 * level)?;
            self.write(sum.rows, level + 1, usize::MAX)?;
        }
        Ok(())
    }
}
