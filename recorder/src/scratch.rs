//! Files that need no name, or none yet: spooled standard input, answers that are not kept, copies that are
//! not complete.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// A part of a file name that nobody on this machine uses: process id and a count.
pub fn unique_suffix() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A file in the folder for temporary files, readable by its owner alone and already without a
/// name: it is gone when the last handle is, however the process ends.
pub fn nameless_file() -> io::Result<File> {
    let folder = env::temp_dir();
    let (file, path) = make_unique(&folder, "perftab-", 0o600).map_err(|error| {
        let why = format!("no temporary file in {}: {error}", folder.display());
        io::Error::new(error.kind(), why)
    })?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// Makes a file of this mode in a folder, whose name begins so.
fn make_unique(folder: &Path, begin: &str, mode: u32) -> io::Result<(File, PathBuf)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(mode);
    loop {
        let path = folder.join(format!("{begin}{}", unique_suffix()));
        match options.open(&path) {
            // Left by a process of the same id that was killed: in containers that is 1 each time.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (file, path)),
        }
    }
}

/// What names of files begin with until they are complete.
pub const PASSING: &str = ".perftab-";

/// A file that is removed unless it gets a name.
pub struct UnnamedFile {
    path: PathBuf,
    /// What it holds so far.
    pub file: File,
}

impl UnnamedFile {
    /// Makes one in a folder; `mode` is whom its name will let read it.
    pub fn create(folder: &Path, mode: u32) -> io::Result<Self> {
        // Only the umask may take rights away; the owner's right to write is taken at the end.
        let (file, path) = make_unique(folder, PASSING, mode | 0o600)?;
        Ok(Self { path, file })
    }

    /// Gives it its name, in the place of what has that.
    pub fn rename_to(&self, place: &Path) -> io::Result<()> {
        // So that nobody writes into it by accident.
        let mode = self.file.metadata()?.permissions().mode() & 0o555;
        self.file.set_permissions(fs::Permissions::from_mode(mode))?;
        self.rename_writable_to(place)
    }

    /// The same of what whoever may write to it may.
    pub fn rename_writable_to(&self, place: &Path) -> io::Result<()> {
        fs::rename(&self.path, place)
    }
}

impl Drop for UnnamedFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
