//! Describes what was already running: threads, their names, and their executable mappings with
//! the identity of each mapped file.
//!
//! The identity is that of the mapped inode, never of what the path leads to now: from the kernel
//! by the PROCMAP_QUERY ioctl (Linux 6.11), else from the note in /proc/PID/map_files. Each file
//! (device, inode) is looked up once, however many processes map it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use perftab_perfdata::format::build_id::BuildId;
use perftab_perfdata::format::elf_note::build_id_of_elf;
use perftab_perfdata::format::write::{
    CpuMode, Fork, MappedFile, Mmap2, SampleIdTrailer, comm, fork, mmap2, namespaces,
};

use super::sys::{self, QueriedMapping, Sought, WithBuildId};
use crate::file_source::FileSource;
use crate::images::answering;
use crate::images::local::open_regular;

/// What the kernel itself calls executable memory without a file (`perf_event_mmap_event`).
const ANONYMOUS: &[u8] = b"//anon";
/// No process has more mappings (`vm.max_map_count` is a thousandth of it by default).
const MAPPINGS_MAX: usize = 1 << 26;

/// Which mappings are described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescribedMappings {
    /// Code.
    Executable,
    /// Also what else of files is mapped: perf reads unwind tables only where they are mapped, and these are no code.
    OfFiles,
}

/// Whether there are records of the namespaces that threads are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceRecords {
    /// There are.
    Written,
    /// There are none.
    LeftOut,
}

/// In the order of the kernel's records.
const NAMESPACES: [&str; 7] = ["net", "uts", "ipc", "pid", "user", "mnt", "cgroup"];

/// Writes the records of running processes.
pub struct RunningTasks {
    trailer: SampleIdTrailer,
    described: DescribedMappings,
    namespaces: NamespaceRecords,
    identities: HashMap<FileKey, Option<BuildId>>,
    vdso: Option<BuildId>,
    source: MappingSource,
}

type FileKey = (u32, u32, u64);

/// Where mappings come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MappingSource {
    Ioctl,
    Text,
}

impl RunningTasks {
    /// For records with this trailer.
    pub fn new(
        trailer: SampleIdTrailer,
        described: DescribedMappings,
        namespaces: NamespaceRecords,
    ) -> Self {
        Self {
            trailer,
            described,
            namespaces,
            identities: HashMap::new(),
            vdso: vdso_build_id(),
            source: MappingSource::Ioctl,
        }
    }

    /// Appends the records of one process: each thread and its name, and the mappings. A process
    /// that ends meanwhile leaves what was read of it.
    pub fn write_process(&mut self, pid: i32, out: &mut Vec<u8>) {
        let parent = status_number(pid, "PPid").unwrap_or(0);
        self.write_thread(pid, pid, (parent, parent), out);
        self.write_mappings(pid, out);
        for tid in numeric_entries(format!("/proc/{pid}/task")) {
            if tid != pid {
                self.write_thread(pid, tid, (pid, pid), out);
            }
        }
    }

    fn write_thread(&self, pid: i32, tid: i32, parent: (i32, i32), out: &mut Vec<u8>) {
        let Ok(name) = fs::read(format!("/proc/{pid}/task/{tid}/comm")) else { return };
        let born = Fork {
            pid: pid as u32,
            tid: tid as u32,
            parent_pid: parent.0 as u32,
            parent_tid: parent.1 as u32,
        };
        fork(out, born, self.trailer);
        if self.namespaces == NamespaceRecords::Written {
            // As perf has it of what cannot be read.
            let link = |name| fs::metadata(format!("/proc/{pid}/task/{tid}/ns/{name}"));
            let links = NAMESPACES.map(|name| link(name).map_or((0, 0), |it| (it.dev(), it.ino())));
            namespaces(out, pid as u32, tid as u32, &links, self.trailer);
        }
        let name = name.strip_suffix(b"\n").unwrap_or(&name);
        comm(out, pid as u32, tid as u32, name, self.trailer);
    }

    fn write_mappings(&mut self, pid: i32, out: &mut Vec<u8>) {
        let mappings = match self.source {
            MappingSource::Ioctl => match self.query_mappings(pid) {
                Err(error) if is_unsupported(&error) => {
                    self.source = MappingSource::Text;
                    self.read_mappings(pid)
                }
                mappings => mappings,
            },
            MappingSource::Text => self.read_mappings(pid),
        };
        // Kernel threads have none; those of other users may not be ours to read.
        for mapping in mappings.unwrap_or_default() {
            self.write_mapping(pid, &mapping, out);
        }
    }

