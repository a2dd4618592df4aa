//! DWARF, read so that no file can make it expensive.
//!
//! DWARF lets many entries refer to one list: units to a table of lines, inlined bodies to a list of
//! ranges, names to a path. What is small in a file can be unbounded when it is read out. So whatever
//! is kept is charged to the [`Budget`] of its image before it is kept, and whatever is read is
//! charged to it as work; nesting is followed by a list and not by recursion. Units that were read
//! are dropped when others have been read for long, and when their memory is needed.
//!
//! gimli decodes; it allocates by itself in two places only, the abbreviations of a unit and the
//! header of its lines. Both are measured before (`measure.rs`).

mod attributes;
mod budget;
mod functions;
mod lines;
mod measure;
mod unit_headers;
mod units;

pub use lines::MAX_SOURCE;

pub(super) use budget::{Budget, Fault, over_budget};
pub(super) use unit_headers::UnitHeaders;
pub(super) use units::{Found, LoadedUnit, Misfit, MissingUnit, Units};

/// More inlined bodies than this around one address are not kept.
pub(super) const MAX_LEVELS: usize = 256;

pub(super) type Reader = gimli::EndianArcSlice<gimli::RunTimeEndian>;

#[cfg(test)]
mod tests;
