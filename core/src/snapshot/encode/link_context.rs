//! What all links of one profile are made of, whatever they tell: the call tree, the order in which its
//! call nodes are worth being kept, bins of time, and where in functions samples ended. It takes long
//! where samples are many, so it is made in steps, and kept for the next link.

use std::sync::Arc;

use super::bins::Binning;
use super::heat::{Heat, Heating};
use crate::profile::TimeBins;
use crate::snapshot::scope::Scope;
use crate::snapshot::selection::{Order, Ordering};
use crate::snapshot::tree::{self, Tree};
use crate::snapshot::{Contents, Disclosure, ShareOptions};
use crate::views::Query;

/// To put a call node in order takes about as long as to take so many rows of samples.
const ROWS_OF_A_CALL_NODE: usize = 16;

/// What links are made of that differ in nothing of this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    query: Option<Query>,
    addresses: Disclosure,
}

impl Key {
    pub fn of(options: &ShareOptions) -> Self {
        Self { query: options.query.clone(), addresses: options.privacy.addresses }
    }
}

pub(super) struct LinkContext {
    pub tree: Tree,
    pub scope: Scope,
    pub order: Arc<Order>,
    /// The finest bins of time that there are.
    pub finest: Option<TimeBins>,
    pub heat: Heat,
}

/// A ground that is being made.
pub(super) enum LinkContextBuilder {
    Tree(Box<tree::TreeBuilder>),
    Order(Box<(Tree, Scope, Ordering)>),
    Bins(Box<(Tree, Scope, Order, Binning)>),
    Heat(Box<(Tree, Scope, Order, Option<TimeBins>, Heating)>),
    Done(Arc<LinkContext>),
}

impl LinkContextBuilder {
    pub fn new(contents: &Contents<'_>, key: &Key) -> Self {
        let making = tree::TreeBuilder::new(contents, key.query.as_ref(), key.addresses);
        Self::Tree(Box::new(making))
    }

    /// Goes on for about as long as so many rows of samples take.
    pub fn step(self, contents: &Contents<'_>, key: &Key, rows: usize) -> Self {
        match self {
            Self::Tree(mut making) => match making.step(contents, rows) {
                false => Self::Tree(making),
                true => {
                    let tree = making.finish();
                    let scope = Scope::new(contents, key.query.as_ref(), &tree);
                    let ordering = Ordering::new(contents, &tree);
                    Self::Order(Box::new((tree, scope, ordering)))
                }
            },
            Self::Order(mut making) => {
                let (tree, _, ordering) = &mut *making;
                match ordering.step(contents, tree, (rows / ROWS_OF_A_CALL_NODE).max(1)) {
                    false => Self::Order(making),
                    true => {
                        let (tree, scope, ordering) = *making;
                        let binning = Binning::new(contents, &scope, key.query.as_ref());
                        Self::Bins(Box::new((tree, scope, ordering.finish(), binning)))
                    }
                }
            }
            Self::Bins(mut making) => {
                let (tree, _, _, binning) = &mut *making;
                match binning.step(contents, tree, rows) {
                    false => Self::Bins(making),
                    true => {
                        let (tree, scope, order, binning) = *making;
                        let heating = Heating::new(contents, key.query.as_ref(), &tree);
                        Self::Heat(Box::new((tree, scope, order, binning.finish(), heating)))
                    }
                }
            }
            Self::Heat(mut making) => {
                let (tree, .., heating) = &mut *making;
                match heating.step(contents, tree, rows) {
                    false => Self::Heat(making),
                    true => {
                        let (tree, scope, order, finest, heating) = *making;
                        let (order, heat) = (order.into(), heating.finish());
                        Self::Done(Arc::new(LinkContext { tree, scope, order, finest, heat }))
                    }
                }
            }
            Self::Done(ground) => Self::Done(ground),
        }
    }
}
