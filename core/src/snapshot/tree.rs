//! The call tree of all events together.

use std::collections::HashMap;
use std::num::NonZeroU32;

use super::MAX_DEPTH;
use crate::profile::{DsoKind, EventId};
use crate::snapshot::Contents;
use crate::symbolize::{FileId, FunctionId, Inlining};
use crate::views::call_tree::{CallTree, Label};
use crate::views::weights::Sum;
use crate::views::{Direction, Group, Inlines, Query};

/// The call nodes of all events; callers have lower indexes than what they call.
pub(super) struct Tree {
    pub nodes: Vec<Node>,
    /// For each call node, as many sums as there are events.
    own: Vec<Sum>,
    events: usize,
    /// Where each function was seen, for those with a file.
    pub files: HashMap<FunctionId, FileId>,
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
    pub fn new(contents: &Contents<'_>) -> Self {
        let events = contents.profile.events.len();
        let root = Node { parent: 0, label: Label::All, depth: 0, line: None, share: 1.0 };
        let mut tree = Self {
            nodes: vec![root],
            own: vec![Sum::default(); events],
            events,
            files: HashMap::new(),
        };
        let mut index = HashMap::new();
        for event in 0..events {
            tree.add_event(contents, EventId(event as u32), &mut index);
        }
        tree
    }

    /// Samples of an event that ended in a call node.
    pub fn own(&self, node: usize, event: usize) -> Sum {
        self.own[node * self.events + event]
    }

    pub fn events(&self) -> usize {
        self.events
    }

    fn add_event(
        &mut self,
        contents: &Contents<'_>,
        event: EventId,
        index: &mut HashMap<(u32, Label), u32>,
    ) {
        let query = Query {
            event: event.0,
            direction: Direction::Callees,
            group: Group::Process,
            inlines: Inlines::Shown,
            ..Query::default()
        };
        let tree = CallTree::new(contents.profile, contents.symbols, &query);
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
            let label = tree.label(id);
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
    }

    /// True for what can be kept: not what was folded already, nor what is too deep.
    pub fn can_be_kept(&self, contents: &Contents<'_>, node: usize) -> bool {
        let Node { label, depth, .. } = self.nodes[node];
        let is_folded = label.function().is_some_and(|function| {
            let dso = contents.symbols.function(function).dso;
            contents.profile.dsos.get(dso).kind == DsoKind::Folded
        });
        !is_folded && depth as usize <= MAX_DEPTH
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
