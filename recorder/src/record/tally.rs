//! What is learned of the records as they pass from the rings to the file.
//!
//! Nothing is read again at the end: build-ids, kernel addresses, times and losses are picked up
//! here, in one cheap walk over bytes that are in the cache anyway. The kernel and our own encoders
//! wrote them, so a record that contradicts itself only ends the walk of its block.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use perftab_core::pid_of_jitdump;
use perftab_core::session::RecordedJitdump;
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::records::RecordHeader;
use perftab_perfdata::decode::sample::Counters;
use perftab_perfdata::format::build_id::BuildId;
use perftab_perfdata::format::perftab_section::InodeKey;
use perftab_perfdata::format::record::{
    CONTEXT_KERNEL, CONTEXT_MARKER_MIN, RECORD_HEADER_SIZE, RecordType, is_memory, misc,
};
use perftab_perfdata::format::write::{CpuMode, SampleIdTrailer};

use super::kernel_hits::KernelHits;
use super::mapped_at::MappedAt;
use super::sample_layouts::SampleLayouts;

/// As many as processes may have.
const JITDUMPS_MAX: usize = 1 << 16;
/// Of more processes than this, files are looked at before a sample comes.
const UNSAMPLED_MAX: usize = 1 << 16;
/// Offsets in an MMAP2 record: process, address, length, size of the build-id, build-id, name.
const MMAP2_PID: usize = 8;
const MMAP2_ADDRESS: usize = 16;
const MMAP2_LENGTH: usize = 24;
const MMAP2_ID_SIZE: usize = 40;
const MMAP2_ID: usize = 44;
const MMAP2_NAME: usize = 72;

/// Sums and sets over everything written so far.
#[derive(Debug, Default)]
pub struct Tally {
    layouts: SampleLayouts,
    /// Samples, as readers count them: of a group that its leader samples, one of each event that went on.
    pub samples: u64,
    /// How far the counters of groups had come, by their ids.
    counted: HashMap<u64, u64>,
    sideband: HashSet<u64>,
    /// Records that did not fit into a ring of sideband.
    pub lost_sideband: u64,
    /// Records that did not fit into a ring of samples.
    lost_records: u64,
    /// Samples that counters lost. Those are the same once more.
    pub lost_samples: u64,
    /// Times sampling was throttled.
    pub throttled: u64,
    /// Time of the earliest and of the latest sample.
    pub times: Option<(u64, u64)>,
    /// Time of the latest record of any kind.
    pub latest: u64,
    trailer: Option<SampleIdTrailer>,
    /// What was executed in the kernel.
    pub kernel_hits: KernelHits,
    /// Whether the 64-bit vdso was mapped, and a vdso below 4 GiB, which is another file.
    pub vdso: VdsoSeen,
    /// Processes that were sampled, the last of them apart: most samples are of that.
    sampled: HashSet<u32>,
    last_sampled: u32,
    /// Processes with executable memory without a file.
    run_times: BTreeSet<u32>,
    /// Processes that were met and have not ended.
    processes: BTreeSet<u32>,
    // Keyed by the record from the id on: one look-up of bytes per mapping, parsed at the end.
    mapped: HashSet<Box<[u8]>>,
    // The same for files without an id, from device and inode on, with the earliest time that was told of.
    without_id: HashMap<Box<[u8]>, u64>,
    new_without_id: Vec<FileWithoutId>,
    /// Those of processes that were not sampled yet.
    unsampled: HashMap<u32, HashMap<Box<[u8]>, MappedWithoutId>>,
    /// By process and path.
    jitdumps: BTreeMap<(u32, String), u64>,
}

/// A file that was mapped executable without an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWithoutId {
    /// As recorded.
    pub path: Vec<u8>,
    /// As recorded.
    pub inode: InodeKey,
    /// Of the record; 0 if it describes what was there before.
    pub time: u64,
    /// One of the processes that have it.
    pub at: MappedAt,
}

