//! No situation makes perftab show a wrong name, and where the right file is given it shows the right ones.
//!
//! `situation` has what there is: over seventy thousand, in 35 kinds of recordings. Programs say themselves
//! what they ran, so nothing here trusts what reads recordings.

mod programs;
mod scene;
mod situation;
mod truth;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::thread;

use perftab_tests::program::is_installed;
use perftab_tests::tier::Tier;

use programs::{Build, IdKind, Linker, Program, Treatment, Workshop};
use scene::Scene;
use situation::{Given, Machine, Question, Recorder, SceneKind, Situation, When};
use truth::Seen;

const TEST: &str = "identity_situations";
/// Programs of a recording, and ways to read it.
const FEW: (usize, usize) = (3, 4);
/// Programs of a recording in `--all`.
const MANY: usize = 24;
/// For which programs are recorded together.
const SEED: u64 = 15;

/// The recordings of the fast tier: every recorder, and what takes it in most easily.
const FAST: [SceneKind; 5] = [
    SceneKind { recorder: Recorder::Table, when: When::WhileItRan },
    SceneKind { recorder: Recorder::Perftab, when: When::Between },
    SceneKind { recorder: Recorder::Injected, when: When::Afterwards },
    SceneKind { recorder: Recorder::Mappings, when: When::FolderWhileItRan },
    SceneKind { recorder: Recorder::Perftab, when: When::Never },
];

/// A recording to be made, and how it is read.
struct Batch {
    scene: SceneKind,
    programs: Vec<Program>,
    questions: Vec<Question>,
}

#[test]
fn no_situation_gives_a_wrong_name_and_the_right_file_gives_the_right_ones() {
    if !is_installed(TEST, "perf") || !is_x86_64() {
        return;
    }
    let workshop = Workshop::new();
    let batches = Mutex::new(batches());
    let (failures, count) = (Mutex::new(Vec::new()), Mutex::new(0));
    let next = || batches.lock().expect("no thread fails with it").pop();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(batch) = next() {
                    let (failed, tried) = try_batch(&workshop, &batch);
                    failures.lock().expect("no thread fails with it").extend(failed);
                    *count.lock().expect("no thread fails with it") += tried;
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no thread failed");
    let count = count.into_inner().expect("no thread failed");
    println!("{count} situations");
    // A cause shows in many situations; some of each recording are enough.
    let mut by_scene: BTreeMap<String, Vec<&Failure>> = BTreeMap::new();
    for failure in &failures {
        by_scene.entry(format!("{:?}", failure.situation.scene)).or_default().push(failure);
    }
    let mut said = String::new();
    for (scene, failures) in &by_scene {
        // Writing to a text cannot fail.
        let _ = writeln!(said, "\n{scene}: {}", failures.len());
        for Failure { situation, what } in failures.iter().take(5) {
            let Situation { program, question, .. } = situation;
            let number = situation.number();
            let _ = writeln!(said, "PERFTAB_SITUATION={number} cargo xtask test {TEST}");
            let _ = writeln!(said, "    {what}: {program:?}, {question:?}");
        }
    }
    assert!(failures.is_empty(), "{} of {count} situations:\n{said}", failures.len());
}

/// What a situation should not have come to.
struct Failure {
    situation: Situation,
    what: String,
}

fn is_x86_64() -> bool {
    let it_is = cfg!(target_arch = "x86_64");
    if !it_is {
        println!("SKIPPED: {TEST}: its programs are of x86-64");
    }
    it_is
}

/// All of this run: one situation that is asked for, or those of the tier.
fn batches() -> Vec<Batch> {
    if let Ok(number) = std::env::var("PERFTAB_SITUATION") {
        let situation = number.parse().ok().and_then(Situation::of_number);
        let Situation { program, scene, question } =
            situation.unwrap_or_else(|| panic!("there is no situation {number}"));
        return vec![Batch { scene, programs: vec![program], questions: vec![question] }];
    }
    let programs = programs();
    let (scenes, few) = match Tier::of_this_run() {
        Tier::Fast => (FAST.to_vec(), FEW),
        Tier::All => (SceneKind::all(), (MANY, usize::MAX)),
    };
    let mut shuffled = Shuffle { state: SEED, rest: Vec::new() };
    let batch = |scene: SceneKind| {
        let programs = shuffled.next(&programs, few.0);
        let mut questions = Question::all();
        if few.1 < questions.len() {
            // Others in each recording.
            let first = shuffled.random() as usize % questions.len();
            questions.rotate_left(first);
            questions = questions.into_iter().step_by(4).take(few.1).collect();
        }
        Batch { scene, programs, questions }
    };
    let batches: Vec<Batch> = scenes.into_iter().map(batch).collect();
    let all = programs.len() * SceneKind::all().len() * Question::all().len();
    let tried: usize = batches.iter().map(|it| it.programs.len() * it.questions.len()).sum();
    if Tier::of_this_run() == Tier::Fast {
        println!("REDUCED: {TEST}: {tried} of {all} situations");
    }
    batches
}

/// Those that can be made here.
fn programs() -> Vec<Program> {
    let linkers = Linker::ALL.into_iter().filter(|it| is_installed(TEST, it.command()));
    let linkers: Vec<Linker> = linkers.collect();
    let has_patchelf = is_installed(TEST, "patchelf");
    let all = Program::all().into_iter().filter(|it| linkers.contains(&it.linker));
    all.filter(|it| has_patchelf || !it.treatment.needs_patchelf()).collect()
}

/// Programs in an order without order, each as often as others.
struct Shuffle {
    state: u64,
    rest: Vec<Program>,
}

impl Shuffle {
    fn next(&mut self, all: &[Program], count: usize) -> Vec<Program> {
        let mut taken = Vec::new();
        while taken.len() < count.min(all.len()) {
            if self.rest.is_empty() {
                self.rest = all.iter().copied().filter(|it| !taken.contains(it)).collect();
            }
            let place = self.random() as usize % self.rest.len();
            taken.push(self.rest.swap_remove(place));
        }
        taken
    }

    /// As SplitMix64 has it.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) >> 1
    }
}

