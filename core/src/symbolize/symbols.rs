//! The names of a profile's frames: the only source of names for views, exports and links.
//!
//! Before anything is matched every frame has one level, a function without a name. When a file
//! passed the gate, the frames of its DSOs are named again, in ascending order of address, in
//! slices that the host chooses ([`Symbols::begin`], [`Symbols::step`]) or at once
//! ([`Symbols::resolve`]).
//!
//! **Inline frames.** DWARF and the symbol table both name the outermost level. The symbol's name
//! is taken where there is one, so that a function is the same whether inlines are shown or
//! merged, and has the same self weight as in perf. Levels inside it have DWARF's names.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::ops::Range;
use std::rc::Rc;

use super::address::Svma;
use super::demangle::demangle;
use super::dso_images::{Build, DsoImages};
use super::forced::{ForceError, ForcedNames};
use super::functions::{FunctionId, FunctionKey, Functions, Provenance};
use super::matched_image::MatchedSymbols;
use super::symbol_table::{Symbol, SymbolKind};
use crate::profile::{DsoId, DsoKind, FrameId, OffCpu, Profile, StringId, Strings};

/// What stands behind the name of a function in another DSO where an entry of a linkage table jumps to it.
pub const PLT_SUFFIX: &str = "@plt";

/// The path of a source file in [`Symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(NonZeroU32);

impl FileId {
    /// A number that no other file of the profile has.
    pub fn number(self) -> u32 {
        self.0.get()
    }
}

/// A function: all code in one DSO under one name, or one address without a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Demangled; `None`: show the DSO and the address.
    pub name: Option<&'a str>,
    /// Where it lies.
    pub dso: DsoId,
    /// Without a name: the frame's address ([`crate::profile::Frame::address`]); else 0.
    pub address: u64,
    /// How the name came to be.
    pub provenance: Provenance,
}

/// Whether a level is a call, or a body that the compiler copied into its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Inlining {
    /// The outermost level: a function of its own.
    Called,
    /// Inlined into the level before.
    Inlined,
}

/// One level of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// What ran.
    pub function: FunctionId,
    /// The source file, if known.
    pub file: Option<FileId>,
    /// The line in it, counted from 1, if known.
    pub line: Option<NonZeroU32>,
    /// How it came to run.
    pub inlining: Inlining,
}

/// Names of all frames of one profile.
#[derive(Default)]
pub struct Symbols {
    pub(super) texts: Strings,
    pub(super) functions: Functions,
    /// By frame: where its levels are in `levels`.
    ranges: Vec<LevelRange>,
    /// By frame: what the linker knows.
    merged: Vec<FunctionId>,
    levels: Vec<Level>,
    /// Entries of `levels` that no frame refers to.
    unused_levels: usize,
    /// Frames whose names came with a link.
    known: HashSet<FrameId>,
    /// Frames by DSO, in ascending order of address.
    order: Vec<FrameId>,
    /// Where each DSO's frames begin in `order`; one more at the end.
    dso_starts: Vec<u32>,
}

#[derive(Clone, Copy)]
struct LevelRange {
    start: u32,
    length: u32,
}

/// Whether a frame has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// It has none.
    Unnamed,
    /// It has one, of the build that ran.
    Named,
    /// It has one from a file that the user insisted on.
    Forced,
}

/// How deep frames are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NamingDepth {
    /// Down to the functions that the compiler inlined, with lines.
    #[default]
    Inlined,
    /// The functions that the linker knows: all that a view of merged inlines shows, for a
    /// fraction of the time. DWARF is read only where there are no symbols.
    Functions,
}

/// A DSO being named; see [`Symbols::begin`].
pub struct NamingWork {
    dso: DsoId,
    depth: NamingDepth,
    next: usize,
    end: usize,
    total: usize,
    /// Functions met so far, by their name as in the file.
    met: HashMap<String, FunctionId>,
    met_symbols: HashMap<u32, FunctionId>,
    met_files: HashMap<Rc<str>, FileId>,
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

impl NamingWork {
    /// Whether so many bytes more may be kept.
    fn keep(&mut self, bytes: usize) -> bool {
        let left = self.texts_left.get_or_insert(TEXTS);
        match left.checked_sub(bytes as u64) {
            Some(rest) => *left = rest,
            None => self.lost_texts = true,
        }
        !self.lost_texts
    }

