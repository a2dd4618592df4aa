//! What instructions of arm64 refer to. An address takes two of them: `adrp` has the page, what follows has the rest.
//!
//! Code is gone through once, in its order, with what registers hold as far as `adrp`, `adr` and `add` tell. What a
//! register holds is forgotten where anything else may write it, and where code is jumped to.
//!
//! Encodings as in the Arm Architecture Reference Manual (DDI 0487), C4.1.

use perftab_images::{DataReference, FunctionCode, ReferenceWay, Svma};

const LENGTH: usize = 4;
/// The stack pointer or zero, as the instruction has it.
const NO_REGISTER: u32 = 31;

/// By where they begin in the code, ascending: instructions that refer to an address.
pub fn of(code: &FunctionCode) -> Vec<(u32, DataReference)> {
    let (words, _) = code.bytes.as_chunks::<LENGTH>();
    let words = || words.iter().map(|word| u32::from_le_bytes(*word)).zip((0..).step_by(LENGTH));
    let mut joins: Vec<u64> = words().filter_map(|(word, at)| branch_target(word, at)).collect();
    joins.sort_unstable();
    let mut joins = joins.into_iter().peekable();
    let mut registers = Registers::default();
    let mut found = Vec::new();
    for (word, at) in words() {
        let mut is_joined = false;
        while joins.next_if(|&join| join <= at).is_some() {
            is_joined = true;
        }
        if is_joined {
            registers = Registers::default();
        }
        let address = code.start_in_file.0.wrapping_add(at);
        if let Some((at_data, way)) = registers.step(word, address) {
            found.push((at as u32, DataReference { at: Svma(at_data), way }));
        }
    }
    found
}

/// So many bits of a word from the lowest of them on.
fn bits(word: u32, lowest: u32, count: u32) -> u32 {
    (word >> lowest) & ((1 << count) - 1)
}

/// A number of so many bits that may be below zero.
fn signed(number: u32, bits: u32) -> u64 {
    let unused = 64 - bits;
    ((u64::from(number) << unused).cast_signed() >> unused).cast_unsigned()
}

/// Where a direct branch leads, in bytes from the start of the code; a call goes on behind itself.
fn branch_target(word: u32, at: u64) -> Option<u64> {
    let distance = match word {
        _ if word & 0xfc00_0000 == 0x1400_0000 => signed(bits(word, 0, 26), 26),
        // `b.cond`, `cbz` and `cbnz`
        _ if word & 0xff00_0000 == 0x5400_0000 || word & 0x7e00_0000 == 0x3400_0000 => {
            signed(bits(word, 5, 19), 19)
        }
        // `tbz` and `tbnz`
        _ if word & 0x7e00_0000 == 0x3600_0000 => signed(bits(word, 5, 14), 14),
        _ => return None,
    };
    Some(at.wrapping_add(distance << 2))
}

/// The addresses that registers hold, as far as that is known.
#[derive(Default)]
struct Registers([Option<u64>; 32]);

impl Registers {
    fn get(&self, register: u32) -> Option<u64> {
        self.0.get(register as usize).copied().flatten()
    }

    fn set(&mut self, register: u32, value: Option<u64>) {
        if let Some(held) = self.0.get_mut(register as usize).filter(|_| register != NO_REGISTER) {
            *held = value;
        }
    }

    fn forget(&mut self, registers: impl IntoIterator<Item = u32>) {
        registers.into_iter().for_each(|register| self.set(register, None));
    }

