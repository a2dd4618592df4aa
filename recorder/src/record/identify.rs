//! What files are that were mapped without a build-id.
//!
//! The kernel writes a build-id into most mappings, and that is what counts. What it could not read
//! from the disk in time, or what has none, is looked at here as soon as the mapping is recorded,
//! on a thread of its own, since hashing a file takes longer than a ring may wait. A file counts if
//! the path recorded, or the process that mapped it, leads to the inode that was mapped, and if
//! nothing was written to it from the mapping to the end of the recording. Its times only ever
//! speak against it. It is kept open, so that they can be read wherever it has gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use perftab_core::{ContentHash, Identity, content_hash};
use perftab_perfdata::decode::{ByteSource, ReadError};
use perftab_perfdata::format::build_id::BuildId;
use perftab_perfdata::format::elf_note::build_id_of_elf;
use perftab_perfdata::format::perftab_section::{FileIdentity, InodeKey, MappedFile};

use super::clock::Clock;
use super::mapped_at::{MappedAt, Place};
use super::mapped_files::path_of;
use super::tally::FileWithoutId;
use crate::file_source::FileSource;
use crate::images::answering;
use crate::images::local::open_regular;
use crate::late_ids::changed;

/// File times are those of the last tick of the kernel's clock, which may be 100 Hz.
pub const CLOCK_TICK: Duration = Duration::from_millis(10);
/// What the kernel writes behind the path of a file whose name is gone.
const DELETED: &[u8] = b" (deleted)";
/// For what is still to be read when the recording ends. A core hashes some 400 MB to 2 GB in it.
pub const BUDGET: Duration = Duration::from_secs(2);

/// Files without a build-id, and what is known of each.
pub struct Identifier {
    clock: Clock,
    files: BTreeMap<Key, KnownFile>,
    requests: Sender<Request>,
    answers: Receiver<(Key, Looked)>,
    unanswered: usize,
    out_of_time: Arc<AtomicBool>,
}

/// What became of those that were looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identified {
    /// What files are.
    pub identities: Vec<MappedFile>,
    /// The build-ids among those, by path.
    pub build_ids: BTreeSet<(Vec<u8>, BuildId)>,
    /// Paths of files that were written to, and that nothing identifies.
    pub written: BTreeSet<Vec<u8>>,
    /// Paths of files that could not be read in time.
    pub too_large: BTreeSet<Vec<u8>>,
    /// Former paths of programs and libraries that have no name any more: only processes that run them have them.
    pub removed: BTreeSet<Vec<u8>>,
}

/// Open files by what they are. That of a program that was removed is nowhere else once it has ended.
pub type IdentifiedFiles = BTreeMap<Identity, Arc<File>>;

/// A path and the inode it led to, whose generation is left out: it is known of some mappings only.
type Key = (Vec<u8>, InodeKey);

/// What is to be looked at.
struct Request {
    key: Key,
    /// By whom.
    at: MappedAt,
    /// When.
    mapped: SystemTime,
}

struct KnownFile {
    generations: BTreeSet<u64>,
    /// When it was first mapped.
    mapped: SystemTime,
    look: Look,
    file: Option<FoundFile>,
}

/// What the thread found.
struct Looked {
    look: Look,
    /// Of what is identified.
    file: Option<FoundFile>,
}

/// A file that was mapped, and where it was.
struct FoundFile {
    file: Arc<File>,
    place: Place,
}

/// What a look at a file gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// None yet.
    Waiting,
    /// This is what it is.
    Is(FileIdentity),
    /// It was written to after it was mapped.
    Written,
    /// Another file is there, or none.
    Gone,
}

