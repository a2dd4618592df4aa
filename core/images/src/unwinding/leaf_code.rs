//! The vdso of arm64 has no unwind tables (`/DISCARD/` in arch/arm64/kernel/vdso/vdso.lds.S, Linux 6.1), but its functions
//! call no others and use no stack. Where all instructions of a function show that, the caller is in the link register
//! at each of them, and the stack ends where the caller's does. So a table is made that says so of these.
//!
//! What may write x30 or sp makes a function none of these, and so does what only looks like it: a function that is left
//! out ends a stack, as before. Instructions of kinds that are not told apart here count as such.

use gimli::RunTimeEndian;
use object::elf;

use super::registers::UnwoundMachine;
use super::tables::{Form, Kind, Table};
use crate::code_ranges::CodeRanges;
use crate::dwarf::Budget;
use crate::elf::{Class, Elf};
use crate::image::Image;

/// The vdso has two or three pages. Compilers write tables for whatever is larger.
const MOST_BYTES: u64 = 64 << 10;

/// A table of such functions, if there are some; of a file that has none itself.
pub(super) fn table(image: &Image) -> Option<Table> {
    let elf = image.elf()?;
    if elf.machine != elf::EM_AARCH64 || elf.class != Class::Elf64 {
        return None;
    }
    let text = elf.section_with_bytes(".text")?;
    let functions = functions(image, elf).filter(|functions| !functions.is_empty())?;
    let bytes = debug_frame(&functions);
    let form = Form {
        kind: Kind::DebugFrame,
        endian: RunTimeEndian::Little,
        address_size: 8,
        machine: Some(UnwoundMachine::Aarch64),
        address: 0,
        text: text.address,
    };
    let budget = Budget::of_file(bytes.len() as u64);
    Some(Table::new(bytes, form, CodeRanges::of(elf, None), budget))
}

/// Whether there are some.
pub(crate) fn exists_in(image: &Image) -> bool {
    table(image).is_some()
}

/// Where they begin, and how long they are.
fn functions(image: &Image, elf: &Elf) -> Option<Vec<(u64, u64)>> {
    if image.source().len() > MOST_BYTES {
        return None;
    }
    let text = elf.section_with_bytes(".text")?;
    let code = image.section_bytes(elf, text).ok()?;
    let symbols = elf.section_of_kind(elf::SHT_DYNSYM)?;
    let symbols = image.section_bytes(elf, symbols).ok()?;
    let mut functions = Vec::new();
    elf.for_each_symbol(&symbols, |symbol| {
        let from = symbol.value.checked_sub(text.address).and_then(|it| usize::try_from(it).ok());
        let size = usize::try_from(symbol.size).ok();
        let bytes = || code.get(from?..)?.get(..size?);
        if symbol.kind == elf::STT_FUNC
            && symbol.value.is_multiple_of(4)
            && let Some(bytes) = bytes()
            && leaves_caller_in_register(bytes.as_chunks().0)
        {
            functions.push((symbol.value, symbol.size));
        }
    });
    Some(functions)
}

/// Whether a function returns, and writes neither x30 nor sp before. A handler of a signal returns to a function that does
/// not return.
fn leaves_caller_in_register(code: &[[u8; 4]]) -> bool {
    let mut words = code.iter().map(|word| u32::from_le_bytes(*word));
    words.clone().any(is_return) && words.all(|word| is_return(word) || leaves_both_alone(word))
}

/// `ret`, `retaa`, `retab`.
fn is_return(word: u32) -> bool {
    matches!(word, 0xd65f_03c0 | 0xd65f_0bff | 0xd65f_0fff)
}

/// By the top-level encodings of A64 (Arm ARM, C4.1).
fn leaves_both_alone(word: u32) -> bool {
    let field = |from: u32, width: u32| word >> from & ((1 << width) - 1);
    // What most instructions write, where they write a register.
    let written = field(0, 5);
    match field(25, 4) {
        // Immediate: what sets flags writes no sp.
        0b1000 | 0b1001 => {
            let is_move_or_field = field(23, 3) >= 0b101;
            let is_relative = field(24, 5) == 0b10000;
            let sets_flags = match field(23, 3) {
                0b010 => field(29, 1) == 1,
                0b100 => field(29, 2) == 0b11,
                _ => false,
            };
            written != 30 && (written != 31 || sets_flags || is_move_or_field || is_relative)
        }
        // Branches, which write x30 if they call; exceptions and hints, of which `pacia` and its like only sign x30;
        // registers of the system.
        0b1010 | 0b1011 => match field(26, 6) {
            0b00_0101 => true,
            0b10_0101 => false,
            _ if field(25, 7) == 0b110_1011 => false,
            _ => written != 30,
        },
        // Memory: not by sp, which that may change, nor with x30 as any operand.
        0b0100 | 0b0110 | 0b1100 | 0b1110 => {
            let is_of_new_kinds = matches!(field(24, 6), 0b01_1001 | 0b01_1101);
            let operands = [written, field(5, 5), field(10, 5), field(16, 5)];
            !is_of_new_kinds && !operands.contains(&30) && field(5, 5) != 31
        }
        // Registers: only sums with an extended register write sp, and `irg`.
        0b0101 | 0b1101 => {
            let may_write_sp = field(21, 8) == 0b0101_1001 && field(29, 1) == 0
                || field(21, 8) == 0b1101_0110 && field(30, 1) == 0;
            written != 30 && !(written == 31 && may_write_sp)
        }
        // Vectors: results in other registers have the same numbers.
        0b0111 | 0b1111 => written != 30,
        // Not allocated, or of extensions that came later (SVE, SME).
        _ => false,
    }
}

