//! `perftab annotate`: shares of instructions as in `perf annotate`, their lines as `addr2line` has them, and no text of a
//! source that was not compiled.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use perftab_core::session::Session;
use perftab_core::{DsoRef, FunctionRef, Inlines, Query};
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::program::is_installed;
use perftab_tests::servers::Debuginfod;
use perftab_tests::{perftab_at, perftab_binary};
use serde_json::Value;

use super::place_texts::{RecordedProgram, lines};

impl RecordedProgram {
    fn annotated(&self, arguments: &[&str]) -> (String, String) {
        let arguments = [&["annotate", "perf.data"], arguments].concat();
        let output = perftab_at(&self.folder, &arguments).ended().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        (String::from_utf8(output.stdout).expect("text"), said)
    }

    fn output_of(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(program);
        let output = command.args(arguments).current_dir(&*self.folder).ended().expect(program);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The functions of the program, of which each has code of its own.
    fn functions(&self) -> Vec<Value> {
        let (json, _) = self.annotated(&["--json", "--dso", "workload"]);
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let functions = json["functions"].as_array().expect("functions").clone();
        assert!(!functions.is_empty(), "{json}");
        functions
    }
}

fn address(instruction: &Value) -> u64 {
    let text = instruction["address"].as_str().and_then(|text| text.strip_prefix("0x"));
    u64::from_str_radix(text.expect("an address"), 16).expect("an address")
}

/// `   11.76 :   1270:   push   %rbp`, in hundredths of a percent.
fn share_of_perf(line: &str) -> Option<(u64, u64)> {
    let (share, rest) = line.split_once(" :")?;
    let (address, _) = rest.trim_start().split_once(':')?;
    let hundredths = share.trim().replace('.', "").parse().ok()?;
    Some((u64::from_str_radix(address, 16).ok()?, hundredths))
}

#[test]
fn shares_of_instructions_are_those_of_perf() {
    let test = "shares_of_instructions_are_those_of_perf";
    if !is_installed(test, "perf") || !is_installed(test, "objdump") {
        return;
    }
    let recorded = RecordedProgram::new();
    for function in recorded.functions() {
        let name = function["name"].as_str().expect("a name");
        let arguments = ["annotate", "-i", "perf.data", "--stdio", "-d", "workload", "-s", name];
        let listing = recorded.output_of("perf", &arguments);
        let wanted: BTreeMap<u64, u64> = listing.lines().filter_map(share_of_perf).collect();
        let whole = function["self"].as_u64().expect("a weight") as f64;
        let share = |instruction: &Value| {
            let weight = instruction["weight"].as_u64().expect("a weight") as f64;
            (address(instruction), (10_000.0 * weight / whole).round() as u64)
        };
        let instructions = function["instructions"].as_array().expect("instructions");
        let found: BTreeMap<u64, u64> = instructions.iter().map(share).collect();
        assert!(wanted.values().any(|share| *share > 0), "{listing}");
        assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>(), "{name}");
        for (address, share) in found {
            // perf prints what it rounds on its own.
            assert!(
                share.abs_diff(wanted[&address]) <= 1,
                "{name} {address:#x}: {share} {listing}"
            );
        }
    }
}

