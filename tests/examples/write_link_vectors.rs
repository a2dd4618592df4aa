//! Writes the link vectors that are not there, of the page's sample, with `xz`: a new version of links
//! gets vectors of its own. What is there stays as it is.

use std::path::Path;
use std::process::Command;
use std::{fs, iter};

use perftab_core::session::Session;
use perftab_perfdata::decode::SliceSource;
use perftab_snapshot::{
    Disclosure, HotPlace, Privacy, ShareOptions, Times, VERSION, decode, payload_of, streams_of,
};
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::links::vectors::{described, folder};
use perftab_tests::open::open_path;
use perftab_views::place_texts::PlaceTexts;

/// The page's sample with the names of its program.
fn sample() -> Session {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/sample");
    let mut session = open_path(&folder.join("mill.perf.data.xz")).expect("it opens");
    let unpacked = Command::new("xz").arg("-dc").arg(folder.join("mill.xz")).ended().expect("xz");
    session.admit("mill", Box::new(SliceSource::new(unpacked.stdout))).expect("the build recorded");
    session.name_all_frames();
    session
}

fn main() {
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
    let all =
        ["everything", "sums", "folded", "threads", "processes", "heat", "origins", "deflated"];
    let (heat, origins) = (sums.clone(), sums.clone());
    let made = [everything, sums, folded, threads, processes, heat, origins];
    let made = made.map(|options| of(&options));
    for (name, payload) in iter::zip(all, made.into_iter().chain([deflated])) {
        write_vector(name, &payload);
    }
    let told = Disclosure::Included;
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
