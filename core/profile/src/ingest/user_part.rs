//! The user part of a call chain where the kernel did not walk it.
//!
//! - `perf record --call-graph lbr` records the CPU's own stack of calls beside the chain. It knows
//!   the callers of code without frame pointers, as far as it is deep (16 or 32 calls); perf puts
//!   it in place of the user part (`resolve_lbr_callchain_sample` in `tools/perf/util/machine.c`).
//! - `perf record --call-graph dwarf` has the kernel leave the user part away, and copies the user's
//!   registers. Of a sample in the kernel, they say where user space called it.
//! - `perftab record --call-graph dwarf` walks the copy of the stack itself, and puts addresses within the calls into the
//!   chain, not those that they return to, and no bytes of stack behind it. Registers that are left say that the stack went on
//!   behind the copy. A second marker of user space says that what follows was behind it, and was read from the thread later.

use perftab_perfdata::decode::attr::SampleLayout;
use perftab_perfdata::decode::sample::RawSample;
use perftab_perfdata::decode::sample_tail::{BranchStack, RegisterAbi, Registers, SampleTail};
use perftab_perfdata::format::attr::{ARM64_LINK_REGISTER, branch_sample_type, sample_type};
use perftab_perfdata::format::record::{CONTEXT_MARKER_MIN, CONTEXT_USER, misc};

/// What tells the user part of a call chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UserPart<'a> {
    /// The chain itself.
    InChain,
    /// The chain itself, as the recorder has made it of a copy of the stack.
    Walked(WalkedTo),
    /// The stack of calls that the CPU kept, the innermost first, in place of what follows the
    /// first address of the user part; a marker says where that begins, as for perf.
    Calls(BranchStack<'a>),
    /// The user's instruction pointer, behind a chain without a user part.
    Called(u64),
    /// Nothing: the stack was copied, and it is not known which of the registers is the instruction
    /// pointer, or they do not have it.
    Unknown,
}

/// How far a recorder has walked a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkedTo {
    /// To its root, in the copy.
    Root,
    /// To its root, by what the thread had behind the copy later.
    RootBehindCopy,
    /// To the end of a copy of so many bytes.
    EndOfCopy(u32),
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
        let parts = || raw.call_chain.iter().filter(|word| *word == CONTEXT_USER).count();
        if let Some(copied) = layout.tail.copied_for_chain
            && tail.user_stack.is_some_and(|copy| copy.most == 0)
        {
            match (parts(), tail.user_registers) {
                (0, _) => {}
                (_, Some(_)) => return Self::Walked(WalkedTo::EndOfCopy(copied)),
                (1, None) => return Self::Walked(WalkedTo::Root),
                (_, None) => return Self::Walked(WalkedTo::RootBehindCopy),
            }
        }
        if cpu_mode != misc::CPUMODE_KERNEL || tail.user_stack.is_none() {
            return Self::InChain;
        }
        // A thread of the kernel has no registers of user space, and no user part to miss.
        let is_of_kernel = layout.tail.has(sample_type::REGS_USER) && tail.user_registers.is_none();
        if is_of_kernel || raw.call_chain.iter().any(|word| word == CONTEXT_USER) {
            return Self::InChain;
        }
        let pointer = tail.user_registers.and_then(|it| instruction_pointer(&it, arch));
        pointer.map_or(Self::Unknown, Self::Called)
    }
}

/// What the register holds that a call of arm64 leaves its return address in, as perf records it beside chains by frame
/// pointers (`arch__add_leaf_frame_record_opts` in tools/perf/arch/arm64/util/machine.c, Linux 5.18); with the innermost
/// address of user space in the chain.
pub(super) fn leaf_and_link(
    layout: &SampleLayout,
    raw: &RawSample<'_>,
    tail: &SampleTail<'_>,
    arch: Option<&str>,
) -> Option<(u64, u64)> {
    // Whoever has a copy of the stack needs no chain.
    if layout.tail.has(sample_type::STACK_USER) || arch != Some("aarch64") {
        return None;
    }
    let registers = tail.user_registers.filter(|it| it.abi == RegisterAbi::Bits64)?;
    let link = registers.get(ARM64_LINK_REGISTER)?;
    let mut of_user = raw.call_chain.iter().skip_while(|word| *word != CONTEXT_USER).skip(1);
    let leaf = of_user.next().filter(|word| *word < CONTEXT_MARKER_MIN)?;
    Some((leaf, link))
}

/// Numbers of registers are those of `asm/perf_regs.h` of each architecture.
fn instruction_pointer(registers: &Registers<'_>, arch: Option<&str>) -> Option<u64> {
    let number = match arch {
        Some("x86_64" | "i386" | "i486" | "i586" | "i686") => X86_IP,
        Some("aarch64") => ARM64_PC,
        Some("s390x") => 33,
        Some(arch) if arch.starts_with("ppc") => 32,
        Some(arch) if ["riscv", "loongarch", "mips"].iter().any(|it| arch.starts_with(it)) => 0,
        Some(arch) if arch.starts_with("arm") => 15,
        Some(_) => return None,
        None => {
            let asked = REGISTERS_ASKED_FOR.iter().find(|(mask, _)| *mask == registers.mask);
            asked?.1
        }
    };
    registers.get(number).filter(|&pointer| pointer != 0)
}

const X86_IP: u32 = 8;
const ARM64_PC: u32 = 32;

/// The registers that perf asks for, and which of them is the instruction pointer. No other
/// architecture has a set like these; a file that is cut does not say which it is of. (All of them,
/// and the two that unwinding needs: `PERF_REGS_MASK` and `DWARF_MINIMAL_REGS` in
/// tools/perf/arch/*/include/perf_regs.h, Linux 6.12; arm64 may have one more, for vectors.)
const REGISTERS_ASKED_FOR: [(u64, u32); 5] = [
    (0xff_0fff, X86_IP),
    (1 << 7 | 1 << X86_IP, X86_IP),
    (0x1_ffff_ffff, ARM64_PC),
    (0x1_ffff_ffff | 1 << 46, ARM64_PC),
    (1 << 31 | 1 << ARM64_PC, ARM64_PC),
];
