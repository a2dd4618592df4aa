//! WebAssembly taken apart into streams that pack better than the whole does.
//!
//! The page puts them together again (`www/src/worker/packed_wasm.ts`, which has the same tables).

use anyhow::{Context, Result, bail, ensure};

/// What a module consists of, in the order in which the page has it.
#[derive(Clone, Copy)]
pub enum Stream {
    /// The module without what its functions do, but with the types of their variables.
    Rest,
    /// Of each body all that has no stream of its own: instructions, and the functions that are called.
    Code,
    /// Indexes of local variables.
    Locals,
    /// Offsets of what is loaded and stored.
    Offsets,
    /// Labels that are branched to.
    Labels,
    /// Constants of 32 bits that have one byte.
    Small,
    /// Those of two.
    Medium,
    /// Those of more: addresses of data, most of them.
    Large,
}

impl Stream {
    pub const ALL: [Stream; 8] = [
        Stream::Rest,
        Stream::Code,
        Stream::Locals,
        Stream::Offsets,
        Stream::Labels,
        Stream::Small,
        Stream::Medium,
        Stream::Large,
    ];

    /// Bits of the byte before that decide how LZMA takes one: what packs each best.
    pub fn context_bits(self) -> u32 {
        match self {
            Stream::Rest | Stream::Medium | Stream::Large => 2,
            Stream::Offsets => 1,
            Stream::Code | Stream::Labels => 4,
            Stream::Locals | Stream::Small => 0,
        }
    }
}

/// What follows an opcode.
#[derive(Clone, Copy)]
enum Immediate {
    /// A number.
    Number(Stream),
    /// Bytes of a floating-point number.
    Bytes(usize),
    /// A number, and as many more as it says, in [`Stream::Labels`].
    List,
}

const CODE_SECTION: u8 = 10;
const END: u8 = 0x0b;
const CONSTANT: u8 = 0x41;
/// Opcodes that WebAssembly does not have, for constants of two bytes and of more.
const MEDIUM_CONSTANT: u8 = 0xd8;
const LARGE_CONSTANT: u8 = 0xd9;
const PREFIX: u8 = 0xfc;

/// What follows an opcode; `None` for those that the page does not know.
fn immediates(opcode: u8) -> Option<&'static [Immediate]> {
    use Immediate::{Bytes, List, Number};
    use Stream::{Code, Labels, Large, Locals, Medium, Offsets, Small};
    Some(match opcode {
        0x02..=0x04 | 0x10 | 0x23..=0x26 | 0x3f..=0x40 | 0x42 | 0xd0 | 0xd2 => &[Number(Code)],
        0x0c..=0x0d => &[Number(Labels)],
        0x0e => &[List, Number(Labels)],
        0x11 => &[Number(Code), Number(Code)],
        0x1c => &[List],
        0x20..=0x22 => &[Number(Locals)],
        0x28..=0x3e => &[Number(Code), Number(Offsets)],
        CONSTANT => &[Number(Small)],
        MEDIUM_CONSTANT => &[Number(Medium)],
        LARGE_CONSTANT => &[Number(Large)],
        0x43 => &[Bytes(4)],
        0x44 => &[Bytes(8)],
        0x00..=0x01 | 0x05 | 0x0b | 0x0f | 0x1a..=0x1b | 0x45..=0xc4 | 0xd1 => &[],
        _ => return None,
    })
}

/// Of instructions with a second opcode behind [`PREFIX`].
fn prefixed_immediates(opcode: u64) -> Option<&'static [Immediate]> {
    const NUMBER: Immediate = Immediate::Number(Stream::Code);
    Some(match opcode {
        0x00..=0x07 => &[],
        0x09 | 0x0b | 0x0d | 0x0f..=0x11 => &[NUMBER],
        0x08 | 0x0a | 0x0c | 0x0e => &[NUMBER, NUMBER],
        _ => return None,
    })
}

/// What the page knows before it unpacks the first stream, which copies from it: tables of libraries that no packing
/// makes smaller. flate2, xz4rust and bzip2 have tables of checksums, serde_json powers of ten, miniz_oxide numbers
/// whose bits are reversed.
pub fn known_tables() -> Vec<u8> {
    let bytes = 0..256u32;
    let mut crc32: Vec<u32> = bytes
        .clone()
        .map(|byte| (0..8).fold(byte, |crc, _| (crc >> 1) ^ ((crc & 1) * 0xedb8_8320)))
        .collect();
    // Of a byte that others follow.
    for place in 256..16 * 256 {
        let before = crc32[place - 256];
        crc32.push((before >> 8) ^ crc32[before as usize & 0xff]);
    }
    let crc64 = bytes.clone().map(|byte| {
        (0..8).fold(u64::from(byte), |crc, _| (crc >> 1) ^ ((crc & 1) * 0xc96c_5795_d787_0f42))
    });
    let bzip2 = bytes
        .map(|byte| (0..8).fold(byte << 24, |crc, _| (crc << 1) ^ ((crc >> 31) * 0x04c1_1db7)));
    let powers = (0..309).filter_map(|exponent| format!("1e{exponent}").parse().ok());
    crc32
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .chain(crc64.flat_map(u64::to_le_bytes))
        .chain(bzip2.flat_map(u32::to_le_bytes))
        .chain(powers.flat_map(f64::to_le_bytes))
        .chain((0..512u16).map(u16::reverse_bits).flat_map(u16::to_le_bytes))
        .collect()
}