    /// Frames named so far, and all that there are.
    pub fn progress(&self) -> (usize, usize) {
        (self.total - (self.end - self.next), self.total)
    }

    /// Whose frames they are.
    pub fn dso(&self) -> DsoId {
        self.dso
    }

    /// True if nothing is left.
    pub fn is_done(&self) -> bool {
        self.next == self.end
    }
}

impl Symbols {
    /// All frames of `profile`, without names.
    pub fn new(profile: &Profile) -> Self {
        let frames = || profile.frames.iter().map(|(id, _)| id);
        let mut symbols = Self {
            functions: Functions::of_frames(profile),
            ranges: frames().map(|id| LevelRange { start: id.0, length: 1 }).collect(),
            merged: frames().map(Functions::of_frame).collect(),
            levels: frames().map(|id| Level::plain(Functions::of_frame(id))).collect(),
            order: frames().collect(),
            ..Self::default()
        };
        symbols.order.sort_unstable_by_key(|&id| {
            let frame = profile.frames.get(id);
            (frame.dso, frame.address)
        });
        let mut next = 0;
        for (dso, _) in profile.dsos.iter() {
            symbols.dso_starts.push(next as u32);
            let rest = &symbols.order[next..];
            next += rest.partition_point(|&id| profile.frames.get(id).dso <= dso);
        }
        symbols.dso_starts.push(next as u32);
        symbols.name_off_cpu_frames(profile);
        symbols
    }

    /// The frames that stacks of time off the CPU end in are no code: they are called what they
    /// stand for, and no file names them.
    fn name_off_cpu_frames(&mut self, profile: &Profile) {
        let off_cpu = profile.dsos.iter().filter(|(_, dso)| dso.kind == DsoKind::OffCpu);
        for (dso, _) in off_cpu {
            let of_dso = self.dso_starts[dso.index()]..self.dso_starts[dso.index() + 1];
            for place in of_dso {
                let frame = self.order[place as usize];
                let number = profile.frames.get(frame).address;
                let Some(why) = OffCpu::ALL.into_iter().find(|&why| why as u64 == number) else {
                    continue;
                };
                let function = self.named(dso, why.name(), Provenance::Embedded);
                self.set_known(frame, &[Level::plain(function)]);
            }
        }
    }

    /// The levels of a frame, outermost first; at least one.
    pub fn levels(&self, frame: FrameId) -> &[Level] {
        let LevelRange { start, length } = self.ranges[frame.index()];
        &self.levels[start as usize..][..length as usize]
    }

    /// The function of a frame without its inline levels: the one that the linker knows.
    pub fn merged(&self, frame: FrameId) -> FunctionId {
        self.merged[frame.index()]
    }

    /// What is known of the innermost level of a frame. [`Provenance::Forced`] is a name, but not
    /// one that counts.
    pub fn naming(&self, frame: FrameId) -> Naming {
        let innermost = self.levels(frame).last().map(|level| self.function(level.function));
        match innermost {
            // A word of ours, as for a DSO that was collapsed.
            Some(Function { provenance: Provenance::Unnamed, .. }) => Naming::Unnamed,
            Some(Function { name: Some(_), provenance: Provenance::Forced, .. }) => Naming::Forced,
            Some(Function { name: Some(_), .. }) => Naming::Named,
            _ => Naming::Unnamed,
        }
    }

    /// What is known of a function.
    pub fn function(&self, id: FunctionId) -> Function<'_> {
        match self.functions.get(id) {
            FunctionKey::Named { dso, name, provenance } => {
                Function { name: Some(self.texts.get(name)), dso, address: 0, provenance }
            }
            FunctionKey::Unnamed { dso, address } => {
                Function { name: None, dso, address, provenance: Provenance::Unnamed }
            }
        }
    }

