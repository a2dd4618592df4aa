//! What a mangled name is made of.

use super::operators::Operator;

/// A place in the list of nodes. Nodes refer to nodes before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeId(pub(super) u32);

/// Template arguments, parameters of functions, operands.
pub type Nodes = Box<[NodeId]>;

/// How values of a type of the language itself are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueStyle {
    /// `(char)97`.
    Cast,
    /// `97`, and what stands behind it: `ul`.
    Suffix(&'static str),
    /// `true`.
    Bool,
    /// `(double)[3ff0000000000000]`: the bits as they are.
    Bits,
}

/// `const`, `volatile` or `restrict`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qualifier {
    Const,
    Volatile,
    Restrict,
}

impl Qualifier {
    pub fn text(self) -> &'static str {
        match self {
            Self::Const => " const",
            Self::Volatile => " volatile",
            Self::Restrict => " restrict",
        }
    }
}

/// `&` or `&&`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    Lvalue,
    Rvalue,
}

impl Reference {
    pub fn text(self) -> &'static str {
        match self {
            Self::Lvalue => "&",
            Self::Rvalue => "&&",
        }
    }
}

/// What stands behind the parameters of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionQualifiers {
    /// Of `this`, in the order in which they are mangled.
    pub this: Vec<Qualifier>,
    pub reference: Option<Reference>,
    pub exceptions: Option<Exceptions>,
    pub is_transaction_safe: bool,
}

/// What a function says of its exceptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exceptions {
    Noexcept,
    NoexceptIf(NodeId),
    Throws(Nodes),
}

