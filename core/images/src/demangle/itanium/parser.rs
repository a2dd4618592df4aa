//! Where in a mangled name we are, and what was found so far.

use super::node::{Node, NodeId, Nodes};

/// Types, names and expressions nest at most this deep. The deepest in Chromium is below 50.
const MAX_DEPTH: u32 = 128;
/// More than a name of 16 KiB needs. What is tried twice counts twice.
const MAX_STEPS: u32 = 1 << 16;

/// Where template arguments may be those of the operator whose type they follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    Name,
    /// The type that an operator converts to.
    Conversion,
}

/// How a scope that is a name is written in `sr3foo3bar`: GCC writes a type and a name, Clang names, `E` and a
/// name. Both can be read until something behind them cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scopes {
    AreTypes,
    EndWithE,
}

pub struct Parser<'a> {
    text: &'a str,
    at: usize,
    nodes: Vec<Node<'a>>,
    /// What `S_`, `S0_`, … stand for.
    pub substitutions: Vec<NodeId>,
    /// Those of the innermost template in the function's own name.
    pub arguments: Nodes,
    pub within: Within,
    pub scopes: Scopes,
    depth: u32,
    steps: u32,
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a str, scopes: Scopes) -> Self {
        Self {
            text,
            at: 0,
            nodes: Vec::new(),
            substitutions: Vec::new(),
            arguments: Nodes::default(),
            within: Within::Name,
            scopes,
            depth: 0,
            steps: 0,
        }
    }

    pub fn nodes(&self) -> &[Node<'a>] {
        &self.nodes
    }

    pub fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next byte; 0 at the end.
    pub fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    pub fn peek_at(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Goes past `text` if that is next.
    pub fn eat(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    pub fn expect(&mut self, text: &str) -> Option<()> {
        self.eat(text).then_some(())
    }

    /// The next so many bytes.
    pub fn take(&mut self, length: usize) -> Option<&'a str> {
        let end = self.at.checked_add(length)?;
        let taken = self.text.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// Bytes as long as they are `wanted`.
    pub fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'a str {
        let length = self.rest().bytes().take_while(|&byte| wanted(byte)).count();
        self.take(length).unwrap_or_default()
    }

    pub fn add(&mut self, node: Node<'a>) -> Option<NodeId> {
        self.step()?;
        self.nodes.push(node);
        Some(NodeId(u32::try_from(self.nodes.len() - 1).ok()?))
    }

    pub fn node(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id.0 as usize]
    }

    /// What was found is the next to which `S…_` can refer.
    pub fn substitutable(&mut self, id: NodeId) -> NodeId {
        self.substitutions.push(id);
        id
    }

    fn step(&mut self) -> Option<()> {
        self.steps += 1;
        (self.steps <= MAX_STEPS).then_some(())
    }

    /// One level deeper.
    pub fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.step()?;
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// With `within` as long as `parse` takes.
    pub fn inside<T>(
        &mut self,
        within: Within,
        parse: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        let outside = std::mem::replace(&mut self.within, within);
        let parsed = parse(self);
        self.within = outside;
        parsed
    }

    /// Tries `parse`, and begins again where it failed.
    pub fn attempt<T>(&mut self, parse: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let (at, substitutions) = (self.at, self.substitutions.len());
        let (depth, within) = (self.depth, self.within);
        let parsed = parse(self);
        if parsed.is_none() {
            self.at = at;
            self.substitutions.truncate(substitutions);
            (self.depth, self.within) = (depth, within);
        }
        parsed
    }

    /// Items until `end`, which is gone past.
    pub fn until(
        &mut self,
        end: &str,
        item: impl Fn(&mut Self) -> Option<NodeId>,
    ) -> Option<Nodes> {
        let mut items = Vec::new();
        while !self.eat(end) {
            items.push(item(self)?);
        }
        Some(items.into())
    }

    /// `[n] <digits>`.
    pub fn number(&mut self) -> Option<(bool, u64)> {
        let is_negative = self.eat("n");
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        Some((is_negative, digits.parse().ok()?))
    }

    /// `_` is 0, `0_` is 1.
    pub fn compact_number(&mut self) -> Option<u64> {
        if self.eat("_") {
            return Some(0);
        }
        let (is_negative, number) = self.number()?;
        self.expect("_")?;
        // No name counts further.
        let number = u32::try_from(number).ok()?;
        (!is_negative).then_some(u64::from(number) + 1)
    }

    /// `_` is 0, `0_` is 1, `Z_` is 36: digits and capitals.
    pub fn sequence_number(&mut self) -> Option<usize> {
        if self.eat("_") {
            return Some(0);
        }
        let digits = self.take_while(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        self.expect("_")?;
        usize::from_str_radix(digits, 36).ok()?.checked_add(1)
    }
}
