//! What is nobody's work: a CPU that has nothing to do, and, of time off the CPU, threads that wait until there
//! is something to do for them.
//!
//! The kernel's idle process is idle whatever it runs. Else functions tell it by name. Of waits only those count that
//! are for work to come: for events, for a time, for a child, for a condition. Who waits for a lock, a disk or a page is
//! held up, and who reads from a pipe or a socket may be: these stay.

use perftab_names::{FunctionId, Symbols};
use perftab_perfdata::map::{Map, Set};
use perftab_profile::{DsoKind, EventOrigin, Process, Profile, StringId};

use crate::Query;
use crate::call_tree::{CallNodeId, CallTree, Label};
use crate::label::is_system;

/// What the kernel runs on a CPU that has nothing to do.
const IDLE: [&str; 23] = [
    "acpi_idle_do_entry",
    "acpi_idle_enter",
    "acpi_processor_ffh_cstate_enter",
    "arch_cpu_idle",
    "cpu_do_idle",
    "cpu_idle_poll",
    "cpu_startup_entry",
    "cpuidle_enter",
    "cpuidle_enter_state",
    "cpuidle_idle_call",
    "default_idle",
    "default_idle_call",
    "do_idle",
    "intel_idle",
    "intel_idle_ibrs",
    "intel_idle_irq",
    "mwait_idle",
    "mwait_idle_with_hints",
    "native_safe_halt",
    "poll_idle",
    "psci_cpu_suspend_enter",
    "pseries_dedicated_idle_sleep",
    "pv_native_safe_halt",
];

/// Functions of the kernel in which a thread waits for what is to come.
const WAITS: [&str; 16] = [
    "core_sys_select",
    "do_epoll_wait",
    "do_nanosleep",
    "do_poll",
    "do_select",
    "do_sigtimedwait",
    "do_sys_poll",
    "do_wait",
    "ep_poll",
    "hrtimer_nanosleep",
    "inet_csk_accept",
    "inet_csk_wait_for_connect",
    "io_cqring_wait",
    "kernel_wait4",
    "read_events",
    "sigsuspend",
];

/// Threads of the kernel, which wait where these themselves give the CPU away.
const LOOPS: [&str; 10] = [
    "kauditd_thread",
    "khugepaged",
    "kjournald2",
    "kswapd",
    "kthreadd",
    "rcu_gp_fqs_loop",
    "rcu_gp_kthread",
    "rescuer_thread",
    "smpboot_thread_fn",
    "worker_thread",
];

/// Functions of the system's libraries in which a thread waits for what is to come, without the underscores before.
const LIBRARY_WAITS: [&str; 27] = [
    "accept",
    "accept4",
    "clock_nanosleep",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "io_getevents",
    "nanosleep",
    "pause",
    "poll",
    "ppoll",
    "pselect",
    "pthread_clockjoin_ex",
    "pthread_cond_clockwait",
    "pthread_cond_timedwait",
    "pthread_cond_wait",
    "pthread_cond_wait_common",
    "pthread_join",
    "select",
    "sigsuspend",
    "sigtimedwait",
    "sigwait",
    "sigwaitinfo",
    "sleep",
    "wait4",
    "waitid",
    "waitpid",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Idle,
    Wait,
    Loop,
    /// Gives the CPU away.
    Schedule,
    None,
}

/// Whether it is what the kernel runs where a CPU has nothing to do. Outside of the recorder's PID namespace others
/// have its pid as well.
pub(crate) fn is_idle_process(profile: &Profile, process: Process) -> bool {
    process.pid == 0 && profile.strings.get(process.name).starts_with("swapper")
}

/// Tells which call nodes of a query's tree are idle.
pub(super) struct IdleFinder<'a> {
    profile: &'a Profile,
    symbols: &'a Symbols,
    /// Whether samples are waits.
    has_waits: bool,
    /// Names of the kernel's idle process.
    processes: Set<StringId>,
    known: Map<FunctionId, Role>,
}

impl<'a> IdleFinder<'a> {
    pub fn new(profile: &'a Profile, symbols: &'a Symbols, query: &Query) -> Self {
        let events = profile.event_set(query.event);
        let mut all = (0..).zip(&profile.events);
        let has_waits =
            all.any(|(id, event)| event.origin == EventOrigin::Derived && events.has(id));
        let processes = profile.threads.processes.iter();
        let idle = processes.filter(|&&process| is_idle_process(profile, process));
        let processes = idle.map(|process| process.name).collect();
        Self { profile, symbols, has_waits, processes, known: Map::new() }
    }

    /// Whether samples through a call node, and not those through its caller, are idle.
    pub fn finds(&mut self, tree: &CallTree, id: CallNodeId) -> bool {
        let label = tree.label(id);
        if let Label::Group(name) = label {
            return self.processes.contains(&name);
        }
        match self.role(label) {
            Role::Idle => true,
            Role::Wait => self.has_waits,
            Role::Schedule if self.has_waits => {
                let caller = tree.parent(id).map(|caller| tree.label(caller));
                caller.is_some_and(|caller| self.role(caller) == Role::Loop)
            }
            _ => false,
        }
    }

    fn role(&mut self, label: Label) -> Role {
        let Some(function) = label.function() else { return Role::None };
        let (profile, symbols) = (self.profile, self.symbols);
        *self.known.entry(function).or_insert_with(|| {
            let function = symbols.function(function);
            let dso = profile.dsos.get(function.dso);
            let Some(name) = function.name else { return Role::None };
            // Clones of the compiler, and versions of symbols.
            let name = name.split(['.', '@']).next().unwrap_or_default();
            match dso.kind {
                DsoKind::Kernel | DsoKind::Module => role_in_kernel(name),
                _ if is_system(dso) && LIBRARY_WAITS.contains(&plain(name)) => Role::Wait,
                _ => Role::None,
            }
        })
    }
}

fn role_in_kernel(name: &str) -> Role {
    if IDLE.contains(&name) {
        Role::Idle
    } else if WAITS.contains(&name) {
        Role::Wait
    } else if LOOPS.contains(&name) {
        Role::Loop
    } else if name.trim_start_matches('_').starts_with("schedule") {
        Role::Schedule
    } else {
        Role::None
    }
}

/// A C library's function has several names.
fn plain(name: &str) -> &str {
    let name = name.trim_start_matches('_');
    name.strip_prefix("GI_")
        .or_else(|| name.strip_prefix("libc_"))
        .unwrap_or(name)
        .trim_start_matches('_')
}

#[cfg(test)]
mod tests {
    use super::{IDLE, LIBRARY_WAITS, LOOPS, Role, WAITS, plain, role_in_kernel};

    #[test]
    fn names_are_known_by_what_they_are_in_any_form() {
        assert!(role_in_kernel("schedule_timeout") == Role::Schedule);
        assert!(role_in_kernel("__schedule") == Role::Schedule);
        assert!(role_in_kernel("reschedule_interrupt") == Role::None);
        for name in [
            "epoll_wait",
            "__poll",
            "__GI___clock_nanosleep",
            "___pthread_cond_wait",
            "__libc_accept",
        ] {
            assert!(LIBRARY_WAITS.contains(&plain(name)), "{name}");
        }
        assert!(!LIBRARY_WAITS.contains(&plain("pthread_mutex_lock")));
    }

    #[test]
    fn lists_are_in_order_and_have_nothing_twice() {
        for list in [&IDLE[..], &WAITS, &LOOPS, &LIBRARY_WAITS] {
            assert!(list.is_sorted_by(|a, b| a < b), "{list:?}");
        }
    }
}
