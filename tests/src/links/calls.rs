//! The call tree of all events of a session, made of the trees that are shown. Nothing of what
//! writes links is in it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::iter;
use std::num::NonZeroU32;

use perftab_core::session::Session;
use perftab_names::{FileId, Inlining, Symbols};
use perftab_profile::{DsoKind, FrameId, Profile};
use perftab_snapshot::Fidelity;
use perftab_views::call_tree::{CallTree, Label};
use perftab_views::label::Labels;
use perftab_views::weights::Sum;
use perftab_views::{Direction, Group, Query};

/// Call nodes of all events; callers stand before what they call. The first is the root.
pub struct Calls<'a> {
    profile: &'a Profile,
    symbols: &'a Symbols,
    /// The nodes.
    pub nodes: Vec<Call>,
}

/// A call node.
pub struct Call {
    /// Its caller; the root's is itself.
    pub caller: usize,
    /// What it stands for.
    pub label: Label,
    frame: Option<FrameId>,
    /// By event: what ended in it.
    pub own: Vec<Sum>,
    /// By event: what passed through it.
    pub total: Vec<Sum>,
}

impl<'a> Calls<'a> {
    /// Of a session.
    pub fn of(session: &'a Session) -> Self {
        Self::new(session.profile(), session.symbols())
    }

    /// Of a profile and its names.
    pub fn new(profile: &'a Profile, symbols: &'a Symbols) -> Self {
        let events = profile.events.len();
        let none = || vec![Sum::default(); events];
        let new = |caller, label, frame| Call { caller, label, frame, own: none(), total: none() };
        let mut nodes = vec![new(0, Label::All, None)];
        let mut known: HashMap<(usize, Label), usize> = HashMap::new();
        for event in 0..events {
            let query = Query {
                event: event as u32,
                direction: Direction::Callees,
                group: Group::Process,
                ..Query::default()
            };
            let tree = CallTree::new(profile, symbols, &query);
            let mut ours = Vec::with_capacity(tree.len());
            for id in tree.ids() {
                let node = match tree.parent(id) {
                    None => 0,
                    Some(caller) => {
                        let caller: usize = ours[caller.0 as usize];
                        let label = tree.label(id);
                        *known.entry((caller, label)).or_insert_with(|| {
                            nodes.push(new(caller, label, tree.frame(id)));
                            nodes.len() - 1
                        })
                    }
                };
                ours.push(node);
                nodes[node].own[event] = tree.self_sum(id);
                nodes[node].total[event] = tree.total(id);
            }
        }
        Self { profile, symbols, nodes }
    }

    /// True for what stands for calls that were left out.
    pub fn is_folded(&self, node: usize) -> bool {
        let labels = Labels::new(self.profile, self.symbols);
        let label = self.nodes[node].label;
        let dso = labels.dso(label).map(|dso| self.profile.dsos.get(dso).kind);
        // A process of this name has what processes had that were left out.
        dso == Some(DsoKind::Folded)
            || (matches!(label, Label::Group(_)) && labels.text(label) == "[folded]")
    }

    /// The largest part of an event's weight that passes through a call node.
    pub fn share(&self, node: usize) -> f64 {
        let all = &self.nodes[0].total;
        let shares = self.nodes[node].total.iter().zip(all).map(|(part, all)| match all.weight {
            0 => 0.0,
            all => part.weight as f64 / all as f64,
        });
        shares.fold(0.0, f64::max)
    }

