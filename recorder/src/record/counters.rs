//! Opens the counters: every event, on every CPU, of every thread that is recorded.
//!
//! What the kernel supports and permits is found by trying, newest first, on our own thread; so an
//! error that comes later is about the target, not about the event.
//!
//! Mappings, names, forks and exits come from an event of their own that counts nothing, through
//! rings of their own: a sample can be spared, but without a mapping a process shows the names of
//! the program before.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use anyhow::{Context, Result, anyhow, bail};
use perf_event_open_sys::bindings::perf_event_attr;
use perftab_perfdata::format::attr::sample_type;
use rustix::io::Errno;

use super::attrs::{KernelLevel, Role, attr, with_sideband};
use super::cgroup::{OpenPlaces, PlacedScope};
use super::events::{self, EventSpec, Grouping, Mode, Privilege, Tracepoint};
use super::explain;
use super::options::{BuildIdTable, CallChains, KeptSamples, OffCpu, Plan};
use super::ring::{OverwrittenRing, Ring};
use super::ring_size::RingOrigin;
use super::sys::{self, AttrBytes, Scope};
use super::target::Target;
use super::write_behind::RingsFill;
use crate::descriptors::raise_descriptor_limit;
use crate::output::{self, notice};

/// Bytes of a ring of sideband: some hundred mappings. The kernel lets users without privileges
/// have 516 KiB for each CPU, rings of samples included.
const SIDEBAND_RING: usize = 64 << 10;
/// Of root, whose rings of samples are larger where much is to be done. Two builds map 200 kB a second.
const LARGE_SIDEBAND_RING: usize = 1 << 20;

/// One event, open on every CPU and thread.
pub struct Counter {
    /// The event as it is counted, with `:u` where only that was permitted.
    pub spec: EventSpec,
    /// As the kernel took it.
    pub attr: perf_event_attr,
    /// One per CPU and thread.
    pub fds: Vec<OwnedFd>,
    /// One per descriptor.
    pub ids: Vec<u64>,
}

impl Counter {
    fn lost(&self) -> Option<u64> {
        self.lost_by(0..self.fds.len())
    }

    fn lost_by(&self, counters: Range<usize>) -> Option<u64> {
        let open = self.fds.get(counters.clone())?.iter().zip(self.ids.get(counters)?);
        open.map(|(fd, &id)| sys::lost_records(fd, self.attr.read_format, id)).sum()
    }
}

/// A ring of sideband.
struct SidebandRing {
    /// Its counters.
    counters: Range<usize>,
    /// Records that LOST records of its own say it lost.
    reported: u64,
    /// Records that it had lost when it was last found full.
    lost: u64,
}

/// Everything that is open.
pub struct Counters {
    /// In the order of the options.
    pub events: Vec<Counter>,
    /// Reports mappings and threads. In the file it is the first event, with more ids: so other
    /// tools see no event without samples.
    pub sideband: Counter,
    /// Two rings for each CPU, sideband and samples; or sideband alone, where samples are written over.
    pub rings: Vec<Ring>,
    /// Of samples, where these are written over: one for each CPU.
    pub overwritten: Vec<OverwrittenRing>,
    /// Those of sideband, by index.
    sideband_rings: BTreeMap<usize, SidebandRing>,
    /// Bytes of each ring of samples.
    pub ring_bytes: usize,
    /// What the user should know: what was chosen, what was not permitted.
    pub notices: Vec<String>,
    /// Processes whose threads were opened; empty if whole CPUs are recorded.
    pub processes: Vec<i32>,
}

