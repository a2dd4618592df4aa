//! Counting units (PMUs) of a machine, and the events that the kernel names for them.
//!
//! `Documentation/ABI/testing/sysfs-bus-event_source-devices-*` in the kernel: below
//! `/sys/bus/event_source/devices/NAME` stand the unit's `type`, in `format/TERM` the bits of
//! `config`, `config1` or `config2` that a term fills, and in `events/ALIAS` terms that an event
//! stands for.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use glob::Pattern;

use super::EventCode;
use super::terms::Term;

/// Where units are described, below the root.
const UNITS: &str = "sys/bus/event_source/devices";
/// Kept of the value of a term that has to be given, as in `event=0x10,core=?`.
const TO_BE_GIVEN: &str = "?";

/// A counting unit.
#[derive(Debug)]
pub struct Unit {
    name: String,
    folder: PathBuf,
}

impl Unit {
    /// The unit of this name, if this machine has it.
    pub fn named(root: &Path, name: &str) -> Option<Self> {
        let folder = root.join(UNITS).join(plain(name)?);
        folder.join("type").exists().then(|| Self { name: name.to_owned(), folder })
    }

    /// The unit of this name; or all of which it is the beginning, as a machine has many of one
    /// kind (`uncore_imc_0`, `uncore_imc_1`; `uncore_` may be left out); or all that match a
    /// pattern. So does perf (`tools/perf/util/parse-events.y`).
    pub fn all_named(root: &Path, name: &str) -> Vec<Self> {
        if let Some(unit) = Self::named(root, name) {
            return vec![unit];
        }
        let pattern = Pattern::new(name).ok().filter(|_| name.contains(['*', '?', '[']));
        let mut units = Self::all(root);
        units.retain(|unit| {
            let short = unit.name.strip_prefix("uncore_").unwrap_or(&unit.name);
            [short, unit.name.as_str()].into_iter().any(|known| match &pattern {
                Some(pattern) => pattern.matches(known),
                None => known == name || is_numbered(known, name),
            })
        });
        units
    }

    /// All that have an event of this name, in the order of their own names.
    pub fn all_with(root: &Path, event: &str) -> Vec<Self> {
        let mut units = Self::all(root);
        units.retain(|unit| unit.alias(event).is_some());
        units
    }

    /// Every unit, in the order of their names.
    fn all(root: &Path) -> Vec<Self> {
        let folders = fs::read_dir(root.join(UNITS)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            folders.filter_map(|folder| folder.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names.iter().filter_map(|name| Self::named(root, name)).collect()
    }

    /// Type and name of each, as PMU_MAPPINGS has them.
    pub fn mappings(root: &Path) -> Vec<(u32, String)> {
        let of = |unit: Self| Some((unit.code().ok()?.event_type, unit.name));
        Self::all(root).into_iter().filter_map(of).collect()
    }

    /// What the kernel calls an event of no terms.
    pub fn code(&self) -> Result<EventCode> {
        let path = self.folder.join("type");
        let number = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok());
        let event_type = number.with_context(|| format!("{} is not readable", path.display()))?;
        Ok(EventCode::new(event_type, 0))
    }

    /// The terms with those that an event's name among them stands for.
    pub fn expanded(&self, terms: Vec<Term>) -> Result<Vec<Term>> {
        let (mut expanded, mut to_be_given) = (Vec::new(), Vec::new());
        for term in terms {
            match self.alias_in(&term) {
                Some(alias) => {
                    let is_open = |term: &Term| term.value.as_deref() == Some(TO_BE_GIVEN);
                    let (open, known): (Vec<_>, Vec<_>) =
                        Term::parse_list(&alias).into_iter().partition(is_open);
                    to_be_given.extend(open);
                    expanded.extend(known);
                }
                None => expanded.push(term),
            }
        }
        let is_missing = |open: &&Term| expanded.iter().all(|term| term.key != open.key);
        if let Some(open) = to_be_given.iter().find(is_missing) {
            bail!("{0} has to be given too, as {0}=1", open.key);
        }
        Ok(expanded)
    }

    /// Puts a term's value where it belongs. Bits of several terms are put together, as perf does.
    pub fn set(&self, code: &mut EventCode, term: &Term) -> Result<()> {
        let Some(format) = self.file("format", &term.key) else {
            // `r1a8`, where it is the name of nothing else.
            if let (Some(number), None) = (super::parse::raw(&term.key), &term.value) {
                code.config[0] = number;
                return Ok(());
            }
            bail!(
                "{} has no event or term '{}'; {folder}/events and {folder}/format have what there is",
                self.name,
                term.key,
                folder = self.folder.display(),
            );
        };
        let field = Field::parse(&format).with_context(|| {
            format!("{}: perftab does not know its format, {}", term.key, format.trim())
        })?;
        let value = term.number()?;
        if value > field.largest() {
            bail!("{}: the largest value is {}", term.key, field.largest());
        }
        code.config[field.word] |= field.spread(value);
        Ok(())
    }

    /// The terms that a name stands for: one that is alone, or the value of `event`.
    fn alias_in(&self, term: &Term) -> Option<String> {
        match (&term.value, term.key.as_str()) {
            (None, name) if self.file("format", name).is_none() => self.alias(name),
            (Some(name), "event") if term.number().is_err() => self.alias(name),
            _ => None,
        }
    }

    fn alias(&self, name: &str) -> Option<String> {
        // What belongs to an event of another file: by how much to multiply it, and so on.
        let about = [".scale", ".unit", ".per-pkg", ".snapshot"];
        let is_event = !about.iter().any(|end| name.ends_with(end));
        is_event.then(|| self.file("events", name)).flatten()
    }

    fn file(&self, folder: &str, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.folder.join(folder).join(plain(name)?)).ok()?;
        Some(text.trim().to_owned())
    }
}

