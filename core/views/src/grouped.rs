//! Weights by DSO, by source file and by thread: tables beside the one of functions.
//!
//! Each sample counts once for every row that it is anywhere in, and ends in one row: the sums of
//! self are the whole. What is in no mapping is a row of its own among DSOs and files.

use perftab_perfdata::map::{Entry, Map};
use perftab_perfdata::sorting::sort_by;
use std::cmp::Ordering;

use perftab_names::{ByFunction, FileId, FunctionId, Symbols};
use perftab_perfdata::text::printable;
use perftab_profile::{DsoId, Profile, Thread};
use serde::{Deserialize, Serialize};

use crate::Query;
use crate::call_tree::{CallNodeId, CallTree, Label};
use crate::ends::Ends;
use crate::filter::Filter;
use crate::functions::{FunctionOrder, NO_ROW, Orderable, SumRow, add_up};
use crate::label::{Kind, Labels, NO_MAPPING, OwnCode, mark};
use crate::weights::Sum;

/// What a row of a table stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum GroupBy {
    /// A function, or an address without a name.
    #[default]
    Function,
    /// A source file. A function is in the file that most of its addresses are from; functions of
    /// which no file is known are a row for each DSO.
    File,
    /// A DSO.
    Dso,
    /// A thread, under the last name that it had.
    Thread,
}

/// A row that is no function.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRow {
    /// Number of the DSO, the file ([`FileId::number`]) or the thread (tid); `None` for what is
    /// none: code in no mapping, or of no known file.
    pub id: Option<u32>,
    /// Path of a file, name of a DSO, name and number of a thread.
    pub name: String,
    /// The DSO of a file, the process of a thread; empty for DSOs.
    pub within: String,
    /// Colour.
    pub kind: Kind,
    /// Bits of [`mark`].
    pub marks: u8,
    /// Samples that ended in it.
    pub self_sum: Sum,
    /// Samples that it is anywhere in.
    pub total: Sum,
    /// Its heaviest call node.
    pub heaviest: Option<CallNodeId>,
}

/// Text of functions of which no source file is known.
const NO_FILE: &str = "[no source file]";

/// The DSOs of a call tree (callees, not inverted), in order.
pub fn by_dso(
    profile: &Profile,
    symbols: &Symbols,
    own: &OwnCode,
    tree: &CallTree,
    order: FunctionOrder,
) -> Vec<GroupRow> {
    let labels = Labels::new(profile, symbols);
    let subject = |label| match label {
        Label::NoMapping => Some(Subject::NoMapping),
        label => labels.dso(label).map(Subject::Dso),
    };
    rows((profile, symbols, own), tree, order, subject)
}

/// The source files of a call tree (callees, not inverted), in order.
pub fn by_file(
    profile: &Profile,
    symbols: &Symbols,
    own: &OwnCode,
    tree: &CallTree,
    order: FunctionOrder,
) -> Vec<GroupRow> {
    let labels = Labels::new(profile, symbols);
    let files = FilesOfFunctions::new(profile, symbols);
    let subject = |label: Label| match label {
        Label::NoMapping => Some(Subject::NoMapping),
        label => {
            let file = label.function().and_then(|function| files.of(function));
            file.map(Subject::File).or_else(|| labels.dso(label).map(Subject::NoFile))
        }
    };
    rows((profile, symbols, own), tree, order, subject)
}

/// The threads whose samples a query takes and its steps leave, in order; those of one number are
/// one.
pub fn by_thread(
    profile: &Profile,
    symbols: &Symbols,
    query: &Query,
    ends: &Ends,
    order: FunctionOrder,
) -> Vec<GroupRow> {
    let samples = &profile.samples;
    let mut sums = vec![Sum::default(); profile.threads.threads.len()];
    let filter = Filter::new(profile, query);
    let passes = |row: &usize| filter.is_of_event(*row) && filter.removed_by(*row).is_none();
    for row in filter.rows().filter(passes) {
        let thread = samples.thread.at(row);
        if ends.of(thread, samples.stack[row]).is_some() {
            sums[thread.index()].add(filter.sum(row));
        }
    }
    let mut of_tid: Map<u32, (Thread, Sum)> = Map::new();
    let threads = profile.threads.threads.iter().zip(sums);
    for (&thread, sum) in threads.filter(|(_, sum)| sum.samples > 0) {
        let (last, all) = of_tid.entry(thread.tid).or_insert((thread, Sum::default()));
        *last = thread;
        all.add(sum);
    }
    let labels = Labels::new(profile, symbols);
    let shown = of_tid.into_sorted().into_iter().map(|(tid, (thread, sum))| {
        let process = profile.threads.process(thread.process);
        GroupRow {
            id: Some(tid),
            name: labels.thread_text(thread),
            within: printable(profile.strings.get(process.name)).into_owned(),
            kind: Kind::Pseudo,
            marks: mark::PSEUDO,
            self_sum: sum,
            total: sum,
            heaviest: None,
        }
    });
    in_order(shown.collect(), order)
}

/// What a row of DSOs or files stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Subject {
    Dso(DsoId),
    File(FileId),
    NoFile(DsoId),
    NoMapping,
}