/// Returns what failed, and how many situations were tried.
fn try_batch(workshop: &Workshop, batch: &Batch) -> (Vec<Failure>, usize) {
    let scene = Scene::record(workshop, batch.scene, &batch.programs);
    let mut failures = Vec::new();
    for &question in &batch.questions {
        let (script, said) = scene.script(question);
        let is_doubted = said.contains("were read when the recording ended");
        let seen = scene.runs.compare(&script);
        for (slot, &program) in batch.programs.iter().enumerate() {
            let situation = Situation { program, scene: batch.scene, question };
            let of_slot = seen.iter().filter(|((it, _), _)| *it == slot);
            let of_slot: BTreeMap<Build, &Seen> =
                of_slot.map(|((_, build), seen)| (*build, seen)).collect();
            if let Some(what) = judge(&situation, &of_slot, is_doubted) {
                failures.push(Failure { situation, what });
            }
        }
    }
    (failures, batch.programs.len() * batch.questions.len())
}

/// What is wrong with what was seen.
fn judge(situation: &Situation, seen: &BTreeMap<Build, &Seen>, is_doubted: bool) -> Option<String> {
    if !seen.contains_key(&Build::Earlier) {
        return Some("no sample is in the program".to_owned());
    }
    for (&build, seen) in seen {
        if let Some(wrong) = &seen.wrong
            && !(is_doubted && ids_may_be_of_another(situation))
            && !is_id_of_both(situation)
        {
            return Some(wrong.clone());
        }
        if seen.named > 0 && !has_identity(situation) {
            return Some(format!("{build:?}: nothing identifies it, and it has names"));
        }
        if seen.unnamed > 0 && must_be_named(situation, build) {
            let Seen { named, unnamed, .. } = seen;
            return Some(format!("{build:?}: {named} samples are named, {unnamed} are not"));
        }
    }
    None
}

/// The ids in the recording may be those of the other build, and nothing that is looked at tells: then it
/// must be said. In the file of `perf inject` nothing tells when the recording began, and a file that was
/// overwritten has the inode that was mapped.
fn ids_may_be_of_another(situation: &Situation) -> bool {
    let SceneKind { recorder, when } = situation.scene;
    let is_left_alone = situation.question.machine == Machine::LeftAlone;
    let is_in_place = matches!(when, When::AfterwardsInPlace | When::BetweenInPlace);
    match recorder {
        Recorder::Table => is_left_alone && when.is_meanwhile(),
        Recorder::Injected => when != When::Never && (is_left_alone || is_in_place),
        Recorder::Perftab | Recorder::Mappings | Recorder::NoIds => false,
    }
}

/// perf 6.1 injects ids without their lengths: two that differ in zeros at the end are one.
fn is_id_of_both(situation: &Situation) -> bool {
    situation.scene.recorder == Recorder::Injected && situation.program.id == IdKind::Short
}

fn has_identity(situation: &Situation) -> bool {
    match (situation.scene.recorder, situation.program.id) {
        (Recorder::NoIds, _) => false,
        (Recorder::Perftab, _) => true,
        (_, id) => id != IdKind::None,
    }
}

/// The recording has the build's identity, and what is given has its functions.
fn must_be_named(situation: &Situation, build: Build) -> bool {
    let Situation { program, scene: SceneKind { recorder, when }, question } = situation;
    let is_known = match (recorder, program.id) {
        (Recorder::Perftab, IdKind::None) => !when.is_meanwhile(),
        (Recorder::NoIds, _) | (_, IdKind::None) => false,
        (Recorder::Perftab | Recorder::Mappings, _) => true,
        (Recorder::Table | Recorder::Injected, _) => *when == When::Never,
    };
    // The content of a file without a build-id is all that its debug file could be known by.
    let has_debug = program.id != IdKind::None;
    let has_symbols = !program.treatment.is_stripped();
    // What patchelf moved, and what is mapped in other ways, is not found by a debug file alone.
    let is_where_it_was = matches!(
        program.treatment,
        Treatment::Plain | Treatment::Stripped | Treatment::Split | Treatment::Library
    );
    let (by, gives) = match question.given {
        Given::Nothing => return false,
        Given::Mapped | Given::RebuiltThenMapped => (Build::Earlier, has_symbols),
        Given::Debug | Given::Twin => (Build::Earlier, has_debug && is_where_it_was),
        Given::MappedThenDebug | Given::DebugThenMapped => {
            (Build::Earlier, has_symbols || has_debug)
        }
        Given::Rebuilt => (Build::Later, has_symbols),
        Given::RebuiltDebug => (Build::Later, has_debug && is_where_it_was),
    };
    is_known && gives && by == build
}
