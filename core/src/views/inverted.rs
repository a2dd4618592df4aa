//! Grows trees with the innermost frames as roots.
//!
//! Without names nearly every stack has callers of its own, so there may be ten times as many call
//! nodes as stacks. None of them is looked up: the stacks below a call node are parted by what called
//! it, and each part is a new call node. Looking them up by hash took more than twice as long on nine
//! million samples, and a third more memory.

use std::ops::Range;

use crate::profile::{DsoKind, FrameId, Profile, StackId, Stacks};
use crate::symbolize::{Inlining, Symbols};
use crate::views::Inlines;
use crate::views::call_tree::{CallNodeId, GrowingTree, Label};
use crate::views::weights::GroupWeights;

/// How far a stack has been followed from its leaf.
#[derive(Clone, Copy)]
struct Cursor {
    /// Position in the group's stacks.
    leaf: u32,
    /// Ends in the frame that is next.
    stack: StackId,
    /// How many levels of that frame have been passed, innermost first.
    levels: u32,
}

/// A call and its frame; `None` where a stack has ended.
type Call = Option<(Label, FrameId)>;

/// Grows the call nodes of groups, each below its root.
pub(super) struct Inverter<'a> {
    profile: &'a Profile,
    symbols: &'a Symbols,
    inlines: Inlines,
    /// Used for each call node.
    parts: Vec<(u64, Cursor, Call)>,
}

impl<'a> Inverter<'a> {
    pub fn new(profile: &'a Profile, symbols: &'a Symbols, inlines: Inlines) -> Self {
        Self { profile, symbols, inlines, parts: Vec::new() }
    }

    /// Adds a group's stacks below `root`, which has no call nodes yet.
    pub fn add(&mut self, tree: &mut GrowingTree, root: CallNodeId, group: &GroupWeights) {
        let stacks = group.stacks.iter().zip(0..);
        let mut cursors: Vec<Cursor> =
            stacks.map(|(&(stack, _), leaf)| Cursor { leaf, stack, levels: 0 }).collect();
        let mut open = vec![(root, 0..cursors.len())];
        while let Some((node, range)) = open.pop() {
            if let [cursor] = cursors[range.clone()] {
                self.add_chain(tree, node, cursor, group);
                continue;
            }
            self.part(&mut cursors[range.clone()]);
            for (part, call) in self.parts_as_met() {
                let part = range.start + part.start..range.start + part.end;
                match call {
                    Some((label, frame)) => {
                        open.push((tree.new_child(node, label, Some(frame)), part));
                    }
                    None => cursors[part].iter().for_each(|cursor| {
                        tree.add_self(node, group.stacks[cursor.leaf as usize].1);
                    }),
                }
            }
        }
    }

    /// Where each call's cursors stand, and the call; those that were met first come first.
    fn parts_as_met(&self) -> Vec<(Range<usize>, Call)> {
        let mut parts: Vec<(Range<usize>, Call)> = Vec::new();
        for (place, part) in self.parts.iter().enumerate() {
            match parts.last_mut() {
                Some((range, _)) if self.parts[range.start].0 == part.0 => range.end = place + 1,
                _ => parts.push((place..place + 1, part.2)),
            }
        }
        parts.sort_unstable_by_key(|(range, _)| self.parts[range.start].1.leaf);
        parts
    }

    /// The callers of a stack that no other one shares.
    fn add_chain(
        &self,
        tree: &mut GrowingTree,
        node: CallNodeId,
        cursor: Cursor,
        group: &GroupWeights,
    ) {
        let (mut at, mut cursor) = (node, cursor);
        while let Some((label, frame)) = self.pass(&mut cursor) {
            at = tree.new_child(at, label, Some(frame));
        }
        tree.add_self(at, group.stacks[cursor.leaf as usize].1);
    }

    /// Passes the next call of each; those with the same call stand together then. `parts` has the
    /// calls.
    fn part(&mut self, cursors: &mut [Cursor]) {
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        for &cursor in &*cursors {
            let mut cursor = cursor;
            let call = self.pass(&mut cursor);
            // No call is of the label of all, so its key stands for the end.
            parts.push((call.map_or(Label::All, |(label, _)| label).key(), cursor, call));
        }
        if parts.iter().any(|part| part.0 != parts[0].0) {
            parts.sort_unstable_by_key(|&(key, cursor, _)| (key, cursor.leaf));
        }
        for (cursor, part) in cursors.iter_mut().zip(&parts) {
            *cursor = part.1;
        }
        self.parts = parts;
    }

    fn pass(&self, cursor: &mut Cursor) -> Call {
        let (prefix, frame) = self.profile.stacks.get(cursor.stack)?;
        let symbols = self.symbols;
        let dso = self.profile.frames.get(frame).dso;
        let (label, is_last) = if self.profile.dsos.get(dso).kind == DsoKind::Unmapped {
            (Label::NoMapping, true)
        } else if self.inlines == Inlines::Merged {
            (Label::Function(symbols.merged(frame)), true)
        } else {
            let levels = symbols.levels(frame);
            let left = levels.len().saturating_sub(cursor.levels as usize + 1);
            let level = levels[left];
            let label = match level.inlining {
                Inlining::Called => Label::Function(level.function),
                Inlining::Inlined => Label::Inlined(level.function),
            };
            (label, left == 0)
        };
        match is_last {
            true => (cursor.stack, cursor.levels) = (prefix, 0),
            false => cursor.levels += 1,
        }
        debug_assert!(cursor.stack != Stacks::EMPTY || cursor.levels == 0);
        Some((label, frame))
    }
}
