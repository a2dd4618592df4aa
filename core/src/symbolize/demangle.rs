//! Names of Rust and C++ as their programmers wrote them.
//!
//! A mangled name may be hostile: a few bytes that stand for megabytes of text, or for deep
//! nesting. So input and output have a limit, and the demanglers' own limits on recursion hold.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// A longer mangled name is shown as it is.
const MAX_MANGLED: usize = 16 << 10;
/// A longer name ends here with "…".
const MAX_NAME: usize = 4 << 10;
/// Nesting beyond this is shown mangled. The deepest in Chromium is below 50.
const MAX_DEPTH: u32 = 128;

/// The name to show for a symbol: demangled if it is mangled.
///
/// Rust names lose their hash, C++ names their return type; parameters stay, because they tell
/// overloads apart.
pub fn demangle(name: &str) -> Cow<'_, str> {
    if name.len() <= MAX_MANGLED
        && let Some(demangled) = demangle_rust(name).or_else(|| demangle_cpp(name))
    {
        return Cow::Owned(demangled);
    }
    match name.char_indices().find(|&(at, _)| at >= MAX_NAME) {
        Some((at, _)) => Cow::Owned(format!("{}…", &name[..at])),
        None => Cow::Borrowed(name),
    }
}

fn demangle_rust(name: &str) -> Option<String> {
    let demangled = rustc_demangle::try_demangle(name).ok()?;
    let mut text = Limited::default();
    // The alternate form leaves the hash out.
    let _ = write!(text, "{demangled:#}");
    text.finish()
}

fn demangle_cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") && !name.starts_with("__Z") && !name.starts_with("_GLOBAL_") {
        return None;
    }
    let parse = cpp_demangle::ParseOptions::default().recursion_limit(MAX_DEPTH);
    let print = cpp_demangle::DemangleOptions::default()
        .no_return_type()
        .hide_expression_literal_types()
        .recursion_limit(MAX_DEPTH);
    let (symbol, tail) =
        cpp_demangle::BorrowedSymbol::with_tail_and_options(name.as_bytes(), &parse).ok()?;
    let mut text = Limited::default();
    let outcome = symbol.structured_demangle(&mut text, &print);
    if outcome.is_err() && !text.is_full {
        return None;
    }
    // What compilers append to a clone: `.cold`, `.part.0`, and linkers: `@@VERSION`.
    match tail {
        [] => {}
        [b'.' | b'@', ..] => {
            let _ = text.write_str(std::str::from_utf8(tail).ok()?);
        }
        _ => return None,
    }
    text.finish()
}

/// A text that ends at [`MAX_NAME`] and then refuses more, which ends the demangling.
#[derive(Default)]
struct Limited {
    text: String,
    is_full: bool,
}

impl Limited {
    fn finish(self) -> Option<String> {
        (!self.text.is_empty()).then_some(self.text)
    }
}

impl Write for Limited {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.is_full {
            return Err(fmt::Error);
        }
        let room = MAX_NAME.saturating_sub(self.text.len());
        if more.len() <= room {
            self.text.push_str(more);
            return Ok(());
        }
        let end = (0..=room).rev().find(|&at| more.is_char_boundary(at)).unwrap_or_default();
        self.text.push_str(&more[..end]);
        self.text.push('…');
        self.is_full = true;
        Err(fmt::Error)
    }
}
