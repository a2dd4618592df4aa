//! Events that a file does not name are called what perf calls them.

use std::fs;
use std::mem::offset_of;
use std::process::Command;

use perf_event_open_sys::bindings::{
    PERF_RECORD_FORK, PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_TYPE_BREAKPOINT,
    PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW, PERF_TYPE_SOFTWARE, perf_event_attr,
};
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::open::open;

/// What decides an event's name.
#[derive(Clone, Copy, Default)]
struct EventRequest {
    event_type: u32,
    config: u64,
    flags: u64,
    breakpoint: (u32, u64),
}

const EXCLUDE_USER: u64 = 1 << 4;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HV: u64 = 1 << 6;
const PRECISE_IP: u32 = 15;
const EXCLUDE_HOST: u64 = 1 << 19;
const EXCLUDE_GUEST: u64 = 1 << 20;

fn attr(asked: EventRequest) -> Vec<u8> {
    let mut bytes = vec![0; size_of::<perf_event_attr>()];
    let mut put = |offset: usize, field: &[u8]| {
        bytes[offset..offset + field.len()].copy_from_slice(field);
    };
    let sample_type = (PERF_SAMPLE_IP | PERF_SAMPLE_IDENTIFIER) as u64;
    put(offset_of!(perf_event_attr, type_), &asked.event_type.to_le_bytes());
    // Larger attrs are refused by perf 6.1.
    put(offset_of!(perf_event_attr, size), &128u32.to_le_bytes());
    put(offset_of!(perf_event_attr, config), &asked.config.to_le_bytes());
    put(offset_of!(perf_event_attr, sample_type), &sample_type.to_le_bytes());
    let flags = asked.flags | 1 << 18; // sample_id_all
    put(offset_of!(perf_event_attr, read_format) + 8, &flags.to_le_bytes());
    put(offset_of!(perf_event_attr, bp_type), &asked.breakpoint.0.to_le_bytes());
    put(offset_of!(perf_event_attr, bp_type) + 4, &asked.breakpoint.1.to_le_bytes());
    bytes.truncate(128);
    bytes
}

/// A file of these events, each with an id, that does not name them.
fn file(events: &[EventRequest]) -> Vec<u8> {
    const STRIDE: usize = 128 + 16;
    let ids_at = 104;
    let attrs_at = ids_at + 8 * events.len();
    let data_at = attrs_at + STRIDE * events.len();
    let mut record = PERF_RECORD_FORK.to_le_bytes().to_vec();
    record.extend([0, 0, 40, 0]);
    record.resize(32, 0);
    record.extend(1u64.to_le_bytes()); // the id, as IDENTIFIER
    let mut file = b"PERFILE2".to_vec();
    let sections =
        [104, STRIDE, attrs_at, STRIDE * events.len(), data_at, record.len(), 0, 0, 0, 0, 0, 0];
    sections.iter().for_each(|&word| file.extend((word as u64).to_le_bytes()));
    (1..=events.len() as u64).for_each(|id| file.extend(id.to_le_bytes()));
    for (index, &event) in events.iter().enumerate() {
        file.extend(attr(event));
        file.extend([(ids_at + 8 * index) as u64, 8].map(u64::to_le_bytes).concat());
    }
    file.extend(record);
    file
}

fn our_names(events: &[EventRequest]) -> Vec<String> {
    let session = open(&file(events)).expect("it opens");
    session.info().events.into_iter().map(|event| event.name).collect()
}

/// Type and config of every event that has a name, and of some that have none.
fn kinds() -> impl Iterator<Item = EventRequest> {
    let of = |event_type: u32, config: u64| EventRequest {
        event_type,
        config,
        ..EventRequest::default()
    };
    let hardware = (0..12).map(move |config| of(PERF_TYPE_HARDWARE, config));
    // perf 6.1 has names for the first ten, and finds those of the next two elsewhere.
    let software = (0..10).chain(12..14).map(move |config| of(PERF_TYPE_SOFTWARE, config));
    let caches = (0..8 * 4 * 3).map(move |index| {
        of(PERF_TYPE_HW_CACHE, (index % 8) | ((index / 8 % 4) << 8) | ((index / 32) << 16))
    });
    let raw = [0, 0x1a2, 0xffff_ffff].map(move |config| of(PERF_TYPE_RAW, config));
    let breakpoints = (1..8).map(move |access| EventRequest {
        breakpoint: (access, 0x5510_0000),
        ..of(PERF_TYPE_BREAKPOINT, 0)
    });
    hardware.chain(software).chain(caches).chain(raw).chain(breakpoints)
}

/// perf 6.1 writes `HG` where nothing is excluded and newer ones do not, as perftab; all agree
/// where user space alone is counted.
#[test]
fn unnamed_events_are_called_what_perf_calls_them() {
    let user = EXCLUDE_KERNEL | EXCLUDE_HV;
    let plain = kinds().map(|kind| EventRequest { flags: user, ..kind });
    let modified = (0..8 * 4 * 3).map(|index: u64| {
        let excluded = [EXCLUDE_USER, EXCLUDE_KERNEL, EXCLUDE_HV];
        let excluded = (0..3).filter(|bit| index >> bit & 1 == 1).map(|bit| excluded[bit]);
        let guest = [0, EXCLUDE_HOST, EXCLUDE_GUEST][(index / 32) as usize];
        let flags = excluded.sum::<u64>() | (index / 8 % 4) << PRECISE_IP | guest;
        EventRequest { flags, ..EventRequest::default() }
    });
    let is_plain = |asked: &EventRequest| {
        asked.flags & (EXCLUDE_USER | EXCLUDE_KERNEL | EXCLUDE_HV | 3 << PRECISE_IP) == 0
    };
    let events: Vec<EventRequest> =
        plain.chain(modified.filter(|asked| !is_plain(asked))).collect();

    let folder = TestFolder::new();
    let path = folder.join("perf.data");
    fs::write(&path, file(&events)).expect("it is written");
    let listed = match Command::new("perf").args(["evlist", "-i"]).arg(&path).ended() {
        Ok(listed) => listed,
        Err(error) => return println!("SKIPPED: unnamed_events: perf does not run: {error}"),
    };
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8_lossy(&listed.stdout);
    let listed: Vec<&str> = listed.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(our_names(&events), listed);
}

/// As perf 7.2 lists them.
#[test]
fn modifiers_are_what_is_excluded() {
    let name = |flags| our_names(&[EventRequest { flags, ..EventRequest::default() }]).concat();
    assert_eq!(name(0), "cycles");
    assert_eq!(name(EXCLUDE_GUEST), "cycles:H");
    assert_eq!(name(EXCLUDE_HOST), "cycles:G");
    assert_eq!(name(EXCLUDE_KERNEL | EXCLUDE_HV), "cycles:u");
    assert_eq!(name(3 << PRECISE_IP), "cycles:ppp");
    assert_eq!(name(EXCLUDE_USER | 2 << PRECISE_IP | EXCLUDE_GUEST), "cycles:khppH");
}

#[test]
fn events_of_unknown_units_say_their_number() {
    let of = |event_type, config| EventRequest { event_type, config, ..EventRequest::default() };
    assert_eq!(our_names(&[of(95, 0x4000)]), ["unknown event PMU=95 config=0x4000"]);
    assert_eq!(our_names(&[of(2, 17)]), ["unknown tracepoint"]);
}
