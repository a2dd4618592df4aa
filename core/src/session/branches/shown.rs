//! What is told of branches: rows, runs, blocks and histories, with names.

use std::num::NonZeroU32;

use perftab_names::{FunctionId, Provenance};
use perftab_perfdata::sorting::sort_by;
use perftab_perfdata::text::printable;
use perftab_profile::{DsoId, FrameId};
use perftab_views::branches::BranchSums;
use perftab_views::branches::blocks::{self, Block, BlockEnd, BlockStart, Blocks};
use perftab_views::branches::history::{Before, History, Step, Taken};
use perftab_views::branches::rows::{self, BranchKey, BranchRow, BranchValue};
use perftab_views::function_ref::FunctionRef;
use perftab_views::weights::Sum;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::session::Session;
use crate::session::report::serialize_hex;

/// Steps of a history that are lighter than one in so many of all samples are left out.
const SHARES: u64 = 200;
/// Steps of a history behind each other.
const MOST_STEPS: usize = 256;

/// Branches by what rows are told apart by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BranchTable {
    /// What that is.
    #[serde(rename = "sort", serialize_with = "serialize_keys")]
    pub keys: Vec<BranchKey>,
    /// Branches of all rows, those beyond a limit included.
    pub branches: u64,
    /// Samples that have them.
    pub samples: u64,
    /// Most branches first.
    pub rows: Vec<BranchTableRow>,
}

/// Branches that have the same value for each key. In JSON an object with a member for each key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchTableRow {
    /// With their keys.
    pub cells: Vec<(BranchKey, BranchCell)>,
    /// How many branches there are.
    pub branches: u64,
}

/// What a row has for a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BranchCell {
    /// A function or an address.
    Code(CodeName),
    /// Path of a DSO.
    Dso(String),
    /// Cycles.
    Cycles(u16),
    /// Whether it is so.
    Is(bool),
    /// In no mapping, or not known.
    Nothing,
}

/// What code is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CodeName {
    /// Name of a function; null if there is none.
    pub name: Option<String>,
    /// Its address in its DSO, if it has no name; in JSON as hex.
    #[serde(serialize_with = "serialize_hex")]
    pub address: Option<u64>,
    /// True if the name comes from a file that does not match.
    pub forced: bool,
}

/// What ran up to each branch of which cycles are known: `perf report --total-cycles`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimedRuns {
    /// Cycles of all branches.
    pub cycles: u64,
    /// Samples that have branches.
    pub samples: u64,
    /// Those of them that recorded some kinds of branches only: what ran between these is not known.
    pub without_runs: u64,
    /// Most cycles first.
    pub rows: Vec<ShownRun>,
}

/// What ran in a line up to a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownRun {
    /// The function of the branch.
    pub function: CodeName,
    /// Path of its DSO.
    pub dso: String,
    /// The farthest that it began at in the function; null if it always began elsewhere. Addresses are those of
    /// frames: offsets in the file.
    #[serde(serialize_with = "serialize_hex")]
    pub start: Option<u64>,
    /// The branch.
    #[serde(serialize_with = "serialize_hex")]
    pub branch: Option<u64>,
    /// How often.
    pub times: u64,
    /// Cycles of all times.
    pub cycles: u64,
}

/// Samples by the functions that they ended in, and by the branches and callers before: `perf report
/// --branch-history`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BranchHistory {
    /// Samples.
    pub samples: u64,
    /// Their weight.
    pub weight: u64,
    /// Samples whose ways are cut, as all together are too many.
    pub cut: u64,
    /// Heaviest first.
    pub functions: Vec<HistoryStep>,
}

/// A function that samples ended in, or a branch or caller before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryStep {
    /// The function or caller, or where the branch is; null in no mapping.
    pub at: Option<CodePlace>,
    /// Where the branch led.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub led_to: Option<CodePlace>,
    /// Weight of the samples.
    pub weight: u64,
    /// Samples.
    pub samples: u64,
    /// How often the branch was taken, that in folded loops included; 0 of what is none.
    pub taken: u64,
    /// How often it was mispredicted, of those.
    pub mispredicted: u64,
    /// Cycles since the branch before it.
    pub cycles: u64,
    /// How often these are known.
    pub timed: u64,
    /// What came before, heaviest first, if it is no less than a two-hundredth of all.
    pub before: Vec<HistoryStep>,
}

/// A place in code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CodePlace {
    /// The function, or the address.
    #[serde(flatten)]
    pub code: CodeName,
    /// How far behind the start of the function it is, where that is known.
    pub within: Option<u64>,
    /// Path of the DSO.
    pub dso: String,
    /// Path of the source file.
    pub file: Option<String>,
    /// Line in it, from 1.
    pub line: Option<u32>,
}

