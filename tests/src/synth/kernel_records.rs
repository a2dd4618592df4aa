//! Records of the kernel: `enum perf_event_type` in include/uapi/linux/perf_event.h, whose comments
//! give the fields.

use std::ops::Range;

use perf_event_open_sys::bindings as kernel;

use super::{Bytes, Recording};

/// What a record says of itself in its trailer (`sample_id_all`), as far as the attr asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct At {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Nanoseconds.
    pub time: u64,
    /// CPU.
    pub cpu: u32,
    /// Index of the event.
    pub event: usize,
    /// Which of the event's ids.
    pub counter: usize,
}

/// A mapping, for MMAP and MMAP2.
#[derive(Clone, Debug)]
pub struct Mapping<'a> {
    /// CPU mode, with bit 13 for data.
    pub misc: u16,
    /// Process; `u32::MAX` for the kernel.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Addresses.
    pub addresses: Range<u64>,
    /// File offset.
    pub offset: u64,
    /// What file.
    pub file: MappedFile<'a>,
    /// Path.
    pub path: &'a str,
}

/// What an MMAP2 record says of a file besides its path.
#[derive(Clone, Copy, Debug)]
pub enum MappedFile<'a> {
    /// Device, inode, generation.
    Inode(u32, u32, u64, u64),
    /// Up to 20 bytes.
    BuildId(&'a [u8]),
}

impl Recording {
    /// A record of the kernel, with its trailer.
    pub fn kernel_record(&mut self, kind: u32, misc: u16, body: Vec<u8>, at: At) -> &mut Self {
        let trailer = self.trailer(at);
        self.record(kind, misc, &[body, trailer].concat())
    }

    /// `perf_event__output_id_sample`, kernel/events/core.c.
    fn trailer(&self, at: At) -> Vec<u8> {
        let event = &self.events[at.event];
        let mut trailer = self.bytes();
        if event.attr.kernel.sample_id_all() == 0 {
            return trailer.take();
        }
        let id = event.ids.get(at.counter).copied().unwrap_or(0);
        if event.attr.has(kernel::PERF_SAMPLE_TID) {
            trailer.u32(at.pid).u32(at.tid);
        }
        for (bit, number) in [
            (kernel::PERF_SAMPLE_TIME, at.time),
            (kernel::PERF_SAMPLE_ID, id),
            (kernel::PERF_SAMPLE_STREAM_ID, id),
        ] {
            if event.attr.has(bit) {
                trailer.u64(number);
            }
        }
        if event.attr.has(kernel::PERF_SAMPLE_CPU) {
            trailer.u32(at.cpu).u32(0);
        }
        if event.attr.has(kernel::PERF_SAMPLE_IDENTIFIER) {
            trailer.u64(id);
        }
        trailer.take()
    }

    /// MMAP: a mapping without inode or build-id.
    pub fn mmap(&mut self, at: At, mapping: &Mapping) -> &mut Self {
        let mut body = self.mapping_head(mapping);
        body.text(mapping.path);
        self.kernel_record(kernel::PERF_RECORD_MMAP, mapping.misc, body.take(), at)
    }

    /// MMAP2, protection and flags those of private code, or of private data if bit 13 says so.
    pub fn mmap2(&mut self, at: At, mapping: &Mapping) -> &mut Self {
        let mut body = self.mapping_head(mapping);
        let has_id = mapped_file(&mut body, mapping.file);
        let protection = if mapping.misc & 1 << 13 != 0 { 3 } else { 5 };
        body.u32(protection).u32(2).text(mapping.path);
        let misc = mapping.misc | has_id;
        self.kernel_record(kernel::PERF_RECORD_MMAP2, misc, body.take(), at)
    }

