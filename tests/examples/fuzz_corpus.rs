//! Inputs to begin fuzzing with: what recordings, and short links of them, have for each target, and
//! small programs that the compiler of this machine makes, in `fuzz/corpus/TARGET/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftab_snapshot::ShareOptions;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::open::open;
use perftab_tests::seeds::{self, Seeds};

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
        write(&corpus, &name, parts);
    }
    for (name, flags) in
        [("plain", ""), ("dwarf-4", "-gdwarf-4"), ("sections", "-ffunction-sections")]
    {
        write(&corpus, name, compiled(flags));
    }
}

fn write(corpus: &Path, name: &str, parts: Seeds) {
    for (number, (target, input)) in parts.into_iter().enumerate() {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(format!("{name}-{number}")), input).expect("an input");
    }
}

/// A library with its debug file, and a relocatable file as kernel modules are, as targets take them.
fn compiled(flags: &str) -> Seeds {
    const SOURCE: &str = "extern int other(int);\n\
        static inline __attribute__((always_inline)) int inner(int x) { return x * 7 + 1; }\n\
        __attribute__((noinline)) static int hidden(int x) { return inner(x) + other(x); }\n\
        int work(int x) { return inner(x) + hidden(x); }\n";
    const ID: &str = "--build-id=0x1111111111111111111111111111111111111111";
    let folder = TestFolder::new();
    folder.write("a.c", SOURCE.as_bytes());
    let commands = format!(
        "gcc -g -O1 {flags} -shared -fPIC -nostdlib -Wl,{ID} -Wl,-z,noseparate-code -o a.so a.c &&
         objcopy --only-keep-debug a.so a.debug && strip -o a.bin a.so &&
         gcc -g -O1 {flags} -c -o a.o a.c && ld -r {ID} -o a.ko a.o"
    );
    let made = Command::new("sh").args(["-c", &commands]).current_dir(&*folder).exit_status();
    assert!(made.expect("sh runs").success(), "gcc and binutils are needed");
    let read = |name: &str| fs::read(folder.join(name)).expect("it was made");
    // One mapping, of the first page.
    let pair = |kind: u8, mapped: &[u8], first: &str, second: &[u8]| {
        let (first, count) = (read(first), (mapped.len() / 4) as u8);
        let length = (first.len() as u32).to_le_bytes();
        ("images", [&[kind, count][..], mapped, &length, &first, second].concat())
    };
    vec![
        ("image", read("a.so")),
        ("image", read("a.debug")),
        pair(0, &[0, 0, 1, 0], "a.bin", &read("a.debug")),
        pair(1, &[], "a.ko", &[]),
    ]
}
