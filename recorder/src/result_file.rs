//! A file of results: under the name asked for it is whole, and until then what was there stays.
//!
//! It is written under a passing name beside that. What is not a file of the user's own under one name is written in
//! place, as it has to stay what it is: a device, a pipe, what a link leads to, a file of another group. Half of a file is
//! never left there either.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, BufWriter, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::output::{self, Readers, Results};
use crate::scratch::UnnamedFile;
use crate::stop::Stop;

/// Of a new file, as far as the umask lets others have it.
const USUAL_MODE: u32 = 0o666;
/// Who may do what.
const MODE_BITS: u32 = 0o777;

/// Where results go; standard output where it is named `-`.
pub struct ResultFile(BufWriter<Place>);

enum Place {
    Stdout(Results),
    /// What is no file is left in any state, and waits for its reader.
    There {
        file: File,
        state: State,
        stop: Option<Stop>,
    },
    Passing {
        copy: UnnamedFile,
        mode: Option<u32>,
        name: PathBuf,
        readers: Readers,
        stop: Stop,
    },
}

/// How far a file is that is written in place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Begun,
    Whole,
}

impl ResultFile {
    /// Before there is anything in it.
    pub fn create(path: &Path, readers: Readers) -> anyhow::Result<Self> {
        let place = match path == Path::new("-") {
            true => Place::Stdout(Results::new()),
            false => Place::create(path, readers)?,
        };
        Ok(Self(BufWriter::new(place)))
    }

    /// An error if the user asked to stop. Each write asks as well.
    pub fn check(&self) -> io::Result<()> {
        self.0.get_ref().check()
    }

    /// Gives it its name. How long it is, if that is known.
    pub fn finish(mut self) -> anyhow::Result<Option<u64>> {
        self.0.flush()?;
        let place = self.0.get_mut();
        place.check()?;
        match place {
            Place::Stdout(_) => Ok(None),
            Place::There { file, state, .. } => {
                *state = State::Whole;
                Ok(Some(file.metadata()?).filter(Metadata::is_file).map(|it| it.len()))
            }
            Place::Passing { copy, mode, name, readers, .. } => {
                let made = copy.file.metadata()?;
                if let Some(mode) = mode.filter(|mode| *mode != made.mode() & MODE_BITS) {
                    copy.file.set_permissions(Permissions::from_mode(mode))?;
                }
                match copy.rename_writable_to(name) {
                    Err(error) if is_mount_point(&error) => {
                        copy_there(&mut copy.file, name, *readers)?;
                    }
                    renamed => renamed.context("it cannot get its name")?,
                }
                Ok(Some(made.len()))
            }
        }
    }
}

impl Write for ResultFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Place {
    fn create(path: &Path, readers: Readers) -> anyhow::Result<Self> {
        let cannot = || format!("{} cannot be written", path.display());
        if path.file_name().is_none() || path.as_os_str().as_bytes().ends_with(b"/") {
            bail!("{} names no file", path.display());
        }
        // Nobody may read it before who may not read it then.
        let mode_beside = |there: Option<u32>| match readers {
            Readers::Owner => Some(output::OWNER_ONLY),
            Readers::All => there,
        };
        let Some(there) = output::open_there(path, OFlags::WRONLY, readers)? else {
            let mode = mode_beside(None);
            let copy = unnamed(path, mode).with_context(cannot)?;
            return Self::passing(path, readers, copy, mode);
        };
        let metadata = there.metadata().with_context(cannot)?;
        let is_link = fs::symlink_metadata(path).with_context(cannot)?.is_symlink();
        if metadata.is_file() && !is_link && metadata.nlink() == 1 && output::is_ours(&metadata) {
            let mode = mode_beside(Some(metadata.mode() & MODE_BITS));
            match unnamed(path, mode) {
                Err(error) if is_folder_closed(&error) => {}
                copy => {
                    let copy = copy.with_context(cannot)?;
                    // The same group has a right to it then.
                    if copy.file.metadata().with_context(cannot)?.gid() == metadata.gid() {
                        return Self::passing(path, readers, copy, mode);
                    }
                }
            }
        }
        let file = match readers {
            Readers::Owner => output::create_private(path)?,
            Readers::All if metadata.is_file() => {
                there.set_len(0).with_context(cannot)?;
                there
            }
            Readers::All => there,
        };
        let stop = metadata.is_file().then(Stop::install).transpose()?;
        Ok(Self::There { file, state: State::Begun, stop })
    }

    fn passing(
        path: &Path,
        readers: Readers,
        copy: UnnamedFile,
        mode: Option<u32>,
    ) -> anyhow::Result<Self> {
        let stop = Stop::install()?;
        Ok(Self::Passing { copy, mode, name: path.to_owned(), readers, stop })
    }

