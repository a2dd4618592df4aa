//! What processes of the recording say of the code that they made, where this machine is the one that it was made on.
//!
//! | place | what | whose |
//! |---|---|---|
//! | the path of a mapping `…/jit-PID.dump` | jitdump | the inode must be the one that was mapped |
//! | `/tmp/perf-PID.map` | perf map | by its number: see below |
//!
//! Both are looked for below `/proc/PID/root` first, as long as the process lives: a container has files and numbers of
//! its own. A perf map says no more than a number, which another process may have had before or since. So it is taken
//! only if this host has the name of the recording's, if it was not begun after the recording's end, and if it is the
//! process's own user's or ours: `/tmp` is everybody's. The session holds it against what ran.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use perftab_core::session::{CodeWanted, RecordedJitdump, Session};
use perftab_core::{CodeTable, Image, pid_of_jitdump};

use rustix::fs::{Mode, OFlags};

use crate::file_source::FileSource;

/// Processes that are looked at.
const PROCESSES_MAX: usize = 1024;

/// A file that a process may have written.
struct Candidate {
    pid: u32,
    path: PathBuf,
    file: File,
}

/// Gives the session what processes say of their code. `written` is when the recording was written last.
pub fn offer(session: &mut Session, written: Option<SystemTime>) {
    if let Some(wanted) = session.code_wanted() {
        // Why any is refused stands in the ledger.
        session.take_code_tables(find(&wanted, written));
    }
}

/// What processes say of their code, jitdumps first. `written` is when the recording was written last.
pub fn find(wanted: &CodeWanted, written: Option<SystemTime>) -> Vec<CodeTable> {
    let table = |Candidate { pid, path, file }: Candidate| {
        let source = Box::new(FileSource::new(file).ok()?);
        let image = Image::open(&path.to_string_lossy(), source).ok()?;
        let mut table = image.code_table()?.ok()?;
        table.pid = Some(pid);
        Some(table)
    };
    jitdumps(wanted).into_iter().chain(perf_maps(wanted, written)).filter_map(table).collect()
}

/// Jitdumps that were mapped.
fn jitdumps(wanted: &CodeWanted) -> Vec<Candidate> {
    let found = wanted.jitdumps.iter().take(PROCESSES_MAX).filter_map(|jitdump| {
        let RecordedJitdump { pid, ref path, inode } = *jitdump;
        // What a stranger's recording has for a path may be none.
        pid_of_jitdump(path)?;
        let below_root = Path::new(path).strip_prefix("/").ok()?;
        let paths = [root_of(pid).join(below_root), PathBuf::from(path)];
        paths.into_iter().find_map(|path| {
            let file = open_itself(&path)?;
            let is_it = file.metadata().ok()?.ino() == inode;
            is_it.then_some(Candidate { pid, path, file })
        })
    });
    found.collect()
}

/// Perf maps by the numbers of processes.
fn perf_maps(wanted: &CodeWanted, written: Option<SystemTime>) -> Vec<Candidate> {
    let here = rustix::system::uname();
    let is_here = wanted.hostname.as_deref() == here.nodename().to_str().ok();
    // At the latest when the recording was written.
    let ended = wanted.ended_nanos.map(|it| SystemTime::UNIX_EPOCH + Duration::from_nanos(it));
    let Some(ended) = ended.or(written).filter(|_| is_here) else { return Vec::new() };
    let found = wanted.pids.iter().take(PROCESSES_MAX).filter_map(|&pid| {
        let (path, file) = perf_map(pid)?;
        let metadata = file.metadata().ok()?;
        let born = metadata.created().or_else(|_| metadata.modified()).ok()?;
        (born <= ended).then_some(Candidate { pid, path, file })
    });
    found.collect()
}

/// The perf map of a process that lives or lived on this machine, of whoever may write one for it.
pub fn perf_map(pid: u32) -> Option<(PathBuf, File)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    };
    // The last number is that in the innermost namespace; of users the first is the real one.
    let own_pid = field("NSpid:").and_then(|numbers| numbers.last()?.parse().ok()).unwrap_or(pid);
    let user = field("Uid:").and_then(|users| users.first()?.parse::<u32>().ok());
    let below_root = root_of(pid).join(format!("tmp/perf-{own_pid}.map"));
    let paths = [below_root, PathBuf::from(format!("/tmp/perf-{pid}.map"))];
    paths.into_iter().find_map(|path| {
        let file = open_itself(&path)?;
        let owner = file.metadata().ok()?.uid();
        let ours = rustix::process::geteuid().as_raw();
        (owner == 0 || owner == ours || Some(owner) == user).then_some((path, file))
    })
}

/// Opens a regular file and no link: in folders of everybody one may lead to what only we may read.
fn open_itself(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    Some(file)
}

fn root_of(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/root"))
}
