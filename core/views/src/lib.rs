//! Pure functions from a profile, its symbols and a [`Query`] to columns that a screen can show.
//!
//! Nothing here keeps state, and nothing here knows a host: the page and the commands ask the
//! same questions and get the same numbers.
#![forbid(unsafe_code)]

pub mod accesses;
pub mod binned;
mod boxes;
pub mod branches;
pub mod breakdown;
pub mod build;
pub mod call_path;
pub mod call_tree;
pub mod column;
pub mod compare;
pub mod coverage;
pub mod data_access;
pub mod dso_users;
pub mod ends;
pub mod families;
pub mod filter;
pub mod flame_graph;
pub mod function_ref;
pub mod functions;
pub mod grouped;
mod grouping;
pub mod heat_map;
pub mod hot_lines;
mod idle;
pub mod inverted;
pub mod label;
pub mod occurrence;
mod ordering;
pub mod place_texts;
pub mod placed;
pub mod rewrite;
pub mod runners;
pub mod sample_spans;
pub mod sandwich;
pub mod search;
pub mod shown;
pub mod tasks;
pub mod time_order;
pub mod timeline;
pub mod transform;
mod turn;
pub mod weights;

#[cfg(test)]
mod breakdown_tests;
#[cfg(test)]
mod families_tests;
#[cfg(any(test, feature = "testing"))]
pub mod fixture;
#[cfg(test)]
mod flame_graph_tests;
#[cfg(test)]
mod grouped_tests;
#[cfg(test)]
mod hot_lines_tests;
#[cfg(test)]
mod idle_tests;
#[cfg(test)]
mod inverted_tests;
#[cfg(test)]
mod occurrence_tests;
#[cfg(test)]
mod placed_tests;
#[cfg(test)]
mod sample_spans_tests;
#[cfg(test)]
mod search_tests;
#[cfg(test)]
mod step_algebra_tests;
#[cfg(test)]
mod step_model;
#[cfg(test)]
mod step_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod time_order_tests;
#[cfg(test)]
mod times_tests;

use std::num::NonZeroU32;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use filter::TimeRange;
use function_ref::{DsoRef, FunctionRef};
use transform::Transform;

/// What is asked of a profile. Filters decide which samples are taken, each by itself; those that
/// pass all of them go through the steps, in order. What is empty filters nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase", default)]
pub struct Query {
    /// Position of the event in the profile's list.
    pub event: u32,
    /// Which end of the stacks is the root.
    pub direction: Direction,
    /// What stands between the root and the first frame.
    pub group: Group,
    /// What becomes of inlined functions.
    pub inlines: Inlines,
    /// What becomes of code without a name.
    pub unnamed: Unnamed,
    /// When samples were taken.
    pub range: Option<TimeRange>,
    /// Of the range only these parts, in its unit; empty: all of it. For perf's `--time` of several spans: the page does
    /// not ask for it.
    #[serde(skip)]
    pub spans: Vec<Range<u64>>,
    /// Process ids.
    pub processes: Vec<u32>,
    /// Thread ids.
    pub threads: Vec<u32>,
    /// CPU numbers.
    pub cpus: Vec<u16>,
    /// Names that threads had.
    pub comms: Vec<String>,
    /// DSOs that samples ended in.
    pub dsos: Vec<DsoRef>,
    /// DSOs that count as own code, whatever their folder says: colours and kinds follow, names and
    /// weights do not.
    pub own: Vec<DsoRef>,
    /// Of each stack only so many of its outermost addresses count, and the one where the sample ended: perf's
    /// `--max-stack`. These then seem to call each other, so such trees are for sums. The page does not ask for it.
    #[serde(skip)]
    pub outermost: Option<NonZeroU32>,
    /// What is done to the stacks.
    pub steps: Vec<Transform>,
    /// Instead of the whole tree the one that hangs on a function.
    pub around: Option<AroundFunction>,
}

/// The tree that hangs on one function: samples that it is not in have no part in it, and a sample
/// that it is in more than once counts once, from its outermost call on. Not grouped.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct AroundFunction {
    /// The root's child.
    pub function: FunctionRef,
    /// What follows it.
    pub side: Side,
}

/// What follows a function in the tree that hangs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// What called it, and what called that.
    Callers,
    /// What it called.
    Callees,
}

/// Which end of the stacks is the root of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The outermost caller; its callees follow.
    #[default]
    Callees,
    /// The innermost frame; its callers follow.
    Inverted,
}

/// The first level of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Processes, merged by name.
    #[default]
    Process,
    /// Threads, merged by name.
    Thread,
    /// None: all stacks together.
    None,
    /// Processes, those whose names differ in digits only as one. Each by itself where a filter or a step
    /// names processes or threads; none where not even the widest has room for its name.
    Auto,
}

/// What becomes of functions that the compiler inlined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Inlines {
    /// Each is a level of its own.
    #[default]
    Shown,
    /// They count as the function that they were inlined into.
    Merged,
}

/// What becomes of code without a name.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Unnamed {
    /// Each address is a function of its own.
    #[default]
    EachAddress,
    /// All of a DSO is one function, and calls within it are none. What steps name by its address
    /// stays apart.
    OnePerDso,
}

/// A weight as JavaScript can hold it: exact up to 2^53, rounded beyond.
pub fn serialize_weight<S: serde::Serializer>(
    weight: &u64,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    const LARGEST_SAFE: u64 = (1 << 53) - 1;
    if *weight <= LARGEST_SAFE {
        serializer.serialize_u64(*weight)
    } else {
        serializer.serialize_f64(*weight as f64)
    }
}
