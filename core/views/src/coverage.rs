//! How much of a profile has names: by frame, by leaf, by DSO.

use perftab_names::{Naming, Symbols};
use perftab_perfdata::slice::{Slice, at_once};
use perftab_profile::{Dso, DsoId, DsoKind, FrameId, Profile, StackId};

use crate::Query;
use crate::ends::RemainingSamples;
use crate::filter::Filter;

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

/// Use of each DSO, by [`DsoId`], over all recorded events.
pub fn dso_use(profile: &Profile) -> Vec<DsoUse> {
    Uses::of(profile).dsos
}

/// How much has names, over all recorded events. What is folded out of a snapshot counts as samples only.
pub fn frames(profile: &Profile, symbols: &Symbols) -> FrameCoverage {
    FrameUses::of(profile).names(profile, symbols).frames
}

/// How often everything was met, over all recorded events, or in what filters and steps leave of them.
#[derive(Debug, Default)]
pub struct Uses {
    /// Of frames.
    pub frames: FrameUses,
    /// Of each DSO, by [`DsoId`].
    pub dsos: Vec<DsoUse>,
    /// By [`DsoId`]: samples in which what called code of it lies in no mapping.
    pub lost_callers: Vec<u64>,
}

impl Uses {
    /// Goes through all samples.
    pub fn of(profile: &Profile) -> Self {
        at_once(async |slice| Self::of_rows(profile, &|_| true, slice).await)
    }

    async fn of_rows(profile: &Profile, passes: &dyn Fn(usize) -> bool, slice: &Slice) -> Self {
        let leaves = leaves(profile, passes, slice).await;
        let classes = dso_classes(profile, slice).await;
        let mut of_frames = vec![(0_u64, 0_u64); profile.frames.len()];
        let mut dsos = vec![DsoUse::default(); profile.dsos.len()];
        let mut lost_callers = vec![0_u64; profile.dsos.len()];
        let unmapped = profile.dsos.iter().find(|(_, dso)| dso.kind == DsoKind::Unmapped);
        let unmapped = unmapped.map(|(id, _)| id);
        let is_unmapped = |stack: StackId| {
            let innermost = profile.stacks.get(stack).map(|(_, frame)| profile.frames.get(frame));
            innermost.is_some_and(|frame| Some(frame.dso) == unmapped)
        };
        let mut totals = leaves.clone();
        // Prefixes have lower numbers: what passes through a stack is known when its turn comes.
        let mut from_the_last = 0..leaves.len();
        while let Some(part) = slice.part(&mut from_the_last).await {
            for stack in part.map(|place| leaves.len() - 1 - place) {
                let (leaf, total) = (leaves[stack], totals[stack]);
                let of_stack = profile.stacks.get(StackId(stack as u32));
                let Some((prefix, frame)) = of_stack else { continue };
                let before = &mut totals[prefix.index()];
                *before = before.saturating_add(total);
                let of_frame = &mut of_frames[frame.index()];
                *of_frame = (of_frame.0.saturating_add(leaf), of_frame.1.saturating_add(total));
                let dso = profile.frames.get(frame).dso;
                // Only stacks that have such words at all are looked at twice.
                if unmapped.is_some_and(|it| classes[prefix.index()] & class(it) != 0)
                    && is_unmapped(prefix)
                {
                    let lost = &mut lost_callers[dso.index()];
                    *lost = lost.saturating_add(total);
                }
                let of_dso = &mut dsos[dso.index()];
                of_dso.leaf_samples = of_dso.leaf_samples.saturating_add(leaf);
                if classes[prefix.index()] & class(dso) == 0 || !is_on(profile, prefix, dso) {
                    of_dso.samples = of_dso.samples.saturating_add(total);
                }
            }
        }
        let samples = totals.first().copied().unwrap_or_default();
        Self { frames: FrameUses { uses: of_frames, samples }, dsos, lost_callers }
    }
}

/// How often each frame was met, over all recorded events. Names change nothing in it, so it is counted once.
#[derive(Debug, Default)]
pub struct FrameUses {
    /// By [`FrameId`]: samples that ended in it, and how often it is on their stacks.
    uses: Vec<(u64, u64)>,
    samples: u64,
}

impl FrameUses {
    /// Goes through all samples.
    pub fn of(profile: &Profile) -> Self {
        Uses::of(profile).frames
    }

