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
    /// Those of which something is loaded, as the next instruction says.
    Addresses,
    /// Those that are stored.
    Stored,
    /// Offsets of what is loaded and stored.
    Offsets,
    /// Labels that are branched to.
    Jumps,
    /// Those on a condition.
    Branches,
    /// Those by number.
    Tables,
    /// Constants of 32 bits that have one byte.
    Small,
    /// Those that are added, as the next instruction says.
    Added,
    /// Those that are computed or compared with otherwise.
    Operands,
    /// Those of two bytes.
    Medium,
    /// Those of more: addresses of data, most of them. In four bytes, the highest first.
    Large,
}

/// How many streams there are.
pub const STREAMS: usize = Stream::ALL.len();

impl Stream {
    /// All of them.
    pub const ALL: [Stream; 14] = [
        Stream::Rest,
        Stream::Code,
        Stream::Locals,
        Stream::Addresses,
        Stream::Stored,
        Stream::Offsets,
        Stream::Jumps,
        Stream::Branches,
        Stream::Tables,
        Stream::Small,
        Stream::Added,
        Stream::Operands,
        Stream::Medium,
        Stream::Large,
    ];

    /// Bits of the byte before that decide how LZMA takes one: what packs each best.
    pub fn context_bits(self) -> u32 {
        match self {
            Stream::Locals | Stream::Addresses | Stream::Branches | Stream::Tables => 0,
            Stream::Small | Stream::Added | Stream::Operands | Stream::Large => 0,
            Stream::Rest | Stream::Offsets | Stream::Medium => 2,
            Stream::Code | Stream::Stored | Stream::Jumps => 4,
        }
    }
}

/// What follows an opcode of [`Stream::Code`].
#[derive(Clone, Copy)]
enum Immediate {
    /// A number.
    Number(Stream),
    /// Bytes of a floating-point number.
    Bytes(usize),
    /// A number, and as many more as it says, in a stream.
    List(Stream),
    /// A byte that is in no stream.
    Known(u8),
    /// A local variable, in the stream that the next instruction tells.
    Local,
    /// A constant of one byte, likewise.
    Small,
    /// A constant of more than two bytes.
    Large,
    /// An offset: in one byte, or as its distance from the last one that took more.
    Offset,
}

const CODE_SECTION: u8 = 10;
const END: u8 = 0x0b;
const CONSTANT: u8 = 0x41;
const PREFIX: u8 = 0xfc;
const NO_TYPE: u8 = 0x40;
const FIRST_STORE: u8 = 0x36;
// Opcodes that WebAssembly does not have: for constants of two bytes and of more,
const MEDIUM_CONSTANT: u8 = 0xd8;
const LARGE_CONSTANT: u8 = 0xd9;
// for what is loaded or stored at another alignment than its size,
const UNALIGNED: u8 = 0xda - 0x28;
// and for blocks with a type.
const TYPED: u8 = 0xf1 - 0x02;

/// By how many powers of two an instruction that loads or stores is aligned, if its opcode alone is there.
const ALIGNMENTS: [u8; 23] = [2, 3, 2, 3, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 2, 3, 2, 3, 0, 1, 0, 1, 2];

/// The opcode as the module has it.
fn written(opcode: u8) -> u8 {
    match opcode {
        MEDIUM_CONSTANT | LARGE_CONSTANT => CONSTANT,
        0xda..=0xf0 => opcode - UNALIGNED,
        0xf1..=0xf3 => opcode - TYPED,
        opcode => opcode,
    }
}

