//! The rules for one instruction, and a step by them.

use std::num::NonZeroU8;

use gimli::{
    CfaRule, Expression, Reader, RegisterRule, UnwindExpression, UnwindSection, UnwindTableRow,
};

use super::UnwoundMachine;
use super::expression::DwarfExpression;
use super::registers::{COUNT, Registers};

/// The copy of a stack, which is all that is known of a process's memory.
#[derive(Clone, Copy, Debug)]
pub struct StackCopy<'a> {
    /// Address of the first byte.
    pub start: u64,
    /// What was there.
    pub bytes: &'a [u8],
    /// What was found out of the bytes behind these.
    pub beyond: &'a [u8],
}

impl StackCopy<'_> {
    /// The little-endian number of `size` bytes, at most eight, at an address; `None` if it is not known.
    pub(super) fn read(&self, address: u64, size: u8) -> Option<u64> {
        let mut bytes = [0; 8];
        for (at, byte) in bytes.get_mut(..usize::from(size))?.iter_mut().enumerate() {
            *byte = *self.from(address.checked_add(at as u64)?)?.first()?;
        }
        Some(u64::from_le_bytes(bytes))
    }

    /// The same of eight bytes.
    #[inline(always)]
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        match self.from(address)?.first_chunk() {
            Some(word) => Some(u64::from_le_bytes(*word)),
            // Part of it may be beyond.
            None => self.read(address, 8),
        }
    }

    #[inline(always)]
    fn from(&self, address: u64) -> Option<&[u8]> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        match at.checked_sub(self.bytes.len()) {
            None => self.bytes.get(at..),
            Some(behind) => self.beyond.get(behind..),
        }
    }
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
    plain: Option<PlainRow>,
}

/// The same rules, where they are as for most instructions: the frame is found from a register, and what was saved is on
/// the stack, the address to return to among it. Within one line of the processor's cache: a recorder that wakes up for a
/// moment finds little of its memory there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[repr(align(32))]
struct PlainRow {
    register: u8,
    offset: i32,
    /// The register with the address to return to.
    returns: u8,
    /// How many registers were saved. Never none, so that the line has room to say that there is no such row.
    count: NonZeroU8,
    /// Which, and where from the frame of the caller on.
    numbers: [u8; MOST_SAVED],
    offsets: [i16; MOST_SAVED],
}

const _: () = assert!(size_of::<Option<PlainRow>>() == 32);

/// Registers that a [`PlainRow`] may have saved.
const MOST_SAVED: usize = 8;

impl PlainRow {
    /// `None` if more is to be done by them.
    fn of(machine: UnwoundMachine, row: &Row) -> Option<Self> {
        let Rule::Register(register, offset) = row.cfa else { return None };
        let has_return = row.saved.iter().any(|(number, _)| *number == row.returns);
        if row.left != Left::ByCall || !has_return || row.saved.len() > MOST_SAVED {
            return None;
        }
        let mut plain = Self {
            register: register.try_into().ok()?,
            offset: offset.try_into().ok()?,
            returns: row.returns.try_into().ok()?,
            count: NonZeroU8::new(row.saved.len() as u8)?,
            numbers: [0; MOST_SAVED],
            offsets: [0; MOST_SAVED],
        };
        let places = plain.numbers.iter_mut().zip(&mut plain.offsets);
        for ((number, rule), place) in row.saved.iter().zip(places) {
            let Rule::SavedAt(offset) = *rule else { return None };
            if *number == machine.stack_pointer() {
                return None;
            }
            (*place.0, *place.1) = ((*number).try_into().ok()?, offset.try_into().ok()?);
        }
        Some(plain)
    }

    /// As [`Row::step`]; `None`, and nothing is changed, if not all is known.
    #[inline(always)]
    fn step(&self, registers: &mut Registers, memory: &StackCopy<'_>) -> Option<Caller> {
        let cfa = registers.get(self.register.into())?.wrapping_add_signed(self.offset.into());
        let mut values = [0; MOST_SAVED];
        let saved = ..usize::from(self.count.get()).min(MOST_SAVED);
        let (numbers, offsets) = (&self.numbers[saved], &self.offsets[saved]);
        for (offset, value) in offsets.iter().zip(&mut values) {
            *value = memory.word(cfa.wrapping_add_signed((*offset).into()))?;
        }
        registers.keep_only(registers.machine().preserved());
        let mut address = 0;
        for (&number, value) in numbers.iter().zip(values) {
            registers.set(number.into(), Some(value));
            if number == self.returns {
                address = registers.unsigned(value);
            }
        }
        registers.set_pointers(cfa, address);
        Some(if address == 0 { Caller::Nobody } else { Caller::Before(address) })
    }
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
        machine: UnwoundMachine,
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
        let registers = || row.registers().filter(|(it, _)| usize::from(it.0) < COUNT);
        let mut saved = Vec::with_capacity(registers().count());
        for (register, rule) in registers() {
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
        let mut row = Self { cfa, saved: saved.into(), reached, returns, left, plain: None };
        row.plain = PlainRow::of(machine, &row);
        Some(row)
    }

