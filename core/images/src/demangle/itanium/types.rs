//! Types.
//!
//! Source: Itanium C++ ABI, 5.1.5 "Type encodings".

use super::names::Owner;
use super::node::{
    Exceptions, FunctionQualifiers, Node, NodeId, Nodes, Qualifier, Reference, ValueStyle,
};
use super::operators::{builtin, builtin_of_two};
use super::parser::{Parser, Within};

impl<'a> Parser<'a> {
    pub fn ty(&mut self) -> Option<NodeId> {
        self.nested(Self::any_type)
    }

    fn any_type(&mut self) -> Option<NodeId> {
        let found = match (self.peek(), self.peek_at(1)) {
            (b'r' | b'V' | b'K', _) | (b'D', b'o' | b'O' | b'w' | b'x') => self.qualified()?,
            (b'a'..=b'z', _) if self.peek() != b'u' => {
                let (name, style) = builtin(self.peek())?;
                self.take(1)?;
                return self.add(Node::Builtin(name, style));
            }
            (b'u', _) => {
                self.take(1)?;
                let mut name = self.source_name()?;
                if self.peek() == b'I' {
                    let arguments = self.template_arguments(Owner::Type)?;
                    name = self.add(Node::Template(name, arguments))?;
                }
                name
            }
            (b'F', _) => self.function_type(FunctionQualifiers::default())?,
            (b'A', _) => self.array()?,
            (b'M', _) => {
                self.take(1)?;
                let class = self.ty()?;
                let member = self.ty()?;
                self.add(Node::MemberPointer { class, member })?
            }
            (b'T', b's' | b'u' | b'e') => {
                // `struct`, `union` or `enum`, not shown.
                self.take(2)?;
                self.name(Owner::Type)?.0
            }
            (b'T', _) => self.parameter_type()?,
            (b'S', next) if next != b't' => {
                let known = self.substitution()?;
                match self.arguments_of_type(known)? {
                    template if template == known => return Some(known),
                    template => template,
                }
            }
            (b'P', _) => self.wrapped(Node::Pointer)?,
            (b'R', _) => self.wrapped(|inner| Node::Reference(Reference::Lvalue, inner))?,
            (b'O', _) => self.wrapped(|inner| Node::Reference(Reference::Rvalue, inner))?,
            (b'C', _) => self.wrapped(|inner| Node::Suffixed(inner, " _Complex"))?,
            (b'G', _) => self.wrapped(|inner| Node::Suffixed(inner, " _Imaginary"))?,
            (b'U', next) if !matches!(next, b'l' | b't') => {
                self.take(1)?;
                let mut qualifier = self.source_name()?;
                if self.peek() == b'I' {
                    let arguments = self.template_arguments(Owner::Type)?;
                    qualifier = self.add(Node::Template(qualifier, arguments))?;
                }
                let inner = self.ty()?;
                self.add(Node::VendorQualified(inner, qualifier))?
            }
            (b'D', b't' | b'T') => self.decltype()?,
            (b'D', b'p') => {
                self.take(2)?;
                let pattern = self.ty()?;
                self.add(Node::Expansion(pattern))?
            }
            (b'D', b'v') => self.vector()?,
            (b'D', b'F') => return self.float_of_bits(),
            (b'D', b'B' | b'U') => {
                let before = if self.take(2)? == "DB" { "_BitInt(" } else { "unsigned _BitInt(" };
                let length = self.length()?;
                self.expect("_")?;
                return self.add(Node::Sized(before, length, ")"));
            }
            (b'D', code) => {
                let (name, style) = builtin_of_two(code)?;
                self.take(2)?;
                return self.add(Node::Builtin(name, style));
            }
            _ => self.name(Owner::Type)?.0,
        };
        Some(self.substitutable(found))
    }

    fn wrapped(&mut self, wrap: impl Fn(NodeId) -> Node<'a>) -> Option<NodeId> {
        self.take(1)?;
        let inner = self.ty()?;
        self.add(wrap(inner))
    }

    /// In the order in which they are mangled.
    pub fn qualifiers(&mut self) -> Vec<Qualifier> {
        let mut found = Vec::new();
        loop {
            found.push(match self.peek() {
                b'r' => Qualifier::Restrict,
                b'V' => Qualifier::Volatile,
                b'K' => Qualifier::Const,
                _ => return found,
            });
            self.take(1);
        }
    }

