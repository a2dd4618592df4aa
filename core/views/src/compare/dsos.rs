//! Which DSOs of the two sides are compared with each other, and by what.
//!
//! Equal build-ids are one build, whatever its files are called. What is left is held beside what
//! has its path, or else its file name, on the other side: another build of it, compared by the
//! names of functions, since its addresses mean nothing to the other's.

use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::sort;

use perftab_profile::{Dso, DsoId, DsoKind, Identity, Profile};

use super::{ComparedSide, Recordings, Source, Sums};
use crate::coverage::is_listed;

/// How the DSOs of a pair are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// The same build.
    SameBuild,
    /// Two builds under one name.
    TwoBuilds,
    /// Under one name, and what they are was not recorded for both.
    Unidentified,
    /// Nothing of the name was sampled after.
    OnlyBefore,
    /// Nothing of the name was sampled before.
    OnlyAfter,
}

/// What code of a pair without a name is compared by. Functions of one name are one in any pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum MatchedBy {
    /// By address: it means the same on both sides.
    Address,
    /// By function name; all code without a name is one.
    Name,
    /// There is nothing to compare it with.
    Nothing,
}

/// A DSO of one side of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DsoSide {
    /// Its number in its profile.
    pub id: DsoId,
    /// Its path as recorded.
    pub path: String,
    /// What it is, if that was recorded.
    pub identity: Option<Identity>,
}

/// DSOs that are compared with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DsoPair {
    /// What it is called: the file name after, or else before.
    pub name: String,
    /// The one before, and how many there are of it.
    pub before: Vec<DsoSide>,
    /// Those after.
    pub after: Vec<DsoSide>,
    /// How they are related.
    pub relation: Relation,
    /// What code without a name is compared by.
    pub matched_by: MatchedBy,
    /// Whether any of its functions that are shown has a name.
    pub is_named: bool,
    /// The side that lacks names for it, all or some, where the other has them: until it has them, what only
    /// the other names cannot be compared.
    pub without_names: Option<ComparedSide>,
    /// Whether any call node lies in it.
    pub is_shown: bool,
    /// Whether it is a file, and not a run of words in no mapping.
    pub is_listed: bool,
    /// Samples that ended in it.
    pub self_sums: Sums,
}

/// Which pair each DSO is in, before and after.
pub(super) struct Pairing {
    of_dso: [Vec<u32>; 2],
}

impl Pairing {
    pub fn of(&self, side: ComparedSide, dso: DsoId) -> u32 {
        self.of_dso[side as usize][dso.index()]
    }
}

/// Pairs the DSOs of both sides.
pub(super) fn pair(sources: [&Source<'_>; 2], recordings: Recordings) -> (Pairing, Vec<DsoPair>) {
    let profiles = sources.map(|source| source.profile);
    let mut pairs = Pairs {
        pairs: Vec::new(),
        of_dso: profiles.map(|profile| vec![NO_PAIR; profile.dsos.len()]),
    };
    match recordings {
        Recordings::One => pairs.by_key(profiles, |_, id, _| Some(id)),
        Recordings::Two => {
            pairs.by_key(profiles, |_, _, dso| Some((dso.identity?, dso.kind)));
            // By path first: `/opt/a/libz.so` is rather another build of itself than of
            // `/usr/lib/libz.so`.
            pairs.rest(profiles, |profile, dso| Some(place(profile, dso, &dso.path)));
            pairs.rest(profiles, |profile, dso| Some(place(profile, dso, dso.name())));
            pairs.alone(profiles);
        }
    }
    let Pairs { mut pairs, of_dso } = pairs;
    for pair in &mut pairs {
        (pair.relation, pair.matched_by) = match recordings {
            Recordings::One => (Relation::SameBuild, MatchedBy::Address),
            Recordings::Two => related(profiles, pair),
        };
    }
    (Pairing { of_dso }, pairs)
}

/// What DSOs without equal identities are found by. Code without a file belongs to a process.
fn place<'a>(profile: &'a Profile, dso: &'a Dso, name: &'a str) -> (DsoKind, &'a str, &'a str) {
    let process =
        dso.process.map(|process| profile.strings.get(profile.threads.process(process).name));
    match process {
        Some(process) => (dso.kind, process, ""),
        None => (dso.kind, "", name),
    }
}

const NO_PAIR: u32 = u32::MAX;

struct Pairs {
    pairs: Vec<DsoPair>,
    of_dso: [Vec<u32>; 2],
}

impl Pairs {
    /// Pairs what has an equal key on both sides.
    fn by_key<'a, K: std::hash::Hash + Eq>(
        &mut self,
        profiles: [&'a Profile; 2],
        key: impl Fn(&'a Profile, DsoId, &'a Dso) -> Option<K>,
    ) {
        let mut met: Map<K, [Vec<DsoId>; 2]> = Map::new();
        for (side, profile) in profiles.into_iter().enumerate() {
            for (id, dso) in profile.dsos.iter() {
                if self.of_dso[side][id.index()] == NO_PAIR
                    && let Some(key) = key(profile, id, dso)
                {
                    met.entry(key).or_default()[side].push(id);
                }
            }
        }
        let mut met: Vec<[Vec<DsoId>; 2]> =
            met.into_values().filter(|sides| sides.iter().all(|ids| !ids.is_empty())).collect();
        // The order of a hash table is none; numbers of pairs must not depend on it.
        sort(&mut met);
        met.into_iter().for_each(|sides| self.add(profiles, sides));
    }

