//! Links that were written once and have to open for ever, beside what is in them.
//!
//! `v1-NAME.txt` has a payload in its first line; all others are what it holds. Only
//!
//! ```text
//! cargo test -p perftab-tests --test link_vectors -- --ignored
//! ```
//!
//! writes those that are not there, of the page's sample, with `xz`: a new version gets vectors of its
//! own. What is there stays as it is.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, iter};

use perftab_core::decode::SliceSource;
use perftab_core::session::Session;
use perftab_core::snapshot::{
    HotPlace, Privacy, ShareOptions, Snapshot, Tell, Times, VERSION, decode, payload_of, streams_of,
};
use perftab_core::views::Query;
use perftab_core::views::call_tree::CallTree;
use perftab_core::views::label::Labels;
use perftab_core::views::place_texts::PlaceTexts;
use perftab_core::views::weights::Sum;
use perftab_tests::open::open_path;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/link_vectors")
}

/// What an opened link holds, a thing a line.
fn described(opened: &Snapshot) -> String {
    let Snapshot { profile, symbols, ledger, facts, fidelity, .. } = opened;
    let mut lines = vec![
        format!("{fidelity:?}"),
        format!("{:?} {:?} {} samples", profile.host, profile.lost, profile.samples.len()),
        format!("{:?}, {} processes, {} threads", facts.time, facts.processes, facts.threads),
    ];
    lines.extend(opened.warnings.iter().map(|warning| format!("{warning:?}")));
    lines.extend(profile.dsos.iter().map(|(id, dso)| {
        let status = ledger.row(id).status;
        format!("{:?} {:?} {:?} {status:?}", dso.path, dso.kind, dso.identity)
    }));
    let labels = Labels::new(profile, symbols);
    lines.extend(places(opened));
    for (index, event) in profile.events.iter().enumerate() {
        lines.push(format!("{event:?}"));
        let tree =
            CallTree::new(profile, symbols, &Query { event: index as u32, ..Query::default() });
        let mut nodes: Vec<_> = tree
            .ids()
            .map(|id| {
                let (own, path) = (tree.self_sum(id), labels.path(&tree, id).join(";"));
                format!("{path} {} {}", own.samples, own.weight)
            })
            .collect();
        nodes.sort();
        lines.extend(nodes);
    }
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// Where in functions samples of the first event ended.
fn places(opened: &Snapshot) -> Vec<String> {
    let Snapshot { profile, symbols, facts, .. } = opened;
    let labels = Labels::new(profile, symbols);
    let mut places = Vec::new();
    for id in facts.heat.functions() {
        let known = facts.heat.get(id).expect("it is there");
        let dso = symbols.function(id).dso;
        places.extend(known.places.iter().map(|place| {
            let line = place.line.unwrap_or_default();
            let file = line.file.map_or("-", |file| symbols.file(file));
            let (line, address) = (line.line.map_or(0, |it| it.get()), place.address.unwrap_or(0));
            let (name, sum) = (labels.function_text(id), place.sums[0]);
            let inlined = if place.is_inlined { " inlined" } else { "" };
            let Sum { samples, weight } = sum;
            let place_text =
                format!("place {name}: {file} {line} {address:x} {samples} {weight}{inlined}");
            let source = facts.texts.line(place.line.unwrap_or_default());
            let assembly = facts.texts.instruction(dso, address);
            let texts =
                [source, assembly].map(|text| text.map_or(String::new(), |it| format!("\t{it}")));
            format!("{place_text}{}", texts.concat())
        }));
    }
    places.sort();
    places
}

#[test]
fn links_of_every_version_open_and_hold_what_they_held() {
    let mut read = 0;
    for file in fs::read_dir(folder()).expect("a folder") {
        let path = file.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("text");
        let (payload, expected) = text.split_once('\n').expect("a payload and what it holds");
        let opened = decode(payload).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(described(&opened), expected, "{}", path.display());
        read += 1;
    }
    assert!(read >= 8, "{read} vectors");
}

/// The page's sample with the names of its program.
fn sample() -> Session {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/sample");
    let mut session = open_path(&folder.join("mill.perf.data.xz")).expect("it opens");
    let unpacked = Command::new("xz").arg("-dc").arg(folder.join("mill.xz")).output().expect("xz");
    session.admit("mill", Box::new(SliceSource::new(unpacked.stdout))).expect("the build recorded");
    session.name_all_frames();
    session
}

#[test]
#[ignore = "writes the vectors that are not there"]
fn write_vectors() {
    let mut session = sample();
    let options = ShareOptions::default;
    let everything = ShareOptions { privacy: Privacy::everything(), ..options() };
    let sums = ShareOptions { times: Times::None, ..options() };
    let folded = ShareOptions { characters: 1_000, ..sums.clone() };
    let threads = ShareOptions { times: Times::Threads, ..options() };
    let processes = ShareOptions { times: Times::Processes, ..options() };
    let of = |options: &ShareOptions| session.share(options).expect("it fits").payload;
    // Only what is large is deflated: here it is what is not, in the same form.
    let deflated = payload_of(&streams_of(&of(&sums)).expect("it opens"));
    let all = ["everything", "sums", "folded", "threads", "processes", "heat", "deflated"];
    let heat = sums.clone();
    let made = [everything, sums, folded, threads, processes, heat].map(|options| of(&options));
    for (name, payload) in iter::zip(all, made.into_iter().chain([deflated])) {
        write_vector(name, &payload);
    }
    let told = Tell::Told;
    let privacy = Privacy { source: told, assembly: told, ..Privacy::default() };
    let texts = ShareOptions { privacy, times: Times::None, ..options() };
    read_texts(&mut session, &texts);
    let payload = session.share(&texts).expect("it fits").payload;
    write_vector("texts", &payload);
}

fn write_vector(name: &str, payload: &str) {
    let path = folder().join(format!("v{VERSION}-{name}.txt"));
    if !path.exists() {
        let text = format!("{payload}\n{}", described(&decode(payload).expect("it opens")));
        fs::write(path, text).expect("a folder");
    }
}

/// Lines of the sample's source, and what is no instruction at every other address.
fn read_texts(session: &mut Session, options: &ShareOptions) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/sample/mill.c");
    let source = fs::read_to_string(source).expect("the sample's source");
    let lines: Vec<&str> = source.lines().collect();
    let mut texts = PlaceTexts::default();
    for HotPlace { dso, address, line } in
        session.hot_places(options, usize::MAX).unwrap_or_default()
    {
        if let (Some(file), Some(number)) = (line.file, line.line)
            && session.symbols().file(file).ends_with("mill.c")
        {
            texts.add_line(file, number, lines[number.get() as usize - 1]);
        }
        if address % 2 == 0 {
            texts.add_instruction(dso, address, &format!("at {address:#x}"));
        }
    }
    session.set_place_texts(texts);
}