    /// Of what nobody calls.
    pub(super) fn of_first() -> Self {
        let saved = Box::new([(0, Rule::Undefined)]);
        let (reached, returns, left, plain) = (0, 0, Left::ByCall, None);
        Self { cfa: Rule::Constant(0), saved, reached, returns, left, plain }
    }

    /// Makes the registers those of the caller. If they are not known, nothing is changed.
    pub fn step(
        &self,
        registers: &mut Registers,
        memory: &StackCopy<'_>,
        state: CodeState,
    ) -> Result<Caller, NoCaller> {
        let plain = self.plain.as_ref();
        match plain.and_then(|plain| plain.step(registers, memory)) {
            Some(caller) => Ok(caller),
            None => self.step_by_rules(registers, memory, state),
        }
    }

    fn step_by_rules(
        &self,
        registers: &mut Registers,
        memory: &StackCopy<'_>,
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

    /// Whether the address to return to is in the register that a call puts it into: nothing was called since, or all was
    /// taken back. Never on x86.
    pub fn returns_to_register(&self, machine: UnwoundMachine) -> bool {
        let mut of_return = self.saved.iter().filter(|(number, _)| *number == self.returns);
        let is_left = |(_, rule): &(u16, Rule)| *rule == Rule::Register(self.returns, 0);
        self.left == Left::ByCall
            && machine.link_register() == Some(self.returns)
            && of_return.all(is_left)
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
        memory: &StackCopy<'_>,
    ) -> Result<u64, NoCaller> {
        let frame = || cfa.ok_or(NoCaller::Undefined);
        let read = |address| memory.word(address).ok_or(NoCaller::Unreadable(address));
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

#[cfg(test)]
mod tests {
    use perftab_perfdata::address_bits::AddressBits;

    use super::*;

    #[test]
    fn a_number_may_begin_in_a_copy_and_end_beyond_it() {
        let all: Vec<u8> = (1..=24).collect();
        for end in 0..=all.len() {
            let (bytes, beyond) = all.split_at(end);
            let memory = StackCopy { start: 0x7000, bytes, beyond };
            for at in 0..=all.len() {
                let address = 0x7000 + at as u64;
                let word = all[at..].first_chunk().map(|word| u64::from_le_bytes(*word));
                assert_eq!(memory.word(address), word);
                assert_eq!(memory.read(address, 8), word);
                assert_eq!(memory.read(address, 1), all.get(at).map(|&byte| byte.into()));
            }
            assert_eq!(memory.read(0x6fff, 8), None);
            assert_eq!(memory.read(u64::MAX, 8), None);
        }
    }

    /// On copies of any length, from any place: the same callers, and nothing changed where there is none.
    #[test]
    fn a_plain_row_says_what_its_rules_say() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let mut known = 0;
        for machine in [UnwoundMachine::X86_64, UnwoundMachine::Aarch64] {
            let [returns, pointer] = match machine {
                UnwoundMachine::X86_64 => [16, 7],
                UnwoundMachine::Aarch64 => [30, 31],
            };
            for _ in 0..2_000 {
                let at = |slot: u64| Rule::SavedAt(-8 * (slot as i64 + 1));
                let others = [3, 6, 12, 29].into_iter().filter(|_| random(2) == 0);
                let others: Vec<u16> = others.collect();
                let saved = others.iter().map(|&number| (number, at(random(4))));
                let saved: Box<[_]> = saved.chain([(returns, at(0))]).collect();
                let cfa = Rule::Register(pointer, 8 * random(6) as i64);
                let (reached, left) = (8 * random(8) as i64, Left::ByCall);
                let mut row = Row { cfa, saved, reached, returns, left, plain: None };
                row.plain = PlainRow::of(machine, &row);
                assert!(row.plain.is_some());
                let words: Vec<u64> = (0..random(6)).map(|_| random(3) << 40).collect();
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let memory = StackCopy { start: 0x7000, bytes: &bytes, beyond: &[] };
                let value = |number| Some(0x7000 + 8 * u64::from(number % 5));
                let bits = AddressBits::up_to(u64::MAX);
                let before = Registers::new(machine, bits, value).expect("all are known");
                let state = [CodeState::Interrupted, CodeState::Calls][random(2) as usize];
                let [mut plain, mut by_rules] = [before.clone(), before];
                let caller = row.step(&mut plain, &memory, state);
                assert_eq!(caller, row.step_by_rules(&mut by_rules, &memory, state), "{row:?}");
                assert_eq!(plain, by_rules, "{row:?}");
                known += u32::from(caller.is_ok());
            }
        }
        assert!((500..3_500).contains(&known), "{known} have a caller");
    }
}
