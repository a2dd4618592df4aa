//! Where a payload stands: behind the `#` of an address, in a message around one, in a saved page.

use serde::Serialize;

/// What a payload came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// The address of a page, or a text with one in it.
    Link,
    /// A page that was saved with the profile inside.
    Page,
}

/// A payload that was found, whole or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedPayload<'a> {
    /// What it came in.
    pub carrier: Carrier,
    /// From `p1.` on, as [`characters`] reads it. What follows the payload in a message is here too:
    /// readers stop by themselves.
    pub payload: &'a str,
}

/// The first payload in `text`: of a page that of its element `profile`, else what follows the
/// first `#pN.`, else the whole text if it begins with `pN.`. `None` if there is none.
pub fn find(text: &[u8]) -> Option<CarriedPayload<'_>> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii_start();
    let (carrier, payload) = match is_page(text) {
        true => (Carrier::Page, in_page(text)?),
        false => (Carrier::Link, in_message(text)?),
    };
    Some(CarriedPayload { carrier, payload })
}

/// Whether this is an HTML document, by how it begins.
pub fn is_page(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    [&b"<!doctype html"[..], b"<html"]
        .iter()
        .any(|start| text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start)))
}

/// Whether a file that begins with these bytes may be a text: in those of a recording, packed or not, are
/// zeros or other controls.
pub fn may_be_text(first_bytes: &[u8]) -> bool {
    !first_bytes.iter().any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
}

/// In the first script element with the id `profile`. The page has it before any script that runs,
/// so nothing that only speaks of such an element is met first.
fn in_page(page: &[u8]) -> Option<&str> {
    let mut rest = page;
    loop {
        let start = position(rest, b"<script")?;
        let (tag, content) = rest[start..].split_at(position(&rest[start..], b">")? + 1);
        if position(tag, b" id=\"profile\"").is_some() {
            return payload_at(content.trim_ascii_start());
        }
        rest = content;
    }
}

fn in_message(text: &[u8]) -> Option<&str> {
    let is_quote = |byte: &u8| *byte == b'>' || byte.is_ascii_whitespace();
    let quotes = text.iter().take_while(|byte| is_quote(byte)).count();
    let mut rest = &text[quotes..];
    if let Some(payload) = payload_at(rest) {
        return Some(payload);
    }
    while let Some(at) = position(rest, b"#p") {
        rest = &rest[at + 1..];
        if let Some(payload) = payload_at(rest) {
            return Some(payload);
        }
    }
    None
}

/// `p`, digits, a dot, and what may be of a payload: its alphabet, and what it was broken by.
fn payload_at(text: &[u8]) -> Option<&str> {
    let digits = text.strip_prefix(b"p")?;
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let dot = 1 + count;
    if count == 0 || text.get(dot) != Some(&b'.') {
        return None;
    }
    let length = unbroken(&text[dot + 1..]).count();
    std::str::from_utf8(&text[..dot + 1 + length]).ok()
}

/// The characters of a payload that a message has broken into lines, and quoted perhaps. They end before
/// the first character that is of no payload.
pub(super) fn characters(text: &[u8]) -> impl Iterator<Item = u8> {
    unbroken(text).filter(|&byte| is_of_payload(byte))
}

/// The same with what they are broken by: white space, and the `>` that a reply puts before each line of
/// what it answers.
fn unbroken(text: &[u8]) -> impl Iterator<Item = u8> {
    let mut begins_line = false;
    text.iter().copied().take_while(move |&byte| match byte {
        b'>' => begins_line,
        b'\n' | b'\r' => {
            begins_line = true;
            true
        }
        _ if byte.is_ascii_whitespace() => true,
        _ => {
            begins_line = false;
            is_of_payload(byte)
        }
    })
}

fn is_of_payload(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_".contains(&byte)
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<(Carrier, &str)> {
        find(text.as_bytes()).map(|carried| (carried.carrier, carried.payload))
    }

    #[test]
    fn a_payload_is_found_in_addresses_and_messages() {
        let link = |payload| Some((Carrier::Link, payload));
        assert_eq!(found("https://host/page#p1.AAbb-_"), link("p1.AAbb-_"));
        assert_eq!(found("\n #p1.AA\n"), link("p1.AA\n"));
        assert_eq!(found("p1.AA"), link("p1.AA"));
        assert_eq!(found("see (https://h/#x and) https://h/#p12.AA>."), link("p12.AA"));
        assert_eq!(found("https://h/#p1.AA&s2=all"), link("p1.AA"));
        assert_eq!(found("https://h/#pages #p. #p1 #p1.A\r\nA"), link("p1.A\r\nA"));
        assert_eq!(
            found("> see https://h/#p1.AA\n>> BB\n> \n>CC> D"),
            link("p1.AA\n>> BB\n> \n>CC")
        );
        assert_eq!(found("> > p1.AA\r\n> > BB"), link("p1.AA\r\n> > BB"));
        for nothing in
            ["", ">", "> #", "p", "p1", "https://host/page", "https://h/#s2", "xp1.AA", "PERFILE2"]
        {
            assert_eq!(found(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_payload_that_was_quoted_is_read_without_its_marks() {
        let read = |text: &str| String::from_utf8(characters(text.as_bytes()).collect()).unwrap();
        assert_eq!(read("AA\n> BB-\r\n>> > C_\n\t>D E"), "AABB-C_DE");
        assert_eq!(read("AA> BB"), "AA");
        assert_eq!(read("AA\n> BB> CC"), "AABB");
    }

    #[test]
    fn a_payload_is_found_in_its_element_of_a_page() {
        let page =
            |body: &str| format!("\u{feff}<!DOCTYPE html>\n<html><body>{body}</body></html>");
        let element = "<script type=\"application/octet-stream\" id=\"profile\">p1.AA</script>";
        let whole = page(&format!("<script>1</script>{element}<script>\"#p1.BB\"</script>"));
        assert_eq!(found(&whole), Some((Carrier::Page, "p1.AA")));
        assert_eq!(found(&page("<a href=\"https://h/#p1.BB\">link</a>")), None);
        assert_eq!(found("<!doctype html><script id=\"profile"), None);
        assert_eq!(found("<!doctype html><script id=\"profile\">"), None);
    }
}
