//! What stripped files still know of their functions, and names of symbols as they are shown.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::program::is_installed;

use crate::symbols::oracle::Code;
use crate::symbols::workbench::{Bench, compile, image, run, text};

/// Names by file offset, of every so many bytes of code.
pub fn named(file: &Path, step: usize) -> Vec<(u64, Option<String>)> {
    let code = Code::of(file);
    let image = image(file);
    let mut bench = Bench::new(image.identity(), &code.offsets(step));
    bench.admit(image).expect("it is the file recorded");
    let name = |frame| bench.merged(frame).name.map(str::to_owned);
    bench.frames().into_iter().map(|(at, frame)| (code.address_of(at), name(frame))).collect()
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
