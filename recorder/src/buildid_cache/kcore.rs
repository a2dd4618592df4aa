//! Copies of a kernel's code as it ran, patched and with its modules in place:
//! `[kernel.kcore]/ID/TIME/{kcore,kallsyms,modules}`.
//!
//! /proc/kcore is an ELF file of all memory; only the ranges that hold functions are copied, each
//! as a segment at its address (tools/perf/util/symbol-elf.c, `kcore_copy`, Linux 6.1). Unlike
//! perf's copies ours carry the build-id as a note, so that they can be checked.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use perftab_core::stamped_kallsyms;
use perftab_perfdata::format::BuildId;
use perftab_perfdata::format::elf_note::build_id_of_elf;
use perftab_perfdata::text::stamp;

use super::content::may_be_named;
use super::lookup::names_in;
use super::store::StoreOutcome;
use super::{Cache, OtherContent};
use crate::file_source::FileSource;
use crate::images::local;
use crate::scratch;

/// The folder of all of them, below the root.
const FOLDER: &str = "[kernel.kcore]";
const PAGE: u64 = 4096;
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
/// Memory of the largest machines has a few thousand ranges.
const SEGMENTS_MAX: usize = 65_536;
/// x86-64 maps a kernel and its modules into 2 GiB.
const CODE_MAX: u64 = 2 << 30;
/// A kernel has at most some hundreds of modules.
const CODE_SEGMENTS_MAX: usize = 10_000;

/// What a copy is made of.
pub struct Kcore {
    /// The memory, as /proc/kcore has it.
    pub memory: File,
    /// As in /proc/kallsyms.
    pub kallsyms: Vec<u8>,
    /// As in /proc/modules.
    pub modules: Vec<u8>,
}

/// A copy in the cache.
pub struct KcoreEntry {
    /// The kernel, by the name of the folder.
    pub id: BuildId,
    /// The folder of the copy.
    pub path: PathBuf,
    /// What it holds instead, if that can be told and is another kernel.
    pub spoiled: Option<OtherContent>,
}

impl Cache {
    /// Copies the code of a kernel, unless there is a copy of the same with the same modules in
    /// the same places, or the user insists.
    pub fn store_kcore(&self, id: BuildId, kcore: &Kcore, force: bool) -> io::Result<StoreOutcome> {
        let folder = self.root.join(FOLDER).join(id.to_string());
        let is_there = |name: &String| is_same(&folder.join(name), kcore);
        if !force && names_in(&folder).iter().any(is_there) {
            return Ok(StoreOutcome::Already);
        }
        let ranges = code_ranges(&kcore.kallsyms);
        let segments = segments_of(&kcore.memory, &ranges)?;
        if segments.is_empty() {
            return Err(io::Error::other("it has no kernel code that kallsyms lists"));
        }
        fs::create_dir_all(&folder)?;
        let passing = UnnamedFolder::create(&self.root)?;
        write_memory(&passing.file("kcore")?, id, &kcore.memory, &segments)?;
        passing.file("kallsyms")?.write_all(&stamped_kallsyms(id, &kcore.kallsyms))?;
        passing.file("modules")?.write_all(&kcore.modules)?;
        passing.rename_into(&folder)?;
        Ok(StoreOutcome::New)
    }

    /// Every copy.
    pub fn kcores(&self) -> Vec<KcoreEntry> {
        let mut entries = Vec::new();
        for name in names_in(&self.root.join(FOLDER)) {
            let Some(id) = BuildId::from_hex(&name) else { continue };
            let folder = self.root.join(FOLDER).join(&name);
            for time in names_in(&folder) {
                let path = folder.join(time);
                let Some(file) = local::open_regular(&path.join("kcore")) else { continue };
                let found = FileSource::new(file).ok().and_then(|it| build_id_of_elf(&it));
                let spoiled =
                    found.filter(|&found| !may_be_named(id, found)).map(OtherContent::Build);
                entries.push(KcoreEntry { id, path, spoiled });
            }
        }
        entries
    }

