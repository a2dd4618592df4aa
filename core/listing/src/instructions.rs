//! Instructions of a function.
//!
//! Code is decoded from the start of its function, as disassemblers do: an address that a call was
//! sampled at lies inside of the call, and on x86 instructions have no fixed places.

use iced_x86::{
    Formatter, FormatterOptions, GasFormatter, IntelFormatter, Mnemonic, OpKind, Register,
};
use perftab_images::{DataReference, FunctionCode, Machine, ReferenceWay, Svma};
use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64;

use crate::arm_references;

/// How instructions of x86 are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syntax {
    /// As Intel's manuals have them.
    #[default]
    Intel,
    /// As `objdump` prints them unless told otherwise.
    Att,
}

impl Syntax {
    /// From what perf and objdump call it; `None` for another word.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "intel" => Some(Self::Intel),
            "att" => Some(Self::Att),
            _ => None,
        }
    }
}

/// An instruction as text, and which one it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// As Arm's manuals write it, and one of x86 as it was asked for.
    pub text: String,
    /// Where a jump or a call goes, in the file's own addresses.
    pub target: Option<Svma>,
    /// What it refers to besides.
    pub refers: Option<DataReference>,
}

/// The instructions of a function, by where they begin.
#[derive(Clone, Debug)]
pub struct Instructions {
    code: FunctionCode,
    /// By number, where each begins in the code.
    starts: Vec<u32>,
    /// What instructions of arm64 refer to, which takes several of them, by where they begin.
    of_several: Vec<(u32, DataReference)>,
}

impl Instructions {
    /// Those of some code.
    pub fn of(code: FunctionCode) -> Self {
        let mut starts = Vec::new();
        let mut at = 0;
        while let Some(rest) = code.bytes.get(at..).filter(|rest| !rest.is_empty()) {
            starts.push(at as u32);
            at += decode(&code, rest, at, Wanted::Length).0;
        }
        let of_several = match code.machine {
            Machine::Aarch64 => arm_references::of(&code),
            Machine::X86_64 | Machine::X86 => Vec::new(),
        };
        Self { code, starts, of_several }
    }

    /// Whether an address, as frames have it, lies in the function.
    pub fn has(&self, address: u64) -> bool {
        let within = address.checked_sub(self.code.start);
        within.is_some_and(|at| at < self.code.bytes.len() as u64)
    }

    /// Number of the first instruction that begins there or behind it; how many there are if none does.
    pub fn number(&self, address: u64) -> usize {
        let within = address.saturating_sub(self.code.start);
        self.starts.partition_point(|&start| u64::from(start) < within)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// True if there is no code.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Where each begins in the code.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The code that they are of.
    pub fn code(&self) -> &FunctionCode {
        &self.code
    }

    /// Number of the instruction that an address lies in: that of a call is behind its start.
    pub fn number_around(&self, address: u64) -> Option<usize> {
        let within = address.checked_sub(self.code.start)?;
        let behind = self.starts.partition_point(|&start| u64::from(start) <= within);
        behind.checked_sub(1).filter(|_| within < self.code.bytes.len() as u64)
    }

    /// Where an instruction begins in the file's own addresses, as other disassemblies have it.
    pub fn address_in_file(&self, number: usize) -> Option<Svma> {
        let start = *self.starts.get(number)?;
        Some(Svma(self.code.start_in_file.0.wrapping_add(start.into())))
    }

    /// Where an instruction begins.
    pub fn address(&self, number: usize) -> Option<u64> {
        self.starts.get(number).map(|&start| self.code.start.saturating_add(start.into()))
    }

    /// Bytes of memory.
    pub fn size(&self) -> usize {
        self.code.bytes.len()
            + self.starts.len() * size_of::<u32>()
            + self.of_several.len() * size_of::<(u32, DataReference)>()
    }

    /// An instruction as Intel's and Arm's manuals write it; `None` if there is none or it cannot be decoded.
    pub fn instruction(&self, number: usize) -> Option<Instruction> {
        self.instruction_in(Syntax::Intel, number)
    }

    /// The same in another syntax.
    pub fn instruction_in(&self, syntax: Syntax, number: usize) -> Option<Instruction> {
        let start = *self.starts.get(number)?;
        let at = start as usize;
        let found = decode(&self.code, self.code.bytes.get(at..)?, at, Wanted::Text(syntax)).1?;
        let of_several = self.of_several.binary_search_by_key(&start, |(start, _)| *start);
        let of_several = of_several.ok().and_then(|place| self.of_several.get(place));
        let refers = of_several.map(|(_, refers)| *refers).or(found.refers);
        Some(Instruction { refers, ..found })
    }
}

/// What of an instruction is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Length,
    Text(Syntax),
}

