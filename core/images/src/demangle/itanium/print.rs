//! Nodes as text. A declarator stands around the name that it declares, so a type has a left part and a right one.

use super::ReturnType;
use super::node::{Exceptions, FunctionQualifiers, Node, NodeId, Qualifier, Reference};

/// Deeper than anything that parses, as arguments stand where parameters stood.
const MAX_DEPTH: u32 = 256;
/// Nodes that are looked at. 4 KiB of text need a few thousand.
const MAX_STEPS: u32 = 1 << 15;

/// What a pointer to it needs parentheses for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Plain,
    Array,
    Function,
}

/// `None`: too deep, too much, or there is no room for more text.
pub type Printed = Option<()>;

pub struct Printer<'p, 'a> {
    nodes: &'p [Node<'a>],
    return_type: ReturnType,
    pub out: String,
    /// Bytes that there is room for.
    limit: usize,
    pub is_full: bool,
    depth: u32,
    steps: u32,
    /// Which argument of packs is meant, within an expansion.
    pack_index: Option<usize>,
    is_in_lambda: bool,
    /// What parameters of the innermost template stand for, and those that its arguments mention, and so on.
    scopes: Vec<Scope<'p>>,
    scope: Option<usize>,
}

/// What parameters of a template stand for.
struct Scope<'p> {
    arguments: &'p [NodeId],
    /// In which its arguments are to be read.
    outer: Option<usize>,
}

/// A node, and in which template and for which argument of packs it is read.
#[derive(Clone, Copy)]
struct Meant {
    id: NodeId,
    scope: Option<usize>,
    pack_index: Option<usize>,
}

