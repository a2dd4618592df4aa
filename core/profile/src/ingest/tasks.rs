//! Processes and threads as they come and go, and what is mapped in each.

use std::collections::VecDeque;

use perftab_dsos::pid_of_jitdump;
use perftab_perfdata::map::Map;

use perftab_perfdata::decode::records::{
    CommCause, CommRecord, ForkMappings, MappingAccess, MmapRecord, NamespacesRecord, TaskRecord,
};

use super::address_space::{AddressSpace, Version};
use super::doubt::Mappings;
use super::kernel::user_dso_kind;
use crate::mappings::Mapping;
use crate::{
    DsoKind, ExecutableMapping, MappedBy, MappedFrom, Namespaces, Process, ProcessId, Profile,
    StringId, Thread, ThreadId,
};

/// Pid and tid of idle threads. A recorder in a PID namespace is told the same of every process
/// outside of it (`perf_event_pid_type` in kernel/events/core.c, Linux 6.12).
pub(super) const OUTSIDE: u32 = 0;
/// What has that pid and is no idle thread.
const OUTSIDE_NAME: &str = "outside of the PID namespace";

/// Everything alive at the time that records have reached.
///
/// A thread has its last name until another has its tid: the kernel samples the end of a thread
/// after its EXIT record.
#[derive(Default)]
pub(super) struct Tasks {
    processes: Vec<RunningProcess>,
    /// By pid, the position in `processes` of the one that has it.
    by_pid: Map<u32, usize>,
    threads: Map<(u32, u32), KnownThread>,
    /// The threads that were sampled last, by the low bits of the tid.
    recent: RecentThreads,
    /// What the recorder called threads that it was to measure (THREAD_MAP); for those whose COMM
    /// is absent.
    suggested: Map<u32, StringId>,
    /// Those that ended last, with their positions in `processes`.
    ended: VecDeque<(usize, ProcessId)>,
    /// How often records were lost that may have been mappings.
    gaps: u32,
    /// What stands for all processes outside of the recorder's PID namespace. No pid has it.
    outside: Option<SampledTask>,
    /// Names and mappings of such processes.
    outside_records: u64,
    versions: u32,
    data: DataMappings,
}

/// What becomes of memory that no code can be in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DataMappings {
    /// It is told apart from what was there before, and nothing else.
    #[default]
    Unmapped,
    /// Addresses of data are looked up in it.
    Kept,
}

/// So many processes have their mappings after they ended: the kernel samples what they do until they
/// are gone. What has the pid after that is another, of which nothing was recorded.
const ENDED_KEPT: usize = 1024;

/// Most samples are of threads that were sampled a moment ago: two look-ups by hash for each
/// sample were a twentieth of the time of reading. Here they meet a thread's last row.
struct RecentThreads([Option<RecentThread>; RecentThreads::ROWS]);

#[derive(Clone, Copy)]
struct RecentThread {
    pid: u32,
    tid: u32,
    thread: ThreadId,
    /// Position in [`Tasks::processes`].
    process: usize,
}

impl Default for RecentThreads {
    fn default() -> Self {
        Self([None; Self::ROWS])
    }
}

impl RecentThreads {
    const ROWS: usize = 64;

    fn row(&mut self, tid: u32) -> &mut Option<RecentThread> {
        &mut self.0[tid as usize % Self::ROWS]
    }
}

/// Whose code was sampled.
#[derive(Clone, Copy)]
pub(super) struct SampledTask {
    pub thread: ThreadId,
    /// Position in [`Tasks::processes`].
    process: usize,
    /// Whether that can be trusted.
    pub mappings: Mappings,
}

struct RunningProcess {
    process: ProcessId,
    space: AddressSpace,
    /// When its first thread has ended, the next name given under this pid is another process's,
    /// whose FORK was lost. Its other threads may go on (`pthread_exit` in `main`).
    first_thread: ThreadState,
    /// Threads that are known and have not ended.
    live_threads: u32,
    /// How many gaps there were when something was mapped last.
    mapped_after: u32,
}

impl RunningProcess {
    fn new(process: ProcessId, space: AddressSpace, mapped_after: u32) -> Self {
        let first_thread = ThreadState::Running;
        Self { process, space, first_thread, live_threads: 0, mapped_after }
    }
}

