//! `buildid kcore` on a made-up kernel, beside what perf makes of it.

use std::fs;
use std::path::Path;

use perftab_tests::tier::part_of;

use super::home::{Home, text};

const KERNEL: u64 = 0xffff_ffff_8100_0000;
const MODULES: u64 = 0xffff_ffff_c020_0000;
const KALLSYMS: &str = "\
ffffffff81000000 T _text
ffffffff81000000 T _stext
ffffffff81000100 T do_one
ffffffff81002f00 T last_one
ffffffff81003000 T _etext
ffffffffc0201000 t first\t[one]
ffffffffc0202800 t second\t[one]
ffffffffc0203010 t third\t[two]
";
const LINES: &str = "\
two 4096 0 - Live 0xffffffffc0203000
one 8192 1 two, Live 0xffffffffc0201000
";

/// Memory by address, as /proc/kcore has it.
pub fn kcore_of(segments: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut kcore = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    kcore.extend([4, 0, 62, 0, 1, 0, 0, 0]); // a core, of x86-64
    kcore.extend([0; 8]);
    kcore.extend(64u64.to_le_bytes());
    kcore.extend([0; 12]);
    for half in [64, 56, segments.len() as u16, 0, 0, 0] {
        kcore.extend(half.to_le_bytes());
    }
    let mut offset = 0x1000;
    for (address, bytes) in segments {
        let length = bytes.len() as u64;
        kcore.extend([1, 0, 0, 0, 7, 0, 0, 0]); // PT_LOAD, rwx
        for number in [offset, *address, address & 0xfff_ffff, length, length, 0x1000] {
            kcore.extend(number.to_le_bytes());
        }
        offset += length;
    }
    kcore.resize(0x1000, 0);
    segments.iter().for_each(|(_, bytes)| kcore.extend(bytes));
    kcore
}

/// A root with /proc/{kcore,kallsyms,modules} and /sys/kernel/notes; where its kcore is.
fn made_up_kernel(home: &Home, id: u8) -> String {
    // Memory that differs everywhere.
    let mut state = 1u32;
    let mut memory = || {
        let mut byte = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..0x10000).map(|_| byte()).collect::<Vec<u8>>()
    };
    let kcore = kcore_of(&[(KERNEL, memory()), (MODULES, memory())]);
    home.folder.write("root/proc/kallsyms", KALLSYMS.as_bytes());
    home.folder.write("root/proc/modules", LINES.as_bytes());
    let note = [&[4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0][..], b"GNU\0", &[id; 20]].concat();
    home.folder.write("root/sys/kernel/notes", &note);
    let path = home.folder.write("root/proc/kcore", &kcore);
    path.to_str().expect("UTF-8").to_owned()
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// The bytes of the segments, by address.
fn segments(kcore: &Path) -> Vec<(u64, Vec<u8>)> {
    let bytes = fs::read(kcore).expect("the copy");
    let (table, count) = (word(&bytes, 32) as usize, usize::from(bytes[56]));
    let loads = (0..count).map(|index| &bytes[table + index * 56..]).filter(|entry| entry[0] == 1);
    loads
        .map(|entry| {
            let (offset, size) = (word(entry, 8) as usize, word(entry, 32) as usize);
            (word(entry, 16), bytes[offset..offset + size].to_vec())
        })
        .collect()
}

