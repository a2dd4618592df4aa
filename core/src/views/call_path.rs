//! The way to a call node, as a step of a query has it, in a tree of today's names.

use crate::profile::{DsoId, Profile};
use crate::views::Group;
use crate::views::call_tree::{CallNodeId, CallTree, Label};
use crate::views::function_ref::{FunctionRef, FunctionSet, PathPart, Resolver};
use crate::views::weights::Levels;

/// A way to a call node.
pub(super) struct CallPath {
    /// By level of groups: the name that is wanted, if one is.
    groups: Vec<Option<String>>,
    /// From the root's side on.
    parts: Vec<Part>,
}

enum Part {
    Called(Functions),
    Inlined(Functions),
    Dso(Vec<DsoId>),
    NoMapping,
}

struct Functions {
    set: FunctionSet,
    /// The path is from before there was a name: inlined levels of the same frame may follow now.
    was_unnamed: bool,
}

impl CallPath {
    /// `None` for a path that leads to no code, or through a group below code.
    pub fn new(resolver: &mut Resolver<'_>, levels: Levels, path: &[PathPart]) -> Option<Self> {
        let mut groups = vec![None; levels.count()];
        let mut parts = Vec::new();
        for part in path {
            let (group, name) = match part {
                PathPart::Process { name } => (Group::Process, name),
                PathPart::Thread { name } => (Group::Thread, name),
                PathPart::Function { function } => {
                    parts.push(Part::Called(functions(resolver, function)));
                    continue;
                }
                PathPart::Inlined { function } => {
                    parts.push(Part::Inlined(functions(resolver, function)));
                    continue;
                }
                PathPart::Dso { dso } => {
                    parts.push(Part::Dso(resolver.dsos(dso).to_vec()));
                    continue;
                }
                PathPart::NoMapping => {
                    parts.push(Part::NoMapping);
                    continue;
                }
            };
            if !parts.is_empty() {
                return None;
            }
            groups[levels.position(group)?] = Some(name.clone());
        }
        (!parts.is_empty()).then_some(Self { groups, parts })
    }

    /// By call node: whether the path ends in it, from the root on.
    pub fn ends(&self, tree: &CallTree, profile: &Profile) -> Vec<bool> {
        // By call node: how many parts lead to it.
        let mut met: Vec<Option<usize>> = Vec::with_capacity(tree.len());
        let mut ends = vec![false; tree.len()];
        for id in tree.ids() {
            let before = match tree.parent(id) {
                Some(parent) => met[parent.0 as usize],
                None => Some(0),
            };
            let now = before.and_then(|met| match tree.label(id) {
                Label::All => Some(0),
                Label::Group(_) => self.is_in_group(tree, profile, id).then_some(met),
                label => self.next(met, label),
            });
            ends[id.0 as usize] = now == Some(self.parts.len()) && now != before;
            met.push(now);
        }
        ends
    }

    /// The call node that the path ends in when it starts from a leaf.
    pub fn end_from(
        &self,
        tree: &CallTree,
        profile: &Profile,
        leaf: CallNodeId,
    ) -> Option<CallNodeId> {
        let way = || std::iter::successors(Some(leaf), |&id| tree.parent(id));
        let mut met = 0;
        let mut end = None;
        for id in way() {
            if matches!(tree.label(id), Label::All | Label::Group(_)) || met == self.parts.len() {
                break;
            }
            let now = self.next(met, tree.label(id))?;
            if now > met {
                end = Some(id);
            }
            met = now;
        }
        let mut groups = way().filter(|&id| matches!(tree.label(id), Label::Group(_)));
        let in_groups = groups.all(|id| self.is_in_group(tree, profile, id));
        end.filter(|_| met == self.parts.len() && in_groups)
    }

    /// How many parts are met by a call node with `label`, where `met` were met before it; `None`
    /// if it leads away from the path.
    fn next(&self, met: usize, label: Label) -> Option<usize> {
        let is_next = self.parts.get(met).is_some_and(|part| part.is(label));
        let is_level_of_last = || {
            let last = met.checked_sub(1).and_then(|last| self.parts.get(last));
            let was_unnamed =
                matches!(last, Some(Part::Called(Functions { was_unnamed: true, .. })));
            was_unnamed && matches!(label, Label::Inlined(_))
        };
        match is_next {
            true => Some(met + 1),
            false => is_level_of_last().then_some(met),
        }
    }

    fn is_in_group(&self, tree: &CallTree, profile: &Profile, id: CallNodeId) -> bool {
        let level = if tree.parent(id) == Some(CallNodeId::ROOT) { 0 } else { 1 };
        let wanted = self.groups.get(level).and_then(Option::as_deref);
        wanted.is_none_or(|wanted| match tree.label(id) {
            Label::Group(name) => profile.strings.get(name) == wanted,
            _ => false,
        })
    }
}

fn functions(resolver: &mut Resolver<'_>, function: &FunctionRef) -> Functions {
    Functions { set: resolver.functions(function), was_unnamed: function.name.is_none() }
}

impl Part {
    fn is(&self, label: Label) -> bool {
        match (self, label) {
            (Self::Called(functions), Label::Function(_))
            | (Self::Inlined(functions), Label::Inlined(_)) => functions.set.has(label),
            (Self::Dso(dsos), Label::Dso(dso)) => dsos.contains(&dso),
            (Self::NoMapping, Label::NoMapping) => true,
            _ => false,
        }
    }
}
