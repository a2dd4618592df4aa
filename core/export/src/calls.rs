//! The calls that samples ended in: the stacks as they were recorded, or, where steps rewrite them,
//! the call tree of the query.

use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;

use perftab_names::{FileId, Inlining, Symbols};
use perftab_profile::{DsoId, DsoKind, FrameId, Profile, StackId, ThreadId};
use perftab_views::call_tree::{CallNodeId, CallTree, Label};
use perftab_views::ends::Ends;
use perftab_views::label::OwnCode;
use perftab_views::{Inlines, Query};

use super::names::Names;

/// A call by its number in [`Calls`]: that of a stack or of a call node. Callers have lower numbers
/// than what they call, and 0 is no call at all.
pub(crate) type CallNumber = u32;

/// The calls of one event.
pub(crate) struct Calls {
    pub codes: Codes,
    kind: Kind,
}

enum Kind {
    /// Calls are stacks, each of its caller's stack and one frame.
    Stacks,
    /// Calls are functions, where steps have left them.
    Tree(Arc<CallTree>, Arc<Ends>),
}

/// What is known of the code that calls run.
pub(crate) struct Codes {
    pub profile: Arc<Profile>,
    pub symbols: Rc<Symbols>,
    own: OwnCode,
    inlines: Inlines,
}

/// What a call runs: numbers of the same code are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Code {
    /// An address, with all that was inlined there.
    Frame(FrameId),
    /// A function, at whatever address.
    Label(Label),
}

/// A level of a call's code; the outermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub label: Label,
    /// How many levels of the same code are around it.
    pub depth: u32,
    pub file: Option<FileId>,
    pub line: Option<NonZeroU32>,
}

impl Calls {
    /// Whether the calls of a query are those of its tree.
    pub fn need_tree(query: &Query) -> bool {
        !query.steps.is_empty()
    }

    /// The stacks as they are.
    pub fn of_stacks(codes: Codes) -> Self {
        Self { codes, kind: Kind::Stacks }
    }

    /// Those of the query's tree of callees, which is not grouped.
    pub fn of_tree(codes: Codes, tree: Arc<CallTree>, ends: Arc<Ends>) -> Self {
        Self { codes, kind: Kind::Tree(tree, ends) }
    }

    /// Numbers are below it.
    pub fn len(&self) -> usize {
        match &self.kind {
            Kind::Stacks => self.codes.profile.stacks.len(),
            Kind::Tree(tree, _) => tree.len(),
        }
    }

    /// Where a sample ends; `None` if steps took it away.
    pub fn end(&self, thread: ThreadId, stack: StackId) -> Option<CallNumber> {
        match &self.kind {
            Kind::Stacks => Some(stack.0),
            Kind::Tree(_, ends) => ends.of(thread, stack).map(|node| node.0),
        }
    }

    /// Where the sample of a row ends; 0 also if it was taken away.
    pub fn end_of_row(&self, row: u32) -> CallNumber {
        let samples = &self.codes.profile.samples;
        let row = row as usize;
        self.end(samples.thread.at(row), samples.stack[row]).unwrap_or(0)
    }

    /// The caller, 0 if there is none, and what is called; `None` for 0.
    pub fn get(&self, call: CallNumber) -> Option<(CallNumber, Code)> {
        match &self.kind {
            Kind::Stacks => {
                let (caller, frame) = self.codes.profile.stacks.get(StackId(call))?;
                Some((caller.0, Code::Frame(frame)))
            }
            Kind::Tree(tree, _) => {
                let node = CallNodeId(call);
                let caller = tree.parent(node)?;
                Some((caller.0, Code::Label(tree.label(node))))
            }
        }
    }

    /// The caller alone.
    pub fn caller(&self, call: CallNumber) -> Option<CallNumber> {
        self.get(call).map(|(caller, _)| caller)
    }
}

impl Codes {
    /// With inlining and own code as the query has them.
    pub fn new(profile: &Arc<Profile>, symbols: &Rc<Symbols>, query: &Query) -> Self {
        let own = OwnCode::of(profile, query);
        let (profile, symbols) = (Arc::clone(profile), Rc::clone(symbols));
        Self { profile, symbols, own, inlines: query.inlines }
    }

    /// Names them, with categories as the query counts own code.
    pub fn names(&self) -> Names<'_> {
        Names::new(&self.profile, &self.symbols).counting(&self.own)
    }

    /// The levels of a call's code, outermost first; at least one.
    pub fn for_each_part(&self, code: Code, mut each: impl FnMut(Part)) {
        let mut plain = |label| each(Part { label, depth: 0, file: None, line: None });
        let frame = match code {
            Code::Label(Label::Inlined(function)) => {
                let label = Label::Inlined(function);
                return each(Part { label, depth: 1, file: None, line: None });
            }
            Code::Label(label) => return plain(label),
            Code::Frame(frame) => frame,
        };
        if self.profile.dsos.get(self.profile.frames.get(frame).dso).kind == DsoKind::Unmapped {
            return plain(Label::NoMapping);
        }
        let levels = self.symbols.levels(frame);
        if self.inlines == Inlines::Merged {
            let label = Label::Function(self.symbols.merged(frame));
            let (file, line) =
                levels.first().map_or((None, None), |level| (level.file, level.line));
            return each(Part { label, depth: 0, file, line });
        }
        for (depth, level) in (0..).zip(levels) {
            let label = match level.inlining {
                Inlining::Called => Label::Function(level.function),
                Inlining::Inlined => Label::Inlined(level.function),
            };
            each(Part { label, depth, file: level.file, line: level.line });
        }
    }

    /// The DSO that a call's code lies in, and its address there, if there is one and it is known.
    pub fn place(&self, code: Code) -> Option<(DsoId, Option<u64>)> {
        let (dso, address) = match code {
            Code::Frame(id) => {
                let frame = self.profile.frames.get(id);
                // A link does not tell where named code lay: its address there is made up.
                let is_known = !self.symbols.came_with_a_link(id);
                (frame.dso, is_known.then_some(frame.address))
            }
            Code::Label(Label::Dso(dso)) => (dso, None),
            Code::Label(label) => {
                let function = self.symbols.function(label.function()?);
                (function.dso, function.name.is_none().then_some(function.address))
            }
        };
        is_mapped(&self.profile, dso).then_some((dso, address))
    }
}

/// True of DSOs that stand for code that lies somewhere.
pub(super) fn is_mapped(profile: &Profile, dso: DsoId) -> bool {
    match profile.dsos.get(dso).kind {
        DsoKind::Unmapped | DsoKind::Folded | DsoKind::Pseudo => false,
        DsoKind::User
        | DsoKind::Kernel
        | DsoKind::Module
        | DsoKind::Vdso
        | DsoKind::Jit
        | DsoKind::Anon => true,
    }
}
