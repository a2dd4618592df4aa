//! What all links of one profile are made of, whatever they tell: the call tree, the order in which its
//! call nodes are worth being kept, bins of time, and where in functions samples ended. It takes long
//! where samples are many, so it is made in steps, and kept for the next link.

use std::sync::Arc;

use perftab_profile::TimeBins;
use perftab_views::Query;
use perftab_views::function_ref::DsoRef;

use super::bins::TimeBinsBuilder;
use super::heat::{Heat, HeatBuilder};
use crate::scope::Scope;
use crate::selection::{Order, OrderBuilder};
use crate::tree::{self, Tree};
use crate::{Contents, Disclosure, ShareOptions};

/// To put a call node in order takes about as long as to take so many rows of samples.
const ROWS_OF_A_CALL_NODE: usize = 16;

/// What links are made of that differ in nothing of this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    query: Option<Query>,
    own: Vec<DsoRef>,
    addresses: Disclosure,
}

impl Key {
    pub fn of(options: &ShareOptions) -> Self {
        let (query, own) = (options.query.clone(), options.own.clone());
        Self { query, own, addresses: options.privacy.addresses }
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

/// A [`LinkContext`] that is being made.
pub(super) enum LinkContextBuilder {
    Tree(Box<tree::TreeBuilder>),
    Order(Box<(Tree, Scope, OrderBuilder)>),
    Bins(Box<(Tree, Scope, Order, TimeBinsBuilder)>),
    Heat(Box<(Tree, Scope, Order, Option<TimeBins>, HeatBuilder)>),
    Done(Arc<LinkContext>),
}

impl LinkContextBuilder {
    pub fn new(contents: &Contents<'_>, key: &Key) -> Self {
        let builder = tree::TreeBuilder::new(contents, key.query.as_ref(), key.addresses);
        Self::Tree(Box::new(builder))
    }

    /// Goes on for about as long as so many rows of samples take.
    pub fn step(self, contents: &Contents<'_>, key: &Key, rows: usize) -> Self {
        match self {
            Self::Tree(mut builder) => match builder.step(contents, rows) {
                false => Self::Tree(builder),
                true => {
                    let tree = builder.finish();
                    let scope = Scope::new(contents, key.query.as_ref(), &tree);
                    let order_builder = OrderBuilder::new(contents, &tree);
                    Self::Order(Box::new((tree, scope, order_builder)))
                }
            },
            Self::Order(mut builder) => {
                let (tree, _, order_builder) = &mut *builder;
                match order_builder.step(contents, tree, (rows / ROWS_OF_A_CALL_NODE).max(1)) {
                    false => Self::Order(builder),
                    true => {
                        let (tree, scope, order_builder) = *builder;
                        let bins_builder =
                            TimeBinsBuilder::new(contents, &scope, key.query.as_ref(), &key.own);
                        Self::Bins(Box::new((tree, scope, order_builder.finish(), bins_builder)))
                    }
                }
            }
            Self::Bins(mut builder) => {
                let (tree, _, _, bins_builder) = &mut *builder;
                match bins_builder.step(contents, tree, rows) {
                    false => Self::Bins(builder),
                    true => {
                        let (tree, scope, order, bins_builder) = *builder;
                        let heat_builder = HeatBuilder::new(contents, key.query.as_ref(), &tree);
                        Self::Heat(Box::new((
                            tree,
                            scope,
                            order,
                            bins_builder.finish(),
                            heat_builder,
                        )))
                    }
                }
            }
            Self::Heat(mut builder) => {
                let (tree, .., heat_builder) = &mut *builder;
                match heat_builder.step(contents, tree, rows) {
                    false => Self::Heat(builder),
                    true => {
                        let (tree, scope, order, finest, heat_builder) = *builder;
                        let (order, heat) = (order.into(), heat_builder.finish());
                        Self::Done(Arc::new(LinkContext { tree, scope, order, finest, heat }))
                    }
                }
            }
            Self::Done(context) => Self::Done(context),
        }
    }
}
