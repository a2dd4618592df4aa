//! What texts are called instead.

use perftab_perfdata::map::{Map, Set};
use perftab_perfdata::sorting::{sort, sort_by_key};
use std::borrow::Cow;
use std::ops::Range;

use super::Rename;

/// A text as it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub text: Cow<'a, str>,
    /// What it was, if it is called otherwise.
    pub was: Option<Cow<'a, str>>,
}

impl Line<'_> {
    /// A copy that is of no profile.
    pub fn into_owned(self) -> Line<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Line { text: owned(self.text), was: self.was.map(owned) }
    }
}

/// A text and the stretches of it that will be called otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Draft<'a> {
    text: Cow<'a, str>,
    stretches: Vec<Stretch>,
}

#[derive(Clone, Debug)]
struct Stretch {
    range: Range<usize>,
    by: By,
}

#[derive(Clone, Debug)]
enum By {
    /// A rename, as its position among them.
    Rename(usize),
    /// This, whatever else is there.
    Text(String),
}

impl<'a> Draft<'a> {
    pub fn new(text: Cow<'a, str>) -> Self {
        Self { text, stretches: Vec::new() }
    }

    /// All of it is called otherwise.
    pub fn of_alias(text: &'a str, alias: &str) -> Self {
        let mut draft = Self::new(Cow::Borrowed(text));
        draft.replace(0..text.len(), alias);
        draft
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// `by` stands for a stretch.
    pub fn replace(&mut self, range: Range<usize>, by: &str) {
        self.stretches.push(Stretch { range, by: By::Text(by.to_owned()) });
    }

    /// Marks what the patterns match. Stretches that overlap become one, so that of no match a
    /// part remains; the first of them decides what it is called.
    pub fn mark(&mut self, renames: &[Rename]) {
        for (number, rename) in renames.iter().enumerate() {
            let marked = rename.matches(&self.text);
            self.stretches.extend(marked.map(|range| Stretch { range, by: By::Rename(number) }));
        }
        sort_by_key(&mut self.stretches, |stretch| stretch.range.start);
        self.stretches.dedup_by(|later, earlier| {
            let overlaps = later.range.start < earlier.range.end;
            if overlaps {
                earlier.range.end = earlier.range.end.max(later.range.end);
            }
            overlaps
        });
    }
}

/// What renamed stretches are called: by the text that was asked for and the stretch.
#[derive(Default)]
pub(crate) struct Aliases<'r> {
    renames: &'r [Rename],
    aliases: Map<(&'r str, String), String>,
}

impl<'r> Aliases<'r> {
    /// For all texts of a profile.
    pub fn new<'d>(renames: &'r [Rename], drafts: impl Iterator<Item = &'d Draft<'d>>) -> Self {
        let mut matched: Map<&'r str, Set<&'d str>> = Map::new();
        for draft in drafts {
            for Stretch { range, by } in &draft.stretches {
                if let By::Rename(number) = *by {
                    let stretch = &draft.text[range.clone()];
                    matched.entry(renames[number].text()).or_default().insert(stretch);
                }
            }
        }
        let mut aliases = Map::new();
        for (text, stretches) in matched {
            let is_one = stretches.len() == 1;
            for (number, stretch) in (1..).zip(stretches.sorted()) {
                let alias = if is_one { text.to_owned() } else { format!("{text}-{number}") };
                aliases.insert((text, (*stretch).to_owned()), alias);
            }
        }
        Self { renames, aliases }
    }

    /// The text as it is told.
    pub fn line<'a>(&self, draft: Draft<'a>) -> Line<'a> {
        let Draft { text, stretches } = draft;
        if stretches.is_empty() {
            return Line { text, was: None };
        }
        let mut redacted = String::new();
        let mut next = 0;
        for Stretch { range, by } in stretches {
            redacted.push_str(&text[next..range.start]);
            next = range.end;
            match by {
                By::Text(by) => redacted.push_str(&by),
                By::Rename(number) => {
                    let name = self.renames[number].text();
                    let key = (name, text[range].to_owned());
                    redacted.push_str(self.aliases.get(&key).map_or(name, String::as_str));
                }
            }
        }
        redacted.push_str(&text[next..]);
        Line { text: Cow::Owned(redacted), was: Some(text) }
    }
}

/// Names of texts that are not told: `word-1`, `word-2` in the order of the alphabet.
pub(crate) fn numbered<'t>(
    word: &str,
    texts: impl Iterator<Item = &'t str>,
) -> Map<&'t str, String> {
    let mut texts: Vec<&str> = texts.collect();
    sort(&mut texts);
    texts.dedup();
    (1..).zip(texts).map(|(number, text)| (text, format!("{word}-{number}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(renames: &[&str], texts: &[&str]) -> Vec<String> {
        let renames: Vec<Rename> =
            renames.iter().map(|rename| rename.parse().expect("a rename")).collect();
        let drafts: Vec<_> = texts
            .iter()
            .map(|&text| {
                let mut draft = Draft::new(Cow::Borrowed(text));
                draft.mark(&renames);
                draft
            })
            .collect();
        let aliases = Aliases::new(&renames, drafts.iter());
        drafts.into_iter().map(|draft| aliases.line(draft).text.into_owned()).collect()
    }

    #[test]
    fn one_text_is_called_as_asked_and_several_are_numbered() {
        let texts = ["acme::pay", "x<acme>", "main"];
        assert_eq!(renamed(&["acme=corp"], &texts), ["corp::pay", "x<corp>", "main"]);
        let texts = ["b::two", "b::one()", "b::two", "c"];
        let redacted = ["hidden-2", "hidden-1()", "hidden-2", "c"];
        assert_eq!(renamed(&[r"b::\w+"], &texts), redacted);
        // Two patterns, one word: what is different stays different.
        assert_eq!(renamed(&["a", "b"], &["a", "b"]), ["hidden-1", "hidden-2"]);
    }

    #[test]
    fn nothing_remains_of_a_match_that_overlaps_another() {
        assert_eq!(renamed(&["abc=x", "cde=y"], &["_abcde_"]), ["_x_"]);
        assert_eq!(renamed(&["cde=y", "abc=x"], &["_abcde_"]), ["_x_"]);
        assert_eq!(renamed(&["ab=x", "cd=y"], &["abcd"]), ["xy"]);
        // What stands for a stretch is not renamed again.
        assert_eq!(renamed(&["b=a", "a=b"], &["ab"]), ["ba"]);
    }
}
