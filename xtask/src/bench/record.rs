//! What recording costs, beside perf: processor time, what is lost, bytes, and how long the recorder stays.

use super::goals::Row;
use super::{Cost, cost};
use crate::steps::{output, root, step, target};
use anyhow::Result;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// How long a workload is recorded that runs anyway.
const ATTACHED_SECONDS: &str = "10";

/// Measures, and says how far the goals are met.
pub fn goals(binary: &Path, workload: &Path, runs: usize) -> Result<Vec<Row>> {
    fs::create_dir_all(target("bench"))?;
    let perf = Path::new("perf");
    let (ours, theirs) =
        step("Attach to a workload for ten seconds, with perftab and perf", || {
            let busy = Busy::begin(workload)?;
            let pid = busy.0.id().to_string();
            let how = ["-F", "999", "-p", &pid];
            in_turn(
                runs,
                |program| recorded(program, &how, &["sleep", ATTACHED_SECONDS]),
                binary,
                perf,
            )
        })?;
    let (stays, of_perf) = step("Record a second of nothing", || {
        in_turn(runs, |program| recorded(program, &[], &["sleep", "1"]), binary, perf)
    })?;
    let fast = step("Record the whole system at 19,999 Hz", || {
        let _busy = Busy::begin(workload)?;
        recorded(binary, &["-a", "-F", "19999"], &["sleep", "5"])?;
        said(binary)
    })?;
    let samples = fast["samples"].as_f64().unwrap_or(f64::NAN);
    let lost = fast["lost"]["samples"].as_f64().unwrap_or(f64::NAN);
    let bytes = fs::metadata(recording())?.len() as f64;
    let delay = |cost: &Cost| 1000.0 * (cost.wall_seconds - 1.0).max(0.0);
    println!(
        "    attached: {:.3} and {:.3} s of CPU; begin and exit: {:.0} and {:.0} ms",
        ours.cpu_seconds,
        theirs.cpu_seconds,
        delay(&stays),
        delay(&of_perf)
    );
    Ok(vec![
        Row::ratio(
            "record -p at 999 Hz / perf record, CPU",
            ours.cpu_seconds / theirs.cpu_seconds,
            0.3,
        ),
        Row::number("record: delay at begin and exit", delay(&stays).round(), 50.0, "ms"),
        Row::number("record -a at 19,999 Hz: bytes a sample", bytes / samples, 60.0, "B"),
        Row::unknown(
            "record -z: bytes a sample",
            12.0,
            "B",
            "not there yet: perftab record does not compress",
        ),
        Row::number("record -a at 19,999 Hz: samples lost", lost, 0.0, "samples"),
    ])
}

/// Something that keeps a processor busy until it is dropped.
struct Busy(Child);

impl Busy {
    fn begin(workload: &Path) -> Result<Self> {
        let mut command = Command::new(root().join("tests/workloads/bench.sh"));
        command.arg(workload).arg("1000").stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(command.spawn()?))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // What it has begun ends soon by itself.
        let _killed = self.0.kill();
        let _ended = self.0.wait();
    }
}

fn recording() -> PathBuf {
    target("bench/recorded.perf.data")
}

fn in_turn(
    runs: usize,
    measure: impl Fn(&Path) -> Result<Cost>,
    ours: &Path,
    theirs: &Path,
) -> Result<(Cost, Cost)> {
    let (mut of_ours, mut of_theirs) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        of_ours.push(measure(ours)?);
        of_theirs.push(measure(theirs)?);
    }
    Ok((Cost::median_of(&of_ours), Cost::median_of(&of_theirs)))
}

fn recorded(program: &Path, how: &[&str], command: &[&str]) -> Result<Cost> {
    let mut record = Command::new(program);
    record.args(["record", "-q", "-g", "-e", "cpu-clock", "-o"]).arg(recording());
    cost(record.args(how).arg("--").args(command), 1)
}

fn said(binary: &Path) -> Result<Value> {
    let info =
        output(Command::new(binary).args(["info", "--json", "--no-local"]).arg(recording()))?;
    Ok(serde_json::from_str(&info)?)
}
