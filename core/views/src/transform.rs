//! What may be done to the stacks of a query's samples, step by step.

use serde::{Deserialize, Serialize};

use crate::Direction;
use crate::function_ref::{DsoRef, FunctionRef, PathPart};

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(tag = "kind", rename_all = "kebab-case", try_from = "Fields")]
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
    /// Samples of what is idle vanish: of the kernel's idle process, and in functions that are known to idle or, off the
    /// CPU, to wait for work.
    DropIdle,
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

/// What any step may have. Code that serde derives for an enum with a tag reads each of its variants twice more, from
/// values that it keeps meanwhile: 25 kB of WebAssembly, 8 packed.
#[derive(Deserialize)]
struct Fields {
    kind: String,
    function: Option<FunctionRef>,
    path: Option<Vec<PathPart>>,
    direction: Option<Direction>,
    dso: Option<DsoRef>,
    text: Option<String>,
}

impl TryFrom<Fields> for Transform {
    type Error = &'static str;

    fn try_from(fields: Fields) -> Result<Self, &'static str> {
        let Fields { kind, function, path, direction, dso, text } = fields;
        let function = function.ok_or("a step needs its function");
        let path = path.ok_or("a step needs the way to its call node");
        let direction = direction.ok_or("a step needs the direction of its way");
        Ok(match kind.as_str() {
            "merge" => Self::Merge { function: function? },
            "merge-call-node" => Self::MergeCallNode { path: path?, direction: direction? },
            "focus" => Self::Focus { function: function? },
            "focus-subtree" => Self::FocusSubtree { path: path?, direction: direction? },
            "drop" => Self::Drop { function: function? },
            "collapse-function" => Self::CollapseFunction { function: function? },
            "collapse-dso" => Self::CollapseDso { dso: dso.ok_or("a step needs its DSO")? },
            "drop-idle" => Self::DropIdle,
            "collapse-recursion" => Self::CollapseRecursion,
            "search" => Self::Search { text: text.ok_or("a step needs its text")? },
            _ => return Err("there is no such step"),
        })
    }
}

impl Transform {
    /// The function that it is about.
    pub fn function(&self) -> Option<&FunctionRef> {
        match self {
            Self::Merge { function }
            | Self::Focus { function }
            | Self::Drop { function }
            | Self::CollapseFunction { function } => Some(function),
            _ => None,
        }
    }

    /// The way to the call node that it is about.
    pub fn path(&self) -> &[PathPart] {
        match self {
            Self::MergeCallNode { path, .. } | Self::FocusSubtree { path, .. } => path,
            _ => &[],
        }
    }

    /// Whether samples may vanish by it.
    pub fn drops(&self) -> bool {
        match self {
            Self::Focus { .. }
            | Self::FocusSubtree { .. }
            | Self::Drop { .. }
            | Self::DropIdle
            | Self::Search { .. } => true,
            Self::Merge { .. }
            | Self::MergeCallNode { .. }
            | Self::CollapseFunction { .. }
            | Self::CollapseDso { .. }
            | Self::CollapseRecursion => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_as_they_are_written() {
        let dso =
            || DsoRef { path: "/usr/bin/mill".to_owned(), build_id: Some("c0ffee".to_owned()) };
        let function = || FunctionRef { dso: dso(), name: Some("grind".to_owned()), address: None };
        let path = || {
            vec![
                PathPart::Process { name: "mill".to_owned() },
                PathPart::Thread { name: "stone".to_owned() },
                PathPart::Function { function: function() },
                PathPart::Inlined { function: function() },
                PathPart::Dso { dso: dso() },
                PathPart::NoMapping,
            ]
        };
        let direction = Direction::Callees;
        let steps = vec![
            Transform::Merge { function: function() },
            Transform::MergeCallNode { path: path(), direction },
            Transform::Focus { function: function() },
            Transform::FocusSubtree { path: path(), direction },
            Transform::Drop { function: function() },
            Transform::CollapseFunction { function: function() },
            Transform::CollapseDso { dso: dso() },
            Transform::CollapseRecursion,
            Transform::DropIdle,
            Transform::Search { text: "grind".to_owned() },
        ];
        let written = serde_json::to_string(&steps).expect("JSON");
        assert_eq!(serde_json::from_str::<Vec<Transform>>(&written).expect("steps"), steps);
        for wrong in
            [r#"{"kind":"grind"}"#, r#"{"kind":"merge"}"#, r#"{"kind":"search","dso":null}"#]
        {
            assert!(serde_json::from_str::<Transform>(wrong).is_err(), "{wrong}");
        }
    }
}
