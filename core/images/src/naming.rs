//! What the files of a DSO say of its addresses, as columns.
//!
//! Nothing here knows samples: addresses come in, names go out, and with them the identity of the files
//! that they are from. They are plain values, which may come from elsewhere. So whoever takes them in
//! compares the identity once more, and asks [`AddressNames::fit`].
//!
//! **Inline frames.** DWARF and the symbol table both name the outermost level. The symbol's name
//! is taken where there is one, so that a function is the same whether inlines are shown or
//! merged, and has the same self weight as in perf. Levels inside it have DWARF's names.

use perftab_perfdata::map::Map;
use std::num::NonZeroU32;
use std::rc::Rc;

use perftab_dsos::{Dso, DsoId, Identity, MadeCode};
use serde::{Deserialize, Serialize};

use crate::address::Svma;
use crate::code_table::CodeTable;
use crate::demangle::demangle;
use crate::dso_images::{Build, DsoImages};
use crate::forced::{ForceError, ForcedNames};
use crate::symbol_table::{Symbol, SymbolKind, SymbolTable};

/// What stands behind the name of a function in another DSO where an entry of a linkage table jumps to it.
pub const PLT_SUFFIX: &str = "@plt";

/// How deep addresses are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NamingDepth {
    /// Down to the functions that the compiler inlined, with lines.
    #[default]
    Inlined,
    /// The functions that the linker knows: all that a view of merged inlines shows, for a
    /// fraction of the time. DWARF is read only where there are no symbols.
    Functions,
}

/// Number of a function in the answers of one [`DsoNaming`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionNumber(pub u32);

/// Number of a source file in the answers of one [`DsoNaming`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileNumber(pub u32);

/// One level of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedLevel {
    /// What ran; `None`: it has no name.
    pub function: Option<FunctionNumber>,
    /// The source file, if known.
    pub file: Option<FileNumber>,
    /// The line in it, counted from 1, if known.
    pub line: Option<NonZeroU32>,
}

/// The names of addresses, in the order in which these were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressNames {
    /// Names of functions that no answer had before, as they are shown; numbered on from those.
    pub functions: Vec<String>,
    /// Paths of source files likewise.
    pub files: Vec<Rc<str>>,
    /// By address: how many of `levels` it has, at least one.
    pub lengths: Vec<u32>,
    /// The levels of all addresses, outermost first. The outermost is the function that the linker
    /// knows; the others are inlined, each into the one before.
    pub levels: Vec<NamedLevel>,
}

/// Names from files that passed the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedNames {
    /// What the files are.
    pub identity: Identity,
    /// What they say.
    pub names: AddressNames,
}

/// Names from a file that the user insists on: of functions alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForcedAddresses {
    /// What the file says.
    pub names: AddressNames,
}

/// A DSO being named, slice by slice. Ask for its addresses in ascending order: then each unit of DWARF
/// is read once.
pub struct DsoNaming {
    dso: DsoId,
    depth: NamingDepth,
    /// Functions met so far, by their name as in the file.
    met: Map<String, FunctionNumber>,
    met_symbols: Map<u32, FunctionNumber>,
    met_files: Map<Rc<str>, FileNumber>,
    functions: u32,
    /// Bytes of names and paths that may still be kept; `None` before the first.
    texts_left: Option<u64>,
    /// True once one was too many.
    lost_texts: bool,
}

/// Texts that a DSO may have, whatever its files.
const TEXTS: u64 = 64 << 20;
/// More than any has.
#[cfg(target_pointer_width = "32")]
const MOST_TEXTS: u64 = 256 << 20;
#[cfg(not(target_pointer_width = "32"))]
const MOST_TEXTS: u64 = 1 << 30;

impl DsoNaming {
    /// Nothing is named so far.
    pub fn new(dso: DsoId, depth: NamingDepth) -> Self {
        Self {
            dso,
            depth,
            met: Map::new(),
            met_symbols: Map::new(),
            met_files: Map::new(),
            functions: 0,
            texts_left: None,
            lost_texts: false,
        }
    }

    /// Whose addresses they are.
    pub fn dso(&self) -> DsoId {
        self.dso
    }

