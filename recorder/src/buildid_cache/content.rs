//! What a file of the cache is, by its bytes.

use std::fs::File;
use std::io;

use perftab_core::{Companion, Identity, Kallsyms};
use perftab_perfdata::format::{BuildId, IdLength};

use super::layout::Part;
use super::lookup::Proof;
use crate::file_source::FileSource;
use crate::images::identity;

/// What is in the place of what a name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherContent {
    /// Another build.
    Build(BuildId),
    /// A file that says nothing of what it is, or is no image.
    NoBuildId,
}

/// What a file is, and what says it.
pub type Checked = (BuildId, Proof);

/// What an identity is called in the cache: a build-id by itself; the hash of a file without one
/// takes the place of an id (no tool asks for such an id but ours).
pub fn key_of(identity: Identity) -> Option<BuildId> {
    match identity {
        Identity::Gnu(id) => Some(id),
        Identity::Content(hash) => BuildId::new(&hash.0),
    }
}

/// Whether what has the id `found` may stand under the name `id`: perf before Linux 5.11 named the
/// entries of short ids with zeros behind them. So whoever uses it compares `found` once more.
pub fn may_be_named(id: BuildId, found: BuildId) -> bool {
    id == found || id.may_be(found, IdLength::AtMost)
}

/// Whether `file`, unpacked, may stand under the name `id`, and what it is then.
pub fn check(file: &File, id: BuildId, part: Part) -> io::Result<Result<Checked, OtherContent>> {
    match part {
        Part::Kallsyms => return check_kallsyms(file, id),
        Part::Companion(companion) => {
            let found = identity::image(file)?.and_then(|image| Companion::of(image).ok());
            let is_it = found.is_some_and(|found| found.is(companion));
            return Ok(is_it.then_some((id, Proof::Content)).ok_or(OtherContent::NoBuildId));
        }
        _ => {}
    }
    let found = identity::image(file)?.and_then(|image| key_of(image.identity()?));
    Ok(match found {
        Some(found) if may_be_named(id, found) => Ok((found, Proof::Content)),
        Some(found) => Err(OtherContent::Build(found)),
        None => Err(OtherContent::NoBuildId),
    })
}

/// Symbols of a kernel say what kernel only in copies that carry a stamp.
fn check_kallsyms(file: &File, id: BuildId) -> io::Result<Result<Checked, OtherContent>> {
    let source = FileSource::new(file.try_clone()?)?;
    Ok(match Kallsyms::read(&source).map(|kallsyms| kallsyms.stamp()) {
        Ok(Some(found)) if may_be_named(id, found) => Ok((found, Proof::Content)),
        Ok(Some(found)) => Err(OtherContent::Build(found)),
        Ok(None) => Ok((id, Proof::Name)),
        Err(_) => Err(OtherContent::NoBuildId),
    })
}
