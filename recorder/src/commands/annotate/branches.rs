//! How often the instructions of a function ran, by the branches that the CPU recorded.

use perftab_core::session::{Session, ShownBlock};
use perftab_core::{BranchDetail, BranchSums, DsoId, FunctionCode, FunctionRef, Query};
use serde::Serialize;

use crate::cli::AnnotateArgs;
use crate::commands::filter;
use crate::output;
use crate::place_texts::assembly::Instructions;
use crate::recording::Recording;

/// What branches say of an instruction.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RanInstruction {
    /// How often it ran; of branches of other functions, that is not known.
    pub executions: u64,
    /// If it is a branch that was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<TakenBranch>,
}

/// What is known of a branch.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TakenBranch {
    /// How often it was taken.
    pub taken: u64,
    /// How often that was not predicted, of those.
    pub mispredicted: u64,
    /// Cycles since the branch before, on average; null if none has any.
    pub cycles: Option<f64>,
    /// Instructions per cycle of what ran up to it, as perf has it: from the farthest that it ran in a line.
    pub ipc: Option<f64>,
}

/// Reads the branches of a recording; `None` if it has none.
pub fn read(
    args: &AnnotateArgs,
    recording: Option<&Recording>,
    session: &mut Session,
    event: u32,
) -> anyhow::Result<Option<BranchSums>> {
    let Some(recording) = recording.filter(|_| session.profile().branch_stacks > 0) else {
        return Ok(None);
    };
    let mut query = Query { event, ..Query::default() };
    filter::apply_to_samples(&args.filters.samples, session, &mut query)?;
    match recording.read_branches(session, Some(&query), BranchDetail::Runs) {
        Ok(sums) => Ok(Some(sums)),
        Err(why) => {
            output::notice(format_args!("branches are left out: {why:#}"));
            Ok(None)
        }
    }
}

/// The blocks of a function in a DSO, by address.
pub fn blocks_in(
    session: &Session,
    sums: &BranchSums,
    function: &FunctionRef,
    dso: DsoId,
) -> Vec<ShownBlock> {
    let functions = session.blocks(sums, function).into_iter();
    let in_dso = functions.filter(|function| function.dso_id == dso);
    let mut blocks: Vec<ShownBlock> = in_dso.flat_map(|function| function.blocks).collect();
    blocks.sort_by_key(|block| block.start);
    blocks
}

/// What they say of each instruction of some code.
pub fn by_instruction(code: &Instructions, blocks: &[ShownBlock]) -> Vec<RanInstruction> {
    let mut ran = vec![RanInstruction::default(); code.len()];
    let FunctionCode { start, bytes, .. } = code.code();
    let end = start.saturating_add(bytes.len() as u64);
    let begin = blocks.partition_point(|block| block.end <= *start);
    let own = blocks.iter().skip(begin).take_while(|block| block.start < end);
    for block in own {
        let (first, end) = (code.number(block.start), code.number(block.end));
        for instruction in ran.get_mut(first..end).unwrap_or_default() {
            instruction.executions = instruction.executions.saturating_add(block.executions);
        }
        let last = block.branch.and_then(|branch| Some((code.number_around(branch)?, block)));
        if let Some((number, block)) = last
            && let Some(instruction) = ran.get_mut(number)
        {
            instruction.branch = Some(taken(code, number, block));
        }
    }
    ran
}

fn taken(code: &Instructions, number: usize, block: &ShownBlock) -> TakenBranch {
    let &ShownBlock { taken, mispredicted, cycles, timed, timed_from, .. } = block;
    let cycles = (timed > 0).then(|| cycles as f64 / timed as f64);
    let first = timed_from.map(|from| code.number(from)).filter(|&first| first <= number);
    let ipc = first.zip(cycles.filter(|&cycles| cycles > 0.0));
    let ipc = ipc.map(|(first, cycles)| (number - first + 1) as f64 / cycles);
    TakenBranch { taken, mispredicted, cycles, ipc }
}
