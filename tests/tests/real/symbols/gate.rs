//! What passes the gate and what does not.

use std::cell::Cell;
use std::iter;
use std::path::PathBuf;
use std::rc::Rc;

use perftab_images::{Image, NotAnImage, OtherBuild, RecordedIdentities, Rejection};
use perftab_names::{Ledger, Status};
use perftab_perfdata::decode::{ByteSource, ReadError, SliceSource};
use perftab_perfdata::format::{BuildId, IdLength};
use perftab_profile::{DsoId, Identity, RecordedBy};
use perftab_tests::folder::TestFolder;
use perftab_tests::tier::part_of;

use crate::symbols::oracle::{self, Code};
use crate::symbols::workbench::{Bench, compile, image, run, text};

const SOURCE: &str =
    "int work(int x) { return x * 7; } int main(int c, char **v) { return work(c); }";

fn program(folder: &TestFolder, flags: &[&str]) -> PathBuf {
    let mut all = vec!["-g", "-O0"];
    all.extend(flags);
    compile(folder, "gcc", &all, "program.c", SOURCE)
}

#[test]
fn the_identity_is_the_note_that_readelf_prints() {
    let folder = TestFolder::new();
    for flags in [&[][..], &["-Wl,--build-id=md5"], &["-Wl,--build-id=0x0102030405060708"]] {
        let program = program(&folder, flags);
        assert_eq!(image(&program).identity().unwrap().to_string(), oracle::build_id(&program));
        // Without section headers the note is found through the segments.
        let mut bytes = std::fs::read(&program).unwrap();
        bytes[0x28..0x30].fill(0);
        let image = Image::open("program", Box::new(SliceSource::new(bytes))).unwrap();
        assert_eq!(image.identity().unwrap().to_string(), oracle::build_id(&program));
    }
}

#[test]
fn b30_one_bit_of_the_id_decides() {
    let folder = TestFolder::new();
    let program = program(&folder, &[]);
    let recorded = image(&program).identity().unwrap();
    let offsets = Code::of(&program).offsets(1);

    let mut bytes = std::fs::read(&program).unwrap();
    let id = BuildId::from_hex(&oracle::build_id(&program)).unwrap();
    let at = bytes.windows(20).position(|window| window == id.as_bytes()).unwrap();
    bytes[at + 19] ^= 1;
    let flipped = Image::open("/elsewhere/program", Box::new(SliceSource::new(bytes))).unwrap();
    let found = flipped.identity().unwrap().to_string();

    let mut bench = Bench::new(Some(recorded), &offsets);
    let rejection = bench.admit(flipped).expect_err("it is another build");
    let Rejection::NothingRecordedHasIt { found: said, same_name: Some(same_name) } = &rejection
    else {
        panic!("{rejection:?}");
    };
    assert_eq!((said, &same_name.wanted), (&found, &recorded.to_string()));
    assert_eq!(bench.named(), 0);

    let mut ledger = Ledger::new(&bench.profile.dsos);
    let other = OtherBuild { dso: DsoId(same_name.dso), found: said.clone(), toolchain: None };
    ledger.other_build(other);
    let row = ledger.row(bench.dso);
    assert_eq!((row.status, row.found.as_ref()), (Status::Mismatched, Some(&found)));

    let json = serde_json::to_value(&rejection).unwrap();
    assert_eq!(json["kind"], "nothing-recorded-has-it");
    assert_eq!(json["sameName"]["wanted"], recorded.to_string());
}

#[test]
fn the_name_of_a_file_does_not_matter() {
    let folder = TestFolder::new();
    let program = program(&folder, &[]);
    let renamed = folder.join("holiday.jpg");
    std::fs::rename(&program, &renamed).unwrap();
    let file = image(&renamed);
    let mut bench = Bench::new(file.identity(), &Code::of(&renamed).offsets(1));
    bench.admit(file).expect("it is the file recorded");
    assert!(bench.named() > 0);
}

