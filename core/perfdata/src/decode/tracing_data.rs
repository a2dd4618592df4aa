//! ftrace's own description of what it traced: feature section 1, the HEADER_TRACING_DATA record,
//! and simpleperf's TRACING_DATA record.
//!
//! ```text
//! 17 08 44 "tracing"              // tools/perf/util/trace-event-info.c
//! char version[]                  // "0.6"; NUL-terminated like all strings here
//! u8  big endian; u8 sizeof(long); u32 page size
//! "header_page",  u64 size, text
//! "header_event", u64 size, text
//! u32 n; n × { u64 size, text }   // formats of ftrace itself
//! u32 n; n × { string system; u32 m; m × { u64 size, text } }
//! u32 size, kallsyms
//! u32 size, printk formats
//! u64 size, "pid comm" lines      // since version 0.6 (Linux 4.4)
//! ```
//!
//! It has the byte order that it says itself, which need not be that of the file around it. What
//! is damaged ends the reading; what came before it stays.

use std::borrow::Cow;

use crate::decode::cursor::until_nul;
use crate::decode::event_format::{EventFormat, EventFormats, Producer};
use crate::decode::{ByteOrder, Cursor};
use crate::error::{DecodeError, DecodeErrorKind};

const MAGIC: [u8; 10] = *b"\x17\x08\x44tracing";
const WHAT: &str = "the tracing data";

/// What tracing data says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracingData {
    /// The tracepoints.
    pub formats: EventFormats,
    /// Names of threads that the kernel remembered when the recording ended: for threads that
    /// have no other.
    pub comms: Vec<SavedComm>,
}

/// A thread's name that the kernel remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedComm {
    /// The thread.
    pub tid: u32,
    /// Its name.
    pub name: String,
}

impl TracingData {
    /// Reads all of it; what came before an error stays.
    pub fn read(bytes: &[u8], offset: u64) -> (Self, Result<(), DecodeError>) {
        let mut reader = Reader::default();
        let read = reader.read(bytes, offset);
        let data = Self { formats: EventFormats::new(reader.formats), comms: reader.comms };
        (data, reader.nameless.map_or(read, Err))
    }
}

#[derive(Default)]
struct Reader {
    formats: Vec<EventFormat>,
    comms: Vec<SavedComm>,
    /// The first description that no tracepoint could be made of.
    nameless: Option<DecodeError>,
}

impl Reader {
    fn read(&mut self, bytes: &[u8], offset: u64) -> Result<(), DecodeError> {
        let mut head = Cursor::new(bytes, offset, ByteOrder::Little, WHAT);
        let magic = head.take(MAGIC.len())?;
        if magic != MAGIC {
            let value = u64::from(magic.first().copied().unwrap_or(0));
            let what = "the first byte of the tracing data";
            return Err(DecodeErrorKind::Invalid { what, value }.at(offset));
        }
        let version = c_string(&mut head)?;
        let order = match head.u8()? {
            0 => ByteOrder::Little,
            _ => ByteOrder::Big,
        };
        let producer = Producer { order, long_size: head.u8()? };
        let mut cursor = Cursor::new(head.rest(), head.offset(), order, WHAT);
        let _page_size = cursor.u32()?;
        for _header_page_and_event in 0..2 {
            c_string(&mut cursor)?;
            sized_text(&mut cursor)?;
        }
        let ftrace_formats = cursor.u32()?;
        self.formats("ftrace", ftrace_formats, &mut cursor, producer)?;
        let systems = cursor.u32()?;
        for _ in 0..systems {
            let system = c_string(&mut cursor)?;
            let count = cursor.u32()?;
            self.formats(&system, count, &mut cursor, producer)?;
        }
        for _kallsyms_and_printk in 0..2 {
            let size = cursor.u32()?;
            cursor.take_u64(size.into())?;
        }
        if has_comms(&version) {
            let lines = sized_text(&mut cursor)?;
            self.comms.extend(lines.lines().filter_map(SavedComm::parse));
        }
        Ok(())
    }

    fn formats(
        &mut self,
        system: &str,
        count: u32,
        cursor: &mut Cursor<'_>,
        producer: Producer,
    ) -> Result<(), DecodeError> {
        for _ in 0..count {
            let offset = cursor.offset();
            let format = EventFormat::parse(system, &sized_text(cursor)?, producer);
            if format.is_none() {
                let what = "the id of a tracepoint";
                let invalid = DecodeErrorKind::Invalid { what, value: 0 };
                self.nameless.get_or_insert_with(|| invalid.at(offset));
            }
            self.formats.extend(format);
        }
        Ok(())
    }
}

