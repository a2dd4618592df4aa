//! Tables as they are read and as they cross.

use perftab_perfdata::decode::{ReadError, SliceSource};

use super::*;
use crate::image::Image;
use crate::unwinding::{MadeCodeRules, Row, RowMemory};

fn row(rules: &MadeCodeRules, offset: u64) -> Option<Row> {
    rules.row(offset, &mut RowMemory::default())
}

/// A file as it is written piece by piece, in the byte order of a machine.
#[derive(Clone, Copy)]
struct Order(fn(&[u8]) -> Vec<u8>);

const LITTLE: Order = Order(<[u8]>::to_vec);
const BIG: Order = Order(|bytes| bytes.iter().rev().copied().collect());

impl Order {
    fn half(self, number: u32) -> Vec<u8> {
        (self.0)(&number.to_le_bytes())
    }

    fn words(self, numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| (self.0)(&number.to_le_bytes())).collect()
    }

    fn header(self, pid: u32, begun: u64, flags: u64) -> Vec<u8> {
        let halves = [0x4a69_5444, 1, 40, 62, 0, pid].map(|it| self.half(it)).concat();
        [halves, self.words(&[begun, flags])].concat()
    }

    fn record(self, kind: u32, time: u64, body: &[u8]) -> Vec<u8> {
        let size = 16 + body.len() as u32;
        [self.half(kind), self.half(size), self.words(&[time]), body.to_vec()].concat()
    }

    fn load(self, time: u64, start: u64, number: u64, name: &str, code: &[u8]) -> Vec<u8> {
        let task = [self.half(7), self.half(7)].concat();
        let numbers = self.words(&[start, start, code.len() as u64, number]);
        self.record(0, time, &[&task, &numbers, name.as_bytes(), b"\0", code].concat())
    }

    fn moved(self, time: u64, from: u64, to: u64, size: u64, number: u64) -> Vec<u8> {
        let task = [self.half(7), self.half(7)].concat();
        self.record(1, time, &[task, self.words(&[to, from, to, size, number])].concat())
    }
}

fn read(bytes: &[u8]) -> Result<CodeTable, ReadError> {
    let source = Box::new(SliceSource::new(bytes.to_vec()));
    let image = Image::open("jit-7.dump", source).expect("it is one");
    image.code_table().expect("a table")
}

/// Time, start, end, and of code its offset and name.
type Told<'a> = (u64, u64, u64, Option<(u64, &'a str)>);

fn told(table: &CodeTable) -> Vec<Told<'_>> {
    let code = |it: MadeCode| (it.offset, table.name_of(it.name));
    let row = |it: &CodeChange| (it.time_nanos, it.start, it.end, it.code.map(code));
    table.changes().iter().map(row).collect()
}

#[test]
fn a_jitdump_tells_of_code_by_its_place_in_the_file() {
    for order in [LITTLE, BIG] {
        let first = order.load(100, 0x1000, 1, "first", &[0xc3; 5]);
        let unknown = order.record(9, 110, &[1, 2, 3]);
        // Its own time is before that of the one before it.
        let second = order.load(90, 0x2000, 2, "second ü", &[0x90; 32]);
        let moved = order.moved(120, 0x1000, 0x3000, 5, 1);
        let header = order.header(7, 50, 0);
        let file = [&header, &first, &unknown, &second, &moved, &b"cut off"[..]].concat();
        let table = read(&file).expect("it is read");
        assert_eq!((table.pid, table.clock), (Some(7), Clock::Monotonic { begun: 90 }));
        let at = |code: &[u8]| {
            file.windows(code.len()).position(|window| window == code).expect("it is there") as u64
        };
        let (one, two) = (Some((at(&[0xc3; 5]), "first")), Some((at(&[0x90; 32]), "second ü")));
        let expected = [
            (90, 0x2000, 0x2020, two),
            (100, 0x1000, 0x1005, one),
            (120, 0x1000, 0x1005, None),
            (120, 0x3000, 0x3005, one),
        ];
        assert_eq!(told(&table), expected);
        assert_eq!(CodeTable::from_bytes(&table.to_bytes()).as_ref(), Some(&table));
    }
}

#[test]
fn times_of_the_processor_are_told_from_others() {
    assert_eq!(read(&LITTLE.header(7, 50, 1)).expect("it is read").clock, Clock::Processor);
    let mut newer = LITTLE.header(7, 50, 0);
    newer[4] = 2;
    assert!(read(&newer).is_err());
    assert!(read(&newer[..39]).is_err());
}

