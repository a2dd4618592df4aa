//! A recording on disk, pinned: what was opened stays, whatever happens to the path since.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::iter;
use std::num::NonZeroUsize;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use perftab_core::session::{
    BranchReading, Gather, Opening, Packing, RecordedFiles, Replay, SampleWatcher, Session,
    StackDumps, UnpackAhead, Unpacked, UnwindingShare, UnwoundShare, WantedBytes,
};
use perftab_core::{BranchDetail, BranchSums, History, Query};
use perftab_perfdata::decode::ByteSource;

use crate::file_source::FileSource;
use crate::late_ids::{self, Judgement, ThisMachine};
use crate::live_pipe;
use crate::output::{Progress, Unit, shortened};
use crate::scratch;

/// What `perf record` and `perftab record` call a recording.
pub const USUAL_NAME: &str = "perf.data";
const BLOCK: usize = 1 << 20;
/// Unpacked bytes that may wait to be read. With a quarter of it both threads waited for each other: 0.48 s instead of
/// 0.38.
const UNPACKED_AHEAD: usize = 8 << 20;
/// Threads that unwind. Each puts all copies together again, so that more of them gain little.
const MOST_THREADS: NonZeroUsize = NonZeroUsize::new(8).unwrap();
/// Characters of a name in a message: a link with anything before it is taken for a file's.
const SHOWN: usize = 300;

/// An open recording.
pub struct Recording {
    /// Name for humans.
    pub name: String,
    /// Length in bytes, of all its files.
    pub size: u64,
    file: File,
    /// The other files of a recording in a folder.
    beside: Vec<File>,
    completeness: Completeness,
    /// When the recorder was started from which it came.
    begun: Option<SystemTime>,
}

/// Whether the files of a folder are all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Completeness {
    Complete,
    /// Their numbers have gaps.
    PartsMissing,
}

/// The first reading of a recording, or another.
trait Reads {
    fn wants(&self) -> Option<WantedBytes>;
    fn push(&mut self, block: &[u8]);
    fn packing(&self) -> Option<Packing>;
    fn push_unpacked(&mut self, unpacked: Unpacked);
}

impl Reads for Opening {
    fn wants(&self) -> Option<WantedBytes> {
        self.wants()
    }

    fn push(&mut self, block: &[u8]) {
        self.push(block);
    }

    fn packing(&self) -> Option<Packing> {
        self.packing()
    }

    fn push_unpacked(&mut self, unpacked: Unpacked) {
        self.push_unpacked(unpacked);
    }
}

impl Reads for Replay {
    fn wants(&self) -> Option<WantedBytes> {
        self.wants()
    }

    fn push(&mut self, block: &[u8]) {
        self.push(block);
    }

    fn packing(&self) -> Option<Packing> {
        self.packing()
    }

    fn push_unpacked(&mut self, unpacked: Unpacked) {
        self.push_unpacked(unpacked);
    }
}

/// Where a thread sends what it unpacks.
struct Sending {
    pieces: Sender<anyhow::Result<Unpacked>>,
    /// Is told how long each piece was when it is read.
    is_taken: Receiver<usize>,
    /// Bytes that were sent and are not read.
    ahead: usize,
}

impl Sending {
    /// Sends a piece, and waits until there is room for more; false if nobody wants any.
    fn send(&mut self, unpacked: Unpacked) -> bool {
        self.ahead += unpacked.bytes.len() + unpacked.packed.len();
        if self.pieces.send(Ok(unpacked)).is_err() {
            return false;
        }
        while self.ahead > UNPACKED_AHEAD {
            match self.is_taken.recv() {
                Ok(bytes) => self.ahead -= bytes,
                Err(_) => return false,
            }
        }
        true
    }
}

