//! What a recording says of itself: `perftab info`, and the ledger of DSOs.

use perftab_perfdata::map::{Map, Set};
use perftab_perfdata::sorting::{sort_by, sort_by_key};

use perftab_names::{Attempt, Hint, Status, hints, public_debuginfod};
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::header::{Form, Header};
use perftab_perfdata::error::Warning;
use perftab_perfdata::format::BuildId;
use perftab_perfdata::text::{printable, utc};
use perftab_profile::counted;
use perftab_profile::{
    CallChains, Cgroup, Distribution, Dso, DsoId, DsoKind, Event, EventOrigin, Funnel, Identity,
    Machine, Namespaces, Profile, RecordedBy, Recorder, Threads, Unit,
};
use perftab_snapshot::Carrier;
use perftab_views::coverage::{self, DsoUse};
use perftab_views::serialize_weight;
use perftab_views::weights::Sum;
use serde::Serialize;

use crate::session::Session;
use crate::session::share::FidelityInfo;

/// Everything that `perftab info --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null, hashmap_as_object))]
pub struct ProfileInfo {
    /// How the file is made.
    pub format: FormatInfo,
    /// Where it was recorded.
    pub host: HostInfo,
    /// More of that machine.
    pub machine: Machine,
    /// What recorded and how.
    pub recorder: Recorder,
    /// What was counted.
    pub events: Vec<EventInfo>,
    /// What was worked out from the samples and other records, as off-CPU time: the events after
    /// `events` in a query's numbers. Their samples are not among those counted elsewhere. The last
    /// may be `wall-clock`, which has those of a clock and the times off the CPU together.
    pub derived_events: Vec<EventInfo>,
    /// Times off the CPU that are in no derived event: how they ended was not recorded.
    #[serde(serialize_with = "serialize_weight")]
    pub unfinished_off_cpu: u64,
    /// SAMPLE records.
    pub samples: u64,
    /// Those with branches.
    #[serde(serialize_with = "serialize_weight")]
    pub branch_stacks: u64,
    /// Those that say something of a memory access.
    #[serde(serialize_with = "serialize_weight")]
    pub memory_accesses: u64,
    /// Records by type.
    #[cfg_attr(feature = "typescript", tsify(type = "Record<string, number>"))]
    pub records: Map<&'static str, u64>,
    /// Processes, between execs.
    #[serde(serialize_with = "serialize_weight")]
    pub processes: u64,
    /// Threads, by name.
    #[serde(serialize_with = "serialize_weight")]
    pub threads: u64,
    /// Control groups, most samples first.
    pub cgroups: Vec<CgroupInfo>,
    /// Distinct namespaces of the processes.
    pub namespaces: NamespaceCounts,
    /// When.
    pub time: TimeInfo,
    /// What was dropped.
    pub lost: LostInfo,
    /// What became of what was sampled; null where it is not known, as in a link.
    pub funnel: Option<Funnel>,
    /// What was passed over of AUX areas.
    pub aux: AuxInfo,
    /// Mapped files.
    pub dsos: Vec<DsoRow>,
    /// What was lost or is doubtful.
    pub warnings: Vec<Warning>,
    /// What a link holds of its recording; null for a recording.
    pub fidelity: Option<FidelityInfo>,
    /// How the sender of a link looked at it, as a page's address says it; null if that is not
    /// known. Nothing of it is checked.
    pub view: Option<String>,
    /// What the sender of a link calls it; null for a recording, and if the sender said nothing.
    pub title: Option<String>,
}

/// How a recording is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct FormatInfo {
    /// `file`, `pipe` or `directory`; `link` or `page` for a snapshot, by what carried it.
    pub mode: &'static str,
    /// Byte order.
    pub byte_order: ByteOrder,
    /// Compression of records: `none` or `zstd`.
    pub compression: &'static str,
    /// What the whole file is packed in: `none`, `gzip`, `xz` or `zstd`.
    pub wrapper: &'static str,
}

impl FormatInfo {
    /// A recording of one file, not packed.
    pub fn of_recording(header: &Header) -> Self {
        let mode = match header.form {
            Form::File => "file",
            Form::Pipe => "pipe",
        };
        Self { mode, byte_order: header.order, compression: "none", wrapper: "none" }
    }