#[test]
fn a_broken_jitdump_tells_what_stands_before_the_damage() {
    let header = LITTLE.header(7, 50, 0);
    let good = LITTLE.load(100, 0x1000, 1, "good", &[0xc3; 8]);
    let with = |bad: &[u8]| {
        let file = [&header, &good, bad, &good].concat();
        let table = read(&file).expect("it is read");
        assert!(file.len() < 1000 && table.names.text.len() < 1000);
        table.changes().len()
    };
    // Records that say that they are shorter than any, or longer than the file.
    for size in [0_u32, 15, 1 << 20, u32::MAX] {
        let mut bad = LITTLE.load(100, 0x1000, 1, "bad", &[0xc3; 8]);
        bad[4..8].copy_from_slice(&size.to_le_bytes());
        assert_eq!(with(&bad), 1, "{size}");
    }
    // Code without end, around the end of memory, of no bytes, and a record without its fields: passed over.
    for (start, size) in [(0x1000, u64::MAX), (u64::MAX, 8), (u64::MAX - 4, 8), (0x1000, 0)] {
        let mut bad = LITTLE.load(100, start, 1, "bad", &[0xc3; 8]);
        bad[40..48].copy_from_slice(&size.to_le_bytes());
        assert_eq!(with(&bad), 2, "{start:x} {size:x}");
    }
    assert_eq!(with(&LITTLE.record(0, 1, &[0; 20])), 2);
    assert_eq!(with(&LITTLE.record(1, 1, &[0; 20])), 2);
    // A name without its end is that of all bytes; code that was never made has no name where it is moved to.
    let mut bad = LITTLE.load(100, 0x5000, 9, "endless", &[0xc3; 8]);
    bad.iter_mut().skip(56).for_each(|byte| *byte |= 1);
    assert_eq!(with(&bad), 3);
    assert_eq!(with(&LITTLE.moved(200, u64::MAX, 0, u64::MAX, 77)), 3);
}

#[test]
fn names_are_no_longer_than_a_name() {
    let name = "n".repeat(1 << 20);
    let code = LITTLE.load(100, 0x1000, 1, &name, &[0xc3; 8]);
    let file = [LITTLE.header(7, 50, 0), code].concat();
    let table = read(&file).expect("it is read");
    let [(_, 0x1000, 0x1008, Some((offset, name)))] = told(&table)[..] else { panic!("one") };
    assert_eq!((offset, name.len()), (file.len() as u64 - 8, 16 << 10));
}

#[test]
fn bytes_that_are_no_table_are_none() {
    let file = [
        LITTLE.header(7, 50, 0),
        debug_info(LITTLE, 2, &[(2, 7, b"/a.js")]),
        unwinding_info(LITTLE, &FRAMES),
        LITTLE.load(1, 2, 3, "f", &[0; 4]),
    ];
    let file = file.concat();
    let bytes = read(&file).expect("it is read").to_bytes();
    for length in 0..bytes.len() {
        let _: Option<CodeTable> = CodeTable::from_bytes(&bytes[..length]);
    }
    for at in 0..bytes.len() {
        let mut broken = bytes.clone();
        broken[at] ^= 0x81;
        if let Some(table) = CodeTable::from_bytes(&broken) {
            let texts =
                told(&table).iter().filter_map(|it| it.3).map(|it| it.1.len()).sum::<usize>();
            assert!(texts <= broken.len());
            (0..file.len() as u64).for_each(|at| {
                table.line_at(at);
                table.rules().at(at);
            });
        }
    }
}

/// Lines of the code at an address, with the name of their file as it stands there.
fn debug_info(order: Order, code: u64, lines: &[(u64, u32, &[u8])]) -> Vec<u8> {
    let mut body = order.words(&[code, lines.len() as u64]);
    for (address, line, file) in lines {
        body.extend([order.words(&[*address]), order.half(*line), order.half(99)].concat());
        body.extend([file, &b"\0"[..]].concat());
    }
    // V8 fills records up to eight bytes.
    body.resize(body.len().next_multiple_of(8), 0);
    order.record(2, 80, &body)
}

fn lines_of(table: &CodeTable, offsets: impl Iterator<Item = u64>) -> Vec<Option<(&str, u32)>> {
    offsets.map(|offset| table.line_at(offset)).collect()
}

