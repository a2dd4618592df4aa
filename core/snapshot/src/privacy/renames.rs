//! Patterns that a sender renames texts by.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use regex_lite::{Regex, RegexBuilder};
use serde::Deserialize;

/// Characters of a pattern.
const LONGEST_PATTERN: usize = 1000;
/// Bytes of a compiled pattern.
const LARGEST_PATTERN: usize = 64 << 10;
/// What matches is called so where nothing else is said.
const HIDDEN: &str = "hidden";
/// A pattern that finds nothing somewhere in these finds it everywhere.
const PROBES: [&str; 4] = ["", "a", "_0 a::b(c)", "/a/b.c:1 A-Z"];

/// What a pattern matches, and what it is called instead.
///
/// Of one text the matched part is renamed, wherever it stands. If all that a text is given for
/// is one and the same, it becomes that text; else each different match gets a number of its own,
/// in the order of the alphabet over the whole profile: `hidden-1`, `hidden-2`. So what was the
/// same stays the same, and what was different stays different, in every link of one profile.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "RenameText")]
pub struct Rename {
    pattern: Regex,
    text: String,
}

/// A rename as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct RenameText {
    /// A regular expression.
    pub pattern: String,
    /// What is shown instead; empty for `hidden`.
    #[serde(default)]
    pub text: String,
}

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadRename {
    /// It is not understood: why.
    Regex(String),
    /// It is too long.
    TooLong,
    /// It matches where there is nothing.
    MatchesNothing,
}

impl fmt::Display for BadRename {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Regex(why) => write!(f, "not a regular expression: {why}"),
            Self::TooLong => write!(f, "too long: up to {LONGEST_PATTERN} characters"),
            Self::MatchesNothing => {
                f.write_str("it also matches the empty text; use + instead of *")
            }
        }
    }
}

impl std::error::Error for BadRename {}

impl Rename {
    /// `text` is what is shown instead; empty for `hidden`.
    pub fn new(pattern: &str, text: &str) -> Result<Self, BadRename> {
        if pattern.chars().nth(LONGEST_PATTERN).is_some() {
            return Err(BadRename::TooLong);
        }
        let pattern = RegexBuilder::new(pattern)
            .size_limit(LARGEST_PATTERN)
            .build()
            .map_err(|error| BadRename::Regex(error.to_string()))?;
        let is_empty = |text: &&str| pattern.find_iter(text).any(|found| found.is_empty());
        if PROBES.iter().any(is_empty) {
            return Err(BadRename::MatchesNothing);
        }
        let text = if text.is_empty() { HIDDEN } else { text };
        Ok(Self { pattern, text: text.to_owned() })
    }

    /// What is shown instead.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Where it matches, from left to right.
    pub(super) fn matches<'t>(
        &self,
        text: &'t str,
    ) -> impl Iterator<Item = Range<usize>> + use<'_, 't> {
        self.pattern.find_iter(text).map(|found| found.range()).filter(|range| !range.is_empty())
    }
}

impl PartialEq for Rename {
    fn eq(&self, other: &Self) -> bool {
        (self.pattern.as_str(), &self.text) == (other.pattern.as_str(), &other.text)
    }
}

impl Eq for Rename {}

impl TryFrom<RenameText> for Rename {
    type Error = BadRename;

    fn try_from(RenameText { pattern, text }: RenameText) -> Result<Self, BadRename> {
        Self::new(&pattern, &text)
    }
}

/// `PATTERN` or `PATTERN=TEXT`, at the last `=`; one in a pattern alone is `\x3d`.
impl FromStr for Rename {
    type Err = BadRename;

    fn from_str(written: &str) -> Result<Self, BadRename> {
        let (pattern, text) = written.rsplit_once('=').unwrap_or((written, ""));
        Self::new(pattern, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(written: &str) -> Result<(String, String), BadRename> {
        written.parse().map(|rename: Rename| (rename.pattern.to_string(), rename.text))
    }

    #[test]
    fn a_rename_is_a_pattern_and_a_text() {
        let is = |pattern: &str, text: &str| Ok((pattern.to_owned(), text.to_owned()));
        assert_eq!(parts("acme"), is("acme", "hidden"));
        assert_eq!(parts("acme=corp"), is("acme", "corp"));
        assert_eq!(parts("acme="), is("acme", "hidden"));
        assert_eq!(parts("a=b=c"), is("a=b", "c"));
        assert_eq!(parts(r"operator\x3d"), is(r"operator\x3d", "hidden"));
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_refused() {
        for pattern in ["", "a*", "|b", "^", "$", r"\b", r"\B", "x?", "(a|)"] {
            assert_eq!(parts(pattern), Err(BadRename::MatchesNothing), "{pattern}");
        }
        for pattern in ["a+", "^a", r"\bb\b", "a|b", "(ab)*c"] {
            assert!(parts(pattern).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        assert!(matches!(parts("a("), Err(BadRename::Regex(why)) if !why.is_empty()));
        assert!(matches!(parts("(a{1000}){1000}"), Err(BadRename::Regex(_))));
        assert_eq!(parts(&"a".repeat(LONGEST_PATTERN + 1)), Err(BadRename::TooLong));
    }
}
