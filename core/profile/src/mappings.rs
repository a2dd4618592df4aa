//! What is mapped where in each process and in the kernel, at any row of a profile.
//!
//! An address space is the root of a tree. Once somebody else has it, a process that forked or a
//! sample, it never changes: whoever changes something then gets another root, and all but the way down
//! to the change is shared. So a fork copies a number, and each state that a sample met is kept as one,
//! also when its process has ended or become another. Memory is in proportion to the records that map
//! something, however many processes there are, and a look-up costs the same in the last of a million
//! forks.
//!
//! A small file can have samples meet states without end. So beyond a size history is given up: from then
//! on only what there is now is kept, and what nobody has any longer is left behind now and then.
//!
//! Branches are by bits of the addresses that mappings begin at. So there are at most 64 on any way,
//! whatever the addresses are, and nothing has to be balanced.

use std::ops::Range;

use perftab_perfdata::sorting::sort_by_numbers;

use super::column::Column;
use super::space::{Space, SpaceRoots};
use super::{DsoId, Frame, ProcessId};

/// Executable code at a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// File offset of the first address.
    pub page_offset: u64,
    /// What is mapped.
    pub dso: DsoId,
}

impl Mapping {
    /// The frame of an address of the mapping.
    pub(crate) fn frame(&self, address: u64) -> Frame {
        let address = (address - self.start).wrapping_add(self.page_offset);
        Frame { dso: self.dso, address }
    }

    fn ends_at(self, end: u64) -> Self {
        Self { end, ..self }
    }

    fn begins_at(self, start: u64) -> Self {
        Self { start, page_offset: self.page_offset.wrapping_add(start - self.start), ..self }
    }
}

/// Mappings by address, as a number in [`Mappings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Root(u32);

/// What a [`Root`] stands for.
enum Node {
    Empty,
    Mapping(u32),
    Branch(u32),
}

impl Root {
    /// Nothing is mapped.
    pub(crate) const EMPTY: Self = Self(u32::MAX);
    /// Tells a mapping from a branch.
    const MAPPING: u32 = 1 << 31;
    /// There are no more of either: in tens of gigabytes there is no address space any more.
    const MOST: u32 = Self::MAPPING - 1;

    fn node(self) -> Node {
        match self {
            Self::EMPTY => Node::Empty,
            Self(number) if number & Self::MAPPING != 0 => Node::Mapping(number ^ Self::MAPPING),
            Self(number) => Node::Branch(number),
        }
    }
}

/// Mappings on both sides of an address.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Branch {
    /// All of the right side begin there or behind it, all of the left one before. They have the bits
    /// in common that are above its lowest one.
    split: u64,
    left: Root,
    right: Root,
}

impl Branch {
    /// Whether addresses are on one of its sides that begin as its mappings do.
    fn takes(&self, address: u64) -> bool {
        let bit = self.split & self.split.wrapping_neg();
        (address ^ self.split) & !(bit | (bit - 1)) == 0
    }

    /// The first and the last address that a mapping may begin at.
    fn reach(&self) -> (u64, u64) {
        let bit = self.split & self.split.wrapping_neg();
        (self.split ^ bit, self.split | (bit - 1))
    }
}

/// Whose address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MappedIn {
    /// A process's.
    Process(ProcessId),
    /// The kernel's.
    Kernel,
    /// That of the kernels of guests.
    GuestKernels,
}

impl From<ProcessId> for MappedIn {
    fn from(process: ProcessId) -> Self {
        Self::Process(process)
    }
}

/// Branches from this number on are in no tree but that which is changed, so they change in place. All
/// are, of one that began empty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnFrom(u32);

/// An address space from a row on, until its next state.
#[derive(Clone, Copy, Debug)]
struct State {
    of: MappedIn,
    row: u32,
    roots: SpaceRoots,
}

/// What is kept of address spaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MappingsKept {
    /// Each state that a sample met.
    #[default]
    History,
    /// What there is while it is read. Nothing can be asked for afterwards: history became too large.
    Present,
    /// Not even that: nobody asks.
    Nothing,
}

/// All address spaces, as they were.
#[derive(Clone, Debug, Default)]
pub struct Mappings {
    mappings: Column<Mapping>,
    branches: Column<Branch>,
    /// By row, and once [`Self::settle`]d, by address space and row.
    states: Vec<State>,
    kept: MappingsKept,
    /// Size of what there was when [`Self::keep_only`] was called last.
    size_of_present: usize,
}

