//! Which functions a text finds.
//!
//! Words, all of which must be found: in a function's name, its DSO or its source files; after
//! `dso:` or `file:` only there. A word in lower case finds both cases, one with a capital letter
//! only itself. `/…/` in place of a word is a regular expression. Texts come from people, and from
//! links: how long they are and how large the expressions is limited, and time with it.

use perftab_perfdata::map::Map;
use perftab_perfdata::slice::{Slice, at_once};
use perftab_perfdata::sorting::sort_by_key;
use std::fmt;

use perftab_names::{FileId, FunctionId, Symbols};
use perftab_profile::{DsoId, Profile};
use regex_lite::{Regex, RegexBuilder};

use crate::call_tree::{CallNodeId, CallTree, Label};
use crate::functions::{self, FunctionSum};
use crate::inverted::Inverted;
use crate::label::Labels;
use crate::weights::Sum;

/// Characters of a text.
const LONGEST_TEXT: usize = 1000;
/// Words of a text: as many as [`Words`] has bits.
const MOST_WORDS: usize = 16;
/// Bytes of a compiled regular expression.
const LARGEST_REGEX: usize = 64 << 10;

/// What to look for.
#[derive(Clone, Debug)]
pub struct Pattern {
    words: Vec<Word>,
}

/// A set of a pattern's words, by bit.
type Words = u16;

#[derive(Clone, Debug)]
struct Word {
    place: Place,
    text: Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Anywhere,
    Dso,
    File,
}

#[derive(Clone, Debug)]
enum Text {
    /// In lower case.
    AnyCase(String),
    Exact(String),
    Regex(Regex),
}

/// Why a text cannot be looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadPattern {
    /// `/…/` is not understood: why.
    Regex(String),
    /// It is too long.
    TooLong,
}

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Regex(why) => write!(f, "Not a regular expression: {why}"),
            Self::TooLong => write!(
                f,
                "Too long to search for: up to {MOST_WORDS} words and {LONGEST_TEXT} characters"
            ),
        }
    }
}

impl std::error::Error for BadPattern {}

impl Pattern {
    /// Reads a text; `None` if there is nothing in it to look for.
    pub fn parse(text: &str) -> Result<Option<Self>, BadPattern> {
        if text.chars().nth(LONGEST_TEXT).is_some() {
            return Err(BadPattern::TooLong);
        }
        let mut words = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (place, after) = place(rest);
            let (text, after) = match regex(after) {
                Some((expression, after)) => (Some(Text::regex(expression)?), after),
                None => {
                    let end = after.find(char::is_whitespace).unwrap_or(after.len());
                    (Text::plain(&after[..end]), &after[end..])
                }
            };
            words.extend(text.map(|text| Word { place, text }));
            rest = after.trim_start();
        }
        if words.len() > MOST_WORDS {
            return Err(BadPattern::TooLong);
        }
        Ok((!words.is_empty()).then_some(Self { words }))
    }

    /// The same; `None` also for a text that cannot be looked for.
    pub fn new(text: &str) -> Option<Self> {
        Self::parse(text).ok().flatten()
    }

    /// True if it finds what is called `name` in a DSO, of which no source file is known.
    pub fn finds(&self, name: &str, dso: Option<&str>) -> bool {
        let in_name =
            self.words_where(|word| word.place == Place::Anywhere && word.text.is_in(name));
        let in_dso = dso.map_or(0, |dso| self.words_in(dso, Place::Dso));
        (in_name | in_dso).count_ones() as usize == self.words.len()
    }

    /// The words that are in a name and may be.
    fn words_in(&self, name: &str, place: Place) -> Words {
        self.words_where(|word| {
            (word.place == place || word.place == Place::Anywhere) && word.text.is_in(name)
        })
    }

    fn words_where(&self, is_found: impl Fn(&Word) -> bool) -> Words {
        let found = self.words.iter().enumerate().filter(|(_, word)| is_found(word));
        found.fold(0, |words, (index, _)| words | 1 << index)
    }
}