/// The folders of copies of a kernel.
fn copies(cache: &Path, id: &str) -> Vec<std::path::PathBuf> {
    let folder = cache.join("[kernel.kcore]").join(id);
    fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn b44_kcore_keeps_the_code_that_perf_keeps() {
    let Some(home) = Home::new("b44_kcore_keeps_the_code_that_perf_keeps") else { return };
    let (kcore, id) = (made_up_kernel(&home, 0x5a), "5a".repeat(20));
    let theirs = home.folder.join("theirs");
    home.perf(&["--buildid-dir", theirs.to_str().unwrap(), "buildid-cache", "-k", &kcore]);
    assert_eq!(home.done(&["kcore", &kcore]), format!("OK {id} [kernel.kcore]\n"));

    let ours = copies(&home.cache(), &id).remove(0);
    let theirs_at = copies(&theirs, &id).remove(0);
    let kept = segments(&ours.join("kcore"));
    assert_eq!(
        kept.iter().map(|(address, _)| *address).collect::<Vec<_>>(),
        [KERNEL, MODULES + 0x1000]
    );
    // perf keeps a page more behind the last symbol of a module.
    let theirs = segments(&theirs_at.join("kcore"));
    for (address, bytes) in &kept {
        let around = |(start, theirs): &&(u64, Vec<u8>)| {
            (*start..*start + theirs.len() as u64).contains(address)
        };
        let (start, theirs) = theirs.iter().find(around).expect("what we keep, perf keeps");
        assert!(theirs[(address - start) as usize..].starts_with(bytes), "from {address:#x}");
    }
    for line in KALLSYMS.lines().filter(|line| !line.contains(" _etext")) {
        let symbol = u64::from_str_radix(&line[..16], 16).unwrap();
        let has =
            |(start, kept): &(u64, Vec<u8>)| (*start..*start + kept.len() as u64).contains(&symbol);
        assert!(kept.iter().any(has), "{line}");
    }
    let read = |folder: &Path, name: &str| text(&fs::read(folder.join(name)).expect("a copy"));
    assert_eq!(read(&ours, "modules"), LINES);
    assert!(read(&ours, "kallsyms").starts_with("# perftab kallsyms build-id=5a5a"));
    assert!(read(&ours, "kallsyms").ends_with(KALLSYMS));
    assert_eq!(home.done(&["list", "-l"]), format!("{id} [kernel.kcore]\n"));
}

#[test]
fn b44_kcore_once_for_a_kernel_and_its_modules() {
    let Some(home) = Home::new("b44_kcore_once_for_a_kernel_and_its_modules") else { return };
    let (kcore, id) = (made_up_kernel(&home, 0x5a), "5a".repeat(20));
    let count = || copies(&home.cache(), &id).len();
    home.done(&["kcore", &kcore]);
    // Each tool knows the other's copy; the number of users and the order are nothing new.
    home.folder.write(
        "root/proc/modules",
        b"one 8192 7 two, Live 0xffffffffc0201000\ntwo 4096 0 - Live 0xffffffffc0203000\n",
    );
    home.done(&["kcore", home.folder.join("root/proc").to_str().unwrap()]);
    home.perf(&["buildid-cache", "-k", &kcore]);
    assert_eq!(count(), 1);
    home.done(&["kcore", "--force", &kcore]);
    assert_eq!(count(), 2);
    home.folder.write("root/proc/modules", b"one 8192 0 - Live 0xffffffffc0201000\n");
    home.done(&["kcore", &kcore]);
    assert_eq!(count(), 3);
    assert_eq!(home.done(&["purge", "[kernel.kcore]"]), format!("OK {id} [kernel.kcore]\n"));
    assert_eq!(count(), 0);
    home.perf(&["buildid-cache", "-k", &kcore]);
    home.done(&["kcore", &kcore]);
    assert_eq!(count(), 1, "perf's copy is enough");
}

#[test]
fn b48_a_kcore_of_another_kernel_is_found_out() {
    let Some(home) = Home::new("b48_a_kcore_of_another_kernel_is_found_out") else { return };
    let kcore = made_up_kernel(&home, 0x5a);
    home.done(&["kcore", &kcore]);
    let folder = home.cache().join("[kernel.kcore]");
    fs::rename(folder.join("5a".repeat(20)), folder.join("5b".repeat(20))).expect("renamed");
    let listed = home.buildid(&["list", "-l"]);
    assert_eq!(text(&listed.stdout), "");
    assert!(text(&listed.stderr).contains(&format!("holds {}", "5a".repeat(20))));
}

#[test]
fn b44_what_is_no_kcore_is_refused() {
    let Some(home) = Home::new("b44_what_is_no_kcore_is_refused") else { return };
    let kcore = made_up_kernel(&home, 0x5a);
    let whole = fs::read(&kcore).expect("the kcore");
    for damaged in [&b""[..], b"not ELF", &whole[..40], &whole[..100]] {
        fs::write(&kcore, damaged).expect("written");
        home.failed(&["kcore", &kcore]);
    }
    for flipped in part_of(0..176, 12, "bytes") {
        let mut damaged = whole.clone();
        damaged[flipped] ^= 0xff;
        fs::write(&kcore, damaged).expect("written");
        let code = home.buildid(&["kcore", "--force", &kcore]).status.code();
        assert!(matches!(code, Some(0 | 1)), "byte {flipped}: {code:?}");
    }
}
