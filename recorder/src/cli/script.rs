//! `perftab script`: what may be written.

use clap::Args;
use perftab_core::{Choice, Column, Field};

use super::{HeaderArgs, InputArgs, NameArgs, SampleFilterArgs, SymbolArgs};

/// `perftab script`.
#[derive(Debug, Args)]
#[command(after_help = SCRIPT_OUTPUT)]
pub struct ScriptArgs {
    /// The recording.
    #[command(flatten)]
    pub input: InputArgs,
    /// Only comm,pid,tid,cpu,time,event,trace,ip,sym,dso,…; +srcline adds
    #[arg(
        short = 'F',
        long,
        value_name = "[+]FIELD,…",
        value_parser = script_fields,
        allow_hyphen_values = true
    )]
    pub fields: Vec<ScriptFields>,
    /// Print whole paths with srcline
    #[arg(long)]
    pub full_source_path: bool,
    /// Which samples are printed.
    #[command(flatten)]
    pub samples: SampleFilterArgs,
    /// Functions that samples ended in.
    #[command(flatten)]
    pub symbols: SymbolArgs,
    /// Words of a call chain that are printed at most.
    #[arg(long, value_name = "N", hide = true, default_value_t = usize::MAX, hide_default_value = true)]
    pub max_stack: usize,
    /// Print no call chains.
    #[arg(short = 'G', long, hide = true)]
    pub hide_call_graph: bool,
    /// Count inlined functions as their caller.
    #[arg(long, hide = true)]
    pub no_inline: bool,
    /// With -F: nine digits behind the point of times.
    #[arg(long, hide = true)]
    pub ns: bool,
    /// Times since the first sample that is printed.
    #[arg(long, hide = true, conflicts_with = "deltatime")]
    pub reltime: bool,
    /// Times since the sample that is printed before.
    #[arg(long, hide = true)]
    pub deltatime: bool,
    /// What the recording says of itself, above the samples.
    #[command(flatten)]
    pub header: HeaderArgs,
    /// Sources of names.
    #[command(flatten)]
    pub images: NameArgs,
}

/// What one `-F` of `script` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptFields {
    /// These besides what is printed anyway.
    Added(Vec<ScriptField>),
    /// These alone, as perf prints them.
    These(Choice, Vec<Column>),
}

impl ScriptFields {
    /// What perf prints of a sample by itself.
    pub const USUAL: [Column; 10] = [
        Column::Comm,
        Column::Tid,
        Column::Cpu,
        Column::Time,
        Column::Period,
        Column::Event,
        Column::Trace,
        Column::Ip,
        Column::Sym,
        Column::Dso,
    ];
}

/// What `script` adds to a sample, named as in `perf script -F`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptField {
    /// A field.
    Sample(Field),
    /// Branches.
    Branches(BranchField),
}

/// How branches are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchField {
    /// With their types.
    Brstack,
    /// By function and offset.
    Brstacksym,
    /// With the instructions between them.
    Brstackinsn,
}

impl BranchField {
    const ALL: [Self; 3] = [Self::Brstack, Self::Brstacksym, Self::Brstackinsn];

    /// As perf calls it.
    fn name(self) -> &'static str {
        match self {
            Self::Brstack => "brstack",
            Self::Brstacksym => "brstacksym",
            Self::Brstackinsn => "brstackinsn",
        }
    }
}

impl ScriptField {
    fn all() -> impl Iterator<Item = Self> {
        let of_branches = BranchField::ALL.into_iter().map(Self::Branches);
        Field::ALL.into_iter().map(Self::Sample).chain(of_branches)
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::all().find(|field| field.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Sample(field) => field.name(),
            Self::Branches(field) => field.name(),
        }
    }
}

/// What a block looks like.
const SCRIPT_OUTPUT: &str = "\
Output: one block per sample, followed by an empty line
  comm pid/tid [cpu] seconds.nanoseconds: period event: trace, as in perf, of a tracepoint
          address function (dso)       innermost first; addresses as recorded
    file:line                          with -F +srcline, where it is known
          field value                  for each of -F
          branches from/to/M|P|-/X|-/A|-/cycles ...   newest first
          brstack from/to/M|P|-/X|-/A|-/cycles/TYPE ...
          brstacksym function+offset/function+offset/...
          brstackinsn, then lines: function+offset: and, oldest branch first,
            address instruction # PRED|MISPRED N cycles [sum] IPC
- or -1: not recorded; [unknown]: no name.";

/// Fields, all with a plus before them; or a list, in which as in perf those with a plus or minus change what is
/// usual.
fn script_fields(text: &str) -> Result<ScriptFields, String> {
    let words: Vec<&str> = text.split(',').collect();
    let added = |word: &&str| word.strip_prefix('+').and_then(ScriptField::of_name);
    if let Some(added) = words.iter().map(added).collect::<Option<Vec<_>>>() {
        return Ok(ScriptFields::Added(added));
    }
    let is_change = |word: &str| word.starts_with(['+', '-']);
    let (choice, mut columns) = match words.iter().any(|word| is_change(word)) {
        true => (Choice::Usual, ScriptFields::USUAL.to_vec()),
        false => (Choice::Named, Vec::new()),
    };
    for word in words {
        let name = word.trim_start_matches(['+', '-']);
        let known = Column::ALL.into_iter().find(|column| column.name() == name);
        match (known, word.starts_with('-')) {
            (Some(column), true) => columns.retain(|it| *it != column),
            // It says more of functions.
            (Some(Column::Symoff), false) => columns.extend([Column::Sym, Column::Symoff]),
            (Some(column), false) => columns.push(column),
            (None, _) => {
                let columns: Vec<_> = Column::ALL.iter().map(|column| column.name()).collect();
                let added: Vec<_> =
                    ScriptField::all().map(|it| format!("+{}", it.name())).collect();
                let (columns, added) = (columns.join(","), added.join(","));
                return Err(format!(
                    "there are {columns}, and to add by themselves {added}; perf script has others, and reads the \
                     recordings of perftab"
                ));
            }
        }
    }
    Ok(ScriptFields::These(choice, columns))
}

#[cfg(test)]
mod tests {
    use perftab_core::SourcePath;

    use super::*;

    #[test]
    fn fields_are_chosen_added_and_left_out() {
        let added = vec![
            ScriptField::Sample(Field::Addr),
            ScriptField::Sample(Field::Srcline(SourcePath::Name)),
        ];
        assert_eq!(script_fields("+addr,+srcline"), Ok(ScriptFields::Added(added)));
        let these = |choice, columns: &[Column]| Ok(ScriptFields::These(choice, columns.to_vec()));
        let named = |columns| these(Choice::Named, columns);
        assert_eq!(script_fields("comm,ip"), named(&[Column::Comm, Column::Ip]));
        let [comm, tid, cpu, time, _, event, trace, ..] = ScriptFields::USUAL;
        let left = these(Choice::Usual, &[comm, tid, cpu, time, event, trace]);
        assert_eq!(script_fields("-period,-ip,-sym,-dso,-symoff"), left);
        let within = named(&[Column::Ip, Column::Sym, Column::Symoff]);
        assert_eq!(script_fields("ip,symoff"), within);
        for text in ["", "com", "+com", "addr", "hw:comm", "comm,,ip"] {
            assert!(script_fields(text).is_err(), "{text}");
        }
    }
}
