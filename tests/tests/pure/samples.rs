//! Samples of every shape, synthesised: which event they are of, what they weigh, which call chain
//! they have, and what a script sees of them. In both byte orders.

use std::cell::RefCell;
use std::rc::Rc;

use perf_event_open_sys::bindings as kernel;
use perftab_core::session::{Opening, Session, StackDumps, WatchedSample};
use perftab_core::{Field as ScriptField, Traces};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::error::WarningKind;
use perftab_profile::MappingsKept;
use perftab_tests::open::open;
use perftab_tests::synth::{
    At, Attr, Branch, Event, Field, MappedFile, Mapping, Order, Recording, Regs, Sample,
    Tracepoint, TracingData, context,
};

const ORDERS: [Order; 2] = [Order::Little, Order::Big];
const BASE: u32 = kernel::PERF_SAMPLE_IP
    | kernel::PERF_SAMPLE_TID
    | kernel::PERF_SAMPLE_TIME
    | kernel::PERF_SAMPLE_CPU;
const TRACEPOINT: u32 = kernel::PERF_TYPE_TRACEPOINT;
const SOFTWARE: u32 = kernel::PERF_TYPE_SOFTWARE;

/// Bits of `read_format`.
const READ_ID: u64 = 1 << 2;
const READ_GROUP: u64 = 1 << 3;
const READ_LOST: u64 = 1 << 4;

fn session(recording: &Recording) -> Session {
    open(&recording.file()).expect("it opens")
}

/// What a second reading shows, as text.
fn script(recording: &Recording) -> String {
    script_with(recording, &[])
}

fn script_with(recording: &Recording, fields: &'static [ScriptField]) -> String {
    let session = session(recording);
    let text = Rc::new(RefCell::new(String::new()));
    let file = recording.file();
    let source = SliceSource::new(file.as_slice());
    let opening = Opening::new(&[&source]).expect("it opens");
    let (shown, mut traces) = (text.clone(), Traces::default());
    let mut replay = opening.replay(
        StackDumps::LeftOut,
        Box::new(move |sample: &WatchedSample<'_>| {
            let more = (&mut traces, "");
            session.write_sample(sample, &[], fields, more, &mut shown.borrow_mut());
        }),
    );
    while let Some(wanted) = replay.wants() {
        let rest = file.get(wanted.offset as usize..).unwrap_or_default();
        replay.push(&rest[..rest.len().min(wanted.length as usize).min(100)]);
    }
    replay.finish();
    text.take()
}

/// Name, samples and weight of each event.
fn events(session: &Session) -> Vec<(String, u64, f64)> {
    let events = session.info().events.into_iter();
    events.map(|event| (event.name, event.samples, event.weight as f64)).collect()
}

fn event(name: &str, samples: u64, weight: u64) -> (String, u64, f64) {
    (name.to_owned(), samples, weight as f64)
}

fn unknown_events(session: &Session) -> u64 {
    let warnings = session.warnings().iter();
    warnings.filter(|it| it.kind == WarningKind::UnknownEvent).map(|it| it.count).sum()
}

fn at(time: u64) -> At {
    At { pid: 7, tid: 7, time, ..At::default() }
}

/// A sample of thread 7 in user code.
fn sample(time: u64, id: u64) -> Sample {
    Sample { misc: 2, ip: 0x1010, pid: 7, tid: 7, time, id, ..Sample::default() }
}

/// A recording of a process that is called `seven` and has a file mapped at 0x1000.
fn recording(order: Order, events: Vec<Event>) -> Recording {
    let mut recording = Recording::new(order, events);
    let mapping = Mapping {
        misc: 2,
        pid: 7,
        tid: 7,
        addresses: 0x1000..0x2000,
        offset: 0,
        file: MappedFile::Inode(8, 1, 5, 0),
        path: "/opt/seven",
    };
    recording.comm(at(1), 0, "seven").mmap2(at(1), &mapping);
    recording.feature_string(3, "host"); // else it seems unfinished
    recording
}

#[test]
fn an_id_is_looked_for_where_its_own_event_has_it() {
    for order in ORDERS {
        let short = Attr::new(SOFTWARE, 0, BASE | kernel::PERF_SAMPLE_ID);
        let long = Attr::new(
            SOFTWARE,
            1,
            BASE | kernel::PERF_SAMPLE_ADDR
                | kernel::PERF_SAMPLE_ID
                | kernel::PERF_SAMPLE_STREAM_ID
                | kernel::PERF_SAMPLE_PERIOD,
        );
        let events_ = vec![Event::new(0, "a", short, 1), Event::new(1, "b", long, 1)];
        let mut recording = recording(order, events_);
        recording.sample(0, &sample(10, 100));
        recording.sample(1, &Sample { addr: 3, period: 5, ..sample(11, 200) });
        recording.comm(At { event: 1, ..at(12) }, 0, "renamed");
        recording.sample(1, &Sample { addr: 101, period: 6, ..sample(13, 200) });
        let session = session(&recording);
        assert_eq!(events(&session), [event("cpu-clock", 1, 1), event("task-clock", 2, 11)]);
        assert_eq!(unknown_events(&session), 1, "{:?}", session.warnings());
        assert!(script(&recording).contains("renamed 7/7"));
    }
}

