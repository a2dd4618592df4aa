//! Expressions, as they stand in template arguments, `decltype` and the lengths of arrays.
//!
//! Source: Itanium C++ ABI, 5.1.6 "Expressions".

use super::names::Owner;
use super::node::{Designator, Node, NodeId, Nodes};
use super::operators::{Operands, Operator, by_code};
use super::parser::{Parser, Scopes};

impl<'a> Parser<'a> {
    pub fn expression(&mut self) -> Option<NodeId> {
        self.nested(Self::any_expression)
    }

    fn any_expression(&mut self) -> Option<NodeId> {
        match (self.peek(), self.peek_at(1)) {
            (b'L', _) => self.literal(),
            (b'T', _) => self.template_parameter(),
            (b'f', b'p') => self.function_parameter(),
            // Of a function further out; else a fold.
            (b'f', b'L') if self.peek_at(2).is_ascii_digit() => self.function_parameter(),
            (b's', b'r') => self.member_of_unknown(),
            (b's', b'p') => {
                self.take(2)?;
                let pattern = self.expression()?;
                self.add(Node::Expansion(pattern))
            }
            (b'o', b'n') => {
                self.take(2)?;
                self.name_with_arguments()
            }
            (b'0'..=b'9', _) => self.name_with_arguments(),
            (b'i', b'l') => {
                self.take(2)?;
                let values = self.until("E", Self::braced)?;
                self.add(Node::Braces(None, values))
            }
            (b't', b'l') => {
                self.take(2)?;
                let of = self.ty()?;
                let values = self.until("E", Self::braced)?;
                self.add(Node::Braces(Some(of), values))
            }
            (b'f', kind @ (b'l' | b'r' | b'L' | b'R')) => {
                self.take(2)?;
                self.fold(kind)
            }
            (b'c', b'v') => self.cast(),
            (b'g', b's') if matches!(self.peek_at(2), b'n') => {
                // `::new` shows like `new`.
                self.take(2)?;
                self.expression()
            }
            _ => {
                let operator = by_code(self.take(2)?)?;
                self.operands(operator)
            }
        }
    }

    fn operands(&mut self, operator: &'static Operator) -> Option<NodeId> {
        match operator.operands {
            Operands::None => self.add(Node::Name(operator.text)),
            Operands::Prefix => {
                let operand = self.expression()?;
                self.add(Node::Prefix(operator, operand))
            }
            Operands::Increment => {
                let is_prefix = self.eat("_");
                let operand = self.expression()?;
                self.add(match is_prefix {
                    true => Node::Prefix(operator, operand),
                    false => Node::Postfix(operator, operand),
                })
            }
            Operands::Parenthesized => {
                let operand = self.expression()?;
                self.add(Node::InParentheses(operator, operand))
            }
            Operands::OfType => {
                let operand = self.ty()?;
                self.add(Node::InParentheses(operator, operand))
            }
            Operands::Infix => {
                let (left, right) = (self.expression()?, self.expression()?);
                self.add(Node::Infix(operator, left, right))
            }
            Operands::Index => {
                let (of, index) = (self.expression()?, self.expression()?);
                self.add(Node::Index(of, index))
            }
            Operands::Member => {
                let of = self.expression()?;
                let member = match self.peek() {
                    b's' | b'T' | b'f' | b'g' | b'L' => self.expression()?,
                    _ => self.name_with_arguments()?,
                };
                self.add(Node::Infix(operator, of, member))
            }
            Operands::NamedCast => {
                let to = self.ty()?;
                let value = self.expression()?;
                self.add(Node::NamedCast(operator, to, value))
            }
            Operands::Call => {
                let function = self.expression()?;
                let arguments = self.until("E", Self::expression)?;
                self.add(Node::Call(function, arguments))
            }
            Operands::Conditional => {
                let (condition, then) = (self.expression()?, self.expression()?);
                let otherwise = self.expression()?;
                self.add(Node::Conditional(condition, then, otherwise))
            }
            Operands::New => self.new_object(operator),
            Operands::PackLength => {
                let pack = match self.peek() {
                    b'T' => self.template_parameter()?,
                    _ => self.expression()?,
                };
                self.add(Node::PackLength(pack))
            }
            Operands::ArgumentCount => {
                let arguments = self.until("E", Self::template_argument)?;
                self.add(Node::ArgumentCount(arguments))
            }
        }
    }

    fn new_object(&mut self, operator: &'static Operator) -> Option<NodeId> {
        let placement = self.until("_", Self::expression)?;
        let of = self.ty()?;
        let initializer = if self.eat("pi") {
            let values = self.until("E", Self::expression)?;
            Some(self.add(Node::Parenthesized(values))?)
        } else if self.rest().starts_with("il") {
            Some(self.expression()?)
        } else {
            self.expect("E")?;
            None
        };
        self.add(Node::New { operator, placement, of, initializer })
    }

