//! All that the page asks of a session: each question once, with what goes in and what comes back.
//!
//! The two tables below are the protocol. The page's types are generated from them, and whoever hosts a
//! session needs one way to ask for all: a name and arguments ([`Arguments`]) are a question, and [`Asked`]
//! goes through what it needs, a step at a time.

use std::ops::Range;

use perftab_export::ExportRequest;
use perftab_perfdata::slice::Work;
use perftab_profile::DsoId;
use perftab_snapshot::{Rename, ShareOptions, TooSmall};
use perftab_views::accesses::AccessGroup;
use perftab_views::dso_users::DsoUsers;
use perftab_views::filter::TimeRange;
use perftab_views::function_ref::{DsoRef, FunctionRef, PathPart};
use perftab_views::functions::FunctionOrder;
use perftab_views::grouped::GroupBy;
use perftab_views::heat_map::{HeatCell, HeatMap, HeatRequest};
use perftab_views::occurrence::Occurrence;
use perftab_views::placed;
use perftab_views::search::Pattern;
use perftab_views::shown::ShownSamples;
use perftab_views::tasks::TaskRows;
use perftab_views::timeline::{Timeline, TimelineRequest};
use perftab_views::transform::Transform;
use perftab_views::{Direction, Inlines, Query};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};

use crate::session::export::ExportSizeWork;
use crate::session::report::CoverageWork;
use crate::session::{
    AccessRows, BranchBlocks, CallNodeAround, CallNodeDetail, CallTreeRows, ChangeRows,
    ChangesRequest, CodeHeatRows, CompareSearch, CompareView, ComparedDetail, ComparedTreeRows,
    ComparedTrees, Coverage, DrawnComparison, DrawnGraph, DrawnTimeOrder, DsoPairRow, DsoRow,
    ExportContents, FilteredCoverage, FlameWindow, FunctionRows, HotLine, HotLines, HotPlaceRows,
    MarkRows, OccurrenceRequest, Place, ProfileInfo, SandwichFacts, ScanStep, SearchResult,
    Session, SharedLink, SideTotal, TimeWindow, TreeDetail,
};

/// What is asked with a question, as a host has it.
pub trait Arguments {
    /// An argument that is to be read.
    type Argument;
    /// What is wrong, as the host says it.
    type Error;

    /// The argument of a name; what stands for none if it is left out, which some may be.
    fn argument(&self, name: &str) -> Self::Argument;
    /// What it is, or why it is not, in words.
    fn read<T: DeserializeOwned>(argument: Self::Argument) -> Result<T, String>;
    /// Why there is no such question, or no such argument.
    fn refused(what: &str, why: &str) -> Self::Error;
}

fn read<A: Arguments, T: DeserializeOwned>(arguments: &A, field: &str) -> Result<T, A::Error> {
    let name = in_camel_case(field);
    A::read(arguments.argument(&name)).map_err(|why| A::refused(&name, &why))
}

/// Two enums from one table: questions, and the answer to each under the same name.
///
/// A question is read argument by argument: code that serde derives for enums has all that it needs to read a
/// struct once for each variant, which would be 40 kB more WebAssembly. An answer crosses without its
/// name, which its question has said.
macro_rules! questions {
    ($(#[$about:meta])* $questions:ident, $(#[$about_answers:meta])* $answers:ident:
     $($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $field:ident: $type:ty),* } -> $answer:ty;)*) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        #[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
        #[cfg_attr(feature = "typescript", serde(rename_all = "camelCase", rename_all_fields = "camelCase"))]
        #[allow(missing_docs)]
        pub enum $questions { $($(#[$doc])* $name { $($(#[$of])* $field: $type),* }),* }

        impl $questions {
            /// The question of a name.
            pub fn read<A: Arguments>(name: &str, arguments: &A) -> Result<Self, A::Error> {
                let known = [$(stringify!($name)),*];
                let variant = known.into_iter().find(|known| in_camel_case(known) == name);
                $(if variant == Some(stringify!($name)) {
                    return Ok(Self::$name { $($field: read(arguments, stringify!($field))?),* });
                })*
                Err(A::refused(name, "there is no such question"))
            }
        }

        $(#[$about_answers])*
        #[derive(Clone, Debug)]
        #[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
        #[cfg_attr(feature = "typescript", serde(rename_all = "camelCase"))]
        #[allow(missing_docs)]
        pub enum $answers { $($name($answer)),* }

        impl Serialize for $answers {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$name(answer) => answer.serialize(serializer),)*
                }
            }
        }
    };
}

