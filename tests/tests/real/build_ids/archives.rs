//! Names out of packed files and archives, as the tools write them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use perftab_core::session::{OfferReport, OfferStep, Session};
use perftab_images::Rejection;
use perftab_perfdata::decode::SliceSource;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::open::open_path;
use perftab_tests::program::compile;
use perftab_tests::{perf, perftab_at};

const ID: &str = "5a11c07ad05e9f31c07ad05e9f31c07ad05e9f31";
const OTHER: &str = "5a22e2c041b7e2c041b7e2c041b7e2c041b7e2c0";
const SOURCE: &str = "
static volatile unsigned long sum;
__attribute__((noinline)) void spin(unsigned long n) { while (n--) sum += n; }
int main(void) { spin(60000000); return 0; }
";

/// A program that was recorded, and another build of it.
struct RecordedProgram {
    /// Removed at the end, which a static never meets; the system's cleaner of temporary files does.
    _folder: TestFolder,
    program: PathBuf,
    other: PathBuf,
    recording: PathBuf,
}

/// One recording for all tests here; `None`, said for `test`, without perf.
fn recorded(test: &str) -> Option<&'static RecordedProgram> {
    static RECORDED: OnceLock<Option<RecordedProgram>> = OnceLock::new();
    let recorded = RECORDED.get_or_init(|| {
        let folder = TestFolder::new();
        let program = compile(&folder, "spinner", ID, SOURCE);
        fs::create_dir(folder.join("other")).expect("a folder");
        let other = compile(&folder.join("other"), "spinner", OTHER, SOURCE);
        let recording = perf::record(test, &program, &folder.join("perf.data"))?;
        Some(RecordedProgram { _folder: folder, program, other, recording })
    });
    if recorded.is_none() {
        println!("SKIPPED: {test}: perf is not installed");
    }
    recorded.as_ref()
}

fn offer(session: &mut Session, name: &str, bytes: &[u8]) -> OfferReport {
    session.offer(name, Box::new(SliceSource::new(bytes))).finish(session)
}

/// Names of functions of the recorded program.
fn names(session: &mut Session) -> Vec<String> {
    session.name_all_frames();
    let symbols = session.symbols();
    let frames = session.profile().frames.iter();
    let functions = frames.map(|(frame, _)| symbols.function(symbols.merged(frame)));
    let mut names: Vec<_> =
        functions.filter_map(|function| function.name.map(str::to_owned)).collect();
    names.sort();
    names.dedup();
    names
}

/// Runs a shell command in `folder`; false, said for `test`, where the tool is missing.
fn shell(test: &str, folder: &Path, command: &str) -> bool {
    let tool = command.split(' ').next().expect("a tool");
    if Command::new(tool)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .exit_status()
        .is_err()
    {
        println!("SKIPPED: {test}: there is no {tool} here");
        return false;
    }
    let output =
        Command::new("sh").args(["-ec", command]).current_dir(folder).ended().expect("sh runs");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    true
}

/// A folder with the program below a few folders, another build of it, text and an empty file.
fn tree(recorded: &RecordedProgram) -> TestFolder {
    let folder = TestFolder::new();
    let deep = format!("in/usr/{}/lib", "long-name-of-a-folder/".repeat(8));
    folder.write("in/README", b"not an image\n");
    folder.write("in/empty", b"");
    folder.write("in/other/spinner", &fs::read(&recorded.other).expect("it"));
    folder.write(&format!("{deep}/renamed"), &fs::read(&recorded.program).expect("it"));
    folder
}

