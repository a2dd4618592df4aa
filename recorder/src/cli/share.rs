//! `perftab share`: what may be written, and what it has in common with `export --to html`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::privacy::PrivacyArgs;
use super::{FilterArgs, InputArgs, NameArgs, http_url};

/// `perftab share`.
#[derive(Debug, Args)]
pub struct ShareArgs {
    /// The recording.
    #[command(flatten)]
    pub input: InputArgs,
    /// chat, email, slack, github, max or a number [default: github]
    #[arg(long, value_name = "BUDGET", default_value = "github", value_parser = link_budget)]
    #[arg(hide_default_value = true)]
    pub budget: u32,
    /// Address of your perftab page [default: $PERFTAB_BASE_URL]
    #[arg(long, value_name = "URL", value_parser = http_url)]
    pub base: Option<String>,
    /// Write the link here; - is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-", hide_default_value = true)]
    pub output: PathBuf,
    /// Print JSON: link, characters, fidelity
    #[arg(long)]
    pub json: bool,
    /// Print every text that the link would contain, and no link
    #[arg(long, conflicts_with = "json")]
    pub list_texts: bool,
    /// What the link contains.
    #[command(flatten)]
    pub content: LinkContentArgs,
    /// Which samples the link holds.
    #[command(flatten)]
    pub filters: FilterArgs,
    /// Sources of names.
    #[command(flatten)]
    pub images: NameArgs,
}

/// What a link or page tells of its recording.
#[derive(Debug, Clone, Default, Args)]
pub struct LinkContentArgs {
    /// Most detailed times to keep: samples, threads, processes or none
    #[arg(long, value_name = "LEVEL", default_value = "samples", hide_possible_values = true)]
    #[arg(hide_default_value = true)]
    pub times: LinkTimes,
    /// Title that readers see [default: the file's name]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// What else is told or not.
    #[command(flatten)]
    pub privacy: PrivacyArgs,
}

/// How much of times is told, where there is room for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum LinkTimes {
    /// Of the first and the last sample.
    None,
    /// How much of each process there was, along time.
    Processes,
    /// How much of each thread.
    Threads,
    /// Of every sample.
    #[default]
    Samples,
}

/// Characters a link may have where it is pasted. `max` is what Chromium takes as a URL.
fn link_budget(text: &str) -> Result<u32, String> {
    Ok(match text {
        "chat" | "email" => 2_000,
        "slack" => 4_000,
        "github" => 65_536,
        "max" => 2_097_152,
        number => number
            .parse()
            .map_err(|_| "not chat, email, slack, github, max or a number of characters")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_have_names_and_numbers() {
        assert_eq!(link_budget("slack"), Ok(4_000));
        assert_eq!(link_budget("123"), Ok(123));
        assert!(link_budget("fax").is_err());
        assert!(link_budget("-1").is_err());
    }
}