impl<'p, 'a> Printer<'p, 'a> {
    pub fn new(nodes: &'p [Node<'a>], return_type: ReturnType, limit: usize) -> Self {
        Self {
            nodes,
            return_type,
            out: String::new(),
            limit,
            is_full: false,
            depth: 0,
            steps: 0,
            pack_index: None,
            is_in_lambda: false,
            scopes: Vec::new(),
            scope: None,
        }
    }

    pub fn node(&self, id: NodeId) -> &'p Node<'a> {
        &self.nodes[id.0 as usize]
    }

    pub fn text(&mut self, text: &str) -> Printed {
        let room = self.limit.saturating_sub(self.out.len());
        if text.len() > room {
            let end = (0..=room).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default();
            self.out.push_str(&text[..end]);
            self.is_full = true;
            return None;
        }
        self.out.push_str(text);
        Some(())
    }

    pub fn number(&mut self, number: u64) -> Printed {
        self.text(&number.to_string())
    }

    pub fn last(&self) -> u8 {
        self.out.as_bytes().last().copied().unwrap_or(0)
    }

    pub fn print(&mut self, id: NodeId) -> Printed {
        self.left(id)?;
        self.right(id)
    }

    /// With commas between those that are not empty, as packs can be.
    pub fn list(&mut self, items: &[NodeId]) -> Printed {
        let mut is_first = true;
        for &item in items {
            let before = self.out.len();
            if !is_first {
                self.text(", ")?;
            }
            let from = self.out.len();
            self.print(item)?;
            match self.out.len() == from {
                true => self.out.truncate(before),
                false => is_first = false,
            }
        }
        Some(())
    }

    fn deeper(&mut self, print: impl FnOnce(&mut Self) -> Printed) -> Printed {
        self.steps += 1;
        if self.depth >= MAX_DEPTH || self.steps > MAX_STEPS {
            return None;
        }
        self.depth += 1;
        let printed = print(self);
        self.depth -= 1;
        printed
    }

    fn left(&mut self, id: NodeId) -> Printed {
        self.deeper(|printer| printer.left_of(id))
    }

    fn right(&mut self, id: NodeId) -> Printed {
        self.deeper(|printer| printer.right_of(id))
    }

    fn left_of(&mut self, id: NodeId) -> Printed {
        match self.node(id) {
            Node::Pointer(inner) => {
                self.left(*inner)?;
                self.open(*inner)?;
                self.text("*")
            }
            Node::Reference(kind, inner) => {
                let (kind, inner) = self.collapsed(*kind, *inner);
                self.as_meant(inner, |printer, id| {
                    printer.left(id)?;
                    printer.open(id)
                })?;
                self.text(kind.text())
            }
            Node::MemberPointer { class, member } => {
                self.left(*member)?;
                self.open(*member)?;
                if self.last() != b'(' {
                    self.text(" ")?;
                }
                self.print(*class)?;
                self.text("::*")
            }
            Node::Qualified(qualifier, inner) => {
                self.left(*inner)?;
                match self.has_qualifier(*inner, *qualifier) {
                    true => Some(()),
                    false => self.text(qualifier.text()),
                }
            }
            Node::Suffixed(inner, text) => {
                self.left(*inner)?;
                self.text(text)
            }
            Node::VendorQualified(inner, qualifier) => {
                self.left(*inner)?;
                self.text(" ")?;
                self.print(*qualifier)
            }
            Node::Vector { element, length } => {
                self.left(*element)?;
                self.text(" __vector(")?;
                self.print(*length)?;
                self.text(")")
            }
            Node::Array { element, .. } => self.left(*element),
            Node::Function { returns, .. } => {
                let Some(returns) = returns else { return Some(()) };
                self.left(*returns)?;
                match self.shape_within(*returns) {
                    Shape::Plain => self.text(" "),
                    Shape::Array | Shape::Function => Some(()),
                }
            }
            Node::Parameter(number) => match self.bound(id) {
                Some(bound) => self.as_meant(bound, Self::left),
                None if self.is_in_lambda => {
                    self.text("auto:")?;
                    self.number(number + 1)
                }
                None => self.missing(),
            },
            Node::Expansion(pattern) => self.expansion(*pattern),
            Node::Pack(items) => self.list(items),
            Node::Encoding { .. } => self.encoding(id),
            node => self.name_or_expression(node),
        }
    }

    fn right_of(&mut self, id: NodeId) -> Printed {
        match self.node(id) {
            Node::Pointer(inner) => {
                self.close(*inner)?;
                self.right(*inner)
            }
            Node::Reference(kind, inner) => {
                let (_, inner) = self.collapsed(*kind, *inner);
                self.as_meant(inner, |printer, id| {
                    printer.close(id)?;
                    printer.right(id)
                })
            }
            Node::MemberPointer { member, .. } => {
                self.close(*member)?;
                self.right(*member)
            }
            Node::Qualified(_, inner)
            | Node::Suffixed(inner, _)
            | Node::VendorQualified(inner, _)
            | Node::Vector { element: inner, .. } => self.right(*inner),
            Node::Array { element, length } => {
                self.text(if self.last() == b']' { "[" } else { " [" })?;
                if let Some(length) = length {
                    self.print(*length)?;
                }
                self.text("]")?;
                self.right(*element)
            }
            Node::Function { returns, parameters, qualifiers } => {
                self.parameters(parameters, qualifiers)?;
                match returns {
                    Some(returns) => self.right(*returns),
                    None => Some(()),
                }
            }
            Node::Parameter(_) => match self.bound(id) {
                Some(bound) => self.as_meant(bound, Self::right),
                None => Some(()),
            },
            _ => Some(()),
        }
    }

    /// A pointer to an array or a function stands in parentheses.
    fn open(&mut self, inner: NodeId) -> Printed {
        match self.shape(inner) {
            Shape::Plain => Some(()),
            Shape::Array => self.text(" ("),
            Shape::Function => self.text("("),
        }
    }

    fn close(&mut self, inner: NodeId) -> Printed {
        match self.shape(inner) {
            Shape::Plain => Some(()),
            Shape::Array | Shape::Function => self.text(")"),
        }
    }

    /// Of the type itself.
    fn shape(&self, id: NodeId) -> Shape {
        let mut meant = self.here(id);
        for _ in 0..MAX_DEPTH {
            meant = self.resolved(meant);
            match self.node(meant.id) {
                Node::Array { .. } => return Shape::Array,
                Node::Function { .. } => return Shape::Function,
                Node::Qualified(_, inner) => meant.id = *inner,
                _ => break,
            }
        }
        Shape::Plain
    }

    /// Of what the type leads to: whether it has a right part.
    fn shape_within(&self, id: NodeId) -> Shape {
        let mut meant = self.here(id);
        for _ in 0..MAX_DEPTH {
            meant = self.resolved(meant);
            match self.node(meant.id) {
                Node::Array { .. } => return Shape::Array,
                Node::Function { .. } => return Shape::Function,
                Node::Qualified(_, inner)
                | Node::Pointer(inner)
                | Node::Reference(_, inner)
                | Node::Suffixed(inner, _)
                | Node::VendorQualified(inner, _)
                | Node::MemberPointer { member: inner, .. } => meant.id = *inner,
                _ => break,
            }
        }
        Shape::Plain
    }

    fn here(&self, id: NodeId) -> Meant {
        Meant { id, scope: self.scope, pack_index: self.pack_index }
    }

    /// With what a node is read in.
    fn as_meant(
        &mut self,
        meant: Meant,
        print: impl FnOnce(&mut Self, NodeId) -> Printed,
    ) -> Printed {
        let outside = self.here(meant.id);
        (self.scope, self.pack_index) = (meant.scope, meant.pack_index);
        print(self, meant.id)?;
        (self.scope, self.pack_index) = (outside.scope, outside.pack_index);
        Some(())
    }

    /// What a parameter of a template stands for in the end, or the node itself.
    fn resolved(&self, meant: Meant) -> Meant {
        let mut meant = meant;
        for _ in 0..MAX_DEPTH {
            match self.bound_of(meant) {
                Some(bound) => meant = bound,
                None => break,
            }
        }
        meant
    }

    fn bound(&self, id: NodeId) -> Option<Meant> {
        self.bound_of(self.here(id))
    }

    /// What a parameter of a template stands for: of a pack, the argument that is meant.
    fn bound_of(&self, meant: Meant) -> Option<Meant> {
        let Node::Parameter(number) = self.node(meant.id) else { return None };
        if self.is_in_lambda {
            return None;
        }
        let scope = self.scopes.get(meant.scope?)?;
        let id = *scope.arguments.get(usize::try_from(*number).ok()?)?;
        let id = match (self.node(id), meant.pack_index) {
            (Node::Pack(items), Some(index)) => *items.get(index)?,
            _ => id,
        };
        Some(Meant { id, scope: scope.outer, pack_index: None })
    }

    /// A parameter stands for nothing: a pack has fewer arguments than it was expanded for, or the name is damaged.
    fn missing(&mut self) -> Printed {
        match self.pack_index {
            Some(_) => Some(()),
            None => None,
        }
    }

    /// A reference to a reference is one: `&` unless both are `&&`.
    fn collapsed(&self, kind: Reference, inner: NodeId) -> (Reference, Meant) {
        let (mut kind, mut meant) = (kind, self.here(inner));
        for _ in 0..MAX_DEPTH {
            let inner = self.resolved(meant);
            let Node::Reference(of_inner, next) = self.node(inner.id) else { break };
            if *of_inner == Reference::Lvalue {
                kind = Reference::Lvalue;
            }
            meant = Meant { id: *next, ..inner };
        }
        (kind, meant)
    }

    /// Whether `inner` has the qualifier, too: it is written once.
    fn has_qualifier(&self, inner: NodeId, wanted: Qualifier) -> bool {
        let mut meant = self.here(inner);
        for _ in 0..MAX_DEPTH {
            meant = self.resolved(meant);
            match self.node(meant.id) {
                Node::Qualified(qualifier, _) if *qualifier == wanted => return true,
                Node::Qualified(_, inner) => meant.id = *inner,
                _ => break,
            }
        }
        false
    }

    fn parameters(&mut self, types: &[NodeId], qualifiers: &FunctionQualifiers) -> Printed {
        self.text("(")?;
        self.list(types)?;
        self.text(")")?;
        self.qualifiers(qualifiers)
    }

    fn qualifiers(&mut self, qualifiers: &FunctionQualifiers) -> Printed {
        for qualifier in qualifiers.this.iter().rev() {
            self.text(qualifier.text())?;
        }
        if let Some(reference) = qualifiers.reference {
            self.text(" ")?;
            self.text(reference.text())?;
        }
        if qualifiers.is_transaction_safe {
            self.text(" transaction_safe")?;
        }
        match &qualifiers.exceptions {
            None => Some(()),
            Some(Exceptions::Noexcept) => self.text(" noexcept"),
            Some(Exceptions::NoexceptIf(condition)) => {
                self.text(" noexcept(")?;
                self.print(*condition)?;
                self.text(")")
            }
            Some(Exceptions::Throws(types)) => {
                self.text(" throw(")?;
                self.list(types)?;
                self.text(")")
            }
        }
    }

    /// A function: what it returns, its name, and its parameters.
    fn encoding(&mut self, id: NodeId) -> Printed {
        let Node::Encoding { name, returns, parameters, qualifiers, arguments } = self.node(id)
        else {
            return Some(());
        };
        let outside = self.scope;
        self.scopes.push(Scope { arguments, outer: outside });
        self.scope = Some(self.scopes.len() - 1);
        let outer = std::mem::replace(&mut self.return_type, ReturnType::Shown);
        let returns = returns.filter(|_| outer == ReturnType::Shown);
        if let Some(returns) = returns {
            self.left(returns)?;
            if self.shape_within(returns) == Shape::Plain {
                self.text(" ")?;
            }
        }
        self.print(*name)?;
        self.parameters(parameters, qualifiers)?;
        if let Some(returns) = returns {
            self.right(returns)?;
        }
        self.scope = outside;
        Some(())
    }

    /// The pattern for each argument of its pack.
    fn expansion(&mut self, pattern: NodeId) -> Printed {
        let Some(length) = self.pack_length(pattern) else {
            self.operand(pattern)?;
            return self.text("...");
        };
        let outside = self.pack_index;
        let mut is_first = true;
        for index in 0..length {
            self.pack_index = Some(index);
            let before = self.out.len();
            if !is_first {
                self.text(", ")?;
            }
            let from = self.out.len();
            self.print(pattern)?;
            match self.out.len() == from {
                true => self.out.truncate(before),
                false => is_first = false,
            }
        }
        self.pack_index = outside;
        Some(())
    }

    /// Of the first pack in `pattern`.
    pub fn pack_length(&mut self, pattern: NodeId) -> Option<usize> {
        let mut found = None;
        let _ = self.deeper(|printer| {
            found = printer.pack_length_of(pattern);
            Some(())
        });
        found
    }

    fn pack_length_of(&mut self, pattern: NodeId) -> Option<usize> {
        if let Node::Parameter(_) = self.node(pattern) {
            let bound = self.bound_of(Meant { pack_index: None, ..self.here(pattern) })?;
            return match self.node(bound.id) {
                Node::Pack(items) => Some(items.len()),
                _ => None,
            };
        }
        let mut parts = Vec::new();
        self.node(pattern).parts(&mut parts);
        parts.into_iter().find_map(|part| self.pack_length(part))
    }

    pub fn in_lambda(&mut self, print: impl FnOnce(&mut Self) -> Printed) -> Printed {
        let outside = std::mem::replace(&mut self.is_in_lambda, true);
        print(self)?;
        self.is_in_lambda = outside;
        Some(())
    }
}
