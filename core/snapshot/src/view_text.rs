//! How a sender looks at a profile, as text: fields of a page's address (`www/src/state/url.ts`),
//! `view=tree&files=/usr/bin/nginx;9f31&step=drop;epoll_wait;0`.
//!
//! core knows so much of it that nothing is told by it that is left out elsewhere: `&`, `=`, `,` and
//! `;` separate, and what is between them is a word or a name with percent escapes.

use super::MAX_TEXT;

const SEPARATORS: [char; 4] = ['&', '=', ',', ';'];

/// The text with what `rename` has instead of a name, which it is asked for by field. Empty for what
/// could be in no address, or is too long to be kept.
pub(super) fn redact_view(view: &str, rename: impl Fn(&str, &str) -> Option<String>) -> String {
    if !view.bytes().all(|byte| byte.is_ascii_graphic()) {
        return String::new();
    }
    let mut redacted = String::with_capacity(view.len());
    let mut field = "";
    let mut rest = view;
    loop {
        let end = rest.find(SEPARATORS).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        let is_field = after.starts_with('=');
        if is_field {
            field = part;
        }
        match decoded(part).filter(|_| !is_field).and_then(|name| rename(field, &name)) {
            Some(other) => push_escaped(&mut redacted, &other),
            None => redacted.push_str(part),
        }
        let Some(separator) = after.chars().next() else { break };
        redacted.push(separator);
        rest = &after[1..];
    }
    if redacted.len() > MAX_TEXT { String::new() } else { redacted }
}

/// `None` where the escapes make no sense.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

fn push_escaped(to: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~:/@+$".contains(&byte) {
            to.push(char::from(byte));
        } else {
            to.push('%');
            to.push(char::from(HEX[usize::from(byte >> 4)]));
            to.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shout(field: &str, name: &str) -> Option<String> {
        (field == "files" || name == "a b").then(|| format!("{name} & Söhne"))
    }

    #[test]
    fn names_are_told_as_they_may_be_and_the_rest_stays() {
        let redacted = |view| redact_view(view, shout);
        assert_eq!(
            redacted("files=/usr/bin/x;9f,y&step=drop;a%20b;0&view=tree"),
            "files=/usr/bin/x%20%26%20S%C3%B6hne;9f%20%26%20S%C3%B6hne,y%20%26%20S%C3%B6hne\
             &step=drop;a%20b%20%26%20S%C3%B6hne;0&view=tree"
        );
        assert_eq!(redacted(""), "");
        assert_eq!(redacted("view=tree&direction=inverted"), "view=tree&direction=inverted");
        // No escape at all: it is no name, and stays for the page to pass over.
        assert_eq!(redacted("search=%zz&x=%4"), "search=%zz&x=%4");
    }

    #[test]
    fn what_is_in_no_address_is_not_kept() {
        assert_eq!(redact_view("view=tree\n<script>", shout), "");
        assert_eq!(redact_view("search=ƒ", shout), "");
        assert_eq!(redact_view(&"x".repeat(MAX_TEXT + 1), shout), "");
    }
}
