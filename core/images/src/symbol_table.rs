//! The functions of an ELF file by address: `.symtab`, or what a stripped file has instead
//! (`embedded_symbols.rs`), `.dynsym` and the procedure linkage table. Its objects are a table of their own,
//! which only data accesses want.
//!
//! Which of several names at one address is chosen, which entries count as functions and how far
//! one without a size reaches follow perf (tools/perf/util/symbol.c and symbol-elf.c, Linux 6.1),
//! so that a function has the same self weight here as in `perf report`. What differs is where perf's
//! answer depends on the shape of its tree or is wrong:
//!
//! - where symbols overlap, the one that begins last (the innermost) has the address;
//! - a symbol without a size ends at the end of its section, and not in the next one, or where a
//!   function begins that has no symbol (it is hidden, and can be unwound or has debug information);
//! - a function comes before an indirect one (IFUNC) at its address: that one's resolver runs there, and
//!   what it chooses runs elsewhere;
//! - absolute symbols and the assembler's own labels (`.L3`) name nothing;
//! - an entry of the linkage table is named after what it jumps to (`plt.rs`), not after its position.
//!
//! Names stay where they are in the string table; only those that are hit are ever decoded.

use std::cmp::Reverse;

use object::elf::{self, SymbolBind, SymbolType};
use perftab_dsos::CodeChange;
use perftab_perfdata::decode::ReadError;
use perftab_perfdata::sorting::sort_by_numbers;

use super::address::Svma;
use super::code_ranges::CodeRanges;
use super::code_table::CodeTable;
use super::disjoint_ranges::disjoint;
use super::dwarf::{Budget, over_budget};
use super::elf::{Elf, RawSymbol, Section, text_at};
use super::embedded_symbols;
use super::function_starts;
use super::go::GoFunctions;
use super::image::{Content, Image};
use super::inline_frames::InlineFrames;
use super::kernel_module::ModuleLayout;
use super::matched_image::MatchedImage;
use super::plt::{PltEntry, plt_entries};

/// Of names at one address that differ in nothing else, no more than this is compared.
const MAX_COMPARED: usize = 1024;
/// Tables with more symbols than this are cut (Chromium with all symbols has 2 million).
const MAX_SYMBOLS: usize = 32 << 20;

/// A function as the linker knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Its name, still mangled, without the version that a linker wrote behind it.
    pub name: &'a str,
    /// Where it begins.
    pub start: Svma,
    /// Where it ends (exclusive).
    pub end: Svma,
    /// True for an entry of the procedure linkage table, shown as `name@plt`.
    pub kind: SymbolKind,
    /// Its position in the table: the same symbol has the same.
    pub index: u32,
}

/// What a symbol names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// The function itself.
    Function,
    /// The jump to the function in another DSO.
    Plt,
}

/// All functions of one file: 24 bytes each, 12 more for each range, and the names.
#[derive(Debug, Default)]
pub struct SymbolTable {
    entries: Vec<Entry>,
    /// Disjoint ranges in ascending order, as columns: where each begins …
    starts: Vec<u64>,
    /// … and the entry that has it, or [`NOTHING`].
    owners: Vec<u32>,
    /// The string tables, one after the other.
    strings: Vec<u8>,
    references: References,
    addresses: Addresses,
    /// How long its files are together.
    file_bytes: u64,
}

/// Where the symbols are that recordings of kernels refer to.
#[derive(Clone, Copy, Debug, Default)]
struct References {
    text: Option<u64>,
    stext: Option<u64>,
    etext: Option<u64>,
}

/// What the addresses of a table are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Addresses {
    /// Those that the file was linked for; DWARF has the same.
    #[default]
    AsLinked,
    /// Those in memory.
    AtRunTime,
}

/// An ELF file whose symbols have addresses.
struct ElfFile<'a> {
    image: &'a Image,
    elf: &'a Elf,
    /// Of a kernel module.
    layout: Option<ModuleLayout>,
}

impl<'a> ElfFile<'a> {
    fn of(image: &'a Image) -> Option<Self> {
        let elf = image.elf()?;
        let layout = ModuleLayout::of(elf);
        (elf.kind != elf::ET_REL || layout.is_some()).then_some(Self { image, elf, layout })
    }
}

