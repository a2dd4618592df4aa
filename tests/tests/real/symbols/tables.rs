//! Symbol tables against `nm`.

use perftab_core::symbolize::Provenance;
use perftab_tests::folder::TestFolder;

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
    // Not weak, then fewer underscores; global before local; IFUNC resolvers count.
    for shown in ["plain", "a_global", "choose", "main", "label_without_type", "sized"] {
        assert!(names.contains(&shown), "{shown} is missing in {names:?}");
    }
    for hidden in ["__underscored", "weak_but_longer_name", "a_local"] {
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
    let libc = std::path::Path::new("/lib/x86_64-linux-gnu/libc.so.6");
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
