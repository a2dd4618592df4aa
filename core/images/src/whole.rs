//! Whether a file can be read to its end, for whoever keeps it: a file that a server sent may have the
//! right build-id and nonsense behind it. Gives no name.

use perftab_perfdata::decode::ReadError;

use super::image::Image;
use super::inline_frames::InlineFrames;
use super::symbol_table::SymbolTable;

/// Reads the symbols and all of the DWARF of a file once; fails on the first of them that is damaged, or
/// that would cost more than a file of its size may.
pub fn check_whole(image: &Image) -> Result<(), ReadError> {
    let symbols = SymbolTable::of(&[image])?;
    match InlineFrames::of(image, None, &symbols)? {
        Some(frames) => frames.check(image.name()),
        None => Ok(()),
    }
}
