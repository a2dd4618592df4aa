//! One function between its callers and its callees: what the band says of it, and how much of what
//! ends in it is its own code or that of functions inlined into it.

use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::sort_by_key;
use std::cmp::Reverse;

use perftab_names::{FunctionId, Symbols};
use perftab_profile::Profile;

use crate::call_tree::{CallNodeId, CallTree, Label};
use crate::function_ref::{FunctionRef, Resolver};
use crate::weights::Sum;

/// What is known of one function in a call tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Sandwich {
    /// Its heaviest call node.
    pub heaviest: CallNodeId,
    /// Samples that ended in it.
    pub self_sum: Sum,
    /// Samples that it is anywhere in, recursion counted once.
    pub total: Sum,
    /// Samples that ended in it or in a function inlined into it: in the code that the linker
    /// knows under its name.
    pub own_code: Sum,
    /// The parts of `own_code`: itself first, then what is inlined, most weight first.
    pub parts: Vec<(FunctionId, Sum)>,
}

/// Sums up one function of a call tree (callees, not inverted). `None` if no sample has it.
pub fn sandwich(
    profile: &Profile,
    symbols: &Symbols,
    tree: &CallTree,
    function: &FunctionRef,
) -> Option<Sandwich> {
    let functions = Resolver::new(profile, symbols).functions(function);
    sum_up(tree, |label| functions.has(label))
}

/// By call node: whether it is a function's own code, which is the function and what is inlined into it.
/// `is_it` tells the function's labels.
pub(super) fn code(tree: &CallTree, is_it: impl Fn(Label) -> bool) -> Vec<bool> {
    let mut is_code: Vec<bool> = Vec::with_capacity(tree.len());
    for id in tree.ids() {
        let label = tree.label(id);
        let is_inlined_there = || {
            let caller = tree.parent(id).is_some_and(|parent| is_code[parent.0 as usize]);
            caller && matches!(label, Label::Inlined(_))
        };
        let is_code_too = is_it(label) || is_inlined_there();
        is_code.push(is_code_too);
    }
    is_code
}

/// `is_it` tells the function's labels.
pub(super) fn sum_up(tree: &CallTree, is_it: impl Fn(Label) -> bool) -> Option<Sandwich> {
    let (mut self_sum, mut total, mut own_code) = (Sum::default(), Sum::default(), Sum::default());
    let mut heaviest: Option<CallNodeId> = None;
    let mut parts: Map<FunctionId, Sum> = Map::new();
    let is_code = code(tree, &is_it);
    // By call node: whether it is below the function.
    let mut is_below = vec![false; tree.len()];
    for id in tree.ids() {
        let label = tree.label(id);
        let is_it = is_it(label);
        let parent = tree.parent(id).map_or(0, |parent| parent.0 as usize);
        let was_below = is_below[parent];
        let at = id.0 as usize;
        is_below[at] = was_below || is_it;
        if is_it {
            self_sum.add(tree.self_sum(id));
            if !was_below {
                total.add(tree.total(id));
            }
            if heaviest.is_none_or(|known| tree.total(id).weight > tree.total(known).weight) {
                heaviest = Some(id);
            }
        }
        if let Some(part) = label.function().filter(|_| is_code[at]) {
            own_code.add(tree.self_sum(id));
            parts.entry(part).or_default().add(tree.self_sum(id));
        }
    }
    let heaviest = heaviest?;
    let mut parts: Vec<_> = parts.into_iter().collect();
    parts.retain(|(function, sum)| sum.samples > 0 || is_it(Label::Function(*function)));
    // Ids break ties, since a hash table has no order.
    sort_by_key(&mut parts, |&(function, sum)| {
        (!is_it(Label::Function(function)), Reverse(sum.weight), function)
    });
    Some(Sandwich { heaviest, self_sum, total, own_code, parts })
}
