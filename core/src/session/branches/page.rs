//! The basic blocks of a function as the page shows them, and the sums that they are from, which stay until others are
//! read.

use std::sync::{Arc, Weak};

use perftab_names::FunctionId;
use perftab_profile::Profile;
use perftab_views::branches::BranchSums;
use perftab_views::branches::blocks::{self, Block, BlockEnd, BlockStart, Blocks, Way};
use perftab_views::call_tree::Label;
use perftab_views::function_ref::{FunctionRef, HexAddress};
use perftab_views::label::{Labels, NO_MAPPING};
use perftab_views::{Query, serialize_weight};
use serde::Serialize;

use super::{BranchReading, SummedBranches};
use crate::session::Session;

/// Blocks of a function that are told.
const MOST_BLOCKS: usize = 1 << 12;
/// Ways out of a block that are told: those that were taken most.
const MOST_WAYS: usize = 16;

/// The basic blocks of a function that ran, as far as the CPU recorded what did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct BranchBlocks {
    /// By address.
    pub blocks: Vec<BranchBlock>,
    /// How often all of them ran, those that are not told included.
    #[serde(serialize_with = "serialize_weight")]
    pub executions: u64,
    /// Blocks behind these that are not told, as there are too many.
    #[serde(serialize_with = "serialize_weight")]
    pub left_out: u64,
    /// What ran in a line from the function into another one or back, and so is in no block.
    #[serde(serialize_with = "serialize_weight")]
    pub across: u64,
    /// Samples with branches, of any function.
    #[serde(serialize_with = "serialize_weight")]
    pub samples: u64,
    /// Those of them that recorded some kinds of branches only: what ran between these is not known.
    #[serde(serialize_with = "serialize_weight")]
    pub without_runs: u64,
}

/// A basic block.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct BranchBlock {
    /// Its first instruction, where instructions of the function have theirs; or the branch before it, see `isBehind`.
    pub start: HexAddress,
    /// True if it begins behind the instruction at `start`, a branch that was not taken then: where that ends, only the
    /// code tells.
    pub is_behind: bool,
    /// Its last address: that of the branch that ends it, or the one before another block.
    pub last: HexAddress,
    /// True if a branch ends it.
    pub is_left: bool,
    /// Source file of a place in it; null if that is not known.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// How often it ran.
    #[serde(serialize_with = "serialize_weight")]
    pub executions: u64,
    /// How often its branch was taken.
    #[serde(serialize_with = "serialize_weight")]
    pub taken: u64,
    /// How often that was not predicted, of those.
    #[serde(serialize_with = "serialize_weight")]
    pub mispredicted: u64,
    /// Cycles from the branch before to this one, as far as they are known: with what ran in a line before the block.
    #[serde(serialize_with = "serialize_weight")]
    pub cycles: u64,
    /// Times that they are known of.
    #[serde(serialize_with = "serialize_weight")]
    pub timed: u64,
    /// Where its branch led, most often first.
    pub ways: Vec<BranchWay>,
    /// Places that it led to, too.
    pub more_ways: u32,
}

/// Where a branch led.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct BranchWay {
    /// Number of the function there; null in no mapping, and for a place in the same function.
    pub function_id: Option<u32>,
    /// Its name; of a place in the same function, or one without a name, the address.
    pub name: String,
    /// Bits of [`perftab_views::label::mark`].
    pub flags: u8,
    /// The place.
    pub address: Option<HexAddress>,
    /// Source file of the place; null if that is not known.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// How often.
    #[serde(serialize_with = "serialize_weight")]
    pub taken: u64,
    /// How often that was not predicted, of those.
    #[serde(serialize_with = "serialize_weight")]
    pub mispredicted: u64,
}

/// Branches that were read, and what they are of.
pub(in crate::session) struct KeptBranches {
    filters: Query,
    /// When the session has another one, its stacks may be others, and so what filters leave.
    profile: Weak<Profile>,
    sums: BranchSums,
}

/// What of a query decides which branches count. Steps are of stacks.
fn filters_of(query: &Query) -> Query {
    let Query { event, range, spans, processes, threads, cpus, comms, dsos, .. } = query.clone();
    Query { event, range, spans, processes, threads, cpus, comms, dsos, ..Query::default() }
}