/// Bytes of history, and of what is left behind once that is given up.
const HISTORY_SIZE: usize = 64 << 20;

impl Mappings {
    /// Nothing is mapped here, ever.
    pub(crate) fn nothing() -> Self {
        Self { kept: MappingsKept::Nothing, ..Self::default() }
    }

    /// Whether there is an answer to [`Self::find`].
    pub fn kept(&self) -> MappingsKept {
        self.kept
    }

    /// The frame of an address, as a sample of this row would have it; `None` if nothing was mapped
    /// there, or if no history is [`kept`](Self::kept). A caller's address is that behind the call, so
    /// one less is to be asked for.
    pub fn find(&self, of: MappedIn, row: usize, address: u64) -> Option<Frame> {
        self.frame_in(self.space_at(of, row)?, address)
    }

    /// An address space as a sample of this row would meet it, for whoever asks for many addresses.
    pub fn space_at(&self, of: MappedIn, row: usize) -> Option<Space> {
        let row = u32::try_from(row).ok()?;
        let next = self.states.partition_point(|state| (state.of, state.row) <= (of, row));
        let state = self.states.get(next.checked_sub(1)?).filter(|state| state.of == of)?;
        Some(Space(state.roots))
    }

    /// The frame of an address in it.
    pub fn frame_in(&self, Space(roots): Space, address: u64) -> Option<Frame> {
        Some(self.locate_in(roots, address).ok()?.frame(address))
    }

    /// The highest address in it at which anything is mapped.
    pub fn highest_in(&self, Space(roots): Space) -> Option<u64> {
        Some(self.last(roots.memory)?.end.saturating_sub(1))
    }

    /// The frame of an address of data in it, which may also be where no code can be.
    pub fn data_in(&self, Space(roots): Space, address: u64) -> Option<Frame> {
        let in_code = || self.locate_in(roots, address).ok();
        Some(self.at(roots.data, address).or_else(in_code)?.frame(address))
    }

    /// Whatever there is now is shared.
    pub(crate) fn all_shared(&self) -> OwnFrom {
        OwnFrom(self.branches.len() as u32)
    }

    fn size(&self) -> usize {
        self.mappings.len() * size_of::<Mapping>()
            + self.branches.len() * size_of::<Branch>()
            + self.states.len() * size_of::<State>()
    }

    /// True if it is time to call [`Self::keep_only`].
    pub(crate) fn is_overgrown(&self) -> bool {
        self.size() > 2 * self.size_of_present + HISTORY_SIZE
    }

