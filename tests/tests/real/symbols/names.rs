//! C++ names, held against `c++filt`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftab_images::demangle::itanium::{ReturnType, demangle};
use perftab_tests::child_process::LimitedCommand;

use crate::symbols::oracle::demangled;
use crate::symbols::workbench::{run, text};

/// Longer than any name here.
const NO_LIMIT: usize = 1 << 20;

#[test]
fn names_of_libstdcxx_read_as_cppfilt_writes_them() {
    let library = run("g++", &["-print-file-name=libstdc++.so.6"]);
    let compared = compare(Path::new(library.trim()));
    assert!(compared > 3000, "{compared} names");
}

/// LLVM as rustc uses it, and node: Clang's and GCC's names, with lambdas, packs and `enable_if`.
#[test]
#[ignore = "left to --all: 250,000 names"]
fn names_of_llvm_and_node_read_as_cppfilt_writes_them() {
    let sysroot = PathBuf::from(run("rustc", &["--print", "sysroot"]).trim());
    let libraries = std::fs::read_dir(sysroot.join("lib")).expect("rustc has libraries");
    let mut files: Vec<PathBuf> = libraries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.contains(".so") && (name.contains("LLVM") || name.contains("rustc_driver"))
        })
        .collect();
    let node = run("sh", &["-c", "command -v node || true"]);
    files.extend(node.lines().map(PathBuf::from));
    let compared: usize = files.iter().map(|file| compare(file)).sum();
    if compared < 10_000 {
        println!("SKIPPED: names_of_llvm_and_node: {files:?} have {compared} C++ names");
    }
}

/// How many names of a file are demangled by both.
fn compare(file: &Path) -> usize {
    let mut mangled: BTreeSet<String> = BTreeSet::new();
    for flags in [&["-D"][..], &[]] {
        let listing = Command::new("nm").args(flags).arg(file).ended().expect("nm runs");
        let listing = String::from_utf8_lossy(&listing.stdout);
        let names = listing.lines().filter_map(|line| line.split_whitespace().last());
        let without_version = names.map(|name| name.split('@').next().unwrap_or(name));
        mangled.extend(without_version.filter(|name| name.starts_with("_Z")).map(str::to_owned));
    }
    let mangled: Vec<String> = mangled.into_iter().collect();
    let (mut compared, mut in_functions, mut others) = (0, 0, Vec::new());
    for (name, expected) in mangled.iter().zip(demangled(&mangled)) {
        if expected == *name {
            // It knows fewer names than compilers do.
            continue;
        }
        compared += 1;
        let shown = demangle(name, ReturnType::Shown, NO_LIMIT).map(|(text, _)| text);
        let hidden = demangle(name, ReturnType::Hidden, NO_LIMIT).map(|(text, _)| text);
        if let (Some(shown), Some(hidden)) = (&shown, &hidden) {
            assert!(is_without_return_type(shown, hidden), "{name}: {shown} and {hidden}");
        }
        assert_eq!(shown.is_some(), hidden.is_some(), "{name}");
        let is_in_function = expected.contains(")::") || expected.contains(") const::");
        in_functions += usize::from(is_in_function);
        if shown.as_deref() != Some(&without_empty_packs(&expected)) {
            others.push((is_in_function, name, expected, shown));
        }
    }
    // c++filt 2.40 mixes up the templates of a function and of the one that it is in, and names constructors after
    // the last class it has seen.
    let wrong: Vec<_> = others.iter().filter(|other| !other.0).collect();
    assert!(wrong.is_empty(), "{}: {} names, as {:#?}", text(file), wrong.len(), &wrong[0]);
    let limit = in_functions / 80;
    assert!(others.len() <= limit, "{}: {} of {in_functions}", text(file), others.len());
    compared
}

/// What `c++filt` writes, without the comma that it leaves behind an empty pack, and with the space that
/// it leaves out in front of one: `A<, B<C>>` for `A<B<C> >`.
fn without_empty_packs(name: &str) -> String {
    let mut name = name.to_owned();
    for (from, to) in [(", , ", ", "), ("<, ", "<"), ("(, ", "(")] {
        while name.contains(from) {
            name = name.replace(from, to);
        }
    }
    let mut spaced = String::new();
    let mut rest = name.as_str();
    while let Some(at) = rest.find(">>") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        // `(a)>>(b)`, and not the end of arguments: `f<A<void ()>>(int)`.
        let is_shift = before.ends_with(')') && !before.ends_with("()") && after.starts_with('(');
        let is_operator = before.ends_with("operator") || is_shift;
        spaced += before;
        spaced += if is_operator { ">>" } else { "> " };
        rest = &rest[if is_operator { at + 2 } else { at + 1 }..];
    }
    spaced + rest
}

/// True if `hidden` is `shown` without what the function returns: in front of its name, or around all
/// of it (`void (*f(int))(char)`).
fn is_without_return_type(shown: &str, hidden: &str) -> bool {
    let is_type = |before: &str| before.is_empty() || before.ends_with(' ');
    let is_around =
        || shown.contains(&format!("{hidden})")) || shown.contains(&format!("{hidden} ["));
    shown.strip_suffix(hidden).is_some_and(is_type) || is_around()
}