    fn rest<'a, K: std::hash::Hash + Eq>(
        &mut self,
        profiles: [&'a Profile; 2],
        key: impl Fn(&'a Profile, &'a Dso) -> Option<K>,
    ) {
        self.by_key(profiles, |profile, _, dso| key(profile, dso));
    }

    /// Whatever has no partner is a pair of its own, one for each build.
    fn alone(&mut self, profiles: [&Profile; 2]) {
        for (side, profile) in profiles.into_iter().enumerate() {
            let mut met: Map<(Identity, DsoKind), u32> = Map::new();
            for (id, dso) in profile.dsos.iter() {
                if self.of_dso[side][id.index()] != NO_PAIR {
                    continue;
                }
                let key = dso.identity.map(|identity| (identity, dso.kind));
                if let Some(&known) = key.as_ref().and_then(|key| met.get(key)) {
                    self.join(profiles, side, id, known);
                    continue;
                }
                if let Some(key) = key {
                    met.insert(key, self.pairs.len() as u32);
                }
                let mut sides = [Vec::new(), Vec::new()];
                sides[side].push(id);
                self.add(profiles, sides);
            }
        }
    }

    fn add(&mut self, profiles: [&Profile; 2], sides: [Vec<DsoId>; 2]) {
        let named_by = if sides[1].is_empty() { 0 } else { 1 };
        let first = sides[named_by].first();
        let name = first.map(|&id| profiles[named_by].dsos.get(id).name());
        let pair = self.pairs.len() as u32;
        self.pairs.push(DsoPair {
            name: perftab_perfdata::text::printable(name.unwrap_or_default()).into_owned(),
            before: Vec::new(),
            after: Vec::new(),
            relation: Relation::Unidentified,
            matched_by: MatchedBy::Nothing,
            is_named: false,
            without_names: None,
            is_shown: false,
            is_listed: first.is_some_and(|&id| is_listed(profiles[named_by].dsos.get(id))),
            self_sums: Sums::default(),
        });
        for (side, ids) in sides.into_iter().enumerate() {
            ids.into_iter().for_each(|id| self.join(profiles, side, id, pair));
        }
    }

    fn join(&mut self, profiles: [&Profile; 2], side: usize, id: DsoId, pair: u32) {
        let dso = profiles[side].dsos.get(id);
        self.of_dso[side][id.index()] = pair;
        let pair = &mut self.pairs[pair as usize];
        let members = if side == 0 { &mut pair.before } else { &mut pair.after };
        let path = perftab_perfdata::text::printable(&dso.path).into_owned();
        members.push(DsoSide { id, path, identity: dso.identity });
    }
}

fn related(profiles: [&Profile; 2], pair: &DsoPair) -> (Relation, MatchedBy) {
    let (Some(before), Some(after)) = (pair.before.first(), pair.after.first()) else {
        let only = if pair.after.is_empty() { Relation::OnlyBefore } else { Relation::OnlyAfter };
        // Both ends of it are on one side, where an address is always the same.
        return (only, MatchedBy::Nothing);
    };
    match (before.identity, after.identity) {
        (Some(one), Some(other)) if one == other => {
            let dsos = [(0, before), (1, after)].map(|(side, it)| profiles[side].dsos.get(it.id));
            let by = if are_comparable(dsos) { MatchedBy::Address } else { MatchedBy::Name };
            (Relation::SameBuild, by)
        }
        (Some(_), Some(_)) => (Relation::TwoBuilds, MatchedBy::Name),
        _ => (Relation::Unidentified, MatchedBy::Name),
    }
}

/// Whether addresses of one build mean the same on both sides. Those of a file do; those of a
/// kernel must be counted from a place that was recorded, since it lies elsewhere after each boot.
fn are_comparable(dsos: [&Dso; 2]) -> bool {
    match dsos[0].kind {
        DsoKind::User | DsoKind::Vdso => true,
        DsoKind::Kernel | DsoKind::Module => {
            let is_known = |dso: &Dso| {
                dso.kernel_place.reference.is_some() && dso.kernel_place.moved_to.is_empty()
            };
            let [before, after] = dsos;
            is_known(before)
                && is_known(after)
                && before.kernel_place.symbol == after.kernel_place.symbol
        }
        _ => false,
    }
}

/// What an address is counted from, so that it can be compared.
pub(super) fn base(dso: &Dso, relation: Relation) -> u64 {
    match (relation, dso.kind) {
        (Relation::SameBuild, DsoKind::Kernel | DsoKind::Module) => {
            dso.kernel_place.reference.unwrap_or(0)
        }
        _ => 0,
    }
}
