//! From the text of a print format to its [pieces](Piece).

use super::conversion::Conversion;
use super::{Number, Operator, Piece, Program, Step, Value, run};
use crate::decode::event_format::{EventFormat, Place};

/// Brackets within each other; those of Linux 6.18 are up to a dozen.
const MOST_DEPTH: u32 = 64;

/// A word of C.
#[derive(Clone, Debug, PartialEq)]
enum Token<'a> {
    Name(&'a str),
    Number(Number),
    Text(String),
    Sign(&'a str),
}

/// Compiles what stands behind `print fmt:`; `None` if it is not written as C.
pub fn print_format(text: &str, format: &EventFormat) -> Option<Vec<Piece>> {
    let tokens = tokens(text)?;
    let mut reader = Reader { tokens: &tokens, format, depth: 0 };
    let words = reader.text()?;
    let mut arguments = Vec::new();
    while reader.takes(",") {
        let mut program = Program::new();
        reader.ternary(&mut program)?;
        arguments.push(program);
    }
    reader.tokens.is_empty().then_some(())?;
    let mut arguments = arguments.into_iter();
    let mut next = || arguments.next().unwrap_or_else(|| vec![Step::Unknown]);
    let mut pieces = Vec::new();
    let mut rest = words.as_str();
    while let Some((before, behind)) = rest.split_once('%') {
        pieces.push(Piece::Text(before.to_owned()));
        if let Some(behind) = behind.strip_prefix('%') {
            pieces.push(Piece::Text("%".to_owned()));
            rest = behind;
            continue;
        }
        let (conversion, behind) = Conversion::read(behind, format.long_bits())?;
        let (has_width, has_precision) = conversion.asks_for();
        let width = has_width.then(&mut next);
        let precision = has_precision.then(&mut next);
        pieces.push(Piece::Argument { conversion, width, precision, value: next() });
        rest = behind;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Some(pieces)
}

fn tokens(mut text: &str) -> Option<Vec<Token<'_>>> {
    const SIGNS: [&str; 31] = [
        "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "->", "(", ")", "[", "]", "{", "}", ",",
        "?", ":", "+", "-", "*", "/", "%", "<", ">", "!", "~", "&", "|", "^", ".",
    ];
    let mut tokens = Vec::new();
    loop {
        text = text.trim_start();
        let Some(first) = text.chars().next() else { return Some(tokens) };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let word = &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())];
        let (token, length) = if first == '"' {
            let (read, length) = quoted(&text[1..], '"')?;
            (Token::Text(read), length + 1)
        } else if first == '\'' {
            let (read, length) = quoted(&text[1..], '\'')?;
            (Token::Number(Number::of(read.chars().next()?.into())), length + 1)
        } else if first.is_ascii_digit() {
            (Token::Number(literal(word)?), word.len())
        } else if !word.is_empty() {
            (Token::Name(word), word.len())
        } else {
            let sign = SIGNS.iter().find(|sign| text.starts_with(**sign))?;
            (Token::Sign(sign), sign.len())
        };
        tokens.push(token);
        text = &text[length..];
    }
}

/// A text behind its first quote, and its length with the last one.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut read = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => read.push(match letters.next()?.1 {
                'n' => '\n',
                't' => '\t',
                other => other,
            }),
            _ if letter == quote => return Some((read, at + 1)),
            _ => read.push(letter),
        }
    }
    None
}

/// `0x3cUL`, `017`, `42`.
fn literal(word: &str) -> Option<Number> {
    let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
    let is_unsigned = word[digits.len()..].contains(['u', 'U']);
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let bits = match (hex, digits.strip_prefix('0')) {
        (Some(hex), _) => u64::from_str_radix(hex, 16),
        (None, Some(octal)) if !octal.is_empty() => u64::from_str_radix(octal, 8),
        _ => digits.parse(),
    };
    let bits = bits.ok()?;
    Some(Number { bits, signed: !is_unsigned && i64::try_from(bits).is_ok() })
}

/// Bits of a C type that a value may be made, and whether it has a sign. What is none is an alias or a pointer of
/// 64 bits.
fn type_of(names: &[&str], is_pointer: bool, long_bits: u32) -> (u32, bool) {
    let has = |name| names.contains(&name);
    let signed = !has("unsigned");
    let longs = names.iter().filter(|name| **name == "long").count();
    match names.last().copied().unwrap_or_default() {
        _ if is_pointer => (64, false),
        "u8" | "__u8" | "uint8_t" | "bool" | "_Bool" => (8, false),
        "u16" | "__u16" | "uint16_t" => (16, false),
        "u32" | "__u32" | "uint32_t" | "gfp_t" | "dev_t" => (32, false),
        "s8" | "__s8" | "int8_t" => (8, true),
        "s16" | "__s16" | "int16_t" => (16, true),
        "s32" | "__s32" | "int32_t" | "pid_t" => (32, true),
        "s64" | "__s64" | "int64_t" | "loff_t" => (64, true),
        "char" => (8, signed),
        "size_t" => (long_bits, false),
        "ssize_t" => (long_bits, true),
        _ if longs > 0 => (if longs > 1 { 64 } else { long_bits }, signed),
        _ if has("short") => (16, signed),
        "int" | "unsigned" | "signed" => (32, signed),
        _ => (64, false),
    }
}

