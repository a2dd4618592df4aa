//! Two sessions, or two queries of one, compared: columns and small structs for hosts.
//!
//! A host makes a [`ComparedTrees`] once for two sessions and queries, in steps ([`ComparisonBuilder`]) where they
//! are large, and asks it for any basis and width; it is to be made anew when names of either session
//! change.

use perftab_perfdata::map::Set;
use perftab_perfdata::sorting::sort_by;
use perftab_perfdata::text::printable;
use perftab_profile::counted;
use perftab_views::call_tree::CallNodeId;
use perftab_views::compare::{
    Basis, Change, ChangeKey, ChangeOrder, ComparedGraph, ComparedLabel, ComparedSide,
    ComparedWindow, Comparison, DsoPair, DsoSide, FunctionChange, MatchedBy, Measures, Presence,
    Relation, Sums, Width,
};
use perftab_views::filter::{RangeSide, TimeRange};
use perftab_views::label::mark;
use perftab_views::search::Pattern;
use perftab_views::weights::Sum;
use perftab_views::{Query, serialize_weight};
use serde::{Deserialize, Serialize};

use crate::session::search::{FoundRows, MOST_LISTED};
use crate::session::times::ScanStep;
use crate::session::{ChangeRows, ComparisonBuilder, FlameWindow, PathStep, Session};

/// How a comparison is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase", default)]
pub struct CompareView {
    /// What makes weights of both sides comparable.
    pub basis: Basis,
    /// Whose weights are widths.
    pub width: Width,
}

/// What one side has in all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct SideTotal {
    /// Samples that are shown.
    pub samples: u64,
    /// Their weight, in the event's unit.
    #[serde(serialize_with = "serialize_weight")]
    pub weight: u64,
    /// How long that took; 0 if it was not recorded.
    pub seconds: f64,
}

/// A weight on both sides and how they differ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct ChangeDetail {
    /// Before, on the basis: percent, weight in a second, or weight.
    pub before: f64,
    /// After, in the same unit.
    pub after: f64,
    /// How much more it is after; of shares, in points.
    pub change: f64,
    /// −3 to 3: how strongly it is shown.
    pub step: i8,
    /// True if it is beyond noise.
    pub certain: bool,
    /// Samples before.
    pub before_samples: u64,
    /// Samples after.
    pub after_samples: u64,
}

/// Everything that a card says of a call node of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct ComparedDetail {
    /// Its id.
    pub call_node: u32,
    /// Function, process or address.
    pub name: String,
    /// Equal for the same function; null for what is none.
    pub function_id: Option<u32>,
    /// Name of its DSO.
    pub dso: Option<String>,
    /// How that is compared.
    pub relation: Option<Relation>,
    /// Which sides have it.
    pub presence: Presence,
    /// The side that may have it, or a caller of it, without a name, where the other names it.
    pub without_names: Option<ComparedSide>,
    /// [`perftab_views::label::Kind`].
    pub kind: u8,
    /// Bits of [`perftab_views::label::mark`].
    pub flags: u8,
    /// Samples through it.
    pub total: ChangeDetail,
    /// Samples that ended in it.
    #[serde(rename = "self")]
    pub own: ChangeDetail,
    /// What all calls of its function come to, as a table of functions has it; null if this is the only one.
    pub all_calls: Option<FunctionDetail>,
    /// From the root to it, both included.
    pub path: Vec<PathStep>,
    /// Caller.
    pub parent: Option<u32>,
    /// Widest callee.
    pub heaviest_child: Option<u32>,
    /// The next wider sibling.
    pub previous_sibling: Option<u32>,
    /// The next narrower sibling.
    pub next_sibling: Option<u32>,
    /// Siblings, itself included.
    pub set_size: u32,
    /// Place among them, from 1.
    pub pos_in_set: u32,
    /// Callees that have any width, widest first; of very many only the first.
    pub children: Vec<ComparedRow>,
    /// Itself and those beside it, widest first; of very many those around it.
    pub siblings: Vec<ComparedRow>,
}

