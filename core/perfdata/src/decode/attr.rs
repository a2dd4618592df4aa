//! `perf_event_attr` → [`Attr`], and from it a [`SampleLayout`]: where each field of a sample
//! stands, worked out once per event rather than once per sample.

use crate::decode::{ByteOrder, Cursor};
use crate::error::DecodeError;
use crate::format::attr::{ATTR_SIZE_VER0, flag, sample_type};

/// What was asked of the kernel.
///
/// ```c
/// struct perf_event_attr {        // include/uapi/linux/perf_event.h
///     u32 type, size;             //   0
///     u64 config;                 //   8
///     u64 sample_period;          //  16  or frequency
///     u64 sample_type;            //  24
///     u64 read_format;            //  32
///     u64 flags;                  //  40  a C bit field
///     u32 wakeup, bp_type;        //  48
///     u64 bp_addr or config1;     //  56
///     u64 bp_len or config2;      //  64  from here on absent in attrs of older kernels
///     u64 branch_sample_type;     //  72
///     u64 sample_regs_user;       //  80
///     u32 sample_stack_user;      //  88
///     s32 clockid;                //  92
///     u64 sample_regs_intr;       //  96
///     u32 aux_watermark;          // 104
///     u16 sample_max_stack, _;    // 108
///     u32 aux_sample_size;        // 112
///     u32 aux_action;             // 116
///     u64 sig_data;               // 120
///     u64 config3, config4;       // 128
/// };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attr {
    /// One of [`crate::format::attr::event_type`], or a dynamic PMU.
    pub event_type: u32,
    /// Bytes of the attr, as it states; those of the first version where it states none.
    pub size: u32,
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
    /// Events or bytes until the recorder is woken.
    pub wakeup: u32,
    /// Accesses that a breakpoint counts: 1 read, 2 write, 4 execute.
    pub breakpoint_type: u32,
    /// Address of a breakpoint, or the second word of `config`.
    pub config1: u64,
    /// Length of a breakpoint, or the third word of `config`.
    pub config2: u64,
    /// Which branches, and the shape of a branch stack.
    pub branch_sample_type: u64,
    /// Registers of user space in each sample, a bit for each.
    pub user_registers: u64,
    /// Bytes of the user stack in each sample.
    pub user_stack_size: u32,
    /// Clock of the times, if one was chosen.
    pub clock_id: i32,
    /// Registers where the event's interrupt came, a bit for each.
    pub interrupt_registers: u64,
    /// Bytes of AUX data until the recorder is woken.
    pub aux_watermark: u32,
    /// Most frames of a call chain.
    pub max_stack: u16,
    /// Most bytes of AUX data in a sample.
    pub aux_sample_size: u32,
    /// Starting, pausing and resuming of an AUX trace.
    pub aux_action: u32,
    /// What a signal of the event carries.
    pub signal_data: u64,
    /// The fourth word of `config`.
    pub config3: u64,
    /// The fifth word of `config`.
    pub config4: u64,
}

impl Attr {
    /// Reads the attr that stands at `offset` in the file. `room` is where it may lie: it may be
    /// longer than the attr, of which no more than its stated size is read. Fields that an older
    /// attr lacks are 0; those that a newer one adds are passed over. Fails if there is no room
    /// for the flags.
    pub fn read(room: &[u8], offset: u64, order: ByteOrder) -> Result<Self, DecodeError> {
        let size = Self::stated_size(room, offset, order)?;
        let bytes = usize::try_from(size).ok().and_then(|size| room.get(..size)).unwrap_or(room);
        let mut cursor = Cursor::new(bytes, offset, order, "the attr of an event");
        let event_type = cursor.u32()?;
        let _size = cursor.u32()?;
        let (config, sample_period) = (cursor.u64()?, cursor.u64()?);
        let (sample_type, read_format) = (cursor.u64()?, cursor.u64()?);
        // Compilers for big-endian machines allocate bit fields from the top.
        let flags = match order {
            ByteOrder::Little => cursor.u64()?,
            ByteOrder::Big => cursor.u64()?.reverse_bits(),
        };
        let mut half = || cursor.u32().unwrap_or(0);
        let (wakeup, breakpoint_type) = (half(), half());
        let mut word = || cursor.u64().unwrap_or(0);
        let (config1, config2) = (word(), word());
        let (branch_sample_type, user_registers) = (word(), word());
        let user_stack_size = cursor.u32().unwrap_or(0);
        let clock_id = cursor.u32().unwrap_or(0) as i32;
        let interrupt_registers = cursor.u64().unwrap_or(0);
        let aux_watermark = cursor.u32().unwrap_or(0);
        let max_stack = cursor.u16().unwrap_or(0);
        let _reserved = cursor.u16();
        let mut half = || cursor.u32().unwrap_or(0);
        let (aux_sample_size, aux_action) = (half(), half());
        let mut word = || cursor.u64().unwrap_or(0);
        let (signal_data, config3, config4) = (word(), word(), word());
        Ok(Self {
            event_type,
            size,
            config,
            sample_period,
            sample_type,
            read_format,
            flags,
            wakeup,
            breakpoint_type,
            config1,
            config2,
            branch_sample_type,
            user_registers,
            user_stack_size,
            clock_id,
            interrupt_registers,
            aux_watermark,
            max_stack,
            aux_sample_size,
            aux_action,
            signal_data,
            config3,
            config4,
        })
    }