impl Counters {
    /// Opens what the plan asks for, stopped. `command` is the process that will become the
    /// command.
    pub fn open(plan: &Plan, command: Option<i32>) -> Result<Self> {
        raise_descriptor_limit();
        let mut notices = Vec::new();
        let mut specs = choose_events(plan, &mut notices)?;
        if plan.off_cpu == OffCpu::Recorded {
            specs.push(EventSpec::switches());
        }
        let level = probe_level(plan, &specs[0])?;
        if plan.build_ids == BuildIdTable::MappingsOnly && level < KernelLevel::BuildIds {
            bail!(
                "--buildid-mmap: this kernel puts no build-ids into mappings (Linux 5.12 does); \
                 without it ids are read when the recording ends"
            );
        }
        if plan.chains == CallChains::FramePointersDeferred {
            match level {
                KernelLevel::DeferredChains => specs.push(EventSpec::deferred_chains()),
                _ => notices.push(
                    "recording call chains as by --call-graph fp, as this kernel defers none (Linux 6.19 does)"
                        .into(),
                ),
            }
        }
        let Permitted { mut specs, kept } = permitted(plan, specs, level, &mut notices)?;
        check_groups(plan, &mut specs, level)?;
        if let Target::Cgroups { places, .. } = &plan.target {
            specs
                .iter_mut()
                .filter(|it| it.places.is_empty())
                .for_each(|it| it.places.clone_from(places));
        }
        if matches!(plan.target, Target::Command | Target::Processes(_))
            && specs.iter().any(|spec| spec.grouping.reads_values())
        {
            notices.push(
                ":S samples only threads that run when it begins, as in perf; -a samples all"
                    .into(),
            );
        }
        let counter = |spec: &EventSpec, role: Role| {
            let attr = attr(plan, &specs, spec, level, role);
            Counter { spec: spec.clone(), attr, fds: Vec::new(), ids: Vec::new() }
        };
        let sideband = counter(&EventSpec::sideband(specs[0].privilege), Role::Tracking);
        let mut counters = Self {
            events: specs.iter().map(|spec| counter(spec, Role::SamplingOnly)).collect(),
            sideband,
            rings: Vec::new(),
            overwritten: Vec::new(),
            sideband_rings: BTreeMap::new(),
            ring_bytes: plan.ring.bytes,
            notices,
            processes: Vec::new(),
        };
        counters.open_target(plan, command)?;
        drop(kept);
        Ok(counters)
    }

    /// How soon the rings of samples are full.
    pub fn rings_fill(&self) -> RingsFill {
        match self.sample_type() & sample_type::STACK_USER {
            0 => RingsFill::Slowly,
            _ => RingsFill::Fast,
        }
    }

    /// The bits that say which fields samples have, of any event.
    pub fn sample_type(&self) -> u64 {
        self.events.iter().fold(0, |bits, event| bits | event.attr.sample_type)
    }

    /// Whether samples can have been taken in the kernel.
    pub fn count_the_kernel(&self) -> bool {
        self.events.iter().any(|event| event.spec.privilege != Privilege::UserOnly)
    }

    /// Whether a sample is taken each time that an event occurs, of all events.
    pub fn take_each_time(&self) -> bool {
        self.events.iter().all(|event| event.spec.is_sampled_each_time())
    }

    /// Whether records have the times of [`MONOTONIC`](super::clock::MONOTONIC).
    pub fn run_by_clock(&self) -> bool {
        self.events[0].attr.use_clockid() == 1
    }

    /// The tracepoints among the events.
    pub fn tracepoints(&self) -> Vec<&Tracepoint> {
        self.events.iter().filter_map(|event| event.spec.tracepoint.as_ref()).collect()
    }

    /// Starts the counters of mappings and threads.
    pub fn enable_sideband(&self) -> io::Result<()> {
        self.sideband.fds.iter().try_for_each(|fd| sys::enable(fd.as_fd()))
    }

    /// Starts those that take samples.
    pub fn enable_samples(&self) -> io::Result<()> {
        self.of_samples().try_for_each(|fd| sys::enable(fd.as_fd()))
    }

