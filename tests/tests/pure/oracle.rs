//! linux-perf-data, an independent parser of the same format, finds the same records in every
//! recording that it can read: our fixtures, and the recordings of others where those are present.
//!
//! Compared are the numbers of the kernel's records by type. Records of tools are left out: it
//! keeps some to itself (rounds, compressed ones, what a pipe begins with).

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use linux_perf_data::linux_perf_event_reader::RecordType;
use linux_perf_data::{Error, PerfFileReader, PerfFileRecord};
use perftab_tests::expectation;
use perftab_tests::fixtures;
use perftab_tests::open::open_path;
use perftab_tests::own_process;
use perftab_tests::synth::Order;

/// Recordings in which it does not find the same, by the end of their path, and why.
const EXCEPTIONS: &[(&str, &str)] = &[(
    "perf-pipe-tracepoints.perf.data",
    "linux-perf-data 0.13 takes what follows HEADER_TRACING_DATA outside of the record for records",
)];

/// Names of the kernel's records, `enum perf_event_type`, from 1.
const NAMES: [&str; 22] = [
    "MMAP",
    "LOST",
    "COMM",
    "EXIT",
    "THROTTLE",
    "UNTHROTTLE",
    "FORK",
    "READ",
    "SAMPLE",
    "MMAP2",
    "AUX",
    "ITRACE_START",
    "LOST_SAMPLES",
    "SWITCH",
    "SWITCH_CPU_WIDE",
    "NAMESPACES",
    "KSYMBOL",
    "BPF_EVENT",
    "CGROUP",
    "TEXT_POKE",
    "AUX_OUTPUT_HW_ID",
    "CALLCHAIN_DEFERRED",
];

/// Records of the kernel by name, up to where the parser stops, and why it stops.
#[derive(Debug, Default)]
struct Records {
    by_name: BTreeMap<String, u64>,
    stopped: String,
}

impl Records {
    fn add(&mut self, record: &PerfFileRecord) {
        if let PerfFileRecord::EventRecord { record, .. } = record {
            let RecordType(kind) = record.record_type;
            if let Some(name) = NAMES.get(kind as usize - 1) {
                *self.by_name.entry((*name).to_owned()).or_default() += 1;
            }
        }
    }
}

/// What linux-perf-data finds, in a process of its own: version 0.13 takes some lengths at their
/// word, and ends the process where memory does not suffice. `None` if it reads nothing.
fn by_linux_perf_data(path: &Path) -> Option<Records> {
    let output = own_process::run("oracle::counts", path.to_str().expect("UTF-8"));
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines().skip_while(|line| *line != "counts:").skip(1);
    let stopped = lines.next()?.to_owned();
    let counts = lines.map_while(|line| line.strip_prefix("record ")).map(|line| {
        let (name, count) = line.split_once(' ').expect("a name and a number");
        (name.to_owned(), count.parse().expect("a number"))
    });
    Some(Records { by_name: counts.collect(), stopped })
}

/// The process that [`by_linux_perf_data`] starts; without a recording named, a test of that.
#[test]
fn counts() {
    let named = own_process::input();
    let bytes = match &named {
        Some(path) => std::fs::read(path).expect("readable"),
        None => fixtures::story(Order::Little).file(),
    };
    let records = read(bytes);
    if named.is_none() {
        assert_eq!(records.expect("a recording").by_name["SAMPLE"], 6, "the story has so many");
    } else if let Ok(records) = records {
        println!("\ncounts:\n{}", records.stopped);
        for (name, count) in records.by_name {
            println!("record {name} {count}");
        }
    }
}

fn read(bytes: Vec<u8>) -> Result<Records, Error> {
    // A header of 16 bytes is that of a pipe.
    let is_pipe = bytes.get(8..16).is_some_and(|size| size.contains(&16));
    let bytes = Cursor::new(bytes);
    if is_pipe {
        let PerfFileReader { mut perf_file, mut record_iter } = PerfFileReader::parse_pipe(bytes)?;
        Ok(count(|records| {
            Ok(record_iter.next_record(&mut perf_file)?.map(|record| records.add(&record)))
        }))
    } else {
        let PerfFileReader { mut perf_file, mut record_iter } = PerfFileReader::parse_file(bytes)?;
        Ok(count(|records| {
            Ok(record_iter.next_record(&mut perf_file)?.map(|record| records.add(&record)))
        }))
    }
}

fn count(mut next: impl FnMut(&mut Records) -> Result<Option<()>, Error>) -> Records {
    let mut records = Records::default();
    loop {
        match next(&mut records) {
            Ok(Some(())) => {}
            Ok(None) => return records,
            Err(error) => {
                records.stopped = error.to_string();
                return records;
            }
        }
    }
}

/// What differs, if anything; `None` if linux-perf-data reads nothing.
fn compared(path: &Path) -> Option<Result<(), String>> {
    let theirs = by_linux_perf_data(path)?;
    let session = match open_path(path) {
        Ok(session) => session,
        Err(_) if theirs.by_name.is_empty() => return None,
        Err(error) => return Some(Err(format!("{error}; linux-perf-data has {theirs:?}"))),
    };
    let records = session.info().records.into_iter();
    let ours: BTreeMap<String, u64> = records
        .filter(|(name, _)| NAMES.contains(&&**name))
        .map(|(name, count)| (name.to_string(), count))
        .collect();
    // Where it stops, it has yet to say what it put in order of time last.
    let stops_early = !theirs.stopped.is_empty();
    let is_part = theirs.by_name.iter().all(|(name, count)| ours.get(name) >= Some(count));
    let agree = ours == theirs.by_name || (stops_early && is_part);
    Some(agree.then_some(()).ok_or_else(|| format!("{ours:?}, linux-perf-data has {theirs:?}")))
}

/// Fixtures that are one file, and the corpus.
fn recordings() -> Vec<PathBuf> {
    let mut recordings = fixtures::recordings();
    recordings.retain(|path| path.is_file());
    match expectation::corpus() {
        Some(corpus) => {
            let expected = expectation::read(&corpus).into_iter();
            recordings.extend(expected.map(|expected| corpus.join(expected.path)));
        }
        None => println!("SKIPPED: recordings of others: no $PERFTAB_CORPUS"),
    }
    recordings
}

#[test]
fn linux_perf_data_finds_the_same_records() {
    let mut wrong = Vec::new();
    let mut agreed = 0;
    for path in recordings() {
        let exception = EXCEPTIONS.iter().find(|(end, _)| path.ends_with(end));
        match (compared(&path), exception) {
            (Some(Err(text)), None) => wrong.push(format!("{}: {text}", path.display())),
            (Some(Ok(())) | None, Some((_, why))) => {
                wrong.push(format!("{} does not differ, no exception: {why}", path.display()));
            }
            (Some(Ok(())), None) => agreed += 1,
            (Some(Err(_)), Some(_)) | (None, None) => {}
        }
    }
    assert!(agreed > 50, "{agreed} recordings agree");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
