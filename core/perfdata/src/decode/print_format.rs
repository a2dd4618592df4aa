//! What a tracepoint says of itself in words: the `print fmt` of its description, filled in with a sample's raw data.
//!
//! It is C: a format of `printf`, and expressions of fields (`REC->pid`), which are computed here as the kernel does,
//! with its helpers for texts, flags and symbols (`include/trace/stages/stage3_trace_output.h`). Of what is not known
//! here, an argument is [`UNKNOWN`]: variables of the kernel, its functions, and conversions of what a pointer leads to
//! (`%pI4`). perf 6.1 takes variables as 0.
//!
//! Descriptions come from strangers. An expression is compiled once, into steps for a stack of values, so that only
//! reading it recurses, up to a limit; and what is printed has a limit as well.

mod compile;
mod conversion;

use std::borrow::Cow;

use crate::decode::event_format::{EventFormat, Place, Value as FieldValue};
use crate::text::printable;
use conversion::{Conversion, Kind};

/// What stands for an argument that cannot be computed.
pub const UNKNOWN: &str = "?";
/// Longest format that is read; those of Linux 6.18 have 5 kB at most.
const MOST_FORMAT: usize = 64 << 10;
/// Where a sample's text ends that is longer: the kernel's own has room for a page.
const MOST_TEXT: usize = 16 << 10;

/// Knows which function of the kernel an address is in, and how far behind its beginning.
pub type FunctionAt<'a> = dyn Fn(u64) -> Option<(String, u64)> + 'a;

/// A print format, compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintFormat {
    pieces: Vec<Piece>,
}

/// What is printed one after the other.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Argument {
        conversion: Conversion,
        /// Those that say width and precision come first.
        width: Option<Program>,
        precision: Option<Program>,
        value: Program,
    },
}

/// Steps that leave one value on the stack.
type Program = Vec<Step>;

/// What is done to a stack of values.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Push(Number),
    Text(String),
    /// What is not known.
    Unknown,
    Field(Place),
    /// How many bytes it has.
    LengthOf(Place),
    /// One of the integers of a field, whose number is on the stack.
    Element(Place),
    Not,
    Complement,
    Negate,
    Binary(Operator),
    Cast {
        bits: u32,
        signed: bool,
    },
    /// Condition, then both values.
    Choose,
    /// Texts of the bits of a number.
    Flags {
        between: String,
        names: Vec<(u64, String)>,
    },
    /// The text of a number.
    Symbol(Vec<(u64, String)>),
    /// Bytes in hex, as many as the number on the stack says.
    Hex {
        between: &'static str,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Multiply,
    Divide,
    Remainder,
    Add,
    Subtract,
    ShiftLeft,
    ShiftRight,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    BitAnd,
    BitXor,
    BitOr,
    And,
    Or,
}

/// 64 bits. An operation is signed if both of its operands are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number {
    bits: u64,
    signed: bool,
}

