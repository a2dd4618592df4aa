//! `perftab script`: what may be written.

use clap::Args;
use perftab_core::Field;

use super::{InputArgs, NameArgs};

/// `perftab script`.
#[derive(Debug, Args)]
#[command(after_help = SCRIPT_OUTPUT)]
pub struct ScriptArgs {
    /// The recording.
    #[command(flatten)]
    pub input: InputArgs,
    /// Also print srcline,addr,data_src,…; brstack,brstacksym,brstackinsn
    #[arg(
        short = 'F',
        long,
        value_name = "+FIELD,…",
        value_delimiter = ',',
        value_parser = added_field,
        allow_hyphen_values = true
    )]
    pub fields: Vec<ScriptField>,
    /// Print whole paths with srcline
    #[arg(long)]
    pub full_source_path: bool,
    /// Sources of names.
    #[command(flatten)]
    pub images: NameArgs,
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
  comm pid/tid [cpu] seconds.nanoseconds: period event:
          address function (dso)       innermost first; addresses as recorded
    file:line                          with -F +srcline, where it is known
          field value                  for each of -F
          branches from/to/M|P|-/X|-/A|-/cycles ...   newest first
          fields name=value ...        of a tracepoint
          brstack from/to/M|P|-/X|-/A|-/cycles/TYPE ...
          brstacksym function+offset/function+offset/...
          brstackinsn, then lines: function+offset: and, oldest branch first,
            address instruction # PRED|MISPRED N cycles [sum] IPC
- or -1: not recorded; [unknown]: no name.";

/// A field with a plus before it, as perf has it: what is printed anyway stays.
fn added_field(text: &str) -> Result<ScriptField, String> {
    let name = text.strip_prefix('+');
    let field = name.and_then(|name| ScriptField::all().find(|field| field.name() == name));
    field.ok_or_else(|| {
        let known: Vec<_> = ScriptField::all().map(|it| format!("+{}", it.name())).collect();
        let known = known.join(",");
        format!("fields can be added, and nothing can be left out: {known}")
    })
}
