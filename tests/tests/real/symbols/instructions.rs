//! Instructions of whole programs and libraries: where each begins, its bytes, what it is and where it leads, as `objdump -d`
//! has them.
//!
//! `objdump` begins anew at each symbol, and so does this: all code of a file is compared. Of `.text` it comes through the
//! gate once more, by the functions that perftab finds itself. `$PERFTAB_WHOLE_FILES` names further files, with a colon
//! between two: a vmlinux takes a minute.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftab_images::{FunctionCode, Machine, Svma};
use perftab_listing::instructions::{Instructions, Syntax};
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::program::is_installed;

use crate::symbols::oracle::Code;
use crate::symbols::workbench::{Bench, image, run, text};

/// What differs without doubt.
const ELSEWHERE: &str = "instructions begin elsewhere";
/// Others have other spellings of some: only where instructions begin is compared with theirs.
const SPELLED_BY: &str = "2.40";

/// An instruction as `objdump` has it.
struct Listed {
    address: u64,
    bytes: Vec<u8>,
    text: String,
}

/// What stands below each symbol, in the order of the file.
fn listing(objdump: &str, file: &Path, machine: Machine) -> Vec<Vec<Listed>> {
    let mut pieces = Vec::new();
    for line in run(objdump, &["-d", "-z", "-w", text(file)]).lines() {
        if line.ends_with(">:") {
            pieces.push(Vec::new());
        }
        let Some((address, rest)) = line.trim_start().split_once(":\t") else { continue };
        let address = u64::from_str_radix(address, 16).expect("an address");
        let (digits, text) = rest.split_once('\t').unwrap_or((rest, ""));
        let is_hex = |group: &str| group.bytes().all(|digit| digit.is_ascii_hexdigit());
        let length = if machine == Machine::Aarch64 { 8 } else { 2 };
        // Data among code, which its symbol says is none.
        if !digits.split_whitespace().all(|group| group.len() == length && is_hex(group)) {
            pieces.push(Vec::new());
            continue;
        }
        let byte = |digits: &str| u8::from_str_radix(digits, 16).expect("two digits");
        let bytes = match machine {
            // A word.
            Machine::Aarch64 => (0..4).rev().map(|at| byte(&digits[2 * at..2 * at + 2])).collect(),
            _ => digits.split_whitespace().map(byte).collect(),
        };
        let piece = pieces.last_mut().expect("a symbol before its code");
        piece.push(Listed { address, bytes, text: text.to_owned() });
    }
    pieces.retain(|piece: &Vec<Listed>| !piece.is_empty());
    pieces
}

/// What was compared, and what differs.
#[derive(Default)]
struct Comparison {
    instructions: usize,
    /// That the decoder does not know.
    unknown: Vec<String>,
    wrong: Vec<String>,
}

impl Comparison {
    fn piece(&mut self, piece: &[Listed], machine: Machine) {
        let start = piece[0].address;
        // Two instructions, which `objdump` has for one: that waits for the other.
        if piece.iter().any(|it| it.text.starts_with("finit")) {
            return;
        }
        let bytes = piece.iter().flat_map(|it| it.bytes.iter().copied()).collect();
        let code = FunctionCode { machine, start, start_in_file: Svma(start), bytes };
        let found = Instructions::of(code);
        let starts = found.starts().iter().map(|&at| start + u64::from(at));
        if !starts.eq(piece.iter().map(|it| it.address)) {
            return self.wrong.push(format!("{start:#x}: {ELSEWHERE}"));
        }
        self.instructions += piece.len();
        for (number, listed) in piece.iter().enumerate() {
            let Some(found) = found.instruction_in(Syntax::Att, number) else {
                if !is_no_instruction(&listed.text) {
                    self.unknown.push(listed.text.clone());
                }
                continue;
            };
            let (wanted, shown) = match machine {
                Machine::Aarch64 => (arm(&listed.text), arm(&found.text)),
                _ => (x86(&listed.text), x86(&found.text)),
            };
            if wanted != shown {
                self.wrong.push(format!("{:#x}: {wanted} | {shown}", listed.address));
            }
        }
    }
}

/// Bytes of which `objdump` makes none, too.
fn is_no_instruction(text: &str) -> bool {
    [".byte", "(bad)", "rex."].iter().any(|begin| text.starts_with(begin))
}