/// The name in TypeScript of a variant or a field.
fn in_camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default();
    let mut all = first.get(..1).unwrap_or_default().to_ascii_lowercase();
    all.push_str(first.get(1..).unwrap_or_default());
    for word in words {
        all.push_str(&word.get(..1).unwrap_or_default().to_ascii_uppercase());
        all.push_str(word.get(1..).unwrap_or_default());
    }
    all
}

questions! {
    /// What a session is asked.
    Question,
    /// What it says: under the name of the question.
    Answer:

    /// What `perftab info --json` prints.
    Info {} -> Box<ProfileInfo>;
    /// The ledger, most samples first.
    Dsos {} -> Vec<DsoRow>;
    /// How much has names.
    Coverage {} -> Coverage;
    /// The same of what the filters and steps of a query leave.
    FilteredCoverage { query: Query } -> FilteredCoverage;
    /// Who ran DSOs, and when: a pass over all samples, so it is asked of those that somebody looks at, together.
    DsoUsers { dsos: Vec<u32> } -> Vec<DsoUsers>;
    /// Boxes for the width that is there.
    FlameGraph { query: Query, window: FlameWindow } -> DrawnGraph;
    /// A call node with at most so many callees, and callers' other callees beside it; null if there is none with
    /// this id (any more).
    CallNode { query: Query, call_node: u32, most: u32 } -> Option<Box<CallNodeAround>>;
    /// The same of the call node alone.
    CallNodeDetail { query: Query, call_node: u32 } -> Option<CallNodeDetail>;
    /// Who ran a call node or a function, and when; null if there is none (any more).
    Occurrence { query: Query, request: OccurrenceRequest } -> Option<Occurrence>;
    /// Where a call node of an older generation is now; its place is what its detail said then.
    FindCallNode { query: Query, place: Place } -> u32;
    /// Where call nodes of an older generation are now in the query's tree: 0 for what is not there any more.
    MovedCallNodes { query: Query, generation: u32, call_nodes: Vec<u32> } -> Vec<u32>;
    /// The callees of a call node, heaviest first; all of them, or those at the places `from` to before `to`.
    CallTreeChildren {
        query: Query,
        call_node: u32,
        #[cfg_attr(feature = "typescript", tsify(optional))] from: Option<u32>,
        #[cfg_attr(feature = "typescript", tsify(optional))] to: Option<u32>
    } -> CallTreeRows;
    /// From the root to a call node, both included.
    CallTreePath { query: Query, call_node: u32 } -> CallTreeRows;
    /// Functions, files, DSOs or threads in order, those from `from` to before `to`.
    Functions {
        query: Query,
        order: FunctionOrder,
        #[cfg_attr(feature = "typescript", tsify(optional))] group_by: Option<GroupBy>,
        from: u32,
        to: u32
    } -> FunctionRows;
    /// Memory accesses by what they were of, in order, those from `from` to before `to`.
    Accesses { query: Query, group_by: AccessGroup, order: FunctionOrder, from: u32, to: u32 } -> AccessRows;
    /// Boxes of one thread over time.
    TimeOrder { query: Query, window: TimeWindow } -> DrawnTimeOrder;
    /// The band between a function's callers and callees, which are trees of a query with `around`; null if no
    /// sample has it.
    Sandwich { query: Query, function: FunctionRef } -> Option<SandwichFacts>;
    /// Where in a function's own code samples ended; null if no sample has it.
    HotLines { query: Query, function: FunctionRef } -> Option<HotLines>;
    /// The line of a function in which most samples ended; null where none is known.
    HottestLine { query: Query, function_id: u32 } -> Option<HotLine>;
    /// Where in the code of a function, as the linker knows it, samples ended, in each DSO that has it.
    CodeHeat { query: Query, function: FunctionRef } -> Vec<CodeHeatRows>;
    /// The basic blocks of a function, of the branches that the query's filters leave; null until these are read.
    BranchBlocks { query: Query, function: FunctionRef } -> Option<Box<BranchBlocks>>;
    /// What a text finds.
    Search { query: Query, text: String } -> SearchResult;
    /// What the filters and steps of a query leave, and what each takes away.
    Shown { query: Query } -> ShownSamples;
    /// What a function is called in queries; null if there is none of this number.
    FunctionRef { function_id: u32 } -> Option<FunctionRef>;
    /// What a DSO is called; null if there is none of this number.
    DsoRef { dso: u32 } -> Option<DsoRef>;
    /// The way from the root to a call node, as steps of a query have it; the root is left out.
    CallNodePath { query: Query, call_node: u32 } -> Vec<PathPart>;
    /// Every process, thread and CPU that has samples of an event.
    Tasks { event: u32 } -> TaskRows;
    /// What ran when: what the query's filters and steps leave, whatever its range.
    Timeline { query: Query, request: TimelineRequest } -> Timeline;
    /// When in a second: the same.
    HeatMap { query: Query, request: HeatRequest } -> HeatMap;
    /// What was sampled from a time on and before another, in nanoseconds since the first of the recording.
    HeatCell { query: Query, start: f64, end: f64 } -> HeatCell;
    /// What is worth a mark from a time on and before another.
    Marks { start: f64, end: f64 } -> MarkRows;
    /// The flame graph of the query with this range instead of its own, while a range is dragged: at once after the
    /// first. Its root is the call node that `window.root` is in `query`; its call nodes are of no tree. Totals are
    /// exact, but what is narrow in the whole recording is left to its caller.
    RangePreview { query: Query, range: TimeRange, window: FlameWindow } -> DrawnGraph;
    /// Where samples ended that a link with these options can tell of.
    HotPlaces { options: ShareOptions } -> HotPlaceRows;
    /// A link's payload, and what it holds.
    Share { options: ShareOptions } -> SharedLink;
    /// What files of other tools keep of this profile, and what they cannot hold: for each of several.
    ExportContents { requests: Vec<ExportRequest> } -> Vec<ExportContents>;
    /// Bytes of a file of another tool; null if it would be too large to be written.
    ExportSize { request: ExportRequest } -> Option<f64>;
    /// Why a pattern cannot rename, as a sentence; null if it can.
    RenameProblem { pattern: String } -> Option<String>;
}