impl Identifier {
    /// Starts the thread that looks. It ends when this is dropped.
    pub fn start(clock: Clock) -> io::Result<Self> {
        let (requests, asked) = channel::<Request>();
        let (answer, answers) = channel();
        let out_of_time = Arc::new(AtomicBool::new(false));
        let stop = out_of_time.clone();
        thread::Builder::new().name("identify".to_owned()).spawn(move || {
            for request in asked {
                let looked = look(&request, &stop);
                if stop.load(Ordering::Relaxed) || answer.send((request.key, looked)).is_err() {
                    return;
                }
            }
        })?;
        let files = BTreeMap::new();
        Ok(Self { clock, files, requests, answers, unanswered: 0, out_of_time })
    }

    /// Has files looked at that were mapped for the first time.
    pub fn add(&mut self, files: Vec<FileWithoutId>) {
        for FileWithoutId { path, inode, time, at } in files {
            let key = (path, InodeKey { generation: 0, ..inode });
            let mapped = self.clock.wall_time(time);
            let known = self.files.entry(key.clone()).or_insert_with(|| {
                // A send fails if the thread has died; then there is no answer either.
                let request = Request { key, at, mapped };
                self.unanswered += usize::from(self.requests.send(request).is_ok());
                KnownFile { generations: BTreeSet::new(), mapped, look: Look::Waiting, file: None }
            });
            known.generations.insert(inode.generation);
            known.mapped = known.mapped.min(mapped);
        }
        while let Ok(answer) = self.answers.try_recv() {
            self.take(answer);
        }
    }

    fn take(&mut self, (key, looked): (Key, Looked)) {
        self.unanswered -= 1;
        if let Some(known) = self.files.get_mut(&key) {
            Looked { look: known.look, file: known.file } = looked;
        }
    }

    /// Waits for what is still to be read, at most until then. False if something is.
    pub fn wait(&mut self, end: Instant) -> bool {
        while self.unanswered > 0 {
            let left = end.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left) {
                Ok(answer) => self.take(answer),
                Err(RecvTimeoutError::Timeout) => return false,
                // The thread has died: nothing more is read.
                Err(RecvTimeoutError::Disconnected) => self.unanswered = 0,
            }
        }
        true
    }

    /// What is known so far, without what was written to since it was read.
    pub fn so_far(&mut self) -> Identified {
        self.files.values_mut().for_each(KnownFile::look_again);
        let mut identified = Identified::default();
        for ((path, inode), file) in &self.files {
            match file.look {
                Look::Waiting | Look::Gone => {}
                Look::Written => {
                    identified.written.insert(path.clone());
                }
                Look::Is(identity) => {
                    if let FileIdentity::Gnu(id) = identity {
                        identified.build_ids.insert((path.clone(), id));
                    }
                    if file.has_no_name() {
                        let former = path.strip_suffix(DELETED).unwrap_or(path);
                        identified.removed.insert(former.to_owned());
                    }
                    let mapped = |&generation| MappedFile {
                        inode: InodeKey { generation, ..*inode },
                        identity,
                    };
                    identified.identities.extend(file.generations.iter().map(mapped));
                }
            }
        }
        identified
    }

    /// The files that were identified so far, whatever became of their names.
    pub fn files(&self) -> IdentifiedFiles {
        let mut files = IdentifiedFiles::new();
        for known in self.files.values() {
            let Some(FoundFile { file, .. }) = &known.file else { continue };
            let identity = match known.look {
                Look::Is(FileIdentity::Gnu(id)) => Identity::Gnu(id),
                Look::Is(FileIdentity::Content(hash)) => Identity::Content(ContentHash(hash)),
                Look::Waiting | Look::Written | Look::Gone => continue,
            };
            files.insert(identity, Arc::clone(file));
        }
        files
    }

    /// Waits for what is still to be read, at most until `end`, and leaves out what was written to
    /// since it was read.
    pub fn finish(&mut self, end: Instant) -> Identified {
        self.wait(end);
        self.out_of_time.store(true, Ordering::Relaxed);
        let waiting = self.files.iter().filter(|(_, file)| file.look == Look::Waiting);
        let too_large = waiting.map(|((path, _), _)| path.clone()).collect();
        Identified { too_large, ..self.so_far() }
    }
}

