//! `perftab report -b`, `--total-cycles` and `--blocks`: the branches that the CPU recorded.
//!
//! They are no part of a profile, so the recording is read once more.

use std::io::{self, Write};

use anyhow::bail;
use perftab_core::session::{
    BranchCell, BranchTable, CodeName, FunctionBlocks, Session, ShownBlock, TimedRuns,
};
use perftab_core::{BranchDetail, BranchKey, BranchSums, NamingDepth, Query};
use serde::Serialize;

use super::rows::Columns;
use super::{FORCED, file_name};
use crate::cli::{ReportArgs, SortKey};
use crate::commands::{event_number, filter, finish_named};
use crate::images::search;
use crate::input::Input;
use crate::output::{self, Outcome, Results, grouped, percent, printable};
use crate::place_texts::assembly::Instructions;
use crate::recording::Recording;

/// What a link has not of what is printed here.
const LACKS: &str = "branches";
/// What rows are told apart by if nothing is said.
const USUAL_KEYS: [BranchKey; 4] =
    [BranchKey::DsoFrom, BranchKey::SymbolFrom, BranchKey::DsoTo, BranchKey::SymbolTo];

/// What is asked of the branches.
pub enum What<'a> {
    /// Branches by these keys.
    Table(Vec<BranchKey>),
    /// What ran up to each branch, by cycles.
    TotalCycles,
    /// The basic blocks of the functions of this name.
    Blocks(&'a str),
}

impl<'a> What<'a> {
    /// `None` if nothing is.
    pub fn of(args: &'a ReportArgs) -> anyhow::Result<Option<Self>> {
        if let Some(name) = &args.blocks {
            return Ok(Some(Self::Blocks(name)));
        }
        if args.total_cycles {
            return Ok(Some(Self::TotalCycles));
        }
        if !args.branch_stack {
            return Ok(None);
        }
        if args.sort == [SortKey::Own] {
            return Ok(Some(Self::Table(USUAL_KEYS.to_vec())));
        }
        let keys: Option<Vec<BranchKey>> = args.sort.iter().map(|&key| branch_key(key)).collect();
        match keys {
            Some(keys) => Ok(Some(Self::Table(keys))),
            None => bail!(
                "-b sorts by symbol_from, symbol_to, dso_from, dso_to, mispredict, cycles, in_tx and abort"
            ),
        }
    }
}

/// Says of a key of branches that branches are to be asked for.
pub fn refuse(key: SortKey) -> anyhow::Result<()> {
    match branch_key(key) {
        Some(key) => bail!("--sort {} counts branches: add -b", key.name()),
        None => Ok(()),
    }
}

fn branch_key(key: SortKey) -> Option<BranchKey> {
    Some(match key {
        SortKey::SymbolFrom => BranchKey::SymbolFrom,
        SortKey::SymbolTo => BranchKey::SymbolTo,
        SortKey::DsoFrom => BranchKey::DsoFrom,
        SortKey::DsoTo => BranchKey::DsoTo,
        SortKey::Mispredict => BranchKey::Mispredict,
        SortKey::Cycles => BranchKey::Cycles,
        SortKey::InTransaction => BranchKey::InTransaction,
        SortKey::Abort => BranchKey::Abort,
        _ => return None,
    })
}

/// Everything that `--json` prints.
#[derive(Serialize)]
struct Json<'a, T> {
    event: &'a str,
    #[serde(flatten)]
    answer: &'a T,
}

/// The same of `--blocks`.
#[derive(Serialize)]
struct BlocksJson {
    functions: Vec<FunctionBlocks>,
}

/// Reads a recording that may have branches, and what of it is asked.
pub fn begin(args: &ReportArgs) -> anyhow::Result<(Recording, Session, Query)> {
    let filters = &args.filters;
    let of_stacks = [&filters.drop, &filters.merge, &filters.search];
    if filters.focus.is_some() || of_stacks.iter().any(|names| !names.is_empty()) {
        bail!("--focus, --drop, --merge and --search are of stacks, and do not apply to branches");
    }
    let recording = Input::open(args.input.path())?.into_recording(LACKS)?;
    let session = recording.read(args.images.images.this_machine())?;
    let event = event_number(&session, args.event.as_deref())?;
    let mut query = Query { event, ..Query::default() };
    filter::apply(filters, &session, &mut query)?;
    Ok((recording, session, query))
}

