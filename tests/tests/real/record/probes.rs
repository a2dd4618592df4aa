//! Probes of programs: functions by name, and those that authors put in (SDT). Each call is a sample,
//! and nothing of a probe outlives its recorder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::open::open_path;
use perftab_tests::perftab_binary;
use perftab_tests::program::compile;

use crate::record::privileges::as_nobody;
use crate::record::recorder::{
    BUSY_ID, Recorder, RunningProcess, busy, is_installed, is_root, wait_for,
};

const LIST: &str = "/sys/kernel/tracing/uprobe_events";

/// Puts a probe into a program, as `<sys/sdt.h>` of SystemTap writes it.
const PROBE: &str = r#"
#define PROBE(name, semaphore, arguments, ...)                                             \
  __asm__ volatile("990: nop\n"                                                            \
                   ".pushsection .note.stapsdt,\"\",\"note\"\n"                            \
                   ".balign 4\n.4byte 992f-991f,994f-993f,3\n"                             \
                   "991: .asciz \"stapsdt\"\n992: .balign 4\n"                             \
                   "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte " semaphore "\n"       \
                   ".asciz \"mill\"\n.asciz \"" name "\"\n"                               \
                   ".asciz \"" arguments "\"\n994: .balign 4\n.popsection\n"               \
                   : : __VA_ARGS__)
__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
        ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
        ".size _.stapsdt.base,1\n.popsection\n");
"#;

/// Calls `target` 7 times, 5 times in a thread, 3 times in a child. The probe mill:grind, which counts
/// who looks, is passed 4 times at one place and 6 times at another one, its arguments in different places; mill:rest
/// twice.
const CALLS: &str = r#"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

volatile unsigned short mill_grind_semaphore __attribute__((section(".probes")));

__attribute__((noinline, noclone)) int target(int x) { __asm__ volatile(""); return x + 1; }
static void *thread(void *none) { for (int i = 0; i < 5; i++) target(i); return none; }

int main(void) {
  for (int i = 0; i < 7; i++) target(i);
  pthread_t other;
  if (pthread_create(&other, 0, thread, 0) || pthread_join(other, 0)) return 1;
  pid_t child = fork();
  if (child < 0) return 2;
  if (!child) { for (int i = 0; i < 3; i++) target(i); _exit(0); }
  waitpid(child, 0, 0);
  for (int i = -1; i < 3; i++)
    if (mill_grind_semaphore)
      PROBE("grind", "mill_grind_semaphore", "-4@%0 8@%1 1@%2", "r"(i), "i"(7), "r"(-i));
  volatile int j;
  for (j = 10; j < 16; j++)
    if (mill_grind_semaphore)
      PROBE("grind", "mill_grind_semaphore", "-4@%0 8@%1 8@%2", "m"(j), "r"((long)j << 40), "i"(1));
  for (int i = 0; i < 2; i++) PROBE("rest", "0", "", "i"(0));
  return 0;
}
"#;

/// Compiles the program; `None` where probes cannot be made, which is said.
fn calls(recorder: &Recorder, test: &str) -> Option<PathBuf> {
    is_possible(test).then(|| compile(&recorder.folder, "calls", BUSY_ID, &[PROBE, CALLS].concat()))
}

fn is_possible(test: &str) -> bool {
    if fs::metadata(LIST).is_err() {
        println!("SKIPPED: {test}: {LIST} is not there: tracefs is not mounted, or not for us");
        return false;
    }
    is_root(test)
}

/// How many samples of each event perf prints.
fn counts_by_perf(recorder: &Recorder) -> Vec<(String, usize)> {
    let printed = recorder.perf(&["script", "-F", "event"]);
    let mut names: Vec<&str> =
        printed.lines().map(|line| line.trim().trim_end_matches(':')).collect();
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    let runs = names.chunk_by(|one, other| one == other);
    runs.map(|run| (run[0].to_owned(), run.len())).collect()
}

fn counts(recorder: &Recorder) -> Vec<(String, usize)> {
    let events = open_path(&recorder.file).expect("it opens").info().events;
    let mut counts: Vec<_> =
        events.into_iter().map(|event| (event.name, event.samples as usize)).collect();
    counts.sort_unstable();
    counts
}