    /// Everything but the root, by the way from there. Functions of one name in files of one
    /// identity are one way.
    fn by_path(&self, paths: &mut Paths) -> BTreeMap<usize, Vec<usize>> {
        let mut ways = vec![0];
        let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            let way = paths.number(ways[node.caller], self.text(node.label));
            found.entry(way).or_default().push(index);
            ways.push(way);
        }
        found
    }

    /// What is known of what a call node stands for.
    fn text(&self, label: Label) -> String {
        let labels = Labels::new(self.profile, self.symbols);
        let dso = labels.dso(label).map(|dso| self.profile.dsos.get(dso));
        let identity = dso.map(|dso| (dso.name(), dso.identity));
        format!("{} {identity:?} {}", labels.text(label), labels.marks(label))
    }

    /// File and line of a call node.
    pub fn place(&self, node: usize) -> (Option<FileId>, Option<NonZeroU32>) {
        let Call { label, frame, .. } = self.nodes[node];
        let inlining = match label {
            Label::Inlined(_) => Inlining::Inlined,
            _ => Inlining::Called,
        };
        let levels = frame.map(|frame| self.symbols.levels(frame)).unwrap_or_default();
        let mut levels = levels.iter();
        let level = levels
            .find(|level| Some(level.function) == label.function() && level.inlining == inlining);
        level.map_or((None, None), |level| (level.file, level.line))
    }
}

/// What a link says of itself, found again by counting in what was opened.
pub fn check_fidelity(name: &str, said: &Fidelity, opened: &Calls<'_>, source: &Calls<'_>) {
    let kept = (1..opened.nodes.len()).filter(|&node| !opened.is_folded(node)).count();
    assert_eq!(kept as u64, said.kept_nodes, "{name}: call nodes kept");
    assert_eq!(source.nodes.len() as u64 - 1, said.total_nodes, "{name}: call nodes in all");
    // What was left out below a call node is one call of it: nothing is below that.
    let folded: u64 = (1..opened.nodes.len())
        .filter(|&node| opened.is_folded(node))
        .filter_map(|node| opened.nodes[node].own.first())
        .map(|own| own.weight)
        .sum();
    assert_eq!(folded, said.folded_weight, "{name}: weight folded");
    let all = source.nodes[0].total.first().map_or(0, |all| all.weight);
    let share = if all == 0 { 1.0 } else { (all - folded) as f64 / all as f64 };
    let difference = (share - said.kept_weight_share).abs();
    assert!(difference < 1e-9, "{name}: {share} of the weight is kept, not {said:?}");
}

/// What is kept has the numbers that it has in the source; what is heavy is kept.
pub fn check_kept(name: &str, threshold: f64, opened: &Calls<'_>, source: &Calls<'_>) {
    let roots = [&opened.nodes[0], &source.nodes[0]].map(|root| &root.total);
    assert_eq!(roots[0], roots[1], "{name}: totals");
    let mut paths = Paths::default();
    // What is not met again in the link was left out.
    let mut left = source.by_path(&mut paths);
    for (way, kept) in opened.by_path(&mut paths) {
        for node in kept.into_iter().filter(|&node| !opened.is_folded(node)) {
            let Call { own, total, .. } = &opened.nodes[node];
            let sums = |node: usize| (&source.nodes[node].own, &source.nodes[node].total);
            let there = left.get_mut(&way).map(|there| {
                let at = there.iter().position(|&node| sums(node) == (own, total));
                at.map(|at| there.swap_remove(at))
            });
            let is_there = there.flatten().is_some();
            assert!(is_there, "{name}: {own:?} of {total:?}: {}", paths.text(way));
        }
    }
    for (way, nodes) in left {
        let heaviest = nodes.into_iter().map(|node| source.share(node)).fold(0.0, f64::max);
        assert!(
            heaviest <= threshold,
            "{name}: says {threshold} and leaves out {heaviest}: {}",
            paths.text(way)
        );
    }
}

/// Ways from the root, as numbers that are the same for several trees; 0 is the root.
#[derive(Default)]
struct Paths {
    numbers: HashMap<(usize, String), usize>,
    /// By number, from 1: the way to the caller, and what is called.
    known: Vec<(usize, String)>,
}

impl Paths {
    fn number(&mut self, caller: usize, text: String) -> usize {
        let next = self.known.len() + 1;
        match self.numbers.entry((caller, text)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.known.push(new.key().clone());
                *new.insert(next)
            }
        }
    }

    fn text(&self, way: usize) -> String {
        let step = |way: usize| way.checked_sub(1).map(|way| &self.known[way]);
        let ways = iter::successors(step(way), |(caller, _)| step(*caller));
        let texts: Vec<&str> = ways.map(|(_, text)| text.as_str()).collect();
        texts.join(", called from ")
    }
}
