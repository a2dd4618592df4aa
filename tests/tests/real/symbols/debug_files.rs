//! Separate debug files, and the sections that they compress.

use std::path::{Path, PathBuf};

use perftab_profile::ExecutableMapping;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;

use crate::symbols::oracle::Code;
use crate::symbols::workbench::{Bench, compile, image, run, text};

const SOURCE: &str = "static inline __attribute__((always_inline)) int inner(int x) {\n\
                      return x * 7 + 1;\n}\n\
                      int work(int x) {\n return inner(x) + 2;\n}\n\
                      int main(int c, char **v) {\n return work(c);\n}\n";

/// Program → (stripped binary, debug file).
fn split(folder: &Path, program: &Path, tool: &str) -> (PathBuf, PathBuf) {
    let (binary, debug) = (folder.join("stripped"), folder.join("program.debug"));
    match tool {
        "objcopy" => {
            run("objcopy", &["--only-keep-debug", text(program), text(&debug)]);
            run("strip", &["-o", text(&binary), text(program)]);
        }
        _ => {
            run("eu-strip", &["-f", text(&debug), "-o", text(&binary), text(program)]);
        }
    }
    (binary, debug)
}

fn all_levels(bench: &Bench) -> Vec<String> {
    let mut frames = bench.frames();
    frames.sort_unstable();
    frames.iter().map(|&(at, frame)| format!("{at:#x} {:?}", bench.levels(frame))).collect()
}

#[test]
fn binary_and_debug_file_in_any_order_say_what_the_whole_file_says() {
    // Executables of old linkers have one segment for headers and code; new ones have several.
    for layout in ["-Wl,-z,separate-code", "-Wl,-z,noseparate-code", "-no-pie"] {
        for tool in ["objcopy", "eu-strip"] {
            let folder = TestFolder::new();
            let flags = ["-g", "-O1", layout];
            let program = compile(&folder, "gcc", &flags, "program.c", SOURCE);
            let (binary, debug) = split(&folder, &program, tool);
            let offsets = Code::of(&program).offsets(1);
            let recorded = image(&program).identity();
            let mapped = mapped_code(&program);

            let named_by = |files: &[&Path]| {
                let mut bench = Bench::new(recorded, &offsets);
                bench.profile.dsos.get_mut(bench.dso).add_executable(mapped);
                for file in files {
                    bench.admit(image(file)).expect("it has the id recorded");
                }
                all_levels(&bench)
            };
            let whole = named_by(&[&program]);
            assert!(whole.iter().any(|levels| levels.contains("inner")), "{whole:?}");
            assert_eq!(named_by(&[&binary, &debug]), whole, "{tool} {layout}: binary first");
            assert_eq!(named_by(&[&debug, &binary]), whole, "{tool} {layout}: debug file first");
            assert_eq!(named_by(&[&debug]), whole, "{tool} {layout}: debug file alone");
        }
    }
}

/// The pages of the executable segment, by readelf.
fn mapped_code(program: &Path) -> ExecutableMapping {
    let listing = run("readelf", &["-lW", text(program)]);
    let load = listing.lines().find(|line| line.contains("LOAD") && line.contains("R E"));
    let fields: Vec<_> = load.expect("there is code").split_whitespace().collect();
    let hex = |field: &str| u64::from_str_radix(field.trim_start_matches("0x"), 16).unwrap();
    let (start, end) = (hex(fields[1]), hex(fields[1]) + hex(fields[4]));
    let offset = start & !0xfff;
    ExecutableMapping { offset, length: Some(end.next_multiple_of(0x1000) - offset) }
}

/// As patchelf leaves it: what follows the headers is a page further on in the file, and where it was
/// in memory.
fn patched(program: &Path) -> PathBuf {
    const PAGE: u64 = 0x1000;
    let mut bytes = std::fs::read(program).unwrap();
    // Of a header of ELF64: e_phoff, e_shoff, e_phnum, e_shnum.
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let half = |bytes: &[u8], at: usize| usize::from(bytes[at]) + 256 * usize::from(bytes[at + 1]);
    let (segments, sections) = (word(&bytes, 32) as usize, word(&bytes, 40) as usize);
    let (segment_count, section_count) = (half(&bytes, 56), half(&bytes, 60));
    let of_segments = (0..segment_count).map(|index| segments + 56 * index + 8);
    let of_sections = (0..section_count).map(|index| sections + 64 * index + 24);
    for at in of_segments.chain(of_sections).chain([40]) {
        let offset = word(&bytes, at);
        if offset >= PAGE {
            bytes[at..at + 8].copy_from_slice(&(offset + PAGE).to_le_bytes());
        }
    }
    bytes.splice(PAGE as usize..PAGE as usize, [0; PAGE as usize]);
    let patched = program.with_extension("patched");
    std::fs::write(&patched, bytes).unwrap();
    patched
}

