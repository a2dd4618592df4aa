//! `cargo xtask fixtures`: writes the recordings in `tests/fixtures`, and beside each what perftab
//! says of it.
//!
//! Those that the synthesiser makes come out the same every time. Those that perf records
//! (`--record`) never do; they are made anew when the list below changes, and what perftab says of
//! them is then read in review as if it were written by hand.

use crate::steps::{cargo, root, run, step};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[derive(Args)]
pub struct FixturesOptions {
    /// Also record those of perf anew, with the perf and the kernel of this machine
    #[arg(long)]
    record: bool,
}

/// Name and how it is made, in words of `sh`: `$OUT` is the recording, `$RECORD` is perf with 1,999
/// samples a second, `$PROGRAM` what runs; others are named as they are written here.
const RECORDINGS: &[(&str, &str)] = &[
    ("fp", "$RECORD -e cpu-clock -g -o $OUT $PROGRAM"),
    ("dwarf", "$RECORD -e cpu-clock -F 499 --call-graph dwarf,512 -o $OUT $PROGRAM"),
    ("tracepoints", "$RECORD -e sched:sched_switch,sched:sched_wakeup -g -o $OUT $PROGRAM"),
    ("zstd", "$RECORD -e cpu-clock -g -z -o $OUT $PROGRAM"),
    ("threads", "$RECORD -e cpu-clock -g --threads -o $OUT $PROGRAM"),
    ("threads-zstd", "$RECORD -e cpu-clock -g -z --threads -o $OUT $PROGRAM"),
    ("several", "$RECORD -e cpu-clock,task-clock:u,page-faults,context-switches -o $OUT $PROGRAM"),
    ("group", "$RECORD -e {cpu-clock,task-clock,context-switches}:S -g -o $OUT $PROGRAM"),
    ("switches", "$RECORD -e cpu-clock --switch-events -g -o $OUT $PROGRAM"),
    ("namespaces", "$RECORD -e cpu-clock --namespaces -o $OUT $PROGRAM"),
    ("cgroups", "$RECORD -e cpu-clock --all-cgroups -o $OUT $PROGRAM"),
    ("buildid-mmap", "$RECORD -e cpu-clock -g --buildid-mmap -o $OUT $PROGRAM"),
    ("registers", "$RECORD -e cpu-clock --user-regs=ip,sp,bp --intr-regs=ip,sp -o $OUT $PROGRAM"),
    ("addresses", "perf record -q -e page-faults -c 1 -d --data-page-size -o $OUT $PROGRAM"),
    ("clock", "$RECORD -e cpu-clock -k CLOCK_MONOTONIC -o $OUT $PROGRAM"),
    ("read", "$RECORD -e cpu-clock -s --sample-cpu -o $OUT $PROGRAM"),
    ("without-ids", "perf record -q -e cpu-clock -B -c 1000000 -o $OUT $PROGRAM"),
    ("overwritten", "$RECORD -e cpu-clock --overwrite --tail-synthesize -o $OUT $PROGRAM"),
    ("dummy", "$RECORD -e dummy,cpu-clock:k -g -o $OUT $PROGRAM"),
    ("pipe", "$RECORD -e cpu-clock -g -o - $PROGRAM > $OUT"),
    ("pipe-zstd", "$RECORD -e cpu-clock -g -z -o - $PROGRAM > $OUT"),
    ("pipe-tracepoints", "$RECORD -e sched:sched_switch -g -o - $PROGRAM > $OUT"),
    ("pipe-stderr", "perf record -F 1999 -e cpu-clock -o - $PROGRAM > $OUT 2>&1"),
    ("stat", "perf stat record -o $OUT -e task-clock,page-faults $PROGRAM"),
    ("injected", "perf inject -b -i perf-fp.perf.data -o $OUT"),
    ("injected-from-pipe", "perf inject -i perf-pipe.perf.data -o $OUT"),
    ("injected-pipe", "perf inject -b < perf-pipe.perf.data > $OUT"),
    ("cut", "head -c 5000 perf-fp.perf.data > $OUT"),
    ("gzip", "gzip -9nc perf-fp.perf.data > $OUT"),
    ("xz", "xz -c perf-pipe.perf.data > $OUT"),
    ("zst", "zstd -qc perf-tracepoints.perf.data > $OUT"),
];

