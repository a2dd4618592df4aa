//! Code that a process makes and says itself how its callers are found, synthesised: stacks through it, and its lines.

use perf_event_open_sys::bindings as kernel;
use perftab_core::session::{CallerGuesses, Session};
use perftab_core::{Rejection, Status};
use perftab_perfdata::decode::SliceSource;
use perftab_tests::open::open;
use perftab_tests::synth::elf::{CODE, ElfSection, elf};
use perftab_tests::synth::{
    At, Attr, Event, Jitdump, MappedFile, Mapping, Order, Recording, Regs, Sample, context,
};

use crate::unwinding::{debug_frame, show, unwind};

/// Where the process has memory without a file, and where its stack ends.
const MEMORY: u64 = 0x7f00_0000_0000;
const STACK: u64 = 0x7fff_0000_1000;
/// Of `perf_regs.h`: bp, sp and ip.
const REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;
/// Nobody calls it.
const FIRST: [u8; 2] = [0x07, 16];
/// A frame of eight bytes more from its fourth byte on: `sub $8,%rsp`.
const DEEPER: [u8; 3] = [0x44, 0x0e, 16];

fn recording() -> Recording {
    let taken = kernel::PERF_SAMPLE_IP | kernel::PERF_SAMPLE_TID | kernel::PERF_SAMPLE_TIME;
    let taken = taken | kernel::PERF_SAMPLE_CALLCHAIN;
    let taken = taken | kernel::PERF_SAMPLE_REGS_USER | kernel::PERF_SAMPLE_STACK_USER;
    let attr = Attr::new(kernel::PERF_TYPE_SOFTWARE, 0, taken)
        .with(|attr| attr.kernel.sample_regs_user = REGISTERS);
    let mut recording = Recording::new(Order::Little, vec![Event::new(0, "", attr, 1)]);
    recording.feature_string(3, "host").feature_string(6, "x86_64");
    recording.clock_data(1, 1_700_000_000_000_000_000, 1_000);
    let memory = Mapping {
        misc: 2,
        pid: 7,
        tid: 7,
        addresses: MEMORY..MEMORY + 0x1_0000,
        offset: 0,
        file: MappedFile::Inode(0, 0, 0, 0),
        path: "//anon",
    };
    let at = At { pid: 7, tid: 7, time: 1, ..At::default() };
    recording.comm(at, 1 << 13, "app").mmap2(at, &memory);
    recording
}

/// A sample at a place in the memory, and the words of its stack.
fn sample(recording: &mut Recording, time: u64, at: u64, stack: &[u64]) {
    let ip = MEMORY.wrapping_add(at);
    let registers = Regs { abi: 2, values: vec![0, STACK, ip] };
    let stack: Vec<u8> = stack.iter().flat_map(|word| word.to_le_bytes()).collect();
    let (stack_valid, chain) = (stack.len() as u64, vec![context::USER, ip]);
    let (pid, tid, regs_user) = (7, 7, Some(registers));
    let known = Sample { misc: 2, ip, pid, tid, time, chain, ..Sample::default() };
    recording.sample(0, &Sample { regs_user, stack, stack_valid, ..known });
}

/// Unwinds what can be, once, and names what was found.
fn unwind_and_name(session: &mut Session, bytes: &[u8]) {
    unwind(session, bytes);
    session.name_all_frames();
}

/// The names of a stack, innermost first.
fn stack(session: &Session, row: usize) -> Vec<String> {
    let (profile, symbols) = (session.profile(), session.symbols());
    let stack = profile.samples.get(row).expect("a row").stack;
    let name = |frame| {
        let name = symbols.function(symbols.merged(frame)).name;
        let address = profile.frames.get(frame).address;
        name.map_or_else(|| format!("{:x}", address.wrapping_sub(MEMORY)), str::to_owned)
    };
    profile.stacks.frames(stack).map(name).collect()
}