    /// A snapshot.
    pub fn of_snapshot(carrier: Carrier) -> Self {
        let mode = match carrier {
            Carrier::Link => "link",
            Carrier::Page => "page",
        };
        let byte_order = ByteOrder::Little;
        Self { mode, byte_order, compression: "none", wrapper: "none" }
    }
}

/// Where a recording was made; what is not known is null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
pub struct HostInfo {
    /// `uname -n`.
    pub hostname: Option<String>,
    /// `uname -r`.
    pub os_release: Option<String>,
    /// `uname -m`.
    pub arch: Option<String>,
    /// CPUs online.
    pub cpus: Option<u32>,
    /// The recorder's arguments.
    pub cmdline: Vec<String>,
    /// Which distribution it ran.
    pub distribution: Option<Distribution>,
    /// The public debuginfod server of that distribution.
    pub debuginfod: Option<Hint>,
}

/// A control group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
pub struct CgroupInfo {
    /// The inode number of its directory, in decimal: JSON has no numbers as large.
    pub id: String,
    /// Path below the mount point; null if it was not recorded.
    pub path: Option<String>,
    /// Samples in it.
    #[serde(serialize_with = "serialize_weight")]
    pub samples: u64,
}

fn cgroups(profile: &Profile) -> Vec<CgroupInfo> {
    let mut cgroups = profile.cgroups.sorted();
    sort_by_key(&mut cgroups, |(_, cgroup)| std::cmp::Reverse(cgroup.samples));
    let info = |(id, cgroup): (&u64, &Cgroup)| CgroupInfo {
        id: id.to_string(),
        path: cgroup.path.as_deref().map(|path| printable(path).into_owned()),
        samples: cgroup.samples,
    };
    cgroups.into_iter().map(info).collect()
}

/// How many namespaces the processes are in; 0 if none were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct NamespaceCounts {
    /// Of process ids.
    pub pid: u32,
    /// Of mount points.
    pub mount: u32,
}

impl NamespaceCounts {
    fn of(threads: &Threads) -> Self {
        let distinct = |namespace: fn(&Namespaces) -> Option<u64>| {
            let distinct: Set<u64> = threads.namespaces.values().filter_map(namespace).collect();
            distinct.len() as u32
        };
        Self { pid: distinct(|it| it.pid), mount: distinct(|it| it.mount) }
    }
}

/// An event and how much of it there is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
pub struct EventInfo {
    /// Name.
    pub name: String,
    /// Samples.
    pub samples: u64,
    /// Sum of their weights, in the event's unit.
    #[serde(serialize_with = "serialize_weight")]
    pub weight: u64,
    /// What weights count.
    pub unit: Unit,
    /// What is counted, whatever it is called; events of two recordings can be compared where this is
    /// the same.
    pub counted: String,
    /// What the recording has of it, where this is a part of that; null where it is all.
    pub part_of: Option<EventTotal>,
    /// Whether its samples were to have call chains, as with `-g`; null where nothing says so, as in a link
    /// and for derived events.
    pub call_chains: Option<bool>,
}

/// How much there is of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct EventTotal {
    /// Samples.
    #[serde(serialize_with = "serialize_weight")]
    pub samples: u64,
    /// Sum of their weights, in the event's unit.
    #[serde(serialize_with = "serialize_weight")]
    pub weight: u64,
}

impl EventInfo {
    /// `part_of` is what the recording has of it, where that is more.
    fn new(event: &Event, part_of: Option<&Sum>) -> Self {
        let total = |sum: &Sum| EventTotal { samples: sum.samples, weight: sum.weight };
        Self {
            name: printable(&event.name).into_owned(),
            samples: event.samples,
            weight: event.weight,
            unit: event.unit(),
            counted: printable(&counted(&event.name)).into_owned(),
            part_of: part_of.map(total),
            call_chains: match event.call_chains {
                CallChains::Unknown => None,
                CallChains::Recorded => Some(true),
                CallChains::NotRecorded => Some(false),
            },
        }
    }
}

