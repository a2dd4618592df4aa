//! Call trees that were made, and the one that is being made.
//!
//! A tree of millions of samples takes seconds, so it can be made in steps ([`Session::make_tree`]): the
//! views of its query, asked for afterwards, find it. Asked for before, they make it at once.

use std::sync::Arc;

use perftab_names::{FunctionId, Symbols};
use perftab_perfdata::slice::Work;
use perftab_profile::{EventOrigin, FrameId, Profile};
use perftab_views::build::{BuiltTree, TreeDetail, build_in_slices};
use perftab_views::call_tree::{CallNodeId, CallTree, Label, Ways};
use perftab_views::ends::Ends;
use perftab_views::functions::{FunctionOrder, FunctionSum, OrderedFunctions};
use perftab_views::grouped::{self, GroupBy, GroupRow};
use perftab_views::inverted::Inverted;
use perftab_views::label::OwnCode;
use perftab_views::shown::Account;
use perftab_views::{Direction, Group, Query, Unnamed};

use crate::session::Session;
use crate::session::answers::Known;
use crate::session::shared_names::SharedNames;
use crate::session::times::ScanStep;

/// Trees kept: callees, inverted, and callers and callees of one function stand side by side, and
/// each is asked for again while the page scrolls or is drawn anew.
const TREES_KEPT: usize = 4;
/// Of trees that have more than [`LARGE_TREES`] call nodes together.
const LARGE_TREES_KEPT: usize = 2;
/// Call nodes, of about 60 bytes each.
const LARGE_TREES: usize = 1 << 20;
/// To look at a call node takes about as long as to take so many rows of samples.
pub(super) const ROWS_OF_A_CALL_NODE: usize = 8;
/// Generations of which a page may still know call nodes: the one that it was told of last is the oldest, and
/// others came while it was told.
const GENERATIONS_KEPT: usize = 3;
/// Inverted trees of which it is known in what order they were opened, though they are gone.
const NUMBERS_KEPT: usize = 16;

/// The trees of a session.
#[derive(Default)]
pub(super) struct Trees {
    /// The one that was used last comes last.
    pub cached: Vec<CachedTree>,
    in_progress: Option<TreeInProgress>,
    /// Functions of a query that are being put in order.
    ordering: Option<Ordering>,
    /// Of inverted trees that are gone: the call nodes that were opened, which gave them their numbers.
    opened: Vec<(Query, Vec<CallNodeId>)>,
    /// Those of generations before this one, the oldest first: few.
    past: Vec<Past>,
}

/// The trees of a generation of names before this one, for whoever still knows call nodes of theirs.
pub(super) struct Past {
    generation: u32,
    owner: PastOwner,
    ways: Vec<(Query, Ways)>,
}

/// Whose trees they were.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PastOwner {
    /// Of this session: functions keep their numbers.
    This,
    /// Of one that showed less of the recording: only functions that are a frame have the same numbers.
    SessionOfLess,
}

/// What has been made for a query.
pub(super) struct CachedTree {
    query: Query,
    pub tree: Tree,
    pub account: Account,
    functions: Option<(FunctionOrder, OrderedFunctions)>,
    grouped: Option<(FunctionOrder, GroupBy, Vec<GroupRow>)>,
    /// Where samples end, if that was asked for.
    ends: Arc<Ends>,
}

struct TreeInProgress {
    query: Query,
    detail: TreeDetail,
    work: Work<(BuiltTree, Ends)>,
}

/// The functions of a query while the first so many are put in order.
struct Ordering {
    query: Query,
    order: FunctionOrder,
    count: usize,
    work: Work<OrderedFunctions>,
}

/// What views show of a tree.
struct Shown {
    query: Query,
    detail: TreeDetail,
    /// If they show functions: their order, and how many of them.
    functions: Option<(FunctionOrder, usize)>,
}

