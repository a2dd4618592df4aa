//! Files of this machine as core reads them: by `pread`, only where touched.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use perftab_perfdata::decode::{ByteSource, ReadError};
use perftab_perfdata::identity::ContentHash;

use crate::kept_hashes::{KeptHashes, Unchanged};

/// A file with the length it had when opened.
pub struct FileSource {
    file: File,
    length: u64,
    /// What it was before it was hashed.
    before: OnceLock<Option<Unchanged>>,
}

impl FileSource {
    /// Asks for the file's length.
    pub fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file, length, before: OnceLock::new() })
    }

    /// Fills as much of `buffer` as there is from `offset` on; returns how much.
    pub fn read_some(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

impl ByteSource for FileSource {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        self.file.read_exact_at(buffer, offset).map_err(|error| ReadError::new(error.to_string()))
    }

    fn content_hash(&self) -> Option<ContentHash> {
        let before = self.before.get_or_init(|| Unchanged::of(&self.file, self.length));
        KeptHashes::of_user().get(before.as_ref()?)
    }

    fn keep_content_hash(&self, hash: ContentHash) {
        if let Some(Some(before)) = self.before.get()
            && Unchanged::of(&self.file, self.length).as_ref() == Some(before)
        {
            KeptHashes::of_user().keep(before, hash);
        }
    }
}
