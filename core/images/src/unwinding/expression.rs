//! DWARF expressions, as far as unwind tables have them (DWARF 5, sections 2.5.1 and 6.4.2): numbers, registers, the
//! stack, and arithmetic. gimli's evaluator also knows values of any type and places of variables, and takes 25 kB of
//! WebAssembly.

use super::registers::Registers;
use super::row::{NoCaller, StackCopy};

/// An expression that takes more steps has no value. Compilers' take some ten.
const MAX_STEPS: u32 = 100;
/// Nothing of a longer expression is kept: that of a signal frame has some ten bytes.
const MAX_LENGTH: usize = 256;
/// Numbers that may be on its stack.
const MAX_DEPTH: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct DwarfExpression(Box<[u8]>);

impl DwarfExpression {
    /// `None` if it is longer than any.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (bytes.len() <= MAX_LENGTH).then(|| Self(bytes.into()))
    }

    /// What it computes, beginning with `first` on its stack if there is one.
    pub fn value(
        &self,
        first: Option<u64>,
        registers: &Registers,
        memory: &StackCopy<'_>,
    ) -> Result<u64, NoCaller> {
        let mut machine = StackMachine { code: &self.0, at: 0, stack: Vec::new() };
        machine.stack.extend(first);
        for _ in 0..MAX_STEPS {
            if machine.at == self.0.len() {
                return machine.pop();
            }
            machine.step(registers, memory)?;
        }
        Err(NoCaller::Undefined)
    }
}

struct StackMachine<'a> {
    code: &'a [u8],
    /// What is done next, in bytes from the beginning.
    at: usize,
    stack: Vec<u64>,
}

