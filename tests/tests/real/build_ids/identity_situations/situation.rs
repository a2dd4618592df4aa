//! Situations in which a program's identity decides whose names its samples get: who linked it, what was
//! done to the file, when another build took its place, who recorded, and which file is given for names.
//!
//! A situation is a number, so that one that fails can be tried alone: `PERFTAB_SITUATION=1234`. Many share
//! a recording, since a recording takes longer than a program.

use super::programs::Program;

/// Who recorded, and how ids were learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recorder {
    /// `perftab record`: ids of the kernel, and a hash of what has none.
    Perftab,
    /// `perf record -N`: read by path when the recording ends.
    Table,
    /// `perf record --buildid-mmap`: ids of the kernel.
    Mappings,
    /// `perf record -B`: none.
    NoIds,
    /// The same, then `perf inject -b`: read by path even later.
    Injected,
}

/// When another build took the place of the one that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    Never,
    /// Once it was recorded, by a rename.
    Afterwards,
    /// Once it was recorded, with `cat`.
    AfterwardsInPlace,
    /// While it ran, by a rename.
    WhileItRan,
    /// When it had run, with `cat`; then the other ran.
    BetweenInPlace,
    /// When it had run, by a rename; then the other ran.
    Between,
    /// While it ran: its folder and that of the other changed names.
    FolderWhileItRan,
}

/// Which files are given for names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Given {
    Nothing,
    /// The file that ran.
    Mapped,
    /// Its debug file.
    Debug,
    MappedThenDebug,
    DebugThenMapped,
    /// As it was linked, before anything was done to it.
    Twin,
    /// The other build.
    Rebuilt,
    /// The debug file of that.
    RebuiltDebug,
    RebuiltThenMapped,
}

/// Whether the files of this machine are looked at, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Machine {
    Asked,
    /// `--no-local`
    LeftAlone,
}

impl Recorder {
    pub const ALL: [Self; 5] =
        [Self::Perftab, Self::Table, Self::Mappings, Self::NoIds, Self::Injected];
}

impl When {
    pub const ALL: [Self; 7] = [
        Self::Never,
        Self::Afterwards,
        Self::AfterwardsInPlace,
        Self::WhileItRan,
        Self::BetweenInPlace,
        Self::Between,
        Self::FolderWhileItRan,
    ];

    /// Before the recording ended.
    pub fn is_meanwhile(self) -> bool {
        !matches!(self, Self::Never | Self::Afterwards | Self::AfterwardsInPlace)
    }
}

impl Given {
    pub const ALL: [Self; 9] = [
        Self::Nothing,
        Self::Mapped,
        Self::Debug,
        Self::MappedThenDebug,
        Self::DebugThenMapped,
        Self::Twin,
        Self::Rebuilt,
        Self::RebuiltDebug,
        Self::RebuiltThenMapped,
    ];
}

impl Machine {
    pub const ALL: [Self; 2] = [Self::Asked, Self::LeftAlone];
}

/// What is recorded: any number of programs at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SceneKind {
    pub recorder: Recorder,
    pub when: When,
}

impl SceneKind {
    pub fn all() -> Vec<Self> {
        let with = |recorder| When::ALL.map(|when| Self { recorder, when });
        Recorder::ALL.into_iter().flat_map(with).collect()
    }
}

/// How a recording is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    pub given: Given,
    pub machine: Machine,
}

impl Question {
    /// But for the one that can have no names.
    pub fn all() -> Vec<Self> {
        let with = |given| Machine::ALL.map(|machine| Self { given, machine });
        let all = Given::ALL.into_iter().flat_map(with);
        all.filter(|it| (it.given, it.machine) != (Given::Nothing, Machine::LeftAlone)).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    pub program: Program,
    pub scene: SceneKind,
    pub question: Question,
}

impl Situation {
    pub fn number(&self) -> usize {
        let digits = [
            (self.question.machine as usize, Machine::ALL.len()),
            (self.question.given as usize, Given::ALL.len()),
            (self.scene.when as usize, When::ALL.len()),
            (self.scene.recorder as usize, Recorder::ALL.len()),
        ];
        let program = self.program.number();
        digits.into_iter().rev().fold(program, |number, (digit, count)| number * count + digit)
    }

    /// `None` if there is none of this number.
    pub fn of_number(number: usize) -> Option<Self> {
        let mut rest = number;
        let mut digit = |count: usize| {
            let digit = rest % count;
            rest /= count;
            digit
        };
        let machine = Machine::ALL[digit(Machine::ALL.len())];
        let given = Given::ALL[digit(Given::ALL.len())];
        let when = When::ALL[digit(When::ALL.len())];
        let recorder = Recorder::ALL[digit(Recorder::ALL.len())];
        let program = Program::of_number(rest)?;
        let (scene, question) = (SceneKind { recorder, when }, Question { given, machine });
        Some(Self { program, scene, question })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_situation_is_that_of_its_number() {
        let count = Program::all().len() * SceneKind::all().len() * 18;
        for number in 0..count {
            let situation = Situation::of_number(number).expect("a situation");
            assert_eq!(situation.number(), number);
        }
        assert_eq!(Situation::of_number(count), None);
    }
}
