//! Fills `fuzz/corpus/TARGET/` from recordings: `cargo run -p perftab-tests --example fuzz_corpus --
//! RECORDING…`. What is in there is for fuzzing here and is not committed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::{env, fs};

use perftab_tests::seeds;

/// Larger inputs are slow to run and hardly say more.
const LARGEST: usize = 64 << 10;

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("fuzz").join("corpus");
    let mut written = 0;
    for recording in env::args_os().skip(1) {
        for (target, mut input) in seeds::of_recording(&fs::read(recording)?) {
            input.truncate(LARGEST);
            let mut hash = DefaultHasher::new();
            input.hash(&mut hash);
            let folder = corpus.join(target);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join(format!("{:016x}", hash.finish())), input)?;
            written += 1;
        }
    }
    println!("{written} inputs in {}", corpus.display());
    Ok(())
}
