//! What samples say of memory accesses and of branches, where the hardware knows it: `-d`, `-W`, `-b` and the like.

use anyhow::{Result, bail};
use clap::Args;
use perf_event_open_sys::bindings as kernel;
use perftab_perfdata::format::attr::sample_type;

use super::options::CallChains;

/// The options of perf. The help has room for others.
#[derive(Clone, Debug, Default, Args)]
pub struct DataArgs {
    /// Addresses of data, and what kind of access it was.
    #[arg(short, long, hide = true)]
    pub data: bool,
    /// What an access cost.
    #[arg(short = 'W', long, hide = true)]
    pub weight: bool,
    /// Physical addresses of data.
    #[arg(long, hide = true)]
    pub phys_data: bool,
    /// Sizes of pages of data.
    #[arg(long, hide = true)]
    pub data_page_size: bool,
    /// Sizes of pages of code.
    #[arg(long, hide = true)]
    pub code_page_size: bool,
    /// Flags of transactions.
    #[arg(long, hide = true)]
    pub transaction: bool,
    /// On which CPU a sample was taken, also of a command, processes or threads.
    #[arg(long, hide = true)]
    pub sample_cpu: bool,
    /// The branches that led to a sample.
    #[arg(short = 'b', long, hide = true)]
    pub branch_any: bool,
    /// Only branches of these kinds.
    #[arg(short = 'j', long, hide = true, value_name = "KINDS", value_parser = branches)]
    pub branch_filter: Option<u64>,
}

/// What samples carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampledData {
    /// Bits of `sample_type`.
    pub fields: u64,
    /// `branch_sample_type`, if they have branches.
    pub branches: Option<u64>,
}

impl DataArgs {
    /// What they ask for beside such call chains.
    pub fn checked(&self, chains: CallChains) -> Result<SampledData> {
        let fields = [
            (self.data, sample_type::ADDR | sample_type::DATA_SRC),
            (self.weight, sample_type::WEIGHT),
            (self.phys_data, sample_type::PHYS_ADDR),
            (self.data_page_size, sample_type::DATA_PAGE_SIZE),
            (self.code_page_size, sample_type::CODE_PAGE_SIZE),
            (self.transaction, sample_type::TRANSACTION),
        ];
        let asked = fields.into_iter().filter(|(is_asked, _)| *is_asked);
        let fields = asked.fold(0, |all, (_, bits)| all | bits);
        let any = self.branch_any.then_some(kernel::PERF_SAMPLE_BRANCH_ANY.into());
        let branches = self.branch_filter.or(any);
        if chains.copy().is_some() && (fields != 0 || branches.is_some()) {
            bail!("-d, -W, -b and the like do not go with --call-graph dwarf: use -g");
        }
        if chains == CallChains::KeptByCpu && branches.is_some() {
            bail!(
                "--call-graph lbr has the CPU keep calls in place of branches: leave -b or -j out"
            );
        }
        let cpu = if self.sample_cpu { sample_type::CPU } else { 0 };
        Ok(SampledData { fields: fields | cpu, branches })
    }
}

/// Kinds between commas (`tools/perf/util/parse-branch-options.c`). Where only whose branches is said, those are of
/// any kind.
fn branches(text: &str) -> Result<u64, String> {
    use kernel::*;
    let kinds = [
        ("u", PERF_SAMPLE_BRANCH_USER),
        ("k", PERF_SAMPLE_BRANCH_KERNEL),
        ("hv", PERF_SAMPLE_BRANCH_HV),
        ("any", PERF_SAMPLE_BRANCH_ANY),
        ("any_call", PERF_SAMPLE_BRANCH_ANY_CALL),
        ("any_ret", PERF_SAMPLE_BRANCH_ANY_RETURN),
        ("ind_call", PERF_SAMPLE_BRANCH_IND_CALL),
        ("abort_tx", PERF_SAMPLE_BRANCH_ABORT_TX),
        ("in_tx", PERF_SAMPLE_BRANCH_IN_TX),
        ("no_tx", PERF_SAMPLE_BRANCH_NO_TX),
        ("cond", PERF_SAMPLE_BRANCH_COND),
        ("ind_jmp", PERF_SAMPLE_BRANCH_IND_JUMP),
        ("call", PERF_SAMPLE_BRANCH_CALL),
        ("save_type", PERF_SAMPLE_BRANCH_TYPE_SAVE),
        ("hw_index", PERF_SAMPLE_BRANCH_HW_INDEX),
        ("priv", PERF_SAMPLE_BRANCH_PRIV_SAVE),
        ("stack", PERF_SAMPLE_BRANCH_CALL_STACK),
    ];
    let mut bits = 0;
    for word in text.split(',') {
        let Some((_, bit)) = kinds.iter().find(|(name, _)| *name == word) else {
            let names: Vec<&str> = kinds.iter().map(|(name, _)| *name).collect();
            return Err(format!("there are {}", names.join(", ")));
        };
        bits |= u64::from(*bit);
    }
    let whose = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
    let is_any = bits & !u64::from(whose) == 0;
    Ok(bits | if is_any { PERF_SAMPLE_BRANCH_ANY.into() } else { 0 })
}
