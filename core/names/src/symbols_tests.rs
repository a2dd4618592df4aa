//! What comes from images is compared once more, and is read as if a stranger had written it.

use perftab_images::{FileNumber, FunctionNumber};
use perftab_perfdata::format::BuildId;
use perftab_profile::{Frame, Identity, MappedFrom};

use super::*;

/// A DSO with three frames, and its names.
struct Made {
    profile: Profile,
    symbols: Symbols,
    dso: DsoId,
    frames: Vec<FrameId>,
}

fn id(byte: u8) -> BuildId {
    BuildId::new(&[byte; 20]).expect("not all zero")
}

fn made() -> Made {
    let mut profile = Profile::default();
    let dso = profile.dsos.intern("/bin/app", DsoKind::User, MappedFrom::BuildId(id(7)), None);
    let frame = |address| Frame { dso, address };
    let frames = [1, 2, 3].map(|address| profile.frames.intern(frame(address))).to_vec();
    Made { symbols: Symbols::new(&profile), profile, dso, frames }
}

fn level(function: u32, file: u32) -> NamedLevel {
    let (function, file) = (Some(FunctionNumber(function)), Some(FileNumber(file)));
    NamedLevel { function, file, line: None }
}

/// `outer` at the first address, with `inner` inlined into it at the second; nothing of the third.
fn names() -> AddressNames {
    AddressNames {
        functions: vec!["outer".to_owned(), "inner".to_owned()],
        files: vec!["a.c".into()],
        lengths: vec![1, 2],
        levels: vec![level(0, 0), level(0, 0), level(1, 0)],
    }
}

impl Made {
    fn adopt(&mut self, identity: Identity, names: AddressNames) {
        let mut met = MetNames::default();
        let answer = MatchedNames::for_tests(identity, names);
        self.symbols.adopt(&self.profile, self.dso, &mut met, &self.frames, &answer);
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

#[test]
fn names_of_the_recorded_build_are_taken_in() {
    let mut made = made();
    made.adopt(Identity::Gnu(id(7)), names());
    assert_eq!(made.shown(), ["outer", "outer>inner", "?"]);
    let level = made.symbols.levels(made.frames[1])[1];
    assert_eq!(level.file.map(|file| made.symbols.file(file)), Some("a.c"));
    assert_eq!(level.inlining, Inlining::Inlined);
}

#[test]
fn names_of_another_build_name_nothing() {
    let mut made = made();
    made.adopt(Identity::Gnu(id(8)), names());
    made.adopt(Identity::Content(perftab_profile::ContentHash([7; 16])), names());
    assert_eq!(made.shown(), ["?", "?", "?"]);
}

#[test]
fn numbers_that_nothing_explains_are_no_names() {
    let mut made = made();
    let mut lies = names();
    lies.levels[1] = level(u32::MAX, u32::MAX);
    made.adopt(Identity::Gnu(id(7)), lies);
    assert_eq!(made.shown(), ["outer", "?>inner", "?"]);
    let outermost = made.symbols.levels(made.frames[1])[0];
    assert_eq!((outermost.file, outermost.inlining), (None, Inlining::Called));
}

#[test]
fn columns_that_contradict_each_other_are_read_as_far_as_they_agree() {
    for (lengths, shown) in [
        (vec![1, 9], ["outer", "?", "?"]),
        (vec![0, 1], ["?", "outer", "?"]),
        (vec![1, 1, 1, 1, 1], ["outer", "outer", "inner"]),
        (vec![u32::MAX], ["?", "?", "?"]),
    ] {
        let mut made = made();
        made.adopt(Identity::Gnu(id(7)), AddressNames { lengths, ..names() });
        assert_eq!(made.shown(), shown);
    }
}
