//! `buildid verify`: a recording, or a remote kernel's notes, against this machine.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use perftab_tests::child_process::end_of;
use perftab_tests::fixtures::story;
use perftab_tests::folder::TestFolder;
use perftab_tests::program::compile;
use perftab_tests::synth::{
    BuildIdEntry, MappedFile, Mapping, Order, Recording, TableLayout, context,
};
use perftab_tests::{perftab_at, perftab_binary};

use super::home::{Home, ID, OTHER, lines, text};

#[test]
fn b47_the_machine_that_was_recorded() {
    let Some(home) = Home::new("b47_the_machine_that_was_recorded") else { return };
    let listed = lines(&home.done(&["list"]));
    let expected = listed.iter().map(|line| format!("OK {line}")).collect();
    assert_eq!(lines(&home.done(&["verify", "perf.data"])), expected);

    home.replace_program();
    let (stdout, stderr) = home.failed(&["verify", "perf.data"]);
    let program = home.program.display();
    assert!(stdout.contains(&format!("FAIL {ID} {program}: now {OTHER}\n")), "{stdout}");
    assert_eq!(stdout.matches("FAIL").count(), 1, "{stdout}");
    assert!(stderr.contains("1 of "), "{stderr}");
    fs::remove_file(&home.program).expect("the program was there");
    let (stdout, _) = home.failed(&["verify", "perf.data"]);
    assert!(stdout.contains(&format!("FAIL {ID} {program}: gone\n")), "{stdout}");
}

/// What `buildid` does with something on standard input.
fn with_input(home: &Home, arguments: &[&str], input: &[u8]) -> (Option<i32>, String) {
    let arguments = [&["buildid", "verify"], arguments].concat();
    let mut child = home
        .command(perftab_binary(), &arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("perftab runs");
    child.stdin.take().expect("a pipe").write_all(input).expect("it is read");
    let output = end_of(child, "perftab buildid verify");
    (output.status.code(), text(&output.stdout))
}

/// Notes of a kernel as another machine may have them: the build-id is not the first.
fn notes(id: &[u8]) -> Vec<u8> {
    let mut notes = Vec::new();
    for (name, kind, description) in [(&b"Xen\0"[..], 6u32, &b"linux\0\0\0"[..]), (b"GNU\0", 3, id)]
    {
        notes.extend((name.len() as u32).to_ne_bytes());
        notes.extend((description.len() as u32).to_ne_bytes());
        notes.extend(kind.to_ne_bytes());
        notes.extend(name);
        notes.extend(description);
    }
    notes
}

/// Where the table says how long an id is, the zeros at its end are not padding.
#[test]
fn b47_an_id_that_ends_in_zeros_is_not_a_shorter_one() {
    let folder = TestFolder::new();
    let short = "5c".repeat(16);
    let program = compile(&folder, "program", &short, "int main(void) { return 0; }\n");
    let path = program.to_str().expect("UTF-8");
    let id = [[0x5c; 16].as_slice(), &[0; 4]].concat();
    let verified = |layout: TableLayout| {
        let mut recording = Recording::new(Order::Little, story::usual_events());
        let start = 0x7f00_0000_0000;
        let addresses = start..start + 0x1000;
        let file = MappedFile::Inode(0, 0, 0, 0);
        let (misc, pid, tid, offset) = (2, 10, 10, 0x1000);
        recording.mmap(
            story::at(10, 1_000, 0),
            &Mapping { misc, pid, tid, addresses, offset, file, path },
        );
        let chain = [context::USER, start + 0x10];
        recording.sample(0, &story::sample(story::at(10, 2_000, 0), 100, 1, &chain));
        recording
            .round()
            .build_ids(layout, &[BuildIdEntry { misc: 2, pid: -1, id: &id, name: path }]);
        folder.write("perf.data", &recording.file());
        let mut command = perftab_at(&folder, &["buildid", "verify", "perf.data"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        text(&end_of(child.expect("perftab runs"), "perftab buildid verify").stdout)
    };
    let zeros = format!("{short}00000000");
    assert_eq!(verified(TableLayout::WithSize), format!("FAIL {zeros} {path}: now {short}\n"));
    assert_eq!(verified(TableLayout::TwentyBytes), format!("OK {zeros} {path}\n"));
}

#[test]
fn b47_a_remote_hosts_notes_on_standard_input() {
    let Some(home) = Home::new("b47_a_remote_hosts_notes_on_standard_input") else { return };
    let Ok(ours) = fs::read("/sys/kernel/notes") else {
        println!("SKIPPED: b47_a_remote_hosts_notes_on_standard_input: no /sys/kernel/notes");
        return;
    };
    let id = home.done(&["list", "--kernel"]).trim_end().to_owned();
    assert_eq!(with_input(&home, &["-"], &ours), (Some(0), format!("OK {id} [kernel.kallsyms]\n")));
    let bytes: Vec<u8> = (0..id.len() / 2)
        .map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    assert_eq!(with_input(&home, &["-"], &notes(&bytes)).0, Some(0), "wherever the note stands");

    let mut other = bytes.clone();
    other[19] ^= 1;
    let (code, said) = with_input(&home, &["-"], &notes(&other));
    assert_eq!(code, Some(1));
    assert!(said.starts_with("FAIL ") && said.contains(&id), "both ids are said: {said}");

    // A recording against the notes of another host.
    let recorded = ["perf.data", "--kernel-notes", "-"];
    assert_eq!(with_input(&home, &recorded, &ours).0, Some(0));
    let (code, said) = with_input(&home, &recorded, &notes(&other));
    assert_eq!(code, Some(1));
    assert!(said.starts_with(&format!("FAIL {id} ")), "{said}");
    // And a recording on standard input is one.
    let recording = fs::read(&home.recording).expect("the recording");
    let (code, said) = with_input(&home, &["-"], &recording);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("OK {ID} ")), "{said}");
    for nonsense in [&b""[..], b"no notes", &[0; 4096]] {
        assert_eq!(with_input(&home, &["-"], nonsense).0, Some(1));
        assert_eq!(with_input(&home, &["perf.data", "--kernel-notes", "-"], nonsense).0, Some(1));
    }
}
