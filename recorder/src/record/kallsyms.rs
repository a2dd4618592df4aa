//! /proc/kallsyms of the running kernel: what of 200,000 lines may be a function.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use memchr::{memchr, memmem, memrchr};
use perftab_perfdata::format::perftab_section::KernelSymbol;

const PAGE: u64 = 4096;
/// The kernel's own symbols begin before this: what is listed before are places within the data of a CPU.
const MOST_OF_START: usize = 256 << 10;
/// Digits of an address.
const DIGITS: usize = 16;

/// /proc/kallsyms, `ADDRESS TYPE NAME[\t[MODULE]]` a line. The kernel's own come first, ordered by address; then those of
/// modules, of tracing and of BPF programs.
///
/// Of 100,000 lines a recording needs some hundred. So the kernel's own are searched as they are listed: to read each line
/// took as long as all else that a short recording takes outside of the kernel.
#[derive(Default)]
pub struct Kallsyms {
    /// Whole lines.
    lines: Vec<u8>,
    /// Where those of the kernel itself end.
    own_end: usize,
    /// Address of each of the others, and where its line begins. Several with one address stay as listed.
    others: Vec<(u64, usize)>,
    /// Where the kernel's own symbols are.
    place: Place,
    /// Where the kernel's own code is; `None` for modules, or if addresses are hidden.
    pub text: Option<KernelText>,
}

/// Where the kernel's own symbols are, which a copy lists where they were. Both 0 if they are where they are listed.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Where the kernel begins.
    start: u64,
    /// Where it began as they were listed.
    listed_start: u64,
}

impl Place {
    /// Places within the data of a CPU are listed before the kernel, and stay.
    fn of_listed(self, address: u64) -> u64 {
        match address.checked_sub(self.listed_start) {
            Some(offset) => self.start.wrapping_add(offset),
            None => address,
        }
    }

    /// Where one at the address, or the last before it, is listed.
    fn listed_at(self, address: u64) -> u64 {
        match address.checked_sub(self.start) {
            Some(offset) => self.listed_start.saturating_add(offset),
            None => address.min(self.listed_start.saturating_sub(1)),
        }
    }
}

/// A line that may be of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Symbol<'a> {
    address: u64,
    /// `NAME[\t[MODULE]]`.
    name: &'a [u8],
}

