//! Symbol tables against `nm`.

use std::path::Path;

use perftab_names::Provenance;
use perftab_profile::FrameId;
use perftab_tests::folder::TestFolder;
use perftab_tests::program::is_installed;

use crate::symbols::oracle::{Code, Functions};
use crate::symbols::workbench::{Bench, compile, image, run, text};

const ALIASES: &str = r#"
int __underscored(int x) { return x + 1; }
int plain(int x) __attribute__((alias("__underscored")));
int weak_but_longer_name(int x) __attribute__((weak, alias("__underscored")));
static int a_local(int x) { return x * 3; }
int a_global(int x) __attribute__((alias("a_local")));
int choose(int x) { return plain(x) + a_local(x); }
static int impl(int x) { return x; }
static void *resolver(void) { return impl; }
int chosen_at_load(int x) __attribute__((ifunc("resolver")));
__asm__(".text\nlabel_without_type:\n nop\n nop\n nop\n ret\n.globl sized\n.type sized,@function\nsized:\n nop\n ret\n.size sized, .-sized\n");
int main(int argc, char **argv) { return choose(argc) + chosen_at_load(argc); }
"#;

#[test]
fn every_address_has_a_name_that_nm_gives_it() {
    let folder = TestFolder::new();
    let program = compile(&folder, "gcc", &["-O1", "-g"], "program.c", ALIASES);
    let code = Code::of(&program);
    let functions = Functions::of(&program, &[]);
    let file = image(&program);
    let mut bench = Bench::new(file.identity(), &code.offsets(1));
    assert_eq!(bench.named(), 0, "nothing has a name before a file is given");
    bench.admit(file).expect("it is the file recorded");

    let mut compared = 0;
    for (offset, frame) in bench.frames() {
        let expected = functions.at(code.address_of(offset));
        let function = bench.merged(frame);
        if let Some(name) = function.name {
            assert_eq!(function.provenance, Provenance::Matched);
            if !expected.is_empty() {
                assert!(expected.contains(&name), "{offset:#x}: {name} is none of {expected:?}");
                compared += 1;
            }
        } else {
            assert!(expected.is_empty(), "{offset:#x} has no name, but nm has {expected:?}");
        }
    }
    assert!(compared > 60, "only {compared} addresses compared");
}

