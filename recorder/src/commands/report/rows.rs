//! The table of `perftab report --sort` with rows that are no functions.

use std::io::{self, Write};

use perftab_core::session::{Breakdown, BreakdownRow, Cell, Report};
use perftab_core::{AccessKey, AccessPart, Key};

use super::scope::RowScope;
use super::{FORCED, NAME_WIDTH, file_name};
use crate::output::{Results, grouped, is_quiet, percent, printable};

/// Prints rows with their share of the report's weight: what ended there and what was anywhere there. What
/// accesses cost is counted where they were; how many there were, and what one cost, is printed beside it.
pub fn write(
    results: &mut Results,
    breakdown: &Breakdown,
    report: &Report<'_>,
    scope: &RowScope<'_>,
    more: &[Column],
) -> io::Result<()> {
    let keys = &breakdown.keys;
    let rows = &breakdown.rows;
    let titles = keys.iter().map(|&key| title(key)).collect();
    let texts = rows.iter().map(|row| row.cells.iter().map(text).collect());
    let columns = Columns::new(titles, texts);
    // Each counts as 1 at least.
    let means = match breakdown.cost {
        Some(cost) if cost > report.samples => Means::Shown,
        _ => Means::LeftOut,
    };
    match (breakdown.cost, means) {
        _ if is_quiet() => {}
        (None, _) => {
            let titles: String = more.iter().map(|it| format!(" {:>15}", it.title())).collect();
            writeln!(results, "#  Self    Total{titles}   {}", columns.titles())?;
        }
        (Some(_), Means::LeftOut) => {
            writeln!(results, "# No cost was recorded: shares are of accesses")?;
            writeln!(results, "#  Self  Samples   {}", columns.titles())?;
        }
        (Some(cost), Means::Shown) => {
            writeln!(results, "# Shares are of what accesses cost: {}", grouped(cost))?;
            writeln!(results, "#  Cost  Samples     Mean   {}", columns.titles())?;
        }
    }
    let whole = breakdown.cost.map_or(scope.whole, |cost| cost as f64);
    for (row, texts) in rows.iter().zip(columns.rows()) {
        let share = |part: u64| percent(part as f64, whole);
        let (own, samples) = (share(row.self_weight), grouped(row.self_samples));
        match (breakdown.cost, means) {
            (None, _) => {
                let number = |column: &Column| match column {
                    Column::Samples => grouped(row.self_samples),
                    _ => grouped(row.self_weight),
                };
                let more: String = more.iter().map(|it| format!(" {:>15}", number(it))).collect();
                writeln!(results, "{own:>7} {:>7}{more}   {texts}", share(row.total))?;
            }
            (Some(_), Means::LeftOut) => writeln!(results, "{own:>7} {samples:>8}   {texts}")?,
            (Some(_), Means::Shown) => {
                writeln!(results, "{own:>7} {samples:>8} {:>8}   {texts}", mean(row))?;
            }
        }
    }
    Ok(())
}

/// A column of `report --fields`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Share of what ended there.
    Own,
    /// Share of what was anywhere there.
    Total,
    /// Samples that ended there.
    Samples,
    /// Their weight.
    Period,
    /// What a row is.
    Key(Key),
}

impl Column {
    /// What stands above it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Own => "Self",
            Self::Total => "Total",
            Self::Samples => "Samples",
            Self::Period => "Period",
            Self::Key(key) => title(key),
        }
    }
}

/// Prints rows with these columns, with a separator between them for programs.
pub fn write_columns(
    results: &mut Results,
    breakdown: &Breakdown,
    scope: &RowScope<'_>,
    columns: &[Column],
    separator: Option<&str>,
) -> io::Result<()> {
    let share = |part: u64| match separator {
        None => percent(part as f64, scope.whole),
        Some(_) => format!("{:.2}%", part as f64 / scope.whole.max(1.0) * 100.0),
    };
    let number = |number: u64| match separator {
        None => grouped(number),
        Some(_) => number.to_string(),
    };
    let cell = |row: &BreakdownRow, column: &Column| match column {
        Column::Own => share(row.self_weight),
        Column::Total => share(row.total),
        Column::Samples => number(row.self_samples),
        Column::Period => number(row.self_weight),
        Column::Key(key) => {
            let place = breakdown.keys.iter().position(|it| it == key);
            place.and_then(|place| row.cells.get(place)).map(text).unwrap_or_default()
        }
    };
    let rows = breakdown.rows.iter().map(|row| columns.iter().map(|it| cell(row, it)).collect());
    let numbers = columns.iter().take_while(|it| !matches!(it, Column::Key(_))).count();
    let titles: Vec<&str> = columns.iter().map(|column| column.title()).collect();
    if let Some(separator) = separator {
        if !is_quiet() {
            writeln!(results, "# {}", titles.join(separator))?;
        }
        let mut rows = rows.map(|row: Vec<String>| row.join(separator));
        return rows.try_for_each(|row| writeln!(results, "{}", printable(&row)));
    }
    let columns = Columns::new(titles, rows).with_numbers(numbers);
    if !is_quiet() {
        writeln!(results, "# {}", columns.titles())?;
    }
    columns.rows().try_for_each(|row| writeln!(results, "  {row}"))
}

