//! Whether a file can be looked at without waiting for ever.
//!
//! Who opens a file of a server that does not answer (NFS, sshfs, any FUSE), or only asks for its size, waits until it
//! does, and may not even be killed. Nothing limits that wait, and no thread can be given up: a process ends when its last
//! thread does. So a copy of ourselves looks first, and if it does not come back, the file counts as not there.
//!
//! Only mounts that others serve are asked, each ten times a second at most. Which mount a path leads through is told by its
//! text: recorded paths have no links. What is not seen: a link to such a mount, an overlay over one, and a server that
//! falls silent between the answer and what is read then.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::output::{notice, printable};
use crate::record::SELF;

/// So long an answer may take, once it is asked for.
const PATIENCE: Duration = Duration::from_secs(2);
/// So long a copy of ourselves may take until it asks: a CPU that has too much to do is no server that is silent.
const START: Duration = Duration::from_secs(30);
/// So long an answer holds, and the list of what is mounted.
const HOLDS: Duration = Duration::from_millis(100);
/// File systems without a disk of their own that no server is behind. `rootfs` is what a machine has that boots from its
/// memory.
const OF_THE_KERNEL: [&str; 14] = [
    "aufs",
    "bcachefs",
    "btrfs",
    "devtmpfs",
    "hugetlbfs",
    "jffs2",
    "overlay",
    "proc",
    "ramfs",
    "rootfs",
    "sysfs",
    "tmpfs",
    "ubifs",
    "zfs",
];

/// What is known of mounts that others serve.
static MOUNTS: LazyLock<Mutex<Mounts>> = LazyLock::new(Mutex::default);

/// Of what answers.
pub fn metadata(path: &Path) -> Option<Metadata> {
    answers(path).then(|| path.metadata().ok()).flatten()
}

/// Whether whoever serves a path answers. Says once that a server does not.
pub fn answers(path: &Path) -> bool {
    let (process, seen) = seen_by(path);
    let mut mounts = MOUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let through = mounts.through(&process, &seen);
    through.iter().all(|mount| mounts.answers(mount, path, &seen))
}

/// The other side: looks at a file. What there is does not matter.
pub fn look_at(path: &Path) -> ExitCode {
    // Nobody waits any more once who asked has ended.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    // What is known already must not do for an answer.
    let (flags, wanted) = (AtFlags::STATX_FORCE_SYNC, StatxFlags::BASIC_STATS);
    // Now it begins, for whoever reads that.
    let _ = io::stdout().write_all(b"\n");
    let _ = io::stdout().flush();
    let _ = statx(CWD, path, flags, wanted);
    ExitCode::SUCCESS
}

/// The process whose mounts a path leads through, and the path as that has it.
fn seen_by(path: &Path) -> (String, PathBuf) {
    let of_process = || {
        let mut parts = path.strip_prefix("/proc").ok()?.components();
        let process = parts.next()?.as_os_str().to_str()?;
        process.parse::<u32>().ok()?;
        let seen = match parts.next()?.as_os_str().to_str()? {
            "root" => Path::new("/").join(parts.as_path()),
            // The text of such a link is the kernel's.
            "exe" | "map_files" => fs::read_link(path).ok()?,
            _ => return None,
        };
        Some((process.to_owned(), seen))
    };
    of_process().unwrap_or_else(|| ("self".to_owned(), path.to_owned()))
}

/// Namespace and root of a process, as /proc has them.
type View = (PathBuf, PathBuf);

#[derive(Default)]
struct Mounts {
    /// When they were read, and those that others serve.
    of_views: HashMap<View, (Instant, Vec<Mount>)>,
    /// By device.
    answers: HashMap<String, Answer>,
}

/// A mount that others serve.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    device: String,
    point: PathBuf,
    file_system: String,
}

enum Answer {
    Came(Instant),
    Awaited(Receiver<()>),
}

impl Mounts {
    /// Those that a path leads through which a process has.
    fn through(&mut self, process: &str, path: &Path) -> Vec<Mount> {
        let link = |name| fs::read_link(format!("/proc/{process}/{name}")).unwrap_or_default();
        let view = (link("ns/mnt"), link("root"));
        let read = || {
            let text = fs::read(format!("/proc/{process}/mountinfo")).unwrap_or_default();
            (Instant::now(), text.split(|byte| *byte == b'\n').filter_map(Mount::served).collect())
        };
        let (at, mounts) = self.of_views.entry(view).or_insert_with(read);
        if at.elapsed() >= HOLDS {
            (*at, *mounts) = read();
        }
        mounts.iter().filter(|mount| path.starts_with(&mount.point)).cloned().collect()
    }

