//! Code that processes make, synthesised: moved, replaced, at the same addresses in two processes, by one number in two
//! processes.

use perf_event_open_sys::bindings as kernel;
use perftab_core::session::Session;
use perftab_core::{DsoId, DsoKind, Rejection, Status};
use perftab_perfdata::decode::SliceSource;
use perftab_tests::open::open;
use perftab_tests::synth::{
    At, Attr, Event, Jitdump, MappedFile, Mapping, Order, Recording, Sample, context,
};

const MONOTONIC: u32 = 1;
/// Where each process has memory without a file.
const MEMORY: u64 = 0x7f00_0000_0000;
const SIZE: u64 = 0x1_0000;

/// A recording by a clock, with processes that have memory without a file.
fn recording(clock: Option<u32>, pids: &[u32]) -> Recording {
    recording_with(clock, pids, |_| {})
}

/// The same with another attr.
fn recording_with(clock: Option<u32>, pids: &[u32], change: impl FnOnce(&mut Attr)) -> Recording {
    let taken = kernel::PERF_SAMPLE_IP
        | kernel::PERF_SAMPLE_TID
        | kernel::PERF_SAMPLE_TIME
        | kernel::PERF_SAMPLE_CALLCHAIN;
    let attr = Attr::new(kernel::PERF_TYPE_SOFTWARE, 0, taken).with(change);
    let mut recording = Recording::new(Order::Little, vec![Event::new(0, "", attr, 1)]);
    recording.feature_string(3, "host").feature_string(6, "x86_64");
    if let Some(clock) = clock {
        recording.clock_data(clock, 1_700_000_000_000_000_000, 1_000);
    }
    pids.iter().for_each(|&pid| begin(&mut recording, pid, 1));
    recording
}

fn begin(recording: &mut Recording, pid: u32, time: u64) {
    let at = At { pid, tid: pid, time, ..At::default() };
    recording.comm(at, 1 << 13, "app").mmap2(at, &memory(pid, MEMORY..MEMORY + SIZE, "//anon"));
}

fn memory(pid: u32, addresses: std::ops::Range<u64>, path: &str) -> Mapping<'_> {
    let file = MappedFile::Inode(0, 0, 0, 0);
    Mapping { misc: 2, pid, tid: pid, addresses, offset: 0, file, path }
}

/// A sample at an address of the memory, called from others: return addresses.
fn sample(recording: &mut Recording, pid: u32, time: u64, at: u64, callers: &[u64]) {
    let ip = MEMORY + at;
    let callers = callers.iter().map(|caller| MEMORY + caller);
    let chain = [context::USER, ip].into_iter().chain(callers).collect();
    recording.sample(0, &Sample { misc: 2, ip, pid, tid: pid, time, chain, ..Sample::default() });
}

fn admit(session: &mut Session, name: &str, file: &[u8]) -> Result<DsoId, Rejection> {
    let admitted = session.admit(name, Box::new(SliceSource::new(file)))?;
    let [dso] = admitted.dsos[..] else { panic!("one DSO: {admitted:?}") };
    session.name_all_frames();
    Ok(dso)
}

fn refusal(session: &mut Session, name: &str, file: &[u8]) -> String {
    match admit(session, name, file) {
        Err(Rejection::CodeTable { message }) => message,
        other => panic!("{other:?}"),
    }
}

/// The stack of a row, innermost first: names, or addresses in hex.
fn stack(session: &Session, row: usize) -> Vec<String> {
    let (profile, symbols) = (session.profile(), session.symbols());
    let stack = profile.samples.get(row).expect("a row").stack;
    let name = |frame| {
        let function = symbols.function(symbols.merged(frame));
        let address = profile.frames.get(frame).address;
        function.name.map_or_else(|| format!("{:x}", address.wrapping_sub(MEMORY)), str::to_owned)
    };
    profile.stacks.frames(stack).map(name).collect()
}