/// `.debug_frame` (DWARF 5, section 6.4.1, as of version 4) without a rule but that the frame of the caller begins at sp.
fn debug_frame(functions: &[(u64, u64)]) -> Vec<u8> {
    /// DW_CFA_def_cfa x31, 0.
    const AT_STACK_POINTER: [u8; 3] = [0x0c, 31, 0];
    let mut section = Vec::new();
    let mut entry = |body: &[u8]| {
        let length = (body.len() + 4).next_multiple_of(8) - 4;
        section.extend_from_slice(&(length as u32).to_le_bytes());
        section.extend_from_slice(body);
        // DW_CFA_nop.
        section.resize(section.len() + length - body.len(), 0);
    };
    // No augmentation, addresses of 8 bytes, no segments; factors of 1 and -8; x30 has what is returned to.
    let head = [&u32::MAX.to_le_bytes()[..], &[4, 0, 8, 0, 1, 0x78, 30], &AT_STACK_POINTER];
    entry(&head.concat());
    for (start, length) in functions {
        entry(&[&[0; 4][..], &start.to_le_bytes(), &length.to_le_bytes()].concat());
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As llvm-mc encodes them.
    #[test]
    fn what_writes_the_link_register_or_the_stack_pointer_is_told_from_what_does_not() {
        let alone = [
            (0xd503_201f, "nop"),
            (0xd503_233f, "paciasp"),
            (0xd503_23bf, "autiasp"),
            (0xd503_245f, "bti c"),
            (0xd400_0001, "svc #0"),
            (0x1400_001e, "b #120"),
            (0x54ff_ffc1, "b.ne #-8"),
            (0xb400_0080, "cbz x0, #16"),
            (0xaa01_03e0, "mov x0, x1"),
            (0xeb01_001f, "cmp x0, x1"),
            (0xf100_041f, "cmp x0, #1"),
            (0x721b_045f, "tst w2, #0x60"),
            (0x8b24_63e4, "add x4, sp, x4"),
            (0x9100_03fd, "mov x29, sp"),
            (0x1000_0043, "adr x3, #8"),
            (0xf2a0_00e0, "movk x0, #7, lsl #16"),
            (0xd343_1820, "ubfx x0, x1, #3, #4"),
            (0x9b02_0c20, "madd x0, x1, x2, x3"),
            (0xd53b_e042, "mrs x2, CNTVCT_EL0"),
            (0xd503_39bf, "dmb ishld"),
            (0xf940_0020, "ldr x0, [x1]"),
            (0xa940_a86b, "ldp x11, x10, [x3, #8]"),
            (0xf800_8420, "str x0, [x1], #8"),
            (0xc8df_fc20, "ldar x0, [x1]"),
            (0x9e67_0020, "fmov d0, x1"),
        ];
        let writes = [
            (0x9400_0002, "bl #8"),
            (0xd63f_0020, "blr x1"),
            (0xd63f_083f, "blraaz x1"),
            (0xd61f_0000, "br x0"),
            (0xaa01_03fe, "mov x30, x1"),
            (0x9100_041e, "add x30, x0, #1"),
            (0x1000_005e, "adr x30, #8"),
            (0xd53b_421e, "mrs x30, nzcv"),
            (0x9e66_001e, "fmov x30, d0"),
            (0xdac1_03fe, "pacia x30, sp"),
            (0xf940_003e, "ldr x30, [x1]"),
            (0x5800_005e, "ldr x30, #8"),
            (0xa940_7820, "ldp x0, x30, [x1]"),
            (0xc87f_7820, "ldxp x0, x30, [x1]"),
            (0xf820_803e, "swp x0, x30, [x1]"),
            (0xc8be_7c20, "cas x30, x0, [x1]"),
            (0xf840_87c0, "ldr x0, [x30], #8"),
            (0xa9bf_7bfd, "stp x29, x30, [sp, #-16]!"),
            (0xa8c1_7bfd, "ldp x29, x30, [sp], #16"),
            (0xf81f_0fe0, "str x0, [sp, #-16]!"),
            (0xf841_07e0, "ldr x0, [sp], #16"),
            (0xd100_43ff, "sub sp, sp, #16"),
            (0x8b20_63ff, "add sp, sp, x0"),
            (0x9100_001f, "mov sp, x0"),
            (0x927c_ec1f, "and sp, x0, #-16"),
            (0x9adf_101f, "irg sp, x0"),
            (0x9181_001f, "addg sp, x0, #16, #0"),
        ];
        for (word, text) in alone {
            assert!(leaves_both_alone(word), "{text}");
        }
        for (word, text) in writes {
            assert!(!leaves_both_alone(word), "{text}");
        }
    }

    #[test]
    fn a_function_that_does_not_return_is_none_of_these() {
        let code =
            |words: &[u32]| -> Vec<[u8; 4]> { words.iter().map(|it| it.to_le_bytes()).collect() };
        let (nop, call, returns) = (0xd503_201f, 0x9400_0001, 0xd65f_03c0);
        assert!(leaves_caller_in_register(&code(&[nop, returns])));
        assert!(!leaves_caller_in_register(&code(&[nop, nop])));
        assert!(!leaves_caller_in_register(&code(&[call, returns])));
    }
}
