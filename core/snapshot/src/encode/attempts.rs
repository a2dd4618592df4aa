//! The largest link that fits: some are made, and the best of them is taken.

use std::borrow::Cow;
use std::cell::RefCell;
use std::iter;

use perftab_perfdata::slice::Slice;

use super::body::Body;
use super::heat;
use super::link_context::LinkContext;
use super::samples;
use super::search::{Densities, Fit, Search};
use super::texts::Texts;
use super::times::Room;
use crate::coder::Encoder;
use crate::container::{Method, pack_in_slices};
use crate::selection::Order;
use crate::{Contents, EncodedSnapshot, MAX_DSOS, MAX_INFLATED, ShareOptions, Times, TooSmall};

/// One part in so many is for bins of time, where calls have to be left out.
const BINS_SHARE: usize = 10;

/// What links are made with, kept from one to the next.
#[derive(Default)]
pub struct LinkTools {
    encoder: RefCell<Encoder>,
    densities: RefCell<Densities>,
}

/// The largest link within the budget. In slices of rows of samples, or what takes as long.
pub async fn link(
    contents: &Contents<'_>,
    options: &ShareOptions,
    context: &LinkContext,
    tools: &LinkTools,
    slice: &Slice,
) -> Result<EncodedSnapshot, TooSmall> {
    let texts = Texts::new(contents, options);
    let attempts = Attempts { contents, options, context, tools, texts, slice };
    let mut order = Cow::Borrowed(&context.order);
    let bytes = options.characters / 4 * 3 / BINS_SHARE;
    let heat_bytes = options.characters / 4 * 3 / heat::part(contents, options);

    // A sample is hardly ever less than two and a half characters.
    let has_room = contents.profile.samples.len() <= options.characters / 5 * 2;
    let is_whole = order.len() + 1 == context.tree.nodes.len();
    if has_room && is_whole && options.times == Times::Samples && samples::are_single(contents) {
        // All samples, each by itself, and where in functions they ended; then without the latter, unless somebody asks for
        // what stands there.
        let without = (!options.includes_texts(contents)).then_some(0);
        for heat_bytes in iter::once(heat_bytes).chain(without) {
            let (call_nodes, most) = (order.len(), Times::Samples);
            let plan = Plan { call_nodes, most, bytes: 0, heat_bytes };
            if let Some(made) = attempts.make(&order, plan).await.fitting(options) {
                return Ok(made);
            }
        }
    }

    let most = Times::Threads;
    // Nothing but the root.
    let root = Plan { call_nodes: 0, most, bytes: 0, heat_bytes: 0 };
    let root = attempts.make(&order, root).await;
    let needed = root.characters();
    let Some(mut best) = root.fitting(options) else { return Err(TooSmall { needed }) };
    let mut search = Search::new(options.characters, needed, &order, &tools.densities.borrow());
    while let Some(call_nodes) = search.next(&mut order) {
        let plan = Plan { call_nodes, most, bytes, heat_bytes };
        let attempt = attempts.make(&order, plan).await;
        let fit = search.tried(&order, call_nodes, attempt.characters());
        if let (Fit::Fits, Attempt(Some(made))) = (fit, attempt) {
            best = made;
        }
    }
    tools.densities.borrow_mut().keep(&search);

    // What a whole tree leaves over is for finer bins; what is finer is only estimated.
    let is_whole = search.fits == order.len();
    let has_bins = options.times != Times::None && context.finest.is_some();
    if is_whole && has_bins && options.characters < usize::MAX {
        let left = options.characters.saturating_sub(best.payload.len());
        let bytes = bytes.saturating_add(left / 2);
        let plan = Plan { call_nodes: order.len(), most, bytes, heat_bytes };
        best = attempts.make(&order, plan).await.fitting(options).unwrap_or(best);
    }
    Ok(best)
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

/// A snapshot that may be too long; `None` for one that nobody could read.
struct Attempt(Option<EncodedSnapshot>);

impl Attempt {
    fn characters(&self) -> usize {
        self.0.as_ref().map_or(usize::MAX, |made| made.payload.len())
    }

    fn fitting(self, options: &ShareOptions) -> Option<EncodedSnapshot> {
        self.0.filter(|made| made.payload.len() <= options.characters)
    }
}

/// What all attempts at a link have.
struct Attempts<'a> {
    contents: &'a Contents<'a>,
    options: &'a ShareOptions,
    context: &'a LinkContext,
    tools: &'a LinkTools,
    texts: Texts,
    slice: &'a Slice,
}

impl Attempts<'_> {
    async fn make(&self, order: &Order, plan: Plan) -> Attempt {
        let Self { contents, options, context, tools, texts, slice } = self;
        slice.next().await;
        let LinkContext { tree, scope, finest, heat, .. } = context;
        let Plan { call_nodes, most, bytes, heat_bytes } = plan;
        let finest = finest.as_ref().filter(|_| options.times != Times::None);
        let heat = Some(heat).filter(|_| heat_bytes > 0);
        let room = Room { most: most.min(options.times), finest, bytes, heat, heat_bytes };
        let selection = order.select(tree, call_nodes);
        let body = Body { contents, options, scope, texts, tree, selection: &selection, room };
        let (streams, fidelity, written) = body.write(order.total);
        let texts = texts.list(&written);
        if streams.len() > MAX_INFLATED || fidelity.kept_dsos > MAX_DSOS as u64 {
            return Attempt(None);
        }
        slice.next().await;
        let method = Method::of(streams.len(), options.characters);
        let payload = pack_in_slices(&streams, method, &tools.encoder, slice).await;
        Attempt(Some(EncodedSnapshot { payload, fidelity, texts }))
    }
}