questions! {
    /// What a comparison is asked.
    ComparedQuestion,
    /// What it says: under the name of the question.
    ComparedAnswer:

    /// What each side has in all: before, after.
    ComparedSides {} -> [SideTotal; 2];
    /// Boxes for the width that is there.
    ComparedGraph { view: CompareView, window: FlameWindow } -> DrawnComparison;
    /// Everything about a call node; null if there is none with this id in this comparison.
    ComparedDetail { view: CompareView, call_node: u32 } -> Option<ComparedDetail>;
    /// The callees of a call node, those with most weight on both sides first; at most so many.
    ComparedChildren { view: CompareView, call_node: u32, most: u32 } -> ComparedTreeRows;
    /// Functions and how they changed.
    ComparedChanges { view: CompareView, rows: ChangesRequest } -> ChangeRows;
    /// Pairs of DSOs, most weight first.
    ComparedDsos { view: CompareView } -> Vec<DsoPairRow>;
    /// What a text finds.
    ComparedSearch { view: CompareView, text: String } -> CompareSearch;
}

impl ComparedTrees {
    /// Answers a question.
    pub fn answer(&self, question: &ComparedQuestion) -> ComparedAnswer {
        use {ComparedAnswer as Answer, ComparedQuestion as Question};
        match question {
            Question::ComparedSides {} => Answer::ComparedSides(self.sides()),
            Question::ComparedGraph { view, window } => {
                Answer::ComparedGraph(self.drawn(*view, window))
            }
            Question::ComparedDetail { view, call_node } => {
                Answer::ComparedDetail(self.detail(*view, *call_node))
            }
            Question::ComparedChildren { view, call_node, most } => {
                Answer::ComparedChildren(self.children(*view, *call_node, *most as usize))
            }
            Question::ComparedChanges { view, rows } => {
                Answer::ComparedChanges(self.changes(*view, rows))
            }
            Question::ComparedDsos { view } => Answer::ComparedDsos(self.dsos(*view)),
            Question::ComparedSearch { view, text } => {
                Answer::ComparedSearch(self.search(*view, text))
            }
        }
    }
}

