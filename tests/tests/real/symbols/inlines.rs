//! Inline frames and lines against `addr2line`.

use std::collections::BTreeSet;
use std::path::Path;

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::perftab_binary;
use perftab_tests::program::is_installed;
use perftab_tests::tier::Tier;

use crate::symbols::oracle::{Code, inline_levels, levels_by_llvm};
use crate::symbols::workbench::{Bench, compile, image};

const C: &str = r#"
static inline __attribute__((always_inline)) int innermost(int x) {
    for (int i = 0; i < x; i++)
        x ^= i * 31;
    return x;
}
static inline __attribute__((always_inline)) int middle(int x) {
    int y = innermost(x + 1);
    return y + innermost(y);
}
__attribute__((noinline)) int outer(int x) {
    return middle(x) * 3;
}
int main(int argc, char **argv) {
    return outer(argc) + middle(argc);
}
"#;

const CPP: &str = r#"
#include <algorithm>
#include <map>
#include <string>
#include <vector>
namespace shop {
template <typename T, int N> struct Basket {
    std::vector<T> items;
    T total() const {
        T sum{};
        for (const auto &item : items) sum += item * N;
        return sum;
    }
    bool operator<(const Basket &other) const { return total() < other.total(); }
};
template <typename F> int apply(F f, int x) { return f(x) + f(x + 1); }
}
int main(int argc, char **argv) {
    std::vector<shop::Basket<int, 3>> baskets(argc + 2);
    for (int i = 0; i < argc; i++) baskets[i].items.push_back(i);
    std::sort(baskets.begin(), baskets.end());
    std::map<std::string, int> names;
    names["a"] = shop::apply([&](int x) { return x * argc; }, 3);
    return baskets[0].total() + names["a"];
}
"#;

const RUST: &str = r#"
use std::collections::BTreeMap;
#[inline(always)]
fn mix(x: u64) -> u64 { x.rotate_left(7) ^ 0x9e37 }
struct Pot<T> { inner: Vec<T> }
impl<T: Copy + Into<u64>> Pot<T> {
    #[inline(never)]
    fn stir(&self) -> u64 { self.inner.iter().map(|&x| mix(x.into())).sum() }
}
fn main() {
    let pot = Pot { inner: std::env::args().map(|a| a.len() as u32).collect() };
    let mut map = BTreeMap::new();
    map.insert(pot.stir(), "a");
    std::process::exit((map.len() % 7) as i32);
}
"#;

/// What of the levels is the same in `addr2line` and here.
#[derive(Clone, Copy, PartialEq)]
enum Compare {
    /// Functions and lines.
    Everything,
    /// Lines of all levels: names are written differently.
    Lines,
}

