//! `perftab report`: what may be written.

use std::num::{NonZeroU32, NonZeroU64};

use clap::{Args, ValueEnum};

use super::{FilterArgs, InputArgs, NameArgs, SymbolArgs};

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
    /// Row: the package that the CPU is in.
    Socket,
    /// Row: a piece of the time, as `--time-quantum` cuts it.
    Time,
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

/// A key by its name, or as in perf by how its name begins.
pub(super) fn sort_key(text: &str) -> Result<SortKey, String> {
    if let Ok(key) = SortKey::from_str(text, true) {
        return Ok(key);
    }
    let names = |key: &SortKey| -> Vec<String> {
        let value = key.to_possible_value();
        value.iter().flat_map(|it| it.get_name_and_aliases()).map(str::to_owned).collect()
    };
    let begins =
        |key: &&SortKey| names(key).iter().any(|name| name.starts_with(&text.to_ascii_lowercase()));
    let found = SortKey::value_variants().iter().find(begins).filter(|_| !text.is_empty());
    found.copied().ok_or_else(|| {
        "there are comm,pid,tid,cpu,socket,time,dso,srcfile,srcline,sym, those of memory accesses and branches, and to order \
         by self,total,name; perf report has others, and reads the recordings of perftab"
            .to_owned()
    })
}

/// Nanoseconds of a time with a unit of perf's.
fn quantum(text: &str) -> Result<NonZeroU64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ns" => Some(1_u64),
        "us" => Some(1_000),
        "ms" => Some(1_000_000),
        "s" => Some(1_000_000_000),
        _ => None,
    };
    let nanos = unit.zip(digits.parse().ok()).and_then(|(unit, number)| unit.checked_mul(number));
    nanos
        .and_then(NonZeroU64::new)
        .ok_or_else(|| "give a time above zero with ms, us, ns or s".into())
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

/// Which end of the stacks a printed call tree begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOrder {
    /// The outermost callers.
    Caller,
    /// Where samples ended; callers follow.
    Callee,
}

/// What is printed of a call in a call tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallValue {
    /// Its share of all.
    Percent,
    /// Its share of its parent.
    PercentOfParent,
    /// Its weight.
    Period,
    /// Its samples.
    Count,
}

/// `--call-graph` of perf report: `graph,0.5,caller,function,percent` or any part of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallGraph {
    /// `None`: no call tree.
    pub value: Option<CallValue>,
    /// Calls with a smaller share of the whole are folded, in percent.
    pub threshold: f64,
    /// So many calls are printed below another.
    pub most: usize,
    /// `None`: as perf has it, `caller` with `--children`.
    pub order: Option<CallOrder>,
}

impl CallGraph {
    /// What perf prints by default.
    pub const USUAL: Self =
        Self { value: Some(CallValue::Percent), threshold: 0.5, most: usize::MAX, order: None };

    /// As perf reads it: each word may be cut short.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut graph = Self::USUAL;
        let mut has_threshold = false;
        for word in text.split(',') {
            let is = |name: &str| !word.is_empty() && name.starts_with(word);
            match word.parse::<f64>() {
                Ok(number) if number.is_finite() && number >= 0.0 && !has_threshold => {
                    (graph.threshold, has_threshold) = (number, true);
                    continue;
                }
                Ok(number) if number.is_finite() && number >= 0.0 => {
                    graph.most = if number == 0.0 { usize::MAX } else { number as usize };
                    continue;
                }
                _ => {}
            }
            if is("graph") || is("function") {
            } else if is("none") {
                graph.value = None;
            } else if is("fractal") {
                graph.value = Some(CallValue::PercentOfParent);
            } else if is("caller") {
                graph.order = Some(CallOrder::Caller);
            } else if is("callee") {
                graph.order = Some(CallOrder::Callee);
            } else if is("percent") {
                graph.value = graph.value.or(Some(CallValue::Percent));
            } else if is("period") {
                graph.value = Some(CallValue::Period);
            } else if is("count") {
                graph.value = Some(CallValue::Count);
            } else if is("flat") || is("folded") {
                return Err("perftab export --to collapsed prints a line for each stack".to_owned());
            } else if is("branch") {
                return Err("use --branch-history".to_owned());
            } else {
                return Err(format!(
                    "{word} is none of graph, fractal, none, caller, callee, function, percent, period, count and \
                     a share in percent"
                ));
            }
        }
        Ok(graph)
    }
}

/// What shares are of, where filters left samples out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Percentage {
    /// What filters left.
    #[default]
    Relative,
    /// All samples of the event.
    Absolute,
}

/// Rows and columns of a report, as in perf. The help has room for other options.
#[derive(Debug, Clone, Default, Args)]
pub struct RowArgs {
    /// Which functions have rows.
    #[command(flatten)]
    pub symbols: SymbolArgs,
    /// Only rows of functions with this in their name.
    #[arg(long, value_name = "TEXT", hide = true)]
    pub symbol_filter: Option<String>,
    /// Only rows of functions with a name.
    #[arg(short = 'U', long, hide = true)]
    pub hide_unresolved: bool,
    /// No rows with a smaller share, in percent.
    #[arg(long, value_name = "PERCENT", hide = true)]
    pub percent_limit: Option<f64>,
    /// What shares are of.
    #[arg(long, value_name = "OF", default_value = "relative", hide = true)]
    pub percentage: Percentage,
    /// A column with the number of samples.
    #[arg(short = 'n', long, hide = true)]
    pub show_nr_samples: bool,
    /// A column with the weight.
    #[arg(long, hide = true)]
    pub show_total_period: bool,
    /// Rows below each other, by one key of `--sort` after the other.
    #[arg(
        long,
        hide = true,
        conflicts_with_all = [
            "fields", "field_separator", "call_graph", "inverted", "branch_stack", "total_cycles",
            "branch_history", "blocks"
        ]
    )]
    pub hierarchy: bool,
    /// Between columns, which are not padded then.
    #[arg(short = 't', long, value_name = "TEXT", hide = true, allow_hyphen_values = true)]
    pub field_separator: Option<String>,
    /// What the recording says of itself, above the rows.
    #[command(flatten)]
    pub header: HeaderArgs,
}

/// `--header` of perf.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct HeaderArgs {
    /// First print what the recording says of itself.
    #[arg(long, hide = true)]
    pub header: bool,
    /// Print nothing else.
    #[arg(long, hide = true)]
    pub header_only: bool,
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
        value_parser = sort_key,
        hide_default_value = true
    )]
    pub sort: Vec<SortKey>,
    /// How long the pieces are that `--sort time` cuts the time into.
    #[arg(long, value_name = "TIME", value_parser = quantum, default_value = "100ms", hide = true)]
    pub time_quantum: NonZeroU64,
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
    /// Print the call tree; callee: callers below each function
    #[arg(
        short = 'g',
        long,
        value_name = "caller|…",
        value_parser = CallGraph::parse,
        conflicts_with_all = ["fields", "mem_mode", "branch_stack", "total_cycles", "branch_history", "blocks", "inverted"]
    )]
    pub call_graph: Option<CallGraph>,
    /// Print the callers below each function, as `-g callee`.
    #[arg(short = 'G', long, hide = true)]
    pub inverted: bool,
    /// Of each call chain only so many addresses.
    #[arg(long, value_name = "N", hide = true, conflicts_with_all = ["branch_history", "blocks"])]
    pub max_stack: Option<NonZeroU32>,
    /// Print at most this many rows
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Rows that are printed, and their columns, as perf users ask for them.
    #[command(flatten)]
    pub rows: RowArgs,
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
