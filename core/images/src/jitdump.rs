//! jitdump, `jit-PID.dump`: what a run time writes of the code that it makes, while it does, for
//! `perf inject --jit` (Linux 6.12, tools/perf/Documentation/jitdump-specification.txt and
//! tools/perf/util/jitdump.h):
//!
//! ```text
//! header                               record                    LOAD
//!  0  u32  0x4a695444, in its order     0  u32  kind              16  u32  pid, u32 tid
//!  4  u32  version: 1                   4  u32  bytes, with       24  u64  vma, u64 code address
//!  8  u32  bytes of the header                  these 16          40  u64  bytes of code, u64 number
//! 12  u32  ELF machine, u32 padding     8  u64  time, ns          56  name, a zero, the code
//! 20  u32  pid                         16  …
//! 24  u64  time, ns                                              MOVE
//! 32  u64  flags: 1 times are those    kind: 0 LOAD, 1 MOVE,     16  u32  pid, u32 tid
//!          of the processor's counter  2 DEBUG_INFO, 3 CLOSE,    24  u64  vma, old address,
//!                                      4 UNWINDING_INFO               new address, bytes, number
//!
//! DEBUG_INFO                           each line                 UNWINDING_INFO
//! 16  u64  code address                 0  u64  address          16  u64  bytes of what follows
//! 24  u64  how many lines               8  u32  line, u32 column 24  u64  those of its .eh_frame_hdr
//! 32  lines                            16  file and a zero;      32  u64  those in memory
//!                                          ff 00: as before      40  .eh_frame, .eh_frame_hdr
//! ```
//!
//! The last two are of the LOAD that comes next. The specification has the header before the frames; perf and those who
//! write it (V8, CPython) have it behind them. They stand behind the code as in the ELF file that perf makes of it, so
//! far that it is a multiple of eight bytes.
//!
//! All times of records are by CLOCK_MONOTONIC, unless the flag is set. That of the header is of no use: V8 has the
//! clock on the wall there. Nothing is said when code is given up: it
//! lasts until other code is where it was. A body of code is in the file once, wherever it is moved to,
//! so its place there is what frames count by. Records of any length are passed over without being read.

use std::ops::Range;

use perftab_dsos::{CodeChange, MadeCode};
use perftab_perfdata::decode::{ByteOrder, ByteSource, ReadError};
use perftab_perfdata::map::Map;

use crate::code_table::{Clock, CodeRules, CodeTable, LeftOut, LinesBuilder, Names};

const MAGIC: u32 = 0x4a69_5444;
const VERSION: u32 = 1;
const HEADER: u64 = 40;
const ARCH_TIMESTAMP: u64 = 1;
const RECORD: u64 = 16;
/// Where the name stands in a LOAD record.
const LOAD: u64 = 56;
const MOVE: u64 = 64;
const DEBUG_INFO: u32 = 2;
/// Kind of the last record.
const CLOSE: u32 = 3;
const UNWINDING_INFO: u32 = 4;
/// Where lines stand in a DEBUG_INFO record, and the file in a line.
const LINES: usize = 32;
const LINE_FILE: usize = 16;
/// A line is of the file of the one before.
const SAME_FILE: &[u8] = b"\xff";
/// Where rules stand in an UNWINDING_INFO record.
const RULES: u64 = 40;
/// Longer records with lines are left out.
const MAX_LINES: u64 = 16 << 20;
/// Longer names are cut.
const MAX_NAME: u64 = 16 << 10;
/// Bytes that are read at once, if what is asked for has no more.
const BLOCK: u64 = 256 << 10;

/// True if a file that begins with these bytes is a jitdump.
pub fn is_jitdump(start: &[u8]) -> bool {
    byte_order(start).is_some()
}

fn byte_order(start: &[u8]) -> Option<ByteOrder> {
    let magic = *start.first_chunk::<4>()?;
    [ByteOrder::Little, ByteOrder::Big].into_iter().find(|order| order.u32(magic) == MAGIC)
}

