//! Stacks of a program with many kinds of frames, beside those that perf and samply unwind from the same recording.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::perf::until_the_kernel_lets;
use perftab_tests::perftab_binary;
use perftab_tests::program::is_installed;
use serde_json::Value;

/// The name of a DSO, and where in its page the address is. perf and samply have callers one before the return address.
type Frame = (String, u64);
/// Innermost first, by thread, in the order of time.
type Stacks = BTreeMap<u32, Vec<Vec<Frame>>>;

const PAGE: u64 = 0x1000;

/// Peers may guess: one of so many stacks.
const RARE: usize = 200;

/// What a compiler was recorded as; `None` if perf cannot do it here.
fn recorded(test: &str, folder: &Path) -> Option<PathBuf> {
    let (source, recording) = (folder.join("source.cpp"), folder.join("perf.data"));
    fs::write(&source, include_str!("shadow_stack.cpp")).expect("it is written");
    let mut command = Command::new("perf");
    let taken = ["-e", "cpu-clock:u", "-F", "1999", "--call-graph", "dwarf,32768", "-m", "2048"];
    command.args(["record", "-q", "--buildid-mmap"]).args(taken).arg("-o").arg(&recording);
    command.args(["g++", "-std=c++20", "-O2", "-c", "-o", "/dev/null"]).arg(&source);
    let recorded = until_the_kernel_lets(command.env("HOME", folder)).expect("perf runs");
    if !recorded.status.success() {
        let why = String::from_utf8_lossy(&recorded.stderr);
        println!("SKIPPED: {test}: perf cannot record: {}", why.trim().replace('\n', " "));
        return None;
    }
    Some(recording)
}

fn output(command: &mut Command) -> Vec<u8> {
    command.env_remove("DEBUGINFOD_URLS").ended().expect("it runs").stdout
}

/// The stacks that `script` of perftab or perf prints.
fn printed(command: &mut Command) -> Stacks {
    let text = output(command);
    let mut stacks = Stacks::new();
    let mut thread = 0;
    for line in String::from_utf8_lossy(&text).lines().filter(|line| !line.is_empty()) {
        let frame = line.trim_start().split_once(' ').filter(|_| line.starts_with(['\t', ' ']));
        let frame = frame.and_then(|(address, rest)| {
            let dso = rest.rsplit_once('(')?.1.strip_suffix(')')?;
            let name = Path::new(dso).file_name().and_then(OsStr::to_str).unwrap_or(dso);
            Some((name.to_owned(), u64::from_str_radix(address, 16).ok()? % PAGE))
        });
        match frame {
            Some(frame) if frame.0 != "inlined" => {
                let stacks = stacks.get_mut(&thread).expect("a sample before its frames");
                stacks.last_mut().expect("a sample").push(frame);
            }
            Some(_) => {}
            None => {
                let ids = line.split_whitespace().filter_map(|word| word.split_once('/'));
                let mut threads = ids.filter_map(|(_, thread)| thread.parse().ok());
                thread = threads.next().expect("the line of a sample");
                stacks.entry(thread).or_default().push(Vec::new());
            }
        }
    }
    stacks
}

/// The stacks that samply imports.
fn imported(samply: &OsStr, recording: &Path) -> Stacks {
    let file = recording.with_extension("json");
    let mut import = Command::new(samply);
    output(import.args(["import", "--save-only", "-o"]).args([&file, recording]));
    let profile: Value = serde_json::from_slice(&fs::read(file).expect("a profile")).expect("JSON");
    let mut stacks = Stacks::new();
    for thread in profile["threads"].as_array().expect("threads") {
        let at = |table: &str, column: &str, row: u64| &thread[table][column][row as usize];
        let frame = |stack: u64| {
            let frame = at("stackTable", "frame", stack).as_u64().expect("a frame");
            let function = at("frameTable", "func", frame).as_u64().expect("a function");
            let resource = at("funcTable", "resource", function).as_u64();
            let lib = resource.and_then(|it| at("resourceTable", "lib", it).as_u64());
            let name = lib.and_then(|it| profile["libs"][it as usize]["name"].as_str());
            let address = at("frameTable", "address", frame).as_i64().expect("an address");
            (name.unwrap_or("?").to_owned(), address as u64 % PAGE)
        };
        let stack = |innermost: &Value| {
            let prefix = |stack: &u64| at("stackTable", "prefix", *stack).as_u64();
            std::iter::successors(innermost.as_u64(), prefix).map(frame).collect()
        };
        let id = thread["tid"].as_str().and_then(|id| id.split('.').next()?.parse().ok());
        let samples = thread["samples"]["stack"].as_array().expect("samples");
        stacks.entry(id.expect("its number")).or_default().extend(samples.iter().map(stack));
    }
    stacks
}

