//! Processes and threads, each under the name it had.
//!
//! A process that calls exec is a new [`Process`]: its mappings and its name are others. A thread
//! that is renamed is a new [`Thread`]. So a sample's thread says what ran at that time.

use perftab_perfdata::map::Map;

use super::{ProcessId, StringId, ThreadId};

/// A process between two execs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id at the time of recording; ids are used again.
    pub pid: u32,
    /// Its name.
    pub name: StringId,
}

/// A thread under one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The process it belongs to.
    pub process: ProcessId,
    /// Its id at the time of recording.
    pub tid: u32,
    /// Its name (comm).
    pub name: StringId,
}

/// The namespaces of a process, by inode number; `None` where not recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Namespaces {
    /// Where its process ids count. A run time names its perf map by the pid in here, which is
    /// another than the recorded one in a container.
    pub pid: Option<u64>,
    /// Where its paths count.
    pub mount: Option<u64>,
}

/// All processes and threads.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    /// By [`ProcessId`].
    pub processes: Vec<Process>,
    /// By [`ThreadId`].
    pub threads: Vec<Thread>,
    /// Namespaces of the processes that any are recorded of.
    pub namespaces: Map<ProcessId, Namespaces>,
}

impl Threads {
    /// Adds a process.
    pub fn add_process(&mut self, process: Process) -> ProcessId {
        self.processes.push(process);
        ProcessId(self.processes.len() as u32 - 1)
    }

    /// Adds a thread.
    pub fn add_thread(&mut self, thread: Thread) -> ThreadId {
        self.threads.push(thread);
        ThreadId(self.threads.len() as u32 - 1)
    }

    /// The process of an id; ids are only made here.
    pub fn process(&self, id: ProcessId) -> Process {
        self.processes[id.index()]
    }

    /// The thread of an id; ids are only made here.
    pub fn thread(&self, id: ThreadId) -> Thread {
        self.threads[id.index()]
    }
}
