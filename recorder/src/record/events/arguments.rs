//! Arguments of the probes that authors put into programs (SDT), as the kernel is to fetch them.
//!
//! `<sys/sdt.h>` has the assembler write each as `SIZE@OPERAND`: bytes, negative of a signed number, and an operand of its
//! machine: `-4@%eax 8@16(%rsp) 4@$3`. The kernel has words of its own for these (`Documentation/trace/uprobetracer.rst`):
//! `%ax:s32`, `+16(%sp):u64`, `\3:u32`. It has none for what is in a register of a vector, nor for what is a sum of
//! registers, and where a global variable is, a note says by a name: such an argument is left out, as perf leaves it out.

use super::probe::ProbePlace;

/// As many as the macros of `<sys/sdt.h>` have.
const MAX_ARGUMENTS: usize = 12;

/// Something that is passed to a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// From 1.
    number: usize,
    /// Where it stands, in the kernel's words: `%ax`.
    operand: String,
    /// The kernel's word for its size: `32`.
    bits: &'static str,
    sign: Sign,
}

/// Whether it may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    Unsigned,
    Signed,
}

impl Argument {
    /// `arg1=%ax:s32`; perf calls them so.
    pub fn definition(&self) -> String {
        let Self { number, operand, bits, sign } = self;
        let sign = match sign {
            Sign::Unsigned => 'u',
            Sign::Signed => 's',
        };
        format!("arg{number}={operand}:{sign}{bits}")
    }
}

/// Those of a note that can be fetched on this machine.
pub fn of_probe(written: &str) -> Vec<Argument> {
    let operand = match cfg!(target_arch = "aarch64") {
        true => operand_of_arm64,
        false => operand_of_x86,
    };
    read(written, operand)
}

/// An event has the same fields wherever it occurs: what one place has not, or in another size, is left out at all. In
/// OpenJDK, probes are passed `-4@%eax` at one place and `4@$-1` at another, which is signed, too.
pub fn keep_common(places: &mut [ProbePlace]) {
    let arguments: Vec<Vec<Argument>> = places.iter().map(|it| it.arguments.clone()).collect();
    let of_all = |wanted: &Argument| -> Option<Sign> {
        let is_like = |it: &&Argument| (it.number, it.bits) == (wanted.number, wanted.bits);
        let signs = arguments.iter().map(|place| Some(place.iter().find(is_like)?.sign));
        signs.collect::<Option<Vec<_>>>()?.into_iter().max()
    };
    for place in places {
        place.arguments.retain_mut(|it| match of_all(it) {
            Some(sign) => {
                it.sign = sign;
                true
            }
            None => false,
        });
    }
}

fn read(written: &str, operand: fn(&str) -> Option<String>) -> Vec<Argument> {
    let parts = split(written).into_iter().take(MAX_ARGUMENTS).enumerate();
    let read = parts.filter_map(|(index, part)| {
        // Who writes no size means a word of the machine.
        let (size, written) = part.split_once('@').unwrap_or(("8", part));
        let (size, sign) = match size.strip_prefix('-') {
            Some(size) => (size, Sign::Signed),
            None => (size, Sign::Unsigned),
        };
        let bits = match size {
            "1" => "8",
            "2" => "16",
            "4" => "32",
            "8" => "64",
            _ => return None,
        };
        Some(Argument { number: index + 1, operand: operand(written)?, bits, sign })
    });
    read.collect()
}

