//! Frames of addresses that are met again and again while a recording is read once more.

use perftab_profile::{FrameId, Frames, Profile, Space};

/// Addresses that are known at once: half a megabyte.
const KNOWN_PLACES: usize = 1 << 14;

/// Looks up frames; new ones are added to those that there are.
pub(super) struct FramePlaces(Vec<Place>);

/// An address of a process that was met.
#[derive(Clone, Copy)]
struct Place {
    address: u64,
    space: Option<Space>,
    frame: FrameId,
}

impl FramePlaces {
    /// Nothing is known.
    pub fn new() -> Self {
        let nowhere = Place { address: 0, space: None, frame: FrameId(0) };
        Self(vec![nowhere; KNOWN_PLACES])
    }

    /// The frame of an address, new or one of `frames`; `None` if nothing was mapped there.
    pub fn frame(
        &mut self,
        profile: &Profile,
        frames: &mut Frames,
        space: Space,
        address: u64,
    ) -> Option<FrameId> {
        // Code is in pages of many processes, at the same place in each.
        let slot = (address ^ address >> 14) as usize % KNOWN_PLACES;
        let known = self.0[slot];
        if known.address == address && known.space == Some(space) {
            return Some(known.frame);
        }
        let frame = profile.mappings.frame_in(space, address)?;
        let frame = frames.intern(frame);
        self.0[slot] = Place { address, space: Some(space), frame };
        Some(frame)
    }
}
