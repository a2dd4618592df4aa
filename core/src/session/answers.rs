//! Views as the page asks for them: columns and small structs.

use std::num::NonZeroU32;
use std::ops::Range;

use perftab_names::{Level, Status};
use perftab_perfdata::text::printable;
use perftab_profile::{DsoKind, Frame, FrameId};
use perftab_views::build::Calls;
use perftab_views::call_tree::{CallNodeId, CallTree, Label};
use perftab_views::column::{Float64Array, Uint8Array, Uint16Array, Uint32Array};
use perftab_views::flame_graph::{self, Window};
use perftab_views::functions::{self, FunctionOrder};
use perftab_views::grouped::{GroupBy, GroupRow};
use perftab_views::label::{Kind, Labels, OwnCode};
use perftab_views::search::Pattern;
use perftab_views::weights::Sum;
use perftab_views::{Direction, Query, families};
use serde::{Deserialize, Serialize};

use crate::session::Session;

/// What part of a flame graph is asked for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct FlameWindow {
    /// The call node that fills the width; 0 for all.
    pub root: u32,
    /// Width in pixels.
    pub width_px: f64,
    /// Narrower call nodes are folded.
    pub min_px: f64,
    /// Text that is searched for; empty for none.
    pub search: String,
}

impl FlameWindow {
    /// The same below another root, with these DSOs coloured as own code.
    pub(super) fn in_tree(&self, root: CallNodeId, own: OwnCode) -> Window {
        Window {
            root,
            width: self.width_px.clamp(0.0, 100_000.0),
            min_width: self.min_px.max(0.1),
            search: Pattern::new(&self.search),
            own,
        }
    }
}

/// An ancestor of the call node that fills the width.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct PathStep {
    /// Its id.
    pub call_node: u32,
    /// Its text.
    pub name: String,
    /// Bits of [`perftab_views::label::mark`].
    pub flags: u8,
}

/// What a call node can be found again by, when ids have changed because names did.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// Texts from the first level down.
    pub path: Vec<String>,
    /// Frames from the first level down.
    pub path_frames: Vec<Option<u32>>,
}

/// Everything that a card says of a call node.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct CallNodeDetail {
    /// Its id.
    pub call_node: u32,
    /// Function, process or address.
    pub name: String,
    /// Equal for the same function; null for what is none.
    pub function_id: Option<u32>,
    /// Number of its DSO in the ledger.
    pub dso_id: Option<u32>,
    /// Name of its DSO.
    pub dso: Option<String>,
    /// Whether that has names.
    pub dso_status: Option<Status>,
    /// Recorded build-id of the DSO.
    pub build_id: Option<String>,
    /// One of the addresses that led here, as code without a name is called: hexadecimal. Null for
    /// what is no code, and where a link has left addresses out.
    pub address: Option<String>,
    /// Source file, of one of the addresses that led here.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// Inlined into its caller.
    pub inlined: bool,
    /// [`Kind`].
    pub kind: u8,
    /// Bits of [`perftab_views::label::mark`].
    pub flags: u8,
    /// Pids of the processes that it stands for, where it is several whose names differ in digits only.
    pub processes: Vec<u32>,
    /// Weight of samples through it.
    pub total_weight: f64,
    /// Weight of samples that ended in it.
    pub self_weight: f64,
    /// Samples through it.
    pub total_samples: u64,
    /// Samples that ended in it.
    pub self_samples: u64,
    /// Texts from the first level down to it.
    pub path: Vec<String>,
    /// [`Kind`] of each.
    pub path_kinds: Vec<u8>,
    /// Bits of [`perftab_views::label::mark`] of each: a forced name is marked wherever it stands.
    pub path_flags: Vec<u8>,
    /// The same, as ids.
    pub path_nodes: Vec<u32>,
    /// A frame that led to each, where it stands for code. Names change, frames do not.
    pub path_frames: Vec<Option<u32>>,
    /// 0 for the root.
    pub depth: u32,
    /// Caller.
    pub parent: Option<u32>,
    /// Heaviest callee.
    pub heaviest_child: Option<u32>,
    /// The next heavier sibling.
    pub previous_sibling: Option<u32>,
    /// The next lighter sibling.
    pub next_sibling: Option<u32>,
    /// Siblings, itself included.
    pub set_size: u32,
    /// Place among them, from 1.
    pub pos_in_set: u32,
    /// Callees.
    pub child_count: u32,
}

