//! Encoders for what a recorder writes: file header, feature sections, build-id entries and the
//! records that describe what was already running.
//!
//! Everything is written in the byte order of the machine that runs this code, because the
//! kernel's own records in the same file are; `MAGIC` says which order that is.
//! Layouts from `tools/perf/util/header.c`, `synthetic-events.c` and
//! `include/uapi/linux/perf_event.h`.

use super::build_id::BuildId;
use super::feature::Feature;
use super::header::{FILE_HEADER_SIZE, MAGIC_BIG, MAGIC_LITTLE, PIPE_HEADER_SIZE};
use super::record::{KERNEL_PID, MAX_RECORD_SIZE, RecordType, misc};

/// The magic of a file in this machine's byte order.
pub const MAGIC: [u8; 8] = if cfg!(target_endian = "little") { MAGIC_LITTLE } else { MAGIC_BIG };

/// Longest name written into a record; the kernel's own limit is `PATH_MAX`.
const NAME_MAX: usize = 4095;

/// perf pads feature strings to a multiple of this (`NAME_ALIGN` in `tools/perf/util/header.c`).
const STRING_ALIGN: usize = 64;

/// Where something lies in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// From the start of the file.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// What the 104 bytes at the start of the file say.
#[derive(Clone, Debug, Default)]
pub struct FileHeader {
    /// Stride of the attr array: size of one attr and of its id section.
    pub attr_stride: u64,
    /// The attr array.
    pub attrs: Section,
    /// The records. A size of zero says that the recorder has not ended yet.
    pub data: Section,
    /// Sections whose table follows the data.
    pub features: Vec<Feature>,
}

impl FileHeader {
    /// The bytes at offset 0.
    pub fn encode(&self) -> [u8; FILE_HEADER_SIZE as usize] {
        let mut bitmap = [0u64; 4];
        for feature in &self.features {
            bitmap[usize::from(feature.0 / 64)] |= 1 << (feature.0 % 64);
        }
        let event_types = Section::default();
        let words = [
            FILE_HEADER_SIZE,
            self.attr_stride,
            self.attrs.offset,
            self.attrs.size,
            self.data.offset,
            self.data.size,
            event_types.offset,
            event_types.size,
        ];
        let mut bytes = [0; FILE_HEADER_SIZE as usize];
        bytes[..8].copy_from_slice(&MAGIC);
        for (chunk, word) in bytes[8..].chunks_exact_mut(8).zip(words.into_iter().chain(bitmap)) {
            chunk.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

/// One entry of the attr array: the attr as the kernel took it, then where its ids lie.
pub fn attr_entry(out: &mut Vec<u8>, attr: &[u8], ids: Section) {
    out.extend_from_slice(attr);
    put_u64(out, ids.offset);
    put_u64(out, ids.size);
}

/// The table of features for payloads that follow each other from `payloads_at` on. It stands
/// where the data ends; they are in the order that readers expect, ascending by feature.
pub fn feature_table(payloads_at: u64, features: &[(Feature, Vec<u8>)]) -> Vec<u8> {
    let mut at = payloads_at;
    let mut out = Vec::new();
    for (_, payload) in features {
        put_u64(&mut out, at);
        put_u64(&mut out, payload.len() as u64);
        at += payload.len() as u64;
    }
    out
}

/// What perf writes for a group without a name (`write_group_desc` in `tools/perf/util/header.c`).
const NO_GROUP_NAME: &[u8] = b"{anon_group}";

/// Payload of HOSTNAME, OSRELEASE, VERSION, ARCH, CPUDESC, CPUID: `u32 length, bytes, NUL, zeros`.
pub fn string(out: &mut Vec<u8>, text: &[u8]) {
    let padded = (text.len() + 1).next_multiple_of(STRING_ALIGN);
    put_u32(out, padded as u32);
    out.extend_from_slice(text);
    out.resize(out.len() + padded - text.len(), 0);
}

/// Payload of CMDLINE: `u32 count`, then that many strings.
pub fn string_list<T: AsRef<[u8]>>(out: &mut Vec<u8>, list: &[T]) {
    put_u32(out, list.len() as u32);
    for text in list {
        string(out, text.as_ref());
    }
}

/// Payload of NRCPUS: available first, then online.
pub fn nrcpus(out: &mut Vec<u8>, available: u32, online: u32) {
    put_u32(out, available);
    put_u32(out, online);
}

/// Where a CPU is, by the kernel's numbers; -1 if it does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPlace {
    /// Of its package.
    pub core: i32,
    /// Of the machine.
    pub package: i32,
    /// Of its package.
    pub die: i32,
}

/// CPUs as lists such as `0-3,7`, one for each thing that they share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuLists {
    /// Of each package.
    pub packages: Vec<String>,
    /// Of each core.
    pub cores: Vec<String>,
    /// Of each die.
    pub dies: Vec<String>,
}

/// Payload of CPU_TOPOLOGY (`write_cpu_topology` in `tools/perf/util/header.c`), with where each available CPU is. perf
/// may leave out dies, but reads them from what pads a record of a stream.
pub fn cpu_topology(out: &mut Vec<u8>, lists: &CpuLists, places: &[CpuPlace]) {
    string_list(out, &lists.packages);
    string_list(out, &lists.cores);
    for place in places {
        put_u32(out, place.core.cast_unsigned());
        put_u32(out, place.package.cast_unsigned());
    }
    string_list(out, &lists.dies);
    places.iter().for_each(|place| put_u32(out, place.die.cast_unsigned()));
}

/// Memory, and the CPUs that it is near to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryNode {
    /// The kernel's.
    pub number: u32,
    /// All of it.
    pub total_kib: u64,
    /// What nobody used.
    pub free_kib: u64,
    /// A list such as `0-3,7`.
    pub cpus: String,
}