/// A row while it is added up.
struct SubjectSum {
    subject: Subject,
    self_sum: Sum,
    total: Sum,
    heaviest: CallNodeId,
    marks: u8,
    dso: Option<DsoId>,
}

impl SumRow for SubjectSum {
    fn add_self(&mut self, tree: &CallTree, id: CallNodeId) {
        self.self_sum.add(tree.self_sum(id));
        if tree.total(id).weight > tree.total(self.heaviest).weight {
            self.heaviest = id;
        }
    }

    fn add_total(&mut self, tree: &CallTree, id: CallNodeId) {
        self.total.add(tree.total(id));
    }
}

fn rows(
    (profile, symbols, own): (&Profile, &Symbols, &OwnCode),
    tree: &CallTree,
    order: FunctionOrder,
    subject: impl Fn(Label) -> Option<Subject>,
) -> Vec<GroupRow> {
    let labels = Labels::new(profile, symbols).counting(own);
    let mut added: Vec<SubjectSum> = Vec::new();
    let mut known: Map<Subject, u32> = Map::new();
    let row_of = tree.ids().map(|id| {
        let label = tree.label(id);
        let Some(subject) = subject(label) else { return NO_ROW };
        let row = match known.entry(subject) {
            Entry::Occupied(row) => *row.get(),
            Entry::Vacant(row) => {
                let dso = labels.dso(label);
                let (self_sum, total) = (Sum::default(), Sum::default());
                added.push(SubjectSum { subject, self_sum, total, heaviest: id, marks: 0, dso });
                *row.insert(added.len() as u32 - 1)
            }
        };
        let added = &mut added[row as usize];
        added.marks |= labels.marks(label) & mark::FORCED;
        added.dso = added.dso.filter(|&dso| labels.dso(label) == Some(dso));
        row
    });
    let row_of: Vec<u32> = row_of.collect();
    add_up(tree, &row_of, &mut added);
    let shown =
        added.into_iter().map(|added| added.shown((profile, symbols), &labels, tree)).collect();
    in_order(shown, order)
}

impl SubjectSum {
    fn shown(
        self,
        (profile, symbols): (&Profile, &Symbols),
        labels: &Labels<'_>,
        tree: &CallTree,
    ) -> GroupRow {
        let dso_name = |dso: DsoId| printable(profile.dsos.get(dso).name()).into_owned();
        let of_heaviest = || labels.kind(tree.label(self.heaviest));
        let (id, name, within, kind) = match self.subject {
            Subject::Dso(dso) => (Some(dso.0), dso_name(dso), String::new(), labels.dso_kind(dso)),
            Subject::File(file) => {
                let within = self.dso.map_or_else(|| "several DSOs".to_owned(), dso_name);
                let path = printable(symbols.file(file)).into_owned();
                (Some(file.number()), path, within, of_heaviest())
            }
            Subject::NoFile(dso) => (None, NO_FILE.to_owned(), dso_name(dso), of_heaviest()),
            Subject::NoMapping => (None, NO_MAPPING.to_owned(), String::new(), Kind::Unnamed),
        };
        let (self_sum, total) = (self.self_sum, self.total);
        let heaviest = Some(self.heaviest);
        GroupRow { id, name, within, kind, marks: self.marks, self_sum, total, heaviest }
    }
}

/// Rows in an order; what is equal stands by name. What is ordered by DSO stands by DSO, then by
/// self.
fn in_order(mut rows: Vec<GroupRow>, order: FunctionOrder) -> Vec<GroupRow> {
    sort_by(&mut rows, |a, b| order.compare(a, b));
    rows
}

impl Orderable for GroupRow {
    fn sums(&self) -> (Sum, Sum) {
        (self.self_sum, self.total)
    }

    fn by_name(&self, other: &Self) -> Ordering {
        (&self.name, &self.within, self.id).cmp(&(&other.name, &other.within, other.id))
    }

    fn by_dso(&self, other: &Self) -> Ordering {
        self.within.cmp(&other.within)
    }
}

/// The source file of each function. Code that the compiler took from another file without saying
/// so (a macro, a table) is in a function's addresses too, hence the one that most of them are
/// from. An address counts once, however often it was sampled: a filter changes no file.
pub(super) struct FilesOfFunctions {
    /// The majority of a stream, found in one pass: who is ahead, and by how many.
    ahead: ByFunction<(Option<FileId>, u32)>,
}

impl FilesOfFunctions {
    pub fn new(profile: &Profile, symbols: &Symbols) -> Self {
        let mut ahead = ByFunction::default();
        for (frame, _) in profile.frames.iter() {
            for level in symbols.levels(frame).iter().filter(|level| level.file.is_some()) {
                let (file, votes) = ahead.get_mut(level.function);
                match *file == level.file {
                    true => *votes += 1,
                    false if *votes == 0 => (*file, *votes) = (level.file, 1),
                    false => *votes -= 1,
                }
            }
        }
        Self { ahead }
    }

    pub fn of(&self, function: FunctionId) -> Option<FileId> {
        self.ahead.get(function).0
    }
}