    /// Number of functions ever met; ids are below it.
    pub fn function_count(&self) -> usize {
        self.functions.len()
    }

    /// Bytes of memory held, texts apart.
    pub fn memory(&self) -> usize {
        self.functions.memory()
            + self.ranges.capacity() * size_of::<LevelRange>()
            + self.merged.capacity() * size_of::<FunctionId>()
            + self.levels.capacity() * size_of::<Level>()
            + self.order.capacity() * size_of::<FrameId>()
    }

    /// Path of a source file.
    pub fn file(&self, id: FileId) -> &str {
        self.texts.get(StringId(id.0.get() - 1))
    }

    /// Names all frames of a DSO again, from the files matched with it.
    pub fn resolve(&mut self, profile: &Profile, dso: DsoId, images: &DsoImages) {
        let mut work = self.begin(dso, NamingDepth::Inlined);
        self.step(&mut work, profile, images, usize::MAX);
    }

    /// Where the frames of a DSO stand in `order`.
    fn places_of(&self, dso: DsoId) -> Range<usize> {
        let bounds = self.dso_starts.get(dso.index()).zip(self.dso_starts.get(dso.index() + 1));
        bounds.map_or(0..0, |(&start, &end)| start as usize..end as usize)
    }

    /// The frames of a DSO, in ascending order of address.
    pub(super) fn frames_of(&self, dso: DsoId) -> &[FrameId] {
        &self.order[self.places_of(dso)]
    }

    /// True if the frame's names came with a link.
    pub(crate) fn came_with_a_link(&self, frame: FrameId) -> bool {
        self.known.contains(&frame)
    }

    /// Starts to name the frames of a DSO again.
    pub fn begin(&self, dso: DsoId, depth: NamingDepth) -> NamingWork {
        let Range { start: next, end } = self.places_of(dso);
        NamingWork {
            dso,
            depth,
            next,
            end,
            total: end - next,
            met: HashMap::new(),
            met_symbols: HashMap::new(),
            met_files: HashMap::new(),
            texts_left: None,
            lost_texts: false,
        }
    }

    /// Names up to `frames` more frames of `work`; what is not reached keeps the names it had.
    pub fn step(
        &mut self,
        work: &mut NamingWork,
        profile: &Profile,
        images: &DsoImages,
        frames: usize,
    ) {
        let end = work.next.saturating_add(frames).min(work.end);
        let placed = images
            .build(work.dso)
            .and_then(|build| Some((build, build.placement(profile.dsos.get(work.dso)).ok()?)));
        let Some((build, placement)) = placed else {
            work.next = work.end;
            return;
        };
        let texts = TEXTS.saturating_add(build.symbols().file_bytes()).min(MOST_TEXTS);
        work.texts_left.get_or_insert(texts);
        let is_module = profile.dsos.get(work.dso).kind == DsoKind::Module;
        let mut levels = Vec::new();
        while work.next < end {
            let frame = self.order[work.next];
            work.next += 1;
            if self.known.contains(&frame) {
                continue;
            }
            let svma = placement.svma(profile.frames.get(frame).address);
            let merged = self.look_up(build, work, svma, frame, &mut levels);
            // A stripped file must not take away a name that the recording has. Of a module the
            // recording knows better: where its code lies is worked out, not read.
            let (found, known) = (self.function(merged), self.function(self.merged(frame)));
            let is_worse = found.name.is_none() || (is_module && found.name != known.name);
            if known.provenance == Provenance::Embedded && is_worse {
                continue;
            }
            self.replace(frame, merged, &levels);
        }
        if work.lost_texts {
            build.note_lost_texts();
        }
        self.drop_unused_levels();
    }

