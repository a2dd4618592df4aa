//! Samples on their way into the profile, for those who want more of them than it keeps: their
//! raw call chains, branches and fields.

use crate::decode::event_format::EventFormat;
use crate::decode::sample::Words;
use crate::decode::sample_tail::SampleTail;
use crate::format::record::{CONTEXT_MARKER_MIN, CONTEXT_USER_DEFERRED};
use crate::profile::{EventId, Profile, StackId, ThreadId};

/// Sees each sample once, in the order of the profile's.
pub type SampleWatcher = Box<dyn FnMut(&WatchedSample<'_>)>;

/// A sample, raw and read.
///
/// Reading is deterministic: all ids are those of every other reading of the same bytes.
#[derive(Clone, Copy, Debug)]
pub struct WatchedSample<'a> {
    /// The profile as far as it has come.
    pub profile: &'a Profile,
    /// Process; `u32::MAX` if not recorded.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Nanoseconds of the recorder's clock.
    pub time_nanos: Option<u64>,
    /// CPU.
    pub cpu: Option<u32>,
    /// What was counted.
    pub event: EventId,
    /// How much of it the sample stands for.
    pub weight: u64,
    /// Who ran.
    pub thread: ThreadId,
    /// What ran.
    pub stack: StackId,
    /// Instruction pointer.
    pub ip: u64,
    /// Words of the call chain, markers included.
    pub call_chain: Words<'a>,
    /// The user part of the call chain, where the kernel took it later.
    pub deferred_chain: Words<'a>,
    /// What follows the call chain.
    pub tail: SampleTail<'a>,
    /// How the raw data of a tracepoint is to be read.
    pub format: Option<&'a EventFormat>,
}

impl<'a> WatchedSample<'a> {
    /// The addresses of the call chain, innermost first, or the instruction pointer if it has
    /// none. Without markers, everything else as the kernel wrote it.
    pub fn addresses(&self) -> impl Iterator<Item = u64> + 'a {
        let chain = || addresses(self.call_chain).chain(addresses(self.deferred_chain));
        let alone = chain().next().is_none().then_some(self.ip).filter(|&ip| ip != 0);
        chain().chain(alone)
    }
}

fn addresses<'a>(words: Words<'a>) -> impl Iterator<Item = u64> + use<'a> {
    let mut words = words.iter();
    std::iter::from_fn(move || {
        loop {
            let word = words.next()?;
            if word < CONTEXT_MARKER_MIN {
                return Some(word);
            }
            if word == CONTEXT_USER_DEFERRED {
                let _cookie = words.next();
            }
        }
    })
}
