//! How many files may be open.

/// As many as permitted: many threads on many CPUs need one for each counter, and a program may have thousands
/// of files with debug information.
pub fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Refused: then opening says so.
    let _ = setrlimit(Resource::Nofile, limit);
}
