//! A recording whose packed bytes are unpacked by another thread reads as one that unpacks them itself: whole,
//! damaged, and where the file ends while it is read.

use perftab_core::session::{Opening, PackedForm, Rest, Session, UnpackAhead};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::error::{DecodeError, WarningKind};
use perftab_tests::fixtures::recordings;
use perftab_tests::open::read_parts;

fn begin(file: &[u8]) -> Result<Opening, DecodeError> {
    Opening::new(&[&SliceSource::new(file)])
}

/// Reads a recording of which `there` bytes are left by the time its records are read.
fn unpacked_here(file: &[u8], there: usize, block: usize) -> Session {
    let mut opening = begin(file).expect("a recording");
    while let Some(wanted) = opening.wants() {
        opening.push(next(&file[..there], wanted.offset, wanted.length, block));
    }
    opening.finish()
}

/// The same with what `UnpackAhead` makes of it.
fn unpacked_ahead(file: &[u8], there: usize, block: usize) -> Session {
    let mut opening = begin(file).expect("a recording");
    let packing = opening.packing().expect("it is packed");
    let mut ahead = UnpackAhead::new(packing);
    while let Some((offset, length)) = ahead.wants() {
        let mut block = next(&file[..there], offset, length, block);
        if block.is_empty() && length > 0 {
            ahead.end_early().into_iter().for_each(|unpacked| opening.push_unpacked(unpacked));
        }
        while let Some(unpacked) = ahead.push(&mut block) {
            assert!(unpacked.rest == Rest::Nothing || !unpacked.bytes.is_empty());
            opening.push_unpacked(unpacked);
        }
        assert!(block.is_empty(), "all of it was taken");
    }
    opening.finish()
}

fn next(there: &[u8], offset: u64, length: u64, block: usize) -> &[u8] {
    let rest = there.get(offset as usize..).unwrap_or_default();
    &rest[..rest.len().min(block).min(length as usize)]
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

fn assert_same(file: &[u8], there: usize, what: &str) -> Session {
    let here = unpacked_here(file, there, 1 << 20);
    for block in [33, 5000, 1 << 20] {
        let ahead = unpacked_ahead(file, there, block);
        assert_eq!(ahead.info(), here.info(), "{what}, in blocks of {block}");
        assert_eq!(ahead.profile().digest(), here.profile().digest(), "{what}");
    }
    here
}

#[test]
fn it_reads_as_what_is_unpacked_where_it_is_read() {
    let mut forms = [0, 0];
    for (name, file) in packed() {
        let opening = begin(&file).expect("it opens");
        let form = opening.packing().expect("it is packed").form;
        forms[usize::from(matches!(form, PackedForm::Records(_)))] += 1;
        let samples = assert_same(&file, file.len(), &name).info().samples;
        assert!(samples > 0, "{name}");
    }
    assert!(
        forms[0] >= 3 && forms[1] >= 2,
        "{forms:?} wrappers and recordings with packed records"
    );
}

#[test]
fn a_file_that_ends_while_it_is_read_gives_what_was_left_of_it() {
    let mut cut_short = 0;
    for (name, file) in packed() {
        for part in 1..12 {
            let there = file.len() * part / 12;
            let session = assert_same(&file, there, &format!("{there} bytes of {name}"));
            cut_short += usize::from(session.info().samples > 0);
        }
    }
    assert!(cut_short > 10, "{cut_short} files had samples left");
}

#[test]
fn damage_is_said_once_and_what_came_before_it_stays() {
    let mut said = 0;
    for (name, file) in packed() {
        let packing = begin(&file).expect("it opens").packing();
        let packing = packing.expect("it is packed");
        for part in 1..24 {
            let mut damaged = file.clone();
            let at = packing.begin + (packing.end - packing.begin) * part / 24;
            damaged[at as usize] ^= 0x55;
            if begin(&damaged).is_err() {
                continue;
            }
            let what = format!("{name} with byte {at} damaged");
            let session = assert_same(&damaged, damaged.len(), &what);
            let failures = session.warnings().iter();
            let failures = failures.filter(|warning| warning.kind == WarningKind::Unpacking);
            said += failures.count();
        }
    }
    assert!(said > 20, "{said} failures to unpack");
}