impl StackMachine<'_> {
    fn push(&mut self, value: u64) -> Result<(), NoCaller> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(NoCaller::Undefined);
        }
        self.stack.push(value);
        Ok(())
    }

    fn pop(&mut self) -> Result<u64, NoCaller> {
        self.stack.pop().ok_or(NoCaller::Undefined)
    }

    /// The number so deep in the stack, 0 for the topmost.
    fn pick(&self, depth: usize) -> Result<u64, NoCaller> {
        let at = self.stack.len().checked_sub(depth + 1).ok_or(NoCaller::Undefined)?;
        Ok(self.stack[at])
    }

    fn byte(&mut self) -> Result<u8, NoCaller> {
        let byte = *self.code.get(self.at).ok_or(NoCaller::Undefined)?;
        self.at += 1;
        Ok(byte)
    }

    /// A little-endian number of so many bytes, at most eight.
    fn number(&mut self, size: u32) -> Result<u64, NoCaller> {
        let mut number = 0;
        for at in 0..size {
            number |= u64::from(self.byte()?) << (8 * at);
        }
        Ok(number)
    }

    /// The same with a sign.
    fn signed(&mut self, size: u32) -> Result<u64, NoCaller> {
        let shift = 64 - 8 * size;
        Ok(((self.number(size)? << shift) as i64 >> shift) as u64)
    }

    fn unsigned_leb(&mut self) -> Result<u64, NoCaller> {
        Ok(self.leb()?.0)
    }

    fn signed_leb(&mut self) -> Result<u64, NoCaller> {
        let (value, bits, last) = self.leb()?;
        Ok(if last & 0x40 != 0 && bits < 64 { value | u64::MAX << bits } else { value })
    }

    /// The number, how many bits of it there were, and the last byte.
    fn leb(&mut self) -> Result<(u64, u32, u8), NoCaller> {
        let (mut value, mut bits) = (0, 0);
        loop {
            let byte = self.byte()?;
            if bits < 64 {
                value |= u64::from(byte & 0x7f) << bits;
            }
            bits += 7;
            if byte & 0x80 == 0 {
                return Ok((value, bits, byte));
            }
        }
    }

    fn step(&mut self, registers: &Registers, memory: &StackCopy<'_>) -> Result<(), NoCaller> {
        let operation = self.byte()?;
        let value = match operation {
            // DW_OP_const1u to DW_OP_consts
            0x08 => self.number(1)?,
            0x09 => self.signed(1)?,
            0x0a => self.number(2)?,
            0x0b => self.signed(2)?,
            0x0c => self.number(4)?,
            0x0d => self.signed(4)?,
            0x0e | 0x0f => self.number(8)?,
            0x10 => self.unsigned_leb()?,
            0x11 => self.signed_leb()?,
            // DW_OP_lit0 to DW_OP_lit31
            0x30..=0x4f => u64::from(operation - 0x30),
            // DW_OP_breg0 to DW_OP_breg31, DW_OP_bregx
            0x70..=0x8f | 0x92 => {
                let number = match operation {
                    0x92 => self.unsigned_leb()?,
                    _ => u64::from(operation - 0x70),
                };
                let offset = self.signed_leb()?;
                let value = u16::try_from(number).ok().and_then(|number| registers.get(number));
                value.ok_or(NoCaller::Undefined)?.wrapping_add(offset)
            }
            // DW_OP_dup, DW_OP_over, DW_OP_pick
            0x12 => self.pick(0)?,
            0x14 => self.pick(1)?,
            0x15 => {
                let depth = self.byte()?;
                self.pick(depth.into())?
            }
            // DW_OP_deref, DW_OP_deref_size
            0x06 | 0x94 => {
                let size = if operation == 0x06 { 8 } else { self.byte()? };
                let address = self.pop()?;
                memory.read(address, size).ok_or(NoCaller::Unreadable(address))?
            }
            // DW_OP_abs, DW_OP_neg, DW_OP_not
            0x19 => (self.pop()? as i64).unsigned_abs(),
            0x1f => self.pop()?.wrapping_neg(),
            0x20 => !self.pop()?,
            // DW_OP_plus_uconst
            0x23 => {
                let constant = self.unsigned_leb()?;
                self.pop()?.wrapping_add(constant)
            }
            0x1a..=0x1e | 0x21..=0x22 | 0x24..=0x27 | 0x29..=0x2e => self.binary(operation)?,
            _ => return self.rearrange(operation),
        };
        self.push(value)
    }

    /// What two numbers make.
    fn binary(&mut self, operation: u8) -> Result<u64, NoCaller> {
        let (right, left) = (self.pop()?, self.pop()?);
        let (signed_left, signed_right) = (left as i64, right as i64);
        let shift = u32::try_from(right).unwrap_or(u32::MAX);
        Ok(match operation {
            0x1a => left & right,
            0x1b => signed_left.checked_div(signed_right).ok_or(NoCaller::Undefined)? as u64,
            0x1c => left.wrapping_sub(right),
            0x1d => left.checked_rem(right).ok_or(NoCaller::Undefined)?,
            0x1e => left.wrapping_mul(right),
            0x21 => left | right,
            0x22 => left.wrapping_add(right),
            0x24 => left.checked_shl(shift).unwrap_or(0),
            0x25 => left.checked_shr(shift).unwrap_or(0),
            0x26 => (signed_left >> shift.min(63)) as u64,
            0x27 => left ^ right,
            0x29 => (left == right).into(),
            0x2a => (signed_left >= signed_right).into(),
            0x2b => (signed_left > signed_right).into(),
            0x2c => (signed_left <= signed_right).into(),
            0x2d => (signed_left < signed_right).into(),
            _ => (left != right).into(),
        })
    }

    /// What changes the order of numbers or of operations.
    fn rearrange(&mut self, operation: u8) -> Result<(), NoCaller> {
        let last = self.stack.len();
        match operation {
            // DW_OP_nop, DW_OP_drop
            0x96 => {}
            0x13 => drop(self.pop()?),
            // DW_OP_swap, DW_OP_rot
            0x16 if last >= 2 => self.stack.swap(last - 1, last - 2),
            0x17 if last >= 3 => self.stack[last - 3..].rotate_right(1),
            // DW_OP_skip, DW_OP_bra
            0x2f | 0x28 => {
                let distance = self.signed(2)? as i64;
                if operation == 0x2f || self.pop()? != 0 {
                    let to = self.at as i64 + distance;
                    let to = usize::try_from(to).ok().filter(|&to| to <= self.code.len());
                    self.at = to.ok_or(NoCaller::Undefined)?;
                }
            }
            _ => return Err(NoCaller::Undefined),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use gimli::constants::*;

    use super::*;
    use crate::unwinding::UnwoundMachine;
    use perftab_perfdata::address_bits::AddressBits;

    const MEMORY: StackCopy<'_> =
        StackCopy { start: 0x7000, bytes: &0x1122_3344_5566_7788_u64.to_le_bytes(), beyond: &[] };

    /// The instruction pointer is 0x1234b, the stack pointer 0x7000.
    fn value(first: Option<u64>, code: &[u8]) -> Result<u64, NoCaller> {
        let of_perf = |number| match number {
            7 => Some(0x7000),
            8 => Some(0x1234b),
            _ => None,
        };
        let registers =
            Registers::new(UnwoundMachine::X86_64, AddressBits::up_to(u64::MAX), of_perf)
                .expect("both pointers");
        DwarfExpression::new(code).expect("short").value(first, &registers, &MEMORY)
    }

    fn op(operation: DwOp) -> u8 {
        operation.0
    }

    /// What binutils writes for an entry of `.plt`: at its end one more word has been pushed.
    #[test]
    fn the_expression_of_linkage_tables() {
        let code = |pc: u8| {
            vec![
                op(DW_OP_breg7),
                8,
                op(DW_OP_breg16),
                pc,
                op(DW_OP_lit15),
                op(DW_OP_and),
                op(DW_OP_lit11),
                op(DW_OP_ge),
                op(DW_OP_lit3),
                op(DW_OP_shl),
                op(DW_OP_plus),
            ]
        };
        assert_eq!(value(None, &code(0)), Ok(0x7010));
        assert_eq!(value(None, &code(0x7f)), Ok(0x7008), "one instruction before");
    }

    /// Each against what gimli's evaluator makes of it.
    #[test]
    fn operations_are_those_of_gimli() {
        let encoding =
            gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 5 };
        let by_gimli = |first, code: &[u8]| {
            let code = gimli::EndianSlice::new(code, gimli::LittleEndian);
            let mut evaluation = gimli::Evaluation::new(code, encoding);
            evaluation.set_initial_value(first);
            match evaluation.evaluate() {
                Ok(gimli::EvaluationResult::Complete) => {
                    evaluation.value_result()?.to_u64(u64::MAX).ok()
                }
                _ => None,
            }
        };
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as u8
        };
        let (mut same, mut none) = (0, 0);
        for _ in 0..200_000 {
            // Operands are operations, too; what needs registers and memory is none of gimli's.
            let code: Vec<u8> = (0..random() % 12).map(|_| random() % 0x30 + 0x08).collect();
            let first = u64::from(random()) << (random() % 60);
            if code.iter().any(|byte| [0x0f, 0x18].contains(byte)) {
                continue;
            }
            let ours = value(Some(first), &code).ok();
            let theirs = by_gimli(first, &code);
            assert_eq!(ours, theirs, "{first:#x} {code:x?}");
            (same, none) = (same + u32::from(ours.is_some()), none + u32::from(ours.is_none()));
        }
        assert!(same > 20_000 && none > 20_000, "{same} values, {none} none");
    }

    #[test]
    fn memory_and_branches() {
        let deref = [op(DW_OP_breg7), 0, op(DW_OP_deref)];
        assert_eq!(value(None, &deref), Ok(0x1122_3344_5566_7788));
        let part = [op(DW_OP_breg7), 0, op(DW_OP_deref_size), 2];
        assert_eq!(value(None, &part), Ok(0x7788));
        let elsewhere = [op(DW_OP_breg7), 8, op(DW_OP_deref)];
        assert_eq!(value(None, &elsewhere), Err(NoCaller::Unreadable(0x7008)));
        // For ever, and out of the code.
        assert_eq!(value(None, &[op(DW_OP_skip), 0xfd, 0xff]), Err(NoCaller::Undefined));
        assert_eq!(value(None, &[op(DW_OP_skip), 0x7f, 0x7f]), Err(NoCaller::Undefined));
        let deep: Vec<u8> = vec![op(DW_OP_lit0); 65];
        assert_eq!(value(None, &deep), Err(NoCaller::Undefined));
        assert_eq!(DwarfExpression::new(&[0; 257]), None);
    }
}