/// One level of a name.
#[derive(Clone, Debug)]
pub enum Node<'a> {
    /// An identifier, or text that stands for itself.
    Name(&'a str),
    /// A type of the language.
    Builtin(&'static str, ValueStyle),
    /// `scope::name`.
    Scoped(NodeId, NodeId),
    /// `name<arguments>`.
    Template(NodeId, Nodes),
    /// The arguments that one parameter pack takes.
    Pack(Nodes),
    /// `function::name`, of what is declared in a function.
    Local(NodeId, NodeId),
    /// `{default arg#1}::name`.
    DefaultArgument(u64, NodeId),
    /// `name[abi:tag]`.
    Tagged(NodeId, NodeId),
    Constructor(NodeId),
    Destructor(NodeId),
    /// `operator+`, as a name.
    OperatorName(&'static Operator),
    /// `operator type`.
    Conversion(NodeId),
    /// `operator"" name`.
    LiteralOperator(NodeId),
    VendorOperator(NodeId),
    Lambda {
        parameters: Nodes,
        /// From 1.
        number: u64,
    },
    /// A class without a name; from 1.
    Unnamed(u64),
    /// `[a, b]`.
    Binding(Nodes),
    /// A function's name and type.
    Encoding {
        name: NodeId,
        /// If it is mangled.
        returns: Option<NodeId>,
        parameters: Nodes,
        qualifiers: FunctionQualifiers,
        /// What parameters of the innermost template stand for.
        arguments: Nodes,
    },
    /// `vtable for type` and the like.
    Special(&'static str, NodeId),
    /// `construction vtable for base-in-derived`.
    ConstructionVtable {
        base: NodeId,
        derived: NodeId,
    },
    /// `reference temporary #1 for name`.
    ReferenceTemporary(u64, NodeId),
    /// `name [clone .cold]`.
    Clone(NodeId, &'a str),

    Pointer(NodeId),
    Reference(Reference, NodeId),
    Qualified(Qualifier, NodeId),
    /// ` _Complex` and the like.
    Suffixed(NodeId, &'static str),
    VendorQualified(NodeId, NodeId),
    Vector {
        element: NodeId,
        length: NodeId,
    },
    Array {
        element: NodeId,
        length: Option<NodeId>,
    },
    /// `type class::*`.
    MemberPointer {
        class: NodeId,
        member: NodeId,
    },
    Function {
        returns: Option<NodeId>,
        parameters: Nodes,
        qualifiers: FunctionQualifiers,
    },
    /// `_BitInt(8)` and the like: text, length, text.
    Sized(&'static str, NodeId, &'static str),

    /// A parameter of the template whose name is being written, from 0. Among the parameters of a lambda, of the
    /// template that the lambda is.
    Parameter(u64),
    /// `pattern...`.
    Expansion(NodeId),
    Decltype(NodeId),

    /// A value of a type.
    Literal {
        of: NodeId,
        is_negative: bool,
        digits: &'a str,
    },
    /// A parameter of a function, from 1.
    FunctionParameter(u64),
    Prefix(&'static Operator, NodeId),
    Postfix(&'static Operator, NodeId),
    Infix(&'static Operator, NodeId, NodeId),
    Index(NodeId, NodeId),
    Call(NodeId, Nodes),
    /// `static_cast<type>(value)`.
    NamedCast(&'static Operator, NodeId, NodeId),
    /// `(type)value`.
    Cast(NodeId, NodeId),
    /// `(type)(values)`.
    CastOfMany(NodeId, Nodes),
    Conditional(NodeId, NodeId, NodeId),
    Fold {
        /// `l`, `r`, `L` or `R`.
        kind: u8,
        operator: &'static Operator,
        first: NodeId,
        second: Option<NodeId>,
    },
    /// `type{values}`.
    Braces(Option<NodeId>, Nodes),
    /// `.member = value`, `[index] = value` or `[first ... last] = value`.
    Designated {
        first: NodeId,
        last: Option<NodeId>,
        kind: Designator,
        value: NodeId,
    },
    /// `operator (operand)`, always in parentheses.
    InParentheses(&'static Operator, NodeId),
    /// `sizeof...` of a pack.
    PackLength(NodeId),
    /// `sizeof...` of arguments.
    ArgumentCount(Nodes),
    New {
        operator: &'static Operator,
        placement: Nodes,
        of: NodeId,
        initializer: Option<NodeId>,
    },
    /// `(values)`.
    Parenthesized(Nodes),
}

/// What a designated initializer names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Designator {
    Member,
    Index,
    Range,
}

impl Node<'_> {
    /// The nodes that it is made of, but for lambdas and functions' names: packs in those are their own.
    pub fn parts(&self, parts: &mut Vec<NodeId>) {
        match self {
            Self::Name(_)
            | Self::Builtin(..)
            | Self::OperatorName(_)
            | Self::Unnamed(_)
            | Self::Lambda { .. }
            | Self::Binding(_)
            | Self::Encoding { .. }
            | Self::Parameter(_)
            | Self::Pack(_)
            | Self::Expansion(_)
            | Self::FunctionParameter(_)
            | Self::Literal { .. }
            | Self::PackLength(_)
            | Self::ArgumentCount(_) => {}
            Self::DefaultArgument(_, one)
            | Self::Constructor(one)
            | Self::Destructor(one)
            | Self::Conversion(one)
            | Self::LiteralOperator(one)
            | Self::VendorOperator(one)
            | Self::Special(_, one)
            | Self::ReferenceTemporary(_, one)
            | Self::Clone(one, _)
            | Self::Pointer(one)
            | Self::Reference(_, one)
            | Self::Qualified(_, one)
            | Self::Suffixed(one, _)
            | Self::Sized(_, one, _)
            | Self::Decltype(one)
            | Self::Prefix(_, one)
            | Self::Postfix(_, one)
            | Self::InParentheses(_, one) => parts.push(*one),
            Self::Scoped(one, other)
            | Self::Local(one, other)
            | Self::Tagged(one, other)
            | Self::ConstructionVtable { base: one, derived: other }
            | Self::VendorQualified(one, other)
            | Self::Vector { element: one, length: other }
            | Self::MemberPointer { class: one, member: other }
            | Self::Infix(_, one, other)
            | Self::Index(one, other)
            | Self::NamedCast(_, one, other)
            | Self::Cast(one, other) => parts.extend([*one, *other]),
            Self::Conditional(one, other, third) => parts.extend([*one, *other, *third]),
            Self::Array { element, length } => {
                parts.push(*element);
                parts.extend(length);
            }
            Self::Fold { first, second, .. } => {
                parts.push(*first);
                parts.extend(second);
            }
            Self::Designated { first, last, value, .. } => {
                parts.extend([*first, *value]);
                parts.extend(last);
            }
            Self::Template(one, many) | Self::Call(one, many) | Self::CastOfMany(one, many) => {
                parts.push(*one);
                parts.extend(many);
            }
            Self::Braces(one, many) | Self::Function { returns: one, parameters: many, .. } => {
                parts.extend(one);
                parts.extend(many);
            }
            Self::New { placement, of, initializer, .. } => {
                parts.extend(placement);
                parts.push(*of);
                parts.extend(initializer);
            }
            Self::Parenthesized(many) => parts.extend(many),
        }
    }
}
