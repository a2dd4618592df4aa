//! Registers of the machines whose stacks are walked, by the numbers that DWARF has for them.

use object::elf;
use perftab_perfdata::address_bits::AddressBits;

use super::row::StackCopy;

/// A machine whose stacks are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnwoundMachine {
    /// x86 in 64-bit mode.
    X86_64,
    /// arm64.
    Aarch64,
}

/// Numbers from this on are of no register that is kept.
pub(super) const COUNT: usize = 33;

/// By DWARF's number, perf's: `asm/perf_regs.h` against the x86-64 psABI, figure 3.36. DWARF calls the return address
/// 16.
const X86_64_OF_PERF: [u32; 17] = [0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8];

impl UnwoundMachine {
    /// The machine that `uname -m` calls so.
    pub fn of(arch: &str) -> Option<Self> {
        match arch {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Aarch64),
            _ => None,
        }
    }

    pub(super) fn of_elf(machine: elf::Machine) -> Option<Self> {
        match machine {
            elf::EM_X86_64 => Some(Self::X86_64),
            elf::EM_AARCH64 => Some(Self::Aarch64),
            _ => None,
        }
    }

    pub(super) fn stack_pointer(self) -> u16 {
        match self {
            Self::X86_64 => 7,
            Self::Aarch64 => 31,
        }
    }

    fn frame_pointer(self) -> u16 {
        match self {
            Self::X86_64 => 6,
            Self::Aarch64 => 29,
        }
    }

    /// Where a call leaves the address that it returns to.
    pub(super) fn link_register(self) -> Option<u16> {
        match self {
            Self::X86_64 => None,
            Self::Aarch64 => Some(30),
        }
    }

    fn instruction_pointer(self) -> u16 {
        match self {
            Self::X86_64 => 16,
            Self::Aarch64 => 32,
        }
    }

    /// The registers that a function hands back as it got them, one bit each: rbx, rbp and r12 to r15; x19 to x29.
    pub(super) fn preserved(self) -> u64 {
        match self {
            Self::X86_64 => 1 << 3 | 1 << 6 | 0b1111 << 12,
            Self::Aarch64 => 0x7ff << 19,
        }
    }
}

/// What registers hold, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    machine: UnwoundMachine,
    bits: AddressBits,
    values: [u64; COUNT],
    /// Which are known, one bit each.
    known: u64,
}

impl Registers {
    /// `of_perf` tells the value of a register by perf's number; `None` if the stack pointer or the instruction pointer
    /// is not among them.
    pub fn new(
        machine: UnwoundMachine,
        bits: AddressBits,
        of_perf: impl Fn(u32) -> Option<u64>,
    ) -> Option<Self> {
        let mut registers = Self { machine, bits, values: [0; COUNT], known: 0 };
        for number in 0..=machine.instruction_pointer() {
            let perf = match machine {
                UnwoundMachine::X86_64 => X86_64_OF_PERF.get(usize::from(number)).copied(),
                UnwoundMachine::Aarch64 => Some(u32::from(number)),
            };
            registers.set(number, perf.and_then(&of_perf));
        }
        let is_known = |number| registers.get(number).is_some();
        (is_known(machine.stack_pointer()) && is_known(machine.instruction_pointer()))
            .then_some(registers)
    }

    pub(super) fn machine(&self) -> UnwoundMachine {
        self.machine
    }

    /// A return address as it is jumped to.
    pub(super) fn unsigned(&self, address: u64) -> u64 {
        match self.machine {
            UnwoundMachine::X86_64 => address,
            UnwoundMachine::Aarch64 => self.bits.of(address),
        }
    }

    /// Where the stack ends that a function has used so far.
    pub fn stack_pointer(&self) -> u64 {
        self.values[usize::from(self.machine.stack_pointer())]
    }

    /// What runs: where it was interrupted, or where its callee returns to.
    pub fn instruction_pointer(&self) -> u64 {
        self.values[usize::from(self.machine.instruction_pointer())]
    }

    #[inline(always)]
    pub(super) fn get(&self, number: u16) -> Option<u64> {
        let value = *self.values.get(usize::from(number))?;
        (self.known & 1 << number != 0).then_some(value)
    }

    #[inline(always)]
    pub(super) fn set(&mut self, number: u16, value: Option<u64>) {
        let Some(kept) = self.values.get_mut(usize::from(number)) else { return };
        *kept = value.unwrap_or_default();
        self.known = self.known & !(1 << number) | u64::from(value.is_some()) << number;
    }

    /// The frame pointer.
    pub fn frame(&self) -> Option<u64> {
        self.get(self.machine.frame_pointer())
    }

    /// What the caller's frame is by the frame pointer, as compilers set it up (`-fno-omit-frame-pointer`): it leads to the
    /// caller's frame pointer, with the return address behind that. Nothing tells whether this code does so.
    pub fn follow_frame_pointer(&mut self, stack: &StackCopy<'_>) -> Option<u64> {
        let number = self.machine.frame_pointer();
        let frame = self.get(number).filter(|frame| frame % 8 == 0)?;
        let end = frame.checked_add(16).filter(|_| frame >= self.stack_pointer())?;
        let callers = stack.word(frame)?;
        let address = self.unsigned(stack.word(frame + 8)?);
        self.keep_only(0);
        self.set(number, Some(callers));
        self.set_pointers(end, address);
        Some(address)
    }

    /// Only these are known any longer.
    pub(super) fn keep_only(&mut self, numbers: u64) {
        self.known &= numbers;
    }

    pub(super) fn set_pointers(&mut self, stack: u64, instruction: u64) {
        self.set(self.machine.stack_pointer(), Some(stack));
        self.set(self.machine.instruction_pointer(), Some(instruction));
    }
}
