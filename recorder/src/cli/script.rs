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
    /// Also print addr,data_src,weight,phys_addr,data_page_size
    #[arg(
        short = 'F',
        long,
        value_name = "+FIELD,…",
        value_delimiter = ',',
        value_parser = added_field,
        allow_hyphen_values = true
    )]
    pub fields: Vec<Field>,
    /// Sources of names.
    #[command(flatten)]
    pub images: NameArgs,
}

/// What a block looks like.
const SCRIPT_OUTPUT: &str = "\
Output: one block per sample, followed by an empty line
  comm pid/tid [cpu] seconds.nanoseconds: period event:
          address function (dso)       innermost first; addresses as recorded
          field value                  for each of -F
          branches from/to/M|P|-/X|-/A|-/cycles ...
          fields name=value ...        of a tracepoint
- or -1: not recorded; [unknown]: no name.";

/// A field with a plus before it, as perf has it: what is printed anyway stays.
fn added_field(text: &str) -> Result<Field, String> {
    let name = text.strip_prefix('+');
    let field = name.and_then(|name| Field::ALL.into_iter().find(|field| field.name() == name));
    field.ok_or_else(|| {
        let known = Field::ALL.map(|field| format!("+{}", field.name())).join(",");
        format!("fields can be added, and nothing can be left out: {known}")
    })
}
