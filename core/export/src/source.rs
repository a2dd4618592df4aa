//! What a file is written from.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use perftab_names::Symbols;
use perftab_perfdata::slice::Slice;
use perftab_profile::Profile;
use perftab_views::Query;
use perftab_views::build::{TreeDetail, build_in_slices, whole};
use perftab_views::call_tree::CallTree;
use perftab_views::ends::Ends;

use crate::calls::{Calls, Codes};

/// A profile with its names. Trees are made where they are needed, and one is kept: trees of all events may be many
/// times as large as the profile.
pub struct Source {
    pub(crate) profile: Arc<Profile>,
    pub(crate) symbols: Rc<Symbols>,
    tree: RefCell<Option<KnownTree>>,
}

/// A tree that was made, and where samples end in it.
#[derive(Clone)]
pub struct KnownTree {
    /// Whose it is.
    pub query: Query,
    /// All of it.
    pub tree: Arc<CallTree>,
    /// For a query of callees; may not be known.
    pub ends: Arc<Ends>,
}

impl Source {
    /// `known` is what need not be made once more.
    pub fn new(profile: Arc<Profile>, symbols: Rc<Symbols>, known: Option<KnownTree>) -> Self {
        Self { profile, symbols, tree: RefCell::new(known) }
    }

    /// The whole tree of a query.
    pub(crate) async fn tree(&self, query: &Query, slice: &Slice) -> Arc<CallTree> {
        self.made(query, TreeDetail::Tree, slice).await.tree
    }

    /// The calls of a query of callees, which is not grouped: stacks as they are, or, where steps rewrite them, those
    /// of its tree.
    pub(crate) async fn calls(&self, query: &Query, slice: &Slice) -> Calls {
        if !Calls::need_tree(query) {
            return Calls::of_stacks(self.codes(query));
        }
        let KnownTree { tree, ends, .. } = self.made(query, TreeDetail::Ends, slice).await;
        Calls::of_tree(self.codes(query), tree, ends)
    }

    /// What is known of code, as a query shows it.
    pub(crate) fn codes(&self, query: &Query) -> Codes {
        Codes::new(&self.profile, &self.symbols, query)
    }

    async fn made(&self, query: &Query, detail: TreeDetail, slice: &Slice) -> KnownTree {
        let is_it = |known: &KnownTree| {
            known.query == *query && (detail == TreeDetail::Tree || known.ends.are_known())
        };
        let made = match self.tree.take().filter(is_it) {
            Some(known) => known,
            None => {
                let (built, ends) =
                    build_in_slices(&self.profile, &self.symbols, query, detail, slice).await;
                slice.next().await;
                let (tree, ends) = (whole(query, built.tree).into(), ends.into());
                KnownTree { query: query.clone(), tree, ends }
            }
        };
        self.tree.replace(Some(made.clone()));
        made
    }
}