fn compare(program: &Path, step: usize, what: Compare) -> usize {
    let code = Code::of(program);
    let file = image(program);
    let mut bench = Bench::new(file.identity(), &code.offsets(step));
    bench.admit(file).expect("it is the file recorded");
    let addresses: Vec<_> =
        bench.frames().iter().map(|&(offset, _)| code.address_of(offset)).collect();
    let expected = inline_levels(program, &addresses);

    let mut with_inlines = 0;
    let mut wrong = Vec::new();
    for (offset, frame) in bench.frames() {
        let levels = bench.levels(frame);
        let expected = &expected[&code.address_of(offset)];
        if expected.iter().any(|(function, _, line)| function == "??" || line.is_none()) {
            // Code without DWARF, as crt1.o; and lines of number 0.
            continue;
        }
        with_inlines += usize::from(expected.len() > 1);
        let lines_agree = expected.iter().map(|level| level.2).eq(levels.iter().map(|l| l.2));
        let names_agree = what == Compare::Lines
            || expected.iter().map(|level| Some(level.0.as_str())).eq(levels.iter().map(|l| l.0));
        if !lines_agree || !names_agree {
            wrong.push(format!("{:#x}\n  {expected:?}\n  {levels:?}", code.address_of(offset)));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    with_inlines
}

#[test]
fn c_at_every_byte() {
    for flags in [&["-g", "-O2"][..], &["-g", "-O1", "-gdwarf-4"], &["-g", "-O2", "-gdwarf-3"]] {
        let folder = TestFolder::new();
        let program = compile(&folder, "gcc", flags, "program.c", C);
        let with_inlines = compare(&program, 1, Compare::Everything);
        assert!(with_inlines > 40, "{flags:?}: only {with_inlines} addresses with inlines");
    }
}

const RARE: &str = r#"
struct Pair { int left, right; int both() const { return left * 7 + right; } };
struct Far { Pair a, b; };
__attribute__((cold, noinline)) void bad(int x) { __builtin_printf("%d", x); __builtin_abort(); }
__attribute__((noinline)) int first(int x) {
    Far far{{x, 1}, {2, x}};
    if (x == 77777) { bad(far.a.both() * 3); bad(x); }
    return far.b.both();
}
int main(int count, char **) { return first(count); }
"#;

/// What leads from names to units, and units of types, stand beside what is read; parts of functions lie elsewhere.
#[test]
fn indexes_types_and_parts_of_functions_are_no_obstacle() {
    const TEST: &str = "indexes_types_and_parts_of_functions_are_no_obstacle";
    if !is_installed(TEST, "llvm-symbolizer") {
        return;
    }
    let has_clang = is_installed(TEST, "clang++");
    let has_lld = is_installed(TEST, "ld.lld");
    let mut parts = 0;
    for (compiler, flags, section) in [
        ("clang++", &["-gdwarf-5", "-gpubnames"][..], ".debug_names"),
        ("g++", &["-fuse-ld=lld", "-ggnu-pubnames", "-Wl,--gdb-index"], ".gdb_index"),
        ("g++", &["-gdwarf-4", "-fdebug-types-section"], ".debug_types"),
        ("g++", &["-gdwarf-5", "-fdebug-types-section"], ".debug_info"),
        ("clang++", &["-gdwarf-4", "-fdebug-types-section"], ".debug_types"),
    ] {
        if compiler == "clang++" && !has_clang || section == ".gdb_index" && !has_lld {
            continue;
        }
        let folder = TestFolder::new();
        let flags = [flags, &["-g", "-O2", "-Wl,--build-id"]].concat();
        let program = compile(&folder, compiler, &flags, "program.cpp", RARE);
        assert!(Code::section(&program, section).is_some(), "{compiler} {flags:?}: no {section}");
        let code = Code::of(&program);
        let file = image(&program);
        let mut bench = Bench::new(file.identity(), &code.offsets(1));
        bench.admit(file).expect("it is the file recorded");
        let frames = bench.frames();
        let addresses: Vec<_> = frames.iter().map(|&(at, _)| code.address_of(at)).collect();
        let mut with_inlines = 0;
        // addr2line does not see what clang inlined here.
        for (&(at, frame), expected) in frames.iter().zip(levels_by_llvm(&program, &addresses)) {
            // Code without DWARF, and lines of number 0.
            if expected.iter().all(|level| level.2.is_some()) {
                let levels = bench.levels(frame);
                let lines = levels.iter().map(|level| level.2);
                assert!(lines.eq(expected.iter().map(|level| level.2)), "{at:#x}: {expected:?}");
                with_inlines += usize::from(levels.len() > 1);
            }
        }
        assert!(with_inlines > 1, "{compiler} {flags:?}: {with_inlines}");
        let named = frames.iter().map(|&(_, frame)| bench.levels(frame)[0].0);
        let names: BTreeSet<&str> = named.flatten().collect();
        assert!(names.contains("first(int)"), "{names:?}");
        parts += usize::from(
            names.iter().any(|name| name.contains("first(int)") && name.contains(".cold")),
        );
    }
    assert!(parts > 0, "gcc has moved a part of a function elsewhere");
}

#[test]
fn cpp_templates_and_lambdas() {
    let folder = TestFolder::new();
    let program = compile(&folder, "g++", &["-g", "-O1"], "program.cpp", CPP);
    let with_inlines = compare(&program, 1, Compare::Lines);
    assert!(with_inlines > 100, "only {with_inlines} addresses with inlines");

    let code = Code::of(&program);
    let file = image(&program);
    let mut bench = Bench::new(file.identity(), &code.offsets(1));
    bench.admit(file).expect("it is the file recorded");
    let names: BTreeSet<&str> = bench
        .frames()
        .iter()
        .flat_map(|&(_, frame)| bench.levels(frame))
        .filter_map(|(name, _, _)| name)
        .collect();
    assert!(names.contains("shop::Basket<int, 3>::total() const"), "{names:#?}");
    let mangled: Vec<_> = names.iter().filter(|name| name.starts_with("_Z")).collect();
    assert!(mangled.is_empty(), "{mangled:#?}");
}

#[test]
fn rust_legacy_and_v0_names() {
    for mangling in ["legacy", "v0"] {
        let folder = TestFolder::new();
        let flag = format!("symbol-mangling-version={mangling}");
        let flags = match mangling {
            "legacy" => &["-g", "-O", "-C", &flag, "-Z", "unstable-options"][..],
            _ => &["-g", "-O", "-C", &flag][..],
        };
        let program = compile_rust(&folder, flags);
        let Some(program) = program else {
            println!("SKIPPED: rust_legacy_and_v0_names: this rustc has no {mangling} names");
            continue;
        };
        let code = Code::of(&program);
        let file = image(&program);
        let mut bench = Bench::new(file.identity(), &code.offsets(4));
        bench.admit(file).expect("it is the file recorded");
        let stirring = bench.frames().into_iter().find_map(|(_, frame)| {
            let levels = bench.levels(frame);
            let names: Vec<_> = levels.iter().filter_map(|level| level.0).collect();
            let is_mixing = names.last().is_some_and(|name| name.ends_with("::mix"));
            (is_mixing && names[0].contains("stir")).then(|| names.join(" > "))
        });
        let stirring = stirring.expect("mix is inlined into stir");
        assert!(
            stirring.starts_with("program::Pot<T>::stir")
                || stirring.starts_with("<program::Pot<u32>>::stir"),
            "{stirring}"
        );
        assert!(!stirring.contains("_ZN") && !stirring.contains("17h"), "{stirring}");
    }
}

fn compile_rust(folder: &Path, flags: &[&str]) -> Option<std::path::PathBuf> {
    let source = folder.join("program.rs");
    std::fs::write(&source, RUST).expect("the source is written");
    let program = folder.join("program");
    let output = std::process::Command::new("rustc")
        .args(flags)
        .args(["--edition", "2021", "-C", "link-arg=-Wl,--build-id=sha1", "-o"])
        .args([&program, &source])
        .ended()
        .expect("rustc runs");
    output.status.success().then_some(program)
}

/// Names of some kilobytes are cut.
fn start(name: &str) -> &str {
    name.get(..1000).unwrap_or(name)
}

/// perftab itself: DWARF of dozens of crates, some optimised and some not.
#[test]
fn the_largest_program_here_says_what_llvm_says() {
    const TEST: &str = "the_largest_program_here_says_what_llvm_says";
    if !is_installed(TEST, "llvm-symbolizer") {
        return;
    }
    let program = perftab_binary();
    let code = Code::of(&program);
    let few = if Tier::of_this_run() == Tier::All { 10_000 } else { 2_000 };
    let step = (code.length as usize / few) | 1;
    let file = image(&program);
    let mut bench = Bench::new(file.identity(), &code.offsets(step));
    bench.admit(file).expect("it is the file recorded");
    let addresses: Vec<_> =
        bench.frames().iter().map(|&(offset, _)| code.address_of(offset)).collect();
    let expected = levels_by_llvm(&program, &addresses);
    let (mut inlined, mut wrong) = (0, Vec::new());
    for ((offset, frame), expected) in bench.frames().into_iter().zip(expected) {
        let levels = bench.levels(frame);
        inlined += usize::from(levels.len() > 1);
        // Code without DWARF, of which LLVM tells the name of an object.
        if let ([(.., None)], [(_, None, None)]) = (&expected[..], &levels[..]) {
            continue;
        }
        // The outermost has the name of its symbol.
        let same = levels.len() == expected.len()
            && levels.iter().zip(&expected).enumerate().all(|(at, (level, wanted))| {
                (at == 0 || level.0.map(start) == Some(start(&wanted.0)))
                    && level.1.unwrap_or("??") == wanted.1
                    && level.2 == wanted.2
            });
        if !same {
            wrong.push(format!("{:#x}\n  {expected:?}\n  {levels:?}", code.address_of(offset)));
        }
    }
    assert!(inlined > few / 3, "only {inlined} of {few} have inlined functions");
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
}
