//! /proc/kallsyms of the running kernel: what of 200,000 lines may be a function.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;

use memchr::memchr;
use perftab_perfdata::format::perftab_section::KernelSymbol;

const PAGE: u64 = 4096;
/// The kernel's own symbols begin before this: what is listed before are places within the data of a CPU.
const MOST_OF_START: usize = 256 << 10;
/// Read at once at most, and no line is longer. The kernel gives a page at a time.
const READ_SIZE: usize = 16 << 10;

/// /proc/kallsyms, `ADDRESS TYPE NAME[\t[MODULE]]` a line, ordered by address.
#[derive(Default)]
pub struct Kallsyms {
    /// `NAME[\t[MODULE]]`, a line each.
    names: Vec<u8>,
    /// Address and where its line begins in `names`. Several with one address stay as listed.
    symbols: Vec<(u64, u32)>,
    /// Where `_text` is, or else `_stext`.
    start: Option<u64>,
    /// Where the kernel's own code is; `None` for modules, or if addresses are hidden.
    pub text: Option<KernelText>,
}

/// The kernel's own code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelText {
    /// The symbol at its start.
    pub reference: &'static str,
    /// First address.
    pub start: u64,
    /// One past the last.
    pub end: u64,
}

/// A function, and its module if it is of one.
pub struct KernelFunction<'a> {
    /// Where it begins.
    pub address: u64,
    /// One past the last of its bytes.
    pub end: u64,
    name: &'a str,
    /// As /proc/modules names it.
    pub module: Option<&'a str>,
}

impl KernelFunction<'_> {
    /// As it is written down.
    pub fn symbol(&self) -> KernelSymbol {
        KernelSymbol {
            address: self.address,
            size: u32::try_from(self.end - self.address).unwrap_or(u32::MAX),
            name: self.name.to_owned(),
        }
    }
}

impl Kallsyms {
    /// Those of a copy of the kernel that runs: a copy may be of another boot, when the kernel lay elsewhere (KASLR). `None` if
    /// the copy does not list what /proc/kallsyms, at `path`, begins with.
    pub fn moved(copy: Vec<u8>, path: &Path) -> Option<Self> {
        let running = Self::parse(&start_of(path)?);
        let mut copy = Self::parse(&copy);
        let (kernel, was) = (running.start()?, copy.start()?);
        let moved = |address| match address >= was {
            true => kernel.wrapping_add(address - was),
            // Places within the data of a CPU come before the kernel, and stay.
            false => address,
        };
        for (address, _) in &mut copy.symbols {
            *address = moved(*address);
        }
        copy.text = copy.text.map(|text| KernelText {
            start: moved(text.start),
            end: moved(text.end),
            ..text
        });
        let is_listed = |(at, other): (&(u64, u32), &(u64, u32))| {
            at.0 == other.0 && running.name(at.1) == copy.name(other.1)
        };
        let is_long = running.symbols.len() <= copy.symbols.len();
        (is_long && running.symbols.iter().zip(&copy.symbols).all(is_listed)).then_some(copy)
    }

    /// Where the kernel begins; `None` if that is hidden.
    fn start(&self) -> Option<u64> {
        self.start.filter(|start| *start > 0)
    }

    /// Reads those of modules, by module.
    pub fn read_modules(path: &Path) -> HashMap<String, Self> {
        let all = fs::read(path).unwrap_or_default();
        let mut lines: HashMap<&[u8], Vec<u8>> = HashMap::new();
        for line in all.split_inclusive(|byte| *byte == b'\n') {
            let Some(tab) = line.iter().rposition(|byte| *byte == b'\t') else { continue };
            let module = line[tab + 1..].trim_ascii_end();
            if let Some(module) = module.strip_prefix(b"[").and_then(|it| it.strip_suffix(b"]")) {
                lines.entry(module).or_default().extend_from_slice(line);
            }
        }
        let parsed = |(module, lines): (&[u8], Vec<u8>)| {
            (String::from_utf8_lossy(module).into_owned(), Self::parse(&lines))
        };
        lines.into_iter().map(parsed).collect()
    }

    /// Reads all that can be read, line by line: more memory, for the whole text, would have to be cleared by the kernel.
    pub fn read(path: &Path) -> Self {
        let mut listed = Listed::default();
        let Ok(mut file) = File::open(path) else { return listed.in_order() };
        let (mut text, mut filled) = (vec![0; READ_SIZE], 0);
        loop {
            filled += match file.read(&mut text[filled..]) {
                Ok(length @ 1..) => length,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Ok(_) | Err(_) => break,
            };
            let left = listed.add(&text[..filled]).len();
            text.copy_within(filled - left..filled, 0);
            filled = left;
        }
        listed.in_order()
    }

    /// Of such a text.
    pub fn parse(text: &[u8]) -> Self {
        let mut listed = Listed::default();
        listed.add(text);
        listed.in_order()
    }

