//! Conversions of `printf`: `%-16s`, `%#08lx`.

/// Widest that a value is made: formats may say anything.
const MOST_WIDTH: usize = 1024;

/// What `%` begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversion {
    pub kind: Kind,
    flags: Flags,
    width: Place,
    precision: Place,
    /// Bits of an integer that count.
    bits: u32,
}

/// What is shown of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Integer(Base),
    Character,
    Text,
    /// As an address.
    Pointer,
    /// As the function at an address.
    Function,
    /// The same, and how far behind its beginning that is.
    FunctionAndOffset,
    /// What nobody here knows.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    Signed,
    Unsigned,
    Octal,
    Hex,
    UpperHex,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags {
    left: bool,
    plus: bool,
    blank: bool,
    alternate: bool,
    zero: bool,
}

/// A width or precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    None,
    Of(usize),
    /// An argument says it: `*`.
    Asked,
}

impl Conversion {
    /// Reads one behind its `%`, and what follows it.
    pub fn read(text: &str, long_bits: u32) -> Option<(Self, &str)> {
        let mut flags = Flags::default();
        let mut rest = text;
        while let Some(flag) = rest.chars().next() {
            match flag {
                '-' => flags.left = true,
                '+' => flags.plus = true,
                ' ' => flags.blank = true,
                '#' => flags.alternate = true,
                '0' => flags.zero = true,
                _ => break,
            }
            rest = &rest[1..];
        }
        let (width, rest) = Place::read(rest);
        let (precision, rest) = match rest.strip_prefix('.') {
            None => (Place::None, rest),
            Some(rest) => match Place::read(rest) {
                (Place::None, rest) => (Place::Of(0), rest),
                read => read,
            },
        };
        let lengths = [
            ("hh", 8),
            ("h", 16),
            ("ll", 64),
            ("l", long_bits),
            ("L", 64),
            ("j", 64),
            ("z", long_bits),
            ("t", long_bits),
        ];
        let length =
            lengths.iter().find_map(|(text, bits)| Some((*bits, rest.strip_prefix(text)?)));
        let (bits, rest) = length.unwrap_or((32, rest));
        let letter = rest.chars().next()?;
        let rest = &rest[letter.len_utf8()..];
        let (kind, rest) = match letter {
            'd' | 'i' => (Kind::Integer(Base::Signed), rest),
            'u' => (Kind::Integer(Base::Unsigned), rest),
            'o' => (Kind::Integer(Base::Octal), rest),
            'x' => (Kind::Integer(Base::Hex), rest),
            'X' => (Kind::Integer(Base::UpperHex), rest),
            'c' => (Kind::Character, rest),
            's' => (Kind::Text, rest),
            'p' => {
                let letters = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
                let kind = match &rest[..rest.len() - letters.len()] {
                    "" | "x" | "K" => Kind::Pointer,
                    "s" | "f" => Kind::Function,
                    "S" | "F" | "SR" | "SB" | "B" => Kind::FunctionAndOffset,
                    _ => Kind::Other,
                };
                (kind, letters)
            }
            _ => (Kind::Other, rest),
        };
        Some((Self { kind, flags, width, precision, bits }, rest))
    }

    /// Which arguments come before its own: for width, and for precision.
    pub fn asks_for(self) -> (bool, bool) {
        (self.width == Place::Asked, self.precision == Place::Asked)
    }

    /// With what arguments say.
    pub fn with(self, width: Option<usize>, precision: Option<usize>) -> Self {
        let place = |place, value: Option<usize>| match (place, value) {
            (Place::Asked, Some(value)) => Place::Of(value),
            (Place::Asked, None) => Place::None,
            (known, _) => known,
        };
        Self {
            width: place(self.width, width),
            precision: place(self.precision, precision),
            ..self
        }
    }

    /// An integer.
    pub fn integer(self, bits: u64, base: Base) -> String {
        let unused = 64 - self.bits;
        let unsigned = bits << unused >> unused;
        let signed = (bits << unused) as i64 >> unused;
        let Flags { plus, blank, alternate, .. } = self.flags;
        let (sign, digits) = match base {
            Base::Signed => {
                let sign = match (signed < 0, plus, blank) {
                    (true, ..) => "-",
                    (_, true, _) => "+",
                    (_, _, true) => " ",
                    _ => "",
                };
                (sign, signed.unsigned_abs().to_string())
            }
            Base::Unsigned => ("", unsigned.to_string()),
            Base::Octal => (if alternate { "0" } else { "" }, format!("{unsigned:o}")),
            Base::Hex if alternate && unsigned != 0 => ("0x", format!("{unsigned:x}")),
            Base::Hex => ("", format!("{unsigned:x}")),
            Base::UpperHex if alternate && unsigned != 0 => ("0X", format!("{unsigned:X}")),
            Base::UpperHex => ("", format!("{unsigned:X}")),
        };
        let least = match (self.precision, self.width) {
            (Place::Of(least), _) => least,
            (_, Place::Of(width)) if self.flags.zero && !self.flags.left => {
                width.min(MOST_WIDTH).saturating_sub(sign.len())
            }
            _ => 0,
        };
        self.padded(format!("{sign}{digits:0>least$}", least = least.min(MOST_WIDTH)))
    }

    /// A text, of which the precision may leave only so many bytes.
    pub fn text(self, text: &str) -> String {
        let most = match self.precision {
            Place::Of(most) => most.min(text.len()),
            _ => text.len(),
        };
        let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        self.padded(text[..end].to_owned())
    }

    /// As wide as it is meant to be.
    pub fn padded(self, text: String) -> String {
        match self.width {
            Place::Of(width) if self.flags.left => {
                format!("{text:<width$}", width = width.min(MOST_WIDTH))
            }
            Place::Of(width) => format!("{text:>width$}", width = width.min(MOST_WIDTH)),
            _ => text,
        }
    }
}

impl Place {
    fn read(text: &str) -> (Self, &str) {
        if let Some(rest) = text.strip_prefix('*') {
            return (Self::Asked, rest);
        }
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        match text[..text.len() - rest.len()].parse() {
            Ok(number) => (Self::Of(number), rest),
            Err(_) => (Self::None, rest),
        }
    }
}
