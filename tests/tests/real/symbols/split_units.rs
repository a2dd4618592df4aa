//! Split DWARF (.dwo, .dwp) by gcc, clang, dwp and llvm-dwp, and what dwz moves out, in any order.
//!
//! What is split is held against the same program compiled whole, as `inlines.rs` holds that against addr2line.

use std::path::{Path, PathBuf};
use std::process::Command;

use perftab_images::{Companion, Images, Offer, OfferReport, Rejection};
use perftab_perfdata::decode::SliceSource;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::program::is_installed;

use crate::symbols::oracle::Code;
use crate::symbols::workbench::{Bench, image, run, text};

const FIRST: &str = "
int second(int);
struct Pair { int left, right; int both() const { return left * 7 + right; } };
namespace inner {
template <int N, typename T> __attribute__((always_inline)) inline T mix(T x) {
    for (int i = 0; i < N; i++) x = x * 31 + (x >> 3);
    return x;
}
}
__attribute__((noinline)) int first(int x) {
    if (__builtin_expect(x == 77777, 0)) __builtin_trap();
    Pair pair{x, x + 1};
    return inner::mix<4>(pair.both()) + inner::mix<9>(x);
}
int main(int count, char **) { return first(count) + second(count); }
";

const SECOND: &str = "
struct Step { int by; __attribute__((always_inline)) int go(int x) { return x ^ (by << x); } };
__attribute__((noinline)) int second(int x) {
    Step step{x};
    int sum = 0;
    for (int i = 0; i < x; i++) sum += step.go(i);
    return sum;
}
";

/// Function, file and line of each level.
type Levels = Vec<(Option<String>, Option<String>, Option<u32>)>;

/// A program, the files that were split off, and what it says when it is whole.
struct Split {
    folder: TestFolder,
    program: PathBuf,
    /// Levels at every byte of the same program, compiled without splitting.
    expected: Vec<Levels>,
}

impl Split {
    fn new(compiler: &str, flags: &[&str]) -> Self {
        let folder = TestFolder::new();
        let link = |name: &str, more: &[&str]| {
            for (file, source) in [("first", FIRST), ("second", SECOND)] {
                folder.write(&format!("{file}.cpp"), source.as_bytes());
                let command = [flags, more, &["-O2", "-g", "-c"]].concat();
                let mut command: Vec<&str> = command;
                let (source, object) = (format!("{file}.cpp"), format!("{file}.o"));
                command.extend([source.as_str(), "-o", &object]);
                run_in(&folder, compiler, &command);
            }
            run_in(&folder, compiler, &["-Wl,--build-id", "first.o", "second.o", "-o", name]);
            folder.join(name)
        };
        let whole = link("whole", &[]);
        let program = link("program", &["-gsplit-dwarf"]);
        let code = Code::of(&program);
        let of_whole = Code::of(&whole);
        assert_eq!((code.address, code.length), (of_whole.address, of_whole.length));
        let expected = levels(&whole, &[]);
        Self { folder, program, expected }
    }

    /// The dwo id of `first.dwo`, as `readelf` reads it out of the header of a unit of DWARF 5.
    fn first_id(&self) -> [u8; 8] {
        let unit = self.folder.join("first.dwo");
        let dump = run("readelf", &["--debug-dump=info", text(&unit)]);
        let (_, id) = dump.split_once("DWO ID:").expect("it has an id");
        let id = id.split_whitespace().next().expect("digits").trim_start_matches("0x");
        u64::from_str_radix(id, 16).expect("hex").to_le_bytes()
    }

    /// Counts the bytes with inlined functions; panics where levels are not those of the whole program.
    fn compare(&self, files: &[&Path]) -> usize {
        let levels = levels(&self.program, files);
        for (at, (levels, expected)) in levels.iter().zip(&self.expected).enumerate() {
            assert!(
                files.is_empty() || levels == expected,
                "{at:#x}: {levels:?}, not {expected:?}"
            );
        }
        assert_eq!(levels.len(), self.expected.len());
        levels.iter().filter(|levels| levels.len() > 1).count()
    }
}

