//! Separate debug files, and the sections that they compress.

use std::path::{Path, PathBuf};

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
            let start = executable_start(&program);

            let named_by = |files: &[&Path]| {
                let mut bench = Bench::new(recorded, &offsets);
                bench.profile.dsos.get_mut(bench.dso).executable_offset = Some(start);
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

/// File offset of the executable segment, rounded down to a page, as a mapping has it.
fn executable_start(program: &Path) -> u64 {
    let listing = run("readelf", &["-lW", text(program)]);
    let load = listing.lines().find(|line| line.contains("LOAD") && line.contains("R E"));
    let offset = load.expect("there is code").split_whitespace().nth(1).unwrap();
    u64::from_str_radix(offset.trim_start_matches("0x"), 16).unwrap() & !0xfff
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
