//! A recording that is read once more shows each sample as it was the first time, whatever its form.

use std::cell::RefCell;
use std::rc::Rc;

use perf_event_open_sys::bindings as kernel;
use perftab_core::session::{Session, StackDumps, WatchedSample};
use perftab_perfdata::format::record::CONTEXT_MARKER_MIN;
use perftab_profile::ingest::UserPart;
use perftab_profile::{DsoKind, Frame, MappedIn, Profile};
use perftab_tests::fixtures::{folder, recordings};
use perftab_tests::open::{open_parts, packed, read_parts, replay_parts};
use perftab_tests::synth::{
    At, Attr, Event, MappedFile, Mapping, Order, Recording, Sample, context,
};

/// Shows all samples of a recording.
fn replay(parts: &[Vec<u8>], block: usize, show: impl FnMut(&WatchedSample<'_>) + 'static) {
    replay_with(StackDumps::LeftOut, parts, block, show);
}

fn replay_with(
    dumps: StackDumps,
    parts: &[Vec<u8>],
    block: usize,
    show: impl FnMut(&WatchedSample<'_>) + 'static,
) {
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    replay_parts(&parts, block, dumps, Box::new(show)).expect("it opens");
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

/// The words of a call chain with the markers that they follow and the frames that they became,
/// innermost first.
fn words(profile: &Profile, sample: &WatchedSample<'_>) -> Vec<(u64, u64, Option<Frame>)> {
    let frames = profile.stacks.frames(sample.stack_in(profile).expect("the same sample"));
    let mut frames =
        frames.map(|frame| profile.frames.get(frame)).flat_map(|frame| {
            match profile.dsos.get(frame.dso).kind {
                DsoKind::Unmapped => vec![None; frame.address as usize],
                _ => vec![Some(frame)],
            }
        });
    let (mut words, mut marker, mut behind_call) = (Vec::new(), 0, 0);
    for word in sample.call_chain.iter() {
        if word == context::USER_DEFERRED {
            break; // No more of it is in the chain.
        }
        if word >= CONTEXT_MARKER_MIN {
            (marker, behind_call) = (word, 0);
            continue;
        }
        let frame = frames.next().expect("a frame for each word");
        words.push((marker, word.wrapping_sub(behind_call), frame));
        behind_call = 1;
    }
    words
}

/// What was mapped can be asked of each sample, as the first reading found it on the way.
#[test]
fn every_address_is_in_the_mapping_of_its_time() {
    let (mut mapped, mut unmapped) = (0, 0);
    for path in recordings() {
        let parts = read_parts(&path);
        let Some(session) = session(&parts) else { continue };
        let name = path.display().to_string();
        let counts = Rc::new(RefCell::new((0, 0)));
        let count = counts.clone();
        replay(&parts, 1 << 20, move |sample| {
            let profile = session.profile();
            if sample.user_part != UserPart::InChain {
                return;
            }
            for (marker, address, frame) in words(profile, sample) {
                let found = match marker {
                    context::USER => sample.mapped_at(profile, address),
                    // Outside of all its maps it is the kernel's all the same.
                    context::KERNEL => {
                        profile.mappings.find(MappedIn::Kernel, sample.row, address).or(frame)
                    }
                    _ => continue,
                };
                assert_eq!(found, frame, "{address:x} in row {} of {name}", sample.row);
                let mut count = count.borrow_mut();
                *(if frame.is_some() { &mut count.0 } else { &mut count.1 }) += 1;
            }
        });
        mapped += counts.borrow().0;
        unmapped += counts.borrow().1;
    }
    assert!(mapped > 1000 && unmapped > 10, "{mapped} words in mappings, {unmapped} in none");
}

/// The words of a call chain that came later are of another time than their sample.
#[test]
fn what_was_mapped_is_not_told_of_words_that_came_later() {
    let bits = kernel::PERF_SAMPLE_TIME | kernel::PERF_SAMPLE_IP | kernel::PERF_SAMPLE_TID;
    let attr = Attr::new(kernel::PERF_TYPE_SOFTWARE, 0, bits | kernel::PERF_SAMPLE_CALLCHAIN);
    let mut recording = Recording::new(Order::Little, vec![Event::new(0, "", attr, 1)]);
    let at = |time| At { pid: 7, tid: 7, time, ..At::default() };
    let mapping = |path| Mapping {
        misc: 2,
        pid: 7,
        tid: 7,
        addresses: 0x1000..0x2000,
        offset: 0,
        file: MappedFile::Inode(8, 1, 5, 0),
        path,
    };
    let sample = |recording: &mut Recording, time, cookie: u64| {
        let chain = vec![context::KERNEL, u64::MAX << 31, context::USER_DEFERRED, cookie];
        let sample = Sample { misc: 1, pid: 7, tid: 7, time, chain, ..Sample::default() };
        recording.sample(0, &sample);
    };
    recording.mmap(at(1), &mapping("/opt/old"));
    sample(&mut recording, 10, 1);
    sample(&mut recording, 11, 2);
    recording.comm(at(12), 1 << 13, "new").mmap(at(13), &mapping("/opt/new"));
    recording.callchain_deferred(at(14), 1, &[context::USER, 0x1010]);
    let file = [recording.file()];
    let session = session(&file).expect("it opens");
    let shown = Rc::new(RefCell::new(Vec::new()));
    let found = shown.clone();
    replay(&file, 1 << 20, move |sample| {
        let profile = session.profile();
        let frame = sample.mapped_at(profile, 0x1010);
        let path = frame.map(|frame| profile.dsos.get(frame.dso).path.clone());
        found.borrow_mut().push((sample.row, path));
    });
    // That of the second never came.
    assert_eq!(shown.take(), [(0, None), (1, Some("/opt/old".to_owned()))]);
}

/// Copies of stacks come with their samples if they are asked for, in the order of time, packed or not.
#[test]
fn stack_dumps_are_shown_to_those_who_ask() {
    let bits = kernel::PERF_SAMPLE_TIME | kernel::PERF_SAMPLE_IP | kernel::PERF_SAMPLE_TID;
    let bits = bits | kernel::PERF_SAMPLE_STACK_USER;
    for order in [Order::Little, Order::Big] {
        let attr = Attr::new(kernel::PERF_TYPE_SOFTWARE, 0, bits);
        let mut recording = Recording::new(order, vec![Event::new(0, "", attr, 1)]);
        let dump = |time: u64| vec![time as u8; 8 * time as usize];
        for time in [3, 1, 2] {
            // The kernel reserved more than there was to copy.
            let (stack, stack_valid) = ([dump(time), vec![0; 16]].concat(), 8 * time);
            let sample = Sample { misc: 2, ip: 16, time, stack, stack_valid, ..Sample::default() };
            recording.sample(0, &sample);
        }
        for file in [recording.file(), packed(&recording.file())] {
            for dumps in [StackDumps::Shown, StackDumps::LeftOut] {
                let are_shown = matches!(dumps, StackDumps::Shown);
                let shown = Rc::new(RefCell::new(Vec::new()));
                let stacks = shown.clone();
                replay_with(dumps, std::slice::from_ref(&file), 7, move |sample| {
                    let stack = sample.tail.user_stack.expect("a stack").bytes.to_vec();
                    stacks.borrow_mut().push((sample.row, sample.time_nanos, stack));
                });
                let stack = |time| if are_shown { dump(time) } else { Vec::new() };
                let expected = (1..4).map(|time| (time as usize - 1, Some(time), stack(time)));
                assert_eq!(
                    shown.take(),
                    expected.collect::<Vec<_>>(),
                    "shown: {are_shown}, {order:?}"
                );
            }
        }
    }
}

/// What comes before an event is described is not of it, whoever reads: a pipe that no recorder writes.
#[test]
fn events_that_are_described_late_leave_rows_where_they_are() {
    let bits = kernel::PERF_SAMPLE_TIME | kernel::PERF_SAMPLE_IP | kernel::PERF_SAMPLE_TID;
    let bits = bits | kernel::PERF_SAMPLE_CALLCHAIN | kernel::PERF_SAMPLE_IDENTIFIER;
    let event =
        |index| Event::new(index, "", Attr::new(kernel::PERF_TYPE_SOFTWARE, index as u64, bits), 1);
    let mut recording = Recording::new(Order::Little, vec![event(0), event(1), event(2)]);
    let sample = |recording: &mut Recording, event: usize, time| {
        let id = recording.events[event].ids[0];
        let chain = vec![context::USER, 0x1000 + time];
        let sample = Sample { misc: 2, id, pid: 7, tid: 7, time, chain, ..Sample::default() };
        recording.sample(event, &sample);
    };
    recording.header_attr(0);
    for (described, time) in [(1, 10), (2, 20)] {
        for event in [2, 0, 1] {
            sample(&mut recording, event, time + event as u64);
        }
        recording.header_attr(described);
    }
    sample(&mut recording, 2, 30);
    recording.round();
    // Without the events that it would begin with.
    let file = [Recording { events: Vec::new(), ..recording }.pipe()];
    let session = Rc::new(session(&file).expect("it opens"));
    let of_rows = |profile: &Profile| -> Vec<_> {
        let rows = (0..profile.samples.len()).filter_map(|row| profile.samples.get(row));
        rows.map(|row| (row.time_nanos, row.event.0)).collect()
    };
    // While there is one event, every sample is of it; while there are two, none is of a third.
    let expected = [(10, 0), (11, 0), (12, 0), (20, 0), (21, 1), (30, 2)];
    assert_eq!(of_rows(session.profile()), expected);
    let shown = Rc::new(RefCell::new(Vec::new()));
    let (first, found) = (session.clone(), shown.clone());
    replay(&file, 1 << 20, move |sample| {
        assert!(sample.stack_in(first.profile()).is_some(), "row {}", sample.row);
        found.borrow_mut().push((sample.time_nanos.unwrap_or_default(), sample.event.0));
    });
    assert_eq!(shown.take(), expected);
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
