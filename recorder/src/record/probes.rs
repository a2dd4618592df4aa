//! Has the kernel make events of probes, and take them back, whatever becomes of us.
//!
//! They are written into tracefs' `uprobe_events` and are tracepoints from then on: perf and
//! everybody else who knows tracepoints reads them. The other way, perf_event_open of the `uprobe`
//! PMU, would need no clean-up, but is of no use for what is inherited: the kernel reads the path
//! once more from the memory of whoever forks (`perf_uprobe_init` in
//! `kernel/trace/trace_event_perf.c`), and so every fork and new thread of the recorded program
//! fails with EFAULT (tried on Linux 6.18).
//!
//! So a copy of ourselves waits until we have ended, even by SIGKILL, and then removes what it was
//! told of before it was made. Should that one have been killed as well, the next recorder does.
//! While a recorder has an event open, the kernel lets nobody remove it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::command;
use super::events::{Argument, EventSpec, Moment, Probe, ProbePlace, Tracefs};
use crate::output::{self, notice};

/// Of the groups of our events; the number of the process that made them follows.
const GROUP: &str = "perftab_";
/// Letters of an event's name, so that a number fits behind it (`MAX_EVENT_NAME_LEN` is 64).
const NAME_MAX: usize = 48;
/// The counters of a process that was killed are closed within milliseconds.
const REMOVAL: Duration = Duration::from_secs(10);
const REMOVAL_ROUND: Duration = Duration::from_millis(5);

/// Events that were made for this recording. Removed when dropped: after its counters.
pub struct Probes {
    guard: Child,
    told: Option<ChildStdin>,
    list: PathBuf,
}

impl Probes {
    /// Makes events of the probes among `events`, which have their numbers then. `None` if there are
    /// none.
    pub fn make(root: &Path, events: &mut [EventSpec]) -> Result<Option<Self>> {
        if events.iter().all(|event| event.probe.is_none()) {
            return Ok(None);
        }
        let tracefs = Tracefs::find(root).context("probes of programs need it")?;
        let list = tracefs.path("uprobe_events");
        let mut file = open(&list).map_err(|error| not_permitted(&list, &error))?;
        remove_forgotten(&list);
        let mut probes = Self::guarded(list)?;
        let group = format!("{GROUP}{}", std::process::id());
        for (index, event) in events.iter_mut().enumerate() {
            let (Some(probe), Some(tracepoint)) = (&event.probe, &mut event.tracepoint) else {
                continue;
            };
            // Two of one name are two events.
            let name = format!("{}_{index}", plain_name(&tracepoint.name));
            let folder = format!("{group}/{name}");
            probes.tell(&folder)?;
            make_all(&mut file, &folder, probe, Fetched::Arguments)
                .or_else(|error| {
                    if probe.places.iter().all(|place| place.arguments.is_empty()) {
                        return Err(error);
                    }
                    // What was made of it.
                    let _ = remove(&probes.list, &folder);
                    make_all(&mut file, &folder, probe, Fetched::Nothing)?;
                    notice(format_args!(
                        "'{}' is recorded without its arguments: {error}",
                        event.name
                    ));
                    Ok(())
                })
                .with_context(|| format!("'{}'", event.name))?;
            tracepoint.folder = folder.into();
            event.code.config[0] = tracefs.id(tracepoint)?;
        }
        Ok(Some(probes))
    }

    /// Starts the copy of ourselves that removes them.
    fn guarded(list: PathBuf) -> Result<Self> {
        let mut guard = Command::new(command::SELF)
            .args(["record", "--remove-probes"])
            .arg(&list)
            // What a terminal sends to its foreground is not for it.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("a copy of perftab that removes the probes cannot be started")?;
        let told = guard.stdin.take();
        Ok(Self { guard, told, list })
    }

    /// Has an event removed that is yet to be made.
    fn tell(&mut self, folder: &str) -> Result<()> {
        let told = self.told.as_mut().map_or(Ok(()), |told| writeln!(told, "{folder}"));
        told.context("the copy of perftab that removes the probes has ended")
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        drop(self.told.take());
        if !self.guard.wait().is_ok_and(|status| status.success()) {
            notice(format_args!(
                "probes stay behind in {}; remove them with: perf probe --del '{GROUP}{}:*'",
                self.list.display(),
                std::process::id()
            ));
        }
    }
}