/// Payload of NUMA_TOPOLOGY.
pub fn numa_topology(out: &mut Vec<u8>, nodes: &[MemoryNode]) {
    put_u32(out, nodes.len() as u32);
    for node in nodes {
        put_u32(out, node.number);
        put_u64(out, node.total_kib);
        put_u64(out, node.free_kib);
        string(out, node.cpus.as_bytes());
    }
}

/// Payload of TOTAL_MEM, in KiB.
pub fn total_mem(out: &mut Vec<u8>, kib: u64) {
    put_u64(out, kib);
}

/// Payload of PMU_MAPPINGS: types of attrs and the names of their PMUs.
pub fn pmu_mappings(out: &mut Vec<u8>, pmus: &[(u32, String)]) {
    put_u32(out, pmus.len() as u32);
    for (event_type, name) in pmus {
        put_u32(out, *event_type);
        string(out, name.as_bytes());
    }
}

/// Payload of GROUP_DESC: of each group without a name of its own the index of its leader, and how
/// many events it has.
pub fn group_desc(out: &mut Vec<u8>, groups: &[(usize, usize)]) {
    put_u32(out, groups.len() as u32);
    for &(leader, events) in groups {
        string(out, NO_GROUP_NAME);
        put_u32(out, leader as u32);
        put_u32(out, events as u32);
    }
}

/// Payload of SAMPLE_TIME: nanoseconds of the clock the samples have.
pub fn sample_time(out: &mut Vec<u8>, first: u64, last: u64) {
    put_u64(out, first);
    put_u64(out, last);
}

/// Payload of COMPRESSED: zstd at this level, by how much it packed so far, and how many bytes of records are in one
/// COMPRESSED record at most.
pub fn compressed_feature(out: &mut Vec<u8>, level: u32, ratio: u32, most: u32) {
    const VERSION: u32 = 1;
    const ZSTD: u32 = 1;
    [VERSION, ZSTD, level, ratio, most].into_iter().for_each(|word| put_u32(out, word));
}

/// Payload of CLOCKID: the resolution of the samples' clock, in nanoseconds.
pub fn clock_id(out: &mut Vec<u8>, resolution: u64) {
    put_u64(out, resolution);
}

/// Payload of CLOCK_DATA: version 1, the `clockid_t` of the samples' clock, and one moment by the
/// wall clock and by that one, in nanoseconds.
pub fn clock_data(out: &mut Vec<u8>, clock: u32, wall: u64, time: u64) {
    put_u32(out, 1);
    put_u32(out, clock);
    put_u64(out, wall);
    put_u64(out, time);
}

/// One event in EVENT_DESC.
pub struct EventDescription<'a> {
    /// The attr as the kernel took it; all of one recording have the same size.
    pub attr: &'a [u8],
    /// As the user wrote it, modifiers included.
    pub name: &'a str,
    /// One per CPU and thread.
    pub ids: &'a [u64],
}