/// Levels at every byte of the code of a program, with files that have a part of its debug information.
fn levels(program: &Path, files: &[&Path]) -> Vec<Levels> {
    let file = image(program);
    let mut bench = Bench::new(file.identity(), &Code::of(program).offsets(1));
    bench.admit(file).expect("it is the file recorded");
    for file in files {
        let split = Companion::of(image(file)).expect("it is split off");
        bench.images.add_companion(split).expect("a skeleton names it");
    }
    bench.symbols.resolve(&bench.profile, bench.dso, &bench.images);
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let levels = |(_, frame)| {
        let levels = bench.levels(frame).into_iter();
        levels.map(|(name, file, line)| (owned(name), owned(file), line)).collect()
    };
    bench.frames().into_iter().map(levels).collect()
}

fn run_in(folder: &Path, program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).current_dir(folder).ended();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
}

#[test]
fn split_units_say_what_the_whole_program_says() {
    const TEST: &str = "split_units_say_what_the_whole_program_says";
    let (has_clang, has_llvm) = (is_installed(TEST, "clang++"), is_installed(TEST, "llvm-dwp"));
    for (compiler, flags, packager) in [
        ("g++", &["-gdwarf-5", "-gz=zlib"][..], "llvm-dwp"),
        ("g++", &["-gdwarf-4", "-fdebug-types-section"], "dwp"),
        ("clang++", &["-gdwarf-5", "-fdebug-types-section"], "llvm-dwp"),
        ("clang++", &["-gdwarf-4", "-fno-split-dwarf-inlining"], "dwp"),
    ] {
        if compiler == "clang++" && !has_clang {
            continue;
        }
        let split = Split::new(compiler, flags);
        let units = ["first.dwo", "second.dwo"].map(|name| split.folder.join(name));
        let without = split.compare(&[]);
        let inlined = split.compare(&[&units[0], &units[1]]);
        assert!(without == 0 && inlined > 20, "{compiler} {flags:?}: {without}, {inlined}");
        let named = split.expected.iter().flatten().filter_map(|(name, ..)| name.as_deref());
        assert!(named.clone().any(|name| name == "inner::mix<9, int>(int)"));
        assert_eq!(split.compare(&[&units[1], &units[0], &units[1]]), inlined);
        if packager == "llvm-dwp" && !has_llvm || flags.contains(&"-gz=zlib") {
            // llvm-dwp reads compressed units wrongly in some versions.
            continue;
        }
        run_in(&split.folder, packager, &["-e", "program", "-o", "any name"]);
        let package = split.folder.join("any name");
        assert_eq!(split.compare(&[&package]), inlined, "{compiler} {flags:?} {packager}");
    }
}

/// Offers files in this order; what is said of the last, and of each before.
fn offered(program: &Path, files: &[(&str, Vec<u8>)]) -> (Images, Vec<OfferReport>) {
    let bench = Bench::new(image(program).identity(), &[]);
    let mut images = Images::new(bench.profile.dsos);
    let offer = |(name, bytes): &(&str, Vec<u8>)| {
        Offer::new(name, Box::new(SliceSource::new(bytes.clone()))).finish(&mut images)
    };
    let reports = files.iter().map(offer).collect();
    (images, reports)
}

fn used(report: &OfferReport) -> Vec<&str> {
    report.used.iter().map(|used| used.name.as_str()).collect()
}

#[test]
fn parts_of_debug_information_come_in_any_order_and_in_archives() {
    let split = Split::new("g++", &["-gdwarf-5"]);
    let read = |name: &str| std::fs::read(split.folder.join(name)).expect(name);
    let (program, unit) = (read("program"), read("first.dwo"));
    let (images, reports) =
        offered(&split.program, &[("any", unit.clone()), ("program", program.clone())]);
    assert!(matches!(&reports[0].not_used[..], [it] if it.reason == Rejection::NotNamedYet));
    assert_eq!(used(&reports[1]), ["program", "any"]);
    assert_eq!(images.waiting().count(), 0);

    run_in(&split.folder, "tar", &["-cf", "all.tar", "second.dwo", "first.dwo", "program"]);
    let (_, reports) = offered(&split.program, &[("all.tar", read("all.tar"))]);
    let [report] = &reports[..] else { panic!("{reports:?}") };
    let names = ["all.tar/program", "all.tar/second.dwo", "all.tar/first.dwo"];
    assert_eq!((used(report), &report.not_used[..]), (names.to_vec(), &[][..]));

    // One bit of its id: no skeleton names it.
    let id = split.first_id();
    let mut other = unit;
    let at = other.windows(8).position(|bytes| bytes == id).expect("its id");
    other[at + 3] ^= 0x10;
    let (images, reports) = offered(&split.program, &[("program", program), ("other", other)]);
    assert!(reports[1].used.is_empty() && reports[1].not_used.len() == 1, "{reports:?}");
    assert_eq!(images.waiting().collect::<Vec<_>>(), ["other"]);
}

