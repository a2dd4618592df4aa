//! C++ names as mangled by the Itanium ABI, that is by all compilers for Linux.
//!
//! ```text
//! mangled name → names, types, expressions → nodes → print → text
//! ```
//!
//! The text is the one of `c++filt --no-verbose`, to the letter: that is what perf shows, too.
//!
//! Depth, nodes and text are bounded: a few bytes can stand for gigabytes of text.
//!
//! Sources: the Itanium C++ ABI, 5.1 "External Names", and what GCC and Clang write beyond it.

mod expressions;
mod names;
mod node;
mod operators;
mod parser;
mod print;
mod print_expressions;
mod types;

use self::parser::{Parser, Scopes};
use self::print::Printer;

/// Whether the type that a function returns stands before its name. Only names of templates have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnType {
    /// As `c++filt` writes it.
    Shown,
    /// Overloads differ in parameters, and a long type in front hides the name.
    Hidden,
}

/// What `mangled` stands for, and what is left of it: `@@VERSION`. Beyond `limit` bytes, the text is cut and ends
/// with "…".
///
/// `None` if it is not a mangled name, or is nested too deep.
pub fn demangle(mangled: &str, return_type: ReturnType, limit: usize) -> Option<(String, &str)> {
    [Scopes::AreTypes, Scopes::EndWithE]
        .into_iter()
        .find_map(|scopes| read(Parser::new(mangled, scopes), return_type, limit))
}

fn read<'a>(
    mut parser: Parser<'a>,
    return_type: ReturnType,
    limit: usize,
) -> Option<(String, &'a str)> {
    let root = parser.symbol()?;
    let rest = parser.rest();
    if !rest.is_empty() && !rest.starts_with('@') {
        return None;
    }
    let mut printer = Printer::new(parser.nodes(), return_type, limit);
    match printer.print(root) {
        Some(()) => Some((printer.out, rest)),
        None if printer.is_full => Some((printer.out + "…", "")),
        None => None,
    }
}

#[cfg(test)]
mod tests;
