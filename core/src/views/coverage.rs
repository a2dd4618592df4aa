//! How much of a profile has names: by frame, by leaf, by DSO.

use crate::profile::{Dso, DsoId, DsoKind, Profile, StackId, Stacks};
use crate::symbolize::{Naming, Symbols};
use crate::views::Query;
use crate::views::ends::Left;
use crate::views::filter::Filter;

/// How often a DSO was met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DsoUse {
    /// Samples that ended in it.
    pub leaf_samples: u64,
    /// Samples that it is anywhere in.
    pub samples: u64,
}

/// How much of what was sampled has a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCoverage {
    /// Frames of all samples: a stack seen twice counts twice.
    pub frames: u64,
    /// Those with a name of the build that ran.
    pub named: u64,
    /// Those with a forced name, which is none of the above.
    pub forced: u64,
    /// Samples.
    pub samples: u64,
    /// Samples whose innermost frame has a name of the build that ran.
    pub named_leaves: u64,
    /// Samples whose innermost frame has a forced name.
    pub forced_leaves: u64,
}

impl FrameCoverage {
    /// The frames of both; the samples of this one, since they are the same.
    pub fn with(&self, more: &Self) -> Self {
        Self {
            frames: self.frames.saturating_add(more.frames),
            named: self.named.saturating_add(more.named),
            forced: self.forced.saturating_add(more.forced),
            samples: self.samples,
            named_leaves: self.named_leaves.saturating_add(more.named_leaves),
            forced_leaves: self.forced_leaves.saturating_add(more.forced_leaves),
        }
    }

    /// The frames that are not among those of `part`, without samples.
    pub fn without(&self, part: &Self) -> Self {
        Self {
            frames: self.frames.saturating_sub(part.frames),
            named: self.named.saturating_sub(part.named),
            forced: self.forced.saturating_sub(part.forced),
            samples: 0,
            named_leaves: self.named_leaves.saturating_sub(part.named_leaves),
            forced_leaves: self.forced_leaves.saturating_sub(part.forced_leaves),
        }
    }
}

/// Recorded samples that end in each stack, and that pass through it.
struct StackCounts {
    leaf: Vec<u64>,
    total: Vec<u64>,
}

impl StackCounts {
    fn new(profile: &Profile) -> Self {
        Self::of(profile, profile.recorded_rows())
    }

    fn of(profile: &Profile, rows: impl Iterator<Item = usize>) -> Self {
        let mut leaf = vec![0u64; profile.stacks.len()];
        for row in rows {
            let count = &mut leaf[profile.samples.stack[row].index()];
            *count = count.saturating_add(profile.samples.count(row));
        }
        let mut total = leaf.clone();
        for stack in (1..total.len()).rev() {
            if let Some((prefix, _)) = profile.stacks.get(StackId(stack as u32)) {
                total[prefix.index()] = total[prefix.index()].saturating_add(total[stack]);
            }
        }
        Self { leaf, total }
    }
}

/// Use of each DSO, by [`DsoId`], over all recorded events.
pub fn dso_use(profile: &Profile) -> Vec<DsoUse> {
    dso_use_of(profile, &StackCounts::new(profile))
}

fn dso_use_of(profile: &Profile, counts: &StackCounts) -> Vec<DsoUse> {
    let mut uses = vec![DsoUse::default(); profile.dsos.len()];
    // By stack: which of 64 classes of DSOs are on it. With more DSOs than classes the bit only
    // says that a walk is needed.
    let mut classes = vec![0u64; profile.stacks.len()];
    for stack in (1..profile.stacks.len()).map(|stack| StackId(stack as u32)) {
        let Some((prefix, frame)) = profile.stacks.get(stack) else { continue };
        let dso = profile.frames.get(frame).dso;
        let class = 1 << (dso.0 % 64);
        let above = classes[prefix.index()];
        let uses = &mut uses[dso.index()];
        uses.leaf_samples = uses.leaf_samples.saturating_add(counts.leaf[stack.index()]);
        if above & class == 0 || !is_on(profile, prefix, dso) {
            uses.samples = uses.samples.saturating_add(counts.total[stack.index()]);
        }
        classes[stack.index()] = above | class;
    }
    uses
}

fn is_on(profile: &Profile, stack: StackId, dso: DsoId) -> bool {
    profile.stacks.frames(stack).any(|frame| profile.frames.get(frame).dso == dso)
}

/// How much has names, over all recorded events. What is folded out of a snapshot counts as samples only.
pub fn frames(profile: &Profile, symbols: &Symbols) -> FrameCoverage {
    frames_of(profile, symbols, &StackCounts::new(profile))
}

/// The same of what the filters and steps of a query leave, and the use of each DSO by it. Of all
/// recorded events, as everything here; `left` has by event what steps leave, all where it has nothing.
/// Stacks are those that were recorded: steps that rewrite them change nothing in what has names.
pub fn filtered(
    profile: &Profile,
    symbols: &Symbols,
    query: &Query,
    left: &[Left],
) -> (FrameCoverage, Vec<DsoUse>) {
    let filter = Filter::new(profile, query);
    let passes = |row: &usize| {
        let left = left.get(usize::from(profile.samples.event[*row]));
        filter.removed_by(*row).is_none() && left.is_none_or(|left| left.has(profile, *row))
    };
    let counts = StackCounts::of(profile, profile.recorded_rows().filter(passes));
    (frames_of(profile, symbols, &counts), dso_use_of(profile, &counts))
}

fn frames_of(profile: &Profile, symbols: &Symbols, counts: &StackCounts) -> FrameCoverage {
    let mut coverage = FrameCoverage {
        samples: counts.total.first().copied().unwrap_or(0),
        ..FrameCoverage::default()
    };
    for stack in (1..profile.stacks.len()).map(|stack| StackId(stack as u32)) {
        debug_assert_ne!(stack, Stacks::EMPTY);
        let Some((_, frame)) = profile.stacks.get(stack) else { continue };
        if profile.dsos.get(profile.frames.get(frame).dso).kind == DsoKind::Folded {
            continue; // It stands for frames that may have had names.
        }
        let (leaf, total) = (counts.leaf[stack.index()], counts.total[stack.index()]);
        coverage.frames = coverage.frames.saturating_add(total);
        let (frames, leaves) = match symbols.naming(frame) {
            Naming::Unnamed => continue,
            Naming::Named => (&mut coverage.named, &mut coverage.named_leaves),
            Naming::Forced => (&mut coverage.forced, &mut coverage.forced_leaves),
        };
        *frames = frames.saturating_add(total);
        *leaves = leaves.saturating_add(leaf);
    }
    coverage
}

/// True for what can be in a list of DSOs: an unmapped run is no file, nor is a folded rest or what
/// is off the CPU.
pub fn is_listed(dso: &Dso) -> bool {
    !matches!(dso.kind, DsoKind::Unmapped | DsoKind::Folded | DsoKind::OffCpu)
}