/// Whether the mean of what accesses cost is a column.
#[derive(Clone, Copy)]
enum Means {
    Shown,
    LeftOut,
}

/// What one access cost, as the page writes it.
fn mean(row: &BreakdownRow) -> String {
    let mean = row.self_weight as f64 / row.self_samples.max(1) as f64;
    if mean < 100.0 { format!("{mean:.1}") } else { grouped(mean.round() as u64) }
}

/// Texts in columns, each as wide as its widest text up to a limit.
pub struct Columns {
    titles: Vec<String>,
    rows: Vec<Vec<String>>,
    widths: Vec<usize>,
    /// How many of the first ones are numbers, which stand on the right.
    numbers: usize,
}

impl Columns {
    /// Each row has as many texts as there are titles.
    pub fn new(titles: Vec<&str>, rows: impl Iterator<Item = Vec<String>>) -> Self {
        let titles: Vec<String> = titles.into_iter().map(str::to_owned).collect();
        let rows: Vec<Vec<String>> = rows.collect();
        let width = |column: usize| {
            let texts = rows.iter().chain([&titles]).map(|row| row[column].chars().count());
            texts.max().unwrap_or(0).min(NAME_WIDTH)
        };
        let widths = (0..titles.len()).map(width).collect();
        Self { titles, rows, widths, numbers: 0 }
    }

    /// So many of the first ones are numbers.
    pub fn with_numbers(self, numbers: usize) -> Self {
        Self { numbers, ..self }
    }

    /// The line above the rows.
    pub fn titles(&self) -> String {
        self.line(&self.titles)
    }

    /// The rows.
    pub fn rows(&self) -> impl Iterator<Item = String> {
        self.rows.iter().map(|row| self.line(row))
    }

    fn line(&self, texts: &[String]) -> String {
        let cells = texts.iter().zip(&self.widths).enumerate();
        let cell = |(place, (text, &width)): (usize, (&String, &usize))| match place < self.numbers
        {
            true => format!("{text:>width$}"),
            false => format!("{text:width$}"),
        };
        cells.map(cell).collect::<Vec<_>>().join("  ").trim_end().to_owned()
    }
}

pub fn title(key: Key) -> &'static str {
    match key {
        Key::Comm => "Thread",
        Key::Pid => "PID",
        Key::Tid => "TID",
        Key::Cpu => "CPU",
        Key::Socket => "Socket",
        Key::Time(_) => "Time",
        Key::Dso => "DSO",
        Key::File => "Source file",
        Key::Line => "Source line",
        Key::Function => "Function",
        Key::Access(key) => access_title(key),
    }
}

/// perf's.
fn access_title(key: AccessKey) -> &'static str {
    match key {
        AccessKey::Part(AccessPart::Operation) => "Operation",
        AccessKey::Part(AccessPart::Level) => "Memory access",
        AccessKey::Part(AccessPart::Snoop) => "Snoop",
        AccessKey::Part(AccessPart::Tlb) => "TLB access",
        AccessKey::Part(AccessPart::Lock) => "Locked",
        AccessKey::Part(AccessPart::Blocked) => "Blocked",
        AccessKey::LocalWeight => "Local Weight",
        AccessKey::Weight => "Weight",
        AccessKey::Object => "Data Symbol",
        AccessKey::Dso => "Data Object",
        AccessKey::PhysicalAddress => "Data Physical Address",
        AccessKey::PageSize => "Data Page Size",
    }
}

/// A cell as it is printed.
pub fn text(cell: &Cell) -> String {
    match cell {
        Cell::Number(Key::Time(_), nanos) => {
            format!("{}.{:06}", nanos / 1_000_000_000, nanos % 1_000_000_000 / 1000)
        }
        Cell::Number(_, number) => number.to_string(),
        Cell::Address(_, address) => format!("{address:#x}"),
        Cell::Text(Key::Dso | Key::Access(AccessKey::Dso), path) => file_name(path).to_owned(),
        Cell::Text(_, text) => text.clone(),
        Cell::Line { file, line } => format!("{}:{line}", file_name(file)),
        Cell::Function { name: Some(name), forced: true, .. } => format!("{FORCED}{name}"),
        Cell::Function { name: Some(name), .. } => name.clone(),
        Cell::Function { address: Some(address), .. } => format!("{address:#x}"),
        Cell::Function { .. } => "[no mapping]".to_owned(),
        Cell::Nothing(Key::Access(_)) => "[unknown]".to_owned(),
        Cell::Nothing(Key::Cpu | Key::Socket) => "-".to_owned(),
        Cell::Nothing(Key::File) => "[no source file]".to_owned(),
        Cell::Nothing(Key::Line) => "[no source line]".to_owned(),
        Cell::Nothing(_) => "[no mapping]".to_owned(),
    }
}
