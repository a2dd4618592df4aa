//! Names and expressions as text.

use super::node::{Designator, FunctionQualifiers, Node, NodeId, ValueStyle};
use super::operators::Operator;
use super::print::{Printed, Printer};

impl<'p, 'a> Printer<'p, 'a> {
    pub fn name_or_expression(&mut self, node: &'p Node<'a>) -> Printed {
        match node {
            Node::Name(text) => self.text(text),
            Node::Builtin(text, _) => self.text(text),
            Node::Scoped(scope, name) => {
                self.print(*scope)?;
                self.text("::")?;
                self.print(*name)
            }
            Node::Template(name, arguments) => {
                self.print(*name)?;
                self.template_arguments(arguments)
            }
            Node::Local(function, name) => {
                self.print(*function)?;
                self.text("::")?;
                self.print(*name)
            }
            Node::DefaultArgument(number, name) => {
                self.text("{default arg#")?;
                self.number(*number)?;
                self.text("}::")?;
                self.print(*name)
            }
            Node::Tagged(name, tag) => {
                self.print(*name)?;
                self.text("[abi:")?;
                self.print(*tag)?;
                self.text("]")
            }
            Node::Constructor(class) => self.print(*class),
            Node::Destructor(class) => {
                self.text("~")?;
                self.print(*class)
            }
            Node::OperatorName(operator) => {
                self.text("operator")?;
                if operator.text.starts_with(|first: char| first.is_ascii_lowercase()) {
                    self.text(" ")?;
                }
                self.text(operator.text.trim_end())
            }
            Node::Conversion(to) => {
                self.text("operator ")?;
                self.print(*to)
            }
            Node::LiteralOperator(name) => {
                self.text("operator\"\" ")?;
                self.print(*name)
            }
            Node::VendorOperator(name) => {
                self.text("operator ")?;
                self.print(*name)
            }
            Node::Lambda { parameters, number } => {
                self.text("{lambda(")?;
                self.in_lambda(|printer| printer.list(parameters))?;
                self.text(")#")?;
                self.number(*number)?;
                self.text("}")
            }
            Node::Unnamed(number) => {
                self.text("{unnamed type#")?;
                self.number(*number)?;
                self.text("}")
            }
            Node::Binding(names) => {
                self.text("[")?;
                self.list(names)?;
                self.text("]")
            }
            Node::Special(what, of) => {
                self.text(what)?;
                self.print(*of)
            }
            Node::ConstructionVtable { base, derived } => {
                self.text("construction vtable for ")?;
                self.print(*base)?;
                self.text("-in-")?;
                self.print(*derived)
            }
            Node::ReferenceTemporary(number, of) => {
                self.text("reference temporary #")?;
                self.number(*number)?;
                self.text(" for ")?;
                self.print(*of)
            }
            Node::Clone(of, suffix) => {
                self.print(*of)?;
                self.text(" [clone ")?;
                self.text(suffix)?;
                self.text("]")
            }
            Node::Sized(before, length, behind) => {
                self.text(before)?;
                self.print(*length)?;
                self.text(behind)
            }
            expression => self.expression(expression),
        }
    }

    fn template_arguments(&mut self, arguments: &[NodeId]) -> Printed {
        if self.last() == b'<' {
            self.text(" ")?;
        }
        self.text("<")?;
        self.list(arguments)?;
        self.text(if self.last() == b'>' { " >" } else { ">" })
    }