/// Between arguments is a space. Within brackets of an operand there may be others.
fn split(written: &str) -> Vec<&str> {
    let mut is_within = false;
    let parts = written.split(|letter: char| {
        match letter {
            '[' | '(' => is_within = true,
            ']' | ')' => is_within = false,
            _ => {}
        }
        letter == ' ' && !is_within
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// `%eax`, `-8(%rbp)`, `(%rax)`, `$-1`.
fn operand_of_x86(written: &str) -> Option<String> {
    if let Some(constant) = written.strip_prefix('$') {
        return Some(format!("\\{}", integer(constant)?));
    }
    if let Some(register) = written.strip_prefix('%') {
        return Some(format!("%{}", register_of_x86(register)?));
    }
    let (offset, base) = written.strip_suffix(')')?.split_once("(%")?;
    let offset = if offset.is_empty() { 0 } else { integer(offset)? };
    Some(format!("{offset:+}(%{})", register_of_x86(base)?))
}

/// What the kernel calls a register of any width that begins at its lowest bit (`regoffset_table` in
/// `arch/x86/kernel/ptrace.c`).
fn register_of_x86(name: &str) -> Option<String> {
    let numbered = name.strip_prefix('r').map(|number| number.trim_end_matches(['d', 'w', 'b']));
    if let Some(number @ 8..=15) = numbered.and_then(|number| number.parse::<u8>().ok()) {
        return Some(format!("r{number}"));
    }
    let stem = name.strip_prefix(['r', 'e']).unwrap_or(name);
    let known = ["ax", "bx", "cx", "dx", "si", "di", "bp", "sp"].into_iter().find(|known| {
        let lowest_byte = match known.strip_suffix('x') {
            Some(letter) => format!("{letter}l"),
            None => format!("{known}l"),
        };
        stem == *known || name == lowest_byte
    });
    known.map(str::to_owned)
}

/// `x0`, `w1`, `[sp, 16]`, `[x19]`, `-1`.
fn operand_of_arm64(written: &str) -> Option<String> {
    if let Some(constant) = integer(written) {
        return Some(format!("\\{constant}"));
    }
    let Some(place) = written.strip_prefix('[') else {
        return Some(format!("%{}", register_of_arm64(written)?));
    };
    let place = place.strip_suffix(']')?;
    let (base, offset) = place.split_once(',').unwrap_or((place, "0"));
    Some(format!("{:+}(%{})", integer(offset.trim())?, register_of_arm64(base.trim())?))
}

/// `regoffset_table` in `arch/arm64/kernel/ptrace.c`; the lower half of `x1` is `w1`.
fn register_of_arm64(name: &str) -> Option<String> {
    if name == "sp" {
        return Some(name.to_owned());
    }
    let number: u8 = name.strip_prefix(['x', 'w'])?.parse().ok()?;
    (number <= 30).then(|| format!("x{number}"))
}

fn integer(written: &str) -> Option<i64> {
    let (digits, is_negative) = match written.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (written, false),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let number: i64 = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if is_negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definitions(written: &str, operand: fn(&str) -> Option<String>) -> Vec<String> {
        read(written, operand).iter().map(Argument::definition).collect()
    }

    /// As GCC and Clang write them into libc, libstdc++, Python and Java.
    #[test]
    fn operands_of_x86_are_put_into_the_kernels_words() {
        let read = |written: &str| definitions(written, operand_of_x86);
        assert_eq!(
            read("8@%rdi -4@%eax 2@%cx -1@%dl 1@%sil 8@%r12 4@%r8d"),
            [
                "arg1=%di:u64",
                "arg2=%ax:s32",
                "arg3=%cx:u16",
                "arg4=%dx:s8",
                "arg5=%si:u8",
                "arg6=%r12:u64",
                "arg7=%r8:u32"
            ]
        );
        assert_eq!(
            read("-8@-24(%rbp) 8@(%rax) 4@0x10(%rsp) -4@$-1 8@$16 %rbx"),
            [
                "arg1=-24(%bp):s64",
                "arg2=+0(%ax):u64",
                "arg3=+16(%sp):u32",
                "arg4=\\-1:s32",
                "arg5=\\16:u64",
                "arg6=%bx:u64"
            ]
        );
        // What cannot be fetched leaves no other number to the next.
        for left_out in [
            "8@%ah",
            "8f@%xmm0",
            "8@%xmm0",
            "8@(%rax,%rbx,8)",
            "4@counter(%rip)",
            "4@8+counter(%rip)",
            "8@%fs:16",
            "3@%rax",
            "8@$+-1",
            "8@%",
            "8@",
            "8@$99999999999999999999",
        ] {
            assert_eq!(read(&format!("{left_out} 8@%rsi")), ["arg2=%si:u64"], "{left_out}");
        }
        assert_eq!(read(""), [""; 0]);
        assert_eq!(read(&"8@%rax ".repeat(100)).len(), MAX_ARGUMENTS);
    }

    #[test]
    fn operands_of_arm64_are_put_into_the_kernels_words() {
        assert_eq!(
            definitions("8@x0 -4@w1 8@[sp, 16] 4@[x19] 8@[x29, -8] -4@-1 8@2", operand_of_arm64),
            [
                "arg1=%x0:u64",
                "arg2=%x1:s32",
                "arg3=+16(%sp):u64",
                "arg4=+0(%x19):u32",
                "arg5=-8(%x29):u64",
                "arg6=\\-1:s32",
                "arg7=\\2:u64"
            ]
        );
        for left_out in ["8@d0", "8@x31", "8@[x0, x1]", "8@xzr"] {
            assert_eq!(
                definitions(&format!("{left_out} 8@x1"), operand_of_arm64),
                ["arg2=%x1:u64"],
                "{left_out}"
            );
        }
    }

    #[test]
    fn an_event_has_the_fields_that_all_of_its_places_have() {
        let place = |written| ProbePlace {
            file: "/bin/mill".into(),
            offset: 0,
            semaphore: None,
            arguments: read(written, operand_of_x86),
        };
        let mut places =
            [place("8@%rdi -4@%eax 8@%rbx 8@%rcx"), place("8@8(%rsp) 4@$-1 8@%xmm0 8@$1 4@%edx")];
        keep_common(&mut places);
        let definitions = places
            .map(|place| place.arguments.iter().map(Argument::definition).collect::<Vec<_>>());
        assert_eq!(
            definitions,
            [
                ["arg1=%di:u64", "arg2=%ax:s32", "arg4=%cx:u64"],
                ["arg1=+8(%sp):u64", "arg2=\\-1:s32", "arg4=\\1:u64"]
            ]
        );
    }
}
