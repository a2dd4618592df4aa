//! What a recording says of time: marks, units, time on and off the CPU, and what became of samples.
//! Synthesised, in both byte orders.

use perf_event_open_sys::bindings as kernel;
use perftab_core::session::Session;
use perftab_perfdata::error::WarningKind;
use perftab_perfdata::format::footer::Footer;
use perftab_perfdata::format::perftab_section;
use perftab_perfdata::format::perftab_section::PerftabSection;
use perftab_profile::{Funnel, Unit};
use perftab_tests::open::open;
use perftab_tests::synth::{
    At, Attr, Event, MappedFile, Mapping, Order, Recording, SAMPLE_TYPE, Sample, context,
};
use perftab_views::Query;

const ORDERS: [Order; 2] = [Order::Little, Order::Big];
const USER: u16 = kernel::PERF_RECORD_MISC_USER as u16;
const EXEC: u16 = kernel::PERF_RECORD_MISC_COMM_EXEC as u16;
const SWITCH_OUT: u16 = kernel::PERF_RECORD_MISC_SWITCH_OUT as u16;
const PREEMPTED: u16 = kernel::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT as u16;
const CONTEXT_SWITCHES: u64 = 3;

fn at(time: u64) -> At {
    At { pid: 7, tid: 7, time, ..At::default() }
}

fn sample(time: u64, addresses: u64) -> Sample {
    let chain = [context::USER].into_iter().chain((0..addresses).map(|it| 0x1000 + it)).collect();
    Sample { misc: USER, ip: 0x1000, pid: 7, tid: 7, time, period: 100, chain, ..Sample::default() }
}

fn recording(order: Order, change: impl FnOnce(&mut Attr)) -> Recording {
    let attr = Attr::new(kernel::PERF_TYPE_SOFTWARE, 0, SAMPLE_TYPE).with(change);
    let mut recording = Recording::new(order, vec![Event::new(0, "cpu-clock", attr, 1)]);
    recording.feature_string(3, "host");
    recording
}

fn session(recording: &Recording) -> Session {
    open(&recording.file()).expect("it opens")
}

/// The program of the samples.
fn map(it: &mut Recording) {
    let file = MappedFile::Inode(8, 1, 5, 0);
    let addresses = 0x1000..0x2000;
    let (misc, pid, tid, offset, path) = (USER, 7, 7, 0, "/opt/seven");
    it.mmap2(at(1), &Mapping { misc, pid, tid, addresses, offset, file, path });
}

#[test]
fn losses_execs_and_forks_are_marks_at_their_time() {
    for order in ORDERS {
        let mut it = recording(order, |_| {});
        // What was there before was made up by the recorder, and has no time.
        it.comm(at(0), EXEC, "before").fork(At { pid: 6, tid: 6, ..at(0) }, (1, 1));
        it.comm(at(40), 0, "shell");
        it.sample(0, &sample(100, 2));
        it.fork(At { pid: 8, tid: 8, ..at(150) }, (7, 7));
        // A thread, and a name without a new program, are not marked.
        it.fork(At { pid: 8, tid: 9, ..at(160) }, (8, 8));
        it.comm(At { pid: 8, tid: 9, ..at(170) }, 0, "thread");
        it.comm(At { pid: 8, tid: 8, ..at(200) }, EXEC, "make");
        it.lost(at(250), 0, 12).lost_samples(at(300), 5).lost(at(310), 0, 0);
        it.sample(0, &sample(400, 2));
        let marks = session(&it).marks(0, 1000);
        let rows: Vec<_> = (0..marks.time.len())
            .map(|row| (marks.time[row], marks.kind[row], marks.count[row], &marks.text[row][..]))
            .collect();
        let expected = [
            (50.0, 2, 1.0, "shell"),
            (100.0, 1, 1.0, "make"),
            (150.0, 0, 12.0, ""),
            (200.0, 0, 5.0, ""),
        ];
        assert_eq!(rows, expected, "{order:?}");
        let some = session(&it).marks(100, 200);
        assert_eq!(*some.time, [100.0, 150.0]);
    }
}

#[test]
fn the_funnel_says_what_became_of_samples() {
    for order in ORDERS {
        let mut it = recording(order, |_| {});
        map(&mut it);
        it.lost(at(10), 0, 3).lost_samples(at(11), 2);
        for (time, addresses) in [(100, 2), (101, 126), (102, 127), (103, 127)] {
            it.sample(0, &sample(time, addresses));
        }
        // A sample that says it has more words than there are.
        it.record(kernel::PERF_RECORD_SAMPLE, USER, &[0xff; 48]);
        let session = session(&it);
        let funnel = Funnel { recorded: 10, lost: 5, unreadable: 1, truncated: 2, shown: 4 };
        assert_eq!(session.info().funnel, Some(funnel), "{order:?}");
        assert_eq!(session.coverage().truncated_stacks, Some(2));
    }
}

