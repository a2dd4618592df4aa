//! Adds parts of the files that samples hit to files of a recording that goes on: one after the other, on a thread of its own,
//! as reading a file takes longer than a ring may wait.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SendError, Sender, channel};
use std::thread::{self, JoinHandle};

use super::elf_parts::ElfPart;
use super::hit_files::{self, HalfChanged};
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

/// What the thread has to do.
enum Task {
    Add(Complete),
    Call(Box<dyn FnOnce() + Send>),
}

/// The thread. Dropping it waits for what it has to do: a file that is half changed is none.
pub struct Embedding {
    tasks: Option<Sender<Task>>,
    thread: Option<JoinHandle<usize>>,
}

impl Embedding {
    /// Starts it.
    pub fn start(asked: Vec<ElfPart>) -> Self {
        let (tasks, asked_for) = channel::<Task>();
        let thread = thread::spawn(move || {
            let mut left_out = 0;
            for task in asked_for {
                let Complete { path, open, say } = match task {
                    Task::Add(file) => file,
                    Task::Call(call) => {
                        call();
                        continue;
                    }
                };
                match hit_files::add(&path, &asked, &open) {
                    Ok(added) => {
                        left_out += added.left_out;
                        say(added.growth);
                    }
                    // Only the newest are kept.
                    Err(_) if is_gone(&path) => {}
                    Err(error) => {
                        output::failure(&error);
                        // It is as it was; else it is none.
                        if !error.is::<HalfChanged>() {
                            say(0);
                        }
                    }
                }
            }
            left_out
        });
        Self { tasks: Some(tasks), thread: Some(thread) }
    }

    /// Has parts added to a file that is complete.
    pub fn add(&self, file: Complete) {
        // It fails if the thread has died, which `finish` says.
        let _ = self.tasks.as_ref().map(|it| it.send(Task::Add(file)));
    }

    /// Calls this once all files that it has by now are done, also if the thread has died.
    pub fn then(&self, call: impl FnOnce() + Send + 'static) {
        let sent = self.tasks.as_ref().map(|it| it.send(Task::Call(Box::new(call))));
        if let Some(Err(SendError(Task::Call(call)))) = sent {
            call();
        }
    }

    /// Waits until all are done. Returns how many files there was no room for.
    pub fn finish(mut self) -> usize {
        self.join()
    }

    fn join(&mut self) -> usize {
        self.tasks = None;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_called_then_waits_for_the_files_before_it() {
        let name = format!("perftab-embedding-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // It stays as it is, which is said, too.
        fs::write(&path, "no recording").unwrap();
        let embedding = Embedding::start(vec![ElfPart::Symbols]);
        let (tell, told) = channel();
        let tell_then = tell.clone();
        let say = Box::new(move |_| tell.send("whole").unwrap());
        embedding.add(Complete { path: path.clone(), open: IdentifiedFiles::new(), say });
        embedding.then(move || tell_then.send("then").unwrap());
        embedding.finish();
        assert_eq!(told.iter().collect::<Vec<_>>(), ["whole", "then"]);
        fs::remove_file(&path).unwrap();
    }
}