/// Call nodes of a table, as columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct CallTreeRows {
    /// Ids.
    pub call_node: Uint32Array,
    /// Levels below the root.
    pub depth: Uint16Array,
    /// Callees.
    pub child_count: Uint32Array,
    /// Weight of samples through each.
    pub total: Float64Array,
    /// Weight of samples that ended in each.
    #[serde(rename = "self")]
    pub self_weight: Float64Array,
    /// Equal for the same function, else [`flame_graph::NONE`].
    #[serde(rename = "functionId")]
    pub function: Uint32Array,
    /// [`Kind`].
    pub kind: Uint8Array,
    /// Bits of [`perftab_views::label::mark`].
    #[serde(rename = "flags")]
    pub marks: Uint8Array,
    /// Texts.
    pub names: Vec<String>,
    /// Names of DSOs; empty where there is none.
    pub dsos: Vec<String>,
    /// Numbers of DSOs in the ledger, else [`flame_graph::NONE`].
    pub dso: Uint32Array,
    /// Samples through each.
    pub samples: Float64Array,
    /// Place among its siblings, from 1.
    pub pos_in_set: Uint32Array,
    /// Siblings, itself included.
    pub set_size: Uint32Array,
}

/// Functions, files, DSOs or threads of a table, as columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct FunctionRows {
    /// All rows, of which these are a part.
    #[serde(rename = "totalCount")]
    pub count: u32,
    /// Those of them that are code without a name, and no functions.
    pub unnamed: u32,
    /// Weight of all samples.
    pub all_total: f64,
    /// The largest of the weights of samples that ended in a row, of all rows.
    pub largest_self: f64,
    /// What a row is known by: the number of a function, the number of a DSO in the ledger, a tid, or
    /// the number of a source file. [`flame_graph::NONE`] for what is none of these.
    #[serde(rename = "functionId")]
    pub function: Uint32Array,
    /// Heaviest call node of each; [`flame_graph::NONE`] for threads.
    pub heaviest: Uint32Array,
    /// Weight of samples that ended in each.
    #[serde(rename = "self")]
    pub self_weight: Float64Array,
    /// Weight of samples that each is anywhere in.
    pub total: Float64Array,
    /// [`Kind`].
    pub kind: Uint8Array,
    /// Bits of [`perftab_views::label::mark`].
    #[serde(rename = "flags")]
    pub marks: Uint8Array,
    /// Texts: of a file its path, of a thread its last name and its number.
    pub names: Vec<String>,
    /// Names of DSOs; of processes, where rows are threads.
    pub dsos: Vec<String>,
}

/// What is known of a call that is looked for.
#[derive(Clone, Copy)]
pub(super) enum Known<'a> {
    /// What it is shown as.
    Name(&'a str),
    /// What it stands for.
    Label(Label),
}

impl Session {
    /// Changes whenever names do; ids of call nodes are of one generation.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// What the query shows in all: the root's total.
    pub fn total(&mut self, query: &Query) -> Sum {
        self.tree(query).total(CallNodeId::ROOT)
    }

    /// The way from the root to a call node, both included.
    pub fn path(&mut self, query: &Query, call_node: u32) -> Vec<PathStep> {
        let (profile, symbols, tree) = self.parts(query);
        let labels = Labels::new(profile, symbols);
        let id = tree.id(call_node).unwrap_or(CallNodeId::ROOT);
        let step = |id: CallNodeId| {
            let label = tree.label(id);
            PathStep { call_node: id.0, name: labels.text_alone(label), flags: labels.marks(label) }
        };
        tree.path(id).into_iter().map(step).collect()
    }

    /// The call node at a place: the end of its path, as far as that is there. `place` is what
    /// [`CallNodeDetail`] said of a call node of another tree, or of this one before names changed.
    pub fn find_call_node(&mut self, query: &Query, place: &Place) -> u32 {
        let frames = place.path_frames.iter().map(|frame| frame.map(FrameId));
        let frames = frames.chain(std::iter::repeat(None));
        let names = place.path.iter().map(|name| Some(Known::Name(name)));
        self.follow(query, names.zip(frames))
    }

