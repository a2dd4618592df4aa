//! Names of functions, variables and types, and what compilers make beside them.
//!
//! Source: Itanium C++ ABI, 5.1.2 to 5.1.4.

use super::node::{FunctionQualifiers, Node, NodeId, Nodes, Reference};
use super::operators::{abbreviation, by_code};
use super::parser::{Parser, Within};

/// Whose name it is: parameters of templates stand for the arguments in a function's own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Function,
    Type,
}

/// A name, and what stands behind the parameters if it is a function's.
type Name = (NodeId, FunctionQualifiers);

impl<'a> Parser<'a> {
    /// All of a symbol but its version.
    pub fn symbol(&mut self) -> Option<NodeId> {
        let mut symbol = match self.eat("_GLOBAL_") {
            true => self.of_all_globals()?,
            false => {
                // Mach-O has one more.
                if !self.eat("_Z") {
                    self.expect("__Z")?;
                }
                self.encoding()?
            }
        };
        while self.peek() == b'.' {
            let suffix = self.clone_suffix()?;
            symbol = self.add(Node::Clone(symbol, suffix))?;
        }
        Some(symbol)
    }

    /// What runs the constructors or destructors of a file's globals.
    fn of_all_globals(&mut self) -> Option<NodeId> {
        if !matches!(self.take(1)?, "." | "_" | "$") {
            return None;
        }
        let what = match self.take(2)? {
            "I_" => "global constructors keyed to ",
            "D_" => "global destructors keyed to ",
            _ => return None,
        };
        let of = match self.eat("_Z") {
            true => self.encoding()?,
            false => {
                let name = self.take_while(|_| true);
                self.add(Node::Name(name))?
            }
        };
        self.add(Node::Special(what, of))
    }