/// Goes on for about as long as so many rows of samples take; `None` if it was let go of, since names have
/// changed that it reads.
type AnswerWork = Box<dyn FnMut(&mut Session, usize) -> Option<ScanStep<Result<Answer, TooSmall>>>>;

/// A question while it is answered. Whoever wants no more of it drops it.
pub struct Asked {
    question: Question,
    /// What are to be made before, the last one first.
    trees: Vec<(Query, TreeDetail)>,
    makes_trees: bool,
    /// Once the trees are there.
    work: Option<AnswerWork>,
}

impl Asked {
    /// Begins. The steps are all of one session.
    pub fn new(question: Question) -> Self {
        let mut trees = trees(&question);
        trees.reverse();
        Self { question, makes_trees: !trees.is_empty(), trees, work: None }
    }

    /// True if nothing else that makes trees may go on before this does: a session makes one at a time,
    /// keeps few, and two in turns would begin anew each time.
    pub fn takes_turn(&self, session: &Session) -> bool {
        match &self.question {
            // These go through all samples when they have what they need.
            Question::Occurrence { .. } => !self.trees.is_empty(),
            Question::RangePreview { query, .. } => session.places_in_new_tree(query),
            _ => self.makes_trees,
        }
    }

    /// Goes on for about as long as so many rows of samples take; the answer comes with the last step.
    /// It fails only if a link has room for nothing.
    pub fn step(
        &mut self,
        session: &mut Session,
        rows: usize,
    ) -> ScanStep<Result<Answer, TooSmall>> {
        loop {
            while let Some((query, detail)) = self.trees.last() {
                if let ScanStep::More { done, total } = session.make_tree(query, *detail, rows) {
                    return ScanStep::More { done, total };
                }
                self.trees.pop();
            }
            let work = match &mut self.work {
                Some(work) => work,
                None => match begin(session, &self.question) {
                    Begun::Answered(answer) => return ScanStep::Done(Ok(*answer)),
                    Begun::Working(work) => self.work.insert(work),
                },
            };
            match work(session, rows) {
                Some(step) => return step,
                None => *self = Self::new(self.question.clone()),
            }
        }
    }
}