#[test]
fn a_package_whose_unit_has_another_id_than_its_index_says_gives_nothing_of_it() {
    const TEST: &str =
        "a_package_whose_unit_has_another_id_than_its_index_says_gives_nothing_of_it";
    // llvm-dwp of LLVM 14 does not end on some units of gcc.
    if !is_installed(TEST, "clang++") || !is_installed(TEST, "llvm-dwp") {
        return;
    }
    let split = Split::new("clang++", &["-gdwarf-5"]);
    let id = split.first_id();
    run_in(&split.folder, "llvm-dwp", &["-e", "program", "-o", "package"]);
    let package = split.folder.join("package");
    let inlined = |levels: &[Levels]| {
        let names = levels.iter().flatten().filter_map(|(name, ..)| name.as_deref());
        names.filter(|name| name.contains("inner::mix")).count()
    };
    assert!(inlined(&levels(&split.program, &[&package])) > 20);
    let units = Code::section(&package, ".debug_info.dwo").expect("it has units").offset as usize;
    let mut bytes = std::fs::read(&package).expect("it");
    let at = bytes[units..].windows(8).position(|bytes| bytes == id).expect("its id");
    bytes[units + at] ^= 1;
    split.folder.write("package", &bytes);
    assert_eq!(inlined(&levels(&split.program, &[&package])), 0);
}

#[test]
fn what_dwz_shares_comes_in_any_order() {
    const TEST: &str = "what_dwz_shares_comes_in_any_order";
    if !is_installed(TEST, "dwz") {
        return;
    }
    for version in [&[][..], &["-5"]] {
        let folder = TestFolder::new();
        for name in ["first", "other"] {
            // Long enough that moving it pays.
            let names: String = (0..40).map(|n| format!("int field_number_{n};")).collect();
            let source = format!(
                "struct Long {{ {names} }};\n{FIRST}\nint {name}_of(Long *it) {{ return \
                 it->field_number_3; }}\n{SECOND}"
            );
            folder.write("program.cpp", source.as_bytes());
            let flags = ["-O2", "-g", "-Wl,--build-id", "program.cpp", "-o", name];
            run_in(&folder, "g++", &flags);
        }
        run_in(&folder, "dwz", &[version, &["-m", "shared", "first", "other"]].concat());
        let read = |name: &str| std::fs::read(folder.join(name)).expect(name);
        let program = folder.join("first");
        let files = [("shared", read("shared")), ("first", read("first"))];
        let (_, reports) = offered(&program, &files);
        assert_eq!(used(&reports[1]), ["first", "shared"], "{version:?}");
        run_in(&folder, "tar", &["-cf", "all.tar", "shared", "other", "first"]);
        let (_, reports) = offered(&program, &[("all.tar", read("all.tar"))]);
        assert_eq!(used(&reports[0]), ["all.tar/first", "all.tar/shared"], "{version:?}");
    }
}

/// clang's id covers what functions are called and how they are nested, and not their code.
const FILLED: &str = "
static inline __attribute__((always_inline)) int mix(int x) { return x * 31 + (x >> 3); }
__attribute__((noinline)) int first(int x) { __asm__ volatile(FILLER); return mix(x) + mix(x + 1); }
__attribute__((noinline)) int second(int x) { return mix(x) ^ x; }
int main(int count, char **) { return first(count) + second(count); }
";