    /// By ioctl, without text. The id is asked for only where the file is new.
    fn query_mappings(&mut self, pid: i32) -> io::Result<Vec<QueriedMapping>> {
        let maps = File::open(format!("/proc/{pid}/maps"))?;
        let query = |address, with_id| {
            let sought = match self.described {
                DescribedMappings::Executable => Sought::Executable,
                DescribedMappings::OfFiles => Sought::Any,
            };
            sys::query_mapping(maps.as_fd(), address, sought, with_id)
        };
        let mut mappings = Vec::new();
        let mut address = 0;
        while let Some(mapping) = query(address, WithBuildId::No)? {
            let key = key(&mapping);
            if self.described.has(&mapping)
                && mapping.inode != 0
                && !self.identities.contains_key(&key)
            {
                // The kernel reads the file for it.
                let with_id = match answering::answers(&path_of(pid, &mapping)) {
                    true => query(mapping.start, WithBuildId::Yes)?,
                    false => None,
                };
                // Between the two calls the process may have mapped something else there.
                let same = with_id.filter(|again| self::key(again) == key);
                let id = same.and_then(|again| BuildId::new(&again.build_id));
                self.identities.insert(key, id);
            }
            if mapping.end <= address || mappings.len() >= MAPPINGS_MAX {
                break;
            }
            address = mapping.end;
            if self.described.has(&mapping) {
                mappings.push(mapping);
            }
        }
        Ok(mappings)
    }

    /// From /proc/PID/maps, for kernels without the ioctl.
    fn read_mappings(&mut self, pid: i32) -> io::Result<Vec<QueriedMapping>> {
        let text = fs::read(format!("/proc/{pid}/maps"))?;
        let all = text.split(|byte| *byte == b'\n').filter_map(mapping_of_line);
        let mappings: Vec<_> = all.filter(|mapping| self.described.has(mapping)).collect();
        for mapping in mappings.iter().filter(|mapping| mapping.inode != 0) {
            self.identities
                .entry(key(mapping))
                .or_insert_with(|| build_id_of_mapped_file(pid, mapping));
        }
        Ok(mappings)
    }

    fn write_mapping(&self, pid: i32, mapping: &QueriedMapping, out: &mut Vec<u8>) {
        let is_vdso = mapping.name == b"[vdso]" && is_native_vdso(mapping.start);
        let id = match self.identities.get(&key(mapping)) {
            Some(id) if mapping.inode != 0 => *id,
            _ if is_vdso => self.vdso,
            _ => None,
        };
        let (major, minor) = mapping.device;
        let map = Mmap2 {
            pid: pid as u32,
            cpu_mode: CpuMode::User,
            address: mapping.start,
            length: mapping.end - mapping.start,
            page_offset: mapping.offset,
            file: match id {
                Some(id) => MappedFile::BuildId(id),
                None => MappedFile::Inode { major, minor, inode: mapping.inode },
            },
            protection: mapping.protection,
            flags: mapping.flags,
            name: if mapping.name.is_empty() { ANONYMOUS } else { &mapping.name },
        };
        mmap2(out, &map, self.trailer);
    }

    /// The id of the vdso that processes like ours have.
    pub fn vdso_build_id(&self) -> Option<BuildId> {
        self.vdso
    }
}

impl DescribedMappings {
    fn has(self, mapping: &QueriedMapping) -> bool {
        let is_readable = mapping.protection & libc::PROT_READ as u32 != 0;
        let is_code = mapping.protection & libc::PROT_EXEC as u32 != 0;
        is_code || (self == Self::OfFiles && is_readable && mapping.inode != 0)
    }
}

fn key(mapping: &QueriedMapping) -> FileKey {
    (mapping.device.0, mapping.device.1, mapping.inode)
}

/// Every process there is.
pub fn all_processes() -> Vec<i32> {
    numeric_entries("/proc")
}

/// The process that a thread belongs to.
pub fn process_of(tid: i32) -> Option<i32> {
    status_number(tid, "Tgid")
}

fn numeric_entries(folder: impl AsRef<Path>) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut ids: Vec<i32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    ids.sort_unstable();
    ids
}

