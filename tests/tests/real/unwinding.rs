//! Stacks from copies of them, against programs that know their own stacks, and against perf.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

use perftab_core::images::{Images, UnwindTables};
use perftab_core::session::{Opening, ScanStep, Session, StackDumps, WatchedSample};
use perftab_core::{ContentHash, Identity, Query};
use perftab_perfdata::decode::SliceSource;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::perf::until_the_kernel_lets;
use perftab_tests::perftab_binary;
use perftab_tests::program::is_installed;

const SHADOW_STACK: &str = include_str!("shadow_stack.cpp");
const SHADOW_STACK_IN_RUST: &str = include_str!("shadow_stack.rs");
/// What the list of a thread begins with.
const MAGIC: u64 = 0x005a_d05a_c4e5_5ad0;

/// Names of a program's functions, outermost first.
type Stack = Vec<String>;

/// Records with copies of so many bytes of the stack; false if perf cannot do that here.
fn record_at(test: &str, program: &Path, recording: &Path, hertz: &str, bytes: &str) -> bool {
    let mut command = Command::new("perf");
    let call_graph = format!("dwarf,{bytes}");
    // A busy machine lets the recorder wait.
    let taken = ["-e", "cpu-clock:u", "-F", hertz, "--call-graph", &call_graph, "-m", "2048"];
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
    let found = Rc::new(RefCell::new(Vec::new()));
    let shown = found.clone();
    let note = move |sample: &WatchedSample<'_>| {
        let bytes = sample.tail.user_stack.expect("a copy of the stack").bytes;
        shown.borrow_mut().push(list_in(bytes));
    };
    replay(recording, note);
    found.take()
}

/// Shows each sample.
fn replay(recording: &Path, watcher: impl FnMut(&WatchedSample<'_>) + 'static) {
    let file = fs::read(recording).expect("the recording");
    let source = SliceSource::new(file.as_slice());
    let opening = Opening::new(&[&source]).expect("it opens");
    let mut replay = opening.replay(StackDumps::Shown, Box::new(watcher));
    while let Some(wanted) = replay.wants() {
        let from = wanted.offset as usize;
        replay.push(&file[from..from + wanted.length as usize]);
    }
    replay.finish();
}

fn list_in(bytes: &[u8]) -> Option<Stack> {
    let at = bytes.as_chunks().0.iter().rposition(|word| u64::from_le_bytes(*word) == MAGIC)?;
    let list = &bytes[8 * (at + 1)..];
    let depth = u64::from_le_bytes(*list.first_chunk()?) as usize;
    Some(list.get(8..8 + depth)?.iter().map(|id| format!("fn_{id}")).collect())
}

/// What every library has and no table tells of, by the start-up files that compilers link. It runs when a library is
/// loaded or unloaded.
const START_UP: [&str; 6] = [
    "_init",
    "_fini",
    "frame_dummy",
    "__do_global_dtors_aux",
    "register_tm_clones",
    "deregister_tm_clones",
];

/// By sample, the functions of the program on the stack, outermost first, and what was said. `None` of samples in what
/// goes to the handler of an exception: its last instructions write over what its own tables tell of, so that no table is
/// right there (`__builtin_eh_return` of gcc); of those that stop in [`START_UP`]; and of those in `swapcontext`, which finds
/// its caller by a context that is not on the stack, for as long as it switches.
fn unwound(recording: &Path) -> (Vec<Option<Stack>>, String) {
    let output = Command::new(perftab_binary())
        .arg("script")
        .arg(recording)
        .env_remove("DEBUGINFOD_URLS")
        .ended()
        .expect("perftab runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut stacks: Vec<Option<Stack>> = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some(frame) = line.strip_prefix('\t') else {
            if !line.is_empty() {
                stacks.push(Some(Stack::new()));
            }
            continue;
        };
        let stack = stacks.last_mut().expect("a sample");
        let (_, frame) = frame.trim_start().split_once(' ').expect("an address");
        let (name, _) = frame.rsplit_once(" (").expect("a DSO");
        let switches = name.trim_start_matches('_') == "swapcontext";
        if name.starts_with("_Unwind_") || START_UP.contains(&name) || switches {
            *stack = None;
        } else if let (Some(stack), Some(name)) = (stack, function_in(name)) {
            stack.insert(0, name);
        }
    }
    (stacks, said)
}