/// Where and when a process mapped a file without an id.
#[derive(Clone, Copy, Debug)]
struct MappedWithoutId {
    at: MappedAt,
    time: u64,
}

/// Which vdso images processes had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VdsoSeen {
    /// None yet.
    #[default]
    None,
    /// Only ours, the 64-bit one.
    Native,
    /// Also one of a 32-bit process.
    Mixed,
}

impl Tally {
    /// For samples with these fields and other records with this end; `sideband` are the ids of its counters.
    pub fn new(
        layouts: SampleLayouts,
        trailer: SampleIdTrailer,
        sideband: impl IntoIterator<Item = u64>,
    ) -> Self {
        let sideband = sideband.into_iter().collect();
        Self { layouts, trailer: Some(trailer), sideband, ..Self::default() }
    }

    /// Of what follows this: nothing is in it yet, but what runs at present is known.
    pub fn of_next_part(&self) -> Self {
        Self {
            layouts: self.layouts.clone(),
            trailer: self.trailer,
            sideband: self.sideband.clone(),
            processes: self.processes.clone(),
            latest: self.latest,
            ..Self::default()
        }
    }

    /// Processes that were met and have not ended, as far as records tell.
    pub fn processes(&self) -> impl Iterator<Item = i32> {
        self.processes.iter().filter_map(|&pid| i32::try_from(pid).ok()).filter(|&pid| pid > 0)
    }

    /// Takes note of whole records.
    pub fn walk(&mut self, mut records: &[u8]) {
        while let Some((header, record, rest)) = RecordHeader::split(records, ByteOrder::NATIVE) {
            let misc = header.misc;
            match header.record_type {
                RecordType::SAMPLE => self.sample(record, misc),
                RecordType::MMAP2 => self.mapping(record, misc),
                RecordType::FORK => self.fork(record),
                RecordType::COMM => self.processes.extend(u32_at(record, RECORD_HEADER_SIZE)),
                RecordType::EXIT => self.exit(record),
                RecordType::LOST => {
                    let (id, lost) = (u64_at(record, 8), lost_in(record));
                    match id.is_some_and(|id| self.sideband.contains(&id)) {
                        true => self.lost_sideband += lost,
                        false => self.lost_records += lost,
                    }
                }
                RecordType::LOST_SAMPLES => self.lost_samples += u64_at(record, 8).unwrap_or(0),
                RecordType::THROTTLE => self.throttled += 1,
                _ => {}
            }
            // Records from 64 on are ours; they end without a time.
            if header.record_type.0 < 64 && header.record_type != RecordType::SAMPLE {
                let time = self.trailer.and_then(|trailer| trailer.time_of(record));
                self.latest = self.latest.max(time.unwrap_or(0));
            }
            records = rest;
        }
    }

    /// What was lost, as far as records say.
    pub fn lost(&self) -> u64 {
        self.lost_records.max(self.lost_samples)
    }

    fn sample(&mut self, record: &[u8], misc: u16) {
        let Some(sample) = self.layouts.decode(record) else { return };
        self.samples += sample.counters.map_or(1, |counters| self.samples_of(counters));
        let pid = sample.pid;
        if pid != self.last_sampled {
            self.last_sampled = pid;
            if self.sampled.insert(pid) {
                for (key, mapped) in self.unsampled.remove(&pid).unwrap_or_default() {
                    self.ask_for_id(key, mapped);
                }
            }
        }
        if let Some(time) = sample.time_nanos {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
            self.latest = self.latest.max(time);
        }
        if misc & misc::CPUMODE_MASK != misc::CPUMODE_KERNEL {
            return;
        }
        self.kernel_hits.executed(sample.ip);
        // The kernel's part comes first: its marker, the address itself, then return addresses.
        for (index, word) in sample.call_chain.iter().enumerate() {
            match word {
                CONTEXT_KERNEL => {}
                CONTEXT_MARKER_MIN.. => return,
                _ if index < 2 => {}
                _ => self.kernel_hits.returned_to(word),
            }
        }
    }

