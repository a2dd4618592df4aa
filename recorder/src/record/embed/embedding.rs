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

/// A file that is complete but for parts of files.
pub struct Complete {
    /// Where it is.
    pub path: PathBuf,
    /// Files that were identified by then.
    pub open: IdentifiedFiles,
    /// What to say once it is whole, of so many bytes that it has more by then.
    pub say: Box<dyn FnOnce(u64) + Send>,
}

/// The thread. Dropping it waits for what it has to do: a file that is half changed is none.
pub struct Embedding {
    complete: Option<Sender<Complete>>,
    thread: Option<JoinHandle<usize>>,
}

impl Embedding {
    /// Starts it.
    pub fn start(asked: Vec<ElfPart>) -> Self {
        let (complete, files) = channel::<Complete>();
        let thread = thread::spawn(move || {
            let mut left_out = 0;
            for Complete { path, open, say } in files {
                match hit_files::add(&path, &asked, &open) {
                    Ok(added) => {
                        left_out += added.left_out;
                        say(added.growth);
                    }
                    // Only the newest are kept.
                    Err(_) if is_gone(&path) => {}
                    Err(error) => {
                        output::failure(&error);
                        // It is as it was.
                        say(0);
                    }
                }
            }
            left_out
        });
        Self { complete: Some(complete), thread: Some(thread) }
    }

    /// Has parts added to a file that is complete.
    pub fn add(&self, file: Complete) {
        // It fails if the thread has died, which `finish` says.
        let _ = self.complete.as_ref().map(|it| it.send(file));
    }

    /// Waits until all are done. Returns how many files there was no room for.
    pub fn finish(mut self) -> usize {
        self.join()
    }

    fn join(&mut self) -> usize {
        self.complete = None;
        let left_out = self.thread.take().map_or(Ok(0), JoinHandle::join);
        left_out.unwrap_or_else(|_| {
            output::notice("--embed: parts of files are not in all files of the recording");
            0
        })
    }
}

impl Drop for Embedding {
    fn drop(&mut self) {
        self.join();
    }
}

fn is_gone(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}