#[test]
fn b45_archives_of_all_kinds_give_what_was_recorded() {
    let test = "b45_archives_of_all_kinds_give_what_was_recorded";
    let Some(recorded) = recorded(test) else { return };
    let folder = tree(recorded);
    let packings = [
        "tar --format=ustar -cf out in",
        "tar --format=gnu -cf out in",
        "tar --format=pax -cf out in",
        "tar --format=oldgnu -czf out in",
        "tar -cJf out in",
        "tar --zstd -cf out in",
        "tar -cjf out in",
        "tar -C in -cf - . | gzip -9 > out",
        "zip -qr out.zip in && mv out.zip out",
        "zip -q0r out.zip in && mv out.zip out",
        // Sizes follow on the members: zip cannot go back in a pipe.
        "zip -qr - in | cat > out",
        "cpio --version > t && find in | cpio -o -H newc --quiet > out && rm t",
        // An archive in an archive in an archive.
        "tar -cf t in && zip -q z.zip t && tar -czf out z.zip && rm t z.zip",
    ];
    for packing in packings {
        if !shell(test, &folder, packing) {
            continue;
        }
        let packed = fs::read(folder.join("out")).expect("it is packed");
        fs::remove_file(folder.join("out")).expect("it is there");
        let mut session = open_path(&recorded.recording).expect("a recording");
        assert!(!names(&mut session).contains(&"spin".to_owned()), "before anything is given");
        let report = offer(&mut session, "dropped", &packed);
        let [used] = &report.used[..] else { panic!("{packing}: {report:?}") };
        assert!(
            used.name.starts_with("dropped/") && used.name.ends_with("lib/renamed"),
            "{used:?}"
        );
        assert_eq!(used.gives, "inlines and source lines");
        // The other build has the name of what was recorded, so somebody may wonder.
        let [refused] = &report.not_used[..] else { panic!("{packing}: {report:?}") };
        assert!(refused.name.ends_with("/other/spinner"), "{refused:?}");
        assert!(refused.message.contains(OTHER), "{refused:?}");
        assert!(matches!(refused.reason, Rejection::NothingRecordedHasIt { .. }));
        assert_eq!((report.unrelated, report.others >= 2), (0, true), "{packing}: {report:?}");
        assert!(names(&mut session).contains(&"spin".to_owned()), "{packing}");
    }
}

#[test]
fn b43_ids_are_read_from_compressed_files() {
    let test = "b43_ids_are_read_from_compressed_files";
    let Some(recorded) = recorded(test) else { return };
    let folder = TestFolder::new();
    fs::copy(&recorded.program, folder.join("spinner")).expect("it is copied");
    fs::copy(&recorded.other, folder.join("other")).expect("it is copied");
    for (tool, end) in [("gzip", "gz"), ("xz", "xz"), ("zstd -q", "zst"), ("bzip2", "bz2")] {
        if !shell(test, &folder, &format!("{tool} -k spinner && {tool} -k other")) {
            continue;
        }
        let packed = |name: &str| fs::read(folder.join(format!("{name}.{end}"))).expect("it");
        let mut session = open_path(&recorded.recording).expect("a recording");
        let report = offer(&mut session, &format!("spinner.{end}"), &packed("other"));
        assert_eq!(report.used, [], "{tool}");
        assert!(
            matches!(&report.not_used[..], [refused] if refused.message.contains(OTHER)),
            "{tool}: the name without .{end} is that of what was recorded: {report:?}"
        );
        assert!(!names(&mut session).contains(&"spin".to_owned()), "{tool}");
        let report = offer(&mut session, &format!("x.{end}"), &packed("spinner"));
        assert_eq!(report.used.len(), 1, "{tool}: {report:?}");
        assert!(names(&mut session).contains(&"spin".to_owned()), "{tool}");
    }
}

#[test]
fn b45_packages_of_debian_are_opened() {
    let test = "b45_packages_of_debian_are_opened";
    let Some(recorded) = recorded(test) else { return };
    let folder = TestFolder::new();
    let program = fs::read(&recorded.program).expect("it");
    folder.write("deb/usr/lib/debug/.build-id/5a/11.debug", &program);
    let control = "Package: spinner-dbg\nVersion: 1\nArchitecture: all\nMaintainer: x <x@x>\n\
                   Description: x\n";
    folder.write("deb/DEBIAN/control", control.as_bytes());
    for packing in ["xz", "gzip", "none"] {
        if !shell(test, &folder, &format!("dpkg-deb -Z{packing} --root-owner-group -b deb x.deb")) {
            return;
        }
        let mut session = open_path(&recorded.recording).expect("a recording");
        let package = fs::read(folder.join("x.deb")).expect("a package");
        let report = offer(&mut session, "x.deb", &package);
        assert!(report.used.len() == 1 && report.not_used.is_empty(), "{packing}: {report:?}");
        // And in an archive with others, the program packed once more in it.
        assert!(shell(test, &folder, "xz -kf deb/usr/lib/debug/.build-id/5a/11.debug"));
        fs::remove_file(folder.join("deb/usr/lib/debug/.build-id/5a/11.debug")).expect("it");
        assert!(shell(test, &folder, "dpkg-deb -Zxz --root-owner-group -b deb x.deb"));
        assert!(shell(test, &folder, "tar -czf all.tar.gz x.deb"));
        let mut session = open_path(&recorded.recording).expect("a recording");
        let archive = fs::read(folder.join("all.tar.gz")).expect("an archive");
        let report = offer(&mut session, "all.tar.gz", &archive);
        assert_eq!(report.used.len(), 1, "{packing}: {report:?}");
        fs::remove_file(folder.join("deb/usr/lib/debug/.build-id/5a/11.debug.xz")).expect("it");
        folder.write("deb/usr/lib/debug/.build-id/5a/11.debug", &program);
    }
}

