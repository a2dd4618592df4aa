//! Writes `perf.data` files for tests, byte by byte.
//!
//! It shares no layout with core: attrs are laid out by the kernel's own struct, everything else
//! is spelled out here. So a mistake in core's layouts cannot cancel itself.

use std::mem::offset_of;

use perf_event_open_sys::bindings::{
    PERF_RECORD_COMM, PERF_RECORD_EXIT, PERF_RECORD_FORK, PERF_RECORD_LOST, PERF_RECORD_MMAP2,
    PERF_RECORD_SAMPLE, PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_CPU, PERF_SAMPLE_IP, PERF_SAMPLE_PERIOD,
    PERF_SAMPLE_TID, PERF_SAMPLE_TIME, perf_event_attr,
};

/// Marks what follows in a call chain as kernel code.
pub const IN_KERNEL: u64 = -128i64 as u64;
/// Marks what follows in a call chain as user code.
pub const IN_USER: u64 = -512i64 as u64;

/// Where records of one event begin and what they say of themselves: pid, tid, time.
#[derive(Clone, Copy, Debug)]
pub struct RecordStamp {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Nanoseconds.
    pub time: u64,
}

/// A recording that is being written: one event, `cpu-clock`, with call chains.
#[derive(Clone, Debug, Default)]
pub struct PerfData {
    data: Vec<u8>,
    features: Vec<(u8, Vec<u8>)>,
}

impl PerfData {
    /// Without records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Any record.
    pub fn record(mut self, kind: u32, misc: u16, body: &[u8]) -> Self {
        self.data.extend(kind.to_le_bytes());
        self.data.extend(misc.to_le_bytes());
        self.data.extend((body.len() as u16 + 8).to_le_bytes());
        self.data.extend(body);
        self
    }

    /// A record of the kernel, with the trailer that `sample_id_all` asks for.
    fn kernel_record(self, kind: u32, misc: u16, mut body: Vec<u8>, when: RecordStamp) -> Self {
        body.extend(when.pid.to_le_bytes());
        body.extend(when.tid.to_le_bytes());
        body.extend(when.time.to_le_bytes());
        body.extend([0; 8]); // CPU 0
        self.record(kind, misc, &body)
    }

    /// The process `pid` is called `name`; by exec if `misc` has bit 13.
    pub fn comm(self, misc: u16, when: RecordStamp, name: &str) -> Self {
        let mut body = [when.pid.to_le_bytes(), when.tid.to_le_bytes()].concat();
        body.extend(padded(name));
        self.kernel_record(PERF_RECORD_COMM, misc, body, when)
    }

    /// `pid` began as a copy of `parent`.
    pub fn fork(self, when: RecordStamp, parent: u32) -> Self {
        self.task(PERF_RECORD_FORK, when, parent)
    }

    /// `pid` ended.
    pub fn exit(self, when: RecordStamp, parent: u32) -> Self {
        self.task(PERF_RECORD_EXIT, when, parent)
    }

    fn task(self, kind: u32, when: RecordStamp, parent: u32) -> Self {
        let mut body = Vec::new();
        for number in [when.pid, parent, when.tid, parent] {
            body.extend(number.to_le_bytes());
        }
        body.extend(when.time.to_le_bytes());
        self.kernel_record(kind, 0, body, when)
    }

    /// Executable code of a file with a build-id.
    pub fn mmap(
        self,
        when: RecordStamp,
        addresses: std::ops::Range<u64>,
        offset: u64,
        build_id: &[u8],
        path: &str,
    ) -> Self {
        let mut union = vec![build_id.len() as u8, 0, 0, 0];
        union.extend(build_id);
        union.resize(24, 0);
        self.mmap2(1 << 14 | 2, when, addresses, offset, union, path)
    }

    /// Executable code of a file known by its inode.
    pub fn mmap_inode(
        self,
        when: RecordStamp,
        addresses: std::ops::Range<u64>,
        inode: u64,
        path: &str,
    ) -> Self {
        let mut union = [8u32.to_le_bytes(), 1u32.to_le_bytes()].concat();
        union.extend(inode.to_le_bytes());
        union.extend(0u64.to_le_bytes());
        self.mmap2(2, when, addresses, 0, union, path)
    }

    /// The kernel's own map, whose reference symbol lies at its start.
    pub fn mmap_kernel(self, addresses: std::ops::Range<u64>, build_id: &[u8]) -> Self {
        let when = RecordStamp { pid: u32::MAX, tid: 0, time: 0 };
        let mut union = vec![build_id.len() as u8, 0, 0, 0];
        union.extend(build_id);
        union.resize(24, 0);
        let start = addresses.start;
        self.mmap2(1 << 14 | 1, when, addresses, start, union, "[kernel.kallsyms]_text")
    }

    fn mmap2(
        self,
        misc: u16,
        when: RecordStamp,
        addresses: std::ops::Range<u64>,
        offset: u64,
        union: Vec<u8>,
        path: &str,
    ) -> Self {
        let mut body = [when.pid.to_le_bytes(), when.tid.to_le_bytes()].concat();
        for number in [addresses.start, addresses.end - addresses.start, offset] {
            body.extend(number.to_le_bytes());
        }
        body.extend(union);
        body.extend(5u32.to_le_bytes()); // PROT_READ | PROT_EXEC
        body.extend(2u32.to_le_bytes()); // MAP_PRIVATE
        body.extend(padded(path));
        self.kernel_record(PERF_RECORD_MMAP2, misc, body, when)
    }

