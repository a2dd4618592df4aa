//! What an address space consists of.

use super::mappings::Root;

/// What is mapped, the code that was made at run time there, and data that no code can be in. Memory and
/// data have no address in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpaceRoots {
    pub memory: Root,
    pub code: Root,
    pub data: Root,
}

impl SpaceRoots {
    /// Nothing is mapped.
    pub(crate) const EMPTY: Self =
        Self { memory: Root::EMPTY, code: Root::EMPTY, data: Root::EMPTY };
}

/// An address space as it was: equal ones have the same mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space(pub(crate) SpaceRoots);