/// A call tree, all of it or as far as it was opened.
pub(super) enum Tree {
    Whole(Arc<CallTree>),
    Inverted(Box<Inverted>),
}

impl Tree {
    pub fn get(&self) -> &CallTree {
        match self {
            Self::Whole(tree) => tree,
            Self::Inverted(inverted) => inverted.tree(),
        }
    }

    /// Sees to it that a call node's children are there.
    pub fn open(&mut self, id: CallNodeId) {
        if let Self::Inverted(inverted) = self {
            inverted.open(id);
        }
    }
}

impl Trees {
    /// Names have changed, and numbers with them: they were of this generation.
    pub fn names_changed(&mut self, generation: u32) {
        let Self { cached, past, .. } = std::mem::take(self);
        self.past = past;
        if cached.is_empty() {
            return;
        }
        // Inverted ones first: they hold those that they are made of.
        let (inverted, whole): (Vec<_>, Vec<_>) =
            cached.into_iter().partition(|cached| matches!(cached.tree, Tree::Inverted(_)));
        let mut ways = Vec::new();
        for CachedTree { query, tree, .. } in inverted.into_iter().chain(whole) {
            let tree = match tree {
                Tree::Whole(tree) => Arc::unwrap_or_clone(tree),
                Tree::Inverted(inverted) => inverted.into_tree(),
            };
            ways.push((query, Ways::of(tree)));
        }
        if self.past.len() == GENERATIONS_KEPT {
            self.past.remove(1);
        }
        self.past.push(Past { generation, owner: PastOwner::This, ways });
    }

    /// The calls on the way to a call node of a generation before this one, the outermost first.
    fn past_way(
        &self,
        query: &Query,
        generation: u32,
        call_node: u32,
    ) -> Vec<(Option<Label>, Option<FrameId>)> {
        let Some(past) = self.past.iter().find(|past| past.generation == generation) else {
            return Vec::new();
        };
        let Some((_, ways)) = past.ways.iter().find(|(known, _)| known == query) else {
            return Vec::new();
        };
        let holds = |label: &Label| {
            past.owner == PastOwner::This || label.function().is_none_or(FunctionId::is_lasting)
        };
        let way = ways.to(call_node).into_iter();
        way.map(|(label, frame)| (Some(label).filter(holds), frame)).collect()
    }

    /// The tree of callees of a query, if it was made.
    pub fn known(&self, query: &Query) -> Option<&Arc<CallTree>> {
        let known = self.cached.iter().find(|cached| cached.query == *query)?;
        match &known.tree {
            Tree::Whole(tree) => Some(tree),
            Tree::Inverted(_) => None,
        }
    }

    /// The inverted tree of a query, if it was made.
    pub fn inverted(&mut self, query: &Query) -> Option<&mut Inverted> {
        let mut cached = self.cached.iter_mut().filter(|cached| cached.query == *query);
        cached.find_map(|cached| match &mut cached.tree {
            Tree::Whole(_) => None,
            Tree::Inverted(inverted) => Some(&mut **inverted),
        })
    }

    /// What was asked for last.
    fn shown_last(&self) -> Option<Shown> {
        self.cached.last().map(|CachedTree { query, functions, ends, .. }| Shown {
            query: query.clone(),
            detail: if ends.are_known() { TreeDetail::Ends } else { TreeDetail::Tree },
            functions: functions.as_ref().map(|(order, functions)| (*order, functions.in_order())),
        })
    }

    /// Puts a query's tree last, if all that is to be known of it is.
    fn find(&mut self, query: &Query, detail: TreeDetail) -> Option<&mut CachedTree> {
        let is_known = |cached: &CachedTree| detail == TreeDetail::Tree || cached.ends.are_known();
        let known =
            self.cached.iter().position(|cached| cached.query == *query && is_known(cached))?;
        self.cached[known..].rotate_left(1);
        self.cached.last_mut()
    }

