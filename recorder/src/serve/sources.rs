//! Source files of this machine, for the page that shows code.
//!
//! Constraint: the page never says a path. It says a build and an address, and the debug information of a file with that
//! build-id says which source the code there was made of. That may be anything, too: what is read is a regular file that is
//! called as sources are, of limited size (or what the compiler put into the debug information), also where links of the file system lead (`place_texts::source`).

use std::path::Path;
use std::time::SystemTime;

use perftab_core::Svma;
use perftab_core::images::CompiledSource;
use perftab_listing::source::{self, Noted, OtherSource, Written};
use perftab_perfdata::format::BuildId;

use crate::images::identity;
use crate::images::local::Located;
use crate::place_texts::source::readable;

/// A source file that may be the one that was compiled.
pub struct FoundSource {
    pub bytes: Vec<u8>,
    /// When it was written last.
    pub modified: Option<SystemTime>,
}

/// That of the code at an address, as a file of the build says; `None` if there is none. One that is known to be another
/// than was compiled is not handed out. `recorded` is when the code had run: a file of the build that is younger is a copy.
pub fn find(
    debug: &Located,
    id: BuildId,
    address: Svma,
    recorded: Option<SystemTime>,
) -> Option<Result<FoundSource, OtherSource>> {
    let image = identity::image(&debug.file).ok()??;
    let CompiledSource { path, md5, text } = CompiledSource::at(&image, id, address)?;
    let embedded = text.filter(|text| {
        let noted = Noted { md5, written: Written::BeforeBinary };
        source::check(text, [noted]).is_ok()
    });
    if let Some(bytes) = embedded {
        return Some(Ok(FoundSource { bytes, modified: file_time(debug) }));
    }
    let (bytes, modified) = readable(Path::new(&*path))?;
    let built = [file_time(debug), recorded].into_iter().flatten().min();
    let written = if modified > built { Written::AfterBinary } else { Written::BeforeBinary };
    let check = source::check(&bytes, [Noted { md5, written }]);
    Some(check.map(|_| FoundSource { bytes, modified }))
}

fn file_time(debug: &Located) -> Option<SystemTime> {
    debug.file.metadata().ok()?.modified().ok()
}
