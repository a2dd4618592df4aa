//! Branches by what tells rows apart: `perf report -b --sort`.

use perftab_names::{FunctionId, Symbols};
use perftab_perfdata::decode::sample_tail::BranchFlags;
use perftab_perfdata::map::Map;
use perftab_profile::{DsoId, FrameId, Profile};

use super::{Branch, BranchSums};

/// What rows are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchKey {
    /// The function that the branch is in, or its address.
    SymbolFrom,
    /// The function that it led to, or the address.
    SymbolTo,
    /// The DSO that it is in.
    DsoFrom,
    /// The DSO that it led to.
    DsoTo,
    /// Whether it was mispredicted.
    Mispredict,
    /// Cycles since the branch before it.
    Cycles,
    /// Whether it was in a transaction.
    InTransaction,
    /// Whether it was a transaction that was aborted.
    Abort,
}

impl BranchKey {
    /// As `--sort` and JSON have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::SymbolFrom => "symbol_from",
            Self::SymbolTo => "symbol_to",
            Self::DsoFrom => "dso_from",
            Self::DsoTo => "dso_to",
            Self::Mispredict => "mispredict",
            Self::Cycles => "cycles",
            Self::InTransaction => "in_tx",
            Self::Abort => "abort",
        }
    }
}

/// What a row has for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BranchValue {
    /// A function without its inlined levels, or an address without a name.
    Function(FunctionId),
    /// A DSO.
    Dso(DsoId),
    /// How many.
    Cycles(u16),
    /// Whether it is so.
    Is(bool),
    /// It lies in no mapping, or that is not known.
    Nothing,
}

/// Branches with the same values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchRow {
    /// One for each key.
    pub values: Vec<BranchValue>,
    /// How many there are.
    pub branches: u64,
}

/// Breaks branches down by `keys`; rows are in no order.
pub fn rows(
    profile: &Profile,
    symbols: &Symbols,
    sums: &BranchSums,
    keys: &[BranchKey],
) -> Vec<BranchRow> {
    let mut rows: Map<Vec<BranchValue>, u64> = Map::new();
    for (branch, &count) in sums.branches.iter() {
        let values = keys.iter().map(|&key| value(profile, symbols, branch, key)).collect();
        let known = rows.entry(values).or_default();
        *known = known.saturating_add(count);
    }
    rows.drain().map(|(values, branches)| BranchRow { values, branches }).collect()
}

fn value(profile: &Profile, symbols: &Symbols, branch: &Branch, key: BranchKey) -> BranchValue {
    let function = |frame: Option<FrameId>| {
        frame.map_or(BranchValue::Nothing, |it| BranchValue::Function(symbols.merged(it)))
    };
    let dso = |frame: Option<FrameId>| {
        frame.map_or(BranchValue::Nothing, |it| BranchValue::Dso(profile.frames.get(it).dso))
    };
    match key {
        BranchKey::SymbolFrom => function(branch.from),
        BranchKey::SymbolTo => function(branch.to),
        BranchKey::DsoFrom => dso(branch.from),
        BranchKey::DsoTo => dso(branch.to),
        BranchKey::Mispredict => {
            was_mispredicted(branch.flags).map_or(BranchValue::Nothing, BranchValue::Is)
        }
        BranchKey::Cycles => match branch.flags.cycles() {
            0 => BranchValue::Nothing,
            cycles => BranchValue::Cycles(cycles),
        },
        BranchKey::InTransaction => BranchValue::Is(branch.flags.is_in_transaction()),
        BranchKey::Abort => BranchValue::Is(branch.flags.is_abort()),
    }
}

/// `None` if nothing says so. One that is said to be both counts as predicted, as for perf.
pub(super) fn was_mispredicted(flags: BranchFlags) -> Option<bool> {
    match (flags.is_predicted(), flags.is_mispredicted()) {
        (true, _) => Some(false),
        (false, true) => Some(true),
        (false, false) => None,
    }
}