/// `imc_0` is one of `imc`.
fn is_numbered(known: &str, name: &str) -> bool {
    let number = known.strip_prefix(name).map(|rest| rest.strip_prefix('_').unwrap_or(rest));
    number.is_some_and(|digits| {
        !name.is_empty() && !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
    })
}

/// A name that leads to nothing but a file in its folder.
fn plain(name: &str) -> Option<&str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (!name.is_empty() && !name.starts_with('.') && name.bytes().all(is_plain)).then_some(name)
}

/// The bits that a term fills, the lowest of its value first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    /// Of `config`, `config1` and `config2`.
    word: usize,
    mask: u64,
}

impl Field {
    /// Reads `config:0-7,21` or `config1:0-63`.
    fn parse(text: &str) -> Option<Self> {
        let (word, ranges) = text.trim().split_once(':')?;
        let word = ["config", "config1", "config2"].iter().position(|known| *known == word)?;
        let mut mask = 0;
        for range in ranges.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            mask |= (first..=last.min(u64::BITS))
                .try_fold(0, |bits, bit| Some(bits | 1u64.checked_shl(bit)?))?;
        }
        Some(Self { word, mask })
    }

    fn largest(self) -> u64 {
        match self.mask.count_ones() {
            u64::BITS => u64::MAX,
            width => (1 << width) - 1,
        }
    }

    fn spread(self, value: u64) -> u64 {
        let places = (0..u64::BITS).filter(|bit| self.mask >> bit & 1 == 1);
        places.zip(0..).fold(0, |bits, (place, bit)| bits | (value >> bit & 1) << place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_put_together_of_ranges() {
        let field = |text| Field::parse(text).unwrap();
        assert_eq!(field("config:0-7"), Field { word: 0, mask: 0xff });
        // The high bits of AMD's event are elsewhere.
        let event = field("config:0-7,32-35\n");
        assert_eq!((event.largest(), event.spread(0xabc)), (0xfff, 0xa_0000_00bc));
        assert_eq!(field("config2:0-63").largest(), u64::MAX);
        assert_eq!(field("config1:63").spread(1), 1 << 63);
        for bad in ["config", "config3:0-7", "config:", "config:0-64", "config:64", "config:a", ""]
        {
            assert_eq!(Field::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn names_cannot_lead_out_of_their_folder() {
        for name in ["", ".", "..", "../cpu", "a/b", "/etc", ".hidden", "a\0"] {
            assert_eq!(plain(name), None, "{name}");
        }
        assert_eq!(plain("topdown-retiring"), Some("topdown-retiring"));
    }
}
