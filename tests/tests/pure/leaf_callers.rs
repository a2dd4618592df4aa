//! Callers that chains by frame pointers of arm64 lack, synthesised, with tables by hand.

use std::cell::RefCell;
use std::rc::Rc;

use perf_event_open_sys::bindings as kernel;
use perftab_core::DsoKind;
use perftab_core::session::{Opening, ScanStep, Session, StackDumps};
use perftab_perfdata::decode::SliceSource;
use perftab_tests::fixtures;
use perftab_tests::open::{open, open_path};
use perftab_tests::synth::elf::{CODE, ElfSection, elf};
use perftab_tests::synth::{Recording, Regs, Sample, context};

use super::unwinding::{BASE, Function, ID, debug_frame, recording_with};

const KERNEL: u64 = 0xffff_8000_0810_0000;
/// x30 of `perf_regs.h`, which perf records beside chains.
const LINK: u64 = 1 << 30;

/// The first function; one that sets up a frame; one that calls nothing; one that keeps its return address in x9; and
/// nothing of what follows.
fn file() -> Vec<u8> {
    // After the first instruction the frame is at sp + 16 with x29 and x30 in it; at the last all is taken back.
    let frame = [
        0x44,
        0x0e,
        16,
        0x80 | 29,
        2,
        0x80 | 30,
        1,
        0x7f,
        0x02,
        0x7d,
        0xc0 | 30,
        0xc0 | 29,
        0x0e,
        0,
    ];
    let functions: [Function<'_>; 4] = [
        (CODE, 0x100, &[0x07, 30]),
        (CODE + 0x100, 0x100, &frame),
        // sub sp, sp, #64, after its first instruction.
        (CODE + 0x200, 0x100, &[0x44, 0x0e, 64]),
        (CODE + 0x300, 0x100, &[0x09, 30, 9]),
    ];
    let section = debug_frame(30, &[0x0c, 31, 0], &functions);
    let mut file = elf(&ID, 0x1000, &[ElfSection::debug(".debug_frame", &section)]);
    // EM_AARCH64
    file[18] = 183;
    file
}

fn recording(arch: &str, more: u32) -> Recording {
    recording_with(arch, LINK, more)
}

/// Return addresses are signed in the bits above what addresses have.
fn signed(place: u64) -> u64 {
    (BASE + place) | 0xb435 << 39
}

/// A sample with such a chain of places in the code, below those in the kernel.
fn sample(time: u64, of_kernel: &[u64], places: &[u64], link: Option<(u64, u64)>) -> Sample {
    let mut chain = of_kernel.to_vec();
    if !of_kernel.is_empty() {
        chain.insert(0, context::KERNEL);
    }
    chain.push(context::USER);
    chain.extend(places.iter().map(|place| BASE + place));
    let (misc, ip) = match of_kernel.first() {
        Some(&ip) => (1, ip),
        None => (2, BASE + places[0]),
    };
    let (pid, tid) = (7, 7);
    let regs_user = link.map(|(abi, link)| Regs { abi, values: vec![link] });
    Sample { misc, ip, pid, tid, time, chain, regs_user, ..Sample::default() }
}

/// The stack of a sample as places in the code, innermost first.
fn stack(session: &Session, row: usize) -> Vec<u64> {
    let profile = session.profile();
    let stack = profile.samples.get(row).expect("a row").stack;
    let frames = profile.stacks.frames(stack).map(|frame| profile.frames.get(frame));
    let of_user = frames.filter(|frame| profile.dsos.get(frame.dso).kind == DsoKind::User);
    of_user.map(|frame| frame.address - CODE).collect()
}

/// Does what there is to do with stacks, without reading the recording again.
fn unwind(session: &mut Session) {
    let mut unwinding = session.unwinding().expect("there are callers");
    assert!(matches!(unwinding.unwind_kept(1), Some(ScanStep::Done(()))));
    session.take_unwound(unwinding);
    assert!(session.unwinding().is_none(), "all has been looked at");
}

fn admit(session: &mut Session) {
    session.admit("seven", Box::new(SliceSource::new(file()))).expect("it is of this build");
}

