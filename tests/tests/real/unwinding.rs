//! Stacks from copies of them, against programs that know their own stacks, and against perf.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

use perftab_core::session::{Opening, StackDumps, WatchedSample};
use perftab_perfdata::decode::SliceSource;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::perf::until_the_kernel_lets;
use perftab_tests::perftab_binary;
use perftab_tests::program::is_installed;

const SHADOW_STACK: &str = include_str!("shadow_stack.cpp");
/// What the list of a thread begins with.
const MAGIC: u64 = 0x005a_d05a_c4e5_5ad0;

/// Names of a program's functions, outermost first.
type Stack = Vec<String>;

/// Records with copies of the stack; false if perf cannot do that here.
fn record(test: &str, program: &Path, recording: &Path) -> bool {
    let mut command = Command::new("perf");
    let taken = ["-e", "cpu-clock:u", "-F", "1500", "--call-graph", "dwarf,32768"];
    command.args(["record", "-q", "--buildid-mmap"]).args(taken).arg("-o").arg(recording);
    command.arg(program).env("HOME", program.parent().expect("a folder"));
    let recorded = until_the_kernel_lets(&mut command).expect("perf runs");
    let can = recorded.status.success();
    if !can {
        let why = String::from_utf8_lossy(&recorded.stderr);
        println!("SKIPPED: {test}: perf cannot record: {}", why.trim().replace('\n', " "));
    }
    can
}

/// By sample, what the program had noted in the copy of its stack: `None` if the copy does not reach so far.
fn noted(recording: &Path) -> Vec<Option<Stack>> {
    let file = fs::read(recording).expect("the recording");
    let source = SliceSource::new(file.as_slice());
    let found = Rc::new(RefCell::new(Vec::new()));
    let shown = found.clone();
    let note = move |sample: &WatchedSample<'_>| {
        let bytes = sample.tail.user_stack.expect("a copy of the stack").bytes;
        shown.borrow_mut().push(list_in(bytes));
    };
    let opening = Opening::new(&[&source]).expect("it opens");
    let mut replay = opening.replay(StackDumps::Shown, Box::new(note));
    while let Some(wanted) = replay.wants() {
        let from = wanted.offset as usize;
        replay.push(&file[from..from + wanted.length as usize]);
    }
    replay.finish();
    found.take()
}

fn list_in(bytes: &[u8]) -> Option<Stack> {
    let at = bytes.as_chunks().0.iter().rposition(|word| u64::from_le_bytes(*word) == MAGIC)?;
    let list = &bytes[8 * (at + 1)..];
    let depth = u64::from_le_bytes(*list.first_chunk()?) as usize;
    Some(list.get(8..8 + depth)?.iter().map(|id| format!("fn_{id}")).collect())
}

/// By sample, the functions of the program on the stack, outermost first, and what was said.
fn unwound(recording: &Path) -> (Vec<Stack>, String) {
    let output = Command::new(perftab_binary())
        .arg("script")
        .arg(recording)
        .env_remove("DEBUGINFOD_URLS")
        .ended()
        .expect("perftab runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut stacks: Vec<Stack> = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some(frame) = line.strip_prefix('\t') else {
            if !line.is_empty() {
                stacks.push(Stack::new());
            }
            continue;
        };
        let name = frame.split_whitespace().nth(1).expect("a name");
        // What the compiler split off is a part of the function.
        let name = name.split('.').next().unwrap_or(name);
        if name.starts_with("fn_") {
            stacks.last_mut().expect("a sample").insert(0, name.to_owned());
        }
    }
    (stacks, said)
}

/// Builds the program in this way, records it and compares every stack.
fn knows_its_stack(test: &str, compiler: &str, options: &[&str]) {
    if !is_installed(test, "perf") || !is_installed(test, compiler) {
        return;
    }
    let folder = TestFolder::new();
    let (source, program) = (folder.join("shadow_stack.cpp"), folder.join("shadow"));
    fs::write(&source, SHADOW_STACK).expect("the source is written");
    let mut compile = Command::new(compiler);
    compile.args(options).args(["-pthread", "-Wl,--build-id", "-o"]).args([&program, &source]);
    assert!(compile.exit_status().expect("it runs").success(), "{compiler} {options:?} fails");
    let recording = folder.join("perf.data");
    if !record(test, &program, &recording) {
        return;
    }
    let noted = noted(&recording);
    let (unwound, said) = unwound(&recording);
    assert_eq!(noted.len(), unwound.len(), "{said}");
    let mut compared = 0;
    for (number, (noted, unwound)) in noted.iter().zip(&unwound).enumerate() {
        let Some(noted) = noted.as_ref().filter(|noted| !noted.is_empty()) else { continue };
        compared += 1;
        // The innermost may have just been entered, or be about to return.
        let is_right = unwound.starts_with(noted) && unwound.len() <= noted.len() + 1;
        assert!(is_right, "sample {number}: noted {noted:?}, unwound {unwound:?}\n{said}");
    }
    assert!(compared > 300, "{compared} of {} samples\n{said}", noted.len());
    let deepest = unwound.iter().map(Vec::len).max().expect("samples");
    assert!(deepest > 300, "{deepest}");
}

#[test]
fn stacks_are_those_that_the_program_had() {
    for options in [
        &["-O2", "-fomit-frame-pointer"][..],
        &["-O0", "-fno-pie", "-no-pie", "-Wl,--no-eh-frame-hdr"],
        &["-O3", "-march=native", "-static"],
    ] {
        knows_its_stack("stacks_are_those_that_the_program_had", "g++", options);
    }
}

#[test]
fn stacks_are_those_that_the_program_had_by_clang() {
    let options = ["-O2", "-fomit-frame-pointer"];
    knows_its_stack("stacks_are_those_that_the_program_had_by_clang", "clang++", &options);
}