/// What a question is answered from, in order.
fn trees(question: &Question) -> Vec<(Query, TreeDetail)> {
    use Question::*;
    let callees =
        |query: &Query| Query { direction: Direction::Callees, around: None, ..query.clone() };
    match question {
        FlameGraph { query, .. }
        | CallNode { query, .. }
        | CallNodeDetail { query, .. }
        | FindCallNode { query, .. }
        | MovedCallNodes { query, .. }
        | CallTreeChildren { query, .. }
        | CallTreePath { query, .. }
        | Search { query, .. }
        | Shown { query }
        | CallNodePath { query, .. } => vec![(query.clone(), TreeDetail::Tree)],
        // Views of functions know no direction.
        Functions { query, group_by: Some(GroupBy::Thread), .. }
        | TimeOrder { query, .. }
        | HotLines { query, .. }
        | HottestLine { query, .. } => vec![(callees(query), TreeDetail::Ends)],
        CodeHeat { query, .. } => vec![(merged(&callees(query)), TreeDetail::Ends)],
        Functions { query, .. } | Sandwich { query, .. } => {
            vec![(callees(query), TreeDetail::Tree)]
        }
        Occurrence { query, .. } => {
            let shown = Query { around: None, ..query.clone() };
            vec![(callees(query), TreeDetail::Ends), (shown, TreeDetail::Tree)]
        }
        // Of all times; steps may take samples away: which, only the tree of callees says.
        FilteredCoverage { query }
        | Accesses { query, .. }
        | Timeline { query, .. }
        | HeatMap { query, .. }
        | HeatCell { query, .. } => match query.steps.iter().any(Transform::drops) {
            true => vec![(placed::callees_of(query), TreeDetail::Ends)],
            false => Vec::new(),
        },
        Info {}
        | BranchBlocks { .. }
        | Dsos {}
        | Coverage {}
        | DsoUsers { .. }
        | FunctionRef { .. }
        | DsoRef { .. }
        | Tasks { .. }
        | Marks { .. }
        | RangePreview { .. }
        | HotPlaces { .. }
        | Share { .. }
        | ExportContents { .. }
        | ExportSize { .. }
        | RenameProblem { .. } => Vec::new(),
    }
}

/// With all that is inlined in the function that the linker knows.
fn merged(query: &Query) -> Query {
    Query { inlines: Inlines::Merged, ..query.clone() }
}

enum Begun {
    Answered(Box<Answer>),
    Working(AnswerWork),
}

