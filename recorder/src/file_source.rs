//! Files of this machine as core reads them: by `pread`, only where touched.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use perftab_perfdata::decode::{ByteSource, ReadError};

/// A file with the length it had when opened.
pub struct FileSource {
    file: File,
    length: u64,
}

impl FileSource {
    /// Asks for the file's length.
    pub fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file, length })
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
}
