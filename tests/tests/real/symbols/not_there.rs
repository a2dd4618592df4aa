//! Names in a file that are of no code of it, or of other code than one would think.

use std::path::Path;

use perftab_tests::folder::TestFolder;
use perftab_tests::program::is_installed;

use crate::symbols::oracle::{Code, Functions};
use crate::symbols::workbench::{Bench, compile, image, run, text};

/// Compiles to a file of its own name.
fn object(folder: &Path, name: &str, flags: &[&str], source: &str) -> String {
    let made = compile(folder, "gcc", flags, &format!("{name}.c"), source);
    let file = folder.join(name);
    std::fs::rename(made, &file).expect("it is renamed");
    text(&file).to_owned()
}

/// The names at every byte of a section, outermost first; of the whole file's symbols and DWARF.
fn names_in(program: &Path, section: &str) -> Vec<Vec<String>> {
    let code = Code::section(program, section).expect("it has code");
    let file = image(program);
    let mut bench = Bench::new(file.identity(), &code.offsets(1));
    bench.admit(file).expect("it is the file recorded");
    let names = |&(_, frame): &(u64, _)| {
        let levels = bench.levels(frame).into_iter();
        levels.filter_map(|(name, ..)| name.map(str::to_owned)).collect()
    };
    bench.frames().iter().map(names).collect()
}

/// Linkers leave the DWARF of what they discard, at address 0. A function that is long enough reaches
/// from there into the code of a shared object.
#[test]
fn discarded_functions_name_nothing() {
    const TEST: &str = "discarded_functions_name_nothing";
    const DEAD: &str = r#"
        volatile unsigned sink;
        #define TEN(X) X X X X X X X X X X
        static inline __attribute__((always_inline)) void ghost(unsigned x) {
            TEN(TEN(TEN(sink = sink * 3 + x; sink ^= x << 3;)))
        }
        void discarded(unsigned x) { ghost(x); ghost(x + 1); }
        void kept(void) { sink++; }
    "#;
    const LIVE: &str = r#"
        extern volatile unsigned sink;
        void kept(void);
        __attribute__((noinline)) void live(unsigned n) {
            for (unsigned i = 0; i < n; i++) sink = sink * 7 + i;
        }
        int main(int argc, char **argv) { live(argc); kept(); return 0; }
    "#;
    let folder = TestFolder::new();
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let dead_flags = ["-c", "-O2", version, "-ffunction-sections"];
        let dead = object(&folder, "dead.o", &dead_flags, DEAD);
        // With and without DWARF of its own that might come first.
        for flags in [&["-c", "-O2", version][..], &["-c", "-O2"]] {
            let live = object(&folder, "live.o", flags, LIVE);
            for linker in ["bfd", "gold", "lld", "mold"] {
                if !is_installed(TEST, &format!("ld.{linker}")) {
                    continue;
                }
                let program = folder.join("linked");
                let with = format!("-fuse-ld={linker}");
                let flags = ["-pie", &with, "-Wl,--gc-sections", "-Wl,--build-id"];
                run("gcc", &[&flags[..], &["-o", text(&program), &live, &dead]].concat());
                let functions = Functions::of(&program, &[]);
                let code = Code::of(&program);
                let is_live = |at: u64| functions.at(code.address_of(at)).contains(&"live");
                let names = names_in(&program, ".text");
                let all: Vec<_> = code.offsets(1).into_iter().zip(&names).collect();
                let case = format!("{linker} {version} {flags:?}");
                assert!(all.iter().any(|&(at, _)| is_live(at)), "{case}");
                for (at, names) in all {
                    let ghosts = ["ghost", "discarded"];
                    assert!(!names.iter().any(|it| ghosts.contains(&&**it)), "{case}: {names:?}");
                    assert!(!is_live(at) || names.ends_with(&["live".to_owned()]), "{case}");
                }
            }
        }
    }
}

/// `--just-symbols` gives a program the addresses of another one's functions, here one in its `main`.
#[test]
fn absolute_symbols_name_nothing() {
    let folder = TestFolder::new();
    let source = "int main(int argc, char **argv) { return argc * 3; }";
    let flags = ["-O1", "-no-pie", "-Wl,--build-id"];
    let listed = run("nm", &[text(&compile(&folder, "gcc", &flags, "app.c", source))]);
    let main = listed.lines().find_map(|line| line.strip_suffix(" T main")).expect("it is listed");
    let main = u64::from_str_radix(main, 16).expect("an address");
    let place = format!("-Wl,-Ttext={:#x}", main + 1);
    let other_flags = ["-O1", "-no-pie", "-nostdlib", "-static", "-Wl,-e,of_the_other", &place];
    let other = "int of_the_other(int x) { volatile int y = x; y *= 3; y += x; y ^= 7; return y; }";
    let other = object(&folder, "other", &other_flags, other);
    let just = format!("-Wl,--just-symbols={other}");
    let program = compile(&folder, "gcc", &[&flags[..], &[&just]].concat(), "app.c", source);
    let symbols = run("readelf", &["-sW", text(&program)]);
    let is_absolute = |line: &str| {
        line.ends_with(" ABS of_the_other") && line.contains(&format!("{:016x}", main + 1))
    };
    assert!(symbols.lines().any(is_absolute), "{symbols}");
    let names = names_in(&program, ".text").concat();
    let count = |name: &str| names.iter().filter(|it| *it == name).count();
    assert!(count("main") > 2 && count("of_the_other") == 0, "{names:?}");
}

#[test]
fn labels_of_the_assembler_and_hidden_ones_name_nothing() {
    let folder = TestFolder::new();
    let source = r#"
        __asm__(".text\n.globl sized\n.type sized,@function\nsized:\n nop\n"
                ".globl inner\n.hidden inner\ninner:\n nop\n ret\n.size sized, .-sized\n");
        int looping(int x) { for (int i = 0; i < x; i++) x ^= i * 31; return x; }
        int main(int argc, char **argv) { return looping(argc); }
    "#;
    let program = compile(&folder, "gcc", &["-O1", "-Wa,-L"], "program.c", source);
    let listed = run("nm", &[text(&program)]);
    assert!(listed.contains(" t .L") && listed.contains(" inner"), "{listed}");
    let names = names_in(&program, ".text").concat();
    let count = |name: &str| names.iter().filter(|it| *it == name).count();
    assert_eq!((count("sized"), count("inner")), (3, 0));
    assert!(count("looping") > 10);
    assert!(!names.iter().any(|name| name.starts_with(".L")), "{names:?}");
}

/// What stands at the end of a section has the address of the one behind it.
#[test]
fn a_label_at_the_end_of_a_section_names_nothing_of_the_next() {
    let folder = TestFolder::new();
    let source = r#"
        __asm__(".section .text.last,\"ax\"\n.globl behind\nbehind:\n nop\n ret\n.globl at_the_end\nat_the_end:\n"
                ".section hotcode,\"ax\"\n nop\n nop\n nop\n ret\n.text\n");
        int main(void) { return 0; }
    "#;
    let program = compile(&folder, "gcc", &["-O1", "-nostartfiles"], "program.c", source);
    let listed = run("nm", &[text(&program)]);
    let code = Code::section(&program, "hotcode").expect("it is there");
    let end = format!("{:016x} T at_the_end", code.address);
    assert!(listed.contains(&end), "the label is not where the section begins: {listed}");
    assert_eq!(names_in(&program, "hotcode").concat(), [""; 0]);
    assert!(names_in(&program, ".text").concat().iter().any(|name| name == "behind"));
}
