//! The payload of a share link or a self-contained page: a whole profile, small enough for a URL.
//!
//! What is written is the call tree with its names, the ledger of DSOs, where in the hottest functions
//! samples ended, and numbers that say what was left out; never other addresses of named code, and no
//! folders, host name or command line unless asked for. `docs/snapshot-v1.md` describes every byte.
//!
//! A snapshot opens as a [`perftab_profile::Profile`] again, whose stacks are the kept call nodes
//! and whose samples are their sums, so every view works on it unchanged. Code without a name
//! keeps DSO and address: whoever opens a link can drop the binary, and the same gate names it.
//!
//! **Fidelity.** Call nodes are kept by their share of the weight and the bytes they take, as many
//! as fit.
//! The weight of the rest stays where it was called from, under the name [`FOLDED`], so that every
//! total is exact.
//!
//! **Hostile input.** Counts are bounded by the bytes that are there, inflating, texts, depth and
//! nodes have caps, and nothing here recurses. A damaged payload is an error, never a panic.
#![forbid(unsafe_code)]

mod bins;
mod carrier;
mod coder;
mod codes;
mod container;
mod decode;
#[cfg(test)]
mod density;
mod encode;
mod fields;
mod forecast;
mod heat;
#[cfg(test)]
mod heat_tests;
#[cfg(test)]
mod hostile_tests;
mod inside;
mod marks;
mod options;
mod origins;
mod packed;
mod privacy;
#[cfg(test)]
mod privacy_tests;
#[cfg(test)]
mod random_profile;
mod rebuild;
mod samples;
mod scope;
#[cfg(test)]
mod scope_tests;
mod selection;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod times_tests;
mod tree;
mod view_text;
#[cfg(test)]
mod work_tests;

use std::fmt;

use perftab_names::{Ledger, Status, Symbols};
use perftab_perfdata::error::Warning;
use perftab_perfdata::text::grouped;
use perftab_profile::Profile;
use perftab_views::coverage::{self, DsoUse, FrameCoverage};
use perftab_views::hot_lines::KnownHeat;
use perftab_views::place_texts::PlaceTexts;
use perftab_views::weights::Sum;

pub use carrier::{CarriedPayload, Carrier, find, is_page, may_be_text};
pub use decode::decode;
pub use encode::{
    HotPlace, LinkContext, LinkKey, LinkTools, Part, ProfileTextCounts, RenamedText, SharedPart,
    SharedTexts, encode, link,
};
pub use inside::{payload_of, seal, streams_of};
pub use options::{ShareOptions, Times};
pub use packed::PackedText;
pub use privacy::{BadRename, Disclosure, Privacy, Rename, RenameText};

/// Name of the frame, and of the process, that has the weight of what was left out.
pub const FOLDED: &str = "[folded]";
/// The version written, and the newest that is read.
pub const VERSION: u8 = 1;

/// Longest text kept; the rest of a longer one is cut off.
const MAX_TEXT: usize = 16 << 10;
/// Call nodes deeper than this are folded into their callers.
const MAX_DEPTH: usize = 16 << 10;
/// Call nodes times events that have samples; more are folded. As many as a link of two million
/// characters may hold of one event.
const MAX_NODES: usize = 2 << 20;
/// Processes; of more the lightest are left out. A page has a track for each.
const MAX_PROCESSES: usize = 1 << 16;
/// Threads; of more there are bins of processes.
const MAX_THREADS: usize = 1 << 17;
/// Single samples; of more there are sums.
const MAX_ROWS: usize = 16 << 20;
/// More than are ever mapped.
const MAX_DSOS: usize = 1 << 16;
/// Larger numbers of things are written as this, the largest that JavaScript has exactly.
const MAX_COUNTED: u64 = 1 << 53;
/// Places that the code of one DSO was mapped from.
const MAX_MAPPINGS: usize = 16;
/// A whole in which shares are written.
const BILLION: u64 = 1_000_000_000;
/// Later ones are left out.
const MAX_WARNINGS: usize = 32;
/// Functions of which it is told where in them samples ended; of more, those with the most.
const MAX_HOT_FUNCTIONS: usize = 1 << 10;
/// Places in all of these together.
const MAX_HOT_PLACES: usize = 1 << 16;
/// Neither written nor read.
const MAX_INFLATED: usize = 64 << 20;

