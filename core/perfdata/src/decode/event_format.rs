//! The kernel's descriptions of its tracepoints, as text, and the fields of a sample's raw data
//! that they describe.
//!
//! Offsets and sizes differ between kernels and machines, so a field is read where the recording
//! itself says that it is, and nowhere else.
//!
//! ```text
//! name: sched_switch                       // /sys/kernel/tracing/events/sched/sched_switch/format
//! ID: 372
//! format:
//!     field:unsigned short common_type;    offset:0;    size:2;    signed:0;
//!     field:char prev_comm[16];    offset:8;    size:16;    signed:0;
//!     field:__data_loc char[] filename;    offset:24;    size:4;    signed:0;
//!
//! print fmt: "…", REC->prev_comm
//! ```
//!
//! The print format is C; [`super::print_format`] computes it.

use crate::sorting::sort_by_key;
use std::borrow::Cow;
use std::fmt;

use crate::decode::ByteOrder;
use crate::decode::cursor::until_nul;

/// The machine whose kernel wrote the raw data; it may differ from the rest of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Producer {
    /// Its byte order.
    pub order: ByteOrder,
    /// Bytes of its `long`.
    pub long_size: u8,
}

/// The tracepoints that a recording describes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventFormats {
    /// By ascending id.
    formats: Vec<EventFormat>,
}

/// One tracepoint.
#[derive(Clone, Debug, PartialEq)]
pub struct EventFormat {
    /// The config of its attr, and the `common_type` of its raw data.
    pub id: u64,
    /// As `sched`.
    pub system: String,
    /// As `sched_switch`.
    pub name: String,
    /// In the order of the description; the first ones are common to all tracepoints.
    pub fields: Vec<Field>,
    /// What stands behind `print fmt:`.
    pub print_text: String,
    long_size: u8,
}

/// A field of a tracepoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// As `prev_pid`.
    pub name: String,
    /// In C, without the name: `pid_t`, `char[16]`, `__data_loc char[]`.
    pub type_name: String,
    pub(super) place: Place,
}

/// Where a field is and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    offset: u32,
    size: u32,
    location: Location,
    element: Element,
    order: ByteOrder,
}

/// How the bytes of a field are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location {
    /// They are where the description says.
    Inline,
    /// There is a u32 there: offset (low half) and length (high half) in the raw data.
    DataLoc,
    /// The same, the offset counted from the end of the u32 (since Linux 5.17).
    RelLoc,
}

/// What the bytes of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Integer {
        signed: bool,
    },
    /// An array of integers.
    Integers {
        size: u8,
        signed: bool,
    },
    /// Characters, up to the first NUL.
    Text,
    Bytes,
}

/// An integer of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Of a signed type.
    Signed(i64),
    /// Of an unsigned type, or a pointer.
    Unsigned(u64),
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// An integer.
    Number(Number),
    /// An array of integers.
    Numbers(Vec<Number>),
    /// A string.
    Text(Cow<'a, str>),
    /// Anything else.
    Bytes(&'a [u8]),
}

impl EventFormats {
    /// In any order; of several with one id the first counts.
    pub fn new(mut formats: Vec<EventFormat>) -> Self {
        sort_by_key(&mut formats, |format| format.id);
        formats.dedup_by_key(|format| format.id);
        Self { formats }
    }

    /// The tracepoint of an id: the config of an attr of type tracepoint.
    pub fn by_id(&self, id: u64) -> Option<&EventFormat> {
        let place = self.formats.binary_search_by_key(&id, |format| format.id).ok()?;
        self.formats.get(place)
    }

    /// The tracepoint of a name.
    pub fn by_name(&self, system: &str, name: &str) -> Option<&EventFormat> {
        self.formats.iter().find(|format| format.name == name && format.system == system)
    }

    /// All of them, by ascending id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &EventFormat> {
        self.formats.iter()
    }

    /// True if the recording describes none.
    pub fn is_empty(&self) -> bool {
        self.formats.is_empty()
    }
}

