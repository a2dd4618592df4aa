//! Two builds of one program, by every linker, with every kind of build-id, and what is done to the files.
//!
//! The builds differ in the names and the order of their functions (`tide.c`), so that a name of the
//! wrong build, or of the right one at a wrong place, is seen.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Linker {
    Bfd,
    Gold,
    Lld,
    Mold,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IdKind {
    Sha1,
    /// No build-id.
    None,
    /// Of four bytes; the other build's has four more, which are zero.
    Short,
}

/// What was done to the file that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Treatment {
    Plain,
    Stripped,
    /// Stripped, with a link to its debug file.
    Split,
    /// `patchelf --add-needed`, which moves the code in the file.
    Needed,
    /// Stripped, then `patchelf --set-rpath`.
    RunPath,
    /// Stripped, then `patchelf --set-interpreter`.
    Interpreter,
    /// A library, split.
    Library,
    /// A library, split, all of which may be executed where it is mapped.
    ExecutableLibrary,
    /// `ld -N`: one segment, in no pages of its own.
    Omagic,
    /// Segments two megabytes apart; split.
    HugePages,
}

impl Linker {
    pub const ALL: [Self; 4] = [Self::Bfd, Self::Gold, Self::Lld, Self::Mold];

    pub fn command(self) -> &'static str {
        match self {
            Self::Bfd => "ld.bfd",
            Self::Gold => "ld.gold",
            Self::Lld => "ld.lld",
            Self::Mold => "ld.mold",
        }
    }
}

impl IdKind {
    pub const ALL: [Self; 3] = [Self::Sha1, Self::None, Self::Short];
}

impl Treatment {
    pub const ALL: [Self; 10] = [
        Self::Plain,
        Self::Stripped,
        Self::Split,
        Self::Needed,
        Self::RunPath,
        Self::Interpreter,
        Self::Library,
        Self::ExecutableLibrary,
        Self::Omagic,
        Self::HugePages,
    ];

    pub fn needs_patchelf(self) -> bool {
        matches!(self, Self::Needed | Self::RunPath | Self::Interpreter)
    }

    pub fn is_stripped(self) -> bool {
        !matches!(self, Self::Plain | Self::Needed | Self::Omagic)
    }

    /// What is linked, as it runs; `None` if it is a program.
    fn loaded_as(self) -> Option<&'static str> {
        match self {
            Self::Library => Some("plain"),
            Self::ExecutableLibrary => Some("executable"),
            _ => None,
        }
    }
}

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Build {
    /// It ran first; its functions begin with `a_`.
    Earlier,
    /// It took the place of the other; its functions begin with `b_`.
    Later,
}

/// A program, in both builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Program {
    pub linker: Linker,
    pub id: IdKind,
    pub treatment: Treatment,
}

impl Program {
    pub fn all() -> Vec<Self> {
        (0..).map_while(Self::of_number).collect()
    }

    pub fn number(self) -> usize {
        let of_linker = self.linker as usize * IdKind::ALL.len() + self.id as usize;
        of_linker * Treatment::ALL.len() + self.treatment as usize
    }

    pub fn of_number(number: usize) -> Option<Self> {
        let treatment = Treatment::ALL[number % Treatment::ALL.len()];
        let rest = number / Treatment::ALL.len();
        let id = IdKind::ALL[rest % IdKind::ALL.len()];
        let linker = *Linker::ALL.get(rest / IdKind::ALL.len())?;
        Some(Self { linker, id, treatment })
    }

    fn id_option(self, build: Build) -> String {
        let number = self.number();
        match (self.id, build) {
            (IdKind::Sha1, _) => "--build-id=sha1".to_owned(),
            (IdKind::None, _) => "--build-id=none".to_owned(),
            (IdKind::Short, Build::Earlier) => format!("--build-id=0x5a5a5a{number:02x}"),
            (IdKind::Short, Build::Later) => format!("--build-id=0x5a5a5a{number:02x}00000000"),
        }
    }
}

/// The files of one build.
pub struct Files {
    /// What runs.
    pub ran: PathBuf,
    /// Its debug file.
    pub debug: PathBuf,
    /// As the linker left it.
    pub twin: PathBuf,
}

type Both = Arc<OnceLock<[Files; 2]>>;

/// Makes programs, each once.
pub struct Workshop {
    folder: TestFolder,
    libc: String,
    made: Mutex<BTreeMap<Program, Both>>,
}

const INTERPRETER: &str = "/lib64/ld-linux-x86-64.so.2";