/// What goes into a snapshot.
#[derive(Clone, Copy)]
pub struct Contents<'a> {
    /// Samples.
    pub profile: &'a Profile,
    /// Names.
    pub symbols: &'a Symbols,
    /// What is known of each DSO.
    pub ledger: &'a Ledger,
    /// What was lost or is doubtful.
    pub warnings: &'a [Warning],
    /// What folding would falsify.
    pub facts: &'a Facts,
}

impl Contents<'_> {
    /// How much of the recording has names, with what an earlier snapshot folded away.
    pub fn coverage(&self) -> FrameCoverage {
        coverage::frames(self.profile, self.symbols).with(&self.facts.folded)
    }
}

/// A payload and what of the profile it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedSnapshot {
    /// `p1.…`, ready to follow `#`.
    pub payload: String,
    /// What it holds.
    pub fidelity: Fidelity,
    /// Every text in it.
    pub texts: SharedTexts,
}

/// What of a profile a snapshot holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fidelity {
    /// Call nodes under their own names.
    pub kept_nodes: u64,
    /// Call nodes that there were.
    pub total_nodes: u64,
    /// Weight of the first event that ended in kept call nodes, 0 to 1.
    pub kept_weight_share: f64,
    /// Every call node with a larger share than this was kept; 0 if all were.
    pub threshold_share: f64,
    /// Weight of the first event that was folded.
    pub folded_weight: u64,
    /// DSOs in the ledger.
    pub kept_dsos: u64,
    /// DSOs that samples pass through.
    pub total_dsos: u64,
    /// What is known of when samples were.
    pub times: Times,
}

/// What is still known of DSOs that are not in a snapshot's ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// How many there were.
    pub dsos: u64,
    /// Samples that ended in them, by what was known of their names.
    leaf_samples: [u64; codes::COUNTED_STATUSES],
}

impl LeftOut {
    /// Samples that ended in them, for each status.
    pub fn leaf_samples(&self) -> impl Iterator<Item = (Status, u64)> {
        codes::STATUSES.into_iter().zip(self.leaf_samples)
    }

    fn add(&mut self, status: Status, leaf_samples: u64) {
        self.dsos = self.dsos.saturating_add(1);
        // Without symbols, the file matched all the same.
        let code = usize::from(codes::code(&codes::STATUSES, &status));
        let counted = if code < codes::COUNTED_STATUSES { code } else { 0 };
        let sum = &mut self.leaf_samples[counted];
        *sum = sum.saturating_add(leaf_samples);
    }
}

/// Numbers of the recording that cannot be counted again once call nodes are folded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// First and last sample, in nanoseconds of the recorder's clock.
    pub time: Option<(u64, u64)>,
    /// Processes, between execs.
    pub processes: u64,
    /// Threads, by name.
    pub threads: u64,
    /// By DSO: samples in it.
    pub uses: Vec<DsoUse>,
    /// What of the coverage was folded away; its `samples` are 0.
    pub folded: FrameCoverage,
    /// DSOs that a snapshot left out.
    pub left_out: LeftOut,
    /// By event: what the recording has of it, of which this is a part. Empty if it is all.
    pub part_of: Vec<Sum>,
    /// What an earlier snapshot had to keep from; `None` for a recording.
    pub before: Option<OriginalTree>,
    /// What an earlier snapshot told of where in functions samples ended.
    pub heat: KnownHeat,
    /// What stands where they ended, as far as it was read, or told by an earlier snapshot.
    pub texts: PlaceTexts,
}

