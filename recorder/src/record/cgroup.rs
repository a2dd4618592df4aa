//! Cgroups: their folders, and which event is recorded in which.
//!
//! A folder is in the hierarchy that the kernel samples by: that of perf_event where there is one, else the unified one
//! (`kernel/events/core.c`, `perf_cgroup_connect`).

use std::fmt::{self, Display, Formatter};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::event_options::CgroupsStand;
use super::events::{self, EventSpec, Grouping, Mode};
use super::sys::Scope;
use crate::output::counted;

/// Where an event is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the cgroup with this folder, and in those below it.
    Cgroup(PathBuf),
    /// Wherever it occurs.
    WholeSystem,
}

impl Place {
    /// Whether all that is in another place is in this one.
    fn contains(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::WholeSystem, _) => true,
            (Self::Cgroup(_), Self::WholeSystem) => false,
            (Self::Cgroup(folder), Self::Cgroup(other)) => other.starts_with(folder),
        }
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cgroup(folder) => folder.display().fmt(f),
            Self::WholeSystem => f.write_str("the whole system"),
        }
    }
}

/// Every place where events are recorded, each opened once.
#[derive(Debug, Default)]
pub struct OpenPlaces(Vec<(Place, Option<File>)>);

impl OpenPlaces {
    /// Opens those of events.
    pub fn open<'a>(events: impl Iterator<Item = &'a EventSpec>) -> Result<Self> {
        let mut open: Vec<(Place, Option<File>)> = Vec::new();
        for place in events.flat_map(|event| &event.places) {
            if open.iter().any(|(known, _)| known == place) {
                continue;
            }
            let folder = match place {
                Place::Cgroup(folder) => {
                    let opened = File::open(folder);
                    Some(opened.with_context(|| format!("the cgroup {place} cannot be opened"))?)
                }
                Place::WholeSystem => None,
            };
            open.push((place.clone(), folder));
        }
        Ok(Self(open))
    }

    /// Each on one CPU.
    pub fn scopes(&self, cpu: u32) -> Vec<PlacedScope<'_>> {
        let mut scopes = Vec::new();
        for (place, folder) in &self.0 {
            let scope = match folder {
                Some(folder) => Scope::Cgroup { folder: folder.as_fd(), cpu },
                None => Scope::Cpu(cpu),
            };
            scopes.push(PlacedScope { scope, place: Some(place) });
        }
        scopes
    }
}

/// Where the kernel is asked to count, and which events.
#[derive(Clone, Copy, Debug)]
pub struct PlacedScope<'a> {
    /// For the kernel.
    pub scope: Scope<'a>,
    /// `None`: it is of all events.
    place: Option<&'a Place>,
}

impl<'a> PlacedScope<'a> {
    /// Of all events.
    pub fn of_all(scope: Scope<'a>) -> Self {
        Self { scope, place: None }
    }

    /// Whether an event is recorded in it.
    pub fn is_of(&self, event: &EventSpec) -> bool {
        self.place.is_none_or(|place| event.places.contains(place))
    }
}

/// The option that names cgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// `-G`, which has perf's rules.
    Cgroup,
    /// `--container`
    Container,
}

impl NamedBy {
    fn option(self) -> &'static str {
        match self {
            Self::Cgroup => "-G",
            Self::Container => "--container",
        }
    }
}

/// Says of each event where it is recorded: those behind `-G` on the whole system, as in perf. Of those before it each in
/// its own place if it names as many as there are events, as in perf, else all in all of them. Returns the places of
/// events that have none of their own.
pub fn settle(
    places: Vec<Place>,
    named: (NamedBy, CgroupsStand),
    events: &mut [EventSpec],
    notices: &mut Vec<String>,
) -> Result<Vec<Place>> {
    let before = events.iter().take_while(|event| event.places.is_empty()).count();
    let (events, behind) = events.split_at_mut(before);
    let settled = settle_before(places, named, events, notices)?;
    if behind.is_empty() {
        return Ok(settled);
    }
    events
        .iter_mut()
        .filter(|event| event.places.is_empty())
        .for_each(|event| event.places.clone_from(&settled));
    notices.push(format!(
        "named behind -G, so recorded on the whole system, as in perf: {}; write -G last for all events",
        few(&behind.iter().map(|event| &event.name[..]).collect::<Vec<_>>())
    ));
    Ok(vec![Place::WholeSystem])
}