#[test]
fn a_file_that_was_not_patched_names_one_that_was() {
    let functions: String = (0..400)
        .map(|number| format!("int function_{number}(int x) {{ return x * {number} + 1; }}\n"))
        .collect();
    let source = format!("{functions}int main(int c, char **v) {{ return function_7(c); }}\n");
    let folder = TestFolder::new();
    let flags = ["-O1", "-Wl,-z,separate-code"];
    let program = compile(&folder, "gcc", &flags, "program.c", &source);
    let patched = patched(&program);
    let offsets = Code::of(&patched).offsets(8);
    let named_by = |file: &Path| {
        let mut bench = Bench::new(image(&patched).identity(), &offsets);
        bench.profile.dsos.get_mut(bench.dso).add_executable(mapped_code(&patched));
        bench.admit(image(file)).expect("it has the id recorded");
        assert!(bench.named() > offsets.len() / 2);
        all_levels(&bench)
    };
    assert_eq!(named_by(&program), named_by(&patched));
}

/// Frames of the code where both files have it.
fn offsets_of_both(program: &Path, patched: &Path) -> Vec<u64> {
    [program, patched].iter().flat_map(|file| Code::of(file).offsets(8)).collect()
}

/// Offset by offset, what ran is one function in one file and another in the other.
#[test]
fn where_a_patched_file_and_its_twin_ran_nothing_has_a_name() {
    let functions: String = (0..400)
        .map(|number| format!("int function_{number}(int x) {{ return x * {number} + 1; }}\n"))
        .collect();
    let source = format!("{functions}int main(int c, char **v) {{ return function_7(c); }}\n");
    for layout in ["-Wl,-z,separate-code", "-Wl,-z,noseparate-code"] {
        let folder = TestFolder::new();
        let program = compile(&folder, "gcc", &["-O1", layout], "program.c", &source);
        let patched = patched(&program);
        let mappings = [&program, &patched].map(|file| mapped_code(file));
        if mappings[0] == mappings[1] {
            continue;
        }
        for files in [[&program, &patched], [&patched, &program]] {
            let offsets = offsets_of_both(&program, &patched);
            let mut bench = Bench::new(image(&program).identity(), &offsets);
            for mapping in mappings {
                bench.profile.dsos.get_mut(bench.dso).add_executable(mapping);
            }
            for file in files {
                bench.admit(image(file)).expect("it has the id recorded");
                assert_eq!(bench.named(), 0, "{layout}");
                let why = bench.images.why_unplaced(bench.dso, bench.profile.dsos.get(bench.dso));
                assert!(why.is_some_and(|why| why.contains("two files")), "{layout}: {why:?}");
            }
        }
    }
}

/// The data in front of the code may be executed too, so nothing tells where the code was mapped from.
fn with_a_second_segment_of_code(program: &Path) -> PathBuf {
    let patched = patched(program);
    let mut bytes = std::fs::read(&patched).unwrap();
    let segments = u64::from_le_bytes(bytes[32..40].try_into().unwrap()) as usize;
    let mut headers = (0..usize::from(bytes[56])).map(|index| segments + 56 * index);
    // PT_LOAD, PF_R
    let is_data = |&at: &usize| bytes[at..at + 8] == [1, 0, 0, 0, 4, 0, 0, 0];
    let data = headers.rfind(is_data).expect("there is read-only data");
    bytes[data + 4] |= 1;
    std::fs::write(&patched, bytes).unwrap();
    patched
}

#[test]
fn a_file_that_fits_nothing_takes_no_names_away() {
    let folder = TestFolder::new();
    let flags = ["-O1", "-Wl,-z,separate-code"];
    let program = compile(&folder, "gcc", &flags, "program.c", SOURCE);
    let other = with_a_second_segment_of_code(&program);
    let offsets = Code::of(&program).offsets(1);
    let named_by = |files: &[&Path]| {
        let mut bench = Bench::new(image(&program).identity(), &offsets);
        bench.profile.dsos.get_mut(bench.dso).add_executable(mapped_code(&program));
        for file in files {
            bench.admit(image(file)).expect("it has the id recorded");
        }
        bench.symbols.resolve(&bench.profile, bench.dso, &bench.images);
        let why = bench.images.why_unplaced(bench.dso, bench.profile.dsos.get(bench.dso));
        (all_levels(&bench), why)
    };
    let (names, why) = named_by(&[&program]);
    assert!(names.iter().any(|levels| levels.contains("work")) && why.is_none());
    assert!(named_by(&[&other]).1.is_some(), "it is no test");
    assert_eq!(named_by(&[&program, &other]), (names.clone(), None));
    assert_eq!(named_by(&[&other, &program]), (names, None));
}

/// Of a thousand functions one runs; a page further on is another. They are hidden, so that no more than
/// a page comes before the code.
const ONE_OF_MANY: &str = r#"
volatile unsigned long sink;
extern long clock(void);
#define F(n) __attribute__((noinline)) void cold_##n(void) { for (int i = 0; i < 9; i++) sink += i * n; }
#define G(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
#define H(n) G(n##0) G(n##1) G(n##2) G(n##3) G(n##4) G(n##5) G(n##6) G(n##7) G(n##8) G(n##9)
H(1) H(2) H(3)
__attribute__((noinline)) void hot(void) { for (int i = 0; i < 100000; i++) sink += i; }
H(4) H(5) H(6)
__attribute__((visibility("default"))) void work(void) { while (clock() < 150000) hot(); }
"#;

