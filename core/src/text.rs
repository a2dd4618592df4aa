//! Names come from files of strangers and are shown to people.

use std::borrow::Cow;

/// `text` with every character written as an escape that cannot be seen or that moves others:
/// controls, line separators, zero-width characters and bidirectional overrides. So a name cannot
/// read as another, forge a line or move the cursor of a terminal.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unprintable) {
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
        || matches!(c, '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn what_cannot_be_seen_is_escaped() {
        assert_eq!(printable("a\u{1b}[31m\tb\nc"), "a\\u{1b}[31m\\tb\\nc");
        assert_eq!(printable("\u{202e}gnp.exe\u{200b}"), "\\u{202e}gnp.exe\\u{200b}");
        assert_eq!(printable("sort<größe, 中>::~it"), "sort<größe, 中>::~it");
    }
}
