//! Recordings made byte by byte → what a session says of them; whole, cut and damaged.

use perftab_core::session::{FlameWindow, IdentityKind, Session};
use perftab_perfdata::error::{DecodeErrorKind, WarningKind};
use perftab_tests::open::{open, open_in_blocks};
use perftab_tests::perf_data::{IN_KERNEL, IN_USER, PerfData, RecordStamp};
use perftab_views::Query;
use perftab_views::functions::FunctionOrder;

const ID_A: [u8; 20] = [0xaa; 20];
const ID_B: [u8; 20] = [0xbb; 20];

fn at(pid: u32, time: u64) -> RecordStamp {
    RecordStamp { pid, tid: pid, time }
}

/// Two processes, kernel and user code, two rounds, losses and a build-id table.
fn recording() -> PerfData {
    PerfData::new()
        .mmap_kernel(0xffff_8000_0000_0000..0xffff_8000_0010_0000, &[0xcc; 20])
        .comm(1 << 13, at(10, 100), "server")
        .mmap(at(10, 110), 0x40_0000..0x50_0000, 0x1000, &ID_A, "/usr/bin/server")
        .sample(at(10, 130), 7, &[IN_USER, 0x40_0010, 0x40_0021])
        .round()
        .sample(at(10, 120), 5, &[IN_KERNEL, 0xffff_8000_0000_0040, IN_USER, 0x40_0010])
        .fork(at(11, 140), 10)
        .sample(at(11, 150), 3, &[IN_USER, 0x40_0030, 0x9999, 0x8888, 0x40_0021])
        .comm(1 << 13, at(11, 160), "worker")
        .sample(at(11, 170), 2, &[IN_USER, 0x40_0030])
        .lost(at(11, 180), 9)
        .round()
        .feature_string(3, "web-07")
        .build_id_table(&[(2, &ID_A, "/usr/bin/server"), (2, &ID_B, "/lib/never-mapped.so")])
}

/// Stacks in the order of samples, innermost frame first, as `dso+address` words.
fn stacks(session: &Session) -> Vec<String> {
    let profile = session.profile();
    let text = |frame| {
        let frame = profile.frames.get(frame);
        format!("{}+{:x}", profile.dsos.get(frame.dso).name(), frame.address)
    };
    let samples = &profile.samples;
    (0..samples.len())
        .map(|row| {
            let frames: Vec<_> = profile.stacks.frames(samples.stack[row]).map(text).collect();
            let thread = profile.threads.thread(samples.thread.at(row));
            let name = profile.strings.get(thread.name);
            format!(
                "{} {name} {} {}",
                samples.time_nanos.at(row),
                samples.weight.at(row),
                frames.join(" ")
            )
        })
        .collect()
}

#[test]
fn samples_come_in_the_order_of_time_with_what_was_mapped_then() {
    let session = open(&recording().finish()).expect("a whole recording");
    assert_eq!(
        stacks(&session),
        [
            // A kernel frame keeps its address; the first word after a marker is exact.
            "120 server 5 [kernel.kallsyms]+ffff800000000040 server+1010",
            // A return address is looked up one lower, in the call.
            "130 server 7 server+1010 server+1020",
            // Forked: the parent's mappings; two words in no mapping are one frame.
            "150 server 3 server+1030 [no mapping]+2 server+1020",
            // After exec nothing is mapped any more.
            "170 worker 2 [no mapping]+1",
        ]
    );
}

#[test]
fn info_says_what_the_file_says() {
    let session = open(&recording().finish()).expect("a whole recording");
    let info = session.info();
    assert_eq!(info.host.hostname.as_deref(), Some("web-07"));
    assert_eq!((info.samples, info.lost.events), (4, 9));
    assert_eq!((info.events[0].name.as_str(), info.events[0].weight), ("cpu-clock", 17));
    assert_eq!((info.time.start, info.time.end), (Some(120), Some(170)));
    assert_eq!(info.records["SAMPLE"], 4);
    let server = info.dsos.iter().find(|dso| dso.name == "server").expect("it was mapped");
    assert_eq!(server.build_id.as_deref(), Some("aa".repeat(20).as_str()));
    assert_eq!((server.identity, server.recorded_by), (IdentityKind::Gnu, Some("mmap")));
    assert_eq!((server.leaf_samples, server.samples), (2, 3));
    let listed = info.dsos.iter().find(|dso| dso.name == "never-mapped.so").expect("it is listed");
    assert_eq!((listed.samples, listed.recorded_by), (0, Some("table")));
    let warnings: Vec<_> = info.warnings.iter().map(|warning| warning.kind).collect();
    assert_eq!(warnings, [WarningKind::Lost]);
}

#[test]
fn one_path_with_two_build_ids_is_two_dsos() {
    let file = PerfData::new()
        .mmap(at(1, 10), 0x1000..0x2000, 0, &ID_A, "/app")
        .sample(at(1, 20), 1, &[IN_USER, 0x1100])
        .mmap(at(2, 30), 0x1000..0x2000, 0, &ID_B, "/app")
        .sample(at(2, 40), 1, &[IN_USER, 0x1100])
        .build_id_table(&[(2, &ID_B, "/app")])
        .finish();
    let session = open(&file).expect("a recording");
    let ids: Vec<_> = session.dsos().into_iter().filter_map(|dso| dso.build_id).collect();
    assert_eq!(ids.len(), 2);
    assert!(ids.contains(&"aa".repeat(20)) && ids.contains(&"bb".repeat(20)));
}