/// "fn_9" of a function of the program: in `fn_9`, `fn_9.cold`, `fn_9(unsigned int) [clone .actor]`,
/// `<Round as Shape>::fn_9` and `shadow_stack::fn_9::{closure#0}`.
fn function_in(name: &str) -> Option<String> {
    let name = ["::{closure#0}", "::{{closure}}"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name);
    let name = name.split(['.', '(']).next()?.rsplit("::").next()?;
    let number = name.strip_prefix("fn_")?;
    number.bytes().all(|digit| digit.is_ascii_digit()).then(|| name.to_owned())
}

fn compile(compiler: &str, options: &[&str], source: &Path, program: &Path) {
    let mut command = Command::new(compiler);
    command.args(options).arg("-o").args([program, source]);
    assert!(command.exit_status().expect("it runs").success(), "{compiler} {options:?} fails");
}

/// Builds the program in this way, records it and compares every stack.
fn knows_its_stack(test: &str, compiler: &str, options: &[&str]) {
    if !is_installed(test, "perf") || !is_installed(test, compiler) {
        return;
    }
    let folder = TestFolder::new();
    let (source, program) = (folder.join("shadow_stack.cpp"), folder.join("shadow"));
    fs::write(&source, SHADOW_STACK).expect("the source is written");
    let common = ["-std=c++20", "-pthread", "-Wl,--build-id"];
    compile(compiler, &[options, &common].concat(), &source, &program);
    if options.contains(&"-DLOADS") {
        for (plugin, id, room) in [("fn_25", "25", "16"), ("fn_26", "26", "600")] {
            let defined =
                [format!("-DPLUGIN={plugin}"), format!("-DID={id}"), format!("-DROOM={room}")];
            let defined: Vec<&str> = defined.iter().map(String::as_str).collect();
            let library = folder.join(plugin).with_extension("so");
            compile(
                compiler,
                &[&["-O2", "-shared", "-fPIC"], &common[..], &defined].concat(),
                &source,
                &library,
            );
        }
    }
    let known = compare_stacks(test, &folder, &program);
    if options.contains(&"-DLOADS") && !known.0.is_empty() {
        known.is_what_is_walked_while_it_is_recorded(&folder, &program);
    }
}

/// Which functions of a program call which: who calls nobody's callee is "".
#[derive(Default)]
struct Calls(BTreeMap<(String, String), usize>);

impl Calls {
    fn of(stacks: &[Option<Stack>]) -> Self {
        let mut calls = Self::default();
        for stack in stacks.iter().flatten() {
            let callers = std::iter::once("").chain(stack.iter().map(String::as_str));
            for (caller, callee) in callers.zip(stack) {
                *calls.0.entry((caller.to_owned(), callee.clone())).or_default() += 1;
            }
        }
        calls
    }

