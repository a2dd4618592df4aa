//! Call nodes and sums of a snapshot → a profile.
//!
//! Stacks are call nodes. An inlined call node is no frame of its own but the last level of one,
//! as in a recording, so that inlines can be merged here too. Frames of code with a name have
//! addresses made up here; no file names them again.

use perftab_perfdata::map::Map;
use std::num::NonZeroU32;

use perftab_names::{FileId, FunctionId, Inlining, Level, Provenance, Symbols};
use perftab_perfdata::format::IdLength;
use perftab_profile::{
    Dso, DsoId, DsoKind, Event, EventId, EventOrigin, Frame, FrameId, KernelPlace, MappedFrom,
    Process, Profile, Sample, StackId, Stacks, Thread, ThreadId,
};

use super::bins::read_bins;
use super::codes;
use super::decode::{DecodedFunction, Functions, Node, NodeKind, at_most, entry, invalid};
use super::fields::{Field, Reader};
use super::samples::{Unit, read_samples};
use super::{FOLDED, Facts, MAX_NODES, SnapshotError, Times, marks};

/// Addresses made up for frames begin here; no code lies there.
const MADE_UP: u64 = 1 << 63;
/// Kernels have some 3,000 tracepoints, and all can be recorded at once.
const MAX_EVENTS: usize = 1 << 13;
/// Levels of all frames; what is inlined beyond is shown as called.
const MAX_LEVELS: usize = 8 << 20;

/// A DSO that stands for no file.
pub(super) fn add_pseudo_dso(profile: &mut Profile, kind: DsoKind, path: &str) -> DsoId {
    profile.dsos.add(Dso {
        path: path.to_owned(),
        kind,
        mapped_from: MappedFrom::Nothing,
        identity: None,
        id_length: IdLength::Recorded,
        recorded_by: None,
        no_identity_because: None,
        listed_as: None,
        is_deleted: false,
        executable: Vec::new(),
        process: None,
        kernel_place: KernelPlace::default(),
    })
}

/// Where a call node is in the profile.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Number of its process; `None` for the root.
    group: Option<usize>,
    /// The stack that ends in it.
    stack: StackId,
    /// What its frame was called from: an inlined call node's frame takes the place of its
    /// caller's.
    below: StackId,
    /// Its frame, as a position in [`Rebuild::chains`].
    chain: Option<usize>,
}

impl Place {
    fn outermost(group: Option<usize>) -> Self {
        Self { group, stack: Stacks::EMPTY, below: Stacks::EMPTY, chain: None }
    }
}

/// A frame to be: a function, and what is inlined into it.
struct Chain {
    frame: FrameId,
    outer: Option<usize>,
    level: WrittenLevel,
    depth: usize,
}

/// A level to be.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct WrittenLevel {
    index: usize,
    inlining: Inlining,
    line: Option<NonZeroU32>,
}

/// A process of the tree, for which one thread stands as soon as something was sampled of it.
struct Group {
    pid: u32,
    name: String,
    thread: Option<ThreadId>,
}

/// The profile as far as it is rebuilt.
pub(super) struct Rebuild {
    profile: Profile,
    functions: Functions,
    folded: DsoId,
    unmapped: DsoId,
    chains: Vec<Chain>,
    chain_ids: Map<(Option<usize>, WrittenLevel), usize>,
    made_up: u64,
    /// By DSO that was collapsed, its frame.
    whole_dsos: Map<DsoId, FrameId>,
    /// Levels of all chains.
    levels: usize,
    groups: Vec<Group>,
}

impl Rebuild {
    pub(super) fn new(
        profile: Profile,
        functions: Functions,
        folded: DsoId,
        unmapped: DsoId,
    ) -> Self {
        Self {
            profile,
            functions,
            folded,
            unmapped,
            chains: Vec::new(),
            chain_ids: Map::new(),
            made_up: MADE_UP,
            whole_dsos: Map::new(),
            levels: 0,
            groups: Vec::new(),
        }
    }