    fn check(&self) -> io::Result<()> {
        match self {
            Self::There { stop: Some(stop), .. } | Self::Passing { stop, .. }
                if stop.is_asked() =>
            {
                Err(io::Error::other("stopped: nothing was written"))
            }
            Self::Stdout(_) | Self::There { .. } | Self::Passing { .. } => Ok(()),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        match self {
            Self::There { file, state: State::Begun, stop: Some(_) } => {
                let _ = file.set_len(0);
            }
            Self::Stdout(_) | Self::There { .. } | Self::Passing { .. } => {}
        }
    }
}

/// A file beside a path.
fn unnamed(path: &Path, mode: Option<u32>) -> io::Result<UnnamedFile> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    UnnamedFile::create(folder.unwrap_or(Path::new(".")), mode.unwrap_or(USUAL_MODE))
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        let written = match self {
            Self::Stdout(results) => return results.write(bytes),
            Self::There { file, .. } => file.write(bytes),
            Self::Passing { copy, .. } => copy.file.write(bytes),
        };
        written.map_err(with_remedy)
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(results) => results.flush(),
            Self::There { .. } | Self::Passing { .. } => Ok(()),
        }
    }
}

/// Whether nothing can take the place of a file, as it is mounted there by itself: a container's.
fn is_mount_point(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ResourceBusy
}

/// Puts what is complete into a file that is there.
fn copy_there(complete: &mut File, path: &Path, readers: Readers) -> anyhow::Result<()> {
    let mut there = match readers {
        Readers::Owner => output::create_private(path)?,
        Readers::All => output::open_there(path, OFlags::WRONLY, readers)?
            .with_context(|| format!("{} is gone", path.display()))?,
    };
    there.set_len(0)?;
    complete.rewind()?;
    io::copy(complete, &mut there).map_err(|error| {
        let _ = there.set_len(0);
        with_remedy(error)
    })?;
    Ok(())
}

/// Whether a folder takes no new files, though those in it may be written to.
fn is_folder_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Whether a write failed for want of space: the disk, a quota, or a limit on file sizes.
pub fn is_full(error: &io::Error) -> bool {
    let full = [Errno::NOSPC, Errno::DQUOT, Errno::FBIG];
    full.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Whether a file must not become as long (`ulimit -f`).
pub fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::FBIG.raw_os_error())
}

/// What to do about a write that failed for want of space.
pub fn remedy(error: &io::Error) -> Option<&'static str> {
    is_full(error).then(|| match is_too_long(error) {
        true => "raise the limit on files (ulimit -f)",
        false => "free some space, or write elsewhere with -o",
    })
}

/// Why a write failed, and what to do about it.
pub fn with_remedy(error: io::Error) -> io::Error {
    match remedy(&error) {
        Some(remedy) => {
            io::Error::new(error.kind(), format!("{}; {remedy}", output::reason(&error)))
        }
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A disk that is full, Ctrl-C, names that change: whatever ends it before the end.
    #[test]
    fn what_was_there_stays_until_the_end() {
        let folder =
            std::env::temp_dir().join(format!("perftab-result-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        // Whatever the umask: links count in a folder of one's own.
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        let [new, old, link] = ["new", "old", "link"].map(|name| folder.join(name));
        fs::write(&old, "before").unwrap();
        fs::set_permissions(&old, Permissions::from_mode(0o640)).unwrap();
        symlink(&old, &link).unwrap();
        let begin = |path: &Path| {
            let mut file = ResultFile::create(path, Readers::All).unwrap();
            file.write_all(b"after").unwrap();
            file.flush().unwrap();
            file
        };
        let read = |path: &Path| fs::read_to_string(path).ok();

        [&new, &old].into_iter().for_each(|path| drop(begin(path)));
        let stopped = begin(&old);
        if let Place::Passing { copy, stop, .. } = stopped.0.get_ref() {
            // Who may not read the old one reads nothing of the new one.
            assert_eq!(copy.file.metadata().unwrap().mode() & 0o007, 0);
            stop.ask();
        }
        assert_eq!(stopped.finish().unwrap_err().to_string(), "stopped: nothing was written");
        assert_eq!((read(&new), read(&old).as_deref()), (None, Some("before")));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        for path in [&new, &old] {
            assert_eq!(begin(path).finish().unwrap(), Some(5));
            assert_eq!(read(path).as_deref(), Some("after"));
        }
        assert_eq!(fs::metadata(&old).unwrap().mode() & 0o777, 0o640);
        // Links and devices stay what they are.
        fs::write(&old, "longer than that").unwrap();
        assert_eq!(begin(&link).finish().unwrap(), Some(5));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(begin(Path::new("/dev/null")).finish().unwrap(), None);
        drop(begin(&link));
        assert_eq!(read(&old).as_deref(), Some(""), "half of it would look whole");
        for name in ["", "/", "new/"] {
            assert!(
                ResultFile::create(&folder.join("other").join(name), Readers::All).is_err(),
                "{name}"
            );
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn whoever_has_no_space_is_told_what_to_do() {
        let mut full = ResultFile::create(Path::new("/dev/full"), Readers::All).unwrap();
        full.write_all(b"text").unwrap();
        let said = full.finish().unwrap_err().to_string();
        assert_eq!(said, "No space left on device; free some space, or write elsewhere with -o");
    }
}