    /// perftab walks the stacks of nearly all samples while it records, and finds these calls; perf reads that.
    fn is_what_is_walked_while_it_is_recorded(&self, folder: &TestFolder, program: &Path) {
        let recording = folder.join("walked.data");
        let options =
            ["-q", "-e", "cpu-clock:u", "-F", "1500", "--call-graph", "dwarf,32768", "-o"];
        let mut record = Command::new(perftab_binary());
        record.arg("record").args(options).arg(&recording).arg("--").arg(program);
        let recorded = record.ended().expect("perftab runs");
        let said = String::from_utf8_lossy(&recorded.stderr).into_owned();
        // What was lost is said, and is no matter here.
        assert!(recorded.status.success(), "{said}");
        let copies = copies(&recording);
        let kept = copies.iter().filter(|&&bytes| bytes > 0).count();
        assert!(
            kept * 4 <= copies.len(),
            "{kept} of {} samples keep their copies\n{said}",
            copies.len()
        );
        let (stacks, said) = unwound(&recording);
        assert_eq!(stacks.len(), copies.len(), "{said}");
        // Samples of one moment may be the only ones with a call.
        let often = copies.len() / 50;
        for (call, times) in Calls::of(&stacks).0 {
            let is_known = self.0.contains_key(&call);
            assert!(
                is_known || times < often,
                "{times} times {call:?} in {}\n{said}",
                copies.len()
            );
        }
        let mut perf = Command::new("perf");
        perf.args(["script", "-F", "ip,sym", "--no-inline", "--max-stack", "1024", "-i"])
            .arg(&recording);
        let perf = perf.env("HOME", &**folder).ended().expect("perf runs");
        assert!(perf.status.success(), "{}", String::from_utf8_lossy(&perf.stderr));
        let printed = String::from_utf8_lossy(&perf.stdout);
        let blocks: Vec<&str> = printed.split("\n\n").filter(|it| !it.trim().is_empty()).collect();
        assert_eq!(blocks.len(), copies.len());
        let whole = blocks.iter().filter(|block| block.contains(" _start")).count();
        assert!(whole * 4 >= blocks.len(), "{whole} of {}", blocks.len());
    }
}

/// By sample, how many bytes of the stack are in a recording.
fn copies(recording: &Path) -> Vec<usize> {
    let found = Rc::new(RefCell::new(Vec::new()));
    let shown = found.clone();
    let note = move |sample: &WatchedSample<'_>| {
        shown.borrow_mut().push(sample.tail.user_stack.expect("a copy, or none").bytes.len());
    };
    replay(recording, note);
    found.take()
}

/// How many samples are said to be this.
fn said_of(said: &str, what: &str) -> usize {
    let number = said.split_once(what).and_then(|(before, _)| before.split_whitespace().last());
    number.map_or(0, |number| number.replace(',', "").parse().expect("a number"))
}

/// Records the program and compares every stack with what it noted. Returns who called whom.
fn compare_stacks(test: &str, folder: &TestFolder, program: &Path) -> Calls {
    assert!(Command::new(program).exit_status().expect("it runs").success());
    let recording = folder.join("perf.data");
    if !record_at(test, program, &recording, "1500", "32768") {
        return Calls::default();
    }
    let noted = noted(&recording);
    let (unwound, said) = unwound(&recording);
    assert_eq!(noted.len(), unwound.len(), "{said}");
    let mut compared = 0;
    let name = program.file_name().expect("a name").to_string_lossy();
    let without_tables = said_of(&said, &format!("in code of {name} that its unwind tables"));
    let mut may_be_empty = without_tables.min(noted.len() / 100);
    for (number, (noted, unwound)) in noted.iter().zip(&unwound).enumerate() {
        let noted = noted.as_ref().filter(|noted| !noted.is_empty());
        let (Some(noted), Some(unwound)) = (noted, unwound) else { continue };
        // Of what is linked to every program, some has no tables: a sample there has no callers, and that is said.
        if unwound.is_empty() && may_be_empty > 0 {
            may_be_empty -= 1;
            continue;
        }
        compared += 1;
        // The innermost may have just been entered, or be about to return; an async function, with who waits for it.
        let is_right = unwound.starts_with(noted) && unwound.len() <= noted.len() + 2;
        assert!(is_right, "sample {number}: noted {noted:?}, unwound {unwound:?}\n{said}");
    }
    // A coroutine's first function is a root, and what a signal has interrupted may be on a stack that is not copied.
    let stopped = said_of(&said, "in code of libc") + said_of(&said, "where the copy contradicts");
    assert!(stopped <= noted.len() / 200, "{said}");
    // How many there are depends on the machine.
    let enough = noted.len() * 3 / 4;
    assert!(compared > 100 && compared >= enough, "{compared} of {} samples\n{said}", noted.len());
    let deepest = unwound.iter().flatten().map(Vec::len).max().expect("samples");
    assert!(deepest > 300, "{deepest}");
    Calls::of(&unwound)
}

