//! Fields of tracepoints, found through the recording's own description of them, are those that
//! perf prints.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use perftab_perfdata::decode::event_format::{EventFormat, SchedSwitchFields, SchedWakeupFields};
use perftab_perfdata::decode::tracing_data::TracingData;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::perf::until_the_kernel_lets;
use perftab_tests::perftab_binary;

const EVENTS: &str = "sched:sched_switch,sched:sched_wakeup,sched:sched_process_exec,\
                      syscalls:sys_enter_openat,irq:softirq_entry";

#[test]
fn fields_of_tracepoints_are_those_that_perf_prints() {
    let folder = TestFolder::new();
    let path = folder.join("perf.data");
    let Some(()) = record(&path) else { return };
    let bytes = fs::read(&path).expect("perf wrote it");
    let file = PerfData { bytes: &bytes };

    let (data, read) = TracingData::read(file.feature(1), 0);
    assert_eq!(read, Ok(()));

    let mut ours = BTreeMap::new();
    for raw in file.raw_data() {
        let format = data.formats.by_id(u16_at(raw, 0).into()).expect("it is described");
        *ours.entry(rendered(format, raw)).or_insert(0) += 1;
    }
    let names = ["sched_switch", "sched_wakeup", "sched_process_exec", "sys_enter_openat"];
    for name in names {
        assert!(ours.keys().any(|line| line.contains(name)), "no {name} was recorded");
    }
    let printed = perf_prints(&path);
    assert_eq!(ours, printed);
}

/// To the letter, but for what perf 6.1 gets wrong: the `+` of a thread that was preempted.
#[test]
fn tracepoints_say_what_perf_has_them_say() {
    let folder = TestFolder::new();
    let path = folder.join("perf.data");
    let Some(()) = record(&path) else { return };
    let perf = Command::new("perf");
    let [ours, perfs] = [Command::new(perftab_binary()), perf].map(|mut command| {
        command.args(["script", "-F", "comm,tid,time,event,trace", "-i"]).arg(&path);
        let output = command.ended().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout).replace("state=R+ ", "state=R ");
        text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>()
    });
    assert_eq!(ours, perfs);
    for words in
        ["softirq_entry: vec=1 [action=TIMER]", "prev_state=S ==> next_comm=", "filename=/"]
    {
        assert!(ours.iter().any(|line| line.contains(words)), "nothing says {words}");
    }
}

/// Every field of a sample, in the words of the event's print format.
fn rendered(format: &EventFormat, raw: &[u8]) -> String {
    let value = |name: &str| {
        let field = format.field(name).unwrap_or_else(|| panic!("{name} is a field"));
        field.read(raw).expect("it is in the sample").to_string()
    };
    let named = |names: &[&str]| {
        names.iter().map(|name| format!("{name}={}", value(name))).collect::<Vec<_>>().join(" ")
    };
    let text = match format.name.as_str() {
        "sched_switch" => {
            let fields = SchedSwitchFields::of(format).expect("it is a switch");
            let switch = fields.read(raw).expect("it is in the sample");
            assert_eq!(switch.prev_comm.as_deref(), Some(value("prev_comm").as_str()));
            assert_eq!(switch.prev_tid.to_string(), value("prev_pid"));
            assert_eq!(switch.next_comm.as_deref(), Some(value("next_comm").as_str()));
            assert_eq!(switch.next_tid.to_string(), value("next_pid"));
            format!(
                "{} prev_state={} ==> {}",
                named(&["prev_comm", "prev_pid", "prev_prio"]),
                state(switch.prev_state),
                named(&["next_comm", "next_pid", "next_prio"]),
            )
        }
        "sched_wakeup" => {
            let tid = SchedWakeupFields::of(format).expect("it wakes").tid(raw);
            assert_eq!(tid.map(|tid| tid.to_string()), Some(value("pid")));
            let cpu: u32 = value("target_cpu").parse().expect("a number");
            format!("{} target_cpu={cpu:03}", named(&["comm", "pid", "prio"]))
        }
        "sched_process_exec" => named(&["filename", "pid", "old_pid"]),
        "softirq_entry" => named(&["vec"]),
        "sys_enter_openat" => {
            let hex = |name| {
                let number = format.field(name).and_then(|field| field.read_u64(raw));
                format!("{name}: 0x{:08x}", number.expect("a number"))
            };
            // An int in a register: perf prints its low half.
            let file = format.field("dfd").and_then(|field| field.read_u64(raw));
            let others = ["filename", "flags", "mode"].map(hex).join(", ");
            format!("dfd: 0x{:08x}, {others}", file.expect("a number") as u32)
        }
        other => panic!("{other} was not recorded"),
    };
    format!("{}: {text}", format.event_name())
}