    /// The newest copy of a kernel's memory that says itself that it is of this kernel, which perf's do not.
    pub fn kernel_memory(&self, id: BuildId) -> Option<(PathBuf, File)> {
        let folder = self.root.join(FOLDER).join(id.to_string());
        let mut times = names_in(&folder);
        times.sort_unstable();
        times.iter().rev().find_map(|time| {
            let path = folder.join(time).join("kcore");
            let file = local::open_regular(&path)?;
            let source = FileSource::new(file.try_clone().ok()?).ok()?;
            (build_id_of_elf(&source) == Some(id)).then_some((path, file))
        })
    }

    /// Removes the copies of a kernel.
    pub fn remove_kcores(&self, id: BuildId) -> io::Result<()> {
        match fs::remove_dir_all(self.root.join(FOLDER).join(id.to_string())) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Whether a copy has the same modules in the same places, and the kernel in the same place.
fn is_same(copy: &Path, kcore: &Kcore) -> bool {
    let (Ok(modules), Ok(kallsyms)) =
        (fs::read(copy.join("modules")), fs::read(copy.join("kallsyms")))
    else {
        return false;
    };
    copy.join("kcore").is_file()
        && places_of_modules(&modules) == places_of_modules(&kcore.modules)
        && start_of_kernel(&kallsyms) == start_of_kernel(&kcore.kallsyms)
}

/// Name and address of each line of /proc/modules; the other columns count users and the like.
fn places_of_modules(modules: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut places: Vec<_> = lines(modules)
        .filter_map(|line| {
            let mut columns = line.split(|&byte| byte == b' ');
            Some((columns.next()?, columns.nth(4)?))
        })
        .collect();
    places.sort_unstable();
    places
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

/// A line of kallsyms.
struct Symbol<'a> {
    address: u64,
    is_code: bool,
    name: &'a [u8],
    /// What it belongs to, if not the kernel itself.
    module: Option<&'a [u8]>,
}

fn symbols(kallsyms: &[u8]) -> impl Iterator<Item = Symbol<'_>> {
    lines(kallsyms).filter_map(|line| {
        let mut columns = line.splitn(3, |&byte| byte == b' ');
        let address = u64::from_str_radix(str::from_utf8(columns.next()?).ok()?, 16).ok()?;
        let is_code = matches!(columns.next()?, b"t" | b"T" | b"w" | b"W");
        let mut rest = columns.next()?.splitn(2, |&byte| byte == b'\t');
        Some(Symbol { address, is_code, name: rest.next()?, module: rest.next() })
    })
}

fn start_of_kernel(kallsyms: &[u8]) -> Option<u64> {
    let of_kernel = || symbols(kallsyms).filter(|symbol| symbol.module.is_none());
    let named = |name: &[u8]| of_kernel().find(|symbol| symbol.name == name);
    named(b"_text").or_else(|| named(b"_stext")).map(|symbol| symbol.address)
}

/// Pages with functions: the kernel's from `_stext` to `_etext`, and of each module from its first
/// to its last symbol. Programs of BPF and trampolines come and go and are left out.
fn code_ranges(kallsyms: &[u8]) -> Vec<Range<u64>> {
    let mut kernel = (None, None);
    let mut modules: std::collections::BTreeMap<&[u8], Range<u64>> = Default::default();
    for symbol in symbols(kallsyms).filter(|symbol| symbol.address != 0) {
        match (symbol.name, symbol.module) {
            (b"_stext", None) => kernel.0 = Some(symbol.address),
            (b"_etext", None) => kernel.1 = Some(symbol.address),
            (_, Some(b"[bpf]")) => {}
            (_, Some(module)) if symbol.is_code && !module.starts_with(b"[__builtin__") => {
                let range = modules.entry(module).or_insert(symbol.address..symbol.address);
                range.start = range.start.min(symbol.address);
                range.end = range.end.max(symbol.address.saturating_add(1));
            }
            _ => {}
        }
    }
    let kernel = kernel.0.zip(kernel.1).map(|(start, end)| start..end);
    let mut ranges: Vec<Range<u64>> =
        kernel.into_iter().chain(modules.into_values()).filter_map(whole_pages).collect();
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|later, earlier| {
        let overlaps = later.start <= earlier.end;
        if overlaps {
            earlier.end = earlier.end.max(later.end);
        }
        overlaps
    });
    ranges
}