/// Payload of EVENT_DESC.
pub fn event_desc(out: &mut Vec<u8>, events: &[EventDescription<'_>]) {
    put_u32(out, events.len() as u32);
    put_u32(out, events.first().map_or(0, |event| event.attr.len()) as u32);
    for event in events {
        out.extend_from_slice(event.attr);
        put_u32(out, event.ids.len() as u32);
        string(out, event.name.as_bytes());
        for id in event.ids {
            put_u64(out, *id);
        }
    }
}

/// Whose code a mapping or a build-id belongs to; the low bits of `misc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CpuMode {
    /// Kernel and its modules.
    Kernel,
    /// User space, the vdso included.
    User,
}

impl CpuMode {
    fn misc(self) -> u16 {
        match self {
            CpuMode::Kernel => misc::CPUMODE_KERNEL,
            CpuMode::User => misc::CPUMODE_USER,
        }
    }
}

/// Appends one entry of the BUILD_ID table: `header, s32 pid, u8 id[20], u8 size, u8[3], name`.
/// The header's type is 0 and its `misc` says that the size byte is valid (perf 5.11 and later).
/// The name is padded to 8 as perf 6.12 and later do.
pub fn build_id_entry(out: &mut Vec<u8>, cpu_mode: CpuMode, id: BuildId, name: &[u8]) {
    let start = begin_record(out, RecordType(0), cpu_mode.misc() | misc::BUILD_ID_SIZE);
    let host_pid = u32::MAX;
    put_u32(out, host_pid);
    put_padded(out, id.as_bytes(), BuildId::MAX_LENGTH);
    out.extend_from_slice(&[id.as_bytes().len() as u8, 0, 0, 0]);
    put_name(out, name);
    end_record(out, start, SampleIdTrailer::NONE);
}

/// What ends every record but samples if the attr has `sample_id_all`: zeros, but for the time.
/// Records of state that was there before the recording have time 0, which puts them first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleIdTrailer {
    length: usize,
    time_at: Option<usize>,
    time: u64,
}

impl SampleIdTrailer {
    /// No trailer: tool records and table entries.
    pub const NONE: Self = Self { length: 0, time_at: None, time: 0 };

    /// Eight bytes for each of TID, TIME, ID, STREAM_ID, CPU and IDENTIFIER, in this order.
    pub fn of_sample_type(sample_type: u64) -> Self {
        use super::attr::sample_type::{CPU, ID, IDENTIFIER, STREAM_ID, TID, TIME};
        let size = |bits: u64| 8 * (sample_type & bits).count_ones() as usize;
        Self {
            length: size(TID | TIME | ID | STREAM_ID | CPU | IDENTIFIER),
            time_at: (sample_type & TIME != 0).then(|| size(TID)),
            time: 0,
        }
    }

    /// The same, of a record of that time.
    pub fn at(self, time: u64) -> Self {
        Self { time, ..self }
    }

    /// The time of a record that ends with such a trailer.
    pub fn time_of(&self, record: &[u8]) -> Option<u64> {
        let trailer = record.get(record.len().checked_sub(self.length)?..)?;
        Some(u64::from_ne_bytes(*trailer.get(self.time_at?..)?.first_chunk()?))
    }
}

/// How a mapping's file is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappedFile {
    /// By the build-id of the mapped file.
    BuildId(BuildId),
    /// By device and inode, for files without a build-id.
    Inode {
        /// Device number.
        major: u32,
        /// Device number.
        minor: u32,
        /// Inode number; its generation is not known outside the kernel and stays 0.
        inode: u64,
    },
}

/// An executable mapping that existed before the recording.
#[derive(Clone, Debug)]
pub struct Mmap2<'a> {
    /// Process; [`KERNEL_PID`] for the kernel and its modules.
    pub pid: u32,
    /// Kernel or user space.
    pub cpu_mode: CpuMode,
    /// First address (AVMA).
    pub address: u64,
    /// Bytes.
    pub length: u64,
    /// File offset of `address`; for the kernel the runtime address of the reference symbol.
    pub page_offset: u64,
    /// Identity of the file.
    pub file: MappedFile,
    /// `PROT_*` bits.
    pub protection: u32,
    /// `MAP_*` bits.
    pub flags: u32,
    /// Path, or `[vdso]` and the like.
    pub name: &'a [u8],
}

/// `PROT_EXEC` of `mmap(2)`.
const PROT_EXEC: u32 = 4;