#[test]
fn ids_that_only_the_description_has_are_found() {
    for order in ORDERS {
        let attr = |config| Attr::new(SOFTWARE, config, BASE | kernel::PERF_SAMPLE_IDENTIFIER);
        let described =
            vec![Event::new(0, "first", attr(0), 2), Event::new(1, "second", attr(1), 2)];
        let mut recording = recording(order, described);
        recording.event_desc();
        recording.sample(0, &sample(10, 101)).sample(1, &sample(11, 200));
        recording.sample(1, &sample(12, 201)).sample(1, &sample(13, 999));
        // What the description does not know goes nowhere, but is counted.
        recording.events.iter_mut().for_each(|event| event.ids.clear());
        let session = session(&recording);
        assert_eq!(events(&session), [event("first", 1, 1), event("second", 2, 2)]);
        assert_eq!(unknown_events(&session), 1);
        let mut warnings = session.warnings().iter();
        let unknown = warnings.find(|it| it.kind == WarningKind::UnknownEvent);
        assert_eq!(unknown.and_then(|it| it.samples), Some(1));
        assert_eq!(session.info().samples, 4);
    }
}

#[test]
fn names_come_from_who_knows_best() {
    let identified = BASE | kernel::PERF_SAMPLE_IDENTIFIER;
    let attr = |kind, config| Attr::new(kind, config, identified | kernel::PERF_SAMPLE_RAW);
    let tracepoint = Tracepoint::new("sched", "sched_switch", 17, Vec::new());
    for order in ORDERS {
        let mut recording = recording(
            order,
            vec![
                Event::new(0, "described", attr(SOFTWARE, 0), 1),
                Event::new(1, "", attr(TRACEPOINT, 17), 1),
                Event::new(2, "", attr(TRACEPOINT, 18), 1),
                Event::new(3, "old", attr(SOFTWARE, 1), 1),
                Event::new(4, "", attr(SOFTWARE, 3), 1),
            ],
        );
        recording.event_desc();
        let tracepoints = vec![tracepoint.clone()];
        let data = TracingData { order, long: 8, tracepoints, cmdlines: Vec::new() };
        recording.feature(1, data.encode());
        recording.event_update(2, 400, "updated").event_update(0, 100, "MiB");
        let names: Vec<String> = events(&session(&recording)).into_iter().map(|it| it.0).collect();
        let unknown = "unknown tracepoint";
        let expected = ["described", "sched:sched_switch", unknown, "updated", "context-switches"];
        assert_eq!(names, expected);
    }
}

/// Each member has a sample with what its counter went on by; a counter that stood has none.
#[test]
fn a_sample_of_a_group_is_one_of_each_member() {
    let reads = BASE | kernel::PERF_SAMPLE_IDENTIFIER | kernel::PERF_SAMPLE_READ;
    for (order, lost) in [(Order::Little, 0), (Order::Big, READ_LOST)] {
        let attr = |config| {
            Attr::new(SOFTWARE, config, reads | kernel::PERF_SAMPLE_PERIOD)
                .with(|attr| attr.kernel.read_format = READ_ID | READ_GROUP | lost)
        };
        let members = (0..3).map(|index| Event::new(index, "", attr(index as u64), 2)).collect();
        let mut recording = recording(order, members);
        let read = |time, read: [(u64, u64); 3]| Sample {
            period: 7777,
            read: read.map(|(value, id)| [value, id, 0]).to_vec(),
            ..sample(time, 100)
        };
        recording.sample(0, &read(10, [(1000, 100), (40, 200), (0, 300)]));
        recording.sample(0, &read(11, [(1500, 100), (40, 200), (2, 300)]));
        // Another CPU's counters, with ids of their own.
        recording.sample(0, &read(12, [(900, 101), (1, 201), (0, 301)]));
        // One that began anew, and one that nothing describes.
        recording.sample(0, &read(13, [(1600, 100), (5, 200), (9, 999)]));
        let session = session(&recording);
        assert_eq!(
            events(&session),
            [
                event("cpu-clock", 4, 1000 + 500 + 900 + 100),
                event("task-clock", 3, 40 + 1 + 5),
                event("page-faults", 1, 2)
            ]
        );
        assert_eq!((session.info().samples, unknown_events(&session)), (4, 1));
        assert_eq!(session.profile().samples.len(), 8);
    }
}