/// What a script is told of each sample's user space, as places.
fn walked(session: &Session, bytes: &[u8]) -> Vec<Vec<u64>> {
    let walk = RefCell::new(session.walk_stacks().expect("there are callers"));
    let walked = Rc::new(RefCell::new(Vec::new()));
    let source = SliceSource::new(bytes);
    let opening = Opening::new(&[&source]).expect("it opens");
    let to = Rc::clone(&walked);
    let show = move |sample: &perftab_core::session::WatchedSample<'_>| {
        let mut walk = walk.borrow_mut();
        let places = walk.addresses(sample).iter().map(|address| address - BASE);
        to.borrow_mut().push(places.collect());
    };
    let mut replay = opening.replay(StackDumps::Shown, Box::new(show));
    while let Some(wanted) = replay.wants() {
        replay.push(&bytes[wanted.offset as usize..][..wanted.length as usize]);
    }
    replay.finish();
    walked.take()
}

/// By what the tables say of the instruction that ran.
#[test]
fn the_caller_is_put_in_where_the_link_register_has_it() {
    let link = Some((2, signed(0x150)));
    let called = [0x14f, 0x4f];
    let kept = [0x4f];
    let cases = [
        // A leaf, before and behind its first instruction.
        (0x200, link, &called[..]),
        (0x210, link, &called),
        // The first instruction of what sets up a frame, the second, the last one before all is taken back, and `ret`.
        (0x100, link, &called),
        (0x104, link, &kept),
        (0x1bc, link, &kept),
        (0x1c0, link, &called),
        // What nobody calls; what has it elsewhere; what no table tells of.
        (0x10, link, &kept),
        (0x310, link, &kept),
        (0x410, link, &kept),
        // Of a program of 32 bits, without registers, and with an address where nothing is.
        (0x210, Some((1, signed(0x150))), &kept),
        (0x210, None, &kept),
        (0x210, Some((2, 0x1234)), &kept),
        (0x210, Some((2, 0)), &kept),
    ];
    let mut recording = recording("aarch64", 0);
    for (row, (at, link, _)) in cases.iter().enumerate() {
        recording.sample(0, &sample(10 + row as u64, &[], &[*at, 0x50], *link));
    }
    let bytes = recording.file();
    let mut session = open(&bytes).expect("it opens");
    let recorded: Vec<_> = (0..cases.len()).map(|row| stack(&session, row)).collect();
    assert!(session.unwinding().is_none(), "there is no file yet");
    admit(&mut session);
    assert_eq!((0..cases.len()).map(|row| stack(&session, row)).collect::<Vec<_>>(), recorded);
    unwind(&mut session);
    let walked = walked(&session, &bytes);
    for (row, (at, link, callers)) in cases.iter().enumerate() {
        let expected = [&[*at], *callers].concat();
        assert_eq!(stack(&session, row), expected, "{at:#x} {link:x?}");
        // Return addresses, or nothing.
        let of_script = expected.iter().enumerate().map(|(depth, at)| at + u64::from(depth > 0));
        let of_script = of_script.filter(|_| callers.len() > 1);
        assert!(of_script.eq(walked[row].iter().copied()), "{at:#x}: {:x?}", walked[row]);
    }
    assert!(session.warnings().is_empty(), "{:?}", session.warnings());
}

/// The registers are those with which the kernel was entered.
#[test]
fn samples_in_the_kernel_have_it_below_what_ran_there() {
    let mut recording = recording("aarch64", 0);
    let of_kernel = [KERNEL, KERNEL + 0x40];
    let link = Some((2, signed(0x150)));
    recording.sample(0, &sample(10, &of_kernel, &[0x210, 0x50], link));
    // A chain that goes no further.
    recording.sample(0, &sample(11, &of_kernel, &[0x210], link));
    let mut session = open(&recording.file()).expect("it opens");
    let depth = |session: &Session, row| {
        let profile = session.profile();
        profile.stacks.frames(profile.samples.get(row).expect("a row").stack).count()
    };
    let before = [depth(&session, 0), depth(&session, 1)];
    admit(&mut session);
    unwind(&mut session);
    assert_eq!(stack(&session, 0), [0x210, 0x14f, 0x4f]);
    assert_eq!(stack(&session, 1), [0x210, 0x14f]);
    assert_eq!([depth(&session, 0), depth(&session, 1)], before.map(|before| before + 1));
}