fn whole_pages(range: Range<u64>) -> Option<Range<u64>> {
    let end = range.end.checked_next_multiple_of(PAGE)?;
    Some(range.start & !(PAGE - 1)..end).filter(|range| !range.is_empty())
}

/// A piece of memory that is in the file.
struct Segment {
    address: u64,
    physical: u64,
    offset: u64,
    size: u64,
}

/// Where the ranges stand in a kcore.
fn segments_of(memory: &File, ranges: &[Range<u64>]) -> io::Result<Vec<Segment>> {
    let mut header = [0; HEADER];
    memory.read_exact_at(&mut header, 0)?;
    let class_and_order = if cfg!(target_endian = "little") { [2, 1] } else { [2, 2] };
    if header[..4] != *b"\x7fELF" || header[4..6] != class_and_order {
        return Err(io::Error::other("it is not a 64-bit ELF file"));
    }
    let table = word64(&header, 32);
    let entry_size = u64::from(word16(&header, 54));
    let count = usize::from(word16(&header, 56)).min(SEGMENTS_MAX);
    if (entry_size as usize) < PROGRAM_HEADER {
        return Err(io::Error::other("its program headers are damaged"));
    }
    let mut segments = Vec::new();
    for index in 0..count as u64 {
        let mut entry = [0; PROGRAM_HEADER];
        let at = table.checked_add(index * entry_size).ok_or(io::ErrorKind::InvalidData)?;
        memory.read_exact_at(&mut entry, at)?;
        if word32(&entry, 0) != PT_LOAD {
            continue;
        }
        let start = word64(&entry, 16);
        let Some(end) = start.checked_add(word64(&entry, 32)) else { continue };
        for range in ranges {
            let (from, to) = (range.start.max(start), range.end.min(end));
            if from < to {
                segments.push(Segment {
                    address: from,
                    physical: word64(&entry, 24).wrapping_add(from - start),
                    offset: word64(&entry, 8).wrapping_add(from - start),
                    size: to - from,
                });
            }
        }
    }
    segments.sort_by_key(|segment| segment.address);
    // One piece of memory may be in several segments.
    segments.dedup_by_key(|segment| segment.address);
    let size = segments.iter().fold(0, |size: u64, segment| size.saturating_add(segment.size));
    if size > CODE_MAX || segments.len() > CODE_SEGMENTS_MAX {
        return Err(io::Error::other("its kallsyms has more code than a kernel can have"));
    }
    Ok(segments)
}

/// Writes an ELF core of a note with the build-id, and the segments.
fn write_memory(out: &File, id: BuildId, memory: &File, segments: &[Segment]) -> io::Result<()> {
    let mut note = Vec::new();
    let id = id.as_bytes();
    for number in [4, id.len() as u32, 3] {
        note.extend(number.to_ne_bytes());
    }
    note.extend(b"GNU\0");
    note.extend(id);
    note.resize(note.len().next_multiple_of(4), 0);

    let mut source = [0; HEADER];
    memory.read_exact_at(&mut source, 0)?;
    let count = segments.len() as u16 + 1;
    let headers = (HEADER + PROGRAM_HEADER * usize::from(count)) as u64;
    let mut head = header(&source, count);
    head.extend(program_header(PT_NOTE, 4, headers, (0, 0), note.len() as u64));
    let mut offset = (headers + note.len() as u64).next_multiple_of(PAGE);
    for segment in segments {
        let addresses = (segment.address, segment.physical);
        head.extend(program_header(PT_LOAD, 5, offset, addresses, segment.size));
        offset += segment.size;
    }
    head.extend(note);
    out.write_all_at(&head, 0)?;
    let mut offset = (head.len() as u64).next_multiple_of(PAGE);
    for segment in segments {
        copy(out, offset, memory, segment)?;
        offset += segment.size;
    }
    Ok(())
}