impl SavedComm {
    /// A line of /sys/kernel/tracing/saved_cmdlines.
    fn parse(line: &str) -> Option<Self> {
        let (tid, name) = line.split_once(' ')?;
        Some(Self { tid: tid.parse().ok()?, name: name.to_owned() })
    }
}

/// True from version 0.6 on.
fn has_comms(version: &str) -> bool {
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    let number = |text: &str| text.trim().parse::<u32>().unwrap_or(0);
    (number(major), number(minor)) >= (0, 6)
}

/// `u64 size`, then that many bytes.
fn sized_text<'a>(cursor: &mut Cursor<'a>) -> Result<Cow<'a, str>, DecodeError> {
    let size = cursor.u64()?;
    Ok(String::from_utf8_lossy(cursor.take_u64(size)?))
}

/// A string that ends in a NUL.
fn c_string(cursor: &mut Cursor<'_>) -> Result<String, DecodeError> {
    let text = until_nul(cursor.rest());
    let length = text.len();
    let text = String::from_utf8_lossy(text).into_owned();
    cursor.take(length + 1)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &str = "name: sched_switch\nID: 372\nformat:\n\
                          \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n";
    const OPENAT: &str = "name: sys_enter_openat\nID: 782\nformat:\n\
                          \tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n";

    /// Integers in the order that the data says of itself.
    fn tracing_data(version: &str, order: ByteOrder) -> Vec<u8> {
        let u32_bytes = |value: u32| match order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        };
        let sized = |text: &str| {
            let length = text.len() as u64;
            let size = match order {
                ByteOrder::Little => length.to_le_bytes(),
                ByteOrder::Big => length.to_be_bytes(),
            };
            [&size[..], text.as_bytes()].concat()
        };
        let mut bytes = [&b"\x17\x08Dtracing"[..], version.as_bytes(), b"\0"].concat();
        bytes.extend([u8::from(order == ByteOrder::Big), 8]);
        bytes.extend(u32_bytes(4096));
        bytes.extend([b"header_page\0", &sized("\tfield: u64 timestamp;\n")[..]].concat());
        bytes.extend([b"header_event\0", &sized("# compressed entry header\n")[..]].concat());
        bytes.extend(u32_bytes(1));
        bytes.extend(sized("name: function\nID: 1\n"));
        bytes.extend(u32_bytes(2));
        for (system, text) in [("sched", SWITCH), ("syscalls", OPENAT)] {
            bytes.extend([system.as_bytes(), b"\0", &u32_bytes(1), &sized(text)].concat());
        }
        for text in ["ffffffff81000000 T _text\n", "0xffffffff82000000 : \"hi\"\n"] {
            bytes.extend([&u32_bytes(text.len() as u32), text.as_bytes()].concat());
        }
        if version == "0.6" {
            bytes.extend(sized("1 systemd\n4711 two words\nnobody\n"));
        }
        bytes
    }

    fn names(data: &TracingData) -> Vec<String> {
        data.formats.iter().map(EventFormat::event_name).collect()
    }

    #[test]
    fn both_versions_and_byte_orders_are_read() {
        let expected = ["ftrace:function", "sched:sched_switch", "syscalls:sys_enter_openat"];
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let (data, read) = TracingData::read(&tracing_data("0.6", order), 0);
            assert_eq!((names(&data), read), (expected.map(str::to_owned).to_vec(), Ok(())));
            let comm = |tid, name: &str| SavedComm { tid, name: name.to_owned() };
            assert_eq!(data.comms, [comm(1, "systemd"), comm(4711, "two words")]);
            assert_eq!(data.formats.by_id(372).expect("described").system, "sched");
            assert_eq!(data.formats.by_id(373), None);

            let (old, read) = TracingData::read(&tracing_data("0.5", order), 0);
            assert_eq!((&old.formats, read), (&data.formats, Ok(())));
            assert_eq!(old.comms, []);
        }
    }

    #[test]
    fn what_came_before_a_cut_stays() {
        let bytes = tracing_data("0.6", ByteOrder::Little);
        let whole = bytes.len();
        let mut known = 0;
        for length in 0..whole {
            let (data, read) = TracingData::read(&bytes[..length], 100);
            assert!(read.is_err_and(|error| error.offset <= 100 + length as u64), "{length}");
            assert!(data.formats.iter().len() >= known);
            known = data.formats.iter().len();
        }
        assert_eq!(known, 3);
    }

    #[test]
    fn one_bad_description_does_not_take_the_others_away() {
        let mut bytes = tracing_data("0.6", ByteOrder::Little);
        let at = bytes.windows(3).position(|bytes| bytes == b"ID:").expect("there are ids");
        bytes[at] = b'X';
        let (data, read) = TracingData::read(&bytes, 0);
        assert_eq!(names(&data), ["sched:sched_switch", "syscalls:sys_enter_openat"]);
        assert!(read.is_err());
    }
}
