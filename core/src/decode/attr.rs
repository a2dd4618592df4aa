//! `perf_event_attr` → [`Attr`], and from it a [`SampleLayout`]: where each field of a sample
//! stands, worked out once per event rather than once per sample.

use crate::decode::{ByteOrder, Cursor};
use crate::error::DecodeError;
use crate::format::attr::{ATTR_SIZE_VER0, flag, read_format, sample_type};

/// What was asked of the kernel, as far as reading needs it.
///
/// ```c
/// struct perf_event_attr {    // include/uapi/linux/perf_event.h
///     u32 type, size;         //  0
///     u64 config;             //  8
///     u64 sample_period;      // 16  or frequency
///     u64 sample_type;        // 24
///     u64 read_format;        // 32
///     u64 flags;              // 40  a C bit field
///     u32 wakeup, bp_type;    // 48
///     u64 bp_addr, bp_len;    // 56
///     u64 branch_sample_type; // 72
///     u64 sample_regs_user;   // 80
///     u32 sample_stack_user;  // 88
///     …
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attr {
    /// One of [`crate::format::attr::event_type`], or a dynamic PMU.
    pub event_type: u32,
    /// Which event of that type.
    pub config: u64,
    /// Period, or frequency if [`flag::FREQ`] is set.
    pub sample_period: u64,
    /// Fields of a sample.
    pub sample_type: u64,
    /// Shape of counter values.
    pub read_format: u64,
    /// Flags, bit numbers as on little-endian machines.
    pub flags: u64,
}

impl Attr {
    /// Reads an attr at `offset`; `bytes` may be longer than the attr.
    pub fn read(bytes: &[u8], offset: u64, order: ByteOrder) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes, offset, order, "the attr of an event");
        let event_type = cursor.u32()?;
        // A size of 0 means the first version; all that is read here is in it.
        let _size = match cursor.u32()? {
            0 => ATTR_SIZE_VER0,
            size => size,
        };
        let attr = Self {
            event_type,
            config: cursor.u64()?,
            sample_period: cursor.u64()?,
            sample_type: cursor.u64()?,
            read_format: cursor.u64()?,
            // Compilers for big-endian machines allocate bit fields from the top.
            flags: match order {
                ByteOrder::Little => cursor.u64()?,
                ByteOrder::Big => cursor.u64()?.reverse_bits(),
            },
        };
        Ok(attr)
    }

    /// True if `bit` of [`flag`] is set.
    pub fn has_flag(&self, bit: u64) -> bool {
        self.flags & bit != 0
    }

    /// Weight of a sample that states no period.
    pub fn default_weight(&self) -> u64 {
        if self.has_flag(flag::FREQ) { 1 } else { self.sample_period.max(1) }
    }
}

/// Where the fields of an event's samples stand, in bytes from the start of the record's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleLayout {
    /// u64.
    pub ip: Option<usize>,
    /// u32 pid, u32 tid.
    pub tid: Option<usize>,
    /// u64.
    pub time: Option<usize>,
    /// u64, wherever it stands: IDENTIFIER or ID.
    pub id: Option<usize>,
    /// u32.
    pub cpu: Option<usize>,
    /// u64.
    pub period: Option<usize>,
    /// End of the fields whose place is fixed.
    pub fixed_end: usize,
    /// Shape of the counter values that follow, if there are any.
    pub read_format: Option<u64>,
    /// Whether the call chain follows then.
    pub call_chain: Presence,
    /// Fields of the trailer of records that are not samples.
    pub trailer: TrailerLayout,
}

/// Whether a field is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    Present,
    /// It is not.
    Absent,
}

/// Where the fields of the trailer stand, in bytes back from the end of the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrailerLayout {
    /// Bytes of the trailer; 0 if the event has none (`sample_id_all` is off).
    pub size: usize,
    /// u64.
    pub time: Option<usize>,
    /// u64: IDENTIFIER or ID.
    pub id: Option<usize>,
}

impl SampleLayout {
    /// Works the places out, in the order of `perf_output_sample` in `kernel/events/core.c`.
    pub fn new(attr: &Attr) -> Self {
        let mut end = 0;
        let mut place = |bit: u64| {
            (attr.sample_type & bit != 0).then(|| {
                end += 8;
                end - 8
            })
        };
        let identifier = place(sample_type::IDENTIFIER);
        let ip = place(sample_type::IP);
        let tid = place(sample_type::TID);
        let time = place(sample_type::TIME);
        let _addr = place(sample_type::ADDR);
        let id = place(sample_type::ID);
        let _stream_id = place(sample_type::STREAM_ID);
        let cpu = place(sample_type::CPU);
        let period = place(sample_type::PERIOD);
        let present = |bit| attr.sample_type & bit != 0;
        Self {
            ip,
            tid,
            time,
            id: identifier.or(id),
            cpu,
            period,
            fixed_end: end,
            read_format: present(sample_type::READ).then_some(attr.read_format),
            call_chain: match present(sample_type::CALLCHAIN) {
                true => Presence::Present,
                false => Presence::Absent,
            },
            trailer: TrailerLayout::new(attr),
        }
    }

    /// Bytes of the counter values that begin at `at` in `body`; `None` if they do not fit.
    ///
    /// Alone: value, [enabled], [running], [id], [lost]. As a group: count, [enabled], [running],
    /// count × { value, [id], [lost] }.
    pub(super) fn read_block_size(
        format: u64,
        body: &[u8],
        at: usize,
        order: ByteOrder,
    ) -> Option<usize> {
        let has = |bit| usize::from(format & bit != 0);
        let times = has(read_format::TOTAL_TIME_ENABLED) + has(read_format::TOTAL_TIME_RUNNING);
        let value = 1 + has(read_format::ID) + has(read_format::LOST);
        let words = if has(read_format::GROUP) == 1 {
            let members = order.u64(*body.get(at..)?.first_chunk()?);
            let members = usize::try_from(members).ok()?;
            members.checked_mul(value)?.checked_add(1 + times)?
        } else {
            times + value
        };
        words.checked_mul(8)
    }
}

impl TrailerLayout {
    /// `struct sample_id` in `include/uapi/linux/perf_event.h`, read from its end.
    fn new(attr: &Attr) -> Self {
        if !attr.has_flag(flag::SAMPLE_ID_ALL) {
            return Self::default();
        }
        let mut size = 0;
        let mut place = |bit: u64| {
            (attr.sample_type & bit != 0).then(|| {
                size += 8;
                size
            })
        };
        let identifier = place(sample_type::IDENTIFIER);
        let _cpu = place(sample_type::CPU);
        let _stream_id = place(sample_type::STREAM_ID);
        let id = place(sample_type::ID);
        let time = place(sample_type::TIME);
        let _tid = place(sample_type::TID);
        Self { size, time, id: identifier.or(id) }
    }

    /// The u64 that stands `back` bytes before the end of `record`.
    pub fn field(record: &[u8], back: Option<usize>, order: ByteOrder) -> Option<u64> {
        let start = record.len().checked_sub(back?)?;
        Some(order.u64(*record.get(start..)?.first_chunk()?))
    }
}