    /// Before a tree is made: in WebAssembly memory is never given back.
    fn make_room(&mut self, query: &Query) {
        self.forget(|cached| cached.query == *query);
        // Of one range after the other only the last two are of use.
        let is_of_other_range = |cached: &CachedTree| {
            cached.query.range.is_some() && query.range.is_some() && {
                Query { range: query.range, ..cached.query.clone() } == *query
            }
        };
        if let Some(last) = self.cached.iter().rposition(is_of_other_range) {
            let mut place = 0..;
            self.forget(|cached| place.next() != Some(last) && is_of_other_range(cached));
        }
        while self.cached.len() >= TREES_KEPT
            || (self.cached.len() >= LARGE_TREES_KEPT && self.are_large())
        {
            self.forget_first();
        }
    }

    /// Before one of the next generation is made: of large ones only that which was asked for last stays.
    fn make_room_for_next(&mut self) {
        while self.cached.len() > 1 && self.are_large() {
            self.forget_first();
        }
    }

    fn are_large(&self) -> bool {
        let nodes = self.cached.iter().map(|cached| cached.tree.get().len());
        nodes.sum::<usize>() > LARGE_TREES
    }

    fn forget_first(&mut self) {
        let mut place = 0..;
        self.forget(|_| place.next() == Some(0));
    }

    fn forget(&mut self, mut is_forgotten: impl FnMut(&CachedTree) -> bool) {
        let Self { cached, opened, ordering, .. } = self;
        cached.retain(|cached| {
            let is_forgotten = is_forgotten(cached);
            // It has a share of the tree.
            ordering.take_if(|ordering| is_forgotten && ordering.query == cached.query);
            if let Tree::Inverted(inverted) = &cached.tree
                && is_forgotten
            {
                if opened.len() == NUMBERS_KEPT {
                    opened.remove(0);
                }
                opened.push((cached.query.clone(), inverted.opened().to_vec()));
            }
            !is_forgotten
        });
    }

    fn keep(&mut self, query: &Query, tree: Tree, account: Account, ends: Arc<Ends>) {
        let query = query.clone();
        self.cached.push(CachedTree { query, tree, account, functions: None, grouped: None, ends });
    }

    fn keep_built(&mut self, query: &Query, built: BuiltTree, ends: Ends) {
        self.keep(query, Tree::Whole(built.tree.into()), built.account, ends.into());
    }

    /// The tree of callees of a query and where samples end in it, if both are known.
    pub fn with_ends(&self, query: &Query) -> Option<(Arc<CallTree>, Arc<Ends>)> {
        let mut cached = self.cached.iter().filter(|cached| cached.query == *query);
        cached.find_map(|cached| match &cached.tree {
            Tree::Whole(tree) if cached.ends.are_known() => {
                Some((Arc::clone(tree), Arc::clone(&cached.ends)))
            }
            _ => None,
        })
    }

    /// Goes on with a tree of callees, or around a function.
    fn step(
        &mut self,
        (profile, symbols): (&Arc<Profile>, &SharedNames),
        query: &Query,
        detail: TreeDetail,
        rows: usize,
    ) -> ScanStep<()> {
        let is_it = |begun: &mut TreeInProgress| {
            (&begun.query, begun.detail) == (query, detail) && begun.work.goes_on()
        };
        let mut work = match self.in_progress.take_if(is_it) {
            Some(begun) => begun.work,
            None => {
                self.in_progress = None;
                self.make_room(query);
                let (profile, query) = (Arc::clone(profile), query.clone());
                symbols.read(|symbols| {
                    Work::new(async move |slice| {
                        build_in_slices(&profile, &symbols, &query, detail, &slice).await
                    })
                })
            }
        };
        let step = ScanStep::of(&mut work, rows);
        if let ScanStep::More { .. } = step {
            self.in_progress = Some(TreeInProgress { query: query.clone(), detail, work });
        }
        step.map(|(built, ends)| self.keep_built(query, built, ends))
    }