    /// Goes down from the root, by what is known of each call and by a frame that led to it; to the last
    /// call node that is there.
    pub(super) fn follow<'a>(
        &mut self,
        query: &Query,
        way: impl Iterator<Item = (Option<Known<'a>>, Option<FrameId>)>,
    ) -> u32 {
        let mut at = CallNodeId::ROOT;
        let mut before = None;
        for (known, frame) in way {
            let mut from = at;
            let found = loop {
                let child = known.and_then(|known| self.child_known(query, from, known));
                if let Some(child) = child.or_else(|| self.child_with_frame(query, from, frame)) {
                    break Some(child);
                }
                // Names may have brought inlined levels of the frame before: the way leads past them.
                match self.child_with_frame(query, from, before) {
                    Some(level) => from = level,
                    None => break None,
                }
            };
            match found {
                Some(found) => at = found,
                None => break,
            }
            before = frame;
        }
        at.0
    }

    fn child_known(
        &mut self,
        query: &Query,
        at: CallNodeId,
        known: Known<'_>,
    ) -> Option<CallNodeId> {
        let children = self.children(query, at).to_vec();
        let (profile, symbols, tree) = self.parts(query);
        let labels = Labels::new(profile, symbols);
        children.into_iter().find(|&child| match known {
            // Earlier links have addresses without their DSOs.
            Known::Name(name) => {
                let label = tree.label(child);
                labels.text_alone(label) == name || labels.text(label) == name
            }
            Known::Label(label) => tree.label(child) == label,
        })
    }

    /// The child that a frame leads to.
    fn child_with_frame(
        &mut self,
        query: &Query,
        at: CallNodeId,
        frame: Option<FrameId>,
    ) -> Option<CallNodeId> {
        let children = self.children(query, at).to_vec();
        let (profile, symbols, tree) = self.parts(query);
        let frame = frame.filter(|frame| frame.index() < profile.frames.len())?;
        let calls = Calls::of(profile, symbols, query);
        let leads_to = |function| {
            let levels = symbols.levels(frame).iter().map(|level| level.function);
            levels.chain([symbols.merged(frame)]).any(|of| calls.shown(of) == function)
        };
        children.into_iter().find(|&child| tree.label(child).function().is_some_and(leads_to))
    }

    /// Everything about a call node; `None` if there is none with this id.
    pub fn call_node_detail(&mut self, query: &Query, call_node: u32) -> Option<CallNodeDetail> {
        let index = self.tree_index(query);
        let id = self.trees.cached[index].tree.get().id(call_node)?;
        self.trees.cached[index].tree.open(id);
        let tree = self.trees.cached[index].tree.get();
        let label = tree.label(id);
        let own = OwnCode::of(&self.profile, query);
        let labels = Labels::new(&self.profile, &self.symbols).counting(&own);
        let dso = labels.dso(label);
        let level = tree.frame(id).and_then(|frame| self.level(frame, label));
        let siblings = tree.parent(id).map_or(&[][..], |parent| tree.children(parent));
        let place = siblings.iter().position(|&sibling| sibling == id).unwrap_or(0);
        let sibling = |place: Option<usize>| siblings.get(place?).map(|id| id.0);
        let path = tree.path(id);
        let (total, self_sum) = (tree.total(id), tree.self_sum(id));
        let recorded = dso.map(|dso| self.profile.dsos.get(dso));
        Some(CallNodeDetail {
            call_node,
            name: labels.text(label),
            function_id: label.function().map(|function| function.0),
            dso_id: dso.map(|dso| dso.0),
            dso: recorded.map(|dso| printable(dso.name()).into_owned()),
            dso_status: dso.map(|dso| self.ledger.row(dso).status),
            build_id: recorded.and_then(|dso| dso.identity).map(|identity| identity.to_string()),
            address: tree
                .frame(id)
                .filter(|_| label.function().is_some_and(|id| id.as_unnamed_of().is_none()))
                .and_then(|frame| self.address(frame)),
            file: level
                .and_then(|level| level.file)
                .map(|id| printable(self.symbols.file(id)).into_owned()),
            line: level.and_then(|level| level.line).map(NonZeroU32::get),
            inlined: matches!(label, Label::Inlined(_)),
            kind: labels.kind(label) as u8,
            flags: labels.marks(label),
            processes: match label {
                Label::Family(name) => families::members(&self.profile, name),
                _ => Vec::new(),
            },
            total_weight: total.weight as f64,
            self_weight: self_sum.weight as f64,
            total_samples: total.samples,
            self_samples: self_sum.samples,
            path: path.iter().skip(1).map(|&id| labels.text_alone(tree.label(id))).collect(),
            path_kinds: path.iter().skip(1).map(|&id| labels.kind(tree.label(id)) as u8).collect(),
            path_flags: path.iter().skip(1).map(|&id| labels.marks(tree.label(id))).collect(),
            path_nodes: path.iter().skip(1).map(|id| id.0).collect(),
            path_frames: path.iter().skip(1).map(|&id| tree.frame(id).map(|id| id.0)).collect(),
            depth: path.len() as u32 - 1,
            parent: tree.parent(id).map(|id| id.0),
            heaviest_child: tree.children(id).first().map(|id| id.0),
            previous_sibling: sibling(place.checked_sub(1)),
            next_sibling: sibling(place.checked_add(1)),
            set_size: siblings.len().max(1) as u32,
            pos_in_set: place as u32 + 1,
            child_count: tree.children(id).len() as u32,
        })
    }

