//! What is recorded: the kernel's `perf_event_attr`, in either byte order and of any size.

use std::mem::offset_of;

use perf_event_open_sys::bindings::{PERF_ATTR_SIZE_VER7, perf_event_attr};

use super::{Bytes, Order};

/// A `perf_event_attr`. Its plain fields and flags are those of the kernel's struct; what is in a
/// union there stands beside it, since reading a union is unsafe.
#[derive(Clone, Copy, Debug)]
pub struct Attr {
    /// All fields but those below.
    pub kernel: perf_event_attr,
    /// `sample_period`, or `sample_freq` with the flag `freq`.
    pub period: u64,
    /// `bp_addr`, `config1`.
    pub config1: u64,
    /// `bp_len`, `config2`.
    pub config2: u64,
    /// How much of the struct the writer knows: what `size` says and how many bytes are there.
    pub size: u32,
}

/// An event: an attr, the ids of its counters, and its name.
#[derive(Clone, Debug)]
pub struct Event {
    /// The attr.
    pub attr: Attr,
    /// One for each CPU or thread; perhaps none.
    pub ids: Vec<u64>,
    /// For EVENT_DESC.
    pub name: String,
}

impl Attr {
    /// Type and config, with these bits of `sample_type`, records of tasks and maps, and a trailer
    /// in each record that is no sample (`sample_id_all`). Of the size that Linux 5.13 to 6.2 know.
    pub fn new(kind: u32, config: u64, sample_type: u32) -> Self {
        let mut kernel = perf_event_attr {
            type_: kind,
            config,
            sample_type: u64::from(sample_type),
            ..Default::default()
        };
        kernel.set_sample_id_all(1);
        kernel.set_mmap(1);
        kernel.set_mmap2(1);
        kernel.set_comm(1);
        kernel.set_comm_exec(1);
        kernel.set_task(1);
        Self { kernel, period: 1, config1: 0, config2: 0, size: PERF_ATTR_SIZE_VER7 }
    }

    /// The same, changed.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Whether a bit of `sample_type` is set.
    pub fn has(&self, bit: u32) -> bool {
        self.kernel.sample_type & u64::from(bit) != 0
    }

    /// As it lies in a file: `size` bytes of it.
    pub fn encode(&self, order: Order) -> Vec<u8> {
        let mut bytes = vec![0; size_of::<perf_event_attr>().max(self.size as usize)];
        let kernel = &self.kernel;
        let mut put = |offset: usize, field: &mut Bytes| {
            let field = field.take();
            bytes[offset..offset + field.len()].copy_from_slice(&field);
        };
        let u16 = |number| Bytes::new(order).u16(number).clone();
        let u32 = |number| Bytes::new(order).u32(number).clone();
        let u64 = |number| Bytes::new(order).u64(number).clone();
        put(offset_of!(perf_event_attr, type_), &mut u32(kernel.type_));
        put(offset_of!(perf_event_attr, size), &mut u32(self.size));
        put(offset_of!(perf_event_attr, config), &mut u64(kernel.config));
        put(offset_of!(perf_event_attr, __bindgen_anon_1), &mut u64(self.period));
        put(offset_of!(perf_event_attr, sample_type), &mut u64(kernel.sample_type));
        put(offset_of!(perf_event_attr, read_format), &mut u64(kernel.read_format));
        put(offset_of!(perf_event_attr, _bitfield_1), &mut u64(self.flags(order)));
        put(offset_of!(perf_event_attr, bp_type), &mut u32(kernel.bp_type));
        put(offset_of!(perf_event_attr, __bindgen_anon_3), &mut u64(self.config1));
        put(offset_of!(perf_event_attr, __bindgen_anon_4), &mut u64(self.config2));
        put(offset_of!(perf_event_attr, branch_sample_type), &mut u64(kernel.branch_sample_type));
        put(offset_of!(perf_event_attr, sample_regs_user), &mut u64(kernel.sample_regs_user));
        put(offset_of!(perf_event_attr, sample_stack_user), &mut u32(kernel.sample_stack_user));
        put(offset_of!(perf_event_attr, clockid), &mut u32(kernel.clockid as u32));
        put(offset_of!(perf_event_attr, sample_regs_intr), &mut u64(kernel.sample_regs_intr));
        put(offset_of!(perf_event_attr, aux_watermark), &mut u32(kernel.aux_watermark));
        put(offset_of!(perf_event_attr, sample_max_stack), &mut u16(kernel.sample_max_stack));
        put(offset_of!(perf_event_attr, aux_sample_size), &mut u32(kernel.aux_sample_size));
        put(offset_of!(perf_event_attr, sig_data), &mut u64(kernel.sig_data));
        put(offset_of!(perf_event_attr, config3), &mut u64(kernel.config3));
        put(offset_of!(perf_event_attr, config4), &mut u64(kernel.config4));
        bytes.truncate(self.size as usize);
        bytes
    }

    /// C allocates bit fields from the least significant bit on little endian machines, from the
    /// most significant one on big endian machines.
    fn flags(&self, order: Order) -> u64 {
        let flags = self.kernel._bitfield_1.get(0, 64);
        match order {
            Order::Little => flags,
            Order::Big => flags.reverse_bits(),
        }
    }
}

impl Event {
    /// An event with the ids 100, 101 … for each of `counters` counters; of the event `index`,
    /// from 100 × (`index` + 1).
    pub fn new(index: usize, name: &str, attr: Attr, counters: usize) -> Self {
        let first = 100 * (index as u64 + 1);
        Self { attr, ids: (first..first + counters as u64).collect(), name: name.to_owned() }
    }
}