/// Threads that begin later count under the same id.
#[test]
fn inherited_counters_are_each_threads_own() {
    let attr = Attr::new(SOFTWARE, 0, BASE | kernel::PERF_SAMPLE_READ).with(|attr| {
        attr.kernel.read_format = READ_ID;
        attr.kernel.set_inherit(1);
    });
    let mut recording = recording(Order::Little, vec![Event::new(0, "", attr, 1)]);
    for (time, tid, value) in [(10, 7, 100), (11, 8, 30), (12, 7, 150), (13, 8, 50)] {
        let read = vec![[value, 100, 0]];
        recording.sample(0, &Sample { tid, read, ..sample(time, 0) });
    }
    assert_eq!(events(&session(&recording)), [event("cpu-clock", 4, 100 + 30 + 50 + 20)]);
}

const KERNEL: u64 = 0xffff_ffff_8100_0000;

#[test]
fn call_chains_that_come_later_complete_their_samples() {
    for order in ORDERS {
        let attr = Attr::new(SOFTWARE, 0, BASE | kernel::PERF_SAMPLE_CALLCHAIN);
        let mut recording = recording(order, vec![Event::new(0, "", attr, 1)]);
        let in_kernel = |time, tid, cookie, depth: u64| Sample {
            misc: 1,
            tid,
            chain: [context::KERNEL]
                .into_iter()
                .chain((0..depth).map(|level| KERNEL + 0x10 * level))
                .chain([context::USER_DEFERRED, cookie])
                .collect(),
            ..sample(time, 0)
        };
        recording.sample(0, &in_kernel(10, 7, 0xc1, 2));
        recording.sample(0, &in_kernel(11, 7, 0xc1, 1));
        // Another thread's may have the same cookie.
        recording.sample(0, &in_kernel(12, 8, 0xc1, 1));
        recording.callchain_deferred(at(20), 0xc1, &[context::USER, 0x1010, 0x1021]);
        recording.callchain_deferred(at(21), 0xc2, &[context::USER, 0x1010]);
        let whole = |time: u64| format!("seven 7/7 [000] 0.{time:09}: 1 cpu-clock:\n");
        let line = |address: u64, dso: &str| format!("\t{address:16x} [unknown] ({dso})\n");
        let kernel = |level: u64| line(KERNEL + 0x10 * level, "[kernel.kallsyms]");
        let user = line(0x1010, "/opt/seven") + &line(0x1021, "/opt/seven");
        let expected = [
            whole(10) + &kernel(0) + &kernel(1) + &user,
            whole(11) + &kernel(0) + &user,
            ":8 7/8 [000] 0.000000012: 1 cpu-clock:\n".to_owned() + &kernel(0),
        ];
        assert_eq!(script(&recording), expected.map(|block| block + "\n").concat());

        let session = session(&recording);
        let profile = session.profile();
        let frames = |row: usize| {
            let stack = profile.samples.get(row).expect("a row").stack;
            let frames =
                profile.stacks.frames(stack).map(|frame| profile.frames.get(frame).address);
            frames.collect::<Vec<u64>>()
        };
        // A caller's address is looked up where the call is, one byte before.
        assert_eq!(frames(0), [KERNEL, KERNEL + 0x0f, 0x10, 0x20]);
        assert_eq!(frames(1), [KERNEL, 0x10, 0x20]);
        assert_eq!(frames(2), [KERNEL]);
        let lost = session.warnings().iter().find(|it| it.kind == WarningKind::Lost);
        let message = &lost.expect("one is not complete").message;
        assert!(message.starts_with("1 sample"), "{message}");
    }
}

