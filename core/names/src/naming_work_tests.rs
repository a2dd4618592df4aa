//! What comes from images is compared once more, and is read as if a stranger had written it.

use perftab_images::{AddressNames, FileNumber, FunctionNumber, NamedLevel};
use perftab_perfdata::format::BuildId;
use perftab_profile::{ContentHash, DsoKind, Frame, Identity, MappedFrom};

use super::*;
use crate::symbols::{Inlining, Level};

/// A DSO with three frames, and its names.
struct Made {
    profile: Profile,
    recorded: RecordedIdentities,
    symbols: Symbols,
    dso: DsoId,
    frames: Vec<FrameId>,
}

const TICKET: Ticket = Ticket(5);

fn id(byte: u8) -> BuildId {
    BuildId::new(&[byte; 20]).expect("not all zero")
}

fn made() -> Made {
    let mut profile = Profile::default();
    let dso = profile.dsos.intern("/bin/app", DsoKind::User, MappedFrom::BuildId(id(7)), None);
    let frame = |address| Frame { dso, address };
    let frames = [1, 2, 3].map(|address| profile.frames.intern(frame(address))).to_vec();
    let recorded = RecordedIdentities::new(&profile.dsos);
    Made { symbols: Symbols::new(&profile), recorded, profile, dso, frames }
}

fn level(function: u32, file: u32) -> NamedLevel {
    let (function, file) = (Some(FunctionNumber(function)), Some(FileNumber(file)));
    NamedLevel { function, file, line: None }
}

const NOTHING: NamedLevel = NamedLevel { function: None, file: None, line: None };

/// `outer` at the first address, with `inner` inlined into it at the second; nothing of the third.
fn names() -> AddressNames {
    AddressNames {
        functions: vec!["outer".to_owned(), "inner".to_owned()],
        files: vec!["a.c".into()],
        lengths: vec![1, 2, 1],
        levels: vec![level(0, 0), level(0, 0), level(1, 0), NOTHING],
    }
}

/// Of the recorded build, to the first slice.
fn answer(names: AddressNames) -> NameAnswer {
    let names = Some(MatchedNames { identity: Identity::Gnu(id(7)), names });
    NameAnswer { ticket: TICKET, first: 0, names, lost: None }
}

impl Made {
    /// Asks for all in slices of so many.
    fn ask(&self, slice: usize) -> NamingWork {
        let mut work = self.symbols.begin(&self.profile, self.dso, NamingDepth::Inlined, TICKET);
        while work.ask(&self.profile, slice).is_some() {}
        work
    }

    fn take(&mut self, work: &mut NamingWork, answer: &NameAnswer) {
        self.symbols.take(work, &self.profile, &self.recorded, answer);
    }

    /// By frame: the names of its levels, `?` for none.
    fn shown(&self) -> Vec<String> {
        let name = |level: &Level| self.symbols.function(level.function).name.unwrap_or("?");
        let of_frame = |&frame: &FrameId| {
            self.symbols.levels(frame).iter().map(name).collect::<Vec<_>>().join(">")
        };
        self.frames.iter().map(of_frame).collect()
    }
}

/// What is shown after this answer to a question for all frames.
fn shown_after(answer: &NameAnswer) -> Vec<String> {
    let mut made = made();
    let mut work = made.ask(9);
    made.take(&mut work, answer);
    assert!(work.is_done());
    made.shown()
}

#[test]
fn names_of_the_recorded_build_are_taken_in() {
    let mut made = made();
    let mut work = made.ask(9);
    made.take(&mut work, &answer(names()));
    assert_eq!(made.shown(), ["outer", "outer>inner", "?"]);
    let level = made.symbols.levels(made.frames[1])[1];
    assert_eq!(level.file.map(|file| made.symbols.file(file)), Some("a.c"));
    assert_eq!(level.inlining, Inlining::Inlined);
    assert_eq!(work.progress(), (3, 3));
}

#[test]
fn slices_number_functions_on() {
    let mut made = made();
    let mut work = made.ask(2);
    let first = AddressNames { lengths: vec![1, 2], ..names() };
    let first = AddressNames { levels: first.levels[..3].to_vec(), ..first };
    let second = AddressNames {
        functions: vec!["third".to_owned()],
        lengths: vec![2],
        levels: vec![level(1, 0), level(2, 0)],
        ..AddressNames::default()
    };
    made.take(&mut work, &answer(first));
    assert_eq!(work.progress(), (2, 3));
    made.take(&mut work, &NameAnswer { first: 2, ..answer(second) });
    assert_eq!(made.shown(), ["outer", "outer>inner", "inner>third"]);
    assert!(work.is_done());
}

