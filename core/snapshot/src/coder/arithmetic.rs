//! Binary arithmetic coding: bits cost as much as they surprise.
//!
//! Writer and reader keep the same interval of 32 bits. A bit halves it in proportion to its
//! probability; bytes on which both ends agree are written, and shifted out.

/// How likely a bit is 1, in 65,536ths; never 0 nor 65,536.
pub(super) type Probability = u16;

/// One side of a line on which bits travel. Models are written once, for both sides: the sender
/// says what a bit is, the receiver learns it, and both go on with what is returned.
pub(super) trait Line {
    /// Carries `bit` (0 or 1), which a receiver ignores.
    fn carry(&mut self, bit: u32, one: Probability) -> u32;

    /// True if nothing more can be on the line.
    fn is_over(&self) -> bool;
}

/// Where the interval is split: from `low` to there is 1.
fn split(low: u32, high: u32, one: Probability) -> u32 {
    low + ((u64::from(high - low) * u64::from(one)) >> 16) as u32
}

/// Writes bits.
pub(super) struct Sender {
    low: u32,
    high: u32,
    bytes: Vec<u8>,
}

impl Sender {
    pub fn new() -> Self {
        Self { low: 0, high: u32::MAX, bytes: Vec::new() }
    }

    /// Everything sent. A reader takes what is beyond the end as zeros, so one byte is enough to
    /// say where in the interval the number is.
    pub fn finish(mut self) -> Vec<u8> {
        if self.low > 0 {
            self.bytes.push((self.low >> 24) as u8 + 1);
        }
        self.bytes
    }
}

impl Line for Sender {
    fn carry(&mut self, bit: u32, one: Probability) -> u32 {
        let middle = split(self.low, self.high, one);
        match bit {
            0 => self.low = middle + 1,
            _ => self.high = middle,
        }
        while (self.low ^ self.high) >> 24 == 0 {
            self.bytes.push((self.high >> 24) as u8);
            self.low <<= 8;
            self.high = self.high << 8 | 0xff;
        }
        bit
    }

    fn is_over(&self) -> bool {
        false
    }
}

/// Reads bits.
pub(super) struct Receiver<'a> {
    low: u32,
    high: u32,
    number: u32,
    rest: &'a [u8],
    /// Zeros taken from beyond the end.
    beyond: usize,
}

impl<'a> Receiver<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        let mut line = Self { low: 0, high: u32::MAX, number: 0, rest: bytes, beyond: 0 };
        for _ in 0..4 {
            line.shift();
        }
        line
    }

    fn shift(&mut self) {
        let next = match self.rest.split_first() {
            Some((&byte, rest)) => {
                self.rest = rest;
                byte
            }
            None => {
                self.beyond += 1;
                0
            }
        };
        self.number = self.number << 8 | u32::from(next);
    }
}

impl Line for Receiver<'_> {
    fn carry(&mut self, _: u32, one: Probability) -> u32 {
        let middle = split(self.low, self.high, one);
        let bit = u32::from(self.number <= middle);
        match bit {
            0 => self.low = middle + 1,
            _ => self.high = middle,
        }
        while (self.low ^ self.high) >> 24 == 0 {
            self.low <<= 8;
            self.high = self.high << 8 | 0xff;
            self.shift();
        }
        bit
    }

    /// The number has four bytes; when all of them are from beyond the end, nothing was sent.
    fn is_over(&self) -> bool {
        self.beyond > 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_arrives_and_costs_what_it_surprises() {
        let mut random = 1u32;
        let mut next = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            random >> 16
        };
        let sent: Vec<(u32, Probability)> = (0..20_000)
            .map(|_| {
                let one = [1, 300, 6_554, 32_768, 65_535][next() as usize % 5];
                (u32::from(next() < u32::from(one)), one)
            })
            .collect();
        let mut line = Sender::new();
        let mut bits = 0.0;
        for &(bit, one) in &sent {
            line.carry(bit, one);
            let one = f64::from(one) / 65_536.0;
            bits -= if bit == 1 { one } else { 1.0 - one }.log2();
        }
        let bytes = line.finish();
        assert!((bytes.len() as f64) < bits / 8.0 + 3.0, "{} bytes, {bits} bits", bytes.len());
        let mut line = Receiver::new(&bytes);
        for &(bit, one) in &sent {
            assert_eq!(line.carry(0, one), bit);
        }
        assert!(!line.is_over());
    }

    #[test]
    fn a_line_ends() {
        let mut line = Receiver::new(&[17, 4]);
        let carried = (0..1_000).take_while(|_| {
            line.carry(0, 32_768);
            !line.is_over()
        });
        assert!(carried.count() < 100);
    }
}
