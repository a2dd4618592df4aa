//! What may be done to the stacks of a query's samples, step by step.

use serde::{Deserialize, Serialize};

use crate::Direction;
use crate::function_ref::{DsoRef, FunctionRef, PathPart};

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Transform {
    /// A function's frames vanish; its self goes to its callers.
    Merge {
        /// Which.
        function: FunctionRef,
    },
    /// The frame of one call node vanishes.
    MergeCallNode {
        /// The way to it.
        path: Vec<PathPart>,
        /// In which tree.
        direction: Direction,
    },
    /// Only samples that a function is in, from its outermost call on.
    Focus {
        /// Which.
        function: FunctionRef,
    },
    /// Only samples through one call node, from it on.
    FocusSubtree {
        /// The way to it.
        path: Vec<PathPart>,
        /// In which tree.
        direction: Direction,
    },
    /// Samples that a function is in vanish.
    Drop {
        /// Which.
        function: FunctionRef,
    },
    /// What a function calls becomes its self.
    CollapseFunction {
        /// Which.
        function: FunctionRef,
    },
    /// Frames of a DSO that follow each other become one, named after it.
    CollapseDso {
        /// Which.
        dso: DsoRef,
    },
    /// A function that is met again goes back to where it was met first.
    CollapseRecursion,
    /// Samples without a match on their stack vanish.
    Search {
        /// As for the search field.
        text: String,
    },
}

impl Transform {
    /// Whether samples may vanish by it.
    pub fn drops(&self) -> bool {
        match self {
            Self::Focus { .. }
            | Self::FocusSubtree { .. }
            | Self::Drop { .. }
            | Self::Search { .. } => true,
            Self::Merge { .. }
            | Self::MergeCallNode { .. }
            | Self::CollapseFunction { .. }
            | Self::CollapseDso { .. }
            | Self::CollapseRecursion => false,
        }
    }
}
