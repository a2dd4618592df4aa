//! What a file of the cache is, by its bytes.

use std::fs::File;
use std::io;

use perftab_core::format::BuildId;
use perftab_core::profile::Identity;
use perftab_core::symbolize::Kallsyms;

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

/// What an identity is called in the cache: a build-id by itself; the hash of a file without one
/// takes the place of an id (no tool asks for such an id but ours).
pub fn key_of(identity: Identity) -> Option<BuildId> {
    match identity {
        Identity::Gnu(id) => Some(id),
        Identity::Content(hash) => BuildId::new(&hash.0),
    }
}

/// Whether `file`, unpacked, may stand under the name `id`.
pub fn check(file: &File, id: BuildId, part: Part) -> io::Result<Result<Proof, OtherContent>> {
    if part == Part::Kallsyms {
        return check_kallsyms(file, id);
    }
    let found = identity::image(file)?.and_then(|image| key_of(image.identity()?));
    Ok(match found {
        // perf before Linux 5.11 named the entries of short ids with zeros behind them.
        Some(found) if found.is_same_as(id) => Ok(Proof::Content),
        Some(found) => Err(OtherContent::Build(found)),
        None => Err(OtherContent::NoBuildId),
    })
}

/// Symbols of a kernel say what kernel only in copies that carry a stamp.
fn check_kallsyms(file: &File, id: BuildId) -> io::Result<Result<Proof, OtherContent>> {
    let source = FileSource::new(file.try_clone()?)?;
    Ok(match Kallsyms::read(&source).map(|kallsyms| kallsyms.stamp()) {
        Ok(Some(found)) if found.is_same_as(id) => Ok(Proof::Content),
        Ok(Some(found)) => Err(OtherContent::Build(found)),
        Ok(None) => Ok(Proof::Name),
        Err(_) => Err(OtherContent::NoBuildId),
    })
}