/// The basic blocks of a function that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionBlocks {
    /// The function.
    pub function: CodeName,
    /// Path of its DSO.
    pub dso: String,
    /// Number of that.
    #[serde(skip)]
    pub dso_id: DsoId,
    /// By address.
    pub blocks: Vec<ShownBlock>,
    /// What ran in a line from the function into another one or back, and so is in no block.
    pub left_out: u64,
}

/// A basic block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownBlock {
    /// First address, as frames have it. If [`Self::is_behind_branch`] it lies in the branch before, whose length
    /// only the code tells.
    #[serde(serialize_with = "serialize_address")]
    pub start: u64,
    /// Whether that is so.
    #[serde(skip)]
    pub is_behind_branch: bool,
    /// Its last instruction, if it ends with a branch that was taken.
    #[serde(serialize_with = "serialize_hex")]
    pub branch: Option<u64>,
    /// First address after it; of a block that ends with a branch, one more than the address of that.
    #[serde(skip)]
    pub end: u64,
    /// Instructions, where the host has the code.
    pub instructions: Option<u64>,
    /// How often it ran.
    pub executions: u64,
    /// How often its branch was taken.
    pub taken: u64,
    /// How often it was mispredicted, of those.
    pub mispredicted: u64,
    /// Cycles from the branch before to this one, as far as they are known: with what ran in a line before the block.
    pub cycles: u64,
    /// Times that they are known of.
    pub timed: u64,
    /// The farthest that what they are known of began at, if it was in the function.
    #[serde(skip)]
    pub timed_from: Option<u64>,
}

impl Session {
    /// Branches by `keys`, most first; at most `limit` rows.
    pub fn branch_table(&self, sums: &BranchSums, keys: &[BranchKey], limit: usize) -> BranchTable {
        let rows = rows::rows(&self.profile, &self.symbols, sums, keys);
        let mut rows: Vec<_> = rows.iter().map(|row| self.branch_row(keys, row)).collect();
        sort_by(&mut rows, |a, b| {
            let cells = || a.cells.iter().map(|it| &it.1).cmp(b.cells.iter().map(|it| &it.1));
            b.branches.cmp(&a.branches).then_with(cells)
        });
        rows.truncate(limit);
        let (branches, samples) = (sums.count, sums.samples);
        BranchTable { keys: keys.to_vec(), branches, samples, rows }
    }

    fn branch_row(&self, keys: &[BranchKey], row: &BranchRow) -> BranchTableRow {
        let cell = |value: &BranchValue| match *value {
            BranchValue::Function(function) => BranchCell::Code(self.code_name(function)),
            BranchValue::Dso(dso) => BranchCell::Dso(self.dso_path(dso)),
            BranchValue::Cycles(cycles) => BranchCell::Cycles(cycles),
            BranchValue::Is(is) => BranchCell::Is(is),
            BranchValue::Nothing => BranchCell::Nothing,
        };
        let cells = keys.iter().copied().zip(row.values.iter().map(cell)).collect();
        BranchTableRow { cells, branches: row.branches }
    }

    /// What ran up to each branch, most cycles first; at most `limit` rows.
    pub fn timed_runs(&self, sums: &BranchSums, limit: usize) -> TimedRuns {
        let mut runs = blocks::timed_runs(&self.profile, &self.symbols, sums);
        runs.truncate(limit);
        let row = |run: &blocks::TimedRun| ShownRun {
            function: self.code_name(run.function),
            dso: self.dso_path(run.last.dso),
            start: run.first,
            branch: Some(run.last.address),
            times: run.timed,
            cycles: run.cycles,
        };
        TimedRuns {
            cycles: sums.cycles,
            samples: sums.samples,
            without_runs: sums.without_runs,
            rows: runs.iter().map(row).collect(),
        }
    }

    /// The basic blocks of the functions that are meant; of those that ran.
    pub fn blocks(&self, sums: &BranchSums, wanted: &FunctionRef) -> Vec<FunctionBlocks> {
        let meant = blocks::of_functions(&self.profile, &self.symbols, sums, wanted);
        let of = |&(function, ref found): &(FunctionId, Blocks)| {
            let dso_id = self.symbols.function(function).dso;
            FunctionBlocks {
                function: self.code_name(function),
                dso: self.dso_path(dso_id),
                dso_id,
                blocks: found.blocks.iter().map(shown_block).collect(),
                left_out: found.left_out,
            }
        };
        meant.iter().map(of).collect()
    }

