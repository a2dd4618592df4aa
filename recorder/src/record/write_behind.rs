//! A file that is written to by a thread of its own, so that rings are emptied while the disk is slow.
//!
//! All changes are made in the order in which they are asked for. Where rings hold seconds, small ones are made at once,
//! unless others wait.
//! (Measured beside two builds: single writes took up to 1.2 s, and rings with copies of stacks overflow in half a
//! second.)

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit};

/// Written by the thread from this size on, where rings hold seconds: to wake it costs more than to write less. For
/// everything it takes a sixth more processor time with 9,999 call chains a second.
const LARGE: usize = 16 << 10;
/// So much may wait to be written before rings wait too.
const WAITING_MAX: usize = 64 << 20;
/// So much before whoever brings more waits: what rings hold has room besides.
const WAITING_MOST: usize = 4 * WAITING_MAX;
/// Pieces of memory that are used again.
const SPARE_MAX: usize = 4;

/// How soon rings are full while nobody empties them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingsFill {
    /// After seconds.
    Slowly,
    /// After a part of a second, as with copies of stacks: not even small writes may keep whoever empties them.
    Fast,
}

/// A file that is written to by two threads, one at a time.
pub struct WriteBehindFile {
    file: Arc<File>,
    /// `None` until it has something to write.
    thread: Option<WritingThread>,
    spare: Vec<Vec<u8>>,
    /// Written by the thread from this size on.
    large: usize,
    /// So much may wait before there is no room.
    room: usize,
    #[cfg(test)]
    after_change: Option<Look>,
}

/// What tests do after each change.
#[cfg(test)]
pub type Look = Arc<dyn Fn() + Send + Sync>;

/// What is to be done.
enum Change {
    Write { bytes: Vec<u8>, at: u64 },
    Length(u64),
}

struct WritingThread {
    to: Sender<Change>,
    /// Of each change, its memory.
    from: Receiver<io::Result<Vec<u8>>>,
    /// How many have not come back, and how many bytes they write.
    changes: usize,
    waiting: usize,
    /// The first that failed. Nothing was written after that.
    failed: Option<io::Error>,
}

impl WriteBehindFile {
    /// Nobody else writes to it.
    pub fn new(file: File, rings: RingsFill) -> Self {
        // Where a file must not grow beyond a limit, whoever writes has to know at once what had no place.
        let is_limited = getrlimit(Resource::Fsize).current.is_some();
        let large = match rings {
            _ if is_limited => usize::MAX,
            RingsFill::Slowly => LARGE,
            RingsFill::Fast => 0,
        };
        Self {
            file: Arc::new(file),
            thread: None,
            spare: Vec::new(),
            large,
            room: WAITING_MAX,
            #[cfg(test)]
            after_change: None,
        }
    }

    /// For all but writing.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Writes, once all that waits has been written.
    pub fn write_all_at(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.flush()?;
        self.file.write_all_at(bytes, at)?;
        self.changed();
        Ok(())
    }

    /// Writes where space is allocated, maybe later. If that fails, nothing is written after it, and each later call
    /// fails.
    pub fn write_behind(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
        if !self.is_behind()? && bytes.len() < self.large || bytes.is_empty() {
            return self.write_all_at(bytes, at);
        }
        // Not for the header or a few records: what is kept would have to grow for the next ones, from page to page.
        let mut memory = match bytes.len() {
            LARGE.. => self.spare.pop().unwrap_or_default(),
            _ => Vec::new(),
        };
        memory.clear();
        memory.extend_from_slice(bytes);
        self.bring(Change::Write { bytes: memory, at })
    }

    /// Changes the length, maybe later, as [`Self::write_behind`] writes.
    pub fn set_len(&mut self, length: u64) -> io::Result<()> {
        if self.is_behind()? {
            return self.bring(Change::Length(length));
        }
        self.file.set_len(length)?;
        self.changed();
        Ok(())
    }