/// The other side: waits until whoever writes to standard input has ended, then removes what that
/// told.
pub fn remove_when_ended(list: &Path) -> Result<ExitCode> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let told: Vec<String> = io::stdin().lock().lines().map_while(Result::ok).collect();
    let end = Instant::now() + REMOVAL;
    // Newest first, as one of several events can need those before.
    let left = told.iter().rev().filter(|folder| !is_removed(list, folder, end));
    Ok(if left.count() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Tries until the event is gone; there is nothing to await.
fn is_removed(list: &Path, folder: &str, end: Instant) -> bool {
    loop {
        match remove(list, folder) {
            Ok(()) => return true,
            Err(error) if error.raw_os_error() == Some(Errno::NOENT.raw_os_error()) => return true,
            Err(_) if Instant::now() >= end => return false,
            Err(_) => sleep(REMOVAL_ROUND),
        }
    }
}

fn remove(list: &Path, folder: &str) -> io::Result<()> {
    open(list)?.write_all(format!("-:{folder}\n").as_bytes())
}

/// Removes what recorders left that were killed together with their guards. What somebody still
/// uses stays: the kernel says that it is busy.
fn remove_forgotten(list: &Path) {
    let text = fs::read_to_string(list).unwrap_or_default();
    for line in text.lines() {
        // "p:perftab_123/main_0 /usr/bin/app:0x1139"
        let Some(folder) = line.split([':', ' ']).nth(1) else { continue };
        let Some((group, _)) = folder.split_once('/') else { continue };
        let pid = group.strip_prefix(GROUP).and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = remove(list, folder);
        }
    }
}

/// Opened for what is added: otherwise, the kernel would forget all that there is.
fn open(list: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).open(list)
}

/// What samples of a probe hold besides where it is.
#[derive(Clone, Copy)]
enum Fetched {
    Nothing,
    Arguments,
}

/// The same event once more, with another place, is one event of both since Linux 5.5.
fn make_all(list: &mut File, folder: &str, probe: &Probe, fetched: Fetched) -> Result<()> {
    probe.places.iter().try_for_each(|place| {
        let arguments = match fetched {
            Fetched::Nothing => &[],
            Fetched::Arguments => &place.arguments[..],
        };
        make(list, folder, place, probe.moment, arguments)
    })
}

/// `Documentation/trace/uprobetracer.rst`: `p:GROUP/EVENT PATH:OFFSET(SEMAPHORE) ARGUMENTS`.
fn make(
    list: &mut File,
    folder: &str,
    place: &ProbePlace,
    moment: Moment,
    arguments: &[Argument],
) -> Result<()> {
    let shown = place.file.display();
    let file = File::open(&place.file).with_context(|| format!("{shown}"))?;
    let kind = match moment {
        Moment::Call => 'p',
        Moment::Return => 'r',
    };
    let path = match place.file.to_str().filter(|path| path.bytes().all(is_plain)) {
        Some(path) => path.to_owned(),
        // Spaces would part words.
        None => format!("/proc/self/fd/{}", file.as_raw_fd()),
    };
    let mut line = format!("{kind}:{folder} {path}:{:#x}", place.offset);
    if let Some(semaphore) = place.semaphore {
        line += &format!("({semaphore:#x})");
    }
    for argument in arguments {
        line += &format!(" {}", argument.definition());
    }
    line.push('\n');
    match list.write_all(line.as_bytes()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!(
            "it has several places, which one event can have since Linux 5.5; choose one, as \
             uprobe:{shown}:0x1234"
        ),
        Err(error) => Err(anyhow!(
            "the kernel takes no probe at {:#x} of {shown} ({})",
            place.offset,
            output::reason(&error)
        )),
    }
}

/// Whether a letter of a path means nothing else to the kernel.
fn is_plain(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || b"/._+-".contains(&letter)
}

fn not_permitted(list: &Path, error: &io::Error) -> anyhow::Error {
    anyhow!(
        "probes of programs are made in {}, which only root may write ({}); record as root",
        list.display(),
        output::reason(error)
    )
}

/// A name as the kernel takes it: letters, digits and `_`.
fn plain_name(name: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let name: String = name.chars().take(NAME_MAX).map(letter).collect();
    if name.starts_with(|first: char| first.is_ascii_digit()) { format!("_{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_such_as_the_kernel_takes() {
        assert_eq!(plain_name("function__entry"), "function__entry");
        assert_eq!(plain_name("ns::f<int>(char)"), "ns__f_int__char_");
        assert_eq!(plain_name("0day"), "_0day");
        assert_eq!(plain_name(&"x".repeat(100)).len(), NAME_MAX);
        assert_eq!(plain_name("größe"), "gr__e");
    }
}