    /// Goes past an instruction, and says what address it refers to.
    fn step(&mut self, word: u32, address: u64) -> Option<(u64, ReferenceWay)> {
        let (first, base) = (bits(word, 0, 5), bits(word, 5, 5));
        match bits(word, 25, 4) {
            // Data processing with a number.
            0b1000 | 0b1001 => {
                let number = signed(bits(word, 5, 19) << 2 | bits(word, 29, 2), 21);
                let (value, says) = match word {
                    _ if word & 0x9f00_0000 == 0x9000_0000 => {
                        (Some((address & !0xfff).wrapping_add(number << 12)), false)
                    }
                    _ if word & 0x9f00_0000 == 0x1000_0000 => {
                        (Some(address.wrapping_add(number)), true)
                    }
                    // `add`
                    _ if word & 0xff80_0000 == 0x9100_0000 => {
                        let number = u64::from(bits(word, 10, 12)) << (12 * bits(word, 22, 1));
                        (self.get(base).map(|it| it.wrapping_add(number)), true)
                    }
                    _ => (None, false),
                };
                self.set(first, value);
                value.filter(|_| says).map(|value| (value, ReferenceWay::Taken))
            }
            // Branches and the system.
            0b1010 | 0b1011 => {
                let is_call =
                    word & 0xfc00_0000 == 0x9400_0000 || word & 0xffff_fc1f == 0xd63f_0000;
                let is_end = word & 0xfc00_0000 == 0x1400_0000 || word & 0xfe00_0000 == 0xd600_0000;
                match (is_call, is_end) {
                    // What a function called may change (AAPCS64, 6.1.1).
                    (true, _) => self.forget((0..19).chain([30])),
                    (false, true) => *self = Self::default(),
                    // `mrs` and `sysl` write a register, `svc` what the kernel says.
                    (false, false) if word & 0xff00_0000 == 0xd500_0000 => self.forget([first]),
                    (false, false) if word & 0xff00_0000 == 0xd400_0000 => *self = Self::default(),
                    (false, false) => {}
                }
                None
            }
            // Loads and stores.
            0b0100 | 0b0110 | 0b1100 | 0b1110 => {
                // From a register and a number; only these are understood.
                let found = (word & 0x3b00_0000 == 0x3900_0000).then(|| {
                    let of_vector = bits(word, 26, 1) & bits(word, 23, 1);
                    let size = if of_vector == 1 { 4 } else { bits(word, 30, 2) };
                    let at = self.get(base)?.wrapping_add(u64::from(bits(word, 10, 12)) << size);
                    Some((at, ReferenceWay::Accessed))
                });
                self.forget([first]);
                if found.is_none() {
                    self.forget([base, bits(word, 10, 5), bits(word, 16, 5)]);
                }
                found.flatten()
            }
            // Data processing of registers, also of vectors to others.
            0b0101 | 0b1101 | 0b0111 | 0b1111 => {
                self.forget([first]);
                None
            }
            _ => {
                *self = Self::default();
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use perftab_images::Machine;

    use super::*;

    fn found(words: &[u32]) -> Vec<(u32, u64, ReferenceWay)> {
        let code = FunctionCode {
            machine: Machine::Aarch64,
            start: 0,
            start_in_file: Svma(0x1_0000),
            bytes: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        };
        of(&code).into_iter().map(|(at, it)| (at, it.at.0, it.way)).collect()
    }

    const ADRP_X0: u32 = 0xb000_0000; // adrp x0, 0x11000
    const ADD_X0: u32 = 0x9104_8000; // add x0, x0, #0x120
    const LDR_W1: u32 = 0xb941_2001; // ldr w1, [x0, #0x120]
    const NOP: u32 = 0xd503_201f;

    /// Encoded by clang 14.
    #[test]
    fn a_page_and_what_is_added_are_an_address() {
        let (taken, accessed) = (ReferenceWay::Taken, ReferenceWay::Accessed);
        assert_eq!(found(&[ADRP_X0, NOP, ADD_X0]), [(8, 0x1_1120, taken)]);
        assert_eq!(found(&[ADRP_X0, LDR_W1]), [(4, 0x1_1120, accessed)]);
        let both = [(4, 0x1_1120, taken), (8, 0x1_1240, accessed)];
        assert_eq!(found(&[ADRP_X0, ADD_X0, LDR_W1]), both);
        // adr x0, #8; ldr q1, [x0, #16]
        let of_vector = [(0, 0x1_0008, taken), (4, 0x1_0018, accessed)];
        assert_eq!(found(&[0x1000_0040, 0x3dc0_0401]), of_vector);
    }

    #[test]
    fn what_may_be_written_between_is_not_known() {
        let between = |word| found(&[ADRP_X0, word, ADD_X0]);
        assert_eq!(between(0xaa01_03e0), [], "mov x0, x1");
        assert_eq!(between(0x9400_0010), [], "bl");
        assert_eq!(between(0xd65f_03c0), [], "ret");
        assert_eq!(between(0xf840_8401), [], "ldr x1, [x0], #8");
        assert_eq!(between(0xa940_0041), [], "ldp x1, x0, [x2]");
        assert_eq!(between(0x9e66_0000), [], "fmov x0, d0");
        assert_eq!(between(0xd53b_d040), [], "mrs x0, tpidr_el0");
        assert_eq!(between(0xaa01_03e2).len(), 1, "mov x2, x1");
        // Something jumps to what adds.
        assert_eq!(found(&[ADRP_X0, ADD_X0, 0x17ff_ffff]), []);
        assert_eq!(found(&[ADRP_X0, ADD_X0, 0x17ff_fffe]).len(), 1);
    }
}