/// One spelling of each instruction of x86, of which an assembler makes the same.
fn x86(text: &str) -> String {
    let text = text.split(" <").next().unwrap_or_default().split(" #").next().unwrap_or_default();
    // An address has no sign before it where `objdump` has it.
    let text = text.replace("0x", "").replace(",1)", ")").replace("(%dx)", "%dx");
    let text = text.replace("%ds:(%rsi)", "(%rsi)").replace("%es:(%rdi)", "(%rdi)");
    let mut words: Vec<&str> = text.split_whitespace().collect();
    // Prefixes without effect.
    words.retain(|word| !matches!(*word, "data16" | "cs" | "ds" | "rex.W"));
    for word in &mut words {
        *word = match *word {
            "repe" => "repz",
            "repne" => "repnz",
            word => word,
        };
    }
    let operands = words.pop().unwrap_or_default().to_owned();
    let name = words.pop().unwrap_or_default();
    let name = match name {
        "jmpq" | "callq" | "pushq" | "popq" | "ljmpl" => &name[..name.len() - 1],
        "repz" if operands == "ret" => "rep",
        name => name,
    };
    let operands = operands.replace("%db", "%dr");
    let mut operands = match operands.strip_prefix("0(") {
        Some(rest) => format!("({rest}"),
        None => operands.replace(",0(", ",(").replace(":0(", ":(").replace("*0(", "*("),
    };
    let is_shift = ["sal", "shl", "shr", "sar", "rol", "ror", "rcl", "rcr"];
    if let (true, Some(rest)) =
        (is_shift.iter().any(|it| name.starts_with(it)), operands.strip_prefix("$1,"))
    {
        operands = rest.to_owned();
    }
    // The same register twice.
    let parts: Vec<&str> = operands.split(',').collect();
    if let ("imul" | "imulq" | "imull", [number, from, to]) = (name, &parts[..])
        && from == to
    {
        operands = format!("{number},{to}");
    }
    let is_implied = match name {
        "monitor" | "monitorx" | "mwait" | "mwaitx" => true,
        _ => name.starts_with('f') && matches!(&*operands, "%st,%st(1)" | "%st(1)"),
    };
    if is_implied {
        operands.clear();
    }
    format!("{} {name} {operands}", words.join(" ")).trim().to_owned()
}

/// The same of arm64.
fn arm(text: &str) -> String {
    let text = text.split(['<', '/']).next().unwrap_or_default();
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let words = words.map(arm_operand).collect::<Vec<_>>().join(" ");
    match (name, words.strip_suffix(", 0")) {
        ("b.hs", _) => format!("b.cs {words}"),
        ("b.lo", _) => format!("b.cc {words}"),
        // Registers, hints and operations of the system have names and numbers.
        ("mrs" | "msr" | "hint" | "bti" | "dc" | "sys", _) => "system".to_owned(),
        _ if ["pac", "aut", "xpac"].iter().any(|it| name.starts_with(it)) => "system".to_owned(),
        ("ushll", Some(operands)) => format!("uxtl {operands}"),
        ("sshll", Some(operands)) => format!("sxtl {operands}"),
        ("dup", _) => format!("mov {words}"),
        _ => format!("{name} {words}"),
    }
    .replace("sxtw 0]", "sxtw]")
}

/// Numbers in one form, and one name for each condition.
fn arm_operand(word: &str) -> String {
    let end = word.trim_end_matches([',', ']', '!', '}']);
    let (operand, behind) = word.split_at(end.len());
    let number = operand.strip_prefix('#').unwrap_or(operand);
    let digits = number.strip_prefix('-').unwrap_or(number);
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if operand.starts_with('#') => digits.parse().ok(),
        None => u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() > 3),
    };
    let real = digits.contains('.').then(|| digits.parse::<f64>().ok()).flatten();
    let sign = if number.len() > digits.len() { "-" } else { "" };
    let operand = match (value, real, operand) {
        (Some(value), ..) => format!("{sign}{value}"),
        (_, Some(real), _) => format!("{sign}{real}"),
        (_, _, "hs") => "cs".to_owned(),
        (_, _, "lo") => "cc".to_owned(),
        _ => operand.to_owned(),
    };
    operand + behind
}

