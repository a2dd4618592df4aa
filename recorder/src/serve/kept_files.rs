//! Files that the page reads piece by piece: found once, and open from then on.
//!
//! All pieces have to be of one state of a file, or a name may come from another build than the
//! build-id. So the page says with which [`KeptFile::state`] it began. A file has another one when it
//! was written to or replaced, and also when it was only linked to: that cannot be told apart.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Arc, Mutex, PoisonError};

use super::local_machine::ServedFile;
use super::route::LocalFile;

/// Far fewer than a process may have open (1,024, usually).
const MOST: usize = 256;

/// Bytes read at once.
const BLOCK: u64 = 256 << 10;

/// Files by what they were asked for as.
#[derive(Default)]
pub struct KeptFiles(Mutex<HashMap<LocalFile, Arc<KeptFile>>>);

/// A file that is open.
pub struct KeptFile {
    found: ServedFile,
    /// What it was like then: an entity tag (RFC 9110, section 8.8.3).
    pub state: String,
}

/// What becomes of a request for a piece.
pub enum Asked {
    /// It is of this file.
    Of(Arc<KeptFile>),
    /// The file is no longer what it was when the page began with it.
    Changed,
    /// There is none.
    Absent,
}

impl KeptFiles {
    /// The file, as `find` finds it where it is not open yet or has changed. Whoever has begun with a
    /// state gets that one or nothing.
    pub fn get_or_find(
        &self,
        wanted: &LocalFile,
        begun_with: Option<&str>,
        find: impl FnOnce() -> Option<ServedFile>,
    ) -> io::Result<Asked> {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept().get(wanted).cloned();
        let known = match known {
            Some(known) if known.is_unchanged()? => Some(known),
            _ => None,
        };
        match (known, begun_with) {
            (Some(known), None) => return Ok(Asked::Of(known)),
            (Some(known), Some(state)) if known.state == state => return Ok(Asked::Of(known)),
            (_, Some(_)) => return Ok(Asked::Changed),
            (None, None) => {}
        }
        let Some(found) = find() else { return Ok(Asked::Absent) };
        let file = Arc::new(KeptFile { state: state(found.file())?, found });
        let mut kept = kept();
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(wanted.clone(), Arc::clone(&file));
        Ok(Asked::Of(file))
    }
}

impl KeptFile {
    /// The bytes that may be asked for.
    pub fn range(&self) -> io::Result<Range<u64>> {
        match &self.found {
            ServedFile::Whole(file) => Ok(0..file.metadata()?.len()),
            ServedFile::Part(_, within) => Ok(within.clone()),
        }
    }

    /// Writes bytes of the file. The last of them wait until it is seen that the file did not change
    /// meanwhile; without them the answer stays incomplete.
    pub fn write_to(&self, bytes: Range<u64>, out: &mut impl Write) -> io::Result<()> {
        let mut held = Vec::new();
        let mut at = bytes.start;
        while at < bytes.end {
            out.write_all(&held)?;
            held.resize(BLOCK.min(bytes.end - at) as usize, 0);
            self.found.file().read_exact_at(&mut held, at)?;
            at += held.len() as u64;
        }
        if !self.is_unchanged()? {
            return Err(io::Error::other("it changed while it was read"));
        }
        out.write_all(&held)
    }

    fn is_unchanged(&self) -> io::Result<bool> {
        Ok(state(self.found.file())? == self.state)
    }
}

/// Another one for each change of content or inode: nobody can set ctime.
fn state(file: &File) -> io::Result<String> {
    let metadata = file.metadata()?;
    let (device, inode, size) = (metadata.dev(), metadata.ino(), metadata.size());
    let (seconds, nanos) = (metadata.ctime(), metadata.ctime_nsec());
    Ok(format!("\"{device:x}-{inode:x}-{size:x}-{seconds:x}-{nanos:x}\""))
}