    fn answers(&mut self, mount: &Mount, path: &Path, seen: &Path) -> bool {
        match self.answers.get(&mount.device) {
            Some(Answer::Came(at)) if at.elapsed() < HOLDS => return true,
            Some(Answer::Awaited(answer)) if answer.try_recv() == Err(TryRecvError::Empty) => {
                return false;
            }
            _ => {}
        }
        // Without a copy of ourselves nobody knows better than before.
        let Ok(answer) = ask(path) else { return true };
        let told = answer.recv_timeout(START).and_then(|_| answer.recv_timeout(PATIENCE));
        let (came, answer) = match told {
            Ok(_) => (true, Answer::Came(Instant::now())),
            Err(_) => (false, Answer::Awaited(answer)),
        };
        let before = self.answers.insert(mount.device.clone(), answer);
        if !came && !matches!(before, Some(Answer::Awaited(_))) {
            notice(format_args!(
                "{} ({}) does not answer within {} s: its files are left unread and may get no names, such as {}",
                printable(&mount.point.to_string_lossy()),
                printable(&mount.file_system),
                PATIENCE.as_secs(),
                printable(&seen.to_string_lossy()),
            ));
        }
        came
    }
}

/// Has a copy of ourselves look at a file. That it asks is received first, then that it has been answered.
fn ask(path: &Path) -> io::Result<Receiver<()>> {
    let mut copy = Command::new(SELF)
        .args(["record", "--look-at"])
        .arg(path)
        // What a terminal sends to its foreground is not for it.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (told, answer) = channel();
    let begun = copy.stdout.take();
    thread::Builder::new().name("answer".to_owned()).spawn(move || {
        if begun.is_some_and(|mut begun| begun.read_exact(&mut [0]).is_ok()) {
            // As below.
            let _ = told.send(());
        }
        if copy.wait().is_ok_and(|status| status.success()) {
            // Who asked may have ended.
            let _ = told.send(());
        }
    })?;
    Ok(answer)
}

impl Mount {
    /// Of a line of /proc/PID/mountinfo, if others serve it. proc_pid_mountinfo(5):
    /// `ID parent major:minor root point options [tags] - type source …`.
    fn served(line: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(line);
        let file_system = text.split_once(" - ")?.1.split(' ').next()?.to_owned();
        let mut fields = line.split(|byte| *byte == b' ');
        let device = String::from_utf8(fields.nth(2)?.to_vec()).ok()?;
        let point = unescaped(fields.nth(1)?);
        // Of a disk it has the disk's number.
        let has_disk = !device.starts_with("0:") && !file_system.starts_with("fuse");
        let is_served = !has_disk && !OF_THE_KERNEL.contains(&file_system.as_str());
        is_served.then_some(Self { device, point, file_system })
    }
}

/// Blanks, and what else would end a field, stand as `\040`.
fn unescaped(field: &[u8]) -> PathBuf {
    let (mut bytes, mut rest) = (Vec::new(), field);
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.get(..3).filter(|_| first == b'\\');
        let byte = digits.and_then(|it| u8::from_str_radix(std::str::from_utf8(it).ok()?, 8).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &behind[3..] } else { behind };
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_that_others_serve() {
        let served = |line: &str| {
            Mount::served(line.as_bytes())
                .map(|it| (it.device, it.point.display().to_string(), it.file_system))
        };
        let nfs = "61 29 0:52 / /srv/a\\040b rw,relatime shared:5 - nfs4 host:/x rw,addr=1.2.3.4";
        assert_eq!(served(nfs), Some(("0:52".into(), "/srv/a b".into(), "nfs4".into())));
        let ntfs = "62 29 8:17 / /mnt/\\134040\\04 rw - fuseblk /dev/sdb1 rw";
        assert_eq!(served(ntfs), Some(("8:17".into(), "/mnt/\\040\\04".into(), "fuseblk".into())));
        for line in [
            "29 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
            "30 29 0:21 / /proc rw shared:5 - proc proc rw",
            "31 1 0:40 / / rw,relatime - overlay overlay rw,lowerdir=/a:/b",
            "1 1 0:2 / / rw - rootfs rootfs rw,size=901044k",
            "32 29 0:50 / /home rw master:2 - btrfs /dev/sda2 rw,subvolid=257",
            "",
            "1 2 0:50 / /x rw",
        ] {
            assert_eq!(served(line), None, "{line}");
        }
    }

    #[test]
    fn a_path_below_proc_is_seen_by_its_process() {
        let pid = std::process::id().to_string();
        let seen = |path: &str| seen_by(Path::new(path));
        let here = std::env::current_exe().unwrap();
        assert_eq!(seen(&format!("/proc/{pid}/root/a/b")), (pid.clone(), "/a/b".into()));
        assert_eq!(seen(&format!("/proc/{pid}/root")), (pid.clone(), "/".into()));
        assert_eq!(seen(&format!("/proc/{pid}/exe")), (pid.clone(), here));
        for path in ["/a/b", "/proc/kallsyms", "/proc/x/root/a", "a", ""] {
            assert_eq!(seen(path), ("self".to_owned(), path.into()), "{path}");
        }
        assert_eq!(seen(&format!("/proc/{pid}/maps")).0, "self");
    }
}
