//! A link opened elsewhere: the same gate, the same names.

use perftab_images::{
    DsoImages, DsoNaming, Image, ImageContents, MatchedImage, NamingDepth, RecordedIdentities,
    Rejection, Ticket,
};
use perftab_names::{Ledger, Symbols};
use perftab_profile::{
    DsoId, Event, EventId, EventOrigin, Process, Profile, Sample, Stacks, Thread,
};
use perftab_snapshot::{Contents, Facts, ShareOptions, decode, encode};
use perftab_tests::folder::TestFolder;
use perftab_views::Query;
use perftab_views::call_tree::CallTree;
use perftab_views::label::Labels;

use crate::symbols::oracle::Code;
use crate::symbols::workbench::{Bench, compile, image};

const SOURCE: &str = "static inline __attribute__((always_inline)) int inner(int x) {\n\
                      return x * 7 + 1;\n}\n\
                      int work(int x) {\n return inner(x) + 2;\n}\n\
                      int main(int c, char **v) {\n return work(c);\n}\n";

/// One sample at each frame, called from the first one.
fn add_samples(bench: &mut Bench) {
    let profile = &mut bench.profile;
    let name = profile.strings.intern("program");
    let process = profile.threads.add_process(Process { pid: 1, name });
    let thread = profile.threads.add_thread(Thread { process, tid: 1, name });
    let frames: Vec<_> = profile.frames.iter().map(|(id, _)| id).collect();
    let caller = profile.stacks.intern(Stacks::EMPTY, frames[0]);
    let count = frames.len() as u64;
    for frame in frames {
        let stack = profile.stacks.intern(caller, frame);
        let event = EventId(0);
        profile.samples.push(Sample { time_nanos: 1, thread, stack, event, cpu: 0, weight: 10 });
    }
    profile.events.push(Event {
        name: "cpu-clock".into(),
        origin: EventOrigin::Recorded,
        samples: count,
        weight: 10 * count,
        ..Event::default()
    });
}

/// `file` is what the names are of, if there are any.
fn payload(bench: &Bench, file: Option<&str>) -> String {
    let facts = Facts::of(&bench.profile);
    let mut ledger = Ledger::new(&bench.profile.dsos);
    file.into_iter().for_each(|file| ledger.matched(bench.dso, file, ImageContents::default()));
    let contents = Contents {
        profile: &bench.profile,
        symbols: &bench.symbols,
        ledger: &ledger,
        warnings: &[],
        facts: &facts,
    };
    let options = ShareOptions { characters: 1 << 20, ..ShareOptions::default() };
    encode(&contents, &options).expect("it fits").payload
}

/// Call nodes as text, with their own weight.
fn shown(profile: &Profile, symbols: &Symbols) -> Vec<String> {
    let tree = CallTree::new(profile, symbols, &Query::default());
    let labels = Labels::new(profile, symbols);
    let mut shown: Vec<_> = tree
        .ids()
        .map(|id| format!("{} {}", labels.path(&tree, id).join(";"), tree.self_sum(id).weight))
        .collect();
    shown.sort();
    shown
}

#[test]
fn a_link_without_names_is_named_by_the_same_binary_and_by_no_other() {
    let folder = TestFolder::new();
    let program = compile(&folder, "gcc", &["-g", "-O1"], "program.c", SOURCE);
    let right = || image(&program);
    let other_folder = TestFolder::new();
    let other = SOURCE.replace("* 7", "* 9");
    let other = compile(&other_folder, "gcc", &["-g", "-O1"], "program.c", &other);

    let mut bench = Bench::new(right().identity(), &Code::of(&program).offsets(4));
    add_samples(&mut bench);
    let nameless = payload(&bench, None);
    bench.admit(right()).expect("it is the file recorded");
    let named = shown(&bench.profile, &bench.symbols);

    let mut opened = decode(&nameless).expect("the link opens");
    let nothing = shown(&opened.profile, &opened.symbols);
    assert!(!nothing.iter().any(|line| line.contains("work")), "{nothing:?}");
    let recorded = RecordedIdentities::new(&opened.profile.dsos);
    let offer = |image: Image| MatchedImage::admit(&recorded, image);
    let refused = offer(image(&other)).expect_err("another build");
    assert!(matches!(refused, Rejection::NothingRecordedHasIt { .. }), "{refused:?}");

    let mut images = DsoImages::default();
    let added = images.add(offer(right()).expect("the build recorded")).expect("readable");
    for dso in added.dsos {
        opened.symbols.resolve(&opened.profile, dso, &images);
    }
    assert_eq!(shown(&opened.profile, &opened.symbols), named);
}

