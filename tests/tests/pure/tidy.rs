//! The rules of the house (ARCHITECTURE.md) that a compiler does not hold.

use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use perftab_tests::child_process::LimitedCommand;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the repository")
}

// ---- dependencies -------------------------------------------------------------------------

/// Which packages of ours each may depend on, tests apart: core's in the order of the flow. `images` does
/// not know profiles, and `profile` no images. Nothing depends on the hosts: recorder and web.
const OURS: &[(&str, &[&str])] = &[
    ("perftab-perfdata", &[]),
    ("perftab-dsos", &["perftab-perfdata"]),
    ("perftab-profile", &["perftab-perfdata", "perftab-dsos"]),
    ("perftab-images", &["perftab-perfdata", "perftab-dsos"]),
    ("perftab-names", &["perftab-perfdata", "perftab-profile", "perftab-images"]),
    ("perftab-views", &["perftab-perfdata", "perftab-profile", "perftab-images", "perftab-names"]),
    ("perftab-export", &["perftab-perfdata", "perftab-profile", "perftab-names", "perftab-views"]),
    (
        "perftab-snapshot",
        &[
            "perftab-perfdata",
            "perftab-profile",
            "perftab-images",
            "perftab-names",
            "perftab-views",
        ],
    ),
    ("perftab-core", CORE),
    // What the page loads later is no part of core.
    ("perftab-listing", &["perftab-images"]),
    // Hosts name the session, and perf.data itself: bytes, errors, and what the recorder writes.
    ("perftab", &["perftab-streams", "perftab-core", "perftab-listing", "perftab-perfdata"]),
    ("perftab-web", &["perftab-crossing", "perftab-core", "perftab-perfdata"]),
    ("perftab-images-web", &["perftab-crossing", "perftab-core", "perftab-perfdata"]),
    ("perftab-crossing", &["perftab-core", "perftab-perfdata"]),
    ("perftab-listing-web", &["perftab-listing", "perftab-images"]),
    ("perftab-tests", TESTED),
    ("xtask", &[]),
    ("perftab-bundle", &["perftab-streams"]),
    ("perftab-streams", &[]),
];

/// The parts of core.
const CORE: &[&str] = &[
    "perftab-perfdata",
    "perftab-dsos",
    "perftab-profile",
    "perftab-images",
    "perftab-names",
    "perftab-views",
    "perftab-export",
    "perftab-snapshot",
];

/// What tests may look into: all of it.
const TESTED: &[&str] = &[
    "perftab-core",
    "perftab-perfdata",
    "perftab-dsos",
    "perftab-profile",
    "perftab-images",
    "perftab-listing",
    "perftab-names",
    "perftab-views",
    "perftab-export",
    "perftab-snapshot",
];

/// What a host brings and core must never reach, not even through others: system calls, sockets,
/// threads, clocks, and the browser. (`typescript`, a feature of core, describes types to the
/// browser; without it there is nothing of a browser in core.)
const HOST_CRATES: &[&str] = &[
    "axum",
    "clap",
    "indicatif",
    "js-sys",
    "libc",
    "memmap2",
    "mio",
    "perf-event-open-sys",
    "rayon",
    "rustix",
    "socket2",
    "tokio",
    "tsify",
    "ureq",
    "wasm-bindgen",
    "web-sys",
];

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--no-deps"])
        .current_dir(root())
        .stderr(Stdio::inherit())
        .ended()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata fails");
    serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON")
}

fn members(metadata: &Value) -> Vec<&Value> {
    array(&metadata["packages"]).iter().collect()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

#[test]
fn our_packages_depend_in_one_direction() {
    let metadata = metadata();
    let members = members(&metadata);
    let names: BTreeSet<&str> = members.iter().map(|package| text(&package["name"])).collect();
    assert_eq!(names, OURS.iter().map(|(name, _)| *name).collect(), "a new package needs a rule");

    for package in members {
        let name = text(&package["name"]);
        let (_, allowed) = OURS.iter().find(|(ours, _)| *ours == name).expect("asserted above");
        for dependency in array(&package["dependencies"]) {
            let on = text(&dependency["name"]);
            if names.contains(on) {
                assert!(allowed.contains(&on), "{name} must not depend on {on}");
            }
            let is_for_tests = dependency["kind"] == "dev";
            let makes_names = array(&dependency["features"]).iter().any(|it| it == "testing");
            assert!(is_for_tests || !makes_names, "{name} ships what only tests may do");
        }
    }
}

#[test]
fn core_reaches_no_host_crate() {
    // `cargo tree` answers for core alone; the workspace's graph has features of other packages in.
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package=perftab-core", "--edges=normal", "--prefix=none"])
        .args(["--format={p}", "--locked", "--offline", "--target=wasm32-unknown-unknown"])
        .current_dir(root())
        .stderr(Stdio::inherit())
        .ended()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo tree fails");
    let tree = String::from_utf8(output.stdout).expect("UTF-8");
    let reached: BTreeSet<&str> =
        tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(reached.contains("gimli"), "cargo tree lists what core is made of:\n{tree}");
    for host in HOST_CRATES {
        assert!(!reached.contains(host), "core must not reach {host}");
    }
}

#[test]
fn licences_and_editions_are_the_workspaces() {
    for package in members(&metadata()) {
        assert_eq!(package["license"], "MIT OR Apache-2.0", "{}", package["name"]);
        assert_eq!(package["edition"], "2024", "{}", package["name"]);
    }
}

// ---- sources ------------------------------------------------------------------------------

/// Files below `folder` with one of these endings, path from the root and contents.
fn sources(folder: &str, endings: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                if !path.ends_with("generated") && !path.ends_with("node_modules") {
                    folders.push(path);
                }
            } else if endings.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
                found.push((name(&path), fs::read_to_string(&path).expect("UTF-8")));
            }
        }
    }
    assert!(!found.is_empty(), "no {endings:?} in {folder}");
    found.sort();
    found
}