/// Nothing of the file is probed any more, or yet.
fn is_unprobed(file: &Path) -> bool {
    let list = fs::read_to_string(LIST).expect("root reads it");
    !list.contains(file.to_str().expect("UTF-8"))
}

#[test]
fn every_call_of_a_function_and_of_a_static_probe_is_a_sample() {
    let test = "every_call_of_a_function_and_of_a_static_probe_is_a_sample";
    let recorder = Recorder::new();
    let Some(program) = calls(&recorder, test).filter(|_| is_installed(test, "perf")) else {
        return;
    };
    let shown = program.to_str().unwrap();
    let events = format!(
        "{{uprobe:{shown}:target,sdt_mill:grind}},uretprobe:{shown}:target,sdt_mill:r*@{shown}"
    );
    let recorded = recorder.run(&["-g", "-e", &events, "--", shown]);
    // A program whose forks fail ends with another code.
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    let expected = [
        ("probe_calls:target", 15),
        ("probe_calls:target__return", 15),
        ("sdt_mill:grind", 10),
        ("sdt_mill:rest", 2),
    ];
    let expected = expected.map(|(name, count)| (name.to_owned(), count));
    assert_eq!(counts(&recorder), expected);
    assert_eq!(counts_by_perf(&recorder), expected);
    assert_eq!(recorder.samples_by_peers(), recorded.samples());
    assert!(is_unprobed(&program));
    // Where it was, and who called.
    let ours = Command::new(perftab_binary())
        .args(["script", "-F", "event,ip,sym"])
        .arg(&recorder.file)
        .ended()
        .unwrap();
    let ours = String::from_utf8_lossy(&ours.stdout).into_owned();
    let at_target = |text: &str| {
        let blocks = text.split("\n\n").filter(|block| block.contains("probe_calls:target:"));
        blocks.filter(|block| block.contains(" target\n") || block.ends_with(" target")).count()
    };
    assert_eq!(at_target(&ours), 15, "{ours}");
    let groups = recorder.perf(&["evlist", "-g"]);
    assert!(groups.contains("{probe_calls:target,sdt_mill:grind}\n"), "{groups}");

    // By its address, and only where it is called from the child, which a filter cannot tell.
    let symbols = Command::new("nm").arg(&program).ended().unwrap();
    let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
    let line = symbols.lines().find(|line| line.ends_with(" T target")).expect("its symbol");
    let address = line.split(' ').next().unwrap().trim_start_matches('0');
    let by_address = format!("uprobe:{shown}:0x{address},sdt_mill:rest");
    let recorded = recorder.run(&["-e", &by_address, "--filter", "common_pid == 0", "--", shown]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert!(recorded.said.contains("no samples"), "{}", recorded.said);
    let recorded = recorder.run(&["-e", &by_address, "--", shown]);
    let expected = [(format!("probe_calls:abs_{address}"), 15), ("sdt_mill:rest".to_owned(), 2)];
    assert_eq!(counts(&recorder), expected, "{}", recorded.said);

    let listed = Command::new(perftab_binary()).args(["list", "sdt", shown]).ended().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let names: Vec<&str> =
        listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["sdt_mill:grind", "sdt_mill:rest"]);
}

/// The first is a register at one place and on the stack at the other one, the second a constant and a register. A third
/// has another size at each, so it is none.
#[test]
fn samples_of_a_static_probe_hold_what_is_passed_to_it() {
    let test = "samples_of_a_static_probe_hold_what_is_passed_to_it";
    let recorder = Recorder::new();
    let Some(program) = calls(&recorder, test).filter(|_| is_installed(test, "perf")) else {
        return;
    };
    let shown = program.to_str().unwrap();
    let recorded = recorder.run(&["-e", "sdt_mill:grind", "--", shown]);
    assert_eq!((recorded.exit_code, recorded.samples()), (Some(0), 10), "{}", recorded.said);
    let first = (-1..3).map(|i| format!("arg1={i} arg2=7"));
    let second = (10_u64..16).map(|j| format!("arg1={j} arg2={}", j << 40));
    let expected: Vec<String> = first.chain(second).collect();
    let passed = |printed: &str| -> Vec<String> {
        let at = |line: &str| line.find("arg1=").map(|at| line[at..].trim_end().to_owned());
        printed.lines().filter_map(at).collect()
    };
    assert_eq!(passed(&recorder.perf(&["script"])), expected);
    let mut ours = Command::new(perftab_binary());
    let ours = ours.arg("script").arg(&recorder.file).ended().unwrap();
    assert_eq!(passed(&String::from_utf8_lossy(&ours.stdout)), expected);

    let filter = ["-e", "sdt_mill:grind", "--filter", "arg1 < 0 || arg2 > 14293651161088", "--"];
    let recorded = recorder.run(&[&filter[..], &[shown]].concat());
    assert_eq!((recorded.exit_code, recorded.samples()), (Some(0), 3), "{}", recorded.said);
}

