//! An answer while it is received: checked as soon as its first bytes can tell, kept in the cache
//! only when all of it is right.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::format::BuildId;
use perftab_perfdata::format::elf_note::build_id_of_elf;
use rustix::fs::{AtFlags, CWD, OFlags, linkat};

use super::Receiver;
use super::outcome::Outcome;
use super::settings::Limits;
use crate::scratch;

/// Why one server gave no file.
pub enum NoFile {
    /// What it did instead.
    Outcome(Outcome),
    /// Nobody wants it any more.
    Cancelled,
}

impl From<Outcome> for NoFile {
    fn from(outcome: Outcome) -> Self {
        Self::Outcome(outcome)
    }
}

/// Looks for the build-id in the first bytes of an answer, so that a wrong file is refused before
/// gigabytes of it came, and a right one can be passed on while it comes.
pub enum Check {
    /// The bytes so far, which hold too little to tell.
    Beginning { id: BuildId, bytes: Vec<u8> },
    /// The first bytes have the right build-id.
    Trusted,
    /// Nothing to look for, or not in the first bytes.
    Done,
}

impl Check {
    /// Linkers put the notes right behind the headers, also in debug files.
    const BEGINNING: usize = 64 << 10;

    /// Takes the next bytes and hands what is trusted to the receiver.
    fn block(
        &mut self,
        block: &[u8],
        total: Option<u64>,
        receiver: &mut dyn Receiver,
    ) -> Result<ControlFlow<()>, Outcome> {
        match self {
            Self::Done => Ok(ControlFlow::Continue(())),
            Self::Trusted => Ok(receiver.trusted(block, total)),
            Self::Beginning { id, bytes } => {
                bytes.extend_from_slice(block);
                match build_id_of_elf(&SliceSource::new(bytes.as_slice())) {
                    Some(found) if found == *id => {
                        let flow = receiver.trusted(bytes, total);
                        *self = Self::Trusted;
                        return Ok(flow);
                    }
                    Some(found) => return Err(Outcome::WrongBuildId(Some(found))),
                    None if bytes.len() >= Self::BEGINNING => *self = Self::Done,
                    None => {}
                }
                Ok(ControlFlow::Continue(()))
            }
        }
    }
}

/// How fast an answer comes: a server that sends a byte now and then is as good as silent.
struct Pace {
    since: Instant,
    bytes: u64,
}

impl Pace {
    /// Bytes that must come in the time that a server may be silent (debuginfod_find_debuginfo(3),
    /// DEBUGINFOD_TIMEOUT).
    const LEAST: u64 = 100 << 10;

    fn keep(&mut self, bytes: u64, silence: Option<Duration>) -> Result<(), Outcome> {
        self.bytes += bytes;
        let Some(silence) = silence else { return Ok(()) };
        if self.bytes >= Self::LEAST {
            *self = Self { since: Instant::now(), bytes: 0 };
        } else if self.since.elapsed() > silence {
            let (bytes, seconds) = (self.bytes, silence.as_secs());
            return Err(Outcome::TooSlow { bytes, seconds });
        }
        Ok(())
    }
}

/// A file being received. It has no name, so it is gone however this process ends; where all files
/// have names, it has a passing one. Once it was checked it gets its name in the cache.
pub struct Answer {
    pub file: File,
    /// The passing one and that in the cache.
    names: Option<(PathBuf, PathBuf)>,
}

impl Answer {
    pub fn create(cache: Option<&Path>, id: BuildId, name: Option<&str>) -> io::Result<Self> {
        if let (Some(cache), Some(name)) = (cache, name) {
            let folder = cache.join(id.to_string());
            let passing = folder.join(format!(".{name}.{}", scratch::unique_suffix()));
            let create = || {
                fs::create_dir_all(&folder)?;
                remove_abandoned(&folder, name);
                let mut options = OpenOptions::new();
                options.read(true).write(true).mode(0o600);
                let nameless = OFlags::TMPFILE.bits() as i32;
                let file = options.clone().custom_flags(nameless).open(&folder);
                file.or_else(|_| options.create_new(true).open(&passing))
            };
            // A home that can't be written to is no reason to go without names.
            if let Ok(file) = create() {
                return Ok(Self { file, names: Some((passing, folder.join(name))) });
            }
        }
        Ok(Self { file: scratch::nameless_file()?, names: None })
    }