/// What records say of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ThreadState {
    Running,
    Ended,
}

#[derive(Clone, Copy)]
struct KnownThread {
    thread: ThreadId,
    naming: Naming,
    state: ThreadState,
}

/// What a FORK record tells of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Forked {
    /// It began.
    Begun,
    /// It has been there all the time.
    DescribedAnew,
}

/// Where a thread's name comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// A record gave it, to the thread or to the one that began it.
    Recorded,
    /// Nothing did: it is made of the tid, and threads that it begins do not inherit it.
    MadeUp,
}

impl Tasks {
    fn next_version(versions: &mut u32) -> Version {
        *versions = versions.wrapping_add(1);
        Version(*versions)
    }

    /// The process, which may be met here for the first time.
    fn running(&mut self, profile: &mut Profile, pid: u32) -> &mut RunningProcess {
        let index = self.running_index(profile, pid);
        &mut self.processes[index]
    }

    fn running_index(&mut self, profile: &mut Profile, pid: u32) -> usize {
        let Self { processes, versions, suggested, gaps, .. } = self;
        *self.by_pid.entry(pid).or_insert_with(|| {
            let name = make_up_name(suggested, profile, pid);
            let process = profile.threads.add_process(Process { pid, name });
            let space = AddressSpace::new(Self::next_version(versions));
            processes.push(RunningProcess::new(process, space, *gaps));
            processes.len() - 1
        })
    }

    /// What to call a thread if no record names it.
    pub(super) fn suggest_name(&mut self, profile: &mut Profile, tid: u32, name: &str) {
        if !name.is_empty() {
            self.suggested.insert(tid, profile.strings.intern(name));
        }
    }

    /// The thread that a sample belongs to, and what is mapped in its process.
    #[inline(always)]
    pub(super) fn sampled(&mut self, profile: &mut Profile, pid: u32, tid: u32) -> SampledTask {
        let known = *self.recent.row(tid);
        let recent = match known.filter(|recent| recent.pid == pid && recent.tid == tid) {
            Some(recent) => recent,
            None => {
                let thread = self.known(profile, pid, tid).thread;
                let process = self.running_index(profile, pid);
                let recent = RecentThread { pid, tid, thread, process };
                *self.recent.row(tid) = Some(recent);
                recent
            }
        };
        let process = &mut self.processes[recent.process];
        let row = profile.samples.len();
        match profile.threads.thread(recent.thread).process {
            of if of == process.process => process.space.met(&mut profile.mappings, of, row),
            // Another thread called exec, and nothing names this one anew.
            of => process.space.met_by_other(&mut profile.mappings, of, row),
        }
        let mappings = match process.mapped_after < self.gaps {
            true => Mappings::Doubtful,
            false => Mappings::Sure,
        };
        SampledTask { thread: recent.thread, process: recent.process, mappings }
    }

    /// The thread of a sample of user space with the pid of idle threads: it stands for several
    /// processes, so what they map is not kept.
    pub(super) fn sampled_outside(&mut self, profile: &mut Profile) -> SampledTask {
        let Self { outside, processes, versions, .. } = self;
        *outside.get_or_insert_with(|| {
            let name = profile.strings.intern(OUTSIDE_NAME);
            let process = profile.threads.add_process(Process { pid: OUTSIDE, name });
            let thread = profile.threads.add_thread(Thread { process, tid: OUTSIDE, name });
            let space = AddressSpace::new(Self::next_version(versions));
            processes.push(RunningProcess::new(process, space, 0));
            SampledTask { thread, process: processes.len() - 1, mappings: Mappings::Sure }
        })
    }

    /// What is mapped in the process of a task that was sampled just now.
    #[inline(always)]
    pub(super) fn space(&self, task: SampledTask) -> &AddressSpace {
        &self.processes[task.process].space
    }

    /// What is mapped in each process.
    pub(super) fn spaces(&mut self) -> impl Iterator<Item = &mut AddressSpace> {
        self.processes.iter_mut().map(|process| &mut process.space)
    }

