//! Where in a function's code its samples ended: by source line and by instruction.
//!
//! What counts is what [`sandwich`](super::sandwich) calls the function's own code: what ended in it or
//! in what is inlined into it. A sample that ended in an inlined body stands at the line of the function
//! that the body was inlined at; where inlining is merged, at the line that its instruction was made of,
//! as with disassemblers.
//!
//! Steps act as they do on the tree, since where a sample ends in it decides whether it counts. A sample
//! that a step moved here from what the function called stands at the call: at the innermost frame of
//! its stack that is the function's. Where recursion was collapsed that is the call that ran last.

use perftab_perfdata::map::Map;
use std::num::NonZeroU32;

use perftab_names::{FileId, FunctionId, Level, Symbols};
use perftab_profile::{DsoId, DsoKind, Frame, FrameId, Profile, StackId};

use crate::call_tree::{CallNodeId, CallTree, Label};
use crate::ends::Ends;
use crate::filter::Filter;
use crate::function_ref::{FunctionRef, FunctionSet, Resolver};
use crate::sandwich::code;
use crate::weights::Sum;
use crate::{Inlines, Query};

/// Where in one function samples ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HotLines {
    /// In all of its code.
    pub own_code: Sum,
    /// By line, in no order; each is there once.
    pub lines: Vec<(SourceLine, Heat)>,
    /// By instruction, in no order; each is there once.
    pub instructions: Vec<Instruction>,
    /// What no line has: a link tells of a call what was called, not where it stands.
    pub left_out: Sum,
    /// The same of instructions.
    pub instructions_left_out: Sum,
}

/// A line, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine {
    /// Its file.
    pub file: Option<FileId>,
    /// Counted from 1.
    pub line: Option<NonZeroU32>,
}

/// What was sampled at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Whose code it is.
    pub dso: DsoId,
    /// As [`perftab_profile::Frame::address`]; of a call one less than what it returns to.
    pub address: u64,
    /// The line of the function that it is of; where inlining is merged, the one that it was made of.
    pub line: SourceLine,
    /// The function that is inlined there, where inlining is merged.
    pub inlined: Option<FunctionId>,
    /// How much.
    pub heat: Heat,
}

/// What an instruction was made of, in the code of a function as the linker knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The innermost function that is inlined there; `None` for the function's own, and where it has no name.
    pub inlined: Option<FunctionId>,
    /// Its line.
    pub line: SourceLine,
}

impl Origin {
    /// By the innermost level of a frame.
    pub fn of(symbols: &Symbols, frame: FrameId) -> Self {
        let levels = symbols.levels(frame);
        let innermost = levels.last();
        let line = innermost.map(SourceLine::of).unwrap_or_default();
        Self { inlined: innermost.filter(|_| levels.len() > 1).map(|level| level.function), line }
    }
}

impl SourceLine {
    /// Where a level of a frame is.
    pub fn of(level: &Level) -> Self {
        Self { file: level.file, line: level.line }
    }
}

/// What ended at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heat {
    /// All of it.
    pub all: Sum,
    /// The part that ended in what is inlined there.
    pub inlined: Sum,
}

impl Heat {
    fn add(&mut self, sum: Sum, is_inlined: bool) {
        self.all.add(sum);
        if is_inlined {
            self.inlined.add(sum);
        }
    }
}

/// What a link tells of where in functions samples ended, by function: of all samples that the link
/// has of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownHeat(Map<FunctionId, KnownFunction>);

/// What a link tells of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownFunction {
    /// By event: what the link has of its own code.
    pub own_code: Vec<Sum>,
    /// Where that was, as far as it is told.
    pub places: Vec<KnownPlace>,
}

/// A place in a function, as far as a link tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPlace {
    /// Where the code is.
    pub address: Option<u64>,
    /// What it was made of; what is not known in there was not known to the sender either.
    pub line: Option<SourceLine>,
    /// Whether its samples ended in what is inlined there.
    pub is_inlined: bool,
    /// What its code was made of; `None` if the function is inlined there itself, and if that is not told.
    pub origin: Option<Origin>,
    /// By event.
    pub sums: Vec<Sum>,
}

