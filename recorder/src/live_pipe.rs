//! The pipe that standard input may be: whether a recording comes from it, and who writes it.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::time::SystemTime;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;

use crate::images::code_of_processes::started;
use crate::output::notice;

/// How long a pipe may stay empty before anything is said of it, or a file is read instead.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Whether a recording comes from standard input where none is named, as in `perf record -o - | perf report`.
///
/// Commands of ssh and of services have a pipe, too, that nobody writes and nobody closes; perf waits for it.
pub fn brings_recording(usual: &Path) -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let input = io::stdin();
        let of_mode = |stat: rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode);
        if !rustix::fs::fstat(&input).is_ok_and(|stat| of_mode(stat) == FileType::Fifo) {
            return false;
        }
        let mut polled = [PollFd::new(&input, PollFlags::IN)];
        let is_silent = |ready| ready == Ok(0);
        let mut ready = poll(&mut polled, Some(&PATIENCE));
        if is_silent(ready) && recorder_started().is_some() {
            ready = poll(&mut polled, None);
        } else if is_silent(ready) && !usual.exists() {
            notice(format_args!(
                "there is no {}: waiting for a recording from standard input, which is a pipe",
                usual.display()
            ));
            ready = poll(&mut polled, None);
        }
        if is_silent(ready) {
            notice(format_args!(
                "nothing has come through the pipe that standard input is: reading {}; - waits for the pipe",
                usual.display()
            ));
        }
        polled[0].revents().contains(PollFlags::IN)
    })
}

/// When the `perf record` was started that is at the other end of standard input now: its recording was begun after that.
/// `None` where somebody else writes, who may have it from anywhere, or where this user may not know.
pub fn recorder_started() -> Option<SystemTime> {
    let of = |pid: &str, link: &str| fs::read_link(Path::new("/proc").join(pid).join(link)).ok();
    let pipe = of("self", "fd/0").filter(|it| it.to_string_lossy().starts_with("pipe:["))?;
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().into_string().ok());
    let writers = numbers.filter(|pid| of(pid, "fd/1").as_ref() == Some(&pipe));
    let recorders = writers.filter(|pid| {
        let arguments = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        of(pid, "exe").is_some_and(|program| records(&program, &arguments))
    });
    recorders.filter_map(|pid| started(pid.parse().ok()?)).max()
}

/// Whether a program with such arguments writes a recording of its own to its standard output. Those of perf are called
/// perf_6.1 and the like, too; `perf inject` passes on what another has recorded.
fn records(program: &Path, arguments: &str) -> bool {
    let is_perf = program.file_name().is_some_and(|name| {
        let name = name.to_string_lossy();
        name == "perf" || name.starts_with("perf_") || name == "perftab"
    });
    let mut arguments = arguments.split('\0').skip(1);
    if !is_perf || arguments.by_ref().find(|it| !it.starts_with('-')) != Some("record") {
        return false;
    }
    let arguments: Vec<_> = arguments.collect();
    let follows = |option: &str| {
        let at = arguments.iter().position(|it| *it == option);
        at.and_then(|at| arguments.get(at + 1).copied())
    };
    let within = |option| arguments.iter().find_map(|it| it.strip_prefix(option));
    let outputs = [
        follows("-o"),
        follows("--output"),
        within("--output="),
        within("-o").filter(|it| !it.is_empty()),
    ];
    outputs.iter().flatten().any(|it| *it == "-") || outputs.iter().all(Option::is_none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorder_is_perf_that_records_to_its_output() {
        let is = |program: &str, arguments: &[&str]| {
            records(Path::new(program), &[&["perf"], arguments, &[""]].concat().join("\0"))
        };
        for recorder in [
            &["record", "-o", "-", "-a"][..],
            &["record", "-o-", "true"],
            &["--no-pager", "record", "--output=-", "cc", "-o", "x"],
            &["record", "-a"],
        ] {
            assert!(is("/usr/bin/perf_6.1", recorder), "{recorder:?}");
        }
        for other in [
            &["record", "-o", "perf.data", "-a"][..],
            &["record", "-ofile"],
            &["inject", "-i", "record", "-o", "-"],
            &[],
        ] {
            assert!(!is("/usr/bin/perf", other), "{other:?}");
        }
        assert!(!is("/usr/bin/cat", &["record"]) && !is("/usr/bin/perforate", &["record"]));
    }
}