/// Reads a jitdump. What is behind the first record that is none is left out: the process may have
/// ended, or still be, in the middle of one.
pub(super) fn read(name: &str, source: &dyn ByteSource) -> Result<CodeTable, ReadError> {
    let start = source.read_vec(0, source.len().min(HEADER))?;
    let (Some(order), true) = (byte_order(&start), start.len() as u64 == HEADER) else {
        return Err(ReadError::new("a jitdump without its header"));
    };
    let field = |at: usize| order.u32(bytes_at(&start, at));
    let long = |at: usize| order.u64(bytes_at(&start, at));
    if field(4) != VERSION {
        return Err(ReadError::new(format!("a jitdump of version {}, not 1", field(4))));
    }
    let mut records = Records {
        window: Window { source, start: 0, bytes: Vec::new() },
        order,
        changes: Vec::new(),
        names: Names::default(),
        bodies: Map::new(),
        pid: field(20),
        lines: LinesBuilder::default(),
        lines_of: 0,
        rules: CodeRules::default(),
        rules_of_next: Vec::new(),
        left_out: LeftOut::default(),
    };
    let mut at = u64::from(field(8)).max(HEADER);
    while let Some(next) = records.read_one(at)? {
        at = next;
    }
    let Records { changes, names, lines, rules, left_out, .. } = records;
    let first = changes.iter().map(|change| change.time_nanos).min();
    let clock = match long(32) & ARCH_TIMESTAMP {
        0 => Clock::Monotonic { begun: first.unwrap_or(0) },
        _ => Clock::Processor,
    };
    let table = CodeTable::new(name, Some(field(20)), clock, changes, names);
    let mut table = table.with_details(lines.finish(), rules);
    // CPython 3.13 says 0.
    table.machine = u16::try_from(field(12)).ok().filter(|&machine| machine != 0);
    table.left_out = left_out;
    Ok(table)
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

/// Records as they are read.
struct Records<'a> {
    window: Window<'a>,
    order: ByteOrder,
    changes: Vec<CodeChange>,
    names: Names,
    /// The code of each number.
    bodies: Map<u64, MadeCode>,
    /// The process of the file.
    pid: u32,
    lines: LinesBuilder,
    /// Where the code is of which lines came.
    lines_of: u64,
    rules: CodeRules,
    /// Those of the code that comes next.
    rules_of_next: Vec<u8>,
    left_out: LeftOut,
}

