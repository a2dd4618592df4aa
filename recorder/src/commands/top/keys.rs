//! What keys are, by the bytes that a terminal sends for them.

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Text(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Backspace,
    Escape,
}

/// The keys of bytes that came at once. What is none of these is passed over.
pub fn keys_of(bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        match first {
            b'\r' | b'\n' => keys.push(Key::Enter),
            0x7f | 0x08 => keys.push(Key::Backspace),
            0x1b => {
                let (key, length) = escape(behind);
                keys.extend(key);
                rest = &behind[length..];
            }
            0x20.. => {
                let text = String::from_utf8_lossy(&bytes[bytes.len() - behind.len() - 1..]);
                if let Some(c) = text.chars().next().filter(|&c| c != char::REPLACEMENT_CHARACTER) {
                    keys.push(Key::Text(c));
                    rest = &behind[c.len_utf8() - 1..];
                }
            }
            _ => {}
        }
    }
    keys
}

/// What follows an escape character: `[A`, `OA`, `[5~` and the like (ECMA-48, 5.4).
fn escape(behind: &[u8]) -> (Option<Key>, usize) {
    if !matches!(behind.first(), Some(b'[' | b'O')) {
        return (Some(Key::Escape), 0);
    }
    let end = behind.iter().skip(1).position(|byte| matches!(byte, 0x40..=0x7e));
    let length = end.map_or(behind.len(), |end| end + 2);
    let key = match &behind[1..length] {
        b"A" => Some(Key::Up),
        b"B" => Some(Key::Down),
        b"H" | b"1~" | b"7~" => Some(Key::Home),
        b"F" | b"4~" | b"8~" => Some(Key::End),
        b"5~" => Some(Key::PageUp),
        b"6~" => Some(Key::PageDown),
        _ => None,
    };
    (key, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_by_their_bytes() {
        let bytes = b"q\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[H\x1b[4~\r\x7f\x1b[1;5C\xc3\xa9\x1b";
        assert_eq!(
            keys_of(bytes),
            [
                Key::Text('q'),
                Key::Up,
                Key::Down,
                Key::PageUp,
                Key::PageDown,
                Key::Home,
                Key::End,
                Key::Enter,
                Key::Backspace,
                Key::Text('é'),
                Key::Escape
            ]
        );
        // Cut anywhere, nothing is worse than a key that is not known.
        for cut in 0..bytes.len() {
            keys_of(&bytes[..cut]);
        }
        assert_eq!(keys_of(b"\xff\x00\x01"), []);
    }
}