fn stacks(session: &Session) -> Vec<Vec<String>> {
    (0..session.profile().samples.len()).map(|row| stack(session, row)).collect()
}

fn row_of(session: &Session, dso: DsoId) -> perftab_core::session::DsoRow {
    session.dsos().into_iter().find(|row| row.id == dso.0).expect("a row")
}

#[test]
fn code_that_moves_or_is_replaced_has_the_name_of_its_time() {
    let mut recording = recording(Some(MONOTONIC), &[7]);
    let mut dump = Jitdump::new(7, 50, 0);
    let (first, first_at) = dump.load(100, MEMORY + 0x100, "first", &[1; 0x40]);
    dump.load(100, MEMORY + 0x200, "caller", &[2; 0x40]);
    // It moves, over a part of where it was, and then back and forth.
    dump.moved(200, MEMORY + 0x100, MEMORY + 0x120, 0x40, first);
    dump.load(300, MEMORY + 0x100, "second", &[3; 0x20]);
    dump.moved(400, MEMORY + 0x120, MEMORY + 0x300, 0x40, first);
    // What is put over a part of code ends it, and records of other kinds are passed over.
    dump.other(2, 450, &[0; 24]);
    dump.load(500, MEMORY + 0x230, "third", &[4; 0x10]);
    dump.moved(600, MEMORY + 0x300, MEMORY + 0x100, 0x40, first);
    dump.other(3, 900, &[]);
    for time in (50..=650).step_by(100) {
        // The return address behind the last byte of its caller.
        sample(&mut recording, 7, time, 0x110, &[0x240]);
        sample(&mut recording, 7, time + 1, 0x130, &[]);
        sample(&mut recording, 7, time + 2, 0x310, &[]);
    }
    let mut session = open(&recording.file()).expect("it opens");
    let before = session.generation();
    let dso = admit(&mut session, "/home/me/jit-7.dump", &dump.file()).expect("it is its code");
    assert_ne!(session.generation(), before);
    let expected = [
        [&["110", "23f"][..], &["130"], &["310"]],
        [&["first", "caller"], &["first"], &["310"]],
        // Moved by 0x20.
        [&["110", "caller"], &["first"], &["310"]],
        [&["second", "caller"], &["first"], &["310"]],
        [&["second", "caller"], &["130"], &["first"]],
        [&["second", "third"], &["130"], &["first"]],
        [&["first", "third"], &["first"], &["310"]],
    ];
    assert_eq!(stacks(&session), expected.concat());
    // Its frames count from where its bytes are, wherever it was.
    let profile = session.profile();
    let innermost = |row: usize| {
        let stack = profile.samples.get(row).expect("a row").stack;
        profile.frames.get(profile.stacks.frames(stack).next().expect("a frame"))
    };
    let places = [3, 4, 7, 14, 18].map(|row| innermost(row).address - first_at);
    assert_eq!(places, [0x10, 0x30, 0x10, 0x10, 0x10]);
    let row = row_of(&session, dso);
    assert_eq!((row.kind, &*row.path), ("jit", "jit-7.dump"));
    assert_eq!(
        (row.status, row.image.as_deref()),
        (Status::SelfNamed, Some("/home/me/jit-7.dump"))
    );
    let reason = "named by process 7 itself, checked: pid, clock monotonic, 4 of 4 addresses in code \
                  of its time";
    assert_eq!(row.reason.as_deref(), Some(reason));
    let coverage = session.coverage();
    assert!(coverage.named_leaves > 0 && coverage.by_status["self-named"] >= coverage.named_leaves);
}

