//! The source file that code was made of, for a host that has it.

use std::rc::Rc;

use perftab_dsos::Identity;

use super::address::Svma;
use super::image::Image;
use super::inline_frames::InlineFrames;
use super::symbol_table::SymbolTable;

/// A source file, as debug information names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledSource {
    /// Where it lay when it was compiled; anything that a file may say.
    pub path: Rc<str>,
    /// Its MD5, where the compiler has noted it.
    pub md5: Option<[u8; 16]>,
    /// Its text, where the compiler has put it in.
    pub text: Option<Vec<u8>>,
}

impl CompiledSource {
    /// That of the innermost code at an address; `None` if the image is of another build, or does not tell.
    pub fn at(image: &Image, identity: Identity, address: Svma) -> Option<Self> {
        if image.identity() != Some(identity) {
            return None;
        }
        let symbols = SymbolTable::of(&[image]).ok()?;
        let frames = InlineFrames::of(image, None, &symbols).ok()??;
        let mut innermost = None;
        frames.at(address, |level| {
            innermost.get_or_insert(level.file);
        });
        let path = innermost.flatten()?;
        let md5 = frames.source_md5(address, &path);
        let text = frames.embedded_source(address, &path);
        Some(Self { path, md5, text })
    }
}
