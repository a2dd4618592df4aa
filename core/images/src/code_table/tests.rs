//! Tables as they are read and as they cross.

use perftab_perfdata::decode::{ReadError, SliceSource};

use super::*;
use crate::image::Image;

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
    let file = [LITTLE.header(7, 50, 0), LITTLE.load(1, 2, 3, "f", &[0; 4])].concat();
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
        }
    }
}