/// First and last sample, in nanoseconds of the recorder's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
pub struct TimeInfo {
    /// First; null if samples have no time.
    #[serde(serialize_with = "serialize_time")]
    pub start: Option<u64>,
    /// Last.
    #[serde(serialize_with = "serialize_time")]
    pub end: Option<u64>,
    /// When the first was, by the wall clock in UTC: `2026-11-20T12:34:56.123456789Z`. Null unless
    /// the recorder noted both clocks.
    pub wall_start: Option<String>,
}

fn serialize_time<S: serde::Serializer>(time: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serialize_weight(time, to),
        None => to.serialize_none(),
    }
}

/// What the recorder dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct LostInfo {
    /// Records.
    #[serde(serialize_with = "serialize_weight")]
    pub events: u64,
    /// Samples.
    #[serde(serialize_with = "serialize_weight")]
    pub samples: u64,
}

/// Data of AUX areas (Intel PT, Arm SPE and the like), which is counted and not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct AuxInfo {
    /// Pieces of it.
    #[serde(serialize_with = "serialize_weight")]
    pub records: u64,
    /// Bytes.
    #[serde(serialize_with = "serialize_weight")]
    pub bytes: u64,
}

/// A mapped file: how much was sampled in it, and what is known of its names.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
pub struct DsoRow {
    /// Number of the DSO in this session.
    pub id: u32,
    /// Last part of the path.
    pub name: String,
    /// Path as recorded.
    pub path: String,
    /// The path that the build-id table has for it, where that is another; null otherwise.
    pub listed_as: Option<String>,
    /// `user`, `kernel`, `module`, `vdso`, `jit` or `anon`.
    pub kind: &'static str,
    /// What an image must have, in hex.
    pub build_id: Option<String>,
    /// What kind of identity that is.
    pub identity: IdentityKind,
    /// `mmap`, `table` or `stream`.
    pub recorded_by: Option<&'static str>,
    /// Samples that ended in it.
    #[serde(serialize_with = "serialize_weight")]
    pub leaf_samples: u64,
    /// Samples that it is anywhere in.
    #[serde(serialize_with = "serialize_weight")]
    pub samples: u64,
    /// False if no sample touches it with its stack, or, once these were read and looked up, with its branches or its
    /// data: nobody looks for its file, so that its status says nothing.
    pub sampled: bool,
    /// Of those that ended in it, samples that ended in code without a name.
    #[serde(serialize_with = "serialize_weight")]
    pub unnamed_leaf_samples: u64,
    /// Part of all samples that ended in it, 0 to 1.
    pub leaf_share: f64,
    /// Part of all samples that it is anywhere in.
    pub share: f64,
    /// Whether it has names.
    pub status: Status,
    /// A sentence, where the status needs one.
    pub reason: Option<String>,
    /// The file that gives the names.
    pub image: Option<String>,
    /// What that file holds, in words.
    pub gives: Option<String>,
    /// Build-id of a file of its name that was refused.
    pub found: Option<String>,
    /// What made that file: compiler, machine, debug information.
    pub made_by: Option<String>,
    /// What was tried to name it, oldest first.
    pub tried: Vec<Attempt>,
    /// Where an image can be had, best first; empty where nothing is
    /// wanted: its names and lines are here, or it was not sampled.
    pub hints: Vec<Hint>,
}

/// What kind of identity was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum IdentityKind {
    /// A GNU build-id.
    Gnu,
    /// A hash of the content.
    Content,
    /// None.
    None,
}

/// A DSO that has samples and no names yet: what to look for, by build-id alone.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedDso {
    /// The DSO.
    pub dso: DsoId,
    /// What an image must have.
    pub identity: Identity,
    /// The build-id, if the identity is one.
    pub build_id: Option<BuildId>,
    /// Path as recorded: where a candidate may be.
    pub path: String,
    /// What kind of thing.
    pub kind: DsoKind,
    /// How much was sampled in it.
    pub used: DsoUse,
}