    /// How many bytes the attr that `bytes` begin with says it has; in a HEADER_ATTR record the
    /// ids follow it. 0 means the first version, of which every attr has at least the size.
    pub fn stated_size(bytes: &[u8], offset: u64, order: ByteOrder) -> Result<u32, DecodeError> {
        let mut cursor = Cursor::new(bytes, offset, order, "the attr of an event");
        let _type = cursor.u32()?;
        Ok(cursor.u32()?.max(ATTR_SIZE_VER0))
    }

    /// True if `bit` of [`flag`] is set.
    pub fn has_flag(&self, bit: u64) -> bool {
        self.flags & bit != 0
    }

    /// `precise_ip`: 0 for an instruction pointer that may lag, up to 3 for an exact one.
    pub fn precise_ip(&self) -> usize {
        (self.flags >> flag::PRECISE_IP_SHIFT & 3) as usize
    }

    /// Weight of a sample that states no period.
    pub fn default_weight(&self) -> u64 {
        if self.has_flag(flag::FREQ) { 1 } else { self.sample_period.max(1) }
    }
}

/// Where the fields of an event's samples stand, in bytes from the start of the record's body.
///
/// IP to PERIOD have fixed places. Then come the counter values, the call chain and the *tail*
/// (raw data, branch stack, registers, stack dump …), each of which has a length of its own in
/// every sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleLayout {
    /// u64.
    pub ip: Option<usize>,
    /// u32 pid, u32 tid.
    pub tid: Option<usize>,
    /// u64.
    pub time: Option<usize>,
    /// u64 data address.
    pub data_address: Option<usize>,
    /// u64, wherever it stands: IDENTIFIER or ID.
    pub id: Option<usize>,
    /// u64.
    pub stream_id: Option<usize>,
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
    /// What follows the call chain.
    pub tail: TailLayout,
    /// Fields of the trailer of records that are not samples.
    pub trailer: TrailerLayout,
}

/// Whether a field is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    Present,
    /// It is not.
    #[default]
    Absent,
}

/// Which fields follow the call chain, and what of their shape the attr decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TailLayout {
    /// Bits of [`sample_type`], those of the tail alone.
    pub fields: u64,
    /// Bits of [`crate::format::attr::branch_sample_type`].
    pub branch_sample_type: u64,
    /// Registers of user space, a bit for each.
    pub user_registers: u64,
    /// Registers where the event's interrupt came, a bit for each.
    pub interrupt_registers: u64,
    /// How many bytes of the user stack were to be copied, if call chains have a user part only where somebody else than
    /// the kernel has made it of that.
    pub copied_for_chain: Option<u32>,
}

impl TailLayout {
    const FIELDS: u64 = sample_type::RAW
        | sample_type::BRANCH_STACK
        | sample_type::REGS_USER
        | sample_type::STACK_USER
        | sample_type::WEIGHT
        | sample_type::WEIGHT_STRUCT
        | sample_type::DATA_SRC
        | sample_type::TRANSACTION
        | sample_type::REGS_INTR
        | sample_type::PHYS_ADDR
        | sample_type::CGROUP
        | sample_type::DATA_PAGE_SIZE
        | sample_type::CODE_PAGE_SIZE
        | sample_type::AUX;

    /// True if samples say what memory access they were taken of. With `--call-graph dwarf` perf asks for an
    /// address and a source of data, too, whatever the event is; then these two say nothing
    /// (`record_opts__parse_callchain` in tools/perf/builtin-record.c, Linux 6.1).
    pub fn has_access(&self) -> bool {
        const COSTS_AND_PLACES: u64 = sample_type::WEIGHT
            | sample_type::WEIGHT_STRUCT
            | sample_type::PHYS_ADDR
            | sample_type::DATA_PAGE_SIZE;
        let has_source = self.has(sample_type::DATA_SRC) && !self.has(sample_type::STACK_USER);
        self.has(COSTS_AND_PLACES) || has_source
    }

    /// True if samples end with their call chain.
    pub fn is_empty(&self) -> bool {
        self.fields == 0
    }

    /// True if the field of a bit of [`sample_type`] is there.
    pub fn has(&self, bit: u64) -> bool {
        self.fields & bit != 0
    }
}