    /// Gives up history, and leaves behind what is in none of `present`. All of that is shared from now
    /// on.
    pub(crate) fn keep_only<'a>(&mut self, present: impl Iterator<Item = &'a mut SpaceRoots>) {
        let mut copy = TreeCopy::of(self);
        for roots in present {
            let SpaceRoots { memory, code, data } = *roots;
            let (memory, code) = (copy.root(memory), copy.root(code));
            *roots = SpaceRoots { memory, code, data: copy.root(data) };
        }
        let TreeCopy { mappings, branches, .. } = copy;
        let (states, kept) = (Vec::new(), MappingsKept::Present);
        *self = Self { mappings, branches, states, kept, size_of_present: 0 };
        self.size_of_present = self.size();
    }

    /// From this row on an address space is this. Whoever noted it shares it.
    pub(crate) fn note(&mut self, of: MappedIn, row: usize, roots: SpaceRoots) {
        let row = u32::try_from(row).unwrap_or(u32::MAX);
        self.states.push(State { of, row, roots });
    }

    /// Makes what was noted ready to be asked.
    pub(crate) fn settle(&mut self) {
        if self.kept != MappingsKept::History {
            *self = Self { kept: self.kept, ..Self::default() };
            return;
        }
        let mut order: Vec<u32> = (0..self.states.len() as u32).collect();
        let of = |state: &State| match state.of {
            MappedIn::Process(process) => u64::from(process.0),
            MappedIn::Kernel => 1 << 32,
            MappedIn::GuestKernels => 2 << 32,
        };
        sort_by_numbers(&mut order, |&at| (of(&self.states[at as usize]), u64::from(at)));
        self.states = order.iter().map(|&at| self.states[at as usize]).collect();
    }

    /// The code or mapping that holds `address`, or the part of it that others left. If there is none,
    /// addresses around it in none of which anything is mapped.
    pub(crate) fn locate_in(&self, roots: SpaceRoots, address: u64) -> Result<Mapping, Range<u64>> {
        let code = match self.locate(roots.code, address) {
            Ok(code) => return Ok(code),
            Err(gap) => gap,
        };
        let memory = self.locate(roots.memory, address);
        memory.map_err(|gap| gap.start.max(code.start)..gap.end.min(code.end))
    }

    /// The mapping that holds `address`.
    pub(crate) fn at(&self, root: Root, address: u64) -> Option<Mapping> {
        self.locate(root, address).ok()
    }

    /// The mapping that holds `address`, or all addresses around it that none holds.
    pub(crate) fn locate(&self, root: Root, address: u64) -> Result<Mapping, Range<u64>> {
        let (mut node, mut left_of, mut right_of) = (root, Root::EMPTY, Root::EMPTY);
        let number = loop {
            match node.node() {
                Node::Empty => return Err(0..u64::MAX),
                Node::Mapping(number) => break number,
                Node::Branch(number) => {
                    let Branch { split, left, right } = self.branches[number as usize];
                    match address < split {
                        true => (node, right_of) = (left, right),
                        false => (node, left_of) = (right, left),
                    }
                }
            }
        };
        let mapping = self.mappings[number as usize];
        let (before, after) = match address < mapping.start {
            true => (self.last(left_of), Some(mapping)),
            false => (Some(mapping), None),
        };
        if let Some(before) = before.filter(|before| address < before.end) {
            return Ok(before);
        }
        let after = after.or_else(|| self.first(right_of));
        Err(before.map_or(0, |before| before.end)..after.map_or(u64::MAX, |after| after.start))
    }

    /// The mapping with the lowest addresses.
    pub(crate) fn first(&self, root: Root) -> Option<Mapping> {
        self.outermost(root, |branch| branch.left)
    }

    fn last(&self, root: Root) -> Option<Mapping> {
        self.outermost(root, |branch| branch.right)
    }

    fn outermost(&self, mut node: Root, side: impl Fn(Branch) -> Root) -> Option<Mapping> {
        loop {
            match node.node() {
                Node::Empty => return None,
                Node::Branch(number) => node = side(self.branches[number as usize]),
                Node::Mapping(number) => return Some(self.mappings[number as usize]),
            }
        }
    }

    /// With `mapping`; what it covers of others is gone.
    pub(crate) fn with(&mut self, root: Root, mapping: Mapping, own: OwnFrom) -> Root {
        if self.at(root, mapping.start) == Some(mapping) {
            return root;
        }
        let root = self.without(root, mapping.start..mapping.end, own);
        self.put_in(root, mapping, own)
    }

    /// With nothing mapped in `range`, which is not empty.
    pub(crate) fn without(&mut self, root: Root, range: Range<u64>, own: OwnFrom) -> Root {
        let Range { start, end } = range;
        let head = self.at(root, start).filter(|head| head.start < start);
        let tail = self.at(root, end - 1).filter(|tail| tail.end > end);
        let mut root = self.without_begun_in(root, start..end, own);
        if let Some(head) = head {
            root = self.put_in(root, head.ends_at(start), own);
        }
        if let Some(tail) = tail {
            root = self.put_in(root, tail.begins_at(end), own);
        }
        root
    }

    /// Without any mapping that has a part in `range`, which is not empty.
    pub(crate) fn without_any_of(&mut self, root: Root, range: Range<u64>, own: OwnFrom) -> Root {
        let start = self.at(root, range.start).map_or(range.start, |first| first.start);
        self.without_begun_in(root, start..range.end, own)
    }

    /// Without those that begin in `range`: only the ways to its ends are walked.
    fn without_begun_in(&mut self, root: Root, range: Range<u64>, own: OwnFrom) -> Root {
        match root.node() {
            Node::Empty => root,
            Node::Mapping(number) => {
                let is_in = range.contains(&self.mappings[number as usize].start);
                if is_in { Root::EMPTY } else { root }
            }
            Node::Branch(number) => {
                let branch = self.branches[number as usize];
                let (first, last) = branch.reach();
                if range.end <= first || last < range.start {
                    return root;
                }
                if range.start <= first && last < range.end {
                    return Root::EMPTY;
                }
                let left = self.without_begun_in(branch.left, range.clone(), own);
                let right = self.without_begun_in(branch.right, range, own);
                match (left, right) {
                    (Root::EMPTY, only) | (only, Root::EMPTY) => only,
                    _ if (left, right) == (branch.left, branch.right) => root,
                    _ => self.change(number, Branch { left, right, ..branch }, own),
                }
            }
        }
    }

    /// With `mapping`, in place of what begins where it does, if anything.
    fn put_in(&mut self, root: Root, mapping: Mapping, own: OwnFrom) -> Root {
        let number = self.mappings.len() as u32;
        if number >= Root::MOST || self.kept == MappingsKept::Nothing {
            return root;
        }
        self.mappings.push(mapping);
        self.put(root, mapping.start, Root(number | Root::MAPPING), own)
    }

    fn put(&mut self, root: Root, start: u64, mapping: Root, own: OwnFrom) -> Root {
        let known = match root.node() {
            Node::Empty => return mapping,
            Node::Mapping(number) => self.mappings[number as usize].start,
            Node::Branch(number) => {
                let branch = self.branches[number as usize];
                if branch.takes(start) {
                    let Branch { left, right, .. } = branch;
                    let new = match start < branch.split {
                        true => Branch { left: self.put(left, start, mapping, own), ..branch },
                        false => Branch { right: self.put(right, start, mapping, own), ..branch },
                    };
                    return self.change(number, new, own);
                }
                branch.split
            }
        };
        let Some(bit) = (known ^ start).checked_ilog2() else { return mapping };
        let split = known.max(start) >> bit << bit;
        let (left, right) = if start < known { (mapping, root) } else { (root, mapping) };
        self.branch(Branch { split, left, right })
    }

    /// What a branch becomes.
    fn change(&mut self, number: u32, branch: Branch, own: OwnFrom) -> Root {
        if number < own.0 {
            return self.branch(branch);
        }
        self.branches.set(number as usize, branch);
        Root(number)
    }

    fn branch(&mut self, branch: Branch) -> Root {
        let number = self.branches.len() as u32;
        if number >= Root::MOST {
            return Root::EMPTY;
        }
        self.branches.push(branch);
        Root(number)
    }
}

