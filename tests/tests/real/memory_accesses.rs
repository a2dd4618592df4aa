//! Memory accesses: `perftab report --mem-mode` and `perftab script -F` agree with perf on recordings as
//! `perf mem record` makes them. No machine of ours has the hardware for real ones, so they are made here, of a
//! program that gcc compiled.
//!
//! Exceptions, where perf 6.1 is wrong or cannot know:
//! - it compares levels without their numbers, and snoops without what was added later, and shows the text of any
//!   of them; so accesses here that have one have the other, but for a test of that;
//! - levels 5 to 8 and hops from 5 on got a meaning later, or have none;
//! - it takes marks of the linker, which have no size, for objects that reach to the next (`__TMC_END__`);
//! - it looks for user data of samples in the kernel among the kernel's.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use perf_event_open_sys::bindings as kernel;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::fixtures;
use perftab_tests::folder::TestFolder;
use perftab_tests::perftab_binary;
use perftab_tests::program::{compile, is_installed};
use perftab_tests::synth::{
    At, Attr, Event, MappedFile, Mapping, Order, Recording, Sample, Weight,
};

const SAMPLE_TYPE: u32 = kernel::PERF_SAMPLE_IP
    | kernel::PERF_SAMPLE_TID
    | kernel::PERF_SAMPLE_TIME
    | kernel::PERF_SAMPLE_ADDR
    | kernel::PERF_SAMPLE_CPU
    | kernel::PERF_SAMPLE_PERIOD
    | kernel::PERF_SAMPLE_DATA_SRC
    | kernel::PERF_SAMPLE_PHYS_ADDR
    | kernel::PERF_SAMPLE_DATA_PAGE_SIZE;

const PID: u32 = 1000;
const USER: u16 = 2;
const DATA: u16 = USER | 1 << 13;

/// A word of `perf_mem_data_src`: bits at places, as include/uapi/linux/perf_event.h has them.
#[derive(Clone, Copy, Default)]
struct Bits {
    op: u64,
    lvl: u64,
    snoop: u64,
    lock: u64,
    tlb: u64,
    lvl_num: u64,
    remote: u64,
    snoopx: u64,
    blk: u64,
    hops: u64,
}

impl Bits {
    fn word(self) -> u64 {
        self.op
            | self.lvl << 5
            | self.snoop << 19
            | self.lock << 24
            | self.tlb << 26
            | self.lvl_num << 33
            | self.remote << 37
            | self.snoopx << 38
            | self.blk << 40
            | self.hops << 43
    }
}

/// A recording of one event. Its weights are of three parts, or whole.
fn recording(order: Order, weight: u32) -> Recording {
    let attr = Attr::new(kernel::PERF_TYPE_RAW, 0x1cd, SAMPLE_TYPE | weight);
    let attr = attr.with(|attr| attr.kernel.set_mmap_data(1));
    let mut recording = Recording::new(order, vec![Event::new(0, "cpu/mem-loads/", attr, 1)]);
    recording.comm(At { pid: PID, tid: PID, ..At::default() }, 0, "program");
    recording
}

fn write(folder: &Path, name: &str, recording: &Recording) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, recording.file()).expect("a file");
    path
}

fn output(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str], file: &Path) -> String {
    let mut command = Command::new(program);
    let home = file.parent().expect("a folder");
    let ended = command.args(arguments).arg(file).env("HOME", home).ended().expect("it runs");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{arguments:?} fails: {stderr}");
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

/// Each bit of each field, fields with all their bits, and words of many bits.
fn every_word() -> Vec<u64> {
    let all = |bits: u32| 0..1 << bits;
    let each = |bits: u32| (0..bits).map(|bit| 1_u64 << bit);
    let mut words = Vec::new();
    let mut add = |bits: Bits| words.push(bits.word());
    all(5).for_each(|op| add(Bits { op, ..Bits::default() }));
    for lvl in each(14) {
        for outcome in [0, 2, 4, 6] {
            add(Bits { lvl: lvl | outcome, ..Bits::default() });
        }
    }
    all(5).for_each(|snoop| add(Bits { snoop, snoopx: snoop % 4, ..Bits::default() }));
    all(2).for_each(|snoopx| add(Bits { snoopx, ..Bits::default() }));
    all(2).for_each(|lock| add(Bits { lock, ..Bits::default() }));
    all(7).for_each(|tlb| add(Bits { tlb, ..Bits::default() }));
    all(3).for_each(|blk| add(Bits { blk, ..Bits::default() }));
    for lvl_num in (0..5).chain(9..16) {
        for remote in [0, 1] {
            for lvl in [0, 2, 2 | 8, 4 | 128 | 256] {
                add(Bits { lvl, lvl_num, remote, ..Bits::default() });
            }
            for hops in 1..5 {
                add(Bits { lvl: 2 | 32, lvl_num, remote, hops, ..Bits::default() });
            }
        }
    }
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..200 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Without level numbers and hops.
        words.push(random & !(0xf << 33 | 7 << 43));
    }
    words
}

