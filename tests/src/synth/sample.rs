//! SAMPLE records: every field that `sample_type` can ask for.
//!
//! The order is that of `perf_output_sample`, kernel/events/core.c.

use perf_event_open_sys::bindings as kernel;
use perf_event_open_sys::bindings::perf_branch_entry;

use super::{Attr, Bytes, Order};

/// What a sample says; the attr decides what of it is written.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// CPU mode (1 kernel, 2 user …) and other bits of `misc`.
    pub misc: u16,
    /// Address.
    pub ip: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Nanoseconds.
    pub time: u64,
    /// Address of data.
    pub addr: u64,
    /// Which counter.
    pub id: u64,
    /// Which counter, never that of a group's leader.
    pub stream_id: u64,
    /// CPU.
    pub cpu: u32,
    /// Events since the last sample.
    pub period: u64,
    /// Counts, of a group's members the leader's first: value, id, lost.
    pub read: Vec<[u64; 3]>,
    /// Time enabled and time running, for READ.
    pub times: [u64; 2],
    /// Words of the call chain, markers included.
    pub chain: Vec<u64>,
    /// What a tracepoint or a BPF program gives; its length and 4 make a multiple of 8.
    pub raw: Vec<u8>,
    /// FilteredSamples branches, newest first.
    pub branches: Vec<Branch>,
    /// Index of the newest branch in hardware.
    pub hw_index: u64,
    /// Registers of user code.
    pub regs_user: Option<Regs>,
    /// Bytes of the user stack.
    pub stack: Vec<u8>,
    /// How many of them are valid.
    pub stack_valid: u64,
    /// Weight.
    pub weight: Weight,
    /// What memory access it was (`perf_mem_data_src`).
    pub data_src: u64,
    /// Flags of a transaction.
    pub transaction: u64,
    /// Registers at the interrupt.
    pub regs_intr: Option<Regs>,
    /// Physical address of data.
    pub phys_addr: u64,
    /// Id of the cgroup.
    pub cgroup: u64,
    /// Page size at the data address.
    pub data_page_size: u64,
    /// Page size at the address.
    pub code_page_size: u64,
    /// AUX area data.
    pub aux: Vec<u8>,
}

/// A taken branch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Branch {
    /// `perf_branch_entry`: addresses and flags.
    pub entry: perf_branch_entry,
    /// Counters since the branch before it.
    pub counters: u64,
}

/// Registers, as many as the attr's mask has bits; ABI 1: 32-bit, 2: 64-bit.
#[derive(Clone, Debug)]
pub struct Regs {
    /// `PERF_SAMPLE_REGS_ABI_*`.
    pub abi: u64,
    /// Values.
    pub values: Vec<u64>,
}

/// WEIGHT is one number; WEIGHT_STRUCT has three in its place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weight {
    /// All of it, or its low 32 bits: latency.
    pub first: u32,
    /// Bits 32 to 47.
    pub second: u16,
    /// Bits 48 to 63.
    pub third: u16,
}

impl Sample {
    /// The record's body.
    pub fn encode(&self, attr: &Attr, order: Order) -> Vec<u8> {
        let mut body = Bytes::new(order);
        self.encode_head(attr, &mut body);
        self.encode_read(attr, &mut body);
        self.encode_chain_to_stack(attr, &mut body);
        self.encode_tail(attr, &mut body);
        body.take()
    }

    fn encode_head(&self, attr: &Attr, body: &mut Bytes) {
        let mut field = |bit: u32, number: u64| {
            if attr.has(bit) {
                body.u64(number);
            }
        };
        field(kernel::PERF_SAMPLE_IDENTIFIER, self.id);
        field(kernel::PERF_SAMPLE_IP, self.ip);
        if attr.has(kernel::PERF_SAMPLE_TID) {
            body.u32(self.pid).u32(self.tid);
        }
        let mut field = |bit: u32, number: u64| {
            if attr.has(bit) {
                body.u64(number);
            }
        };
        field(kernel::PERF_SAMPLE_TIME, self.time);
        field(kernel::PERF_SAMPLE_ADDR, self.addr);
        field(kernel::PERF_SAMPLE_ID, self.id);
        field(kernel::PERF_SAMPLE_STREAM_ID, self.stream_id);
        if attr.has(kernel::PERF_SAMPLE_CPU) {
            body.u32(self.cpu).u32(0);
        }
        if attr.has(kernel::PERF_SAMPLE_PERIOD) {
            body.u64(self.period);
        }
    }