/// Largest recording that is kept: all are cloned by everybody, and read many times in tests.
const MOST_BYTES: u64 = 64 << 10;

/// Writes them.
pub fn fixtures(options: &FixturesOptions) -> Result<()> {
    if options.record {
        step("Record fixtures with perf", record)?;
    }
    step("Write the synthesised fixtures, and what perftab says of all", || {
        let mut tests = cargo();
        tests.args(["test", "--quiet", "--package=perftab-tests", "--test=pure", "as_written"]);
        run(tests.env("PERFTAB_BLESS", "1"))
    })
}

/// Records in a folder whose name says nothing of this machine, since the recordings have it.
fn record() -> Result<()> {
    let folder = std::env::temp_dir().join("perftab-fixtures");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    run(Command::new("gcc")
        .args(["-g", "-O1", "-fno-omit-frame-pointer", "-pthread"])
        .arg("-Wl,--build-id=0x4a4b0c0d4a4b0c0d4a4b0c0d4a4b0c0d4a4b0c0d")
        .arg("-o")
        .args([&folder.join("harbour"), &root().join("tests/programs/harbour.c")]))?;
    for (name, words) in RECORDINGS {
        run(shell(&folder, name, words).stderr(Stdio::null()))?;
    }
    killed(&folder)?;
    for (name, _) in RECORDINGS.iter().chain([&("killed", "")]) {
        keep(&folder.join(file(name)), &root().join("tests/fixtures").join(file(name)))?;
    }
    fs::remove_dir_all(&folder)?;
    Ok(())
}

fn file(name: &str) -> String {
    format!("perf-{name}.perf.data")
}

/// `sh`, on a host called `fixture`, with a home of its own: perf fills its cache there.
fn shell(folder: &Path, name: &str, words: &str) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--uts", "sh", "-c", &format!("hostname fixture && {words}")])
        .current_dir(folder)
        .env("HOME", folder)
        .env("OUT", file(name))
        .env("RECORD", "perf record -q -F 1999")
        .env("PROGRAM", folder.join("harbour"));
    command
}

/// A recorder that is killed once it has written something: its file says that it holds nothing.
fn killed(folder: &Path) -> Result<()> {
    // What is recorded outlives the recorder, but not for long.
    let runs = "sh -c 'for run in $(seq 100); do $PROGRAM; done'";
    let words = format!("exec $RECORD -F 9999 -m 1 -e cpu-clock -g -o $OUT -- {runs}");
    let mut recorder =
        shell(folder, "killed", &words).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let recording = folder.join(file("killed"));
    let began = Instant::now();
    while fs::metadata(&recording).map_or(0, |metadata| metadata.len()) < MOST_BYTES / 4 {
        if began.elapsed() > Duration::from_secs(20) {
            bail!("perf record writes nothing to {}", recording.display());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    recorder.kill()?;
    recorder.wait()?;
    Ok(())
}

/// Copies a recording, a file or a folder of files, into the place of the last one.
fn keep(from: &Path, to: &Path) -> Result<()> {
    let copy = |from: &Path, to: &Path| -> Result<u64> {
        fs::write(to, fs::read(from).with_context(|| from.display().to_string())?)?;
        Ok(fs::metadata(to)?.len())
    };
    let size = if from.is_dir() {
        fs::create_dir_all(to)?;
        let mut size = 0;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            size += copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        size
    } else {
        copy(from, to)?
    };
    if size > MOST_BYTES {
        bail!("{} has {size} bytes, more than {MOST_BYTES}", to.display());
    }
    Ok(())
}
