//! What a recording says of the machine, the recorder and the build-ids: as perf prints it, and
//! what is left when it is damaged. Symbols that simpleperf records name functions.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use perftab_core::session::{ProfileInfo, Session};
use perftab_names::Status;
use perftab_perfdata::error::WarningKind;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::open::open;
use perftab_tests::perf::until_the_kernel_lets;
use perftab_tests::perf_data::{IN_USER, PerfData, RecordStamp};

const ID: [u8; 20] = [0xaa; 20];
const AT: RecordStamp = RecordStamp { pid: 7, tid: 7, time: 100 };

/// Runs perf; what it prints, or `None` if it fails or is not there, which is said for `test`.
fn perf(test: &str, folder: &Path, arguments: &[&str]) -> Option<String> {
    let mut perf = Command::new("perf");
    match until_the_kernel_lets(perf.args(arguments).current_dir(folder).env("HOME", folder)) {
        Ok(output) if output.status.success() => {
            return Some(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            println!("SKIPPED: {test}: perf {}: {}", arguments[0], why.trim());
        }
        Err(_) => println!("SKIPPED: {test}: perf is not installed"),
    }
    None
}

fn session(folder: &Path, name: &str) -> Session {
    open(&fs::read(folder.join(name)).expect("perf wrote it")).expect("a recording")
}

#[test]
fn machine_and_recorder_are_what_perf_prints() {
    let test = "machine_and_recorder_are_what_perf_prints";
    let folder = TestFolder::new();
    let events = "{cpu-clock,task-clock}";
    let record = [
        "record",
        "-q",
        "-o",
        "perf.data",
        "-k",
        "monotonic",
        "-e",
        events,
        "--",
        "ls",
        "-lR",
        "/usr/lib",
    ];
    let Some(_) = perf(test, &folder, &record) else { return };
    let Some(header) = perf(test, &folder, &["report", "--header-only"]) else { return };
    let printed = |name: &str| {
        let line = header.lines().find_map(|line| line.strip_prefix(&format!("# {name} :")));
        line.unwrap_or_else(|| panic!("perf prints {name}")).trim().to_owned()
    };

    let ProfileInfo { host, machine, recorder, time, events, .. } =
        session(&folder, "perf.data").info();
    assert_eq!(recorder.version, Some(printed("perf version")));
    assert_eq!(machine.cpu, Some(printed("cpudesc")));
    assert_eq!(machine.cpu_id, Some(printed("cpuid")));
    assert_eq!(host.cpus.map(|cpus| cpus.to_string()), Some(printed("nrcpus online")));
    let available = machine.cpus_available.map(|cpus| cpus.to_string());
    assert_eq!(available, Some(printed("nrcpus avail")));
    let kib: u32 = printed("total memory").trim_end_matches(" kB").parse().expect("a number");
    assert_eq!(machine.memory_mib, Some(kib / 1024));

    let line = |start: &str| header.lines().find_map(|line| line.strip_prefix(start));
    let pmus: BTreeSet<String> = machine
        .pmus
        .iter()
        .filter_map(|pmu| Some(format!("{} = {}", pmu.name, pmu.event_type?)))
        .collect();
    let printed_pmus = line("# pmu mappings: ").expect("perf prints them").split(", ");
    assert_eq!(pmus, printed_pmus.map(str::to_owned).collect());
    assert_eq!(line("# group: "), Some(events_of_groups(&recorder.groups, &events).as_str()));

    assert_eq!(recorder.clock, Some("monotonic"));
    // `2026-11-20 13:33:30.703830 = 1795181610.703830 (TOD) = 17268.171932921 (monotonic)`
    let reference = line("# reference time: ").expect("perf prints it");
    let clocks: Vec<f64> = reference
        .split(" = ")
        .skip(1)
        .map(|part| part.split(' ').next().and_then(|it| it.parse().ok()).expect("seconds"))
        .collect();
    let start = time.start.expect("samples have times") as f64 / 1e9;
    let wall_start = time.wall_start.expect("both clocks are known");
    let seconds = clocks[0] - clocks[1] + start;
    let printed = Command::new("date")
        .args(["-u", "+%Y-%m-%dT%H:%M:%S", "-d", &format!("@{}", seconds.floor())])
        .ended()
        .expect("date runs");
    assert_eq!(&wall_start[..19], String::from_utf8_lossy(&printed.stdout).trim());
}

fn events_of_groups(
    groups: &[perftab_profile::EventGroup],
    events: &[perftab_core::session::EventInfo],
) -> String {
    let names = |group: &perftab_profile::EventGroup| {
        let members = &events[group.leader as usize..][..group.members as usize];
        let names: Vec<&str> = members.iter().map(|event| event.name.as_str()).collect();
        format!("{}{{{}}}", group.name, names.join(","))
    };
    groups.iter().map(names).collect::<Vec<_>>().join(" ")
}

/// Every id with the name that it is listed under.
fn listed(session: &Session) -> BTreeSet<String> {
    let rows = session.dsos().into_iter();
    rows.filter_map(|row| Some(format!("{} {}", row.build_id?, row.listed_as.unwrap_or(row.path))))
        .collect()
}

#[test]
fn b27_build_ids_are_those_that_perf_lists() {
    let test = "b27_build_ids_are_those_that_perf_lists";
    let folder = TestFolder::new();
    let record =
        ["record", "-q", "-o", "perf.data", "-a", "-e", "cpu-clock", "--", "ls", "-lR", "/usr/lib"];
    let Some(_) = perf(test, &folder, &record) else { return };
    let inject = ["inject", "-b", "-i", "perf.data", "-o", "injected.data"];
    let Some(_) = perf(test, &folder, &inject) else { return };
    // A kernel that goes by the path of its file.
    let mut bytes = fs::read(folder.join("perf.data")).expect("perf wrote it");
    let name = b"[kernel.kallsyms]";
    let place = bytes.windows(name.len()).rposition(|bytes| bytes == name).expect("in the table");
    bytes[place..place + name.len()].copy_from_slice(b"/boot/vmlinux-6\0\0");
    folder.write("vmlinux.data", &bytes);

    for file in ["perf.data", "injected.data", "vmlinux.data"] {
        let Some(list) = perf(test, &folder, &["buildid-list", "-i", file]) else { return };
        // perf pads short ids, as programs of other tests have that run meanwhile.
        let unpadded = |line: &str| {
            let (id, path) = line.split_once(' ').expect("an id and a path");
            format!("{id} {}", path.trim_start())
        };
        let perfs: BTreeSet<String> = list.lines().map(unpadded).collect();
        assert!(perfs.len() > 1, "perf lists {perfs:?}");
        assert_eq!(listed(&session(&folder, file)), perfs, "{file}");
    }
    let kernel = session(&folder, "vmlinux.data").dsos().into_iter().find(|it| it.kind == "kernel");
    let kernel = kernel.expect("it was sampled");
    assert_eq!(kernel.path, "[kernel.kallsyms]");
    assert_eq!(kernel.listed_as.as_deref(), Some("/boot/vmlinux-6"));
}

#[test]
fn a_damaged_feature_takes_nothing_else_away() {
    let table = {
        let whole = PerfData::new().build_id_table(&[(2, &ID, "/bin/a"), (2, &ID, "/bin/b")]);
        let bytes = whole.finish();
        // The only feature section is the end of the file.
        let start = bytes.windows(20).position(|bytes| bytes == ID).expect("the first id") - 12;
        bytes[start..bytes.len() - 10].to_vec()
    };
    let bytes = PerfData::new()
        .mmap_inode(AT, 0x1000..0x2000, 5, "/bin/a")
        .sample(AT, 1, &[IN_USER, 0x1010])
        .feature(2, table)
        .feature_string(3, "somewhere")
        .feature(8, vec![64, 0, 0])
        .feature(16, vec![0xff; 8])
        .finish();
    let session = open(&bytes).expect("a recording");
    let info = session.info();
    assert_eq!((info.samples, info.host.hostname.as_deref()), (1, Some("somewhere")));
    assert_eq!(listed(&session), BTreeSet::from([format!("{} /bin/a", "aa".repeat(20))]));
    let of_features: Vec<&str> = session
        .warnings()
        .iter()
        .filter(|warning| warning.kind == WarningKind::Unreadable && warning.offset.is_some())
        .map(|warning| warning.message.as_str())
        .collect();
    for what in ["the build-id table", "the CPU's name", "the list of PMUs"] {
        assert!(
            of_features.iter().any(|message| message.contains(what)),
            "{what}: {of_features:?}"
        );
    }
    assert_eq!(of_features.len(), 3);
}

#[test]
fn symbols_of_simpleperf_name_the_dso_of_their_path() {
    let mut file = b"/lib/a.so\0".to_vec();
    file.extend(2u32.to_le_bytes());
    file.extend(0x7000u64.to_le_bytes());
    file.extend(1u32.to_le_bytes());
    file.extend(0x7010u64.to_le_bytes());
    file.extend(0x20u32.to_le_bytes());
    file.extend(b"_Z5twicei\0");
    file.extend(0x3000u64.to_le_bytes());
    let files = [&(file.len() as u32).to_le_bytes()[..], &file].concat();
    let bytes = PerfData::new()
        .mmap_inode(AT, 0x10_0000..0x20_0000, 5, "/lib/a.so")
        .mmap_inode(AT, 0x30_0000..0x40_0000, 6, "/lib/b.so")
        // The first executable byte is at file offset 0x3000, so the symbol at 0x3010.
        .sample(AT, 3, &[IN_USER, 0x10_3010])
        .sample(AT, 5, &[IN_USER, 0x10_302f])
        .sample(AT, 7, &[IN_USER, 0x10_3030])
        .sample(AT, 9, &[IN_USER, 0x30_3010])
        .feature(128, files)
        .feature(129, b"simpleperf_version\x001.2\0".to_vec())
        .finish();
    let mut session = open(&bytes).expect("a recording");
    let status = |path: &str| {
        let row = session.dsos().into_iter().find(|row| row.path == path).expect("it was mapped");
        row.status
    };
    assert_eq!(status("/lib/a.so"), Status::Embedded);
    assert_eq!(status("/lib/b.so"), Status::NoIdentity);
    let version = session.info().recorder.version;
    assert_eq!(version.as_deref(), Some("simpleperf 1.2"));
    let stacks = session.export_collapsed(&perftab_views::Query::default());
    let named: Vec<&str> = stacks.lines().filter(|stack| stack.contains("twice(int)")).collect();
    assert_eq!(named.len(), 1, "{stacks}");
    assert!(named[0].ends_with(" 8"), "{stacks}");
}