/// Unwinds the shares on as many threads, or on those that there can be.
fn unwound_by_threads(shares: Vec<UnwindingShare>) -> Vec<UnwoundShare> {
    let others = 1..shares.len();
    let shares = Mutex::new(shares.into_iter());
    let next = || shares.lock().ok()?.next();
    let unwind = || iter::from_fn(next).map(UnwindingShare::unwind).collect::<Vec<_>>();
    thread::scope(|scope| {
        let spawn = || thread::Builder::new().name("unwind".to_owned()).spawn_scoped(scope, unwind);
        let others: Vec<_> = others.map_while(|_| spawn().ok()).collect();
        let mut unwound = unwind();
        for other in others {
            unwound.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        unwound
    })
}

impl Recording {
    /// Opens a recording; `-` is standard input, kept in a file without a name, since
    /// parts of it are read out of order.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            let begun = live_pipe::recorder_started;
            return Self::spool(&mut io::stdin().lock(), "standard input", begun);
        }
        let name = path.display();
        let missing = || {
            let is_default = path == Path::new(USUAL_NAME);
            let remedy =
                if is_default { " (name the recording, or make one: perftab record)" } else { "" };
            format!("{}{remedy}", shortened(&name.to_string(), SHOWN))
        };
        let metadata = fs::metadata(path).with_context(missing)?;
        if metadata.is_dir() {
            return Self::folder(path);
        }
        let mut file = File::open(path).with_context(missing)?;
        if !metadata.is_file() {
            return Self::spool(&mut file, &name.to_string(), || None);
        }
        let name = path.file_name().map_or_else(|| name.to_string(), |n| n.display().to_string());
        let completeness = Completeness::Complete;
        let (size, beside) = (metadata.len(), Vec::new());
        Ok(Self { name, size, file, beside, completeness, begun: None })
    }

    /// A recording in a folder, as `perf record --threads` makes it: `data`, and the records of
    /// each of its threads in `data.0`, `data.1` and so on.
    fn folder(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let open = |path: &Path| File::open(path).with_context(|| path.display().to_string());
        let main = path.join("data");
        if !main.is_file() {
            bail!("{name} is a folder without a recording; name the perf.data file in it");
        }
        let mut beside = Vec::new();
        let mut completeness = Completeness::Complete;
        for entry in fs::read_dir(path).with_context(|| name.to_string())? {
            let path = entry.with_context(|| name.to_string())?.path();
            let number = path.file_name().and_then(|name| name.to_str()?.strip_prefix("data."));
            let number = number.and_then(|number| number.parse::<u32>().ok());
            match number {
                Some(number) if path.is_file() => beside.push((number, open(&path)?)),
                Some(_) => completeness = Completeness::PartsMissing,
                None => {}
            }
        }
        beside.sort_by_key(|(number, _)| *number);
        let numbers = beside.iter().map(|(number, _)| *number);
        if !numbers.eq(0..beside.len() as u32) {
            completeness = Completeness::PartsMissing;
        }
        let file = open(&main)?;
        let beside: Vec<File> = beside.into_iter().map(|(_, file)| file).collect();
        let mut size = file.metadata()?.len();
        for file in &beside {
            size += file.metadata()?.len();
        }
        let name = path.file_name().map_or_else(|| name.to_string(), |n| n.display().to_string());
        Ok(Self { name, size, file, beside, completeness, begun: None })
    }

    /// When its only or main file was written last.
    pub fn written(&self) -> Option<SystemTime> {
        self.file.metadata().ok()?.modified().ok()
    }

    /// When it was begun, or before, by its file or the recorder at the other end of a pipe; `length` is the time that its
    /// samples took. `None` of a copy that was made now, and of what another program passed on.
    pub fn begun(&self, length: Duration) -> Option<SystemTime> {
        /// What is written at once may seem to be written a tick of the kernel before the file is made.
        const TICK: Duration = Duration::from_millis(20);
        if self.begun.is_some() {
            return self.begun;
        }
        let metadata = self.file.metadata().ok().filter(|metadata| metadata.nlink() > 0)?;
        let written = metadata.modified().ok()?;
        let by_end = written.checked_sub(length)?;
        match metadata.created() {
            Ok(made) if made <= by_end => Some(made),
            // Whoever copies with the times of the original sets the second.
            Ok(made) if made <= written + TICK => None,
            _ => Some(by_end),
        }
    }

    /// Its files: the only one, or of a folder `data` and then those beside it.
    fn files(&self) -> impl Iterator<Item = &File> {
        iter::once(&self.file).chain(&self.beside)
    }

    /// The lengths of its files in bytes.
    pub fn sizes(&self) -> io::Result<Vec<u64>> {
        self.files().map(|file| Ok(file.metadata()?.len())).collect()
    }

    /// What comes from a pipe, kept in a file without a name.
    fn spool(
        from: &mut dyn Read,
        name: &str,
        begun: impl Fn() -> Option<SystemTime>,
    ) -> anyhow::Result<Self> {
        let mut file = scratch::nameless_file()?;
        let mut progress = Progress::begin(&format!("Reading {name}"), Unit::Bytes, None);
        let mut block = vec![0; BLOCK];
        let mut size = 0;
        let mut recorder = None;
        loop {
            let count = match from.read(&mut block) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error).with_context(|| format!("reading {name}")),
            };
            // A recorder of perf's has begun with the header.
            if size == 0 {
                recorder = begun();
            }
            file.write_all(&block[..count])
                .with_context(|| format!("keeping {name} in a temporary file"))?;
            size += count as u64;
            progress.update(size);
        }
        let (beside, completeness) = (Vec::new(), Completeness::Complete);
        Ok(Self { name: name.to_owned(), size, file, beside, completeness, begun: recorder })
    }

    /// Reads the whole of it, with a progress bar. What is damaged is passed over with warnings,
    /// and build-ids that this machine speaks against are none if it is asked.
    pub fn read(&self, machine: ThisMachine) -> anyhow::Result<Session> {
        let mut session = self.read_as_written()?;
        if machine == ThisMachine::Asked {
            late_ids::apply(&mut session, &self.file);
        }
        Ok(session)
    }

    /// The same with every build-id that was written down: for lists of them.
    pub fn read_as_written(&self) -> anyhow::Result<Session> {
        let name = format!("Reading {}", self.name);
        let mut progress = Progress::begin(&name, Unit::Bytes, Some(self.size));
        self.read_with(&mut |done| progress.update(done))
    }

    /// Reads the whole of it as it was written, calling `progress` with the bytes read so far.
    pub fn read_with(&self, progress: &mut dyn FnMut(u64)) -> anyhow::Result<Session> {
        let sources = self.sources()?;
        let mut opening = self.open_in(&sources)?;
        self.push_all(&sources, &mut opening, &mut |opening| {
            progress(opening.progress().bytes);
            Ok(())
        })?;
        Ok(opening.finish())
    }

    /// Reads the whole of it once more and shows every sample to `watcher`. After each block
    /// `go_on` may end it with an error.
    pub fn watch(
        &self,
        dumps: StackDumps,
        watcher: SampleWatcher,
        go_on: &mut dyn FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.replay(dumps, watcher, &mut |_| go_on())?;
        go_on()
    }

    /// Unwinds the copies of stacks that it has, as far as the session's files tell how, with a progress bar; false if
    /// there was nothing to do.
    pub fn unwind(&self, session: &mut Session) -> anyhow::Result<bool> {
        let Some(mut unwinding) = session.unwinding() else { return Ok(false) };
        let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        if let Some(shares) = unwinding.shares(threads.min(MOST_THREADS)) {
            unwound_by_threads(shares).into_iter().for_each(|share| unwinding.take_share(share));
        } else {
            let mut progress = Progress::begin("Unwinding", Unit::Bytes, Some(self.size));
            self.replay(unwinding.dumps(), unwinding.watcher(), &mut |replay| {
                progress.update(replay.progress().bytes);
                Ok(())
            })?;
        }
        session.take_unwound(unwinding);
        Ok(true)
    }

    /// Reads the branches of samples, of those that a query leaves or of all, with a progress bar.
    pub fn read_branches(
        &self,
        session: &mut Session,
        query: Option<&Query>,
        detail: BranchDetail,
    ) -> anyhow::Result<BranchSums> {
        let reading = session.branches(query, detail).map_err(anyhow::Error::msg)?;
        self.show_branches(&reading)?;
        Ok(session.take_branches(reading))
    }

    /// Reads which branches led to the samples of a query, with a progress bar.
    pub fn read_branch_history(
        &self,
        session: &mut Session,
        query: &Query,
    ) -> anyhow::Result<History> {
        let reading = session.branch_history(query).map_err(anyhow::Error::msg)?;
        self.show_branches(&reading)?;
        Ok(session.take_branch_history(reading))
    }

    fn show_branches(&self, reading: &BranchReading<impl Gather>) -> anyhow::Result<()> {
        let mut progress = Progress::begin("Reading branches", Unit::Bytes, Some(self.size));
        self.replay(StackDumps::LeftOut, reading.watcher(), &mut |replay| {
            progress.update(replay.progress().bytes);
            Ok(())
        })
    }

    fn replay(
        &self,
        dumps: StackDumps,
        watcher: SampleWatcher,
        after_block: &mut dyn FnMut(&Replay) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let sources = self.sources()?;
        let mut replay = self.open_in(&sources)?.replay(dumps, watcher);
        self.push_all(&sources, &mut replay, after_block)?;
        replay.finish();
        Ok(())
    }

    /// Its files, `data` of a folder first.
    fn sources(&self) -> anyhow::Result<Vec<FileSource>> {
        let mut sources = Vec::new();
        for file in self.files() {
            sources.push(FileSource::new(file.try_clone()?)?);
        }
        Ok(sources)
    }

    fn open_in(&self, sources: &[FileSource]) -> anyhow::Result<Opening> {
        let parts: Vec<_> = sources.iter().map(|source| source as &dyn ByteSource).collect();
        let mut opening = Opening::new(&parts).with_context(|| self.name.clone())?;
        if self.completeness == Completeness::PartsMissing {
            opening.lacks_parts();
        }
        Ok(opening)
    }

    /// Pushes everything that is wanted, in blocks.
    fn push_all<R: Reads>(
        &self,
        sources: &[FileSource],
        reading: &mut R,
        after_block: &mut dyn FnMut(&R) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        if let Some(packing) = reading.packing() {
            return self.push_unpacked(sources, packing, reading, after_block);
        }
        self.push_here(sources, reading, after_block)
    }

    fn push_here<R: Reads>(
        &self,
        sources: &[FileSource],
        reading: &mut R,
        after_block: &mut dyn FnMut(&R) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut block = vec![0; BLOCK];
        while let Some(WantedBytes { part, offset, length }) = reading.wants() {
            reading.push(self.read_block(&sources[part], offset, length, &mut block)?);
            after_block(reading)?;
        }
        Ok(())
    }

    /// The same, where another thread unpacks; or this one, if there can be no other.
    fn push_unpacked<R: Reads>(
        &self,
        sources: &[FileSource],
        packing: Packing,
        reading: &mut R,
        after_block: &mut dyn FnMut(&R) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (sender, receiver) = mpsc::channel();
        let (taken, is_taken) = mpsc::channel();
        // Both ends that are used here end with this closure, before the thread is waited for: it ends when nobody
        // listens to it.
        thread::scope(move |scope| {
            let to = Sending { pieces: sender, is_taken, ahead: 0 };
            let unpack = move || self.unpack(&sources[0], packing, to);
            let thread = thread::Builder::new().name("unpack".to_owned());
            if thread.spawn_scoped(scope, unpack).is_err() {
                return self.push_here(sources, reading, after_block);
            }
            while reading.wants().is_some()
                && let Ok(unpacked) = receiver.recv()
            {
                let unpacked: Unpacked = unpacked?;
                // The thread has ended if it does not hear it.
                let _ended = taken.send(unpacked.bytes.len() + unpacked.packed.len());
                reading.push_unpacked(unpacked);
                after_block(reading)?;
            }
            Ok(())
        })
    }

    /// Sends what is unpacked until it ends, or nobody wants it.
    fn unpack(&self, source: &FileSource, packing: Packing, mut to: Sending) {
        let mut ahead = UnpackAhead::new(packing);
        let mut memory = vec![0; BLOCK];
        while let Some((offset, length)) = ahead.wants() {
            let sent = match self.read_block(source, offset, length, &mut memory) {
                Err(error) => {
                    let _ended = to.pieces.send(Err(error));
                    return;
                }
                Ok([]) if length > 0 => ahead.end_early().is_none_or(|unpacked| to.send(unpacked)),
                Ok(mut block) => iter::from_fn(|| ahead.push(&mut block)).all(|it| to.send(it)),
            };
            if !sent {
                return;
            }
        }
    }

    /// Some of the bytes from `offset` on, at most `length`; none where the file has ended.
    fn read_block<'m>(
        &self,
        source: &FileSource,
        offset: u64,
        length: u64,
        memory: &'m mut [u8],
    ) -> anyhow::Result<&'m [u8]> {
        let length = usize::try_from(length).unwrap_or(BLOCK).min(BLOCK);
        let count = source
            .read_some(offset, &mut memory[..length])
            .with_context(|| format!("{}: reading at byte {offset}", self.name))?;
        Ok(&memory[..count])
    }

    /// What this machine says of the build-ids of its files, which were read as they were written.
    pub fn late_ids(&self, recorded: &RecordedFiles) -> Judgement {
        late_ids::judge(recorded, &self.file)
    }

    /// One of its files with a position of its own, so that requests can read side by side;
    /// `None` if it has no file of this number.
    pub fn reopen(&self, part: usize) -> Option<io::Result<File>> {
        let file = self.files().nth(part)?;
        Some(File::open(format!("/proc/self/fd/{}", file.as_raw_fd())))
    }
}