#[test]
fn stacks_are_those_that_the_program_had() {
    for options in [
        &["-O2", "-fomit-frame-pointer", "-DLOADS"][..],
        &["-O0", "-fno-pie", "-no-pie"],
        &["-O3", "-march=native", "-static"],
    ] {
        knows_its_stack("stacks_are_those_that_the_program_had", "g++", options);
    }
}

#[test]
fn stacks_are_those_that_the_program_had_by_clang() {
    let options = ["-O2", "-fomit-frame-pointer", "-DLOADS"];
    knows_its_stack("stacks_are_those_that_the_program_had_by_clang", "clang++", &options);
}

#[test]
fn stacks_are_those_that_the_program_had_in_rust() {
    let test = "stacks_are_those_that_the_program_had_in_rust";
    if !is_installed(test, "perf") || !is_installed(test, "rustc") {
        return;
    }
    let folder = TestFolder::new();
    let (source, program) = (folder.join("shadow_stack.rs"), folder.join("shadow"));
    fs::write(&source, SHADOW_STACK_IN_RUST).expect("the source is written");
    let options =
        ["--edition", "2024", "-O", "-g", "-Cforce-frame-pointers=no", "-Clink-arg=-Wl,--build-id"];
    compile("rustc", &options, &source, &program);
    compare_stacks(test, &folder, &program);
}

const GO: &str = "
package main
import \"runtime\"
//go:noinline
func build(count int) []*int {
    made := make([]*int, 0)
    for i := 0; i < count; i++ { made = append(made, new(int)) }
    return made
}
func main() {
    var kept [][]*int
    for i := 0; i < 60; i++ {
        kept = append(kept, build(20000))
        runtime.GC()
    }
    runtime.KeepAlive(kept)
}
";

/// Go's run time does much of its work on the stack of the thread. What called it is on the stack of a goroutine.
#[test]
fn stacks_of_go_end_where_another_stack_begins() {
    let test = "stacks_of_go_end_where_another_stack_begins";
    if !is_installed(test, "perf") || !is_installed(test, "gofmt") {
        return;
    }
    let folder = TestFolder::new();
    folder.write("main.go", GO.as_bytes());
    let (program, recording) = (folder.join("program"), folder.join("perf.data"));
    let mut build = Command::new("go");
    // Go's own linker gives it no build-id before 1.24.
    build.args(["build", "-ldflags=-linkmode=external -extldflags=-Wl,--build-id", "-o"]);
    build.arg(&program).arg("main.go").env("GOFLAGS", "").current_dir(&*folder);
    let built = build.ended().expect("go runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    if !record_at(test, &program, &recording, "499", "16384") {
        return;
    }
    let mut script = Command::new(perftab_binary());
    script.arg("script").arg(&recording).env_remove("DEBUGINFOD_URLS");
    let output = script.ended().expect("perftab runs");
    let (mut switched, mut whole) = (0, 0);
    for sample in String::from_utf8_lossy(&output.stdout).split("\n\n") {
        let frames = sample.lines().skip(1).filter(|frame| !frame.ends_with("(inlined)"));
        let names: Vec<_> = frames.filter_map(|it| it.split_whitespace().nth(1)).collect();
        let switch = names.iter().position(|name| name.starts_with("runtime.systemstack"));
        if let Some(switch) = switch {
            assert_eq!(switch + 1, names.len(), "{sample}");
            switched += 1;
        }
        let is_whole = names.last().is_some_and(|name| name.starts_with("runtime.goexit"));
        whole += u32::from(is_whole && names.contains(&"main.build"));
    }
    assert!(switched > 0 && whole > 0, "{switched} and {whole}");
}