impl KnownFile {
    /// Whether it is a program or library whose last name was removed. Others are memory that a process writes its code into.
    /// That it can be asked was seen when it was looked at again.
    fn has_no_name(&self) -> bool {
        let mut magic = [0; 4];
        self.file.as_ref().is_some_and(|found| {
            found.file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
                && found.file.read_exact_at(&mut magic, 0).is_ok()
                && magic == *b"\x7fELF"
        })
    }

    /// What is identified is so no more once it was written to.
    fn look_again(&mut self) {
        let Some(FoundFile { file, place }) = &self.file else { return };
        let change = match answering::answers(&place.path) {
            true => file.metadata().ok().and_then(|now| self.change(&place.path, &now)),
            // It may have been.
            false => Some(Look::Gone),
        };
        if let Some(change) = change {
            (self.look, self.file) = (change, None);
        }
    }

    /// What became of it.
    fn change(&self, place: &Path, now: &Metadata) -> Option<Look> {
        let is_same = |there: Metadata| there.ino() == now.ino() && there.dev() == now.dev();
        match place.metadata().is_ok_and(is_same) {
            true => was_written(now, self.mapped),
            // Removing and renaming it changed the time of its inode: only that of its content says
            // something. Nor does it say anything that the process has ended which led to it.
            false => is_after(now.modified().ok(), self.mapped).then_some(Look::Written),
        }
    }
}

fn look(Request { key, at, mapped }: &Request, stop: &Arc<AtomicBool>) -> Looked {
    let (path, inode) = (path_of(&key.0), &key.1);
    let found = at.places(path).into_iter().find_map(|place| {
        let file = open_regular(&place.path)?;
        let metadata = file.metadata().ok().filter(Metadata::is_file)?;
        let is_it = place.has_inode(&file, &metadata, (inode.major, inode.minor), inode.inode);
        is_it.then(|| (FoundFile { file: Arc::new(file), place }, metadata))
    });
    let Some((found, before)) = found else {
        // What is there in its place may say why.
        let written = answering::metadata(path).and_then(|it| was_written(&it, *mapped));
        return Looked { look: written.unwrap_or(Look::Gone), file: None };
    };
    let look = look_at(&found.file, &before, *mapped, stop);
    Looked { look, file: matches!(look, Look::Is(_)).then_some(found) }
}

fn look_at(file: &File, before: &Metadata, mapped: SystemTime, stop: &Arc<AtomicBool>) -> Look {
    if let Some(written) = was_written(before, mapped) {
        return written;
    }
    let Ok(source) = file.try_clone().and_then(FileSource::new) else { return Look::Gone };
    let source = StoppableSource { source, stop };
    let identity = match build_id_of_elf(&source) {
        Some(id) => Some(FileIdentity::Gnu(id)),
        None => content_hash(&source).ok().map(|hash| FileIdentity::Content(hash.0)),
    };
    identity.map_or(Look::Gone, Look::Is)
}

/// What to say of a file that changed after it was mapped; `None` if it did not. Permissions and
/// links are no content, but they change the only time that nobody can set. That its last name was removed does, too, and
/// says nothing of its content.
pub(super) fn was_written(metadata: &Metadata, mapped: SystemTime) -> Option<Look> {
    let is_content = is_after(metadata.modified().ok(), mapped);
    let look = if is_content { Look::Written } else { Look::Gone };
    let has_name = metadata.nlink() > 0;
    (is_content || has_name && is_after(Some(changed(metadata)), mapped)).then_some(look)
}

fn is_after(time: Option<SystemTime>, mapped: SystemTime) -> bool {
    let mapped = mapped.checked_sub(CLOCK_TICK).unwrap_or(mapped);
    time.is_some_and(|time| time >= mapped)
}

/// Ends a long read when the time is over.
struct StoppableSource<'a> {
    source: FileSource,
    stop: &'a AtomicBool,
}

