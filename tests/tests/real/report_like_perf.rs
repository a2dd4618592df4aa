//! `perftab report` and `perf report` of one recording agree, function by function, on samples
//! and weight, for user and kernel symbols.
//!
//! Exceptions, all of them in how a function is written, none in what is counted:
//! - what has no name is compared by DSO, since perf counts each address and prints it padded;
//! - perf 6.1 calls a stub of the linkage table `@plt` where its relocation has no symbol (functions
//!   chosen at load time, R_X86_64_IRELATIVE); that is no name;
//! - the programs recorded are C, since perf leaves the parameters of C++ functions out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::perftab_binary;
use perftab_tests::program::compile;

/// Self samples and self weight by DSO and function.
type Functions = BTreeMap<(String, String), (u64, u64)>;

const SOURCE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned long sum;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static __attribute__((noinline)) void sorts(int *numbers, int count) {
    for (int i = 0; i < count; i++) numbers[i] = (i * 7919) % 65537;
    qsort(numbers, count, sizeof *numbers, compare);
}
static __attribute__((noinline)) void copies(char *to, char *from, int size) {
    for (int i = 0; i < 200; i++) { memcpy(to, from, size); sum += to[i]; }
}
static __attribute__((noinline)) void reads(void) {
    char text[4096];
    for (int i = 0; i < 2000; i++) {
        FILE *file = fopen("/proc/self/maps", "r");
        if (!file) exit(1);
        while (fgets(text, sizeof text, file)) sum += strlen(text);
        fclose(file);
    }
}
int main(void) {
    int *numbers = malloc(sizeof *numbers * 300000);
    char *bytes = calloc(2, 1000000);
    for (int i = 0; i < 5; i++) sorts(numbers, 300000);
    copies(bytes, bytes + 1000000, 1000000);
    reads();
    return sum == 1;
}
"#;

#[test]
fn functions_samples_and_weights_agree() {
    let folder = TestFolder::new();
    let id = "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e";
    let program = compile(&folder, "workload", id, SOURCE);
    let recording = folder.join("perf.data");
    let recorded = Command::new(perftab_binary())
        .args(["record", "-F", "4999", "-g", "-o"])
        .arg(&recording)
        .arg("--")
        .arg(&program)
        .stdout(Stdio::null())
        .ended()
        .expect("perftab runs");
    let stderr = String::from_utf8_lossy(&recorded.stderr);
    assert!(recorded.status.success(), "perftab record fails: {stderr}");

    let Some(perfs) = by_perf(&recording) else {
        println!("SKIPPED: functions_samples_and_weights_agree: perf is not installed");
        return;
    };
    let ours = by_perftab(&recording);
    let of = |dso: &str, name: &str| ours.get(&(dso.to_owned(), name.to_owned()));
    assert!(of("workload", "compare").is_some(), "nothing of the program: {ours:?}");
    assert!(ours.keys().any(|(dso, name)| dso == "[kernel.kallsyms]" && name != NO_NAME));
    assert!(ours.keys().any(|(dso, name)| dso.starts_with("libc") && name != NO_NAME));
    for function in ours.keys().chain(perfs.keys()) {
        assert_eq!(ours.get(function), perfs.get(function), "ours, perf's: {function:?}");
    }
}

const NO_NAME: &str = "no name";

fn by_perftab(recording: &Path) -> Functions {
    let output = Command::new(perftab_binary())
        .args(["report", "--json", "--no-inline"])
        .arg(recording)
        .ended()
        .expect("perftab runs");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mut functions = Functions::new();
    for function in report["functions"].as_array().expect("functions") {
        let dso = function["dso"].as_str().unwrap_or_default();
        let dso = if dso.starts_with('[') { dso } else { dso.rsplit('/').next().unwrap_or(dso) };
        let name =
            function["name"].as_str().filter(|name| !perf_names_otherwise(name)).unwrap_or(NO_NAME);
        let number = |key: &str| function[key].as_u64().expect("a number");
        add(&mut functions, dso, name, number("self_samples"), number("self"));
    }
    functions
}