#[test]
fn b45_packages_of_fedora_are_opened() {
    let test = "b45_packages_of_fedora_are_opened";
    let Some(recorded) = recorded(test) else { return };
    let folder = TestFolder::new();
    folder.write("11.debug", &fs::read(&recorded.program).expect("it"));
    let spec = "Name: spinner\nVersion: 1\nRelease: 1\nSummary: x\nLicense: x\n%description\nx\n\
                %install\nmkdir -p %{buildroot}/usr/lib/debug\n\
                cp %{in}/11.debug %{buildroot}/usr/lib/debug/11.debug\n\
                %files\n/usr/lib/debug/11.debug\n";
    folder.write("x.spec", spec.as_bytes());
    for packing in ["w3.gzdio", "w3.xzdio", "w3.zstdio", "w3.ufdio"] {
        let defined = [
            "_topdir $PWD/top".to_owned(),
            "_rpmdir $PWD".to_owned(),
            "_rpmfilename x.rpm".to_owned(),
            "in $PWD".to_owned(),
            format!("_binary_payload {packing}"),
            "debug_package %{nil}".to_owned(),
            "__os_install_post %{nil}".to_owned(),
            "_build_id_links none".to_owned(),
        ];
        let defined = defined.map(|it| format!("--define \"{it}\"")).join(" ");
        if !shell(test, &folder, &format!("rpmbuild -bb --quiet {defined} x.spec")) {
            return;
        }
        let mut session = open_path(&recorded.recording).expect("a recording");
        let package = fs::read(folder.join("x.rpm")).expect("a package");
        let report = offer(&mut session, "x.rpm", &package);
        let [used] = &report.used[..] else { panic!("{packing}: {report:?}") };
        assert!(used.name.ends_with("/11.debug") && report.not_used.is_empty(), "{report:?}");
        assert!(names(&mut session).contains(&"spin".to_owned()), "{packing}");
        // Headers of any length, and an end anywhere.
        for at in (96..112).chain([package.len() / 2]) {
            let mut damaged = package.clone();
            damaged[at] ^= 0xff;
            offer(&mut session, "x.rpm", &damaged);
            offer(&mut session, "x.rpm", &package[..at]);
        }
    }
}

/// tar leaves out what is zero, in four forms; here an archive in which zeros stand before and between files.
#[test]
fn b45_sparse_files_in_archives_are_put_together() {
    let test = "b45_sparse_files_in_archives_are_put_together";
    let Some(recorded) = recorded(test) else { return };
    let folder = TestFolder::new();
    let program = fs::read(&recorded.program).expect("it");
    let mut members = Vec::new();
    for number in 0..40 {
        let (hole, text) = (format!("{number:02}-hole"), format!("{number:02}-text"));
        folder.write(&hole, &vec![0; 20_000]);
        folder.write(&text, &[b'x'; 100]);
        members.extend([hole, text]);
    }
    folder.write("99-program", &program);
    members.push("99-program".to_owned());
    let members = members.join(" ");
    assert!(shell(test, &folder, &format!("tar -cf whole.tar {members}")));
    assert!(shell(test, &folder, "cp --sparse=always whole.tar holes.tar"));
    let whole = fs::metadata(folder.join("whole.tar")).expect("it").len();
    for form in [
        "--format=gnu",
        "--format=pax --sparse-version=0.0",
        "--format=pax --sparse-version=0.1",
        "--format=pax --sparse-version=1.0",
    ] {
        if !shell(test, &folder, &format!("tar -S {form} -cf out holes.tar")) {
            continue;
        }
        let packed = fs::read(folder.join("out")).expect("it is packed");
        assert!((packed.len() as u64) < whole / 2, "{form}: it is not sparse");
        let mut session = open_path(&recorded.recording).expect("a recording");
        let report = offer(&mut session, "out", &packed);
        let [used] = &report.used[..] else { panic!("{form}: {report:?}") };
        assert_eq!(used.name, "out/holes.tar/99-program");
        assert_eq!((report.others, &report.not_used[..]), (80, &[][..]), "{form}");
        assert_eq!(used.gives, "inlines and source lines");
        for at in (0..4096).step_by(211) {
            let mut damaged = packed.clone();
            damaged[at] = b'7' + (at % 2) as u8;
            offer(&mut session, "out", &damaged);
        }
    }
}

