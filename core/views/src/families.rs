//! Processes whose names differ in digits only, as one: `worker-#` for `worker-1`, `worker-2` and so on.

use perftab_perfdata::map::Map;
use perftab_profile::{Profile, StringId};

use crate::call_tree::Label;
use crate::function_ref::PathPart;
use crate::weights::GroupWeights;
use crate::{Group, Query};

/// Where the widest first level has less than this part of all weight, none has room for its name.
const NARROW: u64 = 50;

/// What a process and those that differ from it in digits only are called.
pub fn family_name(name: &str) -> String {
    let mut family = String::with_capacity(name.len());
    for sign in name.chars() {
        match sign {
            '0'..='9' if family.ends_with('#') => {}
            '0'..='9' => family.push('#'),
            sign => family.push(sign),
        }
    }
    family
}

/// True if a process of this name is meant by another name, which may be that of its family.
pub(super) fn is_meant(wanted: &str, name: &str) -> bool {
    wanted == name || (wanted.contains('#') && wanted == family_name(name))
}

/// Pids of the processes that differ from this name in digits only.
pub fn members(profile: &Profile, name: StringId) -> Vec<u32> {
    let family = family_name(profile.strings.get(name));
    let is_one = |name: StringId| family_name(profile.strings.get(name)) == family;
    let processes = profile.threads.processes.iter();
    let mut pids: Vec<u32> =
        processes.filter(|process| is_one(process.name)).map(|process| process.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// The families of a profile that have more than one name.
pub(super) struct Families {
    /// By name of a process: the first name of its family.
    first: Map<StringId, StringId>,
    /// By that: whether there is another.
    shared: Map<StringId, bool>,
}

impl Families {
    pub fn of(profile: &Profile) -> Self {
        let (mut first, mut shared) = (Map::new(), Map::new());
        let mut by_name: Map<String, StringId> = Map::new();
        for process in &profile.threads.processes {
            let name = profile.strings.get(process.name);
            if first.get(&process.name).is_some() || !name.contains(|it: char| it.is_ascii_digit())
            {
                continue;
            }
            let of = *by_name.entry(family_name(name)).or_insert(process.name);
            first.insert(process.name, of);
            shared.insert(of, of != process.name);
        }
        Self { first, shared }
    }

    /// What stands for the process of this name.
    pub fn label(&self, name: StringId) -> Label {
        match self.first.get(&name) {
            Some(first) if self.shared.get(first) == Some(&true) => Label::Family(*first),
            _ => Label::Group(name),
        }
    }
}

/// The first level of a query: [`Group::Auto`] is left only where processes are put together.
pub(super) fn first_level(query: &Query) -> Group {
    let names_one = |part: &PathPart| match part {
        PathPart::Process { name } => name.contains(|it: char| it.is_ascii_digit()),
        PathPart::Thread { .. } => true,
        _ => false,
    };
    let mut parts = query.steps.iter().flat_map(|step| step.path());
    let are_named = !query.processes.is_empty() || !query.threads.is_empty();
    match query.group {
        Group::Auto if are_named || parts.any(names_one) => Group::Process,
        group => group,
    }
}

/// Leaves out families where none is wide enough for its name. After steps [`super::turn`] does.
pub(super) fn leave_out_narrow(query: &Query, groups: &mut [GroupWeights]) {
    let weights = groups
        .iter()
        .map(|it| it.stacks.iter().fold(0u64, |sum, (_, it)| sum.saturating_add(it.weight)));
    if first_level(query) == Group::Auto && query.steps.is_empty() && are_narrow(weights) {
        groups.iter_mut().for_each(|group| group.groups.clear());
    }
}

/// Whether none of those that weigh so much is wide enough for its name.
pub(super) fn are_narrow(weights: impl Iterator<Item = u64>) -> bool {
    let (all, widest) =
        weights.fold((0u64, 0), |(all, widest), it| (all.saturating_add(it), it.max(widest)));
    widest.saturating_mul(NARROW) < all
}

#[cfg(test)]
mod tests {
    use super::{family_name, is_meant};

    #[test]
    fn digits_are_one_sign_each_run() {
        for (name, family) in [
            ("worker-17", "worker-#"),
            ("kworker/1:23-events", "kworker/#:#-events"),
            ("server", "server"),
            ("", ""),
            ("12", "#"),
            ("a#1", "a#"),
            ("é9é", "é#é"),
        ] {
            assert_eq!(family_name(name), family);
            assert!(is_meant(family, name) && is_meant(name, name));
        }
        assert!(!is_meant("worker-17", "worker-18") && !is_meant("worker-#", "worker"));
    }
}