/// The first instruction of what is left of some code.
fn decode(
    code: &FunctionCode,
    rest: &[u8],
    at: usize,
    wanted: Wanted,
) -> (usize, Option<Instruction>) {
    let in_file = code.start_in_file.0.wrapping_add(at as u64);
    match code.machine {
        Machine::X86_64 => x86(64, rest, in_file, wanted),
        Machine::X86 => x86(32, rest, in_file, wanted),
        Machine::Aarch64 => aarch64(rest, in_file, wanted),
    }
}

/// The length of the first instruction, and what it is if that is wanted. What cannot be decoded
/// is a byte.
fn x86(bits: u32, bytes: &[u8], address: u64, wanted: Wanted) -> (usize, Option<Instruction>) {
    let mut decoder = iced_x86::Decoder::with_ip(bits, bytes, address, 0);
    let instruction = decoder.decode();
    if instruction.is_invalid() {
        return (1, None);
    }
    let length = instruction.len();
    let text = match wanted {
        Wanted::Length => None,
        Wanted::Text(syntax) => Some(x86_text(&instruction, syntax)),
    };
    (length, text)
}

fn x86_text(instruction: &iced_x86::Instruction, syntax: Syntax) -> Instruction {
    let mut text = String::new();
    match syntax {
        Syntax::Intel => {
            let mut formatter = IntelFormatter::new();
            as_disassemblers(formatter.options_mut());
            formatter.format(instruction, &mut text);
        }
        Syntax::Att => {
            let mut formatter = GasFormatter::new();
            as_disassemblers(formatter.options_mut());
            // A bare number is an absolute address in this syntax.
            formatter.options_mut().set_rip_relative_addresses(true);
            formatter.format(instruction, &mut text);
        }
    }
    let goes = matches!(
        instruction.op0_kind(),
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
    );
    Instruction {
        text,
        target: goes.then(|| Svma(instruction.near_branch_target())),
        refers: x86_refers(instruction),
    }
}

/// Numbers below this are no addresses: no file has anything there.
const LEAST_ADDRESS: u64 = 0x1000;

/// What its operands refer to; of several the first.
fn x86_refers(instruction: &iced_x86::Instruction) -> Option<DataReference> {
    let operand = |number| {
        let (at, way) = match instruction.op_kind(number) {
            OpKind::Memory => x86_memory(instruction)?,
            OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64 => {
                (instruction.immediate(number), ReferenceWay::Number)
            }
            _ => return None,
        };
        (at >= LEAST_ADDRESS).then_some(DataReference { at: Svma(at), way })
    };
    (0..instruction.op_count()).find_map(operand)
}

fn x86_memory(instruction: &iced_x86::Instruction) -> Option<(u64, ReferenceWay)> {
    // Of the thread, or of the CPU.
    if matches!(instruction.memory_segment(), Register::FS | Register::GS) {
        return None;
    }
    let way = match instruction.mnemonic() {
        Mnemonic::Lea => ReferenceWay::Taken,
        _ => ReferenceWay::Accessed,
    };
    let is_bare =
        instruction.memory_base() == Register::None && instruction.memory_index() == Register::None;
    // `memory_displacement64` is the address if it counts from the instruction.
    let way = match instruction.is_ip_rel_memory_operand() || is_bare {
        true => way,
        false => ReferenceWay::Number,
    };
    Some((instruction.memory_displacement64(), way))
}

/// Numbers as objdump and perf have them.
fn as_disassemblers(options: &mut FormatterOptions) {
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_small_hex_numbers_in_decimal(false);
    options.set_branch_leading_zeros(false);
    options.set_show_branch_size(false);
}

/// The same of arm64, where what cannot be decoded is a word.
fn aarch64(bytes: &[u8], address: u64, wanted: Wanted) -> (usize, Option<Instruction>) {
    const LENGTH: usize = 4;
    let decoded = || a64::InstDecoder::default().decode(&mut U8Reader::new(bytes)).ok();
    // Of some words that are no instruction the library says so in words.
    let text = || {
        let text = decoded()?.to_string();
        (!text.starts_with("invalid")).then(|| with_extension(&text).unwrap_or(text))
    };
    let found = || Some(aarch64_text(&text()?, address));
    (LENGTH, if wanted == Wanted::Length { None } else { found() })
}