    /// How many names and mappings came of processes outside of the recorder's PID namespace. Idle
    /// threads have none; but a CPU that is brought up has a FORK of its own.
    pub(super) fn outside_records(&self) -> u64 {
        self.outside_records
    }

    /// Records were lost, and mappings may have been among them.
    pub(super) fn lost_mappings(&mut self) {
        self.gaps = self.gaps.saturating_add(1);
    }

    /// The thread, which may be met here for the first time. Its process's name is not its own.
    fn known(&mut self, profile: &mut Profile, pid: u32, tid: u32) -> KnownThread {
        if let Some(&known) = self.threads.get(&(pid, tid)) {
            return known;
        }
        let process = self.running(profile, pid).process;
        let name = make_up_name(&self.suggested, profile, tid);
        // The idle threads are called so in every recording.
        let naming = if tid == 0 { Naming::Recorded } else { Naming::MadeUp };
        self.add_thread(profile, pid, Thread { process, tid, name }, naming)
    }

    fn add_thread(
        &mut self,
        profile: &mut Profile,
        pid: u32,
        thread: Thread,
        naming: Naming,
    ) -> KnownThread {
        let state = ThreadState::Running;
        let known = KnownThread { thread: profile.threads.add_thread(thread), naming, state };
        let before = self.threads.insert((pid, thread.tid), known);
        let went_on = before.is_some_and(|before| {
            let process = profile.threads.thread(before.thread).process;
            before.state == ThreadState::Running && process == thread.process
        });
        if !went_on {
            self.running(profile, pid).live_threads += 1;
        }
        *self.recent.row(thread.tid) = None;
        known
    }

    /// A thread has a name; after exec its process is another.
    pub(super) fn comm(&mut self, profile: &mut Profile, comm: &CommRecord<'_>) {
        if comm.pid == OUTSIDE && !comm.name.starts_with("swapper") {
            self.outside_records += 1;
            return;
        }
        let name = profile.strings.intern(&comm.name);
        let is_first_thread = comm.tid == comm.pid;
        self.name_what_was_unnamed(profile, comm.pid, comm.tid, name);
        let before = self.by_pid.get(&comm.pid).map(|&index| &self.processes[index]);
        let has_ended = before.is_some_and(|it| it.first_thread == ThreadState::Ended);
        if comm.cause == CommCause::Exec {
            let namespaces = before.and_then(|it| profile.threads.namespaces.get(&it.process));
            self.replace_process(profile, comm.pid, name, None, namespaces.copied());
        } else if is_first_thread && has_ended {
            self.replace_process(profile, comm.pid, name, None, None);
        }
        let process = self.running(profile, comm.pid).process;
        if is_first_thread {
            profile.threads.processes[process.index()].name = name;
        }
        let thread = Thread { process, tid: comm.tid, name };
        match self.threads.get_mut(&(comm.pid, comm.tid)) {
            Some(known)
                if known.state == ThreadState::Running
                    && profile.threads.thread(known.thread) == thread =>
            {
                known.naming = Naming::Recorded;
            }
            _ => {
                self.add_thread(profile, comm.pid, thread, Naming::Recorded);
            }
        }
    }

    /// The first name of a thread is the best that there is for the time before, too: so does
    /// `perf report` (`comm__override` in `tools/perf/util/comm.c`).
    fn name_what_was_unnamed(&mut self, profile: &mut Profile, pid: u32, tid: u32, name: StringId) {
        let known = self.threads.get(&(pid, tid)).filter(|known| known.naming == Naming::MadeUp);
        let Some(known) = known else { return };
        let thread = &mut profile.threads.threads[known.thread.index()];
        thread.name = name;
        if pid == tid {
            profile.threads.processes[thread.process.index()].name = name;
        }
    }