    /// Where a frame lies in its DSO. Of code with a name, a link has no addresses but made-up ones.
    fn address(&self, frame: FrameId) -> Option<String> {
        let is_named = || {
            let mut levels = self.symbols.levels(frame).iter();
            levels.any(|level| self.symbols.function(level.function).name.is_some())
        };
        let Frame { dso, address } = self.profile.frames.get(frame);
        let is_code = match self.profile.dsos.get(dso).kind {
            DsoKind::Folded | DsoKind::Pseudo | DsoKind::Unmapped => false,
            _ => self.fidelity.is_none() || !is_named(),
        };
        is_code.then(|| format!("{address:#x}"))
    }

    /// The level of `frame` that a call node stands for.
    pub(super) fn level(&self, frame: FrameId, label: Label) -> Option<&Level> {
        let function = label.function()?;
        self.symbols.levels(frame).iter().find(|level| level.function == function)
    }

    /// The callees of a call node, heaviest first.
    pub fn call_tree_children(&mut self, query: &Query, call_node: u32) -> CallTreeRows {
        self.call_tree_children_in(query, call_node, 0..usize::MAX)
    }

    /// Those of them at these places. Where nothing has names, one call node may have a hundred
    /// thousand, and nobody looks at all of them.
    pub fn call_tree_children_in(
        &mut self,
        query: &Query,
        call_node: u32,
        places: Range<usize>,
    ) -> CallTreeRows {
        let mut rows = CallTreeRows::default();
        let Some(parent) = self.tree(query).id(call_node) else { return rows };
        let children = self.children(query, parent);
        let count = children.len();
        let to = places.end.min(count);
        let from = places.start.min(to);
        let wanted = children[from..to].to_vec();
        // A row says how many callees there are.
        for &id in &wanted {
            self.children(query, id);
        }
        let (profile, symbols, tree) = self.parts(query);
        let own = OwnCode::of(profile, query);
        let labels = Labels::new(profile, symbols).counting(&own);
        let depth = tree.path(parent).len() as u16;
        for id in wanted {
            rows.push(tree, &labels, id, depth);
        }
        rows.pos_in_set = (from as u32 + 1..=to as u32).collect();
        rows.set_size = vec![count as u32; to - from].into();
        rows
    }

    /// The root, its child on the way to a call node, and so on down to that itself.
    pub fn call_tree_path(&mut self, query: &Query, call_node: u32) -> CallTreeRows {
        let mut rows = CallTreeRows::default();
        let Some(last) = self.tree(query).id(call_node) else { return rows };
        self.children(query, last);
        let (profile, symbols, tree) = self.parts(query);
        let own = OwnCode::of(profile, query);
        let labels = Labels::new(profile, symbols).counting(&own);
        for (depth, id) in tree.path(last).into_iter().enumerate() {
            rows.push(tree, &labels, id, depth as u16);
        }
        rows.place_in_sets(tree);
        rows
    }