fn count(stacks: &Stacks) -> usize {
    stacks.values().map(Vec::len).sum()
}

fn frames(stacks: &Stacks) -> usize {
    stacks.values().flatten().map(Vec::len).sum()
}

/// The frame that most stacks of a thread end in.
fn root(stacks: &[Vec<Frame>]) -> Option<&Frame> {
    let mut counts = BTreeMap::<&Frame, usize>::new();
    for outermost in stacks.iter().filter_map(|stack| stack.last()) {
        *counts.entry(outermost).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(root, _)| root)
}

/// Checks that nearly all stacks of a peer are the inner part of ours, or the whole.
///
/// Left out are those that go astray: perf 6.1 takes .6 % of a compiler's stacks through data. Such a stack does not end in the
/// root that the peer has itself for the thread, and ours does, or it ends sooner than ours.
fn none_is_shorter(ours: &Stacks, peer: &str, theirs: &Stacks) {
    assert_eq!(count(ours), count(theirs), "{peer}");
    let is_same = |((our_dso, ours), (dso, theirs)): (&Frame, &Frame)| {
        our_dso == dso && ours.wrapping_sub(*theirs) % PAGE <= 1
    };
    let is_less = |ours: &Vec<Frame>, theirs: &Vec<Frame>| {
        ours.len() < theirs.len() || !ours.iter().zip(theirs).all(is_same)
    };
    let less = ours.iter().flat_map(|(thread, ours)| {
        let root = root(&theirs[thread]);
        let ends = move |stack: &Vec<Frame>| stack.last().zip(root).is_some_and(is_same);
        let is_astray = move |ours: &Vec<Frame>, theirs: &Vec<Frame>| {
            !ends(theirs) && (ends(ours) || theirs.len() < ours.len())
        };
        let pairs = ours.iter().zip(&theirs[thread]);
        pairs.filter(move |(ours, theirs)| is_less(ours, theirs) && !is_astray(ours, theirs))
    });
    let less: Vec<_> = less.collect();
    let first = less.first();
    assert!(less.len() * RARE <= count(ours), "{} beside {peer}: {first:#?}", less.len());
}

#[test]
fn stacks_are_as_long_as_those_of_perf_and_samply() {
    let test = "stacks_are_as_long_as_those_of_perf_and_samply";
    if !is_installed(test, "perf") || !is_installed(test, "g++") {
        return;
    }
    let folder = TestFolder::new();
    let Some(recording) = recorded(test, &folder) else { return };
    let ours = printed(Command::new(perftab_binary()).arg("script").arg(&recording));
    // On one CPU there is one thread that unwinds.
    let mut by_one = Command::new("taskset");
    by_one.args(["-c", "0"]).arg(perftab_binary()).arg("script").arg(&recording);
    assert!(printed(&mut by_one) == ours, "it does not matter how many threads unwind");
    assert!(count(&ours) > 100 && frames(&ours) > 10 * count(&ours), "{}", frames(&ours));

    let report = output(Command::new(perftab_binary()).args(["report", "--json"]).arg(&recording));
    let report: Value = serde_json::from_slice(&report).expect("a report");
    let warnings = report["warnings"].as_array().expect("warnings").iter();
    let stopped = warnings.filter(|warning| warning["kind"] == "not-unwound");
    let stopped: u64 = stopped.filter_map(|warning| warning["samples"].as_u64()).sum();
    assert!(stopped as usize * RARE <= count(&ours), "{stopped} stop: {}", report["warnings"]);

    let mut perf = Command::new("perf");
    perf.args(["script", "--no-inline", "--max-stack", "9999", "-F", "pid,tid,time,ip,sym,dso"]);
    let mut theirs = printed(perf.arg("-i").arg(&recording).env("HOME", &*folder));
    for stack in theirs.values_mut().flatten() {
        // Where a copy ends, perf reads a word behind it.
        stack.pop_if(|(dso, _)| dso == "[unknown]");
    }
    none_is_shorter(&ours, "perf", &theirs);

    let Some(samply) = std::env::var_os("PERFTAB_SAMPLY") else {
        println!("SKIPPED: {test}: samply: run cargo xtask test --peers");
        return;
    };
    none_is_shorter(&ours, "samply", &imported(&samply, &recording));
}
