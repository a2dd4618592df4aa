//! A recording that is read once more shows each sample as it was the first time, whatever its form.

use std::cell::RefCell;
use std::rc::Rc;

use perftab_core::session::{Opening, Session, WantedBytes, WatchedSample};
use perftab_perfdata::decode::{ByteSource, SliceSource};
use perftab_profile::{DsoKind, Profile};
use perftab_tests::fixtures::{folder, recordings};
use perftab_tests::open::{open_parts, read_parts};

/// Shows all samples of a recording.
fn replay(parts: &[Vec<u8>], block: usize, show: impl FnMut(&WatchedSample<'_>) + 'static) {
    let sources: Vec<_> = parts.iter().map(|part| SliceSource::new(part.as_slice())).collect();
    let sources: Vec<_> = sources.iter().map(|source| source as &dyn ByteSource).collect();
    let mut replay = Opening::new(&sources).expect("it opens").replay(Box::new(show));
    while let Some(WantedBytes { part, offset, length }) = replay.wants() {
        let rest = parts[part].get(offset as usize..).unwrap_or_default();
        replay.push(&rest[..(length.min(block as u64) as usize).min(rest.len())]);
    }
    replay.finish();
}

fn session(parts: &[Vec<u8>]) -> Option<Session> {
    open_parts(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), 1 << 20).ok()
}

/// Words of a call chain that the frames of a sample's stack stand for.
fn words_of_stack(profile: &Profile, sample: &WatchedSample<'_>) -> Option<usize> {
    let frames = profile.stacks.frames(sample.stack_in(profile)?);
    let words = frames.map(|frame| profile.frames.get(frame)).map(|frame| {
        match profile.dsos.get(frame.dso).kind {
            DsoKind::Unmapped => frame.address as usize,
            _ => 1,
        }
    });
    Some(words.sum())
}

#[test]
fn every_sample_is_shown_with_the_number_of_its_row() {
    let (mut rows_shown, mut derived) = (0, 0);
    for path in recordings() {
        let parts = read_parts(&path);
        let Some(session) = session(&parts).map(Rc::new) else { continue };
        let shown = Rc::new(RefCell::new(Vec::new()));
        let (first, rows) = (session.clone(), shown.clone());
        let size: usize = parts.iter().map(Vec::len).sum();
        let name = path.display().to_string();
        replay(&parts, (size / 7).max(1), move |sample| {
            let profile = first.profile();
            let row = profile.samples.get(sample.row).expect("a row");
            let place = format!("row {} of {name}", sample.row);
            let words = words_of_stack(profile, sample);
            assert_eq!(words, Some(sample.addresses().len()), "{place}");
            let tid = sample.so_far.threads.thread(sample.thread).tid;
            assert_eq!(tid, profile.threads.thread(row.thread).tid, "{place}");
            rows.borrow_mut().push(sample.row);
        });
        let mut shown = shown.take();
        // Those whose call chain came later are shown later.
        shown.sort_unstable();
        let profile = session.profile();
        assert_eq!(shown, profile.recorded_rows().collect::<Vec<_>>(), "{}", path.display());
        rows_shown += shown.len();
        derived += profile.samples.len() - shown.len();
    }
    assert!(rows_shown > 1000 && derived > 10, "{rows_shown} rows, {derived} derived ones");
}

/// The file may have been overwritten since: what another sample became is not this one's.
#[test]
fn samples_of_another_recording_have_no_stack_here() {
    let read = |name: &str| read_parts(&folder().join(name));
    let session = session(&read("perf-fp.perf.data")).expect("it opens");
    let shown = Rc::new(RefCell::new(0));
    let count = shown.clone();
    replay(&read("perf-dwarf.perf.data"), 1 << 20, move |sample| {
        assert_eq!(sample.stack_in(session.profile()), None, "row {}", sample.row);
        *count.borrow_mut() += 1;
    });
    assert!(shown.take() > 5);
}