#[test]
fn two_processes_have_code_at_the_same_address() {
    let mut recording = recording(Some(MONOTONIC), &[7, 8]);
    let dump = |pid, name: &str| {
        let mut dump = Jitdump::new(pid, 50, 0);
        dump.load(60, MEMORY + 0x100, name, &[1; 0x40]);
        dump.file()
    };
    for (row, pid) in [7, 8, 8, 7].into_iter().enumerate() {
        sample(&mut recording, pid, 100 + row as u64, 0x110, &[]);
    }
    let mut session = open(&recording.file()).expect("it opens");
    let seven = admit(&mut session, "jit-7.dump", &dump(7, "seven")).expect("its code");
    assert_eq!(stacks(&session).concat(), ["seven", "110", "110", "seven"]);
    let map = format!("{:x} 40 eight\n", MEMORY + 0x100);
    let eight = admit(&mut session, "/tmp/perf-8.map", map.as_bytes()).expect("its code");
    assert_eq!(stacks(&session).concat(), ["seven", "eight", "eight", "seven"]);
    assert_ne!(seven, eight);
    assert_eq!(row_of(&session, eight).path, "/tmp/perf-8.map");
    let reason = row_of(&session, eight).reason.expect("what was checked");
    assert_eq!(
        reason,
        "named by process 8 itself, checked: pid, no clock, 1 of 1 address in code of its process"
    );
}

#[test]
fn a_number_that_two_processes_had_is_told_apart_by_time_or_not_at_all() {
    let mut recording = recording(Some(MONOTONIC), &[7]);
    sample(&mut recording, 7, 100, 0x110, &[]);
    let at = At { pid: 7, tid: 7, time: 200, ..At::default() };
    recording.exit(at, (1, 1)).fork(At { time: 300, ..at }, (1, 1));
    begin(&mut recording, 7, 310);
    sample(&mut recording, 7, 400, 0x110, &[]);
    let file = recording.file();
    let dump = |begun, name: &str| {
        let mut dump = Jitdump::new(7, begun, 0);
        dump.load(begun + 1, MEMORY + 0x100, name, &[1; 0x40]);
        dump.file()
    };
    let mut session = open(&file).expect("it opens");
    admit(&mut session, "jit-7.dump", &dump(350, "later")).expect("its code");
    assert_eq!(stacks(&session).concat(), ["110", "later"]);
    admit(&mut session, "earlier/jit-7.dump", &dump(50, "earlier")).expect("its code");
    assert_eq!(stacks(&session).concat(), ["earlier", "later"]);
    let mut session = open(&file).expect("it opens");
    let why = refusal(&mut session, "jit-7.dump", &dump(500, "later still"));
    assert!(why.contains("its process ended before it tells of any code"), "{why}");
    let map = format!("{:x} 40 whose\n", MEMORY + 0x100);
    let why = refusal(&mut session, "perf-7.map", map.as_bytes());
    assert!(why.contains("2 processes had the number 7"), "{why}");
    assert_eq!(stacks(&session).concat(), ["110", "110"]);
}

#[test]
fn a_jitdump_that_was_mapped_is_of_the_process_that_did() {
    // In a container its number is 1.
    let mut recording = recording(Some(MONOTONIC), &[7, 8]);
    let at = At { pid: 8, tid: 8, time: 10, ..At::default() };
    recording.mmap2(at, &memory(8, 0x1000..0x2000, "/tmp/jit-1.dump"));
    sample(&mut recording, 7, 100, 0x110, &[]);
    sample(&mut recording, 8, 101, 0x110, &[]);
    let mut session = open(&recording.file()).expect("it opens");
    let mut dump = Jitdump::new(1, 50, 0);
    dump.load(60, MEMORY + 0x100, "inside", &[1; 0x40]);
    let dso = admit(&mut session, "jit-1.dump", &dump.file()).expect("its code");
    assert_eq!(stacks(&session).concat(), ["110", "inside"]);
    let reason = row_of(&session, dso).reason.expect("what was checked");
    assert!(reason.contains("process 8 itself, checked: pid, mapped by it, clock"), "{reason}");
}

