//! What became of what the kernel sampled: how much was lost, unreadable, or cut short.
//!
//! **Truncated.** The kernel stops walking a stack after so many addresses: what the event asked for
//! (`sample_max_stack`), else what the machine is set to (`kernel.perf_event_max_stack`, 127 unless
//! somebody changed it). A call chain of just that many addresses was cut: its outermost frames are
//! missing. (One stack in very many may be exactly as deep.) The markers between the parts of a chain
//! are no addresses and count apart since Linux 4.8; before, they were counted among the 127.
//!
//! In code without frame pointers the walk follows whatever a register holds, and where that points to
//! itself it goes on to the limit. What it finds there is no code: such a chain is not cut, it is lost.
//!
//! The stack of calls that a CPU keeps (`--call-graph lbr`) is cut at the number of its entries, which
//! perf writes down as `branches=32`; without that, at the most calls that any sample has, if a CPU
//! can have so many entries.
//!
//! The machine's setting is not recorded. A longer chain shows that it is another than 127, and then
//! nothing is said of events that did not ask for a number.
//!
//! **Lost.** LOST counts records that did not fit into a ring, LOST_SAMPLES what a CPU or a program
//! dropped. Where the recorder had the kernel count lost samples by event (`PERF_FORMAT_LOST`), it
//! writes these as LOST_SAMPLES, and they are the same once more.

use perftab_perfdata::map::Map;

use perftab_perfdata::decode::features::Features;
use perftab_perfdata::decode::sample::Words;
use perftab_perfdata::format::attr::read_format;
use perftab_perfdata::format::record::CONTEXT_MARKER_MIN;
use perftab_perfdata::text::counted;

use perftab_dsos::advice_on_copy;

use super::call_chain::Outermost;
use super::reader::Reader;
use super::user_part::{UserPart, WalkedTo};
use crate::{EventId, Funnel, Lost, Machine};

/// Addresses of a call chain, unless asked for or set otherwise (`PERF_MAX_STACK_DEPTH`).
const DEFAULT_LIMIT: usize = 127;
/// Entries of CPUs that keep a stack of calls (`x86_pmu.lbr_nr` in arch/x86/events/intel, Linux 6.12).
const CALL_STACK_DEPTHS: [usize; 3] = [8, 16, 32];
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
    /// Of stacks that the recorder walked as far as it had copied them.
    by_copy: CutByCopy,
    /// Stacks that were longer than their copies, and walked on by what was read later.
    behind_copy: u64,
    /// Of stacks that the CPU kept, how many had so many calls.
    calls: Map<usize, u64>,
}

/// Call chains that were cut, by who cut them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cut {
    by_event: u64,
    by_kernel: u64,
    by_cpu: u64,
    by_copy: CutByCopy,
}

/// Stacks that go on behind their copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CutByCopy {
    samples: u64,
    /// Bytes of the smallest of these.
    least: Option<u32>,
}

impl Cut {
    /// How many samples have such a chain.
    pub(super) fn samples(self) -> u64 {
        let by_others = self.by_cpu.saturating_add(self.by_copy.samples);
        self.by_event.saturating_add(self.by_kernel).saturating_add(by_others)
    }

    /// What it means and what to do; `None` if none was cut.
    pub(super) fn describe(self) -> Option<String> {
        let of_copy = self.by_copy.least.map_or("", advice_on_copy);
        let remedies = [
            (self.by_kernel, "Raise kernel.perf_event_max_stack with sysctl and record again."),
            (self.by_event, "Record with a larger --max-stack."),
            (self.by_copy.samples, of_copy),
            (self.by_cpu, "The CPU keeps no more calls. Record with frame pointers (-g)."),
        ];
        let remedies = remedies.iter().filter(|(samples, _)| *samples > 0);
        let remedies: String = remedies.map(|&(_, remedy)| format!(" {remedy}")).collect();
        let samples = counted(self.samples(), "sample has", "samples have");
        (self.samples() > 0).then(|| {
            format!(
                "{samples} a truncated stack: its outermost frames are missing, so it is not under \
                 its real callers.{remedies}"
            )
        })
    }
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
    #[inline(always)]
    pub(super) fn note(&mut self, chain: Words<'_>, asked_for: u16, outermost: Outermost) {
        let limit = match asked_for {
            0 => DEFAULT_LIMIT,
            limit => usize::from(limit),
        };
        if chain.len() >= limit {
            self.note_long(chain, asked_for, limit, outermost);
        }
    }

