//! From the innermost function of a stack outwards, caller by caller.

use super::registers::Registers;
use super::row::{Caller, CodeState, NoCaller, Row, StackCopy};

/// Frames that a stack may have beside one for each eight bytes of its copy, which is what a call takes.
const SPARE_FRAMES: usize = 8;
/// What a function returns to whose return is probed (uretprobe), by which its caller is found no more: the last page of
/// user space (`xol_add_vma` in kernel/events/uprobes.c, Linux 6.12), of 47 and 56 bits on x86-64, of 39 and 48 on arm64.
const RETURN_PROBES: [u64; 4] =
    [0x7fff_ffff_e000, 0xff_ffff_ffff_e000, 0x7f_ffff_f000, 0xffff_ffff_f000];
/// Signals that may have interrupted one another.
const MAX_SIGNALS: u32 = 64;

/// The code that a walk passes, as whoever walks knows it.
pub trait WalkedCode {
    /// A place in it.
    type Place: Copy;

    /// The code at an address, which is the next frame; `None` if nothing is mapped there. Of a caller the address is
    /// within the call, and the frame goes on at `next`, where its stack begins at `stack_pointer`.
    fn enter(&mut self, address: u64, next: u64, stack_pointer: u64) -> Option<Self::Place>;

    /// How the caller of that code is found.
    fn rule(&mut self, place: Self::Place) -> RuleFound<'_>;

    /// Whether a function begins right behind this address, with nothing but padding before it.
    fn ends_before_function(&self, place: Self::Place) -> bool;
}

/// What is known of how the caller of a function is found.
pub enum RuleFound<'a> {
    /// This.
    Row(&'a Row),
    /// Its file tells nothing of it.
    NotCovered,
    /// No file is here that might tell.
    NoTables,
}

/// Where a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEnd<P> {
    /// At the first function of its thread.
    Root,
    /// Where the copy ends.
    Truncated,
    /// In code of which no file is here that tells how to go on.
    NoTables(P),
    /// In code that its file does not tell of.
    NotCovered(P),
    /// Where a probe of a function's return has taken the place of what it returns to.
    ReturnProbe,
    /// At an address in no mapping, or where the copy contradicts the files.
    Lost,
}

/// How far a stack was walked.
#[derive(Clone)]
pub struct Walk {
    registers: Registers,
    /// Where the next rules are looked up.
    lookup: u64,
    state: CodeState,
    signals: u32,
    /// Frames so far, and how many it may have.
    frames: usize,
    most: usize,
}

impl Walk {
    /// From where a thread was interrupted.
    pub fn new(registers: Registers, copy: &StackCopy<'_>) -> Self {
        Self {
            lookup: registers.instruction_pointer(),
            registers,
            state: CodeState::Interrupted,
            signals: 0,
            frames: 0,
            most: copy.bytes.len() / 8 + SPARE_FRAMES,
        }
    }

    /// The registers of the function that was reached.
    pub fn registers(&self) -> &Registers {
        &self.registers
    }

    /// How many signals have interrupted what is on the stack so far.
    pub fn signals(&self) -> u32 {
        self.signals
    }

    /// Goes on at a caller that was found in another way: at the code before that address.
    pub fn go_on_in(&mut self, registers: Registers, returns_to: u64) {
        (self.registers, self.lookup) = (registers, returns_to.wrapping_sub(1));
        self.state = CodeState::Calls;
    }

    /// Walks on until it ends; who knows more may [go on](Self::go_on_in). With more of the stack, one that was truncated goes
    /// on by itself: it enters its last function once more.
    #[inline(always)]
    pub fn go<C: WalkedCode>(&mut self, code: &mut C, copy: &StackCopy<'_>) -> WalkEnd<C::Place> {
        while self.frames < self.most {
            let next = self.registers.instruction_pointer();
            if next.is_multiple_of(4096) && RETURN_PROBES.contains(&next) && self.frames > 0 {
                return WalkEnd::ReturnProbe;
            }
            let before = self.registers.stack_pointer();
            let Some(place) = code.enter(self.lookup, next, before) else { return WalkEnd::Lost };
            self.frames += 1;
            let found = match code.rule(place) {
                RuleFound::Row(row) => row.step(&mut self.registers, copy, self.state),
                RuleFound::NoTables => return WalkEnd::NoTables(place),
                RuleFound::NotCovered if self.state == CodeState::Interrupted => {
                    return WalkEnd::NotCovered(place);
                }
                // It has called nothing: what a function returns to is where another one begins, and nothing but padding
                // is before it. So whoever made the stack has written that there, as `makecontext` does for the first
                // function of a coroutine.
                RuleFound::NotCovered => {
                    return match code.ends_before_function(place) {
                        true => WalkEnd::Root,
                        false => WalkEnd::NotCovered(place),
                    };
                }
            };
            self.lookup = match found {
                Ok(Caller::Nobody) => return WalkEnd::Root,
                Ok(Caller::At(address)) => {
                    (self.state, self.signals) = (CodeState::Interrupted, self.signals + 1);
                    if self.signals > MAX_SIGNALS {
                        return WalkEnd::Lost;
                    }
                    address
                }
                Ok(Caller::Before(address)) => {
                    // A leaf function of arm64 need not have used any of the stack.
                    let is_leaf = self.state == CodeState::Interrupted
                        && self.registers.stack_pointer() == before;
                    if self.registers.stack_pointer() <= before && !is_leaf {
                        return WalkEnd::Lost;
                    }
                    self.state = CodeState::Calls;
                    address.wrapping_sub(1)
                }
                // What a signal has interrupted may have another stack.
                Err(NoCaller::Unreadable(address)) if address >= copy.start || self.signals > 0 => {
                    return WalkEnd::Truncated;
                }
                Err(_) => return WalkEnd::Lost,
            };
        }
        WalkEnd::Truncated
    }
}