    fn expression(&mut self, expression: &'p Node<'a>) -> Printed {
        match expression {
            Node::Decltype(of) => {
                self.text("decltype (")?;
                self.print(*of)?;
                self.text(")")
            }
            Node::Literal { of, is_negative, digits } => {
                self.literal(*of, if *is_negative { "-" } else { "" }, digits)
            }
            Node::FunctionParameter(number) => {
                self.text("{parm#")?;
                self.number(*number)?;
                self.text("}")
            }
            Node::Prefix(operator, operand) => self.prefix(operator, *operand),
            Node::Postfix(operator, operand) => {
                self.operand(*operand)?;
                self.text(operator.text)
            }
            Node::Infix(operator, left, right) => {
                // Else it would seem to end the template arguments.
                let needs_more = operator.text == ">";
                if needs_more {
                    self.text("(")?;
                }
                self.operand(*left)?;
                self.text(operator.text)?;
                self.operand(*right)?;
                if needs_more { self.text(")") } else { Some(()) }
            }
            Node::Index(of, index) => {
                self.operand(*of)?;
                self.text("[")?;
                self.print(*index)?;
                self.text("]")
            }
            Node::Call(function, arguments) => {
                match self.node(*function) {
                    // Without the types of its parameters.
                    Node::Encoding { name, .. } => self.operand(*name)?,
                    _ => self.operand(*function)?,
                }
                self.parenthesized(arguments)
            }
            Node::NamedCast(operator, to, value) => {
                self.text(operator.text)?;
                self.text("<")?;
                self.print(*to)?;
                self.text(">(")?;
                self.print(*value)?;
                self.text(")")
            }
            Node::Cast(to, value) => {
                self.text("(")?;
                self.print(*to)?;
                self.text(")")?;
                self.operand(*value)
            }
            Node::CastOfMany(to, values) => {
                self.text("(")?;
                self.print(*to)?;
                self.text(")")?;
                self.parenthesized(values)
            }
            Node::Conditional(condition, then, otherwise) => {
                self.operand(*condition)?;
                self.text("?")?;
                self.operand(*then)?;
                self.text(" : ")?;
                self.operand(*otherwise)
            }
            Node::Fold { kind, operator, first, second } => {
                self.fold(*kind, operator, *first, *second)
            }
            Node::Braces(of, values) => {
                if let Some(of) = of {
                    self.print(*of)?;
                }
                self.text("{")?;
                self.list(values)?;
                self.text("}")
            }
            Node::Designated { first, last, kind, value } => {
                self.text(if *kind == Designator::Member { "." } else { "[" })?;
                self.print(*first)?;
                if let Some(last) = last {
                    self.text(" ... ")?;
                    self.print(*last)?;
                }
                if *kind != Designator::Member {
                    self.text("]")?;
                }
                self.text("=")?;
                self.operand(*value)
            }
            Node::InParentheses(operator, operand) => {
                self.text(operator.text)?;
                self.text("(")?;
                self.print(*operand)?;
                self.text(")")
            }
            Node::PackLength(pack) => {
                let length = self.pack_length(*pack).unwrap_or(0);
                self.number(length as u64)
            }
            Node::ArgumentCount(arguments) => {
                let mut count = 0;
                for &argument in arguments {
                    count += match self.node(argument) {
                        Node::Expansion(pattern) => self.pack_length(*pattern).unwrap_or(0),
                        _ => 1,
                    };
                }
                self.number(count as u64)
            }
            Node::New { operator, placement, of, initializer } => {
                self.text(operator.text)?;
                self.text(" ")?;
                if !placement.is_empty() {
                    self.parenthesized(placement)?;
                    self.text(" ")?;
                }
                self.print(*of)?;
                match initializer {
                    Some(initializer) => self.print(*initializer),
                    None => Some(()),
                }
            }
            Node::Parenthesized(values) => self.parenthesized(values),
            // Types have been written where they stand.
            _ => Some(()),
        }
    }

    fn parenthesized(&mut self, values: &[NodeId]) -> Printed {
        self.text("(")?;
        self.list(values)?;
        self.text(")")
    }

    /// In parentheses unless that cannot be misread.
    pub fn operand(&mut self, id: NodeId) -> Printed {
        let is_simple = matches!(
            self.node(id),
            Node::Name(_)
                | Node::Scoped(..)
                | Node::Braces(..)
                | Node::FunctionParameter(_)
                | Node::Parenthesized(_)
        );
        if is_simple {
            return self.print(id);
        }
        self.text("(")?;
        self.print(id)?;
        self.text(")")
    }

    fn prefix(&mut self, operator: &Operator, operand: NodeId) -> Printed {
        self.text(operator.text)?;
        match (operator.code, self.node(operand)) {
            // The address of a function needs no types of parameters.
            ("ad", Node::Encoding { name, qualifiers, .. })
                if *qualifiers == FunctionQualifiers::default()
                    && matches!(self.node(*name), Node::Scoped(..)) =>
            {
                self.operand(*name)
            }
            ("gs", _) => self.print(operand),
            _ => self.operand(operand),
        }
    }

    fn fold(
        &mut self,
        kind: u8,
        operator: &Operator,
        first: NodeId,
        second: Option<NodeId>,
    ) -> Printed {
        self.text("(")?;
        if kind == b'l' {
            self.text("...")?;
            self.text(operator.text)?;
            self.operand(first)?;
            return self.text(")");
        }
        self.operand(first)?;
        self.text(operator.text)?;
        self.text("...")?;
        if let Some(second) = second {
            self.text(operator.text)?;
            self.operand(second)?;
        }
        self.text(")")
    }

    fn literal(&mut self, of: NodeId, sign: &str, digits: &str) -> Printed {
        let style = match self.node(of) {
            Node::Builtin(_, style) => *style,
            _ => ValueStyle::Cast,
        };
        match (style, digits) {
            (ValueStyle::Bool, "0") if sign.is_empty() => return self.text("false"),
            (ValueStyle::Bool, "1") if sign.is_empty() => return self.text("true"),
            (ValueStyle::Suffix(suffix), _) => {
                self.text(sign)?;
                self.text(digits)?;
                return self.text(suffix);
            }
            _ => {}
        }
        self.text("(")?;
        self.print(of)?;
        self.text(")")?;
        self.text(sign)?;
        if style == ValueStyle::Bits {
            self.text("[")?;
        }
        self.text(digits)?;
        if style == ValueStyle::Bits { self.text("]") } else { Some(()) }
    }
}