#[test]
fn without_an_id_the_content_decides() {
    let folder = TestFolder::new();
    let program = program(&folder, &["-Wl,--build-id=none"]);
    let file = image(&program);
    assert!(matches!(file.identity(), Some(Identity::Content(_))));

    let hash = run("sha256sum", &[text(&program)]);
    assert_eq!(hash[..32], file.identity().unwrap().to_string());

    let offsets = Code::of(&program).offsets(1);
    let mut bench = Bench::new(file.identity(), &offsets);
    bench.admit(file).expect("its content was recorded");
    assert!(bench.named() > 0);

    // The path and name are those recorded, but there is nothing to compare: refused.
    let mut bench = Bench::new(None, &offsets);
    let rejection = bench.admit(image(&program)).expect_err("nothing can match");
    assert_eq!(rejection, Rejection::RecordedWithoutIdentity { path: "/usr/bin/program".into() });
    assert_eq!(bench.named(), 0);

    let elsewhere = folder.join("elsewhere");
    std::fs::copy(&program, &elsewhere).unwrap();
    let id = BuildId::new(&[1; 20]).map(Identity::Gnu);
    let mut bench = Bench::new(id, &offsets);
    assert_eq!(bench.admit(image(&elsewhere)).unwrap_err(), Rejection::NoIdentityInFile);
}

/// A rebuild with its functions in another order, of the same length and with the same ends.
#[test]
fn without_an_id_other_code_of_the_same_size_is_refused() {
    let folder = TestFolder::new();
    let one = "__attribute__((noinline)) int one(int x) { return x * 3 + 1; }\n";
    let two = "__attribute__((noinline)) int two(int x) { return x * 5 + 2; }\n";
    let main = "int main(int c, char **v) { (void)v; return one(c) + two(c); }\n";
    let build = |name: &str, functions: [&str; 2]| {
        let source = [functions[0], functions[1], main].concat();
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        compile(&folder, "gcc", &["-O0", "-Wl,--build-id=none", "-s"], "a.c", &source)
    };
    let (first, second) = (build("first", [one, two]), build("second", [two, one]));
    let [a, b] = [&first, &second].map(|file| std::fs::read(file).unwrap());
    let ends = |bytes: &[u8]| [&bytes[..4096], &bytes[bytes.len() - 4096..]].concat();
    assert_eq!(
        (a.len(), ends(&a)),
        (b.len(), ends(&b)),
        "a hash of the ends cannot tell them apart"
    );
    assert_ne!(a, b);
    let mut bench = Bench::new(image(&first).identity(), &Code::of(&first).offsets(1));
    assert_eq!(bench.admit(image(&second)).unwrap_err(), Rejection::NoIdentityInFile);
    bench.admit(image(&first)).expect("the file that was recorded");
}

#[test]
fn b10_ids_of_any_length_match_also_when_padded_with_zeros() {
    let folder = TestFolder::new();
    for hex in ["0102030405060708", "0102030405060708090a0b0c0d0e0f00", "aabb"] {
        let program = program(&folder, &[&format!("-Wl,--build-id=0x{hex}")]);
        let file = image(&program);
        let id = BuildId::from_hex(hex).unwrap();
        assert_eq!(file.identity(), Some(Identity::Gnu(id)));
        let mut padded = id.as_bytes().to_vec();
        padded.resize(20, 0);
        let padded = BuildId::new(&padded).map(Identity::Gnu);
        let mut bench = Bench::new(padded, &Code::of(&program).offsets(8));
        bench.admit(image(&program)).expect_err("the kernel recorded how long the id is");
        bench.profile.dsos.get_mut(bench.dso).recorded_by = Some(RecordedBy::Table);
        bench.admit(image(&program)).expect_err("perf, too");
        bench.profile.dsos.get_mut(bench.dso).id_length = IdLength::AtMost;
        bench.admit(file).expect("perf before 5.11 pads ids with zeros, and tells no length");
        let longer = BuildId::from_hex(&format!("{hex}01")).map(Identity::Gnu);
        let mut bench = Bench::new(longer, &[]);
        assert!(bench.admit(image(&program)).is_err(), "a prefix is another id");
    }
}