/// Trees as they are copied. What several share is copied once.
struct TreeCopy<'a> {
    from: &'a Mappings,
    mappings: Column<Mapping>,
    branches: Column<Branch>,
    /// By number, what became of it; nothing yet if that is empty.
    copied_mappings: Vec<Root>,
    copied_branches: Vec<Root>,
}

impl<'a> TreeCopy<'a> {
    fn of(from: &'a Mappings) -> Self {
        Self {
            from,
            mappings: Column::default(),
            branches: Column::default(),
            copied_mappings: vec![Root::EMPTY; from.mappings.len()],
            copied_branches: vec![Root::EMPTY; from.branches.len()],
        }
    }

    fn root(&mut self, root: Root) -> Root {
        match root.node() {
            Node::Empty => root,
            Node::Mapping(number) => {
                let number = number as usize;
                if self.copied_mappings[number] == Root::EMPTY {
                    let new = Root(self.mappings.len() as u32 | Root::MAPPING);
                    self.mappings.push(self.from.mappings[number]);
                    self.copied_mappings[number] = new;
                }
                self.copied_mappings[number]
            }
            Node::Branch(number) => {
                let number = number as usize;
                if self.copied_branches[number] == Root::EMPTY {
                    let Branch { split, left, right } = self.from.branches[number];
                    let (left, right) = (self.root(left), self.root(right));
                    let new = Root(self.branches.len() as u32);
                    self.branches.push(Branch { split, left, right });
                    self.copied_branches[number] = new;
                }
                self.copied_branches[number]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An address space as whoever changes it has it.
    #[derive(Clone, Copy)]
    struct Space {
        roots: SpaceRoots,
        own: OwnFrom,
    }

    const EMPTY: Space = Space { roots: SpaceRoots::EMPTY, own: OwnFrom(0) };

    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % bound
        }
    }

    fn mapping(start: u64, end: u64, page_offset: u64, dso: u32) -> Mapping {
        Mapping { start, end, page_offset, dso: DsoId(dso) }
    }

    /// What is at each address: memory, and code made at run time, which is one thing or gone.
    #[derive(Clone, PartialEq, Debug)]
    struct Naive {
        memory: Vec<Option<Frame>>,
        code: Vec<Option<(u32, Frame)>>,
    }

    /// The addresses of the model stand for these: lowest, highest, and one for each bit.
    fn address(number: usize) -> u64 {
        match number {
            0..64 => (1_u64 << number) - 1,
            _ => u64::MAX - (1 << (127 - number)) + 1,
        }
    }
    const ADDRESSES: usize = 128;

    impl Naive {
        fn end_code(&mut self, range: Range<usize>) {
            for at in range {
                if let Some((number, _)) = self.code[at] {
                    let is_it = |it: &Option<(u32, Frame)>| it.is_some_and(|it| it.0 == number);
                    self.code.iter_mut().filter(|it| is_it(it)).for_each(|it| *it = None);
                }
            }
        }

        fn at(&self, at: usize) -> Option<Frame> {
            self.code[at].map(|(_, frame)| frame).or(self.memory[at])
        }
    }

    /// A history of forks, execs, mappings, holes and code, against a model that copies all of it at
    /// each fork and for each sample.
    #[test]
    fn every_state_that_a_sample_met_can_be_asked_for() {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut all = Mappings::default();
        let nothing = Naive { memory: vec![None; ADDRESSES], code: vec![None; ADDRESSES] };
        let mut running = vec![(EMPTY, nothing.clone())];
        let mut met: Vec<(MappedIn, usize, Naive)> = Vec::new();
        for turn in 0..6000_u32 {
            let which = random.below(running.len() as u64) as usize;
            let first = random.below(ADDRESSES as u64 - 1) as usize;
            let last = first + 1 + random.below((ADDRESSES - first - 1) as u64) as usize;
            let (start, end) = (address(first), address(last));
            let new = mapping(start, end, u64::from(turn) << 20, turn);
            let frames = (first..last).map(|at| new.frame(address(at)));
            let count = running.len();
            let (space, naive) = &mut running[which];
            let (roots, own) = (&mut space.roots, space.own);
            match random.below(8) {
                0 if count < 30 => {
                    space.own = all.all_shared();
                    let child = (*space, naive.clone());
                    running.push(child);
                }
                1 if turn % 5 == 0 => running[which] = (EMPTY, nothing.clone()),
                2 => {
                    roots.memory = all.without(roots.memory, start..end, own);
                    roots.code = all.without_any_of(roots.code, start..end, own);
                    naive.memory[first..last].fill(None);
                    naive.end_code(first..last);
                }
                3 => {
                    roots.code = all.without_any_of(roots.code, start..end, own);
                    roots.code = all.with(roots.code, new, own);
                    naive.end_code(first..last);
                    frames.zip(first..).for_each(|(it, at)| naive.code[at] = Some((turn, it)));
                }
                4 | 5 => {
                    let of = MappedIn::Process(ProcessId(which as u32));
                    all.note(of, met.len(), *roots);
                    space.own = all.all_shared();
                    met.push((of, met.len(), naive.clone()));
                }
                _ => {
                    roots.memory = all.with(roots.memory, new, own);
                    frames.zip(first..).for_each(|(it, at)| naive.memory[at] = Some(it));
                }
            }
            let (space, naive) = &running[which];
            for at in 0..ADDRESSES {
                let found = all.locate_in(space.roots, address(at));
                if let Err(gap) = &found {
                    assert!(gap.contains(&address(at)) || at == ADDRESSES - 1, "{gap:?}");
                    let mut others = (0..ADDRESSES).filter(|&it| gap.contains(&address(it)));
                    assert!(others.all(|it| naive.at(it).is_none()), "{gap:?} in turn {turn}");
                }
                let found = found.ok().map(|it| it.frame(address(at)));
                assert_eq!(found, naive.at(at), "address {at} in turn {turn}");
            }
        }
        all.settle();
        assert!(met.len() > 1000);
        for (of, row, naive) in &met {
            for at in 0..ADDRESSES {
                let place = || format!("address {at} of {of:?} in row {row}");
                assert_eq!(all.find(*of, *row, address(at)), naive.at(at), "{}", place());
            }
        }
        // Until the next state all rows have that before.
        let (of, row, naive) = &met[met.len() - 1];
        assert_eq!(all.find(*of, row + 100, address(70)), naive.at(70));
        assert_eq!(all.find(MappedIn::Kernel, *row, address(70)), None);
    }

    /// Each of a hundred thousand processes is forked by the one before, and maps something.
    #[test]
    fn a_long_chain_of_forks_costs_what_it_maps() {
        let mut all = Mappings::default();
        let mut random = Random(7);
        let mut space = EMPTY;
        let count = 100_000;
        for number in 0..count {
            space.own = all.all_shared();
            all.note(MappedIn::Process(ProcessId(number)), number as usize, space.roots);
            let start = random.below(1 << 35) << 12;
            let new = mapping(start, start + 4096, 0, number);
            space.roots.memory = all.with(space.roots.memory, new, space.own);
        }
        all.settle();
        // About as many as a balanced tree is deep, of its random addresses.
        let branches = all.branches.len() / count as usize;
        assert!(branches <= 24, "{branches} branches for each");
        let last = all.first(space.roots.memory).expect("a mapping");
        let (process, row) = (MappedIn::Process(ProcessId(count - 1)), count as usize);
        assert_eq!(all.find(process, row, last.start).map(|it| it.dso), Some(last.dso));
    }

    /// Samples meet each state of a deep tree that two processes share: a few bytes in a packed file.
    #[test]
    fn memory_is_bounded_whatever_samples_meet() {
        let mut all = Mappings::default();
        let mut parent = EMPTY;
        for bit in 4..64 {
            let memory = mapping(1 << bit, (1 << bit) + 1, 0, bit);
            parent.roots.memory = all.with(parent.roots.memory, memory, parent.own);
        }
        parent.own = all.all_shared();
        let mut child = parent;
        let mut copies = 0;
        for row in 0..200_000_u32 {
            let new = mapping(u64::from(row % 2), u64::from(row % 2) + 2, 0, row);
            child.roots.memory = all.with(child.roots.memory, new, child.own);
            if all.kept() == MappingsKept::History {
                all.note(MappedIn::Process(ProcessId(1)), row as usize, child.roots);
                child.own = all.all_shared();
            }
            if all.is_overgrown() {
                all.keep_only([&mut parent.roots, &mut child.roots].into_iter());
                (parent.own, child.own) = (all.all_shared(), all.all_shared());
                copies += 1;
                let counts = (all.mappings.len(), all.branches.len());
                assert!(counts.0 < 64 && counts.1 < 128, "{counts:?} in row {row}");
            }
            assert!(all.size() < HISTORY_SIZE + HISTORY_SIZE / 8, "row {row}");
            let dso = |space: Space, at| all.at(space.roots.memory, at).map(|it| it.dso.0);
            assert_eq!([0, 1, 2, 3].map(|at| dso(parent, at)), [None; 4], "row {row}");
            assert_eq!(dso(child, 1), Some(row));
            assert_eq!([dso(parent, 1 << 40), dso(child, 1 << 40)], [Some(40); 2], "row {row}");
        }
        assert!(copies > 0);
        all.settle();
        assert_eq!(all.find(MappedIn::Process(ProcessId(1)), 1, 1), None);
        assert_eq!((all.kept(), all.size()), (MappingsKept::Present, 0));
    }

    #[test]
    fn mapping_what_is_mapped_changes_nothing() {
        let mut all = Mappings::default();
        let [first, second] = [mapping(0, 8, 0, 1), mapping(16, 24, 0, 2)];
        let root = all.with(Root::EMPTY, first, OwnFrom::default());
        let root = all.with(root, second, OwnFrom::default());
        let size = all.size();
        for again in [first, second] {
            assert_eq!(all.with(root, again, all.all_shared()), root);
        }
        assert_eq!(all.size(), size);
        assert_ne!(all.with(root, first.ends_at(4), all.all_shared()), root);
    }

    #[test]
    fn what_was_mapped_in_a_row_costs_one_branch_each() {
        let mut all = Mappings::default();
        let mut root = Root::EMPTY;
        for number in 0..1000_u32 {
            let start = u64::from(number.reverse_bits());
            root = all.with(root, mapping(start, start + 1, 0, number), OwnFrom::default());
        }
        assert_eq!(all.branches.len(), 999);
    }
}
