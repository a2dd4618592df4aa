//! Call chains by frame pointers, of code that has none.

use perf_event_open_sys::bindings as kernel;
use perftab_perfdata::error::WarningKind;
use perftab_tests::open::open;
use perftab_tests::synth::{
    At, Attr, Event, MappedFile, Mapping, Order, Recording, Sample, context,
};

/// A sample at 0x1010 for each of these callers, in a process that has `seven` from 0x1000 to 0x2000.
fn called_from(callers: impl Iterator<Item = u64>) -> Recording {
    let taken = kernel::PERF_SAMPLE_IP | kernel::PERF_SAMPLE_TID | kernel::PERF_SAMPLE_TIME;
    let attr = Attr::new(kernel::PERF_TYPE_SOFTWARE, 0, taken | kernel::PERF_SAMPLE_CALLCHAIN);
    let mut recording = Recording::new(Order::Little, vec![Event::new(0, "", attr, 1)]);
    let (pid, tid) = (7, 7);
    let at = At { pid, tid, time: 1, ..At::default() };
    let (addresses, file) = (0x1000..0x2000, MappedFile::Inode(8, 1, 5, 0));
    let mapping = Mapping { misc: 2, pid, tid, addresses, offset: 0, file, path: "/opt/seven" };
    recording.comm(at, 0, "seven").mmap2(at, &mapping);
    recording.feature_string(3, "host"); // else it seems unfinished
    for (time, caller) in (10..).zip(callers) {
        let chain = vec![context::USER, 0x1010, caller, 0x1200];
        let sample = Sample { misc: 2, ip: 0x1010, pid, tid, time, chain, ..Sample::default() };
        recording.sample(0, &sample);
    }
    recording
}

#[test]
fn code_whose_callers_lie_nowhere_is_said_to_lack_them() {
    // Of those with callers, one of twenty has one that lies nowhere; or there are too few of them.
    for (lost, right, is_said) in [(20, 380, true), (20, 381, false), (19, 0, false)] {
        let callers = (0..lost + right).map(|sample| if sample < lost { 0x77 } else { 0x1100 });
        let session = open(&called_from(callers).file()).expect("it opens");
        let said: Vec<_> = session.warnings().iter().map(|it| (it.kind, it.samples)).collect();
        let expected = [(WarningKind::NoFramePointers, Some(400))];
        assert_eq!(said, &expected[..usize::from(is_said)], "{lost} and {right}");
        for warning in session.warnings() {
            assert!(warning.message.contains("seven (400 samples)"), "{}", warning.message);
        }
    }
}