/// As /proc/kcore is, which a recording may name.
#[test]
fn a_file_without_an_end_is_not_read_to_its_end() {
    struct Endless {
        start: Vec<u8>,
        read: Rc<Cell<u64>>,
    }
    impl ByteSource for Endless {
        fn len(&self) -> u64 {
            128 << 40
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
            self.read.set(self.read.get() + buffer.len() as u64);
            let start = self.start.get(offset as usize..).unwrap_or_default().iter();
            buffer.iter_mut().zip(start.chain(iter::repeat(&0))).for_each(|(to, from)| *to = *from);
            Ok(())
        }
    }
    let folder = TestFolder::new();
    let start = std::fs::read(program(&folder, &["-Wl,--build-id=none"])).unwrap();
    let read = Rc::new(Cell::new(0));
    let source = Endless { start, read: Rc::clone(&read) };
    let image = Image::open("kcore", Box::new(source)).expect("an ELF file");
    assert_eq!(image.identity(), None);
    assert!(read.get() < 1 << 20, "{} bytes were read", read.get());
}

#[test]
fn two_builds_of_one_path_have_each_its_own_names() {
    let folder = TestFolder::new();
    let first = program(&folder, &[]);
    let first = (image(&first), Code::of(&first).offsets(1));
    let renamed = SOURCE.replace("work", "labour");
    let second = compile(&folder, "gcc", &["-O0"], "program.c", &renamed);
    let second = (image(&second), Code::of(&second).offsets(1));
    assert_ne!(first.0.identity(), second.0.identity());

    let mut bench = Bench::new(first.0.identity(), &first.1);
    bench.admit(second.0).expect_err("another build under the same path");
    assert_eq!(bench.named(), 0);
    bench.admit(first.0).expect("it is the file recorded");
    assert!(bench.frames().iter().any(|&(_, frame)| bench.merged(frame).name == Some("work")));
}

#[test]
fn what_is_no_image_says_what_it_is() {
    let open = |bytes: &[u8]| Image::open("a", Box::new(SliceSource::new(bytes.to_vec())));
    let png = b"\x89PNG\r\n\x1a\n and more";
    assert_eq!(open(png).unwrap_err(), NotAnImage::NotElf { first_bytes: png[..16].to_vec() });
    assert_eq!(open(b"").unwrap_err(), NotAnImage::NotElf { first_bytes: Vec::new() });
    assert_eq!(
        Rejection::from(open(png).unwrap_err()).to_string(),
        "not an ELF file: it begins with 89 50 4e 47"
    );
}

#[test]
fn a_file_cut_anywhere_or_with_a_wrong_byte_never_panics() {
    let folder = TestFolder::new();
    let program = program(&folder, &["-nostdlib", "-Wl,-e,main"]);
    let whole = std::fs::read(&program).unwrap();
    let recorded = image(&program).identity().unwrap();
    let offsets = Code::of(&program).offsets(1);
    let try_bytes = |bytes: Vec<u8>| {
        if let Ok(image) = Image::open("program", Box::new(SliceSource::new(bytes))) {
            let mut bench = Bench::new(Some(recorded), &offsets);
            let recorded = RecordedIdentities::new(&bench.profile.dsos);
            let matched = perftab_images::MatchedImage::admit(&recorded, image);
            if let Some(added) = matched.ok().and_then(|image| bench.images.add(image).ok()) {
                bench.symbols.resolve(&bench.profile, added.dsos[0], &bench.images);
                return bench.named();
            }
        }
        0
    };
    assert!(try_bytes(whole.clone()) > 0);
    for cut in part_of((0..whole.len()).step_by(7), 300, "cuts") {
        try_bytes(whole[..cut].to_vec());
    }
    // Every byte once, with values that shake lengths, offsets and kinds in turn.
    for at in part_of(0..whole.len(), 1_500, "bytes") {
        let mut damaged = whole.clone();
        damaged[at] = [0, 0xff, whole[at] ^ 0x80, whole[at].wrapping_add(1)][at % 4];
        try_bytes(damaged);
    }
}