/// What all calls of a function come to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct FunctionDetail {
    /// The side that may have it without a name, where the other names it.
    pub without_names: Option<ComparedSide>,
    /// Samples that it is anywhere in.
    pub total: ChangeDetail,
    /// Samples that ended in it.
    #[serde(rename = "self")]
    pub own: ChangeDetail,
}

/// A call node of both sides in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct ComparedRow {
    /// Its id.
    pub call_node: u32,
    /// Function, process or address.
    pub name: String,
    /// Name of its DSO; empty where there is none.
    pub dso: String,
    /// Bits of [`perftab_views::label::mark`].
    pub flags: u8,
    /// Which sides have it.
    pub presence: Presence,
    /// Samples through it before, on the basis.
    pub before: f64,
    /// The same after.
    pub after: f64,
    /// Place among its siblings, from 1.
    pub pos_in_set: u32,
    /// Whether it has callees.
    pub has_children: bool,
}

/// Most callees, or siblings, that a detail has.
const MOST_ROWS: usize = 80;

/// What a table of changes is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase", default)]
pub struct ChangesRequest {
    /// What is compared.
    pub key: ChangeKey,
    /// The order.
    pub order: ChangeOrder,
    /// First row that is wanted.
    pub from: u32,
    /// The row after the last one.
    pub to: u32,
}

/// DSOs that are compared with each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
pub struct DsoPairRow {
    /// File name.
    pub name: String,
    /// How they are related.
    pub relation: Relation,
    /// What code without a name is compared by.
    pub matched_by: MatchedBy,
    /// Whether any function of it that is shown has a name.
    pub named: bool,
    /// The side that lacks names for it, all or some, where the other has them: what only the other names
    /// cannot be compared yet.
    pub without_names: Option<ComparedSide>,
    /// Path before; null if it is only after.
    pub before_path: Option<String>,
    /// Path after; null if it is only before.
    pub after_path: Option<String>,
    /// Recorded build-ids before: of a path that was replaced, several.
    pub before_build_ids: Vec<String>,
    /// Recorded build-ids after.
    pub after_build_ids: Vec<String>,
    /// Samples that ended in it before, on the basis.
    pub before: f64,
    /// The same after.
    pub after: f64,
    /// How much more it is after.
    pub change: f64,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct CompareSearch {
    /// Functions that match.
    pub functions: u32,
    /// Samples with one of them on their stack, before and after.
    pub total: ChangeDetail,
    /// Widest call node of each function, widest first.
    pub matches: Vec<u32>,
    /// The first of these functions.
    pub listed: FoundRows,
    /// Why the text cannot be looked for, in words.
    pub problem: Option<String>,
}

/// Two call trees beside each other.
pub struct ComparedTrees {
    pub(super) comparison: Comparison,
}

impl ComparedTrees {
    /// Compares what a query shows of a session with what one shows of another, or of the same.
    pub fn new(before: (&Session, &Query), after: (&Session, &Query)) -> Self {
        let mut work = ComparisonBuilder::new(before, after);
        loop {
            if let ScanStep::Done(compared) = work.step([before.0, after.0], usize::MAX) {
                return compared;
            }
        }
    }

    /// The comparison itself.
    pub fn comparison(&self) -> &Comparison {
        &self.comparison
    }

    /// What each side has in all: before, after.
    pub fn sides(&self) -> [SideTotal; 2] {
        let totals = self.comparison.totals();
        let side = |sum: Sum, nanoseconds: u64| SideTotal {
            samples: sum.samples,
            weight: sum.weight,
            seconds: nanoseconds as f64 / 1e9,
        };
        let [before, after] = totals.nanoseconds;
        [side(totals.sums.before, before), side(totals.sums.after, after)]
    }

    pub(super) fn measures(&self, view: CompareView) -> Measures {
        Measures::new(view.basis, &self.comparison.totals())
    }