/// Where the fields of the trailer stand, in bytes back from the end of the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrailerLayout {
    /// Bytes of the trailer; 0 if the event has none (`sample_id_all` is off).
    pub size: usize,
    /// u32 pid, u32 tid.
    pub tid: Option<usize>,
    /// u64.
    pub time: Option<usize>,
    /// u64: IDENTIFIER or ID.
    pub id: Option<usize>,
    /// u32.
    pub cpu: Option<usize>,
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
        let data_address = place(sample_type::ADDR);
        let id = place(sample_type::ID);
        let stream_id = place(sample_type::STREAM_ID);
        let cpu = place(sample_type::CPU);
        let period = place(sample_type::PERIOD);
        let present = |bit| attr.sample_type & bit != 0;
        Self {
            ip,
            tid,
            time,
            data_address,
            id: identifier.or(id),
            stream_id,
            cpu,
            period,
            fixed_end: end,
            read_format: present(sample_type::READ).then_some(attr.read_format),
            call_chain: match present(sample_type::CALLCHAIN) {
                true => Presence::Present,
                false => Presence::Absent,
            },
            tail: TailLayout {
                fields: attr.sample_type & TailLayout::FIELDS,
                branch_sample_type: attr.branch_sample_type,
                user_registers: attr.user_registers,
                interrupt_registers: attr.interrupt_registers,
                copied_for_chain: (present(sample_type::STACK_USER)
                    && attr.has_flag(flag::EXCLUDE_CALLCHAIN_USER))
                .then_some(attr.user_stack_size),
            },
            trailer: TrailerLayout::new(attr),
        }
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
        let cpu = place(sample_type::CPU);
        let _stream_id = place(sample_type::STREAM_ID);
        let id = place(sample_type::ID);
        let time = place(sample_type::TIME);
        let tid = place(sample_type::TID);
        Self { size, tid, time, id: identifier.or(id), cpu }
    }

    /// The u64 that stands `back` bytes before the end of `record`.
    pub fn field(record: &[u8], back: Option<usize>, order: ByteOrder) -> Option<u64> {
        let start = record.len().checked_sub(back?)?;
        Some(order.u64(*record.get(start..)?.first_chunk()?))
    }

    /// The process and thread that a record names in its trailer.
    pub fn task(&self, record: &[u8], order: ByteOrder) -> Option<(u32, u32)> {
        let start = record.len().checked_sub(self.tid?)?;
        let [p0, p1, p2, p3, t0, t1, t2, t3] = *record.get(start..)?.first_chunk()?;
        Some((order.u32([p0, p1, p2, p3]), order.u32([t0, t1, t2, t3])))
    }

    /// The CPU that a record names in its trailer.
    pub fn cpu(&self, record: &[u8], order: ByteOrder) -> Option<u32> {
        let start = record.len().checked_sub(self.cpu?)?;
        Some(order.u32(*record.get(start..)?.first_chunk()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An attr whose every byte is its offset, but for its size.
    fn numbered(size: u32) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..size.max(64) as u8).collect();
        bytes[4..8].copy_from_slice(&size.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Attr {
        Attr::read(bytes, 0, ByteOrder::Little).expect("an attr")
    }

    #[test]
    fn fields_that_an_attr_lacks_are_zero() {
        let newest = read(&numbered(144));
        assert_eq!(newest.config4, u64::from_le_bytes([136, 137, 138, 139, 140, 141, 142, 143]));
        assert_eq!(newest.max_stack, u16::from_le_bytes([108, 109]));
        assert_eq!(newest.aux_action, u32::from_le_bytes([116, 117, 118, 119]));
        let older = read(&numbered(112));
        assert_eq!((older.max_stack, older.aux_sample_size), (newest.max_stack, 0));
        assert_eq!((older.signal_data, older.config3, older.config4), (0, 0, 0));
        let first = read(&numbered(64));
        assert_eq!((first.config1, first.config2), (newest.config1, 0));
    }

    #[test]
    fn no_more_is_read_than_the_attr_has_or_there_is_room_for() {
        // The ids of a HEADER_ATTR record follow the attr.
        let with_ids = [numbered(72), vec![0xff; 80]].concat();
        assert_eq!(read(&with_ids), read(&numbered(72)));
        let no_size = [numbered(0), vec![0xff; 80]].concat();
        assert_eq!(read(&no_size), Attr { size: 64, ..read(&numbered(64)) });
        // A stride that is shorter than the attr says it is.
        let cut = &numbered(144)[..96];
        assert_eq!(read(cut), Attr { size: 144, ..read(&numbered(96)) });
        // A size of the future.
        assert_eq!(read(&numbered(200)), Attr { size: 200, ..read(&numbered(144)) });
    }

    #[test]
    fn an_attr_without_flags_is_none() {
        assert!(Attr::read(&numbered(64)[..47], 0, ByteOrder::Little).is_err());
        assert!(Attr::read(&numbered(64)[..48], 0, ByteOrder::Little).is_ok());
    }

    #[test]
    fn flags_of_big_endian_machines_begin_at_the_top() {
        let mut bytes = vec![0; 64];
        bytes[40] = 0b0010_0000; // pinned: the third bit from the top
        bytes[42] = 0b0010_0000; // sample_id_all: bit 18 from the top
        let attr = Attr::read(&bytes, 0, ByteOrder::Big).expect("an attr");
        assert_eq!(attr.flags, 1 << 2 | flag::SAMPLE_ID_ALL);
    }
}
