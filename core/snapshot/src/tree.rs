//! The call tree of all events together.

use perftab_perfdata::map::Map;
use std::num::NonZeroU32;
use std::ops::Range;

use perftab_names::{FileId, Function, FunctionId, Inlining, Provenance};
use perftab_perfdata::slice::Slice;
use perftab_profile::{DsoId, DsoKind, Profile};
use perftab_views::build::{BuiltTree, TreeDetail, build_in_slices};
use perftab_views::call_tree::{CallNodeId, CallTree, Label};
use perftab_views::ends::Ends;
use perftab_views::filter::Filter;
use perftab_views::weights::Sum;
use perftab_views::{Direction, Group, Query, Unnamed};

use super::{FOLDED, MAX_DEPTH};
use crate::{Contents, Disclosure};

/// The call nodes of all events; callers have lower indexes than what they call.
pub(super) struct Tree {
    pub nodes: Vec<Node>,
    /// For each call node, as many sums as there are events.
    own: Vec<Sum>,
    /// The same of all samples that pass through each.
    total: Vec<Sum>,
    events: usize,
    /// By event.
    made: Vec<EventNodes>,
    /// Where each function was seen, for those with a file.
    pub files: Map<FunctionId, FileId>,
}

/// How an event's samples came into the tree.
struct EventNodes {
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
    /// Samples of an event that ended in a call node.
    pub fn own(&self, node: usize, event: usize) -> Sum {
        self.own[node * self.events + event]
    }

    /// Samples of an event that pass through a call node.
    pub fn total(&self, node: usize, event: usize) -> Sum {
        self.total[node * self.events + event]
    }

    /// All samples of an event.
    pub fn all(&self, event: usize) -> Sum {
        self.total(0, event)
    }

    pub fn events(&self) -> usize {
        self.events
    }

    /// Every row of samples that the tree has, and the call node that it ended in.
    pub fn rows<'a>(&'a self, profile: &'a Profile) -> impl Iterator<Item = (usize, u32)> + 'a {
        self.rows_in(profile, 0..profile.samples.len())
    }

