//! Runs the recorder and waits for things without guessing how long they take.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

use perftab_perfdata::format::feature::Feature;
use perftab_tests::child_process::{self, LimitedCommand, PATIENCE};
use perftab_tests::folder::TestFolder;
pub use perftab_tests::program::is_installed;
use perftab_tests::{perftab_binary, program};

/// Uses the CPU until it has had the milliseconds named, or for ever; some of it in the kernel.
const BUSY: &str = r#"
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
volatile unsigned long sink;
__attribute__((noinline)) void user_work(void) { for (int i = 0; i < 200000; i++) sink += i; }
__attribute__((noinline)) void kernel_work(void) {
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512];
    if (!f) return;
    while (fgets(line, sizeof line, f)) sink += line[0];
    fclose(f);
}
int main(int argc, char **argv) {
    long milliseconds = argc > 1 ? atol(argv[1]) : 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL); // it does not outlive a test that was killed
    while (!milliseconds || clock() < milliseconds * (CLOCKS_PER_SEC / 1000)) {
        user_work();
        kernel_work();
    }
    return 0;
}
"#;

/// The build-id that `busy` gives its program.
pub const BUSY_ID: &str = "b0551e5b0551e5b0551e5b0551e5b0551e500001";

/// Compiles the busy program into the folder.
pub fn busy(folder: &Path) -> PathBuf {
    program::compile(folder, "busy", BUSY_ID, BUSY)
}

/// The same source under another build-id, as an upgrade would bring it.
pub fn busy_again(folder: &Path, build_id: &str) -> PathBuf {
    program::compile(folder, "busy_again", build_id, BUSY)
}

/// The same program without a build-id.
pub fn busy_without_id(folder: &Path) -> PathBuf {
    let without_id = folder.join("without_id");
    let objcopy = Command::new("objcopy")
        .args(["--remove-section", ".note.gnu.build-id"])
        .args([&busy(folder), &without_id])
        .exit_status();
    assert!(objcopy.unwrap().success());
    without_id
}

/// Whether tests may record the kernel; says so if not.
pub fn is_root(test: &str) -> bool {
    let root = fs::metadata("/proc/self").is_ok_and(|meta| {
        use std::os::unix::fs::MetadataExt;
        meta.uid() == 0
    });
    if !root {
        println!("SKIPPED: {test}: recording kernel and system needs root");
    }
    root
}

/// `perftab record` with a file in a folder of its own.
pub struct Recorder {
    pub folder: TestFolder,
    pub file: PathBuf,
}

impl Recorder {
    pub fn new() -> Self {
        let folder = TestFolder::new();
        let file = folder.join("perf.data");
        Self { folder, file }
    }