    /// The names of these symbols may take this much.
    pub(super) fn bound_texts(&mut self, symbols: &SymbolTable) {
        let texts = TEXTS.saturating_add(symbols.file_bytes()).min(MOST_TEXTS);
        self.texts_left.get_or_insert(texts);
    }

    /// Whether so many bytes more may be kept.
    fn keep(&mut self, bytes: usize) -> bool {
        let left = self.texts_left.get_or_insert(TEXTS);
        match left.checked_sub(bytes as u64) {
            Some(rest) => *left = rest,
            None => self.lost_texts = true,
        }
        !self.lost_texts
    }

    /// Names addresses by symbols that no image has.
    pub fn by_symbols<'a>(
        &mut self,
        addresses: impl ExactSizeIterator<Item = u64>,
        name_at: impl Fn(u64) -> Option<&'a str>,
    ) -> AddressNames {
        let mut names = AddressNames::of_so_many(addresses.len());
        for address in addresses {
            let function = name_at(address).and_then(|name| self.met_function(name, &mut names));
            names.push_one(function);
        }
        names
    }

    /// Names code that a process made as it says: where it is in the file, and the number of its name.
    pub fn by_code_table(&mut self, table: &CodeTable, code: &[MadeCode]) -> AddressNames {
        let mut names = AddressNames::of_so_many(code.len());
        for &MadeCode { offset, name } in code {
            let name = Some(table.name_of(name)).filter(|name| !name.is_empty());
            let function = name.and_then(|name| self.met_function(name, &mut names));
            let (file, line) = table.line_at(offset).unzip();
            let file = file.filter(|path| !path.is_empty());
            let file = file.and_then(|path| self.met_file(path.into(), &mut names));
            let line = line.and_then(NonZeroU32::new);
            names.levels.push(NamedLevel { function, file, line });
            names.lengths.push(1);
        }
        names
    }

    /// The levels of an address, into `names`.
    fn look_up(&mut self, build: &Build, svma: Option<Svma>, names: &mut AddressNames) {
        let first = names.levels.len();
        let symbol = svma.and_then(|svma| build.symbols().at(svma));
        let symbol = symbol.and_then(|symbol| self.met_symbol(&symbol, names));
        let inline_frames = match self.depth {
            NamingDepth::Functions if !build.symbols().is_empty() => None,
            _ => build.inline_frames(),
        };
        if let (Some(svma), Some(inline_frames)) = (svma, inline_frames) {
            inline_frames.at(svma, |level| {
                let function = match level.function {
                    Some(name) => self.met_function(&name, names),
                    None => symbol,
                };
                let file = level.file.and_then(|path| self.met_file(path, names));
                let line = level.line.and_then(NonZeroU32::new);
                names.levels.push(NamedLevel { function, file, line });
            });
        }
        let levels = &mut names.levels[first..];
        levels.reverse();
        match levels.first_mut() {
            Some(outermost) => outermost.function = symbol.or(outermost.function),
            None => names.levels.push(NamedLevel { function: symbol, file: None, line: None }),
        }
        names.lengths.push((names.levels.len() - first) as u32);
    }

    /// The function of a symbol; `None`: its name would be one text too many.
    pub(super) fn met_symbol(
        &mut self,
        symbol: &Symbol<'_>,
        names: &mut AddressNames,
    ) -> Option<FunctionNumber> {
        if let Some(&met) = self.met_symbols.get(&symbol.index) {
            return Some(met);
        }
        let function = match symbol.kind {
            SymbolKind::Function => self.met_function(symbol.name, names)?,
            SymbolKind::Plt => {
                let name = [&demangle(symbol.name), PLT_SUFFIX].concat();
                if !self.keep(name.len()) {
                    return None;
                }
                self.add_function(name, names)
            }
        };
        self.met_symbols.insert(symbol.index, function);
        Some(function)
    }

    /// The number of an object: its position is one in another table than a function's.
    pub(super) fn met_object(
        &mut self,
        object: &Symbol<'_>,
        names: &mut AddressNames,
    ) -> Option<FunctionNumber> {
        self.met_function(object.name, names)
    }

    /// The function of a name as in the file, demangled once; `None` likewise.
    fn met_function(&mut self, name: &str, names: &mut AddressNames) -> Option<FunctionNumber> {
        if let Some(&met) = self.met.get(name) {
            return Some(met);
        }
        let shown = demangle(name);
        if !self.keep(name.len() + shown.len()) {
            return None;
        }
        let function = self.add_function(shown.into_owned(), names);
        self.met.insert(name.to_owned(), function);
        Some(function)
    }

    fn add_function(&mut self, shown: String, names: &mut AddressNames) -> FunctionNumber {
        names.functions.push(shown);
        self.functions += 1;
        FunctionNumber(self.functions - 1)
    }

    /// The path of a source file; `None` likewise.
    fn met_file(&mut self, path: Rc<str>, names: &mut AddressNames) -> Option<FileNumber> {
        if let Some(&met) = self.met_files.get(&path) {
            return Some(met);
        }
        if !self.keep(2 * path.len()) {
            return None;
        }
        let file = FileNumber(self.met_files.len() as u32);
        names.files.push(Rc::clone(&path));
        self.met_files.insert(path, file);
        Some(file)
    }
}