impl ElfFile<'_> {
    /// Whether a symbol of a section lies in it; in relocatable files its value counts from there.
    fn holds(&self, section: &Section, symbol: &RawSymbol) -> bool {
        let base = if self.layout.is_some() { 0 } else { section.address };
        symbol.value.checked_sub(base).is_some_and(|offset| offset < section.size)
    }
}

/// In [`SymbolTable::owners`]: a gap.
const NOTHING: u32 = u32::MAX;

/// What symbols are read of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Functions,
    /// Variables and tables; not those of threads, which have no address of their own.
    Objects,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    end: u64,
    name: u32,
    rank: Rank,
}

/// What decides between names at one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rank {
    bind: SymbolBind,
    kind: SymbolType,
    table: Table,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Table {
    /// `.symtab`, or a list of symbols.
    Symbols,
    /// `.dynsym`.
    Dynamic,
    Plt,
}

impl SymbolTable {
    /// Reads the symbol tables of one build: of a binary, a separate debug file, or both. Each
    /// table is taken from the first image that has it.
    pub fn read(images: &[MatchedImage]) -> Result<Self, ReadError> {
        Self::of(&images.iter().map(MatchedImage::image).collect::<Vec<_>>())
    }

    /// The same of images whose right to give names somebody else answers for.
    pub(super) fn of(images: &[&Image]) -> Result<Self, ReadError> {
        Self::about(Subject::Functions, images)
    }

    /// The objects of one build, not its functions: where data is, and what it is called. As in perf,
    /// one without a size names nothing.
    pub(super) fn of_objects(images: &[MatchedImage]) -> Result<Self, ReadError> {
        let images: Vec<&Image> = images.iter().map(MatchedImage::image).collect();
        Self::about(Subject::Objects, &images)
    }

    fn about(subject: Subject, images: &[&Image]) -> Result<Self, ReadError> {
        let bytes = images.iter().map(|image| image.source().len());
        let file_bytes = bytes.fold(0, u64::saturating_add);
        let budget = Budget::of_file(file_bytes);
        let mut table = Self { file_bytes, ..Self::default() };
        let mut files: Vec<ElfFile<'_>> = images.iter().filter_map(|it| ElfFile::of(it)).collect();
        let is_stripped =
            files.iter().all(|file| file.elf.section_of_kind(elf::SHT_SYMTAB).is_none());
        let embedded = match is_stripped {
            true => embedded_symbols::embedded_in(images, &budget)?,
            false => None,
        };
        files.extend(embedded.iter().filter_map(ElfFile::of));
        let with = |kind| files.iter().find(|file| file.elf.section_of_kind(kind).is_some());
        if let Some(file) = with(elf::SHT_SYMTAB) {
            table.add_symbols(subject, file, elf::SHT_SYMTAB, &budget)?;
        } else if subject == Subject::Functions {
            for image in images.iter() {
                table.add_go_functions(image, &budget)?;
            }
        }
        let mut dynamic = None;
        if let Some(file) = with(elf::SHT_DYNSYM) {
            dynamic = table.add_symbols(subject, file, elf::SHT_DYNSYM, &budget)?;
        }
        match subject {
            Subject::Functions => table.extend_sizeless(&files, &budget)?,
            Subject::Objects => table.sort(),
        }
        // Lists of symbols have other addresses than files, so only one of all counts.
        if table.entries.is_empty()
            && let Some(list) = images.iter().find(|image| image.elf().is_none())
        {
            table.add_list(subject, list)?;
        }
        table.choose_names();
        let with_plt = files.iter().filter(|_| subject == Subject::Functions);
        for ElfFile { image, elf, .. } in with_plt {
            if table.add_plt(image, elf, dynamic.as_ref(), &budget)? == PltNames::Added {
                break;
            }
        }
        table.lay_out();
        Ok(table)
    }

    /// True if nothing in it has a name.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// True if it has more than entries of linkage tables.
    pub fn has_functions(&self) -> bool {
        self.entries.iter().any(|entry| entry.rank.table != Table::Plt)
    }

    /// Number of functions.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of memory that it holds.
    pub fn memory(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
            + self.starts.capacity() * size_of::<u64>()
            + self.owners.capacity() * size_of::<u32>()
            + self.strings.capacity()
    }

