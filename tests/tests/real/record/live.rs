//! `perftab top`: what is recorded is shown while it is.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::{perftab_binary, program};

use crate::record::recorder::{Recorder, RunningProcess, busy, is_installed, wait_for};

/// The share in percent that begins the first line with this name; below it, it may be a caller.
fn share(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains(name))?;
    line.trim_start().split(['\u{2009}', ' ']).next()?.parse().ok()
}

#[test]
fn top_names_and_counts_as_report_does() {
    let recorder = Recorder::new();
    // Whatever a file is called, the terminal shows it.
    let program = recorder.folder.join("bu\u{1b}[31msy\n");
    fs::copy(busy(&recorder.folder), &program).expect("a copy");
    let process = RunningProcess::program(&program, &[]);
    let pid = process.pid();
    // On a busy machine the process may have no time on the CPU while it is shown.
    for duration in ["2500ms", "20s"] {
        let begun = process.ticks();
        let record = ["-g", "-p", &pid, "--duration", duration];
        let recording = recorder.command(&record).spawn().map(RunningProcess).expect("it runs");
        let mut top = Command::new(perftab_binary());
        top.args(["top", "--stdio", "-g", "-d", "1", "-p", &pid, "--duration", duration]);
        let shown = top.ended().expect("perftab runs");
        let recorded = recording.end();
        let said = String::from_utf8_lossy(&shown.stderr);
        assert!(shown.status.success(), "{said}");
        assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
        if process.ticks() - begun < 20 {
            continue;
        }
        let text = String::from_utf8(shown.stdout).expect("text");
        assert!(text.contains(r"bu\u{1b}[31msy\n"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert!(text.matches("# perftab top: ").count() > 1, "a table each second: {text}");
        assert!(text.contains(&format!("(pid {pid})")), "{text}");
        let last = &text[text.rfind("# perftab top: ").expect("a table")..];
        let mut report = Command::new(perftab_binary());
        let report = report.args(["report", "--no-inline"]).arg(&recorder.file);
        let report = report.ended().expect("perftab runs");
        let report = String::from_utf8(report.stdout).expect("text");
        let of_report = share(&report, "   user_work ").unwrap_or_else(|| panic!("{report}"));
        let of_top = share(last, " user_work ").unwrap_or_else(|| panic!("{last}"));
        // Both took samples of their own.
        assert!((of_report - of_top).abs() < 25.0, "{of_report} % and {of_top} %\n{last}");
        // Who called it, as the call tree has it.
        let mut tree = Command::new(perftab_binary());
        let tree = tree.args(["report", "--no-inline", "-g", "callee"]).arg(&recorder.file);
        let tree = String::from_utf8(tree.ended().expect("perftab runs").stdout).expect("text");
        let caller = |text: &str| {
            let below = text.split(" user_work ").nth(1).and_then(|rest| rest.lines().nth(1));
            let name = below.and_then(|line| line.split_once("%   ").or(line.split_once("   ")));
            let name = name.map(|(_, name)| name.trim_start_matches(['+', '-', ' ']));
            name.and_then(|name| name.split_whitespace().next()).map(str::to_owned)
        };
        assert!(caller(&tree).is_some(), "{tree}");
        assert_eq!(caller(last), caller(&tree), "{last}\n{tree}");
        return;
    }
    panic!("the process had no time on the CPU");
}

#[test]
fn top_has_rows_by_the_keys_of_report() {
    let recorder = Recorder::new();
    let program = busy(&recorder.folder);
    let other = recorder.folder.join("other");
    program::copy(&program, &other);
    let processes = [&program, &other].map(|program| RunningProcess::program(program, &[]));
    let [pid, other_pid] = [0, 1].map(|index| processes[index].pid());
    let both = format!("{pid},{other_pid}");
    let top = |options: &[&str]| {
        let mut top = Command::new(perftab_binary());
        top.args(["top", "--stdio", "-g", "-p", &both, "--duration", "1500ms"]).args(options);
        let shown = top.ended().expect("perftab runs");
        (
            shown.status.success(),
            [shown.stdout, shown.stderr].map(|it| String::from_utf8(it).expect("text")),
        )
    };
    let recording = recorder.start(&["-g", "-p", &both]);
    let (is_shown, [text, said]) = top(&["-s", "comm,tid"]);
    processes.iter().for_each(|process| process.runs_for(10));
    recording.signal("INT");
    assert_eq!(recording.end().exit_code, Some(0));
    assert!(is_shown, "{said}");
    let last = &text[text.rfind("# perftab top: ").expect("a table")..];
    assert!(last.contains("Self   Total    Thread  TID\n"), "{last}");
    let mut report = Command::new(perftab_binary());
    let report = report.args(["report", "--sort", "comm,tid"]).arg(&recorder.file);
    let report = String::from_utf8(report.ended().expect("perftab runs").stdout).expect("text");
    for (name, pid) in [("busy", &pid), ("other", &other_pid)] {
        let row = |text: &str| {
            let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            rows.filter(|row| row.ends_with(&[name, pid])).count()
        };
        assert_eq!((row(last), row(&report)), (1, 1), "{last}\n{report}");
    }
    // Both are the rows without it.
    for sort in [&["-s", "sym,dso"][..], &["--sort", "total"]] {
        let (is_shown, [text, said]) = top(sort);
        assert!(is_shown && text.contains(" user_work "), "{text}{said}");
    }
    for (sort, words) in [
        (&["-s", "srcline"][..], "perftab report has the others"),
        (&["-s", "symbol_from"], "perftab report has the others"),
        (&["-s", "self,total"], "only one of"),
        (&["-s", "comm", "-K"], "-K and -U hide functions"),
    ] {
        let (is_shown, [_, said]) = top(sort);
        assert!(!is_shown && said.contains(words), "{said}");
    }
}

#[test]
fn top_obeys_keys_and_gives_the_terminal_back() {
    if !is_installed("top_obeys_keys_and_gives_the_terminal_back", "script") {
        return;
    }
    let recorder = Recorder::new();
    let process = RunningProcess::program(&busy(&recorder.folder), &[]);
    let (program, pid) = (perftab_binary(), process.pid());
    let top = format!("{} top -g -d 500ms -p {pid}", program.display());
    // A terminal that nothing can be written over has a table.
    let table = format!("TERM=dumb {} top --duration 100ms -p {pid}", program.display());
    let line = format!("stty rows 24 cols 80; {table}; stty -g; {top}; echo code $?; stty -g");
    let mut script = Command::new("script");
    script.env("TERM", "xterm");
    script.args(["-q", "-e", "-c", &line, "/dev/null"]);
    script.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut script = RunningProcess(script.spawn().expect("script runs"));
    let mut keys = script.0.stdin.take().expect("its input");
    let mut output = script.0.stdout.take().expect("its output");
    let shown = Arc::new(Mutex::new(String::new()));
    let reader = thread::spawn({
        let shown = shown.clone();
        move || {
            let mut block = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut block) {
                let text = String::from_utf8_lossy(&block[..count]);
                shown.lock().expect("the text").push_str(&text);
            }
        }
    });
    // What has been shown since the last key.
    let mut seen = 0;
    let mut press = |key: &[u8], what: &str| {
        keys.write_all(key).and_then(|()| keys.flush()).expect("it is read");
        wait_for(what, || shown.lock().expect("the text")[seen..].contains(what));
        seen = shown.lock().expect("the text").len();
    };
    press(b"", "\x1b[?1049h");
    press(b"", " user_work ");
    press(b"/user_w", "only: user_w_");
    press(b"\r\r", " - user_work ");
    press(b"h", "Any key goes back.");
    press(b"x", "   Self   Total    Function");
    press(b"\x1bt", "\x1b[1m   Total    Function");
    press(b"/user_w\r", "; only user_w");
    press(b"E", " user_work ");
    press(b"p", "; paused");
    press(b"q", "code 0");
    drop(keys);
    reader.join().expect("all was read");
    let shown = shown.lock().expect("the text");
    // As wide as the terminal, and no wider.
    let (before, after) = shown.split_once("\x1b[?1049h").expect("another screen");
    assert!(before.contains("# perftab top: ") && !before.contains('\x1b'), "{before:?}");
    let (drawn, after) = after.rsplit_once("\x1b[?1049l").expect("the screen before");
    let lines = drawn.split("\x1b[K").skip(1).filter_map(|it| it.rsplit(['\n', '\x1b']).nth(1));
    let widths = lines.map(|line| {
        // `[7m` is how it looks.
        let text = line.strip_prefix('[').and_then(|it| it.split_once('m'));
        text.map_or(line, |(_, text)| text).chars().count()
    });
    let widths: Vec<usize> = widths.collect();
    assert_eq!(widths.iter().max(), Some(&80), "{shown:?}");
    let state =
        |text: &str| text.lines().rfind(|it| it.contains(':')).map(|it| it.trim().to_owned());
    assert!(state(before).is_some_and(|it| it.len() > 20), "{before:?}");
    let before = before.lines().find(|line| line.matches(':').count() > 5).map(str::trim);
    assert_eq!(state(after).as_deref(), before, "{after:?}");
}