impl Records<'_> {
    /// Reads the record at an offset. Tells where the next one is; `None`: there is none.
    fn read_one(&mut self, at: u64) -> Result<Option<u64>, ReadError> {
        let order = self.order;
        let Some(head) = self.window.get(at, RECORD)? else { return Ok(None) };
        let kind = order.u32(bytes_at(head, 0));
        let size = u64::from(order.u32(bytes_at(head, 4)));
        let time_nanos = order.u64(bytes_at(head, 8));
        let end = at.checked_add(size).filter(|&end| size >= RECORD && end <= self.window.len());
        let Some(end) = end else { return Ok(None) };
        match kind {
            0 => self.load(at, size, time_nanos)?,
            1 => self.moved(at, size, time_nanos)?,
            DEBUG_INFO => self.debug_info(at, size)?,
            CLOSE => return Ok(None),
            UNWINDING_INFO => self.unwinding_info(at, size)?,
            _ => {}
        }
        Ok(Some(end))
    }

    fn load(&mut self, at: u64, size: u64, time_nanos: u64) -> Result<(), ReadError> {
        // Whatever came before is of no other code.
        let rules = std::mem::take(&mut self.rules_of_next);
        if let Some((start, placed)) = self.load_code(at, size, time_nanos)? {
            if start == self.lines_of {
                self.lines.place(placed.start, placed.end);
            }
            if !rules.is_empty() {
                self.rules.add(placed, &rules);
            }
        }
        self.lines.drop_pending();
        Ok(())
    }

    /// Tells the address of the code, and where it is in the file.
    fn load_code(
        &mut self,
        at: u64,
        size: u64,
        time_nanos: u64,
    ) -> Result<Option<(u64, Range<u64>)>, ReadError> {
        let order = self.order;
        let length = size.min(LOAD + MAX_NAME);
        let Some(record) = self.window.get(at, length)? else { return Ok(None) };
        let Some(text) = record.get(LOAD as usize..) else { return Ok(None) };
        let number = |at| order.u64(bytes_at(record, at));
        let (start, code_size, code_number) = (number(32), number(40), number(48));
        let zero = text.iter().position(|&byte| byte == 0);
        let name = &text[..zero.unwrap_or(text.len())];
        // The code stands at the end, also behind a name that is too long.
        let Some(offset) = (size - LOAD).checked_sub(code_size) else { return Ok(None) };
        let Some(end) = start.checked_add(code_size).filter(|&end| end > start) else {
            return Ok(None);
        };
        if order.u32(bytes_at(record, 16)) != self.pid {
            self.left_out.of_others += 1;
            return Ok(None);
        }
        let name = self.names.add(name);
        let offset = at + LOAD + offset;
        let code = MadeCode { offset, name };
        self.bodies.insert(code_number, code);
        self.changes.push(CodeChange { time_nanos, start, end, code: Some(code) });
        Ok(Some((start, offset..offset + code_size)))
    }

    /// Lines of the code that comes next.
    fn debug_info(&mut self, at: u64, size: u64) -> Result<(), ReadError> {
        self.lines.drop_pending();
        let order = self.order;
        if size > MAX_LINES || !self.lines.has_room() {
            self.left_out.too_large += 1;
            return Ok(());
        }
        let Some(record) = self.window.get(at, size)? else { return Ok(()) };
        let code = order.u64(bytes_at(record, 16));
        let count = order.u64(bytes_at(record, 24));
        let (mut rest, mut file) = (record.get(LINES..).unwrap_or_default(), None);
        for _ in 0..count {
            let Some(path) = rest.get(LINE_FILE..) else { break };
            let Some(length) = path.iter().position(|&byte| byte == 0) else { break };
            let (address, line) = (order.u64(bytes_at(rest, 0)), order.u32(bytes_at(rest, 8)));
            if path[..length] != *SAME_FILE {
                file = self.lines.file(&path[..length.min(MAX_NAME as usize)]);
            }
            // Node.js 20 may write a path that it has given up, with zeros among what came there: nothing tells where the
            // next line begins.
            let Some(file) = file else {
                self.lines.drop_pending();
                return Ok(());
            };
            if let Some(within) = address.checked_sub(code) {
                self.lines.add(within, line, file);
            }
            rest = &path[length + 1..];
        }
        self.lines_of = code;
        Ok(())
    }

    /// How callers are found of the code that comes next.
    fn unwinding_info(&mut self, at: u64, size: u64) -> Result<(), ReadError> {
        self.rules_of_next.clear();
        let order = self.order;
        let Some(head) = self.window.get(at, size.min(RULES))? else { return Ok(()) };
        let number = |at| order.u64(bytes_at(head, at));
        let rules = number(16).checked_sub(number(24)).filter(|&rules| {
            // All machines whose stacks are unwound are of this order.
            rules > 0 && rules <= size.saturating_sub(RULES) && order == ByteOrder::Little
        });
        let Some(rules) = rules else { return Ok(()) };
        if !self.rules.has_room(rules) {
            self.left_out.too_large += 1;
        } else if let Some(rules) = self.window.get(at + RULES, rules)? {
            self.rules_of_next.extend_from_slice(rules);
        }
        Ok(())
    }

    fn moved(&mut self, at: u64, size: u64, time_nanos: u64) -> Result<(), ReadError> {
        let order = self.order;
        let Some(record) = self.window.get(at, size.min(MOVE))? else { return Ok(()) };
        if (record.len() as u64) < MOVE {
            return Ok(());
        }
        if order.u32(bytes_at(record, 16)) != self.pid {
            self.left_out.of_others += 1;
            return Ok(());
        }
        let number = |at| order.u64(bytes_at(record, at));
        let (before, start, code_size) = (number(32), number(40), number(48));
        let code = self.bodies.get(&number(56)).copied();
        // First from where it was: both may overlap. What is moved and was never made has no name.
        for (start, code) in [(before, None), (start, code)] {
            if let Some(end) = start.checked_add(code_size).filter(|&end| end > start) {
                self.changes.push(CodeChange { time_nanos, start, end, code });
            }
        }
        Ok(())
    }
}

/// A part of a file, read in blocks.
struct Window<'a> {
    source: &'a dyn ByteSource,
    start: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    fn len(&self) -> u64 {
        self.source.len()
    }

    /// So many bytes; `None` if the file has not so many.
    fn get(&mut self, at: u64, length: u64) -> Result<Option<&[u8]>, ReadError> {
        let Some(end) = at.checked_add(length).filter(|&end| end <= self.len()) else {
            return Ok(None);
        };
        if at < self.start || end > self.start + self.bytes.len() as u64 {
            self.bytes = self.source.read_vec(at, BLOCK.max(length).min(self.len() - at))?;
            self.start = at;
        }
        let from = (at - self.start) as usize;
        Ok(self.bytes.get(from..from + length as usize))
    }
}
