//! What a file is, for what is looked up outside of a `Session`.

use std::fs::{self, File};
use std::io;

use perftab_core::{Identity, Image};
use perftab_perfdata::format::BuildId;
use perftab_perfdata::format::elf_note::{Endian, build_id_in_notes};

use crate::file_source::FileSource;

/// A file as an image; `None` if it is none. Reads headers and notes only.
pub fn image(file: &File) -> io::Result<Option<Image>> {
    let source = FileSource::new(file.try_clone()?)?;
    Ok(Image::open("", Box::new(source)).ok())
}

/// What a file is: its build-id or, after reading all of it, the hash of its content. `None` if it is
/// no image.
pub fn of(file: &File) -> Option<Identity> {
    image(file).ok()??.identity()
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

/// The build-id of the kernel that runs, from its notes.
pub fn running_kernel() -> Option<BuildId> {
    build_id_in_notes(&fs::read("/sys/kernel/notes").ok()?, Endian::NATIVE)
}

/// The build-id of a kernel module that is loaded, by its name in the kernel.
pub fn loaded_module(name: &str) -> Option<BuildId> {
    if name.is_empty() || name.contains(['/', '.']) {
        return None;
    }
    let notes = fs::read(format!("/sys/module/{name}/notes/.note.gnu.build-id")).ok()?;
    build_id_in_notes(&notes, Endian::NATIVE)
}