    /// Makes the stacks of all call nodes; returns where each is. `pids` are the numbers of processes,
    /// if they are known.
    pub(super) fn add_nodes(
        &mut self,
        nodes: &[Node],
        pids: &[u32],
    ) -> Result<Vec<Place>, SnapshotError> {
        let mut places: Vec<Place> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let caller = places.get(node.parent as usize).copied();
            let place = match (&node.what, caller) {
                (NodeKind::Root, _) => Place::outermost(None),
                (NodeKind::Group(name), _) => {
                    let number = self.groups.len();
                    let pid = pids.get(number).copied().unwrap_or(number as u32);
                    self.groups.push(Group { pid, name: name.clone(), thread: None });
                    Place::outermost(Some(number))
                }
                (_, None) => return invalid("a call tree"),
                (NodeKind::Folded, Some(caller)) => {
                    let frame = self.pseudo_frame(self.folded);
                    self.call(caller, frame, None)
                }
                (NodeKind::NoMapping, Some(caller)) => {
                    let frame = self.pseudo_frame(self.unmapped);
                    self.call(caller, frame, None)
                }
                (&NodeKind::Dso(dso), Some(caller)) => {
                    let frame = self.whole_dso(dso);
                    self.call(caller, frame, None)
                }
                (&NodeKind::Function { index, inlining, line }, Some(caller)) => {
                    let level = WrittenLevel { index, inlining, line };
                    self.add_function(caller, level)
                }
            };
            places.push(place);
        }
        let last = self.groups.iter().map(|group| group.pid).max();
        let pid = last.map_or(0, |last| last.saturating_add(1));
        self.groups.push(Group { pid, name: FOLDED.to_owned(), thread: None });
        Ok(places)
    }

    fn pseudo_frame(&mut self, dso: DsoId) -> FrameId {
        self.profile.frames.intern(Frame { dso, address: 1 })
    }

    /// The frame that stands for all code of a DSO.
    fn whole_dso(&mut self, dso: DsoId) -> FrameId {
        if let Some(&frame) = self.whole_dsos.get(&dso) {
            return frame;
        }
        self.made_up += 1;
        let frame = self.profile.frames.intern(Frame { dso, address: self.made_up });
        self.whole_dsos.insert(dso, frame);
        frame
    }

    /// A frame called from where `caller` is.
    fn call(&mut self, caller: Place, frame: FrameId, chain: Option<usize>) -> Place {
        let below = caller.stack;
        let stack = self.profile.stacks.intern(below, frame);
        Place { group: caller.group, stack, below, chain }
    }

    fn add_function(&mut self, caller: Place, level: WrittenLevel) -> Place {
        match (level.inlining, caller.chain) {
            (Inlining::Inlined, Some(outer)) if self.levels < MAX_LEVELS => {
                let chain = self.chain(Some(outer), level);
                let frame = self.chains[chain].frame;
                let stack = self.profile.stacks.intern(caller.below, frame);
                Place { stack, chain: Some(chain), ..caller }
            }
            _ => {
                // Inlined into nothing cannot be: then it is a call.
                let chain = self.chain(None, WrittenLevel { inlining: Inlining::Called, ..level });
                let frame = self.chains[chain].frame;
                self.call(caller, frame, Some(chain))
            }
        }
    }

    fn chain(&mut self, outer: Option<usize>, level: WrittenLevel) -> usize {
        if let Some(&known) = self.chain_ids.get(&(outer, level)) {
            return known;
        }
        let (dso, address) = match &self.functions.decoded[level.index] {
            DecodedFunction::Unnamed { dso, address } if outer.is_none() => (*dso, *address),
            DecodedFunction::Named { dso, .. } | DecodedFunction::Unnamed { dso, .. } => {
                self.made_up += 1;
                (outer.map_or(*dso, |outer| self.dso_of(outer)), self.made_up)
            }
        };
        let frame = self.profile.frames.intern(Frame { dso, address });
        let depth = outer.map_or(1, |outer| self.chains[outer].depth + 1);
        self.levels += depth;
        self.chains.push(Chain { frame, outer, level, depth });
        self.chain_ids.insert((outer, level), self.chains.len() - 1);
        self.chains.len() - 1
    }

    fn dso_of(&self, chain: usize) -> DsoId {
        self.profile.frames.get(self.chains[chain].frame).dso
    }

    /// Reads the events.
    pub(super) fn add_events(&mut self, read: &mut Reader<'_>) -> Result<Vec<Unit>, SnapshotError> {
        let events = at_most(MAX_EVENTS, read.count(Field::EventNumbers, Field::Events)?)?;
        let mut units = Vec::new();
        for _ in 0..events {
            let name = read.text(Field::Events)?;
            let (samples, weight) =
                (read.number(Field::EventNumbers)?, read.number(Field::EventNumbers)?);
            let unit = read.number(Field::EventNumbers)?;
            let is_regular = read.number(Field::EventNumbers)? != 0;
            // Where all are recorded, there are no origins.
            let origin = match read.left(Field::EventOrigins) {
                0 => EventOrigin::Recorded,
                _ => entry(&codes::EVENT_ORIGINS, read.byte(Field::EventOrigins)?)?,
            };
            let is_late = self.profile.events.last().is_some_and(|last| last.origin > origin);
            if is_late {
                return invalid("an order of events");
            }
            self.profile.events.push(Event { name, origin, samples, weight, ..Event::default() });
            units.push(Unit { unit, is_regular });
        }
        Ok(units)
    }

    /// Reads, for each event, the sums of all call nodes.
    pub(super) fn add_sums(
        &mut self,
        read: &mut Reader<'_>,
        units: &[Unit],
        places: &[Place],
    ) -> Result<(), SnapshotError> {
        for (event, &Unit { unit, is_regular }) in (0..).map(EventId).zip(units) {
            for place in places {
                let count = read.number(Field::NodeCounts)?;
                let units = if is_regular { count } else { read.number(Field::NodeWeights)? };
                let Some(weight) = units.checked_mul(unit) else { return invalid("a weight") };
                self.add_sum(event, *place, count, weight)?;
            }
        }
        Ok(())
    }

    /// Reads single samples.
    pub(super) fn add_samples(
        &mut self,
        read: &mut Reader<'_>,
        units: &[Unit],
        places: &[Place],
        facts: &Facts,
    ) -> Result<(), SnapshotError> {
        let groups: Vec<&str> = self.groups.iter().map(|group| group.name.as_str()).collect();
        let stacks: Vec<StackId> = places.iter().map(|place| place.stack).collect();
        let first = facts.time.map_or(0, |(first, _)| first);
        read_samples(read, &mut self.profile, &groups, &stacks, units, first)?;
        marks::read(read, &mut self.profile, facts, &groups)
    }

    fn add_sum(
        &mut self,
        event: EventId,
        place: Place,
        count: u64,
        weight: u64,
    ) -> Result<(), SnapshotError> {
        let Ok(count) = u32::try_from(count) else { return invalid("a count") };
        if count == 0 && weight == 0 {
            return Ok(());
        }
        at_most(MAX_NODES * 2, self.profile.samples.len())?;
        let (group, stack) = match place.group {
            Some(group) => (group, place.stack),
            // The root has what processes had that were left out: a call that is said, as elsewhere.
            None => {
                let frame = self.pseudo_frame(self.folded);
                (self.groups.len() - 1, self.profile.stacks.intern(Stacks::EMPTY, frame))
            }
        };
        let thread = self.thread_of(group);
        self.profile.samples.push(Sample {
            time_nanos: 0,
            thread,
            stack,
            event,
            cpu: u16::MAX,
            weight,
        });
        self.profile.samples.count.push(count);
        Ok(())
    }

    fn thread_of(&mut self, group: usize) -> ThreadId {
        let Group { pid, ref name, ref mut thread } = self.groups[group];
        *thread.get_or_insert_with(|| {
            let name = self.profile.strings.intern(name);
            let process = self.profile.threads.add_process(Process { pid, name });
            self.profile.threads.add_thread(Thread { process, tid: pid, name })
        })
    }

    /// Reads bins of time, when all sums are known.
    pub(super) fn add_bins(
        &mut self,
        read: &mut Reader<'_>,
        times: Times,
        units: &[Unit],
    ) -> Result<(), SnapshotError> {
        let groups: Vec<Option<ThreadId>> = self.groups.iter().map(|group| group.thread).collect();
        self.profile.bins = Some(read_bins(read, &mut self.profile, times, &groups, units)?);
        Ok(())
    }

    /// Names the frames; also says which functions those with a name have become.
    pub(super) fn finish(self) -> (Profile, Symbols, Vec<Option<FunctionId>>) {
        let Self { profile, functions, folded, chains, whole_dsos, .. } = self;
        let mut symbols = Symbols::new(&profile);
        let files: Vec<FileId> =
            functions.files.iter().map(|file| symbols.file_of_path(file)).collect();
        let ids: Vec<Option<FunctionId>> = functions
            .decoded
            .iter()
            .map(|function| match function {
                DecodedFunction::Named { dso, name, provenance, .. } => {
                    Some(symbols.named(*dso, name, *provenance))
                }
                DecodedFunction::Unnamed { .. } => None,
            })
            .collect();
        let mut levels = Vec::new();
        for index in 0..chains.len() {
            levels.clear();
            let mut next = Some(index);
            while let Some(chain) = next.map(|next| &chains[next]) {
                let WrittenLevel { index, inlining, line } = chain.level;
                let function = match (&functions.decoded[index], ids[index]) {
                    (_, Some(function)) => function,
                    (DecodedFunction::Unnamed { .. }, None) if chain.outer.is_none() => {
                        symbols.merged(chain.frame)
                    }
                    (DecodedFunction::Unnamed { dso, address }, None) => {
                        symbols.unnamed(*dso, *address)
                    }
                    (DecodedFunction::Named { .. }, None) => symbols.merged(chain.frame),
                };
                let file = match &functions.decoded[index] {
                    DecodedFunction::Named { file: Some(file), .. } => Some(files[*file]),
                    _ => None,
                };
                levels.push(Level { function, file, line, inlining });
                next = chain.outer;
            }
            levels.reverse();
            let is_open = levels.len() == 1 && ids[chains[index].level.index].is_none();
            if !is_open {
                symbols.set_known(chains[index].frame, &levels);
            }
        }
        for (dso, frame) in whole_dsos.into_sorted() {
            let name = profile.dsos.get(dso).name();
            let function = symbols.named(dso, name, Provenance::Unnamed);
            let level = Level { function, file: None, line: None, inlining: Inlining::Called };
            symbols.set_known(frame, &[level]);
        }
        let function = symbols.named(folded, FOLDED, Provenance::Unnamed);
        for (id, frame) in profile.frames.iter() {
            if frame.dso == folded {
                let level = Level { function, file: None, line: None, inlining: Inlining::Called };
                symbols.set_known(id, &[level]);
            }
        }
        (profile, symbols, ids)
    }
}

