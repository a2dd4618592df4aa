//! A recording read once more, sample by sample, beside the session that was made of it.

use super::{Opening, OpeningProgress, Packing, Unpacked, WantedBytes};

/// A second reading. It takes the same bytes as the first, whatever the recording's form, and shows
/// each sample with what the profile does not keep: raw call chain, registers, branches, fields, and the
/// copy of the user stack if it is asked for. Of samples nothing is kept, so memory is that of what is
/// held back for the order of time.
///
/// A sample's row is the same in both readings, so what it became is in the session's profile
/// ([`stack_in`](super::WatchedSample::stack_in)), and so is what was mapped then
/// ([`mapped_at`](super::WatchedSample::mapped_at)).
///
/// ```no_run
/// # fn host(source: &dyn perftab_perfdata::decode::ByteSource) -> Result<(), Box<dyn std::error::Error>> {
/// use perftab_core::session::{Opening, StackDumps, WatchedSample};
/// let show = |sample: &WatchedSample<'_>| println!("{}: {:x?}", sample.row, sample.addresses());
/// let mut replay = Opening::new(&[source])?.replay(StackDumps::LeftOut, Box::new(show));
/// while let Some(wanted) = replay.wants() {
///     replay.push(&source.read_vec(wanted.offset, wanted.length.min(1 << 20))?);
/// }
/// replay.finish();
/// # Ok(())
/// # }
/// ```
pub struct Replay {
    opening: Opening,
}

impl Replay {
    pub(super) fn new(opening: Opening) -> Self {
        Self { opening }
    }

    /// Which bytes are wanted next; `None` if all have been read.
    pub fn wants(&self) -> Option<WantedBytes> {
        self.opening.wants()
    }

    /// How far it is.
    pub fn progress(&self) -> OpeningProgress {
        self.opening.progress()
    }

    /// Takes the bytes from where [`Self::wants`] says on, as [`Opening::push`] does.
    pub fn push(&mut self, block: &[u8]) {
        self.opening.push(block);
    }

    /// As [`Opening::packing`].
    pub fn packing(&self) -> Option<Packing> {
        self.opening.packing()
    }

    /// As [`Opening::push_unpacked`].
    pub fn push_unpacked(&mut self, unpacked: Unpacked) {
        self.opening.push_unpacked(unpacked);
    }

    /// Ends it: the samples that were still held back are shown now.
    pub fn finish(self) {
        self.opening.finish_replay();
    }
}