impl EventFormat {
    /// Reads a description as the kernel prints it; `None` if it has no id or no name.
    pub fn parse(system: &str, text: &str, producer: Producer) -> Option<Self> {
        let (mut id, mut name, mut fields, mut print_text) = (None, None, Vec::new(), "");
        for line in text.lines() {
            let line = line.trim();
            if let Some(value) = line.strip_prefix("ID:") {
                id = value.trim().parse().ok();
            } else if let Some(value) = line.strip_prefix("name:") {
                name = Some(value.trim().to_owned());
            } else if let Some(format) = line.strip_prefix("print fmt:") {
                print_text = format.trim();
                break;
            } else if let Some(field) = line.strip_prefix("field") {
                // `field:`, and `field special:` in Linux 2.6.
                let declaration = field.split_once(':').map(|(_, rest)| rest);
                fields.extend(declaration.and_then(|rest| Field::parse(rest, producer)));
            }
        }
        let (system, print_text) = (system.to_owned(), print_text.to_owned());
        let long_size = producer.long_size;
        Some(Self { id: id?, system, name: name?, fields, print_text, long_size })
    }

    /// Bits of a `long` of the machine.
    pub(super) fn long_bits(&self) -> u32 {
        if self.long_size == 4 { 32 } else { 64 }
    }

    /// As perf names it: `sched:sched_switch`.
    pub fn event_name(&self) -> String {
        format!("{}:{}", self.system, self.name)
    }

    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The fields that are this tracepoint's own, without the four or five common ones.
    pub fn own_fields(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| !field.name.starts_with("common_"))
    }
}

impl Field {
    /// A line without `field:`.
    fn parse(line: &str, producer: Producer) -> Option<Self> {
        let mut parts = line.split(';').map(str::trim);
        let declaration = parts.next()?;
        let (mut offset, mut size, mut signed) = (None, None, None);
        for part in parts {
            match part.split_once(':') {
                Some(("offset", value)) => offset = value.parse().ok(),
                Some(("size", value)) => size = value.parse().ok(),
                // Linux before 2.6.33 does not say it.
                Some(("signed", value)) => signed = Some(value != "0"),
                _ => {}
            }
        }
        let (offset, size): (u32, u32) = (offset?, size?);
        let (location, declaration) = match declaration.split_once(' ') {
            Some(("__data_loc", rest)) => (Location::DataLoc, rest),
            Some(("__rel_loc", rest)) => (Location::RelLoc, rest),
            _ => (Location::Inline, declaration),
        };
        let Declaration { name, base, dimension } = Declaration::parse(declaration)?;
        let signed = signed.unwrap_or(!base.contains("unsigned") && !base.starts_with('u'));
        let element = match dimension {
            None if matches!(size, 1 | 2 | 4 | 8) => Element::Integer { signed },
            None => Element::Bytes,
            Some(_) if is_char(base) => Element::Text,
            Some(count) => {
                let stated = count.parse().ok().filter(|&count: &u32| count > 0);
                let by_count = stated.filter(|_| location == Location::Inline);
                let element = by_count.map(|count| size / count);
                match element.or_else(|| size_of_type(base, producer)) {
                    Some(size @ (2 | 4 | 8)) => Element::Integers { size: size as u8, signed },
                    _ => Element::Bytes,
                }
            }
        };
        let prefix = match location {
            Location::Inline => "",
            Location::DataLoc => "__data_loc ",
            Location::RelLoc => "__rel_loc ",
        };
        let suffix = dimension.map_or(String::new(), |count| format!("[{count}]"));
        Some(Self {
            name: name.to_owned(),
            type_name: format!("{prefix}{base}{suffix}"),
            place: Place { offset, size, location, element, order: producer.order },
        })
    }

    /// The field's value in the raw data of a sample; `None` if it does not fit in there.
    pub fn read<'a>(&self, raw: &'a [u8]) -> Option<Value<'a>> {
        self.place.read(raw)
    }

    /// An integer, as it is wanted where the sign does not matter: pids, states, addresses.
    pub fn read_u64(&self, raw: &[u8]) -> Option<u64> {
        self.place.number(raw).map(Number::as_u64)
    }
}