    /// Inverts a tree that was made, and gives its call nodes the numbers that they had before.
    fn invert(&mut self, query: &Query, callees: &Query) -> bool {
        let Some(CachedTree { tree: Tree::Whole(tree), account, .. }) =
            self.find(callees, TreeDetail::Tree)
        else {
            return false;
        };
        let (tree, account) = (Arc::clone(tree), account.clone());
        self.make_room(query);
        let mut inverted = Inverted::new(tree);
        if let Some(known) = self.opened.iter().position(|(known, _)| known == query) {
            let (_, opened) = self.opened.remove(known);
            opened.into_iter().for_each(|id| inverted.open(id));
        }
        self.keep(query, Tree::Inverted(Box::new(inverted)), account, Arc::default());
        true
    }
}

impl Session {
    /// Where a call node of a generation of names before this one is now, in the tree of the same query:
    /// it, or the deepest of its callers that is still there. Few generations are known, and of each the
    /// trees that there were when the next began, until they are forgotten.
    pub fn find_moved(&mut self, query: &Query, generation: u32, call_node: u32) -> u32 {
        if generation == self.generation {
            return self.tree(query).id(call_node).unwrap_or(CallNodeId::ROOT).0;
        }
        let way = self.trees.past_way(query, generation, call_node);
        let way = way.into_iter().map(|(label, frame)| (label.map(Known::Label), frame));
        self.follow(query, way)
    }

    /// Makes what was asked for last once more, of the names that [`Self::show_names`] is about to show: goes
    /// on for about as long as so many rows of samples take. Until they are shown, what views showed before
    /// is answered from the trees that there are; and then from this one, at once.
    pub fn prepare_names(&mut self, rows: usize) -> ScanStep<()> {
        let Some(shown) = self.trees.shown_last().filter(|_| self.naming.has_unshown()) else {
            return ScanStep::Done(());
        };
        self.trees.make_room_for_next();
        std::mem::swap(&mut self.trees, &mut self.next_trees);
        let step = self.make_shown(&shown, rows);
        std::mem::swap(&mut self.trees, &mut self.next_trees);
        step
    }

    /// Makes what was last asked of a session that shows less of the same recording, before this one takes
    /// its place: goes on for about as long as so many rows of samples take.
    pub fn prepare_to_follow(&mut self, less: &Session, rows: usize) -> ScanStep<()> {
        match less.trees.shown_last() {
            Some(shown) => self.make_shown(&shown, rows),
            None => ScanStep::Done(()),
        }
    }

    /// Makes what is mostly asked for first, while nobody has asked for anything yet: all samples of the first event,
    /// or, if that has none, of the recorded one that has most. Goes on for about as long as so many rows take.
    pub fn prepare_first(&mut self, rows: usize) -> ScanStep<()> {
        let events = &self.profile.events;
        let recorded = events.iter().take_while(|event| event.origin == EventOrigin::Recorded);
        let samples: Vec<u64> = recorded.map(|event| event.samples).collect();
        let most = samples.iter().copied().max().unwrap_or_default();
        let event = match samples.first() {
            Some(0) => samples.iter().position(|&it| it == most).unwrap_or_default(),
            _ => 0,
        };
        let (event, group, unnamed) = (event as u32, Group::Auto, Unnamed::OnePerDso);
        let query = Query { event, group, unnamed, ..Query::default() };
        self.make_tree(&query, TreeDetail::Tree, rows)
    }

    fn make_shown(&mut self, shown: &Shown, rows: usize) -> ScanStep<()> {
        let Shown { query, detail, functions } = shown;
        match (self.make_tree(query, *detail, rows), *functions) {
            (ScanStep::Done(()), Some((order, count))) => {
                self.sort_functions(query, order, count, rows)
            }
            (step, _) => step,
        }
    }

    /// Views are answered from what [`Self::prepare_names`] has made.
    pub(super) fn show_prepared(&mut self) {
        let prepared = std::mem::take(&mut self.next_trees);
        self.names_changed();
        self.trees = Trees { past: std::mem::take(&mut self.trees.past), ..prepared };
    }