    /// MMAP2 of Linux 3.12 to 3.15 and of RHEL 7: neither protection nor flags.
    pub fn mmap2_without_protection(&mut self, at: At, mapping: &Mapping) -> &mut Self {
        let mut body = self.mapping_head(mapping);
        let has_id = mapped_file(&mut body, mapping.file);
        body.text(mapping.path);
        let misc = mapping.misc | has_id;
        self.kernel_record(kernel::PERF_RECORD_MMAP2, misc, body.take(), at)
    }

    fn mapping_head(&self, mapping: &Mapping) -> Bytes {
        let Range { start, end } = mapping.addresses;
        let mut body = self.bytes();
        body.u32(mapping.pid).u32(mapping.tid).u64s(&[start, end - start, mapping.offset]);
        body
    }

    /// COMM; bit 13 of `misc`: by exec.
    pub fn comm(&mut self, at: At, misc: u16, name: &str) -> &mut Self {
        let body = self.bytes().u32(at.pid).u32(at.tid).text(name).take();
        self.kernel_record(kernel::PERF_RECORD_COMM, misc, body, at)
    }

    /// FORK: the thread of `at` began, in the process `parent.0` by its thread `parent.1`.
    pub fn fork(&mut self, at: At, parent: (u32, u32)) -> &mut Self {
        let body =
            self.bytes().u32(at.pid).u32(parent.0).u32(at.tid).u32(parent.1).u64(at.time).take();
        self.kernel_record(kernel::PERF_RECORD_FORK, 0, body, at)
    }

    /// EXIT of the thread of `at`.
    pub fn exit(&mut self, at: At, parent: (u32, u32)) -> &mut Self {
        let body =
            self.bytes().u32(at.pid).u32(parent.0).u32(at.tid).u32(parent.1).u64(at.time).take();
        self.kernel_record(kernel::PERF_RECORD_EXIT, 0, body, at)
    }

    /// LOST: `count` records of the counter `id`.
    pub fn lost(&mut self, at: At, id: u64, count: u64) -> &mut Self {
        let body = self.bytes().u64(id).u64(count).take();
        self.kernel_record(kernel::PERF_RECORD_LOST, 0, body, at)
    }

    /// LOST_SAMPLES.
    pub fn lost_samples(&mut self, at: At, count: u64) -> &mut Self {
        let body = self.bytes().u64(count).take();
        self.kernel_record(kernel::PERF_RECORD_LOST_SAMPLES, 0, body, at)
    }

    /// THROTTLE, then UNTHROTTLE.
    pub fn throttled(&mut self, at: At, id: u64) -> &mut Self {
        let body = self.bytes().u64s(&[at.time, id, id]).take();
        self.kernel_record(kernel::PERF_RECORD_THROTTLE, 0, body.clone(), at);
        self.kernel_record(kernel::PERF_RECORD_UNTHROTTLE, 0, body, at)
    }

    /// READ of one counter: value, and what the attr's read_format adds.
    pub fn read(&mut self, at: At, values: &[u64]) -> &mut Self {
        let body = self.bytes().u32(at.pid).u32(at.tid).u64s(values).take();
        self.kernel_record(kernel::PERF_RECORD_READ, 0, body, at)
    }

    /// AUX: new data in the AUX area.
    pub fn aux(&mut self, at: At, offset: u64, size: u64, flags: u64) -> &mut Self {
        let body = self.bytes().u64s(&[offset, size, flags]).take();
        self.kernel_record(kernel::PERF_RECORD_AUX, 0, body, at)
    }

    /// ITRACE_START.
    pub fn itrace_start(&mut self, at: At) -> &mut Self {
        let body = self.bytes().u32(at.pid).u32(at.tid).take();
        self.kernel_record(kernel::PERF_RECORD_ITRACE_START, 0, body, at)
    }

    /// SWITCH: out (bit 13 of `misc`; bit 14: preempted) or in.
    pub fn switch(&mut self, at: At, misc: u16) -> &mut Self {
        self.kernel_record(kernel::PERF_RECORD_SWITCH, misc, Vec::new(), at)
    }