fn name(path: &Path) -> String {
    path.strip_prefix(root()).expect("in the repository").to_string_lossy().into_owned()
}

/// Fails for every line outside comments that holds one of `words`.
fn never(files: &[(String, String)], words: &[&str], why: &str) {
    let mut found = Vec::new();
    for (file, contents) in files {
        for (number, line) in contents.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if words.iter().any(|word| code.contains(word)) {
                found.push(format!("{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{why}:\n{}", found.join("\n"));
}

#[test]
fn core_does_no_input_or_output() {
    let hosts = ["std::fs", "std::net", "std::process", "std::thread", "std::env", "std::os::"];
    let clocks = ["Instant", "SystemTime", "println!", "eprintln!", "dbg!"];
    let words: Vec<&str> = hosts.into_iter().chain(clocks).collect();
    let mut files = sources("core", &[".rs"]);
    // For its tests alone, which read how much they are to try.
    let density = "core/snapshot/src/density.rs";
    assert!(files.iter().any(|(file, _)| file == density));
    files.retain(|(file, _)| file != density);
    never(&files, &words, "core is synchronous and does no I/O");
    let lib = root().join("core/snapshot/src/lib.rs");
    let lib = fs::read_to_string(lib).expect("the crate's root");
    assert!(lib.contains("#[cfg(test)]\nmod density;\n"), "{density} is for tests alone");
}

#[test]
fn only_links_bring_names_without_an_image() {
    let mut files = sources("core", &[".rs"]);
    files.retain(|(file, _)| {
        // The first gives names, the second reads links; the others are for tests alone.
        let may = ["core/names/", "core/snapshot/", "core/views/src/fixture.rs"];
        !may.iter().any(|may| file.starts_with(may)) && !file.ends_with("tests.rs")
    });
    let words = [".set_known(", ".set_levels("];
    never(&files, &words, "names come from matched images, through the gate");
}

#[test]
fn tests_wait_for_children_with_a_limit() {
    let mut files = sources("tests", &[".rs"]);
    // What has the limits, and this list.
    files.retain(|(file, _)| {
        !file.ends_with("/src/child_process.rs") && !file.ends_with("/pure/tidy.rs")
    });
    let words = [".output()", ".status()", ".wait()", ".wait_with_output()"];
    never(&files, &words, "perftab_tests::child_process waits with a limit");
}

#[test]
fn a_test_that_is_ignored_is_left_to_all() {
    for folder in ["core", "recorder/src", "tests", "xtask/src"] {
        for (file, contents) in sources(folder, &[".rs"]) {
            for line in contents.lines().map(str::trim) {
                let is_other = line.starts_with("#[ignore") && !line.starts_with(LEFT_TO_ALL);
                assert!(!is_other, "{file}: {line}: --all runs what is ignored");
            }
        }
    }
}

/// `cargo xtask test` lists these as left out.
const LEFT_TO_ALL: &str = "#[ignore = \"left to --all: ";

#[test]
fn unsafe_code_stays_in_the_recorders_two_files() {
    let allowed = ["recorder/src/record/sys.rs", "recorder/src/record/ring.rs"];
    for folder in ["core", "recorder/src", "web", "tests/src", "xtask"] {
        let mut files = sources(folder, &[".rs"]);
        files.retain(|(file, _)| !allowed.contains(&&**file));
        let words = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"];
        never(&files, &words, "unsafe code outside the two files");
    }
    let roots = sources("core", &["/src/lib.rs"]);
    assert!(roots.len() > 1, "core and its parts");
    for (file, contents) in roots {
        assert!(contents.contains("\n#![forbid(unsafe_code)]\n"), "{file} must forbid it");
    }
    for (crate_root, lint) in [
        ("recorder/src/main.rs", "#![deny(unsafe_code)]"),
        ("web/src/lib.rs", "#![forbid(unsafe_code)]"),
        ("web/crossing/src/lib.rs", "#![forbid(unsafe_code)]"),
        ("web/images/src/lib.rs", "#![forbid(unsafe_code)]"),
        ("web/listing/src/lib.rs", "#![forbid(unsafe_code)]"),
        ("web/streams/src/lib.rs", "#![forbid(unsafe_code)]"),
        ("tests/src/lib.rs", "#![forbid(unsafe_code)]"),
        ("xtask/src/main.rs", "#![forbid(unsafe_code)]"),
        ("xtask/bundle/src/main.rs", "#![forbid(unsafe_code)]"),
    ] {
        let contents = fs::read_to_string(root().join(crate_root)).expect("the crate's root");
        // A crate without unsafe code may forbid it where it need only deny.
        let stricter = lint.replace("deny", "forbid");
        let says = contents.lines().any(|line| line == lint || line == stricter);
        assert!(says, "{crate_root} must say {lint}");
    }
}

#[test]
fn the_page_builds_no_markup_from_text() {
    let words = [
        "innerHTML",
        "outerHTML =",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function(",
    ];
    never(&sources("www/src", &[".ts", ".tsx"]), &words, "text becomes markup or code");
}

#[test]
fn text_has_the_sizes_of_the_scale() {
    let mut found = Vec::new();
    for (file, sheet) in sources("www/src", &[".css"]) {
        for part in sheet.split(['{', '}', ';']) {
            let declaration = part.rsplit("*/").next().unwrap_or_default().trim();
            let Some((property, value)) = declaration.split_once(':') else { continue };
            let is_size = matches!(property, "font" | "font-size");
            // A percentage is of all text: that of the root.
            let is_on_scale =
                value.contains("var(--text-") || value.ends_with("inherit") || value.ends_with('%');
            if is_size && !is_on_scale {
                found.push(format!("{file}: {declaration}"));
            }
        }
    }
    assert!(found.is_empty(), "not of tokens.css:\n{}", found.join("\n"));
}

/// A file that has grown past this is several things, and wants to be several files.
const LONGEST_FILE: usize = 700;

/// The words of the texts in quotes from one place of a file to another.
fn words_between(file: &str, from: &str, to: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join(file)).expect(file);
    let (_, rest) = text.split_once(from).expect(from);
    let (list, _) = rest.split_once(to).expect(to);
    let quoted = list.split('"').skip(1).step_by(2).flat_map(str::split_whitespace);
    quoted.filter(|word| *word != "\\").map(str::to_owned).collect()
}

#[test]
fn what_counts_as_source_is_the_same_everywhere() {
    let ours = words_between("core/listing/src/source.rs", "const SUFFIXES", ";");
    let pages = words_between("www/src/views/source/sources.ts", "const SUFFIXES", ".split");
    assert_eq!(ours, pages);
    let mut coloured =
        words_between("www/src/views/source/highlighted.ts", "const LANGUAGES", "];\n");
    // Names of the languages stand beside their suffixes.
    let names = ["assembly", "javascript", "kotlin", "python", "rust", "typescript"];
    coloured.retain(|word| !names.contains(&word.as_str()));
    assert_eq!(coloured.difference(&ours).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn files_are_of_a_size_to_be_read() {
    let mut long = Vec::new();
    for folder in ["core", "recorder/src", "web", "tests", "xtask", "www/src"] {
        for (file, contents) in sources(folder, &[".rs", ".ts", ".tsx", ".mjs"]) {
            let lines = contents.lines().count();
            if lines > LONGEST_FILE {
                long.push(format!("{file}: {lines} lines"));
            }
        }
    }
    assert!(long.is_empty(), "longer than {LONGEST_FILE} lines:\n{}", long.join("\n"));
}

#[test]
fn the_npm_lock_names_no_server() {
    let lock = fs::read_to_string(root().join("www/package-lock.json")).expect("the lock");
    let lock: Value = serde_json::from_str(&lock).expect("JSON");
    let packages = lock["packages"].as_object().expect("packages");
    let resolved: HashMap<_, _> =
        packages.iter().filter(|(_, package)| !package["resolved"].is_null()).collect();
    assert!(resolved.is_empty(), "www/.npmrc omits where packages came from: {resolved:?}");
    assert!(packages.len() > 5, "the lock locks");
}

/// The packages of a `Cargo.lock`, with all their versions.
fn locked(file: &str) -> HashMap<String, BTreeSet<String>> {
    let lock = fs::read_to_string(root().join(file)).expect("the lock");
    let mut packages: HashMap<String, BTreeSet<String>> = HashMap::new();
    let mut name = "";
    for line in lock.lines() {
        if let Some(quoted) = line.strip_prefix("name = ") {
            name = quoted.trim_matches('"');
        } else if let Some(version) = line.strip_prefix("version = \"") {
            let versions = packages.entry(name.to_owned()).or_default();
            versions.insert(version.trim_matches('"').to_owned());
        }
    }
    assert!(packages.contains_key("perftab-core"), "{file} locks core");
    packages
}

#[test]
fn the_fuzzers_lock_follows_the_workspaces() {
    let workspace = locked("Cargo.lock");
    for (name, versions) in locked("fuzz/Cargo.lock") {
        let Some(wanted) = workspace.get(&name) else { continue };
        assert!(
            versions.is_subset(wanted),
            "{name} is {versions:?} in fuzz/Cargo.lock and {wanted:?} in Cargo.lock. Make it anew:\n    \
             cp Cargo.lock fuzz/ && cargo tree --quiet --manifest-path fuzz/Cargo.toml"
        );
    }
}

#[test]
fn workflows_name_actions_by_their_digest() {
    // A tag may be moved to other code, a commit may not.
    let mut used = 0;
    for (file, contents) in sources(".github/workflows", &[".yml", ".yaml"]) {
        for line in contents.lines() {
            let Some((_, action)) = line.split_once("uses:") else { continue };
            used += 1;
            let (_, pinned) = action.split_once('@').expect("an action has a version");
            let (digest, version) = pinned.split_once(" # ").unwrap_or((pinned, ""));
            let hex = digest.bytes().filter(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            assert!(
                digest.len() == 40 && hex.count() == 40 && version.starts_with('v'),
                "{file}: not “@40 digits # version”:{action}"
            );
        }
    }
    assert!(used > 0, "no workflow uses an action");
}

#[test]
fn versions_agree() {
    let metadata = metadata();
    let version = text(&members(&metadata)[0]["version"]).to_owned();
    for package in members(&metadata) {
        assert_eq!(text(&package["version"]), version, "{}", package["name"]);
    }
    let changelog: PathBuf = root().join("CHANGELOG.md");
    let changelog = fs::read_to_string(changelog).expect("CHANGELOG.md");
    let heading = format!("## {version}");
    assert!(changelog.lines().any(|line| line.starts_with(&heading)), "no “{heading}” in it");
}

// ---- commits ------------------------------------------------------------------------------

/// What the hook that CONTRIBUTING.md offers says to a message; `None` if it lets it pass.
fn refused(message: &str) -> Option<String> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("commit-msg");
    fs::write(&file, message).expect("the message is written");
    // By its path: Git passes over a hook that nobody may execute.
    let output = Command::new(root().join(".githooks/commit-msg"))
        .arg(&file)
        .output()
        .expect("the hook runs");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.success(), said.is_empty(), "{message:?}: {said}");
    (!output.status.success()).then_some(said)
}

#[test]
fn the_hook_holds_subjects_to_their_form() {
    let longest = format!("docs: {}", "x".repeat(66));
    // Characters count, not bytes.
    let umlauts = format!("docs: {}", "ü".repeat(66));
    let good = [
        "page: say which thread is shown",
        "page: say which thread is shown\n\nBecause nobody knew.\nSee docs.\n",
        "core, web: take the steps of a query by value\n",
        "\n# a comment\ncli: print ids\n# another\n\nWhy.\n",
        "tests: wait\n# ------------------------ >8 ------------------------\ndiff --git a b\n",
        &longest,
        &umlauts,
        "Merge branch 'main' of elsewhere",
        "fixup! page: say which thread is shown",
        "squash! no area",
        "amend! page: say which thread is shown",
        "Revert \"page: say which thread is shown\"\n\nThis reverts commit 0123456.\n",
        "# Git itself refuses an empty message\n",
    ];
    for message in good {
        assert_eq!(refused(message), None, "{message:?}");
    }

    let area = "must begin with its area";
    let bad = [
        ("say which thread is shown".to_owned(), area),
        ("Page: say which thread is shown".to_owned(), area),
        ("page:say which thread is shown".to_owned(), area),
        ("page: ".to_owned(), area),
        ("# page: in a comment\nno area".to_owned(), area),
        ("Reverted a thing".to_owned(), area),
        (format!("{longest}x"), "has 73 characters"),
        (format!("{umlauts}ü\n\nWhy.\n"), "has 73 characters"),
        ("page: say\nwhich thread is shown".to_owned(), "an empty line must follow"),
    ];
    for (message, why) in bad {
        let said = refused(&message).unwrap_or_else(|| panic!("{message:?} passes"));
        assert!(said.contains(why), "{message:?}: {said}");
    }
}