impl Workshop {
    pub fn new() -> Self {
        let folder = TestFolder::new();
        let sources = [
            ("tide.c", include_str!("tide.c")),
            ("program.c", include_str!("program.c")),
            ("loader.c", include_str!("loader.c")),
        ];
        for (name, source) in sources {
            folder.write(name, source.as_bytes());
        }
        let compiled = ["-O1", "-g", "-fPIC", "-fno-toplevel-reorder", "-fno-stack-protector"];
        let compile = |from: &str, to: &str, flags: &[&str]| {
            let mut gcc = Command::new("gcc");
            run(gcc.current_dir(&*folder).args(flags).args([from, "-o", to]));
        };
        compile("tide.c", "earlier.o", &[&compiled[..], &["-c"]].concat());
        compile("tide.c", "later.o", &[&compiled[..], &["-c", "-DLATER"]].concat());
        compile("program.c", "program.o", &[&compiled[..], &["-c"]].concat());
        compile("loader.c", "loader", &["-O1"]);
        let interpreter = folder.join("interpreter.so");
        std::os::unix::fs::symlink(INTERPRETER, interpreter).expect("a link");
        let libc = run(Command::new("gcc").arg("-print-file-name=libc.so.6"));
        Self { folder, libc: libc.trim().to_owned(), made: Mutex::default() }
    }

    /// Its earlier and its later build.
    pub fn files<T>(&self, program: Program, look: impl FnOnce(&[Files; 2]) -> T) -> T {
        let made =
            self.made.lock().expect("no thread fails with it").entry(program).or_default().clone();
        look(made.get_or_init(|| [Build::Earlier, Build::Later].map(|it| self.make(program, it))))
    }

    /// How what is at this path is run, in words of a shell.
    pub fn to_run(&self, program: Program, path: &str) -> String {
        match program.treatment.loaded_as() {
            None => path.to_owned(),
            Some(how) => format!("{}/loader {how} {path}", self.folder.display()),
        }
    }

    fn make(&self, program: Program, build: Build) -> Files {
        let folder = self.folder.join(format!("{}-{build:?}", program.number()));
        fs::create_dir(&folder).expect("a folder");
        let files = Files {
            ran: folder.join("tide"),
            debug: folder.join("tide.debug"),
            twin: folder.join("tide.twin"),
        };
        self.link(program, build, &files.twin);
        let (ran, debug, twin) = (text(&files.ran), text(&files.debug), text(&files.twin));
        let call = |words: &[&str]| {
            run(Command::new(words[0]).args(&words[1..]).current_dir(&folder));
        };
        call(&["objcopy", "--only-keep-debug", twin, debug]);
        match program.treatment.is_stripped() {
            true => call(&["strip", "-o", ran, twin]),
            false => call(&["cp", twin, ran]),
        }
        let interpreter = self.folder.join("interpreter.so");
        match program.treatment {
            Treatment::Plain | Treatment::Stripped | Treatment::Omagic => {}
            Treatment::Needed => call(&["patchelf", "--add-needed", "libm.so.6", ran]),
            Treatment::RunPath => {
                call(&["patchelf", "--set-rpath", "/a/folder/that/is/not/there/at/all", ran]);
            }
            Treatment::Interpreter => {
                call(&["patchelf", "--set-interpreter", text(&interpreter), ran]);
            }
            Treatment::Split
            | Treatment::Library
            | Treatment::ExecutableLibrary
            | Treatment::HugePages => call(&["objcopy", "--add-gnu-debuglink=tide.debug", ran]),
        }
        files
    }

    fn link(&self, program: Program, build: Build, to: &Path) {
        let mut linker = Command::new(program.linker.command());
        linker.current_dir(&*self.folder).arg(program.id_option(build));
        // Programs that differ in what is done to them later have different ids.
        linker.arg(format!("--defsym=number={}", program.number())).arg("-o").arg(to);
        linker.arg(match build {
            Build::Earlier => "earlier.o",
            Build::Later => "later.o",
        });
        let is_by_bfd = program.linker == Linker::Bfd;
        let layout: &[&str] = match program.treatment {
            Treatment::Library | Treatment::ExecutableLibrary => &["-shared"],
            Treatment::Omagic => &["-static", "-N"],
            Treatment::HugePages => &["-z", "max-page-size=0x200000"],
            Treatment::Interpreter => &[],
            // patchelf 0.14 breaks what ld.bfd links to run at a fixed address.
            Treatment::Needed | Treatment::RunPath if !is_by_bfd => &[],
            _ => &["-pie"],
        };
        linker.args(layout);
        if program.treatment.loaded_as().is_none() {
            linker.arg("program.o");
            if program.treatment != Treatment::Omagic {
                linker.args(["-dynamic-linker", INTERPRETER, "--allow-shlib-undefined"]);
                linker.args(["--no-as-needed", &self.libc]);
            }
        }
        run(&mut linker);
    }
}

impl Default for Workshop {
    fn default() -> Self {
        Self::new()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Runs a tool, which must succeed, and returns what it prints.
fn run(command: &mut Command) -> String {
    let output = command.ended().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
