//! Samples on their way into the profile, for those who want more of them than it keeps: their
//! raw call chains, branches and fields.

use perftab_perfdata::decode::event_format::EventFormat;
use perftab_perfdata::decode::sample::Words;
use perftab_perfdata::decode::sample_tail::SampleTail;
use perftab_perfdata::format::record::{CONTEXT_MARKER_MIN, CONTEXT_USER, CONTEXT_USER_DEFERRED};

use super::user_part::UserPart;
use crate::{EventId, Profile, StackId, ThreadId};

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
    /// The user part of the call chain, where the kernel did not walk it.
    pub user_part: UserPart<'a>,
    /// What follows the call chain.
    pub tail: SampleTail<'a>,
    /// How the raw data of a tracepoint is to be read.
    pub format: Option<&'a EventFormat>,
}

impl<'a> WatchedSample<'a> {
    /// The addresses of the call chain, innermost first, or the instruction pointer if it has
    /// none. Without markers, everything else as the kernel wrote it.
    pub fn addresses(&self) -> Vec<u64> {
        let mut addresses = Vec::new();
        let mut words = self.call_chain.iter();
        let mut before = None;
        while let Some(word) = words.next() {
            let after = before.replace(word);
            match word {
                CONTEXT_USER_DEFERRED => drop(words.next()),
                CONTEXT_MARKER_MIN.. => {}
                _ => {
                    addresses.push(word);
                    if let (Some(CONTEXT_USER), UserPart::Calls(calls)) = (after, self.user_part) {
                        addresses.extend(calls.iter().map(|call| call.from).filter(|&it| it != 0));
                        return addresses;
                    }
                }
            }
        }
        let deferred = self.deferred_chain.iter().filter(|&word| word < CONTEXT_MARKER_MIN);
        addresses.extend(deferred);
        match self.user_part {
            UserPart::Called(pointer) => addresses.push(pointer),
            _ if addresses.is_empty() && self.ip != 0 => addresses.push(self.ip),
            _ => {}
        }
        addresses
    }
}
