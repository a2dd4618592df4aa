//! What a snapshot is written of: all of a profile, or what filters and steps leave of it.

use perftab_perfdata::map::Set;

use perftab_names::Provenance;
use perftab_profile::{DsoId, EventOrigin};
use perftab_views::Query;
use perftab_views::call_tree::Label;
use perftab_views::coverage::{DsoUse, FrameCoverage};
use perftab_views::filter::Filter;
use perftab_views::hot_lines::KnownHeat;
use perftab_views::place_texts::PlaceTexts;
use perftab_views::weights::Sum;

use super::tree::Tree;
use super::{Contents, Facts, LeftOut};

/// The numbers of what is written, of which the call tree may keep a part only.
pub(super) struct Scope {
    pub facts: Facts,
    pub coverage: FrameCoverage,
    /// By event: all of it.
    pub events: Vec<Sum>,
}

impl Scope {
    /// `tree` was made of the same query.
    pub fn new(contents: &Contents<'_>, query: Option<&Query>, tree: &Tree) -> Self {
        match query {
            None => Self {
                facts: contents.facts.clone(),
                coverage: contents.coverage(),
                events: recorded(contents),
            },
            Some(query) => Self {
                facts: facts(contents, query, tree),
                coverage: coverage(contents, tree),
                events: (0..tree.events()).map(|event| tree.all(event)).collect(),
            },
        }
    }

    /// Samples of recorded events.
    pub fn samples(&self, contents: &Contents<'_>) -> u64 {
        let events = contents.profile.events.iter().zip(&self.events);
        let recorded = events.filter(|(event, _)| event.origin == EventOrigin::Recorded);
        recorded.fold(0, |sum, (_, all)| sum.saturating_add(all.samples))
    }
}

/// What the profile has of each event.
fn recorded(contents: &Contents<'_>) -> Vec<Sum> {
    let events = contents.profile.events.iter();
    events.map(|event| Sum { weight: event.weight, samples: event.samples }).collect()
}

/// What an earlier snapshot folded away or left out is part of no query's answer, and counts as
/// code without a name here.
fn facts(contents: &Contents<'_>, query: &Query, tree: &Tree) -> Facts {
    let profile = contents.profile;
    let filter = Filter::new(profile, query);
    let (mut threads, mut processes) = (Set::new(), Set::new());
    let mut time: Option<(u64, u64)> = None;
    for row in profile.recorded_rows().filter(|&row| filter.removed_by(row).is_none()) {
        let thread = profile.samples.thread.at(row);
        if threads.insert(thread) {
            processes.insert(profile.threads.thread(thread).process);
        }
        let at = profile.samples.time_nanos.at(row);
        if at != 0 {
            time = Some(time.map_or((at, at), |(start, end)| (start.min(at), end.max(at))));
        }
    }
    let whole = match contents.facts.part_of.as_slice() {
        [] => recorded(contents),
        whole => whole.to_vec(),
    };
    Facts {
        before: contents.facts.before,
        time: time.or(contents.facts.time),
        processes: processes.len() as u64,
        threads: threads.len() as u64,
        uses: uses(contents, tree),
        folded: FrameCoverage::default(),
        left_out: LeftOut::default(),
        part_of: whole,
        heat: KnownHeat::default(),
        texts: PlaceTexts::default(),
    }
}

/// Samples of recorded events that ended in a call node, and that passed through it.
fn sums(contents: &Contents<'_>, tree: &Tree) -> (Vec<u64>, Vec<u64>) {
    let is_recorded = |event: usize| {
        let event = contents.profile.events.get(event);
        event.is_some_and(|event| event.origin == EventOrigin::Recorded)
    };
    let events: Vec<usize> = (0..tree.events()).filter(|&event| is_recorded(event)).collect();
    let own = |node: usize| {
        events.iter().fold(0u64, |sum, &event| sum.saturating_add(tree.own(node, event).samples))
    };
    let own: Vec<u64> = (0..tree.nodes.len()).map(own).collect();
    let mut total = own.clone();
    for node in (1..total.len()).rev() {
        let parent = tree.nodes[node].parent as usize;
        total[parent] = total[parent].saturating_add(total[node]);
    }
    (own, total)
}

/// As `views::coverage` counts frames: those of one that others are inlined into are theirs.
fn coverage(contents: &Contents<'_>, tree: &Tree) -> FrameCoverage {
    let (own, total) = sums(contents, tree);
    let mut innermost = total.clone();
    for (node, entry) in tree.nodes.iter().enumerate().skip(1) {
        if matches!(entry.label, Label::Inlined(_)) {
            let outer = &mut innermost[entry.parent as usize];
            *outer = outer.saturating_sub(total[node]);
        }
    }
    let samples = total.first().copied().unwrap_or_default();
    let mut coverage = FrameCoverage { samples, ..FrameCoverage::default() };
    for (node, entry) in tree.nodes.iter().enumerate() {
        if entry.label.is_group() || tree.is_folded(contents, node) {
            continue;
        }
        coverage.frames = coverage.frames.saturating_add(innermost[node]);
        let function = entry.label.function().map(|id| contents.symbols.function(id));
        let (frames, leaves) = match function.map(|known| (known.name, known.provenance)) {
            None | Some((None, _) | (_, Provenance::Unnamed)) => continue,
            Some((_, Provenance::Forced)) => (&mut coverage.forced, &mut coverage.forced_leaves),
            Some(_) => (&mut coverage.named, &mut coverage.named_leaves),
        };
        *frames = frames.saturating_add(innermost[node]);
        *leaves = leaves.saturating_add(own[node]);
    }
    coverage
}

/// As `views::coverage::dso_use`, of call nodes instead of stacks.
fn uses(contents: &Contents<'_>, tree: &Tree) -> Vec<DsoUse> {
    let (own, total) = sums(contents, tree);
    let dso = |node: usize| tree.dso(contents, node);
    let mut uses = vec![DsoUse::default(); contents.profile.dsos.len()];
    // Which of 64 classes of DSOs are above: with more DSOs than classes a walk tells.
    let mut classes = vec![0u64; tree.nodes.len()];
    for (node, entry) in tree.nodes.iter().enumerate().skip(1) {
        let caller = entry.parent as usize;
        classes[node] = classes[caller];
        let Some(own_dso) = dso(node) else { continue };
        let class = 1 << (own_dso.0 % 64);
        let used = &mut uses[own_dso.index()];
        used.leaf_samples = used.leaf_samples.saturating_add(own[node]);
        if classes[node] & class == 0 || !is_above(tree, &dso, caller, own_dso) {
            used.samples = used.samples.saturating_add(total[node]);
        }
        classes[node] |= class;
    }
    uses
}

fn is_above(tree: &Tree, dso: &dyn Fn(usize) -> Option<DsoId>, from: usize, wanted: DsoId) -> bool {
    let callers = std::iter::successors(Some(from), |&node| {
        (node != 0).then(|| tree.nodes[node].parent as usize)
    });
    callers.into_iter().any(|node| dso(node) == Some(wanted))
}
