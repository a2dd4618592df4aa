//! Call nodes and sums of a snapshot → a profile.
//!
//! Stacks are call nodes. An inlined call node is no frame of its own but the last level of one,
//! as in a recording, so that inlines can be merged here too. Frames of code with a name have
//! addresses made up here; no file names them again.

use std::collections::HashMap;
use std::num::NonZeroU32;

use super::codes;
use super::decode::{Functions, Known, Node, What, at_most, entry, invalid};
use super::fields::{Field, Reader};
use super::{FOLDED, MAX_NODES, SnapshotError};
use crate::profile::{
    CountedAs, Dso, DsoId, DsoKind, Event, EventId, EventOrigin, Frame, FrameId, KernelPlace,
    MappedFrom, Process, Profile, Sample, StackId, Stacks, Thread, ThreadId,
};
use crate::symbolize::{FileId, FunctionId, Inlining, Level, Provenance, Symbols};

/// Addresses made up for frames begin here; no code lies there.
const MADE_UP: u64 = 1 << 63;
/// A snapshot with more events is not one.
const MAX_EVENTS: usize = 1024;
/// Levels of all frames; what is inlined beyond is shown as called.
const MAX_LEVELS: usize = 8 << 20;

/// A DSO that stands for no file.
pub(super) fn add_pseudo_dso(profile: &mut Profile, kind: DsoKind, path: &str) -> DsoId {
    profile.dsos.add(Dso {
        path: path.to_owned(),
        kind,
        mapped_from: MappedFrom::Nothing,
        identity: None,
        recorded_by: None,
        no_identity_because: None,
        listed_as: None,
        is_deleted: false,
        executable_offset: None,
        process: None,
        kernel_place: KernelPlace::default(),
        counted_as: CountedAs::default(),
    })
}

/// Where a call node is in the profile.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// `None` for the root.
    thread: Option<ThreadId>,
    /// The stack that ends in it.
    stack: StackId,
    /// What its frame was called from: an inlined call node's frame takes the place of its
    /// caller's.
    below: StackId,
    /// Its frame, as a position in [`Rebuild::chains`].
    chain: Option<usize>,
}

impl Place {
    fn outermost(thread: Option<ThreadId>) -> Self {
        Self { thread, stack: Stacks::EMPTY, below: Stacks::EMPTY, chain: None }
    }
}

/// A frame to be: a function, and what is inlined into it.
struct Chain {
    frame: FrameId,
    outer: Option<usize>,
    level: Written,
    depth: usize,
}

/// A level to be.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Written {
    index: usize,
    inlining: Inlining,
    line: Option<NonZeroU32>,
}

/// A process of this name, with a thread of this name.
fn add_thread(profile: &mut Profile, name: &str) -> ThreadId {
    let name = profile.strings.intern(name);
    let number = profile.threads.processes.len() as u32;
    let process = profile.threads.add_process(Process { pid: number, name });
    profile.threads.add_thread(Thread { process, tid: number, name })
}

