//! What debug information names, on this machine: offered to the page of `perftab view`, packed and stored.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::perf;
use perftab_tests::perftab_at;
use perftab_tests::program::is_installed;
use perftab_tests::servers::Viewer;
use serde_json::Value;

const ID: &str = "9f31c07ad05e9f31c07ad05e9f31c07ad05e9f32";
const OTHER: &str = "41b7e2c041b7e2c041b7e2c041b7e2c041b7e2c1";
const SOURCE: &str = "
static volatile unsigned long sum;
static inline __attribute__((always_inline)) void innermost(unsigned long n) { while (n--) sum += n; }
__attribute__((noinline)) void tides(unsigned long n) { innermost(n); }
int main(void) { tides(60000000); return 0; }
";

fn shell(folder: &Path, command: &str) -> String {
    let output = Command::new("sh").args(["-ec", command]).current_dir(folder).ended();
    let output = output.expect("sh runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// `ebb` and its unit `unit/abcde.dwo`; the unit's id.
fn build(folder: &Path) -> String {
    fs::create_dir(folder.join("unit")).expect("a folder");
    fs::write(folder.join("ebb.c"), SOURCE).expect("it is written");
    let compile = "gcc -O1 -g -gdwarf-5 -gsplit-dwarf -c ebb.c -o unit/abcde.o";
    shell(folder, &format!("{compile} && gcc -Wl,--build-id=0x{ID} unit/abcde.o -o ebb"));
    let dump = shell(folder, "readelf --debug-dump=info unit/abcde.dwo");
    let (_, id) = dump.split_once("DWO ID:").expect("it has an id");
    let id = id.split_whitespace().next().expect("digits").trim_start_matches("0x");
    format!("{id:0>16}")
}

#[test]
fn the_page_gets_units_that_debug_information_names_and_nothing_else() {
    let folder = TestFolder::new();
    let id = build(&folder);
    let at = |name: &str| folder.join(name);
    let name = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let unit = fs::read(at("unit/abcde.dwo")).expect("the unit");
    let program = fs::read(at("ebb")).expect("the program");
    let of = |build: &str, id: &str| format!("/local/buildid/{build}/unit/{id}");
    // The paths are read once, so each program has a server of its own.
    let asked = |more: &[&str]| {
        let viewer = Viewer::start(&[&["--image", &name(&at("ebb"))], more].concat());
        viewer.get(&of(ID, &id))
    };
    let viewer = Viewer::start(&["--image", &name(&at("ebb"))]);
    let answer = viewer.get(&of(ID, &id));
    assert!(answer.status == 200 && answer.body == unit, "{}", answer.status);
    assert_eq!(viewer.get(&of(ID, "00ff00ff00ff00ff")).status, 404, "no skeleton has this id");
    assert_eq!(viewer.get(&of(OTHER, &id)).status, 404, "no file of this build is here");
    assert_eq!(viewer.get(&format!("/local/buildid/{ID}/shared/{ID}")).status, 404);
    assert_eq!(asked(&["--no-local"]).status, 404, "nothing else is to be looked at");

    // What the program names instead, in as many bytes.
    let named = b"unit/abcde.dwo\0";
    let place = program.windows(named.len()).position(|bytes| bytes == named).expect("its name");
    let naming = |path: &str| {
        let mut bytes = program.clone();
        bytes[place..place + named.len()].fill(0);
        bytes[place..place + path.len()].copy_from_slice(path.as_bytes());
        fs::remove_file(at("ebb")).expect("it is there");
        fs::write(at("ebb"), bytes).expect("it is written");
    };
    fs::write(at("unit/plain"), "no unit").expect("it is written");
    shell(&folder, "mkfifo unit/fifo && ln -s /dev/zero unit/zero && ln -s abcde.dwo unit/link");
    for path in ["/etc/shadow", "/etc/passwd", "/dev/zero", "unit/fifo", "unit/zero", "unit/plain"]
    {
        naming(path);
        assert_eq!(asked(&[]).status, 404, "{path}");
    }
    for path in ["..", "/", "unit", "ebb", "unit/abcde.o"] {
        naming(path);
        assert_eq!(asked(&[]).status, 404, "{path}");
    }
    // Wherever a path leads: the id in the file decides.
    naming("unit/link");
    assert_eq!(asked(&[]).body, unit);

    // A unit with another id.
    naming("unit/abcde.dwo");
    let mut other = unit.clone();
    let bytes = u64::from_str_radix(&id, 16).expect("hex").to_le_bytes();
    let place = other.windows(8).position(|it| it == bytes).expect("its id");
    other[place] ^= 1;
    fs::write(at("unit/abcde.dwo"), &other).expect("it is written");
    shell(&folder, "touch -d '2001-01-01' unit/abcde.dwo");
    assert_eq!(asked(&[]).status, 404);

    // Beside the program, and in a package beside it.
    fs::write(at("abcde.dwo"), &unit).expect("it is written");
    shell(&folder, "touch -d '2001-01-01' abcde.dwo");
    assert_eq!(asked(&[]).body, unit);
    shell(&folder, "touch -d '2001-01-01' ebb && touch abcde.dwo");
    assert_eq!(asked(&[]).status, 404, "it is newer than its program");
    // A package is made after its program, and is known by its ids, too.
    fs::copy(at("abcde.dwo"), at("ebb.dwp")).expect("it is copied");
    assert_eq!(asked(&[]).body, unit);
}

#[test]
fn b45_units_that_were_split_off_are_packed_and_stored() {
    let test = "b45_units_that_were_split_off_are_packed_and_stored";
    let folder = TestFolder::new();
    let id = build(&folder);
    let program = folder.join("ebb");
    let Some(recording) = perf::record(test, &program, &folder.join("perf.data")) else { return };
    let home = TestFolder::new();
    let recording = recording.to_str().expect("UTF-8");
    let run = |arguments: &[&str]| -> Output {
        perftab_at(&home, arguments).ended().expect("perftab runs")
    };
    let names = |arguments: &[&str]| -> BTreeSet<String> {
        let output = run(&[&["report", "--json", recording], arguments].concat());
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let functions = report["functions"].as_array().expect("functions").iter();
        functions.filter_map(|it| Some(it["name"].as_str()?.to_owned())).collect()
    };
    let archive = folder.join("all.tar.gz");
    let archive = archive.to_str().expect("UTF-8");
    let packed = run(&["buildid", "archive", recording, "-o", archive]);
    assert!(packed.status.code().is_some_and(|code| code < 2), "{packed:?}");
    let listed = shell(&folder, "tar tzf all.tar.gz");
    assert!(listed.lines().any(|line| line.ends_with(&format!("ebb/{ID}/unit/{id}"))), "{listed}");
    run(&["buildid", "store", recording]);
    fs::rename(folder.join("unit/abcde.dwo"), folder.join("given.dwo")).expect("it is there");
    fs::remove_dir_all(folder.join("unit")).expect("it is there");
    assert!(names(&[]).contains("innermost"), "from the cache: {:?}", names(&[]));
    let elsewhere = TestFolder::new();
    let cache = ["--buildid-dir", elsewhere.to_str().expect("UTF-8")];
    assert!(!names(&cache).contains("innermost"), "nowhere else");
    assert!(names(&["--no-local", "--image", archive]).contains("innermost"));
    shell(&elsewhere, &format!("tar xzf {archive}"));
    assert!(names(&cache).contains("innermost"), "unpacked into a cache");

    // Wherever it is, and whatever it is called, also in a package; and without anything else of this machine.
    let program = program.to_str().expect("UTF-8");
    let mut all = vec!["given.dwo"];
    if is_installed(test, "llvm-dwp") {
        shell(&folder, "llvm-dwp given.dwo -o given.dwp");
        all.push("given.dwp");
    }
    for given in all {
        let given = folder.join(given);
        let given = given.to_str().expect("UTF-8");
        let images = ["--no-local", "--image", program, "--image", given];
        let packed =
            run(&[&["buildid", "archive", recording, "-o", archive], &images[..]].concat());
        assert!(packed.status.code().is_some_and(|code| code < 2), "{packed:?}");
        assert!(names(&["--no-local", "--image", archive]).contains("innermost"), "{given}");
        let viewer = Viewer::start(&images);
        assert_eq!(viewer.get(&format!("/local/buildid/{ID}/unit/{id}")).status, 200, "{given}");
    }
}
