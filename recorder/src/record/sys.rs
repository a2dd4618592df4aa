//! System calls that have no safe wrapper elsewhere: perf_event_open, its ioctls, the ioctl
//! that asks a process for its mappings, and one that takes a descriptor by its number.
//!
//! Constraints: each function is safe to call with any arguments and returns the kernel's error;
//! nothing here decides anything. With `ring.rs` the only file that may contain `unsafe`.

use std::ffi::{CStr, c_int};
use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use perf_event_open_sys::bindings::{PERF_FLAG_FD_CLOEXEC, PERF_FLAG_PID_CGROUP, perf_event_attr};
use perf_event_open_sys::ioctls;

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::sample::Counters;
use perftab_perfdata::format::attr::read_format;

/// Bytes of the values of a group: 170 events. The kernel takes no larger one, as its values have
/// to fit into a record with all else (`perf_event_validate_size` in `kernel/events/core.c`).
const COUNTERS_MAX: usize = 4096;

/// Bytes of the attr that we use and write down: version 5, up to `sample_max_stack`.
/// A reader refuses an attr larger than its own, so the smallest that serves is best.
pub const ATTR_SIZE: usize = 112;

/// An attr as the kernel reads it.
pub type AttrBytes = [u8; ATTR_SIZE];

const _: () = {
    assert!(ATTR_SIZE <= size_of::<perf_event_attr>());
    assert!(offset_of!(perf_event_attr, sample_max_stack) + 2 <= ATTR_SIZE);
};

/// An attr of nothing, with its size set.
pub fn empty_attr() -> perf_event_attr {
    perf_event_attr { size: ATTR_SIZE as u32, ..Default::default() }
}

/// The attr as the kernel reads it, and as it stands in the file.
pub fn attr_bytes(attr: &perf_event_attr) -> AttrBytes {
    let mut bytes = [0; ATTR_SIZE];
    // SAFETY: perf_event_attr is a repr(C) struct of integers without padding, at least ATTR_SIZE
    // long (asserted above) and borrowed for the duration of the copy.
    let source = unsafe { std::slice::from_raw_parts((&raw const *attr).cast::<u8>(), ATTR_SIZE) };
    bytes.copy_from_slice(source);
    bytes
}

/// Whose events are counted.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'a> {
    /// One thread, on the given CPU.
    Thread {
        /// Thread id.
        tid: i32,
        /// CPU number.
        cpu: u32,
    },
    /// Everything on one CPU.
    Cpu(u32),
    /// What runs in a cgroup, or below it, on one CPU.
    Cgroup {
        /// Its folder.
        folder: BorrowedFd<'a>,
        /// CPU number.
        cpu: u32,
    },
    /// The calling thread on any CPU: to try whether an event can be opened.
    Own,
}

/// Opens a counter by itself.
pub fn open_event(attr: &perf_event_attr, scope: Scope<'_>) -> io::Result<OwnedFd> {
    open_in_group(attr, scope, None)
}

