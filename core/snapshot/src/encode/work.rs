//! A link while it is made, a step at a time.

use std::sync::Arc;

use super::body::Body;
use super::heat::{self, HotPlace};
use super::link_context::{self, Key, LinkContext};
use super::samples;
use super::search::{Densities, Fit, Search};
use super::texts::{SharedTexts, Texts};
use super::times::Room;
use crate::coder::Encoder;
use crate::container::{Method, PackingTask};
use crate::selection::Order;
use crate::{
    Contents, EncodedSnapshot, Fidelity, MAX_DSOS, MAX_INFLATED, ShareOptions, Times, TooSmall,
};

/// One part in so many is for bins of time, where calls have to be left out.
const BINS_SHARE: usize = 10;
/// To model a byte takes about as long as to take so many rows of samples.
const ROWS_OF_A_SYMBOL: usize = 64;

/// What is kept from one link of a profile to the next, as long as no names change.
#[derive(Default)]
pub struct LinkCache {
    context: Option<(Key, State)>,
    tools: Tools,
}

/// What attempts are made with.
#[derive(Default)]
struct Tools {
    encoder: Encoder,
    densities: Densities,
}

enum State {
    Building(link_context::LinkContextBuilder),
    Ready(Arc<LinkContext>),
}

/// A link to be. Whoever wants no more of it drops it; what serves the next one stays in the [`LinkCache`].
pub struct LinkBuilder {
    options: ShareOptions,
    stage: Stage,
    /// Rows, or what takes as long.
    done: usize,
}

enum Stage {
    Context,
    Attempts(Box<LinkAttempts>),
    Done,
}

/// How far a link has come.
#[derive(Debug)]
pub enum LinkStep {
    /// There is more to do.
    More {
        /// What has been done, in no unit.
        done: usize,
        /// About what there is to do.
        total: usize,
    },
    /// That was all.
    Done(Result<EncodedSnapshot, TooSmall>),
}

impl LinkBuilder {
    /// The largest within the budget.
    pub fn new(options: &ShareOptions) -> Self {
        Self { options: options.clone(), stage: Stage::Context, done: 0 }
    }

    /// Goes on for about as long as so many rows of samples take. The contents are the same each time.
    pub fn step(
        &mut self,
        contents: &Contents<'_>,
        link_cache: &mut LinkCache,
        rows: usize,
    ) -> LinkStep {
        self.done = self.done.saturating_add(rows);
        self.stage = match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Context => match link_cache.context(contents, &self.options, rows) {
                None => Stage::Context,
                Some(context) => {
                    Stage::Attempts(Box::new(LinkAttempts::new(contents, &self.options, context)))
                }
            },
            Stage::Attempts(mut attempts) => {
                let symbols = (rows / ROWS_OF_A_SYMBOL).max(1);
                match attempts.step(contents, &self.options, &mut link_cache.tools, symbols) {
                    Some(made) => return LinkStep::Done(made),
                    None => Stage::Attempts(attempts),
                }
            }
            Stage::Done => Stage::Done,
        };
        let left = match &self.stage {
            Stage::Context => contents.profile.samples.len().saturating_mul(4),
            Stage::Attempts(attempts) => attempts.symbols_left().saturating_mul(ROWS_OF_A_SYMBOL),
            Stage::Done => 0,
        };
        LinkStep::More { done: self.done, total: self.done.saturating_add(left) }
    }
}

impl LinkCache {
    /// Where samples ended in the functions that a link with these options can tell of. What is made for
    /// it serves the link, too. `None` as long as there is more to do than so many rows of samples take.
    pub fn hot_places(
        &mut self,
        contents: &Contents<'_>,
        options: &ShareOptions,
        rows: usize,
    ) -> Option<Vec<HotPlace>> {
        let context = self.context(contents, options, rows)?;
        Some(context.heat.places(contents))
    }

    /// What links with these options are made of, once it is made; what was kept of others goes.
    fn context(
        &mut self,
        contents: &Contents<'_>,
        options: &ShareOptions,
        rows: usize,
    ) -> Option<Arc<LinkContext>> {
        let key = Key::of(options);
        let state = match self.context.take() {
            Some((known, state)) if known == key => state,
            _ => State::Building(link_context::LinkContextBuilder::new(contents, &key)),
        };
        let state = match state {
            State::Building(builder) => match builder.step(contents, &key, rows) {
                link_context::LinkContextBuilder::Done(context) => State::Ready(context),
                builder => State::Building(builder),
            },
            made => made,
        };
        let made = match &state {
            State::Ready(context) => Some(Arc::clone(context)),
            State::Building(_) => None,
        };
        self.context = Some((key, state));
        made
    }
}

/// The attempts at a link.
struct LinkAttempts {
    context: Arc<LinkContext>,
    texts: Texts,
    /// That of the context, until a call node is given up.
    order: Arc<Order>,
    next: Next,
    packing: Option<(Attempt, PackingTask)>,
    best: Option<EncodedSnapshot>,
}

/// What is tried next.
enum Next {
    /// All samples, each by itself, and where in functions they ended.
    Samples,
    /// The same without the latter.
    SamplesAlone,
    /// Nothing but the root.
    Root,
    /// As many call nodes as fit.
    Search(Search),
    /// What a whole tree leaves over is for finer bins; what is finer is only estimated.
    FinerBins,
    Nothing,
}

/// What an attempt is to hold.
struct Plan {
    call_nodes: usize,
    /// Of times, at most.
    most: Times,
    /// About as many as bins may have.
    bytes: usize,
    /// About as many as there may be for where in functions samples ended.
    heat_bytes: usize,
}

