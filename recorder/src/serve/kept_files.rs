//! Files that the page reads piece by piece: found once, and open from then on.
//!
//! All pieces have to be of one state of a file, or a name may come from another build than the
//! build-id. So the page says with which [`KeptFile::state`] it began. A file has another one when it
//! was written to or replaced, and also when it was only linked to: that cannot be told apart.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};

use super::local_machine::ServedFile;
use super::route::LocalFile;

/// Far fewer than a process may have open (1,024, usually).
const MOST: usize = 256;

/// Files by what they were asked for as.
#[derive(Default)]
pub struct KeptFiles(Mutex<HashMap<LocalFile, Arc<KeptFile>>>);

/// A file that is open.
pub struct KeptFile {
    /// What was found.
    pub found: ServedFile,
    /// What it was like then: an entity tag (RFC 9110, section 8.8.3).
    pub state: String,
}

impl KeptFiles {
    /// The file, as `find` finds it where it is not open yet or has changed meanwhile.
    pub fn get_or_find(
        &self,
        wanted: &LocalFile,
        find: impl FnOnce() -> Option<ServedFile>,
    ) -> io::Result<Option<Arc<KeptFile>>> {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept().get(wanted).cloned();
        if let Some(known) = known
            && known.state == state(known.found.file())?
        {
            return Ok(Some(known));
        }
        let Some(found) = find() else { return Ok(None) };
        let file = Arc::new(KeptFile { state: state(found.file())?, found });
        let mut kept = kept();
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(wanted.clone(), Arc::clone(&file));
        Ok(Some(file))
    }
}

impl KeptFile {
    /// With a position of its own, so that requests can read side by side.
    pub fn reopen(&self) -> io::Result<ServedFile> {
        let own = File::open(format!("/proc/self/fd/{}", self.found.file().as_raw_fd()))?;
        Ok(match &self.found {
            ServedFile::Whole(_) => ServedFile::Whole(own),
            ServedFile::Part(_, within) => ServedFile::Part(own, within.clone()),
        })
    }
}

/// Another one for each change of content or inode: nobody can set ctime.
fn state(file: &File) -> io::Result<String> {
    let metadata = file.metadata()?;
    let (device, inode, size) = (metadata.dev(), metadata.ino(), metadata.size());
    let (seconds, nanos) = (metadata.ctime(), metadata.ctime_nsec());
    Ok(format!("\"{device:x}-{inode:x}-{size:x}-{seconds:x}-{nanos:x}\""))
}