#[test]
fn lines_are_of_the_code_that_comes_next() {
    for order in [LITTLE, BIG] {
        let lines: [(u64, u32, &[u8]); 4] = [
            (0x1004, 8, b"/b.js"),
            (0x1000, 7, b"/a.js"),
            (0x1004, 9, b"\xff"),
            // Behind its end.
            (0x1008, 1, b"/c.js"),
        ];
        let two: [(u64, u32, &[u8]); 2] = [(0x2002, 3, b"/a.js"), (0x2006, 0, b"/a.js")];
        let code = [0xc3; 8];
        let file = [
            order.header(7, 50, 0),
            debug_info(order, 0x1000, &lines),
            order.load(90, 0x1000, 1, "one", &code),
            debug_info(order, 0x2000, &two),
            order.load(91, 0x2000, 2, "two", &code),
            order.load(92, 0x3000, 3, "without", &code),
            // Those of another address, and of what is no code.
            debug_info(order, 0x1000, &lines),
            order.load(93, 0x4000, 4, "other", &code),
            debug_info(order, 0x5000, &[(0x5000, 1, b"/a.js")]),
            order.load(94, 0x5000, 5, "empty", &[]),
            order.load(95, 0x5000, 6, "late", &code),
        ];
        let table = read(&file.concat()).expect("it is read");
        assert!(table.has_lines());
        let start_of = |name: &str| {
            let all = told(&table);
            all.iter().find_map(|it| it.3.filter(|code| code.1 == name)).expect("code").0
        };
        let from = |name: &str| (start_of(name)..).take(8);
        let [a7, a3, a9] = [7, 3, 9].map(|line| Some(("/a.js", line)));
        assert_eq!(lines_of(&table, from("one")), [a7, a7, a7, a7, a9, a9, a9, a9]);
        assert_eq!(lines_of(&table, from("two")), [None, None, a3, a3, a3, a3, None, None]);
        for name in ["without", "other", "late"] {
            assert_eq!(lines_of(&table, from(name)), [None; 8], "{name}");
        }
        assert_eq!(lines_of(&table, [0, u64::MAX].into_iter()), [None; 2]);
        assert_eq!(CodeTable::from_bytes(&table.to_bytes()).as_ref(), Some(&table));
    }
}

#[test]
fn lines_with_what_is_no_path_are_none() {
    for path in [&b""[..], b"\x0ew!&", b"/a\xfe.js"] {
        let lines = [(0x1000, 7, &b"/a.js"[..]), (0x1002, 8, path), (0x1004, 9, b"/a.js")];
        let debug_info = debug_info(LITTLE, 0x1000, &lines);
        let code = LITTLE.load(90, 0x1000, 1, "one", &[0xc3; 8]);
        let table =
            read(&[LITTLE.header(7, 50, 0), debug_info, code].concat()).expect("it is read");
        assert!(table.changes().len() == 1 && !table.has_lines(), "{}", path.escape_ascii());
    }
}

#[test]
fn lines_of_v8_begin_where_perf_puts_code_into_an_elf_file() {
    let one: [(u64, u32, &[u8]); 2] = [(0x1040, 7, b"/a.js"), (0x1047, 8, b"/a.js")];
    let file = [
        LITTLE.header(7, 50, 0),
        debug_info(LITTLE, 0x1000, &one),
        LITTLE.load(90, 0x1000, 1, "one", &[0xc3; 8]),
        debug_info(LITTLE, 0x2000, &[(0x2041, 3, b"/a.js")]),
        LITTLE.load(91, 0x2000, 2, "two", &[0xc3; 8]),
    ];
    let table = read(&file.concat()).expect("it is read");
    let [(_, _, _, Some((one, _))), (_, _, _, Some((two, _)))] = told(&table)[..] else {
        panic!("two")
    };
    let expected = [Some(("/a.js", 7)), Some(("/a.js", 8)), None, Some(("/a.js", 3))];
    assert_eq!(lines_of(&table, [one, one + 7, two, two + 1].into_iter()), expected);
}