/// `dso:` and `file:` say where to look.
fn place(text: &str) -> (Place, &str) {
    for (prefix, place) in [("dso:", Place::Dso), ("file:", Place::File)] {
        if let Some(rest) = text.strip_prefix(prefix) {
            return (place, rest);
        }
    }
    (Place::Anywhere, text)
}

/// The expression between slashes, of which the second ends a word: `/usr/lib` is a path.
fn regex(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('/')?;
    let is_end = |&(at, _): &(usize, &str)| {
        let after = &inside[at + 1..];
        at > 0 && (after.is_empty() || after.starts_with(char::is_whitespace))
    };
    let (end, _) = inside.match_indices('/').find(is_end)?;
    Some((&inside[..end], &inside[end + 1..]))
}

impl Text {
    fn plain(text: &str) -> Option<Self> {
        match text.chars().any(char::is_uppercase) {
            _ if text.is_empty() => None,
            true => Some(Self::Exact(text.to_owned())),
            false => Some(Self::AnyCase(text.to_owned())),
        }
    }

    fn regex(expression: &str) -> Result<Self, BadPattern> {
        // `\S` and the like are no capital letters.
        let mut is_escaped = false;
        let has_capital = expression.chars().any(|letter| {
            let counts = letter.is_uppercase() && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            counts
        });
        let built = RegexBuilder::new(expression)
            .case_insensitive(!has_capital)
            .size_limit(LARGEST_REGEX)
            .build();
        built.map(Self::Regex).map_err(|error| BadPattern::Regex(error.to_string()))
    }

    fn is_in(&self, name: &str) -> bool {
        match self {
            Self::Exact(text) => name.contains(text),
            Self::AnyCase(text) => name.to_lowercase().contains(text),
            Self::Regex(regex) => regex.is_match(name),
        }
    }
}

/// A pattern at work on one profile's names. Each is looked at once.
pub struct Finder<'a> {
    pattern: &'a Pattern,
    profile: &'a Profile,
    labels: Labels<'a>,
    in_files: Map<FunctionId, Words>,
    /// In what the pattern has been found, and in what not.
    in_dsos: Map<DsoId, Words>,
    known: Map<Label, bool>,
}

impl<'a> Finder<'a> {
    /// For a profile and what is known of its names.
    pub fn new(profile: &'a Profile, symbols: &'a Symbols, pattern: &'a Pattern) -> Self {
        Self {
            pattern,
            profile,
            labels: Labels::new(profile, symbols),
            in_files: in_files(profile, symbols, pattern),
            in_dsos: Map::default(),
            known: Map::default(),
        }
    }

    /// True if the pattern finds the function that a call node stands for. Groups are not found.
    pub fn finds(&mut self, label: Label) -> bool {
        if let Some(&known) = self.known.get(&label) {
            return known;
        }
        let found = self.words(label).count_ones() as usize == self.pattern.words.len();
        self.known.insert(label, found);
        found
    }

    fn words(&mut self, label: Label) -> Words {
        let name = match label {
            Label::All | Label::Group(_) | Label::Family(_) => return 0,
            // Its text has words of ours.
            label if label.function().is_some_and(|id| id.as_unnamed_of().is_some()) => {
                String::new()
            }
            label => self.labels.text(label),
        };
        let Self { pattern, profile, labels, in_files, in_dsos, .. } = self;
        let in_dso = labels.dso(label).map_or(0, |dso| {
            *in_dsos
                .entry(dso)
                .or_insert_with(|| pattern.words_in(profile.dsos.get(dso).name(), Place::Dso))
        });
        let in_file = label.function().and_then(|function| in_files.get(&function).copied());
        let in_name =
            pattern.words_where(|word| word.place == Place::Anywhere && word.text.is_in(&name));
        in_name | in_dso | in_file.unwrap_or_default()
    }
}

