//! What all links of one profile are made of, whatever they tell: the call tree, the order in which its
//! call nodes are worth being kept, bins of time, and where in functions samples ended. It takes long
//! where samples are many, so whoever makes links keeps it for the next one.

use perftab_perfdata::slice::Slice;
use perftab_profile::TimeBins;
use perftab_views::Query;
use perftab_views::function_ref::DsoRef;

use super::bins;
use super::heat::{Heat, HotPlace};
use crate::scope::Scope;
use crate::selection::Order;
use crate::tree::Tree;
use crate::{Contents, Disclosure, ShareOptions};

/// To put a call node in order takes about as long as to take so many rows of samples.
const ROWS_OF_A_CALL_NODE: usize = 16;

/// What links are made of that differ in nothing of this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkKey {
    query: Option<Query>,
    own: Vec<DsoRef>,
    addresses: Disclosure,
}

impl LinkKey {
    /// That of a link with these options.
    pub fn of(options: &ShareOptions) -> Self {
        let (query, own) = (options.query.clone(), options.own.clone());
        Self { query, own, addresses: options.privacy.addresses }
    }
}

/// What links with the same [`LinkKey`] are made of.
pub struct LinkContext {
    pub(super) tree: Tree,
    pub(super) scope: Scope,
    pub(super) order: Order,
    /// The finest bins of time that there are.
    pub(super) finest: Option<TimeBins>,
    pub(super) heat: Heat,
}

impl LinkContext {
    /// In slices of rows of samples.
    pub async fn of(contents: &Contents<'_>, key: &LinkKey, slice: &Slice) -> Self {
        let query = key.query.as_ref();
        let tree = Tree::of(contents, query, key.addresses, slice).await;
        let scope = Scope::new(contents, query, &tree);
        slice.next().await;
        let order = Order::of(contents, &tree, &slice.in_units_of(ROWS_OF_A_CALL_NODE)).await;
        slice.next().await;
        let finest = bins::finest(contents, &scope, query, &key.own, &tree, slice).await;
        slice.next().await;
        let heat = Heat::of(contents, query, &tree, slice).await;
        Self { tree, scope, order, finest, heat }
    }

    /// Where samples ended in the functions that a link can tell of. The contents are those that it was made
    /// of.
    pub fn hot_places(&self, contents: &Contents<'_>) -> Vec<HotPlace> {
        self.heat.places(contents)
    }
}
