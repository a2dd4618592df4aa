//! The names of a profile's frames: the only source of names for views, exports and links.
//!
//! Before anything is matched every frame has one level, a function without a name. When a file
//! passed the gate, the frames of its DSOs are named again ([`super::NamingWork`]).

use perftab_perfdata::map::Set;
use std::num::NonZeroU32;

use perftab_images::{
    AddressNames, DsoNaming, ForceError, ForcedAddresses, NamedLevel, NamingDepth,
};
use perftab_profile::{DsoId, DsoKind, Frame, FrameId, Profile, PseudoFrame, StringId, Strings};

use crate::frames_by_dso::FramesByDso;
use crate::functions::{FunctionId, FunctionKey, Functions, Provenance};
use crate::matched_symbols::MatchedSymbols;

/// The path of a source file in [`Symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(NonZeroU32);

impl FileId {
    /// A number that no other file of the profile has.
    pub fn number(self) -> u32 {
        self.0.get()
    }
}

/// A function: all code in one DSO under one name, or one address without a name, or all such addresses of a DSO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Demangled; `None`: show the DSO and the address.
    pub name: Option<&'a str>,
    /// Where it lies.
    pub dso: DsoId,
    /// Of one address without a name: the frame's ([`perftab_profile::Frame::address`]); else 0.
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
#[derive(Clone, Default)]
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
    /// By DSO: how many of its frames have no name.
    unnamed: Vec<u32>,
    /// Frames whose names came with a link.
    known: Set<FrameId>,
    frames: FramesByDso,
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

/// What the numbers in answers stand for.
#[derive(Default)]
pub(super) struct MetNames {
    functions: Vec<FunctionId>,
    files: Vec<FileId>,
}

impl Symbols {
    /// All frames of `profile`, without names.
    pub fn new(profile: &Profile) -> Self {
        let mut symbols = Self::default();
        symbols.extend(profile);
        symbols
    }

    /// Takes in frames that the profile has got since, without names.
    pub fn extend(&mut self, profile: &Profile) {
        let known = self.merged.len();
        let frames = || profile.frames.iter().skip(known).map(|(id, _)| id);
        self.functions.extend(profile);
        let starts = self.levels.len() as u32..;
        let range = |(start, _)| LevelRange { start, length: 1 };
        self.ranges.extend(starts.zip(frames()).map(range));
        self.merged.extend(frames().map(Functions::of_frame));
        self.levels.extend(frames().map(|id| Level::plain(Functions::of_frame(id))));
        self.unnamed.resize(profile.dsos.len(), 0);
        for id in frames() {
            self.unnamed[profile.frames.get(id).dso.index()] += 1;
        }
        self.frames = FramesByDso::of(profile);
        self.name_pseudo_frames(profile, known);
    }

