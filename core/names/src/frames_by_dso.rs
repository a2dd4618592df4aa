//! Which frames lie in a DSO.

use std::cell::OnceCell;

use perftab_perfdata::sorting::sort_by_numbers;
use perftab_profile::{DsoId, FrameId, Profile};

/// Frames by DSO. Those of one are sorted when somebody needs their order: sorting all took a twentieth of
/// what a recording of a million samples takes to be drawn once it has been read, and no graph without names
/// needs it.
#[derive(Clone, Default)]
pub(super) struct FramesByDso(Vec<OfDso>);

#[derive(Clone, Default)]
struct OfDso {
    as_met: Vec<FrameId>,
    by_address: OnceCell<Box<[FrameId]>>,
}

impl FramesByDso {
    pub(super) fn of(profile: &Profile) -> Self {
        let mut counts = vec![0; profile.dsos.len()];
        for (_, frame) in profile.frames.iter() {
            counts[frame.dso.index()] += 1;
        }
        let with_room_for = |count| OfDso { as_met: Vec::with_capacity(count), ..OfDso::default() };
        let mut dsos: Vec<OfDso> = counts.into_iter().map(with_room_for).collect();
        for (id, frame) in profile.frames.iter() {
            dsos[frame.dso.index()].as_met.push(id);
        }
        Self(dsos)
    }

    /// In the order in which they were met first.
    pub(super) fn as_met(&self, dso: DsoId) -> &[FrameId] {
        self.0.get(dso.index()).map_or(&[], |of_dso| &of_dso.as_met)
    }

    /// In ascending order of address.
    pub(super) fn by_address(&self, profile: &Profile, dso: DsoId) -> &[FrameId] {
        let Some(OfDso { as_met, by_address }) = self.0.get(dso.index()) else { return &[] };
        by_address.get_or_init(|| {
            let mut frames: Box<[FrameId]> = as_met.as_slice().into();
            sort_by_numbers(&mut frames, |&id| (profile.frames.get(id).address, 0));
            frames
        })
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        let frames_of = |of_dso: &OfDso| {
            of_dso.as_met.capacity() + of_dso.by_address.get().map_or(0, |frames| frames.len())
        };
        let frames: usize = self.0.iter().map(frames_of).sum();
        self.0.capacity() * size_of::<OfDso>() + frames * size_of::<FrameId>()
    }
}