impl Session {
    /// Everything that the recording says of itself.
    pub fn info(&self) -> ProfileInfo {
        let profile = &self.profile;
        let host = profile.host.clone();
        let wall_clock = profile.wall_clock.as_ref().map(|wall| &wall.event);
        let events = |origin: EventOrigin| {
            let events = profile.events.iter().chain(wall_clock).enumerate();
            let events = events.filter(|(_, event)| event.origin == origin);
            let part_of = |index: usize| self.facts.part_of.get(index);
            events.map(|(index, event)| EventInfo::new(event, part_of(index))).collect()
        };
        let time = self.facts.time;
        let shown = |text: Option<String>| text.map(|text| printable(&text).into_owned());
        ProfileInfo {
            format: self.format.clone(),
            host: HostInfo {
                debuginfod: public_debuginfod(&host),
                hostname: shown(host.hostname),
                os_release: shown(host.os_release),
                arch: shown(host.arch),
                cpus: host.cpus,
                cmdline: host.cmdline.iter().map(|text| printable(text).into_owned()).collect(),
                distribution: host.distribution,
            },
            machine: profile.machine.clone(),
            recorder: Recorder {
                version: shown(profile.recorder.version.clone()),
                ..profile.recorder.clone()
            },
            events: events(EventOrigin::Recorded),
            derived_events: events(EventOrigin::Derived),
            unfinished_off_cpu: profile.unfinished_off_cpu,
            samples: profile.sample_records(),
            branch_stacks: profile.branch_stacks,
            memory_accesses: profile.accesses.len() as u64,
            records: profile.records.clone(),
            processes: self.facts.processes,
            threads: self.facts.threads,
            cgroups: cgroups(profile),
            namespaces: NamespaceCounts::of(&profile.threads),
            time: TimeInfo {
                start: time.map(|time| time.0),
                end: time.map(|time| time.1),
                wall_start: time
                    .zip(profile.clocks.wall)
                    .map(|(time, wall)| utc(wall.wall_nanos(time.0))),
            },
            lost: LostInfo { events: profile.lost.events, samples: profile.lost.samples },
            funnel: profile.funnel,
            aux: AuxInfo { records: profile.aux.records, bytes: profile.aux.bytes },
            dsos: self.dsos(),
            warnings: self.warnings.clone(),
            fidelity: self.fidelity.map(FidelityInfo::from),
            view: (!self.view.is_empty()).then(|| self.view.clone()),
            title: shown(self.title.clone()),
        }
    }

    /// The ledger: every mapped file, most samples first.
    pub fn dsos(&self) -> Vec<DsoRow> {
        let samples = self.profile.recorded_samples();
        let unnamed = self.frame_uses.names(&self.profile, &self.symbols).unnamed_leaves;
        let listed = self.profile.dsos.iter().filter(|(_, dso)| coverage::is_listed(dso));
        let touched = self.touched();
        let row = |(id, dso): (DsoId, _)| DsoRow {
            unnamed_leaf_samples: unnamed[id.index()],
            ..self.dso_row(id, dso, touched(id, dso), samples)
        };
        let mut rows: Vec<DsoRow> = listed.map(row).collect();
        sort_by(&mut rows, |a, b| {
            let used = |row: &DsoRow| (row.leaf_samples, row.samples);
            used(b).cmp(&used(a)).then_with(|| a.path.cmp(&b.path))
        });
        rows
    }

    /// Whether samples touch a DSO: with their stacks, or, where a file can be told to be its own, with anything.
    fn touched(&self) -> impl Fn(DsoId, &Dso) -> bool {
        let with_data = self.data.names.as_ref().map(|names| names.wanted()).unwrap_or_default();
        move |id, dso| {
            let is_in_stacks = self.facts.uses[id.index()].samples > 0;
            let is_besides = || with_data.contains(&id) || self.in_branches.contains(&id);
            is_in_stacks || dso.identity.is_some() && is_besides()
        }
    }

