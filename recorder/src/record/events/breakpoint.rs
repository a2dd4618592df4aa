//! Hardware breakpoints: `mem:ADDRESS[/LENGTH][:ACCESS][:MODIFIERS]`, as perf has them.

use anyhow::{Context, Result, bail};
use perftab_perfdata::format::attr::event_type;

use super::terms::number;
use super::{EventCode, EventSpec, Sampled};

/// What every one begins with.
pub const PREFIX: &str = "mem:";

/// Bits of `bp_type`, in `include/uapi/linux/hw_breakpoint.h`.
const ACCESSES: [(char, u32); 3] = [('r', 1), ('w', 2), ('x', 4)];
const READ_OR_WRITE: u32 = 3;
const EXECUTE: u32 = 4;

/// The breakpoint of this text, and its modifiers.
pub fn parse(text: &str) -> Result<(EventSpec, &str)> {
    let written = text.strip_prefix(PREFIX).unwrap_or(text);
    let (place, rest) = written.split_once(':').unwrap_or((written, ""));
    let (first, second) = rest.split_once(':').unwrap_or((rest, ""));
    // Modifiers may stand where the access is left out.
    let (access, modifiers) = match access(first) {
        Some(access) => (access, second),
        None if second.is_empty() => (READ_OR_WRITE, first),
        None => bail!("after the address comes what is done: r, w, x, or several of them"),
    };
    let (address, length) = match place.split_once('/') {
        Some((address, length)) => (address, number(length)),
        // As perf has it; what is executed has to be the size of a word.
        None if access == EXECUTE => (place, Some(size_of::<usize>() as u64)),
        None => (place, Some(4)),
    };
    let address = number(address).context("give an address, as mem:0x401000:x")?;
    let length = length.context("give a length in bytes, as mem:0x404010/8:w")?;
    let config = [0, address, length];
    let code = EventCode { config, access, ..EventCode::new(event_type::BREAKPOINT, 0) };
    Ok((EventSpec { sampled: Sampled::EachTime, ..EventSpec::new(text, code) }, modifiers))
}

/// Letters, each once.
fn access(text: &str) -> Option<u32> {
    let bits = text.chars().try_fold(0, |bits, letter| {
        let (_, bit) = ACCESSES.iter().find(|(known, _)| *known == letter)?;
        (bits & bit == 0).then_some(bits | bit)
    });
    bits.filter(|bits| *bits != 0)
}
