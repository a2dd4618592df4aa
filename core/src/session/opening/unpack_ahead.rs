//! Packed bytes of a recording → what is in them, for an [`Opening`](super::Opening) on another thread.
//!
//! A host with a second thread or worker gives this the packed bytes, as many times as they are wanted,
//! and what comes out to the opening instead of them.

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::wrapper::{Unwrap, Wrapper};
use perftab_profile::ingest::{RecordsAhead, Rest, UnpackFailure, Unpacked};

/// Bytes with packed records that are taken before it is looked how much came out of them: few, as four bytes of zstd may
/// hold 128 KiB.
const STEP: usize = 256;
/// What is handed on has at least so many bytes, as long as there is more. What a single record holds is handed on at
/// once, and so is what a decoder held back: with damage or malice 64 MiB, and a window.
const PIECE: usize = 256 << 10;

/// Of so many packed bytes a reader is told although nothing came out of them.
const MUCH_TAKEN: u64 = 1 << 20;

/// What is packed in a recording of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// From this byte of the file on.
    pub begin: u64,
    /// To before this one.
    pub end: u64,
    /// How often they are read.
    pub passes: u64,
    /// How they are packed.
    pub form: PackedForm,
}

/// How bytes are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackedForm {
    /// As a whole.
    Wrapper(Wrapper),
    /// In records, with zstd, between others.
    Records(ByteOrder),
}

/// Unpacks a recording.
pub struct UnpackAhead {
    packing: Packing,
    passes_left: u64,
    /// Of the next byte.
    offset: u64,
    unpacking: Unpacking,
}

enum Unpacking {
    Records(Box<RecordsAhead>),
    Wrapper { unwrap: Unwrap, unpacked: Unpacked },
}

impl Unpacking {
    fn new(packing: Packing) -> Self {
        match packing.form {
            PackedForm::Records(order) => {
                Self::Records(Box::new(RecordsAhead::new(order, packing.begin)))
            }
            PackedForm::Wrapper(wrapper) => {
                Self::Wrapper { unwrap: Unwrap::new(wrapper), unpacked: Unpacked::default() }
            }
        }
    }

    /// Takes a little.
    fn step(&mut self, input: &mut &[u8]) -> Step {
        match self {
            Self::Records(records) => {
                let (step, rest) = input.split_at_checked(STEP).unwrap_or((input, &[]));
                *input = rest;
                if !step.is_empty() {
                    records.push(step);
                    // Whoever reads them ends where they do.
                    return if records.are_over() { Step::Ends(None) } else { Step::Unpacked };
                }
            }
            Self::Wrapper { unwrap, unpacked } => {
                let before = input.len();
                let next = unwrap.next(input);
                unpacked.taken += (before - input.len()) as u64;
                match next {
                    Ok(Some(bytes)) => {
                        unpacked.bytes.extend_from_slice(bytes);
                        return Step::Unpacked;
                    }
                    // A decoder that leaves some of it finds nothing in that.
                    Ok(None) => *input = &[],
                    Err(error) => {
                        unwrap.drain(&mut |bytes| unpacked.bytes.extend_from_slice(bytes));
                        return Step::Ends(Some(UnpackFailure::from(&error)));
                    }
                }
            }
        }
        Step::Starves
    }

    /// What has come out, if it is much.
    fn take_if_much(&mut self, place: Place) -> Option<Unpacked> {
        let unpacked = match self {
            // What was held back comes with the last of them: a stream that has got all its bytes ends.
            Self::Records(records) if place == Place::Within => records.unpacked(),
            Self::Wrapper { unpacked, .. } => unpacked,
            Self::Records(_) => return None,
        };
        let gives_much = unpacked.bytes.len() + unpacked.packed.len() >= PIECE;
        let is_much = gives_much || unpacked.taken >= MUCH_TAKEN;
        is_much.then(|| std::mem::take(unpacked))
    }
}

/// How much of a pass was taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Not all.
    Within,
    /// All.
    End,
}

/// What came of some packed bytes.
enum Step {
    /// Something, or nothing yet.
    Unpacked,
    /// More is needed.
    Starves,
    /// Nothing more can be read.
    Ends(Option<UnpackFailure>),
}

impl UnpackAhead {
    /// From the first byte of the first pass on.
    pub fn new(packing: Packing) -> Self {
        let Packing { begin, passes, .. } = packing;
        let unpacking = Unpacking::new(packing);
        Self { packing, passes_left: passes, offset: begin, unpacking }
    }

    /// From which byte of the file on it wants more, and how many; `None` if no more.
    pub fn wants(&self) -> Option<(u64, u64)> {
        let left = self.packing.end.saturating_sub(self.offset);
        (self.passes_left > 0).then_some((self.offset, left))
    }

    /// Takes from the front of `block`, which is of the bytes wanted, and returns what came out of them. `None` if
    /// all of it was taken and nothing more comes out.
    pub fn push(&mut self, block: &mut &[u8]) -> Option<Unpacked> {
        loop {
            let (_, left) = self.wants()?;
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            let mut input = &block[..block.len().min(left)];
            let before = input.len();
            let step = self.unpacking.step(&mut input);
            let taken = before - input.len();
            *block = &block[taken..];
            self.offset += taken as u64;
            let place = match self.offset == self.packing.end {
                true => Place::End,
                false => Place::Within,
            };
            match step {
                Step::Unpacked => {
                    if let Some(unpacked) = self.unpacking.take_if_much(place) {
                        return Some(unpacked);
                    }
                }
                Step::Starves if place == Place::Within => {
                    return self.unpacking.take_if_much(place);
                }
                Step::Starves => return Some(self.finish_pass(None)),
                Step::Ends(failure) => {
                    *block = &[];
                    return Some(self.finish_pass(failure));
                }
            }
        }
    }

    /// Says that the file ends before it should.
    pub fn end_early(&mut self) -> Option<Unpacked> {
        self.wants().map(|_| self.finish_pass(None))
    }

    /// What is the last to come out of this pass.
    fn finish_pass(&mut self, failure: Option<UnpackFailure>) -> Unpacked {
        self.passes_left -= 1;
        self.offset = self.packing.begin;
        match std::mem::replace(&mut self.unpacking, Unpacking::new(self.packing)) {
            Unpacking::Records(mut records) => {
                records.finish();
                std::mem::take(records.unpacked())
            }
            Unpacking::Wrapper { mut unwrap, mut unpacked } => {
                let finished = unwrap.finish(&mut |bytes| unpacked.bytes.extend_from_slice(bytes));
                let failure = failure.or_else(|| finished.err().as_ref().map(UnpackFailure::from));
                Unpacked { failure, rest: Rest::Nothing, ..unpacked }
            }
        }
    }
}
