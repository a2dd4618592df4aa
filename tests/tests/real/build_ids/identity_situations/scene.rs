//! A recording of programs of which another build takes the place.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::programs::{Files, Program, Workshop};
use super::situation::{Given, Machine, Question, Recorder, SceneKind, When};
use super::truth::Runs;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::perf::until_the_kernel_lets;
use perftab_tests::perftab_at;

/// A recording that is made, and where its programs ran.
pub struct Scene<'a> {
    workshop: &'a Workshop,
    programs: Vec<Program>,
    folder: TestFolder,
    recording: PathBuf,
    pub runs: Runs,
}

impl<'a> Scene<'a> {
    /// Records all these programs at once.
    pub fn record(workshop: &'a Workshop, kind: SceneKind, programs: &[Program]) -> Self {
        let folder = TestFolder::new();
        let (mut before, mut during, mut after) = (String::new(), String::new(), String::new());
        during.push_str("exec > runs.txt\n");
        for (slot, &program) in programs.iter().enumerate() {
            let slot = folder.join(slot.to_string());
            let steps = Steps::of(workshop, kind.when, program, &slot);
            before.push_str(&steps.before);
            during.push_str(&steps.during);
            after.push_str(&steps.after);
        }
        folder.write("run.sh", during.as_bytes());
        let mut scene = Self {
            workshop,
            programs: programs.to_vec(),
            folder,
            recording: PathBuf::new(),
            runs: Runs::default(),
        };
        scene.shell(&before);
        scene.recording = scene.recorded_by(kind.recorder);
        scene.shell(&after);
        if kind.recorder == Recorder::Injected {
            let injected = scene.folder.join("injected.data");
            let mut inject = Command::new("perf");
            inject.args(["inject", "-b", "-i"]).arg(&scene.recording).arg("-o").arg(&injected);
            scene.succeed(&mut inject);
            scene.recording = injected;
        }
        let printed = fs::read_to_string(scene.folder.join("runs.txt")).expect("what they print");
        scene.runs = Runs::of(&printed);
        scene
    }

    /// `perftab script` of it: what it prints, and what it says of doubts.
    pub fn script(&self, question: Question) -> (String, String) {
        let mut perftab = perftab_at(&self.folder, &["script"]);
        perftab.arg(&self.recording);
        if question.machine == Machine::LeftAlone {
            perftab.arg("--no-local");
        }
        // The first files of all programs come before the second of any.
        for place in 0..2 {
            for &program in &self.programs {
                self.workshop.files(program, |files| {
                    if let Some(file) = given(question.given, files).get(place) {
                        perftab.arg("--image").arg(file);
                    }
                });
            }
        }
        let output = self.succeed(&mut perftab);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    }

    fn recorded_by(&self, recorder: Recorder) -> PathBuf {
        let recording = self.folder.join("perf.data");
        // User code at ten thousand samples a second.
        let what = ["-q", "-e", "cpu-clock:u", "-c", "100000", "-o"];
        let mut command = match recorder {
            Recorder::Perftab => perftab_at(&self.folder, &["record"]),
            _ => {
                let mut perf = Command::new("perf");
                perf.arg("record").current_dir(&*self.folder).env("HOME", &*self.folder);
                perf
            }
        };
        command.args(what).arg(&recording);
        command.args(match recorder {
            Recorder::Perftab => &[][..],
            Recorder::Table => &["-N"],
            Recorder::Mappings => &["--buildid-mmap"],
            Recorder::NoIds | Recorder::Injected => &["-B"],
        });
        let output = until_the_kernel_lets(command.args(["--", "sh", "run.sh"]));
        let output = output.expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {said}");
        recording
    }

    fn shell(&self, script: &str) {
        self.succeed(Command::new("sh").arg("-ec").arg(script));
    }

    fn succeed(&self, command: &mut Command) -> Output {
        let output = command.current_dir(&*self.folder).env("HOME", &*self.folder).ended();
        let output = output.expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {said}");
        output
    }
}

/// What is done with one program: shell scripts.
struct Steps {
    before: String,
    during: String,
    after: String,
}

impl Steps {
    /// The earlier build is in `here` of the folder, the later one in `there`.
    fn of(workshop: &Workshop, when: When, program: Program, slot: &Path) -> Self {
        let slot = slot.display();
        let (path, other) = (format!("{slot}/here/tide"), format!("{slot}/there/tide"));
        let mut before = format!("mkdir -p {slot}/here {slot}/there\n");
        workshop.files(program, |[earlier, later]| {
            // Writing to a text cannot fail.
            let _ = writeln!(before, "cp {} {path}", earlier.ran.display());
            let _ = writeln!(before, "cp {} {other}", later.ran.display());
        });
        let rename = format!("{other} {path}");
        let swap =
            format!("{slot}/here {slot}/old {slot}/there {slot}/here {slot}/old {slot}/there");
        let run = workshop.to_run(program, &path);
        let word = slot.to_string();
        let word = word.rsplit('/').next().unwrap_or_default();
        let (during, after) = match when {
            When::Never => (format!("{run} {word}\n"), String::new()),
            When::Afterwards => (format!("{run} {word}\n"), format!("mv {rename}\n")),
            When::AfterwardsInPlace => {
                (format!("{run} {word}\n"), format!("cat {other} > {path}\n"))
            }
            When::WhileItRan => (format!("{run} {word} {rename}\n"), String::new()),
            When::FolderWhileItRan => (format!("{run} {word} {swap}\n"), String::new()),
            When::Between => (format!("{run} {word}\nmv {rename}\n{run} {word}\n"), String::new()),
            When::BetweenInPlace => {
                let replace = format!("cat {other} > {path}");
                (format!("{run} {word}\n{replace}\n{run} {word}\n"), String::new())
            }
        };
        Self { before, during, after }
    }
}

fn given(given: Given, [earlier, later]: &[Files; 2]) -> Vec<&Path> {
    match given {
        Given::Nothing => vec![],
        Given::Mapped => vec![&earlier.ran],
        Given::Debug => vec![&earlier.debug],
        Given::MappedThenDebug => vec![&earlier.ran, &earlier.debug],
        Given::DebugThenMapped => vec![&earlier.debug, &earlier.ran],
        Given::Twin => vec![&earlier.twin],
        Given::Rebuilt => vec![&later.ran],
        Given::RebuiltDebug => vec![&later.debug],
        Given::RebuiltThenMapped => vec![&later.ran, &earlier.ran],
    }
}