#[test]
fn names_of_another_build_name_nothing() {
    for identity in [Identity::Gnu(id(8)), Identity::Content(ContentHash([7; 16]))] {
        let names = Some(MatchedNames { identity, names: names() });
        assert_eq!(shown_after(&NameAnswer { names, ..answer(AddressNames::default()) }), ["?"; 3]);
    }
}

/// Another DSO has the id to the byte: then zeros at the end of this one are no padding, and the file is
/// not of it.
#[test]
fn names_that_the_gate_would_keep_out_name_nothing() {
    let mut made = made();
    let padded = BuildId::new(&[[3; 4].as_slice(), &[0; 16]].concat()).expect("not all zero");
    let dso = made.profile.dsos.get_mut(made.dso);
    dso.identity = Some(Identity::Gnu(padded));
    dso.recorded_by = Some(perftab_profile::RecordedBy::Stream);
    dso.id_length = perftab_perfdata::format::IdLength::AtMost;
    let found = Identity::Gnu(BuildId::new(&[3; 4]).expect("not all zero"));
    let names = Some(MatchedNames { identity: found, names: names() });
    let answer = NameAnswer { names, ..answer(AddressNames::default()) };
    for is_of_another in [true, false] {
        let mut dsos = made.profile.dsos.clone();
        if is_of_another {
            let short = BuildId::new(&[3; 4]).expect("not all zero");
            dsos.intern("/bin/b", DsoKind::User, MappedFrom::BuildId(short), None);
        }
        made.recorded = RecordedIdentities::new(&dsos);
        let mut work = made.ask(9);
        made.take(&mut work, &answer);
        assert_eq!(made.shown()[0] == "?", is_of_another);
    }
}

#[test]
fn what_cannot_be_right_names_nothing() {
    let with = |change: &dyn Fn(&mut AddressNames)| {
        let mut names = names();
        change(&mut names);
        shown_after(&answer(names))
    };
    assert_eq!(with(&|_| {}), ["outer", "outer>inner", "?"]);
    let lies: [&dyn Fn(&mut AddressNames); 11] = [
        &|it| it.levels[0] = level(2, 0),
        &|it| it.levels[3] = level(u32::MAX, 0),
        &|it| it.levels[3] = level(0, 1),
        &|it| it.files.clear(),
        &|it| it.functions.clear(),
        &|it| it.lengths = vec![1, 3],
        &|it| it.lengths = vec![0, 3, 1],
        &|it| it.lengths = vec![1, 1, 1, 1],
        &|it| it.lengths = vec![1, u32::MAX, 1],
        &|it| it.levels.truncate(3),
        &|it| it.levels.push(NOTHING),
    ];
    for (index, lie) in lies.into_iter().enumerate() {
        assert_eq!(with(lie), ["?"; 3], "{index}");
    }
    let right = || answer(names());
    assert_eq!(shown_after(&NameAnswer { ticket: Ticket(4), ..right() }), ["?"; 3]);
    assert_eq!(shown_after(&NameAnswer { first: 1, ..right() }), ["?"; 3]);
    assert_eq!(shown_after(&NameAnswer { names: None, ..right() }), ["?"; 3]);
}

#[test]
fn after_a_lie_nothing_more_is_taken_in() {
    let mut made = made();
    let mut work = made.ask(1);
    let one = |first, level| NameAnswer {
        first,
        ..answer(AddressNames { lengths: vec![1], levels: vec![level], ..names() })
    };
    made.take(&mut work, &one(0, level(0, 0)));
    // Twice the same, as if nothing had been answered.
    made.take(&mut work, &one(0, level(0, 0)));
    made.take(&mut work, &one(1, level(0, 0)));
    made.take(&mut work, &one(2, level(0, 0)));
    assert_eq!(made.shown(), ["outer", "?", "?"]);
    assert!(work.is_done());
}

#[test]
fn an_answer_that_nobody_asked_for_names_nothing() {
    let mut made = made();
    let mut work = made.symbols.begin(&made.profile, made.dso, NamingDepth::Inlined, TICKET);
    made.take(&mut work, &answer(names()));
    assert_eq!(made.shown(), ["?"; 3]);
}