    /// Names the frames of the DSOs whose symbols travelled in the recording. Frames that have a
    /// name from a matched file keep it.
    pub fn embedded(&mut self, profile: &Profile, matched: &MatchedSymbols) {
        for &dso in matched.dsos() {
            let mut work = self.begin(dso, NamingDepth::Functions);
            while work.next < work.end {
                let frame = self.order[work.next];
                work.next += 1;
                if self.function(self.merged(frame)).name.is_some() {
                    continue;
                }
                let Some(symbol) = matched.symbols().at(profile.frames.get(frame).address) else {
                    continue;
                };
                let function = self.met_function(&mut work, &symbol.name, Provenance::Embedded);
                let Some(function) = function else { continue };
                self.replace(frame, function, &[Level::plain(function)]);
            }
        }
        self.drop_unused_levels();
    }

    /// Names the frames of a DSO that have no name from a file that the user insists on, and marks
    /// each name; returns how many got one, at least one.
    pub fn force(&mut self, profile: &Profile, forced: &ForcedNames) -> Result<usize, ForceError> {
        let placement = forced.placement(profile.dsos.get(forced.dso()))?;
        let mut work = self.begin(forced.dso(), NamingDepth::Functions);
        let mut named = 0;
        while work.next < work.end {
            let frame = self.order[work.next];
            work.next += 1;
            if self.function(self.merged(frame)).name.is_some() || self.known.contains(&frame) {
                continue;
            }
            let svma = placement.svma(profile.frames.get(frame).address);
            if let Some(symbol) = svma.and_then(|svma| forced.symbols().at(svma))
                && let Some(function) = self.met_symbol(&mut work, &symbol, Provenance::Forced)
            {
                self.replace(frame, function, &[Level::plain(function)]);
                named += 1;
            }
        }
        self.drop_unused_levels();
        if named == 0 { Err(ForceError::NamesNothing) } else { Ok(named) }
    }

    /// Takes the forced names of a DSO away again. Those that came with a link stay: where their
    /// code lay is not in it.
    pub fn unforce(&mut self, dso: DsoId) {
        let work = self.begin(dso, NamingDepth::Functions);
        for index in work.next..work.end {
            let frame = self.order[index];
            let is_forced = self.function(self.merged(frame)).provenance == Provenance::Forced;
            if is_forced && !self.known.contains(&frame) {
                let function = Functions::of_frame(frame);
                self.replace(frame, function, &[Level::plain(function)]);
            }
        }
        self.drop_unused_levels();
    }

    /// Fills `levels` with those of a frame, outermost first; returns the merged function.
    fn look_up(
        &mut self,
        build: &Build,
        work: &mut NamingWork,
        svma: Option<Svma>,
        frame: FrameId,
        levels: &mut Vec<Level>,
    ) -> FunctionId {
        levels.clear();
        let symbol = svma.and_then(|svma| build.symbols().at(svma));
        let symbol = symbol.and_then(|it| self.met_symbol(work, &it, Provenance::Matched));

        let unnamed = Functions::of_frame(frame);
        let inline_frames = match work.depth {
            NamingDepth::Functions if !build.symbols().is_empty() => None,
            _ => build.inline_frames(),
        };
        if let (Some(svma), Some(inline_frames)) = (svma, inline_frames) {
            inline_frames.at(svma, |level| {
                let function = match level.function {
                    Some(name) => self.met_function(work, &name, Provenance::Matched),
                    None => symbol,
                };
                let function = function.unwrap_or(unnamed);
                let file = level.file.and_then(|path| self.met_file(work, path));
                let inlining = Inlining::Inlined;
                let line = level.line.and_then(NonZeroU32::new);
                levels.push(Level { function, file, line, inlining });
            });
            levels.reverse();
        }
        let outermost = levels.first().map(|level| level.function);
        let merged = symbol.or(outermost).unwrap_or(unnamed);
        match levels.first_mut() {
            Some(level) => {
                level.function = merged;
                level.inlining = Inlining::Called;
            }
            None => levels.push(Level::plain(merged)),
        }
        merged
    }

