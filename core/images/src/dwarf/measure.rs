//! How much gimli will allocate, before it does.

use gimli::{Reader as _, ReaderOffset};

use super::Reader;
use super::budget::{Budget, Fault};

/// gimli's bytes for each byte of a table of abbreviations: one of two bytes becomes an attribute of
/// 24, one of five an abbreviation of 176.
const PER_ABBREVIATION_BYTE: u64 = 40;
/// gimli's bytes for each byte of the names in a header of lines: one of five bytes becomes an entry of
/// 200. (At the worst one byte does, so what is larger than below is not read.)
const PER_NAME_BYTE: u64 = 64;
/// Headers with more names than this are of no compiler: 50,000 files of 20 bytes. Their units are lost.
const MAX_NAMES: u64 = 1 << 20;

/// Charges a table of abbreviations; returns what it will take.
pub(super) fn abbreviations(table: &Reader, budget: &Budget) -> Result<u64, Fault> {
    let mut rest = table.clone();
    loop {
        let before = rest.len();
        let code = rest.read_uleb128()?;
        if code != 0 {
            rest.read_uleb128()?;
            rest.read_u8()?;
            loop {
                let (name, form) = (rest.read_uleb128()?, rest.read_uleb128()?);
                if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                    rest.read_sleb128()?;
                }
                if (name, form) == (0, 0) {
                    break;
                }
            }
        }
        budget.work((before - rest.len()) as u64)?;
        if code == 0 {
            let length = (table.len() - rest.len()) as u64;
            return Ok(length.saturating_mul(PER_ABBREVIATION_BYTE));
        }
    }
}

/// Charges the header of a table of lines; returns what it will take.
pub(super) fn line_header(table: &Reader, budget: &Budget) -> Result<u64, Fault> {
    let mut rest = table.clone();
    let (length, format) = rest.read_initial_length()?;
    rest.truncate(length)?;
    let version = rest.read_u16()?;
    if version >= 5 {
        rest.skip(2)?;
    }
    let names = rest.read_length(format)?;
    rest.truncate(names)?;
    let names = names.into_u64();
    if names > MAX_NAMES {
        return Err(Fault::Memory);
    }
    budget.work(names)?;
    Ok(names.saturating_mul(PER_NAME_BYTE))
}
