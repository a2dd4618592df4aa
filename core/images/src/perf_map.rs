//! `/tmp/perf-PID.map`: what a run time (Node.js, Java, Python, …) says of the code it made, a line
//! for each function (Linux tools/perf/Documentation/jit-interface.txt):
//!
//! ```text
//! START SIZE name of the function, to the end of the line
//! ```
//!
//! START is the address at run time and SIZE bytes, both in hex without `0x` (some write it all the
//! same, as perf takes it). Nothing in the file says which process wrote it and when; its name has the
//! process's number, as the process knows it. Code that is made where other was is one more line.

use perftab_dsos::{CodeChange, MadeCode, pid_of_perf_map};
use perftab_perfdata::decode::{ByteSource, ReadError};

use crate::code_table::{Clock, CodeTable, Names};

/// Larger maps are not read: those of Java programs with all their code are tens of megabytes.
const MAX_LENGTH: u64 = 512 << 20;
/// So many lines decide what a file is.
const LINES_LOOKED_AT: usize = 16;
/// For each line that is one, fewer than so many may be none: run times write names with line breaks, and messages in between.
const OTHERS_MAX: usize = 4;

/// True if a file that begins with these bytes is a perf map: of its first lines enough are. The last
/// line may be cut.
pub fn is_perf_map(start: &[u8]) -> bool {
    let mut lines = start.split(|&byte| byte == b'\n').take(LINES_LOOKED_AT).peekable();
    let (mut met, mut others) = (0, 0);
    while let Some(line) = lines.next() {
        let is_last = lines.peek().is_none();
        match read_line(line) {
            Some(_) => met += 1,
            None if line.is_empty() || (is_last && met > 0) => {}
            None => others += 1,
        }
    }
    met > 0 && others < met * OTHERS_MAX
}

/// Start, size and name. A name may hold spaces and, as perf takes it, any character but NUL, which
/// ends it.
fn read_line(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let (start, after_start) = read_hex(line, 0)?;
    let (size, at) = read_hex(line, after_start)?;
    let name = line.get(at..)?.split(|&byte| byte == 0).next()?.trim_ascii_end();
    (!name.is_empty()).then_some((start, size, name))
}

/// A number at `at` that a space ends, and where what follows that begins.
fn read_hex(line: &[u8], at: usize) -> Option<(u64, usize)> {
    let rest = line.get(at..)?;
    let digits = rest.iter().position(|&byte| byte == b' ')?;
    let text = std::str::from_utf8(&rest[..digits]).ok()?;
    let text = text.strip_prefix("0x").unwrap_or(text);
    // `from_str_radix` takes a sign.
    let is_number = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u64::from_str_radix(text, 16).ok().filter(|_| is_number)?;
    Some((number, at + digits + 1))
}

/// How many lines of a map say nothing of code. The last one is not asked: it may not be written to its end.
pub fn lines_left_out(text: &[u8]) -> u64 {
    let mut lines = text.split(|&byte| byte == b'\n');
    lines.next_back();
    lines.filter(|line| is_no_line(line)).count() as u64
}

fn is_no_line(line: &[u8]) -> bool {
    read_line(line).is_none() && !line.trim_ascii().is_empty()
}

/// Reads a whole map. Lines that are none are passed over, as perf does: the run time may be in the
/// middle of one. `name` is what the host calls it.
pub(super) fn read(name: &str, source: &dyn ByteSource) -> Result<CodeTable, ReadError> {
    if source.len() > MAX_LENGTH {
        return Err(ReadError::new("a perf map of more than 512 MB is not read"));
    }
    let text = source.read_vec(0, source.len())?;
    let (mut changes, mut names) = (Vec::new(), Names::default());
    for line in text.split(|&byte| byte == b'\n') {
        if let Some((start, size, name)) = read_line(line)
            && let Some(end) = start.checked_add(size).filter(|&end| end > start)
        {
            let code = Some(MadeCode { offset: start, name: names.add(name) });
            changes.push(CodeChange { time_nanos: 0, start, end, code });
        }
    }
    let mut table = CodeTable::new(name, pid_of_perf_map(name), Clock::Absent, changes, names);
    table.left_out.no_lines = lines_left_out(&text);
    Ok(table)
}

#[cfg(test)]
mod tests {
    use perftab_perfdata::decode::SliceSource;

    use super::*;
    fn read(text: &str) -> Vec<(u64, u64, String)> {
        let source = SliceSource::new(text.as_bytes().to_vec());
        let table = super::read("/tmp/perf-7.map", &source).expect("it is read");
        assert_eq!((table.pid, table.clock), (Some(7), Clock::Absent));
        let name = |it: &CodeChange| it.code.map(|code| table.name_of(code.name).to_owned());
        let all = table.changes().iter();
        all.map(|it| (it.start, it.end - it.start, name(it).expect("code"))).collect()
    }

    #[test]
    fn lines_are_start_size_and_a_name_with_spaces() {
        let text = "7f00 10 LazyCompile:*f /a b.js:1\n0x7f10 0x8 g\r\nnonsense\n7f20 0 empty\n\
                    7f10 8 later\n7f30 4 cut at the end";
        let expected = [
            (0x7f00, 0x10, "LazyCompile:*f /a b.js:1".to_owned()),
            (0x7f10, 8, "g".to_owned()),
            (0x7f10, 8, "later".to_owned()),
            (0x7f30, 4, "cut at the end".to_owned()),
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn lines_that_are_none_cost_no_others_their_names() {
        let text = "7f00 10 \x1b[31mred\x07\n7f10 10 ends\0behind\ngarbage line\n\n\
                    7f20 10 first half\nsecond half\n7f30 10 f\n7f40 8 \n7f5";
        let expected = [
            (0x7f00, 0x10, "\x1b[31mred\x07".to_owned()),
            (0x7f10, 0x10, "ends".to_owned()),
            (0x7f20, 0x10, "first half".to_owned()),
            (0x7f30, 0x10, "f".to_owned()),
        ];
        assert_eq!(read(text), expected);
        assert!(is_perf_map(text.as_bytes()));
        let source = SliceSource::new(text.as_bytes().to_vec());
        let table = super::read("perf-7.map", &source).expect("it is read");
        // What is not written to its end yet is none of them.
        assert_eq!(table.left_out.no_lines, 3);
    }

    #[test]
    fn b29_what_is_a_perf_map_is_told_by_its_lines() {
        let maps = [
            "7f00 10 f\n7f10 20 g\n",
            "7f00 10 only",
            "0x7f00 0x10 f\n7f",
            "7f00 10 f\nprose after it\n7f10 10 g\n",
            "a message\n7f00 10 f\n",
        ];
        for text in maps {
            assert!(is_perf_map(text.as_bytes()), "{text}");
        }
        let others: [&[u8]; 7] = [
            b"",
            b"\n\n",
            b"#!/bin/sh\necho\n",
            b"7f00 10\n",
            b"prose\nof\nfour\nlines\n7f00 10 f\n",
            b"7f00 +10 f\n",
            b"\x7fELF",
        ];
        for bytes in others {
            assert!(!is_perf_map(bytes), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn numbers_at_their_limit_do_not_overflow() {
        let text = "ffffffffffffffff ffffffffffffffff f\n10000000000000000 1 g\n";
        assert_eq!(read(text), []);
    }
}