/// Opens a counter that counts while its leader, on the same CPU and thread, does.
pub fn open_in_group(
    attr: &perf_event_attr,
    scope: Scope<'_>,
    leader: Option<BorrowedFd<'_>>,
) -> io::Result<OwnedFd> {
    let mut flags = PERF_FLAG_FD_CLOEXEC;
    let (tid, cpu) = match scope {
        Scope::Thread { tid, cpu } => (tid, cpu as c_int),
        Scope::Cpu(cpu) => (-1, cpu as c_int),
        Scope::Cgroup { folder, cpu } => {
            flags |= PERF_FLAG_PID_CGROUP;
            (folder.as_raw_fd(), cpu as c_int)
        }
        Scope::Own => (0, -1),
    };
    let mut attr = *attr;
    let group = leader.map_or(-1, |leader| leader.as_raw_fd());
    // SAFETY: the attr is valid for its stated size, which empty_attr set and which is not larger
    // than the struct; the call keeps no reference to it.
    let fd =
        unsafe { perf_event_open_sys::perf_event_open(&mut attr, tid, cpu, group, flags.into()) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a non-negative result is a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Another descriptor for what has this number, also where it cannot be opened once more, as a socket. EBADF: nothing has it.
pub fn duplicate(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the call takes three numbers, whatever they are, and touches no memory of ours.
    let fd = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    check(fd)?;
    // SAFETY: a non-negative result is a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Starts counting.
pub fn enable(event: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the ioctl takes a flag word and touches no memory of ours.
    check(unsafe { ioctls::ENABLE(event.as_raw_fd(), 0) })
}

/// Stops counting.
pub fn disable(event: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the ioctl takes a flag word and touches no memory of ours.
    check(unsafe { ioctls::DISABLE(event.as_raw_fd(), 0) })
}

/// Whether the kernel writes into a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingOutput {
    /// It does not; what it would write is lost.
    Paused,
    /// It does.
    Resumed,
}

/// Has the kernel write into the ring of `owner`, or not.
pub fn set_output(owner: BorrowedFd<'_>, output: RingOutput) -> io::Result<()> {
    // SAFETY: the ioctl takes a flag and touches no memory of ours.
    check(unsafe {
        ioctls::PAUSE_OUTPUT(owner.as_raw_fd(), u32::from(output == RingOutput::Paused))
    })
}

/// Sends the records of `event` into the ring of `owner`, which counts on the same CPU.
pub fn redirect_output(event: BorrowedFd<'_>, owner: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the ioctl takes a descriptor, alive as it is borrowed, and touches no memory.
    check(unsafe { ioctls::SET_OUTPUT(event.as_raw_fd(), owner.as_raw_fd()) })
}

/// The id that the kernel writes into the records of this event.
pub fn event_id(event: BorrowedFd<'_>) -> io::Result<u64> {
    let mut id = 0;
    // SAFETY: the ioctl writes one u64 to the pointer, which is valid for it.
    check(unsafe { ioctls::ID(event.as_raw_fd(), &mut id) })?;
    Ok(id)
}

/// Has a tracepoint's event count only where its fields are as the text says.
pub fn set_filter(event: BorrowedFd<'_>, filter: &CStr) -> io::Result<()> {
    // SAFETY: the ioctl reads a string that ends in a NUL, which a CStr does, and keeps no
    // reference to it; it does not write, whatever the type says.
    check(unsafe { ioctls::SET_FILTER(event.as_raw_fd(), filter.as_ptr().cast_mut()) })
}

fn check(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// `struct procmap_query` of `include/uapi/linux/fs.h`, since Linux 6.11.
#[repr(C)]
#[derive(Default)]
struct ProcmapQuery {
    size: u64,
    query_flags: u64,
    query_addr: u64,
    vma_start: u64,
    vma_end: u64,
    vma_flags: u64,
    vma_page_size: u64,
    vma_offset: u64,
    inode: u64,
    dev_major: u32,
    dev_minor: u32,
    vma_name_size: u32,
    build_id_size: u32,
    vma_name_addr: u64,
    build_id_addr: u64,
}

const _: () = assert!(size_of::<ProcmapQuery>() == 104);

/// `_IOWR('f', 17, struct procmap_query)`, from the pieces that `asm-generic/ioctl.h` names.
/// MIPS, PowerPC and SPARC number the directions otherwise; rustix knows.
const PROCMAP_QUERY: rustix::ioctl::Opcode =
    rustix::ioctl::opcode::read_write::<ProcmapQuery>(b'f', 17);

const VMA_READABLE: u64 = 1 << 0;
const VMA_WRITABLE: u64 = 1 << 1;
const VMA_EXECUTABLE: u64 = 1 << 2;
const VMA_SHARED: u64 = 1 << 3;
const COVERING_OR_NEXT_VMA: u64 = 1 << 4;

/// What the kernel is asked to look up with a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithBuildId {
    /// Only the mapping.
    No,
    /// Also the build-id of the mapped inode, which the kernel reads from the file's pages.
    Yes,
}

/// Which mappings are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// Code.
    Executable,
    /// All.
    Any,
}

/// A mapping of another process.
#[derive(Clone, Debug)]
pub struct QueriedMapping {
    /// First address.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// File offset of `start`.
    pub offset: u64,
    /// Device of the mapped file; zeros if there is none.
    pub device: (u32, u32),
    /// Inode of the mapped file; zero if there is none.
    pub inode: u64,
    /// `PROT_*` bits.
    pub protection: u32,
    /// `MAP_SHARED` or `MAP_PRIVATE`.
    pub flags: u32,
    /// As /proc/PID/maps has it; empty for anonymous memory.
    pub name: Vec<u8>,
    /// If asked for, and if the file has one.
    pub build_id: Vec<u8>,
}

/// The mapping of a kind that covers `address`, or the next one above it; `None` if there is
/// none. `maps` is an open /proc/PID/maps. ENOTTY: the kernel is older than 6.11.
pub fn query_mapping(
    maps: BorrowedFd<'_>,
    address: u64,
    sought: Sought,
    with_build_id: WithBuildId,
) -> io::Result<Option<QueriedMapping>> {
    let mut name = [0u8; 4096];
    let mut id = [0u8; 32];
    let kind = match sought {
        Sought::Executable => VMA_EXECUTABLE,
        Sought::Any => 0,
    };
    let mut query = ProcmapQuery {
        size: size_of::<ProcmapQuery>() as u64,
        query_flags: COVERING_OR_NEXT_VMA | kind,
        query_addr: address,
        vma_name_size: name.len() as u32,
        vma_name_addr: name.as_mut_ptr() as u64,
        ..Default::default()
    };
    if with_build_id == WithBuildId::Yes {
        query.build_id_size = id.len() as u32;
        query.build_id_addr = id.as_mut_ptr() as u64;
    }
    // SAFETY: opcode and struct are the pair that fs.h defines; the kernel writes the struct (its
    // size is stated in it) and at most the stated sizes to the two buffers, all alive here.
    let result = unsafe {
        let updater = rustix::ioctl::Updater::<{ PROCMAP_QUERY }, ProcmapQuery>::new(&mut query);
        rustix::ioctl::ioctl(maps, updater)
    };
    match result {
        Ok(()) => {}
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let name_length = (query.vma_name_size as usize).min(name.len()).saturating_sub(1);
    let id_length = match with_build_id {
        WithBuildId::Yes => (query.build_id_size as usize).min(id.len()),
        WithBuildId::No => 0,
    };
    Ok(Some(QueriedMapping {
        start: query.vma_start,
        end: query.vma_end,
        offset: query.vma_offset,
        device: (query.dev_major, query.dev_minor),
        inode: query.inode,
        protection: protection(query.vma_flags),
        flags: if query.vma_flags & VMA_SHARED != 0 { libc::MAP_SHARED } else { libc::MAP_PRIVATE }
            as u32,
        name: name[..name_length].to_vec(),
        build_id: id[..id_length].to_vec(),
    }))
}

fn protection(vma_flags: u64) -> u32 {
    [
        (VMA_READABLE, libc::PROT_READ),
        (VMA_WRITABLE, libc::PROT_WRITE),
        (VMA_EXECUTABLE, libc::PROT_EXEC),
    ]
    .into_iter()
    .filter(|(flag, _)| vma_flags & flag != 0)
    .fold(0, |bits, (_, bit)| bits | bit as u32)
}

/// Records that an event lost because its ring was full; from the counter, since Linux 6.0.
/// `None` if the attr did not ask for it. `id` tells the event from others of its group.
pub fn lost_records(event: impl AsFd, read_format: u64, id: u64) -> Option<u64> {
    if read_format & read_format::LOST == 0 {
        return None;
    }
    let mut bytes = [0; COUNTERS_MAX];
    let count = rustix::io::read(event, &mut bytes).ok()?;
    let counters = Counters::decode(read_format, bytes.get(..count)?, ByteOrder::NATIVE)?;
    counters.iter().find(|counter| counter.id == Some(id))?.lost
}