/// Nobody could hold it, and that is said.
#[test]
fn b45_a_sparse_file_that_is_too_long_is_named() {
    let test = "b45_a_sparse_file_that_is_too_long_is_named";
    let Some(recorded) = recorded(test) else { return };
    let folder = TestFolder::new();
    folder.write("program", &fs::read(&recorded.program).expect("it"));
    for form in ["--format=gnu", "--format=pax --sparse-version=1.0"] {
        let pack = format!("truncate -s 50G hole && tar -S {form} -cf out hole program");
        if !shell(test, &folder, &pack) {
            continue;
        }
        let mut session = open_path(&recorded.recording).expect("a recording");
        let packed = fs::read(folder.join("out")).expect("it is packed");
        let report = offer(&mut session, "out", &packed);
        assert_eq!(report.used.len(), 1, "{form}: what follows is read: {report:?}");
        let [hole] = &report.not_used[..] else { panic!("{form}: {report:?}") };
        assert_eq!(hole.name, "out/hole");
        assert!(hole.message.contains("more than 4000 MB"), "{}", hole.message);
    }
}

#[test]
fn small_steps_and_large_ones_come_to_the_same() {
    let test = "small_steps_and_large_ones_come_to_the_same";
    let Some(recorded) = recorded(test) else { return };
    let folder = tree(recorded);
    if !shell(test, &folder, "tar -cJf out in") {
        return;
    }
    let packed = fs::read(folder.join("out")).expect("it is packed");
    let mut reports = Vec::new();
    for bytes in [1, 1000, usize::MAX] {
        let mut session = open_path(&recorded.recording).expect("a recording");
        let mut offer = session.offer("out", Box::new(SliceSource::new(packed.clone())));
        let mut steps = 0;
        let mut last = 0;
        let report = loop {
            match offer.step(&mut session, bytes) {
                OfferStep::More { done, total } => {
                    assert!(done >= last && done <= total && total == packed.len() as u64);
                    last = done;
                    steps += 1;
                }
                OfferStep::Done(report) => break report,
            }
        };
        assert!(steps > if bytes == 1 { 5 } else { 0 }, "{steps} steps of {bytes} bytes");
        reports.push(report);
    }
    assert_eq!(reports[0].used.len(), 1);
    assert!(reports.iter().all(|report| *report == reports[0]), "{reports:?}");
}

/// What it is only all of it says, and a page must not be deaf for as long as that takes.
#[test]
fn b12_a_file_without_a_build_id_is_read_in_steps() {
    const MEGABYTE: usize = 1 << 20;
    let folder = TestFolder::new();
    let program = compile(&folder, "plain", ID, SOURCE);
    let removed = Command::new("objcopy")
        .args(["--remove-section=.note.gnu.build-id", "plain"])
        .current_dir(&*folder)
        .ended();
    assert!(removed.expect("objcopy runs").status.success());
    // Nothing refers to what is behind it.
    let mut whole = fs::read(&program).expect("the program");
    whole.resize(5 * MEGABYTE, 0);
    fs::write(&program, &whole).expect("it is written");
    let recording = folder.join("perf.data");
    let recorded = perftab_at(&folder, &["record", "-q", "-o"])
        .args([recording.as_os_str(), "--".as_ref(), program.as_os_str()])
        .ended();
    assert!(recorded.expect("it is recorded").status.success());

    let offered = |bytes: Vec<u8>| {
        let mut session = open_path(&recording).expect("a recording");
        let mut offer = session.offer("any name", Box::new(SliceSource::new(bytes)));
        let mut read = Vec::new();
        loop {
            match offer.step(&mut session, MEGABYTE) {
                OfferStep::More { done, .. } => read.push(done / MEGABYTE as u64),
                OfferStep::Done(report) => {
                    let is_named = names(&mut session).contains(&"spin".to_owned());
                    return (read, report.used.len(), is_named);
                }
            }
        }
    };
    // The first step says that it has to be read.
    assert_eq!(offered(whole.clone()), (vec![0, 1, 2, 3, 4, 5], 1, true));
    *whole.last_mut().expect("a byte") = 1;
    let (read, used, is_named) = offered(whole);
    assert_eq!((read.len(), used, is_named), (6, 0, false), "its last byte is another");
}