#[cfg(test)]
mod tests {
    use perftab_views::Query;
    use perftab_views::call_tree::{CallTree, Label};
    use perftab_views::functions;
    use perftab_views::label::Labels;
    use perftab_views::weights::Sum;

    use super::super::{decode, random_profile::random_profile};
    use super::FOLDED;

    /// Else rows of functions would not add up to all.
    #[test]
    fn what_processes_had_that_were_left_out_is_a_call_too() {
        let made = random_profile(3, 4000);
        let mut were_left_out = 0;
        let least = made.encode(10).expect_err("ten characters hold nothing").needed;
        for budget in [least, least + 20, least + 100, least + 400] {
            let shared = made.encode(budget).expect("it fits");
            let opened = decode(&shared.payload).expect("it opens");
            let tree = CallTree::new(&opened.profile, &opened.symbols, &Query::default());
            let labels = Labels::new(&opened.profile, &opened.symbols);
            let is_rest = |label| matches!(label, Label::Group(_)) && labels.text(label) == FOLDED;
            for id in tree.ids().filter(|&id| is_rest(tree.label(id))) {
                assert_eq!(tree.self_sum(id), Sum::default(), "{budget}");
                were_left_out += 1;
            }
            let sums = functions::sums(&tree);
            let rows: Vec<_> = sums.iter().filter(|sum| labels.text(sum.label) == FOLDED).collect();
            assert_eq!(rows.len(), 1, "{budget}");
            assert_eq!(rows[0].self_sum.weight, shared.fidelity.folded_weight, "{budget}");
        }
        assert!(were_left_out > 1, "every process is kept");
    }
}
