//! `perftab annotate`: what may be written.

use std::path::PathBuf;

use clap::{Args, value_parser};
use perftab_listing::instructions::Syntax;

use super::{FilterArgs, NameArgs, SourceArgs};

/// `perftab annotate`.
#[derive(Debug, Args)]
pub struct AnnotateArgs {
    /// A recording [default: perf.data]; or a function of perf.data
    #[arg(value_name = "FILE")]
    pub file: Option<String>,
    /// A function [default: the hottest]
    #[arg(value_name = "FUNCTION", conflicts_with = "symbol")]
    pub function: Option<String>,
    /// The recording, as in perf annotate: then only a function may be named.
    #[arg(short = 'i', long, value_name = "FILE", conflicts_with = "function", hide = true)]
    pub input: Option<PathBuf>,
    /// The function, as in perf annotate.
    #[arg(short = 's', long, value_name = "NAME", hide = true)]
    pub symbol: Option<String>,
    /// Print lines of source alone
    #[arg(short = 'S', long, conflicts_with_all = ["asm", "json"])]
    pub source: bool,
    /// Print instructions alone
    #[arg(long, alias = "no-source", conflicts_with = "json")]
    pub asm: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write to the terminal itself, without a pager
    #[arg(long)]
    pub stdio: bool,
    /// Print numbers of samples instead of shares.
    #[arg(short = 'n', long, conflicts_with = "json", hide = true)]
    pub show_nr_samples: bool,
    /// How instructions of x86 are written: intel or att.
    #[arg(short = 'M', long, value_name = "SYNTAX", value_parser = syntax, default_value = "intel", hide = true)]
    pub disassembler_style: Syntax,
    /// Count this event [default: the first with samples]
    #[arg(long, value_name = "NAME")]
    pub event: Option<String>,
    /// Annotate at most this many functions [default: 10]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Where source files are.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// Which samples are counted.
    #[command(flatten)]
    pub filters: FilterArgs,
    /// Sources of names.
    #[command(flatten)]
    pub images: NameArgs,
}

/// By the name that perf and objdump have for it.
fn syntax(name: &str) -> Result<Syntax, String> {
    Syntax::from_name(name)
        .ok_or_else(|| "there are intel, which is usual here, and att".to_owned())
}

/// What is printed of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnotatedPart {
    /// Lines of source above their instructions.
    Both,
    /// Lines of source.
    Source,
    /// Instructions.
    Assembly,
}

/// What stands beside code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnotatedNumber {
    /// Shares of the function's weight.
    Share,
    /// Samples.
    Samples,
}

impl AnnotateArgs {
    /// What stands beside the code that is asked for.
    pub fn number(&self) -> AnnotatedNumber {
        match self.show_nr_samples {
            true => AnnotatedNumber::Samples,
            false => AnnotatedNumber::Share,
        }
    }

    /// What is asked for.
    pub fn what(&self) -> AnnotatedPart {
        match (self.source, self.asm) {
            (true, _) => AnnotatedPart::Source,
            (false, true) => AnnotatedPart::Assembly,
            (false, false) => AnnotatedPart::Both,
        }
    }
}
