//! Inputs to begin fuzzing with: what recordings, and short links of them, have for each target, in
//! `fuzz/corpus/TARGET/`.

use std::fs;
use std::path::{Path, PathBuf};

use perftab_core::snapshot::ShareOptions;
use perftab_tests::open::open;
use perftab_tests::seeds;

/// Long enough for a little of everything; a fuzzer does more with short inputs.
const CHARACTERS: [usize; 2] = [1_500, 8_000];

fn main() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = fs::read(&path).expect("the recording");
        let mut parts = seeds::of_recording(&file);
        if let Ok(mut session) = open(&file) {
            session.name_all_frames();
            for characters in CHARACTERS {
                let options = ShareOptions { characters, ..ShareOptions::default() };
                if let Ok(link) = session.share(&options) {
                    parts.extend(seeds::of_link(&link.payload));
                }
            }
        }
        for (number, (target, input)) in parts.into_iter().enumerate() {
            let folder = corpus.join(target);
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join(format!("{name}-{number}")), input).expect("an input");
        }
    }
}