const RECURSIVE: &str = r#"
volatile unsigned long sink;
__attribute__((noinline, noclone)) int down(int n) {
  int below = n ? down(n - 1) + 1 : 0;
  sink += below;
  return below;
}
int main(void) { return down(3) - 3; }
"#;

/// The kernel has put its own address into the place of what each of them returns to.
#[test]
fn a_probed_return_hides_its_caller_and_that_is_said() {
    let test = "a_probed_return_hides_its_caller_and_that_is_said";
    if !is_possible(test) {
        return;
    }
    let recorder = Recorder::new();
    let program = compile(&recorder.folder, "recursive", BUSY_ID, RECURSIVE);
    let event = format!("uretprobe:{}:down", program.display());
    let how = ["-e", &event, "--call-graph", "dwarf", "--", program.to_str().unwrap()];
    let recorded = recorder.run(&how);
    assert_eq!((recorded.exit_code, recorded.samples()), (Some(0), 4), "{}", recorded.said);
    let mut report = Command::new(perftab_binary());
    report.arg("report").arg(&recorder.file).env_remove("DEBUGINFOD_URLS");
    let said = String::from_utf8(report.ended().unwrap().stderr).unwrap();
    let expected = "3 where a uretprobe has taken the place of what a function returns to.";
    assert!(said.contains(expected) && !said.contains("contradicts"), "{said}");
}

/// perf finds the same probes of a library by way of its own list of them.
#[test]
fn probes_of_libraries_are_found_through_the_command() {
    let test = "probes_of_libraries_are_found_through_the_command";
    let recorder = Recorder::new();
    if !is_possible(test) || !is_installed(test, "g++") {
        return;
    }
    let source = "int main() { for (int i = 0; i < 9; i++) try { throw i; } catch (int) {} }";
    fs::write(recorder.folder.join("thrower.cpp"), source).unwrap();
    let build = ["-o", "thrower", "thrower.cpp"];
    let built = Command::new("g++").args(build).current_dir(&*recorder.folder).exit_status();
    assert!(built.unwrap().success());
    let recorded = recorder.run(&["-e", "sdt_libstdcxx:throw", "--", "./thrower"]);
    if recorded.said.contains("no such probe") {
        println!("SKIPPED: {test}: this machine's libstdc++ has no probes");
        return;
    }
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert_eq!(counts(&recorder), [("sdt_libstdcxx:throw".to_owned(), 9)]);
}

/// The probe mill:turn is passed again and again.
const TURNS: &str = r#"
#include <sys/prctl.h>
#include <unistd.h>
int main(void) {
  prctl(PR_SET_PDEATHSIG, 9);
  for (;;) { PROBE("turn", "0", "", "i"(0)); usleep(1000); }
}
"#;

/// Its files are told by paths of ours where a folder is its root, and by its own in a mount namespace, as in a container.
#[test]
fn probes_of_a_process_with_another_root_are_found() {
    let test = "probes_of_a_process_with_another_root_are_found";
    let recorder = Recorder::new();
    if !is_possible(test) || !is_installed(test, "unshare") {
        return;
    }
    fs::write(recorder.folder.join("mill.c"), [PROBE, TURNS].concat()).unwrap();
    let build = ["-static", "-o", "mill", "mill.c"];
    let built = Command::new("gcc").args(build).current_dir(&*recorder.folder).exit_status();
    if !built.is_ok_and(|status| status.success()) {
        println!("SKIPPED: {test}: gcc links no static program");
        return;
    }
    let root = recorder.folder.to_str().unwrap();
    let pivoted =
        "mount --bind . . && cd \"$PWD\" && mkdir -p old && pivot_root . old && exec /mill";
    for (program, arguments) in [
        ("chroot", vec![root, "/mill"]),
        ("unshare", vec!["--mount", "--propagation=private", "sh", "-c", pivoted]),
    ] {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&*recorder.folder);
        let process = RunningProcess(command.spawn().unwrap());
        let pid = process.pid();
        let executable = || fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        wait_for("its program", || executable().ends_with("mill"));
        let recorded = recorder.run(&["-e", "sdt_mill:turn", "-p", &pid, "--duration", "300ms"]);
        assert_eq!(recorded.exit_code, Some(0), "{program}: {}", recorded.said);
        assert!(recorded.samples() > 10, "{program}: {}", recorded.said);
    }
}

