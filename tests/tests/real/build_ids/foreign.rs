//! What one tool adds to perf.data and another does not know.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::build_ids::builds::{Builds, Ids, OLDER, is_installed, stderr, text};

/// Places in the file header, by perf's `perf_file_header`.
const DATA: usize = 40;
const FEATURE_BITS: usize = 72;
const CLOCK_DATA: usize = 29;
const FOOTER: usize = 32;
const FINISHED_ROUND: u32 = 68;

/// A recording as bytes, to be changed as another tool would have written it.
struct Bytes(Vec<u8>);

impl Bytes {
    fn word(&self, at: usize) -> usize {
        u64::from_ne_bytes(self.0[at..at + 8].try_into().unwrap()) as usize
    }

    fn flip(&mut self, feature: usize) {
        self.0[FEATURE_BITS + feature / 8] ^= 1 << (feature % 8);
    }

    /// Where our own section begins: its length stands in the footer.
    fn our_section(&self) -> usize {
        let footer = self.0.len() - FOOTER;
        assert!(self.0[footer..].starts_with(b"perftab section\0"));
        footer - self.word(footer + 16)
    }

    /// Changes a byte of our own section, and its checksum with it.
    fn change_section(&mut self, at: usize, change: impl Fn(u8) -> u8) {
        let section = self.our_section();
        self.0[section + at] = change(self.0[section + at]);
        let footer = self.0.len() - FOOTER;
        let mut crc = flate2::Crc::new();
        crc.update(&self.0[section..footer]);
        self.0[footer + 24..footer + 28].copy_from_slice(&crc.sum().to_le_bytes());
    }

    /// Gives the first record of a type another type.
    fn retype(&mut self, from: u32, to: u32) {
        let (mut at, size) = (self.word(DATA), self.word(DATA + 8));
        let end = at + size;
        while at < end {
            if self.0[at..at + 4] == from.to_ne_bytes() {
                self.0[at..at + 4].copy_from_slice(&to.to_ne_bytes());
                return;
            }
            at += usize::from(u16::from_ne_bytes(self.0[at + 6..at + 8].try_into().unwrap()));
        }
        panic!("no record of type {from}");
    }
}

fn info(builds: &Builds, recording: &Path) -> Value {
    let output = builds.perftab(&["info", "--json", text(recording)]);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn warnings(info: &Value) -> Vec<&str> {
    let warnings = info["warnings"].as_array().unwrap().iter();
    warnings.map(|warning| warning["message"].as_str().unwrap()).collect()
}

#[test]
fn b26_what_newer_tools_add_is_passed_over() {
    let builds = Builds::new(Ids::Different);
    let (recording, _) = builds.record(&["-g"], &[text(&builds.program), "150"]);
    let whole = fs::read(&recording).unwrap();
    let of_whole = info(&builds, &recording);
    assert_eq!(warnings(&of_whole), [""; 0]);
    let write = |name: &str, change: &dyn Fn(&mut Bytes)| {
        let mut bytes = Bytes(whole.clone());
        change(&mut bytes);
        builds.folder.write(name, &bytes.0)
    };
    let newer_section = write("newer-section", &|bytes| {
        bytes.change_section(8, |version| version + 1);
    });
    let foreign_section = write("foreign-section", &|bytes| {
        bytes.change_section(0, |letter| letter ^ 0x20);
    });
    let damaged_section = write("damaged-section", &|bytes| {
        let section = bytes.our_section();
        bytes.0[section + 30] ^= 1;
    });
    // The last feature, under a number that nobody has given out.
    let unknown_feature = write("unknown-feature", &|bytes| {
        bytes.flip(CLOCK_DATA);
        bytes.flip(201);
    });
    let unknown_record = write("unknown-record", &|bytes| bytes.retype(FINISHED_ROUND, 2_000));
    for (file, warning) in [
        (newer_section, Some("version 2")),
        (foreign_section, Some("not perftab's")),
        (damaged_section, Some("section is damaged")),
        (unknown_feature, None),
        (unknown_record, Some("were skipped")),
    ] {
        let info = info(&builds, &file);
        assert_eq!(info["samples"], of_whole["samples"], "{}", file.display());
        match warning {
            Some(words) => assert!(warnings(&info)[0].contains(words), "{info}"),
            None => assert_eq!(warnings(&info), [""; 0]),
        }
        // User code has its names all the same.
        let functions = builds.functions(&file, &[&builds.older]);
        assert!(functions.0.iter().any(|row| row.name.as_deref() == Some(OLDER)), "{functions:?}");
    }
}

#[test]
fn b26_other_tools_read_past_what_perftab_adds() {
    let test = "b26_other_tools_read_past_what_perftab_adds";
    if !is_installed(test, "perf") {
        return;
    }
    let builds = Builds::new(Ids::Different);
    let (recording, _) = builds.record(&["-g"], &[text(&builds.program), "150"]);
    let mut without = Bytes(fs::read(&recording).unwrap());
    without.0.truncate(without.our_section());
    let without = builds.folder.write("without", &without.0);
    let printed = |recording: &Path| {
        let arguments = ["script", "-F", "pid,tid,time,ip,sym,dso", "-i", text(recording)];
        let output = builds.perf(&arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        output.stdout
    };
    let by_perf = printed(&recording);
    assert!(String::from_utf8_lossy(&by_perf).contains(OLDER));
    assert!(by_perf == printed(&without), "perf prints something else with our section");

    let samples = info(&builds, &recording)["samples"].as_u64().unwrap();
    let file = std::io::BufReader::new(fs::File::open(&recording).unwrap());
    let linux_perf_data::PerfFileReader { mut perf_file, mut record_iter } =
        linux_perf_data::PerfFileReader::parse_file(file).unwrap();
    let mut records = 0;
    while record_iter.next_record(&mut perf_file).unwrap().is_some() {
        records += 1;
    }
    assert!(records > samples, "linux-perf-data found {records} records");

    let Some(parser) = crate::build_ids::peers::hotspot_parser() else {
        println!("SKIPPED: {test}: hotspot-perfparser is not installed");
        return;
    };
    let mut command = Command::new(parser);
    let output = builds.run(command.arg("--print-stats").arg("--input").arg(&recording));
    let stats = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(stats.contains(&format!("samples: {samples}\n")), "{stats}");
}
