//! Functions by what they are called: the way back from a name or an address to numbers.

use perftab_profile::{DsoId, FrameId, Profile, StringId};

use super::functions::{FunctionId, FunctionKey, Functions, Provenance};
use super::symbols::Symbols;

/// A name of functions, looked up once.
#[derive(Clone, Copy, Debug)]
pub struct KnownName(StringId);

impl Symbols {
    /// The name, if any function may have it.
    pub fn find_name(&self, name: &str) -> Option<KnownName> {
        self.texts.find(name).map(KnownName)
    }

    /// The functions of this name in a DSO: one for each way in which names came to be.
    pub fn functions_named(&self, dso: DsoId, name: KnownName) -> Vec<FunctionId> {
        let ways = [
            Provenance::Unnamed,
            Provenance::Matched,
            Provenance::Embedded,
            Provenance::Forced,
            Provenance::SelfNamed,
        ];
        let key = |provenance| FunctionKey::Named { dso, name: name.0, provenance };
        ways.into_iter().filter_map(|way| self.functions.find(key(way))).collect()
    }

    /// What lies at an address of a DSO ([`perftab_profile::Frame::address`]): the function without
    /// a name that begins and ends there, and what covers it now that there are names.
    pub fn functions_at(&self, profile: &Profile, dso: DsoId, address: u64) -> Vec<FunctionId> {
        let unnamed = self.functions.find(FunctionKey::Unnamed { dso, address });
        // Frames that came with names by a link lie at made-up addresses.
        let frame = self.frame_at(profile, dso, address);
        let frame = frame.filter(|&frame| !self.came_with_a_link(frame));
        let of_frame = frame.into_iter().flat_map(|frame| {
            [Some(Functions::of_frame(frame)), Some(self.merged(frame))].into_iter().flatten()
        });
        unnamed.into_iter().chain(of_frame).collect()
    }

    /// Code of a DSO that has no name: all of it as one, and each address.
    pub fn functions_unnamed(&self, profile: &Profile, dso: DsoId) -> Vec<FunctionId> {
        let frames = self.frames_of(profile, dso).iter();
        let addresses = frames.flat_map(|&frame| self.levels(frame)).map(|level| level.function);
        let unnamed = addresses.filter(|&id| self.function(id).name.is_none());
        std::iter::once(FunctionId::unnamed_of(dso)).chain(unnamed).collect()
    }

    /// The frame at an address of a DSO, if a sample has one there.
    pub fn frame_at(&self, profile: &Profile, dso: DsoId, address: u64) -> Option<FrameId> {
        let frames = self.frames_of(profile, dso);
        let found = frames.binary_search_by_key(&address, |&id| profile.frames.get(id).address);
        found.ok().map(|index| frames[index])
    }
}