/// `stub` has no unwind table, and its last act is a call that never returns; right behind it a function begins that has
/// one.
const STUB: &str = r#"
#include <unistd.h>
void stub(void);
__attribute__((used, noinline)) static void burns(void) {
    for (volatile unsigned i = 0; i < 200000000; i++) {}
    _exit(0);
}
__asm__(".text\n .p2align 4\n .type stub, @function\n"
        "stub: sub $8, %rsp\n .skip 7, 0x90\n call burns\n .size stub, . - stub\n"
        ".type next, @function\n next: .cfi_startproc\n ret\n .cfi_endproc\n .size next, . - next\n");
int main(void) { stub(); }
"#;

/// The call seems to return to where `next` begins, as the first function of a coroutine does.
#[test]
fn code_without_tables_before_a_function_is_no_root() {
    let test = "code_without_tables_before_a_function";
    if !is_installed(test, "perf") {
        return;
    }
    if cfg!(not(target_arch = "x86_64")) {
        println!("SKIPPED: {test}: its assembly is of x86-64");
        return;
    }
    let folder = TestFolder::new();
    let id = "5c419700000000000000000000000000000000ad";
    let program = perftab_tests::program::compile(&folder, "stub", id, STUB);
    let recording = folder.join("perf.data");
    if !record_at(test, &program, &recording, "499", "8192") {
        return;
    }
    let mut script = Command::new(perftab_binary());
    script.arg("script").arg(&recording).env_remove("DEBUGINFOD_URLS");
    let output = script.ended().expect("perftab runs");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let of_stub = printed.split("\n\n").filter(|sample| sample.contains(" stub")).count();
    assert!(of_stub > 10, "{printed}\n{said}");
    assert!(!printed.contains(" next"), "{printed}");
    assert_eq!(
        said_of(&said, "in code of stub that its unwind tables leave out"),
        of_stub,
        "{said}"
    );
}

/// A program and what it is linked with, recorded.
struct Recorded {
    _folder: TestFolder,
    recording: Vec<u8>,
    /// The program first.
    files: Vec<Vec<u8>>,
}