/// Of a core file for the machine that `source` is of (include/uapi/linux/elf.h).
fn header(source: &[u8; HEADER], count: u16) -> Vec<u8> {
    const ET_CORE: u16 = 4;
    let mut header = source.to_vec();
    header[16..18].copy_from_slice(&ET_CORE.to_ne_bytes());
    header[24..32].fill(0); // no entry point
    header[32..40].copy_from_slice(&(HEADER as u64).to_ne_bytes());
    header[40..48].fill(0); // no sections
    header[52..54].copy_from_slice(&(HEADER as u16).to_ne_bytes());
    header[54..56].copy_from_slice(&(PROGRAM_HEADER as u16).to_ne_bytes());
    header[56..58].copy_from_slice(&count.to_ne_bytes());
    header[58..64].fill(0);
    header
}

fn program_header(
    kind: u32,
    flags: u32,
    offset: u64,
    (address, physical): (u64, u64),
    size: u64,
) -> Vec<u8> {
    let mut header = [kind.to_ne_bytes(), flags.to_ne_bytes()].concat();
    let align = if kind == PT_LOAD { PAGE } else { 4 };
    for number in [offset, address, physical, size, size, align] {
        header.extend(number.to_ne_bytes());
    }
    header
}

/// Copies page by page: one that can't be read, since nothing is there any more, is left zero.
fn copy(out: &File, offset: u64, memory: &File, segment: &Segment) -> io::Result<()> {
    const BLOCK: u64 = 16 * PAGE;
    let mut done = 0;
    while done < segment.size {
        let mut block = vec![0; (segment.size - done).min(BLOCK) as usize];
        if memory.read_exact_at(&mut block, segment.offset.saturating_add(done)).is_err() {
            for (index, page) in block.chunks_mut(PAGE as usize).enumerate() {
                let at = segment.offset.saturating_add(done + index as u64 * PAGE);
                if memory.read_exact_at(page, at).is_err() {
                    page.fill(0);
                }
            }
        }
        out.write_all_at(&block, offset + done)?;
        done += block.len() as u64;
    }
    Ok(())
}

fn word16(bytes: &[u8], at: usize) -> u16 {
    let mut word = [0; 2];
    word.copy_from_slice(&bytes[at..at + 2]);
    u16::from_ne_bytes(word)
}

fn word32(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_ne_bytes(word)
}

fn word64(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_ne_bytes(word)
}

/// A folder that is removed unless it gets its name.
struct UnnamedFolder(PathBuf);

impl UnnamedFolder {
    fn create(root: &Path) -> io::Result<Self> {
        let path = root.join(format!("{}{}", scratch::PASSING, scratch::unique_suffix()));
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    /// For its owner alone: it tells where the kernel is.
    fn file(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).mode(0o400).open(self.0.join(name))
    }

    /// Names it after now, or what is free next: two copies may be made at once.
    fn rename_into(&self, folder: &Path) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let later = |steps: u64| now + Duration::from_millis(10 * steps);
        let mut names = (0..1000).map(|steps| stamp(later(steps).as_nanos() as u64));
        let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::DirectoryNotEmpty;
        loop {
            let name = names.next().ok_or(io::ErrorKind::AlreadyExists)?;
            match fs::rename(&self.0, folder.join(name)) {
                Err(error) if is_taken(&error) => {}
                renamed => return renamed,
            }
        }
    }
}

impl Drop for UnnamedFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_whole_pages_of_code() {
        let kallsyms = b"ffffffff81000010 T _stext\nffffffff81002010 T _etext\n\
            ffffffff82000000 d data\nffffffffc0000100 t a\t[one]\nffffffffc0000f00 t b\t[one]\n\
            ffffffffc0001000 t c\t[two]\nffffffffc0100000 d d\t[two]\nffffffffc0200000 t p\t[bpf]\n\
            0000000000000000 t z\t[two]\nnot a line\n";
        assert_eq!(
            code_ranges(kallsyms),
            [
                0xffff_ffff_8100_0000..0xffff_ffff_8100_3000,
                0xffff_ffff_c000_0000..0xffff_ffff_c000_2000
            ]
        );
        assert!(code_ranges(b"").is_empty());
        assert!(code_ranges(b"ffffffffffffffff T _stext\nffffffffffffffff T _etext").is_empty());
    }
}
