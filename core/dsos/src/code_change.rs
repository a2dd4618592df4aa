//! What a process says of the code that it makes, as files and profiles share it.

/// From a time on, code of one function is at these addresses of a process, or none of it is there any
/// more. Whatever else had a part in them is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeChange {
    /// Nanoseconds of the recording's clock; 0 for what was so all along.
    pub time_nanos: u64,
    /// First address.
    pub start: u64,
    /// First address after it; more than `start`.
    pub end: u64,
    /// What is there; `None`: nothing.
    pub code: Option<MadeCode>,
}

/// Code of one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeCode {
    /// Where it begins, as frames count it: its offset in a jitdump, the address for a perf map.
    pub offset: u64,
    /// Number of its name in the table that says so.
    pub name: u32,
}

/// The process that writes a perf map of this name.
pub fn pid_of_perf_map(name: &str) -> Option<u32> {
    pid_between(name, "perf-", ".map")
}

/// The process that writes a jitdump of this name, by its own number.
pub fn pid_of_jitdump(name: &str) -> Option<u32> {
    pid_between(name, "jit-", ".dump")
}

fn pid_between(name: &str, before: &str, after: &str) -> Option<u32> {
    let base = name.rsplit(['/', '\\']).next().unwrap_or(name);
    base.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
}