    /// How long its files are together.
    pub(super) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// The symbol that covers `address`.
    pub fn at(&self, address: Svma) -> Option<Symbol<'_>> {
        let next = self.starts.partition_point(|&start| start <= address.0);
        let owner = self.owners[next.checked_sub(1)?];
        // A name that cannot be read names nothing.
        self.symbol(owner).filter(|symbol| !symbol.name.is_empty())
    }

    /// Where `_text` or `_stext` is, which recordings of kernels refer to, or `_etext`, where their code ends.
    pub(super) fn reference(&self, name: &str) -> Option<Svma> {
        let address = match name {
            "_text" => self.references.text,
            "_stext" => self.references.stext,
            "_etext" => self.references.etext,
            _ => None,
        };
        address.map(Svma)
    }

    /// What its addresses are.
    pub(super) fn addresses(&self) -> Addresses {
        self.addresses
    }

    fn symbol(&self, index: u32) -> Option<Symbol<'_>> {
        let entry = self.entries.get(index as usize)?;
        let name = match self.addresses {
            Addresses::AsLinked => embedded_symbols::without_version(self.name(entry)),
            Addresses::AtRunTime => self.name(entry),
        };
        Some(Symbol {
            name,
            start: Svma(entry.start),
            end: Svma(entry.end),
            kind: match entry.rank.table {
                Table::Symbols | Table::Dynamic => SymbolKind::Function,
                Table::Plt => SymbolKind::Plt,
            },
            index,
        })
    }

    fn name(&self, entry: &Entry) -> &str {
        text_at(&self.strings, entry.name as usize)
    }

    fn name_bytes(&self, entry: &Entry) -> impl Iterator<Item = u8> + '_ {
        let rest = self.strings.get(entry.name as usize..).unwrap_or_default();
        rest.iter().copied().take(MAX_COMPARED).take_while(|&byte| byte != 0)
    }

    fn add_symbols<'a>(
        &mut self,
        subject: Subject,
        file: &ElfFile<'a>,
        kind: elf::SectionType,
        budget: &Budget,
    ) -> Result<Option<AddedSymbols<'a>>, ReadError> {
        let ElfFile { image, elf, .. } = *file;
        let Some(section) = elf.section_of_kind(kind) else { return Ok(None) };
        let symbols = image.section_within(elf, section, budget)?;
        let Some(base) = self.add_strings(image, elf, section, budget)? else { return Ok(None) };
        let table = match kind {
            elf::SHT_DYNSYM => Table::Dynamic,
            _ => Table::Symbols,
        };
        let mut held = Ok(());
        elf.for_each_symbol(&symbols, |symbol| {
            self.note_reference(&symbol, base);
            if self.entries.len() < MAX_SYMBOLS
                && held.is_ok()
                && let Some(entry) = self.entry(subject, file, symbol, (base, table))
            {
                held = budget.hold_one::<(Entry, u64, u32)>();
                self.entries.push(entry);
            }
        });
        held.map_err(|_| over_budget())?;
        Ok(Some(AddedSymbols { image, symbols, base }))
    }

    /// The functions that a Go program knows itself.
    fn add_go_functions(&mut self, image: &Image, budget: &Budget) -> Result<(), ReadError> {
        let GoFunctions { names, functions } = GoFunctions::read(image, budget)?;
        if functions.is_empty() {
            return Ok(());
        }
        let Some(base) = self.add_text(names) else { return Ok(()) };
        let (bind, kind) = (elf::STB_LOCAL, elf::STT_FUNC);
        let rank = Rank { bind, kind, table: Table::Symbols };
        self.entries.extend(functions.into_iter().take(MAX_SYMBOLS).filter_map(
            |(start, end, name)| {
                let name = base.checked_add(name)?;
                (start < end).then_some(Entry { start, end, name, rank })
            },
        ));
        Ok(())
    }

    /// Appends the strings that a symbol table refers to; returns where they begin.
    fn add_strings(
        &mut self,
        image: &Image,
        elf: &Elf,
        table: &Section,
        budget: &Budget,
    ) -> Result<Option<u32>, ReadError> {
        let Some(strings) = elf.sections.get(table.link as usize) else { return Ok(None) };
        let strings = image.section_within(elf, strings, budget)?;
        Ok(self.add_text(strings))
    }

    /// Appends names, each ended by a zero; returns where they begin, `None` if there are too many.
    fn add_text(&mut self, mut strings: Vec<u8>) -> Option<u32> {
        let base = self.strings.len();
        if base + strings.len() >= NOTHING as usize {
            return None;
        }
        match base {
            // Mostly the only one; a copy of tens of megabytes was a tenth of the time.
            0 => self.strings = strings,
            _ => self.strings.append(&mut strings),
        }
        // A table cut short must not run into the next one.
        self.strings.push(0);
        Some(base as u32)
    }

    /// The symbols of what is no ELF file.
    fn add_list(&mut self, subject: Subject, image: &Image) -> Result<(), ReadError> {
        self.addresses = Addresses::AtRunTime;
        match image.content() {
            Content::Elf(_) => {}
            Content::Kallsyms(kallsyms) => {
                let (symbols, names) = kallsyms.symbols();
                self.references.text = kallsyms.address_of("_text");
                self.references.stext = kallsyms.address_of("_stext");
                self.references.etext = kallsyms.address_of("_etext");
                let Some(base) = self.add_text(names.to_vec()) else { return Ok(()) };
                let kind = match subject {
                    Subject::Functions => elf::STT_FUNC,
                    Subject::Objects => elf::STT_OBJECT,
                };
                let behind = symbols.iter().skip(1).map(|next| next.start).chain([0]);
                let meant = symbols.iter().zip(behind).filter(|(symbol, _)| symbol.kind == kind);
                self.entries.extend(meant.take(MAX_SYMBOLS).filter_map(|(symbol, next)| {
                    let rank = Rank { bind: symbol.bind, kind: symbol.kind, table: Table::Symbols };
                    let name = base.checked_add(symbol.name)?;
                    // Of objects at one address the last reaches to the next.
                    let end = if subject == Subject::Objects { next } else { symbol.end };
                    Some(Entry { start: symbol.start, end, name, rank })
                }));
            }
            Content::Code(_) if subject == Subject::Objects => {}
            Content::Code(_) => {
                if let Some(table) = image.code_table() {
                    self.add_code(&table?);
                }
            }
        }
        Ok(())
    }

    /// Adds what a process says of its code: of several at one address the last.
    fn add_code(&mut self, table: &CodeTable) {
        let (bind, kind) = (elf::STB_LOCAL, elf::STT_FUNC);
        let rank = Rank { bind, kind, table: Table::Symbols };
        let made = |change: &CodeChange| Some((change.start, change.end, change.code?.name));
        let mut last: Vec<_> = table.changes().iter().filter_map(made).collect();
        // Stable, so that of those at one address the last is behind the others.
        sort_by_numbers(&mut last, |&(start, ..)| (start, 0));
        last.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                *kept = *next;
            }
            same
        });
        let (mut text, mut entries) = (Vec::new(), Vec::new());
        for (start, end, number) in last.into_iter().take(MAX_SYMBOLS) {
            let Ok(name) = u32::try_from(text.len()) else { break };
            text.extend(table.name_of(number).bytes().filter(|&byte| byte != 0));
            text.push(0);
            entries.push(Entry { start, end, name, rank });
        }
        let Some(base) = self.add_text(text) else { return };
        self.entries.extend(
            entries
                .into_iter()
                .filter_map(|entry| Some(Entry { name: base.checked_add(entry.name)?, ..entry })),
        );
    }

    /// Keeps the address of a symbol that recordings refer to. Others at the same address are
    /// better names for a function, and would displace it.
    fn note_reference(&mut self, symbol: &RawSymbol, base: u32) {
        let Some(name) = base.checked_add(symbol.name) else { return };
        let text = self.strings.get(name as usize..).unwrap_or_default();
        if text.starts_with(b"_text\0") {
            self.references.text = Some(symbol.value);
        } else if text.starts_with(b"_stext\0") {
            self.references.stext = Some(symbol.value);
        } else if text.starts_with(b"_etext\0") {
            self.references.etext = Some(symbol.value);
        }
    }

    fn entry(
        &self,
        subject: Subject,
        file: &ElfFile<'_>,
        symbol: RawSymbol,
        (base, table): (u32, Table),
    ) -> Option<Entry> {
        let elf = file.elf;
        let section = elf.sections.get(usize::from(symbol.section.0));
        // An absolute value is no address of this file: `--just-symbols` gives it those of another.
        if [elf::SHN_UNDEF, elf::SHN_ABS].contains(&symbol.section) || symbol.name == 0 {
            return None;
        }
        match (subject, symbol.kind) {
            (Subject::Functions, elf::STT_FUNC | elf::STT_GNU_IFUNC) => {}
            // Labels of code written in assembly; perf's `elf_sym__is_label`.
            (Subject::Functions, elf::STT_NOTYPE)
                if section.is_some_and(is_text) && !symbol.is_hidden() => {}
            (Subject::Objects, elf::STT_OBJECT) => {}
            _ => return None,
        }
        // What marks the end of a section is not in the one behind it.
        if symbol.size == 0 && section.is_some_and(|section| !file.holds(section, &symbol)) {
            return None;
        }
        let name = base.checked_add(symbol.name)?;
        // The first byte tells enough: reading each name to its end took longer than sorting them.
        match self.strings.get(name as usize) {
            None | Some(0) => return None,
            Some(b'$') if elf.has_mapping_symbols() => return None,
            // What the assembler keeps for itself, and leaves in the file with `-L`.
            Some(b'.') if self.strings[name as usize..].starts_with(b".L") => return None,
            Some(_) => {}
        }
        let start = match (&file.layout, elf.machine) {
            _ if subject == Subject::Objects => symbol.value,
            (Some(layout), _) => layout.code_address(&symbol)?,
            // The lowest bit says that the code is Thumb.
            (None, elf::EM_ARM) if symbol.kind != elf::STT_NOTYPE => symbol.value & !1,
            (None, _) => symbol.value,
        };
        Some(Entry {
            start,
            end: start.saturating_add(symbol.size),
            name,
            rank: Rank { bind: symbol.bind, kind: symbol.kind, table },
        })
    }

    /// Symbols without a size reach to the next one, to where another function begins that has none,
    /// or to the end of their section.
    fn extend_sizeless(&mut self, files: &[ElfFile<'_>], budget: &Budget) -> Result<(), ReadError> {
        let Some(file) = files.first() else { return Ok(()) };
        // Stable: what comes later in the file stays later, which is what decides below.
        self.sort();
        let code = CodeRanges::of(file.elf, file.layout.as_ref());
        if self.entries.iter().all(|entry| entry.start != entry.end) {
            return Ok(());
        }
        let starts = self.function_starts(files, &code, budget)?;
        for index in 0..self.entries.len() {
            let Entry { start, end, .. } = self.entries[index];
            if start == end {
                let next = self.entries.get(index + 1).map_or(u64::MAX, |next| next.start);
                let after = starts.partition_point(|&other| other <= start);
                let next = starts.get(after).map_or(next, |&other| next.min(other));
                let section = code.end_of(start).unwrap_or(start);
                self.entries[index].end = next.min(section).max(start);
            }
        }
        Ok(())
    }

    /// Where functions begin that need not have symbols, ascending. Debug information, which may be
    /// a hundred times as long as all else, is read if nothing else knows of any in the longest section.
    fn function_starts(
        &self,
        files: &[ElfFile<'_>],
        code: &CodeRanges,
        budget: &Budget,
    ) -> Result<Vec<u64>, ReadError> {
        let mut starts = Vec::new();
        // Tables of relocatable files have no addresses yet.
        let linked = || files.iter().filter(|file| file.layout.is_none());
        for file in linked() {
            function_starts::add(&mut starts, file.image, file.elf, budget)?;
        }
        let longest = code.longest();
        let is_within = |at: &u64| longest.is_some_and(|(start, end)| (start..end).contains(at));
        let is_sizeless = |entry: &Entry| entry.start == entry.end && is_within(&entry.start);
        if !starts.iter().any(is_within) && self.entries.iter().any(is_sizeless) {
            for file in linked() {
                // What cannot be read tells nothing; naming says so.
                if let Ok(Some(frames)) = InlineFrames::of(file.image, None, self) {
                    starts.extend(frames.function_starts());
                }
            }
        }
        starts.sort_unstable();
        Ok(starts)
    }

    /// Keeps one symbol for each address.
    fn choose_names(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.dedup_by(|next, kept| {
            let same = next.start == kept.start;
            if same && !is_again(next, kept) && self.is_better(next, kept) {
                *kept = *next;
            }
            same
        });
        entries.retain(|entry| entry.end > entry.start);
        entries.shrink_to_fit();
        self.entries = entries;
    }

    /// perf's `choose_best_symbol`: sizes first, then types, weak last, global first, fewer underscores
    /// in front, the longer name; else the earlier. Indirect functions come after others here.
    fn is_better(&self, next: &Entry, kept: &Entry) -> bool {
        let rank = |entry: &Entry| {
            (
                entry.end > entry.start,
                entry.rank.kind != elf::STT_NOTYPE,
                entry.rank.kind != elf::STT_GNU_IFUNC,
                entry.rank.bind != elf::STB_WEAK,
                entry.rank.bind == elf::STB_GLOBAL,
            )
        };
        let underscores = |entry: &Entry| {
            Reverse(self.name_bytes(entry).take_while(|&byte| byte == b'_').count())
        };
        let by_underscores = || underscores(next).cmp(&underscores(kept));
        // Both at once, to the end of the shorter one: mostly it is one name in two tables.
        let by_length = || {
            let (mut next, mut kept) = (self.name_bytes(next), self.name_bytes(kept));
            loop {
                match (next.next(), kept.next()) {
                    (Some(_), Some(_)) => {}
                    (next, kept) => break next.is_some().cmp(&kept.is_some()),
                }
            }
        };
        // Names are only read where nothing else tells.
        rank(next).cmp(&rank(kept)).then_with(by_underscores).then_with(by_length).is_gt()
    }

    /// Names the jumps of procedure linkage tables after the functions that they go to.
    fn add_plt(
        &mut self,
        image: &Image,
        elf: &Elf,
        dynamic: Option<&AddedSymbols<'_>>,
        budget: &Budget,
    ) -> Result<PltNames, ReadError> {
        let jumps = plt_entries(image, elf)?;
        let Some(section) = elf.section_of_kind(elf::SHT_DYNSYM).filter(|_| !jumps.is_empty())
        else {
            return Ok(PltNames::None);
        };
        let mut names = Vec::new();
        let mut note = |symbol: RawSymbol| names.push(symbol.name);
        // Mostly they are in the table already.
        let base = match dynamic.filter(|added| std::ptr::eq(added.image, image)) {
            Some(AddedSymbols { symbols, base, .. }) => {
                elf.for_each_symbol(symbols, &mut note);
                *base
            }
            None => {
                elf.for_each_symbol(&image.section_within(elf, section, budget)?, &mut note);
                let Some(base) = self.add_strings(image, elf, section, budget)? else {
                    return Ok(PltNames::None);
                };
                base
            }
        };
        let rank = Rank { bind: elf::STB_GLOBAL, kind: elf::STT_FUNC, table: Table::Plt };
        self.entries.extend(jumps.into_iter().filter_map(|PltEntry { start, end, symbol }| {
            let name = base.checked_add(*names.get(symbol as usize)?)?;
            Some(Entry { start, end, name, rank })
        }));
        self.sort();
        Ok(PltNames::Added)
    }

    /// By start; what has one start stays in its order. Opening a file waits for this.
    fn sort(&mut self) {
        self.entries.sort_by_key(|entry| entry.start);
    }

    fn lay_out(&mut self) {
        let ranges = self.entries.iter().map(|entry| entry.start..entry.end);
        (self.starts, self.owners) = disjoint(ranges, NOTHING);
    }
}

/// True if a symbol that a file exports is there already: what is in `.dynsym` a linker has put into `.symtab`
/// too, under all of its names. (Where a tool took one away since, the other of the same code is shown.)
/// Reading both names of each took a third of the time of choosing.
fn is_again(next: &Entry, kept: &Entry) -> bool {
    (next.rank.table, kept.rank.table) == (Table::Dynamic, Table::Symbols)
        && (next.end, next.rank.bind, next.rank.kind) == (kept.end, kept.rank.bind, kept.rank.kind)
}

/// The symbols of a section that a table has, and where their names begin in its strings.
struct AddedSymbols<'a> {
    image: &'a Image,
    symbols: Vec<u8>,
    base: u32,
}

/// Whether the procedure linkage table gave names.
#[derive(PartialEq, Eq)]
enum PltNames {
    Added,
    None,
}

fn is_text(section: &Section) -> bool {
    section.is_executable() && section.name.contains(".text")
}
