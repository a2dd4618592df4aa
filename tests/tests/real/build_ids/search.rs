//! Where files are looked for and fetched, and what is said of it: b37, b39, b43, b45, and the
//! places that the search goes through.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Instant;

use perftab_tests::child_process::{self, LimitedCommand, PATIENCE};
use perftab_tests::folder::TestFolder;
use perftab_tests::http::{self, FakeServer};
use perftab_tests::perf;
use perftab_tests::perftab_at;
use perftab_tests::program::compile;
use perftab_tests::servers::{Debuginfod, Viewer};
use serde_json::{Value, json};

const ID: &str = "6b11c07ad05e9f31c07ad05e9f31c07ad05e9f31";
const OTHER: &str = "6b22e2c041b7e2c041b7e2c041b7e2c041b7e2c0";
const SOURCE: &str = "
static volatile unsigned long sum;
__attribute__((noinline)) void spin(unsigned long n) { while (n--) sum += n; }
int main(void) { spin(60000000); return 0; }
";

/// A recording of a program that is no longer where it ran.
struct RecordedProgram {
    folder: TestFolder,
    /// Where it ran; nothing is there.
    path: PathBuf,
    /// Its bytes.
    program: Vec<u8>,
    /// Another build.
    other: Vec<u8>,
    recording: PathBuf,
}

/// One recording for all tests here; `None`, said for `test`, without perf.
fn recorded(test: &str) -> Option<&'static RecordedProgram> {
    static RECORDED: OnceLock<Option<RecordedProgram>> = OnceLock::new();
    let recorded = RECORDED.get_or_init(|| {
        let folder = TestFolder::new();
        let path = compile(&folder, "spinner", ID, SOURCE);
        fs::create_dir(folder.join("other")).expect("a folder");
        let other = compile(&folder.join("other"), "spinner", OTHER, SOURCE);
        let other = fs::read(other).expect("the other build");
        let program = fs::read(&path).expect("the program");
        let recording = perf::record(test, &path, &folder.join("perf.data"))?;
        fs::remove_file(&path).expect("the program is there");
        // perf kept a copy in what it took for the home folder.
        let _ = fs::remove_dir_all(folder.join(".debug"));
        Some(RecordedProgram { folder, path, program, other, recording })
    });
    if recorded.is_none() {
        println!("SKIPPED: {test}: perf is not installed");
    }
    recorded.as_ref()
}

