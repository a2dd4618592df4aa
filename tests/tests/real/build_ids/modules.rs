//! Kernel modules: packed, out of tree, loaded, unloaded and replaced while recorded, in a guest
//! whose kernel has some. What they are called is compared with the guest's own /proc/kallsyms.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::guest::{Guest, NamedSample, REBUILT_ID, RENAMED, Snapshot, samples};
use perftab_tests::http;
use perftab_tests::perftab_binary;
use perftab_tests::servers::Debuginfod;

/// The modules that the load runs in, where each spends most of its time, and how.
const HOT: [(&str, &str); 4] = [
    ("streebog_generic", "streebog_xlps"),
    ("wp512", "wp512_process_buffer"),
    ("rmd160", "rmd160_transform"),
    ("sha3_generic", "crypto_sha3_update"),
];

/// Where the kernel's half of the address space begins. A call chain may hold any word, so also one
/// that is no address.
const KERNEL_HALF: u64 = 0xffff_8000_0000_0000;
/// Samples that a load leaves at least in a module, on a machine that has much else to do.
const FEW: usize = 10;

/// When the load that changes modules has snapshots taken.
const MOMENTS: [&str; 4] = ["before", "loaded", "loaded-for-a-while", "replaced"];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Counts the names of modules' functions, after comparing each with what the guest said of the
/// address at one of these moments.
fn names_by_module(
    samples: &[NamedSample],
    moments: &[&Snapshot],
) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for sample in samples {
        for (depth, frame) in sample.frames.iter().enumerate() {
            let (Some(name), Some(module)) = (&frame.name, frame.module()) else { continue };
            // A return address stands behind its call.
            let address = frame.address - u64::from(depth > 0);
            let said: Vec<&String> = moments
                .iter()
                .filter_map(|moment| moment.module(&module))
                .flat_map(|module| module.names_at(address))
                .collect();
            if module != "kernel.kallsyms" {
                assert!(said.contains(&name), "{address:#x} is {said:?}, not {name} of {module}");
                *counts.entry((module, name.clone())).or_default() += 1;
            }
        }
    }
    counts
}

