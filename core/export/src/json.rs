//! JSON, piece by piece.

use std::io::Write;

/// A text in quotes.
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    // A Vec takes everything that is written, and a text is always JSON.
    let _ = serde_json::to_writer(out, text);
}

/// What stands before an item of a list that is written one by one.
pub(super) fn separate(out: &mut Vec<u8>, place: usize) {
    if place > 0 {
        out.push(b',');
    }
}

/// A number, or null.
pub(super) fn number_or_null(out: &mut Vec<u8>, number: Option<u32>) {
    let _ = match number {
        Some(number) => write!(out, "{number}"),
        None => write!(out, "null"),
    };
}

/// Nanoseconds as milliseconds, exactly.
pub(super) fn milliseconds(out: &mut Vec<u8>, nanos: u64) {
    let _ = write!(out, "{}", nanos / 1_000_000);
    let rest = nanos % 1_000_000;
    if rest != 0 {
        let decimals = format!("{rest:06}");
        let _ = write!(out, ".{}", decimals.trim_end_matches('0'));
    }
}

/// `"key":[…]` of a list that is there as a whole.
pub(super) fn list<T>(
    out: &mut Vec<u8>,
    key: &str,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    string(out, key);
    out.extend_from_slice(b":[");
    for (at, item) in items.into_iter().enumerate() {
        separate(out, at);
        write(out, item);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("JSON is text")
    }

    #[test]
    fn milliseconds_are_exact() {
        let texts = [
            (0, "0"),
            (1, "0.000001"),
            (250_000, "0.25"),
            (1_000_000, "1"),
            (12_345_678_901, "12345.678901"),
            (u64::MAX, "18446744073709.551615"),
        ];
        for (nanos, text) in texts {
            assert_eq!(written(|out| milliseconds(out, nanos)), text);
        }
    }

    #[test]
    fn texts_are_quoted() {
        assert_eq!(written(|out| string(out, "a\"b\\c\n")), r#""a\"b\\c\n""#);
        assert_eq!(
            written(|out| list(out, "x", [Some(1), None], number_or_null)),
            r#""x":[1,null]"#
        );
    }
}
