//! Names of Rust and C++ as their programmers wrote them.
//!
//! A mangled name may be hostile: a few bytes that stand for megabytes of text, or for deep
//! nesting. So input, output and nesting have a limit.

pub mod itanium;
mod parameters;

use std::borrow::Cow;
use std::fmt::{self, Write};

use self::itanium::ReturnType;
pub use self::parameters::without_parameters;

/// A longer mangled name is shown as it is.
const MAX_MANGLED: usize = 16 << 10;
/// A longer name ends here with "…".
const MAX_NAME: usize = 4 << 10;

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
    let mut text = BoundedName::default();
    // The alternate form leaves the hash out.
    let _ = write!(text, "{demangled:#}");
    text.finish()
}

fn demangle_cpp(name: &str) -> Option<String> {
    let (mut text, version) = itanium::demangle(name, ReturnType::Hidden, MAX_NAME)?;
    // `@@VERSION`.
    text.push_str(version);
    Some(text)
}

/// A name that ends at [`MAX_NAME`] and then refuses more, which ends the demangling.
#[derive(Default)]
struct BoundedName {
    text: String,
    is_full: bool,
}

impl BoundedName {
    fn finish(self) -> Option<String> {
        (!self.text.is_empty()).then_some(self.text)
    }
}

impl Write for BoundedName {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_and_cpp_names_read_as_written() {
        for (mangled, expected) in [
            ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>"),
            ("_ZN3foo3BarIiE3bazERKSs", "foo::Bar<int>::baz(std::string const&)"),
            ("_Z3addii.cold", "add(int, int) [clone .cold]"),
            ("_Znwm@@GLIBCXX_3.4", "operator new(unsigned long)@@GLIBCXX_3.4"),
            ("main", "main"),
            ("_start", "_start"),
            ("_Z", "_Z"),
            ("_ZNOT_A_NAME", "_ZNOT_A_NAME"),
        ] {
            assert_eq!(demangle(mangled), expected);
        }
    }

    #[test]
    fn a_name_that_unfolds_to_gigabytes_ends_early() {
        // Each pair refers twice to the one before: 2^60 pairs.
        let mut name = String::from("_Z1fSt4pairIiiE");
        let pairs: String = (0..60).map(|n| format!("St4pairIS{0}_S{0}_E", base36(n))).collect();
        name.push_str(&pairs);
        let shown = demangle(&name);
        assert!(shown.len() <= MAX_NAME + "…".len(), "{} bytes", shown.len());

        let nested = format!("_Z1f{}i", "P".repeat(15_000));
        assert!(demangle(&nested).len() <= MAX_MANGLED);
        let rust = format!("_RNvC1a{}1b", "B_".repeat(4000));
        assert!(demangle(&rust).len() <= MAX_MANGLED);
        let long = "x".repeat(100_000);
        assert_eq!(demangle(&long).chars().count(), MAX_NAME + 1);
    }

    fn base36(number: usize) -> String {
        // The sequence of substitutions: "", "0", … "9", "A", …, "Z", "10", …
        let digit = |n: usize| char::from_digit(n as u32, 36).unwrap().to_ascii_uppercase();
        match number {
            0 => String::new(),
            n if n <= 36 => digit(n - 1).to_string(),
            n => format!("{}{}", digit((n - 1) / 36), digit((n - 1) % 36)),
        }
    }
}
