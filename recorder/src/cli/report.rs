//! `perftab report`: what may be written.

use clap::{Args, ValueEnum};

use super::{FilterArgs, InputArgs, NameArgs};

/// What `report` sorts by: what a row is, as in `perf report --sort`, or what rows are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SortKey {
    /// Order: weight of samples that end in the row.
    #[value(name = "self", alias = "overhead")]
    Own,
    /// Order: weight of samples that are anywhere in the row.
    #[value(alias = "overhead_children")]
    Total,
    /// Order: the row's text.
    Name,
    /// Row: the thread's name.
    Comm,
    /// Row: the process, as with `--pid`. perf has threads under this key, and processes under `tgid`.
    #[value(alias = "tgid")]
    Pid,
    /// Row: the thread.
    Tid,
    /// Row: the CPU.
    Cpu,
    /// Row: the DSO.
    Dso,
    /// Row: the source file.
    #[value(name = "srcfile", alias = "file")]
    File,
    /// Row: the line of source.
    #[value(name = "srcline")]
    Line,
    /// Row: the function.
    #[value(name = "sym", aliases = ["symbol", "function"])]
    Function,
    /// Row: what an access cost. This and all below are of memory accesses.
    #[value(name = "local_weight")]
    LocalWeight,
    /// Row: the same; the sum is shown.
    Weight,
    /// Row: where the data was found.
    Mem,
    /// Row: the place in a variable or table, or the address.
    #[value(name = "symbol_daddr")]
    DataSymbol,
    /// Row: the DSO of the data.
    #[value(name = "dso_daddr")]
    DataDso,
    /// Row: what other caches said.
    Snoop,
    /// Row: how the address was translated.
    Tlb,
    /// Row: whether it was locked.
    Locked,
    /// Row: what a load had to wait for.
    Blocked,
    /// Row: where the data is in the machine's memory.
    #[value(name = "phys_daddr")]
    PhysicalAddress,
    /// Row: size of the page that the data is in.
    #[value(name = "data_page_size")]
    PageSize,
    /// Row of branches: the function that they are in.
    #[value(name = "symbol_from")]
    SymbolFrom,
    /// Row of branches: the function that they led to.
    #[value(name = "symbol_to")]
    SymbolTo,
    /// Row of branches: the DSO that they are in.
    #[value(name = "dso_from")]
    DsoFrom,
    /// Row of branches: the DSO that they led to.
    #[value(name = "dso_to")]
    DsoTo,
    /// Row of branches: whether they were mispredicted.
    Mispredict,
    /// Row of branches: cycles since the branch before.
    Cycles,
    /// Row of branches: whether they were in a transaction.
    #[value(name = "in_tx")]
    InTransaction,
    /// Row of branches: whether they aborted a transaction.
    Abort,
}

/// A column of `report --fields`, named as in perf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportField {
    /// Samples that end in the row.
    Sample,
    /// Their weight.
    Period,
    /// What a row is, or a share: `overhead`, `overhead_children`.
    Key(SortKey),
}

/// What `report --fields` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportFields {
    /// These columns.
    These(Vec<ReportField>),
    /// The usual ones and these: with a plus before them.
    Added(Vec<ReportField>),
}

impl ReportFields {
    /// The fields that are named.
    pub fn named(&self) -> &[ReportField] {
        match self {
            Self::These(fields) | Self::Added(fields) => fields,
        }
    }
}

fn report_fields(text: &str) -> Result<ReportFields, String> {
    let field = |name: &str| match (name, SortKey::from_str(name, false)) {
        ("sample", _) => Ok(ReportField::Sample),
        ("period", _) => Ok(ReportField::Period),
        (_, Ok(key)) if key != SortKey::Name => Ok(ReportField::Key(key)),
        _ => Err(format!(
            "there is no field {name}; there are overhead, overhead_children, sample, period and the keys of --sort"
        )),
    };
    let all = |list: &str| list.split(',').map(field).collect::<Result<Vec<_>, _>>();
    match text.strip_prefix('+') {
        Some(list) => all(list).map(ReportFields::Added),
        None => all(text).map(ReportFields::These),
    }
}

/// `perftab report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The recording.
    #[command(flatten)]
    pub input: InputArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Count this event [default: the first with samples]
    #[arg(long, value_name = "NAME")]
    pub event: Option<String>,
    /// Rows: comm,pid,tid,cpu,dso,srcfile,srcline,sym; by self,total,name
    #[arg(
        short,
        long,
        value_name = "KEY,…",
        value_delimiter = ',',
        default_value = "self",
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub sort: Vec<SortKey>,
    /// Columns: overhead,overhead_children,sample,period, keys of --sort
    #[arg(
        short = 'F',
        long,
        value_name = "[+]KEY,…",
        value_parser = report_fields,
        conflicts_with_all = ["mem_mode", "branch_stack", "total_cycles", "branch_history", "blocks", "inverted"]
    )]
    pub fields: Option<ReportFields>,
    /// Count what accesses cost; --sort mem,symbol_daddr,snoop,…
    #[arg(long)]
    pub mem_mode: bool,
    /// Sort by weight including callees, like --sort total.
    #[arg(long, hide = true, overrides_with = "no_children")]
    pub children: bool,
    /// Order by self; the default here.
    #[arg(long, hide = true)]
    pub no_children: bool,
    /// Count branches; --sort symbol_from,…,cycles; --total-cycles of runs
    #[arg(short = 'b', long, conflicts_with = "inverted")]
    pub branch_stack: bool,
    /// Print where cycles went, by what ran in a line up to each branch. The help has room for it elsewhere.
    #[arg(long, hide = true, conflicts_with_all = ["sort", "inverted"])]
    pub total_cycles: bool,
    /// Print the branches that led to samples, below where these ended
    #[arg(long, conflicts_with_all = ["sort", "inverted", "branch_stack", "total_cycles", "blocks"])]
    pub branch_history: bool,
    /// Print the basic blocks of a function, from its branches
    #[arg(long, value_name = "NAME", conflicts_with_all = ["sort", "inverted", "total_cycles"])]
    pub blocks: Option<String>,
    /// Print the callers below each function
    #[arg(short = 'G', long)]
    pub inverted: bool,
    /// Print at most this many rows
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Count inlined functions as their caller; reads no debug information
    #[arg(long)]
    pub no_inline: bool,
    /// Which samples are counted.
    #[command(flatten)]
    pub filters: FilterArgs,
    /// Sources of names.
    #[command(flatten)]
    pub images: NameArgs,
}
