//! The call nodes that samples end in, by their stack.

use std::collections::HashMap;

use crate::profile::{DsoKind, Profile, StackId, Stacks, ThreadId};
use crate::symbolize::{Inlining, Symbols};
use crate::views::call_tree::{CallNodeId, CallTree, Label};
use crate::views::{Group, Inlines, Query};

/// Finds call nodes of a query's tree of callees; each stack is looked up once.
pub struct Leaves<'a> {
    profile: &'a Profile,
    symbols: &'a Symbols,
    tree: &'a CallTree,
    query: &'a Query,
    known: HashMap<(CallNodeId, StackId), Option<CallNodeId>>,
}

impl<'a> Leaves<'a> {
    /// For a query and its tree.
    pub fn new(
        profile: &'a Profile,
        symbols: &'a Symbols,
        tree: &'a CallTree,
        query: &'a Query,
    ) -> Self {
        Self { profile, symbols, tree, query, known: HashMap::new() }
    }

    /// Where samples of a thread with this stack end.
    pub fn of(&mut self, thread: ThreadId, stack: StackId) -> Option<CallNodeId> {
        let threads = &self.profile.threads;
        let thread = threads.thread(thread);
        let root = match self.query.group {
            Group::None => Some(CallNodeId::ROOT),
            Group::Process => {
                self.child(CallNodeId::ROOT, Label::Group(threads.process(thread.process).name))
            }
            Group::Thread => self.child(CallNodeId::ROOT, Label::Group(thread.name)),
        };
        let root = root?;
        let mut missing = Vec::new();
        let mut next = stack;
        let mut at = Some(root);
        while let Some((prefix, frame)) = self.profile.stacks.get(next) {
            if let Some(&known) = self.known.get(&(root, next)) {
                at = known;
                break;
            }
            missing.push((next, frame));
            next = prefix;
        }
        debug_assert!(next != Stacks::EMPTY || at == Some(root));
        while let Some((stack, frame)) = missing.pop() {
            at = at.and_then(|at| self.descend(at, frame));
            self.known.insert((root, stack), at);
        }
        at
    }

    fn descend(&self, at: CallNodeId, frame: crate::profile::FrameId) -> Option<CallNodeId> {
        let dso = self.profile.frames.get(frame).dso;
        if self.profile.dsos.get(dso).kind == DsoKind::Unmapped {
            return self.child(at, Label::NoMapping);
        }
        if self.query.inlines == Inlines::Merged {
            return self.child(at, Label::Function(self.symbols.merged(frame)));
        }
        self.symbols.levels(frame).iter().try_fold(at, |at, level| {
            self.child(
                at,
                match level.inlining {
                    Inlining::Called => Label::Function(level.function),
                    Inlining::Inlined => Label::Inlined(level.function),
                },
            )
        })
    }

    fn child(&self, parent: CallNodeId, label: Label) -> Option<CallNodeId> {
        self.tree.children(parent).iter().copied().find(|&child| self.tree.label(child) == label)
    }
}
