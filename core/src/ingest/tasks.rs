//! Processes and threads as they come and go, and what is mapped in each.

use std::collections::HashMap;

use super::address_space::{AddressSpace, Mapping, Version};
use super::kernel::user_dso_kind;
use crate::decode::records::{
    CommCause, CommRecord, ForkMappings, MappingAccess, MmapRecord, TaskRecord,
};
use crate::profile::{DsoKind, Process, ProcessId, Profile, StringId, Thread, ThreadId};

/// Everything alive at the time that records have reached.
#[derive(Default)]
pub(super) struct Tasks {
    processes: HashMap<u32, Running>,
    threads: HashMap<(u32, u32), ThreadId>,
    versions: u32,
}

struct Running {
    process: ProcessId,
    space: AddressSpace,
}

impl Tasks {
    fn next_version(versions: &mut u32) -> Version {
        *versions = versions.wrapping_add(1);
        Version(*versions)
    }

    /// The process, which may be met here for the first time.
    fn running(&mut self, profile: &mut Profile, pid: u32) -> &mut Running {
        let versions = &mut self.versions;
        self.processes.entry(pid).or_insert_with(|| {
            let name = profile.strings.intern(&unnamed(pid));
            let process = profile.threads.add_process(Process { pid, name });
            Running { process, space: AddressSpace::new(Self::next_version(versions)) }
        })
    }

    /// The thread that a sample belongs to.
    pub(super) fn thread(&mut self, profile: &mut Profile, pid: u32, tid: u32) -> ThreadId {
        if let Some(&known) = self.threads.get(&(pid, tid)) {
            return known;
        }
        let process = self.running(profile, pid).process;
        // A thread of a process that was there before the recording has its name.
        let name = match self.threads.contains_key(&(pid, pid)) {
            true => profile.threads.process(process).name,
            false => profile.strings.intern(&unnamed(tid)),
        };
        self.add_thread(profile, pid, Thread { process, tid, name })
    }

    fn add_thread(&mut self, profile: &mut Profile, pid: u32, thread: Thread) -> ThreadId {
        let id = profile.threads.add_thread(thread);
        self.threads.insert((pid, thread.tid), id);
        id
    }

    /// What is mapped in a process.
    pub(super) fn address_space(&self, pid: u32) -> Option<&AddressSpace> {
        self.processes.get(&pid).map(|running| &running.space)
    }

    /// A thread has a name; after exec its process is another.
    pub(super) fn comm(&mut self, profile: &mut Profile, comm: &CommRecord<'_>) {
        let name = profile.strings.intern(&comm.name);
        if comm.cause == CommCause::Exec {
            self.replace_process(profile, comm.pid, name, None);
        }
        let process = self.running(profile, comm.pid).process;
        if comm.tid == comm.pid {
            profile.threads.processes[process.index()].name = name;
        }
        let known = self.threads.get(&(comm.pid, comm.tid)).map(|&id| profile.threads.thread(id));
        if known.is_none_or(|known| known.name != name || known.process != process) {
            self.add_thread(profile, comm.pid, Thread { process, tid: comm.tid, name });
        }
    }

    /// A thread began; in a new process it has a copy of its parent's mappings.
    pub(super) fn fork(&mut self, profile: &mut Profile, task: TaskRecord) {
        let parent = self.thread(profile, task.parent_pid, task.parent_tid);
        let name = profile.threads.thread(parent).name;
        if task.pid != task.parent_pid {
            let parent = self.running(profile, task.parent_pid);
            let (space, process) = (parent.space.clone(), parent.process);
            let process_name = profile.threads.process(process).name;
            let space = (task.mappings == ForkMappings::Copied).then_some(space);
            self.replace_process(profile, task.pid, process_name, space);
        }
        let process = self.running(profile, task.pid).process;
        self.add_thread(profile, task.pid, Thread { process, tid: task.tid, name });
    }

    fn replace_process(
        &mut self,
        profile: &mut Profile,
        pid: u32,
        name: StringId,
        space: Option<AddressSpace>,
    ) {
        let space =
            space.unwrap_or_else(|| AddressSpace::new(Self::next_version(&mut self.versions)));
        let process = profile.threads.add_process(Process { pid, name });
        self.processes.insert(pid, Running { process, space });
    }

    /// Code was mapped into a process.
    pub(super) fn map(&mut self, profile: &mut Profile, mmap: &MmapRecord<'_>) {
        let Some(end) = mmap.address.checked_add(mmap.length) else { return };
        if mmap.access == MappingAccess::Data || mmap.length == 0 {
            return;
        }
        let kind = user_dso_kind(&mmap.path);
        let path = mmap.path.strip_suffix(" (deleted)").unwrap_or(&mmap.path);
        let process = self.running(profile, mmap.pid).process;
        let owner = (kind == DsoKind::Anon).then_some(process);
        let dso = profile.dsos.intern(path, kind, mmap.mapped_from, owner);
        profile.dsos.get_mut(dso).executable_offset.get_or_insert(mmap.page_offset);
        let version = Self::next_version(&mut self.versions);
        let page_offset = mmap.page_offset;
        let mapping = Mapping { start: mmap.address, end, page_offset, dso };
        self.running(profile, mmap.pid).space.map(mapping, version);
    }
}

/// What perf shows for a thread whose name was not recorded.
fn unnamed(tid: u32) -> String {
    match tid {
        0 => "swapper".to_owned(),
        tid => format!(":{}", tid as i32),
    }
}