/// Where a register of 32 bits is added to one of 64, the library leaves out that it is extended by zeros, or calls it
/// a shift: `add x0, x1, w2, lsl #3` is no instruction. `None`: the text is right.
fn with_extension(text: &str) -> Option<String> {
    let (name, operands) = text.split_once(' ')?;
    let is_sum = matches!(name, "add" | "adds" | "sub" | "subs" | "cmp" | "cmn");
    let is_wide = operands.starts_with('x') || operands.starts_with("sp");
    let (before, last) = operands.rsplit_once(", ").filter(|_| is_sum && is_wide)?;
    match last.strip_prefix("lsl ") {
        Some(shift) if before.rsplit(", ").next()?.starts_with('w') => {
            Some(format!("{name} {before}, uxtw {shift}"))
        }
        None if last.starts_with('w') => Some(format!("{text}, uxtw")),
        _ => None,
    }
}

/// The library prints a distance (`b $+0x40`), other disassemblies the address that it leads to.
fn aarch64_text(text: &str, address: u64) -> Instruction {
    let as_it_is = || Instruction { text: text.to_owned(), target: None, refers: None };
    let Some((before, distance)) = text.rsplit_once('$') else { return as_it_is() };
    let Some((sign, digits)) = distance.split_once("0x") else { return as_it_is() };
    let Ok(distance) = u64::from_str_radix(digits, 16) else { return as_it_is() };
    let from = if text.starts_with("adrp") { address & !0xfff } else { address };
    let target = match sign {
        "+" => from.wrapping_add(distance),
        "-" => from.wrapping_sub(distance),
        _ => return as_it_is(),
    };
    // Branches; `cbz`, `cbnz`, `tbz` and `tbnz` have their targets last, too.
    let goes = ["b", "cb", "tb"].iter().any(|begin| text.starts_with(begin));
    let (text, target) = (format!("{before}{target:#x}"), goes.then_some(Svma(target)));
    Instruction { text, target, refers: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: Wanted = Wanted::Text(Syntax::Intel);

    fn text(
        bytes: &[u8],
        decode: impl Fn(&[u8], Wanted) -> (usize, Option<Instruction>),
    ) -> String {
        let found = decode(bytes, Wanted::Text(Syntax::Intel)).1.expect("an instruction");
        let target = found.target.map_or(String::new(), |target| format!(" -> {:x}", target.0));
        format!("{}{target}", found.text)
    }

    /// As `llvm-objdump` and the manuals have them.
    #[test]
    fn instructions_say_where_they_lead() {
        let x86 = |bytes: &[u8]| text(bytes, |bytes, wanted| x86(64, bytes, 0x1000, wanted));
        assert_eq!(x86(&[0x75, 0xfe]), "jne 0x1000 -> 1000");
        assert_eq!(x86(&[0xe8, 0, 1, 0, 0]), "call 0x1105 -> 1105");
        assert_eq!(x86(&[0xc5, 0xfb, 0x93, 0xc0]), "kmovd eax,k0");
        let arm =
            |word: u32| text(&word.to_le_bytes(), |bytes, wanted| aarch64(bytes, 0x1008, wanted));
        assert_eq!(arm(0x1400_0010), "b 0x1048 -> 1048");
        assert_eq!(arm(0x97ff_ffff), "bl 0x1004 -> 1004");
        assert_eq!(arm(0x5400_0041), "b.ne 0x1010 -> 1010");
        assert_eq!(arm(0x35ff_ffe0), "cbnz w0, 0x1004 -> 1004");
        assert_eq!(arm(0x3608_0040), "tbz w0, #0x1, 0x1010 -> 1010");
        assert_eq!(arm(0x9000_0000), "adrp x0, 0x1000");
        assert_eq!(arm(0xd65f_03c0), "ret");
        assert_eq!(arm(0x8b3b_4ebb), "add x27, x21, w27, uxtw #3");
        assert_eq!(arm(0xeb22_42bf), "cmp x21, w2, uxtw");
        assert_eq!(arm(0x8b1b_0ebb), "add x27, x21, x27, lsl #3");
        assert!(aarch64(&0x72aa_6928_u32.to_le_bytes(), 0, TEXT).1.is_some(), "movk");
        assert!(
            aarch64(&0x32ea_6928_u32.to_le_bytes(), 0, TEXT).1.is_none(),
            "shifted by too much"
        );
    }

    /// As `objdump -d` of binutils 2.40 has them.
    #[test]
    fn instructions_of_x86_are_written_in_the_syntax_that_is_asked_for() {
        let bytes: &[&[u8]] = &[
            &[0x48, 0x89, 0xe5],
            &[0xc7, 0x44, 0x24, 0x08, 0x01, 0, 0, 0],
            &[0x48, 0x8b, 0x04, 0xcd, 0x10, 0, 0, 0],
            &[0x48, 0x83, 0xec, 0x28],
            &[0x75, 0xf0],
            &[0xe8, 0, 1, 0, 0],
            &[0x48, 0x8d, 0x3d, 0x85, 0x0e, 0, 0],
        ];
        let code = Instructions::of(FunctionCode {
            machine: Machine::X86_64,
            start: 0,
            start_in_file: Svma(0x1000),
            bytes: bytes.concat(),
        });
        let all = |syntax| -> Vec<(String, Option<u64>)> {
            let found = (0..code.len()).filter_map(|number| code.instruction_in(syntax, number));
            found.map(|found| (found.text, found.target.map(|to| to.0))).collect()
        };
        let (intel, att) = (all(Syntax::Intel), all(Syntax::Att));
        let texts: Vec<&str> = att.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "mov %rsp,%rbp",
                "movl $0x1,0x8(%rsp)",
                "mov 0x10(,%rcx,8),%rax",
                "sub $0x28,%rsp",
                "jne 0x1009",
                "call 0x111e",
                "lea 0xe85(%rip),%rdi",
            ]
        );
        let targets =
            |of: &[(String, Option<u64>)]| of.iter().map(|(_, to)| *to).collect::<Vec<_>>();
        assert_eq!(targets(&att), targets(&intel));
        assert_eq!(Syntax::from_name("att"), Some(Syntax::Att));
        assert_eq!(Syntax::from_name("AT&T"), None);
    }

    /// As `objdump -d` says of the first two of them behind `#`.
    #[test]
    fn operands_of_x86_are_what_instructions_refer_to() {
        let refers = |bytes: &[u8]| {
            let found = x86(64, bytes, 0x1000, TEXT).1.expect("an instruction").refers;
            found.map(|DataReference { at, way }| (at.0, way))
        };
        let lea = refers(&[0x48, 0x8d, 0x3d, 0x85, 0x0e, 0, 0]);
        assert_eq!(lea, Some((0x1e8c, ReferenceWay::Taken)));
        let add = refers(&[0x03, 0x05, 0xb0, 0x2e, 0, 0]);
        assert_eq!(add, Some((0x3eb6, ReferenceWay::Accessed)));
        let absolute = refers(&[0x8b, 0x04, 0x25, 0x24, 0x40, 0x40, 0]);
        assert_eq!(absolute, Some((0x40_4024, ReferenceWay::Accessed)));
        let of_cpu = refers(&[0x65, 0x8b, 0x04, 0x25, 0x24, 0x40, 0x40, 0]);
        assert_eq!(of_cpu, None);
        let indexed = refers(&[0x48, 0x8b, 0x04, 0xc5, 0x60, 0x20, 0x4c, 0]);
        assert_eq!(indexed, Some((0x4c_2060, ReferenceWay::Number)));
        assert_eq!(refers(&[0xbf, 0x10, 0x20, 0x40, 0]), Some((0x40_2010, ReferenceWay::Number)));
        assert_eq!(refers(&[0xbf, 0x10, 0, 0, 0]), None);
        assert_eq!(refers(&[0x48, 0x89, 0xe5]), None);
        assert_eq!(refers(&[0xe8, 0, 1, 0, 0]), None);
    }

    #[test]
    fn a_call_is_found_by_what_lies_in_it() {
        let code = FunctionCode {
            machine: Machine::X86_64,
            start: 0x500,
            start_in_file: Svma(0x1500),
            // Something that is no instruction, a call, a return, and the beginning of another call.
            bytes: vec![0x06, 0xe8, 0, 0, 0, 0, 0xc3, 0xe8, 0],
        };
        let code = Instructions::of(code);
        let at = |address| Some(code.instruction(code.number_around(address)?)?.text);
        assert_eq!(at(0x4ff), None);
        assert_eq!(at(0x500), None);
        assert_eq!(at(0x505).as_deref(), Some("call 0x1506"));
        assert_eq!(at(0x506).as_deref(), Some("ret"));
        assert_eq!(at(0x507), None);
        assert_eq!(at(0x509), None);
    }
}