/// Number of instructions, and where functions are otherwise than `objdump` has them.
fn through_the_gate(file: &Path, pieces: &[Vec<Listed>]) -> (usize, Vec<String>) {
    let section = Code::of(file);
    let image = image(file);
    let mut bench = Bench::new(image.identity(), &[]);
    bench.admit(image).expect("it is the file recorded");
    let all: BTreeMap<u64, &Listed> = pieces.iter().flatten().map(|it| (it.address, it)).collect();
    let (mut reached, mut wrong) = (0, Vec::new());
    let mut end = 0;
    for piece in pieces {
        let Some(within) = piece[0].address.checked_sub(section.address) else { continue };
        if within >= section.length || piece[0].address < end {
            continue;
        }
        let dso = bench.profile.dsos.get(bench.dso);
        let offset = section.offset + within;
        let Some(code) = bench.images.function_code(bench.dso, dso, offset) else { continue };
        let start = code.start_in_file.0;
        end = start + code.bytes.len() as u64;
        // A symbol within an instruction, as kernels have it on purpose.
        if all.range(start..end).any(|(_, it)| is_no_instruction(&it.text)) {
            continue;
        }
        let found = Instructions::of(code);
        let bytes = &found.code().bytes;
        let places = found.starts().iter().map(|&at| at as usize);
        let ends = places.clone().skip(1).chain([bytes.len()]);
        let ours = places.zip(ends).map(|(from, to)| (start + from as u64, &bytes[from..to]));
        if !ours.eq(all.range(start..end).map(|(at, it)| (*at, &it.bytes[..]))) {
            wrong.push(format!("{start:#x}..{end:#x}"));
        }
        reached += found.len();
    }
    (reached, wrong)
}

/// Compares a file; the least number of instructions says that it was there.
fn compare(objdump: &str, file: &Path, machine: Machine, least: usize) {
    let pieces = listing(objdump, file, machine);
    let mut compared = Comparison::default();
    pieces.iter().for_each(|piece| compared.piece(piece, machine));
    let Comparison { instructions, unknown, mut wrong } = compared;
    let is_spelled =
        run(objdump, &["--version"]).lines().next().is_some_and(|it| it.contains(SPELLED_BY));
    if !is_spelled {
        println!("REDUCED: {TEST}: texts are those of binutils {SPELLED_BY} alone");
        wrong.retain(|it| it.ends_with(ELSEWHERE));
    }
    let first = &wrong[..wrong.len().min(20)];
    assert!(wrong.is_empty(), "{file:?}: {} of {instructions}: {first:#?}", wrong.len());
    assert!(instructions >= least, "{file:?}: {instructions}");
    match machine {
        // The decoder has no vectors of unknown length: `ld1b {z0.b}, p0/z, [x1]`, `cntb x7`.
        Machine::Aarch64 => assert!(unknown.len() * 1000 < instructions, "{unknown:?}"),
        _ => assert_eq!(unknown, [""; 0], "{file:?}"),
    }
    let (reached, wrong) = through_the_gate(file, &pieces);
    assert!(wrong.is_empty(), "{file:?}: {wrong:?}");
    assert!(reached > 0, "{file:?}: no function has a symbol");
    println!("{}: {instructions} instructions, {reached} through the gate", file.display());
}

/// Where a compiler has its C library; `None` if it is not installed.
fn libc_of(gcc: &str) -> Option<PathBuf> {
    let output = Command::new(gcc).arg("-print-file-name=libc.so.6").ended().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.is_absolute().then_some(path)?.canonicalize().ok()
}

const TEST: &str = "instructions_of_whole_files_are_those_of_objdump";

#[test]
#[ignore = "left to --all: some hundred thousand instructions take seconds"]
fn instructions_of_whole_files_are_those_of_objdump() {
    if cfg!(target_arch = "x86_64") && is_installed(TEST, "objdump") {
        let programs = ["bash", "ld.bfd"].map(|name| {
            let places = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
            places.into_iter().find_map(|path| path.canonicalize().ok())
        });
        let files = programs.into_iter().chain([libc_of("gcc")]);
        for (file, name) in files.zip(["bash", "ld.bfd", "libc.so.6"]) {
            match file {
                Some(file) => compare("objdump", &file, Machine::X86_64, 10_000),
                None => println!("SKIPPED: {TEST}: no {name} here"),
            }
        }
        let named = std::env::var_os("PERFTAB_WHOLE_FILES").unwrap_or_default();
        for file in std::env::split_paths(&named).filter(|file| file.is_file()) {
            compare("objdump", &file, Machine::X86_64, 10_000);
        }
    }
    let gcc = "aarch64-linux-gnu-gcc";
    match libc_of(gcc).filter(|_| is_installed(TEST, "aarch64-linux-gnu-objdump")) {
        Some(file) => compare("aarch64-linux-gnu-objdump", &file, Machine::Aarch64, 100_000),
        None => println!("SKIPPED: {TEST}: {gcc} is not installed"),
    }
}