/// `-n` and `-M`.
#[test]
fn samples_and_syntax_of_instructions_are_those_of_perf() {
    let test = "samples_and_syntax_of_instructions_are_those_of_perf";
    if !is_installed(test, "perf")
        || !is_installed(test, "objdump")
        || cfg!(not(target_arch = "x86_64"))
    {
        return;
    }
    let recorded = RecordedProgram::new();
    // By address. Operands are written in more than one way: att has `%` before registers.
    let instructions = |listing: String| -> BTreeMap<String, (u64, String, bool)> {
        let rows = listing.lines().filter_map(|line| {
            // perf has a colon behind the samples, too.
            let line = line.replacen(" :", " ", 1);
            let (beside, text) = line.split_once(":  ")?;
            let beside: Vec<&str> = beside.split([' ', ':']).filter(|it| !it.is_empty()).collect();
            let (address, samples) = beside.split_last()?;
            let samples = samples.first().map_or(Some(0), |number| number.parse().ok())?;
            // What it refers to may have any text.
            let text = text.split('#').next()?;
            let what = text.split_whitespace().next()?.to_owned();
            Some(((*address).to_owned(), (samples, what, text.contains('%'))))
        });
        rows.filter(|(address, _)| u64::from_str_radix(address, 16).is_ok()).collect()
    };
    let perftab = perftab_binary();
    for function in recorded.functions() {
        let name = function["name"].as_str().expect("a name");
        for syntax in ["att", "intel"] {
            let asked = ["annotate", "-i", "perf.data", "--stdio", "-n", "-M", syntax, "-s", name];
            let theirs = recorded.output_of("perf", &[&asked[..], &["-d", "workload"]].concat());
            let ours = [&asked[..], &["--asm"]].concat();
            let ours = recorded.output_of(perftab.to_str().expect("a path"), &ours);
            let (ours, theirs) = (instructions(ours), instructions(theirs));
            assert!(ours.values().any(|(samples, ..)| *samples > 0), "{name}: {ours:?}");
            assert_eq!(ours, theirs, "{name} {syntax}");
        }
    }
}

#[test]
fn lines_are_those_of_addr2line() {
    if !is_installed("lines_are_those_of_addr2line", "addr2line") {
        return;
    }
    let recorded = RecordedProgram::new();
    let program = recorded.program.to_str().expect("text");
    let mut known = 0;
    for function in recorded.functions() {
        let instructions = function["instructions"].as_array().expect("instructions");
        let addresses: Vec<&str> =
            instructions.iter().map(|it| it["address"].as_str().expect("an address")).collect();
        let listing = recorded.output_of("addr2line", &[&["-e", program], &addresses[..]].concat());
        for (instruction, line) in instructions.iter().zip(listing.lines()) {
            let line = line.split(" (discriminator").next().unwrap_or_default();
            if let (Some(file), Some(number)) =
                (instruction["file"].as_str(), instruction["line"].as_u64())
            {
                assert_eq!(format!("{file}:{number}"), line, "{instruction}");
                known += 1;
            } else {
                assert!(line.ends_with('?') || line.ends_with(":0"), "{line}: {instruction}");
            }
        }
        // What ended in lines is what ended in the function.
        let sum = |rows: &str| {
            let rows = function[rows].as_array().expect("rows").iter();
            rows.map(|row| row["samples"].as_u64().expect("a number")).sum::<u64>()
        };
        assert_eq!(sum("instructions"), function["self_samples"].as_u64().expect("a number"));
        assert!(sum("lines") <= sum("instructions"));
    }
    assert!(known > 20, "{known}");
}

/// What objdump writes behind `#`, by address: `lea rdi,[rip+0xea8]        # 200f <key>`.
fn names_by_objdump(listing: &str) -> BTreeMap<u64, String> {
    let name = |line: &str| {
        let (address, rest) = line.trim_start().split_once(":\t")?;
        let (_, refers) = rest.split_once(" # ")?;
        let (_, name) = refers.trim_end().strip_suffix('>')?.split_once(" <")?;
        Some((u64::from_str_radix(address, 16).ok()?, name.to_owned()))
    };
    listing.lines().filter_map(name).collect()
}

