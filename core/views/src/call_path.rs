//! The way to a call node, as a step of a query has it, in a tree of today's names.

use perftab_names::Symbols;
use perftab_profile::{DsoId, Profile};

use crate::Group;
use crate::call_tree::{CallNodeId, CallTree, Label};
use crate::families::{family_name, is_meant};
use crate::function_ref::{DsoRef, FunctionRef, FunctionSet, PathPart, Resolver};
use crate::weights::Levels;

/// The way from the root to a call node of a tree with such groups, the root left out.
pub fn of(
    profile: &Profile,
    symbols: &Symbols,
    tree: &CallTree,
    id: CallNodeId,
    group: Group,
) -> Vec<PathPart> {
    let function = |id| FunctionRef::of(profile, symbols, id);
    let part = |id: CallNodeId| match tree.label(id) {
        Label::All => None,
        Label::Group(name) => {
            let name = profile.strings.get(name).to_owned();
            Some(match group {
                Group::Thread => PathPart::Thread { name },
                Group::Process | Group::Auto | Group::None => PathPart::Process { name },
            })
        }
        Label::Family(name) => {
            Some(PathPart::Process { name: family_name(profile.strings.get(name)) })
        }
        Label::Function(id) => Some(PathPart::Function { function: function(id) }),
        Label::Inlined(id) => Some(PathPart::Inlined { function: function(id) }),
        Label::Dso(dso) => Some(PathPart::Dso { dso: DsoRef::of(profile.dsos.get(dso)) }),
        Label::NoMapping => Some(PathPart::NoMapping),
    };
    tree.path(id).into_iter().filter_map(part).collect()
}

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
    naming: Naming,
}

/// Whether a function has the name that the path has for it.
#[derive(PartialEq, Eq)]
enum Naming {
    AsInPath,
    /// There was none then: levels inlined into it may have come with the name.
    New,
    /// It is all code of a DSO without one, of which there may be several calls where each address is shown.
    Rest,
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
                Label::Group(_) | Label::Family(_) => {
                    self.is_in_group(tree, profile, id).then_some(met)
                }
                label => self.next(met, label, met.checked_sub(1)),
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
            if tree.label(id).is_group() || met == self.parts.len() {
                break;
            }
            // From the leaf, what is inlined into a function comes before it.
            let now = self.next(met, tree.label(id), Some(met))?;
            if now > met {
                end = Some(id);
            }
            met = now;
        }
        let mut groups = way().filter(|&id| id != CallNodeId::ROOT && tree.label(id).is_group());
        let in_groups = groups.all(|id| self.is_in_group(tree, profile, id));
        end.filter(|_| met == self.parts.len() && in_groups)
    }

    /// How many parts are met by a call node with `label`, where `met` were met before it; `None`
    /// if it leads away from the path. Levels inlined into the function of the part `outer` are
    /// passed over if the path knows nothing of them.
    fn next(&self, met: usize, label: Label, outer: Option<usize>) -> Option<usize> {
        if self.parts.get(met).is_some_and(|part| part.is(label)) {
            return Some(met + 1);
        }
        let last = met.checked_sub(1).and_then(|last| self.parts.get(last));
        let is_rest = matches!(last, Some(Part::Called(of)) if of.naming == Naming::Rest);
        if is_rest && last.is_some_and(|last| last.is(label)) {
            return Some(met);
        }
        let outer = outer.and_then(|outer| self.parts.get(outer));
        let is_new = matches!(outer, Some(Part::Called(of)) if of.naming == Naming::New);
        (is_new && matches!(label, Label::Inlined(_))).then_some(met)
    }

    fn is_in_group(&self, tree: &CallTree, profile: &Profile, id: CallNodeId) -> bool {
        let level = if tree.parent(id) == Some(CallNodeId::ROOT) { 0 } else { 1 };
        let wanted = self.groups.get(level).and_then(Option::as_deref);
        wanted.is_none_or(|wanted| match tree.label(id) {
            Label::Group(name) => is_meant(wanted, profile.strings.get(name)),
            Label::Family(name) => wanted == family_name(profile.strings.get(name)),
            _ => false,
        })
    }
}

fn functions(resolver: &mut Resolver<'_>, function: &FunctionRef) -> Functions {
    let set = resolver.functions(function);
    let has_name = set.iter().any(|id| resolver.symbols.function(id).name.is_some());
    let naming = match (&function.name, function.address) {
        (None, None) => Naming::Rest,
        (None, Some(_)) if has_name => Naming::New,
        _ => Naming::AsInPath,
    };
    Functions { set, naming }
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