fn status_number(tid: i32, field: &str) -> Option<i32> {
    let status = fs::read(format!("/proc/{tid}/status")).ok()?;
    String::from_utf8_lossy(&status)
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':')?.trim().parse().ok())
}

fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let unsupported = [Errno::NOTTY, Errno::INVAL, Errno::OPNOTSUPP];
    unsupported.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// One line: `START-END PERM OFFSET MAJOR:MINOR INODE   NAME`.
fn mapping_of_line(line: &[u8]) -> Option<QueriedMapping> {
    // The first five fields are ASCII; a name may be anything.
    let mut rest = line;
    let mut field = || {
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        let (field, after) = rest.split_at(end);
        rest = after;
        std::str::from_utf8(field).ok()
    };
    let (range, permissions, offset, device, inode) =
        (field()?, field()?, field()?, field()?, field()?);
    let name = rest.trim_ascii_start();
    let (start, end) = range.split_once('-')?;
    let (major, minor) = device.split_once(':')?;
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let permissions = permissions.as_bytes();
    let bit = |at: usize, letter: u8, bit: i32| {
        if permissions.get(at) == Some(&letter) { bit as u32 } else { 0 }
    };
    Some(QueriedMapping {
        start: hex(start)?,
        end: hex(end).filter(|end| hex(start).is_some_and(|start| *end > start))?,
        offset: hex(offset)?,
        device: (hex(major)? as u32, hex(minor)? as u32),
        inode: inode.parse().ok()?,
        protection: bit(0, b'r', libc::PROT_READ)
            | bit(1, b'w', libc::PROT_WRITE)
            | bit(2, b'x', libc::PROT_EXEC),
        flags: bit(3, b's', libc::MAP_SHARED) | bit(3, b'p', libc::MAP_PRIVATE),
        name: name.to_vec(),
        build_id: Vec::new(),
    })
}

/// Where a mapped file is to be had, as long as its process lives and its name is not gone.
fn path_of(pid: i32, mapping: &QueriedMapping) -> PathBuf {
    let root = Path::new("/proc").join(pid.to_string()).join("root");
    let name = mapping.name.strip_prefix(b"/").unwrap_or(&mapping.name);
    root.join(OsStr::from_bytes(name))
}

/// The note of the mapped inode, also if its name is gone or leads elsewhere. That needs
/// privileges; without them the path will do if device and inode say it is the same file.
fn build_id_of_mapped_file(pid: i32, mapping: &QueriedMapping) -> Option<BuildId> {
    let entry = format!("/proc/{pid}/map_files/{:x}-{:x}", mapping.start, mapping.end);
    let file = open_regular(Path::new(&entry)).or_else(|| {
        let file = open_regular(&path_of(pid, mapping))?;
        let meta = file.metadata().ok()?;
        let (major, minor) = mapping.device;
        let same = meta.ino() == mapping.inode && meta.dev() == rustix::fs::makedev(major, minor);
        same.then_some(file)
    })?;
    build_id_of_elf(&FileSource::new(file).ok()?)
}

/// The vdso of a 32-bit process is another file, and lies where such a process can reach it.
fn is_native_vdso(address: u64) -> bool {
    address >> 32 != 0 || cfg!(target_pointer_width = "32")
}

/// The id of our own vdso.
fn vdso_build_id() -> Option<BuildId> {
    build_id_of_elf(&perftab_perfdata::decode::SliceSource::new(own_vdso()?))
}