/// A field's declaration, taken apart.
struct Declaration<'a> {
    name: &'a str,
    base: &'a str,
    /// Between the brackets, where there are some: a number, a macro's name or nothing.
    dimension: Option<&'a str>,
}

impl<'a> Declaration<'a> {
    /// `pid_t prev_pid`, `char prev_comm[16]`, `char[] filename`, `const char * name`.
    fn parse(text: &'a str) -> Option<Self> {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let (rest, after) = match text.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
            Some((rest, dimension)) => (rest.trim_end(), Some(dimension)),
            None => (text, None),
        };
        let start = rest
            .rfind(|c: char| !is_name(c))
            .map_or(0, |last| last + rest[last..].chars().next().map_or(1, char::len_utf8));
        let (base, name) = rest.split_at(start);
        let base = base.trim_end();
        let (base, before) = match base.strip_suffix(']').and_then(|base| base.rsplit_once('[')) {
            Some((base, dimension)) => (base.trim_end(), Some(dimension)),
            None => (base, None),
        };
        if name.is_empty() || base.is_empty() {
            return None;
        }
        Some(Self { name, base, dimension: after.or(before).map(str::trim) })
    }
}

fn is_char(base: &str) -> bool {
    let plain = base.strip_prefix("const ").unwrap_or(base);
    matches!(plain, "char" | "unsigned char" | "signed char")
}

/// Bytes of a C type of the kernel, as far as arrays are made of it.
fn size_of_type(base: &str, producer: Producer) -> Option<u32> {
    let base = base.strip_prefix("const ").unwrap_or(base);
    let base = base.strip_prefix("unsigned ").unwrap_or(base);
    Some(match base.trim_start_matches('_') {
        _ if base.ends_with('*') => u32::from(producer.long_size),
        "char" | "u8" | "s8" | "bool" | "uint8_t" | "int8_t" => 1,
        "short" | "u16" | "s16" | "uint16_t" | "int16_t" | "be16" | "le16" => 2,
        "int" | "u32" | "s32" | "uint32_t" | "int32_t" | "be32" | "le32" | "pid_t" | "dev_t" => 4,
        "u64" | "s64" | "uint64_t" | "int64_t" | "be64" | "le64" | "long long" => 8,
        "long" | "size_t" | "ssize_t" | "uintptr_t" => u32::from(producer.long_size),
        _ => return None,
    })
}

impl Place {
    pub(super) fn bytes<'a>(&self, raw: &'a [u8]) -> Option<&'a [u8]> {
        let offset = self.offset as usize;
        let inline = raw.get(offset..offset.checked_add(self.size as usize)?)?;
        if self.location == Location::Inline {
            return Some(inline);
        }
        let word = self.order.u32(*inline.first_chunk()?);
        let base = if self.location == Location::RelLoc { offset + inline.len() } else { 0 };
        let start = base.checked_add((word & 0xffff) as usize)?;
        raw.get(start..start.checked_add((word >> 16) as usize)?)
    }

    pub(super) fn read<'a>(&self, raw: &'a [u8]) -> Option<Value<'a>> {
        let bytes = self.bytes(raw)?;
        Some(match self.element {
            Element::Integer { signed } => match number(bytes, signed, self.order) {
                Some(number) => Value::Number(number),
                None => Value::Bytes(bytes),
            },
            Element::Integers { size, signed } => {
                let elements = bytes.chunks_exact(usize::from(size).max(1));
                let numbers = elements.filter_map(|bytes| number(bytes, signed, self.order));
                Value::Numbers(numbers.collect())
            }
            Element::Text => Value::Text(String::from_utf8_lossy(until_nul(bytes))),
            Element::Bytes => Value::Bytes(bytes),
        })
    }

    fn number(&self, raw: &[u8]) -> Option<Number> {
        match self.element {
            Element::Integer { signed } => number(self.bytes(raw)?, signed, self.order),
            _ => None,
        }
    }

    fn text<'a>(&self, raw: &'a [u8]) -> Option<Cow<'a, str>> {
        match self.element {
            Element::Text => Some(String::from_utf8_lossy(until_nul(self.bytes(raw)?))),
            _ => None,
        }
    }
}

