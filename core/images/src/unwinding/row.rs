//! The rules for one instruction, and a step by them.

use gimli::{
    CfaRule, Expression, Reader, RegisterRule, UnwindExpression, UnwindSection, UnwindTableRow,
};

use super::UnwoundMachine;
use super::expression::DwarfExpression;
use super::registers::{COUNT, Registers};

/// The memory of a process as far as it is known.
pub trait StackMemory {
    /// The little-endian number of `size` bytes, at most eight, at an address; `None` if it is not known.
    fn read(&self, address: u64, size: u8) -> Option<u64>;
}

/// How the caller of a function is found from one of its instructions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// Where the frame of the caller began.
    cfa: Rule,
    /// What the caller's registers had.
    saved: Box<[(u16, Rule)]>,
    /// How far the function's stack reached below the frame of its caller before this instruction, in bytes. What was
    /// saved within that and lies behind the end of the stack has been taken back.
    reached: i64,
    /// The register with the address to return to.
    returns: u16,
    left: Left,
}

/// How a function was left for the next inner one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Left {
    ByCall,
    /// By a signal, which the kernel put on its stack.
    BySignal,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Rule {
    /// It has no value.
    Undefined,
    /// A register's value and a constant.
    Register(u16, i64),
    /// What is on the stack, so far from the frame of the caller.
    SavedAt(i64),
    /// The frame of the caller and a constant.
    Frame(i64),
    Constant(u64),
    /// What is where an expression says.
    SavedWhere(DwarfExpression),
    /// What an expression says.
    Computed(DwarfExpression),
}

/// What the code of a function was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeState {
    /// It was interrupted, at any instruction.
    Interrupted,
    /// It has called another function.
    Calls,
}

/// Who called a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Nobody: it is the first of its thread.
    Nobody,
    /// The code before this address.
    Before(u64),
    /// The code at this address, which a signal interrupted.
    At(u64),
}

/// Why it is not known who called a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCaller {
    /// What is at this address of the stack is not known.
    Unreadable(u64),
    /// The rules need what nobody knows, or cannot be followed.
    Undefined,
}

impl Row {
    /// `None` if it has what no compiler writes.
    pub(super) fn new<R, S>(
        section: &S,
        row: &UnwindTableRow<usize>,
        reached: i64,
        returns: u16,
        left: Left,
    ) -> Option<Self>
    where
        R: Reader<Offset = usize>,
        S: UnwindSection<R>,
    {
        let computed = |expression: &UnwindExpression<usize>| {
            let Expression(code) = expression.get::<R, S>(section).ok()?;
            DwarfExpression::new(&code.to_slice().ok()?)
        };
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => Rule::Register(register.0, *offset),
            CfaRule::Expression(expression) => Rule::Computed(computed(expression)?),
        };
        let mut saved = Vec::new();
        for (register, rule) in row.registers().filter(|(it, _)| usize::from(it.0) < COUNT) {
            let rule = match rule {
                RegisterRule::Undefined => Rule::Undefined,
                RegisterRule::SameValue => Rule::Register(register.0, 0),
                RegisterRule::Offset(offset) => Rule::SavedAt(*offset),
                RegisterRule::ValOffset(offset) => Rule::Frame(*offset),
                RegisterRule::Register(other) => Rule::Register(other.0, 0),
                RegisterRule::Expression(expression) => Rule::SavedWhere(computed(expression)?),
                RegisterRule::ValExpression(expression) => Rule::Computed(computed(expression)?),
                RegisterRule::Constant(value) => Rule::Constant(*value),
                RegisterRule::Architectural => return None,
            };
            saved.push((register.0, rule));
        }
        Some(Self { cfa, saved: saved.into(), reached, returns, left })
    }

    /// Of what nobody calls.
    pub(super) fn of_first() -> Self {
        let saved = Box::new([(0, Rule::Undefined)]);
        Self { cfa: Rule::Constant(0), saved, reached: 0, returns: 0, left: Left::ByCall }
    }

    /// Makes the registers those of the caller. If they are not known, nothing is changed.
    pub fn step(
        &self,
        registers: &mut Registers,
        memory: &impl StackMemory,
        state: CodeState,
    ) -> Result<Caller, NoCaller> {
        let machine = registers.machine();
        let cfa = self.cfa.value(None, registers, memory)?;
        let mut caller = registers.clone();
        if self.left == Left::ByCall {
            caller.keep_only(machine.preserved());
        }
        let mut is_first = false;
        // Where the return address stays in its register, nothing has been called since.
        let mut returns = registers.get(self.returns).filter(|_| !self.is_return_on_stack(machine));
        for (number, rule) in &self.saved {
            let value = match rule.value(Some(cfa), registers, memory) {
                Err(why) if *number == self.returns && *rule != Rule::Undefined => return Err(why),
                // A function that is about to return has taken registers back. Compilers leave it out of the tables,
                // as what was saved is still there behind the end of the stack.
                Err(NoCaller::Unreadable(address))
                    if state == CodeState::Interrupted
                        && address < registers.stack_pointer()
                        && cfa.wrapping_sub(address) as i64 <= self.reached =>
                {
                    registers.get(*number)
                }
                // Others need not be known, unless a caller's rules ask for them.
                value => value.ok(),
            };
            if *number == self.returns {
                is_first = value.is_none();
                returns = value;
            }
            caller.set(*number, value);
        }
        if is_first {
            return Ok(Caller::Nobody);
        }
        let returns = registers.unsigned(returns.ok_or(NoCaller::Undefined)?);
        let stack = match self.saved.iter().any(|(number, _)| *number == machine.stack_pointer()) {
            true => caller.get(machine.stack_pointer()).ok_or(NoCaller::Undefined)?,
            false => cfa,
        };
        caller.set_pointers(stack, returns);
        *registers = caller;
        Ok(match (returns, self.left) {
            // What a thread began with, where no rule says so.
            (0, _) => Caller::Nobody,
            (address, Left::ByCall) => Caller::Before(address),
            (address, Left::BySignal) => Caller::At(address),
        })
    }

    /// On x86 a call puts it there.
    fn is_return_on_stack(&self, machine: UnwoundMachine) -> bool {
        machine == UnwoundMachine::X86_64
    }
}

impl Rule {
    fn value(
        &self,
        cfa: Option<u64>,
        registers: &Registers,
        memory: &impl StackMemory,
    ) -> Result<u64, NoCaller> {
        let frame = || cfa.ok_or(NoCaller::Undefined);
        let read = |address| memory.read(address, 8).ok_or(NoCaller::Unreadable(address));
        match self {
            Self::Undefined => Err(NoCaller::Undefined),
            Self::Register(number, offset) => {
                let value = registers.get(*number).ok_or(NoCaller::Undefined)?;
                Ok(value.wrapping_add_signed(*offset))
            }
            Self::SavedAt(offset) => read(frame()?.wrapping_add_signed(*offset)),
            Self::Frame(offset) => Ok(frame()?.wrapping_add_signed(*offset)),
            Self::Constant(value) => Ok(*value),
            Self::SavedWhere(place) => read(place.value(cfa, registers, memory)?),
            Self::Computed(computed) => computed.value(cfa, registers, memory),
        }
    }
}
