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

/// True if a file that begins with these bytes is a perf map: its first lines are, all of them. The
/// last line may be cut.
pub fn is_perf_map(start: &[u8]) -> bool {
    let mut lines = start.split(|&byte| byte == b'\n').take(LINES_LOOKED_AT).peekable();
    let mut met = 0;
    while let Some(line) = lines.next() {
        let is_last = lines.peek().is_none();
        if line.is_empty() || (is_last && met > 0) {
            continue;
        }
        if read_line(line).is_none() {
            return false;
        }
        met += 1;
    }
    met > 0
}

/// Start, size and where the name begins in the line. A name may hold spaces, but no control
/// characters, which tells a map from binary files.
fn read_line(line: &[u8]) -> Option<(u64, u64, usize)> {
    let (start, after_start) = read_hex(line, 0)?;
    let (size, at) = read_hex(line, after_start)?;
    let name = line.get(at..).filter(|name| !name.is_empty())?;
    let is_text = name.iter().all(|&byte| byte >= b' ' || byte == b'\t' || byte == b'\r');
    is_text.then_some((start, size, at))
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

/// Reads a whole map. Lines that are none are passed over, as perf does: the run time may be in the
/// middle of one. `name` is what the host calls it.
pub(super) fn read(name: &str, source: &dyn ByteSource) -> Result<CodeTable, ReadError> {
    if source.len() > MAX_LENGTH {
        return Err(ReadError::new("a perf map of more than 512 MB is not read"));
    }
    let text = source.read_vec(0, source.len())?;
    let (mut changes, mut names) = (Vec::new(), Names::default());
    for line in text.split(|&byte| byte == b'\n') {
        if let Some((start, size, at)) = read_line(line)
            && let Some(end) = start.checked_add(size).filter(|&end| end > start)
        {
            let name = names.add(line[at..].trim_ascii_end());
            let code = Some(MadeCode { offset: start, name });
            changes.push(CodeChange { time_nanos: 0, start, end, code });
        }
    }
    Ok(CodeTable::new(name, pid_of_perf_map(name), Clock::Absent, changes, names))
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
    fn b29_what_is_a_perf_map_is_told_by_its_lines() {
        for text in ["7f00 10 f\n7f10 20 g\n", "7f00 10 only", "0x7f00 0x10 f\n7f"] {
            assert!(is_perf_map(text.as_bytes()), "{text}");
        }
        let others: [&[u8]; 8] = [
            b"",
            b"\n\n",
            b"#!/bin/sh\necho\n",
            b"7f00 10\n",
            b"7f00 10 f\nprose after it\n7f10 10 g\n",
            b"7f00 +10 f\n",
            b"7f00 10 \x01\x02\n",
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
