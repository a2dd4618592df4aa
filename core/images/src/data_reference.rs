//! What instructions refer to besides the code that they lead to: a variable or a table by its symbol, a text by its bytes.
//!
//! Constraint: nothing tells that bytes are a text. They are taken for one where an instruction takes the address, they
//! lie in memory that is read-only, and they end as texts of C do. Those of Rust and Go do not: most lie behind another
//! text, and so have no beginning here.

use object::elf;
use perftab_dsos::DsoId;
use perftab_perfdata::text::printable;

use super::address::Svma;
use super::demangle::demangle;
use super::dso_images::DsoImages;
use super::elf::Elf;
use super::symbol_table::Symbol;

/// Of longer texts the beginning is shown.
const MOST_CHARACTERS: usize = 40;
/// Fewer are no text: many a number reads as one character.
const LEAST_CHARACTERS: usize = 2;
/// What so many characters take at most, and the zero behind them.
const MOST_BYTES: u64 = 4 * MOST_CHARACTERS as u64 + 1;

/// Files that are linked have some tens of sections. Each is looked at for each address.
const MOST_SECTIONS: usize = 1024;

/// An address that stands in an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DataReference {
    /// In the file's own addresses.
    pub at: Svma,
    /// What the instruction does with it.
    pub way: ReferenceWay,
}

/// What an instruction does with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReferenceWay {
    /// It reads or writes what is there.
    Accessed,
    /// It takes the address.
    Taken,
    /// The instruction has a number that is an address if the file is linked for one place.
    Number,
}

impl ReferenceWay {
    /// By the numbers that hosts pass on.
    const ALL: [Self; 3] = [Self::Accessed, Self::Taken, Self::Number];

    /// The way of a number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Its number.
    pub fn number(self) -> u8 {
        self as u8
    }
}

impl DsoImages {
    /// What an instruction of a DSO refers to: `name`, `name+0x10`, `"text"`, or both.
    pub fn referred(&self, id: DsoId, reference: DataReference) -> Option<String> {
        let DataReference { at, way } = reference;
        let build = self.build(id)?;
        let image = self.of(id).first()?.image();
        let elf = image.elf().filter(|elf| elf.kind != elf::ET_REL)?;
        let (objects, code) = (build.objects(), build.symbols());
        let is_exact = match way {
            ReferenceWay::Accessed | ReferenceWay::Taken => false,
            ReferenceWay::Number if elf.kind == elf::ET_EXEC => true,
            ReferenceWay::Number => return None,
        };
        // A list of symbols may have other addresses than a file.
        let of_same = objects.addresses() == code.addresses();
        let object = objects.at(at).filter(|_| of_same);
        let object = object.filter(|it| !is_exact || it.start == at);
        let text = match way {
            ReferenceWay::Accessed => None,
            _ => FoundText::at(at, elf, |from, length| image.source().read_vec(from, length).ok()),
        };
        match (object, text) {
            (Some(object), Some(text)) if text.end == Some(object.end) => {
                Some(format!("{} {}", named(&object, at), text.quoted))
            }
            (Some(object), _) => Some(named(&object, at)),
            (None, Some(text)) if text.has_beginning => Some(text.quoted),
            (None, _) if way == ReferenceWay::Accessed => None,
            (None, _) => {
                let function = code.at(at).filter(|it| !is_exact || it.start == at)?;
                Some(named(&function, at))
            }
        }
    }
}

fn named(symbol: &Symbol<'_>, at: Svma) -> String {
    let name = demangle(symbol.name);
    match at.0.wrapping_sub(symbol.start.0) {
        0 => name.into_owned(),
        within => format!("{name}+{within:#x}"),
    }
}

/// Bytes that read as text.
struct FoundText {
    quoted: String,
    /// Behind the zero that ends it; `None` where it is longer than what was read.
    end: Option<Svma>,
    /// Whether the byte before is of no text.
    has_beginning: bool,
}

impl FoundText {
    fn at(at: Svma, elf: &Elf, read: impl FnOnce(u64, u64) -> Option<Vec<u8>>) -> Option<Self> {
        let sections = Some(&elf.sections).filter(|sections| sections.len() <= MOST_SECTIONS)?;
        let section = sections.iter().find(|section| {
            let is_data = section.is_allocated() && section.has_bytes();
            let is_fixed = !section.is_writable() && !section.is_executable();
            let within = at.0.checked_sub(section.address);
            let has_it = within.is_some_and(|within| within < section.size);
            is_data && is_fixed && !section.is_compressed() && has_it
        })?;
        let within = at.0 - section.address;
        // The byte before, too.
        let before = within.min(1);
        let length = MOST_BYTES.min(section.size - within) + before;
        let bytes = read(section.offset.checked_add(within - before)?, length)?;
        let (previous, bytes) = bytes.split_at_checked(before as usize)?;
        let zero = bytes.iter().position(|&byte| byte == 0);
        let text = text_of(bytes.get(..zero.unwrap_or(bytes.len()))?, zero)?;
        Some(Self {
            quoted: quoted(text)?,
            end: zero.map(|zero| Svma(at.0.wrapping_add(zero as u64 + 1))),
            has_beginning: !previous.iter().any(|&byte| is_of_text(byte.into())),
        })
    }
}

/// Bytes as text: one without a zero behind it may end within a character, and has to be long.
fn text_of(bytes: &[u8], zero: Option<usize>) -> Option<&str> {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => {
            return Some(text).filter(|_| zero.is_some() || bytes.len() as u64 >= MOST_BYTES);
        }
        Err(error) if zero.is_none() && error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return None,
    };
    std::str::from_utf8(bytes.get(..valid)?).ok()
}

/// Whether texts have such a character. Those of kernels begin with a 1.
fn is_of_text(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | '\x1b' | '\x01') || !character.is_control()
}

fn quoted(text: &str) -> Option<String> {
    if text.chars().nth(LEAST_CHARACTERS - 1).is_none() || !text.chars().all(is_of_text) {
        return None;
    }
    let mut shown = String::from('"');
    for character in text.chars().take(MOST_CHARACTERS) {
        match character {
            '"' | '\\' => shown.extend(['\\', character]),
            _ if character.is_control() => shown.extend(character.escape_default()),
            _ => shown.push(character),
        }
    }
    shown.push_str(if text.chars().nth(MOST_CHARACTERS).is_some() { "\"…" } else { "\"" });
    Some(printable(&shown).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_a_text_where_all_of_them_are() {
        let quoted = |bytes: &[u8], zero| quoted(text_of(bytes, zero)?);
        assert_eq!(quoted(b"usage: %s\n", Some(10)).as_deref(), Some("\"usage: %s\\n\""));
        assert_eq!(quoted(b"a\\\"b", Some(4)).as_deref(), Some("\"a\\\\\\\"b\""));
        assert_eq!(quoted("é\u{202e}x".as_bytes(), Some(6)).as_deref(), Some("\"é\\u{202e}x\""));
        assert_eq!(quoted(b"\x016rcu: %d", Some(9)).as_deref(), Some("\"\\u{1}6rcu: %d\""));
        assert_eq!(quoted(b"A", Some(1)), None);
        assert_eq!(quoted(b"", Some(0)), None);
        assert_eq!(quoted(b"ab\x02", Some(3)), None);
        assert_eq!(quoted(b"\xff\xfeab", Some(4)), None);
        assert_eq!(quoted(b"short, and nothing ends it", None), None);
        let long = "ü".repeat(90);
        let cut = &long.as_bytes()[..MOST_BYTES as usize];
        assert_eq!(quoted(cut, None), Some(format!("\"{}\"…", "ü".repeat(40))));
    }
}