/// Where a chain is to come later, what the other fields say of its place counts only if it does not.
#[test]
fn no_word_is_there_twice_when_its_call_chain_comes_later() {
    let taken = BASE | kernel::PERF_SAMPLE_CALLCHAIN;
    let taken = taken | kernel::PERF_SAMPLE_REGS_USER | kernel::PERF_SAMPLE_STACK_USER;
    for order in ORDERS {
        let attr = Attr::new(SOFTWARE, 0, taken).with(|attr| attr.kernel.sample_regs_user = 1 << 8);
        let mut recording = recording(order, vec![Event::new(0, "", attr, 1)]);
        recording.feature_string(6, "x86_64");
        for (time, cookie) in [(10, 0xc1), (11, 0xc2), (12, 0xc3)] {
            let chain = vec![context::USER_DEFERRED, cookie];
            recording.sample(0, &Sample { chain, ..sample(time, 0) });
            let chain = vec![context::KERNEL, KERNEL, context::USER_DEFERRED, cookie];
            let regs_user = Some(Regs { abi: 2, values: vec![0x1010] });
            let stack = vec![1; 64];
            let in_kernel = Sample { misc: 1, chain, regs_user, stack, ..sample(time, 0) };
            recording.sample(0, &in_kernel);
        }
        recording.callchain_deferred(at(20), 0xc1, &[context::USER, 0x1010, 0x1021]);
        recording.callchain_deferred(at(21), 0xc2, &[context::USER]);
        let session = session(&recording);
        let profile = session.profile();
        let frames = |row: usize| {
            let frames = profile.stacks.frames(profile.samples.get(row).expect("a row").stack);
            frames.map(|frame| profile.frames.get(frame).address).collect::<Vec<_>>()
        };
        let expected: [&[u64]; 6] = [
            &[0x10, 0x20],
            &[KERNEL, 0x10, 0x20],
            &[0x10],
            &[KERNEL, 0x10],
            &[0x10],
            &[KERNEL, 0x10],
        ];
        assert_eq!([0, 1, 2, 3, 4, 5].map(frames), expected);
        let line = |&frame: &u64| match frame {
            KERNEL => format!("\t{KERNEL:16x} [unknown] ([kernel.kallsyms])\n"),
            // A caller's word is that behind the call.
            0x20 => "\t            1021 [unknown] (/opt/seven)\n".to_owned(),
            _ => "\t            1010 [unknown] (/opt/seven)\n".to_owned(),
        };
        let block = |frames: &[u64]| frames.iter().map(line).collect::<String>();
        let text = script(&recording);
        let shown = text.split_terminator("\n\n").map(|block| {
            block
                .split_inclusive('\n')
                .skip(1)
                .map(|line| line.trim_end().to_owned() + "\n")
                .collect()
        });
        assert_eq!(shown.collect::<Vec<String>>(), expected.map(block));
    }
}

/// A sample of counters that did not go on has no row, and how deep its stack may be is its own.
#[test]
fn a_chain_that_comes_later_is_measured_by_the_event_of_its_sample() {
    let taken = BASE | kernel::PERF_SAMPLE_IDENTIFIER | kernel::PERF_SAMPLE_CALLCHAIN;
    let group = Attr::new(SOFTWARE, 0, taken | kernel::PERF_SAMPLE_READ)
        .with(|attr| attr.kernel.read_format = READ_ID | READ_GROUP);
    let shallow = Attr::new(SOFTWARE, 1, taken).with(|attr| attr.kernel.sample_max_stack = 2);
    let events_ = vec![Event::new(0, "", group, 1), Event::new(1, "", shallow, 1)];
    let mut recording = recording(Order::Little, events_);
    let chain = vec![context::KERNEL, KERNEL, context::USER_DEFERRED, 9];
    let read = vec![[0, 100, 0]];
    recording.sample(0, &Sample { misc: 1, chain, read, ..sample(10, 100) });
    let chain = vec![context::USER, 0x1010];
    recording.sample(1, &Sample { chain, ..sample(11, 200) });
    recording.callchain_deferred(at(20), 9, &[context::USER, 0x1010, 0x1021]);
    let session = session(&recording);
    assert_eq!(events(&session), [event("cpu-clock", 0, 0), event("task-clock", 1, 1)]);
    let warnings: Vec<_> = session.warnings().iter().map(|it| it.kind).collect();
    assert!(!warnings.contains(&WarningKind::TruncatedStacks), "{warnings:?}");
}

/// Calls that the CPU kept stand for the user part only where a marker says that it begins.
#[test]
fn words_of_a_chain_without_markers_have_their_own_names() {
    let taken = BASE | kernel::PERF_SAMPLE_CALLCHAIN | kernel::PERF_SAMPLE_BRANCH_STACK;
    let call_stack = u64::from(kernel::PERF_SAMPLE_BRANCH_CALL_STACK);
    let attr =
        Attr::new(SOFTWARE, 0, taken).with(|attr| attr.kernel.branch_sample_type = call_stack);
    let mut recording = recording(Order::Little, vec![Event::new(0, "", attr, 1)]);
    let from = |from| kernel::perf_branch_entry { from, to: 0x1000, ..Default::default() };
    // As many as the callers in the chain.
    let branches = [0x1100, 0x1200].map(|it| Branch { entry: from(it), counters: 0 }).to_vec();
    let chain = vec![0x1010, 0x77, 0x78];
    recording.sample(0, &Sample { chain, branches, ..sample(10, 0) });
    let named = [("1010", "/opt/seven"), ("77", "[unknown]"), ("78", "[unknown]")];
    let expected = named.map(|(word, dso)| format!("\t{word:>16} [unknown] ({dso})"));
    let text = script(&recording);
    assert_eq!(text.lines().skip(1).take(3).collect::<Vec<_>>(), expected);
}