#[test]
fn code_of_another_process_in_the_same_file_is_left_out() {
    let mut forked = LITTLE.load(100, 0x1000, 1, "forked", &[0xc3; 8]);
    forked[16..20].copy_from_slice(&8_u32.to_le_bytes());
    let mut moved = LITTLE.moved(110, 0x1000, 0x2000, 8, 1);
    moved[16..20].copy_from_slice(&8_u32.to_le_bytes());
    let own = LITTLE.load(90, 0x1000, 1, "own", &[0xc3; 8]);
    let file = [LITTLE.header(7, 50, 0), own, forked, moved].concat();
    let table = read(&file).expect("it is read");
    assert_eq!(told(&table).len(), 1);
    assert_eq!(table.left_out.of_others, 2);
}

#[test]
fn a_jitdump_says_for_which_machine_its_code_is() {
    let with = |machine: u32| {
        let mut file = LITTLE.header(7, 50, 0);
        file[12..16].copy_from_slice(&machine.to_le_bytes());
        read(&file).expect("it is read")
    };
    // EM_X86_64, EM_386, EM_AARCH64; CPython says nothing.
    for (machine, arch, may_run) in [
        (62, "x86_64", true),
        (3, "x86_64", true),
        (183, "x86_64", false),
        (62, "aarch64", false),
        (183, "aarch64", true),
        (0, "aarch64", true),
        (62, "riscv64", true),
    ] {
        assert_eq!(with(machine).may_run_on(arch), may_run, "{machine} {arch}");
    }
}

/// As V8 writes it for code of 0x6e2 bytes: `push %rbp; mov %rsp,%rbp` come after 15.
const OF_V8: [u8; 60] = [
    0x18, 0, 0, 0, 0, 0, 0, 0, 3, b'z', b'L', b'R', 0, 1, 0x78, 0x10, 2, 0xff, 0x1b, 0x0c, 7, 8,
    0x90, 1, 0, 0, 0, 0, 0x18, 0, 0, 0, 0x20, 0, 0, 0, 0xf4, 0xf8, 0xff, 0xff, 0xe2, 6, 0, 0, 0,
    0x4f, 0x0e, 0x10, 0x86, 2, 0x43, 0x0d, 6, 0, 0, 0, 0, 0, 0, 0,
];

#[test]
fn rules_of_v8_leave_out_where_data_of_the_language_is() {
    use crate::unwinding::{MadeCodeRules, UnwoundMachine};
    let load = LITTLE.load(90, 0x1000, 1, "JS:*f", &[0xc3; 0x6e2]);
    let file = [LITTLE.header(7, 50, 0), unwinding_info(LITTLE, &OF_V8), load].concat();
    let table = read(&file).expect("it is read");
    let code = told(&table)[0].3.expect("code").0;
    let rules = MadeCodeRules::of(table.into(), UnwoundMachine::X86_64);
    let rows = [0, 14, 15, 18, 0x6e1].map(|at| row(&rules, code + at).expect("rules"));
    assert!(rows[0] == rows[1] && rows[3] == rows[4]);
    assert!(rows[1] != rows[2] && rows[2] != rows[3]);
    assert!(row(&rules, code + 0x6e2).is_none());
}

/// As CPython 3.13 writes it for a trampoline of 11 bytes: `sub $8,%rsp; call *%rcx; add $8,%rsp; ret`, its `.eh_frame`
/// and the header.
const TRAMPOLINE: [u8; 11] = [0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3];
const FRAMES: [u8; 48] = [
    0x14, 0, 0, 0, 0, 0, 0, 0, 1, b'z', b'R', 0, 1, 0x78, 0x10, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0,
    0x14, 0, 0, 0, 0x1c, 0, 0, 0, 0xd0, 0xff, 0xff, 0xff, 0x0b, 0, 0, 0, 0, 0x44, 0x0e, 0x10, 0x46,
    0x0e, 8, 0,
];

fn unwinding_info(order: Order, frames: &[u8]) -> Vec<u8> {
    let header = [1, 0x1b, 3, 0x3b, 0xcc, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0xc0, 0xff, 0xff, 0xff];
    let size = (frames.len() + header.len()) as u64;
    let numbers = order.words(&[size, header.len() as u64, size]);
    order.record(4, 80, &[&numbers, frames, &header].concat())
}

