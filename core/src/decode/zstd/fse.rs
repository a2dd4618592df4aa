//! Finite state entropy: tables that turn a state and some bits into a symbol and the next state
//! (RFC 8878, 4.1).

use super::bits::ForwardBits;

/// One state.
#[derive(Clone, Copy, Default)]
pub(super) struct State {
    /// What the symbol stands for, before the extra bits are added.
    pub(super) value: u32,
    /// How many extra bits follow.
    pub(super) extra: u8,
    /// How many bits choose the next state, counted from `next`.
    pub(super) bits: u8,
    pub(super) next: u16,
}

/// What a symbol stands for: value and count of extra bits.
pub(super) type Code = (u32, u8);

/// The states of one kind of symbol.
#[derive(Default)]
pub(super) struct Table {
    states: Vec<State>,
    /// log2 of their number.
    pub(super) accuracy: u32,
}

impl Table {
    #[inline(always)]
    pub(super) fn state(&self, index: usize) -> State {
        // The builder bounds `next` and `bits`, so that no index is out of range.
        self.states.get(index).copied().unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.states.clear();
    }

    /// A table of one state, whose symbol comes always.
    pub(super) fn set_single(&mut self, (value, extra): Code) {
        self.states.clear();
        self.states.push(State { value, extra, bits: 0, next: 0 });
        self.accuracy = 0;
    }

    /// Reads a table's description. What follows it.
    pub(super) fn read<'a>(
        &mut self,
        bytes: &'a [u8],
        accuracy_max: u32,
        codes: &[Code],
    ) -> Result<&'a [u8], &'static str> {
        let mut bits = ForwardBits::new(bytes);
        let accuracy = bits.take(4) + 5;
        if accuracy > accuracy_max {
            return Err("an entropy table is too precise");
        }
        let mut shares = [0_i16; 256];
        let mut symbols = 0;
        let mut remaining = 1_u32 << accuracy;
        while remaining > 0 {
            // A number up to `remaining + 1`, in one bit less where that is enough.
            let width = (remaining + 1).ilog2() + 1;
            let short = bits.peek(width - 1);
            let spared = (1 << width) - 1 - (remaining + 1);
            let number = if short < spared {
                bits.skip(width - 1);
                short
            } else {
                let long = bits.take(width);
                if long >= 1 << (width - 1) { long - spared } else { long }
            };
            // 0 is a share of less than one state, which still gets one.
            let share = number as i16 - 1;
            *codes
                .get(symbols)
                .and(shares.get_mut(symbols))
                .ok_or("an entropy table has too many symbols")? = share;
            symbols += 1;
            remaining = remaining
                .checked_sub(u32::from(share.unsigned_abs()))
                .ok_or("an entropy table has too many states")?;
            if share == 0 {
                loop {
                    let more = bits.take(2);
                    symbols += more as usize;
                    if more < 3 {
                        break;
                    }
                    // Symbols that do not exist are refused above, with the next share.
                    if symbols > codes.len() {
                        return Err("an entropy table has too many symbols");
                    }
                }
            }
        }
        let rest = bits.rest().ok_or("an entropy table is cut off")?;
        let shares = shares.get(..symbols).ok_or("an entropy table has too many symbols")?;
        self.build(shares, accuracy, codes)?;
        Ok(rest)
    }

    /// Spreads the states over the symbols by their shares, -1 for less than one state.
    pub(super) fn build(
        &mut self,
        shares: &[i16],
        accuracy: u32,
        codes: &[Code],
    ) -> Result<(), &'static str> {
        const WRONG: &str = "the shares of an entropy table do not add up";
        let size = 1_usize << accuracy;
        let mut symbols = vec![0_u8; size];
        let mut seen = [0_u16; 256];
        let mut high = size;
        for (symbol, _) in shares.iter().enumerate().filter(|(_, share)| **share == -1) {
            high = high.checked_sub(1).ok_or(WRONG)?;
            symbols[high] = symbol as u8;
            seen[symbol] = 1;
        }
        let step = (size >> 1) + (size >> 3) + 3;
        let mut position = 0;
        for (symbol, share) in shares.iter().enumerate() {
            let Some(share @ 1..) = u16::try_from(*share).ok() else { continue };
            seen[symbol] = share;
            for _ in 0..share {
                *symbols.get_mut(position).ok_or(WRONG)? = symbol as u8;
                loop {
                    position = (position + step) & (size - 1);
                    if position < high {
                        break;
                    }
                    if high == 0 {
                        return Err(WRONG);
                    }
                }
            }
        }
        if position != 0 {
            return Err(WRONG);
        }

        self.accuracy = accuracy;
        self.states.clear();
        for symbol in symbols {
            let seen = &mut seen[usize::from(symbol)];
            let count = u32::from(*seen);
            *seen += 1;
            let bits = accuracy - count.checked_ilog2().ok_or(WRONG)?;
            let next = ((count << bits) - size as u32) as u16;
            let (value, extra) = codes.get(usize::from(symbol)).copied().ok_or(WRONG)?;
            self.states.push(State { value, extra, bits: bits as u8, next });
        }
        Ok(())
    }
}