fn settle_before(
    places: Vec<Place>,
    (named_by, stand): (NamedBy, CgroupsStand),
    events: &mut [EventSpec],
    notices: &mut Vec<String>,
) -> Result<Vec<Place>> {
    let counts = (places.len(), events.len().max(1));
    let are_paired = named_by == NamedBy::Cgroup && stand == CgroupsStand::Behind && counts.0 > 1;
    if are_paired && counts.0 < counts.1 {
        let left: Vec<&str> = events[counts.0..].iter().map(|event| &event.name[..]).collect();
        bail!(
            "-G: {} for {}: perf records {} on the whole system; add a comma to -G for each of these to do so, name a cgroup for \
             each, or write -G before -e to record each event in each",
            counted(counts.0 as u64, "cgroup", "cgroups"),
            counted(counts.1 as u64, "event", "events"),
            few(&left)
        );
    }
    if are_paired && counts.0 == counts.1 {
        for (event, place) in events.iter_mut().zip(&places) {
            event.places = vec![place.clone()];
        }
        part_groups(events)?;
        let words = |(event, place): (&EventSpec, &Place)| format!("{}: {place}", event.name);
        let words: Vec<String> = events.iter().zip(&places).map(words).collect();
        notices.push(format!(
            "as many cgroups as events, so each event is recorded in its own, as in perf: {}",
            words.join(", ")
        ));
        return Ok(outermost(places, |_, _| {}));
    }
    if places.contains(&Place::WholeSystem) {
        bail!(
            "-G: an empty name stands for the whole system only where each of several events has a name; here are {} and {}",
            counted(counts.0 as u64, "name", "names"),
            counted(counts.1 as u64, "event", "events")
        );
    }
    let kept = outermost(places, |inner, outer| {
        notices.push(format!(
            "{} {inner}: it is recorded with {outer}, which it is in",
            named_by.option()
        ));
    });
    if named_by == NamedBy::Cgroup && kept.len() > 1 && counts.1 > 1 {
        notices.push(format!(
            "each of {} events is recorded in each of {} cgroups; behind -e, as many cgroups as events are one for each",
            counts.1,
            kept.len()
        ));
    }
    Ok(kept)
}

/// The first of names.
fn few(names: &[&str]) -> String {
    const MOST: usize = 3;
    match names.len().checked_sub(MOST) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..MOST].join(", ")),
    }
}

/// Those that are in no other one, each once: what is in two would be counted twice. Tells `left_out` of others.
fn outermost(places: Vec<Place>, mut left_out: impl FnMut(&Place, &Place)) -> Vec<Place> {
    let mut kept: Vec<Place> = Vec::new();
    for place in &places {
        let outer = places.iter().find(|it| *it != place && it.contains(place));
        match outer {
            Some(outer) => left_out(place, outer),
            None if kept.contains(place) => {}
            None => kept.push(place.clone()),
        }
    }
    kept
}

/// Events of a group count while their leader does, so the kernel refuses members in another cgroup (`perf_cgroup_connect`),
/// and members on the whole system would count in that of the leader. Weak groups are broken up.
fn part_groups(events: &mut [EventSpec]) -> Result<()> {
    for (first, count) in events::groups(events.iter()) {
        let group = &mut events[first..first + count];
        let leader = &group[0];
        let Some(other) = group.iter().find(|it| it.places != leader.places) else { continue };
        if !leader.has(Mode::Weak) || leader.grouping.reads_values() {
            bail!(
                "-G: {} and {} are a group, which counts in one cgroup; name the same for both, or leave the braces out",
                leader.name,
                other.name
            );
        }
        group.iter_mut().for_each(|event| event.grouping = Grouping::Alone);
    }
    Ok(())
}

/// The place that `-G` names by its path, or by where it is below the mount; an empty name is that of the whole system.
pub fn place(name: &Path) -> Result<Place> {
    if name.as_os_str().is_empty() {
        return Ok(Place::WholeSystem);
    }
    let mount = mounted("-G")?;
    let below = name.strip_prefix(&mount).or_else(|_| name.strip_prefix("/")).unwrap_or(name);
    let folder = mount.join(below);
    if !folder.join("cgroup.procs").exists() {
        bail!("-G {}: there is no cgroup {}", name.display(), folder.display());
    }
    // As others may be compared with it.
    Ok(Place::Cgroup(folder.canonicalize().unwrap_or(folder)))
}

/// Where the hierarchy is mounted; `option` needs it.
pub fn mounted(option: &str) -> Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").context("/proc/self/mounts")?;
    mount(&mounts).with_context(|| {
        format!("{option}: no hierarchy of cgroups is mounted that the kernel samples by")
    })
}

