//! The call tree of all events together.

use std::collections::HashMap;
use std::num::NonZeroU32;

use super::MAX_DEPTH;
use crate::profile::{DsoId, DsoKind, EventId, Profile};
use crate::snapshot::{Contents, Tell};
use crate::symbolize::{FileId, Function, FunctionId, Inlining, Provenance};
use crate::views::build::build_with_ends;
use crate::views::call_tree::{CallTree, Label};
use crate::views::ends::Ends;
use crate::views::filter::Filter;
use crate::views::weights::Sum;
use crate::views::{Direction, Group, Query};

/// The call nodes of all events; callers have lower indexes than what they call.
pub(super) struct Tree {
    pub nodes: Vec<Node>,
    /// For each call node, as many sums as there are events.
    own: Vec<Sum>,
    events: usize,
    addresses: Tell,
    /// By event.
    made: Vec<Made>,
    /// Where each function was seen, for those with a file.
    pub files: HashMap<FunctionId, FileId>,
}

/// How an event's samples came into the tree.
struct Made {
    query: Query,
    ends: Ends,
    /// By call node of the event's own tree.
    nodes: Vec<u32>,
}

pub(super) struct Node {
    pub parent: u32,
    pub label: Label,
    pub depth: u32,
    /// Line of the source file, counted from 1.
    pub line: Option<NonZeroU32>,
    /// The largest part of an event's weight that passes through it, 0 to 1.
    pub share: f64,
}

impl Tree {
    /// Of what the filters and steps of a query leave of each event, or of all there is. Without
    /// addresses, code without a name is one in each DSO.
    pub fn new(contents: &Contents<'_>, query: Option<&Query>, addresses: Tell) -> Self {
        let events = contents.profile.events.len();
        let root = Node { parent: 0, label: Label::All, depth: 0, line: None, share: 1.0 };
        let mut tree = Self {
            nodes: vec![root],
            own: vec![Sum::default(); events],
            events,
            addresses,
            made: Vec::new(),
            files: HashMap::new(),
        };
        let mut index = HashMap::new();
        for event in 0..events {
            tree.add_event(contents, query, EventId(event as u32), &mut index);
        }
        tree
    }

    /// Samples of an event that ended in a call node.
    pub fn own(&self, node: usize, event: usize) -> Sum {
        self.own[node * self.events + event]
    }

    /// All samples of an event.
    pub fn all(&self, event: usize) -> Sum {
        let mut all = Sum::default();
        (0..self.nodes.len()).for_each(|node| all.add(self.own(node, event)));
        all
    }

    pub fn events(&self) -> usize {
        self.events
    }

    /// Every row of samples that the tree has, and the call node that it ended in.
    pub fn rows<'a>(&'a self, profile: &'a Profile) -> impl Iterator<Item = (usize, u32)> + 'a {
        let filters: Vec<_> =
            self.made.iter().map(|made| Filter::new(profile, &made.query)).collect();
        let samples = &profile.samples;
        (0..samples.len()).filter_map(move |row| {
            let event = usize::from(samples.event[row]);
            let (made, filter) = self.made.get(event).zip(filters.get(event))?;
            let end = made.ends.of(samples.thread[row], samples.stack[row])?;
            let passes = filter.removed_by(row).is_none();
            passes.then(|| (row, made.nodes[end.0 as usize]))
        })
    }

    /// The DSO that a call node's code lies in.
    pub fn dso(&self, contents: &Contents<'_>, node: usize) -> Option<DsoId> {
        match self.nodes[node].label {
            Label::Dso(dso) => Some(dso),
            label => label.function().map(|function| contents.symbols.function(function).dso),
        }
    }

    fn add_event(
        &mut self,
        contents: &Contents<'_>,
        query: Option<&Query>,
        event: EventId,
        index: &mut HashMap<(u32, Label), u32>,
    ) {
        let query = Query {
            event: event.0,
            direction: Direction::Callees,
            group: Group::Process,
            around: None,
            ..query.cloned().unwrap_or_default()
        };
        let (built, ends) = build_with_ends(contents.profile, contents.symbols, &query);
        let tree = built.tree;
        let mut all = 0;
        let mut ours: Vec<u32> = Vec::with_capacity(tree.len());
        for id in tree.ids() {
            let total = tree.total(id).weight;
            let Some(parent) = tree.parent(id) else {
                all = total;
                ours.push(0);
                self.own[event.index()] = tree.self_sum(id);
                continue;
            };
            let label = whole_dso(contents, tree.label(id), self.addresses);
            let parent = ours[parent.0 as usize];
            let node = *index.entry((parent, label)).or_insert_with(|| {
                let (file, line) = place(contents, &tree, id);
                if let (Some(function), Some(file)) = (label.function(), file) {
                    self.files.entry(function).or_insert(file);
                }
                let depth = self.nodes[parent as usize].depth + 1;
                self.nodes.push(Node { parent, label, depth, line, share: 0.0 });
                self.own.extend(std::iter::repeat_n(Sum::default(), self.events));
                self.nodes.len() as u32 - 1
            });
            ours.push(node);
            self.own[node as usize * self.events + event.index()] = tree.self_sum(id);
            let share = if all == 0 { 0.0 } else { total as f64 / all as f64 };
            let node = &mut self.nodes[node as usize];
            node.share = node.share.max(share);
        }
        self.made.push(Made { query, ends, nodes: ours });
    }

    /// True for what can be kept: not what was folded already, nor what is too deep.
    pub fn can_be_kept(&self, contents: &Contents<'_>, node: usize) -> bool {
        !self.is_folded(contents, node) && self.nodes[node].depth as usize <= MAX_DEPTH
    }

    /// True for what an earlier snapshot folded.
    pub fn is_folded(&self, contents: &Contents<'_>, node: usize) -> bool {
        let dso = self.dso(contents, node);
        dso.is_some_and(|dso| contents.profile.dsos.get(dso).kind == DsoKind::Folded)
    }
}

/// Code of a DSO that was collapsed is, in a snapshot that was opened, a function that is called
/// like it and has that from no file. Nothing but its address tells code without a name apart.
fn whole_dso(contents: &Contents<'_>, label: Label, addresses: Tell) -> Label {
    let function = label.function().map(|function| contents.symbols.function(function));
    let is_whole = |it: &Function<'_>| match it.name {
        Some(_) => it.provenance == Provenance::Unnamed,
        None => addresses == Tell::LeftOut,
    };
    match function.filter(is_whole) {
        Some(function) => Label::Dso(function.dso),
        None => label,
    }
}

/// File and line of a call node, by a frame that led to it.
fn place(
    contents: &Contents<'_>,
    tree: &CallTree,
    id: crate::views::call_tree::CallNodeId,
) -> (Option<FileId>, Option<NonZeroU32>) {
    let (function, inlining) = match tree.label(id) {
        Label::Function(function) => (function, Inlining::Called),
        Label::Inlined(function) => (function, Inlining::Inlined),
        Label::All | Label::Group(_) | Label::Dso(_) | Label::NoMapping => return (None, None),
    };
    let level = tree.frame(id).and_then(|frame| {
        let levels = contents.symbols.levels(frame);
        levels.iter().find(|level| level.function == function && level.inlining == inlining)
    });
    level.map_or((None, None), |level| (level.file, level.line))
}