/// Chains that no kernel writes may have words without frames: no word has the name of another.
#[test]
fn words_have_no_name_where_it_is_not_known_which_is_whose() {
    let attr = Attr::new(SOFTWARE, 0, BASE | kernel::PERF_SAMPLE_CALLCHAIN);
    let mut recording = recording(Order::Little, vec![Event::new(0, "", attr, 1)]);
    recording.sample(0, &Sample { chain: vec![context::USER_DEFERRED, 9], ..sample(10, 0) });
    // It is to come later once more.
    let chain = [context::USER, 0x1010, context::USER_DEFERRED, 0x77, 0x1021];
    recording.callchain_deferred(at(20), 9, &chain);
    let expected = ["1010", "77", "1021"].map(|word| format!("\t{word:>16} [unknown] ([unknown])"));
    let text = script(&recording);
    assert_eq!(text.lines().skip(1).take(3).collect::<Vec<_>>(), expected);
}

/// What the recorder found may overlap; what comes after a sample takes the place of what was there.
#[test]
fn kernel_code_without_times_ends_where_other_code_takes_its_place() {
    const CODE: u64 = 0xffff_ffff_c000_0000;
    let taken = kernel::PERF_SAMPLE_IP | kernel::PERF_SAMPLE_TID;
    for first in [None, Some(sample(0, 0))] {
        let attr = Attr::new(SOFTWARE, 0, taken);
        let mut recording = recording(Order::Little, vec![Event::new(0, "", attr, 1)]);
        let reused = first.is_some();
        recording.ksymbol(at(0), (CODE + 0x100, 0x1000), 1, 0, "bpf_prog_old");
        first.iter().for_each(|sample| _ = recording.sample(0, sample));
        recording.ksymbol(at(0), (CODE, 0x1000), 1, 0, "bpf_prog_new");
        for ip in [CODE + 0x10, CODE + 0x200] {
            recording.sample(0, &Sample { misc: 1, ip, ..sample(0, 0) });
        }
        let text = script(&recording);
        let names: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("\tffff"))
            .filter_map(|line| line.split(' ').nth(1))
            .collect();
        let at_both = if reused { "bpf_prog_new" } else { "bpf_prog_old" };
        assert_eq!(names, ["bpf_prog_new", at_both]);
    }
}

#[test]
fn a_script_has_branches_and_fields() {
    let fields = || vec![Field::signed("int reason", 4), Field::new("char name[4]", 4)];
    let tracepoint = Tracepoint::new("test", "happened", 17, fields());
    for order in ORDERS {
        let taken = BASE | kernel::PERF_SAMPLE_RAW | kernel::PERF_SAMPLE_BRANCH_STACK;
        let attr = Attr::new(TRACEPOINT, 17, taken | kernel::PERF_SAMPLE_REGS_USER)
            .with(|attr| attr.kernel.sample_regs_user = 0b11);
        let mut recording = recording(order, vec![Event::new(0, "", attr, 1)]);
        let tracepoints = vec![tracepoint.clone()];
        let data = TracingData { order, long: 8, tracepoints, cmdlines: Vec::new() };
        recording.feature(1, data.encode());
        let mut first =
            kernel::perf_branch_entry { from: 0x1100, to: 0x1200, ..Default::default() };
        first.set_predicted(1);
        first.set_cycles(300);
        let mut second =
            kernel::perf_branch_entry { from: 0x1300, to: 0x10f0, ..Default::default() };
        second.set_mispred(1);
        second.set_in_tx(1);
        second.set_abort(1);
        let reason = recording.bytes().u32(-3i32 as u32).take();
        let raw = tracepoint.raw(order, 7, &[reason, b"abc\0".to_vec()]);
        let branches = [first, second].map(|entry| Branch { entry, counters: 0 }).to_vec();
        let regs_user = Some(Regs { abi: 2, values: vec![1, 2] });
        let shown = Sample { raw: raw.clone(), branches, regs_user, ..sample(1_000_000_010, 0) };
        recording.sample(0, &shown);
        let head = "seven 7/7 [000] 1.000000010: 1 test:happened:";
        let stack = "\t            1010 [unknown] (/opt/seven)\n";
        let branches = "\tbranches 0x1100/0x1200/P/-/-/300 0x1300/0x10f0/M/X/A/0\n";
        // Its print format names the thread alone. Below the first line it would be taken for a call.
        assert_eq!(script(&recording), [head, " 7\n", stack, branches, "\n"].concat());
        let added = script_with(&recording, &[ScriptField::Fields]);
        let fields = "\tfields reason=-3 name=abc\n";
        assert_eq!(added, [head, " 7\n", stack, fields, branches, "\n"].concat());

        recording.features.clear();
        let bytes: String = raw.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(script(&recording).ends_with(&format!("{branches}\traw {bytes}\n\n")));
    }
}

