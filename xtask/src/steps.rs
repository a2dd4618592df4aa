//! Steps: announced, timed, and not repeated.
//!
//! Work that is not Cargo's own (Cargo knows what is fresh) is remembered by a stamp: a hash of the
//! contents of all inputs, written when the work has succeeded. Contents, not times, because a
//! clone or a branch switch changes times of files that are the same.

use anyhow::{Context, Result, bail};
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsStr;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The repository's folder.
pub fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// A path in the repository's `target` folder, wherever Cargo builds to.
pub fn target(path: &str) -> PathBuf {
    root().join("target").join(path)
}

/// Does `work` under a title, and says how long it took.
pub fn step<T>(title: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("==> {title}");
    let started = Instant::now();
    let result = work().with_context(|| format!("step “{title}”"))?;
    println!("    {}", seconds(started.elapsed()));
    Ok(result)
}

/// As [`step`], unless the same inputs made the `outputs` before and those are still there.
///
/// `name` is that of the stamp. Folders among the inputs count with all files below them, except
/// `node_modules`, which the lock file stands for.
pub fn step_once(
    name: &str,
    title: &str,
    inputs: &[&Path],
    outputs: &[&Path],
    work: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let stamp = target("xtask").join(format!("{name}.stamp"));
    let hash = content_hash(inputs)?;
    let known = fs::read_to_string(&stamp).is_ok_and(|known| known == hash);
    if known && outputs.iter().all(|output| output.exists()) {
        println!("==> {title}: up to date");
        return Ok(());
    }
    step(title, work)?;
    fs::create_dir_all(target("xtask"))?;
    fs::write(&stamp, hash).with_context(|| format!("writing {}", stamp.display()))
}

/// A hash of names and contents, for comparison on this machine only.
fn content_hash(inputs: &[&Path]) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for input in inputs {
        hash_path(input, &mut hasher)?;
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn hash_path(path: &Path, hasher: &mut DefaultHasher) -> Result<()> {
    path.hash(hasher);
    if path.is_dir() {
        let mut entries: Vec<PathBuf> = fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        entries.retain(|entry| !entry.ends_with("node_modules"));
        entries.sort();
        entries.iter().try_for_each(|entry| hash_path(entry, hasher))
    } else {
        fs::read(path).with_context(|| format!("reading {}", path.display()))?.hash(hasher);
        Ok(())
    }
}

/// Runs a command to its end; its output is the user's to see.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting {}", line(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", line(command));
    }
    Ok(())
}

/// Runs a command and gives its standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("starting {}", line(command)))?;
    if !output.status.success() {
        bail!("{} ended with {}", line(command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("output of {}", line(command)))
}

/// Whether a command of this name is on the path.
pub fn have(command: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(command).is_file()))
}

/// Whether a command starts and ends well; its output is nobody's to see.
pub fn starts(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether this runs as root.
pub fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// The Cargo that started this, in the repository's folder.
pub fn cargo() -> Command {
    named_cargo(&std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A certain Cargo, without what `cargo run` tells xtask about xtask: some build scripts of others
/// watch those variables, and would rebuild whenever a build by hand follows one of ours.
pub fn named_cargo(program: &OsStr) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    let about_xtask = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
    for (name, _) in std::env::vars_os() {
        if about_xtask.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command
}

/// What Cargo is told when it builds: to a terminal it shows how far it is.
pub fn quiet() -> Option<&'static str> {
    (!std::io::stderr().is_terminal()).then_some("--quiet")
}

/// A command as one would type it, for messages.
pub fn line(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

/// “12.3 s”.
pub fn seconds(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
}