fn buildid_list(recording: &Path, options: &[&str]) -> String {
    let output = Command::new(perftab_binary())
        .args(["buildid", "list"])
        .args(options)
        .arg(recording)
        .ended()
        .expect("perftab runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The build-id of the guest's kernel: the description of its note of type 3.
fn kernel_id(guest: &Guest) -> String {
    let notes = fs::read(guest.file("notes")).expect("the notes");
    let head = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";
    let at = notes.windows(head.len()).position(|window| window == head).expect("the note");
    hex(&notes[at + head.len()..][..20])
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b07_kernel_and_modules_that_run_already_have_ids_from_the_start() {
    let test = "b07_kernel_and_modules_that_run_already_have_ids_from_the_start";
    let Some(guest) = Guest::get(test) else { return };
    // perf reads our records: address, length and id of each mapping.
    let recording = guest.file("at-rest.data");
    let output = Command::new("perf").args(["script", "-D", "-i"]).arg(&recording).ended();
    let dump = String::from_utf8_lossy(&output.expect("perf runs").stdout).into_owned();
    let mapped: Vec<&str> =
        dump.lines().filter(|line| line.contains("PERF_RECORD_MMAP2 -1/0")).collect();
    // Time 0: before any sample.
    let has = |mapping: &str| {
        mapped.iter().any(|line| line.contains(mapping) && line.split(' ').nth(1) == Some("0"))
    };
    let at_rest = Snapshot::read(guest, "at-rest");
    assert!(at_rest.modules().len() >= 8);
    for module in at_rest.modules() {
        let mapping =
            format!("[{:#x}({:#x}) @ 0 <{}>]", module.address, module.size, module.hex_id());
        assert!(has(&mapping), "{} as {mapping} in {mapped:#?}", module.name);
    }
    assert!(has(&format!("<{}>]: --xp [kernel.kallsyms]_text", kernel_id(guest))), "{mapped:#?}");
    // Tasks: the first process, which was there for long.
    let listed = buildid_list(&recording, &[]);
    assert!(listed.contains(" /bin/busybox\n"), "{listed}");
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b16_a_module_is_not_taken_for_the_kernel() {
    let Some(guest) = Guest::get("b16_a_module_is_not_taken_for_the_kernel") else { return };
    let at_rest = Snapshot::read(guest, "at-rest");
    for recording in ["perf.data", "perf-buildid-mmap.data", "at-rest.data"] {
        let recording = guest.file(recording);
        let mut hit = BTreeSet::new();
        let samples = samples(&recording, &[]);
        let frames = samples.iter().flat_map(|sample| sample.frames.iter().enumerate());
        for (depth, frame) in frames {
            let mut modules = at_rest.modules().iter();
            // A caller is where the call is, which ends before the address that is returned to.
            let within = frame.address.saturating_sub(u64::from(depth > 0));
            let module = modules.find(|module| module.contains(within));
            let module = module.map(|module| module.name.clone());
            // The user part of a call chain without frame pointers may have any word.
            let is_any_word = module.is_none() && frame.module().as_deref() == Some("unknown");
            let of_kernel = frame.address >= KERNEL_HALF && !is_any_word;
            let expected = module.or(of_kernel.then(|| "kernel.kallsyms".into()));
            if of_kernel {
                assert_eq!(frame.module(), expected, "{:#x}", frame.address);
            }
            hit.extend(expected);
        }
        for (module, _) in HOT {
            assert!(hit.contains(module), "{module} in {hit:?}");
        }
        let kernel = buildid_list(&recording, &["--kernel"]);
        assert_eq!(kernel.trim(), kernel_id(guest));
    }
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b16_a_modules_file_names_nothing_but_the_module() {
    let test = "b16_a_modules_file_names_nothing_but_the_module";
    let Some(guest) = Guest::get(test) else { return };
    let at_rest = Snapshot::read(guest, "at-rest");
    let file = guest.kernel.module("crypto/wp512.ko");
    for recording in ["perf-buildid-mmap.data", "perf.data"] {
        let samples = samples(&guest.file(recording), &[Path::new("--image"), &file]);
        let named = names_by_module(&samples, &[&at_rest]);
        assert!(named.keys().all(|(module, _)| module == "wp512"), "{named:?}");
        let of_others = samples.iter().flat_map(|sample| &sample.frames);
        let of_others = of_others.filter(|frame| frame.module().as_deref() != Some("wp512"));
        assert!(of_others.into_iter().all(|frame| frame.name.is_none()));
        // perf 6.1 kept no ids of modules without --buildid-mmap.
        assert_eq!(named.is_empty(), recording == "perf.data", "{named:?}");
    }
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b17_modules_packed_by_gz_xz_and_zst_give_names() {
    let test = "b17_modules_packed_by_gz_xz_and_zst_give_names";
    let Some(guest) = Guest::get(test) else { return };
    let at_rest = Snapshot::read(guest, "at-rest");
    for (module, hot) in &HOT[..3] {
        let file = guest.module_in_tree(module);
        let packed = file.extension().and_then(|it| it.to_str()).expect("it is packed");
        assert!(["gz", "xz", "zst"].contains(&packed));
        let recording = guest.file("perf-buildid-mmap.data");
        let named =
            names_by_module(&samples(&recording, &[Path::new("--image"), &file]), &[&at_rest]);
        let count = named.get(&((*module).to_owned(), (*hot).to_owned()));
        assert!(count.is_some_and(|count| *count > FEW), "{}: {named:?}", file.display());
    }
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b18_a_module_from_outside_the_tree_without_ko_in_its_name() {
    let test = "b18_a_module_from_outside_the_tree_without_ko_in_its_name";
    let Some(guest) = Guest::get(test) else { return };
    let folder = TestFolder::new();
    let file = folder.join("hashing");
    fs::copy(guest.kernel.module("crypto/sha3_generic.ko"), &file).expect("a copy");
    let recording = guest.file("perf-buildid-mmap.data");
    let samples = samples(&recording, &[Path::new("--image"), &file]);
    let named = names_by_module(&samples, &[&Snapshot::read(guest, "at-rest")]);
    let count = named.get(&("sha3_generic".to_owned(), "crypto_sha3_update".to_owned()));
    assert!(count.is_some_and(|count| *count > FEW), "{named:?}");
    let dsos: BTreeSet<&str> = samples
        .iter()
        .flat_map(|sample| &sample.frames)
        .filter(|frame| frame.name.is_some())
        .map(|frame| frame.dso.as_str())
        .collect();
    assert_eq!(dsos, BTreeSet::from(["[sha3_generic]"]), "as it was recorded");
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b06_modules_loaded_unloaded_and_replaced_have_their_own_names() {
    let test = "b06_modules_loaded_unloaded_and_replaced_have_their_own_names";
    let Some(guest) = Guest::get(test) else { return };
    let moments = MOMENTS.map(|moment| Snapshot::read(guest, &format!("changes-{moment}")));
    let [before, .., replaced] = &moments;
    let recording = guest.file("changes.data");

    // The ids of all that were there at any moment, both of the replaced one.
    let listed = buildid_list(&recording, &[]);
    for module in moments.iter().flat_map(Snapshot::modules) {
        assert!(listed.contains(&module.hex_id()), "{} in {listed}", module.name);
    }
    let id_at = |moment: &Snapshot| moment.module("streebog_generic").expect("it").hex_id();
    assert_ne!(id_at(before), id_at(replaced));
    assert_eq!(id_at(replaced), hex(&REBUILT_ID));

    // Each process hashed with one algorithm, in this order: what ran is known without any name.
    let samples = samples(&recording, &[]);
    let mut of_process: BTreeMap<i32, Vec<&NamedSample>> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.comm == "digest") {
        of_process.entry(sample.pid).or_default().push(sample);
    }
    let expected = [
        ("streebog_generic", RENAMED.0),
        ("sha3_generic", "crypto_sha3_update"),
        ("wp512", "wp512_process_buffer"),
        ("rmd160", "rmd160_transform"),
        ("streebog_generic", RENAMED.1),
    ];
    assert_eq!(of_process.len(), expected.len());
    for (samples, (module, hot)) in of_process.values().zip(expected) {
        let innermost = samples.iter().filter_map(|sample| sample.frames.first());
        let of_module: Vec<_> =
            innermost.filter(|frame| frame.module().as_deref() == Some(module)).collect();
        let named = of_module.iter().filter(|frame| frame.name.is_some()).count();
        assert!(named > FEW, "{named} of {} in {module}", of_module.len());
        assert_eq!(named, of_module.len(), "all of {module}");
        assert!(of_module.iter().any(|frame| frame.name.as_deref() == Some(hot)), "{hot}");
        let other = if hot == RENAMED.0 { RENAMED.1 } else { RENAMED.0 };
        assert!(of_module.iter().all(|frame| frame.name.as_deref() != Some(other)), "{other}");
    }

    // And no name is one that the guest did not give.
    let moments: Vec<&Snapshot> = moments.iter().collect();
    names_by_module(&samples, &moments);
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b05_b06_a_module_that_was_replaced_is_warned_of() {
    let test = "b05_b06_a_module_that_was_replaced_is_warned_of";
    let Some(guest) = Guest::get(test) else { return };
    let said = fs::read_to_string(guest.file("changes.stderr")).expect("what was said");
    let warning = said.lines().find(|line| line.contains("was replaced")).unwrap_or_default();
    assert!(warning.contains("streebog_generic.ko.xz"), "{said}");
    for (module, _) in &HOT[1..] {
        assert!(!warning.contains(module), "{said}");
    }
}

/// What perf 6.1 makes of its own recording of the same: it lists modules when it begins, and not
/// again. Should this fail with a newer perf, the table in docs/build-ids.md has become unjust.
#[test]
#[ignore = "left to --all: boots a kernel"]
fn b06_perf_misses_modules_that_come_and_misnames_what_replaced_one() {
    let test = "b06_perf_misses_modules_that_come_and_misnames_what_replaced_one";
    let Some(guest) = Guest::get(test) else { return };
    let perf = |arguments: &[&Path]| {
        let output = Command::new("perf").args(arguments).ended().expect("perf runs");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let cache = TestFolder::new();
    let in_cache = [Path::new("--buildid-dir"), &cache];
    for module in ["streebog_generic", "wp512"] {
        let file = guest.kernel.module(&format!("crypto/{module}.ko"));
        let add = ["buildid-cache", "--add"].map(Path::new);
        perf(&[&in_cache[..], &add, &[&file]].concat());
    }
    let recording = guest.file("perf-changes.data");
    let script = ["script", "-G", "-F", "comm,ip,sym,dso", "-i"].map(Path::new);
    let text = perf(&[&in_cache[..], &script, &[&recording]].concat());

    // `digest  ADDRESS SYMBOL (DSO)`
    let moment = |name: &str| Snapshot::read(guest, &format!("perf-changes-{name}"));
    let (before, loaded, replaced) = (moment("before"), moment("loaded"), moment("replaced"));
    let lines_in = |moment: &Snapshot, module: &str| -> Vec<(String, bool)> {
        let module = moment.module(module).expect("it is loaded");
        let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix("digest "));
        let frames = lines.filter_map(|line| line.trim_start().split_once(' '));
        frames
            .filter_map(|(address, name)| Some((u64::from_str_radix(address, 16).ok()?, name)))
            .filter(|(address, _)| module.contains(*address))
            .map(|(address, name)| {
                let (name, _) = name.rsplit_once(" (").expect("a DSO");
                (name.to_owned(), module.names_at(address).iter().any(|said| said == name))
            })
            .collect()
    };
    let of_loaded = lines_in(&loaded, "wp512");
    assert!(of_loaded.len() > FEW && of_loaded.iter().all(|(name, _)| name == "[unknown]"));
    let place = |moment: &Snapshot| moment.module("streebog_generic").map(|it| it.address);
    if place(&before) == place(&replaced) {
        let of_both = lines_in(&replaced, "streebog_generic");
        let wrong = of_both.iter().filter(|(name, is_right)| name == RENAMED.0 && !is_right);
        assert!(wrong.count() > FEW && of_both.iter().all(|(name, _)| name != RENAMED.1));
    }
}

/// The symbols of the guest's kernel without its modules, by address.
fn kernel_symbols(guest: &Guest) -> BTreeMap<u64, Vec<String>> {
    let text = fs::read_to_string(guest.file("kallsyms")).expect("the symbols");
    let mut symbols: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.ends_with(']')) {
        let [address, _, name] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
            panic!("a line of kallsyms: {line}");
        };
        let address = u64::from_str_radix(address, 16).expect("an address");
        symbols.entry(address).or_default().push(name.to_owned());
    }
    symbols
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b24_vmlinux_names_a_moved_kernel_as_it_names_itself() {
    let test = "b24_vmlinux_names_a_moved_kernel_as_it_names_itself";
    let Some(guest) = Guest::get(test) else { return };
    let symbols = kernel_symbols(guest);
    let vmlinux = guest.kernel.vmlinux();
    for recording in ["perf.data", "perf-buildid-mmap.data"] {
        let (mut named, mut all) = (0, 0);
        for sample in samples(&guest.file(recording), &[Path::new("--image"), &vmlinux]) {
            for (depth, frame) in sample.frames.iter().enumerate() {
                if frame.dso != "[kernel.kallsyms]" {
                    continue;
                }
                all += 1;
                let Some(name) = &frame.name else { continue };
                named += 1;
                let address = frame.address - u64::from(depth > 0);
                let said = symbols.range(..=address).next_back().expect("a symbol").1;
                assert!(said.contains(name), "{address:#x} is {said:?}, not {name}");
            }
        }
        assert!(all > 1000 && named * 100 >= all * 99, "{named} of {all} in {recording}");
    }
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b38_debuginfod_has_modules_as_debug_files_only() {
    let test = "b38_debuginfod_has_modules_as_debug_files_only";
    let Some(guest) = Guest::get(test) else { return };
    let served = TestFolder::new();
    let at_rest = Snapshot::read(guest, "at-rest");
    let mut ids = Vec::new();
    for (module, _) in HOT {
        let name = format!("{module}.ko");
        fs::copy(guest.kernel.debug_module(&format!("crypto/{name}")), served.join(&name))
            .expect("a copy");
        ids.push(at_rest.module(module).expect("it is loaded").hex_id());
    }
    let Some(server) = Debuginfod::start(&served) else {
        println!("SKIPPED: {test}: debuginfod is not installed");
        return;
    };
    let url = server.url();
    let port = url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    for id in &ids {
        let status = |kind: &str| http::get(port, &format!("/buildid/{id}/{kind}"), &[]).status;
        assert_eq!((status("debuginfo"), status("executable")), (200, 404), "{id}");
    }
    // A copy, as what is fetched is kept beside the recording.
    let folder = TestFolder::new();
    let recording: PathBuf = folder.join("perf.data");
    fs::copy(guest.file("perf-buildid-mmap.data"), &recording).expect("a copy");
    let samples = samples(&recording, &[Path::new("--debuginfod"), Path::new(&url)]);
    let named = names_by_module(&samples, &[&at_rest]);
    for (module, hot) in HOT {
        let count = named.get(&(module.to_owned(), hot.to_owned()));
        assert!(count.is_some_and(|count| *count > FEW), "{hot} in {named:?}");
    }
}