    /// Names of what is sampled, in the order in which they were opened.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.events.iter().map(|event| event.spec.name.as_str())
    }

    /// The counters of the event with this name.
    pub fn of_event(&self, name: &str) -> impl Iterator<Item = BorrowedFd<'_>> {
        let its = self.events.iter().filter(move |event| event.spec.name == name);
        its.flat_map(|event| event.fds.iter().map(AsFd::as_fd))
    }

    /// Stops those that take samples; as [`Counters::disable`].
    pub fn disable_samples(&self) {
        for fd in self.of_samples() {
            let _ = sys::disable(fd.as_fd());
        }
    }

    /// Stops all counters. A thread may be gone by now, which stops its counters as well.
    pub fn disable(&self) {
        for fd in self.fds() {
            let _ = sys::disable(fd.as_fd());
        }
    }

    /// Samples that the counters lost; `None` if the kernel does not count them (before 6.0).
    pub fn lost_samples(&self) -> Option<u64> {
        self.events.iter().map(Counter::lost).sum()
    }

    /// Records of mappings and threads that were lost; `None` as for samples.
    pub fn lost_sideband(&self) -> Option<u64> {
        self.sideband.lost()
    }

    /// The id of one of the counters of a ring of sideband; `None` for one of samples.
    pub fn sideband_id(&self, ring: usize) -> Option<u64> {
        let first = self.sideband_rings.get(&ring)?.counters.start;
        self.sideband.ids.get(first).copied()
    }

    /// Takes note of what the LOST records say that a ring of sideband had.
    pub fn add_reported(&mut self, ring: usize, lost: u64) {
        if let Some(ring) = self.sideband_rings.get_mut(&ring) {
            ring.reported += lost;
        }
    }

    /// Whether a ring of sideband lost anything since this was last asked that no LOST record of its
    /// own tells of yet.
    pub fn has_new_loss(&mut self, ring: usize) -> bool {
        let Some(ring) = self.sideband_rings.get_mut(&ring) else { return false };
        let Some(lost) = self.sideband.lost_by(ring.counters.clone()) else { return false };
        let known = ring.reported.max(std::mem::replace(&mut ring.lost, lost));
        lost > known
    }

    fn of_samples(&self) -> impl Iterator<Item = &OwnedFd> {
        self.events.iter().flat_map(|event| &event.fds)
    }

    fn fds(&self) -> impl Iterator<Item = &OwnedFd> {
        self.events.iter().chain([&self.sideband]).flat_map(|event| &event.fds)
    }

    /// The events as the file has them: attr and ids.
    pub fn described(&self) -> impl Iterator<Item = (&EventSpec, AttrBytes, Vec<u64>)> {
        self.events.iter().enumerate().map(|(index, event)| match index {
            0 => {
                let mut attr = with_sideband(&event.attr);
                attr.set_build_id(self.sideband.attr.build_id());
                attr.set_ksymbol(self.sideband.attr.ksymbol());
                attr.set_bpf_event(self.sideband.attr.bpf_event());
                let ids = event.ids.iter().chain(&self.sideband.ids).copied().collect();
                (&event.spec, sys::attr_bytes(&attr), ids)
            }
            _ => (&event.spec, sys::attr_bytes(&event.attr), event.ids.clone()),
        })
    }

    fn open_target(&mut self, plan: &Plan, command: Option<i32>) -> Result<()> {
        let sampled = match &plan.target {
            Target::Cpus(cpus) | Target::Cgroups { cpus, .. } => cpus,
            _ => &plan.online_cpus,
        };
        let places = OpenPlaces::open(self.events.iter().map(|event| &event.spec))?;
        let threads = match (&plan.target, command) {
            (Target::Cpus(_) | Target::Cgroups { .. }, _) => None,
            (Target::Command, Some(pid)) => Some(vec![pid]),
            (Target::Command, None) => bail!("no command to record"),
            (Target::Processes(pids), _) => Some(threads_of(pids)?),
            (Target::Threads(tids), _) => Some(existing_threads(tids)?),
        };
        if let Some(threads) = &threads {
            self.processes = processes_of(threads);
        }
        // A process may map its files on a CPU that is not sampled, and before it comes into a cgroup.
        for &cpu in &plan.online_cpus {
            let all: Vec<Scope<'_>> = match &threads {
                Some(threads) => threads.iter().map(|&tid| Scope::Thread { tid, cpu }).collect(),
                None => vec![Scope::Cpu(cpu)],
            };
            let all: Vec<_> = all.into_iter().map(PlacedScope::of_all).collect();
            let of_places = places.scopes(cpu);
            let scopes = match &plan.target {
                _ if !sampled.contains(&cpu) => &[],
                Target::Cgroups { .. } => &of_places[..],
                _ => &all[..],
            };
            self.open_cpu(plan, &all, scopes)?;
        }
        if self.rings.is_empty() {
            bail!("the process ended before it could be recorded");
        }
        Ok(())
    }

    /// Opens all events on one CPU, and the sideband in scopes of its own.
    fn open_cpu(
        &mut self,
        plan: &Plan,
        of_sideband: &[PlacedScope<'_>],
        scopes: &[PlacedScope<'_>],
    ) -> Result<()> {
        let largest = match rustix::process::geteuid().is_root() {
            true => LARGE_SIDEBAND_RING,
            false => SIDEBAND_RING,
        };
        let share = (self.ring_bytes / 8).clamp(SIDEBAND_RING, largest);
        let mut sideband_bytes = share.min(self.ring_bytes);
        let sideband = RingSize { origin: RingOrigin::Default, bytes: &mut sideband_bytes };
        let first = self.sideband.fds.len();
        let sideband = open_sharing(
            std::slice::from_mut(&mut self.sideband),
            plan,
            of_sideband,
            sideband,
            Ring::map,
        )?;
        if sideband.is_some() {
            let counters = first..self.sideband.fds.len();
            let ring = SidebandRing { counters, reported: 0, lost: 0 };
            self.sideband_rings.insert(self.rings.len(), ring);
        }
        let samples = RingSize { origin: plan.ring.origin, bytes: &mut self.ring_bytes };
        // In this order: what is mapped is read before the samples that are in it.
        self.rings.extend(sideband);
        match plan.samples {
            KeptSamples::All => {
                let ring = open_sharing(&mut self.events, plan, scopes, samples, Ring::map)?;
                self.rings.extend(ring);
            }
            KeptSamples::Latest => {
                let map = OverwrittenRing::map;
                let ring = open_sharing(&mut self.events, plan, scopes, samples, map)?;
                self.overwritten.extend(ring);
            }
        }
        Ok(())
    }
}

/// Bytes of a ring, and whether they may be fewer.
struct RingSize<'a> {
    origin: RingOrigin,
    bytes: &'a mut usize,
}