#[test]
fn a_stack_is_truncated_at_what_the_event_asked_for() {
    for order in ORDERS {
        let mut it = recording(order, |attr| attr.kernel.sample_max_stack = 16);
        map(&mut it);
        for addresses in [15, 16, 127] {
            it.sample(0, &sample(100 + addresses, addresses));
        }
        let session = session(&it);
        assert_eq!(session.coverage().truncated_stacks, Some(2));
        let [warning] = session.warnings() else { panic!("{:?}", session.warnings()) };
        assert_eq!((warning.kind, warning.samples), (WarningKind::TruncatedStacks, Some(2)));
        assert!(warning.message.contains("--max-stack"), "{}", warning.message);
    }
}

/// In code without frame pointers the kernel may follow a word that points to itself, to the limit.
#[test]
fn a_chain_that_ends_outside_of_code_was_not_cut() {
    // A function that calls itself, and a word on the stack.
    for (outermost, truncated) in [(0x1010, 1), (0x7fff_0000_1000, 0)] {
        let mut it = recording(Order::Little, |_| {});
        map(&mut it);
        let mut sample = sample(100, 127);
        sample.chain[28..].fill(outermost);
        it.sample(0, &sample);
        let session = session(&it);
        assert_eq!(session.coverage().truncated_stacks, Some(truncated));
        assert_eq!(session.warnings().len() as u64, truncated, "{:?}", session.warnings());
    }
}

#[test]
fn losses_that_the_kernel_counts_by_event_are_the_same_once_more() {
    for (read_format, lost) in [(0, 9), (1 << 4, 5)] {
        let mut it = recording(Order::Little, |attr| attr.kernel.read_format = read_format);
        it.lost(at(10), 0, 5).lost_samples(at(11), 4);
        it.sample(0, &sample(100, 2));
        let funnel = session(&it).info().funnel.expect("it is a recording");
        assert_eq!((funnel.lost, funnel.recorded), (lost, lost + 1));
    }
}

/// The recorder writes what the kernel counted when it ends: not when it was lost.
#[test]
fn losses_that_are_counted_at_the_end_are_no_mark() {
    for (read_format, times) in [(0, vec![100.0, 200.0]), (1 << 4, vec![100.0])] {
        let mut it = recording(Order::Little, |attr| attr.kernel.read_format = read_format);
        it.sample(0, &sample(100, 2)).lost(at(200), 0, 5).lost_samples(at(300), 5);
        assert_eq!(*session(&it).marks(0, 1000).time, times);
    }
}

/// A recording of two processes on two CPUs by counters 100 and 101, with two more, 102 and 103, for
/// sideband; how many of its samples are doubtful.
fn doubtful(sideband: &[u64], records: impl FnOnce(&mut Recording)) -> u64 {
    let sample_type = SAMPLE_TYPE | kernel::PERF_SAMPLE_IDENTIFIER;
    let attr = Attr::new(kernel::PERF_TYPE_SOFTWARE, 0, sample_type);
    let mut it = Recording::new(Order::Little, vec![Event::new(0, "cpu-clock", attr, 4)]);
    it.feature_string(3, "host");
    records(&mut it);
    let mut file = it.file();
    if !sideband.is_empty() {
        let sideband = sideband.to_vec();
        let section =
            perftab_section::encode(&PerftabSection { sideband, ..PerftabSection::default() });
        file.extend(&section);
        file.extend(Footer::of(&section).encode());
    }
    let session = open(&file).expect("it opens");
    let mut warnings = session.warnings().iter();
    let doubt = warnings.find(|it| it.message.contains("may have the names of another program"));
    doubt.map_or(0, |it| it.samples.expect("a number of samples"))
}

/// Samples at these times, on a CPU.
fn samples_at(it: &mut Recording, cpu: u32, times: impl IntoIterator<Item = u64>) {
    for time in times {
        it.sample(0, &Sample { cpu, id: 100 + u64::from(cpu), ..sample(time, 2) });
    }
}