/// When the trees are there.
fn begin(session: &mut Session, question: &Question) -> Begun {
    use Question::*;
    let answer = match question {
        Info {} => Answer::Info(Box::new(session.info())),
        Dsos {} => Answer::Dsos(session.dsos()),
        Coverage {} => Answer::Coverage(session.coverage()),
        CallNode { query, call_node, most } => {
            let around = session.call_node_around(query, *call_node, *most as usize);
            Answer::CallNode(around.map(Box::new))
        }
        CallNodeDetail { query, call_node } => {
            Answer::CallNodeDetail(session.call_node_detail(query, *call_node))
        }
        FindCallNode { query, place } => Answer::FindCallNode(session.find_call_node(query, place)),
        MovedCallNodes { query, generation, call_nodes } => {
            let moved = call_nodes.iter();
            let moved = moved.map(|&call_node| session.find_moved(query, *generation, call_node));
            Answer::MovedCallNodes(moved.collect())
        }
        CallTreeChildren { query, call_node, from, to } => {
            let places = from.unwrap_or(0) as usize..to.map_or(usize::MAX, |to| to as usize);
            Answer::CallTreeChildren(session.call_tree_children_in(query, *call_node, places))
        }
        CallTreePath { query, call_node } => {
            Answer::CallTreePath(session.call_tree_path(query, *call_node))
        }
        TimeOrder { query, window } => Answer::TimeOrder(session.drawn_time_order(query, window)),
        Sandwich { query, function } => Answer::Sandwich(session.sandwich(query, function)),
        HotLines { query, function } => Answer::HotLines(session.hot_lines(query, function)),
        HottestLine { query, function_id } => {
            Answer::HottestLine(session.hottest_line(query, *function_id))
        }
        CodeHeat { query, function } => {
            let heat = session.code_heat(query, function);
            Answer::CodeHeat(heat.iter().map(CodeHeatRows::from).collect())
        }
        BranchBlocks { query, function } => {
            Answer::BranchBlocks(session.branch_blocks(query, function).map(Box::new))
        }
        Shown { query } => Answer::Shown(session.shown(query)),
        FunctionRef { function_id } => Answer::FunctionRef(session.function_ref(*function_id)),
        DsoRef { dso } => Answer::DsoRef(session.dso_ref(*dso)),
        CallNodePath { query, call_node } => {
            Answer::CallNodePath(session.call_node_path(query, *call_node))
        }
        // Casts from floats saturate; what is no number is 0.
        HeatCell { query, start, end } => {
            Answer::HeatCell(session.heat_cell(query, *start as u64, *end as u64))
        }
        Marks { start, end } => Answer::Marks(session.marks(*start as u64, *end as u64)),
        ExportContents { requests } => Answer::ExportContents(
            requests.iter().map(|request| session.export_contents(request)).collect(),
        ),
        ExportSize { request } => {
            let mut size = ExportSizeWork::new(session.export(request.clone()));
            return Begun::Working(Box::new(move |session, rows| {
                let step = size.step(session, rows)?;
                Some(step.map(|bytes| Ok(Answer::ExportSize(bytes))))
            }));
        }
        RenameProblem { pattern } => {
            Answer::RenameProblem(Rename::new(pattern, "").err().map(|problem| problem.to_string()))
        }
        FilteredCoverage { query } => {
            let mut work = CoverageWork::new(query);
            return in_steps(move |session, rows| {
                work.step(session, rows).map(|found| Ok(Answer::FilteredCoverage(found)))
            });
        }
        Tasks { event } => {
            let event = *event;
            return in_steps(move |session, rows| {
                session.tasks(event, rows).map(|tasks| Ok(Answer::Tasks(tasks)))
            });
        }
        DsoUsers { dsos } => {
            let work = session.dso_users(dsos.iter().copied().map(DsoId).collect());
            return in_slices(work, |_, found| Answer::DsoUsers(found));
        }
        FlameGraph { query, window } => {
            let (mut work, query, root) =
                (session.flame_work(query, window), query.clone(), window.root);
            return in_steps(move |session, rows| {
                let step = work.step(session, rows);
                step.map(|boxes| Ok(Answer::FlameGraph(session.drawn(&query, root, boxes))))
            });
        }
        Occurrence { query, request } => {
            let generation = session.generation;
            let Some(work) = session.occurrence(query, *request) else {
                return Begun::Answered(Box::new(Answer::Occurrence(None)));
            };
            // Numbers were of names that there are no more.
            return in_slices(work, move |session, found| {
                Answer::Occurrence(Some(found).filter(|_| session.generation == generation))
            });
        }
        Functions { query, order, group_by, from, to } => {
            let places = *from as usize..*to as usize;
            return functions(query.clone(), *order, group_by.unwrap_or_default(), places);
        }
        Accesses { query, group_by, order, from, to } => {
            return accesses(query.clone(), *group_by, *order, *from as usize..*to as usize);
        }
        Search { query, text } => {
            let (query, pattern) = (query.clone(), Pattern::parse(text));
            return in_slices(session.search_work(&query, &pattern), move |session, found| {
                Answer::Search(session.found(&query, pattern.clone(), found))
            });
        }
        Timeline { query, request } => return timeline(query.clone(), request.clone()),
        HeatMap { query, request } => {
            return in_slices(session.heat_map(query, request), |_, found| Answer::HeatMap(found));
        }
        RangePreview { query, range, window } => {
            return preview(query.clone(), *range, window.clone());
        }
        HotPlaces { options } => {
            let options = options.clone();
            return in_steps(move |session, rows| match session.hot_places(&options, rows) {
                Some(places) => {
                    ScanStep::Done(Ok(Answer::HotPlaces(session.hot_place_rows(&places))))
                }
                None => ScanStep::More { done: 0, total: 1 },
            });
        }
        Share { options } => {
            let mut work = session.begin_share(options.clone());
            return in_steps(move |session, rows| {
                work.step(session, rows).map(|made| made.map(Answer::Share))
            });
        }
    };
    Begun::Answered(Box::new(answer))
}