    /// Frames that are no code are called what they stand for, and no file names them.
    fn name_pseudo_frames(&mut self, profile: &Profile, from: usize) {
        for (frame, Frame { dso, address }) in profile.frames.iter().skip(from) {
            let is_pseudo = profile.dsos.get(dso).kind == DsoKind::Pseudo;
            if let Some(pseudo) = PseudoFrame::of_number(address).filter(|_| is_pseudo) {
                let function = self.named(dso, &pseudo.name(&profile.dsos), Provenance::Embedded);
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

    /// The function that stands for this frame alone; `None` if it has a name or inlined levels.
    pub fn own_function(&self, frame: FrameId) -> Option<FunctionId> {
        let own = Functions::of_frame(frame);
        match self.levels(frame) {
            [Level { function, inlining: Inlining::Called, .. }] if *function == own => {
                (self.merged(frame) == own).then_some(own)
            }
            _ => None,
        }
    }

    /// The addresses of a DSO that have no name; all that [`FunctionId::unnamed_of`] stands for.
    pub fn unnamed_in(&self, dso: DsoId) -> u32 {
        self.unnamed.get(dso.index()).copied().unwrap_or_default()
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
            FunctionKey::RestOfDso { dso } => {
                Function { name: None, dso, address: 0, provenance: Provenance::Unnamed }
            }
        }
    }

    /// All functions ever met, those of frames without a name first.
    pub fn function_ids(&self) -> impl Iterator<Item = FunctionId> + Clone + use<> {
        self.functions.ids()
    }

    /// The function of a number that somebody gives; `None` if there is none.
    pub fn function_of_number(&self, number: u32) -> Option<FunctionId> {
        self.functions.of_number(number)
    }

    /// Bytes of memory held, texts apart.
    pub fn memory(&self) -> usize {
        self.functions.memory()
            + self.ranges.capacity() * size_of::<LevelRange>()
            + self.merged.capacity() * size_of::<FunctionId>()
            + self.levels.capacity() * size_of::<Level>()
            + self.frames.memory()
    }

    /// Path of a source file.
    pub fn file(&self, id: FileId) -> &str {
        self.texts.get(StringId(id.0.get() - 1))
    }

    /// The file of a path, as debug information has it, if there is one.
    pub fn known_file(&self, path: &str) -> Option<FileId> {
        Some(FileId(NonZeroU32::MIN.saturating_add(self.texts.find(path)?.0)))
    }

    /// The frames of a DSO, in ascending order of address.
    pub(super) fn frames_of(&self, profile: &Profile, dso: DsoId) -> &[FrameId] {
        self.frames.by_address(profile, dso)
    }

    /// True if the frame's names came with a link.
    pub fn came_with_a_link(&self, frame: FrameId) -> bool {
        self.known.contains(&frame)
    }

    /// Those frames of a DSO whose names did not come with a link, likewise.
    pub(super) fn open_frames(&self, profile: &Profile, dso: DsoId) -> Vec<FrameId> {
        self.without_known(self.frames_of(profile, dso))
    }

    /// Takes in what the files of a DSO say of some of its frames.
    pub(super) fn adopt(
        &mut self,
        profile: &Profile,
        id: DsoId,
        met: &mut MetNames,
        frames: &[FrameId],
        names: &AddressNames,
    ) {
        self.meet(id, names, Provenance::Matched, met);
        let is_module = profile.dsos.get(id).kind == DsoKind::Module;
        let mut levels = Vec::new();
        for (&frame, named) in frames.iter().zip(names.by_address()) {
            let unnamed = Functions::of_frame(frame);
            levels.clear();
            levels.extend(named.iter().map(|level| met.level(level, unnamed)));
            let Some(outermost) = levels.first_mut() else { continue };
            outermost.inlining = Inlining::Called;
            let merged = outermost.function;
            // A stripped file must not take away a name that the recording has. Of a module the
            // recording knows better: where its code lies is worked out, not read.
            let (found, known) = (self.function(merged), self.function(self.merged(frame)));
            let is_worse = found.name.is_none() || (is_module && found.name != known.name);
            if known.provenance == Provenance::Embedded && is_worse {
                continue;
            }
            self.replace(frame, merged, &levels);
        }
        self.drop_unused_levels();
    }

    /// Numbers the functions and files that an answer is the first to have.
    fn meet(
        &mut self,
        dso: DsoId,
        names: &AddressNames,
        provenance: Provenance,
        met: &mut MetNames,
    ) {
        let functions = names.functions.iter().map(|name| self.named(dso, name, provenance));
        met.functions.extend(functions);
        met.files.extend(names.files.iter().map(|path| self.file_of_path(path)));
    }

    /// Those of `frames` whose names did not come with a link.
    fn without_known(&self, frames: &[FrameId]) -> Vec<FrameId> {
        frames.iter().copied().filter(|frame| !self.known.contains(frame)).collect()
    }

    /// Names the frames of the DSOs whose symbols travelled in the recording. Frames that have a
    /// name from a matched file keep it.
    pub fn embedded(&mut self, profile: &Profile, matched: &MatchedSymbols) {
        for &dso in matched.dsos() {
            let mut open = self.frames_of(profile, dso).to_vec();
            open.retain(|&frame| self.function(self.merged(frame)).name.is_none());
            let addresses = open.iter().map(|&frame| profile.frames.get(frame).address);
            let name_at = |address| matched.at(address).map(|symbol| symbol.name.as_str());
            let names = DsoNaming::new(dso, NamingDepth::Functions).by_symbols(addresses, name_at);
            self.name_plainly(dso, &open, &names, Provenance::Embedded);
        }
    }

    /// Names frames of a DSO as its process does; also their lines, which names of other files than the one that ran
    /// have not.
    pub fn self_named(&mut self, dso: DsoId, frames: &[FrameId], names: &AddressNames) {
        self.name_with(dso, frames, names, Provenance::SelfNamed, |met, level, function| Level {
            inlining: Inlining::Called,
            ..met.level(level, function)
        });
    }

    /// Where the frames of a DSO lie that have no name, or one of a file that the user insists on.
    pub fn forceable(&self, profile: &Profile, dso: DsoId) -> Vec<u64> {
        let is_open = |&&frame: &&FrameId| {
            let function = self.function(self.merged(frame));
            function.name.is_none() || function.provenance == Provenance::Forced
        };
        let open = self.open_frames(profile, dso);
        open.iter().filter(is_open).map(|&frame| profile.frames.get(frame).address).collect()
    }

    /// Names the frames of a DSO that have no name as a file that the user insists on does, and marks
    /// each name; returns how many got one, at least one. The answer is to [`Self::forceable`], and
    /// former forced names were taken away since.
    pub fn force(
        &mut self,
        profile: &Profile,
        dso: DsoId,
        answer: &ForcedAddresses,
    ) -> Result<usize, ForceError> {
        let mut open = self.open_frames(profile, dso);
        open.retain(|&frame| self.function(self.merged(frame)).name.is_none());
        if !answer.names.fit(open.len(), 0, 0) {
            return Err(ForceError::NamesNothing);
        }
        match self.name_plainly(dso, &open, &answer.names, Provenance::Forced) {
            0 => Err(ForceError::NamesNothing),
            named => Ok(named),
        }
    }

    /// Gives frames of a DSO their functions, where they have one; returns how many got one.
    fn name_plainly(
        &mut self,
        dso: DsoId,
        frames: &[FrameId],
        names: &AddressNames,
        provenance: Provenance,
    ) -> usize {
        self.name_with(dso, frames, names, provenance, |_, _, function| Level::plain(function))
    }

    /// The same; `level_of` tells what becomes of what an answer has of a function.
    fn name_with(
        &mut self,
        dso: DsoId,
        frames: &[FrameId],
        names: &AddressNames,
        provenance: Provenance,
        level_of: impl Fn(&MetNames, &NamedLevel, FunctionId) -> Level,
    ) -> usize {
        let mut met = MetNames::default();
        self.meet(dso, names, provenance, &mut met);
        let mut named = 0;
        for (&frame, levels) in frames.iter().zip(names.by_address()) {
            let Some(level) = levels.first() else { continue };
            if let Some(function) = met.function(level) {
                self.replace(frame, function, &[level_of(&met, level, function)]);
                named += 1;
            }
        }
        self.drop_unused_levels();
        named
    }

    /// Takes the forced names of a DSO away again. Those that came with a link stay: where their
    /// code lay is not in it.
    pub fn unforce(&mut self, dso: DsoId) {
        for frame in self.frames.as_met(dso).to_vec() {
            let is_forced = self.function(self.merged(frame)).provenance == Provenance::Forced;
            if is_forced && !self.known.contains(&frame) {
                let function = Functions::of_frame(frame);
                self.replace(frame, function, &[Level::plain(function)]);
            }
        }
        self.drop_unused_levels();
    }

    /// For links: the levels of a frame, outermost first, as the sender knew them. No file names
    /// it again.
    pub fn set_known(&mut self, frame: FrameId, levels: &[Level]) {
        if let Some(outermost) = levels.first() {
            self.replace(frame, outermost.function, levels);
            self.known.insert(frame);
        }
    }

    /// As naming does, for tests that name without an image.
    #[cfg(feature = "testing")]
    pub fn set_levels(&mut self, frame: FrameId, levels: &[Level]) {
        self.replace(frame, levels[0].function, levels);
    }

    /// The function at an address without a name.
    pub fn unnamed(&mut self, dso: DsoId, address: u64) -> FunctionId {
        self.functions.intern(FunctionKey::Unnamed { dso, address })
    }

    /// The path of a source file.
    pub fn file_of_path(&mut self, path: &str) -> FileId {
        FileId(NonZeroU32::MIN.saturating_add(self.texts.intern(path).0))
    }

    /// The function of a name as it is shown.
    pub fn named(&mut self, dso: DsoId, name: &str, provenance: Provenance) -> FunctionId {
        let name = self.texts.intern(name);
        self.functions.intern(FunctionKey::Named { dso, name, provenance })
    }

    /// Gives a frame other levels. They take the place of the old ones if they fit.
    fn replace(&mut self, frame: FrameId, merged: FunctionId, levels: &[Level]) {
        let before = std::mem::replace(&mut self.merged[frame.index()], merged);
        let [was, is] = [before, merged].map(|id| u32::from(self.function(id).name.is_none()));
        let dso = self.function(before).dso.index();
        self.unnamed[dso] = self.unnamed[dso] + is - was;
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

impl MetNames {
    /// How many functions and files answers have had so far.
    pub fn counts(&self) -> (usize, usize) {
        (self.functions.len(), self.files.len())
    }

    /// A number that no answer has explained is no name.
    fn function(&self, level: &NamedLevel) -> Option<FunctionId> {
        self.functions.get(level.function?.0 as usize).copied()
    }

    fn level(&self, level: &NamedLevel, unnamed: FunctionId) -> Level {
        Level {
            function: self.function(level).unwrap_or(unnamed),
            file: level.file.and_then(|file| self.files.get(file.0 as usize)).copied(),
            line: level.line,
            inlining: Inlining::Inlined,
        }
    }
}