/// What expressions compute.
#[derive(Clone, Debug)]
enum Value<'a> {
    Number(Number),
    Text(Cow<'a, str>),
    Bytes(&'a [u8]),
    Unknown,
}

impl PrintFormat {
    /// Compiles that of a tracepoint; `None` if it has none that can be read.
    pub fn of(format: &EventFormat) -> Option<Self> {
        let text = format.print_text.as_str();
        if text.is_empty() || text.len() > MOST_FORMAT {
            return None;
        }
        compile::print_format(text, format).map(|pieces| Self { pieces })
    }

    /// Appends what it says of a sample, as far as that can be shown.
    pub fn write(&self, raw: &[u8], function_at: &FunctionAt<'_>, text: &mut String) {
        let most = text.len() + MOST_TEXT;
        for piece in &self.pieces {
            match piece {
                Piece::Text(words) => text.push_str(&printable(words)),
                Piece::Argument { conversion, width, precision, value } => {
                    let number = |program: &Option<Program>| match run(program.as_ref()?, raw) {
                        Value::Number(number) => usize::try_from(number.bits as i32).ok(),
                        _ => None,
                    };
                    let conversion = conversion.with(number(width), number(precision));
                    let value = run(value, raw);
                    let function = match (&value, conversion.kind) {
                        (Value::Number(at), Kind::Function | Kind::FunctionAndOffset) => {
                            function_at(at.bits)
                        }
                        _ => None,
                    };
                    let value = match (function, conversion.kind) {
                        (Some((name, _)), Kind::Function) => conversion.padded(name),
                        (Some((name, offset)), _) => {
                            conversion.padded(format!("{name}+{offset:#x}"))
                        }
                        (None, _) => shown(&value, conversion),
                    };
                    text.push_str(&printable(&value));
                }
            }
            if text.len() > most {
                let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
                text.truncate(end);
                text.push_str("...");
                return;
            }
        }
    }
}

/// A value as a conversion shows it.
fn shown(value: &Value<'_>, conversion: Conversion) -> String {
    match (value, conversion.kind) {
        (Value::Number(number), Kind::Integer(base)) => conversion.integer(number.bits, base),
        (Value::Number(number), Kind::Character) => conversion
            .padded(char::from_u32(number.bits as u32 & 0xff).unwrap_or_default().to_string()),
        (Value::Number(number), Kind::Pointer | Kind::Function | Kind::FunctionAndOffset) => {
            match number.bits {
                0 => conversion.padded("(nil)".to_owned()),
                address => conversion.padded(format!("{address:#x}")),
            }
        }
        // A pointer to a text, which was not recorded.
        (Value::Number(number), Kind::Text) => conversion.padded(format!("{:x}", number.bits)),
        (Value::Text(text), Kind::Text) => conversion.text(text),
        (Value::Bytes(bytes), Kind::Text) => {
            conversion.text(&String::from_utf8_lossy(crate::decode::cursor::until_nul(bytes)))
        }
        _ => conversion.padded(UNKNOWN.to_owned()),
    }
}

fn run<'a>(program: &'a [Step], raw: &'a [u8]) -> Value<'a> {
    let mut stack: Vec<Value<'a>> = Vec::new();
    for step in program {
        let value = step.value(&mut stack, raw).unwrap_or(Value::Unknown);
        stack.push(value);
    }
    stack.pop().unwrap_or(Value::Unknown)
}

impl Step {
    /// What the step leaves on the stack, of which it takes what it needs; `None`: that is unknown.
    fn value<'a>(&'a self, stack: &mut Vec<Value<'a>>, raw: &'a [u8]) -> Option<Value<'a>> {
        Some(match self {
            Self::Push(number) => Value::Number(*number),
            Self::Text(text) => Value::Text(Cow::Borrowed(text)),
            Self::Unknown => return None,
            Self::Field(place) => match place.read(raw)? {
                FieldValue::Number(number) => Value::Number(number.into()),
                FieldValue::Text(text) => Value::Text(text),
                FieldValue::Bytes(_) | FieldValue::Numbers(_) => Value::Bytes(place.bytes(raw)?),
            },
            Self::LengthOf(place) => Value::Number(Number::of(place.bytes(raw)?.len() as u64)),
            Self::Element(place) => {
                let index = usize::try_from(number(stack)?.bits).ok()?;
                match place.read(raw)? {
                    FieldValue::Numbers(numbers) => Value::Number((*numbers.get(index)?).into()),
                    FieldValue::Text(_) | FieldValue::Bytes(_) => {
                        Value::Number(Number::of((*place.bytes(raw)?.get(index)?).into()))
                    }
                    FieldValue::Number(_) => return None,
                }
            }
            Self::Not => Value::Number(Number::truth(number(stack)?.bits == 0)),
            Self::Complement => {
                let number = number(stack)?;
                Value::Number(Number { bits: !number.bits, ..number })
            }
            Self::Negate => {
                let number = number(stack)?;
                Value::Number(Number { bits: number.bits.wrapping_neg(), ..number })
            }
            Self::Binary(operator) => {
                // Both are taken, even if one is unknown.
                let (right, left) = (number(stack), number(stack));
                Value::Number(operator.of(left?, right?)?)
            }
            Self::Cast { bits, signed } => match stack.pop()? {
                Value::Number(number) => Value::Number(number.cast(*bits, *signed)),
                other => other,
            },
            Self::Choose => {
                let (otherwise, then, condition) = (stack.pop()?, stack.pop()?, number(stack)?);
                if condition.bits != 0 { then } else { otherwise }
            }
            Self::Flags { between, names } => {
                Value::Text(flags(number(stack)?.bits, between, names).into())
            }
            Self::Symbol(names) => {
                let number = number(stack)?.bits;
                let name = names.iter().find(|(value, _)| *value == number);
                match name {
                    Some((_, name)) => Value::Text(Cow::Borrowed(name)),
                    None => Value::Text(format!("{number:#x}").into()),
                }
            }
            Self::Hex { between } => {
                let (length, bytes) = (number(stack), stack.pop());
                let Value::Bytes(bytes) = bytes? else { return None };
                let bytes = bytes.get(..usize::try_from(length?.bits).ok()?)?;
                let bytes = bytes.get(..bytes.len().min(MOST_TEXT))?;
                let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                Value::Text(digits.join(between).into())
            }
        })
    }
}