    /// Boxes for the width that is there. An unknown root stands for all.
    pub fn flame_graph(&self, view: CompareView, window: &FlameWindow) -> ComparedGraph {
        let root = self.comparison.id(window.root).unwrap_or(CallNodeId::ROOT);
        let pattern = Pattern::new(&window.search);
        let window = ComparedWindow {
            root,
            width: view.width,
            pixels: window.width_px.clamp(0.0, 100_000.0),
            min_pixels: window.min_px.max(0.1),
        };
        let is_match = |label: u32| {
            let label = self.comparison.label_of(label);
            pattern.as_ref().is_some_and(|pattern| self.finds(pattern, label))
        };
        self.comparison.layout(&self.measures(view), &window, &is_match)
    }

    fn finds(&self, pattern: &Pattern, label: &ComparedLabel) -> bool {
        let dso = label.pair.map(|pair| self.pair(pair).name.as_str());
        label.marks & mark::PSEUDO == 0 && pattern.finds(&self.comparison.text(label), dso)
    }

    pub(super) fn pair(&self, pair: u32) -> &DsoPair {
        &self.comparison.dsos()[pair as usize]
    }

    fn change(&self, found: Change, sums: Sums) -> ChangeDetail {
        let Change { before, after, change, step, is_certain, .. } = found;
        ChangeDetail {
            before,
            after,
            change,
            step,
            certain: is_certain,
            before_samples: sums.before.samples,
            after_samples: sums.after.samples,
        }
    }

    /// How wide a call node is on the basis, and the samples that make it so: of both sides, where
    /// the width is that of both.
    pub fn width(&self, view: CompareView, call_node: u32) -> (f64, u64) {
        let id = self.comparison.id(call_node).unwrap_or(CallNodeId::ROOT);
        let Sums { before, after } = self.comparison.total(id);
        let samples = match view.width {
            Width::Before => before.samples,
            Width::After => after.samples,
            Width::Both => before.samples.saturating_add(after.samples),
        };
        (self.measures(view).width(view.width, self.comparison.total(id)), samples)
    }

    /// The way from the root to a call node, both included.
    pub fn path(&self, call_node: u32) -> Vec<PathStep> {
        let id = self.comparison.id(call_node).unwrap_or(CallNodeId::ROOT);
        let step = |id: CallNodeId| {
            let label = self.comparison.label(id);
            PathStep { call_node: id.0, name: self.comparison.text(label), flags: label.marks }
        };
        self.comparison.path(id).into_iter().map(step).collect()
    }

    /// Everything about a call node; `None` if there is none with this id.
    pub fn detail(&self, view: CompareView, call_node: u32) -> Option<ComparedDetail> {
        let comparison = &self.comparison;
        let id = comparison.id(call_node)?;
        let label = comparison.label(id);
        let measures = self.measures(view);
        let ordered = |id| comparison.children_by_width(&measures, view.width, id);
        let siblings = comparison.parent(id).map_or_else(Vec::new, ordered);
        let place = siblings.iter().position(|&sibling| sibling == id).unwrap_or(0);
        let sibling = |place: Option<usize>| siblings.get(place?).map(|id| id.0);
        let is_wide =
            |child: &CallNodeId| measures.width(view.width, comparison.total(*child)) > 0.0;
        let children = ordered(id).into_iter().take_while(is_wide).take(MOST_ROWS).enumerate();
        let children: Vec<ComparedRow> =
            children.map(|(place, child)| self.row(&measures, child, place)).collect();
        let around = siblings.iter().copied().enumerate();
        let around = around.skip(place.saturating_sub(MOST_ROWS / 2)).take(MOST_ROWS);
        let around = around.map(|(place, id)| self.row(&measures, id, place)).collect();
        let change = |sums: Sums| self.change(comparison.change(&measures, id, sums), sums);
        Some(ComparedDetail {
            call_node,
            name: comparison.text(label),
            function_id: (label.marks & mark::PSEUDO == 0).then_some(label.function),
            dso: label.pair.map(|pair| self.pair(pair).name.clone()),
            relation: label.pair.map(|pair| self.pair(pair).relation),
            presence: comparison.presence(id),
            kind: label.kind as u8,
            flags: label.marks,
            without_names: comparison.unnamed_by(id),
            total: change(comparison.total(id)),
            own: change(comparison.self_sums(id)),
            all_calls: self.all_calls(&measures, id),
            path: self.path(call_node),
            parent: comparison.parent(id).map(|id| id.0),
            heaviest_child: children.first().map(|child| child.call_node),
            previous_sibling: sibling(place.checked_sub(1)),
            next_sibling: sibling(place.checked_add(1)),
            set_size: siblings.len().max(1) as u32,
            pos_in_set: place as u32 + 1,
            children,
            siblings: around,
        })
    }