/// Appends an MMAP2 record, which says whether it is of data.
pub fn mmap2(out: &mut Vec<u8>, map: &Mmap2<'_>, trailer: SampleIdTrailer) {
    let with_id = match map.file {
        MappedFile::BuildId(_) => misc::MMAP_BUILD_ID,
        MappedFile::Inode { .. } => 0,
    };
    let of_data = if map.protection & PROT_EXEC == 0 { misc::MMAP_DATA } else { 0 };
    let start = begin_record(out, RecordType::MMAP2, map.cpu_mode.misc() | with_id | of_data);
    put_u32(out, map.pid);
    // perf numbers the kernel's maps with pid -1, tid 0.
    put_u32(out, if map.pid == KERNEL_PID { 0 } else { map.pid });
    put_u64(out, map.address);
    put_u64(out, map.length);
    put_u64(out, map.page_offset);
    match map.file {
        MappedFile::BuildId(id) => {
            out.extend_from_slice(&[id.as_bytes().len() as u8, 0, 0, 0]);
            put_padded(out, id.as_bytes(), BuildId::MAX_LENGTH);
        }
        MappedFile::Inode { major, minor, inode } => {
            put_u32(out, major);
            put_u32(out, minor);
            put_u64(out, inode);
            put_u64(out, 0);
        }
    }
    put_u32(out, map.protection);
    put_u32(out, map.flags);
    put_name(out, map.name);
    end_record(out, start, trailer);
}

/// Appends a COMM record: the name of a thread that was already running.
pub fn comm(out: &mut Vec<u8>, pid: u32, tid: u32, name: &[u8], trailer: SampleIdTrailer) {
    let start = begin_record(out, RecordType::COMM, 0);
    put_u32(out, pid);
    put_u32(out, tid);
    put_name(out, name);
    end_record(out, start, trailer);
}

/// A thread that was already running, and where it came from.
#[derive(Clone, Copy, Debug)]
pub struct Fork {
    /// Process of the new thread.
    pub pid: u32,
    /// The new thread.
    pub tid: u32,
    /// Process it came from.
    pub parent_pid: u32,
    /// Thread it came from.
    pub parent_tid: u32,
}

/// Appends a FORK record. Bit 13 of `misc` tells perf that the parent's maps must not be copied:
/// the thread's own maps are synthesised too (`perf_event__synthesize_fork`, perf 4.20).
pub fn fork(out: &mut Vec<u8>, fork: Fork, trailer: SampleIdTrailer) {
    let start = begin_record(out, RecordType::FORK, misc::COMM_EXEC);
    put_u32(out, fork.pid);
    put_u32(out, fork.parent_pid);
    put_u32(out, fork.tid);
    put_u32(out, fork.parent_tid);
    put_u64(out, 0);
    end_record(out, start, trailer);
}

/// Appends a NAMESPACES record: those that a running thread is in, by device and inode of their files, as
/// `include/uapi/linux/perf_event.h` orders them from `NET_NS_INDEX` on.
pub fn namespaces(
    out: &mut Vec<u8>,
    pid: u32,
    tid: u32,
    links: &[(u64, u64)],
    trailer: SampleIdTrailer,
) {
    let start = begin_record(out, RecordType::NAMESPACES, 0);
    put_u32(out, pid);
    put_u32(out, tid);
    put_u64(out, links.len() as u64);
    for (device, inode) in links {
        put_u64(out, *device);
        put_u64(out, *inode);
    }
    end_record(out, start, trailer);
}

/// Appends a LOST_SAMPLES record: so many samples were lost in all, those of LOST records included.
pub fn lost_samples(out: &mut Vec<u8>, lost: u64, trailer: SampleIdTrailer) {
    let start = begin_record(out, RecordType::LOST_SAMPLES, 0);
    put_u64(out, lost);
    end_record(out, start, trailer);
}

/// Appends a LOST record: so many records of the event with this id did not fit into their ring.
pub fn lost(out: &mut Vec<u8>, id: u64, records: u64, trailer: SampleIdTrailer) {
    let start = begin_record(out, RecordType::LOST, 0);
    put_u64(out, id);
    put_u64(out, records);
    end_record(out, start, trailer);
}

/// Appends a COMPRESSED record: zstd of records, at most 65,527 bytes. It is not padded, so no record behind it is
/// aligned; perf's (before COMPRESSED2) are not either.
pub fn compressed(out: &mut Vec<u8>, packed: &[u8]) {
    let start = begin_record(out, RecordType::COMPRESSED, 0);
    out.extend_from_slice(packed);
    end_record(out, start, SampleIdTrailer::NONE);
}