fn output(command: &mut Command) -> Output {
    let output = command.ended().expect("perftab runs");
    assert_eq!(output.status.code(), Some(0), "{command:?}: {}", text(&output.stderr));
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Names of functions in the DSO at `path`, by `report --json`.
fn names_in(output: &Output, path: &Path) -> BTreeSet<String> {
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let functions = report["functions"].as_array().expect("functions");
    let of_dso = functions.iter().filter(|f| f["dso"].as_str().map(Path::new) == Some(path));
    of_dso.filter_map(|f| f["name"].as_str().map(str::to_owned)).collect()
}

impl RecordedProgram {
    fn report(&self, home: &Path, arguments: &[&str]) -> Command {
        let recording = self.recording.to_str().expect("UTF-8");
        perftab_at(home, &[&["report", "--json", recording], arguments].concat())
    }

    /// Whether the program's functions have names.
    fn is_named(&self, home: &Path, arguments: &[&str]) -> bool {
        let output = output(&mut self.report(home, arguments));
        names_in(&output, &self.path).contains("spin")
    }

    /// What was tried for the program, by `info --json`.
    fn tried(&self, home: &Path, arguments: &[&str]) -> Vec<(String, String)> {
        let recording = self.recording.to_str().expect("UTF-8");
        let output =
            output(&mut perftab_at(home, &[&["info", "--json", recording], arguments].concat()));
        let info: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let dsos = info["dsos"].as_array().expect("dsos");
        let dso = dsos.iter().find(|dso| dso["path"].as_str().map(Path::new) == Some(&self.path));
        let tried = dso.expect("the program")["tried"].as_array().expect("what was tried").clone();
        let word = |of: &Value, name: &str| of[name].as_str().expect("text").to_owned();
        tried.iter().map(|it| (word(it, "what"), word(it, "outcome"))).collect()
    }
}

// ---- servers ------------------------------------------------------------------------------

#[test]
fn b37_what_is_missing_comes_from_a_real_debuginfod() {
    let test = "b37_what_is_missing_comes_from_a_real_debuginfod";
    let Some(recorded) = recorded(test) else { return };
    let (home, served) = (TestFolder::new(), TestFolder::new());
    served.write("bin/renamed", &recorded.program);
    let Some(server) = Debuginfod::start(&served) else {
        println!("SKIPPED: {test}: debuginfod is not installed");
        return;
    };
    let store = |arguments: &[&str]| {
        let recording = recorded.recording.to_str().expect("UTF-8");
        let arguments = [&["buildid", "store", recording], arguments].concat();
        let output = perftab_at(&home, &arguments).ended().expect("perftab runs");
        let lines = text(&output.stdout);
        let line = lines.lines().find(|line| line.contains(ID)).map(str::to_owned);
        line.unwrap_or_else(|| panic!("no line of {ID} in {lines}{}", text(&output.stderr)))
    };
    assert!(store(&[]).starts_with("FAIL "), "{}", store(&[]));
    assert!(!recorded.is_named(&home, &[]), "before a server is named");
    let named = ["--debuginfod", &server.url()];
    assert!(recorded.is_named(&TestFolder::new(), &named), "in a home that has nothing");
    assert!(store(&named).starts_with("OK "), "{}", store(&named));
    drop(server);
    assert!(recorded.is_named(&home, &[]), "what was fetched is kept");
}

#[test]
fn b39_servers_come_from_options_settings_and_environment() {
    let test = "b39_servers_come_from_options_settings_and_environment";
    let Some(recorded) = recorded(test) else { return };
    let [option, setting, environment] = [(); 3].map(|()| FakeServer::start([]));
    let asked = || [&option, &setting, &environment].map(|server| !server.asked().is_empty());
    let home = TestFolder::new();
    output(recorded.report(&home, &[]).env("DEBUGINFOD_URLS", environment.url()));
    assert_eq!(asked(), [false, false, true]);
    let setting_of = |value: &str| format!("[buildid-cache]\n\tdebuginfod = {value}\n");

    // perf's setting goes before the environment.
    let home = TestFolder::new();
    home.write(".perfconfig", setting_of(&setting.url()).as_bytes());
    let before = environment.asked().len();
    output(recorded.report(&home, &[]).env("DEBUGINFOD_URLS", environment.url()));
    assert_eq!(asked(), [false, true, true]);
    assert_eq!(environment.asked().len(), before, "the setting goes before the environment");
    // And `system` is the environment.
    let other_home = TestFolder::new();
    other_home.write(".perfconfig", setting_of("system").as_bytes());
    output(recorded.report(&other_home, &[]).env("DEBUGINFOD_URLS", environment.url()));
    assert!(environment.asked().len() > before);

    let before = [setting.asked().len(), environment.asked().len()];
    let url = option.url();
    output(
        recorded.report(&home, &["--debuginfod", &url]).env("DEBUGINFOD_URLS", environment.url()),
    );
    assert!(option.asked().contains(&format!("/buildid/{ID}/debuginfo")));
    assert_eq!([setting.asked().len(), environment.asked().len()], before);
}

#[test]
fn b39_what_servers_lacked_a_moment_ago_is_not_asked_again() {
    let test = "b39_what_servers_lacked_a_moment_ago_is_not_asked_again";
    let Some(recorded) = recorded(test) else { return };
    let home = TestFolder::new();
    let server = FakeServer::start([]);
    let ask = || output(recorded.report(&home, &[]).env("DEBUGINFOD_URLS", server.url()));
    ask();
    let first = server.asked();
    let of_program = first.iter().filter(|path| path.contains(ID)).count();
    assert_eq!(of_program, 2, "the debug file and the executable, each once: {first:?}");
    let miss = home.join(format!(".cache/debuginfod_client/{ID}/debuginfo"));
    assert_eq!(fs::metadata(&miss).expect("as debuginfod's own clients keep it").len(), 0);
    ask();
    assert_eq!(server.asked(), first, "not again");
    // Who names a server wants it asked.
    let with = FakeServer::start([(format!("/buildid/{ID}/debuginfo"), recorded.program.clone())]);
    assert!(recorded.is_named(&home, &["--debuginfod", &with.url()]));
    // What debuginfod-find left behind counts as well, for as long as the cache says.
    fs::write(home.join(".cache/debuginfod_client/cache_miss_s"), "0").expect("it is written");
    fs::remove_file(&miss).expect("what was fetched");
    fs::write(&miss, "").expect("a miss");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(5);
    fs::File::options().write(true).open(&miss).and_then(|f| f.set_modified(old)).expect("a time");
    ask();
    assert!(server.asked().len() > first.len(), "it is too old to count");
}

#[test]
fn b39_a_file_that_is_larger_than_the_limit_is_refused() {
    let test = "b39_a_file_that_is_larger_than_the_limit_is_refused";
    let Some(recorded) = recorded(test) else { return };
    let home = TestFolder::new();
    let server = FakeServer::start([
        (format!("/buildid/{ID}/debuginfo"), recorded.program.clone()),
        (format!("/buildid/{ID}/executable"), recorded.program.clone()),
    ]);
    let url = server.url();
    let mut command = recorded.report(&home, &["--debuginfod", &url]);
    let small = output(command.env("DEBUGINFOD_MAXSIZE", "1000"));
    assert!(!names_in(&small, &recorded.path).contains("spin"));
    assert!(text(&small.stderr).contains(&url), "{}", text(&small.stderr));
    let mut command = recorded.report(&home, &["--debuginfod", &url]);
    let large = output(command.env("DEBUGINFOD_MAXSIZE", "100000000"));
    assert!(names_in(&large, &recorded.path).contains("spin"));
}

#[test]
fn each_server_is_said_with_what_came_of_it() {
    let test = "each_server_is_said_with_what_came_of_it";
    let Some(recorded) = recorded(test) else { return };
    let home = TestFolder::new();
    let down = http::down();
    let empty = FakeServer::start([]);
    let liar = FakeServer::start([(format!("/buildid/{ID}/debuginfo"), recorded.other.clone())]);
    let (empty, liar) = (empty.url(), liar.url());
    let servers = ["--debuginfod", &empty, "--debuginfod", &down, "--debuginfod", &liar];
    let tried = recorded.tried(&home, &servers);
    let outcome = |url: &str, artifact: &str| {
        let what = format!("{artifact} from {}", url.trim_start_matches("http://"));
        let found = tried.iter().find(|(other, _)| *other == what);
        found.unwrap_or_else(|| panic!("no {what} in {tried:?}")).1.clone()
    };
    assert_eq!(outcome(&empty, "debuginfo"), "not found");
    assert!(outcome(&down, "debuginfo").contains("can't be reached"));
    assert!(outcome(&liar, "debuginfo").contains(&format!("another build, {OTHER}")));
    assert_eq!(outcome(&liar, "executable"), "not found");
    // The places of this machine too.
    let path = recorded.path.to_string_lossy();
    assert!(tried.contains(&(path.into_owned(), "not there".to_owned())), "{tried:?}");
    let by_id = tried.iter().any(|(what, outcome)| {
        what.contains("/.debug")
            && what.contains("/usr/lib/debug")
            && outcome == "no file of this build"
    });
    assert!(by_id, "{tried:?}");
    assert!(!recorded.is_named(&home, &servers));
}

// ---- this machine -------------------------------------------------------------------------

#[test]
fn b12_another_build_at_the_recorded_path_is_said_with_its_id() {
    let test = "b12_another_build_at_the_recorded_path_is_said_with_its_id";
    let Some(shared) = recorded(test) else { return };
    // A recording of its own: others count on nothing being at the path.
    let folder = TestFolder::new();
    let path = compile(&folder, "spinner", ID, SOURCE);
    let Some(recording) = perf::record(test, &path, &folder.join("perf.data")) else { return };
    let program = fs::read(&path).expect("the program");
    fs::write(&path, &shared.other).expect("it is upgraded");
    let home = TestFolder::new();
    let own = RecordedProgram { folder, path, program, other: Vec::new(), recording };
    let tried = own.tried(&home, &[]);
    let path = own.path.to_string_lossy().into_owned();
    assert!(tried.contains(&(path, format!("another build, {OTHER}"))), "{tried:?}");
    assert!(!own.is_named(&home, &[]));
    fs::write(own.folder.join("old"), &own.program).expect("it is written");
    let old = own.folder.join("old");
    assert!(own.is_named(&home, &["--image", old.to_str().expect("UTF-8")]));
}

#[test]
fn a_debug_link_is_followed() {
    let test = "a_debug_link_is_followed";
    let Some(recorded) = recorded(test) else { return };
    let (home, folder) = (TestFolder::new(), TestFolder::new());
    let full = folder.write("full", &recorded.program);
    let run = |program: &str, arguments: &[&str]| {
        let status = Command::new(program).args(arguments).current_dir(&*folder).exit_status();
        assert!(status.expect("binutils run").success(), "{program} {arguments:?}");
    };
    // It lies beside the binary under a name that only the link says.
    fs::create_dir_all(folder.join(".debug")).expect("a folder");
    run("objcopy", &["--only-keep-debug", "full", ".debug/odd.dbg"]);
    run("strip", &["--strip-all", "-o", "spinner", "full"]);
    run("objcopy", &["--add-gnu-debuglink=.debug/odd.dbg", "spinner"]);
    fs::remove_file(&full).expect("it is there");
    // The recording says another path, so the search is told of the binary by the cache.
    let entry = home.join(format!(".debug/spinner/{ID}"));
    fs::create_dir_all(&entry).expect("a folder");
    fs::create_dir_all(home.join(format!(".debug/.build-id/{}", &ID[..2]))).expect("a folder");
    symlink(&entry, home.join(format!(".debug/.build-id/{}/{}", &ID[..2], &ID[2..])))
        .expect("a link");
    symlink(folder.join("spinner"), entry.join("elf")).expect("a link");
    assert!(!recorded.is_named(&home, &[]), "beside the link there is no debug file");
    fs::create_dir(entry.join(".debug")).expect("a folder");
    symlink(folder.join(".debug/odd.dbg"), entry.join(".debug/odd.dbg")).expect("a link");
    assert!(recorded.is_named(&home, &[]));
}

#[test]
fn b45_the_cache_that_perf_keeps_may_be_named_as_a_folder() {
    let test = "b45_the_cache_that_perf_keeps_may_be_named_as_a_folder";
    let Some(recorded) = recorded(test) else { return };
    let (home, elsewhere) = (TestFolder::new(), TestFolder::new());
    let file = elsewhere.write("bin/spinner", &recorded.program);
    let cache = elsewhere.join("cache");
    let added = Command::new("perf")
        .arg("--buildid-dir")
        .arg(&cache)
        .args(["buildid-cache", "-a"])
        .arg(&file)
        .ended()
        .expect("perf runs");
    assert!(added.status.success(), "{}", text(&added.stderr));
    fs::remove_file(&file).expect("it is there");
    let cache = cache.to_str().expect("UTF-8");
    assert!(recorded.is_named(&home, &["--no-local", "--image", cache]));
    assert!(recorded.is_named(&home, &["--buildid-dir", cache]));
    assert!(!recorded.is_named(&home, &[]));
}

#[test]
fn b45_what_perf_and_perftab_pack_is_opened() {
    let test = "b45_what_perf_and_perftab_pack_is_opened";
    let Some(recorded) = recorded(test) else { return };
    let (home, folder) = (TestFolder::new(), TestFolder::new());
    let file = folder.write("bin/spinner", &recorded.program);
    let file = file.to_str().expect("UTF-8");
    let recording = folder.join("perf.data");
    fs::copy(&recorded.recording, &recording).expect("it is copied");

    let archive = folder.join("ours.tar.gz");
    let archive = archive.to_str().expect("UTF-8");
    let recording_name = recording.to_str().expect("UTF-8");
    output(&mut perftab_at(
        &home,
        &["buildid", "archive", recording_name, "--image", file, "-o", archive],
    ));
    assert!(recorded.is_named(&home, &["--no-local", "--image", archive]), "ours");

    // perf packs what its cache has of the recording.
    let perf = |arguments: &[&str]| {
        let output = Command::new("perf")
            .args(arguments)
            .env("HOME", &*folder)
            .current_dir(&*folder)
            .ended()
            .expect("perf runs");
        (output.status.success(), text(&output.stderr) + &text(&output.stdout))
    };
    let added = perf(&["buildid-cache", "-a", file]);
    assert!(added.0, "{}", added.1);
    let packed = perf(&["archive", "perf.data"]);
    let theirs = folder.join("perf.data.tar.bz2");
    if !theirs.exists() {
        println!("SKIPPED: {test}: perf archive does not work here: {}", packed.1);
        return;
    }
    assert!(recorded.is_named(&home, &["--no-local", "--image", theirs.to_str().expect("UTF-8")]));
}

#[test]
fn what_is_of_no_use_is_said() {
    let test = "what_is_of_no_use_is_said";
    let Some(recorded) = recorded(test) else { return };
    let (home, folder) = (TestFolder::new(), TestFolder::new());
    folder.write("text", b"not an image");
    folder.write("empty", b"");
    folder.write("in/other", &recorded.other);
    let said = |image: &str| {
        let output = output(&mut recorded.report(&home, &["--no-local", "--image", image]));
        text(&output.stderr)
    };
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    for (image, words) in [
        ("/dev/null".to_owned(), "not used: it is not a regular file"),
        (path("empty"), "it is empty"),
        (path("text"), "not used"),
        (path("in/other"), OTHER),
        (path("in"), "images of other builds: 1"),
    ] {
        let said = said(&image);
        let line = said.lines().find(|line| line.contains(&image) && line.contains(words));
        assert!(line.is_some(), "{image}: {said}");
    }
    let missing = recorded.report(&home, &["--image", &path("nowhere")]).ended().expect("it runs");
    assert_eq!(missing.status.code(), Some(1), "{}", text(&missing.stderr));
}

#[test]
fn a_process_with_mounts_of_its_own_is_looked_into() {
    let test = "a_process_with_mounts_of_its_own_is_looked_into";
    if recorded(test).is_none() {
        return;
    }
    let (home, folder) = (TestFolder::new(), TestFolder::new());
    fs::create_dir(folder.join("mounted")).expect("a folder");
    let hidden = SOURCE.replace("60000000", "~0ul");
    let program = compile(&folder, "hidden", ID, &hidden);
    // A file system that only the process sees has the program under its path.
    let script = "mount -t tmpfs none mounted && cp hidden mounted/app && exec mounted/app";
    let child = Command::new("unshare")
        .args(["-m", "sh", "-c", script])
        .current_dir(&*folder)
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        println!("SKIPPED: {test}: unshare is not installed");
        return;
    };
    let app = folder.join("mounted/app");
    let exe = PathBuf::from(format!("/proc/{}/exe", child.id()));
    // exec is what it waits for; the process may not be allowed to come so far.
    let limit = Instant::now() + PATIENCE;
    while child.try_wait().expect("a child").is_none()
        && fs::read_link(&exe).ok() != Some(app.clone())
    {
        assert!(Instant::now() < limit, "unshare hangs");
        std::thread::yield_now();
    }
    if child.try_wait().expect("a child").is_some() {
        println!("SKIPPED: {test}: no mount namespaces for this user");
        return;
    }
    fs::remove_file(program).expect("it is there");
    let recording = folder.join("perf.data");
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-e", "cpu-clock", "-g", "--buildid-mmap", "-o"])
        .arg(&recording)
        .args(["-p", &child.id().to_string(), "--"])
        .args(perf::until_it_ran(child.id(), 10))
        .env("HOME", &*folder);
    let recorded = perf::until_the_kernel_lets(&mut perf).expect("perf runs");
    let own =
        RecordedProgram { folder, path: app, program: Vec::new(), other: Vec::new(), recording };
    let while_it_runs = own.is_named(&home, &[]);
    // A page has told of it; any other verb finds it by the same search.
    let viewer = Viewer::start(&["-"]);
    let mapped = json!({"dso": 0, "kind": "user", "path": own.path, "identity": {"gnu": ID}});
    let told = json!({ "pids": [child.id()], "files": [mapped] }).to_string();
    assert_eq!(viewer.post("/profile/0/files", &told).status, 200);
    let executable = format!("/debuginfod/buildid/{ID}/executable");
    let for_a_page = viewer.get(&executable).status;
    child_process::kill(&mut child);
    assert!(recorded.status.success(), "{}", text(&recorded.stderr));
    assert!(while_it_runs, "its files are looked at while it runs");
    assert_eq!(for_a_page, 200, "and handed to a page");
    assert!(!own.is_named(&home, &[]), "and not any more");
    assert!(own.folder.join("mounted").read_dir().expect("a folder").next().is_none());
}