/// Opens counters on one CPU, with one ring for all of them; `None` if no thread is there any more.
fn open_sharing<R>(
    counters: &mut [Counter],
    plan: &Plan,
    scopes: &[PlacedScope<'_>],
    size: RingSize<'_>,
    map: impl Fn(BorrowedFd<'_>, usize) -> io::Result<R>,
) -> Result<Option<R>> {
    // (counter, descriptor) that owns the ring.
    let mut owner: Option<(usize, usize)> = None;
    let mut ring = None;
    for placed in scopes {
        let scope = placed.scope;
        // Of the group that is opened.
        let mut leader = 0;
        for index in 0..counters.len() {
            if !placed.is_of(&counters[index].spec) {
                continue;
            }
            let grouping = counters[index].spec.grouping;
            leader = if grouping.is_member() { leader } else { index };
            let of_group = counters[leader].fds.last().filter(|_| grouping.is_member());
            let opened =
                sys::open_in_group(&counters[index].attr, scope, of_group.map(OwnedFd::as_fd));
            let fd = match opened {
                Ok(fd) => fd,
                // A thread that ended since it was listed.
                Err(error) if is(&error, Errno::SRCH) => break,
                Err(error) => return Err(explain::refused(&error, plan, scope)),
            };
            match owner {
                None => {
                    ring = Some(map_ring(&fd, size.origin, size.bytes, &map)?);
                    owner = Some((index, counters[index].fds.len()));
                }
                Some((counter, at)) => {
                    let owner = &counters[counter].fds[at];
                    sys::redirect_output(fd.as_fd(), owner.as_fd())
                        .context("the counters of one CPU cannot share a ring")?;
                }
            }
            let counter = &mut counters[index];
            if let Some(filter) = &counter.spec.filter {
                let set = sys::set_filter(fd.as_fd(), filter);
                set.map_err(|error| explain::filter(&error, filter, &counter.spec))?;
            }
            counter.ids.push(sys::event_id(fd.as_fd()).context("an event has no id")?);
            counter.fds.push(fd);
        }
    }
    Ok(ring)
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

fn is_refused(error: &io::Error) -> bool {
    is(error, Errno::ACCESS) || is(error, Errno::PERM)
}

/// The events asked for, or the default found by trying, as far as all are limited.
fn choose_events(plan: &Plan, notices: &mut Vec<String>) -> Result<Vec<EventSpec>> {
    let chosen = supported_events(plan, notices)?;
    let keeps_calls = |spec: &EventSpec| spec.is_of_the_cpu() && is_supported(plan, spec);
    if plan.data.branches.is_some() && !chosen.iter().any(keeps_calls) {
        bail!(
            "-b: no event here has the branches that a CPU keeps (its own events do, seldom in a virtual machine); \
             perf record -b fails here, too"
        );
    }
    if plan.chains == CallChains::KeptByCpu && !chosen.iter().any(keeps_calls) {
        bail!(
            "--call-graph lbr: no event here has the calls that a CPU keeps (Intel's do from Haswell on, \
             seldom in a virtual machine); --call-graph dwarf walks stacks without"
        );
    }
    Ok(chosen.iter().map(|spec| spec.limited_to(plan.privilege)).collect())
}

fn supported_events(plan: &Plan, notices: &mut Vec<String>) -> Result<Vec<EventSpec>> {
    const BY_CLOCK: &str = "recording cpu-clock, as this machine does not count cycles";
    if !plan.events.is_empty() {
        let best =
            |spec: &EventSpec| spec.at_each_precision().find(|precise| is_supported(plan, precise));
        let mut are_by_clock = false;
        let chosen = |spec: &EventSpec| {
            let by_clock = || {
                let clock = best(&spec.by_clock()?)?;
                // Else only the modifiers are not for this machine.
                are_by_clock |= !is_supported(plan, &EventSpec::cycles());
                are_by_clock.then_some(clock)
            };
            // If none is supported, opening the last says why.
            let last = || spec.at_each_precision().last();
            best(spec).or_else(by_clock).or_else(last).unwrap_or_else(|| spec.clone())
        };
        let events = plan.events.iter().map(chosen).collect();
        notices.extend(are_by_clock.then(|| BY_CLOCK.into()));
        return Ok(events);
    }
    let cycles = EventSpec::cycles();
    if is_supported(plan, &cycles) {
        notices.push("recording cycles".into());
        return Ok(vec![cycles]);
    }
    notices.push(BY_CLOCK.into());
    Ok(vec![EventSpec::cpu_clock()])
}

/// The event as it is tried: in user space only, where it can be there, so that missing permission
/// does not look like missing support.
fn tried(spec: &EventSpec) -> EventSpec {
    if spec.is_of_the_kernel() { spec.clone() } else { spec.user_only() }
}

fn is_supported(plan: &Plan, spec: &EventSpec) -> bool {
    // Its number in tracefs says so, and `permitted` tries it.
    if spec.tracepoint.is_some() {
        return true;
    }
    let spec = tried(spec);
    let attr = attr(plan, &[], &spec, KernelLevel::Oldest, Role::SamplingOnly);
    match sys::open_event(&attr, Scope::Own) {
        Ok(_) => true,
        Err(error) => is_refused(&error),
    }
}

/// Every event that this machine counts.
fn supported_names(plan: &Plan) -> String {
    let supported: Vec<String> =
        events::all().filter(|spec| is_supported(plan, spec)).map(|spec| spec.name).collect();
    supported.join(", ")
}

/// The newest level whose attr the kernel takes.
fn probe_level(plan: &Plan, asked: &EventSpec) -> Result<KernelLevel> {
    let spec = tried(asked);
    let mut last = None;
    for level in KernelLevel::NEWEST_FIRST {
        let attr = attr(plan, &[], &spec, level, Role::Tracking);
        let Err(error) = sys::open_event(&attr, Scope::Own) else { return Ok(level) };
        explain::unless_namespaces(&attr, &error)?;
        // Else it is not a matter of the attr; `permitted` and `open_target` say what it is.
        if !is(&error, Errno::INVAL) && !is(&error, Errno::TOOBIG) {
            return Ok(level);
        }
        last = Some(error);
    }
    let error = last.unwrap_or_else(|| Errno::INVAL.into());
    let reason = output::reason(&error);
    Err(anyhow!("this machine does not sample {} ({reason}); perf stat may count it", asked.name))
}

/// What may be counted.
struct Permitted {
    /// The events: user space only where the kernel's part is not permitted.
    specs: Vec<EventSpec>,
    /// Tracepoints as they were tried, to be closed once others have them open. Whoever closes a tracepoint last waits
    /// until no CPU is in it, 40 ms each: `syscalls:sys_enter_*` began after 27 s.
    kept: Vec<OwnedFd>,
}

/// Finds it by trying.
fn permitted(
    plan: &Plan,
    specs: Vec<EventSpec>,
    level: KernelLevel,
    notices: &mut Vec<String>,
) -> Result<Permitted> {
    let (mut permitted, mut kept) = (Vec::new(), Vec::new());
    let mut user_only: Vec<EventSpec> = Vec::new();
    for spec in specs {
        let open = |spec: &EventSpec| {
            let alone = std::slice::from_ref(spec);
            let attr = attr(plan, alone, spec, level, Role::SamplingOnly);
            sys::open_event(&attr, Scope::Own)
        };
        match open(&spec) {
            Ok(fd) => {
                kept.extend(spec.tracepoint.is_some().then_some(fd));
                permitted.push(spec);
            }
            // In user space only, it would see nothing.
            Err(error) if is_refused(&error) && spec.is_of_the_kernel() => match spec.tracepoint {
                Some(_) => bail!(explain::paranoid("tracepoints", -1)),
                None => bail!("{} is in the kernel, where only root has breakpoints", spec.name),
            },
            Err(error) if is_refused(&error) && spec.privilege == Privilege::Any => {
                let spec = spec.user_only();
                open(&spec).map_err(|error| explain::refused(&error, plan, Scope::Own))?;
                permitted.push(spec.clone());
                user_only.push(spec);
            }
            Err(error) if is_refused(&error) && spec.privilege == Privilege::KernelOnly => {
                bail!(explain::paranoid("the kernel", 1));
            }
            Err(error)
                if is_refused(&error) || is(&error, Errno::MFILE) || is(&error, Errno::NOSYS) =>
            {
                return Err(explain::refused(&error, plan, Scope::Own));
            }
            Err(error) => {
                return Err(anyhow!(
                    "this machine does not count {} ({}); it counts {}",
                    spec.name,
                    output::reason(&error),
                    supported_names(plan)
                ));
            }
        }
    }
    if !user_only.is_empty() {
        let names: Vec<&str> = user_only.iter().map(|spec| spec.name.as_str()).collect();
        let (names, why) = (names.join(", "), explain::paranoid("the kernel", 1));
        notices.push(format!("user space only ({names}): {why}"));
    }
    Ok(Permitted { specs: permitted, kept })
}

/// Opens each group on our own thread, so that what cannot count together is known. Weak groups are
/// broken up then.
fn check_groups(plan: &Plan, specs: &mut [EventSpec], level: KernelLevel) -> Result<()> {
    for (first, count) in events::groups(specs.iter()) {
        let mut open = Vec::new();
        let failure = (first..first + count).find_map(|index| {
            let attr = attr(plan, specs, &specs[index], level, Role::SamplingOnly);
            let leader: Option<&OwnedFd> = open.first();
            match sys::open_in_group(&attr, Scope::Own, leader.map(OwnedFd::as_fd)) {
                Ok(fd) => {
                    open.push(fd);
                    None
                }
                Err(error) => Some((index, error)),
            }
        });
        let Some((index, error)) = failure else { continue };
        if !specs[first].has(Mode::Weak) || specs[first].grouping.reads_values() {
            bail!(
                "{} does not count together with {} ({}); leave it out of the group, or let the \
                 group be broken up where it has to be: {{…}}:W",
                specs[index].name,
                specs[first].name,
                output::reason(&error)
            );
        }
        let group = specs[first..first + count].iter_mut();
        group.for_each(|spec| spec.grouping = Grouping::Alone);
    }
    Ok(())
}

/// Maps a ring of `bytes`, or of as much less as is permitted if the size is our default.
fn map_ring<R>(
    fd: &OwnedFd,
    origin: RingOrigin,
    bytes: &mut usize,
    map: impl Fn(BorrowedFd<'_>, usize) -> io::Result<R>,
) -> Result<R> {
    loop {
        match map(fd.as_fd(), *bytes) {
            Ok(ring) => return Ok(ring),
            Err(error) if is(&error, Errno::PERM) && origin == RingOrigin::Default => {
                if *bytes <= rustix::param::page_size() {
                    return Err(explain::ring(&error, *bytes));
                }
                *bytes /= 2;
            }
            Err(error) => return Err(explain::ring(&error, *bytes)),
        }
    }
}

/// The threads of running processes. Of several, some may have ended since they were listed.
fn threads_of(pids: &[i32]) -> Result<Vec<i32>> {
    let (mut threads, mut ended) = (Vec::new(), Vec::new());
    for pid in pids {
        let tasks = match fs::read_dir(format!("/proc/{pid}/task")) {
            Ok(tasks) => tasks,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                explain::unless_hidden(*pid)?;
                ended.push(pid.to_string());
                continue;
            }
            Err(error) => return Err(error).with_context(|| format!("/proc/{pid}/task")),
        };
        threads
            .extend(tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse::<i32>().ok()));
    }
    match ended.join(", ") {
        none if none.is_empty() => {}
        ended if threads.is_empty() => bail!("there is no process {ended}"),
        ended => notice(format_args!("there is no process {ended}; the others are recorded")),
    }
    threads.sort_unstable();
    threads.dedup();
    Ok(threads)
}

fn existing_threads(tids: &[i32]) -> Result<Vec<i32>> {
    for tid in tids {
        if !fs::exists(format!("/proc/{tid}")).unwrap_or(false) {
            explain::unless_hidden(*tid)?;
            bail!("there is no thread {tid}");
        }
    }
    Ok(tids.to_vec())
}

/// Processes that the threads belong to, each once.
fn processes_of(threads: &[i32]) -> Vec<i32> {
    let mut processes: Vec<i32> =
        threads.iter().filter_map(|tid| super::tasks::process_of(*tid)).collect();
    processes.sort_unstable();
    processes.dedup();
    processes
}