    /// A thread began; in a new process it has a copy of its parent's mappings.
    pub(super) fn fork(&mut self, profile: &mut Profile, task: TaskRecord) -> Forked {
        if task.pid == OUTSIDE {
            return Forked::Begun;
        }
        if task.mappings == ForkMappings::Own && self.is_described_anew(task) {
            return Forked::DescribedAnew;
        }
        let parent = self.known(profile, task.parent_pid, task.parent_tid);
        let naming = match task.parent_pid {
            OUTSIDE => Naming::MadeUp,
            _ => parent.naming,
        };
        let name = match naming {
            Naming::Recorded => profile.threads.thread(parent.thread).name,
            Naming::MadeUp => make_up_name(&self.suggested, profile, task.tid),
        };
        if task.pid != task.parent_pid {
            let parent = self.running(profile, task.parent_pid);
            let space = (task.mappings == ForkMappings::Copied)
                .then(|| parent.space.fork(&profile.mappings));
            let mapped_after = parent.mapped_after;
            let namespaces = profile.threads.namespaces.get(&parent.process).copied();
            self.replace_process(profile, task.pid, name, space, namespaces);
            self.running(profile, task.pid).mapped_after = mapped_after;
        }
        let process = self.running(profile, task.pid).process;
        self.add_thread(profile, task.pid, Thread { process, tid: task.tid, name }, naming);
        Forked::Begun
    }

    /// Whether a thread that was described is known and has not ended, as after a loss. Its process has no mappings then
    /// but those that follow.
    fn is_described_anew(&mut self, task: TaskRecord) -> bool {
        let known = self.threads.get(&(task.pid, task.tid));
        let is_known = known.is_some_and(|known| {
            known.naming == Naming::Recorded && known.state == ThreadState::Running
        });
        if let Some(&index) =
            self.by_pid.get(&task.pid).filter(|_| is_known && task.pid == task.tid)
        {
            let running = &mut self.processes[index];
            running.space = AddressSpace::new(Self::next_version(&mut self.versions));
            running.mapped_after = self.gaps;
        }
        is_known
    }

    /// What a process is called, if it is known.
    pub(super) fn process_name(&self, profile: &Profile, pid: u32) -> Option<StringId> {
        let running = &self.processes[*self.by_pid.get(&pid)?];
        Some(profile.threads.process(running.process).name)
    }

    /// True if a process of this id is known.
    pub(super) fn is_process(&self, pid: u32) -> bool {
        self.by_pid.contains_key(&pid)
    }

    /// A process is in namespaces.
    pub(super) fn enter(&mut self, profile: &mut Profile, record: NamespacesRecord) {
        let process = self.running(profile, record.pid).process;
        let namespaces = Namespaces { pid: record.pid_namespace, mount: record.mount_namespace };
        profile.threads.namespaces.insert(process, namespaces);
    }

    /// A thread ended. With the last one that is known its process did.
    pub(super) fn exit(&mut self, profile: &Profile, task: TaskRecord) {
        let Some(&index) = self.by_pid.get(&task.pid).filter(|_| task.pid != OUTSIDE) else {
            return;
        };
        let running = &mut self.processes[index];
        if task.pid == task.tid {
            running.first_thread = ThreadState::Ended;
        }
        let Some(known) = self.threads.get_mut(&(task.pid, task.tid)) else { return };
        let before = std::mem::replace(&mut known.state, ThreadState::Ended);
        let process = profile.threads.thread(known.thread).process;
        if before == ThreadState::Ended || process != running.process {
            return;
        }
        running.live_threads = running.live_threads.saturating_sub(1);
        if running.live_threads == 0 {
            self.ended.push_back((index, process));
            self.forget_mappings();
        }
    }

    /// Of the process that ended first of those that are remembered, if they are too many.
    fn forget_mappings(&mut self) {
        if self.ended.len() > ENDED_KEPT
            && let Some((index, process)) = self.ended.pop_front()
            && let running = &mut self.processes[index]
            && running.process == process
            && running.live_threads == 0
        {
            running.space = AddressSpace::new(Self::next_version(&mut self.versions));
        }
    }

    fn replace_process(
        &mut self,
        profile: &mut Profile,
        pid: u32,
        name: StringId,
        space: Option<AddressSpace>,
        namespaces: Option<Namespaces>,
    ) {
        let space =
            space.unwrap_or_else(|| AddressSpace::new(Self::next_version(&mut self.versions)));
        let process = profile.threads.add_process(Process { pid, name });
        profile.threads.namespaces.extend(namespaces.map(|namespaces| (process, namespaces)));
        let running = RunningProcess::new(process, space, self.gaps);
        // A pid keeps its position, so what is recent stays right, and a process that is gone
        // leaves nothing behind.
        match self.by_pid.get(&pid) {
            Some(&index) => self.processes[index] = running,
            None => {
                self.by_pid.insert(pid, self.processes.len());
                self.processes.push(running);
            }
        }
    }

