//! The table of `perftab report --sort` with rows that are no functions.

use std::io::{self, Write};

use perftab_core::Key;
use perftab_core::session::{Breakdown, Cell};

use super::{FORCED, NAME_WIDTH, file_name};
use crate::output::{Results, percent};

/// Prints rows with their share of `weight`.
pub fn write(results: &mut Results, breakdown: &Breakdown, weight: u64) -> io::Result<()> {
    let keys = &breakdown.keys;
    let rows = &breakdown.rows;
    let texts: Vec<Vec<String>> =
        rows.iter().map(|row| row.cells.iter().map(text).collect()).collect();
    let width = |column: usize| {
        let texts = texts.iter().map(|row| row[column].chars().count());
        texts.chain([title(keys[column]).len()]).max().unwrap_or(0).min(NAME_WIDTH)
    };
    let widths: Vec<usize> = (0..keys.len()).map(width).collect();
    let titles: Vec<String> = keys.iter().map(|&key| title(key).to_owned()).collect();
    writeln!(results, "#  Self    Total   {}", line(&titles, &widths))?;
    for (row, texts) in rows.iter().zip(&texts) {
        let share = |part: u64| percent(part as f64, weight as f64);
        let (own, total) = (share(row.self_weight), share(row.total));
        writeln!(results, "{own:>7} {total:>7}   {}", line(texts, &widths))?;
    }
    Ok(())
}

fn line(texts: &[String], widths: &[usize]) -> String {
    let cells = texts.iter().zip(widths).map(|(text, &width)| format!("{text:width$}"));
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

fn title(key: Key) -> &'static str {
    match key {
        Key::Comm => "Thread",
        Key::Pid => "PID",
        Key::Tid => "TID",
        Key::Cpu => "CPU",
        Key::Dso => "DSO",
        Key::File => "Source file",
        Key::Function => "Function",
    }
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Number(_, number) => number.to_string(),
        Cell::Text(Key::Dso, path) => file_name(path).to_owned(),
        Cell::Text(_, text) => text.clone(),
        Cell::Function { name: Some(name), forced: true, .. } => format!("{FORCED}{name}"),
        Cell::Function { name: Some(name), .. } => name.clone(),
        Cell::Function { address: Some(address), .. } => format!("{address:#x}"),
        Cell::Function { .. } => "[no mapping]".to_owned(),
        Cell::Nothing(Key::Cpu) => "-".to_owned(),
        Cell::Nothing(Key::File) => "[no source file]".to_owned(),
        Cell::Nothing(_) => "[no mapping]".to_owned(),
    }
}