#[test]
fn a_path_of_two_inodes_has_no_identity_from_the_table() {
    let two_inodes = |second| {
        PerfData::new()
            .mmap_inode(at(1, 10), 0x1000..0x2000, 77, "/app")
            .sample(at(1, 20), 1, &[IN_USER, 0x1100])
            .mmap_inode(at(2, 30), 0x1000..0x2000, second, "/app")
            .sample(at(2, 40), 1, &[IN_USER, 0x1100])
            .build_id_table(&[(2, &ID_A, "/app")])
            .finish()
    };
    let session = open(&two_inodes(78)).expect("a recording");
    let rows = session.dsos();
    assert!(rows.iter().filter(|dso| dso.samples > 0).all(|dso| dso.build_id.is_none()));
    let listed: Vec<_> = rows.iter().filter(|dso| dso.build_id.is_some()).collect();
    assert_eq!((listed.len(), listed[0].samples), (1, 0), "what the table has is listed");
    assert_eq!(session.warnings()[0].kind, WarningKind::Ambiguous);
    // The same inode twice is one file, and the table knows it.
    let session = open(&two_inodes(77)).expect("a recording");
    assert_eq!(session.dsos().len(), 1);
    assert_eq!(session.dsos()[0].recorded_by, Some("table"));
}

#[test]
fn a_binary_replaced_during_the_run_is_said() {
    let file = PerfData::new()
        .mmap(at(1, 10), 0x1000..0x2000, 0, &ID_A, "/app")
        .sample(at(1, 20), 1, &[IN_USER, 0x1100])
        .build_id_table(&[(2, &ID_B, "/app")])
        .finish();
    let session = open(&file).expect("a recording");
    assert_eq!(session.warnings()[0].kind, WarningKind::BuildIdConflict);
    assert_eq!(session.dsos()[0].build_id.as_deref(), Some("aa".repeat(20).as_str()));
}

#[test]
fn a_killed_recorder_leaves_what_it_wrote() {
    let session = open(&recording().unfinished()).expect("records are there");
    assert_eq!(session.info().samples, 4);
    assert_eq!(session.info().host.hostname, None);
    assert!(session.warnings().iter().any(|warning| warning.kind == WarningKind::Unfinished));
}

#[test]
fn a_killed_recorder_that_kept_the_size_up_to_date_leaves_all_it_wrote() {
    // The size is that of an earlier round, the feature bits are clear.
    let mut file = recording().unfinished();
    file[48..56].copy_from_slice(&200u64.to_le_bytes());
    file[72..104].fill(0);
    let session = open(&file).expect("records are there");
    assert_eq!(session.info().samples, 4);
    assert!(session.warnings().iter().any(|warning| warning.kind == WarningKind::Unfinished));
}

#[test]
fn blocks_of_any_size_give_the_same_profile() {
    let file = recording().finish();
    let whole = open(&file).expect("a whole recording");
    for block in 1..200 {
        let session = open_in_blocks(&file, block).expect("a whole recording");
        assert_eq!(stacks(&session), stacks(&whole), "blocks of {block}");
        assert_eq!(session.info(), whole.info(), "blocks of {block}");
    }
}

#[test]
fn what_is_no_recording_is_said_with_its_first_bytes() {
    let error = open(b"\x89PNG\r\n\x1a\n").err().expect("a picture");
    assert_eq!(error.kind, DecodeErrorKind::NotPerfData { first_bytes: b"\x89PNG".to_vec() });
    assert_eq!(error.to_string(), "not a perf.data file: it begins with 89 50 4e 47");
    assert_eq!(open(b"").err().expect("nothing").to_string(), "not a perf.data file: it is empty");
}

#[test]
fn a_header_cut_short_says_so() {
    let error = open(&recording().finish()[..150]).err().expect("no event is whole");
    assert_eq!(error.to_string(), "the file ends inside the list of events, at 0x68");
}

/// Asks for everything that a host asks for.
fn use_everything(session: &mut Session) {
    let query = Query::default();
    session.info();
    session.wanted();
    session.report(&query, FunctionOrder::default(), usize::MAX);
    let window = FlameWindow { root: 0, width_px: 500.0, min_px: 0.5, search: "server".to_owned() };
    session.flame_graph(&query, &window);
    session.call_tree_children(&query, 0);
    session.call_node_detail(&query, 1);
    session.search(&query, "kernel");
    session.export_collapsed(&query);
}

#[test]
fn a_recording_cut_at_any_byte_is_an_error_or_what_was_there() {
    let file = recording().finish();
    let whole = open(&file).expect("a whole recording").info().samples;
    for length in 0..file.len() {
        match open(&file[..length]) {
            Ok(mut session) => {
                assert!(session.info().samples <= whole, "cut at {length}");
                use_everything(&mut session);
            }
            Err(error) => assert!(length < 400, "cut at {length}: {error}"),
        }
    }
}

#[test]
fn any_byte_may_be_wrong() {
    let file = recording().finish();
    for position in 0..file.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff, !file[position]] {
            let mut damaged = file.clone();
            damaged[position] = value;
            if let Ok(mut session) = open(&damaged) {
                use_everything(&mut session);
            }
        }
    }
}

#[test]
fn random_bytes_after_a_header_are_survived() {
    let header = PerfData::new().unfinished();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..2000 {
        let mut file = header.clone();
        for _ in 0..64 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // Small numbers in between, so that some records have a plausible type and size.
            let word = if state & 1 == 0 { state } else { state & 0x00ff_0000_0000_000f };
            file.extend(word.to_le_bytes());
        }
        if let Ok(mut session) = open(&file) {
            use_everything(&mut session);
        }
    }
}
