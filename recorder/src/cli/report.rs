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
    /// Group by comm,pid,tid,cpu,dso,srcfile,sym; sort by self,total,name
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
    /// Count what accesses cost; --sort mem,symbol_daddr,snoop,…
    #[arg(long)]
    pub mem_mode: bool,
    /// Sort by weight including callees, like --sort total.
    #[arg(long, hide = true, overrides_with = "no_children")]
    pub children: bool,
    /// Order by self; the default here.
    #[arg(long, hide = true)]
    pub no_children: bool,
    /// Count branches; --sort symbol_from,…,dso_to,mispredict,cycles
    #[arg(short = 'b', long, conflicts_with = "inverted")]
    pub branch_stack: bool,
    /// Print where cycles went, by what ran in a line up to each branch
    #[arg(long, conflicts_with_all = ["sort", "inverted"])]
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