    /// SWITCH_CPU_WIDE: as SWITCH, with the thread on the other side.
    pub fn switch_cpu_wide(&mut self, at: At, misc: u16, other: (u32, u32)) -> &mut Self {
        let body = self.bytes().u32(other.0).u32(other.1).take();
        self.kernel_record(kernel::PERF_RECORD_SWITCH_CPU_WIDE, misc, body, at)
    }

    /// NAMESPACES: device and inode of net, uts, ipc, pid, user, mnt, cgroup.
    pub fn namespaces(&mut self, at: At, namespaces: &[(u64, u64)]) -> &mut Self {
        let mut body = self.bytes();
        body.u32(at.pid).u32(at.tid).u64(namespaces.len() as u64);
        namespaces.iter().for_each(|&(device, inode)| _ = body.u64(device).u64(inode));
        self.kernel_record(kernel::PERF_RECORD_NAMESPACES, 0, body.take(), at)
    }

    /// KSYMBOL of type 1 (BPF) or 2 (out of line); flag 1: it is gone.
    pub fn ksymbol(
        &mut self,
        at: At,
        (address, length): (u64, u32),
        kind: u16,
        flags: u16,
        name: &str,
    ) -> &mut Self {
        let body = self.bytes().u64(address).u32(length).u16(kind).u16(flags).text(name).take();
        self.kernel_record(kernel::PERF_RECORD_KSYMBOL, 0, body, at)
    }

    /// BPF_EVENT of type 1 (load) or 2 (unload).
    pub fn bpf_event(&mut self, at: At, kind: u16, program: u32, tag: [u8; 8]) -> &mut Self {
        let body = self.bytes().u16(kind).u16(0).u32(program).raw(&tag).take();
        self.kernel_record(kernel::PERF_RECORD_BPF_EVENT, 0, body, at)
    }

    /// CGROUP: a cgroup's id and path.
    pub fn cgroup(&mut self, at: At, id: u64, path: &str) -> &mut Self {
        let body = self.bytes().u64(id).text(path).take();
        self.kernel_record(kernel::PERF_RECORD_CGROUP, 0, body, at)
    }

    /// TEXT_POKE: code of the kernel changed.
    pub fn text_poke(&mut self, at: At, address: u64, old: &[u8], new: &[u8]) -> &mut Self {
        let mut body = self.bytes();
        body.u64(address).u16(old.len() as u16).u16(new.len() as u16).raw(old).raw(new);
        // Padded as counted from the lengths, which lie at 8.
        body.zeros((4 + old.len() + new.len()).next_multiple_of(8) - (4 + old.len() + new.len()));
        self.kernel_record(kernel::PERF_RECORD_TEXT_POKE, 0, body.take(), at)
    }

    /// AUX_OUTPUT_HW_ID.
    pub fn aux_output_hw_id(&mut self, at: At, id: u64) -> &mut Self {
        let body = self.bytes().u64(id).take();
        self.kernel_record(kernel::PERF_RECORD_AUX_OUTPUT_HW_ID, 0, body, at)
    }

    /// CALLCHAIN_DEFERRED: the user part of the chains that hold this cookie.
    pub fn callchain_deferred(&mut self, at: At, cookie: u64, chain: &[u64]) -> &mut Self {
        let body = self.bytes().u64(cookie).u64(chain.len() as u64).u64s(chain).take();
        self.kernel_record(kernel::PERF_RECORD_CALLCHAIN_DEFERRED, 2, body, at)
    }
}

/// The union of MMAP2; gives the bit of `misc` that says which of the two it is.
fn mapped_file(body: &mut Bytes, file: MappedFile) -> u16 {
    match file {
        MappedFile::Inode(major, minor, inode, generation) => {
            body.u32(major).u32(minor).u64(inode).u64(generation);
            0
        }
        MappedFile::BuildId(id) => {
            body.u8(id.len() as u8).zeros(3).raw(id).zeros(20 - id.len());
            kernel::PERF_RECORD_MISC_MMAP_BUILD_ID as u16
        }
    }
}