fn number(stack: &mut Vec<Value<'_>>) -> Option<Number> {
    match stack.pop()? {
        Value::Number(number) => Some(number),
        _ => None,
    }
}

/// Names of the flags that are set, and the rest in hex, as perf prints them.
fn flags(mut left: u64, between: &str, names: &[(u64, String)]) -> String {
    let mut shown: Vec<Cow<'_, str>> = Vec::new();
    for (mask, name) in names {
        let is_nothing = left == 0 && *mask == 0 && shown.is_empty();
        if is_nothing || (*mask != 0 && left & mask == *mask) {
            shown.push(Cow::Borrowed(name));
            left &= !mask;
        }
    }
    if left != 0 {
        shown.push(Cow::Owned(format!("{left:#x}")));
    }
    shown.join(between)
}

impl Number {
    fn of(bits: u64) -> Self {
        Self { bits, signed: false }
    }

    fn truth(truth: bool) -> Self {
        Self { bits: truth.into(), signed: true }
    }

    fn cast(self, bits: u32, signed: bool) -> Self {
        let unused = 64 - bits.clamp(1, 64);
        let shifted = self.bits << unused;
        let bits = if signed { (shifted as i64 >> unused) as u64 } else { shifted >> unused };
        Self { bits, signed }
    }
}

impl From<crate::decode::event_format::Number> for Number {
    fn from(number: crate::decode::event_format::Number) -> Self {
        let signed = matches!(number, crate::decode::event_format::Number::Signed(_));
        Self { bits: number.as_u64(), signed }
    }
}

impl Operator {
    /// `None` of a division by zero.
    fn of(self, left: Number, right: Number) -> Option<Number> {
        let signed = left.signed && right.signed;
        let number = |bits| Number { bits, signed };
        let (a, b) = (left.bits, right.bits);
        let ordering = if signed { (a as i64).cmp(&(b as i64)) } else { a.cmp(&b) };
        let shift = u32::try_from(b).ok().filter(|shift| *shift < 64);
        Some(match self {
            Self::Multiply => number(a.wrapping_mul(b)),
            Self::Divide if signed => number((a as i64).checked_div(b as i64)? as u64),
            Self::Divide => number(a.checked_div(b)?),
            Self::Remainder if signed => number((a as i64).checked_rem(b as i64)? as u64),
            Self::Remainder => number(a.checked_rem(b)?),
            Self::Add => number(a.wrapping_add(b)),
            Self::Subtract => number(a.wrapping_sub(b)),
            Self::ShiftLeft => Number { bits: a << shift?, ..left },
            Self::ShiftRight if left.signed => Number { bits: (a as i64 >> shift?) as u64, ..left },
            Self::ShiftRight => Number { bits: a >> shift?, ..left },
            Self::Less => Number::truth(ordering.is_lt()),
            Self::LessOrEqual => Number::truth(ordering.is_le()),
            Self::Greater => Number::truth(ordering.is_gt()),
            Self::GreaterOrEqual => Number::truth(ordering.is_ge()),
            Self::Equal => Number::truth(a == b),
            Self::NotEqual => Number::truth(a != b),
            Self::BitAnd => number(a & b),
            Self::BitXor => number(a ^ b),
            Self::BitOr => number(a | b),
            Self::And => Number::truth(a != 0 && b != 0),
            Self::Or => Number::truth(a != 0 || b != 0),
        })
    }
}

#[cfg(test)]
mod tests;
