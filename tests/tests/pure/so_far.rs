//! What is shown of a recording while it is read is the beginning of what it is in the end, and looking
//! changes nothing.

use perftab_core::session::{Opening, ScanStep, Session, WantedBytes};
use perftab_perfdata::decode::{ByteSource, SliceSource};
use perftab_perfdata::error::WarningKind;
use perftab_tests::fixtures::recordings;
use perftab_tests::open::{next, open_parts, read_parts};

use perftab_views::{Direction, Group, Query};

/// Rows of samples as they are told apart by whoever looks at them.
fn rows(session: &Session) -> Vec<Row> {
    let profile = session.profile();
    let row = |row| {
        let sample = profile.samples.get(row).expect("a row");
        let mut frames: Vec<_> = profile.stacks.frames(sample.stack).map(|it| it.0).collect();
        frames.reverse();
        let thread = profile.threads.thread(sample.thread).tid;
        let event = profile.events[sample.event.index()].name.clone();
        Row { fixed: (sample.time_nanos, thread, event, sample.cpu, sample.weight), frames }
    };
    (0..profile.samples.len()).map(row).collect()
}

#[derive(Debug, PartialEq)]
struct Row {
    fixed: (u64, u32, String, u16, u64),
    /// Numbers of frames, outermost first.
    frames: Vec<u32>,
}

/// Opens a recording in blocks and looks at it after each.
fn looked_at(parts: &[Vec<u8>], block: usize, mut look: impl FnMut(Session)) -> Session {
    let sources: Vec<_> = parts.iter().map(|part| SliceSource::new(part.as_slice())).collect();
    let sources: Vec<_> = sources.iter().map(|source| source as &dyn ByteSource).collect();
    let mut opening = Opening::new(&sources).expect("it opens");
    while let Some(WantedBytes { part, offset, length }) = opening.wants() {
        opening.push(next(&parts[part], offset, length, block));
        opening.so_far().into_iter().for_each(&mut look);
    }
    opening.finish()
}

#[test]
fn every_part_of_a_recording_is_how_the_whole_begins() {
    let mut longest = 0;
    for path in recordings() {
        let parts = read_parts(&path);
        let Ok(whole) = open_parts(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), 1 << 20)
        else {
            continue;
        };
        let expected = rows(&whole);
        let size: usize = parts.iter().map(Vec::len).sum();
        let mut before = 0;
        let session = looked_at(&parts, (size / 12).max(1), |so_far| {
            let part = rows(&so_far);
            assert!(part.len() >= before, "{}", path.display());
            before = part.len();
            longest = longest.max(part.len());
            for (row, (part, whole)) in part.iter().zip(&expected).enumerate() {
                assert_eq!(part.fixed, whole.fixed, "row {row} of {}", path.display());
                // The user part of a call chain may come later, below the kernel's.
                assert!(whole.frames.ends_with(&part.frames), "row {row} of {}", path.display());
            }
            assert_eq!(so_far.info().samples, so_far.profile().recorded_samples());
            let kinds: Vec<_> = so_far.warnings().iter().map(|warning| warning.kind).collect();
            assert_eq!(kinds, [WarningKind::PartRead]);
        });
        assert_eq!(session.profile().digest(), whole.profile().digest(), "{}", path.display());
    }
    assert!(longest > 100, "{longest} samples were looked at");
}

/// Trees are of names and weights; each has what the rows have that are there.
#[test]
fn a_part_can_be_looked_at_as_the_whole_can() {
    for name in ["perf-fp.perf.data", "perf-switches.perf.data", "perf-zstd.perf.data"] {
        let path = recordings().into_iter().find(|path| path.ends_with(name)).expect("a fixture");
        let parts = read_parts(&path);
        looked_at(&parts, parts[0].len() / 7, |mut so_far| {
            let samples = so_far.profile().samples.len() as u64;
            let events = so_far.profile().events.len() as u32;
            let shown = (0..events).map(|event| {
                let query = Query { event, ..Query::default() };
                so_far.total(&query).samples
            });
            assert_eq!(shown.sum::<u64>(), samples, "{name}");
        });
    }
}

/// The frames on the way to each call node of a query, by number.
fn ways(session: &mut Session, query: &Query) -> Vec<Vec<Option<u32>>> {
    let way = |call_node| Some(session.call_node_detail(query, call_node)?.path_frames);
    (0..).map_while(way).collect()
}

/// Whoever has selected a call finds it again, whatever number it gets.
#[test]
fn call_nodes_are_found_again_as_more_is_read() {
    let mut moved = 0;
    for name in ["synth-simpleperf.perf.data", "perf-killed.perf.data"] {
        let path = recordings().into_iter().find(|path| path.ends_with(name)).expect("a fixture");
        let parts = read_parts(&path);
        for direction in [Direction::Callees, Direction::Inverted] {
            let query = Query { direction, group: Group::Process, ..Query::default() };
            moved += [0, 2, 10_000]
                .map(|steps| check_moves(&parts, &query, steps))
                .iter()
                .sum::<usize>();
        }
    }
    assert!(moved > 10, "{moved} call nodes got another number");
}

/// How many call nodes got another number; so many steps of views were made before they were looked at.
fn check_moves(parts: &[Vec<u8>], query: &Query, prepared: usize) -> usize {
    let mut moved = 0;
    let mut before: Option<(Session, Vec<_>)> = None;
    looked_at(parts, parts[0].len() / 7, |mut so_far| {
        if let Some((less, ways)) = before.take() {
            let generation = less.generation();
            // However far it was prepared.
            let mut step = || matches!(so_far.prepare_to_follow(&less, 1), ScanStep::Done(()));
            assert_eq!((0..prepared).any(|_| step()), prepared > 99);
            so_far.follow_on(less);
            for (call_node, way) in (0..).zip(&ways) {
                let now = so_far.find_moved(query, generation, call_node);
                let detail = so_far.call_node_detail(query, now).expect("it is there");
                assert_eq!(detail.path_frames, *way, "call node {call_node} of {query:?}");
                moved += usize::from(now != call_node);
            }
            so_far.forget_past();
            assert_eq!(so_far.find_moved(query, generation, 1), 0);
        }
        let known = ways(&mut so_far, query);
        before = Some((so_far, known));
    });
    moved
}

#[test]
fn a_recording_that_is_read_in_part_says_how_much() {
    let path = recordings().into_iter().find(|path| path.ends_with("perf-fp.perf.data"));
    let file = &read_parts(&path.expect("a fixture"))[0];
    let source = SliceSource::new(file.as_slice());
    let mut opening = Opening::new(&[&source]).expect("it opens");
    let WantedBytes { offset, length, .. } = opening.wants().expect("records");
    // Records are multiples of eight bytes: to the middle of one.
    let end = (offset + length / 16 * 8 + 4) as usize;
    opening.push(&file[offset as usize..end]);
    let session = opening.finish();
    let kinds: Vec<_> = session.warnings().iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds.first(), Some(&WarningKind::PartRead));
    assert!(!kinds.contains(&WarningKind::Truncated), "{kinds:?}");
    assert!(!session.profile().samples.is_empty());
}
