//! Says why the kernel refused something, and what to do about it, in one line.

use std::ffi::CStr;
use std::io;
use std::os::unix::fs::MetadataExt;

use anyhow::{Error, anyhow, bail};
use perf_event_open_sys::bindings::perf_event_attr;
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::CapabilitySet;

use super::events::EventSpec;
use super::host::{self, sysctl_number};
use super::options::Plan;
use super::sys::{self, Scope};
use super::target::Target;
use crate::output::{self, reason};

/// Below /proc/sys.
const PARANOID: &str = "kernel/perf_event_paranoid";

/// Why a counter could not be opened on its target.
pub fn refused(error: &io::Error, plan: &Plan, scope: Scope<'_>) -> Error {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::ACCESS | Errno::PERM) => {}
        Some(Errno::MFILE | Errno::NFILE) => {
            let (what, fewer) = match &plan.target {
                Target::Cgroups { .. } => ("cgroups", "-C"),
                _ => ("threads", "-a -C"),
            };
            return anyhow!(
                "too many {what} and CPUs for the open file limit; \
                 raise it with ulimit -n, or choose CPUs with {fewer}"
            );
        }
        Some(Errno::NOSYS) => {
            return anyhow!(
                "the kernel here has no perf_event_open, as gVisor and kernels without \
                 CONFIG_PERF_EVENTS"
            );
        }
        _ => return anyhow!("the event cannot be opened: {}", reason(error)),
    }
    match (&plan.target, scope) {
        (Target::Processes(_) | Target::Threads(_), _) if is_administrators_alone().is_some() => {
            anyhow!(paranoid("a process", 2))
        }
        (Target::Cpus(_) | Target::Cgroups { .. }, _) => anyhow!(paranoid("the whole system", 0)),
        (Target::Processes(_) | Target::Threads(_), Scope::Thread { tid, .. }) if !is_ours(tid) => {
            anyhow!(
                "process {tid} belongs to another user: record as that user or as root, \
                 or give perftab the capabilities CAP_PERFMON and CAP_SYS_PTRACE"
            )
        }
        // A counter of our own was opened before.
        (Target::Processes(_) | Target::Threads(_), Scope::Thread { tid, .. }) => anyhow!(
            "process {tid} lets nobody look into it (prctl PR_SET_DUMPABLE, or more privileges \
             than perftab has): record as root, or give perftab the capabilities CAP_PERFMON and \
             CAP_SYS_PTRACE"
        ),
        _ => anyhow!(paranoid("this", 2)),
    }
}

/// An error if all that the kernel does not know of an attr is that it asks for namespaces.
pub fn unless_namespaces(attr: &perf_event_attr, error: &io::Error) -> anyhow::Result<()> {
    let is_unknown = error.raw_os_error() == Some(Errno::INVAL.raw_os_error());
    let mut without = *attr;
    without.set_namespaces(0);
    if is_unknown && attr.namespaces() != 0 && sys::open_event(&without, Scope::Own).is_ok() {
        bail!("--namespaces needs Linux 4.12");
    }
    Ok(())
}

/// An error if a process or thread that is not in `/proc` runs all the same.
pub fn unless_hidden(id: i32) -> anyhow::Result<()> {
    let found = Pid::from_raw(id).map(rustix::process::test_kill_process);
    match found {
        Some(Ok(()) | Err(Errno::PERM)) => Err(anyhow!(
            "process {id} is not in /proc, which shows users their own processes alone (hidepid): record as root"
        )),
        _ => Ok(()),
    }
}

/// `kernel.perf_event_paranoid` where it leaves CAP_PERFMON without effect and we have no more: above 2 kernels of Debian
/// and Ubuntu want CAP_SYS_ADMIN, by a patch of theirs (`perf_paranoid_any`).
fn is_administrators_alone() -> Option<i32> {
    let now = sysctl_number(PARANOID).filter(|now| *now > 2)?;
    (!host::has_any(CapabilitySet::SYS_ADMIN)).then_some(now)
}

/// `what` may not be recorded; at `kernel.perf_event_paranoid` = `needed` it may, if nothing else forbids it.
pub fn paranoid(what: &str, needed: i32) -> String {
    if let Some(now) = is_administrators_alone() {
        return administrators_alone(what, needed, now);
    }
    let now = sysctl_number::<i32>(PARANOID);
    let counting = CapabilitySet::PERFMON | CapabilitySet::SYS_ADMIN;
    if now.is_some_and(|now| now <= needed) || host::has_any(counting) {
        let why = match (host::has_seccomp_filter(), host::has_any(CapabilitySet::PERFMON)) {
            (true, false) => {
                "a seccomp filter forbids perf_event_open, as those of containers do: docker run \
                 --cap-add PERFMON, or --security-opt seccomp=unconfined"
            }
            // That of podman, up to 2025.
            (true, true) => {
                "a seccomp filter forbids perf_event_open, though CAP_PERFMON is there: podman run \
                 --security-opt seccomp=unconfined"
            }
            (false, _) => {
                "a security module forbids it, such as SELinux, or lockdown \
                 (/sys/kernel/security/lockdown)"
            }
        };
        return format!("{what} may not be recorded: {why}");
    }
    let now = now.map_or("not readable".to_owned(), |now| now.to_string());
    let by = match host::is_in_pid_namespace() {
        true => {
            "by root of the host, with CAP_PERFMON (docker run --cap-add PERFMON; podman run --cap-add PERFMON \
             --security-opt seccomp=unconfined)"
        }
        false => "by root, with CAP_PERFMON (setcap cap_perfmon=ep on perftab)",
    };
    format!(
        "kernel.perf_event_paranoid is {now}; {what} may be recorded {by}, or after sysctl \
         kernel.perf_event_paranoid={needed}"
    )
}

