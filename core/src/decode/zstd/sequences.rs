//! The sequences of a block: so many literals, then so many bytes as they were so far back
//! (RFC 8878, 3.1.1.3.2).

use super::bits::BackwardBits;
use super::fse::{Code, Table};

/// One sequence.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// Count of literals to copy.
    pub(super) literals: usize,
    /// How far back the match begins, behind those literals. Not 0.
    pub(super) offset: usize,
    /// Its length.
    pub(super) length: usize,
}

/// The tables, kept from block to block, for one may say "the same as before".
#[derive(Default)]
pub(super) struct Sequences {
    literals: Table,
    offsets: Table,
    lengths: Table,
    /// The last three offsets, newest first.
    recent: [u32; 3],
}

/// One of the three kinds of numbers in a sequence.
struct Kind {
    accuracy_max: u32,
    codes: &'static [Code],
    default_accuracy: u32,
    default_shares: &'static [i16],
}

impl Sequences {
    pub(super) fn begin_frame(&mut self) {
        self.literals.clear();
        self.offsets.clear();
        self.lengths.clear();
        self.recent = [1, 4, 8];
    }

    /// Reads the section and hands over its sequences, in order.
    pub(super) fn decode(
        &mut self,
        section: &[u8],
        mut each: impl FnMut(Step) -> Result<(), &'static str>,
    ) -> Result<(), &'static str> {
        const CUT: &str = "the sequences are cut off";
        let (count, section) = match *section {
            [0] => return Ok(()),
            [0, ..] => return Err("something follows on no sequences"),
            [count @ ..128, ref rest @ ..] => (usize::from(count), rest),
            [255, low, high, ref rest @ ..] => {
                (usize::from(u16::from_le_bytes([low, high])) + 0x7f00, rest)
            }
            [high @ ..=254, low, ref rest @ ..] => {
                (usize::from(high - 128) << 8 | usize::from(low), rest)
            }
            _ => return Err(CUT),
        };
        let (&modes, section) = section.split_first().ok_or(CUT)?;
        if modes & 3 != 0 {
            return Err("the sequences have reserved bits");
        }
        let section = LITERALS.read(&mut self.literals, modes >> 6, section)?;
        let section = OFFSETS.read(&mut self.offsets, modes >> 4 & 3, section)?;
        let section = LENGTHS.read(&mut self.lengths, modes >> 2 & 3, section)?;

        let mut bits = BackwardBits::new(section).ok_or(CUT)?;
        let Self { literals, offsets, lengths, recent } = self;
        let mut literal = literals.state(bits.take(literals.accuracy) as usize);
        let mut offset = offsets.state(bits.take(offsets.accuracy) as usize);
        let mut length = lengths.state(bits.take(lengths.accuracy) as usize);
        for left in (0..count).rev() {
            // The widest are 31, 16 and 16 bits: too many to take at once, but hardly ever all so.
            let back = offset.value + bits.take(u32::from(offset.extra)) as u32;
            let extra = bits.take(u32::from(length.extra + literal.extra));
            let of_literals = extra & ((1 << literal.extra) - 1);
            let step_literals = literal.value + of_literals as u32;
            let step_length = length.value + (extra >> literal.extra) as u32;
            if bits.left() < 0 {
                return Err(CUT);
            }
            each(Step {
                literals: step_literals as usize,
                offset: resolve(recent, back, step_literals)? as usize,
                length: step_length as usize,
            })?;
            if left > 0 {
                let next = bits.take(u32::from(literal.bits + length.bits + offset.bits));
                let of_offset = next & ((1 << offset.bits) - 1);
                let next = next >> offset.bits;
                let of_length = next & ((1 << length.bits) - 1);
                let of_literal = next >> length.bits;
                literal = literals.state(usize::from(literal.next) + of_literal as usize);
                length = lengths.state(usize::from(length.next) + of_length as usize);
                offset = offsets.state(usize::from(offset.next) + of_offset as usize);
            }
        }
        if bits.left() == 0 { Ok(()) } else { Err("the sequences end in the middle of their bits") }
    }
}

/// An offset from its number: 1 to 3 are the recent ones, or those behind them where no literals
/// lie between; others are 3 too large.
#[inline(always)]
fn resolve(recent: &mut [u32; 3], number: u32, literals: u32) -> Result<u32, &'static str> {
    let [first, second, third] = *recent;
    let place = if number > 3 { 0 } else { number + u32::from(literals == 0) };
    let offset = match place {
        0 => number - 3,
        1 => return Ok(first),
        2 => second,
        3 => third,
        _ => first - 1,
    };
    if offset == 0 {
        return Err("an offset is 0");
    }
    *recent = [offset, first, if place == 2 { third } else { second }];
    Ok(offset)
}

impl Kind {
    /// Makes the block's table as its mode says; what follows in the section.
    fn read<'a>(
        &self,
        table: &mut Table,
        mode: u8,
        section: &'a [u8],
    ) -> Result<&'a [u8], &'static str> {
        match mode {
            0 => {
                table.build(self.default_shares, self.default_accuracy, self.codes)?;
                Ok(section)
            }
            1 => {
                let (code, rest) = section.split_first().ok_or("an entropy table is cut off")?;
                let code = self.codes.get(usize::from(*code)).ok_or("a code that there is not")?;
                table.set_single(*code);
                Ok(rest)
            }
            2 => table.read(section, self.accuracy_max, self.codes),
            _ if table.is_empty() => Err("sequences refer to a table that is not there"),
            _ => Ok(section),
        }
    }
}

const LITERALS: Kind = Kind {
    accuracy_max: 9,
    codes: &LITERAL_CODES,
    default_accuracy: 6,
    default_shares: &[
        4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1,
        1, 1, -1, -1, -1, -1,
    ],
};

const OFFSETS: Kind = Kind {
    accuracy_max: 8,
    codes: &OFFSET_CODES,
    default_accuracy: 5,
    default_shares: &[
        1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
    ],
};

const LENGTHS: Kind = Kind {
    accuracy_max: 9,
    codes: &LENGTH_CODES,
    default_accuracy: 6,
    default_shares: &[
        1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
    ],
};

/// Codes below `direct` stand for `first` and the numbers after it; the others have extra bits.
const fn codes<const N: usize>(first: u32, direct: usize, extra: &[u8]) -> [Code; N] {
    let mut codes = [(0, 0); N];
    let mut value = first;
    let mut code = 0;
    while code < N {
        let bits = if code < direct { 0 } else { extra[code - direct] };
        codes[code] = (value, bits);
        value += 1 << bits;
        code += 1;
    }
    codes
}

const LITERAL_CODES: [Code; 36] =
    codes(0, 16, &[1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
const LENGTH_CODES: [Code; 53] =
    codes(3, 32, &[1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
/// A power of two and as many bits.
const OFFSET_CODES: [Code; 32] = {
    let mut codes = [(0, 0); 32];
    let mut code = 0;
    while code < 32 {
        codes[code] = (1 << code, code as u8);
        code += 1;
    }
    codes
};