    /// What a history tells; at most `limit` functions.
    pub fn history(&self, history: &History, limit: usize) -> BranchHistory {
        let least = history.all.weight.div_ceil(SHARES).max(1);
        let functions = history.functions(&self.symbols).into_iter().take(limit);
        BranchHistory {
            samples: history.all.samples,
            weight: history.all.weight,
            cut: history.cut,
            functions: functions.map(|step| self.history_step(history, &step, least, 1)).collect(),
        }
    }

    fn history_step(
        &self,
        history: &History,
        step: &Step,
        least: u64,
        level: usize,
    ) -> HistoryStep {
        let place = |frame: Option<FrameId>| frame.map(|frame| self.code_place(frame));
        let (at, led_to) = match step.before {
            Before::Leaf(frame) => (Some(self.whole_function(frame)), None),
            Before::Caller(frame) => (place(Some(frame)), None),
            Before::Branch(from, to) => (place(from), place(to)),
        };
        let is_heavy = |step: &Step| step.sum.weight >= least && level < MOST_STEPS;
        let before = match level < MOST_STEPS {
            true => history.before(step),
            false => Vec::new(),
        };
        let before = before.into_iter().filter(is_heavy);
        let before = before.map(|step| self.history_step(history, &step, least, level + 1));
        let Taken { times, mispredicted, cycles, timed } = step.taken;
        let Sum { weight, samples } = step.sum;
        let (taken, before) = (times, before.collect());
        HistoryStep { at, led_to, weight, samples, taken, mispredicted, cycles, timed, before }
    }

    /// The function of a frame, wherever in it that is.
    fn whole_function(&self, frame: FrameId) -> CodePlace {
        let code = self.code_name(self.symbols.merged(frame));
        let dso = self.dso_path(self.profile.frames.get(frame).dso);
        CodePlace { code, within: None, dso, file: None, line: None }
    }

    fn code_place(&self, frame: FrameId) -> CodePlace {
        let (file, line) = self.line_of(frame);
        CodePlace {
            within: self.symbol_at(self.profile.frames.get(frame)).map(|(_, within)| within),
            file,
            line,
            ..self.whole_function(frame)
        }
    }

    /// File and line of an address, in its function and not in what is inlined there; those that are known.
    pub(super) fn line_of(&self, frame: FrameId) -> (Option<String>, Option<u32>) {
        let Some(level) = self.symbols.levels(frame).last() else { return (None, None) };
        let file = level.file.map(|file| printable(self.symbols.file(file)).into_owned());
        (file, level.line.map(NonZeroU32::get))
    }

    fn code_name(&self, function: FunctionId) -> CodeName {
        let function = self.symbols.function(function);
        CodeName {
            name: function.name.map(|name| printable(name).into_owned()),
            address: function.name.is_none().then_some(function.address),
            forced: function.provenance == Provenance::Forced,
        }
    }

    fn dso_path(&self, dso: DsoId) -> String {
        printable(&self.profile.dsos.get(dso).path).into_owned()
    }
}

fn shown_block(block: &Block) -> ShownBlock {
    let (start, is_behind_branch) = match block.start {
        BlockStart::At(start) => (start, false),
        BlockStart::Behind(branch) => (branch.saturating_add(1), true),
    };
    let (branch, taken, mispredicted) = match block.end_of {
        BlockEnd::Branch { taken, mispredicted } => (Some(block.end - 1), taken, mispredicted),
        BlockEnd::Next => (None, 0, 0),
    };
    let Block { end, executions, cycles, timed, timed_from, .. } = *block;
    ShownBlock {
        start,
        is_behind_branch,
        branch,
        end,
        instructions: None,
        executions,
        taken,
        mispredicted,
        cycles,
        timed,
        timed_from,
    }
}

impl Serialize for BranchTableRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, cell) in &self.cells {
            match cell {
                BranchCell::Code(code) => map.serialize_entry(key.name(), code)?,
                BranchCell::Dso(path) => map.serialize_entry(key.name(), path)?,
                BranchCell::Cycles(cycles) => map.serialize_entry(key.name(), cycles)?,
                BranchCell::Is(is) => map.serialize_entry(key.name(), is)?,
                BranchCell::Nothing => map.serialize_entry(key.name(), &None::<()>)?,
            }
        }
        map.serialize_entry("branches", &self.branches)?;
        map.end()
    }
}

fn serialize_keys<S: Serializer>(keys: &[BranchKey], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(keys.iter().map(|key| key.name()))
}

fn serialize_address<S: Serializer>(address: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serialize_hex(&Some(*address), serializer)
}