    /// How many samples readers make of one with the values of counters.
    fn samples_of(&mut self, counters: Counters<'_>) -> u64 {
        let went_on = counters.iter().filter(|counter| {
            let last = counter.id.and_then(|id| self.counted.insert(id, counter.value));
            counter.value != last.unwrap_or(0)
        });
        went_on.count() as u64
    }

    fn mapping(&mut self, record: &[u8], misc: u16) {
        if misc & misc::MMAP_DATA != 0 {
            return;
        }
        let name = record.get(MMAP2_NAME..).unwrap_or(&[]);
        if name.starts_with(b"[vdso]\0") {
            let address = u64_at(record, MMAP2_ADDRESS).unwrap_or(0);
            let native = address >> 32 != 0 || cfg!(target_pointer_width = "32");
            self.vdso = match (self.vdso, native) {
                (VdsoSeen::None | VdsoSeen::Native, true) => VdsoSeen::Native,
                _ => VdsoSeen::Mixed,
            };
            return;
        }
        let is_memory = is_memory(name);
        if is_memory {
            self.run_times.extend(u32_at(record, MMAP2_PID));
        }
        // The name ends at its NUL; behind it comes the trailer, different each time.
        let Some(end) = name.iter().position(|byte| *byte == 0) else { return };
        // Protection and flags stand in between, which do not matter here.
        let key = &record[MMAP2_ID_SIZE..MMAP2_NAME + end];
        if name[..end].ends_with(b".dump") && self.jitdump(record, key) {
            return;
        }
        if misc & misc::MMAP_BUILD_ID != 0 {
            if !self.mapped.contains(key) {
                self.mapped.insert(key.into());
            }
        } else if misc & misc::CPUMODE_MASK == misc::CPUMODE_USER
            && name.starts_with(b"/")
            && !is_memory
        {
            let time = self.trailer.and_then(|trailer| trailer.time_of(record)).unwrap_or(0);
            if self.was_told(key, time) {
                return;
            }
            let [start, length] =
                [MMAP2_ADDRESS, MMAP2_LENGTH].map(|at| u64_at(record, at).unwrap_or(0));
            let pid = u32_at(record, MMAP2_PID).unwrap_or(0);
            let at = MappedAt { pid, start, end: start.saturating_add(length) };
            let mapped = MappedWithoutId { at, time };
            // Of a whole system, most processes are in no sample, and their files would be read for nothing.
            let is_known = self.unsampled.contains_key(&pid);
            if self.sampled.contains(&pid) || !is_known && self.unsampled.len() >= UNSAMPLED_MAX {
                self.ask_for_id(key.into(), mapped);
            } else {
                let files = self.unsampled.entry(pid).or_default();
                files
                    .entry(key.into())
                    .and_modify(|first| first.time = time.min(first.time))
                    .or_insert(mapped);
            }
        }
    }

    /// A file is to be looked at, as samples may have hit it.
    fn ask_for_id(&mut self, key: Box<[u8]>, mapped: MappedWithoutId) {
        if !self.was_told(&key, mapped.time) {
            self.new_without_id.extend(file_without_id(&key, mapped));
            self.without_id.insert(key, mapped.time);
        }
    }

    /// Whether it was told that a file was mapped at a time, or earlier: what was written to since then is another file.
    fn was_told(&self, key: &[u8], time: u64) -> bool {
        self.without_id.get(key).is_some_and(|told| *told <= time)
    }

