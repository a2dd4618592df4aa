//! The `Range` header (RFC 9110, section 14): one range of bytes.

use std::ops::Range;

/// What part of a body to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// All of it, as 200.
    Whole,
    /// These bytes, as 206.
    Bytes(Range<u64>),
    /// None of what is there, 416.
    Unsatisfiable,
}

/// Reads a `Range` header for a body of `length` bytes. Several ranges, other units and what
/// can't be parsed give the whole, as the RFC allows.
pub fn requested(header: Option<&str>, length: u64) -> Part {
    let Some(spec) = header.and_then(|header| header.trim().strip_prefix("bytes=")) else {
        return Part::Whole;
    };
    let Some((first, last)) = spec.trim().split_once('-') else { return Part::Whole };
    match (decimal(first), decimal(last)) {
        // The last so many bytes.
        (None, Some(0)) if first.is_empty() => Part::Unsatisfiable,
        (None, Some(count)) if first.is_empty() => bytes(length.saturating_sub(count), length),
        (Some(start), None) if last.is_empty() => bytes(start, length),
        (Some(start), Some(last)) if start <= last => {
            bytes(start, last.saturating_add(1).min(length))
        }
        _ => Part::Whole,
    }
}

fn bytes(start: u64, end: u64) -> Part {
    if start < end { Part::Bytes(start..end) } else { Part::Unsatisfiable }
}

fn decimal(digits: &str) -> Option<u64> {
    // `u64::from_str` would take a sign.
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_honoured() {
        let cases = [
            ("bytes=0-3", Part::Bytes(0..4)),
            ("bytes=4-", Part::Bytes(4..10)),
            ("bytes=-3", Part::Bytes(7..10)),
            ("bytes=-30", Part::Bytes(0..10)),
            ("bytes=8-99", Part::Bytes(8..10)),
            ("bytes=9-18446744073709551615", Part::Bytes(9..10)),
            ("bytes=10-", Part::Unsatisfiable),
            ("bytes=10-12", Part::Unsatisfiable),
            ("bytes=-0", Part::Unsatisfiable),
        ];
        for (header, part) in cases {
            assert_eq!(requested(Some(header), 10), part, "{header}");
        }
    }

    #[test]
    fn anything_else_gives_the_whole() {
        let headers = ["bytes=", "bytes=-", "bytes=3-1", "bytes=a-b", "bytes=+1-2", "lines=0-1"];
        for header in headers.into_iter().chain(["bytes=0-1,3-4", "0-1"]) {
            assert_eq!(requested(Some(header), 10), Part::Whole, "{header}");
        }
        assert_eq!(requested(None, 10), Part::Whole);
    }

    #[test]
    fn an_empty_body_has_no_part() {
        assert_eq!(requested(Some("bytes=0-"), 0), Part::Unsatisfiable);
        assert_eq!(requested(Some("bytes=-5"), 0), Part::Unsatisfiable);
        assert_eq!(requested(None, 0), Part::Whole);
    }
}
