//! Walks through a file layer by layer and shows each member to a [`Visitor`].
//!
//! A layer is a container and the bytes that wait for it. The deepest one that can go on does, so
//! no more than one piece waits in each.

use super::{Container, ContainerError, Form, Part};

/// Layers that are opened in each other: enough for a packed module in a package in a packed
/// archive (gzip, tar, ar, xz, tar, xz).
pub(super) const DEPTH_MAX: usize = 6;
/// The most that may come out of one file, of all layers together.
const UNPACKED_MAX: u64 = 64_000_000_000;
/// First bytes of a member that it is judged by.
pub const HEAD: usize = 64 << 10;

/// What becomes of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberUse {
    /// All of it is shown.
    Read,
    /// The rest of it is passed over.
    Skip,
}

/// Is shown all members that are not containers themselves.
pub trait Visitor {
    /// A member with its first bytes: at least [`HEAD`], or all that it has.
    fn begin(&mut self, name: &str, head: &[u8]) -> MemberUse;

    /// The next bytes of a member that is read, behind the head.
    fn bytes(&mut self, bytes: &[u8]) -> MemberUse;

    /// The member that is read is whole.
    fn end(&mut self);

    /// A container cannot be read on, and the member that was being read is not whole; or a member cannot be read at all.
    fn failed(&mut self, container: &str, error: &ContainerError);
}

/// A file on its way through its layers.
pub struct Layers {
    layers: Vec<Layer>,
    leaf: Leaf,
    /// Bytes that came out so far, of all layers.
    unpacked: u64,
}

struct Layer {
    container: Box<dyn Container>,
    /// Of the container, as it is shown.
    name: String,
    /// Bytes for the container, of which so many were taken.
    waiting: Vec<u8>,
    taken: usize,
    input: InputState,
}

/// How far the bytes for a layer have come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InputState {
    /// More bytes may come.
    Open,
    /// What waits is all.
    Complete,
    /// The container has been told so.
    Finished,
}

/// The member of the deepest layer.
enum Leaf {
    None,
    /// Its first bytes, not enough yet to judge it.
    Head {
        name: String,
        bytes: Vec<u8>,
    },
    Read,
    Skipped,
}

/// What a turn of one layer came to, without what it handed on.
enum Turn {
    NeedsInput,
    Begun { name: String },
    HandedOn { bytes: usize },
    Ended,
}

impl Layer {
    fn new(name: &str, form: Form, waiting: Vec<u8>, input: InputState) -> Self {
        Self { container: form.open(), name: name.to_owned(), waiting, taken: 0, input }
    }

    fn has_waiting(&self) -> bool {
        self.taken < self.waiting.len()
    }

    /// Only when nothing waits.
    fn add(&mut self, bytes: &[u8]) {
        self.waiting.clear();
        self.taken = 0;
        self.waiting.extend_from_slice(bytes);
    }
}

impl Layers {
    /// From the first byte of a file of this form.
    pub fn new(name: &str, form: Form) -> Self {
        let file = Layer::new(name, form, Vec::new(), InputState::Open);
        Self { layers: vec![file], leaf: Leaf::None, unpacked: 0 }
    }

    /// Whether more bytes of the file are wanted.
    pub fn is_hungry(&self) -> bool {
        !self.is_done() && self.next_layer().is_none()
    }

    /// Whether everything has been shown.
    pub fn is_done(&self) -> bool {
        self.layers.is_empty()
    }

    /// Takes the next bytes of the file, when it is hungry; none say that it ends.
    pub fn push(&mut self, bytes: &[u8]) {
        let Some(file) = self.layers.first_mut() else { return };
        if bytes.is_empty() {
            file.input = InputState::Complete;
        } else {
            file.add(bytes);
        }
    }

    /// The deepest layer that can go on.
    fn next_layer(&self) -> Option<usize> {
        self.layers.iter().rposition(|layer| layer.has_waiting() || layer.input != InputState::Open)
    }

    /// Goes one piece on; returns how many bytes were looked at for it.
    pub fn step(&mut self, visitor: &mut dyn Visitor) -> usize {
        let Some(at) = self.next_layer() else { return 0 };
        let taken_before = self.layers[at].taken;
        let turn = self.turn(at, visitor);
        let taken = self.layers[at].taken - taken_before;
        match turn {
            Ok(Turn::NeedsInput) => self.out_of_input(at, visitor),
            Ok(Turn::Begun { name }) => {
                let layer = &self.layers[at].name;
                let name = if name.is_empty() { layer.clone() } else { format!("{layer}/{name}") };
                self.leaf = Leaf::Head { name, bytes: Vec::new() };
            }
            Ok(Turn::HandedOn { bytes }) => {
                self.unpacked = self.unpacked.saturating_add(bytes as u64);
                if self.unpacked > UNPACKED_MAX {
                    self.fail(0, &ContainerError::Bomb { bytes: UNPACKED_MAX }, visitor);
                } else {
                    self.judge(MemberBytes::Partial, visitor);
                }
                return taken.max(bytes);
            }
            Ok(Turn::Ended) => self.end_member(at, visitor),
            Err(error) => self.fail(at, &error, visitor),
        }
        taken
    }

