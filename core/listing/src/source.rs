//! Whether a source file is the one that was compiled.
//!
//! A path in debug information says where a file lay when it was compiled; what is there now, or what somebody has, may be
//! another one. Where the compiler noted the file's MD5 that decides.

use std::cell::LazyCell;
use std::fmt::{self, Display, Formatter};
use std::path::Path;

use md5::{Digest, Md5};
pub use perftab_images::MAX_SOURCE;
use serde::Serialize;

/// How files are called that hold source text, as the page has it, too. Nothing else is read by a path that a binary names.
const SUFFIXES: &str = "adb asm c c++ cc cpp cu cxx d def f f03 f08 f90 f95 for go h h++ hh hpp hxx inc inl ipp java \
                        js kt l m mjs ml mm nim pas py pyx rs s swift tcc ts y zig";

/// Whether a file is called as sources are.
pub fn is_called_as_source(path: &Path) -> bool {
    let suffix = path.extension().and_then(|suffix| suffix.to_str()).map(str::to_ascii_lowercase);
    suffix.is_some_and(|suffix| SUFFIXES.split(' ').any(|known| known == suffix))
}

/// What is known of a file for code that was compiled from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted {
    /// As the compiler noted it.
    pub md5: Option<[u8; 16]>,
    /// When the file was written.
    pub written: Written,
}

/// When a source file was written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Before its binary was, or at an unknown time.
    BeforeBinary,
    /// After it.
    AfterBinary,
    /// After it, in a place that the user named: what was fetched again has the time of that.
    AfterBinaryInNamedPlace,
}

/// What speaks for a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceCheck {
    /// Its MD5 is that in the debug information.
    Md5,
    /// Nothing but that it was not changed after the binary, as far as that is known.
    Time,
    /// It is in the debug information itself.
    Embedded,
    /// Nothing but that a server gave it for the build.
    Server,
    /// Nothing but that the user named the place: it was changed after the binary.
    Place,
}

/// Why a file is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OtherSource {
    /// It is not the file that was compiled, by its MD5.
    Md5 {
        /// In the debug information.
        noted: [u8; 16],
        /// That of the file.
        found: [u8; 16],
    },
    /// It was changed after the binary.
    Newer,
    /// It is no text that a compiler would take.
    NotText,
}

impl Display for OtherSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let hex = |md5: [u8; 16]| md5.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        match *self {
            Self::Md5 { noted, found } => {
                let (noted, found) = (hex(noted), hex(found));
                write!(
                    f,
                    "not the file that was compiled: its MD5 is {found}, and {noted} in the debug information"
                )
            }
            Self::Newer => f.write_str("changed after the binary was built"),
            Self::NotText => f.write_str(
                "no text: it has a zero in it, and neither UTF-8 nor UTF-16 with its mark has one",
            ),
        }
    }
}

/// Compares a file with what is known of it. A header may be compiled into several DSOs, and into each of them several
/// times, from other contents.
pub fn check(
    content: &[u8],
    noted: impl IntoIterator<Item = Noted>,
) -> Result<SourceCheck, OtherSource> {
    let found = LazyCell::new(|| <[u8; 16]>::from(Md5::digest(content)));
    let mut check = SourceCheck::Md5;
    for Noted { md5, written } in noted {
        match (md5, written) {
            (Some(noted), _) if noted != *found => {
                return Err(OtherSource::Md5 { noted, found: *found });
            }
            (Some(_), _) => {}
            (None, Written::AfterBinary) => return Err(OtherSource::Newer),
            (None, Written::BeforeBinary) if check == SourceCheck::Place => {}
            (None, Written::BeforeBinary) => check = SourceCheck::Time,
            (None, Written::AfterBinaryInNamedPlace) => check = SourceCheck::Place,
        }
    }
    match check != SourceCheck::Md5 && has_zero(content) {
        true => Err(OtherSource::NotText),
        false => Ok(check),
    }
}

