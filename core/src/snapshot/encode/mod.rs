//! Writes a snapshot: as much of the call tree as fits.

mod bins;
mod body;
mod calls;
mod dsos;
mod samples;
mod search;
mod sums;
mod tasks;
mod texts;
mod times;

use self::body::Body;
use self::search::{Fit, Search};
use self::texts::Texts;
pub(super) use self::texts::Told;
pub use self::texts::{InProfile, Part, Renamed, SharedPart, SharedTexts};
use self::times::Room;
use super::coder::Encoder;
use super::container::Method;
use super::scope::Scope;
use super::selection::Order;
use super::tree::Tree;
use super::{
    Contents, Fidelity, MAX_DSOS, MAX_INFLATED, ShareOptions, Shared, Times, TooSmall, container,
};

/// One part in so many is for bins of time, where calls have to be left out.
const BINS_SHARE: usize = 10;

/// A payload that may be too long.
struct Attempt<'a> {
    payload: String,
    fidelity: Fidelity,
    written: Vec<Told<'a>>,
}

/// The largest snapshot within the budget.
pub fn encode(contents: &Contents<'_>, options: &ShareOptions) -> Result<Shared, TooSmall> {
    let tree = Tree::new(contents, options.query.as_ref(), options.privacy.addresses);
    let scope = Scope::new(contents, options.query.as_ref(), &tree);
    let mut order = Order::new(contents, &tree);
    let texts = Texts::new(contents, options);
    let finest = match options.times {
        Times::None => None,
        _ => bins::finest(contents, &scope, options.query.as_ref(), &tree),
    };
    let mut encoder = Encoder::default();
    let mut attempt = |order: &Order, count: usize, most: Times, bytes: usize| {
        let selection = order.select(&tree, count);
        let body = Body {
            contents,
            options,
            scope: &scope,
            texts: &texts,
            tree: &tree,
            selection: &selection,
            room: Room { most: most.min(options.times), finest: finest.as_ref(), bytes },
        };
        let (streams, fidelity, written) = body.write(order.total);
        let fits = streams.len() <= MAX_INFLATED && fidelity.kept_dsos <= MAX_DSOS as u64;
        let method = Method::of(streams.len(), options.characters);
        let payload = container::pack(&streams, method, &mut encoder);
        let characters = if fits { payload.len() } else { usize::MAX };
        (characters, Attempt { payload, fidelity, written })
    };
    let finish = |best: Attempt<'_>| Shared {
        payload: best.payload,
        fidelity: best.fidelity,
        texts: texts.list(&best.written),
    };

    // A sample is hardly ever less than two and a half characters.
    let has_room = contents.profile.samples.len() <= options.characters / 5 * 2;
    let is_whole = order.len() + 1 == tree.nodes.len();
    if options.times == Times::Samples && has_room && is_whole && samples::are_single(contents) {
        let (characters, whole) = attempt(&order, order.len(), Times::Samples, 0);
        if characters <= options.characters {
            return Ok(finish(whole));
        }
    }
    let part = options.characters / 4 * 3 / BINS_SHARE;
    let mut with_bins =
        |order: &Order, count: usize, bytes: usize| attempt(order, count, Times::Threads, bytes);
    let (needed, mut best) = with_bins(&order, 0, 0);
    if needed > options.characters {
        return Err(TooSmall { needed });
    }
    let mut search = Search::new(options.characters, needed, &order);
    while let Some(count) = search.next(&mut order) {
        let (characters, shared) = with_bins(&order, count, part);
        if search.tried(&order, count, characters) == Fit::Fits {
            best = shared;
        }
    }
    // What a whole tree leaves over is for finer bins; what is finer is only estimated.
    if search.fits == order.len() && finest.is_some() && options.characters < usize::MAX {
        let left = options.characters - best.payload.len();
        let (characters, finer) = with_bins(&order, order.len(), part.saturating_add(left / 2));
        if characters <= options.characters {
            best = finer;
        }
    }
    Ok(finish(best))
}