impl KnownHeat {
    /// What was read.
    pub fn new(functions: Map<FunctionId, KnownFunction>) -> Self {
        Self(functions)
    }

    /// What is told of a function.
    pub fn get(&self, function: FunctionId) -> Option<&KnownFunction> {
        self.0.get(&function)
    }

    /// Functions that it tells of.
    pub fn functions(&self) -> impl Iterator<Item = FunctionId> + '_ {
        self.0.keys().copied()
    }

    /// Source files of all places.
    pub fn files(&self) -> impl Iterator<Item = FileId> + '_ {
        let places = self.0.values().flat_map(|function| &function.places);
        places.flat_map(|place| {
            let lines = [place.line, place.origin.map(|origin| origin.line)];
            lines.into_iter().filter_map(|line| line?.file)
        })
    }

    /// What it tells of a query: of one of these functions, if none of its samples was taken away and
    /// none came to it. What a filter leaves of it is not known.
    fn of(
        &self,
        profile: &Profile,
        symbols: &Symbols,
        query: &Query,
        (set, own_code): (&FunctionSet, Sum),
    ) -> Vec<ToldPlace> {
        let mut known = set.iter().filter_map(|id| Some((symbols.function(id).dso, self.get(id)?)));
        let known = known.next().filter(|_| known.next().is_none() && query.steps.is_empty());
        let Some((dso, known)) = known else { return Vec::new() };
        let events = profile.event_set(query.event);
        let sum = |sums: &[Sum]| {
            let sums = (0..=u16::MAX).zip(sums).filter(|&(event, _)| events.has(event));
            sum_of(sums.map(|(_, sum)| *sum))
        };
        let told = |place: &KnownPlace, line, inlined| {
            let &KnownPlace { address, is_inlined, .. } = place;
            ToldPlace { dso, address, line, inlined, is_inlined, sum: sum(&place.sums) }
        };
        if query.inlines == Inlines::Merged {
            // Without the places where the function is inlined itself.
            let own = known.places.iter().filter_map(|place| Some((place, place.origin?)));
            let own = own.map(|(place, Origin { inlined, line })| ToldPlace {
                is_inlined: false,
                ..told(place, Some(line), inlined)
            });
            let own: Vec<ToldPlace> = own.collect();
            if sum_of(own.iter().map(|place| place.sum)) == own_code {
                return own;
            }
        }
        if sum(&known.own_code) != own_code {
            return Vec::new();
        }
        let is_shown = query.inlines == Inlines::Shown;
        let places = known.places.iter().map(|place| ToldPlace {
            is_inlined: place.is_inlined && is_shown,
            ..told(place, place.line, None)
        });
        places.collect()
    }
}

/// A place of a link as a query shows it.
struct ToldPlace {
    dso: DsoId,
    address: Option<u64>,
    line: Option<SourceLine>,
    inlined: Option<FunctionId>,
    is_inlined: bool,
    sum: Sum,
}

fn sum_of(sums: impl Iterator<Item = Sum>) -> Sum {
    let mut all = Sum::default();
    sums.for_each(|sum| all.add(sum));
    all
}

