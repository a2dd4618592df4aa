//! What stands at hot lines and instructions, in links that are asked to tell it: lines of the sources
//! that were compiled and no others, instructions as `objdump` has them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftab_core::TextCheck;
use perftab_profile::DsoKind;
use perftab_snapshot::{Snapshot, decode};
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::perftab_at;
use perftab_tests::program::{TASKS, compile, is_installed};

const ID: &str = "7ab1e7ab1e7ab1e7ab1e7ab1e7ab1e7ab1e7ab1e";

pub struct RecordedProgram {
    pub folder: TestFolder,
    pub program: PathBuf,
}

impl RecordedProgram {
    pub fn new() -> Self {
        let folder = TestFolder::new();
        let program = compile(&folder, "workload", ID, TASKS);
        Self::of(folder, program)
    }

    pub fn of(folder: TestFolder, program: PathBuf) -> Self {
        let arguments = ["record", "-e", "cpu-clock", "-F", "1999", "-g", "-o", "perf.data", "--"];
        let output = perftab_at(&folder, &arguments).arg(&program).ended().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { folder, program }
    }

    /// A link that is asked for this, opened, and what was said.
    pub fn link(&self, arguments: &[&str]) -> (Snapshot, String) {
        let (payload, said) = self.payload(arguments);
        (decode(&payload).expect("it opens"), said)
    }

    /// What the link has behind its `#`.
    pub fn payload(&self, arguments: &[&str]) -> (String, String) {
        let arguments = [&["share", "perf.data"], arguments].concat();
        let output = perftab_at(&self.folder, &arguments).ended().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let link = String::from_utf8(output.stdout).expect("text");
        let (_, payload) = link.trim().split_once('#').expect("a payload");
        (payload.to_owned(), said)
    }
}

/// Lines of a file by number, as a link tells them.
pub fn lines(link: &Snapshot, file: &str) -> BTreeMap<u32, String> {
    let lines = link.facts.texts.lines();
    let of_file = lines.filter(|(id, _, _)| link.symbols.file(*id).ends_with(file));
    of_file.map(|(_, line, text)| (line.get(), text.to_owned())).collect()
}

/// What a link says that speaks for a file.
fn check(link: &Snapshot, file: &str) -> TextCheck {
    let mut lines = link.facts.texts.lines();
    let told = lines.find(|(id, _, _)| link.symbols.file(*id).ends_with(file));
    told.map_or(TextCheck::Unknown, |(id, _, _)| link.facts.texts.check(id))
}

/// Instructions of a DSO by address, as a link tells them.
fn instructions(link: &Snapshot, dso: &str) -> BTreeMap<u64, String> {
    let is_it = |id| link.profile.dsos.get(id).path.ends_with(dso);
    let all = link.facts.texts.instructions().filter(|(id, ..)| is_it(*id));
    all.map(|(_, address, text)| (address, text.to_owned())).collect()
}

#[test]
fn lines_are_those_that_were_compiled() {
    let recorded = RecordedProgram::new();
    let (link, said) = recorded.link(&["--include", "source"]);
    assert!(said.contains("workload.c: not checked: no MD5"), "{said}");
    let found = lines(&link, "workload.c");
    let source: Vec<&str> = TASKS.lines().collect();
    for (number, text) in &found {
        assert_eq!(text, source[*number as usize - 1].trim_end(), "line {number}");
    }
    assert!(found.values().any(|text| text.contains("compare(const void *a")), "{found:?}");
    assert_eq!(check(&link, "workload.c"), TextCheck::NotChecked);
    assert_eq!(link.facts.texts.instructions().count(), 0);
    for arguments in [
        &[][..],
        &["--include", "source", "--hide", "files"],
        &["--include", "all", "--hide", "own-functions"],
    ] {
        let (link, _) = recorded.link(arguments);
        assert_eq!(link.facts.texts.lines().count(), 0, "{arguments:?}");
    }
}

