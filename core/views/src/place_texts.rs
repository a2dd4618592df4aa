//! What stands at source lines and at instructions, as far as somebody has read it.
//!
//! Core reads neither sources nor code as text: who opens files does, or a link brings it along.

use perftab_perfdata::map::Map;
use std::num::NonZeroU32;

use perftab_names::FileId;
use perftab_profile::DsoId;
use serde::Serialize;

use crate::hot_lines::SourceLine;

/// Characters of a text that are kept.
pub const MAX_PLACE_TEXT: usize = 200;
/// Columns of a tab.
const TAB: usize = 4;

/// What speaks for the text of a source file, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum TextCheck {
    /// Nobody says.
    #[default]
    Unknown,
    /// Nothing does: no MD5 is known.
    NotChecked,
    /// It is in the debug information itself.
    Embedded,
    /// Its MD5 is that in the debug information.
    Checked,
}

impl TextCheck {
    /// All of them. Their places are part of the format of links.
    pub const ALL: [Self; 4] = [Self::Unknown, Self::NotChecked, Self::Embedded, Self::Checked];
    /// As they are serialized.
    const NAMES: [&str; 4] = ["unknown", "not-checked", "embedded", "checked"];

    /// The one that is called so.
    pub fn from_name(name: &str) -> Option<Self> {
        let at = Self::NAMES.iter().position(|known| *known == name)?;
        Self::ALL.get(at).copied()
    }
}

/// Texts by place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceTexts {
    lines: Map<(FileId, NonZeroU32), String>,
    checks: Map<FileId, TextCheck>,
    instructions: Map<(DsoId, u64), String>,
}

impl PlaceTexts {
    /// Keeps a line of source, without what it ends with and as far as it fits. The first that is told
    /// of a line stays.
    pub fn add_line(&mut self, file: FileId, line: NonZeroU32, text: &str) {
        keep(&mut self.lines, (file, line), text);
    }

    /// Says what speaks for the lines of a file.
    pub fn add_check(&mut self, file: FileId, check: TextCheck) {
        self.checks.entry(file).or_insert(check);
    }

    /// Keeps an instruction; `address` is that of a frame.
    pub fn add_instruction(&mut self, dso: DsoId, address: u64, text: &str) {
        keep(&mut self.instructions, (dso, address), text);
    }

    /// What stands at a line; an empty one has nothing.
    pub fn line(&self, at: SourceLine) -> Option<&str> {
        self.lines.get(&(at.file?, at.line?)).map(String::as_str)
    }

    /// What speaks for the lines of a file.
    pub fn check(&self, file: FileId) -> TextCheck {
        self.checks.get(&file).copied().unwrap_or_default()
    }

    /// What stands at an address.
    pub fn instruction(&self, dso: DsoId, address: u64) -> Option<&str> {
        self.instructions.get(&(dso, address)).map(String::as_str)
    }

    /// All lines, in no order.
    pub fn lines(&self) -> impl Iterator<Item = (FileId, NonZeroU32, &str)> {
        self.lines.iter().map(|(&(file, line), text)| (file, line, text.as_str()))
    }

    /// All instructions, in no order.
    pub fn instructions(&self) -> impl Iterator<Item = (DsoId, u64, &str)> {
        self.instructions.iter().map(|(&(dso, address), text)| (dso, address, text.as_str()))
    }
}

fn keep<K: Eq + std::hash::Hash>(texts: &mut Map<K, String>, key: K, text: &str) {
    let text = shown(text);
    if !text.is_empty() {
        texts.entry(key).or_insert(text);
    }
}

/// Without tabs and the end of the line, and not too long.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    let mut columns = 0;
    for character in text.trim_end().chars() {
        if columns >= MAX_PLACE_TEXT {
            shown.push('…');
            break;
        }
        let width = if character == '\t' { TAB - columns % TAB } else { 1 };
        match character {
            '\t' => shown.extend(std::iter::repeat_n(' ', width)),
            character => shown.push(character),
        }
        columns += width;
    }
    shown
}

#[cfg(test)]
mod tests {
    use perftab_names::Symbols;
    use perftab_profile::Profile;

    use super::*;

    #[test]
    fn lines_are_kept_without_tabs_and_only_so_long() {
        assert_eq!(shown("\tif (x)\t{ \r\n"), "    if (x)  {");
        assert_eq!(shown(" \t"), "");
        let long = shown(&"ä".repeat(300));
        assert_eq!(long.chars().count(), MAX_PLACE_TEXT + 1);
        assert!(long.ends_with("ä…"));
    }

    #[test]
    fn the_first_text_of_a_line_stays() {
        let mut texts = PlaceTexts::default();
        let file = Symbols::new(&Profile::default()).file_of_path("a.c");
        let at = SourceLine { file: Some(file), line: NonZeroU32::new(7) };
        for text in ["", "first", "second"] {
            texts.add_line(file, at.line.expect("7"), text);
        }
        assert_eq!(texts.line(at), Some("first"));
        assert_eq!(texts.line(SourceLine { file: None, ..at }), None);
    }
}