impl Session {
    /// Takes in branches that were read with [`Self::branches`] for [`Self::branch_blocks`] of the same filters. False if
    /// the session has changed meanwhile: they are to be read again.
    pub fn keep_branches(&mut self, query: &Query, reading: BranchReading<SummedBranches>) -> bool {
        let Some(SummedBranches(sums, _)) = self.take_gathered(reading) else { return false };
        let (filters, profile) = (filters_of(query), Arc::downgrade(&self.profile));
        self.kept_branches = Some(KeptBranches { filters, profile, sums });
        true
    }

    /// The basic blocks of a function, of the branches that the filters of a query leave; `None` until these are kept.
    pub fn branch_blocks(&self, query: &Query, function: &FunctionRef) -> Option<BranchBlocks> {
        let kept = self.kept_branches.as_ref()?;
        let is_of_profile = std::ptr::eq(kept.profile.as_ptr(), Arc::as_ptr(&self.profile));
        if !is_of_profile || kept.filters != filters_of(query) {
            return None;
        }
        let (profile, symbols, sums) = (&self.profile, &self.symbols, &kept.sums);
        let found = blocks::of_functions(profile, symbols, sums, function);
        let none = BranchBlocks {
            samples: sums.samples,
            without_runs: sums.without_runs,
            ..Default::default()
        };
        // Of one number among its namesakes there is one.
        let Some((function, found)) = found.into_iter().next() else { return Some(none) };
        let Blocks { mut blocks, ways, left_out: across } = found;
        let add = |sum: u64, block: &Block| sum.saturating_add(block.executions);
        let executions = blocks.iter().fold(0, add);
        let left_out = blocks.len().saturating_sub(MOST_BLOCKS) as u64;
        blocks.truncate(MOST_BLOCKS);
        Some(BranchBlocks {
            blocks: blocks.iter().map(|block| self.branch_block(function, block, &ways)).collect(),
            executions,
            left_out,
            across,
            ..none
        })
    }

    fn branch_block(&self, function: FunctionId, block: &Block, ways: &[Way]) -> BranchBlock {
        let (start, is_behind) = match block.start {
            BlockStart::At(start) => (start, false),
            BlockStart::Behind(branch) => (branch, true),
        };
        let branch = block.end - 1;
        let (taken, mispredicted) = match block.end_of {
            BlockEnd::Branch { taken, mispredicted } => (taken, mispredicted),
            BlockEnd::Next => (0, 0),
        };
        let out = ways.partition_point(|way| way.branch < branch);
        let out = &ways[out..][..ways[out..].partition_point(|way| way.branch == branch)];
        let told = &out[..out.len().min(MOST_WAYS)];
        let (file, line) = block.frame.map_or((None, None), |frame| self.line_of(frame));
        BranchBlock {
            start: HexAddress(start),
            is_behind,
            last: HexAddress(branch),
            is_left: matches!(block.end_of, BlockEnd::Branch { .. }),
            file,
            line,
            executions: block.executions,
            taken,
            mispredicted,
            cycles: block.cycles,
            timed: block.timed,
            ways: told.iter().map(|way| self.branch_way(function, way)).collect(),
            more_ways: (out.len() - told.len()) as u32,
        }
    }

    fn branch_way(&self, of: FunctionId, way: &Way) -> BranchWay {
        let (file, line) = way.to.map_or((None, None), |to| self.line_of(to));
        let address = way.to.map(|to| HexAddress(self.profile.frames.get(to).address));
        let function = way.to.map(|to| self.symbols.merged(to)).filter(|&function| function != of);
        let labels = Labels::new(&self.profile, &self.symbols);
        let name = match (function, address) {
            (Some(function), _) => labels.function_text(function),
            (None, Some(address)) => String::from(address),
            (None, None) => NO_MAPPING.to_owned(),
        };
        BranchWay {
            function_id: function.map(|function| function.0),
            name,
            flags: function.map_or(0, |function| labels.marks(Label::Function(function))),
            address,
            file,
            line,
            taken: way.taken,
            mispredicted: way.mispredicted,
        }
    }
}
