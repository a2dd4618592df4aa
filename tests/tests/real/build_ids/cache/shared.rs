//! Several processes in one cache at once.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use perftab_tests::child_process::end_of;
use perftab_tests::perftab_binary;
use perftab_tests::program::compile;

use super::home::{Home, lines, source, text};

const PROGRAMS: usize = 12;
const PROCESSES: usize = 4;

fn id(number: usize) -> String {
    format!("{:040x}", 0xab_0000_0001_u64 + number as u64)
}

fn programs(home: &Home) -> Vec<PathBuf> {
    let first = compile(&home.folder, "p", &id(0), &source("busy"));
    let template = fs::read(&first).expect("the program");
    let old: Vec<u8> = bytes(&id(0));
    let at = template.windows(old.len()).position(|window| window == old).expect("the note");
    (0..PROGRAMS)
        .map(|number| {
            let mut program = template.clone();
            program[at..at + old.len()].copy_from_slice(&bytes(&id(number)));
            home.folder.write(&format!("p{number}"), &program)
        })
        .collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn start(home: &Home, verb: &str, programs: &[PathBuf]) -> Child {
    let mut command = home.command(perftab_binary(), &["buildid", verb]);
    command.args(programs).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs")
}

fn end(child: Child) {
    let output = end_of(child, "perftab buildid");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

fn all(programs: &[PathBuf]) -> String {
    let lines = programs.iter().enumerate();
    lines.map(|(number, path)| format!("{} {}\n", id(number), path.display())).collect()
}

#[test]
fn b48_processes_at_once_lose_nothing() {
    let Some(home) = Home::new("b48_processes_at_once_lose_nothing") else { return };
    let programs = programs(&home);
    // All of them store all of it, in other orders.
    let children: Vec<Child> = (0..PROCESSES)
        .map(|number| {
            let mut order = programs.clone();
            order.rotate_left(number * 3);
            start(&home, "add", &order)
        })
        .collect();
    // Whoever looks meanwhile sees whole files or none.
    for _ in 0..5 {
        let seen = home.buildid(&["list", "-l"]);
        assert!(seen.stderr.is_empty(), "{}", text(&seen.stderr));
    }
    children.into_iter().for_each(end);
    assert_eq!(lines(&home.done(&["list", "-l"])), lines(&all(&programs)));
    assert_eq!(lines(&home.perf(&["buildid-cache", "-l"])), lines(&all(&programs)));
    for (number, program) in programs.iter().enumerate() {
        let below = program.strip_prefix("/").expect("absolute");
        let copy = home.cache().join(below).join(id(number)).join("elf");
        assert_eq!(fs::read(copy).expect("stored"), fs::read(program).expect("the program"));
    }
    let left = home.snapshot().into_iter().filter(|file| file.contains(".perftab-")).count();
    assert_eq!(left, 0, "no passing file is left");
}

#[test]
fn b48_removing_and_adding_at_once_leaves_whole_entries() {
    let test = "b48_removing_and_adding_at_once_leaves_whole_entries";
    let Some(home) = Home::new(test) else { return };
    let programs = programs(&home);
    let verbs = ["add", "remove", "update", "remove", "add", "purge"];
    let children = verbs.map(|verb| start(&home, verb, &programs));
    children.into_iter().for_each(end);
    // Whatever came last: each entry is there and right, or is not there at all.
    let listed = home.buildid(&["list", "-l"]);
    assert!(listed.stderr.is_empty(), "{}", text(&listed.stderr));
    let listed = lines(&text(&listed.stdout));
    assert!(listed.is_subset(&lines(&all(&programs))), "{listed:?}");
    assert_eq!(lines(&home.perf(&["buildid-cache", "-l"])), listed, "no link leads nowhere");
    end(start(&home, "add", &programs));
    assert_eq!(lines(&home.done(&["list", "-l"])), lines(&all(&programs)));
}

#[test]
fn b48_perf_and_we_store_at_once() {
    let Some(home) = Home::new("b48_perf_and_we_store_at_once") else { return };
    let programs = programs(&home);
    let ours = start(&home, "add", &programs);
    for program in programs.iter().rev() {
        home.perf(&["buildid-cache", "-a", program.to_str().expect("UTF-8")]);
    }
    end(ours);
    assert_eq!(lines(&home.done(&["list", "-l"])), lines(&all(&programs)));
    assert_eq!(lines(&home.perf(&["buildid-cache", "-l"])), lines(&all(&programs)));
}
