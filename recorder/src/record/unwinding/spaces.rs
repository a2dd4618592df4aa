//! What is mapped where in each process, as records tell it in the order of time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use perftab_core::pid_of_jitdump;
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::{
    CommCause, CommRecord, ForkMappings, LossesToldOf, MappingAccess, MmapRecord, RecordHeader,
    TaskRecord,
};
use perftab_perfdata::format::record::{RecordType, misc};
use perftab_perfdata::format::write::SampleIdTrailer;

use super::super::mapped_at::MappedAt;
use super::files::{FileNumber, Files, MappedFile};

/// Mappings that one process may have (`vm.max_map_count` is a thousandth of it by default).
const MAPPINGS_MAX: usize = 1 << 20;

/// All processes.
pub struct Spaces {
    by_pid: HashMap<u32, Process>,
    told_of: LossesToldOf,
    trailer: SampleIdTrailer,
}

struct Process {
    space: Space,
    /// Threads that have not ended, as far as they are known.
    threads: u32,
    leader: Leader,
}

/// The first thread of a process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leader {
    Running,
    Ended,
}

impl Process {
    fn new(space: Space) -> Self {
        Self { space, threads: 1, leader: Leader::Running }
    }

    /// A thread has ended; it may be one that began between the look at what ran and the first record.
    fn exit(&mut self, task: TaskRecord) {
        if task.pid == task.tid {
            self.leader = Leader::Ended;
        }
        let least = u32::from(self.leader == Leader::Running);
        self.threads = self.threads.saturating_sub(1).max(least);
    }
}

/// What is mapped in a process.
#[derive(Clone, Default)]
pub struct Space {
    /// By the first address.
    mappings: Arc<BTreeMap<u64, Mapping>>,
    /// Whether there may be rules for code that the process makes.
    pub made_code: MadeCode,
}

/// What a process says of the code that it makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MadeCode {
    /// At most what it is called: nobody knows how its callers are found.
    #[default]
    WithoutRules,
    /// It has a jitdump, which may have rules.
    InJitdump,
}

/// Code in a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    start: u64,
    end: u64,
    page_offset: u64,
    /// What is mapped; `None` if that is no file.
    pub file: Option<FileNumber>,
}

impl Mapping {
    /// Whether an address is in it.
    pub fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// Where in the file an address is.
    pub fn offset(&self, address: u64) -> u64 {
        (address - self.start).wrapping_add(self.page_offset)
    }

    /// Where that is, in a process.
    pub fn in_process(&self, pid: u32) -> MappedAt {
        MappedAt { pid, start: self.start, end: self.end }
    }
}

impl Space {
    /// The mapping that holds an address.
    pub fn at(&self, address: u64) -> Option<Mapping> {
        let (_, &mapping) = self.mappings.range(..=address).next_back()?;
        mapping.holds(address).then_some(mapping)
    }

    /// The highest address at which anything is mapped.
    pub fn highest(&self) -> Option<u64> {
        Some(self.mappings.last_key_value()?.1.end - 1)
    }

    fn map(&mut self, mapping: Mapping, access: MappingAccess) {
        let Mapping { start, end, .. } = mapping;
        let mappings = Arc::make_mut(&mut self.mappings);
        if let Some((_, &before)) = mappings.range(..start).next_back()
            && before.end > start
        {
            mappings.insert(before.start, Mapping { end: start, ..before });
            if before.end > end {
                let page_offset = before.offset(end);
                mappings.insert(end, Mapping { start: end, page_offset, ..before });
            }
        }
        while let Some((&first, &covered)) = mappings.range(start..end).next() {
            mappings.remove(&first);
            if covered.end > end {
                let page_offset = covered.offset(end);
                mappings.insert(end, Mapping { start: end, page_offset, ..covered });
            }
        }
        if access == MappingAccess::Executable && mappings.len() < MAPPINGS_MAX {
            mappings.insert(start, mapping);
        }
    }
}

impl Spaces {
    /// Nothing is known yet; records end with such a trailer.
    pub fn new(trailer: SampleIdTrailer) -> Self {
        Self { by_pid: HashMap::new(), told_of: LossesToldOf::default(), trailer }
    }

    /// That of a process; `None` if it is not known.
    pub fn of(&self, pid: u32) -> Option<&Space> {
        self.by_pid.get(&pid).map(|process| &process.space)
    }

    /// So many records of a counter's ring were lost: what is known of processes may be wrong.
    pub fn lost(&mut self, counter: u64, records: u64) {
        if self.told_of.is_new(counter, records) {
            self.by_pid.clear();
        }
    }

    /// Takes note of a record.
    pub fn apply(&mut self, header: RecordHeader, record: &[u8], files: &mut Files) {
        let order = ByteOrder::NATIVE;
        match header.record_type {
            RecordType::MMAP2 if header.cpu_mode() == misc::CPUMODE_USER => {
                if let Ok(mmap) = MmapRecord::decode(header, record, 0, order) {
                    self.map(&mmap, self.trailer.time_of(record), files);
                }
            }
            RecordType::COMM => {
                if let Ok(comm) = CommRecord::decode(header, record, 0, order)
                    && comm.cause == CommCause::Exec
                {
                    let space = Space::default();
                    self.by_pid.insert(comm.pid, Process::new(space));
                }
            }
            RecordType::FORK => {
                if let Ok(task) = TaskRecord::decode(header, record, 0, order) {
                    self.fork(task);
                }
            }
            RecordType::EXIT => {
                if let Ok(task) = TaskRecord::decode(header, record, 0, order)
                    && let Some(process) = self.by_pid.get_mut(&task.pid)
                {
                    process.exit(task);
                    if process.threads == 0 {
                        self.by_pid.remove(&task.pid);
                    }
                }
            }
            _ => {}
        }
    }

    fn fork(&mut self, task: TaskRecord) {
        // Of what ran before, threads follow their process.
        let is_new = match task.mappings {
            ForkMappings::Copied => task.pid != task.parent_pid,
            ForkMappings::Own => task.pid == task.tid,
        };
        if !is_new {
            if let Some(process) = self.by_pid.get_mut(&task.pid) {
                process.threads += 1;
            }
            return;
        }
        let space = match task.mappings {
            ForkMappings::Own => Some(Space::default()),
            ForkMappings::Copied => self.of(task.parent_pid).cloned(),
        };
        match space {
            Some(space) => {
                self.by_pid.insert(task.pid, Process::new(space));
            }
            // What its parent has is not known.
            None => {
                self.by_pid.remove(&task.pid);
            }
        }
    }

    fn map(&mut self, mmap: &MmapRecord<'_>, time: Option<u64>, files: &mut Files) {
        let Some(end) = mmap.address.checked_add(mmap.length).filter(|&end| end > mmap.address)
        else {
            return;
        };
        let Some(process) = self.by_pid.get_mut(&mmap.pid) else { return };
        let file = match mmap.access {
            MappingAccess::Executable => files.number(MappedFile::of(mmap), time.unwrap_or(0)),
            MappingAccess::Data | MappingAccess::JitSymbols => None,
        };
        if pid_of_jitdump(&mmap.path).is_some() {
            process.space.made_code = MadeCode::InJitdump;
        }
        let mapping = Mapping { start: mmap.address, end, page_offset: mmap.page_offset, file };
        process.space.map(mapping, mmap.access);
    }
}
