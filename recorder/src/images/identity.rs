//! What a file is, for what is looked up outside of a `Session`.

use std::fs::File;
use std::io;

use perftab_core::format::BuildId;
use perftab_core::profile::Identity;
use perftab_core::symbolize::Image;

use crate::file_source::FileSource;

/// A file as an image; `None` if it is none. Reads headers and notes only.
pub fn image(file: &File) -> io::Result<Option<Image>> {
    let source = FileSource::new(file.try_clone()?)?;
    Ok(Image::open("", Box::new(source)).ok())
}

/// The build-id in a file's notes; `None` if it is no ELF file or has none.
pub fn build_id(file: &File) -> io::Result<Option<BuildId>> {
    Ok(image(file)?.and_then(|image| build_id_of(&image)))
}

/// The build-id of an image that has one.
pub fn build_id_of(image: &Image) -> Option<BuildId> {
    match image.identity() {
        Some(Identity::Gnu(id)) => Some(id),
        Some(Identity::Content(_)) | None => None,
    }
}
