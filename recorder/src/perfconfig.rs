//! What users have set for perf and mean for us too: the configuration files of `perf config`.
//!
//! perf's manual ("perf-config") has the names. /etc/perfconfig is read first, then ~/.perfconfig,
//! and the last word counts; `$PERF_CONFIG` names the only file to read, `$PERF_CONFIG_NOSYSTEM`
//! and `$PERF_CONFIG_NOGLOBAL` leave one out (tools/perf/util/config.c).
//!
//! Constraints: whoever could write the file could choose where files are written, so one that
//! belongs to another user than this one or root is passed over, as perf does. What can't be read
//! or understood is no setting.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file longer than this is no configuration.
const MAX_BYTES: u64 = 1 << 20;

/// Settings in the order in which they were read.
#[derive(Debug, Default)]
pub struct PerfConfig {
    /// `section.key` in lower case, and the value.
    settings: Vec<(String, String)>,
    home: Option<PathBuf>,
}

/// `record.build-id`: what perf does about build-ids when it has recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordBuildIds {
    /// Look for the DSOs hit, note their ids, put copies into the cache.
    Cache,
    /// The same without copies.
    NoCache,
    /// Do not look at all.
    Skip,
    /// Take them from the kernel's mmap events.
    Mmap,
}

impl PerfConfig {
    /// This user's.
    pub fn of_user() -> Self {
        let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
        let home = variable("HOME").map(PathBuf::from);
        let mut config = Self { settings: Vec::new(), home };
        if let Some(only) = variable("PERF_CONFIG") {
            config.read(Path::new(&only));
            return config;
        }
        let is_set = |name| variable(name).is_some_and(|value| value != OsStr::new("0"));
        if !is_set("PERF_CONFIG_NOSYSTEM") {
            config.read(Path::new("/etc/perfconfig"));
        }
        if let Some(home) = config.home.clone()
            && !is_set("PERF_CONFIG_NOGLOBAL")
        {
            config.read(&home.join(".perfconfig"));
        }
        config
    }

    /// `buildid.dir`: where the cache is. `~/` is the home folder.
    pub fn buildid_dir(&self) -> Option<PathBuf> {
        let dir = self.get("buildid.dir").filter(|dir| !dir.is_empty())?;
        match (dir.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => Some(home.join(below)),
            _ => Some(PathBuf::from(dir)),
        }
    }

    /// `buildid-cache.debuginfod`: URLs, parted by spaces, in the place of `$DEBUGINFOD_URLS`.
    pub fn debuginfod(&self) -> Option<&str> {
        self.get("buildid-cache.debuginfod").filter(|urls| !urls.trim().is_empty())
    }

    /// `record.build-id`; `None` if it is not set, or to something that perf refuses too.
    pub fn record_build_ids(&self) -> Option<RecordBuildIds> {
        Some(match self.get("record.build-id")? {
            "cache" => RecordBuildIds::Cache,
            "no-cache" => RecordBuildIds::NoCache,
            "skip" => RecordBuildIds::Skip,
            "mmap" => RecordBuildIds::Mmap,
            _ => return None,
        })
    }

    fn get(&self, name: &str) -> Option<&str> {
        let mut newest_first = self.settings.iter().rev();
        newest_first.find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn read(&mut self, path: &Path) {
        let Ok(file) = File::open(path) else { return };
        let is_ours = file.metadata().is_ok_and(|metadata| {
            let ours = rustix::process::geteuid().as_raw();
            metadata.uid() == 0 || metadata.uid() == ours
        });
        let mut text = Vec::new();
        if is_ours && file.take(MAX_BYTES).read_to_end(&mut text).is_ok() {
            self.parse(&String::from_utf8_lossy(&text));
        }
    }

    /// Lines of `[section]`, `[section "part"]` and `key = value`, as in git's files.
    fn parse(&mut self, text: &str) {
        let mut section = String::new();
        for line in text.lines().map(str::trim) {
            if let Some(header) = line.strip_prefix('[') {
                let header = header.split(']').next().unwrap_or_default();
                section = match header.split_once('"') {
                    Some((name, part)) => {
                        let part = part.trim_end().trim_end_matches('"');
                        format!("{}.{part}", name.trim().to_lowercase())
                    }
                    None => header.trim().to_lowercase(),
                };
            } else if !line.is_empty() && !line.starts_with(['#', ';']) {
                // A key without a value is one that is switched on.
                let (key, value) = line.split_once('=').unwrap_or((line, "true"));
                let name = format!("{section}.{}", key.trim().to_lowercase());
                self.settings.push((name, unquoted(value.trim())));
            }
        }
    }
}

/// A value up to a comment, without its quotes, with `\` taken as in git's files.
fn unquoted(value: &str) -> String {
    let mut out = String::new();
    let mut in_quotes = false;
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => in_quotes = !in_quotes,
            '#' | ';' if !in_quotes => break,
            '\\' => match characters.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(escaped) => out.push(escaped),
                None => {}
            },
            other => out.push(other),
        }
    }
    if in_quotes || value.ends_with('"') { out } else { out.trim_end().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> PerfConfig {
        let mut config = PerfConfig { settings: Vec::new(), home: Some("/home/me".into()) };
        config.parse(text);
        config
    }

    #[test]
    fn the_last_word_counts() {
        let config = config(
            "# of all commands\n[buildid]\n\tdir = /one\n[BuildID] ; again\nDIR = \"/two # b\" # x\n",
        );
        assert_eq!(config.buildid_dir(), Some("/two # b".into()));
        assert_eq!(config.debuginfod(), None);
    }

    #[test]
    fn home_is_written_short() {
        assert_eq!(config("[buildid]\ndir=~/x").buildid_dir(), Some("/home/me/x".into()));
        assert_eq!(config("[buildid]\ndir=").buildid_dir(), None);
        assert_eq!(config("dir=/x\n[other]\ndir=/y").buildid_dir(), None);
    }

    #[test]
    fn settings_of_commands() {
        let config = config(
            "[buildid-cache]\ndebuginfod = http://a:1/ http://b:2/\n[record]\nbuild-id = no-cache",
        );
        assert_eq!(config.debuginfod(), Some("http://a:1/ http://b:2/"));
        assert_eq!(config.record_build_ids(), Some(RecordBuildIds::NoCache));
    }

    #[test]
    fn what_is_not_understood_is_no_setting() {
        let config = config("[record\n[\n]\n=\n\"\\\n[record]\nbuild-id = sometimes\nbuild-id\n");
        assert_eq!(config.record_build_ids(), None);
    }
}
