//! What recorded processes that still run have for their root.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::answering::metadata;

/// Processes that still run whose files are looked at.
const ROOTS_MAX: usize = 64;

/// The roots of recorded processes that still run, where they see other files than this one: a
/// container has its own under the recorded paths, and so has who mounted something for himself.
/// A process id may have gone to another process since; its files pass the gate or they don't.
pub fn foreign_roots(mut pids: Vec<u32>) -> Vec<PathBuf> {
    let view = |process: &str| {
        let root = metadata(Path::new(&format!("/proc/{process}/root")))?;
        let mounts = fs::metadata(format!("/proc/{process}/ns/mnt")).ok()?;
        Some((root.dev(), root.ino(), mounts.ino()))
    };
    let mut known: HashSet<_> = view("self").into_iter().collect();
    pids.sort_unstable();
    pids.dedup();
    let is_other = |pid: &u32| view(&pid.to_string()).is_some_and(|view| known.insert(view));
    let roots = pids.into_iter().filter(is_other).take(ROOTS_MAX);
    roots.map(|pid| PathBuf::from(format!("/proc/{pid}/root"))).collect()
}