    /// `.cold`, `.constprop.0`, `.llvm.123`.
    fn clone_suffix(&mut self) -> Option<&'a str> {
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let text = self.rest();
        let bytes = text.as_bytes();
        let count = |from: usize, wanted: &dyn Fn(u8) -> bool| {
            bytes.iter().skip(from).take_while(|&&byte| wanted(byte)).count()
        };
        let mut end = match count(1, &is_word) {
            0 => return None,
            length => 1 + length,
        };
        while bytes.get(end) == Some(&b'.') {
            match count(end + 1, &|byte| byte.is_ascii_digit()) {
                0 => break,
                length => end += 1 + length,
            }
        }
        self.take(end)
    }

    /// A function with its type, a variable, or what a compiler made.
    pub fn encoding(&mut self) -> Option<NodeId> {
        self.nested(|parser| {
            if matches!(parser.peek(), b'G' | b'T') {
                return parser.special_name();
            }
            let outside = (std::mem::take(&mut parser.arguments), parser.within);
            parser.within = Within::Name;
            let (name, qualifiers) = parser.name(Owner::Function)?;
            let encoding = match parser.peek() {
                0 | b'E' | b'.' | b'@' => name,
                _ => parser.function(name, qualifiers)?,
            };
            (parser.arguments, parser.within) = outside;
            Some(encoding)
        })
    }

    fn function(&mut self, name: NodeId, qualifiers: FunctionQualifiers) -> Option<NodeId> {
        let has_return_type = self.eat("J") || self.has_return_type(name);
        let returns = if has_return_type { Some(self.ty()?) } else { None };
        let parameters = self.parameters()?;
        self.constraint()?;
        let arguments = self.arguments.clone();
        self.add(Node::Encoding { name, returns, parameters, qualifiers, arguments })
    }

    /// Only of templates, and not of those whose name says it.
    fn has_return_type(&self, name: NodeId) -> bool {
        match *self.node(name) {
            Node::Template(of, _) => !self.is_without_return_type(of),
            Node::Local(_, name) => self.has_return_type(name),
            _ => false,
        }
    }

    fn is_without_return_type(&self, name: NodeId) -> bool {
        match *self.node(name) {
            Node::Scoped(_, name) | Node::Local(_, name) | Node::Tagged(name, _) => {
                self.is_without_return_type(name)
            }
            Node::Constructor(_) | Node::Destructor(_) | Node::Conversion(_) => true,
            _ => false,
        }
    }

    fn special_name(&mut self) -> Option<NodeId> {
        let what = self.take(2)?;
        let of_type = |parser: &mut Self, text| {
            let of = parser.ty()?;
            parser.add(Node::Special(text, of))
        };
        let of_name = |parser: &mut Self, text| {
            let (of, _) = parser.name(Owner::Function)?;
            parser.add(Node::Special(text, of))
        };
        let of_encoding = |parser: &mut Self, text| {
            let of = parser.encoding()?;
            parser.add(Node::Special(text, of))
        };
        match what {
            "TV" => of_type(self, "vtable for "),
            "TT" => of_type(self, "VTT for "),
            "TI" => of_type(self, "typeinfo for "),
            "TS" => of_type(self, "typeinfo name for "),
            "TF" => of_type(self, "typeinfo fn for "),
            "TJ" => of_type(self, "java Class for "),
            "TH" => of_name(self, "TLS init function for "),
            "TW" => of_name(self, "TLS wrapper function for "),
            "TA" => {
                let of = self.template_argument()?;
                self.add(Node::Special("template parameter object for ", of))
            }
            "TC" => {
                let derived = self.ty()?;
                self.number()?;
                self.expect("_")?;
                let base = self.ty()?;
                self.add(Node::ConstructionVtable { base, derived })
            }
            "Th" => {
                self.one_offset()?;
                of_encoding(self, "non-virtual thunk to ")
            }
            "Tv" => {
                self.two_offsets()?;
                of_encoding(self, "virtual thunk to ")
            }
            "Tc" => {
                self.any_offset()?;
                self.any_offset()?;
                of_encoding(self, "covariant return thunk to ")
            }
            "GV" => of_name(self, "guard variable for "),
            "GA" => of_encoding(self, "hidden alias for "),
            "GT" => {
                let text = match self.take(1)? {
                    "n" => "non-transaction clone for ",
                    _ => "transaction clone for ",
                };
                of_encoding(self, text)
            }
            "GR" => {
                let (of, _) = self.name(Owner::Function)?;
                let number = match self.peek() {
                    0 | b'.' => 0,
                    _ => self.attempt(Self::sequence_number).or_else(|| {
                        // GCC leaves the `_` out.
                        let (_, number) = self.number()?;
                        usize::try_from(number).ok()
                    })?,
                };
                self.add(Node::ReferenceTemporary(number as u64, of))
            }
            _ => None,
        }
    }

    fn any_offset(&mut self) -> Option<()> {
        match self.take(1)? {
            "h" => self.one_offset(),
            "v" => self.two_offsets(),
            _ => None,
        }
    }

    fn one_offset(&mut self) -> Option<()> {
        self.number()?;
        self.expect("_")
    }

    fn two_offsets(&mut self) -> Option<()> {
        self.one_offset()?;
        self.one_offset()
    }

    pub fn name(&mut self, owner: Owner) -> Option<Name> {
        let name = match (self.peek(), self.peek_at(1)) {
            (b'N', _) => return self.nested_name(owner),
            (b'Z', _) => return self.local_name(owner),
            (b'S', next) if next != b't' => {
                let template = self.substitution()?;
                let arguments = self.template_arguments(owner)?;
                self.add(Node::Template(template, arguments))?
            }
            _ => {
                let mut name = self.unscoped_name()?;
                if self.peek() == b'I' {
                    self.substitutable(name);
                    let arguments = self.template_arguments(owner)?;
                    name = self.add(Node::Template(name, arguments))?;
                }
                name
            }
        };
        Some((name, FunctionQualifiers::default()))
    }

    fn unscoped_name(&mut self) -> Option<NodeId> {
        if !self.eat("St") {
            return self.unqualified_name(None);
        }
        let std = self.add(Node::Name("std"))?;
        let name = self.unqualified_name(None)?;
        self.add(Node::Scoped(std, name))
    }

    fn nested_name(&mut self, owner: Owner) -> Option<Name> {
        self.expect("N")?;
        let mut qualifiers =
            FunctionQualifiers { this: self.qualifiers(), ..FunctionQualifiers::default() };
        qualifiers.reference = match self.peek() {
            b'R' => Some(Reference::Lvalue),
            b'O' => Some(Reference::Rvalue),
            _ => None,
        };
        if qualifiers.reference.is_some() {
            self.take(1)?;
        }
        // A member function whose object is a parameter.
        self.eat("H");
        let mut scope = None;
        while !self.eat("E") {
            scope = Some(self.next_of_nested(scope, owner)?);
        }
        Some((scope?, qualifiers))
    }

    /// What stands in `scope`, or its template arguments.
    fn next_of_nested(&mut self, scope: Option<NodeId>, owner: Owner) -> Option<NodeId> {
        let next = match (self.peek(), self.peek_at(1)) {
            // What is in the initializer of a member.
            (b'M', _) => {
                self.take(1)?;
                return scope;
            }
            (b'I', _) => {
                let arguments = self.template_arguments(owner)?;
                let template = self.add(Node::Template(scope?, arguments))?;
                return Some(self.unless_last(template));
            }
            (b'S', b't') => {
                self.take(2)?;
                let std = self.add(Node::Name("std"))?;
                return self.within_scope(scope, std);
            }
            (b'S', _) => {
                let known = self.substitution()?;
                return self.within_scope(scope, known);
            }
            (b'T', _) => self.template_parameter()?,
            (b'D', b't' | b'T') => self.decltype()?,
            _ => self.unqualified_name(scope)?,
        };
        let name = self.within_scope(scope, next)?;
        Some(self.unless_last(name))
    }

    fn within_scope(&mut self, scope: Option<NodeId>, name: NodeId) -> Option<NodeId> {
        match scope {
            Some(scope) => self.add(Node::Scoped(scope, name)),
            None => Some(name),
        }
    }

    /// The last of a nested name is what the name is of, and no scope of anything.
    fn unless_last(&mut self, name: NodeId) -> NodeId {
        if self.peek() != b'E' {
            self.substitutable(name);
        }
        name
    }

    fn local_name(&mut self, owner: Owner) -> Option<Name> {
        self.expect("Z")?;
        let function = self.encoding()?;
        self.expect("E")?;
        // What a function returns is not part of the names in it.
        let function = match self.node(function).clone() {
            Node::Encoding { name, parameters, qualifiers, arguments, .. } => {
                self.add(Node::Encoding { name, returns: None, parameters, qualifiers, arguments })?
            }
            _ => function,
        };
        if self.eat("s") {
            self.discriminator();
            let literal = self.add(Node::Name("string literal"))?;
            let name = self.add(Node::Local(function, literal))?;
            return Some((name, FunctionQualifiers::default()));
        }
        let argument = if self.eat("d") { Some(self.compact_number()?) } else { None };
        let (mut name, qualifiers) = self.name(owner)?;
        self.discriminator();
        if let Some(number) = argument {
            name = self.add(Node::DefaultArgument(number + 1, name))?;
        }
        Some((self.add(Node::Local(function, name))?, qualifiers))
    }

    /// Tells names in one function apart; not shown.
    fn discriminator(&mut self) {
        self.attempt(|parser| {
            parser.expect("_")?;
            let digits = match parser.eat("_") {
                true => {
                    let digits = parser.take_while(|byte| byte.is_ascii_digit());
                    parser.expect("_")?;
                    digits
                }
                false => parser.take(1)?,
            };
            digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(())
        });
    }

    /// A name without what it is in. `scope` is, and gives constructors their name.
    pub fn unqualified_name(&mut self, scope: Option<NodeId>) -> Option<NodeId> {
        // A friend that is declared in a class.
        self.eat("F");
        let mut name = match (self.peek(), self.peek_at(1)) {
            (b'0'..=b'9', _) => self.source_name()?,
            (b'a'..=b'z', _) => self.operator_name()?,
            (b'C', _) => self.constructor(scope?)?,
            (b'D', b'C') => {
                self.take(2)?;
                let names = self.until("E", Self::source_name)?;
                self.add(Node::Binding(names))?
            }
            (b'D', b'0'..=b'9') => {
                self.take(2)?;
                let class = self.base_name(scope?);
                self.add(Node::Destructor(class))?
            }
            (b'L', _) => {
                self.take(1)?;
                let name = self.source_name()?;
                self.discriminator();
                name
            }
            (b'U', b'l') => self.lambda()?,
            (b'U', b't') => {
                self.take(2)?;
                let number = self.compact_number()?;
                self.add(Node::Unnamed(number + 1))?
            }
            _ => return None,
        };
        while self.eat("B") {
            let tag = self.source_name()?;
            name = self.add(Node::Tagged(name, tag))?;
        }
        Some(name)
    }

    pub fn source_name(&mut self) -> Option<NodeId> {
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        let name = self.take(digits.parse().ok()?)?;
        let is_anonymous = name
            .strip_prefix("_GLOBAL_")
            .is_some_and(|rest| matches!(rest.as_bytes(), [b'.' | b'_' | b'$', b'N', ..]));
        self.add(Node::Name(if is_anonymous { "(anonymous namespace)" } else { name }))
    }

    fn constructor(&mut self, scope: NodeId) -> Option<NodeId> {
        self.expect("C")?;
        let is_inherited = self.eat("I");
        if !self.take(1)?.starts_with(|kind: char| kind.is_ascii_digit()) {
            return None;
        }
        if is_inherited {
            self.ty()?;
        }
        let class = self.base_name(scope);
        self.add(Node::Constructor(class))
    }

    /// What the constructors of a class are called.
    fn base_name(&self, name: NodeId) -> NodeId {
        match *self.node(name) {
            Node::Scoped(_, name)
            | Node::Local(_, name)
            | Node::DefaultArgument(_, name)
            | Node::Template(name, _)
            | Node::Tagged(name, _) => self.base_name(name),
            _ => name,
        }
    }

    fn operator_name(&mut self) -> Option<NodeId> {
        match (self.peek(), self.peek_at(1)) {
            (b'c', b'v') => {
                self.take(2)?;
                let to = self.inside(Within::Conversion, Self::ty)?;
                self.add(Node::Conversion(to))
            }
            (b'l', b'i') => {
                self.take(2)?;
                let name = self.source_name()?;
                self.add(Node::LiteralOperator(name))
            }
            (b'v', b'0'..=b'9') => {
                self.take(2)?;
                let name = self.source_name()?;
                self.add(Node::VendorOperator(name))
            }
            _ => {
                let operator = by_code(self.take(2)?)?;
                self.add(Node::OperatorName(operator))
            }
        }
    }

    fn lambda(&mut self) -> Option<NodeId> {
        self.expect("Ul")?;
        while self.is_declaration() {
            self.declaration()?;
        }
        let parameters = self.inside(Within::Name, Self::parameters)?;
        self.constraint()?;
        self.expect("E")?;
        let number = self.compact_number()?;
        self.add(Node::Lambda { parameters, number: number + 1 })
    }

    /// `S_`, or what `Ss` and the like abbreviate.
    pub fn substitution(&mut self) -> Option<NodeId> {
        self.expect("S")?;
        if let b'_' | b'0'..=b'9' | b'A'..=b'Z' = self.peek() {
            let number = self.sequence_number()?;
            return self.substitutions.get(number).copied();
        }
        let known = abbreviation(self.peek())?;
        self.take(1)?;
        let mut name = match self.peek() {
            next if known.arguments.is_empty() || matches!(next, b'C' | b'D') => {
                let std = self.add(Node::Name("std"))?;
                let class = self.add(Node::Name(known.class))?;
                let scoped = self.add(Node::Scoped(std, class))?;
                let mut arguments = Vec::new();
                for text in known.arguments {
                    arguments.push(self.add(Node::Name(text))?);
                }
                match arguments.is_empty() {
                    true => scoped,
                    false => self.add(Node::Template(scoped, arguments.into()))?,
                }
            }
            _ => self.add(Node::Name(known.short))?,
        };
        while self.eat("B") {
            let tag = self.source_name()?;
            name = self.add(Node::Tagged(name, tag))?;
            self.substitutable(name);
        }
        Some(name)
    }

    pub fn template_arguments(&mut self, owner: Owner) -> Option<Nodes> {
        if !self.eat("I") {
            self.expect("J")?;
        }
        let arguments = self.inside(Within::Name, |parser| {
            let mut arguments = Vec::new();
            while !parser.eat("E") {
                match parser.peek() {
                    b'Q' => parser.constraint()?,
                    _ => arguments.push(parser.template_argument()?),
                }
            }
            Some(Nodes::from(arguments))
        })?;
        if owner == Owner::Function {
            self.arguments = arguments.clone();
        }
        Some(arguments)
    }

    pub fn template_argument(&mut self) -> Option<NodeId> {
        self.nested(|parser| match parser.peek() {
            b'T' if parser.is_declaration() => {
                parser.declaration()?;
                parser.template_argument()
            }
            b'L' => parser.literal(),
            b'X' => {
                parser.take(1)?;
                let value = parser.expression()?;
                parser.expect("E")?;
                Some(value)
            }
            b'I' | b'J' => {
                parser.take(1)?;
                let pack = parser.until("E", Self::template_argument)?;
                parser.add(Node::Pack(pack))
            }
            _ => parser.ty(),
        })
    }

    /// `requires …`, not shown.
    fn constraint(&mut self) -> Option<()> {
        if self.eat("Q") {
            self.expression()?;
        }
        Some(())
    }

    fn is_declaration(&self) -> bool {
        self.peek() == b'T' && matches!(self.peek_at(1), b'y' | b'n' | b'k' | b't' | b'p')
    }

    /// Of a parameter of a template, where it is not told by its argument; not shown.
    fn declaration(&mut self) -> Option<()> {
        self.nested(|parser| match parser.take(2)? {
            "Ty" => Some(()),
            "Tn" => parser.ty().map(drop),
            "Tk" => parser.name(Owner::Type).map(drop),
            "Tp" => parser.declaration(),
            "Tt" => {
                while !parser.eat("E") {
                    parser.declaration()?;
                }
                Some(())
            }
            _ => None,
        })
    }

    /// `T_`.
    pub fn template_parameter(&mut self) -> Option<NodeId> {
        self.expect("T")?;
        let number = self.compact_number()?;
        self.add(Node::Parameter(number))
    }
}