/// Both immediates of an instruction, by opcode; `None` for those that the page does not know.
fn immediates(opcode: u8) -> Option<[Option<Immediate>; 2]> {
    use Immediate::{Bytes, Known, Large, List, Local, Number, Offset, Small};
    use Stream::{Branches, Code, Jumps, Medium, Tables};
    Some(match opcode {
        0x02..=0x04 => [Some(Known(NO_TYPE)), None],
        0x10 | 0x23..=0x26 | 0x3f..=0x40 | 0x42 | 0xd0 | 0xd2 | 0xf1..=0xf3 => {
            [Some(Number(Code)), None]
        }
        0x0c => [Some(Number(Jumps)), None],
        0x0d => [Some(Number(Branches)), None],
        0x0e => [Some(List(Tables)), Some(Number(Tables))],
        0x11 => [Some(Number(Code)), Some(Number(Code))],
        0x1c => [Some(List(Code)), None],
        0x20..=0x22 => [Some(Local), None],
        0x28..=0x3e => [Some(Known(ALIGNMENTS[usize::from(opcode - 0x28)])), Some(Offset)],
        0xda..=0xf0 => [Some(Number(Code)), Some(Offset)],
        CONSTANT => [Some(Small), None],
        MEDIUM_CONSTANT => [Some(Number(Medium)), None],
        LARGE_CONSTANT => [Some(Large), None],
        0x43 => [Some(Bytes(4)), None],
        0x44 => [Some(Bytes(8)), None],
        0x00..=0x01 | 0x05 | 0x0b | 0x0f | 0x1a..=0x1b | 0x45..=0xc4 | 0xd1 => [None; 2],
        _ => return None,
    })
}