/// The addresses that a script prints, and those of the profile's frames outside of the kernel.
fn addresses(recording: &Recording) -> (Vec<String>, Vec<u64>) {
    let script = script(recording);
    let lines = script.lines().filter(|line| line.contains("unknown"));
    let shown = lines.map(|line| line.trim().split(' ').next().expect("a word").to_owned());
    let session = session(recording);
    let profile = session.profile();
    let stack = profile.samples.get(0).expect("a sample").stack;
    let frames = profile.stacks.frames(stack).map(|frame| profile.frames.get(frame));
    let user = frames.filter(|frame| profile.dsos.get(frame.dso).path == "/opt/seven");
    (shown.collect(), user.map(|frame| frame.address).collect())
}

/// `perf record --call-graph lbr`: calls that have not returned, where they call.
#[test]
fn calls_that_the_cpu_kept_take_the_place_of_the_user_part() {
    for order in ORDERS {
        let taken = BASE | kernel::PERF_SAMPLE_CALLCHAIN | kernel::PERF_SAMPLE_BRANCH_STACK;
        let call_stack = u64::from(kernel::PERF_SAMPLE_BRANCH_CALL_STACK);
        let attr =
            Attr::new(SOFTWARE, 0, taken).with(|attr| attr.kernel.branch_sample_type = call_stack);
        let mut recording = recording(order, vec![Event::new(0, "", attr, 1)]);
        let call = |from: u64, to: u64| {
            let entry = kernel::perf_branch_entry { from, to, ..Default::default() };
            Branch { entry, counters: 0 }
        };
        let branches = vec![call(0x1100, 0x1000), call(0x1200, 0x10f0)];
        // Frame pointers lead to data.
        let chain = vec![context::KERNEL, 0xffff_ffff_8100_0007, context::USER, 0x1010, 0x77];
        recording.sample(0, &Sample { misc: 1, chain, branches, ..sample(10, 0) });
        let expected = ["ffffffff81000007", "1010", "1100", "1200"].map(str::to_owned);
        assert_eq!(addresses(&recording), (expected.to_vec(), vec![0x10, 0x100, 0x200]));
    }
}

#[test]
fn stacks_that_fill_the_cpus_entries_are_truncated() {
    let taken = BASE | kernel::PERF_SAMPLE_CALLCHAIN | kernel::PERF_SAMPLE_BRANCH_STACK;
    let call_stack = u64::from(kernel::PERF_SAMPLE_BRANCH_CALL_STACK);
    let attr =
        Attr::new(SOFTWARE, 0, taken).with(|attr| attr.kernel.branch_sample_type = call_stack);
    let mut recording = recording(Order::Little, vec![Event::new(0, "", attr, 1)]);
    for (time, calls) in [(10, 3), (11, 32), (12, 31), (13, 16)] {
        let from = |call: u64| 0x1100 + 0x10 * call;
        let entry =
            |call: u64| kernel::perf_branch_entry { from: from(call), ..Default::default() };
        let branches = (0..calls).map(|call| Branch { entry: entry(call), counters: 0 }).collect();
        let chain = vec![context::USER, 0x1010];
        recording.sample(0, &Sample { chain, branches, ..sample(time, 0) });
    }
    let session = session(&recording);
    let [warning] = session.warnings() else { panic!("{:?}", session.warnings()) };
    assert_eq!((warning.kind, warning.samples), (WarningKind::TruncatedStacks, Some(1)));
    assert!(warning.message.contains("frame pointers"), "{}", warning.message);
}