    /// Those of them that are in a range.
    pub fn rows_in<'a>(
        &'a self,
        profile: &'a Profile,
        range: Range<usize>,
    ) -> impl Iterator<Item = (usize, u32)> + 'a {
        let filters: Vec<_> =
            self.made.iter().map(|made| Filter::new(profile, &made.query)).collect();
        let samples = &profile.samples;
        range.filter_map(move |row| {
            let event = usize::from(samples.event[row]);
            let (made, filter) = self.made.get(event).zip(filters.get(event))?;
            let end = made.ends.of(samples.thread.at(row), samples.stack[row])?;
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

    /// Once all events are in it.
    fn add_up(&mut self) {
        self.total = self.own.clone();
        for node in (1..self.nodes.len()).rev() {
            let parent = self.nodes[node].parent as usize;
            for event in 0..self.events {
                let total = self.total[node * self.events + event];
                self.total[parent * self.events + event].add(total);
            }
        }
        let Self { nodes, total, events, .. } = self;
        // A link may have no event.
        let (all, below) = total.split_at(*events);
        for (node, totals) in nodes.iter_mut().skip(1).zip(below.chunks((*events).max(1))) {
            let shares = totals.iter().zip(all).filter(|(_, all)| all.weight > 0);
            let shares = shares.map(|(total, all)| total.weight as f64 / all.weight as f64);
            node.share = shares.fold(0.0, f64::max);
        }
    }

    /// True for what can be kept: not what was folded already, nor what is too deep.
    pub fn can_be_kept(&self, contents: &Contents<'_>, node: usize) -> bool {
        !self.is_folded(contents, node) && self.nodes[node].depth as usize <= MAX_DEPTH
    }

    /// True for what an earlier snapshot folded, and for the processes that it left out.
    pub fn is_folded(&self, contents: &Contents<'_>, node: usize) -> bool {
        if let Label::Group(name) = self.nodes[node].label {
            let is_of_snapshot = contents.facts.before.is_some();
            return is_of_snapshot && contents.profile.strings.get(name) == FOLDED;
        }
        let dso = self.dso(contents, node);
        dso.is_some_and(|dso| contents.profile.dsos.get(dso).kind == DsoKind::Folded)
    }
}

/// To add a call node of an event to those of the others takes about as long as to take so many rows.
const ROWS_OF_A_CALL_NODE: usize = 4;

impl Tree {
    /// Of what the filters and steps of a query leave of each event, or of all there is. Without
    /// addresses, code without a name is one in each DSO. In slices of rows.
    pub async fn of(
        contents: &Contents<'_>,
        query: Option<&Query>,
        addresses: Disclosure,
        slice: &Slice,
    ) -> Self {
        let Contents { profile, symbols, .. } = *contents;
        let events = profile.events.len();
        let root = Node { parent: 0, label: Label::All, depth: 0, line: None, share: 1.0 };
        let mut ours = Self {
            nodes: vec![root],
            own: vec![Sum::default(); events],
            total: Vec::new(),
            events,
            made: Vec::new(),
            files: Map::new(),
        };
        let mut index = Map::new();
        for event in (0..).take(events) {
            let query = Query {
                event,
                direction: Direction::Callees,
                group: Group::Process,
                around: None,
                unnamed: Unnamed::EachAddress,
                ..query.cloned().unwrap_or_default()
            };
            let (BuiltTree { tree, .. }, ends) =
                build_in_slices(profile, symbols, &query, TreeDetail::Ends, slice).await;
            let mut made = EventNodes { query, ends, nodes: Vec::with_capacity(tree.len()) };
            let slice = slice.in_units_of(ROWS_OF_A_CALL_NODE);
            let mut ids = 0..tree.len();
            while let Some(part) = slice.part(&mut ids).await {
                for id in part.map(|id| CallNodeId(id as u32)) {
                    ours.add(contents, addresses, &mut index, &tree, id, &mut made);
                }
            }
            ours.made.push(made);
        }
        slice.next().await;
        ours.add_up();
        ours
    }

    /// Adds a call node of an event's tree.
    fn add(
        &mut self,
        contents: &Contents<'_>,
        addresses: Disclosure,
        index: &mut Map<(u32, Label), u32>,
        tree: &CallTree,
        id: CallNodeId,
        made: &mut EventNodes,
    ) {
        let event = made.query.event as usize;
        let Some(parent) = tree.parent(id) else {
            made.nodes.push(0);
            self.own[event] = tree.self_sum(id);
            return;
        };
        let label = whole_dso(contents, tree.label(id), addresses);
        let parent = made.nodes[parent.0 as usize];
        let node = *index.entry((parent, label)).or_insert_with(|| {
            let (file, line) = place(contents, tree, id);
            if let (Some(function), Some(file)) = (label.function(), file) {
                self.files.entry(function).or_insert(file);
            }
            let depth = self.nodes[parent as usize].depth + 1;
            self.nodes.push(Node { parent, label, depth, line, share: 0.0 });
            self.own.extend(std::iter::repeat_n(Sum::default(), self.events));
            self.nodes.len() as u32 - 1
        });
        made.nodes.push(node);
        self.own[node as usize * self.events + event].add(tree.self_sum(id));
    }
}

/// Code of a DSO that was collapsed is, in a snapshot that was opened, a function that is called
/// like it and has that from no file. Nothing but its address tells code without a name apart.
fn whole_dso(contents: &Contents<'_>, label: Label, addresses: Disclosure) -> Label {
    let function = label.function().map(|function| contents.symbols.function(function));
    let is_whole = |it: &Function<'_>| match it.name {
        Some(_) => it.provenance == Provenance::Unnamed,
        None => addresses == Disclosure::LeftOut,
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
    id: CallNodeId,
) -> (Option<FileId>, Option<NonZeroU32>) {
    let (function, inlining) = match tree.label(id) {
        Label::Function(function) => (function, Inlining::Called),
        Label::Inlined(function) => (function, Inlining::Inlined),
        _ => return (None, None),
    };
    let level = tree.frame(id).and_then(|frame| {
        let levels = contents.symbols.levels(frame);
        levels.iter().find(|level| level.function == function && level.inlining == inlining)
    });
    level.map_or((None, None), |level| (level.file, level.line))
}
