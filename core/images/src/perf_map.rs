//! `/tmp/perf-PID.map`: what a run time (Node.js, Java, Python, …) says of the code it made, a line
//! for each function (Linux tools/perf/Documentation/jit-interface.txt):
//!
//! ```text
//! START SIZE name of the function, to the end of the line
//! ```
//!
//! START is the address at run time and SIZE bytes, both in hex without `0x` (some write it all the
//! same, as perf takes it). Nothing in the file says which process wrote it and when: the next
//! process with the number, or the same one a minute later, has other code at these addresses. So a
//! perf map has no identity and is never matched. Names from it are forced or none.

use perftab_perfdata::decode::{ByteSource, ReadError};
use perftab_perfdata::sorting::sort_by_numbers;

/// Larger maps are not read: those of Java programs with all their code are tens of megabytes.
const MAX_LENGTH: u64 = 1 << 30;
/// So many lines decide what a file is.
const LINES_LOOKED_AT: usize = 16;

/// The symbols of a perf map.
#[derive(Debug, Default)]
pub(super) struct PerfMap {
    /// The file, with a zero at the end of each name.
    pub text: Vec<u8>,
    /// By address, one for each start: of several the last in the file, which was made last.
    pub symbols: Vec<PerfMapSymbol>,
}

/// A line of a perf map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PerfMapSymbol {
    /// Address at run time.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Where the name begins in the text.
    pub name: u32,
}

/// True if a file that begins with these bytes is a perf map: its first lines are, all of them. The
/// last line may be cut.
pub(super) fn is_perf_map(start: &[u8]) -> bool {
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

impl PerfMap {
    /// Reads a whole map. Lines that are none are passed over, as perf does: the run time may be in
    /// the middle of one.
    pub fn read(source: &dyn ByteSource) -> Result<Self, ReadError> {
        if source.len() > MAX_LENGTH {
            return Err(ReadError::new("a perf map of more than 1 GB is not read".to_owned()));
        }
        let mut text = source.read_vec(0, source.len())?;
        let mut symbols = Vec::new();
        let mut at = 0;
        for line in text.split(|&byte| byte == b'\n') {
            if let Some((start, size, name)) = read_line(line)
                && size > 0
            {
                let (end, name) = (start.saturating_add(size), (at + name) as u32);
                symbols.push(PerfMapSymbol { start, end, name });
            }
            at += line.len() + 1;
        }
        for byte in &mut text {
            if matches!(byte, b'\n' | b'\r') {
                *byte = 0;
            }
        }
        sort_by_numbers(&mut symbols, |symbol| (symbol.start, 0));
        symbols.dedup_by(|next, kept| {
            let same = next.start == kept.start;
            if same {
                *kept = *next;
            }
            same
        });
        text.push(0);
        Ok(Self { text, symbols })
    }
}

#[cfg(test)]
mod tests {
    use perftab_perfdata::decode::SliceSource;

    use super::*;
    use crate::elf::text_at;

    fn read(text: &str) -> Vec<(u64, u64, String)> {
        let map = PerfMap::read(&SliceSource::new(text.as_bytes().to_vec())).expect("it is read");
        let all = map.symbols.iter();
        all.map(|&it| {
            (it.start, it.end - it.start, text_at(&map.text, it.name as usize).to_owned())
        })
        .collect()
    }

    #[test]
    fn lines_are_start_size_and_a_name_with_spaces() {
        let text = "7f00 10 LazyCompile:*f /a b.js:1\n0x7f10 0x8 g\r\nnonsense\n7f20 0 empty\n\
                    7f10 8 later\n7f30 4 cut at the end";
        let expected = [
            (0x7f00, 0x10, "LazyCompile:*f /a b.js:1".to_owned()),
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
        assert_eq!(read(text), [(u64::MAX, 0, "f".to_owned())]);
    }
}