    /// A process maps its own so that the recording tells of it; true if it is one. What it is says its content, which
    /// grows meanwhile.
    fn jitdump(&mut self, record: &[u8], key: &[u8]) -> bool {
        if let (Some(pid), Some((path, inode))) = (u32_at(record, MMAP2_PID), mapped_file(key))
            && let Ok(path) = String::from_utf8(path)
            && pid_of_jitdump(&path).is_some()
            && self.jitdumps.len() < JITDUMPS_MAX
        {
            self.jitdumps.insert((pid, path), inode.inode);
            return true;
        }
        false
    }

    /// A child has the memory of its parent.
    fn fork(&mut self, record: &[u8]) {
        let [pid, parent] =
            [RECORD_HEADER_SIZE, RECORD_HEADER_SIZE + 4].map(|at| u32_at(record, at));
        self.processes.extend(pid);
        if parent.is_some_and(|parent| self.run_times.contains(&parent)) {
            self.run_times.extend(pid);
        }
        if let (Some(pid), Some(parent)) = (pid, parent)
            && pid != parent
            && let Some(files) = self.unsampled.get(&parent).cloned()
        {
            let of_child = |mapped: MappedWithoutId| MappedWithoutId {
                at: MappedAt { pid, ..mapped.at },
                ..mapped
            };
            let files = files.into_iter().map(|(key, mapped)| (key, of_child(mapped)));
            match self.sampled.contains(&pid) || self.unsampled.len() >= UNSAMPLED_MAX {
                true => files.for_each(|(key, mapped)| self.ask_for_id(key, mapped)),
                false => self.unsampled.entry(pid).or_default().extend(files),
            }
        }
    }

    /// `{ header, u32 pid, ppid, tid, ptid }`: a process has ended if its first thread has.
    fn exit(&mut self, record: &[u8]) {
        let [pid, tid] = [RECORD_HEADER_SIZE, RECORD_HEADER_SIZE + 8].map(|at| u32_at(record, at));
        if let Some(pid) = pid.filter(|_| pid == tid) {
            self.processes.remove(&pid);
        }
    }

    /// Processes that were sampled and have executable memory without a file.
    pub fn run_times(&self) -> BTreeSet<u32> {
        self.run_times.iter().copied().filter(|pid| self.sampled.contains(pid)).collect()
    }

    /// Jitdumps of processes that were sampled.
    pub fn jitdumps(&self) -> impl Iterator<Item = RecordedJitdump> {
        let sampled = self.jitdumps.iter().filter(|((pid, _), _)| self.sampled.contains(pid));
        sampled.map(|((pid, path), &inode)| RecordedJitdump {
            pid: *pid,
            path: path.clone(),
            inode,
        })
    }

    /// Files that were mapped without an id by processes that were sampled, and were not told of before.
    pub fn take_new_files_without_id(&mut self) -> Vec<FileWithoutId> {
        std::mem::take(&mut self.new_without_id)
    }

    /// Name, build-id and CPU mode of every file that was mapped executable with an id: one entry
    /// for each pair of name and id.
    pub fn mapped_files(&self) -> BTreeSet<(Vec<u8>, BuildId, CpuMode)> {
        let mut files = BTreeSet::new();
        for key in &self.mapped {
            let id_size = usize::from(key[0]).min(BuildId::MAX_LENGTH);
            let id = &key[MMAP2_ID - MMAP2_ID_SIZE..][..id_size];
            let name = &key[MMAP2_NAME - MMAP2_ID_SIZE..];
            if let Some(id) = BuildId::new(id) {
                files.insert((name.to_vec(), id, cpu_mode(name)));
            }
        }
        files
    }

    /// Paths that stood for several files during the recording: they were replaced.
    pub fn replaced_files(&self) -> Vec<Vec<u8>> {
        let mut ids: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        for (name, ..) in self.mapped_files() {
            *ids.entry(name).or_default() += 1;
        }
        ids.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name).collect()
    }
}

/// What a LOST record says was lost.
pub fn lost_in(record: &[u8]) -> u64 {
    u64_at(record, 16).unwrap_or(0)
}

