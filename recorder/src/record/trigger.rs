//! `--trigger`: conditions on this machine, at which a flight recorder writes what it has.
//!
//! No more than a name, `<` or `>`, and a number: who wants more sends SIGUSR2.

use std::fs;
use std::path::Path;
use std::str::FromStr;

/// When samples that are kept are written.
#[derive(Clone, Debug, PartialEq)]
pub enum Trigger {
    /// Once it becomes so, and again after it was not.
    Machine(Condition),
    /// The command fails; nothing else at the end is a reason.
    Failure,
}

/// Whether a number of /proc is above or below another.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    what: Measure,
    compared: Compared,
    with: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Measure {
    /// Of the last minute (/proc/loadavg).
    Load,
    /// A line of /proc/meminfo, in bytes.
    Memory(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compared {
    Above,
    Below,
}

impl FromStr for Trigger {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "exit" || text == "exit!=0" {
            return Ok(Self::Failure);
        }
        let wrong = || "give load>8, MemAvailable<500M or exit!=0".to_owned();
        let at = text.find(['<', '>']).ok_or_else(wrong)?;
        let (name, number) = (text[..at].trim(), text[at + 1..].trim());
        let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match number[digits.len()..].to_ascii_uppercase().as_str() {
            "" | "B" => 1_u64,
            "K" => 1 << 10,
            "M" => 1 << 20,
            "G" => 1 << 30,
            unit => return Err(format!("{unit} is no unit: K, M or G")),
        };
        let with = digits.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric());
        Ok(Self::Machine(Condition {
            what: match name {
                "load" => Measure::Load,
                "exit" => {
                    return Err("exit!=0 is all that can be asked of the exit code".to_owned());
                }
                _ if is_name => Measure::Memory(name.to_owned()),
                _ => return Err(wrong()),
            },
            compared: if text[at..].starts_with('<') { Compared::Below } else { Compared::Above },
            with: with.ok_or_else(wrong)? * unit as f64,
        }))
    }
}

impl Condition {
    /// Whether it is so at present; `None` if there is no such number.
    pub fn holds(&self, root: &Path) -> Option<bool> {
        let number = match &self.what {
            Measure::Load => {
                let text = fs::read_to_string(root.join("proc/loadavg")).ok()?;
                text.split(' ').next()?.parse::<f64>().ok()?
            }
            Measure::Memory(name) => {
                let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
                let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                line?.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0
            }
        };
        Some(match self.compared {
            Compared::Above => number > self.with,
            Compared::Below => number < self.with,
        })
    }

    /// Of this machine: one that has no such number never writes anything.
    pub fn check(&self) -> Result<(), String> {
        let is_known = self.holds(Path::new("/")).is_some();
        let unknown = || {
            format!(
                "--trigger: this machine has no {}: give load or a line of /proc/meminfo",
                self.name()
            )
        };
        is_known.then_some(()).ok_or_else(unknown)
    }

    /// As it is written in /proc.
    pub fn name(&self) -> &str {
        match &self.what {
            Measure::Load => "load",
            Measure::Memory(name) => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(text: &str) -> Condition {
        match text.parse() {
            Ok(Trigger::Machine(condition)) => condition,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn conditions_are_read_from_proc() {
        let folder = std::env::temp_dir().join(format!("perftab-trigger-{}", std::process::id()));
        fs::create_dir_all(folder.join("proc")).unwrap();
        fs::write(folder.join("proc/loadavg"), "8.25 4.00 2.00 3/400 1234\n").unwrap();
        let memory = "MemTotal:       16000000 kB\nMemAvailable:     400000 kB\n";
        fs::write(folder.join("proc/meminfo"), memory).unwrap();
        for (text, expected) in [
            ("load>8", Some(true)),
            ("load > 8.5", Some(false)),
            ("load<9", Some(true)),
            ("MemAvailable<500M", Some(true)),
            ("MemAvailable<300M", Some(false)),
            ("MemTotal>15G", Some(true)),
            ("Mem>1", None),
        ] {
            assert_eq!(condition(text).holds(&folder), expected, "{text}");
        }
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(condition("load>8").holds(&folder), None);
    }

    #[test]
    fn nothing_else_is_a_condition() {
        assert_eq!("exit!=0".parse(), Ok(Trigger::Failure));
        for bad in ["", "load", "load>", ">8", "load=8", "load>8T", "load>-1", "../x>1", "load>nan"]
        {
            assert!(bad.parse::<Trigger>().is_err(), "{bad}");
        }
    }
}