    /// The function of a symbol; `None`: its name would be one text too many.
    fn met_symbol(
        &mut self,
        work: &mut NamingWork,
        symbol: &Symbol<'_>,
        provenance: Provenance,
    ) -> Option<FunctionId> {
        if let Some(&met) = work.met_symbols.get(&symbol.index) {
            return Some(met);
        }
        let function = match symbol.kind {
            SymbolKind::Function => self.met_function(work, symbol.name, provenance)?,
            SymbolKind::Plt => {
                let name = [&demangle(symbol.name), PLT_SUFFIX].concat();
                if !work.keep(name.len()) {
                    return None;
                }
                self.named(work.dso, &name, provenance)
            }
        };
        work.met_symbols.insert(symbol.index, function);
        Some(function)
    }

    /// The function of a name as in the file, demangled once; `None` likewise.
    fn met_function(
        &mut self,
        work: &mut NamingWork,
        name: &str,
        provenance: Provenance,
    ) -> Option<FunctionId> {
        if let Some(&met) = work.met.get(name) {
            return Some(met);
        }
        let shown = demangle(name);
        if !work.keep(name.len() + shown.len()) {
            return None;
        }
        let function = self.named(work.dso, &shown, provenance);
        work.met.insert(name.to_owned(), function);
        Some(function)
    }

    /// The path of a source file; `None` likewise.
    fn met_file(&mut self, work: &mut NamingWork, path: Rc<str>) -> Option<FileId> {
        if let Some(&met) = work.met_files.get(&path) {
            return Some(met);
        }
        if !work.keep(2 * path.len()) {
            return None;
        }
        let file = self.file_of_path(&path);
        work.met_files.insert(path, file);
        Some(file)
    }

    /// For links: the levels of a frame, outermost first, as the sender knew them. No file names
    /// it again.
    pub(crate) fn set_known(&mut self, frame: FrameId, levels: &[Level]) {
        if let Some(outermost) = levels.first() {
            self.replace(frame, outermost.function, levels);
            self.known.insert(frame);
        }
    }

    /// As naming does, for tests that name without an image.
    #[cfg(test)]
    pub(crate) fn set_levels(&mut self, frame: FrameId, levels: &[Level]) {
        self.replace(frame, levels[0].function, levels);
    }

    /// The function at an address without a name.
    pub(crate) fn unnamed(&mut self, dso: DsoId, address: u64) -> FunctionId {
        self.functions.intern(FunctionKey::Unnamed { dso, address })
    }

    /// The path of a source file.
    pub(crate) fn file_of_path(&mut self, path: &str) -> FileId {
        FileId(NonZeroU32::MIN.saturating_add(self.texts.intern(path).0))
    }

    /// The function of a name as it is shown.
    pub(crate) fn named(&mut self, dso: DsoId, name: &str, provenance: Provenance) -> FunctionId {
        let name = self.texts.intern(name);
        self.functions.intern(FunctionKey::Named { dso, name, provenance })
    }

    /// Gives a frame other levels. They take the place of the old ones if they fit.
    fn replace(&mut self, frame: FrameId, merged: FunctionId, levels: &[Level]) {
        self.merged[frame.index()] = merged;
        let range = &mut self.ranges[frame.index()];
        let (old, new) = (range.length as usize, levels.len());
        if new <= old {
            self.levels[range.start as usize..][..new].copy_from_slice(levels);
            self.unused_levels += old - new;
            range.length = new as u32;
            return;
        }
        self.unused_levels += old;
        *range = LevelRange { start: self.levels.len() as u32, length: new as u32 };
        self.levels.extend_from_slice(levels);
    }

    fn drop_unused_levels(&mut self) {
        if self.unused_levels * 2 <= self.levels.len() {
            return;
        }
        let mut kept = Vec::with_capacity(self.levels.len() - self.unused_levels);
        for range in &mut self.ranges {
            let start = kept.len() as u32;
            kept.extend_from_slice(&self.levels[range.start as usize..][..range.length as usize]);
            range.start = start;
        }
        self.levels = kept;
        self.unused_levels = 0;
    }
}

impl Level {
    /// A function without inline levels, file or line.
    fn plain(function: FunctionId) -> Self {
        Self { function, file: None, line: None, inlining: Inlining::Called }
    }
}