#[test]
fn sources_that_were_changed_or_are_no_sources_are_not_read() {
    let recorded = RecordedProgram::new();
    let path = recorded.folder.join("workload.c");
    fs::write(&path, TASKS).expect("it is written again");
    let program = fs::metadata(&recorded.program).expect("it is there").modified().expect("a time");
    let set_times = |time| {
        let file = fs::File::options().write(true).open(&path).expect("it opens");
        file.set_modified(time).expect("a time");
    };
    set_times(program + std::time::Duration::from_secs(1));
    let (link, said) = recorded.link(&["--include", "source"]);
    assert_eq!(lines(&link, "workload.c"), BTreeMap::new());
    assert!(
        said.contains("workload.c") && said.contains("changed after the binary was built"),
        "{said}"
    );
    set_times(program);
    let (link, _) = recorded.link(&["--include", "source"]);
    assert!(!lines(&link, "workload.c").is_empty());

    // What is called otherwise is none, also where it is led to by what is called as a source.
    fs::remove_file(&path).expect("it goes");
    let other = recorded.folder.join("secret");
    fs::write(&other, TASKS).expect("it is written");
    let file = fs::File::options().write(true).open(&other).expect("it opens");
    file.set_modified(program).expect("a time");
    std::os::unix::fs::symlink(&other, &path).expect("a link");
    let (link, said) = recorded.link(&["--include", "source"]);
    assert_eq!(lines(&link, "workload.c"), BTreeMap::new());
    assert!(said.contains("no readable source file on this machine"), "{said}");
    let renamed = recorded.folder.join("elsewhere.c");
    fs::rename(&other, &renamed).expect("it moves");
    fs::remove_file(&path).expect("it goes");
    std::os::unix::fs::symlink(&renamed, &path).expect("a link");
    let (link, _) = recorded.link(&["--include", "source"]);
    assert!(!lines(&link, "workload.c").is_empty());

    // A pipe would never end, and what is in the way of a source is none.
    fs::remove_file(&path).expect("it goes");
    let made = Command::new("mkfifo").arg(&path).exit_status().expect("mkfifo runs");
    assert!(made.success());
    let (link, said) = recorded.link(&["--include", "source"]);
    assert_eq!(lines(&link, "workload.c"), BTreeMap::new());
    assert!(said.contains("no readable source file on this machine"), "{said}");
}