/// Appends a FINISHED_ROUND record: every ring has been read once more.
pub fn finished_round(out: &mut Vec<u8>) {
    let start = begin_record(out, RecordType::FINISHED_ROUND, 0);
    end_record(out, start, SampleIdTrailer::NONE);
}

/// What a stream begins with; everything else comes as records.
pub fn stream_header(out: &mut Vec<u8>) {
    out.extend_from_slice(&MAGIC);
    put_u64(out, PIPE_HEADER_SIZE);
}

/// Appends a HEADER_ATTR record: an event of a stream. `None`, and nothing is appended, if it is too long for a record.
pub fn header_attr(out: &mut Vec<u8>, attr: &[u8], ids: &[u64]) -> Option<()> {
    free_record(out, RecordType::HEADER_ATTR, |out| {
        out.extend_from_slice(attr);
        ids.iter().for_each(|id| put_u64(out, *id));
    })
}

/// Appends a HEADER_FEATURE record: a feature section of a stream. `None` as of [`header_attr`].
pub fn header_feature(out: &mut Vec<u8>, feature: Feature, payload: &[u8]) -> Option<()> {
    free_record(out, RecordType::HEADER_FEATURE, |out| {
        put_u64(out, feature.0.into());
        put_padded(out, payload, payload.len().next_multiple_of(8));
    })
}

/// Appends a HEADER_TRACING_DATA record, with the data behind it.
pub fn header_tracing_data(out: &mut Vec<u8>, payload: &[u8]) {
    let start = begin_record(out, RecordType::HEADER_TRACING_DATA, 0);
    let padded = payload.len().next_multiple_of(8);
    put_u32(out, padded as u32);
    end_record(out, start, SampleIdTrailer::NONE);
    put_padded(out, payload, padded);
}

/// A record of any length, unless that is too much.
fn free_record(out: &mut Vec<u8>, kind: RecordType, body: impl FnOnce(&mut Vec<u8>)) -> Option<()> {
    let start = begin_record(out, kind, 0);
    body(out);
    if out.len() - start > MAX_RECORD_SIZE {
        out.truncate(start);
        return None;
    }
    end_record(out, start, SampleIdTrailer::NONE);
    Some(())
}

fn begin_record(out: &mut Vec<u8>, record_type: RecordType, misc: u16) -> usize {
    let start = out.len();
    put_u32(out, record_type.0);
    put_u16(out, misc);
    put_u16(out, 0);
    start
}

fn end_record(out: &mut Vec<u8>, start: usize, trailer: SampleIdTrailer) {
    let end = out.len() + trailer.length;
    match trailer.time_at {
        Some(time_at) => {
            out.resize(out.len() + time_at, 0);
            put_u64(out, trailer.time);
            out.resize(end, 0);
        }
        None => out.resize(end, 0),
    }
    // Names are cut at NAME_MAX, and `free_record` has looked, so this always fits.
    let size = (out.len() - start) as u16;
    out[start + 6..start + 8].copy_from_slice(&size.to_ne_bytes());
}

fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_ne_bytes());
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_ne_bytes());
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_ne_bytes());
}

fn put_padded(out: &mut Vec<u8>, bytes: &[u8], width: usize) {
    out.extend_from_slice(bytes);
    out.resize(out.len() + width - bytes.len(), 0);
}