/// The profile as far as it is rebuilt.
pub(super) struct Rebuild {
    profile: Profile,
    functions: Functions,
    folded: DsoId,
    unmapped: DsoId,
    chains: Vec<Chain>,
    chain_ids: HashMap<(Option<usize>, Written), usize>,
    made_up: u64,
    /// Levels of all chains.
    levels: usize,
    folded_thread: Option<ThreadId>,
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
            chain_ids: HashMap::new(),
            made_up: MADE_UP,
            levels: 0,
            folded_thread: None,
        }
    }

    /// Makes the stacks of all call nodes; returns where each is.
    pub(super) fn add_nodes(&mut self, nodes: &[Node]) -> Result<Vec<Place>, SnapshotError> {
        let mut places: Vec<Place> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let caller = places.get(node.parent as usize).copied();
            let place = match (&node.what, caller) {
                (What::Root, _) => Place::outermost(None),
                (What::Group(name), _) => {
                    Place::outermost(Some(add_thread(&mut self.profile, name)))
                }
                (_, None) => return invalid("a call tree"),
                (What::Folded, Some(caller)) => {
                    let frame = self.pseudo_frame(self.folded);
                    self.call(caller, frame, None)
                }
                (What::NoMapping, Some(caller)) => {
                    let frame = self.pseudo_frame(self.unmapped);
                    self.call(caller, frame, None)
                }
                (&What::Function { index, inlining, line }, Some(caller)) => {
                    let level = Written { index, inlining, line };
                    self.add_function(caller, level)
                }
            };
            places.push(place);
        }
        Ok(places)
    }

    fn pseudo_frame(&mut self, dso: DsoId) -> FrameId {
        self.profile.frames.intern(Frame { dso, address: 1 })
    }

    /// A frame called from where `caller` is.
    fn call(&mut self, caller: Place, frame: FrameId, chain: Option<usize>) -> Place {
        let below = caller.stack;
        let stack = self.profile.stacks.intern(below, frame);
        Place { thread: caller.thread, stack, below, chain }
    }

    fn add_function(&mut self, caller: Place, level: Written) -> Place {
        match (level.inlining, caller.chain) {
            (Inlining::Inlined, Some(outer)) if self.levels < MAX_LEVELS => {
                let chain = self.chain(Some(outer), level);
                let frame = self.chains[chain].frame;
                let stack = self.profile.stacks.intern(caller.below, frame);
                Place { stack, chain: Some(chain), ..caller }
            }
            _ => {
                // Inlined into nothing cannot be: then it is a call.
                let chain = self.chain(None, Written { inlining: Inlining::Called, ..level });
                let frame = self.chains[chain].frame;
                self.call(caller, frame, Some(chain))
            }
        }
    }

    fn chain(&mut self, outer: Option<usize>, level: Written) -> usize {
        if let Some(&known) = self.chain_ids.get(&(outer, level)) {
            return known;
        }
        let (dso, address) = match &self.functions.known[level.index] {
            Known::Unnamed { dso, address } if outer.is_none() => (*dso, *address),
            Known::Named { dso, .. } | Known::Unnamed { dso, .. } => {
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

    /// Reads the events and, for each, the sums of all call nodes.
    pub(super) fn add_samples(
        &mut self,
        read: &mut Reader<'_>,
        places: &[Place],
    ) -> Result<(), SnapshotError> {
        let events = at_most(MAX_EVENTS, read.count(Field::Events, Field::Events)?)?;
        for event in 0..events {
            let name = read.text(Field::Events)?;
            let (samples, weight) = (read.number(Field::Events)?, read.number(Field::Events)?);
            let unit = read.number(Field::Events)?;
            let is_regular = read.number(Field::Events)? != 0;
            // Links from before there were derived events have no origins.
            let origin = match read.left(Field::EventOrigins) {
                0 => EventOrigin::Recorded,
                _ => entry(&codes::EVENT_ORIGINS, read.byte(Field::EventOrigins)?)?,
            };
            let is_late = self.profile.events.last().is_some_and(|last| last.origin > origin);
            if is_late {
                return invalid("an order of events");
            }
            self.profile.events.push(Event { name, origin, samples, weight });
            for place in places {
                let count = read.number(Field::NodeCounts)?;
                let units = if is_regular { count } else { read.number(Field::NodeWeights)? };
                let Some(weight) = units.checked_mul(unit) else { return invalid("a weight") };
                self.add_sum(EventId(event as u32), *place, count, weight)?;
            }
        }
        Ok(())
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
        let thread = match place.thread {
            Some(thread) => thread,
            // The weight of processes that were left out.
            None => {
                *self.folded_thread.get_or_insert_with(|| add_thread(&mut self.profile, FOLDED))
            }
        };
        self.profile.samples.push(Sample {
            time_nanos: 0,
            thread,
            stack: place.stack,
            event,
            cpu: u16::MAX,
            weight,
        });
        self.profile.samples.count.push(count);
        Ok(())
    }

    /// Names the frames.
    pub(super) fn finish(self) -> (Profile, Symbols) {
        let Self { profile, functions, folded, chains, .. } = self;
        let mut symbols = Symbols::new(&profile);
        let files: Vec<FileId> =
            functions.files.iter().map(|file| symbols.file_of_path(file)).collect();
        let ids: Vec<Option<FunctionId>> = functions
            .known
            .iter()
            .map(|known| match known {
                Known::Named { dso, name, provenance, .. } => {
                    Some(symbols.named(*dso, name, *provenance))
                }
                Known::Unnamed { .. } => None,
            })
            .collect();
        let mut levels = Vec::new();
        for index in 0..chains.len() {
            levels.clear();
            let mut next = Some(index);
            while let Some(chain) = next.map(|next| &chains[next]) {
                let Written { index, inlining, line } = chain.level;
                let function = match (&functions.known[index], ids[index]) {
                    (_, Some(function)) => function,
                    (Known::Unnamed { .. }, None) if chain.outer.is_none() => {
                        symbols.merged(chain.frame)
                    }
                    (Known::Unnamed { dso, address }, None) => symbols.unnamed(*dso, *address),
                    (Known::Named { .. }, None) => symbols.merged(chain.frame),
                };
                let file = match &functions.known[index] {
                    Known::Named { file: Some(file), .. } => Some(files[*file]),
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
        let function = symbols.named(folded, FOLDED, Provenance::Unnamed);
        for (id, frame) in profile.frames.iter() {
            if frame.dso == folded {
                let level = Level { function, file: None, line: None, inlining: Inlining::Called };
                symbols.set_known(id, &[level]);
            }
        }
        (profile, symbols)
    }
}
