//! A home folder with a program, its recording by perf, and an empty cache.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::perf::until_the_kernel_lets;
use perftab_tests::perftab_binary;
use perftab_tests::program::{compile, is_installed};

pub const ID: &str = "9f31c07ad05e9f31c07ad05e9f31c07ad05e9f31";
pub const OTHER: &str = "41b7e2c041b7e2c041b7e2c041b7e2c041b7e2c0";

/// A program that spends its time in a function of this name, and some in the kernel, of which perf
/// notes the id only if a sample hits it.
pub fn source(function: &str) -> String {
    format!(
        "#include <fcntl.h>
        #include <unistd.h>
        static volatile unsigned long sum;
        static char zeros[1 << 20];
        __attribute__((noinline)) void {function}(unsigned long n) {{ while (n--) sum += n; }}
        int main(void) {{
            int file = open(\"/dev/zero\", O_RDONLY);
            for (int i = 0; i < 150; i++) sum += read(file, zeros, sizeof zeros);
            {function}(40000000);
            return 0;
        }}"
    )
}

/// A home folder.
pub struct Home {
    pub folder: TestFolder,
    pub program: PathBuf,
    pub recording: PathBuf,
}

impl Home {
    /// With a program that spends its time in `before`, and its recording. `None`, said for
    /// `test`, if perf is not installed.
    pub fn new(test: &str) -> Option<Self> {
        if !is_installed(test, "perf") {
            return None;
        }
        let folder = TestFolder::new();
        let program = compile(&folder, "spinner", ID, &source("before"));
        let recording = folder.join("perf.data");
        let home = Self { folder, program, recording };
        home.record();
        Some(home)
    }

    /// Records the program as users do, ids in the table, nothing put into the cache.
    pub fn record(&self) {
        let recording = self.recording.to_str().expect("UTF-8");
        let program = self.program.to_str().expect("UTF-8");
        self.perf(&["record", "-q", "-N", "-e", "cpu-clock", "-g", "-o", recording, "--", program]);
    }

    /// The same path, another build, in a file of its own.
    pub fn replace_program(&self) {
        fs::remove_file(&self.program).expect("the program was there");
        compile(&self.folder, "spinner", OTHER, &source("after"));
    }

    /// Another build of the program beside it.
    pub fn other_build(&self) -> PathBuf {
        compile(&self.folder, "other", OTHER, &source("after"))
    }

    pub fn cache(&self) -> PathBuf {
        self.folder.join(".debug")
    }

    /// Where the cache has a file of the program.
    pub fn entry(&self, id: &str, file: &str) -> PathBuf {
        let below = self.program.strip_prefix("/").expect("absolute");
        self.cache().join(below).join(id).join(file)
    }

    pub fn command(&self, program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("HOME", &*self.folder)
            .env_remove("XDG_CACHE_HOME")
            .env_remove("DEBUGINFOD_CACHE_PATH")
            .env_remove("DEBUGINFOD_URLS")
            .env_remove("PERF_CONFIG")
            .stdin(Stdio::null())
            .current_dir(&*self.folder);
        command
    }

    /// perf must do as it is told.
    pub fn perf(&self, arguments: &[&str]) -> String {
        let output = until_the_kernel_lets(&mut self.command("perf", arguments));
        let output = output.expect("perf runs");
        assert!(output.status.success(), "perf {arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    pub fn buildid(&self, arguments: &[&str]) -> Output {
        let arguments = [&["buildid"], arguments].concat();
        self.command(perftab_binary(), &arguments).ended().expect("perftab runs")
    }

    /// What a verb prints, when it succeeds.
    pub fn done(&self, arguments: &[&str]) -> String {
        let output = self.buildid(arguments);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stdout}{stderr}");
        stdout
    }

    /// What a verb prints on both, when it fails.
    pub fn failed(&self, arguments: &[&str]) -> (String, String) {
        let output = self.buildid(arguments);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stdout}{stderr}");
        (stdout, stderr)
    }

    /// Names of the functions that perf finds, of the program and from the cache alone.
    pub fn functions_by_perf(&self) -> BTreeSet<String> {
        let recording = self.recording.to_str().expect("UTF-8");
        let report = self.perf(&[
            "report",
            "-i",
            recording,
            "--stdio",
            "--no-children",
            "-g",
            "none",
            "--sort",
            "dso,sym",
            "--dsos",
            "spinner",
        ]);
        functions(&report)
    }

    /// The same, that we find.
    pub fn functions_by_us(&self) -> BTreeSet<String> {
        let output = self
            .command(perftab_binary(), &["report", "--json", "perf.data"])
            .ended()
            .expect("perftab runs");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let functions = report["functions"].as_array().expect("functions").iter();
        let of_program =
            functions.filter(|f| f["dso"].as_str().map(Path::new) == Some(&self.program));
        of_program.filter_map(|f| f["name"].as_str().map(str::to_owned)).collect()
    }

    /// Every file of the cache: path, inode, size, time; of a link, what it says.
    pub fn snapshot(&self) -> BTreeSet<String> {
        let mut files = BTreeSet::new();
        let mut folders = vec![self.cache()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten() {
                let path = entry.expect("an entry").path();
                let metadata = path.symlink_metadata().expect("metadata");
                if metadata.is_dir() {
                    folders.push(path);
                    continue;
                }
                let link = fs::read_link(&path).unwrap_or_default();
                let (inode, time) = (metadata.ino(), (metadata.mtime(), metadata.mtime_nsec()));
                files.insert(format!("{path:?} {inode} {} {time:?} {link:?}", metadata.len()));
            }
        }
        files
    }
}

/// Symbols in `perf report --stdio`: lines of `99.0%  spinner  [.] before`.
fn functions(report: &str) -> BTreeSet<String> {
    let symbol = |line: &str| line.split_once("[.] ").map(|(_, symbol)| symbol.trim().to_owned());
    let symbols = report.lines().filter(|line| !line.starts_with('#')).filter_map(symbol);
    symbols.filter(|symbol| !symbol.starts_with("0x")).collect()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The lines, without an order.
pub fn lines(text: &str) -> BTreeSet<String> {
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}