    fn qualified(&mut self) -> Option<NodeId> {
        let mut qualifiers = FunctionQualifiers { this: self.qualifiers(), ..Default::default() };
        loop {
            if self.eat("Do") {
                qualifiers.exceptions = Some(Exceptions::Noexcept);
            } else if self.eat("DO") {
                let condition = self.inside(Within::Name, Self::expression)?;
                self.expect("E")?;
                qualifiers.exceptions = Some(Exceptions::NoexceptIf(condition));
            } else if self.eat("Dw") {
                qualifiers.exceptions = Some(Exceptions::Throws(self.until("E", Self::ty)?));
            } else if self.eat("Dx") {
                qualifiers.is_transaction_safe = true;
            } else {
                break;
            }
        }
        // Those of a function are of its `this`.
        if self.peek() == b'F' {
            return self.function_type(qualifiers);
        }
        let mut qualified = self.ty()?;
        for &qualifier in qualifiers.this.iter().rev() {
            qualified = self.add(Node::Qualified(qualifier, qualified))?;
        }
        Some(qualified)
    }

    fn function_type(&mut self, mut qualifiers: FunctionQualifiers) -> Option<NodeId> {
        self.expect("F")?;
        // `extern "C"`.
        self.eat("Y");
        let returns = Some(self.ty()?);
        let parameters = self.parameters()?;
        qualifiers.reference = match self.peek() {
            b'R' => Some(Reference::Lvalue),
            b'O' => Some(Reference::Rvalue),
            _ => None,
        };
        if qualifiers.reference.is_some() {
            self.take(1)?;
        }
        self.expect("E")?;
        self.add(Node::Function { returns, parameters, qualifiers })
    }

    /// Types of parameters, at least one; of a lone `void` there is none.
    pub fn parameters(&mut self) -> Option<Nodes> {
        let mut types = Vec::new();
        loop {
            match (self.peek(), self.peek_at(1)) {
                (0 | b'E' | b'.' | b'@' | b'Q', _) | (b'R' | b'O', b'E') => break,
                _ => types.push(self.ty()?),
            }
        }
        match types[..] {
            [] => None,
            [only] if matches!(self.node(only), Node::Builtin("void", _)) => Some([].into()),
            _ => Some(types.into()),
        }
    }

    fn array(&mut self) -> Option<NodeId> {
        self.expect("A")?;
        let length = match self.peek() {
            b'_' => None,
            _ => Some(self.length()?),
        };
        self.expect("_")?;
        let element = self.ty()?;
        self.add(Node::Array { element, length })
    }

    fn vector(&mut self) -> Option<NodeId> {
        self.expect("Dv")?;
        let length = match self.eat("_") {
            true => self.inside(Within::Name, Self::expression)?,
            false => self.length()?,
        };
        self.expect("_")?;
        let element = self.ty()?;
        self.add(Node::Vector { element, length })
    }

    /// A number, or an expression.
    fn length(&mut self) -> Option<NodeId> {
        match self.peek() {
            b'0'..=b'9' => {
                let digits = self.take_while(|byte| byte.is_ascii_digit());
                self.add(Node::Name(digits))
            }
            _ => self.inside(Within::Name, Self::expression),
        }
    }

    /// `DF16_`, `DF32x`, `DF16b`.
    fn float_of_bits(&mut self) -> Option<NodeId> {
        self.expect("DF")?;
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        let bits = self.add(Node::Name(digits))?;
        match self.take(1)? {
            "b" if digits == "16" => self.add(Node::Builtin("std::bfloat16_t", ValueStyle::Bits)),
            "x" => self.add(Node::Sized("_Float", bits, "x")),
            "_" => self.add(Node::Sized("_Float", bits, "")),
            _ => None,
        }
    }

    fn parameter_type(&mut self) -> Option<NodeId> {
        let parameter = self.template_parameter()?;
        let parameters = self.substitutions.len();
        self.substitutable(parameter);
        let found = self.arguments_of_type(parameter)?;
        if found == parameter {
            // The caller adds it.
            self.substitutions.truncate(parameters);
        }
        Some(found)
    }

    /// A template with its arguments, if there are any. Those of an operator that converts to `T` stand where those of
    /// `T` would: what is followed by more arguments has its own.
    fn arguments_of_type(&mut self, template: NodeId) -> Option<NodeId> {
        if self.peek() != b'I' {
            return Some(template);
        }
        let arguments = match self.within {
            Within::Name => Some(self.template_arguments(Owner::Type)?),
            Within::Conversion => self.attempt(|parser| {
                let arguments = parser.template_arguments(Owner::Type)?;
                (parser.peek() == b'I').then_some(arguments)
            }),
        };
        match arguments {
            Some(arguments) => self.add(Node::Template(template, arguments)),
            None => Some(template),
        }
    }

    pub fn decltype(&mut self) -> Option<NodeId> {
        if !self.eat("Dt") {
            self.expect("DT")?;
        }
        let of = self.inside(Within::Name, Self::expression)?;
        self.expect("E")?;
        self.add(Node::Decltype(of))
    }
}