fn file_without_id(key: &[u8], mapped: MappedWithoutId) -> Option<FileWithoutId> {
    let (path, inode) = mapped_file(key)?;
    Some(FileWithoutId { path, inode, time: mapped.time, at: mapped.at })
}

/// From the part of an MMAP2 record that begins with the device.
fn mapped_file(key: &[u8]) -> Option<(Vec<u8>, InodeKey)> {
    let inode = InodeKey {
        major: u32_at(key, 0)?,
        minor: u32_at(key, 4)?,
        inode: u64_at(key, 8)?,
        generation: u64_at(key, 16)?,
    };
    let path = key.get(MMAP2_NAME - MMAP2_ID_SIZE..)?.to_vec();
    (inode.inode != 0).then_some((path, inode))
}

/// Kernel and kernel modules are told by their names, which we synthesised.
fn cpu_mode(name: &[u8]) -> CpuMode {
    let is_module = |name: &[u8]| {
        let base = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
        [".ko", ".ko.gz", ".ko.xz", ".ko.zst"].iter().any(|end| base.ends_with(end.as_bytes()))
    };
    if name.starts_with(b"[") || is_module(name) { CpuMode::Kernel } else { CpuMode::User }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use perftab_perfdata::format::attr::sample_type;
    use perftab_perfdata::format::record::{CONTEXT_USER, CONTEXT_USER_DEFERRED};
    use perftab_perfdata::format::write::{Fork, MappedFile, Mmap2, comm, fork, mmap2};

    use super::super::sample_layouts::tests::{layouts_of, of_events, with};
    use super::*;

    const BITS: u64 =
        sample_type::IP | sample_type::TID | sample_type::TIME | sample_type::CALLCHAIN;

    fn tally() -> Tally {
        Tally::new(layouts_of(BITS), SampleIdTrailer::of_sample_type(BITS), [])
    }

    fn sample(misc: u16, ip: u64, time: u64, chain: &[u64]) -> Vec<u8> {
        let mut words = vec![ip, 0, time, chain.len() as u64];
        words.extend_from_slice(chain);
        let mut record = RecordType::SAMPLE.0.to_ne_bytes().to_vec();
        record.extend_from_slice(&misc.to_ne_bytes());
        record.extend_from_slice(&((8 + 8 * words.len()) as u16).to_ne_bytes());
        record.extend(words.into_iter().flat_map(u64::to_ne_bytes));
        record
    }

    fn mapping(id: u8, name: &[u8], address: u64, time: u64) -> Vec<u8> {
        let map = Mmap2 {
            pid: 1,
            cpu_mode: CpuMode::User,
            address,
            length: 0x1000,
            page_offset: 0,
            file: match BuildId::new(&[id; 20]) {
                Some(id) => MappedFile::BuildId(id),
                None => MappedFile::Inode { major: 8, minor: 1, inode: 7 },
            },
            protection: 5,
            flags: 2,
            name,
        };
        let mut out = Vec::new();
        mmap2(&mut out, &map, SampleIdTrailer::of_sample_type(BITS));
        let at = out.len() - 8;
        out[at..].copy_from_slice(&time.to_ne_bytes());
        out
    }

    #[test]
    fn samples_are_counted_and_kernel_addresses_kept() {
        let mut tally = tally();
        let kernel_ip = 0xffff_ffff_8100_1000;
        let chain = [CONTEXT_KERNEL, kernel_ip, 0xffff_ffff_8100_2000, CONTEXT_USER, 0x5000];
        let mut records = sample(misc::CPUMODE_KERNEL, kernel_ip, 20, &chain);
        records.extend(sample(misc::CPUMODE_USER, 0x5000, 10, &[CONTEXT_USER, 0x5000, 0x6000]));
        comm(&mut records, 1, 1, b"name", SampleIdTrailer::of_sample_type(BITS));
        // Its user part comes later: what is behind the marker is no address.
        let deferred = [CONTEXT_KERNEL, kernel_ip, CONTEXT_USER_DEFERRED, 0xc00c_1e00];
        records.extend(sample(misc::CPUMODE_KERNEL, kernel_ip, 15, &deferred));
        tally.walk(&records);
        assert_eq!(tally.samples, 3);
        assert_eq!(tally.times, Some((10, 20)));
        let caller = 0xffff_ffff_8100_2000;
        let expected = BTreeSet::from_iter([kernel_ip, caller, caller - 1]);
        assert_eq!(tally.kernel_hits.addresses().collect::<BTreeSet<_>>(), expected);
    }

    #[test]
    fn chains_are_found_behind_periods_and_without() {
        const BOTH: u64 = BITS | sample_type::IDENTIFIER | sample_type::PERIOD;
        let layouts =
            of_events([(with(BOTH), &[80][..]), (with(BOTH & !sample_type::PERIOD), &[70])]);
        let mut tally = Tally::new(layouts, SampleIdTrailer::of_sample_type(BOTH), []);
        let (ip, caller) = (0xffff_ffff_8100_1000, |id: u64| 0xffff_ffff_8100_2000 + (id << 12));
        for (id, period) in [(70, &[][..]), (80, &[900])] {
            let plain = sample(misc::CPUMODE_KERNEL, ip, 20, &[CONTEXT_KERNEL, ip, caller(id)]);
            let (fixed, chain) = plain.split_at(8 + 3 * 8);
            let period: Vec<u8> = period.iter().flat_map(|it: &u64| it.to_ne_bytes()).collect();
            let mut record = [&fixed[..8], &id.to_ne_bytes(), &fixed[8..], &period, chain].concat();
            let size = record.len() as u16;
            record[6..8].copy_from_slice(&size.to_ne_bytes());
            tally.walk(&record);
        }
        let callers = [70, 80].map(caller);
        let expected = [ip].into_iter().chain(callers.into_iter().flat_map(|it| [it, it - 1]));
        assert_eq!(
            tally.kernel_hits.addresses().collect::<BTreeSet<_>>(),
            expected.collect::<BTreeSet<_>>()
        );
    }

    #[test]
    fn one_path_with_two_ids_keeps_both_and_is_named() {
        let mut tally = tally();
        for (id, time) in [(1, 5), (1, 6), (2, 7)] {
            tally.walk(&mapping(id, b"/bin/app", 0x40_0000, time));
        }
        tally.walk(&mapping(3, b"/lib/libc.so.6", 0x50_0000, 8));
        let files: Vec<_> = tally.mapped_files().into_iter().collect();
        assert_eq!(files.len(), 3);
        assert_eq!(files[0].0, b"/bin/app");
        assert_eq!(tally.replaced_files(), [b"/bin/app".to_vec()]);
    }

    /// Hashing them takes long.
    #[test]
    fn files_without_ids_are_told_of_once_their_process_is_sampled() {
        let trailer = SampleIdTrailer::of_sample_type(BITS);
        let map_at = |pid: u32, inode: u64, time: u64| {
            let file = MappedFile::Inode { major: 8, minor: 1, inode };
            let (cpu_mode, name) = (CpuMode::User, b"/opt/app".as_slice());
            let (address, length, page_offset) = (0x40_0000, 0x1000, 0);
            let (protection, flags) = (5, 2);
            let map = Mmap2 {
                pid,
                cpu_mode,
                address,
                length,
                page_offset,
                file,
                protection,
                flags,
                name,
            };
            let mut out = Vec::new();
            mmap2(&mut out, &map, trailer.at(time));
            out
        };
        let map = |pid: u32, inode: u64| map_at(pid, inode, inode);
        let sample = |pid: u32| {
            let mut sample = sample(misc::CPUMODE_USER, 0x40_0010, 50, &[]);
            sample[16..20].copy_from_slice(&pid.to_ne_bytes());
            sample
        };
        let mut tally = tally();
        let mut told = |records: &[&[u8]]| -> Vec<(u64, u64)> {
            tally.walk(&records.concat());
            let files = tally.take_new_files_without_id().into_iter();
            let mut files: Vec<_> = files.map(|file| (file.inode.inode, file.time)).collect();
            files.sort_unstable();
            files
        };
        let mut born = Vec::new();
        fork(&mut born, Fork { pid: 9, tid: 9, parent_pid: 7, parent_tid: 7 }, trailer);
        assert_eq!(told(&[&map(7, 70), &map(8, 80)]), []);
        assert_eq!(told(&[&sample(8)]), [(80, 80)]);
        assert_eq!(told(&[&map(8, 81), &map(8, 80), &sample(8), &map(7, 71)]), [(81, 81)]);
        assert_eq!(told(&[&born, &sample(9)]), [(70, 70), (71, 71)]);
        assert_eq!(told(&[&sample(7)]), []);
        // Another CPU's records may come later and tell that it was mapped earlier: what was written to in between is no
        // longer what ran first.
        assert_eq!(told(&[&map_at(8, 82, 90), &map_at(12, 82, 70)]), [(82, 90)]);
        assert_eq!(told(&[&map_at(13, 82, 95), &sample(13), &sample(12)]), [(82, 70)]);
        assert_eq!(told(&[&map_at(14, 82, 71), &sample(14)]), []);
        // A sample may be read before what it is of.
        let mut born = Vec::new();
        fork(&mut born, Fork { pid: 11, tid: 11, parent_pid: 10, parent_tid: 10 }, trailer);
        assert_eq!(told(&[&map(10, 100), &sample(11)]), []);
        assert_eq!(told(&[&born]), [(100, 100)]);
    }

    /// Run times have gigabytes of it, which would be read.
    #[test]
    fn memory_is_no_file_whatever_it_is_called() {
        let mut tally = tally();
        let mut sample = sample(misc::CPUMODE_USER, 0x40_0010, 50, &[]);
        sample[16..20].copy_from_slice(&1_u32.to_ne_bytes());
        tally.walk(&sample);
        let memory = [&b"/memfd:doublemapper (deleted)"[..], b"/dev/zero (deleted)", b"//anon"];
        for name in memory.into_iter().chain([&b"/opt/app"[..]]) {
            tally.walk(&mapping(0, name, 0x40_0000, 60));
        }
        let files = tally.take_new_files_without_id().into_iter();
        assert_eq!(files.map(|file| file.path).collect::<Vec<_>>(), [b"/opt/app"]);
        assert_eq!(tally.run_times(), BTreeSet::from([1]));
    }

    #[test]
    fn kernel_names_have_the_kernels_mode() {
        assert_eq!(cpu_mode(b"[kernel.kallsyms]_text"), CpuMode::Kernel);
        assert_eq!(cpu_mode(b"/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz"), CpuMode::Kernel);
        assert_eq!(cpu_mode(b"/usr/bin/true"), CpuMode::User);
    }

    #[test]
    fn a_vdso_of_a_32_bit_process_is_told_apart() {
        let mut tally = tally();
        tally.walk(&mapping(0, b"[vdso]", 0x7fff_0000_0000, 1));
        assert_eq!(tally.vdso, VdsoSeen::Native);
        tally.walk(&mapping(0, b"[vdso]", 0xf7f0_0000, 2));
        assert_eq!(tally.vdso, VdsoSeen::Mixed);
    }

    #[test]
    fn damaged_records_end_the_walk() {
        let mut tally = tally();
        let whole = sample(misc::CPUMODE_KERNEL, 1, 1, &[CONTEXT_KERNEL, 1, 2]);
        for cut in 0..whole.len() {
            tally.walk(&whole[..cut]);
        }
        tally.walk(&[0; 16]);
        assert_eq!(tally.samples, 0);
    }
}
