//! Two builds of one program, one of which takes the other's place while it is recorded.
//!
//! Both have their one busy function at the same offset under different names, so the wrong build
//! would give a name, and the wrong one.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::perf::until_the_kernel_lets;
use perftab_tests::perftab_binary;
pub use perftab_tests::program::is_installed;
use serde_json::Value;

pub const OLDER_ID: &str = "01de501de501de501de501de501de501de500001";
pub const NEWER_ID: &str = "0e3e50e3e50e3e50e3e50e3e50e3e50e3e500002";
pub const OLDER: &str = "older_tide";
pub const NEWER: &str = "newer_tide";

const SOURCE: &str = r#"
#include <stdlib.h>
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline)) void TIDE(void) { for (int i = 0; i < 100000; i++) sink += i; }
int main(int count, char **words) {
    double milliseconds = count > 1 ? atof(words[1]) : 1e9;
    while (clock() < milliseconds * CLOCKS_PER_SEC / 1000) TIDE();
    return 0;
}
"#;

/// What the program says of itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    /// A build-id each.
    Different,
    /// None.
    None,
}

/// How the newer build takes the older one's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// Another inode under the path, as by a package manager.
    ByRename,
    /// Other bytes in the inode, as by `cp`.
    InPlace,
}

/// Where perftab may look.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// Only at those that are given to it.
    Given,
    /// At those of this machine, too.
    OfThisMachine,
}

pub struct Builds {
    pub folder: TestFolder,
    /// Where the program runs: the older build at first.
    pub program: PathBuf,
    pub older: PathBuf,
    pub newer: PathBuf,
    pub files: Files,
}

impl Builds {
    pub fn new(ids: Ids) -> Self {
        let folder = TestFolder::new();
        let build = |name: &str, function: &str, id: &str| {
            let id = match ids {
                Ids::Different => format!("0x{id}"),
                Ids::None => "none".to_owned(),
            };
            compile(
                &folder,
                name,
                &SOURCE.replace("TIDE", function),
                &[&format!("-Wl,--build-id={id}")],
            )
        };
        let older = build("older", OLDER, OLDER_ID);
        let newer = build("newer", NEWER, NEWER_ID);
        let program = folder.join("tide");
        perftab_tests::program::copy(&older, &program);
        Self { folder, program, older, newer, files: Files::Given }
    }

    /// A shell script that runs the older build, replaces it and runs the newer one.
    pub fn script(&self, replaced: Replaced) -> String {
        let (program, newer) = (self.program.display(), self.newer.display());
        let replace = match replaced {
            Replaced::ByRename => format!("cp {newer} {program}.new && mv {program}.new {program}"),
            Replaced::InPlace => format!("cat {newer} > {program}"),
        };
        format!("{program} 150 && {replace} && {program} 150")
    }

    /// Runs `perftab` with a home folder of the test's own.
    pub fn perftab<T: AsRef<OsStr>>(&self, arguments: &[T]) -> Output {
        self.run(Command::new(perftab_binary()).args(arguments))
    }

    /// Runs `perf` with a home folder of the test's own.
    pub fn perf<T: AsRef<OsStr>>(&self, arguments: &[T]) -> Output {
        self.run(Command::new("perf").args(arguments))
    }

    /// Runs a command in the test's folder, with a home folder of the test's own.
    pub fn run(&self, command: &mut Command) -> Output {
        self.at_home(command).ended().expect("it runs")
    }