/// What a session does with some of itself.
fn in_steps(
    mut step: impl FnMut(&mut Session, usize) -> ScanStep<Result<Answer, TooSmall>> + 'static,
) -> Begun {
    Begun::Working(Box::new(move |session, rows| Some(step(session, rows))))
}

/// What needs the session no more until it is done.
fn in_slices<Found: 'static>(
    mut work: Work<Found>,
    answer: impl Fn(&mut Session, Found) -> Answer + 'static,
) -> Begun {
    Begun::Working(Box::new(move |session, rows| {
        if !work.goes_on() {
            return None;
        }
        Some(match work.step(rows) {
            Some(found) => ScanStep::Done(Ok(answer(session, found))),
            None => ScanStep::of_more(work.progress()),
        })
    }))
}

/// They are put in order first.
fn functions(query: Query, order: FunctionOrder, group_by: GroupBy, places: Range<usize>) -> Begun {
    in_steps(move |session, rows| {
        if group_by == GroupBy::Function
            && let ScanStep::More { done, total } =
                session.sort_functions(&query, order, places.end, rows)
        {
            return ScanStep::More { done, total };
        }
        let rows = session.functions(&query, order, group_by, places.start, places.end);
        ScanStep::Done(Ok(Answer::Functions(rows)))
    })
}

/// Where data lay is looked up first, where that is asked for; then all are added up and put in order.
fn accesses(
    query: Query,
    group_by: AccessGroup,
    order: FunctionOrder,
    places: Range<usize>,
) -> Begun {
    let mut work = None;
    Begun::Working(Box::new(move |session, rows| {
        if group_by == AccessGroup::Object
            && let ScanStep::More { done, total } = session.look_up_some_data(rows)
        {
            return Some(ScanStep::More { done, total });
        }
        if !session.knows_accesses(&query, group_by, order) {
            let work = work.get_or_insert_with(|| session.access_rows(&query, group_by, order));
            if !work.goes_on() {
                return None;
            }
            match work.step(rows) {
                Some(found) => session.keep_accesses(found),
                None => return Some(ScanStep::of_more(work.progress())),
            }
        }
        Some(ScanStep::Done(Ok(Answer::Accesses(session.accesses_at(&query, places.clone())))))
    }))
}

/// Its sums come first, which are half of it. It begins anew with other names: what steps leave is of names, and so are
/// kinds of code.
fn timeline(query: Query, request: TimelineRequest) -> Begun {
    let half = |(done, total), before: usize| ScanStep::More {
        done: before.saturating_mul(total).saturating_add(done),
        total: total.saturating_mul(2),
    };
    let (mut begun_with, mut drawing) = (None, None::<Work<Timeline>>);
    Begun::Working(Box::new(move |session, rows| {
        if *begun_with.get_or_insert(session.generation) != session.generation {
            return None;
        }
        let work = match &mut drawing {
            Some(work) => work,
            None => match session.task_sums(&query, rows) {
                ScanStep::More { done, total } => return Some(half((done, total), 0)),
                ScanStep::Done(sums) => drawing.insert(session.timeline(&query, &request, sums)),
            },
        };
        if !work.goes_on() {
            return None;
        }
        Some(match work.step(rows) {
            Some(timeline) => ScanStep::Done(Ok(Answer::Timeline(timeline))),
            None => half(work.progress(), 1),
        })
    }))
}

/// Samples are placed first; where others are placed instead meanwhile, once more.
fn preview(query: Query, range: TimeRange, window: FlameWindow) -> Begun {
    in_steps(move |session, rows| {
        if let ScanStep::More { done, total } = session.place_samples(&query, rows) {
            return ScanStep::More { done, total };
        }
        match session.range_preview(&query, range, &window) {
            Some(preview) => {
                ScanStep::Done(Ok(Answer::RangePreview(session.drawn_preview(preview))))
            }
            None => ScanStep::More { done: 0, total: 1 },
        }
    })
}
