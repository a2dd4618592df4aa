//! When functions of the two sides are one.
//!
//! In one build a function is its name, or, where it has none, its address. Where only one side has
//! names, the other takes the name of the same address: both are of one build, so it is a name that
//! passed the gate. In two builds a function is its name, and all code without one is one; so it is in one
//! build where the query shows it as one.

use perftab_perfdata::map::{Map, Set};

use perftab_names::{ByFunction, FunctionId, Provenance};
use perftab_perfdata::text::printable;
use perftab_profile::{Dso, IdTable, StringId, Strings, hash_pair};

use super::dsos::{self, DsoPair, MatchedBy, Pairing, Relation};
use super::{ComparedSide, Recordings, Source, Sums};
use crate::Unnamed;
use crate::call_tree::Label;
use crate::label::{Kind, Labels, mark};

/// What a call node of both sides stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComparedLabel {
    /// What it is called.
    pub name: Name,
    /// The pair of DSOs that its code lies in.
    pub pair: Option<u32>,
    /// Its colour.
    pub kind: Kind,
    /// Bits of [`mark`].
    pub marks: u8,
    /// The same label when it is not inlined: equal for the same function.
    pub function: u32,
    /// The side whose forced name it is: such a name never pairs.
    forced_on: Option<ComparedSide>,
}

/// What a call node is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// A process, or something else that is no function.
    Other(StringId),
    /// A function with this name.
    Function(StringId),
    /// Code without a name; what is shown is the address of the side that was met first.
    Address {
        /// What it is compared by.
        compared: u64,
        /// What it is called.
        shown: u64,
    },
    /// All code of a pair of DSOs that has no name: of two builds, or where it is shown as one.
    Unnamed,
}

/// Which sides have something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Presence {
    /// Both, or neither.
    Both = 0,
    /// Only the one after.
    OnlyAfter = 1,
    /// Only the one before.
    OnlyBefore = 2,
}

impl Presence {
    /// Of what has these sums.
    pub fn of(sums: Sums) -> Self {
        match (sums.before.samples, sums.after.samples) {
            (0, 1..) => Self::OnlyAfter,
            (1.., 0) => Self::OnlyBefore,
            _ => Self::Both,
        }
    }
}

/// The text of all code of a pair that has no name.
const UNNAMED: &str = "[no name]";

pub(super) fn text(label: &ComparedLabel, texts: &Strings) -> String {
    match label.name {
        Name::Other(text) | Name::Function(text) => printable(texts.get(text)).into_owned(),
        Name::Address { shown, .. } => format!("{shown:#x}"),
        Name::Unnamed => UNNAMED.to_owned(),
    }
}

/// The labels of both sides that have a number.
pub(super) struct LabelNumbers {
    labels: Vec<ComparedLabel>,
    texts: Strings,
    index: IdTable,
    /// By side and function: its label, called and inlined.
    of_function: [[ByFunction<u32>; 2]; 2],
    others: [Map<Label, u32>; 2],
    /// By pair: whether a side has any function with a name of the build that ran.
    is_named: [Set<u32>; 2],
}

const NONE: u32 = u32::MAX;

impl LabelNumbers {
    /// None has a number yet.
    pub fn new(sources: [&Source<'_>; 2], pairing: &Pairing) -> Self {
        let rows = [(); 2].map(|()| [(); 2].map(|()| ByFunction::new(NONE)));
        let named =
            ComparedSide::BOTH.map(|side| named_pairs(sources[side as usize], side, pairing));
        Self {
            labels: Vec::new(),
            texts: Strings::default(),
            index: IdTable::default(),
            of_function: rows,
            others: Default::default(),
            is_named: named,
        }
    }

    pub fn finish(self) -> (Vec<ComparedLabel>, Strings) {
        (self.labels, self.texts)
    }
}

/// Numbers labels.
pub(super) struct Labeller<'a> {
    pub sources: [&'a Source<'a>; 2],
    pub recordings: Recordings,
    pub pairing: &'a Pairing,
    pub pairs: &'a [DsoPair],
    pub numbered: &'a mut LabelNumbers,
}