/// A function that calls itself, before it has set up its frame: the chain goes on with the caller's own return address,
/// which is the same.
#[test]
fn a_caller_that_is_the_next_in_the_chain_is_one_more() {
    let mut recording = recording("aarch64", 0);
    recording.sample(0, &sample(10, &[], &[0x100, 0x150, 0x50], Some((2, signed(0x150)))));
    let mut session = open(&recording.file()).expect("it opens");
    admit(&mut session);
    unwind(&mut session);
    assert_eq!(stack(&session, 0), [0x100, 0x14f, 0x14f, 0x4f]);
}

/// perf has a copy of the stack for `--call-graph dwarf`, and the register may be asked for by `--user-regs`.
#[test]
fn nothing_is_put_in_of_another_machine_or_beside_a_copy_of_the_stack() {
    for (arch, more) in [("x86_64", 0), ("armv7l", 0), ("aarch64", kernel::PERF_SAMPLE_STACK_USER)]
    {
        let mut recording = recording(arch, more);
        recording.sample(0, &sample(10, &[], &[0x210, 0x50], Some((2, signed(0x150)))));
        let mut session = open(&recording.file()).expect("it opens");
        admit(&mut session);
        assert!(session.unwinding().is_none(), "{arch}");
        assert_eq!(stack(&session, 0), [0x210, 0x4f], "{arch}");
    }
}

/// Recorded by perf. Without the register, `outer` seems to be called by nothing that calls it, and so does `run`.
#[test]
fn stacks_of_a_program_have_only_calls_that_are_in_its_source() {
    /// The function that ran, and whom it may be called from.
    const CALLS: [(&str, &[&str]); 8] = [
        ("plain", &["outer"]),
        ("with_stack", &["outer"]),
        ("tiny", &["middle"]),
        ("middle", &["outer"]),
        ("itself", &["itself", "outer"]),
        ("in_kernel", &["outer"]),
        ("outer", &["run"]),
        ("run", &["_start"]),
    ];
    let path = |name: &str| fixtures::folder().join(name);
    let mut session = open_path(&path("perf-arm64-leaves.perf.data")).expect("it opens");
    let file = std::fs::read(path("perf-arm64-leaves.elf")).expect("a file");
    session.admit("leaves", Box::new(SliceSource::new(file))).expect("it is of this build");
    let stacks = |session: &Session| -> Vec<Vec<String>> {
        let (profile, symbols) = (session.profile(), session.symbols());
        let name = |frame| {
            let function = symbols.function(symbols.levels(frame).last()?.function);
            let dso = profile.dsos.get(profile.frames.get(frame).dso);
            (dso.kind == DsoKind::User).then(|| function.name.unwrap_or("?").to_owned())
        };
        let stacks = profile.samples.stack.iter();
        let stacks = stacks.map(|stack| profile.stacks.frames(*stack).filter_map(name).collect());
        stacks.filter(|names: &Vec<String>| !names.is_empty()).collect()
    };
    let is_call = |names: &[String]| {
        let callers = CALLS.iter().find(|(name, _)| *name == names[0]);
        callers.is_some_and(|(_, callers)| callers.contains(&names[1].as_str()))
    };
    let wrong = |stacks: &[Vec<String>]| {
        stacks.iter().filter(|names| !names.windows(2).all(is_call)).count()
    };
    session.name_all_frames();
    let recorded = stacks(&session);
    assert_eq!((recorded.len(), wrong(&recorded)), (93, 84));
    unwind(&mut session);
    session.name_all_frames();
    let found = stacks(&session);
    assert_eq!((found.len(), wrong(&found)), (93, 0));
    assert!(found.iter().all(|names| names.last().is_some_and(|name| name == "_start")));
}
