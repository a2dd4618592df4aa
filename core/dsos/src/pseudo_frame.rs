//! Frames that are no code: what perftab has to say of a stack, where it can be seen.

use perftab_perfdata::text::grouped;

use crate::{Dso, DsoId, DsoKind, Dsos, MappedFrom};

/// Why a thread was off the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffCpu {
    /// It waited for something.
    Blocked,
    /// It made room for another, and would have gone on.
    Preempted,
}

impl OffCpu {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Blocked, Self::Preempted];
}

/// A record has 64 KiB, of which a copy has all but what else is in a sample.
const LARGEST_COPY: u32 = 60 << 10;

/// What to do about a stack that is longer than its copy of so many bytes.
pub fn advice_on_copy(copied: u32) -> &'static str {
    match copied < LARGEST_COPY {
        true => "Record with a larger copy (--call-graph dwarf,BYTES, at most 65528).",
        false => "A copy cannot be larger than these are.",
    }
}

/// A frame that is no code. It is in a DSO of [`DsoKind::Pseudo`], and its address there is a number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PseudoFrame {
    /// Innermost: the thread was off the CPU.
    OffCpu(OffCpu),
    /// Outermost: so many bytes of the stack were copied, and it is longer.
    Truncated {
        /// Bytes.
        copied: u32,
    },
    /// Outermost: no file is here that tells how stacks go on in this DSO.
    NoUnwindTables(DsoId),
    /// Outermost: the DSO's file does not tell of the code that ran.
    NotCovered(DsoId),
    /// Outermost: the copy of the stack contradicts the files.
    NoCaller,
    /// Outermost: the program has 32 bits, or its registers were not recorded.
    NoRegisters,
    /// What is outside of it was found by the frame pointer, and may be wrong.
    Guessed,
    /// Outermost: a probe of a function's return has taken the place of what it returns to.
    ReturnProbe,
}

const OFF_CPU: &str = "[off-CPU]";
const UNWINDING: &str = "[unwinding]";
/// Bits of an address that say what the frame is; the others say of what.
const WHAT_BITS: u32 = 8;

impl PseudoFrame {
    /// The DSO of those that say how a stack was unwound.
    pub fn unwinding_in(dsos: &mut Dsos) -> DsoId {
        dsos.intern(UNWINDING, DsoKind::Pseudo, MappedFrom::Nothing, None)
    }

    /// The same, where it is known.
    pub fn known_unwinding_in(dsos: &Dsos) -> Option<DsoId> {
        let is_it = |dso: &Dso| dso.kind == DsoKind::Pseudo && dso.path == UNWINDING;
        dsos.iter().find(|(_, dso)| is_it(dso)).map(|(id, _)| id)
    }

    /// The DSO of those that say why a thread was off the CPU.
    pub fn off_cpu_in(dsos: &mut Dsos) -> DsoId {
        dsos.intern(OFF_CPU, DsoKind::Pseudo, MappedFrom::Nothing, None)
    }

    /// Its number: the address of its frame.
    pub fn number(self) -> u64 {
        let (what, of) = match self {
            Self::OffCpu(why) => (why as u64, 0),
            Self::Truncated { copied } => (2, copied),
            Self::NoUnwindTables(dso) => (3, dso.0),
            Self::NotCovered(dso) => (4, dso.0),
            Self::NoCaller => (5, 0),
            Self::NoRegisters => (6, 0),
            Self::Guessed => (7, 0),
            Self::ReturnProbe => (8, 0),
        };
        u64::from(of) << WHAT_BITS | what
    }

    /// The frame of a number; `None` for one that no frame has.
    pub fn of_number(number: u64) -> Option<Self> {
        let of = u32::try_from(number >> WHAT_BITS).ok()?;
        Some(match number & ((1 << WHAT_BITS) - 1) {
            0 => Self::OffCpu(OffCpu::Blocked),
            1 => Self::OffCpu(OffCpu::Preempted),
            2 => Self::Truncated { copied: of },
            3 => Self::NoUnwindTables(DsoId(of)),
            4 => Self::NotCovered(DsoId(of)),
            5 => Self::NoCaller,
            6 => Self::NoRegisters,
            7 => Self::Guessed,
            8 => Self::ReturnProbe,
            _ => return None,
        })
    }

    /// What views call it.
    pub fn name(self, dsos: &Dsos) -> String {
        let found = |dso: DsoId| dsos.iter().nth(dso.index()).map(|(_, dso)| dso);
        let name_of = |dso| found(dso).map_or("?", Dso::name);
        let is_unknown = |dso| found(dso).is_some_and(Dso::is_unidentified_file);
        match self {
            Self::OffCpu(OffCpu::Blocked) => "off-CPU: blocked".to_owned(),
            Self::OffCpu(OffCpu::Preempted) => "off-CPU: preempted".to_owned(),
            Self::Truncated { copied } if copied % 1024 == 0 => {
                format!("truncated after {} KiB", copied / 1024)
            }
            Self::Truncated { copied } => {
                format!("truncated after {} bytes", grouped(copied.into()))
            }
            Self::NoUnwindTables(dso) if is_unknown(dso) => {
                format!("stopped in {}: recorded without a build-id", name_of(dso))
            }
            Self::NoUnwindTables(dso) => format!("stopped in {}: no unwind tables", name_of(dso)),
            Self::NotCovered(dso) => {
                format!("stopped in {}: not in its unwind tables", name_of(dso))
            }
            Self::NoCaller => "stopped: the copied stack contradicts the files".to_owned(),
            Self::NoRegisters => "not unwound: 32-bit program, or no registers".to_owned(),
            Self::Guessed => "callers guessed by frame pointer".to_owned(),
            Self::ReturnProbe => "stopped: a uretprobe hides the caller".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_has_a_number_of_its_own() {
        let dso = DsoId(u32::MAX);
        let all = [
            PseudoFrame::OffCpu(OffCpu::Blocked),
            PseudoFrame::OffCpu(OffCpu::Preempted),
            PseudoFrame::Truncated { copied: u32::MAX },
            PseudoFrame::NoUnwindTables(dso),
            PseudoFrame::NotCovered(dso),
            PseudoFrame::NoCaller,
            PseudoFrame::NoRegisters,
            PseudoFrame::Guessed,
            PseudoFrame::ReturnProbe,
        ];
        for frame in all {
            assert_eq!(PseudoFrame::of_number(frame.number()), Some(frame));
        }
        assert_eq!(PseudoFrame::of_number(9), None);
        assert_eq!(PseudoFrame::of_number(u64::MAX), None);
    }
}
