//! Text for people: names, which come from files of strangers, numbers and times.

use std::borrow::Cow;

/// `text` with every character written as an escape that cannot be seen or that moves others:
/// controls, line separators, zero-width characters and bidirectional overrides. So a name cannot
/// read as another, forge a line or move the cursor of a terminal.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if is_plain || !text.chars().any(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unprintable(c) { safe.extend(c.escape_default()) } else { safe.push(c) }
    }
    Cow::Owned(safe)
}

fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        // Soft hyphens, blanks that count as letters, and tags.
        || matches!(c, '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{ffa0}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// `412806` as `412,806`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A [`grouped`] number with the words behind it, which depend on whether it is one:
/// `1 sample has`, `412,806 samples have`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// Nanoseconds since 1970 as date and time (RFC 3339): `2026-11-20T12:34:56.123456789Z`.
pub fn utc(nanos: u64) -> String {
    let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let (mut days, second) = (seconds / 86_400, seconds % 86_400);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    // At most 585 years: what 64 bits of nanoseconds hold.
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let day = days + 1;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
}

/// A time since 1970 as perf has it in names of files, `YYYYMMDDHHMMSScc`, but in UTC.
pub fn stamp(nanos: u64) -> String {
    /// The date, the time, and hundredths of a second.
    const DIGITS: usize = 16;
    utc(nanos).chars().filter(char::is_ascii_digit).take(DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::{grouped, printable, stamp, utc};

    #[test]
    fn names_of_files_have_the_time() {
        // `date -u -d @N +%Y%m%d%H%M%S`
        for (seconds, millis, expected) in [
            (0, 0, "1970010100000000"),
            (951_782_399, 990, "2000022823595999"),
            (951_868_799, 9, "2000022923595900"),
            (1_795_189_435, 70, "2026112015435507"),
            (4_107_542_399, 70, "2100022823595907"),
            (4_107_542_400, 0, "2100030100000000"),
        ] {
            assert_eq!(stamp(seconds * 1_000_000_000 + millis * 1_000_000), expected);
        }
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(412_806), "412,806");
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }

    /// Seconds by date(1).
    #[test]
    fn times_are_those_of_the_calendar() {
        let times = [
            (0, "1970-01-01T00:00:00.000000000Z"),
            (951_782_399, "2000-02-28T23:59:59.000000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000000Z"),
            (1_795_180_496, "2026-11-20T13:14:56.000000000Z"),
            (1_798_761_599, "2026-12-31T23:59:59.000000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000000Z"),
        ];
        for (seconds, text) in times {
            assert_eq!(utc(seconds * 1_000_000_000), text);
        }
        assert_eq!(utc(u64::MAX), "2554-07-21T23:34:33.709551615Z");
    }

    #[test]
    fn what_cannot_be_seen_is_escaped() {
        assert_eq!(printable("a\u{1b}[31m\tb\nc"), "a\\u{1b}[31m\\tb\\nc");
        assert_eq!(printable("\u{202e}gnp.exe\u{200b}"), "\\u{202e}gnp.exe\\u{200b}");
        assert_eq!(printable("pay\u{ad}\u{3164}\u{e0041}"), "pay\\u{ad}\\u{3164}\\u{e0041}");
        assert_eq!(printable("sort<größe, 中>::~it"), "sort<größe, 中>::~it");
    }
}