/// A snapshot that may be too long.
struct Attempt {
    call_nodes: usize,
    /// Bytes of its streams.
    length: usize,
    fidelity: Fidelity,
    texts: SharedTexts,
}

impl LinkAttempts {
    fn new(contents: &Contents<'_>, options: &ShareOptions, context: Arc<LinkContext>) -> Self {
        let order = Arc::clone(&context.order);
        // A sample is hardly ever less than two and a half characters.
        let has_room = contents.profile.samples.len() <= options.characters / 5 * 2;
        let is_whole = order.len() + 1 == context.tree.nodes.len();
        let has_samples = options.times == Times::Samples && samples::are_single(contents);
        let next = if has_room && is_whole && has_samples { Next::Samples } else { Next::Root };
        let texts = Texts::new(contents, options);
        Self { context, texts, order, next, packing: None, best: None }
    }

    /// Bytes of streams that are still to be packed in this attempt, at most.
    fn symbols_left(&self) -> usize {
        self.packing.as_ref().map_or(1, |(attempt, _)| attempt.length)
    }

    /// Goes on for so many bytes of streams; what came of it in the end.
    fn step(
        &mut self,
        contents: &Contents<'_>,
        options: &ShareOptions,
        tools: &mut Tools,
        symbols: usize,
    ) -> Option<Result<EncodedSnapshot, TooSmall>> {
        if let Some((attempt, mut packing)) = self.packing.take() {
            match packing.step(&mut tools.encoder, symbols) {
                Some(payload) => return self.judge(options, attempt, Some(payload), tools),
                None => self.packing = Some((attempt, packing)),
            }
            return None;
        }
        let part = options.characters / 4 * 3 / BINS_SHARE;
        let all = self.order.len();
        let (call_nodes, most, bytes) = match &mut self.next {
            Next::Samples | Next::SamplesAlone => (all, Times::Samples, 0),
            Next::Root => (0, Times::Threads, 0),
            Next::Search(search) => match search.next(&mut self.order) {
                Some(call_nodes) => (call_nodes, Times::Threads, part),
                None => {
                    tools.densities.keep(search);
                    let is_whole = search.fits == self.order.len();
                    let has_bins = options.times != Times::None && self.context.finest.is_some();
                    self.next = match is_whole && has_bins && options.characters < usize::MAX {
                        true => Next::FinerBins,
                        false => Next::Nothing,
                    };
                    return None;
                }
            },
            Next::FinerBins => {
                let used = self.best.as_ref().map_or(0, |best| best.payload.len());
                let left = options.characters.saturating_sub(used);
                (all, Times::Threads, part.saturating_add(left / 2))
            }
            Next::Nothing => return self.best.take().map(Ok),
        };
        let heat_bytes = match self.next {
            Next::SamplesAlone | Next::Root => 0,
            _ => options.characters / 4 * 3 / heat::part(contents, options),
        };
        self.begin(contents, options, tools, Plan { call_nodes, most, bytes, heat_bytes })
    }

    /// Writes the streams of an attempt.
    fn begin(
        &mut self,
        contents: &Contents<'_>,
        options: &ShareOptions,
        tools: &mut Tools,
        Plan { call_nodes, most, bytes, heat_bytes }: Plan,
    ) -> Option<Result<EncodedSnapshot, TooSmall>> {
        let LinkContext { tree, scope, finest, heat, .. } = &*self.context;
        let finest = finest.as_ref().filter(|_| options.times != Times::None);
        let heat = Some(heat).filter(|_| heat_bytes > 0);
        let most = most.min(options.times);
        let room = Room { most, finest, bytes, heat, heat_bytes };
        let selection = self.order.select(tree, call_nodes);
        let texts = &self.texts;
        let body = Body { contents, options, scope, texts, tree, selection: &selection, room };
        let (streams, fidelity, written) = body.write(self.order.total);
        let length = streams.len();
        let texts = texts.list(&written);
        let attempt = Attempt { call_nodes, length, fidelity, texts };
        if length > MAX_INFLATED || fidelity.kept_dsos > MAX_DSOS as u64 {
            return self.judge(options, attempt, None, tools);
        }
        let method = Method::of(length, options.characters);
        self.packing = Some((attempt, PackingTask::new(streams, method, &mut tools.encoder)));
        None
    }

    /// Looks at what has become of an attempt. Without a payload it cannot be read.
    fn judge(
        &mut self,
        options: &ShareOptions,
        attempt: Attempt,
        payload: Option<String>,
        tools: &Tools,
    ) -> Option<Result<EncodedSnapshot, TooSmall>> {
        let characters = payload.as_ref().map_or(usize::MAX, String::len);
        let fits = characters <= options.characters;
        let call_nodes = attempt.call_nodes;
        let Attempt { fidelity, texts, .. } = attempt;
        let made = payload.map(|payload| EncodedSnapshot { payload, fidelity, texts });
        self.next = match std::mem::replace(&mut self.next, Next::Nothing) {
            Next::Samples | Next::SamplesAlone if fits => return made.map(Ok),
            Next::Samples => Next::SamplesAlone,
            Next::SamplesAlone => Next::Root,
            Next::Root if !fits => return Some(Err(TooSmall { needed: characters })),
            Next::Root => {
                self.best = made;
                let densities = &tools.densities;
                Next::Search(Search::new(options.characters, characters, &self.order, densities))
            }
            Next::Search(mut search) => {
                if search.tried(&self.order, call_nodes, characters) == Fit::Fits {
                    self.best = made;
                }
                Next::Search(search)
            }
            Next::FinerBins | Next::Nothing => {
                self.best = made.filter(|_| fits).or(self.best.take());
                Next::Nothing
            }
        };
        None
    }
}
