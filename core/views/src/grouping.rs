//! Calls below several call nodes, put together by what they are calls of.

use perftab_profile::{IdTable, hash_pair};

use crate::flame_graph::{Amount, Source};

/// Parts that share a box.
#[derive(Clone, Debug)]
pub(super) struct SharedBox<P> {
    pub parts: Vec<P>,
    pub amount: Amount,
    /// [`super::label::mark::MATCH`] if a search finds any of their labels, else nothing.
    pub found: u8,
}

impl<P> Default for SharedBox<P> {
    fn default() -> Self {
        Self { parts: Vec::new(), amount: Amount::default(), found: 0 }
    }
}

impl<P> SharedBox<P> {
    /// Notes what was added to the parts: all that there is of one label.
    pub fn note(&mut self, amount: Amount, found: u8) {
        self.amount.add(amount);
        self.found |= found;
    }
}

/// Parts by label. A table of rows instead of one of lists: nearly every label has one part, and there
/// may be a million of them.
pub(super) struct Grouping<P> {
    parts: Vec<P>,
    /// By part: the one of its label that was met before, or [`NONE`].
    before: Vec<u32>,
    /// By label: its parts, of which this is the last.
    groups: Vec<(u64, u32, Amount)>,
    of_label: IdTable,
    /// Finds the part that another meets.
    meeting: Vec<(u32, u32)>,
    of_meeting: IdTable,
}

const NONE: u32 = u32::MAX;

impl<P> Default for Grouping<P> {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            before: Vec::new(),
            groups: Vec::new(),
            of_label: IdTable::default(),
            meeting: Vec::new(),
            of_meeting: IdTable::default(),
        }
    }
}

impl<P: Copy> Grouping<P> {
    /// Adds what is below a part.
    pub fn add_below<S: Source<Part = P>>(&mut self, source: &S, part: P) {
        source.for_each_below(part, &mut |child| self.add(source, child));
    }

    fn add<S: Source<Part = P>>(&mut self, source: &S, part: P) {
        let group = self.group(source.label(part).key());
        self.groups[group].2.add_part(source.amount(part));
        if let Some(known) = source.meets_at(part).and_then(|at| self.met(at)) {
            source.join(&mut self.parts[known as usize], part);
            return;
        }
        let (_, last, _) = &mut self.groups[group];
        self.before.push(std::mem::replace(last, self.parts.len() as u32));
        self.parts.push(part);
    }

    fn group(&mut self, key: u64) -> usize {
        let Self { groups, of_label, .. } = self;
        let row = of_label.find_or_insert(
            groups.len(),
            hash_pair(key, 0) as u32,
            |row| groups[row as usize].0 == key,
            |row| hash_pair(groups[row as usize].0, 0) as u32,
        );
        if row as usize == groups.len() {
            groups.push((key, NONE, Amount { labels: 1, ..Amount::default() }));
        }
        row as usize
    }

    /// The part that was met at this number; where none was, it is the one that is added next.
    fn met(&mut self, at: u32) -> Option<u32> {
        let Self { meeting, of_meeting, parts, .. } = self;
        let row = of_meeting.find_or_insert(
            meeting.len(),
            hash_pair(u64::from(at), 1) as u32,
            |row| meeting[row as usize].0 == at,
            |row| hash_pair(u64::from(meeting[row as usize].0), 1) as u32,
        );
        if let Some(&(_, known)) = meeting.get(row as usize) {
            return Some(known);
        }
        meeting.push((at, parts.len() as u32));
        None
    }

    /// How many labels there are.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// The parts of a label.
    pub fn take(&self, place: usize) -> SharedBox<P> {
        let (_, last, amount) = self.groups[place];
        let way = std::iter::successors(Some(last), |&at| self.before.get(at as usize).copied());
        let mut parts: Vec<P> = way.map_while(|at| self.parts.get(at as usize).copied()).collect();
        parts.reverse();
        SharedBox { parts, amount, found: 0 }
    }
}