#[test]
fn a_unit_of_another_build_with_the_same_id_names_nothing() {
    const TEST: &str = "a_unit_of_another_build_with_the_same_id_names_nothing";
    if !is_installed(TEST, "clang++") || !is_installed(TEST, "llvm-dwp") {
        return;
    }
    for version in ["-gdwarf-5", "-gdwarf-4"] {
        let folder = TestFolder::new();
        folder.write("first.cpp", FILLED.as_bytes());
        let build = |program: &str, filler: &str| {
            let filler = format!("-DFILLER=\"{filler}\"");
            let flags = ["-O2", "-g", version, "-gsplit-dwarf", "-fno-split-dwarf-inlining"];
            run_in(&folder, "clang++", &[&flags[..], &[&filler, "-c", "first.cpp"]].concat());
            run_in(&folder, "clang++", &["-Wl,--build-id", "first.o", "-o", program]);
            run_in(&folder, "llvm-dwp", &["-e", program, "-o", &format!("{program}.dwp")]);
            let unit = folder.join(format!("{program}.dwo"));
            std::fs::rename(folder.join("first.dwo"), &unit).expect("it is there");
            (folder.join(program), unit)
        };
        let (program, unit) = build("ran", "nop");
        let (_, other) = build("other", ".skip 40, 0x90");
        let package = folder.join("other.dwp");
        let right = levels(&program, &[&unit]);
        let inlined =
            right.iter().flatten().filter(|(name, ..)| name.as_deref() == Some("mix(int)"));
        assert!(inlined.count() > 10, "{right:?}");
        let without = levels(&program, &[]);
        assert_ne!(right, without);
        for wrong in [&other, &package] {
            // Were its id another, no skeleton would name it: `levels` says so.
            assert_eq!(levels(&program, &[wrong]), without, "{version} {}", wrong.display());
            assert_eq!(levels(&program, &[wrong, &unit]), right, "{version} {}", wrong.display());
            let file = image(&program);
            let mut bench = Bench::new(file.identity(), &Code::of(&program).offsets(1));
            bench.admit(file).expect("it is the file recorded");
            let wrong = Companion::of(image(wrong)).expect("it is split off");
            bench.images.add_companion(wrong).expect("a skeleton names it");
            bench.symbols.resolve(&bench.profile, bench.dso, &bench.images);
            let lost = bench.images.lost_inlines(bench.dso).expect("it says why");
            assert!(lost.why.contains("first.dwo is of another build"), "{}", lost.why);
        }
    }
}

/// Every byte of the parts that lead elsewhere, and some of the others: no panic, and an answer.
#[test]
fn damaged_units_and_packages_give_what_they_still_have() {
    const TEST: &str = "damaged_units_and_packages_give_what_they_still_have";
    let split = Split::new("g++", &["-gdwarf-4"]);
    let files = match is_installed(TEST, "dwp") {
        true => {
            run_in(&split.folder, "dwp", &["-e", "program", "-o", "package"]);
            vec!["first.dwo", "package"]
        }
        false => vec!["first.dwo"],
    };
    let offsets: Vec<u64> = Code::of(&split.program).offsets(16);
    for name in files {
        let bytes = std::fs::read(split.folder.join(name)).expect("it");
        let mut damaged: Vec<usize> = (0..bytes.len()).step_by(29).collect();
        if let Some(index) = Code::section(&split.folder.join(name), ".debug_cu_index") {
            damaged.extend(index.offset as usize..(index.offset + index.length) as usize);
        }
        for at in damaged {
            let mut bytes = bytes.clone();
            bytes[at] ^= if at % 2 == 0 { 0xff } else { 1 };
            let Ok(image_of) = perftab_images::Image::open(name, Box::new(SliceSource::new(bytes)))
            else {
                continue;
            };
            let file = image(&split.program);
            let mut bench = Bench::new(file.identity(), &offsets);
            bench.admit(file).expect("it is the file recorded");
            if let Ok(companion) = Companion::of(image_of) {
                let _ = bench.images.add_companion(companion);
            }
            bench.symbols.resolve(&bench.profile, bench.dso, &bench.images);
            let frames = bench.frames();
            assert!(frames.iter().all(|&(_, frame)| !bench.levels(frame).is_empty()));
        }
    }
}
