//! Files of a few bytes that name by gigabytes: the whole of perftab, with little memory.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::fixtures::story;
use perftab_tests::folder::TestFolder;
use perftab_tests::perftab_binary;
use perftab_tests::synth::elf::{
    CODE, COMPRESSED, ElfSection, STRTAB, SYMTAB, compressed, elf, symbol,
};
use perftab_tests::synth::{MappedFile, Mapping, Order, Recording, context};

const ID: [u8; 20] = [0x6e; 20];

/// A recording of a library with this much code, of which every sixteenth byte up to `sampled` was hit.
fn recording(code: usize, sampled: usize) -> Vec<u8> {
    let start = 0x7f00_0000_0000;
    let length = code.next_multiple_of(0x1000) as u64;
    let mut recording = Recording::new(Order::Little, story::usual_events());
    let mapping = Mapping {
        misc: 2,
        pid: 10,
        tid: 10,
        addresses: start..start + length,
        offset: CODE,
        file: MappedFile::BuildId(&ID),
        path: "/opt/small.so",
    };
    recording.mmap2(story::at(10, 1_000, 0), &mapping);
    for number in 0..sampled as u64 / 16 {
        let chain = [context::USER, start + 16 * number + 8];
        recording.sample(0, &story::sample(story::at(10, 2_000 + number, 0), 100, 1, &chain));
    }
    recording.round();
    recording.file()
}

/// `perftab report` of the recording with a file, in so many megabytes of address space.
fn report(folder: &Path, file: &Path, megabytes: u64) -> Output {
    let limited = format!(
        "ulimit -v {}; exec \"$0\" report --json --no-local perf.data --image \"$1\"",
        megabytes * 1000
    );
    Command::new("sh")
        .args(["-c", &limited])
        .args([&perftab_binary(), file])
        .current_dir(folder)
        .env("HOME", folder)
        .env_remove("DEBUGINFOD_URLS")
        .ended()
        .expect("perftab runs")
}

fn names(output: &Output) -> Vec<String> {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {said}", output.status);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = report["functions"].as_array().expect("functions").iter();
    rows.filter_map(|row| row["name"].as_str().map(str::to_owned)).collect()
}

/// A stream of zlib that inflates to so many mebibytes of zeros.
fn zeros(mebibytes: usize) -> Vec<u8> {
    let block = vec![0; 1 << 20];
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let mut ends = Vec::new();
    for _ in 0..3 {
        encoder.write_all(&block).unwrap();
        encoder.flush().unwrap();
        ends.push(encoder.get_ref().len());
    }
    // From the second on, all blocks are alike.
    let packed = encoder.get_ref();
    let (first, next) = (packed[..ends[0]].to_vec(), &packed[ends[1]..ends[2]]);
    [first, next.repeat(mebibytes - 1)].concat()
}

/// DWARF of 7.2 GB in 3.6 MB, and the same once more packed into a few kilobytes.
#[test]
fn compressed_debug_information_of_gigabytes_leaves_the_symbols() {
    let folder = TestFolder::new();
    folder.write("perf.data", &recording(0x1000, 0x100));
    let packed = compressed(3600 << 20, &zeros(3600 / 2));
    let debug = |name| ElfSection { flags: COMPRESSED, ..ElfSection::debug(name, &packed) };
    let symbols = [vec![0; 24], symbol(1, CODE, 0x1000)].concat();
    let sections = [
        debug(".debug_info"),
        debug(".debug_str"),
        ElfSection::debug(".debug_abbrev", &[0]),
        ElfSection {
            name: ".symtab",
            kind: SYMTAB,
            flags: 0,
            bytes: &symbols,
            address: 0,
            link: ".strtab",
        },
        ElfSection {
            name: ".strtab",
            kind: STRTAB,
            flags: 0,
            bytes: b"\0spun\0",
            address: 0,
            link: "",
        },
    ];
    let file = elf(&ID, 0x1000, &sections);
    let plain = folder.write("small.so", &file);
    let output = report(&folder, &plain, 700);
    assert!(names(&output).contains(&"spun".to_owned()), "{output:?}");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&file).unwrap();
    let gzip = gzip.finish().unwrap();
    assert!(gzip.len() < 50_000, "{}", gzip.len());
    let packed = folder.write("small.so.gz", &gzip);
    let output = report(&folder, &packed, 700);
    assert!(names(&output).contains(&"spun".to_owned()), "{output:?}");
}

/// Each section may be as long as the file allows, but not all of them.
#[test]
fn compressed_symbols_of_gigabytes_are_refused() {
    let folder = TestFolder::new();
    folder.write("perf.data", &recording(0x1000, 0x100));
    let packed = compressed(250 << 20, &zeros(250));
    let table = |name, kind, link| ElfSection {
        name,
        kind,
        flags: COMPRESSED,
        bytes: &packed,
        address: 0,
        link,
    };
    let padding = vec![0; 2 << 20];
    let sections = [
        table(".symtab", SYMTAB, ".strtab"),
        table(".strtab", STRTAB, ""),
        table(".dynsym", 11, ".dynstr"),
        table(".dynstr", STRTAB, ""),
        table(".eh_frame_hdr", 1, ""),
        ElfSection::debug(".padding", &padding),
    ];
    let file = folder.write("small.so", &elf(&ID, 0x1000, &sections));
    let output = report(&folder, &file, 700);
    assert!(names(&output).iter().all(String::is_empty), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("more memory than a file of its size may use"), "{said}");
}

/// The names of all functions are ends of one text of a megabyte.
#[test]
fn names_that_share_a_text_stay_within_the_budget() {
    const FUNCTIONS: usize = 3000;
    let folder = TestFolder::new();
    let code = 16 * FUNCTIONS;
    folder.write("perf.data", &recording(code, code));
    let text = [&vec![b'a'; 1 << 20][..], b"\0"].concat();
    let named = |name: usize, at: usize| symbol(name as u32, CODE + 16 * at as u64, 16);
    let (mut long, mut ends) = (vec![0; 24], vec![0; 24]);
    for at in 0..FUNCTIONS {
        long.extend(named(1 + at, at));
        // As long as names may be.
        ends.extend(named((1 << 20) - (60 << 10) - at, at));
    }
    for (symbols, has_some) in [(&long, false), (&ends, true)] {
        let table = ElfSection {
            name: ".symtab",
            kind: SYMTAB,
            flags: 0,
            bytes: symbols,
            address: 0,
            link: ".strtab",
        };
        let strings = ElfSection {
            name: ".strtab",
            kind: STRTAB,
            flags: 0,
            bytes: &text,
            address: 0,
            link: "",
        };
        let file = folder.write("small.so", &elf(&ID, code, &[table, strings]));
        let output = report(&folder, &file, 700);
        assert_eq!(names(&output).iter().any(|name| name.starts_with("aaa")), has_some);
    }
}
