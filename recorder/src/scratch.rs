//! Files that need no name: spooled standard input, answers that are not kept.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
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
    loop {
        let path = folder.join(format!("perftab-{}", unique_suffix()));
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => {
                fs::remove_file(&path)?;
                return Ok(file);
            }
            // Left by a process of the same id that was killed in between.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let why = format!("no temporary file in {}: {error}", folder.display());
                return Err(io::Error::new(error.kind(), why));
            }
        }
    }
}