/// Our own vdso, from memory: it is no file.
pub fn own_vdso() -> Option<Vec<u8>> {
    let maps = fs::read("/proc/self/maps").ok()?;
    let vdso = maps
        .split(|byte| *byte == b'\n')
        .filter_map(mapping_of_line)
        .find(|mapping| mapping.name == b"[vdso]")?;
    let mut image = vec![0; usize::try_from(vdso.end - vdso.start).ok()?];
    File::open("/proc/self/mem").ok()?.read_exact_at(&mut image, vdso.start).ok()?;
    Some(image)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_maps() {
        let line = b"7faf2294c000-7faf2294d000 r-xp 00003000 fe:1a 247749   /usr/bin/a b (deleted)";
        let mapping = mapping_of_line(line).unwrap();
        assert_eq!((mapping.start, mapping.end), (0x7faf_2294_c000, 0x7faf_2294_d000));
        assert_eq!(
            (mapping.offset, mapping.device, mapping.inode),
            (0x3000, (0xfe, 0x1a), 247_749)
        );
        assert_eq!(mapping.name, b"/usr/bin/a b (deleted)");
        assert_eq!(mapping.protection, 5);
        for (line, described) in [
            (&b"1000-2000 rw-p 0 00:00 0 [heap]"[..], [false, false]),
            (b"1000-2000 r--p 0 fe:01 7 /lib/libc.so.6", [false, true]),
            (b"1000-2000 ---p 0 fe:01 7 /lib/libc.so.6", [false, false]),
            (b"1000-2000 --xp 0 00:00 0 ", [true, true]),
        ] {
            let mapping = mapping_of_line(line).unwrap();
            let kinds = [DescribedMappings::Executable, DescribedMappings::OfFiles];
            assert_eq!(kinds.map(|kind| kind.has(&mapping)), described);
        }
        assert!(mapping_of_line(b"2000-1000 r-xp 0 00:00 0 ").is_none());
        assert!(mapping_of_line(b"").is_none());
        let anonymous = mapping_of_line(b"1000-2000 r-xp 00000000 00:00 0 ").unwrap();
        assert_eq!(anonymous.name, b"");
    }

    /// The ioctl and the text give the same mappings of this very process, and the same ids.
    #[test]
    fn both_sources_agree() {
        let pid = std::process::id() as i32;
        let trailer = SampleIdTrailer::of_sample_type(0);
        for described in [DescribedMappings::Executable, DescribedMappings::OfFiles] {
            let mut by_ioctl = RunningTasks::new(trailer, described, NamespaceRecords::LeftOut);
            let queried = match by_ioctl.query_mappings(pid) {
                Err(error) if is_unsupported(&error) => {
                    println!("SKIPPED: both_sources_agree: this kernel has no PROCMAP_QUERY");
                    return;
                }
                queried => queried.unwrap(),
            };
            let mut by_text = RunningTasks::new(trailer, described, NamespaceRecords::LeftOut);
            let read = by_text.read_mappings(pid).unwrap();
            let place = |mapping: &QueriedMapping| {
                (mapping.start, mapping.end, mapping.offset, key(mapping), mapping.name.clone())
            };
            let queried: Vec<_> = queried.iter().map(place).collect();
            // The text also lists the vsyscall page, which is no mapping of the process.
            let read: Vec<_> = read.iter().map(place).filter(|m| m.4 != b"[vsyscall]").collect();
            assert_eq!(queried, read);
            assert_eq!(by_ioctl.identities, by_text.identities);
            assert!(by_text.identities.values().any(Option::is_some), "not one build-id");
        }
    }

    #[test]
    fn threads_are_in_namespaces_where_these_are_asked_for() {
        use perftab_perfdata::decode::ByteOrder;
        use perftab_perfdata::decode::records::{NamespacesRecord, RecordHeader};
        use perftab_perfdata::format::record::RecordType;
        let pid = std::process::id();
        let trailer = SampleIdTrailer::of_sample_type(0);
        let described = |namespaces| {
            let tasks = RunningTasks::new(trailer, DescribedMappings::Executable, namespaces);
            let (mut out, mut found) = (Vec::new(), Vec::new());
            tasks.write_thread(pid as i32, pid as i32, (1, 1), &mut out);
            let mut records = &out[..];
            while let Some((header, record, rest)) = RecordHeader::split(records, ByteOrder::NATIVE)
            {
                if header.record_type == RecordType::NAMESPACES {
                    found.push(NamespacesRecord::decode(record, 0, ByteOrder::NATIVE));
                }
                records = rest;
            }
            found
        };
        let inode = |name| fs::metadata(format!("/proc/self/ns/{name}")).ok().map(|it| it.ino());
        let expected = NamespacesRecord {
            pid,
            tid: pid,
            pid_namespace: inode("pid"),
            mount_namespace: inode("mnt"),
        };
        assert_eq!(described(NamespaceRecords::Written), [Ok(expected)]);
        assert_eq!(described(NamespaceRecords::LeftOut), []);
    }

    #[test]
    fn the_vdso_has_an_id() {
        assert!(vdso_build_id().is_some());
    }
}