#[test]
fn a_recorder_that_is_killed_leaves_no_probe() {
    let test = "a_recorder_that_is_killed_leaves_no_probe";
    let recorder = Recorder::new();
    if !is_possible(test) {
        return;
    }
    let program = busy(&recorder.folder);
    let target = RunningProcess::program(&program, &[]);
    let event = format!("uprobe:{}:user_work", program.display());
    let recording = recorder.start(&["-e", &event, "-p", &target.pid()]);
    assert!(!is_unprobed(&program), "it is probed");
    recording.signal("KILL");
    wait_for("the probe to be removed", || is_unprobed(&program));
    drop(recording);
    // The program goes on, unprobed.
    target.runs_for(1);
    assert!(open_path(&recorder.file).unwrap().info().samples > 0);
}

#[test]
fn what_cannot_be_probed_is_said_with_what_can() {
    let test = "what_cannot_be_probed_is_said_with_what_can";
    let recorder = Recorder::new();
    let Some(program) = calls(&recorder, test) else { return };
    let shown = program.to_str().unwrap();
    let failed = |event: &str, words: &[&str]| {
        let event = event.replace("PROGRAM", shown);
        recorder.run(&["-e", &event, "--", shown]).failed_with(2, words);
    };
    failed("uprobe:PROGRAM:targte", &["no function 'targte'", "it has target"]);
    failed("uprobe:PROGRAM:0x7fffffff", &["no code at 0x7fffffff"]);
    failed("uprobe:PROGRAM.c:main", &["no ELF file"]);
    failed("uprobe:PROGRAM:", &["give file and function"]);
    failed("uretprobe:PROGRAM:target+4", &["leave out what is behind the +"]);
    if cfg!(target_arch = "x86_64") {
        // Behind its first byte is one of three or four.
        failed("uprobe:PROGRAM:target+2", &["no instruction of ", "one begins at 0x"]);
    }
    failed("sdt_mill:flour", &["no such probe", "name the file that has it"]);
    failed("sdt_mill:flour@PROGRAM", &["perftab list sdt"]);
    // Two functions of one name in two files of source.
    for (name, rest) in [
        ("one", "int two(void); int main(void) { return f() + two(); }"),
        ("two", "int two(void) { return f(); }"),
    ] {
        let source = format!(
            "__attribute__((noinline, noclone)) static int f(void) {{ __asm__ volatile(\"\"); return 0; }} {rest}\n"
        );
        fs::write(recorder.folder.join(format!("{name}.c")), source).unwrap();
    }
    let build = ["-O1", "-o", "twice", "one.c", "two.c"];
    let built = Command::new("gcc").args(build).current_dir(&*recorder.folder).exit_status();
    assert!(built.unwrap().success());
    let ambiguous = recorder.run(&["-e", "uprobe:./twice:f", "--", "./twice"]);
    ambiguous.failed_with(2, &["2 functions of ./twice are called f", "uprobe:./twice:0x"]);
    // What it says can be typed.
    let said = ambiguous.said.trim_end();
    let typed = said.rsplit([' ', ',']).next().unwrap();
    let recorded = recorder.run(&["-e", typed, "--", "./twice"]);
    assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
    assert_eq!(counts(&recorder)[0].1, 1);

    if is_installed(test, "setpriv") {
        let event = format!("uprobe:{shown}:target");
        let (code, said) = as_nobody(&recorder, &["-e", &event, "--", shown]).unwrap();
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("record as root"), "{said}");
    }
}
