//! What one side cannot name while the other can: it may be in both, so it has no change yet.
//!
//! Only code that is compared by name is concerned; an address of one build says what a name says. A side
//! may lack all names of a DSO, or only some: of a stripped library it knows what is exported, and of a
//! stripped program what it calls in libraries. Then its unnamed code may be any function that only the
//! other side names.

use perftab_perfdata::map::Map;

use perftab_images::PLT_SUFFIX;
use perftab_names::Status;

use super::labels::{ComparedLabel, Name};
use super::{
    Basis, ChangeKey, ComparedSide, Comparison, DsoPair, DsoSide, FunctionChange, MatchedBy,
    Measures, Source, Sums,
};
use crate::label::mark;

/// What each side has of a pair of DSOs.
#[derive(Clone, Copy, Default)]
struct Shown {
    /// Any code at all, before and after.
    at_all: [bool; 2],
    /// Functions with a name that only a symbol table has.
    named: [bool; 2],
    /// Code without a name: ended in it, and passed through it.
    unnamed: [Sums; 2],
}

/// How far a side's names of a pair reach, where the other side has names.
#[derive(Clone, Copy)]
enum Lacking {
    /// It has none: nothing of the pair can be compared.
    All(ComparedSide),
    /// Its code without a name may be what only the other side names.
    Some(ComparedSide),
}

/// Whether it is a function with a name that counts.
pub(super) fn is_named(label: &ComparedLabel) -> bool {
    matches!(label.name, Name::Function(_)) && label.marks & mark::FORCED == 0
}

impl Comparison {
    /// Notes by function and call node which side may have it without a name. What such code calls is
    /// not found on the other side either.
    pub(super) fn mark_unnamed(&mut self, sources: [&Source<'_>; 2]) {
        let measures = Measures::new(Basis::Share, &self.totals());
        let shown = self.shown_by_pair();
        let lacking: Map<u32, Lacking> = shown
            .iter()
            .filter_map(|(&number, shown)| {
                let pair = &self.dsos[number as usize];
                Some((number, lacking(sources, pair, shown, &measures)?))
            })
            .collect();
        self.without_names = vec![None; self.labels.len()];
        for function in &self.functions {
            let label = &self.labels[function.label as usize];
            let Some(number) = label.pair else { continue };
            self.without_names[function.label as usize] = match lacking.get(&number) {
                None => None,
                Some(&Lacking::All(side)) => Some(side),
                Some(&Lacking::Some(side)) => {
                    let hides = label.name == Name::Unnamed
                        || is_named(label) && may_hide(&measures, function, side, &shown[&number]);
                    hides.then_some(side)
                }
            };
        }
        for (&number, &(Lacking::All(side) | Lacking::Some(side))) in &lacking {
            self.dsos[number as usize].without_names = Some(side);
        }
        self.unnamed_by = vec![None; self.label.len()];
        for row in 0..self.label.len() {
            let label = &self.labels[self.label[row] as usize];
            // The root is its own parent.
            let of_caller = self.unnamed_by[self.parent[row].0 as usize];
            self.unnamed_by[row] = of_caller.or(self.without_names(label));
        }
    }

    fn shown_by_pair(&self) -> Map<u32, Shown> {
        let mut pairs: Map<u32, Shown> = Map::new();
        for function in &self.functions {
            let label = &self.labels[function.label as usize];
            let Some(number) = label.pair else { continue };
            let shown = pairs.entry(number).or_default();
            let of_table = is_named(label) && !self.text(label).ends_with(PLT_SUFFIX);
            for side in ComparedSide::BOTH {
                let has = function.total.of(side).samples > 0;
                shown.at_all[side as usize] |= has;
                shown.named[side as usize] |= has && of_table;
            }
            if label.name == Name::Unnamed {
                shown.unnamed = [function.self_sums, function.total];
            }
        }
        pairs
    }
}

fn lacking(
    sources: [&Source<'_>; 2],
    pair: &DsoPair,
    shown: &Shown,
    measures: &Measures,
) -> Option<Lacking> {
    if pair.matched_by != MatchedBy::Name || shown.at_all != [true; 2] {
        return None;
    }
    let members = |side: ComparedSide| {
        let dsos: &[DsoSide] = match side {
            ComparedSide::Before => &pair.before,
            ComparedSide::After => &pair.after,
        };
        (sources[side as usize], dsos)
    };
    let has_names = |side: ComparedSide| {
        let (source, dsos) = members(side);
        let status = |dso: &DsoSide| source.ledger.row(dso.id).status;
        shown.named[side as usize]
            || dsos.iter().any(|dso| {
                matches!(status(dso), Status::Matched | Status::Embedded | Status::SelfNamed)
            })
    };
    let is_other_named = |side: ComparedSide| shown.named[side.other() as usize];
    let lacks_all = |side: &ComparedSide| is_other_named(*side) && !has_names(*side);
    if let Some(side) = ComparedSide::BOTH.into_iter().find(lacks_all) {
        return Some(Lacking::All(side));
    }
    // The file here may have all names that there are: what is unnamed then has none.
    let knows_all = |side: ComparedSide| {
        let (source, dsos) = members(side);
        dsos.iter().all(|dso| {
            let holds = source.ledger.row(dso.id).holds();
            holds.inlines || holds.symbol_table
        })
    };
    let lacks_some = |sums: &Sums| {
        let change = measures.change(*sums);
        let side = if change.change < 0.0 { ComparedSide::Before } else { ComparedSide::After };
        (change.is_certain && is_other_named(side) && !knows_all(side)).then_some(side)
    };
    shown.unnamed.iter().find_map(lacks_some).map(Lacking::Some)
}

/// Whether a function that only the other side names may be among a side's unnamed code, and so much of it
/// that it would be noticed.
fn may_hide(
    measures: &Measures,
    function: &FunctionChange,
    side: ComparedSide,
    shown: &Shown,
) -> bool {
    if function.total.of(side).samples > 0 {
        return false;
    }
    let keys = [ChangeKey::SelfWeight, ChangeKey::Total];
    keys.into_iter().zip(shown.unnamed).any(|(key, unnamed)| {
        let (mut hidden, mut both) = (Sums::default(), function.sums(key));
        if both.of(side.other()).samples == 0 {
            return false;
        }
        *hidden.of_mut(side) = unnamed.of(side);
        both.add(hidden);
        measures.exceeds_noise(hidden, both)
    })
}
