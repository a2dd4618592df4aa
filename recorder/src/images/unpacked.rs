//! Single files that are packed: kernel modules mostly, `ext4.ko.xz`.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

use perftab_perfdata::decode::wrapper::{Unwrap, Wrapper};

use crate::file_source::FileSource;
use crate::scratch;

const BLOCK: usize = 256 << 10;
/// A packed image that gives more than this is none; a vmlinux with DWARF has not half of it.
const UNPACKED_MAX: u64 = 2_000_000_000;

/// The ELF file that is packed in a file, as a file without a name; a file that is not packed as it
/// is. Its content says whether it is. The position is at the beginning.
pub fn unpacked(mut file: File) -> io::Result<File> {
    file.seek(SeekFrom::Start(0))?;
    let source = FileSource::new(file.try_clone()?)?;
    let mut magic = [0; Wrapper::MAGIC_LENGTH];
    let count = source.read_some(0, &mut magic)?;
    let Some(wrapper) = Wrapper::detect(&magic[..count]) else { return Ok(file) };

    let mut unwrap = Unwrap::new(wrapper);
    let mut out = scratch::nameless_file()?;
    let mut block = vec![0; BLOCK];
    let (mut read, mut written) = (0, 0);
    loop {
        let count = source.read_some(read, &mut block)?;
        if count == 0 {
            break;
        }
        read += count as u64;
        let mut input = &block[..count];
        while let Some(piece) = unwrap.next(&mut input).map_err(io::Error::other)? {
            if written == 0 && !piece.starts_with(b"\x7fELF") {
                return Err(io::Error::other("it does not unpack to an ELF file"));
            }
            written += piece.len() as u64;
            if written > UNPACKED_MAX {
                return Err(io::Error::other("it unpacks to too much"));
            }
            out.write_all(piece)?;
        }
    }
    unwrap.finish(&mut |_| ()).map_err(io::Error::other)?;
    out.seek(SeekFrom::Start(0))?;
    Ok(out)
}