    /// The function with code at the address.
    pub fn function_at(&self, address: u64) -> Option<KernelFunction<'_>> {
        let after = self.symbols.partition_point(|(start, _)| *start <= address);
        let &(start, name_at) = self.symbols.get(after.checked_sub(1)?)?;
        let (name, module) = self.name(name_at)?;
        let end = match self.symbols.get(after) {
            Some(&(next, next_at)) if self.name(next_at).is_some_and(|(_, m)| m == module) => next,
            // The last one of its image: up to the end of its page and the next, as perf has it.
            Some(&(next, _)) => next.min(page_end(start)),
            None => page_end(start),
        };
        (address < end).then_some(KernelFunction { address: start, end, name, module })
    }

    fn name(&self, at: u32) -> Option<(&str, Option<&str>)> {
        let line = self.names.get(at as usize..)?.split(|byte| *byte == b'\n').next()?;
        let text = std::str::from_utf8(line).ok()?;
        Some(match text.split_once('\t') {
            Some((name, module)) => (name, Some(module.trim_matches(['[', ']']))),
            None => (text, None),
        })
    }
}

/// The whole lines that a file begins with, with some behind where the kernel's own begin.
fn start_of(path: &Path) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let mut start = Vec::new();
    // The kernel writes a page at a time, only as far as it is read.
    let mut page = [0; 4096];
    let mut has_text = false;
    while start.len() < MOST_OF_START {
        let length = file.read(&mut page).ok()?;
        if length == 0 {
            break;
        }
        start.extend_from_slice(&page[..length]);
        if has_text {
            break;
        }
        has_text = [&b" _text\n"[..], b" _stext\n"].iter().any(|it| is_in(&start, it));
    }
    start.truncate(start.iter().rposition(|byte| *byte == b'\n')? + 1);
    Some(start)
}

fn is_in(text: &[u8], what: &[u8]) -> bool {
    text.windows(what.len()).any(|at| at == what)
}

fn page_end(start: u64) -> u64 {
    start.checked_next_multiple_of(PAGE).and_then(|end| end.checked_add(PAGE)).unwrap_or(u64::MAX)
}

/// What lines say, as they come.
#[derive(Default)]
struct Listed {
    names: Vec<u8>,
    symbols: Vec<(u64, u32)>,
    text: Option<u64>,
    stext: Option<u64>,
    etext: Option<u64>,
}

impl Listed {
    /// Takes whole lines; gives back what is left.
    fn add<'a>(&mut self, mut text: &'a [u8]) -> &'a [u8] {
        while let Some(end) = memchr(b'\n', text) {
            let (line, rest) = text.split_at(end + 1);
            if let (Some((address, name)), Ok(at)) = (symbol(line), self.names.len().try_into()) {
                match name {
                    b"_text\n" => self.text = Some(address),
                    b"_stext\n" => self.stext = Some(address),
                    b"_etext\n" => self.etext = Some(address),
                    _ => {}
                }
                self.symbols.push((address, at));
                self.names.extend_from_slice(name);
            }
            text = rest;
        }
        text
    }

    fn in_order(self) -> Kallsyms {
        let Self { names, mut symbols, text, stext, etext } = self;
        // Those of modules follow the kernel's own; the order of equals must stay.
        symbols.sort_by_key(|(address, _)| *address);
        let start = text.map(|at| ("_text", at)).or(stext.map(|at| ("_stext", at)));
        let place = start.map(|(_, address)| address);
        let text = start.zip(etext).and_then(|((reference, start), end)| {
            // Zeros: hidden by kptr_restrict.
            (start > 0 && end > start).then_some(KernelText { reference, start, end })
        });
        Kallsyms { names, symbols, start: place, text }
    }
}

/// Address and `NAME[\t[MODULE]]\n`, if the line is of a kind that perf shows too: code, data, weak.
fn symbol(line: &[u8]) -> Option<(u64, &[u8])> {
    let (digits, rest) = line.split_first_chunk()?;
    let [b' ', kind, b' ', name @ ..] = rest else { return None };
    // Names with a dollar mark kinds of data on ARM.
    if !matches!(kind.to_ascii_uppercase(), b'T' | b'W' | b'D' | b'B') || *name.first()? == b'$' {
        return None;
    }
    Some((address(digits)?, name))
}

/// Without a branch for each digit: digits and letters alternate, so a processor guesses wrong half of the time, which took
/// a third of what it takes to read all lines.
fn address(digits: &[u8; 16]) -> Option<u64> {
    let are_digits = digits.iter().fold(true, |all, digit| all & digit.is_ascii_hexdigit());
    // The lower four bits of a letter count from one.
    let value = |digit: u8| u64::from((digit & 0xf) + 9 * (digit >> 6));
    let number = digits.iter().fold(0, |number, &digit| number << 4 | value(digit));
    are_digits.then_some(number)
}