fn admit(session: &mut Session, file: &[u8]) -> Result<(), Rejection> {
    session.admit("jit-7.dump", Box::new(SliceSource::new(file)))?;
    session.name_all_frames();
    Ok(())
}

/// `leaf` moves and is replaced by `other`, whose frame is larger; `outer` is the first of the thread.
fn jitdump() -> Vec<u8> {
    let mut dump = Jitdump::new(7, 50, 0);
    dump.rules(90, 0x40, &FIRST);
    dump.load(90, MEMORY + 0x1000, "outer", &[1; 0x40]);
    dump.rules(90, 0x15, &DEEPER);
    let (leaf, _) = dump.load(90, MEMORY + 0x100, "leaf", &[2; 0x15]);
    dump.moved(200, MEMORY + 0x100, MEMORY + 0x200, 0x15, leaf);
    dump.rules(300, 0x40, &[0x42, 0x0e, 24]);
    dump.load(300, MEMORY + 0x100, "other", &[3; 0x40]);
    // Of which nothing is said.
    dump.load(400, MEMORY + 0x100, "silent", &[4; 0x40]);
    dump.file()
}

fn recorded() -> Vec<u8> {
    let mut recording = recording();
    let outer = MEMORY + 0x1020;
    sample(&mut recording, 100, 0x102, &[outer]);
    sample(&mut recording, 110, 0x108, &[0, outer]);
    // It is not there any more.
    sample(&mut recording, 210, 0x108, &[0, outer]);
    sample(&mut recording, 220, 0x208, &[0, outer]);
    sample(&mut recording, 310, 0x108, &[0, 0, outer]);
    sample(&mut recording, 410, 0x108, &[outer]);
    // Longer than the copy, and called from nowhere.
    sample(&mut recording, 420, 0x208, &[0]);
    sample(&mut recording, 430, 0x208, &[0, 0x10]);
    recording.file()
}

#[test]
fn stacks_go_through_code_by_the_rules_of_its_time() {
    let bytes = recorded();
    let mut session = open(&bytes).expect("it opens");
    admit(&mut session, &jitdump()).expect("its code");
    unwind_and_name(&mut session, &bytes);
    let stacks: Vec<Vec<String>> = (0..8).map(|row| stack(&session, row)).collect();
    let silent = ["silent", "stopped in jit-7.dump: not in its unwind tables"];
    let expected: [&[&str]; 8] = [
        &["leaf", "outer"],
        &["leaf", "outer"],
        &["108", "stopped in //anon: no unwind tables"],
        &["leaf", "outer"],
        &["other", "outer"],
        &silent,
        &["leaf", "truncated after 8 bytes"],
        &["leaf", "stopped: the copied stack contradicts the files"],
    ];
    assert_eq!(stacks, expected);
    let row = session.dsos().into_iter().find(|row| row.kind == "jit").expect("a row");
    assert_eq!(row.status, Status::SelfNamed);
    assert!(session.unwinding().is_none(), "all has been looked at");
}

#[test]
fn stacks_that_stopped_go_on_when_a_jitdump_comes() {
    let bytes = recorded();
    let mut session = open(&bytes).expect("it opens");
    // No frame pointer leads anywhere, so that stacks stop.
    session.guess_callers(CallerGuesses::ByFramePointer);
    unwind_and_name(&mut session, &bytes);
    assert_eq!(stack(&session, 0), ["102", "stopped in //anon: no unwind tables"]);
    let said = |words: &str| session.warnings().iter().any(|it| it.message.contains(words));
    assert!(
        said("8 in //anon, code made at run time (only a jitdump may tell"),
        "{:?}",
        session.warnings()
    );
    admit(&mut session, &jitdump()).expect("its code");
    assert_eq!(stack(&session, 0), ["leaf", "stopped in //anon: no unwind tables"]);
    unwind_and_name(&mut session, &bytes);
    assert_eq!(stack(&session, 0), ["leaf", "outer"]);
}