    /// Rows in order, those from `from` to before `to`. Inverting changes nothing here, nor does
    /// the tree around a function.
    pub fn functions(
        &mut self,
        query: &Query,
        order: FunctionOrder,
        group_by: GroupBy,
        from: usize,
        to: usize,
    ) -> FunctionRows {
        let query = Query { direction: Direction::Callees, around: None, ..query.clone() };
        let part = |count: usize| from.min(count)..to.clamp(from, count.max(from)).min(count);
        let mut rows = FunctionRows::default();
        if group_by == GroupBy::Function {
            let all = self.ordered_functions(&query, order, to);
            rows.count = all.len() as u32;
            let selves = all.iter().map(|row| row.self_sum.weight);
            rows.largest_self = selves.max().unwrap_or(0) as f64;
            let wanted = all[part(all.len())].to_vec();
            let own = OwnCode::of(&self.profile, &query);
            let labels = Labels::new(&self.profile, &self.symbols).counting(&own);
            let all = self.functions_in_order(&query).iter();
            let unnamed = all.filter(|row| labels.kind(row.label) == Kind::Unnamed);
            rows.unnamed = unnamed.count() as u32;
            for sum in wanted {
                rows.push(functions::row(&labels, sum));
            }
        } else {
            let all = self.grouped(&query, order, group_by);
            rows.count = all.len() as u32;
            let selves = all.iter().map(|row| row.self_sum.weight);
            rows.largest_self = selves.max().unwrap_or(0) as f64;
            all[part(all.len())].iter().for_each(|row| rows.push_group(row));
        }
        rows.all_total = self.total(&query).weight as f64;
        rows
    }
}

impl FunctionRows {
    fn push(&mut self, row: functions::FunctionRow) {
        let function = row.sum.label.function();
        self.function.push(function.map_or(flame_graph::NONE, |function| function.0));
        self.heaviest.push(row.sum.heaviest.0);
        self.self_weight.push(row.sum.self_sum.weight as f64);
        self.total.push(row.sum.total.weight as f64);
        self.kind.push(row.kind as u8);
        self.marks.push(row.marks);
        self.names.push(row.name);
        self.dsos.push(row.dso);
    }

    fn push_group(&mut self, row: &GroupRow) {
        self.function.push(row.id.unwrap_or(flame_graph::NONE));
        self.heaviest.push(row.heaviest.map_or(flame_graph::NONE, |id| id.0));
        self.self_weight.push(row.self_sum.weight as f64);
        self.total.push(row.total.weight as f64);
        self.kind.push(row.kind as u8);
        self.marks.push(row.marks);
        self.names.push(row.name.clone());
        self.dsos.push(row.within.clone());
    }
}

impl CallTreeRows {
    fn push(&mut self, tree: &CallTree, labels: &Labels<'_>, id: CallNodeId, depth: u16) {
        let label = tree.label(id);
        self.call_node.push(id.0);
        self.depth.push(depth);
        self.child_count.push(tree.children(id).len() as u32);
        self.total.push(tree.total(id).weight as f64);
        self.self_weight.push(tree.self_sum(id).weight as f64);
        self.function.push(label.function().map_or(flame_graph::NONE, |function| function.0));
        let kind: Kind = labels.kind(label);
        self.kind.push(kind as u8);
        self.marks.push(labels.marks(label));
        self.names.push(labels.text(label));
        self.dsos.push(labels.dso_name(label));
        self.dso.push(labels.dso(label).map_or(flame_graph::NONE, |dso| dso.0));
        self.samples.push(tree.total(id).samples as f64);
    }

    /// Looks each up among its siblings.
    fn place_in_sets(&mut self, tree: &CallTree) {
        for &id in self.call_node.iter() {
            let id = CallNodeId(id);
            let siblings = tree.parent(id).map_or(&[][..], |parent| tree.children(parent));
            let place = siblings.iter().position(|&sibling| sibling == id).unwrap_or(0);
            self.pos_in_set.push(place as u32 + 1);
            self.set_size.push(siblings.len().max(1) as u32);
        }
    }
}