impl<'a> Symbol<'a> {
    fn parts(self) -> Option<(&'a str, Option<&'a str>)> {
        let name = std::str::from_utf8(self.name).ok()?;
        Some(match name.split_once('\t') {
            Some((name, module)) => (name, Some(module.trim_matches(['[', ']']))),
            None => (name, None),
        })
    }
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
        let running = Self::of(start_of(path)?);
        let mut copy = Self::of(copy);
        let (start, listed_start) = (running.start()?, copy.start()?);
        copy.place = Place { start, listed_start };
        copy.text = copy.text.map(|text| KernelText {
            start: copy.place.of_listed(text.start),
            end: copy.place.of_listed(text.end),
            ..text
        });
        let is_of_running = {
            let mut listed = copy.own_from(0);
            running.own_from(0).all(|symbol| listed.next() == Some(symbol))
        };
        is_of_running.then_some(copy)
    }

    /// Where the kernel begins, as listed; `None` if that is hidden.
    fn start(&self) -> Option<u64> {
        Some(self.reference()?.1)
    }

    /// The symbol at the kernel's beginning, and its address.
    fn reference(&self) -> Option<(&'static str, u64)> {
        let of = |reference| Some((reference, self.own_named(reference)?));
        // Zeros: hidden by kptr_restrict.
        of("_text").or_else(|| of("_stext")).filter(|(_, start)| *start > 0)
    }

    /// Reads those of modules, by module.
    pub fn read_modules(path: &Path) -> HashMap<String, Self> {
        let all = fs::read(path).unwrap_or_default();
        let mut lines: HashMap<&[u8], Vec<u8>> = HashMap::new();
        for line in all.split_inclusive(|byte| *byte == b'\n') {
            let Some(tab) = memrchr(b'\t', line) else { continue };
            let module = line[tab + 1..].trim_ascii_end();
            if let Some(module) = module.strip_prefix(b"[").and_then(|it| it.strip_suffix(b"]")) {
                lines.entry(module).or_default().extend_from_slice(line);
            }
        }
        let parsed = |(module, lines): (&[u8], Vec<u8>)| {
            (String::from_utf8_lossy(module).into_owned(), Self::of(lines))
        };
        lines.into_iter().map(parsed).collect()
    }

    /// Reads all that can be read.
    pub fn read(path: &Path) -> Self {
        let mut lines = Vec::new();
        let _ = File::open(path).and_then(|mut file| file.read_to_end(&mut lines));
        Self::of(lines)
    }

    /// Of the whole lines of such a text.
    fn of(mut lines: Vec<u8>) -> Self {
        lines.truncate(memrchr(b'\n', &lines).map_or(0, |end| end + 1));
        let own_end = memchr(b'\t', &lines).map_or(lines.len(), |tab| line_start(&lines, tab));
        let mut read = Self { lines, own_end, ..Self::default() };
        read.leave_out_trampolines();
        let mut at = read.own_end;
        while let Some(length) = memchr(b'\n', &read.lines[at..]) {
            read.others.extend(symbol(&read.lines[at..at + length]).map(|it| (it.address, at)));
            at += length + 1;
        }
        // The order of equals must stay.
        read.others.sort_by_key(|(address, _)| *address);
        read.text = read.own_text();
        read
    }

    /// Linux 4.19 lists a trampoline for each CPU behind all that is its own, and they lie before that.
    fn leave_out_trampolines(&mut self) {
        let Some(start) = self.start() else { return };
        while let Some(last) = self.own_end.checked_sub(1) {
            let line = line_start(&self.lines, last);
            if symbol(&self.lines[line..last]).is_none_or(|last| last.address >= start) {
                return;
            }
            self.own_end = line;
        }
    }

    fn own_text(&self) -> Option<KernelText> {
        let (reference, start) = self.reference()?;
        let end = self.own_named("_etext")?;
        (end > start).then_some(KernelText { reference, start, end })
    }

    /// Where a symbol of the kernel itself is listed.
    fn own_named(&self, name: &str) -> Option<u64> {
        let own = &self.lines[..self.own_end];
        let found = memmem::find(own, format!(" {name}\n").as_bytes())?;
        Some(symbol(&own[line_start(own, found)..found + 1 + name.len()])?.address)
    }

    /// The function with code at the address.
    pub fn function_at(&self, address: u64) -> Option<KernelFunction<'_>> {
        let split = self.own_after(self.place.listed_at(address));
        let other = self.others.partition_point(|(start, _)| *start <= address);
        let before = [self.own_before(split), other.checked_sub(1).and_then(|at| self.other(at))];
        // What is listed last has the name, where several begin.
        let found = before.into_iter().flatten().max_by_key(|symbol| symbol.address)?;
        let after = [self.own_from(split).next(), self.other(other)];
        let next = after.into_iter().flatten().min_by_key(|symbol| symbol.address);
        let (start, (name, module)) = (found.address, found.parts()?);
        let end = match next {
            Some(next) if next.parts().is_some_and(|(_, of)| of == module) => next.address,
            // The last one of its image: up to the end of its page and the next, as perf has it.
            Some(next) => next.address.min(page_end(start)),
            None => page_end(start),
        };
        (address < end).then_some(KernelFunction { address: start, end, name, module })
    }

    fn other(&self, index: usize) -> Option<Symbol<'_>> {
        let line = &self.lines[self.others.get(index)?.1..];
        symbol(&line[..memchr(b'\n', line)?])
    }

    /// Where the first line of the kernel's own is that is listed behind the address.
    fn own_after(&self, listed: u64) -> usize {
        let own = &self.lines[..self.own_end];
        let digits = format!("{listed:0DIGITS$x}");
        let (mut from, mut to) = (0, own.len());
        while from < to {
            let middle = from + (to - from) / 2;
            let start = from + line_start(&own[from..], middle - from);
            let end = memchr(b'\n', &own[middle..to]).map_or(to, |length| middle + length + 1);
            match own[start..end].get(..DIGITS) {
                Some(address) if address > digits.as_bytes() => to = start,
                _ => from = end,
            }
        }
        from
    }

    /// The last of the kernel's own in the lines before this one.
    fn own_before(&self, mut line: usize) -> Option<Symbol<'_>> {
        while let Some(end) = line.checked_sub(1) {
            line = line_start(&self.lines, end);
            let before = symbol(&self.lines[line..end]);
            if before.is_some() {
                return before.map(|it| self.placed(it));
            }
        }
        None
    }

    /// The kernel's own from this line on.
    fn own_from(&self, line: usize) -> impl Iterator<Item = Symbol<'_>> {
        let mut left = &self.lines[line..self.own_end];
        let lines = std::iter::from_fn(move || {
            let (line, rest) = left.split_at_checked(memchr(b'\n', left)? + 1)?;
            left = rest;
            line.split_last()
        });
        lines.filter_map(|(_, line)| symbol(line)).map(|it| self.placed(it))
    }

    fn placed<'a>(&self, listed: Symbol<'a>) -> Symbol<'a> {
        Symbol { address: self.place.of_listed(listed.address), ..listed }
    }
}