    fn dso_row(&self, id: DsoId, dso: &Dso, sampled: bool, samples: u64) -> DsoRow {
        let used = self.facts.uses[id.index()];
        let share = |part: u64| part as f64 / samples.max(1) as f64;
        let row = self.ledger.row(id);
        DsoRow {
            id: id.0,
            name: printable(dso.name()).into_owned(),
            path: printable(&dso.path).into_owned(),
            listed_as: dso.listed_as.as_deref().map(|path| printable(path).into_owned()),
            kind: kind_name(dso.kind),
            build_id: dso.identity.map(|identity| identity.to_string()),
            identity: match dso.identity {
                Some(Identity::Gnu(_)) => IdentityKind::Gnu,
                Some(Identity::Content(_)) => IdentityKind::Content,
                None => IdentityKind::None,
            },
            recorded_by: dso.recorded_by.map(|recorded_by| match recorded_by {
                RecordedBy::Mmap => "mmap",
                RecordedBy::Table => "table",
                RecordedBy::Stream => "stream",
            }),
            leaf_samples: used.leaf_samples,
            samples: used.samples,
            sampled,
            unnamed_leaf_samples: 0,
            leaf_share: share(used.leaf_samples),
            share: share(used.samples),
            status: row.status,
            reason: row.reason.clone().or_else(|| self.late_identity(id).map(str::to_owned)),
            image: row.image.clone(),
            gives: row.gives.map(str::to_owned),
            found: row.found.clone(),
            made_by: row.toolchain.clone(),
            tried: row.tried.iter().map(shown_attempt).collect(),
            hints: match row.status {
                _ if !sampled => Vec::new(),
                Status::Embedded | Status::SelfNamed => Vec::new(),
                // What has names may still lack lines, and a debug file has them.
                Status::Matched if row.holds().inlines => Vec::new(),
                _ => hints(dso, &self.profile.host, row.package.as_ref()),
            },
        }
    }

    /// What is doubtful of the names of a DSO that matched. The table is written after the run, and
    /// so is what `perf inject` adds: they tell of the file that was there then. The kernel is no
    /// file, and the same until the end.
    pub fn late_identity(&self, id: DsoId) -> Option<&'static str> {
        let dso = self.profile.dsos.get(id);
        let is_late = matches!(dso.recorded_by, Some(RecordedBy::Table | RecordedBy::Stream))
            && matches!(dso.kind, DsoKind::User | DsoKind::Module)
            && self.ledger.row(id).status == Status::Matched
            && !self.vouched.contains(&id);
        is_late.then_some(
            "its build-id was read when the recording ended; a file overwritten before that would \
             go unnoticed",
        )
    }

    /// DSOs that were sampled and can still be named, most samples first. After [`Self::look_up_data`] also those
    /// with data that was accessed.
    pub fn wanted(&self) -> Vec<WantedDso> {
        let uses = &self.facts.uses;
        let touched = self.touched();
        let mut wanted: Vec<WantedDso> = self
            .profile
            .dsos
            .iter()
            .filter(|&(id, dso)| touched(id, dso))
            .filter(|&(id, _)| {
                matches!(
                    self.ledger.row(id).status,
                    Status::Missing | Status::Mismatched | Status::Forced | Status::NoSymbols
                )
            })
            .filter_map(|(id, dso)| {
                Some(WantedDso {
                    dso: id,
                    identity: dso.identity?,
                    build_id: dso.build_id(),
                    path: dso.path.clone(),
                    kind: dso.kind,
                    used: uses[id.index()],
                })
            })
            .collect();
        sort_by_key(&mut wanted, |wanted| {
            std::cmp::Reverse((wanted.used.leaf_samples, wanted.used.samples))
        });
        wanted
    }
}

fn shown_attempt(attempt: &Attempt) -> Attempt {
    let shown = |text: &str| printable(text).into_owned();
    Attempt { what: shown(&attempt.what), outcome: shown(&attempt.outcome) }
}

fn kind_name(kind: DsoKind) -> &'static str {
    match kind {
        DsoKind::User => "user",
        DsoKind::Kernel => "kernel",
        DsoKind::Module => "module",
        DsoKind::Vdso => "vdso",
        DsoKind::Jit => "jit",
        DsoKind::Anon | DsoKind::Unmapped | DsoKind::Folded | DsoKind::Pseudo => "anon",
    }
}
