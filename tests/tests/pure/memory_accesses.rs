//! Memory accesses of samples: which events have them, of which bytes, and what their data is called.

use perf_event_open_sys::bindings as kernel;
use perftab_core::session::{Breakdown, BreakdownRow, Cell, Session};
use perftab_core::{AccessKey, AccessPart, FunctionOrder, Key, Measure, Query, stamped_kallsyms};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::format::BuildId;
use perftab_tests::open::open;
use perftab_tests::synth::{
    At, Attr, Event, MappedFile, Mapping, Order, Recording, SAMPLE_TYPE, Sample, Weight,
};

const USER: u16 = kernel::PERF_RECORD_MISC_USER as u16;
const KERNEL: u16 = kernel::PERF_RECORD_MISC_KERNEL as u16;
const DATA: u16 = USER | 1 << 13;
const ACCESS: u32 = kernel::PERF_SAMPLE_ADDR
    | kernel::PERF_SAMPLE_WEIGHT
    | kernel::PERF_SAMPLE_DATA_SRC
    | kernel::PERF_SAMPLE_PHYS_ADDR
    | kernel::PERF_SAMPLE_DATA_PAGE_SIZE;
const TEXT: u64 = 0xffff_ffff_8100_0000;
const KERNEL_ID: [u8; 20] = [0x4b; 20];

/// A clock, of which samples may have an address of data, and loads.
fn recording(order: Order) -> Recording {
    let clock = SAMPLE_TYPE | kernel::PERF_SAMPLE_IDENTIFIER | kernel::PERF_SAMPLE_ADDR;
    let loads = SAMPLE_TYPE | kernel::PERF_SAMPLE_IDENTIFIER | ACCESS;
    let clock = Attr::new(kernel::PERF_TYPE_SOFTWARE, 0, clock);
    let loads = Attr::new(kernel::PERF_TYPE_RAW, 0x1cd, loads);
    let events = vec![Event::new(0, "cpu-clock", clock, 1), Event::new(1, "loads", loads, 1)];
    Recording::new(order, events)
}

fn load(number: u64, addr: u64, weight: u32) -> Sample {
    Sample {
        misc: USER,
        ip: 0x1100,
        pid: 7,
        tid: 7,
        time: 100 + number,
        id: 200,
        period: 5,
        addr,
        // A load that hit L1.
        data_src: 2 | (2 | 8) << 5 | 1 << 33,
        weight: Weight { first: weight, ..Weight::default() },
        phys_addr: 0x1234_5000,
        data_page_size: 4096,
        ..Sample::default()
    }
}

fn map(it: &mut Recording, misc: u16, pid: u32, start: u64, path: &str) {
    let file = match pid {
        u32::MAX => MappedFile::BuildId(&KERNEL_ID),
        _ => MappedFile::Inode(8, 1, 5, 0),
    };
    let (addresses, offset) = (start..start + 0x1000, if pid == u32::MAX { start } else { 0 });
    it.mmap2(At::default(), &Mapping { misc, pid, tid: pid, addresses, offset, file, path });
}

fn breakdown(session: &mut Session, event: u32, keys: &[AccessKey]) -> Breakdown {
    let query = Query { event, ..Query::default() };
    let keys: Vec<Key> = keys.iter().copied().map(Key::Access).collect();
    session.breakdown(&query, Measure::Cost, &keys, FunctionOrder::default(), usize::MAX)
}

/// `value,value: samples cost`, a row each.
fn lines(breakdown: &Breakdown) -> Vec<String> {
    let cell = |cell: &Cell| match cell {
        Cell::Text(_, text) => text.clone(),
        Cell::Number(_, number) => number.to_string(),
        Cell::Address(_, address) => format!("{address:#x}"),
        _ => "-".to_owned(),
    };
    let line = |row: &BreakdownRow| {
        let cells: Vec<String> = row.cells.iter().map(cell).collect();
        format!("{}: {} {}", cells.join(","), row.self_samples, row.self_weight)
    };
    let mut lines: Vec<String> = breakdown.rows.iter().map(line).collect();
    lines.sort();
    lines
}

#[test]
fn only_events_that_say_what_an_access_was_have_any() {
    for order in [Order::Little, Order::Big] {
        let mut it = recording(order);
        map(&mut it, USER, 7, 0x1000, "/opt/seven");
        map(&mut it, DATA, 7, 0x6000, "[heap]");
        for number in 0..10 {
            it.sample(0, &Sample { id: 100, ..load(2 * number, 0x6010, 9) });
            it.sample(1, &load(2 * number + 1, 0x6000 + number % 2, 9 * (number % 3) as u32));
        }
        let mut session = open(&it.file()).expect("it opens");
        assert_eq!(session.profile().accesses.len(), 10);
        let all = breakdown(&mut session, 1, &[AccessKey::Object, AccessKey::Dso]);
        assert_eq!(all.cost, Some(85), "a cost of 0 counts as 1");
        assert_eq!(lines(&all), ["0x6000,[heap]: 5 47", "0x6001,[heap]: 5 38"]);
        let all = breakdown(&mut session, 1, &AccessKey::ALL[2..]);
        let same = "L1 or L1 hit,0x6000,[heap],N/A,N/A,No,N/A,0x12345000,4K: 5 47";
        assert_eq!(lines(&all)[0], same);
        let of_clock = breakdown(&mut session, 0, &AccessKey::ALL);
        assert_eq!(lines(&of_clock), ["0,0,N/A,0x0,-,N/A,N/A,N/A,N/A,0x0,N/A: 10 10"]);
    }
}