/// What of a recording stood before a snapshot was made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginalTree {
    /// Call nodes.
    pub nodes: u64,
    /// Share of the heaviest that was not kept, in billionths.
    pub threshold: u64,
}

impl OriginalTree {
    /// The share, 0 to 1.
    pub fn threshold(self) -> f64 {
        self.threshold as f64 / BILLION as f64
    }
}

impl Facts {
    /// Counts them in a recording.
    pub fn of(profile: &Profile) -> Self {
        Self::with_uses(profile, coverage::dso_use(profile))
    }

    /// The same where the use of each DSO is known.
    pub fn with_uses(profile: &Profile, uses: Vec<DsoUse>) -> Self {
        let times = profile.recorded_rows().map(|row| profile.samples.time_nanos.at(row));
        let span = times.filter(|&time| time != 0).fold(None, |span, time| match span {
            None => Some((time, time)),
            Some((first, last)) => Some((time.min(first), time.max(last))),
        });
        Self {
            before: None,
            time: span,
            processes: profile.threads.processes.len() as u64,
            threads: profile.threads.threads.len() as u64,
            uses,
            folded: FrameCoverage::default(),
            left_out: LeftOut::default(),
            part_of: Vec::new(),
            heat: KnownHeat::default(),
            texts: PlaceTexts::default(),
        }
    }
}

/// A snapshot, opened.
pub struct Snapshot {
    /// Kept call nodes as stacks, and their sums as samples.
    pub profile: Profile,
    /// Their names.
    pub symbols: Symbols,
    /// The sender's.
    pub ledger: Ledger,
    /// The sender's.
    pub warnings: Vec<Warning>,
    /// The recording's.
    pub facts: Facts,
    /// What it holds of the recording.
    pub fidelity: Fidelity,
    /// How the sender looked at it, as [`ShareOptions::view`]; empty if that was not written.
    pub view: String,
    /// What the sender calls it, as [`ShareOptions::title`].
    pub title: Option<String>,
}

/// Why nothing can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooSmall {
    /// Characters that the payload needs at least.
    pub needed: usize,
}

impl fmt::Display for TooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a link needs at least {} characters after #", self.needed)
    }
}

impl std::error::Error for TooSmall {}

/// Why a payload cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// It is something else.
    NotASnapshot,
    /// Its end is missing.
    CutOff {
        /// Characters that are there.
        arrived: usize,
        /// Characters that were written; `None`: so much is missing that it cannot be told.
        expected: Option<u64>,
    },
    /// A newer perftab wrote it.
    NewerVersion {
        /// The version needed to read it.
        needed: u32,
    },
    /// Characters were changed on the way: the checksum is another.
    Damaged,
    /// The checksum is right, but what was written cannot be.
    Invalid {
        /// Which part.
        what: &'static str,
    },
}

impl SnapshotError {
    /// A stable word for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotASnapshot => "not-a-snapshot",
            Self::CutOff { .. } => "cut-off",
            Self::NewerVersion { .. } => "newer-version",
            Self::Damaged => "damaged",
            Self::Invalid { .. } => "invalid",
        }
    }
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotASnapshot => f.write_str("this is not a perftab link"),
            Self::CutOff { arrived, expected: Some(expected) } => write!(
                f,
                "this link is cut off: {} of {} characters arrived. Send it as a file, or make a \
                 shorter one",
                grouped(*arrived as u64),
                grouped(*expected)
            ),
            Self::CutOff { arrived, expected: None } => {
                write!(f, "this link is cut off after {} characters", grouped(*arrived as u64))
            }
            Self::NewerVersion { needed } => {
                write!(f, "this link needs perftab {needed}. This is perftab {VERSION}")
            }
            Self::Damaged => {
                f.write_str("the link was changed in transit: its checksum does not match")
            }
            Self::Invalid { what } => write!(f, "the link contains {what} that is impossible"),
        }
    }
}

impl std::error::Error for SnapshotError {}