#[test]
fn the_texts_of_all_bits_are_those_of_perf() {
    if !is_installed("the_texts_of_all_bits_are_those_of_perf", "perf") {
        return;
    }
    let folder = TestFolder::new();
    let words = every_word();
    for order in [Order::Little, Order::Big] {
        let mut recording = recording(order, kernel::PERF_SAMPLE_WEIGHT_STRUCT);
        for (number, &data_src) in words.iter().enumerate() {
            let number = number as u64;
            let weight = Weight { first: number as u32, second: 7, third: 9 };
            let (addr, phys_addr) = (number << 32 | 0x10, number << 12);
            let data_page_size = [0, 4096, 12345, 64 << 10, 2 << 20, 1 << 30][number as usize % 6];
            recording.sample(
                0,
                &Sample {
                    misc: USER,
                    pid: PID,
                    tid: PID,
                    time: 1000 + number,
                    id: 100,
                    period: 1,
                    addr,
                    data_src,
                    weight,
                    phys_addr,
                    data_page_size,
                    ..Sample::default()
                },
            );
        }
        let file = write(&folder, "bits.data", &recording);
        let fields = ["addr", "data_src", "weight", "phys_addr", "data_page_size"];
        let asked = fields.map(|field| format!("+{field}")).join(",");
        let ours = output(perftab_binary(), &["script", "-F", &asked], &file);
        let ours_of = |field: &str| -> Vec<String> {
            let start = format!("\t{field} ");
            let of = ours.lines().filter_map(|line| line.strip_prefix(&start));
            of.map(|value| value.trim_end().to_owned()).collect()
        };
        for field in fields {
            let perfs = output("perf", &["script", "-F", field, "-i"], &file);
            let perfs: Vec<&str> = perfs.lines().collect();
            let ours = ours_of(field);
            assert_eq!((ours.len(), perfs.len()), (words.len(), words.len()), "{field}");
            for (ours, perfs) in ours.iter().zip(perfs) {
                // perf has room for 99 characters.
                let (ours, is_cut) = (format!("{ours:>0$}", ours.len()), perfs.len() >= 99);
                let perfs = perfs.trim();
                match is_cut && field == "data_src" {
                    true => assert!(ours.starts_with(perfs), "{ours}\n{perfs}"),
                    false => assert_eq!(ours, perfs, "{field}"),
                }
            }
        }
    }
}

const SOURCE: &str = r#"
long table[64] = {1};
static volatile int hidden[16] = {2};
const char words[100] = "words";
long zeros[8];
_Thread_local int of_thread = 3;
int main(void) { return (int)table[3] + hidden[2] + words[4] + (int)zeros[1] + of_thread; }
"#;

const BUILD_ID: &str = "da7ada7ada7ada7ada7ada7ada7ada7ada7ada7a";
const BASE: u64 = 0x5555_5555_0000;

/// A program, and where what it has is in memory.
struct Program {
    path: PathBuf,
    /// `readelf -s`: name, value, size.
    symbols: BTreeMap<String, (u64, u64)>,
    /// `readelf -l`: what is loaded, as the kernel and the dynamic linker map it.
    loads: Vec<Load>,
}

struct Load {
    addresses: Range<u64>,
    offset: u64,
    is_code: bool,
}