#[test]
fn recordings_without_accesses_keep_nothing_of_them() {
    let mut it = recording(Order::Little);
    it.events.pop();
    map(&mut it, USER, 7, 0x1000, "/opt/seven");
    map(&mut it, DATA, 7, 0x6000, "[heap]");
    it.sample(0, &Sample { id: 100, ..load(0, 0x6010, 9) });
    let session = open(&it.file()).expect("it opens");
    assert!(session.profile().accesses.is_empty());
    let mut dsos = session.profile().dsos.iter();
    assert!(dsos.all(|(_, dso)| dso.path != "[heap]"), "nobody looks in it");
}

#[test]
fn levels_of_other_numbers_are_other_rows() {
    let mut it = recording(Order::Little);
    for number in 1..5 {
        it.sample(1, &Sample { data_src: 2 << 5 | number << 33, ..load(number, 0x6000, 1) });
    }
    let mut session = open(&it.file()).expect("it opens");
    let levels = breakdown(&mut session, 1, &[AccessKey::Part(AccessPart::Level)]);
    assert_eq!(lines(&levels), ["L1 hit: 1 1", "L2 hit: 1 1", "L3 hit: 1 1", "L4 hit: 1 1"]);
}

#[test]
fn costs_beyond_all_numbers_are_the_largest_number() {
    let mut it = recording(Order::Little);
    let most = Weight { first: u32::MAX, second: u16::MAX, third: u16::MAX };
    for number in 0..3 {
        let of_nothing = load(number, u64::MAX, 0);
        it.sample(1, &Sample { weight: most, data_src: u64::MAX, ..of_nothing });
    }
    let mut session = open(&it.file()).expect("it opens");
    let all = breakdown(&mut session, 1, &[AccessKey::LocalWeight, AccessKey::Weight]);
    let most = u64::MAX;
    assert_eq!(lines(&all), [format!("{most},{most}: 3 {most}")]);
    assert_eq!(all.cost, Some(most));
}

#[test]
fn data_of_the_kernel_is_named_by_its_symbols() {
    let mut it = recording(Order::Little);
    map(&mut it, KERNEL, u32::MAX, TEXT, "[kernel.kallsyms]_text");
    let addresses = [0x2000, 0x2007, 0x2008, 0x2100, 0x3000, 0x50_0000].map(|at| TEXT + at);
    for (number, addr) in (0..).zip(addresses) {
        it.sample(1, &Sample { misc: KERNEL, ip: TEXT + 0x100, ..load(number, addr, 2) });
    }
    let symbols = [
        (0, 'T', "_text"),
        (0x100, 't', "works"),
        (0x1000, 'T', "_etext"),
        (0x2000, 'D', "jiffies"),
        (0x2008, 'b', "counter"),
        (0x3000, 'd', "same"),
        (0x3000, 'R', "table"),
        (0x3010, 'r', "last"),
    ];
    let line =
        |&(at, kind, name): &(u64, char, &str)| format!("{:016x} {kind} {name}\n", TEXT + at);
    let text: String = symbols.iter().map(line).collect();
    let id = BuildId::new(&KERNEL_ID).expect("an id");
    let keys = [AccessKey::Object, AccessKey::Dso];
    let named = |id: BuildId| {
        let mut session = open(&it.file()).expect("it opens");
        session.look_up_data();
        let copy = stamped_kallsyms(id, text.as_bytes());
        let source = Box::new(SliceSource::new(copy));
        let is_admitted = session.admit("kallsyms", source).is_ok();
        session.name_data();
        (is_admitted, lines(&breakdown(&mut session, 1, &keys)))
    };
    let of_kernel = |place: &str| format!("{place},[kernel.kallsyms]: 1 2");
    let (far, unknown) = (TEXT + 0x50_0000, |at: u64| format!("{at:#x},-: 1 2"));
    let mut expected = vec![unknown(far)];
    expected.extend(
        ["counter+0x0", "counter+0xf8", "jiffies+0x0", "jiffies+0x7", "table+0x0"].map(of_kernel),
    );
    assert_eq!(named(id), (true, expected));
    let other = BuildId::new(&[0x4c; 20]).expect("an id");
    assert_eq!(named(other), (false, addresses.map(unknown).to_vec()));
}