#[test]
fn doubt_begins_where_the_ring_was_last_known_to_be_whole() {
    let on = |cpu: u32, counter: usize, time| At { cpu, counter, ..at(time) };
    let told = |it: &mut Recording| {
        it.comm(on(0, 2, 1), EXEC, "seven");
        samples_at(it, 0, 10..20);
        it.comm(on(1, 3, 20), 0, "renamed");
        samples_at(it, 1, 21..25);
        // The ring of CPU 0 has had no sideband since time 1.
        it.lost(on(0, 2, 30), 102, 1);
        samples_at(it, 0, 31..34);
        it.comm(on(0, 2, 40), EXEC, "another");
        samples_at(it, 0, 41..50);
    };
    assert_eq!(doubtful(&[102, 103], told), 10 + 4 + 3);
    // The other CPU's ring lost something: it was whole until time 20.
    let told_of_the_other = |it: &mut Recording| {
        it.comm(on(0, 2, 1), EXEC, "seven");
        samples_at(it, 0, 10..20);
        it.comm(on(1, 3, 20), 0, "renamed");
        samples_at(it, 1, 21..25);
        it.lost(on(1, 3, 30), 103, 1);
    };
    assert_eq!(doubtful(&[102, 103], told_of_the_other), 4);
}

#[test]
fn losses_in_rings_of_samples_raise_no_doubt() {
    let records = |it: &mut Recording| {
        it.comm(At { counter: 2, ..at(1) }, EXEC, "seven");
        samples_at(it, 0, 10..20);
        it.lost(At { counter: 0, ..at(20) }, 100, 500);
        samples_at(it, 0, 21..30);
    };
    assert_eq!(doubtful(&[102, 103], records), 0);
    // Where nothing says that mappings have rings of their own, they may be among the lost: since
    // the last sample of that CPU.
    assert_eq!(doubtful(&[], records), 9);
}

#[test]
fn time_off_the_cpu_ends_in_why_and_adds_up_to_the_wall_clock() {
    for order in ORDERS {
        let clock = Attr::new(kernel::PERF_TYPE_SOFTWARE, 0, SAMPLE_TYPE | kernel::PERF_SAMPLE_ID);
        let switches = Attr::new(
            kernel::PERF_TYPE_SOFTWARE,
            CONTEXT_SWITCHES,
            SAMPLE_TYPE | kernel::PERF_SAMPLE_ID,
        );
        let events = vec![
            Event::new(0, "cpu-clock", clock, 1),
            Event::new(1, "context-switches", switches, 1),
        ];
        let ids: Vec<u64> = events.iter().map(|event| event.ids[0]).collect();
        let mut it = Recording::new(order, events);
        it.feature_string(3, "host");
        it.comm(at(1), 0, "sleeper");
        it.sample(0, &Sample { id: ids[0], ..sample(100, 3) });
        it.sample(1, &Sample { id: ids[1], period: 1, ..sample(200, 2) });
        it.switch(at(201), SWITCH_OUT).switch(at(900), 0);
        it.sample(1, &Sample { id: ids[1], period: 1, ..sample(1000, 2) });
        it.switch(at(1001), SWITCH_OUT | PREEMPTED).switch(at(1030), 0);
        it.sample(0, &Sample { id: ids[0], ..sample(1100, 3) });
        let mut session = session(&it);
        let info = session.info();
        let events = info.events.iter().chain(&info.derived_events);
        let events: Vec<_> =
            events.map(|it| (&it.name[..], it.samples, it.weight, it.unit)).collect();
        let expected = [
            ("cpu-clock", 2, 200, Unit::Ns),
            ("context-switches", 2, 2, Unit::Events),
            ("offcpu-time", 1, 700, Unit::Ns),
            ("preempted-time", 1, 30, Unit::Ns),
            ("wall-clock", 4, 930, Unit::Ns),
        ];
        assert_eq!(events, expected, "{order:?}");
        let text = session.export_collapsed(&Query { event: 4, ..Query::default() });
        let ends = |end: &str| text.lines().filter(|line| line.ends_with(end)).count();
        assert_eq!(
            (ends(";off-CPU: blocked 700"), ends(";off-CPU: preempted 30")),
            (1, 1),
            "{text}"
        );
        // The link has it too.
        let options = perftab_snapshot::ShareOptions { characters: 10_000, ..Default::default() };
        let link = session.share(&options).expect("it fits");
        let mut opened = Session::from_snapshot(&link.payload).expect("it is one");
        assert_eq!(opened.export_collapsed(&Query { event: 4, ..Query::default() }), text);
        assert_eq!(opened.info().derived_events, info.derived_events);
        assert_eq!(opened.info().funnel, None);
        assert!(opened.dsos().iter().all(|dso| dso.path != "[off-CPU]"));
    }
}