#[test]
fn code_of_another_clock_run_or_process_names_nothing() {
    let map = format!("{:x} 40 f\n", MEMORY + 0x100);
    let dump = |flags| {
        let mut dump = Jitdump::new(7, 50, flags);
        dump.load(60, MEMORY + 0x100, "f", &[1; 0x40]);
        dump.file()
    };
    let opened = |clock| {
        let mut recording = recording(clock, &[7]);
        sample(&mut recording, 7, 100, 0x110, &[]);
        open(&recording.file()).expect("it opens")
    };
    for (clock, flags, words) in [
        (None, 0, "perf's own clock: record with `perf record -k mono`"),
        (Some(7), 0, "those of the recording by boottime"),
        (Some(MONOTONIC), 1, "processor's counter"),
    ] {
        let mut session = opened(clock);
        let why = refusal(&mut session, "jit-7.dump", &dump(flags));
        assert!(why.contains(words), "{why}");
        assert_eq!(stacks(&session).concat(), ["110"]);
        let anon = session.dsos().into_iter().find(|row| row.kind == "anon").expect("memory");
        assert!(anon.tried.iter().any(|it| it.what == "jit-7.dump" && it.outcome == why));
        // A perf map needs no clock.
        admit(&mut session, "perf-7.map", map.as_bytes()).expect("its code");
        assert_eq!(stacks(&session).concat(), ["f"]);
    }
    for (name, text, words) in [
        ("perf-8.map", map.clone(), "of process 8, of which no code"),
        ("notes.map", map.clone(), "a perf map must be called perf-PID.map"),
        ("perf-7.map", "1000 40 f\n".to_owned(), "of another run"),
    ] {
        let mut session = opened(None);
        let why = refusal(&mut session, name, text.as_bytes());
        assert!(why.contains(words), "{why}");
    }
    // Who insists has it all the same, marked.
    let mut session = opened(None);
    let profile = session.profile();
    let anon = profile.dsos.iter().find(|(_, dso)| dso.kind == DsoKind::Anon).expect("memory").0;
    session.force(anon, "x", Box::new(SliceSource::new(dump(0)))).expect("it names it");
    assert_eq!(row_of(&session, anon).status, Status::Forced);
    assert_eq!(stacks(&session).concat(), ["f"]);
}

#[test]
fn memory_that_a_file_took_the_place_of_is_no_code_any_more() {
    let mut recording = recording(Some(MONOTONIC), &[7]);
    sample(&mut recording, 7, 100, 0x110, &[]);
    let at = At { pid: 7, tid: 7, time: 200, ..At::default() };
    recording.mmap2(at, &memory(7, MEMORY..MEMORY + 0x1000, "/lib/late.so"));
    sample(&mut recording, 7, 300, 0x110, &[]);
    let mut session = open(&recording.file()).expect("it opens");
    let mut dump = Jitdump::new(7, 50, 0);
    dump.load(60, MEMORY + 0x100, "f", &[1; 0x40]);
    admit(&mut session, "jit-7.dump", &dump.file()).expect("its code");
    let library = format!("{:x}", 0x110_u64.wrapping_sub(MEMORY));
    assert_eq!(stacks(&session).concat(), ["f", &library]);
}

#[test]
fn a_link_keeps_what_processes_said() {
    use perftab_core::{Privacy, ShareOptions};
    let mut recording = recording(None, &[7]);
    sample(&mut recording, 7, 100, 0x110, &[]);
    let mut session = open(&recording.file()).expect("it opens");
    let map = format!("{:x} 40 spoken\n", MEMORY + 0x100);
    admit(&mut session, "perf-7.map", map.as_bytes()).expect("its code");
    let privacy = Privacy::everything();
    let options = ShareOptions { characters: 1 << 16, privacy, ..ShareOptions::default() };
    let link = session.share(&options).expect("a link");
    let carried = perftab_core::find_payload(link.payload.as_bytes());
    let opened = Session::from_carried(carried.expect("a payload")).expect("it opens");
    let row = opened.dsos().into_iter().find(|row| row.kind == "jit").expect("a row");
    assert_eq!(row.status, Status::SelfNamed);
    assert_eq!(stacks(&opened).concat(), ["spoken"]);
}

