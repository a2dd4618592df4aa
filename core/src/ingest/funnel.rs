//! What became of what the kernel sampled: how much was lost, unreadable, or cut short.
//!
//! **Truncated.** The kernel stops walking a stack after so many addresses: what the event asked for
//! (`sample_max_stack`), else what the machine is set to (`kernel.perf_event_max_stack`, 127 unless
//! somebody changed it). A call chain of just that many addresses was cut: its outermost frames are
//! missing. (One stack in very many may be exactly as deep.) The markers between the parts of a chain
//! are no addresses and count apart since Linux 4.8; before, they were counted among the 127.
//!
//! The machine's setting is not recorded. A longer chain shows that it is another than 127, and then
//! nothing is said of events that did not ask for a number.
//!
//! **Lost.** LOST counts records that did not fit into a ring, LOST_SAMPLES what a CPU or a program
//! dropped. Where the recorder had the kernel count lost samples by event (`PERF_FORMAT_LOST`), it
//! writes these as LOST_SAMPLES, and they are the same once more.

use super::reader::Reader;
use crate::decode::sample::Words;
use crate::format::attr::read_format;
use crate::format::record::CONTEXT_MARKER_MIN;
use crate::profile::{EventId, Funnel};

/// Addresses of a call chain, unless asked for or set otherwise (`PERF_MAX_STACK_DEPTH`).
const DEFAULT_LIMIT: usize = 127;
/// The first kernel that counts markers apart.
const MARKERS_APART: (u32, u32) = (4, 8);

/// Call chains that are as long as they could be.
#[derive(Debug, Default)]
pub(super) struct CutChains {
    /// Of events that asked for a number of addresses.
    stated: u64,
    /// Of [`DEFAULT_LIMIT`] addresses.
    default: u64,
    /// Of [`DEFAULT_LIMIT`] words, markers among them.
    with_markers: u64,
    /// One had more than [`DEFAULT_LIMIT`] addresses.
    longer: Longer,
}

/// Whether the machine is known to be set to more than the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Longer {
    #[default]
    NotSeen,
    Seen,
}

impl CutChains {
    /// A chain of an event that asked for so many addresses; 0: for none in particular.
    pub(super) fn note(&mut self, chain: Words<'_>, asked_for: u16) {
        let limit = match asked_for {
            0 => DEFAULT_LIMIT,
            limit => usize::from(limit),
        };
        if chain.len() < limit {
            return;
        }
        let addresses = chain.iter().filter(|&word| word < CONTEXT_MARKER_MIN).count();
        match (asked_for, addresses) {
            (0, DEFAULT_LIMIT) => self.default += 1,
            (0, more) if more > DEFAULT_LIMIT => self.longer = Longer::Seen,
            (0, _) if chain.len() == DEFAULT_LIMIT => self.with_markers += 1,
            (0, _) => {}
            (_, addresses) => self.stated += u64::from(addresses >= limit),
        }
    }

    /// How many were cut, on a machine with this kernel (`uname -r`).
    fn count(&self, os_release: Option<&str>) -> u64 {
        let is_old = os_release.and_then(kernel_version).is_some_and(|it| it < MARKERS_APART);
        match self.longer {
            Longer::Seen => self.stated,
            Longer::NotSeen if is_old => self.stated + self.default + self.with_markers,
            Longer::NotSeen => self.stated + self.default,
        }
    }
}

/// `6.1` of `6.1.0-18-amd64`.
fn kernel_version(os_release: &str) -> Option<(u32, u32)> {
    let mut numbers = os_release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

impl Reader {
    /// Notes whether the call chain of a sample, or the part of it that came later, was cut.
    pub(super) fn note_chain(&mut self, event: EventId, chain: Words<'_>) {
        self.cut_chains.note(chain, self.events.attr(event).max_stack);
    }

    /// Whether the kernel counts lost samples by event, which the recorder writes when it ends.
    pub(super) fn counts_lost_samples(&self) -> bool {
        self.events.attrs().any(|attr| attr.read_format & read_format::LOST != 0)
    }

    /// What became of all samples; when everything has been read.
    pub(super) fn funnel(&self) -> Funnel {
        let lost = self.profile.lost;
        let lost = match self.counts_lost_samples() {
            true => lost.events.max(lost.samples),
            false => lost.events.saturating_add(lost.samples),
        };
        let in_file = self.samples();
        Funnel {
            recorded: in_file.saturating_add(lost),
            lost,
            unreadable: self.unreadable_samples,
            truncated: self.cut_chains.count(self.features.host.os_release.as_deref()),
            shown: in_file.saturating_sub(self.unreadable_samples),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::ByteOrder;

    /// A chain of a marker for the kernel, one for user space, and so many addresses.
    fn chain(addresses: usize) -> Vec<u8> {
        let markers = [u64::MAX - 127, u64::MAX - 511]; // PERF_CONTEXT_KERNEL, _USER
        let words = markers.into_iter().chain((0..addresses as u64).map(|it| 0x1000 + it));
        words.flat_map(u64::to_le_bytes).collect()
    }

    fn cut(lengths: &[usize], asked_for: u16, os_release: &str) -> u64 {
        let mut chains = CutChains::default();
        for &length in lengths {
            chains.note(Words::new(&chain(length), ByteOrder::Little), asked_for);
        }
        chains.count(Some(os_release))
    }

    #[test]
    fn a_chain_of_all_addresses_that_there_can_be_was_cut() {
        assert_eq!(cut(&[3, 126, 127, 125, 127], 0, "6.1.0-18-amd64"), 2);
        assert_eq!(cut(&[3, 15, 16, 14, 127], 16, "6.1.0"), 2);
        assert_eq!(cut(&[0, 126], 127, "6.1.0"), 0);
    }

    #[test]
    fn where_one_is_longer_nobody_knows_the_limit() {
        assert_eq!(cut(&[127, 127, 200], 0, "6.1.0"), 0);
    }

    #[test]
    fn old_kernels_counted_markers() {
        assert_eq!(cut(&[125, 127, 20], 0, "3.4.0"), 2);
        assert_eq!(cut(&[125, 127, 20], 0, "4.7.9"), 2);
        assert_eq!(cut(&[125, 127, 20], 0, "4.8.0"), 1);
        assert_eq!(cut(&[125, 127, 20], 0, "unknown"), 1);
    }
}
