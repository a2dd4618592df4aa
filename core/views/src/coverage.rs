//! How much of a profile has names: by frame, by leaf, by DSO.

use perftab_names::{Naming, Symbols};
use perftab_profile::{Dso, DsoId, DsoKind, Profile, StackId, Stacks};

use crate::Query;
use crate::ends::RemainingSamples;
use crate::filter::Filter;
use perftab_profile::FrameId;

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
    let mut counter = CoverageCounter::new(profile);
    while !counter.count(profile, &|_| true, usize::MAX) {}
    for stack in 1..profile.stacks.len() {
        counter.add_use(profile, StackId(stack as u32));
    }
    counter.uses
}

/// What a [`CoverageCounter`] counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// How much has names.
    pub names: NamesCounted,
    /// The use of each DSO, by [`DsoId`].
    pub uses: Vec<DsoUse>,
}

/// How much has names, over all recorded events. What is folded out of a snapshot counts as samples only.
pub fn frames(profile: &Profile, symbols: &Symbols) -> FrameCoverage {
    FrameUses::of(profile).names(profile, symbols).frames
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
        let mut counter = CoverageCounter::new(profile);
        while !counter.count(profile, &|_| true, usize::MAX) {}
        let CoverageCounter { leaf, total, names, .. } = counter;
        let mut uses = vec![(0_u64, 0_u64); profile.frames.len()];
        for (stack, (leaf, total)) in (0..).map(StackId).zip(leaf.into_iter().zip(total)) {
            if let Some((_, frame)) = profile.stacks.get(stack) {
                let frame = &mut uses[frame.index()];
                *frame = (frame.0.saturating_add(leaf), frame.1.saturating_add(total));
            }
        }
        Self { uses, samples: names.frames.samples }
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
        if profile.dsos.get(dso).kind == DsoKind::Folded {
            return; // It stands for frames that may have had names.
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

/// The same of what the filters and steps of a query leave, and the use of each DSO by it. Of all
/// recorded events, as everything here; `left` has by event what steps leave, all where it has nothing.
/// Stacks are those that were recorded: steps that rewrite them change nothing in what has names.
pub fn filtered(
    profile: &Profile,
    symbols: &Symbols,
    query: &Query,
    left: &[RemainingSamples],
) -> Counted {
    let mut counter = CoverageCounter::new(profile);
    while !counter.step((profile, symbols), query, left, usize::MAX) {}
    counter.finish()
}

/// [`filtered`] in steps.
pub struct CoverageCounter {
    /// By stack: recorded samples that end in it, and that pass through it.
    leaf: Vec<u64>,
    total: Vec<u64>,
    stage: Stage,
    /// Rows or stacks that this stage has gone through.
    done: usize,
    names: NamesCounted,
    uses: Vec<DsoUse>,
    /// By stack: which of 64 classes of DSOs are on it. With more DSOs than classes the bit only
    /// says that a walk is needed.
    classes: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Samples are counted by stack.
    Rows,
    /// Each stack's are added to its prefix.
    Totals,
    /// Stacks are looked at.
    Stacks,
}

impl CoverageCounter {
    /// Nothing is counted yet.
    pub fn new(profile: &Profile) -> Self {
        let stacks = profile.stacks.len();
        Self {
            leaf: vec![0; stacks],
            total: Vec::new(),
            stage: Stage::Rows,
            done: 0,
            names: NamesCounted::new(profile),
            uses: vec![DsoUse::default(); profile.dsos.len()],
            classes: vec![0; stacks],
        }
    }

    /// Goes through so many more rows or stacks; true when there are none left. What it is asked of is
    /// the same each time.
    pub fn step(
        &mut self,
        (profile, symbols): (&Profile, &Symbols),
        query: &Query,
        left: &[RemainingSamples],
        rows: usize,
    ) -> bool {
        if self.stage != Stage::Stacks {
            let filter = Filter::new(profile, query);
            let passes = |row: usize| {
                let left = left.get(usize::from(profile.samples.event[row]));
                filter.removed_by(row).is_none() && left.is_none_or(|left| left.has(profile, row))
            };
            self.count(profile, &passes, rows);
            return false;
        }
        let all = profile.stacks.len();
        let to = self.done.max(1).saturating_add(rows).min(all);
        for stack in (self.done.max(1)..to).map(|stack| StackId(stack as u32)) {
            self.add_frame(profile, symbols, stack);
            self.add_use(profile, stack);
        }
        self.done = to;
        to >= all
    }

    /// What was counted.
    pub fn finish(self) -> Counted {
        let Self { names, uses, .. } = self;
        Counted { names, uses }
    }

    /// Counts so many more; true when stacks can be looked at.
    fn count(&mut self, profile: &Profile, passes: &dyn Fn(usize) -> bool, rows: usize) -> bool {
        match self.stage {
            Stage::Rows => {
                let to = self.done.saturating_add(rows).min(profile.samples.len());
                for row in profile.recorded_rows_of(self.done..to).filter(|&row| passes(row)) {
                    let count = &mut self.leaf[profile.samples.stack[row].index()];
                    *count = count.saturating_add(profile.samples.count(row));
                }
                self.done = to;
                if to == profile.samples.len() {
                    self.total.clone_from(&self.leaf);
                    self.go_on(Stage::Totals);
                }
                false
            }
            Stage::Totals => {
                // Prefixes have lower numbers.
                let left = self.total.len().saturating_sub(self.done);
                let to = left.saturating_sub(rows);
                for stack in (to.max(1)..left).rev() {
                    if let Some((prefix, _)) = profile.stacks.get(StackId(stack as u32)) {
                        let through = self.total[stack];
                        let before = &mut self.total[prefix.index()];
                        *before = before.saturating_add(through);
                    }
                }
                self.done = self.total.len() - to;
                if to == 0 {
                    self.names.frames.samples = self.total.first().copied().unwrap_or(0);
                    self.go_on(Stage::Stacks);
                }
                to == 0
            }
            Stage::Stacks => true,
        }
    }

    fn go_on(&mut self, stage: Stage) {
        (self.stage, self.done) = (stage, 0);
    }

    fn add_use(&mut self, profile: &Profile, stack: StackId) {
        let Some((prefix, frame)) = profile.stacks.get(stack) else { return };
        let dso = profile.frames.get(frame).dso;
        let class = 1 << (dso.0 % 64);
        let above = self.classes[prefix.index()];
        let uses = &mut self.uses[dso.index()];
        uses.leaf_samples = uses.leaf_samples.saturating_add(self.leaf[stack.index()]);
        if above & class == 0 || !is_on(profile, prefix, dso) {
            uses.samples = uses.samples.saturating_add(self.total[stack.index()]);
        }
        self.classes[stack.index()] = above | class;
    }

    fn add_frame(&mut self, profile: &Profile, symbols: &Symbols, stack: StackId) {
        debug_assert_ne!(stack, Stacks::EMPTY);
        if let Some((_, frame)) = profile.stacks.get(stack) {
            let (leaf, total) = (self.leaf[stack.index()], self.total[stack.index()]);
            self.names.add(profile, symbols, frame, leaf, total);
        }
    }
}

fn is_on(profile: &Profile, stack: StackId, dso: DsoId) -> bool {
    profile.stacks.frames(stack).any(|frame| profile.frames.get(frame).dso == dso)
}

/// True for what can be in a list of DSOs: an unmapped run is no file, nor is a folded rest or what
/// is off the CPU.
pub fn is_listed(dso: &Dso) -> bool {
    !matches!(dso.kind, DsoKind::Unmapped | DsoKind::Folded | DsoKind::OffCpu)
}
