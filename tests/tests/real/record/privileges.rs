//! What the kernel refuses to whom is said with what would change that, and all else is recorded.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::perftab_binary;

use crate::record::recorder::{Recorder, busy, is_installed, is_root};

/// `perftab record` as somebody without privileges, in a folder of theirs.
pub fn as_nobody(recorder: &Recorder, arguments: &[&str]) -> Option<(Option<i32>, String)> {
    // Their own copy: the build folder may not be readable for them.
    let binary = recorder.folder.join("perftab");
    perftab_tests::program::copy(&perftab_binary(), &binary);
    chown(&*recorder.folder, Some(65534), Some(65534)).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&binary)
        .args(["record", "-o"])
        .arg(&recorder.file)
        .args(arguments)
        .current_dir(&*recorder.folder)
        .ended()
        .ok()?;
    Some((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// As after a `sudo perftab record` in one's own folder.
#[test]
fn a_recording_that_cannot_be_written_becomes_the_old_one() {
    let test = "a_recording_that_cannot_be_written_becomes_the_old_one";
    if !is_root(test) || !is_installed(test, "setpriv") {
        return;
    }
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    if paranoid.trim().parse::<i32>().unwrap() > 2 {
        println!("SKIPPED: {test}: kernel.perf_event_paranoid is {}", paranoid.trim());
        return;
    }
    let recorder = Recorder::new();
    fs::write(&recorder.file, "of root").unwrap();
    fs::set_permissions(&recorder.file, fs::Permissions::from_mode(0o600)).unwrap();
    let (code, said) = as_nobody(&recorder, &["--", "true"]).unwrap();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(fs::read_to_string(recorder.folder.join("perf.data.old")).unwrap(), "of root");
}

#[test]
fn without_privileges() {
    let test = "without_privileges";
    if !is_root(test) || !is_installed(test, "setpriv") || !is_installed(test, "perf") {
        return;
    }
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    if paranoid.trim() != "2" {
        println!("SKIPPED: {test}: kernel.perf_event_paranoid is {}, not 2", paranoid.trim());
        return;
    }
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let sysctl = "kernel.perf_event_paranoid is 2";

    let (code, said) = as_nobody(&recorder, &["-a"]).unwrap();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(sysctl) && said.contains("CAP_PERFMON"), "{said}");
    assert!(said.contains("sysctl kernel.perf_event_paranoid=0"), "{said}");

    let (code, said) = as_nobody(&recorder, &["-p", "1"]).unwrap();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("process 1 belongs to another user"), "{said}");

    let (code, said) =
        as_nobody(&recorder, &["-g", "--", program.to_str().unwrap(), "200"]).unwrap();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("user space only") && said.contains(sysctl), "{said}");
    let events = recorder.perf(&["report", "--header-only", "-f"]);
    assert!(events.contains(":u,"), "the event's name says so: {events}");
    let script = recorder.perf(&["script", "-f", "-F", "ip,sym"]);
    assert!(script.contains("user_work"), "functions have names");
    let kernel = script.lines().filter(|line| line.trim_start().starts_with("ffffffff"));
    assert_eq!(kernel.count(), 0, "no frame of the kernel");
}

/// With CAP_PERFMON alone, as `setcap` gives it, the kernel is recorded and has no names. What is said to help, helps.
#[test]
fn the_kernels_addresses_are_hidden_until_what_is_said_is_done() {
    let test = "the_kernels_addresses_are_hidden_until_what_is_said_is_done";
    if !is_root(test) || !is_installed(test, "setpriv") {
        return;
    }
    let sysctl = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/{name}")).expect(name);
        text.trim().parse::<i32>().expect("a number")
    };
    if sysctl("kptr_restrict") != 0 || sysctl("perf_event_paranoid") < 2 {
        println!("SKIPPED: {test}: everybody sees the kernel's addresses here, or nobody does");
        return;
    }
    let recorder = Recorder::new();
    let program = recorder.folder.join("perftab");
    perftab_tests::program::copy(&perftab_binary(), &program);
    fs::set_permissions(&*recorder.folder, fs::Permissions::from_mode(0o777)).unwrap();
    let said = |capabilities: &str| {
        let output = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(format!("--inh-caps={capabilities}"))
            .arg(format!("--ambient-caps={capabilities}"))
            .arg(&program)
            .args(["record", "-e", "cpu-clock", "-o"])
            .arg(&recorder.file)
            .args(["--", "true"])
            .current_dir(&*recorder.folder)
            .ended()
            .expect("setpriv runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        said
    };
    let hidden = said("+perfmon");
    assert!(hidden.contains("the kernel hides its addresses"), "{hidden}");
    assert!(hidden.contains("cap_perfmon,cap_syslog=ep"), "{hidden}");
    let shown = said("+perfmon,+syslog");
    assert!(!shown.contains("addresses"), "{shown}");
}

/// Makes `perf_event_open` fail with an error, as filters of containers do, and becomes a command: ERRNO COMMAND…
const WITHOUT_PERF_EVENTS: &str = r#"
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
# linux/seccomp.h: load the number of the call; if it is that one, SECCOMP_RET_ERRNO, else SECCOMP_RET_ALLOW.
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, 0x50000 | int(sys.argv[1])), (6, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
program = struct.pack("@HP", len(steps), ctypes.addressof(code))
assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
assert libc.prctl(22, 2, program) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
os.execvp(sys.argv[2], sys.argv[2:])
"#;

/// What the sysctl does not forbid, a change of it does not allow.
#[test]
fn a_filter_of_system_calls_is_named_where_it_forbids_recording() {
    let test = "a_filter_of_system_calls_is_named_where_it_forbids_recording";
    if !is_root(test) || !is_installed(test, "python3") {
        return;
    }
    let recorder = Recorder::new();
    let said = |errno: &str, arguments: &[&str]| {
        let mut command = Command::new("python3");
        command.args(["-c", WITHOUT_PERF_EVENTS, errno]).arg(perftab_binary());
        command.arg("record").args(arguments).current_dir(&*recorder.folder);
        let output = command.ended().expect("python3 runs");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for arguments in [&["-a"][..], &["--", "true"]] {
        let refused = said("1", arguments);
        assert!(refused.contains("a seccomp filter forbids perf_event_open"), "{refused}");
        assert!(!refused.contains("sysctl"), "{refused}");
    }
    // As gVisor has it.
    let refused = said("38", &["--", "true"]);
    assert!(refused.contains("has no perf_event_open"), "{refused}");
}
