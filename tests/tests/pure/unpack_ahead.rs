//! A recording whose packed bytes are unpacked by another thread reads as one that unpacks them itself: whole,
//! damaged, and where the file ends while it is read.

use perftab_core::session::{Opening, PackedForm, Packing, Session};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::error::{DecodeError, WarningKind};
use perftab_tests::fixtures::large::{large_packed, large_wrapped};
use perftab_tests::fixtures::recordings;
use perftab_tests::fixtures::story::{tell, usual_events};
use perftab_tests::open::{next, open_unpacked_ahead, read_parts};
use perftab_tests::synth::{Order, Packaging, Recording, Zstd};

/// Some MB of samples.
const ROUNDS: u64 = 9;

fn begin(file: &[u8]) -> Result<Opening, DecodeError> {
    Opening::new(&[&SliceSource::new(file)])
}

/// Reads a recording of which `there` bytes are left by the time its records are read.
fn unpacked_here(file: &[u8], there: usize) -> Session {
    let mut opening = begin(file).expect("a recording");
    while let Some(wanted) = opening.wants() {
        opening.push(next(&file[..there], wanted.offset, wanted.length, 1 << 20));
    }
    opening.finish()
}

/// Fixtures of one file in which something is packed.
fn packed() -> Vec<(String, Vec<u8>)> {
    let mut packed = Vec::new();
    for path in recordings() {
        let Ok([file]) = <[_; 1]>::try_from(read_parts(&path)) else { continue };
        let Ok(opening) = begin(&file) else { continue };
        if opening.packing().is_some() {
            packed.push((path.display().to_string(), file));
        }
    }
    packed
}

/// Where the records begin that stand in a file.
fn records(file: &[u8]) -> Vec<usize> {
    let Packing { begin, end, .. } = begin(file).expect("it opens").packing().expect("packed");
    let after = |at: &usize| {
        let size = u16::from_le_bytes([file[at + 6], file[at + 7]]);
        Some(at + usize::from(size)).filter(|at| (*at as u64) < end)
    };
    std::iter::successors(Some(begin as usize), after).collect()
}

fn failures(session: &Session) -> u64 {
    let of_kind = session.warnings().iter().filter(|it| it.kind == WarningKind::Unpacking);
    of_kind.map(|warning| warning.count).sum()
}

fn assert_same(file: &[u8], there: usize, what: &str) -> (Session, usize) {
    let here = unpacked_here(file, there);
    let mut most = 0;
    for block in [33, 5000, 1 << 20] {
        let ahead = open_unpacked_ahead(file, there, block).expect("it opens");
        let (ahead, pieces) = ahead.expect("it is packed");
        assert_eq!(ahead.info(), here.info(), "{what}, in blocks of {block}");
        assert_eq!(ahead.profile().digest(), here.profile().digest(), "{what}");
        most = most.max(pieces);
    }
    (here, most)
}

#[test]
fn it_reads_as_what_is_unpacked_where_it_is_read() {
    let mut forms = [0, 0];
    for (name, file) in packed() {
        let form = begin(&file).expect("it opens").packing().expect("it is packed").form;
        forms[usize::from(matches!(form, PackedForm::Records(_)))] += 1;
        let (session, _) = assert_same(&file, file.len(), &name);
        assert!(session.info().samples > 0, "{name}");
    }
    assert!(
        forms[0] >= 3 && forms[1] >= 2,
        "{forms:?} wrappers and recordings with packed records"
    );
}

#[test]
fn it_reads_so_in_many_pieces() {
    let records =
        [Packaging::Compressed, Packaging::Compressed2].map(|it| (large_packed(it, ROUNDS), 1));
    for (file, passes) in records.into_iter().chain([(large_wrapped(ROUNDS), 2)]) {
        let (session, pieces) = assert_same(&file, file.len(), "a large one");
        assert!(session.info().samples > 36_000, "{}", session.info().samples);
        assert!(pieces >= 5 * passes, "{pieces} pieces");
    }
}

#[test]
fn a_file_that_ends_while_it_is_read_gives_what_was_left_of_it() {
    let mut cut_short = 0;
    let large = [large_packed(Packaging::Compressed, ROUNDS), large_wrapped(ROUNDS)];
    let large = large.map(|file| ("a large one".to_owned(), file));
    for (name, file) in packed().into_iter().chain(large) {
        for part in 1..12 {
            let there = file.len() * part / 12;
            let (session, _) = assert_same(&file, there, &format!("{there} bytes of {name}"));
            cut_short += usize::from(session.info().samples > 0);
        }
    }
    assert!(cut_short > 20, "{cut_short} files had samples left");
}

#[test]
fn damage_is_said_once_and_what_came_before_it_stays() {
    let mut said = 0;
    let large = [large_packed(Packaging::Compressed, ROUNDS), large_wrapped(ROUNDS)];
    let large = large.map(|file| ("a large one".to_owned(), file));
    for (name, file) in packed().into_iter().chain(large) {
        let packing = begin(&file).expect("it opens").packing().expect("it is packed");
        for part in 1..24 {
            let mut damaged = file.clone();
            let at = packing.begin + (packing.end - packing.begin) * part / 24;
            damaged[at as usize] ^= 0x55;
            if begin(&damaged).is_err() {
                continue;
            }
            let what = format!("{name} with byte {at} damaged");
            let (session, _) = assert_same(&damaged, damaged.len(), &what);
            assert!(failures(&session) <= 1, "{what}");
            said += failures(&session);
        }
    }
    assert!(said > 20, "{said} failures to unpack");
}

/// What the decoder held back until then is read.
#[test]
fn where_no_record_can_be_read_any_more_all_is_read_that_came_before() {
    let file = large_packed(Packaging::Compressed, ROUNDS);
    let records = records(&file);
    let samples = |session: &Session| session.info().samples;
    let mut before = 0;
    for at in [1, records.len() / 3, records.len() / 2, records.len() - 1].map(|it| records[it]) {
        let (mut sizeless, mut strange) = (file.clone(), file.clone());
        sizeless[at + 6..at + 8].fill(0);
        strange[at..at + 4].copy_from_slice(&0x7fff_fffe_u32.to_le_bytes());
        let (session, _) = assert_same(&sizeless, file.len(), "without a size");
        let (other, _) = assert_same(&strange, file.len(), "of an unknown type");
        assert_eq!(samples(&session), samples(&other));
        assert!(samples(&session) > before || at == records[1], "up to {at}");
        before = samples(&session);
    }
    assert!(before > 30_000, "{before}");
}

/// It may be most of a file, and is passed over without being read.
#[test]
fn aux_data_between_packed_records_is_left_to_who_reads_them() {
    let mut recording = Recording::new(Order::Little, usual_events());
    recording.compressed(&mut Zstd::new(Packaging::Compressed), 50, tell);
    recording.compressed_feature(5, 528 << 10);
    let packing = |recording: &Recording| begin(&recording.file()).expect("it opens").packing();
    assert!(packing(&recording).is_some());
    recording.auxtrace(0, &[0xab; 64], 10, 0).auxtrace_index(&[[0, 64]]);
    assert!(packing(&recording).is_none());
}