/// How the units of UTF-16 stand, where a text begins with the mark of it: editors of Windows write such.
fn wide_units(content: &[u8]) -> Option<impl Iterator<Item = u16> + '_> {
    let (of_bytes, rest): (fn([u8; 2]) -> u16, _) = match content {
        [0xff, 0xfe, rest @ ..] => (u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => (u16::from_be_bytes, rest),
        _ => return None,
    };
    Some(rest.as_chunks().0.iter().map(move |&unit| of_bytes(unit)))
}

fn has_zero(content: &[u8]) -> bool {
    match wide_units(content) {
        Some(mut units) => units.any(|unit| unit == 0),
        None => content.contains(&0),
    }
}

/// What a source file says, as the page has it, too: UTF-8, or UTF-16 that begins with its mark.
pub fn text(content: &[u8]) -> String {
    match wide_units(content) {
        Some(units) => char::decode_utf16(units)
            .map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
        None => {
            let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
            String::from_utf8_lossy(content).into_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf hello | md5sum`
    const OF_HELLO: [u8; 16] = [
        0x5d, 0x41, 0x40, 0x2a, 0xbc, 0x4b, 0x2a, 0x76, 0xb9, 0x71, 0x9d, 0x91, 0x10, 0x17, 0xc5,
        0x92,
    ];

    #[test]
    fn utf_16_with_its_mark_is_text() {
        let units: Vec<u16> = "int größe; // \u{1f30a}\n".encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        let noted = [Noted { md5: None, written: Written::BeforeBinary }];
        for content in [[&b"\xff\xfe"[..], &little].concat(), [&b"\xfe\xff"[..], &big].concat()] {
            assert_eq!(check(&content, noted), Ok(SourceCheck::Time));
            assert_eq!(text(&content), "int größe; // \u{1f30a}\n");
            // A sum is of the bytes, mark and all.
            let md5 = Some(<[u8; 16]>::from(Md5::digest(&content)));
            let noted = [Noted { md5, written: Written::AfterBinary }];
            assert_eq!(check(&content, noted), Ok(SourceCheck::Md5));
            // A zero in it is no text, as elsewhere; half a unit at the end is none.
            let older = [Noted { md5: None, written: Written::BeforeBinary }];
            assert_eq!(check(&[&content[..], &[0, 0]].concat(), older), Err(OtherSource::NotText));
            assert_eq!(text(&[&content[..], b"x"].concat()), "int größe; // \u{1f30a}\n");
        }
        // Without the mark nothing tells that it is that.
        assert_eq!(check(&little, noted), Err(OtherSource::NotText));
        assert_eq!(text(b"\xff\xfe\x00\xd8"), "\u{fffd}");
        assert_eq!(text(b"\xef\xbb\xbfint\xff"), "int\u{fffd}");
    }

    #[test]
    fn a_sum_decides_and_else_the_time() {
        let noted = |md5, written| Noted { md5, written };
        let other = [0; 16];
        let (before, after) = (Written::BeforeBinary, Written::AfterBinary);
        let hello = |noted: &[Noted]| check(b"hello", noted.iter().copied());
        assert_eq!(hello(&[noted(Some(OF_HELLO), after)]), Ok(SourceCheck::Md5));
        assert_eq!(
            hello(&[noted(Some(OF_HELLO), before), noted(None, before)]),
            Ok(SourceCheck::Time)
        );
        assert_eq!(hello(&[noted(None, after)]), Err(OtherSource::Newer));
        let named = Written::AfterBinaryInNamedPlace;
        assert_eq!(hello(&[noted(None, named), noted(None, before)]), Ok(SourceCheck::Place));
        assert_eq!(hello(&[noted(Some(OF_HELLO), named)]), Ok(SourceCheck::Md5));
        assert_eq!(hello(&[noted(None, named), noted(None, after)]), Err(OtherSource::Newer));
        assert_eq!(check(b"h\0e\0", [noted(None, before)]), Err(OtherSource::NotText));
        let refused = hello(&[noted(Some(OF_HELLO), before), noted(Some(other), before)]);
        assert_eq!(refused, Err(OtherSource::Md5 { noted: other, found: OF_HELLO }));
        let words = refused.expect_err("it is refused").to_string();
        assert!(words.contains("5d41402abc4b2a76b9719d911017c592"), "{words}");
    }
}
