//! WebAssembly taken apart into streams that pack better than the whole does.
//!
//! The page puts them together again (`www/src/worker/packed_wasm.ts`, which has the same tables), and so does
//! `perftab view`, which does it faster.
#![forbid(unsafe_code)]

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
    /// All of them.
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
    let mut split = Split { rest: module, streams: Default::default() };
    split.module()?;
    Ok(split.streams)
}

/// The module of so many bytes that was taken apart into these.
pub fn join(streams: &[Vec<u8>; 8], size: usize) -> Result<Vec<u8>> {
    let rest = streams.each_ref().map(Vec::as_slice);
    let mut join = Join { rest, module: Vec::with_capacity(size) };
    join.module()?;
    ensure!(join.module.len() == size, "the module has another size");
    Ok(join.module)
}

/// A module that is taken apart, or put together: what both walk through is the same.
trait Walk<'a> {
    /// What has not been walked through yet, where this stream's part of it is.
    fn rest(&mut self, stream: Stream) -> &mut &'a [u8];
    /// Writes it, in this stream if there are several.
    fn put(&mut self, stream: Stream, bytes: &[u8]);
    /// An opcode as [`Stream::Code`] has it.
    fn opcode(&mut self) -> Result<u8>;
    /// The length of a body, and the body.
    fn body(&mut self) -> Result<()>;

    fn take(&mut self, stream: Stream, count: usize) -> Result<&'a [u8]> {
        let whole = self.rest(stream);
        let (taken, rest) = whole.split_at_checked(count).context("the WebAssembly ends early")?;
        *whole = rest;
        Ok(taken)
    }

    fn bytes(&mut self, stream: Stream, count: usize) -> Result<&'a [u8]> {
        let taken = self.take(stream, count)?;
        self.put(stream, taken);
        Ok(taken)
    }

    /// A number as WebAssembly writes it: seven bits in each byte, the lowest first. The sign is left out.
    fn number(&mut self, stream: Stream) -> Result<u64> {
        let (number, length) = number(self.rest(stream))?;
        self.bytes(stream, length)?;
        Ok(number)
    }

    fn numbers(&mut self, stream: Stream, count: u64) -> Result<()> {
        (0..count).try_for_each(|_| self.number(stream).map(|_| ()))
    }

    fn module(&mut self) -> Result<()> {
        self.bytes(Stream::Rest, 8)?;
        loop {
            let section = self.bytes(Stream::Rest, 1)?;
            let length = self.number(Stream::Rest)?;
            if section == [CODE_SECTION] {
                break;
            }
            self.bytes(Stream::Rest, length as usize)?;
        }
        for _ in 0..self.number(Stream::Rest)? {
            self.body()?;
        }
        let left = self.rest(Stream::Rest).len();
        self.bytes(Stream::Rest, left)?;
        Ok(())
    }

    /// A body without its length.
    fn instructions(&mut self) -> Result<()> {
        // Local variables: pairs of a count and a type.
        let groups = self.number(Stream::Rest)?;
        self.numbers(Stream::Rest, groups.saturating_mul(2))?;
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
        Ok(())
    }

    fn immediate(&mut self, immediate: Immediate) -> Result<()> {
        match immediate {
            Immediate::Number(stream) => self.numbers(stream, 1),
            Immediate::Bytes(count) => self.bytes(Stream::Code, count).map(|_| ()),
            Immediate::List => {
                let count = self.number(Stream::Labels)?;
                self.numbers(Stream::Labels, count)
            }
        }
    }
}

struct Split<'a> {
    rest: &'a [u8],
    streams: [Vec<u8>; 8],
}

impl<'a> Walk<'a> for Split<'a> {
    fn rest(&mut self, _: Stream) -> &mut &'a [u8] {
        &mut self.rest
    }

    fn put(&mut self, stream: Stream, bytes: &[u8]) {
        self.streams[stream as usize].extend(bytes);
    }

    /// It says of a constant how many bytes that has.
    fn opcode(&mut self) -> Result<u8> {
        let opcode = match self.take(Stream::Code, 1)? {
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
        self.put(Stream::Code, &[opcode]);
        Ok(opcode)
    }

    fn body(&mut self) -> Result<()> {
        let (length, written) = number(self.rest)?;
        ensure!(written == leb128(length as usize).len(), "a length takes more bytes than it must");
        self.take(Stream::Rest, written)?;
        let end = self.rest.len().checked_sub(length as usize).context("a body without end")?;
        self.instructions()?;
        ensure!(self.rest.len() == end, "a body is longer than its instructions");
        Ok(())
    }
}

struct Join<'a> {
    rest: [&'a [u8]; 8],
    module: Vec<u8>,
}

impl<'a> Walk<'a> for Join<'a> {
    fn rest(&mut self, stream: Stream) -> &mut &'a [u8] {
        &mut self.rest[stream as usize]
    }

    fn put(&mut self, _: Stream, bytes: &[u8]) {
        self.module.extend(bytes);
    }

    fn opcode(&mut self) -> Result<u8> {
        let opcode = self.take(Stream::Code, 1)?[0];
        let written = match opcode {
            MEDIUM_CONSTANT | LARGE_CONSTANT => CONSTANT,
            opcode => opcode,
        };
        self.put(Stream::Code, &[written]);
        Ok(opcode)
    }

    fn body(&mut self) -> Result<()> {
        let start = self.module.len();
        self.instructions()?;
        let length = leb128(self.module.len() - start);
        self.module.splice(start..start, length);
        Ok(())
    }
}

/// A number as WebAssembly writes it.
fn leb128(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
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

#[cfg(test)]
mod tests {
    use super::*;

    /// One function of 300 bytes: constants of each length, a load, a table of branches, a float, a fill.
    fn module() -> Vec<u8> {
        let mut body = vec![1, 1, 0x7f, 0x02, 0x40];
        body.extend([0x41, 0x7f, 0x41, 0xff, 0x00, 0x41, 0xff, 0x80, 0x7f, 0x28, 2, 0x90, 0x20]);
        body.extend([0x0e, 2, 0, 1, 0, 0x44, 0x0b, 0x0b, 0x0b, 0x0b, 0, 0, 0, 0xfc, 0xfc, 11, 0]);
        while body.len() < 298 {
            body.extend([0x20, 0]);
        }
        body.truncate(297);
        body.extend([0x1a, 0x0b, 0x0b]);
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        module.extend([1, 1, 0, 10, 0x80, 0x02, 1]);
        module.extend(leb128(body.len()));
        module.extend(body);
        module.extend([11, 1, 0]);
        module
    }

    #[test]
    fn a_module_is_put_together_as_it_was() {
        let streams = split(&module()).expect("it is whole");
        assert_eq!(join(&streams, module().len()).expect("they are whole"), module());
        assert_eq!(streams[Stream::Small as usize], [0x7f]);
        assert_eq!(streams[Stream::Medium as usize], [0xff, 0x00]);
        assert_eq!(streams[Stream::Large as usize], [0xff, 0x80, 0x7f]);
        assert_eq!(streams[Stream::Offsets as usize], [0x90, 0x20]);
    }

    #[test]
    fn what_ends_early_is_an_error() {
        let streams = split(&module()).expect("it is whole");
        for stream in [Stream::Code, Stream::Locals, Stream::Labels, Stream::Large] {
            let mut short = streams.clone();
            short[stream as usize].pop();
            assert!(join(&short, module().len()).is_err());
        }
        for length in 0..module().len() - 3 {
            assert!(split(&module()[..length]).is_err(), "{length} bytes");
        }
    }
}