#[test]
fn a_perf_map_that_names_an_address_twice_says_so() {
    let mut recording = recording(None, &[7]);
    for at in [0x110, 0x210, 0x310] {
        sample(&mut recording, 7, 100, at, &[]);
    }
    let mut session = open(&recording.file()).expect("it opens");
    let line = |at: u64, size: u64, name: &str| format!("{:x} {size:x} {name}\n", MEMORY + at);
    let map = [
        line(0x100, 0x40, "first"),
        line(0x200, 0x40, "same"),
        // Over a part of it, and behind it.
        line(0x108, 0x20, "second"),
        line(0x320, 0x40, "beside"),
        line(0x300, 0x20, "alone"),
        line(0x200, 0x40, "same"),
    ];
    let dso = admit(&mut session, "perf-7.map", map.concat().as_bytes()).expect("its code");
    assert_eq!(stacks(&session).concat(), ["second", "same", "alone"]);
    let reason = "named by process 7 itself, checked: pid, no clock, 3 of 3 addresses in code of its \
                  process; 1 of these had other code before, and has the last name all along (a \
                  jitdump tells which it was when)";
    assert_eq!(row_of(&session, dso).reason.as_deref(), Some(reason));
}

#[test]
fn lines_of_a_perf_map_that_are_none_are_counted_and_cost_no_names() {
    let mut recording = recording(None, &[7]);
    for at in [0x110, 0x210] {
        sample(&mut recording, 7, 100, at, &[]);
    }
    let mut session = open(&recording.file()).expect("it opens");
    let (first, second) = (MEMORY + 0x100, MEMORY + 0x200);
    let map = format!("garbage line\n{first:x} 40 two\nhalves\n{second:x} 40 \x1b[31mred\n");
    let dso = admit(&mut session, "perf-7.map", map.as_bytes()).expect("its code");
    assert_eq!(stacks(&session).concat(), ["two", "\x1b[31mred"]);
    let reason = row_of(&session, dso).reason.clone().unwrap_or_default();
    let told = "; 2 lines left out, as not of the form START SIZE NAME";
    assert!(reason.contains(told), "{reason}");
}

#[test]
fn the_clock_is_known_from_events_where_nothing_else_tells() {
    let mut dump = Jitdump::new(7, 50, 0);
    dump.load(60, MEMORY + 0x100, "f", &[1; 0x40]);
    let dump = dump.file();
    let opened = |use_clock: u64, clock: i32| {
        let mut recording = recording_with(None, &[7], |attr| {
            attr.kernel.set_use_clockid(use_clock);
            attr.kernel.clockid = clock;
        });
        sample(&mut recording, 7, 100, 0x110, &[]);
        open(&recording.file()).expect("it opens")
    };
    let mut session = opened(1, 1);
    admit(&mut session, "jit-7.dump", &dump).expect("its code");
    assert_eq!(stacks(&session).concat(), ["f"]);
    // CLOCK_REALTIME, and a clock that was not chosen.
    for (use_clock, clock, words) in [(1, 0, "by realtime"), (0, 1, "by perf's own clock")] {
        let why = refusal(&mut opened(use_clock, clock), "jit-7.dump", &dump);
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn code_of_a_child_in_the_same_jitdump_is_left_out() {
    let mut recording = recording(Some(MONOTONIC), &[7]);
    sample(&mut recording, 7, 100, 0x110, &[]);
    let mut dump = Jitdump::new(7, 50, 0);
    dump.load(60, MEMORY + 0x100, "own", &[1; 0x40]);
    dump.load_of(8, 70, MEMORY + 0x100, "child", &[1; 0x40]);
    let mut session = open(&recording.file()).expect("it opens");
    let dso = admit(&mut session, "jit-7.dump", &dump.file()).expect("its code");
    assert_eq!(stacks(&session).concat(), ["own"]);
    let reason = row_of(&session, dso).reason.expect("what was checked");
    assert!(reason.ends_with("; 1 record of other processes left out"), "{reason}");
}