impl Program {
    fn compile(folder: &Path) -> Self {
        let path = compile(folder, "program", BUILD_ID, SOURCE);
        let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("hex");
        let table = output("readelf", &["-sW"], &path);
        let symbol = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, value, size, .., name] = fields[..] else { return None };
            Some((name.to_owned(), (u64::from_str_radix(value, 16).ok()?, size.parse().ok()?)))
        };
        let symbols = table.lines().filter_map(symbol).collect();
        let headers = output("readelf", &["-lW"], &path);
        let load = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let ["LOAD", offset, address, _, size, _, ref flags @ .., _] = fields[..] else {
                return None;
            };
            let [offset, start, size] = [offset, address, size].map(hex);
            let page = |address: u64| address & !0xfff;
            Some(Load {
                addresses: page(start)..page(start + size + 0xfff),
                offset: page(offset),
                is_code: flags.contains(&"E"),
            })
        };
        let loads = headers.lines().filter_map(load).collect();
        Self { path, symbols, loads }
    }

    fn map(&self, recording: &mut Recording) {
        let id: Vec<u8> = (0..20).map(|at| [0xda, 0x7a][at % 2]).collect();
        let path = self.path.to_str().expect("a path");
        for Load { addresses, offset, is_code } in &self.loads {
            let misc = if *is_code { USER } else { DATA };
            let addresses = BASE + addresses.start..BASE + addresses.end;
            let file = MappedFile::BuildId(&id);
            let mapping =
                Mapping { misc, pid: PID, tid: PID, addresses, offset: *offset, file, path };
            recording.mmap2(At::default(), &mapping);
        }
        for (start, path) in [(HEAP, "[heap]"), (STACK, "[stack]"), (ANON, "//anon")] {
            let (addresses, file) = (start..start + 0x10000, MappedFile::Inode(0, 0, 0, 0));
            let (misc, offset) = (DATA, 0);
            let mapping = Mapping { misc, pid: PID, tid: PID, addresses, offset, file, path };
            recording.mmap2(At::default(), &mapping);
        }
    }

    fn address(&self, symbol: &str) -> u64 {
        BASE + self.symbols[symbol].0
    }
}

const HEAP: u64 = 0x5555_6000_0000;
const STACK: u64 = 0x7fff_0000_0000;
const ANON: u64 = 0x7f00_0000_0000;

/// Accesses of everything that the program has, of several kinds and costs.
fn accesses(program: &Program) -> Recording {
    let mut recording = recording(Order::Little, kernel::PERF_SAMPLE_WEIGHT);
    program.map(&mut recording);
    let of = |symbol: &str, offset: u64| program.address(symbol) + offset;
    let addresses = [
        of("table", 0),
        of("table", 24),
        of("table", 511),
        of("table", 504),
        of("hidden", 8),
        of("words", 4),
        of("words", 99),
        of("zeros", 8),
        of("main", 1),
        HEAP + 0x20,
        STACK + 0x30,
        ANON + 0x40,
        0x1000,
        0,
        u64::MAX >> 1,
    ];
    let kinds = [
        Bits { op: 2, lvl: 2 | 8, lvl_num: 1, snoop: 2, tlb: 2 | 8, blk: 1, ..Bits::default() },
        Bits {
            op: 2,
            lvl: 2 | 32,
            lvl_num: 2,
            snoop: 4,
            snoopx: 1,
            lock: 2,
            tlb: 2 | 16,
            ..Bits::default()
        },
        Bits { op: 4, lvl: 4 | 128, lvl_num: 13, snoop: 8, tlb: 4 | 32, blk: 2, ..Bits::default() },
        Bits {
            op: 2,
            lvl: 1,
            snoop: 16,
            lock: 1,
            tlb: 1,
            blk: 4,
            hops: 1,
            remote: 1,
            lvl_num: 13,
            ..Bits::default()
        },
        Bits::default(),
    ];
    for number in 0..300_u64 {
        let addr = addresses[(number * 7 % 15) as usize];
        recording.sample(
            0,
            &Sample {
                misc: USER,
                ip: of("main", number % 3),
                pid: PID,
                tid: PID,
                time: 1000 + number,
                id: 100,
                period: 1000 + number,
                addr,
                data_src: kinds[(number / 3 % 5) as usize].word(),
                weight: Weight {
                    first: [0, 3, 3, 250, 70000][(number % 5) as usize],
                    ..Weight::default()
                },
                phys_addr: if number % 4 == 0 { 0 } else { addr & 0xfff | 0x1234_0000 },
                data_page_size: [0, 4096, 2 << 20, 1 << 30][(number % 4) as usize],
                ..Sample::default()
            },
        );
    }
    recording
}

/// Samples and cost by the values of keys.
type Rows = BTreeMap<Vec<String>, (u64, u64)>;

fn rows_by_perf(file: &Path, keys: &str) -> Rows {
    let fields = format!("sample,period,{keys}");
    let arguments =
        ["report", "--mem-mode", "--stdio", "-t", "|", "--sort", keys, "-F", &fields, "-i"];
    let mut rows = Rows::new();
    let text = output("perf", &arguments, file);
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [samples, cost, values @ ..] = &cells[..] else { panic!("perf prints {line:?}") };
        // perf adds a column to symbols that nobody asked for.
        let values = values.iter().take(keys.split(',').count()).map(|value| without_marks(value));
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let sums = rows.entry(values.collect()).or_default();
        *sums = (sums.0 + number(samples), sums.1 + number(cost));
    }
    rows
}