// ---- what debug files share ----------------------------------------------------------------

const SHARED: &str = "
struct tide { int height; long period; char name[40]; struct tide *next; };
struct harbour { struct tide *first; double depth; char *names[10]; };
static volatile unsigned long sum;
static inline __attribute__((always_inline))
void innermost(struct tide *tide, unsigned long n) { while (n--) sum += n + tide->height; }
static inline __attribute__((always_inline))
void inner(struct harbour *harbour, unsigned long n) { innermost(harbour->first, n); }
";

#[test]
fn b30_what_dwz_moved_is_read_from_the_file_with_the_id_that_is_named() {
    let test = "b30_what_dwz_moved_is_read_from_the_file_with_the_id_that_is_named";
    let folder = TestFolder::new();
    let programs = |folder: &Path, turns: &str| {
        for name in ["ebb", "flood"] {
            let source = format!(
                "{SHARED}__attribute__((noinline)) void {name}_work(struct harbour *harbour) \
                 {{ inner(harbour, {turns}); }}\n\
                 int main(void) {{ struct tide tide = {{1}}; struct harbour harbour = {{&tide}}; \
                 {name}_work(&harbour); return 0; }}"
            );
            compile(
                folder,
                name,
                &format!("{name:0<20}").bytes().map(|b| format!("{b:02x}")).collect::<String>(),
                &source,
            );
        }
        let run = Command::new("dwz")
            .args(["-m", "shared.debug", "ebb", "flood"])
            .current_dir(folder)
            .exit_status();
        run.is_ok_and(|status| status.success()) && folder.join("shared.debug").exists()
    };
    if !programs(&folder, "60000000") {
        println!("SKIPPED: {test}: dwz is not installed");
        return;
    }
    let program = folder.join("ebb");
    let Some(recording) = perf::record(test, &program, &folder.join("perf.data")) else { return };
    let home = TestFolder::new();
    let recording = recording.to_str().expect("UTF-8");
    let names = |arguments: &[&str]| {
        let arguments = [&["report", "--json", recording], arguments].concat();
        let output = output(&mut perftab_at(&home, &arguments));
        (names_in(&output, &program), text(&output.stderr))
    };
    let inlined = |names: &BTreeSet<String>| names.contains("innermost") && names.contains("inner");
    let (beside, _) = names(&[]);
    assert!(inlined(&beside) && beside.contains("ebb_work"), "{beside:?}");

    let shared = folder.join("shared.debug");
    let elsewhere = folder.join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::rename(&shared, elsewhere.join("renamed")).expect("it is moved");
    let (without, _) = names(&[]);
    assert!(without.contains("ebb_work"), "the symbol table still has it: {without:?}");
    assert!(!inlined(&without), "{without:?}");
    let program_name = program.to_str().expect("UTF-8");
    let file = elsewhere.join("renamed");
    let file = file.to_str().expect("UTF-8");
    let (given, _) = names(&["--no-local", "--image", program_name, "--image", file]);
    assert!(inlined(&given), "{given:?}");

    // One bit of its id: nothing names it any more.
    let mut bytes = fs::read(file).expect("the file");
    let note = bytes.windows(4).position(|at| at == b"GNU\0").expect("its note");
    bytes[note + 4] ^= 1;
    fs::write(&shared, &bytes).expect("it is written");
    let shared = shared.to_str().expect("UTF-8");
    let (flipped, said) = names(&["--image", program_name, "--image", shared]);
    assert!(!inlined(&flipped), "{flipped:?}");
    assert!(said.contains(shared), "{said}");
}

