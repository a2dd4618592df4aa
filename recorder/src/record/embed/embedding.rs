//! Adds parts of the files that samples hit to files of a recording that goes on: one after the other, on a thread of its own,
//! as reading a file takes longer than a ring may wait.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use super::elf_parts::ElfPart;
use super::hit_files;
use crate::output;
use crate::record::identify::IdentifiedFiles;

/// The thread.
pub struct Embedding {
    complete: Sender<(PathBuf, IdentifiedFiles)>,
    thread: JoinHandle<usize>,
}

impl Embedding {
    /// Starts it.
    pub fn start(asked: Vec<ElfPart>) -> Self {
        let (complete, files) = channel::<(PathBuf, IdentifiedFiles)>();
        let thread = thread::spawn(move || {
            let mut left_out = 0;
            for (path, open) in files {
                match hit_files::add(&path, &asked, &open) {
                    Ok(added) => left_out += added.left_out,
                    // Only the newest are kept.
                    Err(_) if is_gone(&path) => {}
                    Err(error) => output::failure(&error),
                }
            }
            left_out
        });
        Self { complete, thread }
    }

    /// Has parts added to a file that is complete.
    pub fn add(&self, path: &Path, open: IdentifiedFiles) {
        // It fails if the thread has died, which `finish` says.
        let _ = self.complete.send((path.to_owned(), open));
    }

    /// Waits until all are done. Returns how many files there was no room for.
    pub fn finish(self) -> usize {
        let Self { complete, thread } = self;
        drop(complete);
        thread.join().unwrap_or_else(|_| {
            output::notice("--embed: parts of files are not in all files of the recording");
            0
        })
    }
}

fn is_gone(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}
