//! Names of kernel modules from their files: where the kernel's loader puts each function, and the
//! lines of it. Of the guest's modules, against the guest's /proc/kallsyms, `nm` and `addr2line`.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;

use perftab_profile::DsoKind;
use perftab_tests::guest::{Guest, GuestModule, Snapshot};
use perftab_tests::synth::Recording;

use crate::build_ids::kernel::{
    GuestKernelFacts, UNKNOWN_END, admit, map, named, names, opened, output, recording, samples,
};

/// A recording with a sample at every function of a module that is loaded at `places`.
fn module_recording(module: &GuestModule, places: &[u64], code: &[u64]) -> Recording {
    let mut it = recording();
    for place in places {
        let path = format!("/lib/modules/6.1/kernel/{}.ko", module.name);
        map(&mut it, &path, *place..*place + module.size, 0, &module.build_id);
    }
    samples(&mut it, code.iter().copied());
    it
}

/// The functions of a module by its file, as `nm` has them: all names that are of code.
fn functions_of(file: &Path) -> BTreeSet<String> {
    let text = output(Command::new("nm").arg(file));
    let of_code = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        matches!(fields[..], [_, "t" | "T", _]).then(|| fields[2].to_owned())
    };
    text.lines().filter_map(of_code).collect()
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b16_b17_b18_every_function_of_a_module_is_where_the_kernel_put_it() {
    let test = "b16_b17_b18_every_function_of_a_module_is_where_the_kernel_put_it";
    let Some(guest) = Guest::get(test) else { return };
    let snapshot = Snapshot::read(guest, "at-rest");
    let mut checked = 0;
    for (module, file) in [
        ("af_alg", "af_alg"),
        ("algif_hash", "algif_hash"),
        ("streebog_generic", "streebog_generic"),
        ("wp512", "wp512"),
        ("rmd160", "rmd160"),
        ("sha3_generic", "sha3_generic"),
    ] {
        let module = snapshot.module(module).expect("it was loaded");
        let path = format!("crypto/{file}.ko");
        let (plain, debug) = (guest.kernel.module(&path), guest.kernel.debug_module(&path));
        let functions = functions_of(&plain);
        let is_code = |names: &&Vec<String>| names.iter().any(|name| functions.contains(name));
        let code: Vec<u64> = module
            .symbols
            .iter()
            .filter(|(_, names)| is_code(names))
            .map(|(&address, _)| address)
            .collect();
        for file in [&plain, &debug] {
            let it = module_recording(module, &[module.address], &code);
            let mut session = opened(&it);
            admit(&mut session, file).expect("the module");
            for (address, name) in names(&session, DsoKind::Module) {
                let expected = module.names_at(address);
                let name = name.unwrap_or_else(|| panic!("{}: {address:x}", module.name));
                assert!(expected.contains(&name), "{address:x}: {name} {expected:?}");
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "{checked} functions");
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b18_lines_of_a_module_are_those_of_its_debug_file() {
    let test = "b18_lines_of_a_module_are_those_of_its_debug_file";
    let Some(guest) = Guest::get(test) else { return };
    let snapshot = Snapshot::read(guest, "at-rest");
    let module = snapshot.module("sha3_generic").expect("it was loaded");
    let debug = guest.kernel.debug_module("crypto/sha3_generic.ko");
    let text = text_section(&debug);
    let offsets: Vec<u64> = (0..text).step_by(31).collect();
    let code: Vec<u64> = offsets.iter().map(|offset| module.address + offset).collect();
    let mut session = opened(&module_recording(module, &[module.address], &code));
    admit(&mut session, &debug).expect("the module");

    let arguments = offsets.iter().map(|offset| format!("{offset:#x}"));
    let by_binutils = output(
        Command::new("addr2line").args(["-s", "-j", ".text", "-e"]).arg(&debug).args(arguments),
    );
    let profile = session.profile();
    let by_us: HashMap<u64, String> = profile
        .frames
        .iter()
        .filter_map(|(id, frame)| {
            let level = session.symbols().levels(id).last()?;
            let file = session.symbols().file(level.file?);
            let file = file.rsplit('/').next().unwrap_or(file);
            Some((frame.address, format!("{file}:{}", level.line?)))
        })
        .collect();
    let mut same = 0;
    for (address, line) in code.iter().zip(by_binutils.lines()) {
        let line = line.split(' ').next().unwrap_or(line);
        // Padding between functions has no line.
        if line.starts_with('?') || line.ends_with(":?") || line.ends_with(":0") {
            continue;
        }
        assert_eq!(by_us.get(address).map(String::as_str), Some(line), "{address:x}");
        same += 1;
    }
    assert!(same > 50, "{same} lines");
}

/// Bytes of `.text`.
fn text_section(file: &Path) -> u64 {
    let sections = output(Command::new("readelf").arg("-SW").arg(file));
    let line = sections.lines().find(|line| line.contains(" .text ")).expect("a text section");
    let fields: Vec<&str> = line.split(']').nth(1).expect("a name").split_whitespace().collect();
    u64::from_str_radix(fields[4], 16).expect("a size")
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b06_b32_a_module_that_was_loaded_twice_is_named_where_only_one_can_have_been() {
    let test = "b06_b32_a_module_that_was_loaded_twice_is_named_where_only_one_can_have_been";
    let Some(guest) = Guest::get(test) else { return };
    let snapshot = Snapshot::read(guest, "at-rest");
    let module = snapshot.module("af_alg").expect("it was loaded");
    let file = guest.kernel.module("crypto/af_alg.ko");
    let (start, size) = (module.address, module.size);
    let functions = functions_of(&file);
    let code: Vec<u64> = module
        .symbols
        .iter()
        .filter(|(_, names)| names.iter().any(|name| functions.contains(name)))
        .map(|(&address, _)| address)
        .collect();
    let named_at = |places: &[u64]| {
        let mut session = opened(&module_recording(module, places, &code));
        admit(&mut session, &file).expect("the module");
        for (address, name) in names(&session, DsoKind::Module) {
            let expected = module.names_at(address);
            assert!(name.as_ref().is_none_or(|name| expected.contains(name)), "{address:x}");
        }
        named(&session, DsoKind::Module)
    };
    assert_eq!(named_at(&[start]), code.len());
    assert_eq!(named_at(&[start, start + 2 * size]), code.len());
    // Its own pages again, shifted: an address may be one function or the other.
    assert!(named_at(&[start, start + 4096]) < code.len());
    assert!(named_at(&[start + 4096, start]) < code.len());
}

#[test]
#[ignore = "left to --all: boots a kernel"]
fn b32_modules_whose_addresses_were_hidden_name_nothing() {
    let test = "b32_modules_whose_addresses_were_hidden_name_nothing";
    let Some(guest) = Guest::get(test) else { return };
    let snapshot = Snapshot::read(guest, "at-rest");
    let booted = GuestKernelFacts::of(guest);
    let names_of = |start: u64, end: u64| {
        let mut it = recording();
        let ids = ["wp512", "rmd160"].map(|name| (name, snapshot.module(name).expect("loaded")));
        for (name, module) in &ids {
            map(&mut it, &format!("[{name}]"), start..end, 0, &module.build_id);
        }
        samples(&mut it, (0..64).map(|n| start + 64 * n));
        samples(&mut it, [booted.address_of("_text") + 0x1000]);
        let mut session = opened(&it);
        for (name, _) in ids {
            // Matched all the same, if it has an address at all.
            let _ = admit(&mut session, &guest.kernel.module(&format!("crypto/{name}.ko")));
        }
        let all = names(&session, DsoKind::Module).into_iter();
        all.filter_map(|(_, name)| name).collect::<Vec<_>>()
    };
    // As with kptr_restrict, and one of them spanning everything.
    assert_eq!(names_of(0, 0x9000), [""; 0]);
    assert_eq!(names_of(0, UNKNOWN_END), [""; 0]);
    // A map too small for its code.
    assert_eq!(names_of(0xffff_ffff_c000_0000, 0xffff_ffff_c000_0010), [""; 0]);
}
