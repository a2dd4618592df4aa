//! How the caller of a function is found: from registers and a copy of the stack, by the rules that the file of the
//! function has for it (`.eh_frame`, `.debug_frame`; DWARF 5, section 6.4).
//!
//! A [`Row`] holds the rules for one instruction, and is all that a step needs: it refers to no file. So whoever walks
//! a stack may be elsewhere than the files are. Rows come only from files that passed the gate, and of code that a process
//! made from what it says itself ([`MadeCodeRules`]).
//!
//! What the rules do not say is not guessed: a register that a call may have changed has no value in the caller. A
//! library that guesses by frame pointers there (framehop) cannot tell a right caller from a wrong one.
//!
//! A [`Walk`] goes from caller to caller. It is the same for copies of stacks in a recording and while one is recorded;
//! what is mapped where is known by others ([`WalkedCode`]).

mod carried;
mod expression;
pub(crate) mod leaf_code;
mod made;
mod registers;
pub(crate) mod row;
mod tables;
mod walk;

pub use made::MadeCodeRules;
pub use registers::{Registers, UnwoundMachine};
pub use row::{Row, StackCopy};
pub use tables::{FileRules, RowMemory, UnwindTables};
pub(super) use tables::{FrameSections, for_each_function};
pub use walk::{RuleFound, Walk, WalkEnd, WalkedCode};
