//! Copies of stacks, synthesised, with tables by hand: arm64, which need not be the machine that runs this, and samples
//! that say too little.

use perf_event_open_sys::bindings as kernel;
use perftab_core::DsoKind;
use perftab_core::session::{CallerGuesses, Opening, Session, Unwinding};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::error::WarningKind;
use perftab_tests::open::open;
use perftab_tests::synth::elf::{CODE, ElfSection, elf};
use perftab_tests::synth::{
    At, Attr, Event, MappedFile, Mapping, Order, Recording, Regs, Sample, context,
};

pub const ID: [u8; 20] = [0x5c; 20];
/// Where the file's code is in memory; in the file it is at [`CODE`].
pub const BASE: u64 = 0x55_5500_0000;
/// Where the stack ends.
const STACK: u64 = 0x7fff_0000_1000;
/// Of `perf_regs.h`: bp, sp and ip; x29, x30, sp and pc.
const X86_64: u64 = 1 << 6 | 1 << 7 | 1 << 8;
const ARM64: u64 = 0b1111 << 29;

/// A function with its rules: where it begins, how long it is, and call frame instructions.
pub type Function<'a> = (u64, u64, &'a [u8]);

/// `.debug_frame` (DWARF 5, section 6.4.1, as of version 4).
pub fn debug_frame(returns: u8, common: &[u8], functions: &[Function<'_>]) -> Vec<u8> {
    let entry = |body: Vec<u8>| {
        let mut entry = body;
        entry.resize(entry.len().next_multiple_of(8) + 4, 0);
        [&(entry.len() as u32).to_le_bytes()[..], &entry].concat()
    };
    // No augmentation, addresses of 8 bytes, no segments, alignments of 1 and -8.
    let head = [&[0xff; 4][..], &[4, 0, 8, 0, 1, 0x78, returns], common].concat();
    let mut section = entry(head);
    for (start, length, rules) in functions {
        let body = [&0u32.to_le_bytes()[..], &start.to_le_bytes(), &length.to_le_bytes(), rules];
        section.extend(entry(body.concat()));
    }
    section
}

fn x86_64_file() -> Vec<u8> {
    // The frame is at rsp + 8, the return address at its end.
    let common = [0x0c, 7, 8, 0x80 | 16, 1];
    let pushes = [0x41, 0x0e, 16, 0x80 | 6, 2, 0x4f, 0x0e, 8];
    let functions: [Function<'_>; 3] = [
        // Nobody calls it.
        (CODE, 0x100, &[0x07, 16]),
        // push %rbp; … pop %rbp, which the rules leave out; ret
        (CODE + 0x100, 0x100, &pushes),
        // A frame pointer from its 64th byte on.
        (CODE + 0x200, 0x100, &[0x7f, 0x41, 0x0c, 6, 16]),
    ];
    let section = debug_frame(16, &common, &functions);
    elf(&ID, 0x1000, &[ElfSection::debug(".debug_frame", &section)])
}

fn arm64_file() -> Vec<u8> {
    let functions: [Function<'_>; 3] = [
        (CODE, 0x100, &[0x07, 30]),
        // The frame is at x29 + 16, and x29 and x30 are saved there.
        (CODE + 0x100, 0x100, &[0x0c, 29, 16, 0x80 | 29, 2, 0x80 | 30, 1]),
        // A leaf that uses no stack.
        (CODE + 0x200, 0x100, &[]),
    ];
    let section = debug_frame(30, &[0x0c, 31, 0], &functions);
    let mut file = elf(&ID, 0x1000, &[ElfSection::debug(".debug_frame", &section)]);
    // EM_AARCH64
    file[18] = 183;
    file
}

fn recording(arch: &str, mask: u64) -> Recording {
    recording_with(arch, mask, kernel::PERF_SAMPLE_STACK_USER)
}

/// Of one process that maps the file, with these registers and what else samples have.
pub fn recording_with(arch: &str, mask: u64, more: u32) -> Recording {
    let taken = kernel::PERF_SAMPLE_IP | kernel::PERF_SAMPLE_TID | kernel::PERF_SAMPLE_TIME;
    let taken = taken | kernel::PERF_SAMPLE_CALLCHAIN | kernel::PERF_SAMPLE_REGS_USER | more;
    let attr = Attr::new(kernel::PERF_TYPE_SOFTWARE, 0, taken)
        .with(|attr| attr.kernel.sample_regs_user = mask);
    let mut recording = Recording::new(Order::Little, vec![Event::new(0, "", attr, 1)]);
    let mapping = Mapping {
        misc: 2,
        pid: 7,
        tid: 7,
        addresses: BASE..BASE + 0x1000,
        offset: CODE,
        file: MappedFile::BuildId(&ID),
        path: "/opt/seven",
    };
    let at = At { pid: 7, tid: 7, time: 1, ..At::default() };
    recording.comm(at, 0, "seven").mmap2(at, &mapping);
    recording.feature_string(3, "host").feature_string(6, arch);
    recording
}

/// A sample of user space with these registers and this stack.
fn sample(time: u64, registers: Option<Regs>, stack: &[u64]) -> Sample {
    let ip = registers.as_ref().and_then(|it| it.values.last().copied()).unwrap_or(BASE + 0x210);
    let stack: Vec<u8> = stack.iter().flat_map(|word| word.to_le_bytes()).collect();
    let stack_valid = stack.len() as u64;
    let chain = vec![context::USER, ip];
    let (pid, tid) = (7, 7);
    Sample {
        misc: 2,
        ip,
        pid,
        tid,
        time,
        chain,
        regs_user: registers,
        stack,
        stack_valid,
        ..Sample::default()
    }
}

/// Opens it, gives it the file, and unwinds what can be, once.
fn unwound(recording: &Recording, file: Vec<u8>) -> Session {
    let bytes = recording.file();
    let mut session = open(&bytes).expect("it opens");
    assert!(session.unwinding().is_none(), "there is no file yet");
    session.admit("seven", Box::new(SliceSource::new(file))).expect("it is of this build");
    unwind(&mut session, &bytes);
    session
}

/// Unwinds what can be, once.
pub fn unwind(session: &mut Session, bytes: &[u8]) {
    let unwinding = session.unwinding().expect("there are stacks");
    show(&unwinding, bytes);
    session.take_unwound(unwinding);
    assert!(session.unwinding().is_none(), "all has been looked at");
}

/// Shows all samples to what unwinds them.
pub fn show(unwinding: &Unwinding, bytes: &[u8]) {
    let source = SliceSource::new(bytes);
    let opening = Opening::new(&[&source]).expect("it opens");
    let mut replay = opening.replay(unwinding.dumps(), unwinding.watcher());
    while let Some(wanted) = replay.wants() {
        replay.push(&bytes[wanted.offset as usize..][..wanted.length as usize]);
    }
    replay.finish();
}

/// The stack of a sample as places in the code, innermost first.
fn stack(session: &Session, row: usize) -> Vec<u64> {
    let profile = session.profile();
    let stack = profile.samples.get(row).expect("a row").stack;
    let frames = profile.stacks.frames(stack).map(|frame| profile.frames.get(frame));
    let code = frames.filter(|frame| profile.dsos.get(frame.dso).kind != DsoKind::Pseudo);
    code.map(|frame| frame.address - CODE).collect()
}

/// What views show of a stack, by the names that there are, outermost first.
fn named(session: &Session, row: usize) -> Vec<String> {
    let (profile, symbols) = (session.profile(), session.symbols());
    let stack = profile.samples.get(row).expect("a row").stack;
    let frames = profile.stacks.frames(stack);
    let names = frames.map(|frame| symbols.function(symbols.merged(frame)).name.unwrap_or("code"));
    let names: Vec<String> = names.map(str::to_owned).collect();
    names.into_iter().rev().collect()
}

/// What is said of stacks, with how many samples.
fn said(session: &Session) -> Vec<(WarningKind, u64, String)> {
    let warnings = session.warnings().iter().filter(|warning| warning.samples.is_some());
    warnings.map(|it| (it.kind, it.samples.unwrap_or(0), it.message.clone())).collect()
}

#[test]
fn arm64_with_signed_return_addresses() {
    let mut recording = recording("aarch64", ARM64);
    // Nothing is mapped beyond 39 bits, so these are above what addresses have.
    let signed = |address: u64| address | 0xb435 << 39;
    let [outer, middle] = [BASE + 0x50, BASE + 0x150];
    let frame = STACK + 16;
    let registers = |pc| {
        let values = vec![frame, signed(middle), STACK, BASE + pc];
        Some(Regs { abi: 2, values })
    };
    // The leaf's stack is empty: two words of the function that called it, then its frame.
    let words = [1, 2, 0x1234, signed(outer)];
    recording.sample(0, &sample(10, registers(0x210), &words));
    // The one in the middle itself, its copy cut before the saved address.
    recording.sample(0, &sample(11, registers(0x150), &words[..3]));
    let session = unwound(&recording, arm64_file());
    assert_eq!(stack(&session, 0), [0x210, 0x14f, 0x4f]);
    assert_eq!(stack(&session, 1), [0x150]);
    assert_eq!(named(&session, 0), ["code"; 3]);
    assert_eq!(named(&session, 1), ["truncated after 24 bytes", "code"]);
    let said = said(&session);
    let [(WarningKind::TruncatedStacks, 1, _)] = &said[..] else { panic!("{said:?}") };
}

/// `perftab record --call-graph dwarf`: a second marker says that the rest was read when it may have been another stack.
#[test]
fn what_was_read_later_of_a_stack_is_said() {
    let chain = |words: &[u64]| -> Sample {
        let words = words.iter().map(|offset| BASE + offset).collect();
        Sample { chain: words, ip: BASE + 0x210, ..sample(10, None, &[]) }
    };
    let marker = context::USER.wrapping_sub(BASE);
    let mut recording = recording("x86_64", X86_64);
    let event = &mut recording.events[0];
    event.attr.kernel.set_exclude_callchain_user(1);
    recording.sample(0, &chain(&[marker, 0x210, 0x14f, 0x4f]));
    recording.sample(0, &chain(&[marker, 0x210, marker, 0x14f, 0x4f]));
    let bytes = recording.file();
    let session = open(&bytes).expect("it opens");
    for row in [0, 1] {
        assert_eq!(stack(&session, row), [0x210, 0x14f, 0x4f]);
    }
    let said = said(&session);
    let [(WarningKind::StacksReadLater, 1, _)] = &said[..] else { panic!("{said:?}") };
    assert_eq!(session.coverage().truncated_stacks, Some(0));
}

#[test]
fn registers_that_were_taken_back_are_those_of_the_caller() {
    let mut recording = recording("x86_64", X86_64);
    let registers = |ip, sp| {
        let values = vec![STACK + 16, sp, BASE + ip];
        Some(Regs { abi: 2, values })
    };
    // At its `ret`, `pop` is done: the rule for rbp points behind the end of the stack. The caller's frame needs rbp.
    recording.sample(0, &sample(10, registers(0x110, STACK), &[BASE + 0x250, 0, 0, BASE + 0x50]));
    // In its body, called from the other one.
    recording.sample(0, &sample(11, registers(0x208, STACK), &[BASE + 0x109, 7, BASE + 0x50]));
    let session = unwound(&recording, x86_64_file());
    assert_eq!(stack(&session, 0), [0x110, 0x24f, 0x4f]);
    assert_eq!(stack(&session, 1), [0x208, 0x108, 0x4f]);
    assert_eq!(said(&session), []);
}

#[test]
fn samples_that_cannot_be_unwound_are_counted_and_looked_at_once() {
    let mut recording = recording("x86_64", X86_64);
    let values = vec![STACK, STACK, BASE + 0x210];
    let words = [BASE + 0x50, 0];
    let registers = |abi| Some(Regs { abi, values: values.clone() });
    recording.sample(0, &sample(10, registers(1), &words));
    recording.sample(0, &sample(11, registers(1), &words));
    // Nothing of it could be copied.
    let empty = Sample { stack_valid: 0, ..sample(12, registers(2), &words) };
    recording.sample(0, &empty);
    // In code of which nothing tells, and from there.
    recording.sample(0, &sample(13, registers(2), &[BASE + 0x850, 0]));
    recording.sample(0, &sample(14, registers(2), &[0x1234, 0]));
    let session = unwound(&recording, x86_64_file());
    assert_eq!(stack(&session, 0), [0x210]);
    assert_eq!(stack(&session, 3), [0x210, 0x84f]);
    assert_eq!(stack(&session, 4), [0x210]);
    for (row, foot) in [
        (0, "not unwound: 32-bit program, or no registers"),
        (3, "stopped in seven: not in its unwind tables"),
        (4, "stopped: the copied stack contradicts the files"),
    ] {
        assert_eq!(named(&session, row)[0], foot);
    }
    let said = said(&session);
    let kinds: Vec<_> = said.iter().map(|(kind, samples, _)| (*kind, *samples)).collect();
    assert_eq!(kinds, [(WarningKind::NotUnwound, 4), (WarningKind::NotUnwound, 1)], "{said:?}");
    for part in ["2 of 32-bit programs", "1 in code of seven", "1 where the copy contradicts"] {
        assert!(said[0].2.contains(part), "{part}: {}", said[0].2);
    }
}

#[test]
fn callers_are_guessed_only_if_asked_for_and_marked() {
    let mut recording = recording("x86_64", X86_64);
    let registers = |bp, ip| Some(Regs { abi: 2, values: vec![bp, STACK, BASE + ip] });
    // No rules tell of 0x800. It has set up a frame pointer, and so has its caller, which has rules.
    let frame = STACK + 8;
    let words = [7, frame + 16, BASE + 0x250, frame + 32, BASE + 0x50];
    recording.sample(0, &sample(10, registers(frame, 0x800), &words));
    // Its frame pointer leads below the stack, is no multiple of eight, or leads to no code.
    recording.sample(0, &sample(11, registers(STACK - 8, 0x800), &words));
    recording.sample(0, &sample(12, registers(frame + 1, 0x800), &words));
    recording.sample(0, &sample(13, registers(STACK, 0x800), &words));
    let bytes = recording.file();
    let mut session = unwound(&recording, x86_64_file());
    let stopped = ["stopped in seven: not in its unwind tables", "code"];
    (0..4).for_each(|row| assert_eq!(named(&session, row), stopped));

    session.guess_callers(CallerGuesses::ByFramePointer);
    unwind(&mut session, &bytes);
    assert_eq!(stack(&session, 0), [0x800, 0x24f, 0x4f]);
    let guessed = ["code", "code", "callers guessed by frame pointer", "code"];
    assert_eq!(named(&session, 0), guessed);
    (1..4).for_each(|row| assert_eq!(named(&session, row), stopped));
    let [stops, guesses] = &said(&session)[..] else { panic!("{:?}", said(&session)) };
    assert_eq!((stops.1, guesses.1), (3, 1));
    assert!(guesses.2.contains("guessed by frame pointer"), "{guesses:?}");

    session.guess_callers(CallerGuesses::None);
    unwind(&mut session, &bytes);
    assert_eq!(named(&session, 0), stopped);
}

/// Each frame needs a call's room on the stack, whatever rules say.
#[test]
fn rules_that_need_no_memory_do_not_go_on_for_ever() {
    let mut recording = recording("x86_64", X86_64);
    let values = vec![STACK, STACK, BASE + 0x210];
    recording.sample(0, &sample(10, Some(Regs { abi: 2, values }), &[1, 2, 3, 4]));
    // The return address is rip itself, and the frame one byte further: DW_CFA_val_expression.
    let rules = [0x0c, 7, 1, 0x16, 16, 2, 0x80, 0];
    let section = debug_frame(16, &rules, &[(CODE, 0x1000, &[])]);
    let file = elf(&ID, 0x1000, &[ElfSection::debug(".debug_frame", &section)]);
    let session = unwound(&recording, file);
    // One for each word of the copy, and some.
    assert_eq!(stack(&session, 0).len(), 4 + 8, "{:?}", stack(&session, 0));
}

/// Copies are looked at where they are in the file, and rows are in the order of time. Two samples that only their stacks
/// tell apart wait for their turn.
#[test]
fn stacks_are_of_their_rows_and_numbered_by_these_wherever_they_are_in_the_file() {
    let registers = |ip| Some(Regs { abi: 2, values: vec![STACK + 16, STACK, BASE + ip] });
    let outer = BASE + 0x50;
    let samples = [
        sample(10, registers(0x110), &[BASE + 0x250, 0, 0, outer]),
        sample(20, registers(0x208), &[BASE + 0x109, 7, outer]),
        sample(20, registers(0x208), &[BASE + 0x103, 7, outer]),
        sample(30, registers(0x208), &[BASE + 0x105, 7, outer]),
        sample(40, registers(0x50), &[outer]),
    ];
    let expected = [
        &[0x110, 0x24f, 0x4f][..],
        &[0x208, 0x108, 0x4f],
        &[0x208, 0x102, 0x4f],
        &[0x208, 0x104, 0x4f],
        &[0x50],
    ];
    let mut numbers = Vec::new();
    for order in [[0, 1, 2, 3, 4], [4, 1, 3, 2, 0], [3, 4, 0, 1, 2]] {
        let mut recording = recording("x86_64", X86_64);
        for at in order {
            recording.sample(0, &samples[at]);
        }
        let session = unwound(&recording, x86_64_file());
        for (row, expected) in expected.iter().enumerate() {
            assert_eq!(stack(&session, row), *expected, "row {row} of {order:?}");
        }
        let profile = session.profile();
        let stacks: Vec<_> = (0..expected.len()).map(|row| profile.samples.get(row)).collect();
        numbers.push((stacks, profile.frames.iter().collect::<Vec<_>>()));
    }
    assert!(numbers.windows(2).all(|both| both[0] == both[1]), "{numbers:?}");
}
