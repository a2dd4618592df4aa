//! Samples as `perftab script` and `perf script` print them.
//!
//! perf 6.1 prints addresses of user code as offsets in their file; the words that were recorded
//! are in its dump (`-D`), so both are asked for at once.

use std::path::Path;
use std::process::Command;

use crate::child_process::LimitedCommand;
use crate::perftab_binary;

/// Markers of a call chain and everything else from -4095 on.
const FIRST_MARKER: u64 = -4095i64 as u64;

/// What is said of one sample.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PrintedSample {
    /// When.
    pub nanoseconds: u64,
    /// Name of the thread.
    pub comm: String,
    /// `pid/tid`.
    pub task: String,
    /// `[000]`.
    pub cpu: String,
    /// How much it stands for.
    pub period: u64,
    /// Name of the event.
    pub event: String,
    /// Words of the call chain that are no markers.
    pub addresses: Vec<u64>,
}

/// `comm pid/tid [cpu] seconds.nanoseconds: period event:`, with any number of spaces between, CPU
/// and time perhaps left out.
pub fn head(line: &str) -> Option<PrintedSample> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_task = |word: &&str| {
        let is_number = |text: &str| text.parse::<i32>().is_ok();
        word.split_once('/').is_some_and(|(pid, tid)| is_number(pid) && is_number(tid))
    };
    let task = words.iter().position(is_task)?;
    let rest = &words[task + 1..];
    // Behind it stands what a tracepoint says.
    let is_event = |word: &&str| {
        word.strip_suffix(':').is_some_and(|name| name.contains(|it: char| it.is_alphabetic()))
    };
    let place = rest.iter().position(is_event)?;
    let event = rest[place];
    let (&period, rest) = rest[..place].split_last()?;
    let cpu = rest.iter().find(|word| word.starts_with('[')).unwrap_or(&"[-]");
    let time = rest.iter().find_map(|word| word.strip_suffix(':')).unwrap_or("-");
    Some(PrintedSample {
        nanoseconds: match time.split_once('.') {
            Some((seconds, rest)) if rest.len() == 9 => format!("{seconds}{rest}").parse().ok()?,
            None if time == "-" => 0,
            _ => return None,
        },
        comm: words[..task].join(" "),
        task: words[task].to_owned(),
        cpu: (*cpu).to_owned(),
        period: period.parse().ok()?,
        event: event.strip_suffix(':')?.to_owned(),
        addresses: Vec::new(),
    })
}

/// By `perftab script`, without names.
pub fn by_perftab(recording: &Path) -> Vec<PrintedSample> {
    let output = Command::new(perftab_binary())
        .args(["script", "--no-local"])
        .arg(recording)
        .env_remove("DEBUGINFOD_URLS")
        .ended()
        .expect("perftab runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let mut samples: Vec<PrintedSample> = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some(detail) = line.strip_prefix('\t') else {
            samples.extend((!line.is_empty()).then(|| head(line).expect(line)));
            continue;
        };
        let address = detail.split_whitespace().next().expect("an address");
        if detail.starts_with(' ') || u64::from_str_radix(address, 16).is_ok() {
            let address = u64::from_str_radix(address, 16).expect("an address");
            samples.last_mut().expect("a sample").addresses.push(address);
        }
    }
    samples
}

/// What perf prints.
pub struct PerfScript {
    /// Its samples.
    pub samples: Vec<PrintedSample>,
    /// Whether it read all of the recording; it stops at what it does not know.
    pub read_all: bool,
    /// Fields that this recording does not have.
    pub without: Vec<&'static str>,
    /// What it said beside.
    pub said: String,
}

/// By `perf script`; without the fields that it says the samples do not have.
pub fn by_perf(recording: &Path) -> PerfScript {
    let mut without = Vec::new();
    loop {
        let fields = ["comm", "pid", "tid", "cpu", "time", "period", "event"];
        let fields: Vec<&str> =
            fields.into_iter().filter(|field| !without.contains(field)).collect();
        let (samples, said, read_all) = dump(recording, &fields.join(","));
        let missing = ["cpu", "time", "period"].into_iter().find(|field| {
            !without.contains(field) && said.contains(&format!("Cannot print '{field}' field"))
        });
        match missing {
            Some(field) => without.push(field),
            None => return PerfScript { samples, read_all, without, said },
        }
    }
}

/// The dump of a record, and after it a line for each sample that it is.
fn dump(recording: &Path, fields: &str) -> (Vec<PrintedSample>, String, bool) {
    let output = Command::new("perf")
        .args(["script", "-D", "--ns", "-F", fields, "-i"])
        .arg(recording)
        .ended()
        .expect("perf runs");
    let mut samples = Vec::new();
    let mut chain: Vec<u64> = Vec::new();
    let mut pointer = None;
    // Of a sample in the kernel with a copy of the user stack: where user space called it.
    let mut called = None;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some((_, record)) = line.split_once("PERF_RECORD_SAMPLE(") {
            // `IP, 0x2): 12/12: 0x7f00 period: 1 addr: 0`
            let word = record.split(": ").nth(2).and_then(|rest| rest.split(' ').next());
            let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
            (pointer, chain, called) = (word.and_then(hex), Vec::new(), None);
        } else if line.contains(": PERF_RECORD_") {
            pointer = None;
        } else if let Some((_, word)) =
            line.strip_prefix(".....").and_then(|it| it.split_once(": "))
        {
            if let Ok(word) = u64::from_str_radix(word, 16) {
                chain.extend((word < FIRST_MARKER).then_some(word));
            }
        } else if let Some(value) =
            ["IP", "PC"].iter().find_map(|name| line.strip_prefix(&format!(".... {name} ")))
        {
            called = u64::from_str_radix(value.trim().trim_start_matches("0x"), 16).ok();
        } else if let (Some(pointer), Some(sample)) = (pointer, head(line)) {
            let is_in_kernel = pointer >> 63 == 1;
            chain.extend(called.take().filter(|_| is_in_kernel && !chain.is_empty()));
            let addresses = if chain.is_empty() { vec![pointer] } else { chain.clone() };
            samples.push(PrintedSample { addresses, ..sample });
        }
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (samples, said, output.status.success())
}
