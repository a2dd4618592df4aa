//! What binutils say of a file.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use perftab_tests::child_process::end_of;

use crate::symbols::workbench::{run, text};

/// The bytes of `.text`: its address in the file's own space, its offset and its length.
pub struct Code {
    pub address: u64,
    pub offset: u64,
    pub length: u64,
}

impl Code {
    /// By `readelf` of the file that was mapped.
    pub fn of(file: &Path) -> Self {
        Self::section(file, ".text").expect("there is code")
    }

    pub fn section(file: &Path, name: &str) -> Option<Self> {
        let listing = run("readelf", &["-SW", text(file)]);
        let line = listing.lines().find(|line| line.contains(&format!("] {name} ")))?;
        let fields: Vec<_> = line.split(']').nth(1)?.split_whitespace().collect();
        let hex = |field: &str| u64::from_str_radix(field, 16).ok();
        Some(Self { address: hex(fields[2])?, offset: hex(fields[3])?, length: hex(fields[4])? })
    }

    /// File offsets of every `step`th byte.
    pub fn offsets(&self, step: usize) -> Vec<u64> {
        (self.offset..self.offset + self.length).step_by(step).collect()
    }

    /// From a file offset in it to the address that the file uses.
    pub fn address_of(&self, offset: u64) -> u64 {
        offset - self.offset + self.address
    }
}

/// The build-id by `readelf -n`.
pub fn build_id(file: &Path) -> String {
    let notes = run("readelf", &["-n", text(file)]);
    let (_, rest) = notes.split_once("Build ID: ").expect("there is a build-id");
    rest.split_whitespace().next().expect("with digits").to_owned()
}

/// Functions by `nm`: where each begins and ends, and its name (demangled if asked for).
pub struct Functions(Vec<(u64, u64, String)>);

impl Functions {
    pub fn of(file: &Path, flags: &[&str]) -> Self {
        let mut arguments = vec!["-S", "--defined-only"];
        arguments.extend(flags);
        arguments.push(text(file));
        let listing = run("nm", &arguments);
        let hex = |field: &str| u64::from_str_radix(field, 16).ok();
        let functions = listing.lines().filter_map(|line| {
            let fields: Vec<_> = line.splitn(4, ' ').collect();
            let [start, size, kind, name] = fields[..] else { return None };
            let start = hex(start)?;
            let is_code = matches!(kind, "t" | "T" | "w" | "W" | "i");
            is_code.then(|| Some((start, start + hex(size)?, name.to_owned())))?
        });
        Self(functions.collect())
    }

    /// All names that cover an address.
    pub fn at(&self, address: u64) -> Vec<&str> {
        let within = |(start, end, _): &&(u64, u64, String)| (*start..*end).contains(&address);
        self.0.iter().filter(within).map(|(_, _, name)| name.as_str()).collect()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// What a program prints for what it reads.
fn answers(program: &str, arguments: &[&str], questions: String) -> String {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let mut input = child.stdin.take().expect("it reads");
    let writer = std::thread::spawn(move || input.write_all(questions.as_bytes()));
    let output = end_of(child, program);
    writer.join().expect("no panic").expect("all is written");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// C++ names by `c++filt`, in the same order. Those that it cannot read stay as they are.
pub fn demangled(mangled: &[String]) -> Vec<String> {
    let questions = mangled.iter().flat_map(|name| [name.as_str(), "\n"]).collect();
    answers("c++filt", &["--no-verbose"], questions).lines().map(str::to_owned).collect()
}

/// One level as `addr2line` prints it.
pub type Level = (String, String, Option<u32>);

/// Inline levels by `addr2line -f -i -C`, outermost first, for each address.
pub fn inline_levels(file: &Path, addresses: &[u64]) -> HashMap<u64, Vec<Level>> {
    let wanted = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
    let printed = answers("addr2line", &["-e", text(file), "-a", "-f", "-i", "-C"], wanted);

    let mut levels: HashMap<u64, Vec<Level>> = HashMap::new();
    let mut current = 0;
    let mut lines = printed.lines();
    while let Some(line) = lines.next() {
        if let Some(address) = line.strip_prefix("0x") {
            current = u64::from_str_radix(address, 16).expect("an address");
            continue;
        }
        let place = lines.next().expect("a function has a place");
        let place = place.split(" (discriminator").next().unwrap_or(place);
        let (path, number) = place.rsplit_once(':').expect("a place has a line");
        let level = (line.to_owned(), path.to_owned(), number.parse().ok());
        levels.entry(current).or_default().insert(0, level);
    }
    levels
}

/// The same by `llvm-symbolizer`, in the order of the addresses.
pub fn levels_by_llvm(file: &Path, addresses: &[u64]) -> Vec<Vec<Level>> {
    let wanted = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
    let printed = answers("llvm-symbolizer", &["--inlines", "-e", text(file)], wanted);
    let levels = |block: &str| {
        let lines: Vec<&str> = block.lines().collect();
        let (pairs, _) = lines.as_chunks::<2>();
        let level = |[function, place]: &[&str; 2]| {
            let (place, _column) = place.rsplit_once(':').expect("a place has a column");
            let (path, line) = place.rsplit_once(':').expect("and a line");
            let line = line.parse().ok().filter(|&line| line != 0);
            ((*function).to_owned(), path.to_owned(), line)
        };
        pairs.iter().rev().map(level).collect()
    };
    printed.trim_end().split("\n\n").map(levels).collect()
}