    /// `(type)value`, or of several values.
    fn cast(&mut self) -> Option<NodeId> {
        self.expect("cv")?;
        let to = self.ty()?;
        if self.eat("_") {
            let values = self.until("E", Self::expression)?;
            return self.add(Node::CastOfMany(to, values));
        }
        let value = self.expression()?;
        self.add(Node::Cast(to, value))
    }

    fn fold(&mut self, kind: u8) -> Option<NodeId> {
        let operator = by_code(self.take(2)?)?;
        let first = self.expression()?;
        let second = match kind {
            b'L' | b'R' => Some(self.expression()?),
            _ => None,
        };
        self.add(Node::Fold { kind, operator, first, second })
    }

    /// A value between braces, and what it is for.
    fn braced(&mut self) -> Option<NodeId> {
        let (kind, first, last) = match (self.peek(), self.peek_at(1)) {
            (b'd', b'i') => {
                self.take(2)?;
                (Designator::Member, self.source_name()?, None)
            }
            (b'd', b'x') => {
                self.take(2)?;
                (Designator::Index, self.expression()?, None)
            }
            (b'd', b'X') => {
                self.take(2)?;
                (Designator::Range, self.expression()?, Some(self.expression()?))
            }
            _ => return self.expression(),
        };
        let value = self.nested(Self::braced)?;
        self.add(Node::Designated { first, last, kind, value })
    }

    /// `fpT` is `this`, `fp_` the first parameter.
    fn function_parameter(&mut self) -> Option<NodeId> {
        if self.eat("fL") {
            // How many functions further out.
            self.number()?;
            self.expect("p")?;
        } else {
            self.expect("fp")?;
            if self.eat("T") {
                return self.add(Node::Name("this"));
            }
        }
        self.qualifiers();
        let number = self.compact_number()?;
        self.add(Node::FunctionParameter(number + 1))
    }

    /// A member of a type that is not known before the template is instantiated.
    fn member_of_unknown(&mut self) -> Option<NodeId> {
        self.expect("sr")?;
        if self.scopes == Scopes::EndWithE && self.peek().is_ascii_digit() {
            return self.further_levels(None);
        }
        let of_type = self.attempt(|parser| {
            let scope = parser.ty()?;
            let name = parser.name_with_arguments()?;
            parser.add(Node::Scoped(scope, name))
        });
        of_type.or_else(|| {
            if !self.eat("N") {
                return self.further_levels(None);
            }
            let scope = self.level_of_unknown()?;
            self.further_levels(Some(scope))
        })
    }

    /// Levels until `E`, and a name.
    fn further_levels(&mut self, scope: Option<NodeId>) -> Option<NodeId> {
        let mut scope = scope;
        loop {
            let is_last = self.eat("E");
            let mut level = self.base_name_of_unknown()?;
            if let Some(scope) = scope {
                level = self.add(Node::Scoped(scope, level))?;
            }
            if self.peek() == b'I' {
                let arguments = self.template_arguments(Owner::Type)?;
                level = self.add(Node::Template(level, arguments))?;
            }
            if is_last {
                return Some(level);
            }
            scope = Some(level);
        }
    }

    fn level_of_unknown(&mut self) -> Option<NodeId> {
        match (self.peek(), self.peek_at(1)) {
            (b'T' | b'S', _) | (b'D', b't' | b'T') => self.ty(),
            _ => self.name_with_arguments(),
        }
    }

    fn name_with_arguments(&mut self) -> Option<NodeId> {
        let name = self.base_name_of_unknown()?;
        if self.peek() != b'I' {
            return Some(name);
        }
        let arguments: Nodes = self.template_arguments(Owner::Type)?;
        self.add(Node::Template(name, arguments))
    }

    fn base_name_of_unknown(&mut self) -> Option<NodeId> {
        if !self.eat("dn") {
            self.eat("on");
            return self.unqualified_name(None);
        }
        let class = match self.peek() {
            b'0'..=b'9' => self.name_with_arguments()?,
            _ => self.ty()?,
        };
        self.add(Node::Destructor(class))
    }

    /// `Li8E`, `LZ…E` and `L_Z…E`.
    pub fn literal(&mut self) -> Option<NodeId> {
        self.expect("L")?;
        if self.peek() == b'Z' || self.rest().starts_with("_Z") {
            self.eat("_");
            self.expect("Z")?;
            let function = self.encoding()?;
            self.expect("E")?;
            return Some(function);
        }
        let of = self.ty()?;
        if matches!(self.node(of), Node::Builtin("decltype(nullptr)", _)) {
            self.eat("0");
            self.expect("E")?;
            return Some(of);
        }
        // A lambda has no value that is written.
        if self.peek() == b'E' && matches!(self.node(of), Node::Lambda { .. } | Node::Local(..)) {
            self.take(1)?;
            return Some(of);
        }
        let is_negative = self.eat("n");
        let digits = self.take_while(|byte| byte != b'E');
        self.expect("E")?;
        self.add(Node::Literal { of, is_negative, digits })
    }
}