    fn all_calls(&self, measures: &Measures, id: CallNodeId) -> Option<FunctionDetail> {
        let comparison = &self.comparison;
        let label = comparison.label(id);
        let is_it = |function: &&FunctionChange| function.label == label.function;
        let function = comparison.functions().iter().find(is_it)?;
        let sums = (function.total, function.self_sums);
        if sums == (comparison.total(id), comparison.self_sums(id)) {
            return None;
        }
        let change = |key: ChangeKey| {
            self.change(comparison.function_change(measures, function, key), function.sums(key))
        };
        Some(FunctionDetail {
            without_names: comparison.without_names(label),
            total: change(ChangeKey::Total),
            own: change(ChangeKey::SelfWeight),
        })
    }

    fn row(&self, measures: &Measures, id: CallNodeId, place: usize) -> ComparedRow {
        let label = self.comparison.label(id);
        let [before, after] = measures.values(self.comparison.total(id));
        ComparedRow {
            call_node: id.0,
            name: self.comparison.text(label),
            dso: label.pair.map(|pair| self.pair(pair).name.clone()).unwrap_or_default(),
            flags: label.marks,
            presence: self.comparison.presence(id),
            before,
            after,
            pos_in_set: place as u32 + 1,
            has_children: !self.comparison.children(id).is_empty(),
        }
    }

    /// Functions and how they changed, those rows that are asked for.
    pub fn changes(&self, view: CompareView, request: &ChangesRequest) -> ChangeRows {
        let measures = self.measures(view);
        let (key, order, most) = (request.key, request.order, request.to as usize);
        let all = self.comparison.first_in_order(&measures, key, order, most);
        let functions = self.comparison.functions();
        let change = |row: &u32| {
            let function = &functions[*row as usize];
            self.comparison.function_change(&measures, function, request.key)
        };
        let largest = all.iter().map(|row| change(row).change.abs()).fold(0.0, f64::max);
        let mut rows = ChangeRows { count: all.len() as u32, largest, ..ChangeRows::default() };
        let to = (request.to as usize).min(all.len());
        for row in &all[(request.from as usize).min(to)..to] {
            rows.push(self, &functions[*row as usize], change(row), request.key);
        }
        rows
    }

    /// Pairs of DSOs that samples are shown of, those with most weight first.
    pub fn dsos(&self, view: CompareView) -> Vec<DsoPairRow> {
        let measures = self.measures(view);
        let shown = self.comparison.dsos().iter().filter(|pair| pair.is_shown && pair.is_listed);
        let row = |pair: &DsoPair| {
            let Change { before, after, change, .. } = measures.change(pair.self_sums);
            let path = |side: &[DsoSide]| side.first().map(|dso| dso.path.clone());
            let ids = |side: &[DsoSide]| {
                let mut ids: Vec<String> =
                    side.iter().filter_map(|dso| Some(dso.identity?.to_string())).collect();
                ids.dedup();
                ids
            };
            DsoPairRow {
                name: pair.name.clone(),
                relation: pair.relation,
                matched_by: pair.matched_by,
                named: pair.is_named,
                without_names: pair.without_names,
                before_path: path(&pair.before),
                after_path: path(&pair.after),
                before_build_ids: ids(&pair.before),
                after_build_ids: ids(&pair.after),
                before,
                after,
                change,
            }
        };
        let mut rows: Vec<DsoPairRow> = shown.map(row).collect();
        sort_by(&mut rows, |a, b| {
            let most = |row: &DsoPairRow| row.before.max(row.after);
            most(b).total_cmp(&most(a)).then_with(|| a.name.cmp(&b.name))
        });
        rows
    }