/// `[.] 0x0000000000601000` is `0x601000`.
fn without_marks(value: &str) -> String {
    let value = match value.as_bytes() {
        [b'[', _, b']', b' ', ..] => value[4..].trim(),
        _ => value,
    };
    let digits = value.strip_prefix("0x").unwrap_or(value);
    match u64::from_str_radix(digits, 16) {
        Ok(address) if digits.len() == 16 => format!("{address:#x}"),
        _ => value.to_owned(),
    }
}

fn rows_by_perftab(file: &Path, keys: &str) -> Rows {
    let arguments = ["report", "--mem-mode", "--no-inline", "--json", "--sort", keys];
    let report: serde_json::Value =
        serde_json::from_str(&output(perftab_binary(), &arguments, file)).expect("JSON");
    let mut rows = Rows::new();
    for row in report["rows"].as_array().expect("rows") {
        let value = |key: &str| {
            let member = if key == "sym" { "name" } else { key };
            match &row[member] {
                // Paths are shown by file name.
                serde_json::Value::String(path) if key.starts_with("dso") => {
                    path.rsplit('/').next().unwrap_or_default().to_owned()
                }
                serde_json::Value::String(text) => text.clone(),
                serde_json::Value::Null => "[unknown]".to_owned(),
                number => number.to_string(),
            }
        };
        let values: Vec<String> = keys.split(',').map(value).collect();
        let number = |member: &str| row[member].as_u64().expect("a number");
        let sums = rows.entry(values).or_default();
        *sums = (sums.0 + number("self_samples"), sums.1 + number("self"));
    }
    rows
}

#[test]
fn rows_of_memory_accesses_are_those_of_perf() {
    if !is_installed("rows_of_memory_accesses_are_those_of_perf", "perf") {
        return;
    }
    let folder = TestFolder::new();
    let program = Program::compile(&folder);
    let file = write(&folder, "mem.data", &accesses(&program));
    let every_key = [
        "mem",
        "symbol_daddr",
        "dso_daddr",
        "snoop",
        "tlb",
        "locked",
        "blocked",
        "local_weight",
        "weight",
        "phys_daddr",
        "data_page_size",
    ];
    let together = [
        "sym,symbol_daddr,dso_daddr",
        "mem,snoop,tlb,locked,blocked",
        "comm,dso,sym,local_weight",
        "weight,mem,data_page_size,phys_daddr",
        "local_weight,mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked",
    ];
    for keys in every_key.into_iter().chain(together) {
        let (ours, perfs) = (rows_by_perftab(&file, keys), rows_by_perf(&file, keys));
        assert!(perfs.len() > 1 || keys == "comm", "{keys}: {perfs:?}");
        assert_eq!(ours, perfs, "{keys}");
    }
    let objects = rows_by_perftab(&file, "symbol_daddr");
    for name in ["table+0x0", "table+0x18", "table+0x1ff", "hidden+0x8", "words+0x63", "zeros+0x8"]
    {
        assert!(objects.contains_key(&vec![name.to_owned()]), "{name}: {objects:?}");
    }
    assert!(objects.keys().all(|row| !row[0].contains("of_thread")), "{objects:?}");
}

/// Page faults have addresses of data on any machine.
#[test]
fn accesses_of_a_real_recording_are_those_of_perf() {
    if !is_installed("accesses_of_a_real_recording_are_those_of_perf", "perf") {
        return;
    }
    let folder = TestFolder::new();
    let file = folder.join("perf.data");
    fs::copy(fixtures::folder().join("perf-addresses.perf.data"), &file).expect("a copy");
    for keys in ["mem,snoop,tlb,locked,blocked", "comm,local_weight,phys_daddr,data_page_size"] {
        let (ours, perfs) = (rows_by_perftab(&file, keys), rows_by_perf(&file, keys));
        assert_eq!(ours, perfs, "{keys}");
        assert!(perfs.values().map(|sums| sums.0).sum::<u64>() > 100, "{perfs:?}");
    }
}

#[test]
fn data_has_no_name_of_another_build() {
    let folder = TestFolder::new();
    let program = Program::compile(&folder);
    let file = write(&folder, "mem.data", &accesses(&program));
    let named = |rows: Rows| rows.keys().filter(|row| row[0].contains('+')).count();
    assert!(named(rows_by_perftab(&file, "symbol_daddr")) > 4);
    let other = BUILD_ID.replacen("da", "db", 1);
    compile(&folder, "program", &other, SOURCE);
    assert_eq!(named(rows_by_perftab(&file, "symbol_daddr")), 0);
}
