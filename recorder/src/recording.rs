//! A recording on disk, pinned: what was opened stays, whatever happens to the path since.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use anyhow::{Context, bail};

use crate::output::{self, Progress};
use crate::scratch;

/// An open recording.
pub struct Recording {
    /// Name for humans.
    pub name: String,
    /// Length in bytes.
    pub size: u64,
    file: File,
}

impl Recording {
    /// Opens a recording; `-` is standard input, kept in a file without a name, since
    /// parts of it are read out of order.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            return Self::spool();
        }
        let name = path.display();
        let file = File::open(path).with_context(|| format!("{name}"))?;
        let metadata = file.metadata().with_context(|| format!("{name}"))?;
        if metadata.is_dir() {
            bail!("{name}: is a folder; name the perf.data file in it");
        }
        if !metadata.is_file() {
            bail!("{name}: is no regular file; pipe it in and name - instead");
        }
        let name = path.file_name().map_or_else(|| name.to_string(), |n| n.display().to_string());
        Ok(Self { name, size: metadata.len(), file })
    }

    fn spool() -> anyhow::Result<Self> {
        let mut file = scratch::nameless_file()?;
        let mut progress = Progress::begin("Reading standard input", None);
        let mut block = vec![0; 256 << 10];
        let mut size = 0;
        loop {
            let count = match io::stdin().lock().read(&mut block) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error).context("reading standard input"),
            };
            file.write_all(&block[..count])
                .context("keeping standard input in a temporary file")?;
            size += count as u64;
            progress.update(size);
        }
        drop(progress);
        output::notice(format_args!(
            "standard input, {}, is kept in a temporary file until this ends",
            output::size(size)
        ));
        Ok(Self { name: "standard input".to_owned(), size, file })
    }

    /// The same file with a position of its own, so that requests can read side by side.
    pub fn reopen(&self) -> io::Result<File> {
        File::open(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }
}