/// `perf record --call-graph dwarf`: a sample in the kernel has user space in its registers only.
#[test]
fn the_registers_say_what_called_the_kernel() {
    // Numbers of instruction pointers: asm/perf_regs.h of each architecture.
    for (arch, mask) in
        [("x86_64", 1 << 8), ("aarch64", 1_u64 << 32), ("ppc64le", 1 << 32), ("s390x", 1 << 33)]
    {
        let taken = BASE | kernel::PERF_SAMPLE_CALLCHAIN;
        let taken = taken | kernel::PERF_SAMPLE_REGS_USER | kernel::PERF_SAMPLE_STACK_USER;
        let attr =
            Attr::new(SOFTWARE, 0, taken).with(|attr| attr.kernel.sample_regs_user = mask | 1);
        let mut recording = recording(Order::Little, vec![Event::new(0, "", attr, 1)]);
        recording.feature_string(6, arch);
        let chain = vec![context::KERNEL, 0xffff_ffff_8100_0007];
        let regs_user = Some(Regs { abi: 2, values: vec![5, 0x1020] });
        let stack = vec![1; 64];
        recording.sample(0, &Sample { misc: 1, chain, regs_user, stack, ..sample(10, 0) });
        let expected = ["ffffffff81000007", "1020"].map(str::to_owned);
        assert_eq!(addresses(&recording), (expected.to_vec(), vec![0x20]), "{arch}");
        assert_eq!(not_unwound(&recording), (1, false), "{arch}");
    }
}

/// Samples whose stacks are not unwound, and whether it is said that some have no user frame.
fn not_unwound(recording: &Recording) -> (u64, bool) {
    let session = session(recording);
    let warnings = session.warnings();
    let warning = warnings.iter().find(|it| it.kind == WarningKind::NotUnwound);
    let warning = warning.expect("a warning");
    (warning.samples.expect("how many"), warning.message.contains("none"))
}

/// A recording of one sample in the kernel with a copy of the stack and these registers, and nothing
/// that tells of the machine.
fn in_kernel_with_registers(mask: u64, value: impl Fn(u32) -> u64) -> Recording {
    let taken = BASE | kernel::PERF_SAMPLE_CALLCHAIN;
    let taken = taken | kernel::PERF_SAMPLE_REGS_USER | kernel::PERF_SAMPLE_STACK_USER;
    let attr = Attr::new(SOFTWARE, 0, taken).with(|attr| attr.kernel.sample_regs_user = mask);
    let mut recording = recording(Order::Little, vec![Event::new(0, "", attr, 1)]);
    let values = (0..64).filter(|bit| mask >> bit & 1 == 1).map(value).collect();
    let regs_user = Some(Regs { abi: 2, values });
    let chain = vec![context::KERNEL, 0xffff_ffff_8100_0007];
    recording.sample(0, &Sample { misc: 1, chain, regs_user, stack: vec![1; 64], ..sample(10, 0) });
    recording
}

/// A recording that is cut has nothing that names its architecture, but asked for its registers.
#[test]
fn the_registers_that_were_asked_for_tell_the_architecture() {
    let expected = ["ffffffff81000007", "1020"].map(str::to_owned);
    // All registers of x86-64 and arm64 but segments, and those that unwinding needs.
    for (mask, pointer) in
        [(0xff0fff, 8), (1 << 7 | 1 << 8, 8), ((1_u64 << 33) - 1, 32), (1 << 31 | 1 << 32, 32)]
    {
        let value = |register| if register == pointer { 0x1020 } else { 5 };
        let recording = in_kernel_with_registers(mask, value);
        assert_eq!(addresses(&recording), (expected.to_vec(), vec![0x20]), "{mask:#x}");
        assert_eq!(not_unwound(&recording), (1, false), "{mask:#x}");
    }
}

/// No frame is promised that cannot come.
#[test]
fn samples_without_any_user_frame_are_counted_apart() {
    for mask in [0xffff, (1_u64 << 34) - 1] {
        let mut recording = in_kernel_with_registers(mask, |_| 0x1020);
        assert_eq!(addresses(&recording).1, [0; 0], "{mask:#x}");
        assert_eq!(not_unwound(&recording), (1, true), "{mask:#x}");
        // A thread of the kernel has neither registers nor a stack of user space.
        let chain = vec![context::KERNEL, 0xffff_ffff_8100_0007];
        recording.sample(0, &Sample { misc: 1, chain, ..sample(11, 0) });
        assert_eq!(not_unwound(&recording), (1, true), "{mask:#x}");
    }
}