/// `None` if perf cannot do it here.
fn recorded(test: &str) -> Option<Recorded> {
    if !is_installed(test, "perf") {
        return None;
    }
    let folder = TestFolder::new();
    let (source, program) = (folder.join("shadow_stack.cpp"), folder.join("shadow"));
    fs::write(&source, SHADOW_STACK).expect("the source is written");
    let mut compile = Command::new("g++");
    compile.args(["-O2", "-pthread", "-Wl,--build-id", "-o"]).args([&program, &source]);
    assert!(compile.exit_status().expect("g++ runs").success());
    let recording = folder.join("perf.data");
    if !record_at(test, &program, &recording, "499", "16384") {
        return None;
    }
    let linked = Command::new("ldd").arg(&program).ended().expect("ldd runs");
    let linked = String::from_utf8(linked.stdout).expect("text");
    let paths = linked.split_whitespace().filter(|word| word.starts_with('/'));
    let files = [program.as_path()].into_iter().chain(paths.map(Path::new));
    let files = files.map(|path| fs::read(path).expect("a file")).collect();
    Some(Recorded { recording: fs::read(recording).expect("it"), _folder: folder, files })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unwound {
    Nothing,
    FromKept,
    FromRecording,
}

impl Recorded {
    fn open(&self) -> Session {
        let source = SliceSource::new(self.recording.as_slice());
        let mut opening = Opening::new(&[&source]).expect("it opens");
        while let Some(wanted) = opening.wants() {
            opening.push(self.bytes(wanted.offset, wanted.length));
        }
        opening.finish()
    }

    fn bytes(&self, offset: u64, length: u64) -> &[u8] {
        &self.recording[offset as usize..][..length as usize]
    }

    /// Unwinds what can be.
    fn unwind(&self, session: &mut Session) -> Unwound {
        let Some(mut unwinding) = session.unwinding() else { return Unwound::Nothing };
        while let ScanStep::More { .. } = unwinding.unwind_kept(100).expect("copies are kept") {}
        session.take_unwound(unwinding);
        Unwound::FromKept
    }

    /// The same with copies from the recording.
    fn read_again(&self, session: &mut Session) -> Unwound {
        let Some(unwinding) = session.unwinding() else { return Unwound::Nothing };
        let source = SliceSource::new(self.recording.as_slice());
        let opening = Opening::new(&[&source]).expect("it opens");
        let mut replay = opening.replay(unwinding.dumps(), unwinding.watcher());
        while let Some(wanted) = replay.wants() {
            replay.push(self.bytes(wanted.offset, wanted.length));
        }
        replay.finish();
        session.take_unwound(unwinding);
        Unwound::FromRecording
    }

    /// The stacks of all samples, as paths and addresses of their frames, and what is said.
    fn stacks(session: &Session) -> (Vec<Vec<(String, u64)>>, Vec<String>) {
        let profile = session.profile();
        let stack = |row: usize| {
            let stack = profile.samples.get(row).expect("a row").stack;
            let frames = profile.stacks.frames(stack).map(|frame| profile.frames.get(frame));
            frames.map(|it| (profile.dsos.get(it.dso).path.clone(), it.address)).collect()
        };
        let said = session.warnings().iter().map(|warning| warning.message.clone()).collect();
        ((0..profile.samples.len()).map(stack).collect(), said)
    }
}

/// Files all at once, one by one in any order with stacks unwound after each, and through the bytes that go from the files'
/// worker to the session's.
#[test]
fn whatever_the_order_of_files_stacks_are_the_same() {
    let Some(recorded) = recorded("whatever_the_order_of_files") else { return };
    let admit = |session: &mut Session, file: &[u8]| {
        session.admit("a file", Box::new(SliceSource::new(file.to_vec()))).map(drop)
    };
    let mut at_once = recorded.open();
    for file in &recorded.files {
        let _not_used = admit(&mut at_once, file);
    }
    assert_eq!(recorded.read_again(&mut at_once), Unwound::FromRecording);
    assert_eq!(recorded.unwind(&mut at_once), Unwound::Nothing);
    at_once.name_all_frames();
    let expected = Recorded::stacks(&at_once);
    assert!(expected.0.iter().any(|stack| stack.len() > 20), "{:?}", expected.1);
    let functions = |session: &mut Session| {
        let report = session.report(&Query::default(), Default::default(), usize::MAX);
        serde_json::to_string(&report).expect("JSON")
    };
    let expected_report = functions(&mut at_once);

    let count = recorded.files.len();
    let mut went_on = 0;
    for first in 0..count {
        for step in [1, count - 1] {
            for unwind in [Recorded::unwind, Recorded::read_again] {
                let mut session = recorded.open();
                for number in 0..count {
                    let file = &recorded.files[(first + number * step) % count];
                    let _not_used = admit(&mut session, file);
                    went_on += u32::from(unwind(&recorded, &mut session) == Unwound::FromKept);
                    session.name_all_frames();
                }
                assert_eq!(Recorded::stacks(&session), expected, "from {first} by {step}");
                assert_eq!(functions(&mut session), expected_report);
            }
        }
    }

    assert!(went_on > count as u32, "{went_on} times copies that were kept were unwound");

    let mut session = recorded.open();
    let mut images = Images::new(session.profile().dsos.clone());
    for file in &recorded.files {
        let source = Box::new(SliceSource::new(file.clone()));
        let _not_used = images.admit("a file", perftab_core::Image::open("a file", source));
    }
    session.take_findings(images.take_findings());
    for dso in session.unwindable() {
        let tables = images.unwind_tables(dso).expect("tables");
        let (identity, bytes) = (tables.identity(), tables.to_bytes());
        let again = UnwindTables::from_bytes(identity, &bytes).expect("they are read");
        assert_eq!(again.to_bytes(), bytes);
        session.take_unwind_tables(dso, Some(again));
        // Those of another build tell nothing.
        let other = Identity::Content(ContentHash([7; 16]));
        let other = UnwindTables::from_bytes(other, &bytes).expect("they are read");
        session.take_unwind_tables(dso, Some(other));
        for cut in (0..bytes.len().min(400)).chain([bytes.len() - 1]) {
            let _none = UnwindTables::from_bytes(identity, &bytes[..cut]);
        }
    }
    assert_eq!(recorded.unwind(&mut session), Unwound::FromKept);
    assert_eq!(Recorded::stacks(&session), expected);
}

const SLEEPER: &str = r#"
#include <unistd.h>
__attribute__((noinline)) void rests(int times) { for (int i = 0; i < times; i++) usleep(500); }
__attribute__((noinline)) int works(int times) { rests(times); return times; }
int main(void) { return works(60) - 60; }
"#;

/// Samples at a switch are unwound, and so is the time that is worked out from them.
#[test]
fn time_off_the_cpu_has_the_stack_of_the_switch() {
    let test = "time_off_the_cpu";
    if !is_installed(test, "perf") {
        return;
    }
    let folder = TestFolder::new();
    let id = "5c419700000000000000000000000000000000ac";
    let program = perftab_tests::program::compile(&folder, "sleeper", id, SLEEPER);
    let recording = folder.join("perf.data");
    let mut command = Command::new("perf");
    let taken = ["-e", "sched:sched_switch", "--switch-events", "--call-graph", "dwarf,8192"];
    command.args(["record", "-q", "--buildid-mmap"]).args(taken).arg("-o").arg(&recording);
    command.arg(&program).env("HOME", &*folder);
    let recorded = until_the_kernel_lets(&mut command).expect("perf runs");
    if !recorded.status.success() {
        let why = String::from_utf8_lossy(&recorded.stderr);
        println!("SKIPPED: {test}: perf cannot record: {}", why.trim().replace('\n', " "));
        return;
    }
    for event in ["sched:sched_switch", "offcpu-time"] {
        let mut report = Command::new(perftab_binary());
        report.args(["report", "--json", "--event", event]).arg(&recording);
        let output = report.env_remove("DEBUGINFOD_URLS").ended().expect("perftab runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect(&said);
        let functions = report["functions"].as_array().expect("functions");
        let total = |name: &str| {
            let found = functions.iter().find(|function| function["name"] == name);
            found.and_then(|function| function["total"].as_u64()).unwrap_or(0)
        };
        let (works, main) = (total("works"), total("main"));
        assert!(works > 0 && works <= main, "{event}: {works} of {main}\n{said}");
        let all: u64 = functions.iter().filter_map(|function| function["self"].as_u64()).sum();
        // A machine with more to do also makes it wait elsewhere.
        assert!(works > all / 10, "{event}: {works} of {all}\n{said}");
    }
}

/// Files with damaged tables, which still have the recorded build-id: whatever comes out, it ends, and every frame is
/// where something was mapped.
#[test]
fn damaged_tables_end_stacks_and_nothing_else() {
    let Some(recorded) = recorded("damaged_tables_end_stacks") else { return };
    let program = &recorded.files[0];
    let image = perftab_core::Image::open("program", Box::new(SliceSource::new(program.clone())));
    let tables = image.expect("an image").section_range(".eh_frame").expect("it has tables");
    let whole = recorded.open().profile().samples.len();
    let mut state = 0x5eed_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    for round in 0..40 {
        let mut damaged = program.clone();
        for _ in 0..1 + random(60) {
            let at = tables.start + random(tables.end - tables.start);
            damaged[at as usize] = random(256) as u8;
        }
        let mut session = recorded.open();
        session.admit("damaged", Box::new(SliceSource::new(damaged))).expect("it has the build-id");
        for file in &recorded.files[1..] {
            let _not_used = session.admit("a file", Box::new(SliceSource::new(file.clone())));
        }
        recorded.unwind(&mut session);
        let profile = session.profile();
        assert_eq!(profile.samples.len(), whole, "round {round}");
        for (_, frame) in profile.frames.iter() {
            assert!(frame.dso.index() < profile.dsos.len());
        }
    }
}