#[test]
fn a_jitdump_waits_for_stacks_that_lead_to_its_code() {
    const LIBRARY: u64 = 0x55_5500_0000;
    const ID: [u8; 20] = [0x5c; 20];
    let mut recording = recording();
    let at = At { pid: 7, tid: 7, time: 1, ..At::default() };
    let addresses = LIBRARY..LIBRARY + 0x1000;
    let file = MappedFile::BuildId(&ID);
    let (path, pid, tid) = ("/opt/seven", 7, 7);
    recording.mmap2(at, &Mapping { misc: 2, pid, tid, addresses, offset: CODE, file, path });
    // As of a trampoline: code that is called, and too short to be sampled itself.
    sample(
        &mut recording,
        110,
        LIBRARY.wrapping_sub(MEMORY) + 0x10,
        &[MEMORY + 0x108, 0, MEMORY + 0x1020],
    );
    let bytes = recording.file();
    let mut session = open(&bytes).expect("it opens");
    let refused = admit(&mut session, &jitdump()).expect_err("no stack leads there so far");
    let Rejection::CodeTable { message } = refused else { panic!("{refused:?}") };
    assert!(message.contains("it waits for stacks that are unwound and lead there"), "{message}");
    let section = debug_frame(16, &[0x0c, 7, 8, 0x80 | 16, 1], &[(CODE, 0x100, &[])]);
    let library = elf(&ID, 0x1000, &[ElfSection::debug(".debug_frame", &section)]);
    session.admit("seven", Box::new(SliceSource::new(library))).expect("it is of this build");
    let unwinding = session.unwinding().expect("there are stacks");
    show(&unwinding, &bytes);
    session.take_unwound(unwinding);
    assert_eq!(session.used_code_tables().collect::<Vec<_>>(), ["jit-7.dump"]);
    unwind_and_name(&mut session, &bytes);
    assert_eq!(stack(&session, 0)[1..], ["leaf", "outer"]);
}

#[test]
fn a_jitdump_of_another_machine_is_not_used() {
    let mut file = jitdump();
    // EM_AARCH64
    file[12] = 183;
    let mut session = open(&recorded()).expect("it opens");
    let refused = admit(&mut session, &file).expect_err("another machine");
    let Rejection::CodeTable { message } = refused else { panic!("{refused:?}") };
    assert_eq!(message, "its code is of another machine than x86_64");
}

#[test]
fn code_has_the_lines_that_its_process_says() {
    let mut recording = recording();
    for (time, at) in [(100, 0x100), (110, 0x10f), (120, 0x110), (130, 0x13f)] {
        sample(&mut recording, time, at, &[]);
    }
    // It has moved.
    sample(&mut recording, 210, 0x212, &[]);
    let mut dump = Jitdump::new(7, 50, 0);
    let code = MEMORY + 0x100;
    dump.lines(
        90,
        code,
        &[(code, 3, "/app.js"), (code + 0x10, 4, "/app.js"), (code + 0x18, 0, "/app.js")],
    );
    let (number, _) = dump.load(90, code, "f", &[1; 0x40]);
    dump.moved(200, code, code + 0x100, 0x40, number);
    let mut session = open(&recording.file()).expect("it opens");
    admit(&mut session, &dump.file()).expect("its code");
    let (profile, symbols) = (session.profile(), session.symbols());
    let line = |row: usize| {
        let stack = profile.samples.get(row).expect("a row").stack;
        let frame = profile.stacks.frames(stack).next().expect("a frame");
        let [level] = symbols.levels(frame) else { panic!("one level") };
        let file = level.file.map(|file| symbols.file(file));
        (file, level.line.map(std::num::NonZeroU32::get))
    };
    let app = Some("/app.js");
    let expected = [(app, Some(3)), (app, Some(3)), (app, Some(4)), (None, None), (app, Some(4))];
    assert_eq!([0, 1, 2, 3, 4].map(line), expected);
    let row = session.dsos().into_iter().find(|row| row.kind == "jit").expect("a row");
    assert_eq!(row.gives.as_deref(), Some("function names and source lines"));
}