    fn note_long(&mut self, chain: Words<'_>, asked_for: u16, limit: usize, outermost: Outermost) {
        let addresses = chain.iter().filter(|&word| word < CONTEXT_MARKER_MIN).count();
        match (asked_for, addresses) {
            (0, more) if more > DEFAULT_LIMIT => self.longer = Longer::Seen,
            _ if outermost == Outermost::Unmapped => {}
            (0, DEFAULT_LIMIT) => self.default += 1,
            (0, _) if chain.len() == DEFAULT_LIMIT => self.with_markers += 1,
            (0, _) => {}
            (_, addresses) => self.stated += u64::from(addresses >= limit),
        }
    }

    /// A stack that goes on behind a copy of so many bytes.
    fn note_copy(&mut self, copied: u32) {
        let CutByCopy { samples, least } = &mut self.by_copy;
        *samples += 1;
        *least = Some(least.map_or(copied, |least| least.min(copied)));
    }

    /// So many calls in place of the user part of a chain.
    fn note_calls(&mut self, calls: usize) {
        *self.calls.entry(calls).or_default() += 1;
    }

    /// What is not certain of stacks that were walked on behind their copies, and of how many; `None` if none was.
    pub(super) fn describe_behind_copies(&self) -> Option<(u64, String)> {
        let samples = counted(self.behind_copy, "sample has a stack", "samples have stacks");
        (self.behind_copy > 0).then(|| {
            let message = format!(
                "{samples} larger than a record has room for. The outermost frames were read from the thread's memory \
                 at another moment, and may be wrong where it had returned and called the same functions again."
            );
            (self.behind_copy, message)
        })
    }

    /// How many were cut, on the machine that the features tell of.
    pub(super) fn count(&self, features: &Features) -> Cut {
        let os_release = features.host.os_release.as_deref();
        let is_old = os_release.and_then(kernel_version).is_some_and(|it| it < MARKERS_APART);
        let by_kernel = match self.longer {
            Longer::Seen => 0,
            Longer::NotSeen if is_old => self.default + self.with_markers,
            Longer::NotSeen => self.default,
        };
        let most = || self.calls.keys().max().copied();
        let depth = call_stack_depth(&features.machine)
            .or_else(|| most().filter(|most| CALL_STACK_DEPTHS.contains(most)));
        let by_cpu = depth
            .map_or(0, |depth| self.calls.iter().filter(|it| *it.0 >= depth).map(|it| it.1).sum());
        Cut { by_event: self.stated, by_kernel, by_cpu, by_copy: self.by_copy }
    }
}

/// How many calls the CPU keeps, as perf wrote it down.
fn call_stack_depth(machine: &Machine) -> Option<usize> {
    let capabilities = machine.pmus.iter().flat_map(|pmu| &pmu.capabilities);
    let depths = capabilities.filter_map(|it| it.strip_prefix("branches=")?.parse().ok());
    depths.filter(|&depth| depth > 0).max()
}