impl ByteSource for StoppableSource<'_> {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(ReadError::new("there was no time to read it"));
        }
        self.source.read_at(offset, buffer)
    }

    fn content_hash(&self) -> Option<ContentHash> {
        self.source.content_hash()
    }

    fn keep_content_hash(&self, hash: ContentHash) {
        self.source.keep_content_hash(hash);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// Of a process that has ended.
    const NOWHERE: MappedAt = MappedAt { pid: u32::MAX, start: 0, end: 0 };

    fn inode(path: &PathBuf) -> InodeKey {
        let metadata = fs::metadata(path).unwrap();
        let device = metadata.dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        InodeKey { major, minor, inode: metadata.ino(), generation: 0 }
    }

    /// Until what was written belongs to the past, however coarse the clock of files is.
    fn wait_for_the_past(path: &Path) {
        let written = changed(&fs::metadata(path).unwrap());
        while SystemTime::now() < written + 3 * CLOCK_TICK {
            thread::yield_now();
        }
    }

    /// Should the recorder be killed, what it said last is what everybody believes.
    #[test]
    fn what_was_written_to_is_identified_no_more_before_the_end_either() {
        let folder = std::env::temp_dir().join(format!("perftab-identify-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let names = ["untouched", "overwritten", "moved", "removed"];
        let paths = names.map(|name| folder.join(name));
        paths.iter().for_each(|path| fs::write(path, "\x7fELF").unwrap());
        wait_for_the_past(&paths[3]);
        let mut identifier = Identifier::start(Clock::now()).unwrap();
        let file = |path: &PathBuf| FileWithoutId {
            path: path.to_str().unwrap().into(),
            inode: inode(path),
            time: 0,
            at: NOWHERE,
        };
        let inodes = paths.each_ref().map(|path| inode(path).inode);
        identifier.add(paths.iter().map(file).collect());
        while identifier.unanswered > 0 {
            identifier.add(Vec::new());
        }
        let identified = |found: &Identified| {
            let is_known = |inode| found.identities.iter().any(|it| it.inode.inode == inode);
            inodes.map(is_known)
        };
        assert_eq!(identified(&identifier.so_far()), [true; 4]);

        let write = |path: &PathBuf| {
            let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
            io::Write::write_all(&mut file, b"else").unwrap();
        };
        write(&paths[1]);
        let elsewhere = folder.join("elsewhere");
        fs::rename(&paths[2], &elsewhere).unwrap();
        write(&elsewhere);
        fs::remove_file(&paths[3]).unwrap();
        let found = identifier.so_far();
        assert_eq!(identified(&found), [true, false, false, true]);
        assert_eq!(found.written.len(), 2, "{:?}", found.written);
        let removed = paths[3].to_str().unwrap().as_bytes().to_vec();
        assert_eq!(found.removed, BTreeSet::from([removed]));
        assert_eq!(identified(&identifier.finish(Instant::now())), [true, false, false, true]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn nothing_is_waited_for_once_the_thread_has_died() {
        let mut identifier = Identifier::start(Clock::now()).unwrap();
        (_, identifier.answers) = channel();
        identifier.unanswered = 1;
        assert!(identifier.wait(Instant::now() + Duration::from_secs(3600)));
    }

    #[test]
    fn what_is_not_read_when_the_time_is_over_has_no_identity() {
        let name = format!("perftab-identify-large-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // Zeros, which need no space. Hashing them takes a second.
        File::create(&path).unwrap().set_len(2 << 30).unwrap();
        wait_for_the_past(&path);
        let mut identifier = Identifier::start(Clock::now()).unwrap();
        let text: Vec<u8> = path.to_str().unwrap().into();
        let file = FileWithoutId { path: text.clone(), inode: inode(&path), time: 0, at: NOWHERE };
        identifier.add(vec![file]);
        let found = identifier.finish(Instant::now());
        fs::remove_file(&path).unwrap();
        let expected = Identified { too_large: BTreeSet::from([text]), ..Identified::default() };
        assert_eq!(found, expected);
    }
}
