//! How the callers of code are found that a process made, as it says: an `.eh_frame` for each code.

use std::ops::Range;

use super::write_all;
use crate::rest::Rest;

/// No function has more.
const MAX_ONE: u64 = 1 << 20;
/// All that is kept.
const MAX_ALL: usize = 64 << 20;

/// Rules of code, by where that is in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CodeRules {
    /// By offset.
    codes: Vec<RuledCode>,
    bytes: Vec<u8>,
}

/// Code, and where its rules end among the bytes of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RuledCode {
    start: u64,
    end: u64,
    rules_end: u64,
}

impl CodeRules {
    /// Whether so much may be of one function, and there is room for it.
    pub fn has_room(&self, bytes: u64) -> bool {
        bytes <= MAX_ONE && self.bytes.len() as u64 + bytes <= MAX_ALL as u64
    }

    /// Adds those of code that is there in the file, behind all others.
    pub fn add(&mut self, code: Range<u64>, rules: &[u8]) {
        self.bytes.extend_from_slice(rules);
        let rules_end = self.bytes.len() as u64;
        self.codes.push(RuledCode { start: code.start, end: code.end, rules_end });
    }

    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// How many have any.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// The number of the code at an offset, where it is, and its rules.
    pub fn at(&self, offset: u64) -> Option<(usize, Range<u64>, &[u8])> {
        let next = self.codes.partition_point(|code| code.start <= offset);
        let number = next.checked_sub(1)?;
        let RuledCode { start, end, rules_end } = *self.codes.get(number)?;
        let before = number.checked_sub(1).and_then(|before| self.codes.get(before));
        let from = before.map_or(0, |code| code.rules_end);
        let rules = self.bytes.get(from as usize..rules_end as usize)?;
        (offset < end).then_some((number, start..end, rules))
    }

    pub fn write(&self, bytes: &mut Vec<u8>) {
        write_all(bytes, &[self.codes.len() as u64, self.bytes.len() as u64]);
        for RuledCode { start, end, rules_end } in &self.codes {
            write_all(bytes, &[*start, *end, *rules_end]);
        }
        bytes.extend_from_slice(&self.bytes);
    }

    pub fn read(rest: &mut Rest<'_>) -> Option<Self> {
        let [count, length] = rest.numbers()?;
        let codes = rest.all(count, |rest| {
            let [start, end, rules_end] = rest.numbers()?;
            Some(RuledCode { start, end, rules_end })
        })?;
        Some(Self { codes, bytes: rest.take(length)?.to_vec() })
    }
}