/// `6.1` of `6.1.0-18-amd64`.
fn kernel_version(os_release: &str) -> Option<(u32, u32)> {
    let mut numbers = os_release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

impl Reader {
    /// Notes whether the call chain of a sample, or the part of it that came later, was cut.
    #[inline(always)]
    pub(super) fn note_chain(
        &mut self,
        event: EventId,
        chain: Words<'_>,
        user_part: UserPart<'_>,
        outermost: Outermost,
    ) {
        match user_part {
            UserPart::Calls(calls) => self.cut_chains.note_calls(calls.len()),
            UserPart::Walked(WalkedTo::Root) => {}
            UserPart::Walked(WalkedTo::RootBehindCopy) => self.cut_chains.behind_copy += 1,
            UserPart::Walked(WalkedTo::EndOfCopy(copied)) => self.cut_chains.note_copy(copied),
            _ => self.cut_chains.note(chain, self.events.attr(event).max_stack, outermost),
        }
    }

    /// Whether the kernel counts lost samples by event, which the recorder writes when it ends.
    pub(super) fn counts_lost_samples(&self) -> bool {
        self.events.attrs().any(|attr| attr.read_format & read_format::LOST != 0)
    }

    /// What became of all samples; when everything has been read.
    pub(super) fn funnel(&self, lost: Lost) -> Funnel {
        let lost = match self.counts_lost_samples() {
            true => lost.events.max(lost.samples),
            false => lost.events.saturating_add(lost.samples),
        };
        let in_file = self.samples();
        Funnel {
            recorded: in_file.saturating_add(lost),
            lost,
            unreadable: self.unreadable_samples,
            truncated: self.cut_chains.count(&self.features).samples(),
            shown: in_file.saturating_sub(self.unreadable_samples),
        }
    }
}

#[cfg(test)]
mod tests {
    use perftab_perfdata::decode::ByteOrder;

    use super::*;
    use crate::Pmu;

    /// A chain of a marker for the kernel, one for user space, and so many addresses.
    fn chain(addresses: usize) -> Vec<u8> {
        let markers = [u64::MAX - 127, u64::MAX - 511]; // PERF_CONTEXT_KERNEL, _USER
        let words = markers.into_iter().chain((0..addresses as u64).map(|it| 0x1000 + it));
        words.flat_map(u64::to_le_bytes).collect()
    }

    fn cut(lengths: &[usize], asked_for: u16, os_release: &str) -> u64 {
        let mut chains = CutChains::default();
        for &length in lengths {
            chains.note(
                Words::new(&chain(length), ByteOrder::Little),
                asked_for,
                Outermost::Mapped,
            );
        }
        chains.count(&features(os_release, &[])).samples()
    }

    fn features(os_release: &str, capabilities: &[&str]) -> Features {
        let capabilities = capabilities.iter().map(|&it| it.to_owned()).collect();
        let mut features = Features::default();
        features.host.os_release = Some(os_release.to_owned());
        features.machine.pmus =
            vec![Pmu { event_type: None, name: "cpu".to_owned(), capabilities }];
        features
    }

    #[test]
    fn a_stack_of_calls_is_cut_at_the_entries_of_the_cpu() {
        let cut = |calls: &[usize], capabilities: &[&str]| {
            let mut chains = CutChains::default();
            calls.iter().for_each(|&calls| chains.note_calls(calls));
            chains.count(&features("6.1.0", capabilities)).by_cpu
        };
        assert_eq!(cut(&[3, 32, 16, 31, 32], &["max_precise=3", "branches=32"]), 2);
        assert_eq!(cut(&[3, 16, 31], &["branches=32"]), 0);
        assert_eq!(cut(&[3, 32, 16, 31, 32], &[]), 2);
        assert_eq!(cut(&[3, 16, 15], &[]), 1);
        assert_eq!(cut(&[3, 16, 17], &[]), 0, "no CPU has 17");
    }

    #[test]
    fn a_larger_copy_is_advised_where_there_can_be_one() {
        let described = |copies: &[u32]| {
            let mut chains = CutChains::default();
            copies.iter().for_each(|&copied| chains.note_copy(copied));
            chains.count(&features("6.1.0", &[])).describe().expect("some are cut")
        };
        assert!(described(&[65_528, 8192]).ends_with("at most 65528)."));
        let largest = described(&[65_528, 65_528]);
        assert!(largest.starts_with("2 samples have a truncated stack"), "{largest}");
        assert!(largest.ends_with("callers. A copy cannot be larger than these are."), "{largest}");
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