    fn encode_read(&self, attr: &Attr, body: &mut Bytes) {
        if !attr.has(kernel::PERF_SAMPLE_READ) {
            return;
        }
        let has = |bit: u32| attr.kernel.read_format & u64::from(bit) != 0;
        let is_group = has(kernel::PERF_FORMAT_GROUP);
        let times = |body: &mut Bytes| {
            if has(kernel::PERF_FORMAT_TOTAL_TIME_ENABLED) {
                body.u64(self.times[0]);
            }
            if has(kernel::PERF_FORMAT_TOTAL_TIME_RUNNING) {
                body.u64(self.times[1]);
            }
        };
        if is_group {
            body.u64(self.read.len() as u64);
            times(body);
        }
        for &[value, id, lost] in if is_group { &self.read[..] } else { &self.read[..1] } {
            body.u64(value);
            if !is_group {
                times(body);
            }
            if has(kernel::PERF_FORMAT_ID) {
                body.u64(id);
            }
            if has(kernel::PERF_FORMAT_LOST) {
                body.u64(lost);
            }
        }
    }

    fn encode_chain_to_stack(&self, attr: &Attr, body: &mut Bytes) {
        if attr.has(kernel::PERF_SAMPLE_CALLCHAIN) {
            body.u64(self.chain.len() as u64).u64s(&self.chain);
        }
        if attr.has(kernel::PERF_SAMPLE_RAW) {
            assert_eq!((self.raw.len() + 4) % 8, 0, "the kernel pads raw data itself");
            body.u32(self.raw.len() as u32).raw(&self.raw);
        }
        if attr.has(kernel::PERF_SAMPLE_BRANCH_STACK) {
            self.encode_branches(attr, body);
        }
        if attr.has(kernel::PERF_SAMPLE_REGS_USER) {
            encode_regs(self.regs_user.as_ref(), attr.kernel.sample_regs_user, body);
        }
        if attr.has(kernel::PERF_SAMPLE_STACK_USER) {
            body.u64(self.stack.len() as u64).raw(&self.stack);
            if !self.stack.is_empty() {
                body.u64(self.stack_valid);
            }
        }
    }

    fn encode_branches(&self, attr: &Attr, body: &mut Bytes) {
        let has = |bit: u32| attr.kernel.branch_sample_type & u64::from(bit) != 0;
        body.u64(self.branches.len() as u64);
        if has(kernel::PERF_SAMPLE_BRANCH_HW_INDEX) {
            body.u64(self.hw_index);
        }
        for Branch { entry, .. } in &self.branches {
            let flags = branch_flags(entry, body.order());
            body.u64(entry.from).u64(entry.to).u64(flags);
        }
        if has(kernel::PERF_SAMPLE_BRANCH_COUNTERS) {
            self.branches.iter().for_each(|branch| _ = body.u64(branch.counters));
        }
    }

    fn encode_tail(&self, attr: &Attr, body: &mut Bytes) {
        let weight = kernel::PERF_SAMPLE_WEIGHT | kernel::PERF_SAMPLE_WEIGHT_STRUCT;
        if attr.has(weight) {
            let Weight { first, second, third } = self.weight;
            // The kernel's union is mirrored, so as a number it is the same in both orders.
            body.u64(u64::from(third) << 48 | u64::from(second) << 32 | u64::from(first));
        }
        for (bit, number) in [
            (kernel::PERF_SAMPLE_DATA_SRC, self.data_src),
            (kernel::PERF_SAMPLE_TRANSACTION, self.transaction),
        ] {
            if attr.has(bit) {
                body.u64(number);
            }
        }
        if attr.has(kernel::PERF_SAMPLE_REGS_INTR) {
            encode_regs(self.regs_intr.as_ref(), attr.kernel.sample_regs_intr, body);
        }
        for (bit, number) in [
            (kernel::PERF_SAMPLE_PHYS_ADDR, self.phys_addr),
            (kernel::PERF_SAMPLE_CGROUP, self.cgroup),
            (kernel::PERF_SAMPLE_DATA_PAGE_SIZE, self.data_page_size),
            (kernel::PERF_SAMPLE_CODE_PAGE_SIZE, self.code_page_size),
        ] {
            if attr.has(bit) {
                body.u64(number);
            }
        }
        if attr.has(kernel::PERF_SAMPLE_AUX) {
            body.u64(self.aux.len() as u64).raw(&self.aux);
        }
    }
}

fn encode_regs(regs: Option<&Regs>, mask: u64, body: &mut Bytes) {
    let Some(regs) = regs else {
        body.u64(0);
        return;
    };
    assert_eq!(regs.values.len(), mask.count_ones() as usize, "one value for each bit of the mask");
    body.u64(regs.abi).u64s(&regs.values);
}

/// Flags of a branch, widths as in the kernel's struct: on big endian machines C puts the first
/// one at the top.
fn branch_flags(entry: &perf_branch_entry, order: Order) -> u64 {
    if order == Order::Little {
        return entry._bitfield_1.get(0, 64);
    }
    let fields = [
        (entry.mispred(), 1),
        (entry.predicted(), 1),
        (entry.in_tx(), 1),
        (entry.abort(), 1),
        (entry.cycles(), 16),
        (entry.type_(), 4),
        (entry.spec(), 2),
        (entry.new_type(), 4),
        (entry.priv_(), 3),
    ];
    let mut flags = 0;
    let mut shift = 64;
    for (value, width) in fields {
        shift -= width;
        flags |= value << shift;
    }
    flags
}
