//! `cargo xtask sample`: records the profile that the page carries for those who have none yet.
//!
//! It is real: a program of ours (`www/sample/mill.c`), recorded by perftab, with the program's own
//! file for its names. libc is left out, so that something is left to be matched. No two runs come
//! out the same, so both files are kept; they are made anew when the program changes.

use crate::finish::Finish;
use crate::page::{self, BuildOptions};
use crate::steps::{output, root, run, step};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = "mill";
const RECORDING: &str = "mill.perf.data";

/// What both files may have together, packed: the page holds them in base64, a third larger.
const MOST_BYTES: u64 = 20_000;

/// Samples per second: what fits, and enough to be read.
const FREQUENCY: &str = "99";

/// Compiles, records, packs.
pub fn sample() -> Result<()> {
    let perftab = page::build(Finish::Shipped, &BuildOptions::default())?;
    // Paths are in the recording, and in the program's lines: they say nothing of this machine.
    let folder = std::env::temp_dir().join(PROGRAM);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    fs::copy(&perftab, folder.join("perftab"))?;
    step("Compile the sample's program", || compile(&folder))?;
    step("Record it for ten seconds", || record(&folder))?;
    step("Pack program and recording", || pack(&folder))
}

fn compile(folder: &Path) -> Result<()> {
    let source = root().join("www/sample");
    run(Command::new("gcc")
        .args(["-O2", "-fno-omit-frame-pointer", "-Wl,--build-id=sha1"])
        // Functions, inlined ones and lines; of variables and columns nothing is shown.
        .args(["-g1", "-gno-column-info"])
        .arg(format!("-ffile-prefix-map={}=mill", source.display()))
        .arg("-o")
        .arg(folder.join(PROGRAM))
        .arg(source.join("mill.c"))
        .args(["-lm", "-lpthread"])
        .current_dir(folder))
}

/// On a host of a name of its own, with no home: neither is this machine's.
fn record(folder: &Path) -> Result<()> {
    let command = format!(
        "hostname mill-01 && exec perftab record -q -g -F {FREQUENCY} -o {RECORDING} -- ./{PROGRAM}"
    );
    let path = std::env::var("PATH").context("PATH is not set")?;
    run(Command::new("unshare")
        .args(["--uts", "sh", "-c", &command])
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("HOME", folder)
        .current_dir(folder))
}

fn pack(folder: &Path) -> Result<()> {
    let mut total = 0;
    for name in [RECORDING, PROGRAM] {
        run(Command::new("xz").args(["-9e", "-k", name]).current_dir(folder))?;
        let packed = format!("{name}.xz");
        total += fs::copy(folder.join(&packed), root().join("www/sample").join(&packed))?;
    }
    println!("    {:.1} kB", total as f64 / 1000.0);
    if total > MOST_BYTES {
        bail!("the sample has {total} bytes, over {MOST_BYTES}; record fewer samples");
    }
    let info =
        output(Command::new(folder.join("perftab")).args(["info", RECORDING]).current_dir(folder))?;
    println!("{info}");
    Ok(())
}