const LOADER: &str = r#"
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/personality.h>
int main(int count, char **words) {
    personality(strtoul(words[2], NULL, 16));
    void *library = dlopen(words[1], RTLD_NOW);
    ((void (*)(void))dlsym(library, "work"))();
}
"#;

/// `ld -N` aligns segments to less than a page; where reading implies executing, the code's mapping
/// is a part of that of the whole file.
#[test]
fn a_library_in_an_unusual_place_has_its_own_names_or_none() {
    const READ_IMPLIES_EXEC: &str = "400000";
    let folder = TestFolder::new();
    let loader = compile(&folder, "gcc", &[], "loader.c", LOADER);
    let loader = loader.with_file_name("loader");
    std::fs::rename(folder.join("program"), &loader).unwrap();
    let flags = ["-O1", "-g", "-fPIC", "-fvisibility=hidden", "-c"];
    let object = compile(&folder, "gcc", &flags, "many.c", ONE_OF_MANY);
    for (personality, flags) in [("0", &["-N"][..]), (READ_IMPLIES_EXEC, &[]), ("0", &[])] {
        let library = folder.join("many.so");
        let mut arguments = vec!["-shared", "--build-id", "-o", text(&library), text(&object)];
        arguments.extend(flags);
        run("ld", &arguments);
        let (_, debug) = split(&folder, &library, "objcopy");
        let recording = folder.join("perftab.data");
        let perftab = perftab_tests::perftab_binary();
        let record =
            ["record", "-o", text(&recording), "--", text(&loader), text(&library), personality];
        run(text(&perftab), &record);
        let names = |files: &[&Path]| {
            let mut arguments = vec!["report", "--json", "--no-local", text(&recording)];
            arguments.extend(files.iter().flat_map(|file| ["--image", text(file)]));
            let report: serde_json::Value =
                serde_json::from_str(&run(text(&perftab), &arguments)).expect("JSON");
            let rows = report["functions"].as_array().expect("functions").iter();
            let mut names: Vec<String> = rows
                .filter(|row| row["dso"] == text(&library) && row["self"].as_u64() > Some(0))
                .filter_map(|row| row["name"].as_str().map(str::to_owned))
                .collect();
            // What calls it, and the jumps to it and to libc.
            names.retain(|name| !["work", "hot@plt", "clock@plt"].contains(&&**name));
            names
        };
        assert_eq!(names(&[&library]), ["hot"], "{personality} {flags:?}");
        assert_eq!(names(&[&debug, &library]), ["hot"], "{personality} {flags:?}");
        match personality {
            // Nothing tells at which of the offsets the code is.
            READ_IMPLIES_EXEC => assert_eq!(names(&[&debug]), [""; 0], "{flags:?}"),
            _ => assert_eq!(names(&[&debug]), ["hot"], "{flags:?}"),
        }
    }
}

#[test]
fn compressed_sections_say_the_same() {
    let folder = TestFolder::new();
    let program = compile(&folder, "gcc", &["-g", "-O1"], "program.c", SOURCE);
    let offsets = Code::of(&program).offsets(1);
    let recorded = image(&program).identity();
    let levels = |file: &Path| {
        let mut bench = Bench::new(recorded, &offsets);
        let added = bench.admit(image(file)).expect("it has the id recorded");
        assert_eq!(added.gives.sentence(), "inlines and source lines");
        all_levels(&bench)
    };
    let plain = levels(&program);
    for kind in ["zlib", "zlib-gnu", "zlib-gabi", "zstd"] {
        let packed = folder.join(kind);
        let flag = format!("--compress-debug-sections={kind}");
        let outcome = std::process::Command::new("objcopy")
            .args([&flag, text(&program), text(&packed)])
            .ended()
            .expect("objcopy runs");
        if !outcome.status.success() {
            println!("SKIPPED: compressed_sections {kind}: this objcopy does not know it");
            continue;
        }
        assert_eq!(levels(&packed), plain, "{kind}");
    }
}

#[test]
fn a_debug_file_of_another_build_is_refused() {
    let folder = TestFolder::new();
    let other = SOURCE.replace("* 7", "* 9");
    let program = compile(&folder, "gcc", &["-g", "-O1"], "program.c", &other);
    let (_, debug) = split(&folder, &program, "objcopy");
    let program = compile(&folder, "gcc", &["-g", "-O1"], "program.c", SOURCE);
    let mut bench = Bench::new(image(&program).identity(), &Code::of(&program).offsets(1));
    bench.admit(image(&debug)).expect_err("it belongs to another build");
    assert_eq!(bench.named(), 0);
}