    /// Nobody asks for call nodes of earlier generations any more.
    pub fn forget_past(&mut self) {
        self.trees.past = Vec::new();
    }

    /// Call nodes of a session that showed less of the same recording are found in this one.
    pub fn follow_on(&mut self, mut less: Session) {
        // As if names had changed: its trees become past ones.
        less.names_changed();
        let past = less.trees.past.into_iter();
        let past = past.map(|past| Past { owner: PastOwner::SessionOfLess, ..past });
        self.trees.past = past.collect();
        self.generation = less.generation;
    }

    /// Makes the call tree of a query: goes on for about as long as so many rows of samples take. One
    /// is made at a time: whoever stops in between can go on later, as long as neither names have
    /// changed nor another was asked for; else it begins anew.
    pub fn make_tree(&mut self, query: &Query, detail: TreeDetail, rows: usize) -> ScanStep<()> {
        let Self { trees, profile, symbols, .. } = self;
        if trees.find(query, detail).is_some() {
            return ScanStep::Done(());
        }
        // An inverted tree is made of that of callees.
        let is_inverted = query.direction == Direction::Inverted && query.around.is_none();
        let made_of = match is_inverted {
            true => Query { direction: Direction::Callees, ..query.clone() },
            false => query.clone(),
        };
        if is_inverted && trees.invert(query, &made_of) {
            return ScanStep::Done(());
        }
        match trees.step((profile, symbols), &made_of, detail, rows) {
            ScanStep::Done(()) if is_inverted => {
                trees.invert(query, &made_of);
                ScanStep::Done(())
            }
            step => step,
        }
    }

    /// Where what was made for a query is, made if it was not there.
    pub(super) fn tree_index(&mut self, query: &Query) -> usize {
        self.tree_index_with(query, TreeDetail::Tree)
    }

    fn tree_index_with(&mut self, query: &Query, detail: TreeDetail) -> usize {
        while let ScanStep::More { .. } = self.make_tree(query, detail, usize::MAX) {}
        self.trees.cached.len() - 1
    }

    /// The call tree of a query; of an inverted one as far as it was opened.
    pub(super) fn tree(&mut self, query: &Query) -> &CallTree {
        let index = self.tree_index(query);
        self.trees.cached[index].tree.get()
    }

    /// What was made for a query, made if it was not there.
    pub(super) fn cached_tree(&mut self, query: &Query) -> &mut Tree {
        let index = self.tree_index(query);
        &mut self.trees.cached[index].tree
    }

    /// A call node's children, heaviest first.
    pub(super) fn children(&mut self, query: &Query, id: CallNodeId) -> &[CallNodeId] {
        let index = self.tree_index(query);
        let tree = &mut self.trees.cached[index].tree;
        tree.open(id);
        tree.get().children(id)
    }

    /// Everything that the views of a query are made from.
    pub(super) fn parts(&mut self, query: &Query) -> (&Profile, &Symbols, &CallTree) {
        let index = self.tree_index(query);
        (&self.profile, &self.symbols, self.trees.cached[index].tree.get())
    }

    /// The same, and in which call node each sample ends; for a query of callees.
    pub(super) fn parts_and_ends(
        &mut self,
        query: &Query,
    ) -> (&Profile, &Symbols, &CallTree, &Ends) {
        let index = self.tree_index_with(query, TreeDetail::Ends);
        let CachedTree { tree, ends, .. } = &self.trees.cached[index];
        (&self.profile, &self.symbols, tree.get(), ends)
    }

    /// The functions of a query of callees, at least the first `count` of them in order.
    pub(super) fn ordered_functions(
        &mut self,
        query: &Query,
        order: FunctionOrder,
        count: usize,
    ) -> &[FunctionSum] {
        self.order_functions(query, order, count);
        self.functions_in_order(query)
    }