/// Prints what is asked of the branches of one event.
pub fn run(args: &ReportArgs, what: What<'_>) -> anyhow::Result<Outcome> {
    let (recording, mut session, query) = begin(args)?;
    session.set_naming_depth(NamingDepth::Functions);
    let detail = match &what {
        What::Table(keys) if keys.contains(&BranchKey::Cycles) => BranchDetail::EndsAndCycles,
        What::Table(_) => BranchDetail::Ends,
        What::TotalCycles | What::Blocks(_) => BranchDetail::Runs,
    };
    let sums = recording.read_branches(&mut session, Some(&query), detail)?;
    search::name_frames(&mut session, Some(&recording), &args.images)?;
    let mut printer = Printer::new(&session, query.event, args);
    let limit = args.limit.unwrap_or(usize::MAX);
    match what {
        What::Table(keys) => printer.table(&session.branch_table(&sums, &keys, limit))?,
        What::TotalCycles => printer.timed_runs(&session.timed_runs(&sums, limit))?,
        What::Blocks(function) => printer.blocks(blocks(&session, &sums, function)?)?,
    }
    printer.results.flush()?;
    Ok(finish_named(&session))
}

/// Prints answers as text or JSON.
pub struct Printer {
    event: String,
    pub results: Results,
    pub as_json: bool,
}

impl Printer {
    /// What is asked of an event.
    pub fn new(session: &Session, event: u32, args: &ReportArgs) -> Self {
        let event = session.profile().event(event).map_or("", |event| event.name.as_str());
        Self { event: event.to_owned(), results: Results::new(), as_json: args.json }
    }

    /// Prints an answer as JSON.
    pub fn json<T: Serialize>(&mut self, answer: &T) -> io::Result<()> {
        let json = Json { event: &self.event, answer };
        serde_json::to_writer(&mut self.results, &json).map_err(io::Error::from)?;
        writeln!(self.results)
    }

    /// The first line, marked as `perf report` marks it.
    pub fn head(&mut self, what: &str, samples: u64) -> io::Result<()> {
        let samples = output::counted(samples, "sample", "samples");
        writeln!(self.results, "# {}: {what} of {samples}\n#", printable(&self.event))
    }

    fn table(&mut self, table: &BranchTable) -> io::Result<()> {
        if self.as_json {
            return self.json(table);
        }
        self.head(&output::counted(table.branches, "branch", "branches"), table.samples)?;
        let titles = table.keys.iter().map(|&key| title(key)).collect();
        let texts = |row: &_| texts(row);
        let columns = Columns::new(titles, table.rows.iter().map(texts));
        writeln!(self.results, "#Branches   {}", columns.titles())?;
        for (row, texts) in table.rows.iter().zip(columns.rows()) {
            let share = percent(row.branches as f64, table.branches as f64);
            writeln!(self.results, "{share:>9}   {texts}")?;
        }
        Ok(())
    }

    fn timed_runs(&mut self, runs: &TimedRuns) -> io::Result<()> {
        if self.as_json {
            return self.json(runs);
        }
        if runs.without_runs > 0 {
            let samples = output::counted(runs.without_runs, "sample has", "samples have");
            writeln!(
                self.results,
                "# {samples} only some kinds of branches, so that nothing is known between them"
            )?;
        }
        self.head(&output::counted(runs.cycles, "cycle", "cycles"), runs.samples)?;
        let titles = vec!["Cycles", "Times", "Avg Cycles", "Block range", "Function", "DSO"];
        let rows = runs.rows.iter().map(|row| {
            let hex = |address: Option<u64>| address.map_or("…".into(), |it| format!("{it:#x}"));
            vec![
                grouped(row.cycles),
                grouped(row.times),
                grouped(row.cycles / row.times.max(1)),
                format!("{} -> {}", hex(row.start), hex(row.branch)),
                code(&row.function),
                file_name(&row.dso).to_owned(),
            ]
        });
        let columns = Columns::new(titles, rows);
        writeln!(self.results, "#Cycles%   {}", columns.titles())?;
        for (row, texts) in runs.rows.iter().zip(columns.rows()) {
            let share = percent(row.cycles as f64, runs.cycles as f64);
            writeln!(self.results, "{share:>8}   {texts}")?;
        }
        Ok(())
    }