impl Labeller<'_> {
    fn unnamed(&self) -> Unnamed {
        let [before, after] = self.sources;
        before.unnamed.max(after.unnamed)
    }

    /// Whether calls of a label by itself are none.
    pub fn is_one(&self, label: u32) -> bool {
        let label = &self.numbered.labels[label as usize];
        self.unnamed() == Unnamed::OnePerDso && label.name == Name::Unnamed
    }

    /// The number of a label of one side.
    pub fn label(&mut self, side: ComparedSide, label: Label) -> u32 {
        let (function, inlined) = match label {
            Label::Function(function) => (function, 0),
            Label::Inlined(function) => (function, 1),
            other => return self.other(side, other),
        };
        let known = self.numbered.of_function[side as usize][inlined].get(function);
        if known != NONE {
            return known;
        }
        let made = self.function(side, function);
        let called = self.intern(made);
        let row = match inlined {
            0 => called,
            _ => {
                let marks = made.marks | mark::INLINED;
                self.intern(ComparedLabel { marks, function: called, ..made })
            }
        };
        *self.numbered.of_function[side as usize][inlined].get_mut(function) = row;
        row
    }

    fn other(&mut self, side: ComparedSide, label: Label) -> u32 {
        if let Some(&known) = self.numbered.others[side as usize].get(&label) {
            return known;
        }
        let source = self.sources[side as usize];
        let labels = Labels::new(source.profile, source.symbols).counting(&source.own);
        let made = ComparedLabel {
            name: Name::Other(self.numbered.texts.intern(&labels.text(label))),
            pair: labels.dso(label).map(|dso| self.pairing.of(side, dso)),
            kind: labels.kind(label),
            marks: labels.marks(label),
            function: NONE,
            forced_on: None,
        };
        let row = self.intern(made);
        self.numbered.others[side as usize].insert(label, row);
        row
    }

    /// The label of a function that was called.
    fn function(&mut self, side: ComparedSide, id: FunctionId) -> ComparedLabel {
        let (from, id) = self.named_on_other_side(side, id).unwrap_or((side, id));
        let source = self.sources[from as usize];
        let function = source.symbols.function(id);
        let labels = Labels::new(source.profile, source.symbols).counting(&source.own);
        let pair = self.pairing.of(from, function.dso);
        let how = &self.pairs[pair as usize];
        let name = match function.name {
            Some(name) => Name::Function(self.numbered.texts.intern(name)),
            None if how.matched_by == MatchedBy::Name => Name::Unnamed,
            None if self.unnamed() == Unnamed::OnePerDso => Name::Unnamed,
            None => {
                let dso = source.profile.dsos.get(function.dso);
                let compared = function.address.wrapping_sub(self.base(dso, how));
                Name::Address { compared, shown: function.address }
            }
        };
        let is_forced =
            function.provenance == Provenance::Forced && self.recordings == Recordings::Two;
        ComparedLabel {
            name,
            pair: Some(pair),
            kind: labels.function_kind(id),
            marks: labels.marks(Label::Function(id)),
            function: NONE,
            forced_on: is_forced.then_some(side),
        }
    }

    fn base(&self, dso: &Dso, pair: &DsoPair) -> u64 {
        match self.recordings {
            Recordings::One => 0,
            Recordings::Two => dsos::base(dso, pair.relation),
        }
    }

    /// For code without a name: the function that the other side knows at the same address of the
    /// same build.
    fn named_on_other_side(
        &self,
        side: ComparedSide,
        id: FunctionId,
    ) -> Option<(ComparedSide, FunctionId)> {
        let other = side.other();
        let (source, from) = (self.sources[side as usize], self.sources[other as usize]);
        let function = source.symbols.function(id);
        let pair = self.pairing.of(side, function.dso);
        if function.name.is_some() || !self.numbered.is_named[other as usize].contains(&pair) {
            return None;
        }
        let how = &self.pairs[pair as usize];
        if how.matched_by != MatchedBy::Address || how.relation != Relation::SameBuild {
            return None;
        }
        let dso = source.profile.dsos.get(function.dso);
        let address = function.address.wrapping_sub(self.base(dso, how));
        let members = if other == ComparedSide::Before { &how.before } else { &how.after };
        members.iter().find_map(|member| {
            let base = self.base(from.profile.dsos.get(member.id), how);
            let frame = from.symbols.frame_at(from.profile, member.id, address.wrapping_add(base));
            let merged = from.symbols.merged(frame?);
            let known = from.symbols.function(merged);
            let counts = known.name.is_some() && known.provenance != Provenance::Forced;
            counts.then_some((other, merged))
        })
    }

    fn intern(&mut self, made: ComparedLabel) -> u32 {
        let LabelNumbers { labels, index, .. } = &mut *self.numbered;
        let row = index.find_or_insert(
            labels.len(),
            hash_of(&made),
            |row| is_same(&labels[row as usize], &made),
            |row| hash_of(&labels[row as usize]),
        );
        if row as usize == labels.len() {
            let function = if made.function == NONE { row } else { made.function };
            labels.push(ComparedLabel { function, ..made });
        }
        row
    }
}

/// The pairs in which a side has names of the build that ran.
fn named_pairs(source: &Source<'_>, side: ComparedSide, pairing: &Pairing) -> Set<u32> {
    let functions = source.symbols.function_ids();
    let named = functions.map(|id| source.symbols.function(id)).filter(|function| {
        !matches!(function.provenance, Provenance::Unnamed | Provenance::Forced)
    });
    named.map(|function| pairing.of(side, function.dso)).collect()
}

fn is_same(one: &ComparedLabel, other: &ComparedLabel) -> bool {
    let inlined = |label: &ComparedLabel| label.marks & mark::INLINED;
    (one.pair, inlined(one), one.forced_on) == (other.pair, inlined(other), other.forced_on)
        && match (one.name, other.name) {
            (Name::Address { compared: one, .. }, Name::Address { compared: other, .. }) => {
                one == other
            }
            // A process may be called what stands for words in no mapping.
            (Name::Other(text), Name::Other(same)) => text == same && one.kind == other.kind,
            (one, other) => one == other,
        }
}

fn hash_of(label: &ComparedLabel) -> u32 {
    let (what, number) = match label.name {
        Name::Other(text) => (0, u64::from(text.0)),
        Name::Function(text) => (1, u64::from(text.0)),
        Name::Address { compared, .. } => (2, compared),
        Name::Unnamed => (3, 0),
    };
    let pair = u64::from(label.pair.unwrap_or(NONE));
    let inlined = u64::from(label.marks & mark::INLINED);
    hash_pair(number, pair << 4 | what << 1 | inlined) as u32
}