/// Variables as objdump has them, and texts that stand in the program.
#[test]
#[cfg(target_arch = "x86_64")]
fn instructions_say_what_data_they_refer_to() {
    if !is_installed("instructions_say_what_data_they_refer_to", "objdump") {
        return;
    }
    let text = r#"
        #include <stdio.h>
        static const char banner[] = "banner\x1b";
        volatile unsigned key_schedule[64];
        int main(int count, char **words) {
            for (unsigned n = 0; n < 60000000; n++) key_schedule[7] += n;
            FILE *to = fopen("/dev/null", "w");
            fputs("say \"so\"\n", to);
            fputs("this text is longer than what is shown of one", to);
            fputs(banner, to);
            fwrite(key_schedule, 4, count, to);
            return words[0] == banner;
        }"#;
    for is_fixed in [false, true] {
        let folder = TestFolder::new();
        let source = folder.write("data.c", text.as_bytes());
        let program = folder.join("data");
        let mut gcc = Command::new("gcc");
        let place = if is_fixed { ["-no-pie", "-fno-pie"] } else { ["-pie", "-fPIE"] };
        gcc.args(["-O1", "-fno-builtin", "-Wl,--build-id"]).args(place).arg(&source);
        assert!(gcc.arg("-o").arg(&program).exit_status().expect("gcc runs").success());
        let recorded = RecordedProgram::of(folder, program);
        let (json, _) = recorded.annotated(&["--json", "main"]);
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let instructions = json["functions"][0]["instructions"].as_array().expect("instructions");
        let said = |it: &Value| Some((address(it), it["refers_to"].as_str()?.to_owned()));
        let said: BTreeMap<u64, String> = instructions.iter().filter_map(said).collect();
        let texts: Vec<&str> = said.values().map(String::as_str).collect();
        let escaped = [
            r#""/dev/null""#,
            r#""say \"so\"\n""#,
            r#""this text is longer than what is shown o"…"#,
            r#"banner "banner\u{1b}""#,
            "key_schedule",
        ];
        for wanted in escaped {
            assert!(texts.contains(&wanted), "{wanted}: {texts:?}");
        }
        let listing = recorded.output_of("objdump", &["-d", "-w", "--no-show-raw-insn", "data"]);
        let by_objdump = names_by_objdump(&listing);
        let mut compared = 0;
        for (at, name) in &said {
            let Some(wanted) = by_objdump.get(at).filter(|_| !name.starts_with('"')) else {
                continue;
            };
            assert_eq!(name.split(" \"").next(), Some(wanted.as_str()), "{at:#x}");
            compared += 1;
        }
        assert!(compared >= 1, "{said:?} {listing}");
        let (listing, _) = recorded.annotated(&["main"]);
        assert!(listing.contains(r#"  # "say \"so\"\n""#), "{listing}");
    }
}

#[test]
fn source_stands_above_its_instructions_unless_it_was_changed() {
    let recorded = RecordedProgram::new();
    let function = &recorded.functions()[0];
    let name = function["name"].as_str().expect("a name");
    let lines = function["lines"].as_array().expect("lines");
    let texts: BTreeSet<&str> =
        lines.iter().map(|line| line["text"].as_str().expect("a text").trim()).collect();
    let (listing, said) = recorded.annotated(&[name]);
    assert!(said.contains("workload.c: not checked: no MD5"), "{said}");
    let is_there = |listing: &str, text: &str| listing.lines().any(|row| row.ends_with(text));
    assert!(texts.iter().all(|text| is_there(&listing, text)), "{texts:?} {listing}");
    let (of_source, _) = recorded.annotated(&["-S", name]);
    assert!(texts.iter().all(|text| is_there(&of_source, text)), "{texts:?} {of_source}");
    assert!(of_source.lines().count() < listing.lines().count());
    let (of_code, said) = recorded.annotated(&["--asm", name]);
    assert!(!said.contains("workload.c") && !of_code.contains("workload.c"), "{said} {of_code}");

    let path = recorded.folder.join("workload.c");
    let file = File::options().write(true).open(&path).expect("it opens");
    file.set_modified(SystemTime::now() + Duration::from_secs(60)).expect("a time");
    let (listing, said) = recorded.annotated(&["--symbol", name]);
    assert!(said.contains("changed after the binary was built"), "{said}");
    let texts = texts.iter().filter(|text| text.len() > 3);
    assert!(texts.clone().count() > 0);
    assert!(texts.clone().all(|text| !is_there(&listing, text)), "{listing}");
}

/// `script` of util-linux gives a command a terminal.
#[test]
fn a_terminal_has_a_pager_and_colours() {
    if !is_installed("a_terminal_has_a_pager_and_colours", "script") {
        return;
    }
    let recorded = RecordedProgram::new();
    let program = perftab_binary();
    let on_terminal = |options: &str, variables: &[(&str, &str)]| {
        let command = format!("{} annotate perf.data {options}", program.display());
        let mut script = Command::new("script");
        script.args(["-q", "-e", "-c", &command, "/dev/null"]).current_dir(&*recorded.folder);
        script.env_remove("NO_COLOR").env("PERFTAB_PAGER", "sed 's/^/paged: /'");
        script.envs(variables.iter().copied());
        let output = script.stdin(Stdio::null()).ended().expect("script runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let paged = on_terminal("", &[]);
    assert!(paged.contains("paged: # cpu-clock") && paged.contains("\x1b[31m"), "{paged}");
    // What is said of sources comes once the pager has ended.
    let said = paged.rfind("perftab: ").expect("it is said");
    assert!(paged.rfind("paged: ").expect("rows") < said, "{paged}");
    for options in ["--stdio", "--json"] {
        assert!(!on_terminal(options, &[]).contains("paged: "), "{options}");
    }
    // One that fails before it reads loses nothing; one that has read something has shown what it wanted.
    for (pager, is_shown) in [("false", true), ("cat >/dev/null; false", false)] {
        let printed = on_terminal("", &[("PERFTAB_PAGER", pager)]);
        let rows = printed.matches("# cpu-clock").count();
        assert_eq!(rows, usize::from(is_shown), "{pager}: {printed}");
    }
    let plain = on_terminal("--stdio", &[("NO_COLOR", "1")]);
    assert!(plain.contains("# cpu-clock") && !plain.contains("\x1b[31m"), "{plain}");
}

#[test]
fn what_cannot_be_annotated_says_why() {
    let recorded = RecordedProgram::new();
    let fails = |arguments: &[&str]| {
        let arguments = [&["annotate"], arguments].concat();
        let output = perftab_at(&recorded.folder, &arguments).ended().expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(fails(&["no_such_function"]).contains("there is no function no_such_function"));
    let name = recorded.functions()[0]["name"].as_str().expect("a name").to_owned();
    let (_, part) = name.split_at(1);
    let said = fails(&[part]);
    assert!(said.contains("these have it in their names: ") && said.contains(&name), "{said}");
    let nobody = fails(&["perf.data", &name, "--comm", "nobody"]);
    assert!(nobody.contains(&format!("no sample that is left ended in {name}")), "{nobody}");
    let output = perftab_at(&recorded.folder, &["share", "perf.data", "-o", "link.txt"]).ended();
    assert!(output.expect("it runs").status.success());
    let linked = fails(&["link.txt", &name]);
    assert!(linked.contains("a link has none of whole functions"), "{linked}");
}

/// One path, of which two libraries were compiled from two contents.
#[test]
fn a_source_is_checked_for_each_file_that_was_compiled_from_it() {
    let folder = TestFolder::new();
    let now = SystemTime::now();
    let set_time = |name: &str, seconds: u64| {
        let file = File::options().write(true).open(folder.join(name)).expect("it opens");
        file.set_modified(now - Duration::from_secs(seconds)).expect("a time");
    };
    let gcc = |arguments: &[&str]| {
        let status = Command::new("gcc").args(arguments).current_dir(&*folder).exit_status();
        assert!(status.expect("gcc runs").success(), "gcc {arguments:?}");
    };
    let write =
        |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("it is written");
    let source = folder.join("both.c").to_str().expect("text").to_owned();
    for (function, age) in [("older", 300), ("newer", 100)] {
        let body = "volatile unsigned n = 150000000;\n  while (n > 0) n--;";
        write("both.c", &format!("void {function}(void) {{\n  {body}\n}}\n"));
        set_time("both.c", age + 50);
        let library = format!("lib{function}.so");
        gcc(&["-g", "-O1", "-shared", "-fPIC", "-Wl,--build-id", &source, "-o", &library]);
        set_time(&library, age);
    }
    let main = "void older(void); void newer(void); int main(void) { older(); newer(); }";
    write("main.c", main);
    gcc(&["main.c", "-L.", "-lolder", "-lnewer", "-Wl,-rpath,$ORIGIN", "-o", "both"]);
    let recorded = RecordedProgram::of(folder, "./both".into());
    let (json, said) = recorded.annotated(&["--json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let functions = json["functions"].as_array().expect("functions");
    for (name, is_shown) in [("older", false), ("newer", true)] {
        let function = functions.iter().find(|function| function["name"] == name).expect(name);
        let lines = function["lines"].as_array().expect("lines");
        assert!(
            !lines.is_empty() && lines.iter().all(|line| line["text"].is_string() == is_shown),
            "{function}"
        );
    }
    assert!(said.contains("both.c: lines stay without text: changed after the binary"), "{said}");
}

/// The program's own path has no source any more: one is below another folder, and a server has it.
#[test]
fn a_source_is_found_below_a_prefix_and_at_a_server() {
    let recorded = RecordedProgram::new();
    let name = recorded.functions()[0]["name"].as_str().expect("a name").to_owned();
    let texts = |arguments: &[&str]| -> (Value, Vec<Value>) {
        let program = recorded.program.to_str().expect("text");
        let here = ["--json", "--no-local", "--image", program, &name];
        let (json, _) = recorded.annotated(&[&here[..], arguments].concat());
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let function = &json["functions"][0];
        let lines = function["lines"].as_array().expect("lines").iter();
        let texts = lines.map(|line| line["text"].clone()).collect();
        (function["sources"][0]["checked_by"].clone(), texts)
    };
    let (by, without) = texts(&[]);
    assert!(by.is_null() && without.iter().all(Value::is_null), "{without:?}");

    let elsewhere = TestFolder::new();
    let path = recorded.folder.join("workload.c");
    let strip = path.components().count() - 2;
    std::fs::copy(&path, elsewhere.join("workload.c")).expect("a copy");
    let copied = File::options().write(true).open(elsewhere.join("workload.c")).expect("it opens");
    copied.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("a time");
    let prefix = elsewhere.to_str().expect("text");
    let (by, moved) = texts(&["--prefix", prefix, "--prefix-strip", &strip.to_string()]);
    assert_eq!(by, "time");
    assert!(moved.iter().all(Value::is_string), "{moved:?}");
    // As in a repository that was just cloned.
    copied.set_modified(SystemTime::now() + Duration::from_secs(60)).expect("a time");
    let (by, cloned) = texts(&["--prefix", prefix, "--prefix-strip", &strip.to_string()]);
    assert_eq!(by, "place");
    assert_eq!(cloned, moved);

    let Some(server) = Debuginfod::start(&recorded.folder) else {
        println!("SKIPPED: a_source_is_found_at_a_server: debuginfod is not installed");
        return;
    };
    let (by, of_server) = texts(&["--debuginfod", &server.url()]);
    assert_eq!(by, "server");
    assert_eq!(of_server, moved);

    // A link tells it, too, where source is told.
    let program = recorded.program.to_str().expect("text");
    let here = ["--include", "source", "--no-local", "--image", program];
    let (link, _) = recorded.link(&here);
    assert_eq!(lines(&link, "workload.c"), BTreeMap::new());
    let (link, _) = recorded.link(&[&here[..], &["--debuginfod", &server.url()]].concat());
    assert!(!lines(&link, "workload.c").is_empty());
}

/// With the source in the debug information, nothing else is needed, nor believed.
#[test]
fn a_source_in_the_debug_information_is_shown_without_its_file() {
    let test = "a_source_in_the_debug_information_is_shown_without_its_file";
    if !is_installed(test, "clang") {
        return;
    }
    let folder = TestFolder::new();
    let text = "int main(void) {\n  volatile unsigned n = 150000000; // counted down\n  while (n > 0) n--;\n}\n";
    let source = folder.write("gone.c", text.as_bytes());
    let program = folder.join("workload");
    let mut clang = Command::new("clang");
    clang.args(["-gdwarf-5", "-gembed-source", "-O1", "-Wl,--build-id"]).arg(&source);
    assert!(clang.arg("-o").arg(&program).exit_status().expect("clang runs").success());
    folder.write("gone.c", b"int main(void) { /* another */ }\n");
    let recorded = RecordedProgram::of(folder, program);
    let functions = recorded.functions();
    assert_eq!(functions[0]["sources"][0]["checked_by"], "md5");
    let lines = functions[0]["lines"].as_array().expect("lines");
    let wanted: Vec<&str> = text.lines().collect();
    assert!(lines.len() > 1);
    for line in lines {
        let number = line["line"].as_u64().expect("a number") as usize;
        assert_eq!(line["text"], wanted[number - 1], "{line}");
    }
}

/// `perf annotate` finds a function of C++ by the name that it prints, which has no parameters.
#[test]
fn names_may_be_without_parameters() {
    let test = "names_may_be_without_parameters";
    if !is_installed(test, "g++") || !is_installed(test, "perf") {
        return;
    }
    let folder = TestFolder::new();
    let source = r#"
        namespace ns { template <class T> struct box {
            __attribute__((noinline)) unsigned spin(T count, const char *) {
                volatile unsigned n = count; while (n > 0) n--; return n;
            }
        }; }
        int main() { ns::box<unsigned> it; return it.spin(150000000, ""); }"#;
    let source = folder.write("spin.cpp", source.as_bytes());
    let program = folder.join("spin");
    let mut compiler = Command::new("g++");
    compiler.args(["-g", "-O0", "-Wl,--build-id"]).arg(&source).arg("-o").arg(&program);
    assert!(compiler.exit_status().expect("g++ runs").success());
    let recorded = RecordedProgram::of(folder, program);
    let by_perf =
        recorded.output_of("perf", &["report", "-i", "perf.data", "--stdio", "-g", "none"]);
    let short = "ns::box<unsigned int>::spin";
    assert!(by_perf.lines().any(|line| line.trim_end().ends_with(short)), "{by_perf}");
    let (listing, _) = recorded.annotated(&[short]);
    assert!(listing.contains(&format!("# {short} in ")), "{listing}");
    assert!(listing.contains(&format!(" <{short}+0x")), "{listing}");
    let (json, _) = recorded.annotated(&["--json", short]);
    let whole = format!("{short}(unsigned int, char const*)");
    assert!(json.contains(&format!("\"name\":\"{whole}\"")), "{json}");
    assert_eq!(recorded.annotated(&["--json", &whole]).0, json);
}

/// By address of an innermost frame: the line of the program that stands below it. Of the address what is within a page:
/// perf prints some as they are in the file.
fn lines_of_leaves(printed: &str) -> BTreeMap<u64, String> {
    let lines: Vec<&str> = printed.lines().collect();
    let mut found = BTreeMap::new();
    let mut is_leaf = true;
    for pair in lines.windows(2) {
        let address = pair[0].strip_prefix('\t').and_then(|frame| frame.split_whitespace().next());
        let address = address.and_then(|text| u64::from_str_radix(text, 16).ok());
        if let (true, Some(address), Some(line)) = (is_leaf, address, pair[1].strip_prefix("  ")) {
            let is_of_program = line.starts_with("workload.c:");
            found.extend(is_of_program.then(|| (address & 0xfff, line.to_owned())));
        }
        is_leaf = address.is_none() && !pair[0].starts_with("  ");
    }
    found
}

/// `   62.98%           296  inlined.c:3`, with numbers of samples.
fn samples_by_line(printed: &str, file: &str) -> BTreeMap<String, u64> {
    let row = |line: &str| {
        let mut words = line.split_whitespace().rev();
        let place = words.next().filter(|place| place.starts_with(file))?;
        let samples = words.next()?.replace(',', "").parse().ok()?;
        (samples > 0).then(|| (place.to_owned(), samples))
    };
    printed.lines().filter_map(row).collect()
}

/// The line of an instruction, and not of the call that was inlined.
#[test]
fn lines_of_inlined_code_are_those_of_perf() {
    if !is_installed("lines_of_inlined_code_are_those_of_perf", "perf") {
        return;
    }
    let folder = TestFolder::new();
    let source = "static inline __attribute__((always_inline)) unsigned spin(unsigned n) {\n\
                  volatile unsigned left = n;\n\
                  while (left > 0)\n\
                  left--;\n\
                  return left;\n\
                  }\n\
                  int main(void) {\n\
                  return spin(150000000);\n\
                  }\n";
    let source = folder.write("inlined.c", source.as_bytes());
    let program = folder.join("inlined");
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O1", "-Wl,--build-id"]).arg(&source).arg("-o").arg(&program);
    assert!(gcc.exit_status().expect("gcc runs").success());
    let recorded = RecordedProgram::of(folder, program);
    let of_perf = ["report", "-i", "perf.data", "--no-children", "-g", "none", "--stdio", "-n"];
    let by_perf =
        recorded.output_of("perf", &[&of_perf[..], &["--no-inline", "--sort", "srcline"]].concat());
    let wanted = samples_by_line(&by_perf, "inlined.c:");
    assert!(wanted.len() > 1, "{by_perf}");
    let arguments = ["report", "perf.data", "--no-inline", "-F", "sample,srcline"];
    let ours = perftab_at(&recorded.folder, &arguments).ended().expect("it runs").stdout;
    let ours = String::from_utf8_lossy(&ours).into_owned();
    assert_eq!(samples_by_line(&ours, "inlined.c:"), wanted, "{ours}");
    let arguments = ["script", "perf.data", "-F", "+srcline", "--full-source-path"];
    let ours = perftab_at(&recorded.folder, &arguments).ended().expect("it runs").stdout;
    let whole = format!("\n  {}:3\n", source.display());
    assert!(String::from_utf8_lossy(&ours).contains(&whole), "{whole}");
    // A link of it says the same of the function, with what stands there, and what is inlined.
    let (payload, _) = recorded.payload(&["--include", "source"]);
    let mut link = Session::from_snapshot(&payload).expect("it opens");
    let (_, dso) =
        link.profile().dsos.iter().find(|(_, dso)| dso.name() == "inlined").expect("it ran");
    let main = FunctionRef { dso: DsoRef::of(dso), name: Some("main".to_owned()), address: None };
    let merged = Query { inlines: Inlines::Merged, ..Query::default() };
    let hot = link.hot_lines(&merged, &main).expect("it tells of it");
    let lines =
        hot.lines.iter().filter_map(|row| Some((format!("inlined.c:{}", row.line?), row.samples)));
    assert_eq!(lines.collect::<BTreeMap<_, _>>(), wanted);
    let hottest = hot.lines.iter().max_by_key(|row| row.weight).and_then(|row| row.text.as_deref());
    let told = ["while (left > 0)", "left--;"].map(Some);
    assert!(told.contains(&hottest), "{hottest:?}");
    let (of_spin, own): (Vec<_>, Vec<_>) =
        hot.instructions.iter().partition(|row| row.inlined_function.as_deref() == Some("spin"));
    assert!(of_spin.iter().all(|row| row.line < Some(7)), "{of_spin:?}");
    assert!(own.iter().all(|row| row.line > Some(6)), "{own:?}");
}

#[test]
fn lines_of_samples_are_those_of_perf() {
    if !is_installed("lines_of_samples_are_those_of_perf", "perf") {
        return;
    }
    let recorded = RecordedProgram::new();
    let by_perf =
        recorded.output_of("perf", &["script", "-i", "perf.data", "-F", "comm,ip,sym,srcline"]);
    let arguments = ["script", "perf.data", "-F", "+srcline"];
    let ours = perftab_at(&recorded.folder, &arguments).ended().expect("it runs").stdout;
    let (wanted, found) =
        (lines_of_leaves(&by_perf), lines_of_leaves(&String::from_utf8_lossy(&ours)));
    assert!(wanted.len() > 5, "{by_perf}");
    assert_eq!(found, wanted);
}
