//! Memory accesses of samples: which events have them, of which bytes, and what their data is called.

use perf_event_open_sys::bindings as kernel;
use perftab_core::session::{Breakdown, BreakdownRow, Cell, Session};
use perftab_core::{AccessKey, AccessPart, FunctionOrder, Key, Measure, Query, stamped_kallsyms};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::format::BuildId;
use perftab_tests::open::open;
use serde_json::{Value, json};

use crate::questions::answer;
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

/// `name in DSO: accesses, cost, mean`, a row each, as the page is told; the first says what all are.
fn page_rows(session: &mut Session, query: &Value, group_by: &str, key: &str) -> Vec<String> {
    let order = json!({ "key": key, "direction": "descending" });
    let arguments = json!({
        "query": query, "groupBy": group_by, "order": order, "from": 0, "to": 100,
    });
    let (rows, _) = answer(session, json!({ "accesses": arguments }), 7, |_| {});
    let number = |column: &str, at: usize| rows[column][at].as_f64().expect("a number");
    let names = rows["names"].as_array().expect("names");
    assert_eq!(rows["totalCount"], names.len());
    let line = |(at, name): (usize, &Value)| {
        let (name, within) = (name.as_str().expect("a name"), rows["dsos"][at].as_str());
        let within = within.filter(|dso| !dso.is_empty()).map(|dso| format!(" in {dso}"));
        let sums = ["accesses", "cost", "meanCost"].map(|column| number(column, at).to_string());
        format!("{name}{}: {}", within.unwrap_or_default(), sums.join(" "))
    };
    let all = ["allAccesses", "allCost", "largestCost"];
    let all = all.map(|sum| rows[sum].as_f64().expect("a number").to_string());
    [all.join(" ")].into_iter().chain(names.iter().enumerate().map(line)).collect()
}

/// A program whose data is accessed in all places that there are.
fn places() -> Recording {
    let mut it = recording(Order::Little);
    map(&mut it, KERNEL, u32::MAX, TEXT, "[kernel.kallsyms]_text");
    map(&mut it, USER, 7, 0x1000, "/opt/seven");
    map(&mut it, DATA, 7, 0x2000, "/opt/seven");
    map(&mut it, DATA, 7, 0x3000, "/srv/table.bin");
    map(&mut it, DATA, 7, 0x6000, "[heap]");
    let addresses = [
        (0x2010, 4),
        (0x2018, 1),
        (0x2010, 5),
        (0x3001, 20),
        (0x3ff0, 10),
        (0x6010, 0),
        (0x6800, 0),
        (0x9000, 3),
        (0, 2),
        (0xffff_8881_0000_0000, 100),
        (0xffff_8882_0000_0000, 7),
        (TEXT + 0x500, 50),
        (TEXT + 0x508, 51),
        (TEXT + 0x600, 6),
    ];
    for (number, (addr, weight)) in (0..).zip(addresses) {
        it.sample(1, &load(number, addr, weight));
    }
    it.sample(0, &Sample { id: 100, ..load(99, 0x6010, 9) });
    it
}

const SYMBOLS: &str = "ffffffff81000000 T _text
ffffffff81000100 t works
ffffffff81000400 T _etext
ffffffff81000500 D jiffies
ffffffff81000600 b counter
ffffffff81000700 b last
";

