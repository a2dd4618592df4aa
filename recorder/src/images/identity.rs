//! The build-id of a file, for what is looked up before a `Session` is there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use perftab_core::format::BuildId;

/// The build-id in a file's notes; `None` if it is no ELF file or has none.
pub fn build_id(file: &File) -> io::Result<Option<BuildId>> {
    // Until core's `Image` is there: 64-bit little-endian ELF, program headers only.
    let mut header = [0; 64];
    if file.read_exact_at(&mut header, 0).is_err() || header[..6] != *b"\x7fELF\x02\x01" {
        return Ok(None);
    }
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
    let (table, size, count) =
        (number(&header[32..40]), number(&header[54..56]), number(&header[56..58]));
    for index in 0..count {
        let mut entry = [0; 56];
        if size < 56 || file.read_exact_at(&mut entry, table + index * size).is_err() {
            return Ok(None);
        }
        if number(&entry[..4]) != 4 {
            continue;
        }
        let (offset, length) = (number(&entry[8..16]), number(&entry[32..40]).min(1 << 16));
        let mut notes = vec![0; length as usize];
        if file.read_exact_at(&mut notes, offset).is_err() {
            return Ok(None);
        }
        let mut rest = notes.as_slice();
        while rest.len() >= 12 {
            let (name, descriptor) = (number(&rest[..4]) as usize, number(&rest[4..8]) as usize);
            let kind = number(&rest[8..12]);
            let start = 12 + name.next_multiple_of(4);
            let Some(bytes) = rest.get(start..start + descriptor) else { break };
            if kind == 3 && rest.get(12..16) == Some(b"GNU\0") {
                return Ok(BuildId::new(bytes));
            }
            rest = rest.get(start + descriptor.next_multiple_of(4)..).unwrap_or_default();
        }
    }
    Ok(None)
}