/// Sums up one function of a query. `known` is what a link tells, `tree` is the query's tree of
/// callees, and `ends` says where in it samples end. `None` if no sample has it, or if it is no code.
pub fn hot_lines(
    profile: &Profile,
    symbols: &Symbols,
    known: &KnownHeat,
    query: &Query,
    (tree, ends): (&CallTree, &Ends),
    function: &FunctionRef,
) -> Option<HotLines> {
    let set = Resolver::new(profile, symbols).functions(function);
    let is_own_code = code(tree, |label| set.has(label));
    is_own_code.contains(&true).then_some(())?;
    let mut own_code = Sum::default();
    let own = tree.ids().zip(&is_own_code).filter(|(_, is_own)| **is_own);
    own.for_each(|(id, _)| own_code.add(tree.self_sum(id)));
    let is_code = |id| profile.dsos.get(symbols.function(id).dso).kind != DsoKind::Pseudo;
    set.iter().any(is_code).then_some(())?;
    let mut lines: Map<SourceLine, Heat> = Map::new();
    let mut instructions: Map<(DsoId, u64, Origin), Heat> = Map::new();
    let mut placed = Sum::default();
    for ((end, stack), sum) in ended(profile, query, ends, &is_own_code) {
        let is_it = |id| set.has(Label::Function(id));
        let place = place_in(profile, symbols, query.inlines, is_it, stack);
        let Some((frame, level)) = place else { continue };
        let is_inlined = !set.has(tree.label(end));
        let origin = match query.inlines {
            Inlines::Shown => Origin { inlined: None, line: SourceLine::of(level) },
            Inlines::Merged => Origin::of(symbols, frame),
        };
        let Frame { dso, address } = profile.frames.get(frame);
        lines.entry(origin.line).or_default().add(sum, is_inlined);
        instructions.entry((dso, address, origin)).or_default().add(sum, is_inlined);
        placed.add(sum);
    }
    let mut left_out = own_code.without(placed);
    let mut instructions_left_out = left_out;
    for place in known.of(profile, symbols, query, (&set, left_out)) {
        let ToldPlace { dso, address, line, inlined, is_inlined, sum } = place;
        if sum == Sum::default() {
            continue;
        }
        if let Some(line) = line {
            lines.entry(line).or_default().add(sum, is_inlined);
            left_out = left_out.without(sum);
        }
        if let Some(address) = address {
            let origin = Origin { inlined, line: line.unwrap_or_default() };
            instructions.entry((dso, address, origin)).or_default().add(sum, is_inlined);
            instructions_left_out = instructions_left_out.without(sum);
        }
    }
    let instruction = |((dso, address, Origin { inlined, line }), heat)| Instruction {
        dso,
        address,
        line,
        inlined,
        heat,
    };
    Some(HotLines {
        own_code,
        lines: lines.into_iter().collect(),
        instructions: instructions.into_iter().map(instruction).collect(),
        left_out,
        instructions_left_out,
    })
}

/// The samples that end in such call nodes, by call node and stack.
fn ended(
    profile: &Profile,
    query: &Query,
    ends: &Ends,
    is_code: &[bool],
) -> Map<(CallNodeId, StackId), Sum> {
    let samples = &profile.samples;
    let filter = Filter::new(profile, query);
    let passes = |row: &usize| filter.is_of_event(*row) && filter.removed_by(*row).is_none();
    let mut ended: Map<(CallNodeId, StackId), Sum> = Map::new();
    for row in filter.rows().filter(passes) {
        let stack = samples.stack[row];
        if let Some(end) = ends.of(samples.thread.at(row), stack)
            && is_code[end.0 as usize]
        {
            ended.entry((end, stack)).or_default().add(filter.sum(row));
        }
    }
    ended
}

/// The innermost frame of a stack that is of a function, and as which of its levels: the outermost,
/// where it was inlined into itself. `None` if it came with a link: the line and address there are
/// those of some call of the function.
pub fn place_in<'a>(
    profile: &Profile,
    symbols: &'a Symbols,
    inlines: Inlines,
    is_it: impl Fn(FunctionId) -> bool,
    stack: StackId,
) -> Option<(FrameId, &'a Level)> {
    let is_it = |level: &&Level| is_it(level.function);
    let found = profile.stacks.frames(stack).find_map(|frame| {
        let levels = symbols.levels(frame);
        let level = match inlines {
            Inlines::Shown => levels.iter().find(is_it),
            Inlines::Merged => levels.first().filter(is_it),
        };
        Some((frame, level?))
    });
    found.filter(|&(frame, _)| !symbols.came_with_a_link(frame))
}
