//! Operators and the types of the language, by their codes.
//!
//! Source: Itanium C++ ABI, 5.1.3 "Operator Encodings" and 5.1.5 "Type encodings".

use super::node::ValueStyle;

/// What is written for an operator, and what its operands are.
#[derive(Debug, PartialEq, Eq)]
pub struct Operator {
    pub code: &'static str,
    /// As it stands in an expression; `sizeof ` keeps a space for its operand.
    pub text: &'static str,
    pub operands: Operands,
}

/// How an expression with the operator goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    None,
    Prefix,
    /// Prefix if `_` follows, else postfix.
    Increment,
    /// One, always in parentheses.
    Parenthesized,
    /// A type in parentheses.
    OfType,
    Infix,
    Index,
    Member,
    NamedCast,
    Call,
    Conditional,
    New,
    PackLength,
    ArgumentCount,
}

const fn operator(code: &'static str, text: &'static str, operands: Operands) -> Operator {
    Operator { code, text, operands }
}

/// In the order of their codes.
static OPERATORS: [Operator; 72] = {
    use Operands::*;
    [
        operator("aN", "&=", Infix),
        operator("aS", "=", Infix),
        operator("aa", "&&", Infix),
        operator("ad", "&", Prefix),
        operator("an", "&", Infix),
        operator("at", "alignof ", OfType),
        operator("aw", "co_await ", Prefix),
        operator("az", "alignof ", Parenthesized),
        operator("cc", "const_cast", NamedCast),
        operator("cl", "()", Call),
        operator("cm", ",", Infix),
        operator("co", "~", Prefix),
        operator("dV", "/=", Infix),
        operator("dX", "[...]=", None),
        operator("da", "delete[] ", Prefix),
        operator("dc", "dynamic_cast", NamedCast),
        operator("de", "*", Prefix),
        operator("di", "=", None),
        operator("dl", "delete ", Prefix),
        operator("ds", ".*", Infix),
        operator("dt", ".", Member),
        operator("dv", "/", Infix),
        operator("dx", "]=", None),
        operator("eO", "^=", Infix),
        operator("eo", "^", Infix),
        operator("eq", "==", Infix),
        operator("ge", ">=", Infix),
        operator("gs", "::", Prefix),
        operator("gt", ">", Infix),
        operator("ix", "[]", Index),
        operator("lS", "<<=", Infix),
        operator("le", "<=", Infix),
        operator("li", "operator\"\" ", None),
        operator("ls", "<<", Infix),
        operator("lt", "<", Infix),
        operator("mI", "-=", Infix),
        operator("mL", "*=", Infix),
        operator("mi", "-", Infix),
        operator("ml", "*", Infix),
        operator("mm", "--", Increment),
        operator("na", "new[]", New),
        operator("ne", "!=", Infix),
        operator("ng", "-", Prefix),
        operator("nt", "!", Prefix),
        operator("nw", "new", New),
        operator("nx", "noexcept", Parenthesized),
        operator("oR", "|=", Infix),
        operator("oo", "||", Infix),
        operator("or", "|", Infix),
        operator("pL", "+=", Infix),
        operator("pl", "+", Infix),
        operator("pm", "->*", Infix),
        operator("pp", "++", Increment),
        operator("ps", "+", Prefix),
        operator("pt", "->", Member),
        operator("qu", "?", Conditional),
        operator("rM", "%=", Infix),
        operator("rS", ">>=", Infix),
        operator("rc", "reinterpret_cast", NamedCast),
        operator("rm", "%", Infix),
        operator("rs", ">>", Infix),
        operator("sP", "sizeof...", ArgumentCount),
        operator("sZ", "sizeof...", PackLength),
        operator("sc", "static_cast", NamedCast),
        operator("ss", "<=>", Infix),
        operator("st", "sizeof ", OfType),
        operator("sz", "sizeof ", Prefix),
        operator("te", "typeid ", Prefix),
        operator("ti", "typeid ", OfType),
        operator("tr", "throw", None),
        operator("tw", "throw ", Prefix),
        operator("ty", "typename ", None),
    ]
};

/// The operator of a code of two letters.
pub fn by_code(code: &str) -> Option<&'static Operator> {
    let at = OPERATORS.binary_search_by(|operator| operator.code.cmp(code)).ok()?;
    OPERATORS.get(at)
}

/// The type of a code of one letter, and how its values are written.
pub fn builtin(code: u8) -> Option<(&'static str, ValueStyle)> {
    use ValueStyle::{Bits, Bool, Cast, Suffix};
    Some(match code {
        b'a' => ("signed char", Cast),
        b'b' => ("bool", Bool),
        b'c' => ("char", Cast),
        b'd' => ("double", Bits),
        b'e' => ("long double", Bits),
        b'f' => ("float", Bits),
        b'g' => ("__float128", Bits),
        b'h' => ("unsigned char", Cast),
        b'i' => ("int", Suffix("")),
        b'j' => ("unsigned int", Suffix("u")),
        b'l' => ("long", Suffix("l")),
        b'm' => ("unsigned long", Suffix("ul")),
        b'n' => ("__int128", Cast),
        b'o' => ("unsigned __int128", Cast),
        b's' => ("short", Cast),
        b't' => ("unsigned short", Cast),
        b'v' => ("void", Cast),
        b'w' => ("wchar_t", Cast),
        b'x' => ("long long", Suffix("ll")),
        b'y' => ("unsigned long long", Suffix("ull")),
        b'z' => ("...", Cast),
        _ => return None,
    })
}

/// The type of a code of `D` and a letter.
pub fn builtin_of_two(code: u8) -> Option<(&'static str, ValueStyle)> {
    use ValueStyle::{Bits, Cast};
    Some(match code {
        b'a' => ("auto", Cast),
        b'c' => ("decltype(auto)", Cast),
        b'd' => ("decimal64", Cast),
        b'e' => ("decimal128", Cast),
        b'f' => ("decimal32", Cast),
        b'h' => ("half", Bits),
        b'i' => ("char32_t", Cast),
        b'n' => ("decltype(nullptr)", Cast),
        b's' => ("char16_t", Cast),
        b'u' => ("char8_t", Cast),
        _ => return None,
    })
}

/// A name of the standard library that has a code of its own.
pub struct Abbreviation {
    pub short: &'static str,
    /// In `std`, what it is short for where a constructor or a destructor follows.
    pub class: &'static str,
    pub arguments: &'static [&'static str],
}

/// What `S` and a letter stand for; `St` is not among them.
///
/// Source: Itanium C++ ABI, 5.1.10 "Compression".
pub fn abbreviation(code: u8) -> Option<Abbreviation> {
    const CHARS: &[&str] = &["char", "std::char_traits<char>"];
    let (short, class, arguments) = match code {
        b'a' => ("std::allocator", "allocator", &[][..]),
        b'b' => ("std::basic_string", "basic_string", &[][..]),
        b's' => (
            "std::string",
            "basic_string",
            &["char", "std::char_traits<char>", "std::allocator<char>"][..],
        ),
        b'i' => ("std::istream", "basic_istream", CHARS),
        b'o' => ("std::ostream", "basic_ostream", CHARS),
        b'd' => ("std::iostream", "basic_iostream", CHARS),
        _ => return None,
    };
    Some(Abbreviation { short, class, arguments })
}