/// A program whose debug information has this MD5 of its source. gcc notes none; the assembler does where
/// it is told to, but binutils 2.40 writes its bytes from the last to the first.
fn compiled_with_md5(folder: &TestFolder, source: &Path, md5: &[u8]) -> PathBuf {
    const PLACEHOLDER: [u8; 16] = *b"MD5 OF A SOURCE.";
    let placeholder: String = PLACEHOLDER.iter().map(|byte| format!("{byte:02x}")).collect();
    let gcc = |arguments: &[&str], input: &Path, output: &Path| {
        let mut command = Command::new("gcc");
        let status = command.args(arguments).arg("-o").args([output, input]).exit_status();
        assert!(status.expect("gcc runs").success(), "gcc {arguments:?}");
    };
    let (assembly, program) = (folder.join("loop.s"), folder.join("loop"));
    gcc(&["-S", "-gdwarf-5", "-O1"], source, &assembly);
    let text = fs::read_to_string(&assembly).expect("assembly");
    let numbered = |line: &str| {
        let rest = line.trim().strip_prefix(".file ");
        rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    let mut noted = 0;
    let lines = text.lines().map(|line| match numbered(line) {
        true => {
            noted += 1;
            format!("{line} md5 0x{placeholder}\n")
        }
        false => format!("{line}\n"),
    });
    let text: String = lines.collect();
    assert!(noted > 0, "gcc names its source: {text}");
    fs::write(&assembly, text).expect("it is written");
    gcc(&[&format!("-Wl,--build-id=0x{ID}")], &assembly, &program);
    let mut bytes = fs::read(&program).expect("a program");
    let mut reversed = PLACEHOLDER;
    reversed.reverse();
    let is_placeholder = |at: &[u8]| at == PLACEHOLDER || at == reversed;
    let places: Vec<usize> =
        (0..bytes.len() - 16).filter(|&at| is_placeholder(&bytes[at..at + 16])).collect();
    assert!(!places.is_empty(), "the assembler notes an MD5");
    places.into_iter().for_each(|at| bytes[at..at + 16].copy_from_slice(md5));
    fs::write(&program, bytes).expect("it is written");
    program
}

#[test]
fn the_md5_of_a_source_decides_where_it_was_noted() {
    if !is_installed("the_md5_of_a_source_decides_where_it_was_noted", "md5sum") {
        return;
    }
    let content = "int main(void) {\n  volatile unsigned n = 100000000;\n  while (n > 0) n--;\n}\n";
    for is_right in [true, false] {
        let folder = TestFolder::new();
        let source = folder.join("loop.c");
        fs::write(&source, content).expect("it is written");
        let md5 = Command::new("md5sum").arg(&source).ended().expect("it runs").stdout;
        let digit = |at: usize| (md5[at] as char).to_digit(16).expect("a digit") as u8;
        let md5: Vec<u8> = (0..16).map(|at| digit(2 * at) << 4 | digit(2 * at + 1)).collect();
        let program = compiled_with_md5(&folder, &source, &md5);
        // Written after the program: only the MD5 speaks for it.
        let other = content.replace("n > 0", "n > 1");
        fs::write(&source, if is_right { content } else { other.as_str() }).expect("it is written");
        let recorded = RecordedProgram::of(folder, program);
        let (link, said) = recorded.link(&["--include", "source"]);
        let found = lines(&link, "loop.c");
        match is_right {
            true => {
                assert!(!said.contains("not checked"), "{said}");
                assert_eq!(found.get(&3).map(String::as_str), Some("  while (n > 0) n--;"));
                assert_eq!(check(&link, "loop.c"), TextCheck::Checked);
            }
            false => {
                assert_eq!(found, BTreeMap::new());
                let noted: String = md5.iter().map(|byte| format!("{byte:02x}")).collect();
                let why = format!("and {noted} in the debug information");
                assert!(said.contains(&why), "{said}");
            }
        }
    }
}

/// Instructions of a file by address: the mnemonic, and where it goes, if it goes somewhere.
fn disassembled(program: &Path) -> BTreeMap<u64, (String, Option<u64>)> {
    let output = Command::new("objdump")
        .args(["-d", "-w", "-M", "intel", "--no-show-raw-insn"])
        .arg(program)
        .ended()
        .expect("objdump runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut all = BTreeMap::new();
    for line in text.lines() {
        let Some((address, instruction)) = line.trim().split_once(":\t") else { continue };
        let Ok(address) = u64::from_str_radix(address, 16) else { continue };
        let mut words = instruction.split_whitespace();
        let mnemonic = words.find(is_mnemonic).unwrap_or_default().to_owned();
        // `call 1139 <main+0x4>`
        let is_jump = mnemonic.starts_with('j') || mnemonic == "call";
        let target = words.next().filter(|_| is_jump);
        let target = target.and_then(|target| u64::from_str_radix(target, 16).ok());
        all.insert(address, (mnemonic, target));
    }
    all
}

/// False for prefixes.
fn is_mnemonic(word: &&str) -> bool {
    !matches!(*word, "bnd" | "notrack" | "lock")
}

/// One mnemonic for those of one encoding.
fn mnemonic(text: &str) -> String {
    match text.split_whitespace().find(is_mnemonic).unwrap_or_default() {
        "jz" => "je",
        "jnz" => "jne",
        "jnb" | "jnc" => "jae",
        "jc" | "jnae" => "jb",
        "jna" => "jbe",
        "jnbe" => "ja",
        "jnge" => "jl",
        "jnl" => "jge",
        "jng" => "jle",
        "jnle" => "jg",
        "movsxd" => "movsxd",
        other => other,
    }
    .to_owned()
}

#[test]
#[cfg(target_arch = "x86_64")]
fn instructions_are_those_of_objdump() {
    if !is_installed("instructions_are_those_of_objdump", "objdump") {
        return;
    }
    // How many instructions, and how many of them that lead elsewhere.
    let mut compared = [0, 0];
    // A recording may have no sample of the latter.
    for _ in 0..5 {
        compare_instructions(&mut compared);
        if compared[1] > 0 {
            break;
        }
    }
    assert!(compared[0] > 10 && compared[1] > 0, "{compared:?}");
}

/// Compares those of a recording of its own, and counts them.
fn compare_instructions(compared: &mut [u32; 2]) {
    let recorded = RecordedProgram::new();
    let (link, said) = recorded.link(&["--include", "assembly"]);
    // Where the kernel may be sampled.
    let has_kernel = link.profile.dsos.iter().any(|(_, dso)| dso.kind == DsoKind::Kernel);
    assert_eq!(said.contains(" hot instructions stay without text"), has_kernel, "{said}");
    let is_user = |id| link.profile.dsos.get(id).kind == DsoKind::User;
    assert!(link.facts.texts.instructions().all(|(id, ..)| is_user(id)));
    assert_eq!(link.facts.texts.lines().count(), 0);
    for (dso, path) in [("workload", recorded.program.clone()), ("libc.so.6", libc())] {
        let wanted = disassembled(&path);
        for (address, text) in instructions(&link, dso) {
            // Code of these lies at its address in the file, and a call is the one that it lies in.
            let (_, (name, target)) = wanted.range(..=address).next_back().expect("code before");
            assert_eq!(mnemonic(&text), mnemonic(name), "{dso} {address:#x}: {text}");
            compared[0] += 1;
            if let Some(target) = target {
                let shown = text.split_whitespace().find_map(|word| word.strip_prefix("0x"));
                assert_eq!(
                    shown,
                    Some(format!("{target:x}").as_str()),
                    "{dso} {address:#x}: {text}"
                );
                compared[1] += 1;
            }
        }
    }
}

fn libc() -> PathBuf {
    let output = Command::new("gcc").arg("-print-file-name=libc.so.6").ended().expect("gcc runs");
    PathBuf::from(String::from_utf8(output.stdout).expect("text").trim())
}

#[test]
fn a_file_of_another_build_gives_no_instructions() {
    let recorded = RecordedProgram::new();
    let other = ID.replace('7', "8");
    compile(&recorded.folder, "workload", &other, TASKS);
    let (link, _) = recorded.link(&["--include", "source,assembly"]);
    assert_eq!(instructions(&link, "workload"), BTreeMap::new());
    assert_eq!(lines(&link, "workload.c"), BTreeMap::new());
}

#[test]
fn a_page_and_a_link_of_a_link_pass_on_what_they_are_told() {
    let recorded = RecordedProgram::new();
    let told = ["--include", "source,assembly"];
    let (link, _) = recorded.link(&told);
    let run = |arguments: &[&str]| {
        let output = perftab_at(&recorded.folder, arguments).ended().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    run(&["share", "perf.data", "-o", "bare.txt"]);
    let mut bare = perftab_at(&recorded.folder, &["share", "bare.txt", "--include", "source"]);
    let said = bare.ended().expect("it runs").stderr;
    assert!(String::from_utf8_lossy(&said).contains("no text to pass on"));
    let page = ["export", "perf.data", "--to", "html", "-o", "page.html"];
    run(&[&page[..], &told].concat());
    for file in ["page.html", "link.txt"] {
        if file == "link.txt" {
            run(&[&["share", "perf.data", "-o", file][..], &told].concat());
        }
        for (asked, is_told) in [(&told[..], true), (&[], false)] {
            let again = run(&[&["share", file][..], asked].concat());
            let again = String::from_utf8(again).expect("text");
            let (_, payload) = again.trim().split_once('#').expect("a payload");
            let again = decode(payload).expect("it opens");
            let (source, assembly) = (lines(&link, "workload.c"), instructions(&link, "workload"));
            let none = (BTreeMap::new(), BTreeMap::new());
            let wanted = if is_told { (source, assembly) } else { none };
            let found = (lines(&again, "workload.c"), instructions(&again, "workload"));
            assert_eq!(found, wanted, "{file} {asked:?}");
        }
    }
}