/// The streams of a module.
pub fn split(module: &[u8]) -> Result<[Vec<u8>; 8]> {
    let mut splitter = Splitter { rest: module, streams: Default::default() };
    splitter.bytes(Stream::Rest, 8)?;
    loop {
        let section = splitter.byte(Stream::Rest)?;
        let length = splitter.number(Stream::Rest)?;
        if section == CODE_SECTION {
            break;
        }
        splitter.bytes(Stream::Rest, length as usize)?;
    }
    for _ in 0..splitter.number(Stream::Rest)? {
        splitter.body()?;
    }
    splitter.bytes(Stream::Rest, splitter.rest.len())?;
    Ok(splitter.streams)
}

struct Splitter<'a> {
    rest: &'a [u8],
    streams: [Vec<u8>; 8],
}

impl<'a> Splitter<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) =
            self.rest.split_at_checked(count).context("the WebAssembly ends early")?;
        self.rest = rest;
        Ok(taken)
    }

    fn bytes(&mut self, stream: Stream, count: usize) -> Result<()> {
        let taken = self.take(count)?;
        self.streams[stream as usize].extend(taken);
        Ok(())
    }

    fn byte(&mut self, stream: Stream) -> Result<u8> {
        self.bytes(stream, 1)?;
        self.streams[stream as usize].last().copied().context("no byte")
    }

    /// A number as WebAssembly writes it: seven bits in each byte, the lowest first. The sign is left out.
    fn number(&mut self, stream: Stream) -> Result<u64> {
        let (number, length) = number(self.rest)?;
        self.bytes(stream, length)?;
        Ok(number)
    }

    fn body(&mut self) -> Result<()> {
        let (length, written) = number(self.rest)?;
        // The page writes it so.
        ensure!(
            written == 1 + length.max(1).ilog2() as usize / 7,
            "a length takes more bytes than it must"
        );
        self.take(written)?;
        let end = self.rest.len().checked_sub(length as usize).context("a body without end")?;
        // Local variables: pairs of a count and a type.
        for _ in 0..2 * self.number(Stream::Rest)? {
            self.number(Stream::Rest)?;
        }
        let mut depth = 1;
        while depth > 0 {
            let opcode = self.opcode()?;
            match opcode {
                0x02..=0x04 => depth += 1,
                END => depth -= 1,
                _ => {}
            }
            let immediates = match opcode {
                PREFIX => prefixed_immediates(self.number(Stream::Code)?),
                _ => immediates(opcode),
            };
            let Some(immediates) = immediates else {
                bail!("the page knows no instruction {opcode:#x}: add it here and there");
            };
            for &immediate in immediates {
                self.immediate(immediate)?;
            }
        }
        ensure!(self.rest.len() == end, "a body is longer than its instructions");
        Ok(())
    }

    /// An opcode, which says of a constant how many bytes it has.
    fn opcode(&mut self) -> Result<u8> {
        let opcode = match self.take(1)? {
            [CONSTANT] => match number(self.rest)?.1 {
                1 => CONSTANT,
                2 => MEDIUM_CONSTANT,
                _ => LARGE_CONSTANT,
            },
            &[MEDIUM_CONSTANT | LARGE_CONSTANT] => {
                bail!("WebAssembly has an opcode that stands for others here")
            }
            opcode => opcode[0],
        };
        self.streams[Stream::Code as usize].push(opcode);
        Ok(opcode)
    }

    fn immediate(&mut self, immediate: Immediate) -> Result<()> {
        match immediate {
            Immediate::Number(stream) => {
                self.number(stream)?;
            }
            Immediate::Bytes(count) => self.bytes(Stream::Code, count)?,
            Immediate::List => {
                for _ in 0..self.number(Stream::Labels)? {
                    self.number(Stream::Labels)?;
                }
            }
        }
        Ok(())
    }
}

/// The number at the beginning, and in how many bytes it is written.
fn number(bytes: &[u8]) -> Result<(u64, usize)> {
    let mut number = 0;
    for (place, &byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Ok((number, place + 1));
        }
    }
    bail!("a number without end")
}