    pub(super) fn order_functions(&mut self, query: &Query, order: FunctionOrder, count: usize) {
        while let ScanStep::More { .. } = self.sort_functions(query, order, count, usize::MAX) {}
    }

    /// Puts the first `count` functions of a query's callees in order: makes the tree if that is not
    /// there, and goes on for about as long as so many rows of samples take. Whoever stops in between can
    /// go on later.
    pub fn sort_functions(
        &mut self,
        query: &Query,
        order: FunctionOrder,
        count: usize,
        rows: usize,
    ) -> ScanStep<()> {
        let query = &Query { direction: Direction::Callees, around: None, ..query.clone() };
        if let more @ ScanStep::More { .. } = self.make_tree(query, TreeDetail::Tree, rows) {
            return more;
        }
        let Self { trees: Trees { cached, ordering, .. }, profile, symbols, .. } = self;
        let Some(CachedTree { tree: Tree::Whole(tree), functions, .. }) = cached.last_mut() else {
            return ScanStep::Done(());
        };
        let of_order = functions.take_if(|(known, _)| *known == order);
        if of_order.as_ref().is_some_and(|(_, functions)| functions.has_first(count)) {
            *functions = of_order;
            return ScanStep::Done(());
        }
        let is_it = |begun: &Ordering| {
            (&begun.query, begun.order, begun.count) == (query, order, count)
                && begun.work.goes_on()
        };
        let begun = match ordering {
            Some(begun) if is_it(begun) => begun,
            _ => {
                let (profile, tree) = (Arc::clone(profile), Arc::clone(tree));
                let before = of_order.map(|(_, functions)| functions);
                let work = symbols.read(|symbols| {
                    Work::new(async move |slice| {
                        let slice = slice.in_units_of(ROWS_OF_A_CALL_NODE);
                        let functions = match before {
                            Some(functions) => functions,
                            None => OrderedFunctions::new(&tree, &slice).await,
                        };
                        functions.with_first((&profile, &symbols), order, count, &slice).await
                    })
                });
                ordering.insert(Ordering { query: query.clone(), order, count, work })
            }
        };
        let Some(ordered) = begun.work.step(rows) else {
            return ScanStep::More { done: 0, total: 1 };
        };
        *ordering = None;
        *functions = Some((order, ordered));
        ScanStep::Done(())
    }

    /// Those of which [`Self::order_functions`] has put the first in order.
    pub(super) fn functions_in_order(&self, query: &Query) -> &[FunctionSum] {
        let cached = self.trees.cached.iter().find(|cached| cached.query == *query);
        cached
            .and_then(|cached| cached.functions.as_ref())
            .map_or(&[], |(_, functions)| functions.all())
    }

    /// The files, DSOs or threads of a query of callees in order; no functions.
    pub(super) fn grouped(
        &mut self,
        query: &Query,
        order: FunctionOrder,
        by: GroupBy,
    ) -> &[GroupRow] {
        let detail = if by == GroupBy::Thread { TreeDetail::Ends } else { TreeDetail::Tree };
        let index = self.tree_index_with(query, detail);
        let (profile, symbols) = (&self.profile, &self.symbols);
        let CachedTree { tree, ends, grouped, .. } = &mut self.trees.cached[index];
        if grouped.as_ref().is_none_or(|known| (known.0, known.1) != (order, by)) {
            let tree = tree.get();
            let own = OwnCode::of(profile, query);
            let rows = match by {
                GroupBy::Function => Vec::new(),
                GroupBy::File => grouped::by_file(profile, symbols, &own, tree, order),
                GroupBy::Dso => grouped::by_dso(profile, symbols, &own, tree, order),
                GroupBy::Thread => grouped::by_thread(profile, symbols, query, ends, order),
            };
            *grouped = Some((order, by, rows));
        }
        grouped.as_ref().map_or(&[], |(_, _, rows)| rows)
    }
}
