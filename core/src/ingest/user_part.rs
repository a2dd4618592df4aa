//! The user part of a call chain where the kernel did not walk it.
//!
//! - `perf record --call-graph lbr` records the CPU's own stack of calls beside the chain. It knows
//!   the callers of code without frame pointers, as far as it is deep (16 or 32 calls); perf puts
//!   it in place of the user part (`resolve_lbr_callchain_sample` in `tools/perf/util/machine.c`).
//! - `perf record --call-graph dwarf` has the kernel leave the user part away, and copies the user's
//!   registers. Of a sample in the kernel, they say where user space called it.

use crate::decode::attr::SampleLayout;
use crate::decode::sample::RawSample;
use crate::decode::sample_tail::{BranchStack, Registers, SampleTail};
use crate::format::attr::branch_sample_type;
use crate::format::record::{CONTEXT_USER, misc};

/// What tells the user part of a call chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UserPart<'a> {
    /// The chain itself.
    InChain,
    /// The stack of calls that the CPU kept, the innermost first, in place of what follows the
    /// first address of the user part.
    Calls(BranchStack<'a>),
    /// The user's instruction pointer, behind a chain without a user part.
    Called(u64),
}

impl<'a> UserPart<'a> {
    /// Of a sample with this layout; `arch` is the machine's, as `uname -m` prints it.
    pub(super) fn of(
        layout: &SampleLayout,
        cpu_mode: u16,
        raw: &RawSample<'a>,
        tail: Option<&SampleTail<'a>>,
        arch: Option<&str>,
    ) -> Self {
        let Some(tail) = tail else { return Self::InChain };
        let keeps_calls = layout.tail.branch_sample_type & branch_sample_type::CALL_STACK != 0;
        if keeps_calls && let Some(calls) = tail.branches.filter(|calls| !calls.is_empty()) {
            return Self::Calls(calls);
        }
        if cpu_mode != misc::CPUMODE_KERNEL || tail.user_stack.is_none() {
            return Self::InChain;
        }
        let has_user_part = raw.call_chain.iter().any(|word| word == CONTEXT_USER);
        let registers = tail.user_registers.filter(|_| !has_user_part);
        let pointer = registers.and_then(|it| instruction_pointer(&it, arch?));
        pointer.map_or(Self::InChain, Self::Called)
    }
}

/// Numbers of registers are those of `asm/perf_regs.h` of each architecture.
fn instruction_pointer(registers: &Registers<'_>, arch: &str) -> Option<u64> {
    let number = match arch {
        "x86_64" | "i386" | "i486" | "i586" | "i686" => 8,
        "aarch64" => 32,
        arch if arch.starts_with("riscv") => 0,
        arch if arch.starts_with("arm") => 15,
        _ => return None,
    };
    registers.get(number).filter(|&pointer| pointer != 0)
}