/// What a file begins with, up to some lines behind where the kernel's own begin.
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
        has_text = [" _text\n", " _stext\n"]
            .iter()
            .any(|it| memmem::find(&start, it.as_bytes()).is_some());
    }
    Some(start)
}

fn page_end(start: u64) -> u64 {
    start.checked_next_multiple_of(PAGE).and_then(|end| end.checked_add(PAGE)).unwrap_or(u64::MAX)
}

/// Where the line begins that this byte is in.
fn line_start(text: &[u8], at: usize) -> usize {
    memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1)
}

/// What a line says, if it is of a kind that perf shows too: code, data, weak.
fn symbol(line: &[u8]) -> Option<Symbol<'_>> {
    let (digits, rest) = line.split_first_chunk::<DIGITS>()?;
    let [b' ', kind, b' ', name @ ..] = rest else { return None };
    // Names with a dollar mark kinds of data on ARM.
    if !matches!(kind.to_ascii_uppercase(), b'T' | b'W' | b'D' | b'B') || *name.first()? == b'$' {
        return None;
    }
    let digits = std::str::from_utf8(digits).ok()?;
    Some(Symbol { address: u64::from_str_radix(digits, 16).ok()?, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Address, name and module of each that may be a function, in order of address.
    fn read_line_by_line(text: &str) -> Vec<(u64, &str, Option<&str>)> {
        let symbols = text.lines().filter_map(|line| {
            let [address, kind, name] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let (name, module) = match name.split_once('\t') {
                Some((name, module)) => (name, Some(module.trim_matches(['[', ']']))),
                None => (name, None),
            };
            let may_be = "tTwWdDbB".contains(kind) && !name.starts_with('$');
            may_be.then(|| (u64::from_str_radix(address, 16).expect("an address"), name, module))
        });
        let mut symbols: Vec<_> = symbols.collect();
        symbols.sort_by_key(|symbol| symbol.0);
        symbols
    }

    /// All functions are found at their ends and in the middle, and nothing else there; the first line is no symbol's.
    fn says_what_lines_say(text: &str) {
        let kallsyms = Kallsyms::of(format!("# about it\n{text}").into_bytes());
        let symbols = read_line_by_line(text);
        assert!(symbols.len() > 5);
        for (at, &(start, name, module)) in symbols.iter().enumerate() {
            let next = symbols.get(at + 1);
            // As perf has it of the last symbol: the address rounded up to a page, and a page.
            let page_after = start.div_ceil(4096) * 4096 + 4096;
            let end = match next {
                Some(&(next, _, of)) if of == module => next,
                Some(&(next, ..)) => next.min(page_after),
                None => page_after,
            };
            // Of several at one address, the last has it.
            if start < end {
                for address in [start, start + (end - start) / 2, end - 1] {
                    let found = kallsyms.function_at(address).expect("a function");
                    let said = (found.address, found.end, found.name, found.module);
                    assert_eq!(said, (start, end, name, module), "{address:x}");
                }
            }
            if next.is_none_or(|next| end < next.0) {
                assert!(kallsyms.function_at(end).is_none(), "{end:x}");
            }
        }
    }

    #[test]
    fn functions_are_those_of_the_lines_around_wherever_these_stand() {
        let mut text = String::from(
            "0000000000000000 A of_cpu\n0000000000006000 d also_of_cpu\nffffffff81000000 T _stext\n",
        );
        let mut random = 7_u64;
        let mut kernel = 0xffff_ffff_8100_0000_u64;
        for at in 0..3000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let kind = ["t", "T", "r", "a", "W", "B"][(random >> 33) as usize % 6];
            let dollar = if random >> 40 & 15 == 0 { "$" } else { "" };
            let longer = "x".repeat((random >> 50) as usize % 90);
            text += &format!("{kernel:016x} {kind} {dollar}f{at}{longer}\n");
            kernel += (random >> 45) % 40;
        }
        says_what_lines_say(&text);
        // Of Linux 4.19.
        for cpu in 0..4_u64 {
            let address = 0xffff_fe00_0000_6000 + cpu * 0x2b000;
            text += &format!("{address:016x} t __entry_SYSCALL_64_trampoline\n");
        }
        says_what_lines_say(&text);
        // Those of a module are as its file has them.
        for (module, place) in
            [("ext4", 0xffff_ffff_c010_0000_u64), ("btrfs", 0xffff_ffff_c000_0000)]
        {
            for at in 0..200_u64 {
                let address = place + at * 7919 % 200 * 24;
                text += &format!("{address:016x} t m{at}\t[{module}]\n");
            }
        }
        text += "ffffffffc0900000 t bpf_prog_12ab\t[bpf]\n";
        says_what_lines_say(&text);
        // Of this machine, where it lets us.
        let own = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        if Kallsyms::of(own.clone().into_bytes()).text.is_some() {
            says_what_lines_say(&own);
        }
    }
}