    /// What a text finds; nothing for an empty one.
    pub fn search(&self, view: CompareView, text: &str) -> CompareSearch {
        let comparison = &self.comparison;
        let parsed = Pattern::parse(text);
        let pattern = parsed.as_ref().ok().and_then(Option::as_ref);
        let functions = comparison.functions().iter();
        let mut found: Vec<&FunctionChange> = functions
            .filter(|function| {
                let label = comparison.label_of(function.label);
                pattern.is_some_and(|pattern| self.finds(pattern, label))
            })
            .collect();
        let measures = self.measures(view);
        let width = |function: &FunctionChange| measures.width(view.width, function.total);
        sort_by(&mut found, |a, b| width(b).total_cmp(&width(a)));
        let comparable = found
            .iter()
            .map(|it| it.label)
            .filter(|&label| comparison.without_names(comparison.label_of(label)).is_none());
        let labels: Set<u32> = comparable.collect();
        let through = comparison.through(&labels);
        let mut listed = FoundRows::default();
        let all = comparison.totals().sums.after.weight.max(1) as f64;
        for function in found.iter().take(MOST_LISTED) {
            let label = comparison.label_of(function.label);
            let dso = label.pair.map(|pair| self.pair(pair).name.clone()).unwrap_or_default();
            let share = function.total.after.weight as f64 / all;
            listed.push(comparison.text(label), dso, (label.kind, label.marks), share);
        }
        CompareSearch {
            listed,
            functions: found.len() as u32,
            total: self.change(measures.change(through), through),
            matches: found.into_iter().map(|function| function.heaviest.0).collect(),
            problem: parsed.as_ref().err().map(ToString::to_string),
        }
    }
}

impl Session {
    /// How long what a query shows took: its range, as far as the recording reaches, or all of it;
    /// 0 if samples have no time.
    pub(super) fn nanoseconds(&self, query: &Query) -> u64 {
        let whole = self.facts.time.map_or(0, |(start, end)| end.saturating_sub(start));
        let Some(TimeRange { start, end, side }) = query.range else { return whole };
        let length = |start: u64, end: u64| end.min(whole).saturating_sub(start.min(whole));
        let inside = match query.spans.as_slice() {
            [] => length(start, end),
            spans => spans.iter().map(|span| length(span.start, span.end)).sum(),
        };
        match side {
            RangeSide::Inside => inside,
            RangeSide::Outside => whole - inside,
        }
    }

    /// The number of the event of this name, or of the first that counts the same.
    pub fn event_named(&self, name: &str) -> Option<u32> {
        let names = || self.profile.events.iter().map(|event| printable(&event.name));
        let same = || names().position(|it| counted(&it) == counted(name));
        let found = names().position(|it| it == name).or_else(same);
        found.map(|index| index as u32)
    }
}

#[cfg(test)]
mod tests {
    use perftab_names::Ledger;
    use perftab_views::Unnamed;
    use perftab_views::call_tree::CallTree;
    use perftab_views::compare::{Recordings, Source};
    use perftab_views::fixture::{fixture, ungrouped};
    use perftab_views::label::OwnCode;

    use super::*;

    #[test]
    fn a_call_says_what_all_calls_of_its_function_come_to() {
        let made = fixture("A F 30\nB F 10\nC 60");
        let tree = CallTree::new(&made.profile, &made.symbols, &ungrouped());
        let ledger = Ledger::new(&made.profile.dsos);
        let side = Source {
            profile: &made.profile,
            symbols: &made.symbols,
            ledger: &ledger,
            tree: &tree,
            unnamed: Unnamed::EachAddress,
            own: OwnCode::default(),
            nanoseconds: 0,
        };
        let comparison = Comparison::new(&side, &side, Recordings::One);
        let compared = ComparedTrees { comparison };
        let all_calls = |name: &str| {
            let details = (0..).map_while(|id| compared.detail(CompareView::default(), id));
            let found: Vec<_> = details
                .filter(|detail| detail.name == name)
                .map(|detail| (detail.own.after, detail.all_calls.map(|all| all.own.after)))
                .collect();
            found
        };
        let mut twice = all_calls("F");
        twice.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert_eq!(twice, [(10.0, Some(40.0)), (30.0, Some(40.0))]);
        assert_eq!(all_calls("C"), [(60.0, None)]);
    }
}