#[test]
fn the_page_has_accesses_by_object() {
    let mut session = open(&places().file()).expect("it opens");
    let loads = json!({ "event": 1 });
    let others = [
        "[kernel memory]: 2 107 53.5",
        "table.bin: 2 30 15",
        "0x10 in seven: 2 9 4.5",
        "[no mapping]: 1 3 3",
        "[heap]: 2 2 0",
        "[no address]: 1 2 2",
        "0x18 in seven: 1 1 1",
    ];
    let unnamed = page_rows(&mut session, &loads, "object", "self");
    let expected = [
        &["14 261 107", others[0]],
        &["0xffffffff81000508 in [kernel.kallsyms]: 1 51 51"][..],
        &["0xffffffff81000500 in [kernel.kallsyms]: 1 50 50"],
        &others[1..3],
        &["0xffffffff81000600 in [kernel.kallsyms]: 1 6 6"],
        &others[3..],
    ]
    .concat();
    assert_eq!(unnamed, expected);

    let id = BuildId::new(&KERNEL_ID).expect("an id");
    let copy = stamped_kallsyms(id, SYMBOLS.as_bytes());
    session.admit("kallsyms", Box::new(SliceSource::new(copy))).expect("it matches");
    assert_eq!(page_rows(&mut session, &loads, "object", "self"), expected, "nobody has asked");
    session.name_data();
    let named = page_rows(&mut session, &loads, "object", "self");
    let expected = [
        &["14 261 107", others[0]],
        &["jiffies in [kernel.kallsyms]: 2 101 50.5"][..],
        &others[1..3],
        &["counter in [kernel.kallsyms]: 1 6 6"],
        &others[3..],
    ]
    .concat();
    assert_eq!(named, expected);

    let names = |rows: &[String]| -> Vec<String> {
        let name = |row: &String| row.split(':').next().unwrap_or_default().to_owned();
        rows[1..].iter().map(name).collect()
    };
    let by = |session: &mut Session, key| names(&page_rows(session, &loads, "object", key));
    let by_mean = by(&mut session, "mean");
    assert_eq!(by_mean[..3], ["[kernel memory]", "jiffies in [kernel.kallsyms]", "table.bin"]);
    let by_count = by(&mut session, "total");
    assert_eq!(by_count[..2], ["[kernel memory]", "jiffies in [kernel.kallsyms]"]);
    let by_dso = by(&mut session, "dso");
    assert_eq!(by_dso[..2], ["0x10 in seven", "0x18 in seven"]);
    let by_name = by(&mut session, "name");
    assert_eq!(by_name[..3], ["0x18 in seven", "0x10 in seven", "table.bin"], "names by alphabet");
}

#[test]
fn filters_and_ranges_apply_to_accesses() {
    let mut session = open(&places().file()).expect("it opens");
    let mut rows = |query: Value| page_rows(&mut session, &query, "object", "self");
    // Times are since that of the first access.
    let range = json!({ "start": 3, "end": 5, "side": "inside" });
    let of_range = rows(json!({ "event": 1, "range": range }));
    assert_eq!(of_range, ["2 30 30", "table.bin: 2 30 15"]);
    assert_eq!(rows(json!({ "event": 1, "processes": [8] })), ["0 0 0"]);
    assert_eq!(rows(json!({ "event": 0 })), ["0 0 0"], "a clock has no accesses");
}

#[test]
fn the_page_has_accesses_by_what_the_hardware_says() {
    let mut it = recording(Order::Little);
    let hits = [(1, 2), (1, 3), (2, 40), (3, 0)];
    for (number, (level, cost)) in (0..).zip(hits) {
        // A load that hit a level; no snoop or a hit of another cache; L1 or L2 of the TLB; locked or not.
        let data_src = 2
            | 2 << 5
            | level << 33
            | (if level == 2 { 4 } else { 2 }) << 19
            | (2 | 8 << (level % 2)) << 26
            | (if level == 3 { 2 } else { 0 }) << 24;
        it.sample(1, &Sample { data_src, ..load(number, 0x6000, cost) });
    }
    let mut session = open(&it.file()).expect("it opens");
    let loads = json!({ "event": 1 });
    let mut rows = |group: &str| page_rows(&mut session, &loads, group, "self")[1..].to_vec();
    assert_eq!(rows("level"), ["L2 hit: 1 40 40", "L1 hit: 2 5 2.5", "L3 hit: 1 1 0"]);
    assert_eq!(rows("snoop"), ["Hit: 1 40 40", "None: 3 6 1.6666666666666667"]);
    assert_eq!(rows("tlb"), ["L1 hit: 1 40 40", "L2 hit: 3 6 1.6666666666666667"]);
    assert_eq!(rows("locked"), ["No: 3 45 15", "Yes: 1 1 0"]);
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