impl DsoImages {
    /// Names addresses of a DSO ([`DsoNaming`]) as its matched files do; `None` if there are none, or
    /// none that tells where its code lay.
    pub fn name(
        &self,
        naming: &mut DsoNaming,
        dso: &Dso,
        addresses: impl ExactSizeIterator<Item = u64>,
    ) -> Option<MatchedNames> {
        let build = self.build(naming.dso)?;
        let identity = self.of(naming.dso).first()?.identity();
        let placement = build.placement(dso).ok()?;
        naming.bound_texts(build.symbols());
        let mut names = AddressNames::of_so_many(addresses.len());
        for address in addresses {
            naming.look_up(build, placement.svma(address), &mut names);
        }
        if naming.lost_texts {
            build.note_lost_texts();
        }
        Some(MatchedNames { identity, names })
    }
}

impl ForcedNames {
    /// Names addresses of `dso`. They are named all at once.
    pub fn name(
        &self,
        dso: &Dso,
        addresses: impl ExactSizeIterator<Item = u64>,
    ) -> Result<ForcedAddresses, ForceError> {
        let placement = self.placement(dso)?;
        let mut naming = DsoNaming::new(self.dso(), NamingDepth::Functions);
        let mut names = AddressNames::of_so_many(addresses.len());
        for address in addresses {
            let symbol = placement.svma(address).and_then(|svma| self.symbols().at(svma));
            let function = symbol.and_then(|symbol| naming.met_symbol(&symbol, &mut names));
            names.push_one(function);
        }
        Ok(ForcedAddresses { names })
    }
}

impl AddressNames {
    pub(super) fn of_so_many(addresses: usize) -> Self {
        let (lengths, levels) = (Vec::with_capacity(addresses), Vec::with_capacity(addresses));
        Self { lengths, levels, ..Self::default() }
    }

    /// One level, without file and line.
    pub(super) fn push_one(&mut self, function: Option<FunctionNumber>) {
        self.levels.push(NamedLevel { function, file: None, line: None });
        self.lengths.push(1);
    }

    /// Whether the columns are of so many addresses and fit each other, where answers before them had so
    /// many functions and files.
    pub fn fit(&self, addresses: usize, functions: usize, files: usize) -> bool {
        let levels = self.lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
        let functions = functions + self.functions.len();
        let files = files + self.files.len();
        let is_known = |level: &NamedLevel| {
            level.function.is_none_or(|function| (function.0 as usize) < functions)
                && level.file.is_none_or(|file| (file.0 as usize) < files)
        };
        self.lengths.len() == addresses
            && self.lengths.iter().all(|&length| length > 0)
            && levels == self.levels.len() as u64
            && self.levels.iter().all(is_known)
    }

    /// The levels of each address.
    pub fn by_address(&self) -> impl Iterator<Item = &[NamedLevel]> {
        let mut rest = self.levels.as_slice();
        self.lengths.iter().map_while(move |&length| {
            let (levels, behind) = rest.split_at_checked(length as usize)?;
            rest = behind;
            Some(levels)
        })
    }
}