/// Of a stripped library only the exported label has a name; the function behind it has another, which
/// is gone.
#[test]
fn a_label_without_a_size_does_not_name_the_hidden_function_behind_it() {
    const SOURCE: &str = r#"
        __asm__(".text\n.globl label\nlabel:\n nop\n nop\n ret\n");
        __attribute__((noinline)) static int hidden(int x) { return x * 7 + 1; }
        int exported(int x) { return hidden(x) + hidden(x + 1); }
    "#;
    let no_unwinding = ["-g", "-fno-asynchronous-unwind-tables"];
    // Flags, what is done to the library, and what to a second file that is its debug file.
    type Commands = &'static [&'static [&'static str]];
    let cases: [(&str, &[&str], Commands, Commands); 5] = [
        (".eh_frame_hdr", &[], &[&["strip"]], &[]),
        (".eh_frame", &["-Wl,--no-eh-frame-hdr"], &[&["strip"]], &[]),
        (".debug_frame", &no_unwinding, &[&["strip", "--keep-section=.debug_frame"]], &[]),
        (
            ".debug_frame of the other file",
            &no_unwinding,
            &[&["strip"]],
            &[&["objcopy", "--only-keep-debug"], &["strip", "--keep-section=.debug_frame"]],
        ),
        ("DWARF", &no_unwinding, &[&["objcopy", "-N", "hidden", "-R", ".debug_frame"]], &[]),
    ];
    for (case, flags, of_library, of_debug_file) in cases {
        let folder = TestFolder::new();
        let flags = [&["-O1", "-shared", "-fPIC", "-fno-toplevel-reorder"], flags].concat();
        let library = compile(&folder, "gcc", &flags, "library.c", SOURCE);
        let functions = Functions::of(&library, &[]);
        let code = Code::of(&library);
        let debug_file = library.with_extension("debug");
        std::fs::copy(&library, &debug_file).expect("it is copied");
        for (file, commands) in [(&library, of_library), (&debug_file, of_debug_file)] {
            for command in commands {
                run(command[0], &[&command[1..], &[text(file)]].concat());
            }
        }
        let mut bench = Bench::new(image(&library).identity(), &code.offsets(1));
        if !of_debug_file.is_empty() {
            bench.admit(image(&debug_file)).expect("it is its debug file");
        }
        bench.admit(image(&library)).expect("it is the file recorded");
        let mut hidden = 0;
        for (offset, frame) in bench.frames() {
            if functions.at(code.address_of(offset)) == ["hidden"] {
                let name = bench.merged(frame).name;
                let expected = if case == "DWARF" { Some("hidden") } else { None };
                assert_eq!(name, expected, "{case} {offset:#x}");
                hidden += 1;
            }
        }
        assert!(hidden > 3, "{case}");
        let is_label = |&&(_, it): &&(u64, FrameId)| bench.merged(it).name == Some("label");
        let label = bench.frames().iter().filter(is_label).count();
        assert!(label >= 3, "{case}: {label} addresses of the label");
    }
}

#[test]
fn among_aliases_the_one_that_perf_shows_is_chosen() {
    let folder = TestFolder::new();
    let program = compile(&folder, "gcc", &["-O1", "-g"], "program.c", ALIASES);
    let file = image(&program);
    let code = Code::of(&program);
    let mut bench = Bench::new(file.identity(), &code.offsets(1));
    bench.admit(file).expect("it is the file recorded");
    let names: Vec<_> =
        bench.frames().iter().filter_map(|&(_, frame)| bench.merged(frame).name).collect();
    // Not weak, then fewer underscores; global before local. What an IFUNC's resolver chooses is
    // elsewhere.
    let shown = ["plain", "a_global", "choose", "main", "label_without_type", "sized", "resolver"];
    for shown in shown {
        assert!(names.contains(&shown), "{shown} is missing in {names:?}");
    }
    for hidden in ["__underscored", "weak_but_longer_name", "a_local", "chosen_at_load"] {
        assert!(!names.contains(&hidden), "{hidden} is shown");
    }
}

#[test]
fn a_label_without_a_size_ends_where_the_next_symbol_begins() {
    let folder = TestFolder::new();
    let program = compile(&folder, "gcc", &["-O1"], "program.c", ALIASES);
    let listing = run("nm", &[text(&program)]);
    let address = |name: &str| {
        let line = listing.lines().find(|line| line.ends_with(&format!(" {name}")));
        u64::from_str_radix(line.expect("nm lists it").split(' ').next().unwrap(), 16).unwrap()
    };
    let code = Code::of(&program);
    let (label, sized) = (address("label_without_type"), address("sized"));
    let offsets: Vec<_> =
        (label..sized + 2).map(|address| address - code.address + code.offset).collect();
    let file = image(&program);
    let mut bench = Bench::new(file.identity(), &offsets);
    bench.admit(file).expect("it is the file recorded");
    for (offset, frame) in bench.frames() {
        let expected = if code.address_of(offset) < sized { "label_without_type" } else { "sized" };
        assert_eq!(bench.merged(frame).name, Some(expected));
    }
}

#[test]
fn jumps_to_other_files_are_named_after_their_target() {
    let folder = TestFolder::new();
    let source = "#include <stdio.h>\n#include <stdlib.h>\n\
                  int main(void) { puts(getenv(\"HOME\")); return rand(); }";
    for flags in [&["-O1", "-Wl,-z,lazy"][..], &["-O1", "-fcf-protection=full", "-Wl,-z,ibtplt"]] {
        let program = compile(&folder, "gcc", flags, "program.c", source);
        let (code, listing) = (
            Code::section(&program, ".plt.sec").or_else(|| Code::section(&program, ".plt")),
            run("objdump", &["-d", "--no-show-raw-insn", text(&program)]),
        );
        let code = code.expect("there is a linkage table");
        let file = image(&program);
        let mut bench = Bench::new(file.identity(), &code.offsets(1));
        bench.admit(file).expect("it is the file recorded");
        // objdump prints `0000000000001030 <puts@plt>:` above each jump.
        let labels: Vec<(u64, &str)> = listing
            .lines()
            .filter_map(|line| line.strip_suffix("@plt>:")?.split_once(" <"))
            .map(|(address, name)| (u64::from_str_radix(address, 16).unwrap(), name))
            .collect();
        assert!(labels.iter().any(|(_, name)| *name == "puts"), "{labels:?}");
        for (address, name) in labels {
            if !(code.address..code.address + code.length).contains(&address) {
                continue;
            }
            let offset = address - code.address + code.offset;
            let frames = bench.frames();
            for &(_, frame) in frames.iter().filter(|(at, _)| (offset..offset + 16).contains(at)) {
                assert_eq!(bench.merged(frame).name, Some(format!("{name}@plt").as_str()));
            }
        }
    }
}

/// Linkers and options that lay out linkage tables in other ways.
const LINKERS: &[(&str, &[&str])] = &[
    ("bfd", &["-Wl,-z,lazy"]),
    ("bfd", &["-Wl,-z,now"]),
    ("bfd", &["-Wl,-z,ibtplt"]),
    ("bfd", &["-fno-plt"]),
    ("gold", &["-Wl,-z,lazy"]),
    ("gold", &["-Wl,-z,now"]),
    ("lld", &["-Wl,-z,lazy"]),
    ("lld", &["-Wl,-z,force-ibt"]),
    ("lld", &["-Wl,-z,retpolineplt"]),
    ("lld", &["-Wl,-z,retpolineplt", "-Wl,-z,now"]),
    ("mold", &["-Wl,-z,lazy"]),
    ("mold", &["-Wl,-z,now"]),
];

#[test]
fn each_linkers_jumps_go_where_the_source_says() {
    const TEST: &str = "each_linkers_jumps_go_where_the_source_says";
    let mut linkers: Vec<&str> = LINKERS.iter().map(|(linker, _)| *linker).collect();
    linkers.dedup();
    linkers.retain(|linker| is_installed(TEST, &format!("ld.{linker}")));
    assert!(linkers.contains(&"bfd"), "gcc links with ld.bfd");
    let folder = TestFolder::new();
    let functions = ["lib_c", "lib_a", "lib_d", "lib_b"];
    let library: String =
        functions.iter().map(|name| format!("int {name}(int x) {{ return x; }}")).collect();
    let library = compile(&folder, "gcc", &["-shared", "-fPIC", "-O1"], "lib.c", &library);
    let shared = folder.join("libcalled.so");
    std::fs::rename(library, &shared).expect("the library is moved");
    // The address of lib_a is taken, which puts its jump into another table.
    let calls: String = functions.iter().map(|name| format!("x += {name}(x);")).collect();
    let declared: String = functions.iter().map(|name| format!("int {name}(int);")).collect();
    let source = format!(
        "{declared} int (*volatile taken)(int) = 0;\n\
         __attribute__((noinline)) int caller(int x) {{ {calls} return x; }}\n\
         int main(int argc, char **argv) {{ taken = lib_a; return caller(argc) & 1; }}"
    );
    for (linker, flags) in LINKERS.iter().filter(|(linker, _)| linkers.contains(linker)) {
        let with = format!("-fuse-ld={linker}");
        let flags_of_all = ["-O1", &with, "-Wl,-rpath,.", "-Wl,--no-as-needed", text(&shared)];
        let program =
            compile(&folder, "gcc", &[&flags_of_all, *flags].concat(), "program.c", &source);
        let targets = calls_of(&program, "caller");
        if flags.contains(&"-fno-plt") {
            assert!(targets.is_empty(), "there is no table");
            continue;
        }
        assert_eq!(targets.len(), functions.len(), "{linker} {flags:?}");
        let sections: Vec<_> = [".plt", ".plt.sec", ".plt.got"]
            .iter()
            .filter_map(|it| Code::section(&program, it))
            .collect();
        let offsets: Vec<u64> = sections.iter().flat_map(|code| code.offsets(1)).collect();
        let file = image(&program);
        let mut bench = Bench::new(file.identity(), &offsets);
        bench.admit(file).expect("it is the file recorded");
        for (target, function) in targets.iter().zip(functions) {
            let code = sections
                .iter()
                .find(|code| (code.address..code.address + code.length).contains(target));
            let code = code.expect("calls go to a linkage table");
            let offset = target - code.address + code.offset;
            let name = bench.frames().into_iter().find(|(at, _)| *at == offset);
            let name = name.and_then(|(_, frame)| bench.merged(frame).name.map(str::to_owned));
            assert_eq!(name, Some(format!("{function}@plt")), "{linker} {flags:?} {target:#x}");
        }
    }
}

/// Where the direct calls of a function go, in their order, by `objdump`.
fn calls_of(program: &Path, function: &str) -> Vec<u64> {
    let listing = run("objdump", &["-d", "--no-show-raw-insn", text(program)]);
    let (_, rest) = listing.split_once(&format!("<{function}>:\n")).expect("it is listed");
    let body = rest.split("\n\n").next().expect("it has code");
    let targets = body.lines().filter_map(|line| {
        let (_, target) = line.split_once("call ")?;
        u64::from_str_radix(target.trim().split(' ').next()?, 16).ok()
    });
    targets.collect()
}

#[test]
fn a_stripped_library_has_the_names_it_exports() {
    let folder = TestFolder::new();
    let source = "int exported(int x) { return x + 1; } static int hidden(int x) { return x; }\
                  int also(int x) { return hidden(x) + exported(x); }";
    let flags = ["-shared", "-fPIC", "-s", "-O0"];
    let program = compile(&folder, "gcc", &flags, "program.c", source);
    let code = Code::of(&program);
    let functions = Functions::of(&program, &["-D"]);
    assert_eq!(functions.len(), 2);
    let file = image(&program);
    let mut bench = Bench::new(file.identity(), &code.offsets(1));
    let added = bench.admit(file).expect("it is the file recorded");
    assert_eq!(added.gives.sentence(), "function names only");
    for (offset, frame) in bench.frames() {
        let expected = functions.at(code.address_of(offset));
        assert_eq!(bench.merged(frame).name.as_slice(), expected.as_slice(), "{offset:#x}");
    }
}

#[test]
fn this_machines_libc_is_named_as_nm_names_it() {
    let libc = Path::new("/lib/x86_64-linux-gnu/libc.so.6");
    if !libc.exists() {
        println!("SKIPPED: this_machines_libc: no {}", libc.display());
        return;
    }
    let code = Code::of(libc);
    let functions = Functions::of(libc, &["-D", "--without-symbol-versions"]);
    let file = image(libc);
    let mut bench = Bench::new(file.identity(), &code.offsets(61));
    bench.admit(file).expect("it is the file recorded");
    let mut named = 0;
    for (offset, frame) in bench.frames() {
        let expected = functions.at(code.address_of(offset));
        match bench.merged(frame).name {
            Some(name) => {
                assert!(expected.contains(&name), "{offset:#x}: {name} is none of {expected:?}");
                named += 1;
            }
            None => assert!(expected.is_empty(), "{offset:#x}: none, but nm has {expected:?}"),
        }
    }
    assert!(named > 5000, "only {named} addresses have a name");
}