    /// Addresses of data will be looked up.
    pub(super) fn keep_data(&mut self) {
        self.data = DataMappings::Kept;
    }

    /// Code was mapped into a process.
    pub(super) fn map(&mut self, profile: &mut Profile, mmap: &MmapRecord<'_>) {
        if mmap.pid == OUTSIDE {
            self.outside_records += 1;
            return;
        }
        let Some(end) = mmap.address.checked_add(mmap.length) else { return };
        if mmap.length == 0 {
            return;
        }
        let kind = match mmap.access {
            MappingAccess::JitSymbols => DsoKind::Jit,
            _ => user_dso_kind(&mmap.path),
        };
        // A file that is read may hold bytecode, which call chains of Android name; the rest of
        // a process's data (recorded with `perf record -d`) holds no code. What it is need not be told
        // apart by process: no file names it.
        if mmap.access == MappingAccess::Data && kind != DsoKind::User {
            let version = Self::next_version(&mut self.versions);
            let data = self.data;
            let space = &mut self.running(profile, mmap.pid).space;
            let all = &mut profile.mappings;
            match data {
                // What it covers is gone all the same.
                DataMappings::Unmapped => space.unmap(all, mmap.address..end, version),
                DataMappings::Kept => {
                    let dso = profile.dsos.intern(&mmap.path, kind, MappedFrom::Nothing, None);
                    let (start, page_offset) = (mmap.address, mmap.address);
                    space.map_data(all, Mapping { start, end, page_offset, dso }, version);
                }
            }
            return;
        }
        let process = self.running(profile, mmap.pid).process;
        // Run times map a jitdump so that the recording tells whose it is (jitdump-specification.txt).
        let is_jitdump = || pid_of_jitdump(&mmap.path).is_some();
        let owner = (kind == DsoKind::Anon || is_jitdump()).then_some(process);
        let dso = profile.dsos.intern(&mmap.path, kind, mmap.mapped_from, owner);
        if mmap.access == MappingAccess::Executable {
            let (offset, length) = (mmap.page_offset, Some(mmap.length));
            profile.dsos.get_mut(dso).add_executable(ExecutableMapping { offset, length });
        }
        let version = Self::next_version(&mut self.versions);
        let page_offset = match kind {
            // What names it says where it is in memory. (The kernel and a recorder that reads
            // /proc/PID/maps do not agree on the offset in memory without a file.)
            DsoKind::Jit | DsoKind::Anon => mmap.address,
            _ => mmap.page_offset,
        };
        let mapping = Mapping { start: mmap.address, end, page_offset, dso };
        let gaps = self.gaps;
        let mapped_by = MappedBy::of(&mmap.path, mmap.page_offset);
        let is_code = kind == DsoKind::Jit || mapped_by == MappedBy::Inject;
        let running = self.running(profile, mmap.pid);
        running.mapped_after = gaps;
        let (space, all) = (&mut running.space, &mut profile.mappings);
        if !is_code {
            space.map(all, mapping, version);
            return;
        }
        // Run times compile into memory without a file, which is there before and after.
        let below = space.memory_at(all, mapping.start).map(|below| below.dso);
        if below.is_some_and(|below| profile.dsos.get(below).kind != DsoKind::Anon) {
            space.unmap(all, mapping.start..end, version);
        }
        space.add_code(all, mapping, version);
    }
}

/// What a thread is called whose name was not recorded.
fn make_up_name(suggested: &Map<u32, StringId>, profile: &mut Profile, tid: u32) -> StringId {
    suggested.get(&tid).copied().unwrap_or_else(|| profile.strings.intern(&unnamed(tid)))
}

/// What perf shows for a thread whose name was not recorded.
fn unnamed(tid: u32) -> String {
    match tid {
        0 => "swapper".to_owned(),
        tid => format!(":{}", tid as i32),
    }
}

#[cfg(test)]
mod tests;