    /// The command with these arguments, output file included.
    pub fn command<T: AsRef<OsStr>>(&self, arguments: &[T]) -> Command {
        let mut command = Command::new(perftab_binary());
        command.arg("record").arg("-o").arg(&self.file).args(arguments);
        command.current_dir(&*self.folder).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub fn run<T: AsRef<OsStr>>(&self, arguments: &[T]) -> RecorderOutput {
        RecorderOutput::of(self.command(arguments).ended().expect("perftab runs"))
    }

    /// Starts it and returns once samples are in the file.
    pub fn start<T: AsRef<OsStr>>(&self, arguments: &[T]) -> RunningProcess {
        let running = RunningProcess(self.command(arguments).spawn().expect("perftab runs"));
        wait_for("the first records", || data_size(&self.file) > 0);
        running
    }

    /// What perf prints of the recording.
    pub fn perf(&self, arguments: &[&str]) -> String {
        let output = Command::new("perf")
            .args(arguments)
            .arg("-i")
            .arg(&self.file)
            // Neither its cache nor its configuration may change what it says.
            .env("HOME", &*self.folder)
            .env("PERF_CONFIG", "/dev/null")
            .ended()
            .expect("perf runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "perf {arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Samples that perf finds; and hotspot and samply find as many, as far as they are there and can read such a file
    /// at all: docs/perf.md has what they cannot.
    pub fn samples_by_peers(&self) -> u64 {
        let stats = self.perf(&["report", "--stats"]);
        let line = stats.lines().find(|line| line.contains("SAMPLE events:"));
        let count = line.and_then(|line| line.split(':').nth(1)?.split_whitespace().next());
        let samples = count.map_or(0, |count| count.parse().expect("a number"));
        if !stats.contains("COMPRESSED events:") {
            let hotspot = self.by_hotspot();
            assert!(
                hotspot.is_none_or(|found| found == samples),
                "hotspot: {hotspot:?}, not {samples}"
            );
            self.is_read_by_samply(samples);
        }
        samples
    }

    /// Samples that hotspot's parser finds; `None` without it.
    pub fn by_hotspot(&self) -> Option<u64> {
        let parser = hotspot_parser()?;
        let mut command = Command::new(parser);
        command.arg("--input").arg(&self.file).arg("--print-stats").current_dir(&*self.folder);
        let output = command.ended().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let stats = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(stats.contains("samples time violations: 0"), "{stats}");
        let count = stats.lines().find_map(|line| line.strip_prefix("samples: "));
        Some(count.expect(&stats).parse().expect("a number"))
    }

    /// What samply makes of it; `None` unless it was asked for.
    pub fn samplys_profile(&self) -> Option<serde_json::Value> {
        let samply = std::env::var_os("PERFTAB_SAMPLY")?;
        let profile = self.folder.join("profile.json");
        let mut command = Command::new(samply);
        command.args(["import", "--save-only", "-o"]).args([&profile, &self.file]);
        assert!(command.current_dir(&*self.folder).exit_status().expect("it runs").success());
        serde_json::from_slice(&fs::read(profile).expect("a profile")).ok()
    }

    /// samply shows samples of the first event as such, but for those of idle CPUs, and those of others as markers, but for
    /// switches: these are no more than times of waiting.
    fn is_read_by_samply(&self, samples: u64) {
        let reads_values = || self.perf(&["evlist", "-v"]).contains("|READ");
        if std::env::var_os("PERFTAB_SAMPLY").is_none() || self.is_stream() || reads_values() {
            return;
        }
        let script = self.perf(&["script", "-F", "tid,event", "-G"]);
        let events = self.perf(&["evlist"]);
        let first = format!("{}:", events.lines().next().expect("an event").trim());
        let is_idle = |line: &&str| line.split_whitespace().eq(["0", &first]);
        let idle = script.lines().filter(is_idle).count() as u64;
        let switches = script.lines().filter(|line| line.contains(" sched:sched_switch:"));
        let profile = self.samplys_profile().expect("a profile");
        let threads = profile["threads"].as_array().expect("threads");
        let of_threads = threads.iter().filter_map(|thread| thread["samples"]["length"].as_u64());
        let markers = threads.iter().filter_map(|thread| thread["markers"]["data"].as_array());
        let of_others = markers.flatten().filter(|marker| marker["type"] == "Other event").count();
        let found = of_threads.sum::<u64>() + of_others as u64;
        assert_eq!(found + idle + switches.count() as u64, samples, "samply");
    }

    fn is_stream(&self) -> bool {
        const HEADER_OF_STREAM: [u8; 8] = 16_u64.to_ne_bytes();
        let bytes = fs::read(&self.file).expect("a recording");
        bytes.get(8..16) == Some(&HEADER_OF_STREAM)
    }

    /// Samples that have a copy of their stack, as perf finds them.
    pub fn copies_by_perf(&self) -> u64 {
        let dump = self.perf(&["report", "-D"]);
        let copies = dump.lines().filter(|line| line.contains("... ustack: size "));
        copies.filter(|line| !line.contains("size 0,")).count() as u64
    }

    /// The payload of a feature section, found by code that shares nothing with the encoder.
    pub fn feature(&self, feature: Feature) -> Option<Vec<u8>> {
        let bytes = fs::read(&self.file).expect("a recording");
        let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let is_set = |bit: usize| word(72 + bit / 64 * 8) >> (bit % 64) & 1 == 1;
        let wanted = usize::from(feature.0);
        if !is_set(wanted) {
            return None;
        }
        let table = word(40) + word(48);
        let entry = table as usize + 16 * (0..wanted).filter(|bit| is_set(*bit)).count();
        let (offset, size) = (word(entry) as usize, word(entry + 8) as usize);
        Some(bytes[offset..offset + size].to_vec())
    }
}

impl Recorder {
    /// perftab's own section, found by the last bytes of the file.
    pub fn section(&self) -> Option<Vec<u8>> {
        let bytes = fs::read(&self.file).expect("a recording");
        let (rest, footer) = bytes.split_at(bytes.len().checked_sub(32)?);
        let length = u64::from_le_bytes(footer[16..24].try_into().expect("8 bytes")) as usize;
        footer.starts_with(b"perftab section\0").then(|| rest[rest.len() - length..].to_vec())
    }
}

/// hotspot's parser, if it is installed.
pub fn hotspot_parser() -> Option<String> {
    ["x86_64", "aarch64"]
        .map(|arch| format!("/usr/lib/{arch}-linux-gnu/libexec/hotspot-perfparser"))
        .into_iter()
        .find(|path| Path::new(path).exists())
}

/// What `data.size` in the header says; 0 if there is no file yet.
pub fn data_size(file: &Path) -> u64 {
    let bytes = fs::read(file).unwrap_or_default();
    let size = bytes.get(48..56).and_then(|bytes| bytes.try_into().ok());
    size.map_or(0, u64::from_ne_bytes)
}

/// A recorder that has ended.
#[derive(Debug)]
pub struct RecorderOutput {
    pub exit_code: Option<i32>,
    pub said: String,
}

impl RecorderOutput {
    fn of(output: Output) -> Self {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Self { exit_code: output.status.code(), said }
    }

    /// The number of samples in the last line.
    pub fn samples(&self) -> u64 {
        // Other lines may speak of samples, too.
        let behind = [" samples, ", " samples until"];
        let end = behind.iter().find_map(|words| self.said.find(words));
        let end = end.unwrap_or_else(|| panic!("no count: {}", self.said));
        let number = self.said[..end].rsplit(' ').next().unwrap_or_default().replace(',', "");
        number.parse().unwrap_or_else(|_| panic!("no count: {}", self.said))
    }

    /// One line that begins with our name and holds all of these.
    #[track_caller]
    pub fn failed_with(&self, exit_code: i32, words: &[&str]) {
        assert_eq!(self.exit_code, Some(exit_code), "{}", self.said);
        let line = self.said.lines().last().unwrap_or_default();
        assert!(line.starts_with("perftab: "), "{}", self.said);
        for word in words {
            assert!(line.contains(word), "'{word}' is not in: {line}");
        }
        assert!(!self.said.contains("panicked"), "{}", self.said);
    }
}

/// A child process that does not outlive the test.
pub struct RunningProcess(pub Child);

impl RunningProcess {
    /// Starts a program.
    pub fn program(program: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        Self(command.args(arguments).stdout(Stdio::null()).spawn().expect("the program runs"))
    }

    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// Sends a signal by name.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.pid()]).exit_status();
        assert!(status.expect("kill runs").success());
    }

    /// Time that it has had on the CPU, in the kernel's ticks of a hundredth of a second.
    pub fn ticks(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).expect("it runs");
        let (_, fields) = stat.rsplit_once(") ").expect("a name");
        let fields: Vec<u64> = fields.split(' ').map(|it| it.parse().unwrap_or(0)).collect();
        fields[11] + fields[12]
    }

    /// Waits until it has had so much more time on the CPU: there are samples of it then, however
    /// busy the machine is.
    pub fn runs_for(&self, ticks: u64) {
        let begun = self.ticks();
        wait_for("time on the CPU", || self.ticks() >= begun + ticks);
    }

    /// Waits for its end; for a recorder.
    pub fn end(mut self) -> RecorderOutput {
        let mut said = Vec::new();
        if let Some(mut stderr) = self.0.stderr.take() {
            while let line = child_process::line_of(&mut stderr, "perftab record")
                && !line.is_empty()
            {
                said.extend(line.into_bytes());
            }
        }
        let status = child_process::wait(&mut self.0, "perftab record");
        RecorderOutput::of(Output { status, stdout: Vec::new(), stderr: said })
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        child_process::kill(&mut self.0);
    }
}

/// Waits until something is so.
#[track_caller]
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