#[test]
fn callers_of_code_are_found_by_the_rules_that_came_before_it() {
    use crate::unwinding::row::{Caller, CodeState};
    use crate::unwinding::{MadeCodeRules, Registers, StackCopy, UnwoundMachine};
    use perftab_perfdata::address_bits::AddressBits;

    // The stack of a trampoline that was called from 0x4242.
    let stack = StackCopy { start: 0x7000, bytes: &0x4242_u64.to_le_bytes(), beyond: &[] };
    let file = [
        LITTLE.header(7, 50, 0),
        LITTLE.load(88, 0x3000, 0, "without", &TRAMPOLINE),
        unwinding_info(LITTLE, &FRAMES),
        LITTLE.load(90, 0x1000, 1, "py::one", &TRAMPOLINE),
        LITTLE.load(91, 0x2000, 2, "other", &TRAMPOLINE),
        // Without frames, as V8 has it for code of which it knows none.
        unwinding_info(LITTLE, &[]),
        LITTLE.load(92, 0x4000, 3, "empty", &TRAMPOLINE),
        unwinding_info(LITTLE, &FRAMES),
        LITTLE.load(93, 0x5000, 4, "py::two", &TRAMPOLINE),
    ];
    let table = read(&file.concat()).expect("it is read");
    assert!(table.has_rules());
    let table = CodeTable::from_bytes(&table.to_bytes()).expect("the same");
    let start_of = |name: &str| {
        let all = told(&table);
        all.iter().find_map(|it| it.3.filter(|code| code.1 == name)).expect("code").0
    };
    let names = ["without", "py::one", "other", "empty", "py::two"];
    let [without, one, other, empty, two] = names.map(start_of);
    let rules = MadeCodeRules::of(table.clone().into(), UnwoundMachine::X86_64);
    for code in [one, two] {
        // Where it is, and how far its frame reaches by then.
        for (at, depth) in [(0, 0), (4, 8), (6, 8), (10, 0)] {
            let row = row(&rules, code + at).expect("rules");
            let known = |number| Some(if number == 7 { 0x7000 - depth } else { 0x1000 });
            let bits = AddressBits::up_to(u64::MAX);
            let mut registers =
                Registers::new(UnwoundMachine::X86_64, bits, known).expect("registers");
            let caller = row.step(&mut registers, &stack, CodeState::Calls);
            assert_eq!(caller, Ok(Caller::Before(0x4242)), "{at}");
            assert_eq!(registers.stack_pointer(), 0x7008, "{at}");
        }
        assert!(row(&rules, code + 11).is_none() && row(&rules, code - 1).is_none());
    }
    for code in [without, other, empty] {
        assert!(row(&rules, code).is_none());
    }
}

#[test]
fn rules_that_are_broken_or_too_large_are_none() {
    let with = |record: &[u8]| {
        let load = LITTLE.load(90, 0x1000, 1, "f", &TRAMPOLINE);
        let good = [unwinding_info(LITTLE, &FRAMES), load.clone()].concat();
        read(&[&LITTLE.header(7, 50, 0), record, &load, &good].concat()).expect("it is read")
    };
    // More than the record has, a header that is larger than all, and no fields.
    for (size, header) in [(u64::MAX, 16), (4096, 16), (64, u64::MAX), (64, 65), (0, 0)] {
        let numbers = LITTLE.words(&[size, header, 0]);
        let table = with(&LITTLE.record(4, 80, &[&numbers, &FRAMES[..], &[0; 16]].concat()));
        assert_eq!((table.rules().len(), table.left_out.too_large), (1, 0), "{size} {header}");
    }
    assert_eq!(with(&LITTLE.record(4, 80, &[1; 4])).rules().len(), 1);
    // Of a machine whose stacks are not unwound.
    let big = [unwinding_info(BIG, &FRAMES), BIG.load(90, 0x1000, 1, "f", &TRAMPOLINE)].concat();
    let big = read(&[BIG.header(7, 50, 0), big].concat()).expect("it is read");
    assert_eq!((big.changes().len(), big.rules().len()), (1, 0));
    let table = with(&unwinding_info(LITTLE, &vec![0; (1 << 20) + 1]));
    assert_eq!((table.rules().len(), table.left_out.too_large), (1, 1));
    // Damage within is found when somebody asks.
    use crate::unwinding::{MadeCodeRules, UnwoundMachine};
    for at in 0..FRAMES.len() {
        let mut frames = FRAMES;
        frames[at] ^= 0xff;
        let table = with(&unwinding_info(LITTLE, &frames));
        let code = told(&table)[0].3.expect("code").0;
        let rules = MadeCodeRules::of(table.into(), UnwoundMachine::X86_64);
        (0..12).for_each(|at| drop(row(&rules, code + at)));
    }
}