/// Of the lines of /proc/self/mounts: `DEVICE FOLDER TYPE OPTIONS 0 0`, a space in a folder being `\040`.
fn mount(mounts: &str) -> Option<PathBuf> {
    let of = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        let (folder, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        let is_own = kind == "cgroup" && options.split(',').any(|option| option == "perf_event");
        (is_own || kind == "cgroup2").then(|| (is_own, PathBuf::from(folder.replace("\\040", " "))))
    };
    // The first, as perf has it: run times mount parts of it once more.
    mounts.lines().filter_map(of).min_by_key(|(is_own, _)| !is_own).map(|(_, folder)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is settled for the events, and where each of them is recorded.
    fn settled(
        names: &[&str],
        named: (NamedBy, CgroupsStand),
        events: usize,
    ) -> Option<(Vec<Place>, Vec<EventSpec>, usize)> {
        let mut events = vec![EventSpec::cpu_clock(); events];
        let mut notices = Vec::new();
        let places = settle(places(names), named, &mut events, &mut notices).ok()?;
        Some((places, events, notices.len()))
    }

    fn places(names: &[&str]) -> Vec<Place> {
        let place = |name: &&str| match *name {
            "" => Place::WholeSystem,
            name => Place::Cgroup(name.into()),
        };
        names.iter().map(place).collect()
    }

    #[test]
    fn events_have_cgroups_of_their_own_where_there_are_as_many() {
        let own = |names: &[&str], named, events| {
            let (_, events, _) = settled(names, named, events)?;
            Some(events.into_iter().flat_map(|event| event.places).collect::<Vec<_>>())
        };
        let by_cgroup = (NamedBy::Cgroup, CgroupsStand::Behind);
        let by_container = (NamedBy::Container, CgroupsStand::First);
        let first = (NamedBy::Cgroup, CgroupsStand::First);
        assert_eq!(own(&["/a", "/b"], by_cgroup, 2), Some(places(&["/a", "/b"])));
        assert_eq!(own(&["/a", "", "/a/b"], by_cgroup, 3), Some(places(&["/a", "", "/a/b"])));
        for (names, named, events) in [
            (&["/a", "/b"][..], by_container, 2),
            (&["/a", "/b"], first, 2),
            (&["/a", "/b"], first, 3),
            (&["/a", "/b"], by_cgroup, 1),
            // Without -e there is one.
            (&["/a", "/b"], first, 0),
            (&["/a"], by_cgroup, 1),
        ] {
            assert_eq!(own(names, named, events), Some(Vec::new()), "{names:?} {events}");
        }
        for names in [&["/a", ""][..], &[""], &["", "/a", ""]] {
            assert_eq!(own(names, by_cgroup, 1), None, "{names:?}");
        }
        assert_eq!(own(&["/a", "/b"], by_cgroup, 3), None, "one is left");
    }

    #[test]
    fn events_behind_cgroups_are_recorded_everywhere() {
        let whole = || vec![Place::WholeSystem];
        for (names, before, expected) in [
            (&["/a"][..], 1, vec![places(&["/a"])]),
            (&["/a"], 2, vec![places(&["/a"]), places(&["/a"])]),
            (&["/a", "/b"], 2, vec![places(&["/a"]), places(&["/b"])]),
            (&["/a", ""], 2, vec![places(&["/a"]), whole()]),
        ] {
            let clock = EventSpec::cpu_clock();
            let mut events = vec![clock.clone(); before];
            events.push(EventSpec { places: whole(), ..clock });
            let mut notices = Vec::new();
            let named = (NamedBy::Cgroup, CgroupsStand::Behind);
            let others = settle(places(names), named, &mut events, &mut notices);
            assert_eq!(others.expect("places"), whole());
            assert!(notices.last().is_some_and(|it| it.contains("whole system")), "{notices:?}");
            let found: Vec<_> = events.into_iter().map(|event| event.places).collect();
            assert_eq!(found, [expected, vec![whole()]].concat(), "{names:?}");
        }
    }

    #[test]
    fn what_is_in_another_one_is_named_once() {
        let by_one_event = |names: &[&str]| {
            let (places, _, notices) =
                settled(names, (NamedBy::Container, CgroupsStand::First), 1).expect("places");
            (places, notices)
        };
        assert_eq!(by_one_event(&["/a", "/b", "/a"]), (places(&["/a", "/b"]), 0));
        assert_eq!(by_one_event(&["/a/b/c", "/a", "/ab"]), (places(&["/a", "/ab"]), 1));
        // Switches are of no event that has a place.
        let (outer, _, _) =
            settled(&["/a/b", "/a"], (NamedBy::Cgroup, CgroupsStand::Behind), 2).expect("places");
        assert_eq!(outer, places(&["/a"]));
    }

    #[test]
    fn the_hierarchy_that_counts_is_found() {
        let unified = "none / ext4 rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
        assert_eq!(mount(unified), Some("/sys/fs/cgroup".into()));
        let again = format!("{unified}cgroup2 /run/box/sys/fs/cgroup cgroup2 ro 0 0\n");
        assert_eq!(mount(&again), Some("/sys/fs/cgroup".into()));
        let hybrid = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup /sys/fs/my\\040cgroups cgroup rw,perf_event 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(mount(hybrid), Some("/sys/fs/my cgroups".into()));
        assert_eq!(mount("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\nbad line\n"), None);
    }
}