    /// The same command there.
    pub fn at_home<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let home = self.folder.join("home");
        fs::create_dir_all(&home).expect("a home folder");
        command
            .current_dir(&*self.folder)
            .env("HOME", &home)
            .env("XDG_CACHE_HOME", home.join(".cache"))
            .env_remove("DEBUGINFOD_URLS")
    }

    /// Records with `perftab record` and returns the file and what was said.
    pub fn record(&self, options: &[&str], command: &[&str]) -> (PathBuf, String) {
        let file = self.folder.join("perftab.data");
        let mut arguments = vec!["record", "-F", "999", "-o", text(&file)];
        arguments.extend(options);
        arguments.push("--");
        arguments.extend(command);
        let output = self.perftab(&arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        (file, stderr(&output))
    }

    /// Records with `perf record`.
    pub fn record_by_perf(&self, options: &[&str], command: &[&str]) -> PathBuf {
        let file = self.folder.join("perf.data");
        let mut arguments = vec!["record", "-q", "-e", "cpu-clock", "-F", "999", "-o", text(&file)];
        arguments.extend(options);
        arguments.push("--");
        arguments.extend(command);
        let mut perf = Command::new("perf");
        let output = until_the_kernel_lets(self.at_home(perf.args(&arguments))).expect("perf runs");
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        file
    }

    /// What is recorded of the program, named only by these files.
    pub fn functions(&self, recording: &Path, images: &[&Path]) -> Functions {
        let report = self.json("report", recording, images);
        let functions = report["functions"].as_array().expect("functions").iter();
        let of_program = functions.filter(|row| row["dso"] == text(&self.program));
        Functions(of_program.map(Function::of).collect())
    }

    /// The program's DSOs as `info` lists them.
    pub fn dsos(&self, recording: &Path, images: &[&Path]) -> Vec<Value> {
        let info = self.json("info", recording, images);
        let dsos = info["dsos"].as_array().expect("DSOs").iter();
        dsos.filter(|dso| dso["path"] == text(&self.program)).cloned().collect()
    }

    /// Warnings of one kind.
    pub fn warnings(&self, recording: &Path, kind: &str) -> Vec<String> {
        let info = self.json("info", recording, &[]);
        let warnings = info["warnings"].as_array().expect("warnings").iter();
        let of_kind = warnings.filter(|warning| warning["kind"] == kind);
        of_kind.map(|warning| warning["message"].as_str().expect("text").to_owned()).collect()
    }

    fn json(&self, command: &str, recording: &Path, images: &[&Path]) -> Value {
        let mut arguments = vec![command, text(recording), "--json"];
        if self.files == Files::Given {
            arguments.push("--no-local");
        }
        for image in images {
            arguments.extend(["--image", text(image)]);
        }
        let output = self.perftab(&arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

/// A row of a report.
#[derive(Debug)]
pub struct Function {
    pub name: Option<String>,
    pub build_id: Option<String>,
    pub weight: u64,
}

impl Function {
    fn of(row: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Self {
            name: text(&row["name"]),
            build_id: text(&row["build_id"]),
            weight: row["self"].as_u64().expect("a weight"),
        }
    }
}

/// The program's rows of a report.
#[derive(Debug)]
pub struct Functions(pub Vec<Function>);

impl Functions {
    /// Part of the program's weight in a function of this name in the build of this id.
    pub fn share(&self, name: Option<&str>, build_id: Option<&str>) -> f64 {
        let weight = |rows: &mut dyn Iterator<Item = &Function>| {
            rows.map(|row| row.weight).sum::<u64>() as f64
        };
        let all = weight(&mut self.0.iter());
        let is_it =
            |row: &&Function| row.name.as_deref() == name && row.build_id.as_deref() == build_id;
        weight(&mut self.0.iter().filter(is_it)) / all.max(1.0)
    }

    /// True if anything of the program has a name.
    pub fn are_named(&self) -> bool {
        self.0.iter().any(|row| row.name.is_some())
    }
}

/// Compiles a program with frame pointers into the folder.
pub fn compile(folder: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let file = folder.join(format!("{name}.c"));
    fs::write(&file, source).expect("the source is written");
    let program = folder.join(name);
    let status = Command::new("gcc")
        .args(["-g", "-O1", "-fno-omit-frame-pointer"])
        .args(flags)
        .args([Path::new("-o"), &program, &file])
        .exit_status()
        .expect("gcc runs");
    assert!(status.success(), "gcc fails on {}", file.display());
    program
}

/// Runs a tool, which must succeed, and returns what it prints.
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).ended().expect("it runs");
    assert!(output.status.success(), "{program} {arguments:?}: {}", stderr(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("the path is UTF-8")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