/// perf 6.1 names entries of linkage tables after their position, which is not the order of their
/// relocations: those of libc have each another's name. (`symbols/tables.rs` has them by objdump.)
///
/// A function that is chosen at load time has two names at one address, its own and that of the
/// function that chooses (`strcpy`, `strcpy_ifunc`). perf takes now this one, now that.
pub fn perf_names_otherwise(name: &str) -> bool {
    let plain = name.split('@').next().unwrap_or(name);
    name.ends_with("@plt") || plain.ends_with("_ifunc") || chosen_at_load().contains(plain)
}

/// A name as perf shows it, without the version of its symbol.
pub fn without_version(name: &str) -> &str {
    match name.split_once('@') {
        Some((plain, version)) if version != "plt" => plain,
        _ => name,
    }
}

/// The functions of libc that are, as binutils find them in it and in its debug file.
fn chosen_at_load() -> &'static BTreeSet<String> {
    static NAMES: OnceLock<BTreeSet<String>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let maps = fs::read_to_string("/proc/self/maps").expect("this process has mappings");
        let mut paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
        let libc = paths.find(|path| path.contains("/libc.so")).expect("it uses libc");
        let notes = by_readelf(&["--notes", libc]);
        let id = notes.split("Build ID: ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let (first, rest) = id.expect("libc has a build-id").split_at(2);
        let debug_file = format!("/usr/lib/debug/.build-id/{first}/{rest}.debug");
        let with_symbols = [libc, &debug_file].into_iter().filter(|path| Path::new(path).exists());
        // `Num: Value Size Type Bind Vis Ndx Name@VERSION`
        let symbols = |path| by_readelf(&["--symbols", "--wide", path]);
        let tables: Vec<String> = with_symbols.map(symbols).collect();
        let fields = tables.iter().flat_map(|table| table.lines()).map(str::split_whitespace);
        let names = fields.filter_map(|mut fields| {
            let is_chosen = fields.nth(3) == Some("IFUNC");
            fields.nth(3).filter(|_| is_chosen)?.split('@').next()
        });
        names.map(str::to_owned).collect()
    })
}

fn by_readelf(arguments: &[&str]) -> String {
    let output = Command::new("readelf").args(arguments).env("LC_ALL", "C").ended();
    String::from_utf8_lossy(&output.expect("readelf runs").stdout).into_owned()
}

#[test]
fn what_libc_chooses_at_load_is_known() {
    assert!(perf_names_otherwise("memcpy") && perf_names_otherwise("strcpy_ifunc"));
    assert!(perf_names_otherwise("memcpy@@GLIBC_2.14") && !perf_names_otherwise("qsort"));
}

fn by_perf(recording: &Path) -> Option<Functions> {
    let output = Command::new("perf")
        .args(["report", "--stdio", "--no-children", "-g", "none", "--no-inline"])
        .args(["-F", "sample,period,dso,symbol", "-t", "|", "-i"])
        .arg(recording)
        .ended()
        .ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut functions = Functions::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [samples, weight, dso, symbol] = cells[..] else { panic!("perf prints {line:?}") };
        // `[.] name`, `[k] name`
        let name = symbol.split_once("] ").map_or(symbol, |(_, name)| name.trim());
        let name = without_version(name);
        let name =
            if name.starts_with("0x") || perf_names_otherwise(name) { NO_NAME } else { name };
        let number = |text: &str| text.parse().expect("a number");
        add(&mut functions, dso, name, number(samples), number(weight));
    }
    Some(functions)
}

fn add(functions: &mut Functions, dso: &str, name: &str, samples: u64, weight: u64) {
    if samples > 0 {
        let sums = functions.entry((dso.to_owned(), name.to_owned())).or_default();
        *sums = (sums.0 + samples, sums.1 + weight);
    }
}
