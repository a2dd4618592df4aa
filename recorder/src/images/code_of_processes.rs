//! What processes of the recording say of the code that they made, where this machine is the one that it was made on.
//!
//! | place | what | whose |
//! |---|---|---|
//! | the path of a mapping `…/jit-PID.dump` | jitdump | the inode must be the one that was mapped |
//! | `/tmp/perf-PID.map` | perf map | by its number: see below |
//!
//! Both are looked for below `/proc/PID/root` first, as long as the process lives: a container has files and numbers of
//! its own. Nothing there is followed out of that root. A perf map says no more than a number, which another process may
//! have had before or since. So it is taken only if this host has the name of the recording's, and if it is the process's
//! own user's or ours: `/tmp` is everybody's. Its last line must be from while the process lived, if it still does, and
//! else from while it was recorded. The session holds it against what ran.

use std::fs::{self, File, Metadata};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use perftab_core::session::{CodeWanted, RecordedJitdump, Session};
use perftab_core::{CodeTable, Image, pid_of_jitdump, pid_of_perf_map};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::time::ClockId;

use super::answering;
use crate::file_source::FileSource;
use crate::output;

/// Processes that are looked at.
const PROCESSES_MAX: usize = 1024;

/// A file that a process may have written.
pub struct Candidate {
    pid: u32,
    /// As it calls itself.
    own_pid: u32,
    path: PathBuf,
    /// Open.
    pub file: File,
}

/// Gives the session what processes say of their code. `written` is when the recording was written last.
pub fn offer(session: &mut Session, written: Option<SystemTime>) {
    if let Some(wanted) = session.code_wanted() {
        // Why any is refused stands in the ledger.
        let found = find(&wanted, written).into_iter();
        session.take_code_tables(found.map(|(table, _)| table).collect());
    }
}

/// What processes say of their code, jitdumps first, and the files. `written` is when the recording was written last.
pub fn find(wanted: &CodeWanted, written: Option<SystemTime>) -> Vec<(CodeTable, File)> {
    let table = |Candidate { pid, own_pid, path, file }: Candidate| {
        let source = Box::new(FileSource::new(file.try_clone().ok()?).ok()?);
        let image = Image::open(&path.to_string_lossy(), source).ok()?;
        let mut table = image.code_table()?.ok()?;
        // A process may map what another one has written.
        if table.pid.is_some_and(|said| ![pid, own_pid].contains(&said)) {
            return None;
        }
        table.pid = Some(pid);
        Some((table, file))
    };
    let jitdumps = wanted.jitdumps.iter().take(PROCESSES_MAX).filter_map(jitdump);
    jitdumps.chain(perf_maps(wanted, written)).filter_map(table).collect()
}

/// A jitdump that was mapped.
pub fn jitdump(mapped: &RecordedJitdump) -> Option<Candidate> {
    let RecordedJitdump { pid, ref path, inode } = *mapped;
    // What a stranger's recording has for a path may be none.
    let own_pid = pid_of_jitdump(path)?;
    let below_root = Path::new(path).strip_prefix("/").ok()?;
    let is_it = |file: &File| file.metadata().is_ok_and(|it| it.ino() == inode);
    let (path, file) = open_below_root(pid, below_root)
        .filter(|(_, file)| is_it(file))
        .or_else(|| Some((path.into(), open_itself(Path::new(path)).filter(is_it)?)))?;
    Some(Candidate { pid, own_pid, path, file })
}

/// Perf maps by the numbers of processes.
fn perf_maps(wanted: &CodeWanted, written: Option<SystemTime>) -> Vec<Candidate> {
    let here = rustix::system::uname();
    let is_here = wanted.hostname.as_deref() == here.nodename().to_str().ok();
    let at = |nanos| SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos);
    let taken = wanted.taken_nanos.map(|(first, last)| at(first)..at(last));
    // Without a clock on the wall: at the latest when the recording was written.
    let by_file = || {
        let ended = written?;
        Some(ended.checked_sub(Duration::from_nanos(wanted.length_nanos))?..ended)
    };
    let Some(recorded) = taken.or_else(by_file).filter(|_| is_here) else { return Vec::new() };
    let found = wanted.pids.iter().take(PROCESSES_MAX).filter_map(|&pid| {
        let (path, file) = perf_map(pid)?;
        if !is_of(pid, &file.metadata().ok()?, &recorded) {
            output::notice(format_args!(
                "{} is not used: it may be of another process with this number. If it is not, --image uses it",
                path.display()
            ));
            return None;
        }
        let own_pid = pid_of_perf_map(&path.to_string_lossy()).unwrap_or(pid);
        Some(Candidate { pid, own_pid, path, file })
    });
    found.collect()
}

/// A process may write its last lines after its last sample, and clocks of processes count hundredths of a second.
const SLACK: Duration = Duration::from_secs(5);

/// Whether the process of this number that was recorded then may have written a file last.
pub fn is_of(pid: u32, file: &Metadata, recorded: &Range<SystemTime>) -> bool {
    let Ok(written) = file.modified() else { return false };
    if file.created().is_ok_and(|born| born > recorded.end + SLACK) {
        return false;
    }
    match started(pid) {
        Some(started) if started <= recorded.end => written + SLACK >= started,
        _ => written + SLACK >= recorded.start && written <= recorded.end + SLACK,
    }
}

/// When the process that has this number now was started, or a hundredth of a second before; `None` if there is none.
pub fn started(pid: u32) -> Option<SystemTime> {
    /// Of the numbers behind the name, which is in brackets: proc_pid_stat(5).
    const START: usize = 19;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let ticks: u64 = stat.rsplit(')').next()?.split_whitespace().nth(START)?.parse().ok()?;
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    let since_boot = Duration::from_millis(ticks.checked_mul(1000)? / per_second);
    // In this order: whoever is interrupted in between takes it for older.
    let now = SystemTime::now();
    let uptime = Duration::try_from(rustix::time::clock_gettime(ClockId::Boottime)).ok()?;
    now.checked_sub(uptime.checked_sub(since_boot)?)
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
    let is_trusted = |file: &File| {
        let ours = rustix::process::geteuid().as_raw();
        let owner = file.metadata().map(|it| it.uid());
        owner.is_ok_and(|owner| owner == 0 || owner == ours || Some(owner) == user)
    };
    let path = PathBuf::from(format!("/tmp/perf-{pid}.map"));
    open_below_root(pid, Path::new(&format!("tmp/perf-{own_pid}.map")))
        .filter(|(_, file)| is_trusted(file))
        .or_else(|| Some((path.clone(), open_itself(&path).filter(is_trusted)?)))
}

/// Opens a regular file that a process has at a path below its root. A container decides what is there, so no link
/// may lead out of it, or to what only we may read.
fn open_below_root(pid: u32, path: &Path) -> Option<(PathBuf, File)> {
    let shown = PathBuf::from(format!("/proc/{pid}/root"));
    answering::answers(&shown.join(path)).then_some(())?;
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, &shown, folder, Mode::empty()).ok()?;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS;
    let file = File::from(rustix::fs::openat2(root, path, OPENED, Mode::empty(), resolve).ok()?);
    file.metadata().ok().filter(Metadata::is_file)?;
    Some((shown.join(path), file))
}

const OPENED: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Opens a regular file and no link: in folders of everybody one may lead to what only we may read.
fn open_itself(path: &Path) -> Option<File> {
    answering::answers(path).then_some(())?;
    let file = File::from(rustix::fs::open(path, OPENED, Mode::empty()).ok()?);
    file.metadata().ok().filter(Metadata::is_file)?;
    Some(file)
}