/// Each operator with how strongly it binds.
fn binary(sign: &str) -> Option<(u8, Operator)> {
    use Operator as O;
    Some(match sign {
        "*" => (10, O::Multiply),
        "/" => (10, O::Divide),
        "%" => (10, O::Remainder),
        "+" => (9, O::Add),
        "-" => (9, O::Subtract),
        "<<" => (8, O::ShiftLeft),
        ">>" => (8, O::ShiftRight),
        "<" => (7, O::Less),
        "<=" => (7, O::LessOrEqual),
        ">" => (7, O::Greater),
        ">=" => (7, O::GreaterOrEqual),
        "==" => (6, O::Equal),
        "!=" => (6, O::NotEqual),
        "&" => (5, O::BitAnd),
        "^" => (4, O::BitXor),
        "|" => (3, O::BitOr),
        "&&" => (2, O::And),
        "||" => (1, O::Or),
        _ => return None,
    })
}

/// Reads expressions: each leaves its steps behind those that there are.
struct Reader<'a, 'b> {
    tokens: &'b [Token<'a>],
    format: &'b EventFormat,
    depth: u32,
}

impl<'a> Reader<'a, '_> {
    fn next(&mut self) -> Option<&Token<'a>> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.tokens.first(), Some(Token::Sign(next)) if *next == sign);
        if is_next {
            self.tokens = &self.tokens[1..];
        }
        is_next
    }

    fn expect(&mut self, sign: &str) -> Option<()> {
        self.takes(sign).then_some(())
    }

    /// Texts that follow each other are one.
    fn text(&mut self) -> Option<String> {
        let Some(Token::Text(first)) = self.next() else { return None };
        let mut text = first.clone();
        while let Some(Token::Text(more)) = self.tokens.first() {
            text.push_str(more);
            self.tokens = &self.tokens[1..];
        }
        Some(text)
    }

    fn ternary(&mut self, steps: &mut Program) -> Option<()> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return None;
        }
        self.operation(steps, 1)?;
        if self.takes("?") {
            self.ternary(steps)?;
            self.expect(":")?;
            self.ternary(steps)?;
            steps.push(Step::Choose);
        }
        self.depth -= 1;
        Some(())
    }

    /// Operators that bind at least so strongly.
    fn operation(&mut self, steps: &mut Program, least: u8) -> Option<()> {
        self.unary(steps)?;
        while let Some(Token::Sign(sign)) = self.tokens.first() {
            let Some((strength, operator)) = binary(sign).filter(|(it, _)| *it >= least) else {
                break;
            };
            self.tokens = &self.tokens[1..];
            self.operation(steps, strength + 1)?;
            steps.push(Step::Binary(operator));
        }
        Some(())
    }

    fn unary(&mut self, steps: &mut Program) -> Option<()> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return None;
        }
        if self.takes("!") {
            self.unary(steps)?;
            steps.push(Step::Not);
        } else if self.takes("~") {
            self.unary(steps)?;
            steps.push(Step::Complement);
        } else if self.takes("-") {
            self.unary(steps)?;
            steps.push(Step::Negate);
        } else if self.takes("+") {
            self.unary(steps)?;
        } else if self.takes("*") || self.takes("&") {
            // What a pointer leads to was not recorded.
            self.unary(steps)?;
            self.forget(steps);
        } else if let Some((bits, signed)) = self.cast() {
            self.unary(steps)?;
            steps.push(Step::Cast { bits, signed });
        } else {
            self.operand(steps)?;
        }
        self.depth -= 1;
        Some(())
    }

    /// Something that cannot be computed of what was read last.
    fn forget(&self, steps: &mut Program) {
        steps.extend([Step::Unknown, Step::Binary(Operator::Add)]);
    }

    /// `(unsigned long)`, if something follows that can be cast.
    fn cast(&mut self) -> Option<(u32, bool)> {
        let [Token::Sign("("), inside @ ..] = self.tokens else { return None };
        let length = inside.iter().position(|token| *token == Token::Sign(")"))?;
        let (mut names, mut is_pointer) = (Vec::new(), false);
        for token in &inside[..length] {
            match token {
                Token::Name(name) if *name != "REC" && !is_pointer => names.push(*name),
                Token::Sign("*") if !names.is_empty() => is_pointer = true,
                _ => return None,
            }
        }
        let rest = &inside[length + 1..];
        let is_cast = match rest.first()? {
            Token::Name(_) | Token::Number(_) | Token::Text(_) => true,
            Token::Sign(sign) => {
                // `(a) - 1` is no cast, and `(int) -1` is.
                let is_type = is_pointer || names.len() > 1 || names[..] == ["int"];
                *sign == "("
                    || *sign == "~"
                    || *sign == "!"
                    || (is_type && ["-", "+"].contains(sign))
            }
        };
        if names.is_empty() || !is_cast {
            return None;
        }
        self.tokens = rest;
        Some(type_of(&names, is_pointer, self.format.long_bits()))
    }

    fn operand(&mut self, steps: &mut Program) -> Option<()> {
        if let Some(Token::Text(_)) = self.tokens.first() {
            let text = self.text()?;
            steps.push(Step::Text(text));
            return Some(());
        }
        if self.takes("(") {
            self.ternary(steps)?;
            self.expect(")")?;
        } else {
            match self.next()?.clone() {
                Token::Number(number) => steps.push(Step::Push(number)),
                Token::Name("REC") => {
                    self.expect("->")?;
                    let Some(Token::Name(name)) = self.next().cloned() else { return None };
                    let field = self.format.field(name).map(|field| field.place);
                    if self.takes("[") {
                        self.ternary(steps)?;
                        self.expect("]")?;
                        match field {
                            Some(place) => steps.push(Step::Element(place)),
                            None => self.forget(steps),
                        }
                    } else {
                        steps.push(field.map_or(Step::Unknown, Step::Field));
                    }
                }
                Token::Name(name) if self.takes("(") => self.call(name, steps)?,
                // A variable of the kernel.
                Token::Name(_) => steps.push(Step::Unknown),
                _ => return None,
            }
        }
        // Elements and members of what is not a field.
        loop {
            if self.takes("[") {
                self.ternary(steps)?;
                self.expect("]")?;
                self.forget(steps);
            } else if self.takes("->") || self.takes(".") {
                self.next()?;
                self.forget(steps);
            } else {
                return Some(());
            }
        }
    }

    /// A function behind its first bracket.
    fn call(&mut self, name: &str, steps: &mut Program) -> Option<()> {
        match name {
            "__get_str" | "__get_rel_str" | "__get_dynamic_array" | "__get_rel_dynamic_array" => {
                let place = self.field_name()?;
                steps.push(place.map_or(Step::Unknown, Step::Field));
            }
            "__get_dynamic_array_len" | "__get_rel_dynamic_array_len" => {
                let place = self.field_name()?;
                steps.push(place.map_or(Step::Unknown, Step::LengthOf));
            }
            "__builtin_expect" => {
                self.ternary(steps)?;
                self.expect(",")?;
                self.ternary(&mut Program::new())?;
            }
            "__print_flags" | "__print_flags_u64" => {
                self.ternary(steps)?;
                self.expect(",")?;
                let between = self.text()?;
                steps.push(Step::Flags { between, names: self.names()? });
            }
            "__print_symbolic" | "__print_symbolic_u64" => {
                self.ternary(steps)?;
                steps.push(Step::Symbol(self.names()?));
            }
            "__print_hex" | "__print_hex_str" => {
                self.ternary(steps)?;
                self.expect(",")?;
                self.ternary(steps)?;
                let between = if name == "__print_hex" { " " } else { "" };
                steps.push(Step::Hex { between });
            }
            _ => return self.unknown_call(steps),
        }
        self.expect(")")
    }

    fn field_name(&mut self) -> Option<Option<Place>> {
        let Some(Token::Name(name)) = self.next().cloned() else { return None };
        Some(self.format.field(name).map(|field| field.place))
    }

    /// What nobody here knows, whatever is between its brackets.
    fn unknown_call(&mut self, steps: &mut Program) -> Option<()> {
        let mut open = 1_u32;
        while open > 0 {
            match self.next()? {
                Token::Sign("(") => open = open.checked_add(1)?,
                Token::Sign(")") => open -= 1,
                _ => {}
            }
        }
        steps.push(Step::Unknown);
        Some(())
    }

    /// `, { 1, "one" }, { 2, "two" }`: numbers that are known, and their names. The last may have none.
    fn names(&mut self) -> Option<Vec<(u64, String)>> {
        let mut names = Vec::new();
        while self.takes(",") {
            self.expect("{")?;
            let mut number = Program::new();
            self.ternary(&mut number)?;
            self.expect(",")?;
            match self.tokens.first() {
                Some(Token::Text(_)) => {
                    let name = self.text()?;
                    if let Value::Number(number) = run(&number, &[]) {
                        names.push((number.bits, name));
                    }
                }
                _ => self.ternary(&mut Program::new())?,
            }
            self.expect("}")?;
        }
        Some(names)
    }
}
