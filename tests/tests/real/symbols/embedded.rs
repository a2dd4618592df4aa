//! What stripped files still know of their functions, and names of symbols as they are shown.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::program::is_installed;
use perftab_tests::tier::Tier;

use crate::symbols::oracle::{Code, Functions};
use crate::symbols::workbench::{Bench, compile, image, run, text};

const GO: &str = "
package main
import (\"fmt\"; \"os\"; \"strings\")
type Tide[T any] struct { height T }
//go:noinline
func (t *Tide[T]) Rise(by int) string { return strings.Repeat(fmt.Sprint(t.height), by) }
func main() {
    f := func(n int) string { return (&Tide[int]{n}).Rise(2) }
    os.Stdout.WriteString(f(len(os.Args))[:0])
}
";

fn go_build(folder: &Path, flags: &[&str], program: &str) {
    let output = Command::new("go")
        .args(["build", "-trimpath"])
        .args(flags)
        .args(["-o", program, "main.go"])
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "")
        .current_dir(folder)
        .ended()
        .expect("go runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Names by file offset, of every so many bytes of code.
fn named(file: &Path, step: usize) -> Vec<(u64, Option<String>)> {
    let code = Code::of(file);
    let image = image(file);
    let mut bench = Bench::new(image.identity(), &code.offsets(step));
    bench.admit(image).expect("it is the file recorded");
    let name = |frame| bench.merged(frame).name.map(str::to_owned);
    bench.frames().into_iter().map(|(at, frame)| (code.address_of(at), name(frame))).collect()
}

#[test]
fn a_stripped_go_program_has_the_names_that_nm_has_of_the_whole_one() {
    const TEST: &str = "a_stripped_go_program_has_the_names_that_nm_has_of_the_whole_one";
    if !is_installed(TEST, "gofmt") && Command::new("go").arg("version").ended().is_err() {
        return;
    }
    let folder = TestFolder::new();
    folder.write("main.go", GO.as_bytes());
    // Go's library is compiled once more for the other.
    let modes = match Tier::of_this_run() {
        Tier::Fast => &["-buildmode=exe"][..],
        Tier::All => &["-buildmode=exe", "-buildmode=pie"],
    };
    for &mode in modes {
        go_build(&folder, &[mode], "whole");
        go_build(&folder, &[mode, "-ldflags=-s -w"], "stripped");
        let functions = Functions::of(&folder.join("whole"), &[]);
        let (mut same, mut none) = (0, 0);
        for (address, name) in named(&folder.join("stripped"), 61) {
            // Which way of passing arguments it has stands behind the names of symbols only.
            let expected = functions.at(address).into_iter();
            let expected: Vec<&str> =
                expected.map(|name| name.strip_suffix(".abi0").unwrap_or(name)).collect();
            match name {
                Some(name) if expected.contains(&name.as_str()) => same += 1,
                // Between two functions; and marks of sections, which are no functions.
                _ if expected.is_empty() => none += 1,
                // The table calls all shapes of a generic function by one name.
                Some(name) if name.contains("[...]") => same += 1,
                name => panic!("{mode} {address:#x}: {name:?} is none of {expected:?}"),
            }
        }
        assert!(same > 3000 && none < same / 20, "{mode}: {same} are the same, {none} have none");
    }
}

/// As "MiniDebugInfo" in gdb's manual has it made.
#[test]
fn packed_symbols_of_a_stripped_program_are_read() {
    const TEST: &str = "packed_symbols_of_a_stripped_program_are_read";
    if !is_installed(TEST, "xz") {
        return;
    }
    let folder = TestFolder::new();
    let source = "static __attribute__((noinline)) int hidden(int x) { return x * 3; }\n\
                  int exported(int x) { return hidden(x) + 1; }\n\
                  int main(int c, char **v) { return exported(c); }\n";
    let program = compile(&folder, "gcc", &["-O0", "-rdynamic"], "program.c", source);
    let expected = named(&program, 1);
    let shell = "objcopy --only-keep-debug program mini && objcopy -S --remove-section .comment \
                 --keep-symbol=hidden mini mini2 && xz mini2 && strip program -o stripped && \
                 objcopy --add-section .gnu_debugdata=mini2.xz stripped packed";
    let made = Command::new("sh").args(["-ec", shell]).current_dir(&*folder).ended();
    assert!(made.expect("sh runs").status.success());
    let names = |file: &str| -> HashMap<u64, Option<String>> {
        named(&folder.join(file), 1).into_iter().collect()
    };
    let (stripped, packed) = (names("stripped"), names("packed"));
    let of = |name: &'static str| expected.iter().filter(move |it| it.1.as_deref() == Some(name));
    assert!(of("hidden").count() > 5);
    for (address, name) in of("hidden") {
        assert_eq!((&stripped[address], &packed[address]), (&None, name), "{address:#x}");
    }
    for (address, name) in of("exported") {
        assert_eq!(&packed[address], name, "{address:#x}");
    }
}

#[test]
fn versions_of_symbols_are_not_shown() {
    let folder = TestFolder::new();
    folder.write("map", b"V1 { local: *; }; V2 { global: fresh; } V1;");
    let source = "__asm__(\".symver old_tide, tide@V1\");\n\
                  __asm__(\".symver new_tide, tide@@V2\");\n\
                  __attribute__((used)) int old_tide(int x) { return x * 3; }\n\
                  __attribute__((used)) int new_tide(int x) { return x * 5; }\n\
                  int fresh(int x) { return x + 7; }\n";
    let script = format!("-Wl,--version-script={}", text(&folder.join("map")));
    let flags = ["-shared", "-fPIC", "-O1", &script];
    let program = compile(&folder, "gcc", &flags, "program.c", source);
    let listing = run("nm", &[text(&program)]);
    assert!(listing.contains("tide@V1") && listing.contains("tide@@V2"), "{listing}");
    let names: Vec<String> = named(&program, 1).into_iter().filter_map(|(_, name)| name).collect();
    assert!(names.iter().any(|name| name == "tide"), "{names:?}");
    assert!(names.iter().all(|name| !name.contains('@')), "{names:?}");
}