/// A NUL-terminated name, zero-padded to 8 bytes.
fn put_name(out: &mut Vec<u8>, name: &[u8]) {
    let name = &name[..name.len().min(NAME_MAX)];
    put_padded(out, name, (name.len() + 1).next_multiple_of(8));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::attr::sample_type;

    fn u16_at(bytes: &[u8], at: usize) -> u16 {
        u16::from_ne_bytes(bytes[at..at + 2].try_into().unwrap())
    }

    fn u64_at(bytes: &[u8], at: usize) -> u64 {
        u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
    }

    #[test]
    fn header_has_the_magic_the_sections_and_the_bits() {
        let header = FileHeader {
            attr_stride: 128,
            attrs: Section { offset: 120, size: 128 },
            data: Section { offset: 248, size: 4096 },
            features: vec![Feature::HOSTNAME, Feature::PERFTAB],
        };
        let bytes = header.encode();
        assert_eq!(bytes[..8], MAGIC);
        assert_eq!(u64_at(&bytes, 40), 248);
        assert_eq!(u64_at(&bytes, 48), 4096);
        assert_eq!(u64_at(&bytes, 72), 1 << 3);
        assert_eq!(u64_at(&bytes, 96), 1 << (200 - 192));
    }

    #[test]
    fn the_table_of_features_points_at_payloads_in_a_row() {
        let features =
            [(Feature::BUILD_ID, b"first".to_vec()), (Feature::CMDLINE, b"later".to_vec())];
        let bytes = feature_table(1032, &features);
        assert_eq!([0, 8, 16, 24].map(|at| u64_at(&bytes, at)), [1032, 5, 1037, 5]);
    }

    #[test]
    fn strings_end_in_a_nul_even_when_they_fill_the_padding() {
        let mut out = Vec::new();
        string(&mut out, &[b'x'; 64]);
        assert_eq!(out.len(), 4 + 128);
        assert_eq!(out[4 + 64], 0);
    }

    #[test]
    fn mmap2_with_an_id_says_so_and_pads_the_name() {
        let map = Mmap2 {
            pid: 7,
            cpu_mode: CpuMode::User,
            address: 0x1000,
            length: 0x2000,
            page_offset: 0x3000,
            file: MappedFile::BuildId(BuildId::new(&[0xab; 16]).unwrap()),
            protection: 5,
            flags: 2,
            name: b"/bin/true",
        };
        let mut out = Vec::new();
        mmap2(&mut out, &map, SampleIdTrailer::of_sample_type(0b111));
        assert_eq!(u16_at(&out, 4), misc::CPUMODE_USER | misc::MMAP_BUILD_ID);
        assert_eq!(usize::from(u16_at(&out, 6)), out.len());
        assert_eq!(out[40], 16);
        assert_eq!(&out[44..60], &[0xab; 16]);
        assert_eq!(&out[60..64], &[0; 4]);
        assert_eq!(&out[72..88], b"/bin/true\0\0\0\0\0\0\0");
        assert_eq!(out.len(), 88 + 16);
    }

    #[test]
    fn the_time_of_a_record_stands_behind_its_thread() {
        let bits = sample_type::TID | sample_type::TIME | sample_type::CPU;
        let trailer = SampleIdTrailer::of_sample_type(bits);
        let mut out = Vec::new();
        comm(&mut out, 1, 1, b"sh", trailer.at(0x1234));
        assert_eq!(out[out.len() - 24..], [[0; 8], 0x1234u64.to_ne_bytes(), [0; 8]].concat());
        assert_eq!(trailer.time_of(&out), Some(0x1234));
        assert_eq!(SampleIdTrailer::NONE.time_of(&out), None);
    }

    #[test]
    fn what_is_too_long_for_a_record_is_not_appended() {
        let mut out = vec![1];
        let most = (MAX_RECORD_SIZE - 16) / 8;
        assert_eq!(header_attr(&mut out, &[0; 8], &vec![7; most + 1]), None);
        assert_eq!(header_feature(&mut out, Feature::CMDLINE, &[0; 65_528]), None);
        assert_eq!(out, [1]);
        assert_eq!(header_attr(&mut out, &[0; 8], &vec![7; most]), Some(()));
        assert_eq!(usize::from(u16_at(&out, 1 + 6)), out.len() - 1);
    }

    #[test]
    fn names_of_any_length_fit_a_record() {
        for length in [0, 7, 8, 4095, 70_000] {
            let mut out = Vec::new();
            comm(&mut out, 1, 1, &vec![b'n'; length], SampleIdTrailer::NONE);
            assert_eq!(usize::from(u16_at(&out, 6)), out.len());
            assert_eq!(out.last(), Some(&0));
        }
    }

    #[test]
    fn build_id_entry_has_the_size_byte() {
        let mut out = Vec::new();
        build_id_entry(
            &mut out,
            CpuMode::Kernel,
            BuildId::new(&[1; 20]).unwrap(),
            b"[kernel.kallsyms]",
        );
        assert_eq!(u16_at(&out, 4), misc::CPUMODE_KERNEL | misc::BUILD_ID_SIZE);
        assert_eq!(&out[8..12], &[0xff; 4]);
        assert_eq!(out[32], 20);
        assert_eq!(&out[36..53], b"[kernel.kallsyms]");
        assert_eq!(usize::from(u16_at(&out, 6)), out.len());
    }
}