    /// Waits until all is written.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.is_behind()? {
            self.wait_for_one();
        }
        Ok(())
    }

    /// Whether something waits to be written.
    fn is_behind(&mut self) -> io::Result<bool> {
        let Some(thread) = &mut self.thread else { return Ok(false) };
        while let Ok(done) = thread.from.try_recv() {
            thread.took(done, &mut self.spare);
        }
        match &thread.failed {
            Some(error) => Err(same(error)),
            None => Ok(thread.changes > 0),
        }
    }

    /// Waits so long at most until there is room for what rings hold. False if there is none.
    pub fn has_room(&mut self, within: Duration) -> bool {
        let until = Instant::now() + within;
        loop {
            // A failure is told when more is written.
            let is_behind = self.is_behind().unwrap_or(false);
            let Some(thread) =
                self.thread.as_mut().filter(|thread| is_behind && thread.waiting > self.room)
            else {
                return true;
            };
            match thread.from.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(done) => thread.took(done, &mut self.spare),
                Err(RecvTimeoutError::Timeout) => return false,
                // Whoever writes more finds out.
                Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
    }

    fn bring(&mut self, change: Change) -> io::Result<()> {
        if self.thread.is_none() {
            self.thread = Some(self.start()?);
        }
        if let Some(thread) = &mut self.thread {
            thread.changes += 1;
            thread.waiting += change.bytes();
            // A thread that died is found out by whoever waits for it.
            let _ = thread.to.send(change);
        }
        while self.thread.as_ref().is_some_and(|thread| thread.waiting > WAITING_MOST) {
            self.wait_for_one();
        }
        self.is_behind().map(drop)
    }

    fn wait_for_one(&mut self) {
        if let Some(thread) = &mut self.thread {
            let died = || Err(io::Error::other("the thread that writes has ended"));
            let done = thread.from.recv().unwrap_or_else(|_| died());
            thread.took(done, &mut self.spare);
        }
    }

    fn start(&self) -> io::Result<WritingThread> {
        let (to, changes) = channel::<Change>();
        let (done, from) = channel();
        let file = Arc::clone(&self.file);
        #[cfg(test)]
        let look = self.after_change.clone();
        thread::Builder::new().name("write".to_owned()).spawn(move || {
            for change in changes {
                let done_so = change.make(&file);
                #[cfg(test)]
                look.iter().for_each(|look| look());
                let is_failure = done_so.is_err();
                // Nobody waits for it any more, or must not write any more.
                if done.send(done_so).is_err() || is_failure {
                    return;
                }
            }
        })?;
        Ok(WritingThread { to, from, changes: 0, waiting: 0, failed: None })
    }

    #[cfg(test)]
    fn changed(&self) {
        self.after_change.iter().for_each(|look| look());
    }

    #[cfg(not(test))]
    fn changed(&self) {}

    /// Has what is at least so large written by the thread, and looks after each change.
    #[cfg(test)]
    pub fn watch(&mut self, large: usize, look: Look) {
        (self.large, self.after_change) = (large, Some(look));
    }
}

impl Change {
    fn bytes(&self) -> usize {
        match self {
            Self::Write { bytes, .. } => bytes.len(),
            Self::Length(_) => 0,
        }
    }

    fn make(self, file: &File) -> io::Result<Vec<u8>> {
        match self {
            Self::Write { bytes, at } => file.write_all_at(&bytes, at).map(|()| bytes),
            Self::Length(length) => file.set_len(length).map(|()| Vec::new()),
        }
    }
}

impl WritingThread {
    fn took(&mut self, done: io::Result<Vec<u8>>, spare: &mut Vec<Vec<u8>>) {
        match done {
            Ok(memory) => {
                self.changes -= 1;
                self.waiting -= memory.len();
                if memory.capacity() >= LARGE && spare.len() < SPARE_MAX {
                    spare.push(memory);
                }
            }
            Err(error) => {
                (self.changes, self.waiting) = (0, 0);
                self.failed.get_or_insert(error);
            }
        }
    }
}

/// An error is said as often as it is asked for.
fn same(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Mutex;

    use super::*;

    fn new_file(name: &str) -> (PathBuf, WriteBehindFile) {
        let path = std::env::temp_dir().join(format!("perftab-{name}-{}", std::process::id()));
        let file = File::options().create(true).truncate(true).read(true).write(true).open(&path);
        (path, WriteBehindFile::new(file.unwrap(), RingsFill::Fast))
    }

    /// The disk takes nothing until it is let.
    #[test]
    fn rings_wait_for_the_disk_no_longer_than_they_may() {
        let (path, mut file) = new_file("room");
        let (go_on, may_go_on) = channel::<()>();
        let may_go_on = Mutex::new(may_go_on);
        file.watch(
            0,
            Arc::new(move || {
                let _ = may_go_on.lock().unwrap().recv();
            }),
        );
        file.room = 10;
        assert!(file.has_room(Duration::ZERO));
        file.write_behind(b"ten bytes.", 0).unwrap();
        assert!(file.has_room(Duration::ZERO), "as much as may wait");
        file.write_behind(b"and more", 10).unwrap();
        assert!(!file.has_room(Duration::from_millis(1)));
        go_on.send(()).unwrap();
        assert!(file.has_room(Duration::from_secs(3600)));
        drop(go_on);
        file.flush().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"ten bytes.and more");
        std::fs::remove_file(&path).unwrap();
    }

    /// What was asked for before a failure is there, and nothing of what was asked for after it.
    #[test]
    fn after_a_failure_nothing_is_written() {
        let (path, mut file) = new_file("behind");
        file.write_behind(b"first", 0).unwrap();
        // No file has a place there.
        let _ = file.write_behind(b"second", u64::MAX - 10);
        let _ = file.write_behind(b"third", 0);
        let failed = file.flush().unwrap_err();
        assert_eq!(failed.raw_os_error(), Some(22), "{failed}");
        assert!(file.write_all_at(b"fourth", 0).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        std::fs::remove_file(&path).unwrap();
    }
}