fn number(bytes: &[u8], signed: bool, order: ByteOrder) -> Option<Number> {
    let value = match *bytes {
        [byte] => u64::from(byte),
        [a, b] => u64::from(order.u16([a, b])),
        [a, b, c, d] => u64::from(order.u32([a, b, c, d])),
        _ => order.u64(bytes.try_into().ok()?),
    };
    let unused = 64 - 8 * bytes.len() as u32;
    Some(if signed {
        Number::Signed((value << unused) as i64 >> unused)
    } else {
        Number::Unsigned(value)
    })
}

impl Number {
    /// As a u64; a negative number wraps.
    pub fn as_u64(self) -> u64 {
        match self {
            Self::Signed(number) => number as u64,
            Self::Unsigned(number) => number,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signed(number) => number.fmt(f),
            Self::Unsigned(number) => number.fmt(f),
        }
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Numbers(numbers) => {
                for (index, number) in numbers.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "," };
                    write!(f, "{separator}{number}")?;
                }
                Ok(())
            }
            Self::Text(text) => f.write_str(text),
            Self::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

/// Where `sched:sched_switch` has its fields; looked up once, then read from many samples.
#[derive(Clone, Copy, Debug)]
pub struct SchedSwitchFields {
    prev_comm: Option<Place>,
    prev_pid: Place,
    prev_state: Place,
    next_comm: Option<Place>,
    next_pid: Place,
}

/// A CPU goes from one thread to another.
#[derive(Clone, Debug, PartialEq)]
pub struct SchedSwitch<'a> {
    /// Name of the thread that leaves.
    pub prev_comm: Option<Cow<'a, str>>,
    /// The thread that leaves; what the kernel calls pid is a thread's id.
    pub prev_tid: u32,
    /// Why it leaves, as bits of the kernel's task state: 0 if it could run on.
    pub prev_state: u64,
    /// Name of the thread that comes.
    pub next_comm: Option<Cow<'a, str>>,
    /// The thread that comes; 0 if none does.
    pub next_tid: u32,
}

impl SchedSwitchFields {
    /// `None` if `format` is another tracepoint or lacks one of the fields that tell who and why.
    pub fn of(format: &EventFormat) -> Option<Self> {
        let place = |name| format.field(name).map(|field| field.place);
        if format.name != "sched_switch" {
            return None;
        }
        Some(Self {
            prev_comm: place("prev_comm"),
            prev_pid: place("prev_pid")?,
            prev_state: place("prev_state")?,
            next_comm: place("next_comm"),
            next_pid: place("next_pid")?,
        })
    }

    /// Reads a sample's raw data; `None` if it is too short.
    pub fn read<'a>(&self, raw: &'a [u8]) -> Option<SchedSwitch<'a>> {
        Some(SchedSwitch {
            prev_comm: self.prev_comm.and_then(|place| place.text(raw)),
            prev_tid: self.prev_pid.number(raw)?.as_u64() as u32,
            prev_state: self.prev_state.number(raw)?.as_u64(),
            next_comm: self.next_comm.and_then(|place| place.text(raw)),
            next_tid: self.next_pid.number(raw)?.as_u64() as u32,
        })
    }
}

/// Where `sched:sched_wakeup` or a tracepoint like it has the thread that it wakes.
#[derive(Clone, Copy, Debug)]
pub struct SchedWakeupFields {
    pid: Place,
}

impl SchedWakeupFields {
    /// `None` if `format` wakes nobody.
    pub fn of(format: &EventFormat) -> Option<Self> {
        let wakes = matches!(format.name.as_str(), "sched_wakeup" | "sched_wakeup_new");
        let pid = format.field("pid").filter(|_| wakes)?;
        Some(Self { pid: pid.place })
    }

    /// The thread that is woken.
    pub fn tid(&self, raw: &[u8]) -> Option<u32> {
        Some(self.pid.number(raw)?.as_u64() as u32)
    }
}

#[cfg(test)]
mod tests;