fn administrators_alone(what: &str, needed: i32, now: i32) -> String {
    let with_capability = match needed < 2 {
        true => "with CAP_PERFMON after sysctl kernel.perf_event_paranoid=2, ",
        false => "",
    };
    format!(
        "kernel.perf_event_paranoid is {now}, where CAP_PERFMON is not enough; {what} may be recorded with CAP_SYS_ADMIN, \
         as root has it, {with_capability}or after sysctl kernel.perf_event_paranoid={needed}"
    )
}

/// Why the kernel takes no such filter.
pub fn filter(error: &io::Error, filter: &CStr, event: &EventSpec) -> Error {
    anyhow!(
        "--filter '{}': {} takes no such filter ({}); the fields that it has stand in \
         /sys/kernel/tracing/events/{}/format",
        filter.to_string_lossy(),
        event.name,
        reason(error),
        event.name.replacen(':', "/", 1)
    )
}

/// Why a ring could not be mapped.
pub fn ring(error: &io::Error, bytes: usize) -> Error {
    let size = output::size(bytes as u64);
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::PERM) => anyhow!(
            "a ring buffer of {size} per CPU is more than kernel.perf_event_mlock_kb allows ({}); \
             choose a smaller one with -m, or raise it with sysctl",
            sysctl_number::<u64>("kernel/perf_event_mlock_kb").unwrap_or(0)
        ),
        Some(Errno::NOMEM) => {
            anyhow!("no memory for a ring buffer of {size}; choose a smaller one with -m")
        }
        _ => anyhow!("a ring buffer of {size} cannot be mapped: {}", reason(error)),
    }
}

/// Why the kernel's frames have no names where it keeps its addresses from us, and when it would not.
pub fn hidden_addresses() -> String {
    hidden_by(sysctl_number("kernel/kptr_restrict"))
}

/// As `kallsyms_show_value` in `kernel/ksyms_common.c` decides: 0 shows them also to whoever may count the kernel without
/// privileges, 2 to nobody.
fn hidden_by(restrict: Option<u32>) -> String {
    let privileged =
        "record as root, or with CAP_SYSLOG (setcap cap_perfmon,cap_syslog=ep on perftab)";
    let remedy = match restrict {
        Some(0) => format!("{privileged}, or after sysctl kernel.perf_event_paranoid=1"),
        Some(1) | None => privileged.to_owned(),
        Some(_) => "record after sysctl kernel.kptr_restrict=1".to_owned(),
    };
    let who = match restrict {
        Some(restrict @ 1..) => {
            format!("kernel.kptr_restrict is {restrict}, which hides the kernel's")
        }
        Some(0) | None => "the kernel hides its".to_owned(),
    };
    format!("{who} addresses, so its frames have no names; {remedy}")
}

fn is_ours(tid: i32) -> bool {
    let owner = std::fs::metadata(format!("/proc/{tid}")).map(|meta| meta.uid());
    owner.is_ok_and(|uid| uid == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_two_the_capability_helps_only_after_the_sysctl() {
        let [all, own] = [0, 2].map(|needed| administrators_alone("this", needed, 4));
        let helps = "with CAP_PERFMON after sysctl kernel.perf_event_paranoid=2";
        assert!(all.contains("is 4") && all.contains(helps), "{all}");
        assert!(all.ends_with("kernel.perf_event_paranoid=0"), "{all}");
        assert!(!own.contains(helps) && own.ends_with("kernel.perf_event_paranoid=2"), "{own}");
    }

    #[test]
    fn what_shows_the_kernels_addresses_depends_on_what_hides_them() {
        let [zero, one, two] = [0, 1, 2].map(|restrict| hidden_by(Some(restrict)));
        assert!(zero.contains("CAP_SYSLOG") && zero.contains("perf_event_paranoid=1"), "{zero}");
        assert!(!zero.contains("kptr_restrict"), "{zero}");
        assert!(one.contains("kptr_restrict is 1") && one.contains("CAP_SYSLOG"), "{one}");
        assert!(two.contains("is 2") && two.contains("sysctl kernel.kptr_restrict=1"), "{two}");
    }
}