/// The functions in whose source files there are words of a pattern.
fn in_files(profile: &Profile, symbols: &Symbols, pattern: &Pattern) -> Map<FunctionId, Words> {
    let mut of_file: Map<FileId, Words> = Map::new();
    let mut of_function = Map::new();
    if pattern.words.iter().all(|word| word.place == Place::Dso) {
        return of_function;
    }
    let levels = profile.frames.iter().flat_map(|(frame, _)| symbols.levels(frame));
    for (level, file) in levels.filter_map(|level| Some((level, level.file?))) {
        let words = *of_file
            .entry(file)
            .or_insert_with(|| pattern.words_in(symbols.file(file), Place::File));
        if words != 0 {
            *of_function.entry(level.function).or_default() |= words;
        }
    }
    of_function
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchMatches {
    /// Samples that have at least one match on their stack.
    pub sum: Sum,
    /// How many functions match.
    pub functions: u32,
    /// The functions that match, heaviest first, each with its heaviest call node in the tree.
    pub matches: Vec<FunctionSum>,
}

/// Searches a call tree.
pub fn search(
    profile: &Profile,
    symbols: &Symbols,
    tree: &CallTree,
    pattern: &Pattern,
) -> SearchMatches {
    at_once(async |slice| search_in_slices(profile, symbols, tree, pattern, slice).await)
}

/// The same of a call tree of callees, in slices of call nodes and functions.
pub async fn search_in_slices(
    profile: &Profile,
    symbols: &Symbols,
    tree: &CallTree,
    pattern: &Pattern,
    slice: &Slice,
) -> SearchMatches {
    let (sums, row_of) = functions::sums_by_row(tree, slice).await;
    let mut finder = Finder::new(profile, symbols, pattern);
    let mut is_found = Vec::with_capacity(sums.len());
    let mut rows = 0..sums.len();
    while let Some(part) = slice.part(&mut rows).await {
        is_found.extend(sums[part].iter().map(|sum| finder.finds(sum.label)));
    }
    // By call node: whether it is of a function that is found, or below one.
    let mut is_below = Vec::with_capacity(tree.len());
    let mut sum = Sum::default();
    let mut ids = 0..tree.len();
    while let Some(part) = slice.part(&mut ids).await {
        for id in part.map(|id| CallNodeId(id as u32)) {
            let row = row_of[id.0 as usize] as usize;
            let before = tree.parent(id).is_some_and(|above| is_below[above.0 as usize]);
            let is_it = is_found.get(row).is_some_and(|&is_found| is_found);
            if is_it && !before {
                sum.add(tree.total(id));
            }
            is_below.push(before || is_it);
        }
    }
    let found = sums.iter().zip(&is_found).filter(|(_, is_found)| **is_found);
    let mut matches: Vec<FunctionSum> = found.map(|(sum, _)| *sum).collect();
    sort_by_key(&mut matches, |sum| std::cmp::Reverse(sum.total.weight));
    SearchMatches { sum, functions: matches.len() as u32, matches }
}

/// Functions that are looked for in what has not been made of an inverted tree.
const MOST_LOOKED_FOR: usize = 200;

/// What was found in the callees that an inverted tree is made of, in that tree. Samples and functions
/// are the same; a match is the heaviest call node that was made of a function, or else the one that
/// most samples of a call pass: of the heaviest functions, since it is made for that.
pub fn in_inverted(inverted: &mut Inverted, found: SearchMatches) -> SearchMatches {
    let made: Map<Label, CallNodeId> =
        functions::sums(inverted.tree()).into_iter().map(|sum| (sum.label, sum.heaviest)).collect();
    let mut look_for = MOST_LOOKED_FOR;
    let matches = found.matches.into_iter().filter_map(|function| {
        if let Some(&heaviest) = made.get(&function.label) {
            return Some(FunctionSum { heaviest, ..function });
        }
        look_for = look_for.checked_sub(1)?;
        let heaviest = inverted.call_node_of(function.heaviest)?;
        Some(FunctionSum { heaviest, ..function })
    });
    SearchMatches { matches: matches.collect(), ..found }
}