    /// How much of it has names now.
    pub fn names(&self, profile: &Profile, symbols: &Symbols) -> NamesCounted {
        let mut names = NamesCounted::new(profile);
        names.frames.samples = self.samples;
        for (frame, &(leaf, total)) in (0..).map(FrameId).zip(&self.uses) {
            names.add(profile, symbols, frame, leaf, total);
        }
        names
    }
}

/// How much of what was counted has names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamesCounted {
    /// How much it is.
    pub frames: FrameCoverage,
    /// By [`DsoId`]: samples that ended in code of it that has no name. What is folded out of a snapshot is
    /// not among them.
    pub unnamed_leaves: Vec<u64>,
}

impl NamesCounted {
    fn new(profile: &Profile) -> Self {
        Self { unnamed_leaves: vec![0; profile.dsos.len()], ..Self::default() }
    }

    /// So many samples end in a frame, and so many pass through it.
    fn add(&mut self, profile: &Profile, symbols: &Symbols, frame: FrameId, leaf: u64, total: u64) {
        let dso = profile.frames.get(frame).dso;
        if matches!(profile.dsos.get(dso).kind, DsoKind::Folded | DsoKind::Pseudo) {
            return; // It stands for frames that may have had names, or is none.
        }
        let coverage = &mut self.frames;
        coverage.frames = coverage.frames.saturating_add(total);
        let (frames, leaves) = match symbols.naming(frame) {
            Naming::Unnamed => {
                let unnamed = &mut self.unnamed_leaves[dso.index()];
                *unnamed = unnamed.saturating_add(leaf);
                return;
            }
            Naming::Named => (&mut coverage.named, &mut coverage.named_leaves),
            Naming::Forced => (&mut coverage.forced, &mut coverage.forced_leaves),
        };
        *frames = frames.saturating_add(total);
        *leaves = leaves.saturating_add(leaf);
    }
}

/// How often everything was met in what the filters and steps of a query leave. Of all recorded events, as
/// everything here; `left` has by event what steps leave, all where it has nothing. Stacks are those that
/// were recorded: steps that rewrite them change nothing in what has names. In slices of rows and stacks.
pub async fn filtered(
    profile: &Profile,
    query: &Query,
    left: &[RemainingSamples],
    slice: &Slice,
) -> Uses {
    slice.expect(profile.samples.len() + 2 * profile.stacks.len());
    let filter = Filter::new(profile, query);
    let passes = |row: usize| {
        let left = left.get(usize::from(profile.samples.event[row]));
        filter.removed_by(row).is_none() && left.is_none_or(|left| left.has(profile, row))
    };
    Uses::of_rows(profile, &passes, slice).await
}

/// Recorded samples by the stack that they end in.
async fn leaves(profile: &Profile, passes: &dyn Fn(usize) -> bool, slice: &Slice) -> Vec<u64> {
    let mut leaves = vec![0_u64; profile.stacks.len()];
    let mut rows = 0..profile.samples.len();
    while let Some(part) = slice.part(&mut rows).await {
        for row in profile.recorded_rows_of(part).filter(|&row| passes(row)) {
            let leaf = &mut leaves[profile.samples.stack[row].index()];
            *leaf = leaf.saturating_add(profile.samples.count(row));
        }
    }
    leaves
}

/// By stack: the classes of the DSOs that are on it.
async fn dso_classes(profile: &Profile, slice: &Slice) -> Vec<u64> {
    let mut classes: Vec<u64> = vec![0; profile.stacks.len()];
    let mut stacks = 0..classes.len();
    while let Some(part) = slice.part(&mut stacks).await {
        for stack in part {
            if let Some((prefix, frame)) = profile.stacks.get(StackId(stack as u32)) {
                classes[stack] = classes[prefix.index()] | class(profile.frames.get(frame).dso);
            }
        }
    }
    classes
}

/// One of 64 classes of DSOs. With more DSOs than classes it only says that a walk is needed.
fn class(dso: DsoId) -> u64 {
    1 << (dso.0 % 64)
}

fn is_on(profile: &Profile, stack: StackId, dso: DsoId) -> bool {
    profile.stacks.frames(stack).any(|frame| profile.frames.get(frame).dso == dso)
}

/// True for what can be in a list of DSOs: an unmapped run is no file, nor is a folded rest or what is no code.
pub fn is_listed(dso: &Dso) -> bool {
    !matches!(dso.kind, DsoKind::Unmapped | DsoKind::Folded | DsoKind::Pseudo)
}