/// Of threads outside of its PID namespace a recorder is told pid 0, as of idle threads.
#[test]
fn processes_outside_of_the_namespace_are_told_apart_from_idle_threads() {
    let attr = Attr::new(SOFTWARE, 0, BASE | kernel::PERF_SAMPLE_CALLCHAIN);
    let zero = |time, misc, chain: &[u64]| Sample {
        misc,
        pid: 0,
        tid: 0,
        chain: chain.to_vec(),
        ..sample(time, 0)
    };
    let in_kernel = [context::KERNEL, KERNEL];
    let mut idle = recording(Order::Little, vec![Event::new(0, "", attr, 1)]);
    idle.comm(At { pid: 0, tid: 0, ..at(2) }, 0, "swapper/0");
    idle.sample(0, &zero(10, 1, &in_kernel)).sample(0, &zero(11, 1, &in_kernel));
    assert_eq!(session(&idle).warnings(), []);
    let mut outside = idle.clone();
    outside.sample(0, &zero(12, 2, &[context::USER, 0x1010]));
    outside.sample(0, &zero(13, 1, &[context::KERNEL, KERNEL, context::USER, 0x1010]));
    outside.sample(0, &zero(14, 1, &in_kernel));
    let session_ = session(&outside);
    let [warning] = session_.warnings() else { panic!("{:?}", session_.warnings()) };
    assert_eq!((warning.kind, warning.samples), (WarningKind::Ambiguous, Some(2)));
    assert!(warning.message.starts_with("2 samples are of processes outside"));
    assert!(warning.message.contains(" 3 samples in the kernel"), "{}", warning.message);
    let profile = session_.profile();
    let names: Vec<&str> = (0..5)
        .map(|row| {
            let thread = profile.threads.thread(profile.samples.get(row).expect("a row").thread);
            profile.strings.get(thread.name)
        })
        .collect();
    let other = "outside of the PID namespace";
    assert_eq!(names, ["swapper/0", "swapper/0", other, other, "swapper/0"]);
    // What they map names nothing.
    let addresses = addresses(&outside);
    assert!(addresses.1.is_empty(), "{addresses:?}");
    // Where nothing but records of such processes tells of them.
    idle.comm(At { pid: 0, tid: 0, ..at(15) }, 0, "bash");
    let session = session(&idle);
    let [warning] = session.warnings() else { panic!("{:?}", session.warnings()) };
    assert_eq!((warning.kind, warning.samples), (WarningKind::Ambiguous, Some(2)));
}

#[test]
fn samples_that_do_not_end_where_their_fields_do_are_kept_and_said() {
    let attr = Attr::new(SOFTWARE, 0, BASE);
    let mut recording = recording(Order::Little, vec![Event::new(0, "", attr, 1)]);
    let body = sample(10, 0).encode(&attr, Order::Little);
    recording.record(kernel::PERF_RECORD_SAMPLE, 2, &[body, vec![0; 8]].concat());
    let session = session(&recording);
    assert_eq!(events(&session), [event("cpu-clock", 1, 1)]);
    let [warning] = session.warnings() else { panic!("{:?}", session.warnings()) };
    assert_eq!(warning.kind, WarningKind::Unreadable);
}

#[test]
fn threads_without_a_comm_have_the_name_that_the_recorder_gave() {
    let attr = Attr::new(SOFTWARE, 0, BASE);
    let mut recording = Recording::new(Order::Little, vec![Event::new(0, "", attr, 1)]);
    recording.thread_map(&[(7, "measured"), (9, "")]);
    recording.sample(0, &sample(10, 0));
    recording.sample(0, &Sample { pid: 9, tid: 9, ..sample(11, 0) });
    let text = script(&recording);
    assert!(text.starts_with("measured 7/7 "), "{text}");
    assert!(text.contains("\n:9 9/9 "), "{text}");
}

/// A mapping for each sample, far down in a deep tree, is small in a file and large as history.
#[test]
fn names_are_right_when_the_history_of_mappings_is_given_up() {
    let attr = Attr::new(SOFTWARE, 0, BASE);
    let mut recording = recording(Order::Little, vec![Event::new(0, "", attr, 1)]);
    let mapping = |start: u64, path| Mapping {
        misc: 2,
        pid: 7,
        tid: 7,
        addresses: start..start + 16,
        offset: 0,
        file: MappedFile::Inode(8, 1, 6, 0),
        path,
    };
    for bit in 13..63 {
        recording.mmap(at(2), &mapping(1 << bit, "/opt/far"));
    }
    let paths = ["/opt/even", "/opt/odd"];
    for time in 0..100_000 {
        recording.mmap(at(10 + time), &mapping(0x100, paths[time as usize % 2]));
        recording.sample(0, &Sample { ip: 0x105, ..sample(10 + time, 0) });
    }
    recording.sample(0, &Sample { ip: (1 << 40) + 5, ..sample(200_000, 0) });
    let session = session(&recording);
    let profile = session.profile();
    assert_eq!(profile.mappings.kept(), MappingsKept::Present);
    let path = |row: usize| {
        let stack = profile.samples.get(row).expect("a row").stack;
        let frame = profile.frames.get(profile.stacks.frames(stack).next().expect("a frame"));
        profile.dsos.get(frame.dso).path.as_str()
    };
    for row in 0..100_000 {
        assert_eq!(path(row), paths[row % 2], "row {row}");
    }
    assert_eq!(path(100_000), "/opt/far");
    assert_eq!(profile.mappings.find(profile.threads.threads[0].process.into(), 0, 0x105), None);
}