/// Where the compiler put them, beside the program, and in a package beside it.
#[test]
fn b30_units_that_were_split_off_are_found_by_what_names_them() {
    let test = "b30_units_that_were_split_off_are_found_by_what_names_them";
    let folder = TestFolder::new();
    let source = format!(
        "{SHARED}int main(void) {{ struct tide tide = {{1}}; struct harbour harbour = {{&tide}}; \
         inner(&harbour, 60000000); return 0; }}"
    );
    folder.write("ebb.c", source.as_bytes());
    let shell = |command: &str| {
        let run = Command::new("sh").args(["-ec", command]).current_dir(&*folder).exit_status();
        run.is_ok_and(|status| status.success())
    };
    let build = "mkdir unit bin && gcc -O1 -g -gdwarf-4 -gsplit-dwarf -c ebb.c -o unit/ebb.o && \
                 gcc -Wl,--build-id unit/ebb.o -o bin/ebb";
    assert!(shell(build), "gcc runs");
    let program = folder.join("bin/ebb");
    let Some(recording) = perf::record(test, &program, &folder.join("perf.data")) else { return };
    let home = TestFolder::new();
    let recording = recording.to_str().expect("UTF-8");
    let names = |arguments: &[&str]| {
        let arguments = [&["report", "--json", recording], arguments].concat();
        let output = output(&mut perftab_at(&home, &arguments));
        (names_in(&output, &program), text(&output.stderr))
    };
    let is_found = |(names, _): (BTreeSet<String>, String)| names.contains("innermost");
    assert!(is_found(names(&[])), "where the compiler put it");
    assert!(!is_found(names(&["--no-local", "--image", "/dev/null"])));
    assert!(shell("mv unit/ebb.dwo bin/ebb.dwo"));
    assert!(is_found(names(&[])), "beside the program");
    // With what names it on this machine, and in a folder of its own.
    assert!(shell("mv bin/ebb.dwo unit/any"));
    assert!(!is_found(names(&[])));
    let unit = folder.join("unit");
    let (given, said) = names(&["--image", unit.to_str().expect("UTF-8")]);
    assert!(given.contains("innermost") && !said.contains("not used"), "{said}");
    let (alone, said) =
        names(&["--no-local", "--image", unit.join("any").to_str().expect("UTF-8")]);
    assert!(!alone.contains("innermost") && said.contains("once the program is given"), "{said}");
    if shell("mv unit/any unit/ebb.dwo && dwp -e bin/ebb -o bin/ebb.dwp && rm unit/ebb.dwo") {
        assert!(is_found(names(&[])), "in a package");
    } else {
        println!("SKIPPED: {test}: dwp does not run");
    }
}

/// Both are of the recorded build; the one at its path has no names.
#[test]
fn a_stripped_file_does_not_hide_a_whole_one() {
    let test = "a_stripped_file_does_not_hide_a_whole_one";
    let folder = TestFolder::new();
    let path = compile(&folder, "spinner", ID, SOURCE);
    let Some(recording) = perf::record(test, &path, &folder.join("perf.data")) else {
        println!("SKIPPED: {test}: perf is not installed");
        return;
    };
    let _ = fs::remove_dir_all(folder.join(".debug"));
    let run = |arguments: &[&str]| {
        let output = perftab_at(&folder, arguments).ended().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    run(&["buildid", "add", "--buildid-dir", "cache", path.to_str().expect("UTF-8")]);
    let stripped = Command::new("strip").arg(&path).exit_status();
    assert!(stripped.expect("strip").success());
    let recording = recording.to_str().expect("UTF-8");
    let report = run(&["report", "--buildid-dir", "cache", recording]);
    assert!(report.contains(" spin "), "{report}");
}