/// Of instructions with a second opcode behind [`PREFIX`].
fn prefixed_immediates(opcode: u64) -> Option<[Option<Immediate>; 2]> {
    const NUMBER: Option<Immediate> = Some(Immediate::Number(Stream::Code));
    Some(match opcode {
        0x00..=0x07 => [None; 2],
        0x09 | 0x0b | 0x0d | 0x0f..=0x11 => [NUMBER, None],
        0x08 | 0x0a | 0x0c | 0x0e => [NUMBER; 2],
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
pub fn split(module: &[u8]) -> Result<[Vec<u8>; STREAMS]> {
    let mut split = Split { rest: module, streams: Default::default() };
    split.module()?;
    Ok(split.streams)
}

/// The module of so many bytes that was taken apart into these.
pub fn join(streams: &[Vec<u8>; STREAMS], size: usize) -> Result<Vec<u8>> {
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
    /// The opcode behind a number, as the module has it.
    fn next_opcode(&mut self) -> Result<u8>;
    /// A byte that the opcode tells.
    fn known(&mut self, byte: u8) -> Result<()>;
    /// A constant that [`Stream::Large`] has.
    fn large(&mut self) -> Result<()>;
    /// An offset, and the last one of its kind that took more than a byte, which it may become.
    fn offset(&mut self, last: &mut u32) -> Result<()>;
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
        // What is loaded and what is stored have each a last offset.
        let mut offsets = [0; 2];
        let mut depth = 1;
        while depth > 0 {
            let opcode = self.opcode()?;
            match written(opcode) {
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
            let last = &mut offsets[usize::from(written(opcode) >= FIRST_STORE)];
            for immediate in immediates.into_iter().flatten() {
                self.immediate(immediate, last)?;
            }
        }
        Ok(())
    }

    fn immediate(&mut self, immediate: Immediate, last: &mut u32) -> Result<()> {
        match immediate {
            Immediate::Number(stream) => self.numbers(stream, 1),
            Immediate::Bytes(count) => self.bytes(Stream::Code, count).map(|_| ()),
            Immediate::List(stream) => {
                let count = self.number(stream)?;
                self.numbers(stream, count)
            }
            Immediate::Known(byte) => self.known(byte),
            Immediate::Local => {
                let stream = match self.next_opcode()? {
                    0x28..=0x35 => Stream::Addresses,
                    FIRST_STORE..=0x3e => Stream::Stored,
                    _ => Stream::Locals,
                };
                self.numbers(stream, 1)
            }
            Immediate::Small => {
                let stream = match self.next_opcode()? {
                    0x6a => Stream::Added,
                    0x46..=0x7f => Stream::Operands,
                    _ => Stream::Small,
                };
                self.numbers(stream, 1)
            }
            Immediate::Large => self.large(),
            Immediate::Offset => self.offset(last),
        }
    }
}

/// A distance in one byte that begins so, and
const NEAR: u8 = 0x80;
/// one in two bytes.
const FAR: u8 = 0xc0;
/// An offset in as many bytes as it takes.
const WHOLE: u8 = 0xff;
/// How many distances of the former there are, and
const NEAR_COUNT: u32 = (FAR - NEAR) as u32;
/// of the latter.
const FAR_COUNT: u32 = ((WHOLE - FAR) as u32) << 8;

struct Split<'a> {
    rest: &'a [u8],
    streams: [Vec<u8>; STREAMS],
}

impl<'a> Walk<'a> for Split<'a> {
    fn rest(&mut self, _: Stream) -> &mut &'a [u8] {
        &mut self.rest
    }

    fn put(&mut self, stream: Stream, bytes: &[u8]) {
        self.streams[stream as usize].extend(bytes);
    }

    /// It says of a constant how many bytes that has, and what is unusual of others.
    fn opcode(&mut self) -> Result<u8> {
        let opcode = self.take(Stream::Code, 1)?[0];
        ensure!(opcode == written(opcode), "WebAssembly has an opcode that stands for others here");
        let next = self.rest.first();
        let opcode = match opcode {
            CONSTANT => match number(self.rest)?.1 {
                1 => CONSTANT,
                2 => MEDIUM_CONSTANT,
                _ => LARGE_CONSTANT,
            },
            0x02..=0x04 if next != Some(&NO_TYPE) => opcode + TYPED,
            0x28..=0x3e if next != Some(&ALIGNMENTS[usize::from(opcode - 0x28)]) => {
                opcode + UNALIGNED
            }
            opcode => opcode,
        };
        self.put(Stream::Code, &[opcode]);
        Ok(opcode)
    }

    fn next_opcode(&mut self) -> Result<u8> {
        let (_, length) = number(self.rest)?;
        self.rest.get(length).copied().context("the WebAssembly ends early")
    }

    fn known(&mut self, _: u8) -> Result<()> {
        self.take(Stream::Code, 1).map(|_| ())
    }

    fn large(&mut self) -> Result<()> {
        let (bits, length) = number(self.rest)?;
        // The sign is the highest bit that is there.
        let unused = 64 - 7 * length as u32;
        let constant = i32::try_from((bits << unused) as i64 >> unused)?;
        ensure!(self.take(Stream::Large, length)? == signed(constant), "a constant is too long");
        self.put(Stream::Large, &constant.to_be_bytes());
        Ok(())
    }

    fn offset(&mut self, last: &mut u32) -> Result<()> {
        let (offset, length) = number(self.rest)?;
        let offset = u32::try_from(offset)?;
        let plain = leb128(offset as usize);
        ensure!(self.take(Stream::Offsets, length)? == plain, "an offset is too long");
        if length == 1 {
            self.put(Stream::Offsets, &plain);
            return Ok(());
        }
        let distance = offset.wrapping_sub(*last) as i32;
        // Even numbers are distances upwards.
        let folded = ((distance << 1) ^ (distance >> 31)) as u32;
        match folded.checked_sub(NEAR_COUNT) {
            None => self.put(Stream::Offsets, &[NEAR + folded as u8]),
            Some(far) if far < FAR_COUNT => {
                self.put(Stream::Offsets, &[FAR + (far >> 8) as u8, far as u8]);
            }
            Some(_) => {
                self.put(Stream::Offsets, &[WHOLE]);
                self.put(Stream::Offsets, &plain);
            }
        }
        *last = offset;
        Ok(())
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
    rest: [&'a [u8]; STREAMS],
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
        self.module.push(written(opcode));
        Ok(opcode)
    }

    fn next_opcode(&mut self) -> Result<u8> {
        let next =
            self.rest[Stream::Code as usize].first().context("the WebAssembly ends early")?;
        Ok(written(*next))
    }

    fn known(&mut self, byte: u8) -> Result<()> {
        self.module.push(byte);
        Ok(())
    }

    fn large(&mut self) -> Result<()> {
        let bytes = self.take(Stream::Large, 4)?.try_into()?;
        self.module.extend(signed(i32::from_be_bytes(bytes)));
        Ok(())
    }

    fn offset(&mut self, last: &mut u32) -> Result<()> {
        let first = self.take(Stream::Offsets, 1)?[0];
        let folded = match first {
            ..NEAR => {
                self.module.push(first);
                return Ok(());
            }
            NEAR..FAR => u32::from(first - NEAR),
            FAR..WHOLE => {
                let second = self.take(Stream::Offsets, 1)?[0];
                NEAR_COUNT + (u32::from(first - FAR) << 8) + u32::from(second)
            }
            WHOLE => {
                *last = self.number(Stream::Offsets)? as u32;
                return Ok(());
            }
        };
        *last = last.wrapping_add((folded >> 1) ^ (folded & 1).wrapping_neg());
        self.module.extend(leb128(*last as usize));
        Ok(())
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

/// A number that may be negative: its last byte says so with the highest of its bits.
fn signed(mut number: i32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !(-0x40..0x40).contains(&number) {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8 & 0x7f);
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

    /// One function of 300 bytes: constants of each length and use, aligned and other loads and stores with offsets
    /// near and far, blocks with and without a type, tables, a float, a fill.
    fn module() -> Vec<u8> {
        let mut body = vec![1, 1, 0x7f, 0x02, 0x40, 0x03, 0x7f];
        body.extend([0x41, 0x7f, 0x41, 0xff, 0x00, 0x41, 0xff, 0x80, 0x7f, 0x28, 2, 0x90, 0x20]);
        body.extend([0x20, 1, 0x29, 0, 0x94, 0x20, 0x20, 2, 0x36, 2, 0x88, 0x20, 0x2d, 0, 0x7f]);
        body.extend([0x28, 2, 0x8c, 0x20, 0x28, 2, 0x80, 0x01, 0x37, 3, 0x80, 0x80, 0x80, 0x40]);
        body.extend([0x41, 5, 0x6a, 0x41, 6, 0x71, 0x41, 0x80, 0x80, 0x80, 0x80, 0x78, 0x0c, 0]);
        body.extend([0x0d, 1]);
        body.extend([0x0e, 2, 0, 1, 0, 0x44, 0x0b, 0x0b, 0x0b, 0x0b, 0, 0, 0, 0xfc, 0xfc, 11, 0]);
        while body.len() < 296 {
            body.extend([0x20, 0]);
        }
        body.truncate(296);
        body.extend([0x1a, 0x0b, 0x0b, 0x0b]);
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
        assert_eq!(streams[Stream::Added as usize], [5]);
        assert_eq!(streams[Stream::Operands as usize], [6]);
        assert_eq!(streams[Stream::Medium as usize], [0xff, 0x00]);
        assert_eq!(streams[Stream::Large as usize], [0xff, 0xff, 0xc0, 0x7f, 0x80, 0, 0, 0]);
        assert_eq!(streams[Stream::Addresses as usize], [1]);
        assert_eq!(streams[Stream::Stored as usize], [2]);
        let offsets = &streams[Stream::Offsets as usize];
        // 4,112, 4 more; 4,104 to store; 127; 8 less, 3,980 less; 2^27 to store.
        assert_eq!(offsets[..6], [0xdf, 0xe0, 0x88, 0xdf, 0xd0, 0x7f]);
        assert_eq!(offsets[6..], [0x8f, 0xde, 0xd7, 0xff, 0x80, 0x80, 0x80, 0x40]);
    }

    #[test]
    fn what_ends_early_is_an_error() {
        let streams = split(&module()).expect("it is whole");
        for stream in Stream::ALL {
            let mut short = streams.clone();
            short[stream as usize].pop();
            assert!(join(&short, module().len()).is_err(), "{}", stream as usize);
        }
        for length in 0..module().len() - 3 {
            assert!(split(&module()[..length]).is_err(), "{length} bytes");
        }
    }
}