    pub fn receive(
        &mut self,
        body: &mut dyn Read,
        total: Option<u64>,
        limits: &Limits,
        mut check: Check,
        receiver: &mut dyn Receiver,
    ) -> Result<(), NoFile> {
        let limit = limits.bytes;
        let mut block = vec![0; 256 << 10];
        let mut done = 0;
        let mut pace = Pace { since: Instant::now(), bytes: 0 };
        loop {
            if total.unwrap_or(done) > limit || done > limit {
                return Err(Outcome::TooLarge { limit }.into());
            }
            if receiver.received(done, total).is_break() {
                return Err(NoFile::Cancelled);
            }
            let count = match body.read(&mut block) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Outcome::Unreachable(error.to_string()).into()),
            };
            if count == 0 {
                break;
            }
            self.file.write_all(&block[..count]).map_err(storing)?;
            if check.block(&block[..count], total, receiver)?.is_break() {
                return Err(NoFile::Cancelled);
            }
            done += count as u64;
            pace.keep(count as u64, limits.silence)?;
        }
        if total.is_some_and(|total| total != done) {
            let cut = format!("the answer ended after {done} bytes");
            return Err(Outcome::Unreachable(cut).into());
        }
        Ok(())
    }

    /// Hands the file out, at its beginning, without a place in the cache.
    pub fn hand_out(self) -> io::Result<File> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }

    /// Gives the file its name in the cache, and hands it out, at its beginning.
    pub fn keep(mut self) -> io::Result<File> {
        if let Some((passing, name)) = &self.names {
            // As debuginfod's own clients do, so that nobody writes into it by accident.
            self.file.set_permissions(fs::Permissions::from_mode(0o400))?;
            if self.file.metadata()?.nlink() == 0 {
                // open(2), O_TMPFILE: how a file gets its first name without a capability.
                let opened = format!("/proc/self/fd/{}", self.file.as_raw_fd());
                linkat(CWD, opened, CWD, passing, AtFlags::SYMLINK_FOLLOW)?;
            }
            fs::rename(passing, name)?;
        }
        self.names = None;
        self.hand_out()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some((passing, _)) = &self.names {
            let _ = fs::remove_file(passing);
        }
    }
}

/// Removes what processes left in `folder` that were killed while they received, where files have names
/// from the start.
fn remove_abandoned(folder: &Path, name: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let file_name = entry.file_name();
        let suffix = file_name.to_str().and_then(|n| n.strip_prefix(&format!(".{name}.")));
        if let Some(pid) = suffix.and_then(|suffix| suffix.split('-').next())
            && !Path::new("/proc").join(pid).exists()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn storing(error: io::Error) -> Outcome {
    Outcome::Storing(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    #[test]
    fn what_killed_processes_left_is_removed() {
        let folder = env::temp_dir().join(format!("perftab-{}", scratch::unique_suffix()));
        fs::create_dir_all(&folder).unwrap();
        let own = format!(".debuginfo.{}", scratch::unique_suffix());
        // No process has an id beyond 2^22 (PID_MAX_LIMIT).
        for name in [".debuginfo.99999999-0", &own, "debuginfo", ".executable.99999999-0"] {
            fs::write(folder.join(name), "").unwrap();
        }
        remove_abandoned(&folder, "debuginfo");
        let left = |name: &str| folder.join(name).exists();
        let (gone, others) = (!left(".debuginfo.99999999-0"), left(&own) && left("debuginfo"));
        let other_artifact = left(".executable.99999999-0");
        fs::remove_dir_all(&folder).unwrap();
        assert!(gone && others && other_artifact);
    }
}
