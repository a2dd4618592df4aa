//! Options of what is written: where, how large, and when it goes on in another file. Names and meanings as in perf.

use std::fs;
use std::io::{self, IsTerminal};
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;

use super::command::CommandOutput;
use super::packer::PackingLevel;
use super::trigger::Trigger;

/// What `record` writes.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Write here; - is a pipe; FILE becomes FILE.old
    #[arg(short, long, value_name = "FILE", default_value = "perf.data")]
    pub output: PathBuf,
    /// Pack records by zstd while recording; N from 1 to 22: its level
    #[arg(short = 'z', long, value_name = "N", num_args = 0..=1, require_equals = true,
        value_parser = clap::value_parser!(i32).range(0..=22))]
    compression_level: Option<Option<i32>>,
    /// Stop once the file has so much: 500M, 2G
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub max_size: Option<u64>,
    /// Go on in another file at SIGUSR2, at 100M, or after 30s, 5m, 1h
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true,
        default_missing_value = "signal", value_parser = parse_switch)]
    pub switch_output: Option<SwitchAt>,
    /// Keep only the N newest of these files
    #[arg(long, value_name = "N")]
    pub switch_max_files: Option<NonZero<usize>>,
    /// Keep the latest samples; write at SIGUSR2, --trigger, the end
    #[arg(long, conflicts_with = "max_size")]
    pub overwrite: bool,
    /// Also at load>8, MemAvailable<1G; exit!=0: end only if failed
    #[arg(long, value_name = "CONDITION", requires = "overwrite")]
    pub trigger: Vec<Trigger>,
}

impl OutputArgs {
    /// `None` if records are written as they are.
    pub fn packing(&self) -> Option<PackingLevel> {
        match self.compression_level? {
            None => Some(PackingLevel::Usual),
            Some(level) => (level > 0).then_some(PackingLevel::Of(level)),
        }
    }
}

/// Where a recording goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputPlan {
    /// A file, complete at any moment.
    File(PathBuf),
    /// One file after the other.
    Parts(PathBuf, Rotation),
    /// A file whenever there is reason, of what is kept in memory.
    Flight(PathBuf, Rotation),
    /// Standard output.
    Stream,
}

/// When a recording goes on in another file, and how many are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Besides SIGUSR2.
    pub at: SwitchAt,
    /// All, if there is no number.
    pub most: Option<NonZero<usize>>,
}

/// What makes a recording go on in another file. SIGUSR2 does in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchAt {
    /// Nothing else.
    Signal,
    /// The file has so many bytes of records.
    Size(u64),
    /// So much time has passed since it began.
    Time(Duration),
}

impl Rotation {
    /// What to say of a size that ends a recording once a file has it, as in perf.
    pub fn said_of(self, max_size: u64) -> Option<&'static str> {
        let is_reached = match self.at {
            SwitchAt::Signal | SwitchAt::Time(_) => true,
            SwitchAt::Size(size) => size >= max_size,
        };
        (!is_reached).then_some(
            "--max-size is of each file, as in perf, and --switch-output ends each before: nothing ends the recording by its \
             size; --switch-max-files bounds what is kept",
        )
    }
}

impl OutputPlan {
    /// By the options.
    pub fn new(args: &OutputArgs) -> Result<Self> {
        if args.output.as_os_str() != "-" {
            let path = args.output.clone();
            let most = args.switch_max_files;
            return match (args.overwrite, args.switch_output) {
                // perf wants both.
                (true, None | Some(SwitchAt::Signal)) => {
                    Ok(Self::Flight(path, Rotation { at: SwitchAt::Signal, most }))
                }
                (true, Some(_)) => {
                    bail!("--overwrite keeps samples in memory; write them by SIGUSR2 or --trigger")
                }
                // Even of a device: perf renames /dev/null.
                (false, Some(_)) if fs::symlink_metadata(&path).is_ok_and(|it| !it.is_file()) => {
                    bail!(
                        "--switch-output: {} is no file, and what is complete gets another name",
                        path.display()
                    )
                }
                (false, Some(at)) => Ok(Self::Parts(path, Rotation { at, most })),
                (false, None) if most.is_some() => {
                    bail!("--switch-max-files: say with --switch-output when another file begins")
                }
                (false, None) => Ok(Self::File(path)),
            };
        }
        if io::stdout().is_terminal() {
            bail!("-o -: standard output is a terminal; add | perftab report -, or name a file");
        }
        if args.switch_output.is_some() || args.overwrite {
            bail!("-o -: a stream is one; name a file for --switch-output and --overwrite");
        }
        Ok(Self::Stream)
    }

    /// Where a command's own output goes beside it.
    pub fn of_command(&self) -> CommandOutput {
        match self {
            Self::File(_) | Self::Parts(..) | Self::Flight(..) => CommandOutput::Ours,
            Self::Stream => CommandOutput::Errors,
        }
    }
}

/// Bytes, or a number with B, K, M or G.
fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1_u64 << 30,
        _ => return Err("units are B, K, M and G".into()),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "give a size: 500M, 2G".into())
}

/// `signal`, a size or a time; other than elsewhere, each with its unit, as perf wants it.
fn parse_switch(text: &str) -> Result<SwitchAt, String> {
    let wrong = || "give signal, a size with B, K, M or G, or a time with s, m, h or d".to_owned();
    let seconds = match text.chars().last() {
        _ if text == "signal" => return Ok(SwitchAt::Signal),
        Some('B' | 'K' | 'M' | 'G') => return parse_size(text).map(SwitchAt::Size),
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        Some('d') => 86_400,
        _ => return Err(wrong()),
    };
    let number = text[..text.len() - 1].parse::<u64>().ok().filter(|number| *number > 0);
    let time = number.and_then(|number| number.checked_mul(seconds));
    time.map(|time| SwitchAt::Time(Duration::from_secs(time))).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_as_perf_writes_them() {
        assert_eq!(parse_size("300"), Ok(300));
        assert_eq!(parse_size("2G"), Ok(2 << 30));
        for bad in ["", "M", "0", "-1", "1T", "1.5M", "18446744073709551615G"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_switch("signal"), Ok(SwitchAt::Signal));
        assert_eq!(parse_switch("100M"), Ok(SwitchAt::Size(100 << 20)));
        assert_eq!(parse_switch("5m"), Ok(SwitchAt::Time(Duration::from_secs(300))));
        for bad in ["", "s", "30", "0s", "0M", "signals", "1.5h", "18446744073709551615d"] {
            assert!(parse_switch(bad).is_err(), "{bad}");
        }
    }
}