    fn blocks(&mut self, functions: Vec<FunctionBlocks>) -> io::Result<()> {
        if self.as_json {
            return self.json(&BlocksJson { functions });
        }
        for function in &functions {
            let (name, dso) = (code(&function.function), file_name(&function.dso));
            let count = function.blocks.len() as u64;
            let count = output::counted(count, "basic block", "basic blocks");
            writeln!(self.results, "# {}: {name} in {dso}, {count}", printable(&self.event))?;
            if function.left_out > 0 {
                let times = output::counted(function.left_out, "time", "times");
                writeln!(
                    self.results,
                    "# {times} code of it and of another function ran in a line: left out"
                )?;
            }
            let titles = [
                "Start",
                "Branch",
                "Instructions",
                "Executions",
                "Taken",
                "Mispredicted",
                "Avg Cycles",
            ];
            let rows = function.blocks.iter().map(block_texts);
            let columns = Columns::new(titles.to_vec(), rows);
            writeln!(self.results, "#\n# {}", columns.titles())?;
            for texts in columns.rows() {
                writeln!(self.results, "  {texts}")?;
            }
        }
        Ok(())
    }
}

/// The blocks of the functions of this name, with their instructions where the code is at hand.
fn blocks(session: &Session, sums: &BranchSums, name: &str) -> anyhow::Result<Vec<FunctionBlocks>> {
    let meant = filter::functions(session, name)?;
    let mut functions: Vec<FunctionBlocks> =
        meant.iter().flat_map(|function| session.blocks(sums, function)).collect();
    if functions.is_empty() {
        bail!("no branch that was recorded is in {name}");
    }
    for function in &mut functions {
        let mut instructions = None;
        for block in &mut function.blocks {
            refine(session, function.dso_id, &mut instructions, block);
        }
        // The rest of a branch, and then a target.
        function.blocks.retain(|block| block.instructions != Some(0));
    }
    Ok(functions)
}

/// Counts the instructions of a block, and moves its start to one.
fn refine(
    session: &Session,
    dso: perftab_core::DsoId,
    instructions: &mut Option<Instructions>,
    block: &mut ShownBlock,
) {
    if !instructions.as_ref().is_some_and(|it| it.has(dso, block.start)) {
        *instructions = Instructions::at(session, dso, block.start);
    }
    let Some(instructions) = instructions else { return };
    let (first, end) = (instructions.number(block.start), instructions.number(block.end));
    if block.is_behind_branch
        && let Some(start) = instructions.address(first)
    {
        block.start = start;
    }
    block.instructions = end.checked_sub(first).map(|count| count as u64);
}

fn block_texts(block: &ShownBlock) -> Vec<String> {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let of_branch = |count: u64| or_none(block.branch.map(|_| grouped(count)));
    let cycles =
        (block.timed > 0).then(|| format!("{:.1}", block.cycles as f64 / block.timed as f64));
    vec![
        format!("{:#x}", block.start),
        or_none(block.branch.map(|address| format!("{address:#x}"))),
        or_none(block.instructions.map(grouped)),
        grouped(block.executions),
        of_branch(block.taken),
        of_branch(block.mispredicted),
        or_none(cycles),
    ]
}

fn title(key: BranchKey) -> &'static str {
    match key {
        BranchKey::SymbolFrom => "Source Symbol",
        BranchKey::SymbolTo => "Target Symbol",
        BranchKey::DsoFrom => "Source DSO",
        BranchKey::DsoTo => "Target DSO",
        BranchKey::Mispredict => "Branch Mispredicted",
        BranchKey::Cycles => "Basic Block Cycles",
        BranchKey::InTransaction => "Branch in transaction",
        BranchKey::Abort => "Transaction abort",
    }
}

/// The letters are those of `perf report`.
fn texts(row: &perftab_core::session::BranchTableRow) -> Vec<String> {
    let text = |(key, cell): &(BranchKey, BranchCell)| match (key, cell) {
        (_, BranchCell::Code(name)) => code(name),
        (_, BranchCell::Dso(path)) => file_name(path).to_owned(),
        (_, BranchCell::Cycles(cycles)) => cycles.to_string(),
        (BranchKey::InTransaction, BranchCell::Is(true)) => "T".to_owned(),
        (BranchKey::Abort, BranchCell::Is(true)) => "A".to_owned(),
        (BranchKey::InTransaction | BranchKey::Abort, _) => ".".to_owned(),
        (_, BranchCell::Is(true)) => "Y".to_owned(),
        (_, BranchCell::Is(false)) => "N".to_owned(),
        (BranchKey::Mispredict, BranchCell::Nothing) => "N/A".to_owned(),
        (BranchKey::Cycles, BranchCell::Nothing) => "-".to_owned(),
        (_, BranchCell::Nothing) => "[no mapping]".to_owned(),
    };
    row.cells.iter().map(text).collect()
}

/// A name, or the address of what has none.
pub fn code(CodeName { name, address, forced }: &CodeName) -> String {
    let forced = if *forced { FORCED } else { "" };
    match name {
        Some(name) => format!("{forced}{name}"),
        None => format!("{:#x}", address.unwrap_or_default()),
    }
}