/// The letters of `sched_switch`'s print format (include/trace/events/sched.h).
fn state(bits: u64) -> String {
    let letters: Vec<String> = "SDTtXZPI"
        .chars()
        .enumerate()
        .filter(|(bit, _)| bits >> bit & 1 == 1)
        .map(|(_, letter)| letter.to_string())
        .collect();
    let letters = if letters.is_empty() { "R".to_owned() } else { letters.join("|") };
    format!("{letters}{}", if bits & 0x100 != 0 { "+" } else { "" })
}

/// `None` where perf cannot record tracepoints; says so.
fn record(output: &Path) -> Option<()> {
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-a", "-e", EVENTS, "-o"]).arg(output).args([
        "--",
        "sh",
        "-c",
        "for i in 1 2 3 4; do ls / > /dev/null; sleep 0.01; done",
    ]);
    let why = match until_the_kernel_lets(&mut perf) {
        Ok(recorded) if recorded.status.success() => return Some(()),
        Ok(recorded) => String::from_utf8_lossy(&recorded.stderr).lines().next().map(str::to_owned),
        Err(_) => Some("perf is not installed".to_owned()),
    };
    let test = "fields_of_tracepoints_are_those_that_perf_prints";
    println!("SKIPPED: {test}: {}", why.as_deref().unwrap_or("perf record fails"));
    None
}

/// `event: fields` and how often perf prints that.
fn perf_prints(path: &Path) -> BTreeMap<String, u64> {
    let output = Command::new("perf")
        .args(["script", "-F", "event,trace", "-i"])
        .arg(path)
        .ended()
        .expect("perf runs");
    let mut lines = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let line = line.trim();
        // The name of an interrupt is a table in the print format.
        let line = line.split_once(" [action=").map_or(line, |(line, _)| line);
        *lines.entry(line.to_owned()).or_insert(0) += 1;
    }
    lines
}

/// A little-endian file with one sample type, read without core.
struct PerfData<'a> {
    bytes: &'a [u8],
}

impl<'a> PerfData<'a> {
    fn u64(&self, offset: usize) -> usize {
        u64_at(self.bytes, offset) as usize
    }

    fn feature(&self, wanted: u32) -> &'a [u8] {
        assert!(self.u64(72) >> wanted & 1 == 1, "the file has the feature");
        let before = (self.u64(72) & ((1 << wanted) - 1)).count_ones() as usize;
        let entry = self.u64(40) + self.u64(48) + 16 * before;
        &self.bytes[self.u64(entry)..][..self.u64(entry + 8)]
    }

    /// The RAW field of every sample.
    fn raw_data(&self) -> Vec<&'a [u8]> {
        const RAW: usize = 1 << 10;
        // READ and CALLCHAIN have no fixed size; everything else before RAW has eight bytes.
        const SIZELESS: usize = 1 << 4 | 1 << 5;
        const BEFORE: usize = 1 << 16 | 0b11_1100_1111 & !SIZELESS;
        let sample_type = self.u64(self.u64(24) + 24);
        assert!(sample_type & RAW != 0 && sample_type & SIZELESS == 0, "{sample_type:#x}");
        let at = 8 + 8 * (sample_type & BEFORE).count_ones() as usize;
        let mut records = &self.bytes[self.u64(40)..][..self.u64(48)];
        let mut raw = Vec::new();
        while !records.is_empty() {
            let (record, rest) = records.split_at(u16_at(records, 6).into());
            if u16_at(record, 0) == 9 {
                let size = u16_at(record, at) as usize;
                raw.push(&record[at + 4..][..size]);
            }
            records = rest;
        }
        raw
    }
}

fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes(bytes[offset..][..2].try_into().expect("two bytes"))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..][..8].try_into().expect("eight bytes"))
}