#[test]
fn a_link_with_names_shows_them_without_any_file() {
    let folder = TestFolder::new();
    let program = compile(&folder, "gcc", &["-g", "-O1"], "program.c", SOURCE);
    let mut bench = Bench::new(image(&program).identity(), &Code::of(&program).offsets(4));
    add_samples(&mut bench);
    bench.admit(image(&program)).expect("it is the file recorded");
    let opened = decode(&payload(&bench, Some("program"))).expect("the link opens");
    let before = shown(&bench.profile, &bench.symbols);
    assert!(before.iter().any(|line| line.contains("work;inner")), "{before:?}");
    assert_eq!(shown(&opened.profile, &opened.symbols), before);
    assert_eq!(opened.profile.dsos.get(DsoId(0)).identity, image(&program).identity());

    // Files and lines came too.
    let levels = opened.profile.frames.iter().flat_map(|(id, _)| opened.symbols.levels(id));
    let mut places = levels.filter_map(|level| {
        let file = opened.symbols.file(level.file?);
        Some((file, level.line?.get()))
    });
    assert!(places.any(|place| place == ("program.c", 2)));
}

#[test]
fn names_of_a_link_are_not_replaced_by_those_of_a_file() {
    let folder = TestFolder::new();
    let program = compile(&folder, "gcc", &["-g", "-O1"], "program.c", SOURCE);
    let mut bench = Bench::new(image(&program).identity(), &Code::of(&program).offsets(4));
    add_samples(&mut bench);
    bench.admit(image(&program)).expect("it is the file recorded");
    let mut opened = decode(&payload(&bench, Some("program"))).expect("the link opens");
    let before = shown(&opened.profile, &opened.symbols);
    let recorded = RecordedIdentities::new(&opened.profile.dsos);
    let mut images = DsoImages::default();
    let matched = MatchedImage::admit(&recorded, image(&program)).expect("the build recorded");
    for dso in images.add(matched).expect("readable").dsos {
        opened.symbols.resolve(&opened.profile, dso, &images);
    }
    assert_eq!(shown(&opened.profile, &opened.symbols), before);
}

#[test]
fn frames_are_named_in_slices_as_at_once() {
    let folder = TestFolder::new();
    let program = compile(&folder, "gcc", &["-g", "-O1"], "program.c", SOURCE);
    let offsets = Code::of(&program).offsets(1);
    let mut at_once = Bench::new(image(&program).identity(), &offsets);
    at_once.admit(image(&program)).expect("it is the file recorded");

    let mut sliced = Bench::new(image(&program).identity(), &offsets);
    let recorded = RecordedIdentities::new(&sliced.profile.dsos);
    let matched = MatchedImage::admit(&recorded, image(&program)).expect("the build recorded");
    sliced.images.add(matched).expect("readable");
    let depth = NamingDepth::Inlined;
    let mut work = sliced.symbols.begin(&sliced.profile, sliced.dso, depth, Ticket::default());
    let mut naming = DsoNaming::new(sliced.dso, depth);
    let mut slices = 0;
    while !work.is_done() {
        let before = work.progress().0;
        let request = work.ask(&sliced.profile, 7).expect("there is more to ask");
        let dso = sliced.profile.dsos.get(sliced.dso);
        let answer = sliced.images.answer(&mut naming, dso, &request);
        assert!(sliced.symbols.take(&mut work, &sliced.profile, &recorded, &answer));
        assert!(work.progress().0 > before && work.progress().0 <= before + 7);
        slices += 1;
    }
    assert_eq!(slices, offsets.len().div_ceil(7));
    for (_, frame) in sliced.frames() {
        assert_eq!(sliced.levels(frame), at_once.levels(frame));
    }
}