#[test]
fn what_is_cut_or_damaged_is_said_and_gives_no_names() {
    let test = "what_is_cut_or_damaged_is_said_and_gives_no_names";
    let Some(recorded) = recorded(test) else { return };
    let folder = TestFolder::new();
    fs::copy(&recorded.program, folder.join("spinner")).expect("it is copied");
    for packing in
        ["tar -cf out spinner", "tar -czf out spinner", "zip -q out.zip spinner && mv out.zip out"]
    {
        if !shell(test, &folder, packing) {
            continue;
        }
        let packed = fs::read(folder.join("out")).expect("it is packed");
        for cut in [600, packed.len() / 3, packed.len() / 2] {
            let mut session = open_path(&recorded.recording).expect("a recording");
            let report = offer(&mut session, "out", &packed[..cut]);
            assert_eq!(report.used, [], "{packing}, {cut} bytes of it");
            assert!(!report.not_used.is_empty(), "{packing}, {cut} bytes of it");
            assert!(!names(&mut session).contains(&"spin".to_owned()));
        }
    }
    // A byte of a stored member: zip's checksum does not fit, whatever the id says.
    if shell(test, &folder, "zip -q0 stored.zip spinner") {
        let mut packed = fs::read(folder.join("stored.zip")).expect("it is packed");
        let last_of_text = packed.len() / 2;
        packed[last_of_text] ^= 1;
        let mut session = open_path(&recorded.recording).expect("a recording");
        let report = offer(&mut session, "stored.zip", &packed);
        assert!(report.used.is_empty() && report.not_used[0].message.contains("checksum"));
    }
}

#[test]
fn much_out_of_little_and_layer_in_layer_end() {
    let test = "much_out_of_little_and_layer_in_layer_end";
    let Some(recorded) = recorded(test) else { return };
    let folder = TestFolder::new();
    // Eight layers of gzip around the program.
    fs::copy(&recorded.program, folder.join("deep")).expect("it is copied");
    let layers = "cat deep | gzip | gzip | gzip | gzip | gzip | gzip | gzip | gzip > deep8";
    assert!(shell(test, &folder, layers));
    let mut session = open_path(&recorded.recording).expect("a recording");
    let report = offer(&mut session, "deep8", &fs::read(folder.join("deep8")).expect("it"));
    assert!(report.used.is_empty(), "{report:?}");
    assert!(report.not_used[0].message.contains("layers"), "{report:?}");

    // Gigabytes of zeros, twice packed: a step is as short as any other.
    if !shell(
        test,
        &folder,
        "zstd --version > /dev/null; head -c 2000000000 /dev/zero | zstd -q | zstd -q > zeros",
    ) {
        return;
    }
    let zeros = fs::read(folder.join("zeros")).expect("it");
    assert!(zeros.len() < 10_000, "{}", zeros.len());
    let mut offer = session.offer("zeros", Box::new(SliceSource::new(zeros)));
    let mut steps = 0;
    while let OfferStep::More { .. } = offer.step(&mut session, 4 << 20) {
        steps += 1;
        // Somebody gives up here.
        if steps == 20 {
            return;
        }
    }
    panic!("2 GB went through {steps} steps of 4 MB");
}

#[test]
fn what_else_there_is_is_counted() {
    let test = "what_else_there_is_is_counted";
    let Some(recorded) = recorded(test) else { return };
    let mut session = open_path(&recorded.recording).expect("a recording");
    let report = offer(&mut session, "/dev/null", b"");
    assert!(matches!(&report.not_used[..], [file] if file.message.contains("empty")), "{report:?}");
    let folder = TestFolder::new();
    // Real programs of builds that nobody recorded.
    let listing = Command::new("sh")
        .args(["-c", "ls /usr/bin/*grep /usr/bin/cat /usr/bin/gzip 2>/dev/null"])
        .ended()
        .expect("sh runs");
    let files = String::from_utf8(listing.stdout).expect("UTF-8");
    let elf: Vec<_> = files
        .lines()
        .filter(|file| fs::read(file).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF")))
        .collect();
    let mut command = Command::new("tar");
    command.args(["-chzf", "out"]).args(&elf).current_dir(&*folder).stderr(Stdio::null());
    assert!(command.exit_status().expect("tar runs").success());
    let report = offer(&mut session, "out", &fs::read(folder.join("out")).expect("it"));
    assert_eq!(report.used, []);
    assert_eq!((report.unrelated as usize, report.others), (elf.len(), 0), "{report:?}");
}