    /// An observation in user code: the words of its call chain, markers included.
    pub fn sample(self, when: RecordStamp, period: u64, chain: &[u64]) -> Self {
        let ip = chain.iter().copied().find(|&word| word < -4095i64 as u64).unwrap_or(0);
        let mut body = Vec::new();
        body.extend(ip.to_le_bytes());
        body.extend(when.pid.to_le_bytes());
        body.extend(when.tid.to_le_bytes());
        body.extend(when.time.to_le_bytes());
        body.extend([0; 8]); // CPU 0
        body.extend(period.to_le_bytes());
        body.extend((chain.len() as u64).to_le_bytes());
        chain.iter().for_each(|word| body.extend(word.to_le_bytes()));
        self.record(PERF_RECORD_SAMPLE, 2, &body)
    }

    /// `count` records were lost.
    pub fn lost(self, when: RecordStamp, count: u64) -> Self {
        let body = [1u64.to_le_bytes(), count.to_le_bytes()].concat();
        self.kernel_record(PERF_RECORD_LOST, 0, body, when)
    }

    /// Every ring has been read once more (68, perf's FINISHED_ROUND).
    pub fn round(self) -> Self {
        self.record(68, 0, &[])
    }

    /// A feature section.
    pub fn feature(mut self, number: u8, payload: Vec<u8>) -> Self {
        self.features.push((number, payload));
        self.features.sort_by_key(|(number, _)| *number);
        self
    }

    /// A feature section of one string.
    pub fn feature_string(self, number: u8, text: &str) -> Self {
        let mut payload = 64u32.to_le_bytes().to_vec();
        payload.extend(text.as_bytes());
        payload.resize(68, 0);
        self.feature(number, payload)
    }

    /// The build-id table, of (CPU mode, id, path).
    pub fn build_id_table(self, entries: &[(u16, &[u8], &str)]) -> Self {
        let mut payload = Vec::new();
        for (mode, id, path) in entries {
            let name = padded(path);
            payload.extend(0u32.to_le_bytes());
            payload.extend((mode | 1 << 15).to_le_bytes());
            payload.extend((36 + name.len() as u16).to_le_bytes());
            payload.extend((-1i32).to_le_bytes());
            let mut bytes = id.to_vec();
            bytes.resize(20, 0);
            payload.extend(bytes);
            payload.extend([id.len() as u8, 0, 0, 0]);
            payload.extend(name);
        }
        self.feature(2, payload)
    }

    /// The whole file.
    pub fn finish(&self) -> Vec<u8> {
        let mut file = self.header(self.data.len() as u64);
        file.extend(&self.data);
        let mut offset = file.len() as u64 + 16 * self.features.len() as u64;
        for (_, payload) in &self.features {
            file.extend(offset.to_le_bytes());
            file.extend((payload.len() as u64).to_le_bytes());
            offset += payload.len() as u64;
        }
        self.features.iter().for_each(|(_, payload)| file.extend(payload));
        file
    }

    /// The file as a recorder leaves it that was killed: no size, no features.
    pub fn unfinished(&self) -> Vec<u8> {
        let mut file = self.header(0);
        file.extend(&self.data);
        file
    }

    fn header(&self, data_size: u64) -> Vec<u8> {
        let attr = attr();
        let mut file = Vec::new();
        let mut number = |number: u64| file.extend(number.to_le_bytes());
        number(u64::from_le_bytes(*b"PERFILE2"));
        number(104);
        number(attr.len() as u64 + 16);
        number(104);
        number(attr.len() as u64 + 16);
        number(104 + attr.len() as u64 + 16);
        number(data_size);
        number(0);
        number(0);
        for word in 0..4u32 {
            let bits = self.features.iter().filter(|(feature, _)| u32::from(*feature) / 64 == word);
            number(bits.fold(0, |bits, (feature, _)| bits | 1 << (feature % 64)));
        }
        file.extend(attr);
        file.extend([0; 16]); // no ids
        file
    }
}

/// `cpu-clock`, every record with pid, time and CPU.
fn attr() -> Vec<u8> {
    let mut bytes = vec![0; size_of::<perf_event_attr>()];
    let mut put = |offset: usize, field: &[u8]| {
        bytes[offset..offset + field.len()].copy_from_slice(field);
    };
    let sample_type = PERF_SAMPLE_IP
        | PERF_SAMPLE_TID
        | PERF_SAMPLE_TIME
        | PERF_SAMPLE_CPU
        | PERF_SAMPLE_PERIOD
        | PERF_SAMPLE_CALLCHAIN;
    put(offset_of!(perf_event_attr, type_), &1u32.to_le_bytes());
    put(offset_of!(perf_event_attr, size), &(size_of::<perf_event_attr>() as u32).to_le_bytes());
    put(offset_of!(perf_event_attr, sample_type), &(sample_type as u64).to_le_bytes());
    // The flags follow read_format; bit 18 is sample_id_all, bit 10 freq.
    let flags = offset_of!(perf_event_attr, read_format) + 8;
    put(flags, &(1u64 << 18 | 1 << 10).to_le_bytes());
    bytes
}

/// A text with its NUL, padded to eight bytes.
fn padded(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}