    /// Lets a layer take what waits, up to the next part.
    fn turn(&mut self, at: usize, visitor: &mut dyn Visitor) -> Result<Turn, ContainerError> {
        let (lower, deeper) = self.layers.split_at_mut(at + 1);
        let layer = &mut lower[at];
        let mut input = layer.waiting.get(layer.taken..).unwrap_or_default();
        let part = layer.container.next(&mut input);
        // What was handed on may lie in `waiting`, so where it is at is noted apart.
        let taken = layer.waiting.len() - input.len();
        let turn = match part? {
            Part::NeedsInput => Turn::NeedsInput,
            Part::Begin { name } => Turn::Begun { name },
            Part::Lost { name, why } => {
                visitor.failed(&format!("{}/{name}", layer.name), &why);
                Turn::HandedOn { bytes: 0 }
            }
            Part::End => Turn::Ended,
            Part::Bytes(bytes) => {
                match (deeper.first_mut(), &mut self.leaf) {
                    (Some(child), _) => child.add(bytes),
                    (None, Leaf::Head { bytes: head, .. }) => head.extend_from_slice(bytes),
                    (None, leaf @ Leaf::Read) => {
                        if visitor.bytes(bytes) == MemberUse::Skip {
                            *leaf = Leaf::Skipped;
                        }
                    }
                    (None, Leaf::None | Leaf::Skipped) => {}
                }
                Turn::HandedOn { bytes: bytes.len() }
            }
        };
        layer.taken = taken;
        Ok(turn)
    }

    /// A layer has taken all that there was.
    fn out_of_input(&mut self, at: usize, visitor: &mut dyn Visitor) {
        match self.layers[at].input {
            InputState::Open => {}
            InputState::Complete => {
                self.layers[at].input = InputState::Finished;
                if let Err(error) = self.layers[at].container.finish() {
                    self.fail(at, &error, visitor);
                }
            }
            // What is packed ends where its packing does.
            InputState::Finished if self.has_member(at) => self.end_member(at, visitor),
            InputState::Finished => self.layers.truncate(at),
        }
    }

    fn has_member(&self, at: usize) -> bool {
        at + 1 < self.layers.len() || !matches!(self.leaf, Leaf::None)
    }

    /// The member of a layer is whole.
    fn end_member(&mut self, at: usize, visitor: &mut dyn Visitor) {
        if let Some(child) = self.layers.get_mut(at + 1) {
            child.input = InputState::Complete;
            return;
        }
        self.judge(MemberBytes::Complete, visitor);
        if matches!(self.leaf, Leaf::Read) {
            visitor.end();
        }
        self.leaf = Leaf::None;
    }

    /// Looks at the first bytes of a member, once there are enough: it is a container, of use to
    /// the visitor, or neither.
    fn judge(&mut self, bytes_so_far: MemberBytes, visitor: &mut dyn Visitor) {
        let Leaf::Head { name, bytes } = &mut self.leaf else { return };
        if bytes.len() < HEAD && bytes_so_far == MemberBytes::Partial {
            return;
        }
        let (name, head) = (std::mem::take(name), std::mem::take(bytes));
        self.leaf = match Form::detect(&head) {
            Some(_) if self.layers.len() >= DEPTH_MAX => {
                visitor.failed(&name, &ContainerError::TooDeep);
                Leaf::Skipped
            }
            Some(form) => {
                let input = if bytes_so_far == MemberBytes::Complete {
                    InputState::Complete
                } else {
                    InputState::Open
                };
                self.layers.push(Layer::new(&name, form, head, input));
                Leaf::None
            }
            None => match visitor.begin(&name, &head) {
                MemberUse::Read => Leaf::Read,
                MemberUse::Skip => Leaf::Skipped,
            },
        };
    }

    /// A layer cannot be read on; the ones below it can.
    fn fail(&mut self, at: usize, error: &ContainerError, visitor: &mut dyn Visitor) {
        if let Some(layer) = self.layers.get(at) {
            visitor.failed(&layer.name, error);
        }
        self.layers.truncate(at);
        self.leaf = if at > 0 { Leaf::Skipped } else { Leaf::None };
    }
}

/// Whether all bytes of a member have come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MemberBytes {
    Partial,
    Complete,
}
