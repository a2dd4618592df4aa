//! Files that were replaced while perf recorded them without build-ids in its mmap events.
//!
//! perf then reads the ids when the recording has ended, or even later (`perf inject -b`), by path:
//! of what is there by then. In the recording nothing tells; but where it was made, the files do.
//! A DSO whose file became another between the making of the recording and its last write has no
//! identity, nor has one whose inode is not the one that was mapped and that has the id all the
//! same: then the id was read of it. Times and inodes speak against an id here, never for one; on
//! another machine, where neither means anything, nothing is found.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use perftab_core::format::BuildId;
use perftab_core::format::elf_note::build_id_of_elf;
use perftab_core::profile::{Dso, DsoId, DsoKind, MappedFrom, Profile, RecordedBy};
use perftab_core::session::Session;

use crate::file_source::FileSource;

/// What perf takes at most to begin and to read build-ids at the end.
const BEGIN_AND_END: Duration = Duration::from_secs(30);

/// Whether the files of this machine may speak against what was recorded. If they must not name
/// anything (`--no-local`), they do not: then everything is as in a page that was opened by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThisMachine {
    /// They may.
    Asked,
    /// Nobody looks at them.
    LeftAlone,
}

/// What the files of this machine say of build-ids that were read at the end.
#[derive(Debug, Default)]
pub struct Judgement {
    /// Another file was there then.
    pub replaced: Vec<DsoId>,
    /// The file that was mapped is there still, and did not change meanwhile.
    pub same: Vec<DsoId>,
}

/// Takes their identities away from DSOs whose file became another, and vouches for those whose
/// file is the same.
pub fn apply(session: &mut Session, recording: &File) {
    let Judgement { replaced, same } = judge(session.profile(), recording);
    session.vouch(same);
    session.distrust(&replaced);
}

/// Looks at the files of all DSOs.
pub fn judge(profile: &Profile, recording: &File) -> Judgement {
    let mut judgement = Judgement::default();
    let Some(making) = Making::of(profile, recording) else { return judgement };
    let files: Vec<LateFile> =
        profile.dsos.iter().filter_map(|(id, dso)| LateFile::of(id, dso)).collect();
    // Where files have the inodes that were recorded, inodes mean something.
    let is_here = making.is_original() || files.iter().any(|file| file.is_mapped_one);
    for file in &files {
        if making.changed_meanwhile(file) || is_here && making.was_read_of_another(file) {
            judgement.replaced.push(file.dso);
        } else if making.saw_no_change(file) {
            judgement.same.push(file.dso);
        }
    }
    judgement
}

/// When the file of the recording was made and last written, and how long what it tells of took.
struct Making {
    made: SystemTime,
    written: SystemTime,
    recorded: Duration,
}

/// The file that is at the path of a DSO whose build-id was read late.
struct LateFile {
    dso: DsoId,
    id: Option<BuildId>,
    path: PathBuf,
    metadata: Metadata,
    /// It has the inode that was mapped.
    is_mapped_one: bool,
}

impl LateFile {
    fn of(id: DsoId, dso: &Dso) -> Option<Self> {
        let is_late = matches!(dso.recorded_by, Some(RecordedBy::Table | RecordedBy::Stream));
        let MappedFrom::Inode { major, minor, inode, .. } = dso.mapped_from else { return None };
        if !is_late || dso.kind != DsoKind::User || inode == 0 {
            return None;
        }
        let path = PathBuf::from(&dso.path);
        let metadata = std::fs::metadata(&path).ok()?;
        let is_mapped_one =
            metadata.ino() == inode && metadata.dev() == rustix::fs::makedev(major, minor);
        Some(Self { dso: id, id: dso.build_id(), path, metadata, is_mapped_one })
    }
}

impl Making {
    fn of(profile: &Profile, recording: &File) -> Option<Self> {
        let metadata = recording.metadata().ok()?;
        // perf makes the file before it starts what it records.
        let (made, written) = (metadata.created().ok()?, metadata.modified().ok()?);
        let (first, last) = profile.clocks.sample_time?;
        let recorded = Duration::from_nanos(last.saturating_sub(first));
        Some(Self { made, written, recorded })
    }

    fn length(&self) -> Duration {
        self.written.duration_since(self.made).unwrap_or_default()
    }

    /// False of a copy, which is younger than what it tells of.
    fn is_original(&self) -> bool {
        self.length() >= self.recorded && !self.is_of_an_older_file()
    }

    /// One that was copied over an older file seems to have been made long ago.
    fn is_of_an_older_file(&self) -> bool {
        self.length() > self.recorded + BEGIN_AND_END
    }

    fn changed_meanwhile(&self, file: &LateFile) -> bool {
        let meanwhile = |time: SystemTime| (self.made..=self.written).contains(&time);
        // A link to the file changes only the second time: perf makes one for its cache. Whoever
        // copies with the times of the original sets the first.
        let may_be_linked = file.is_mapped_one && file.metadata.nlink() > 1;
        let modified = file.metadata.modified().is_ok_and(meanwhile);
        !self.is_of_an_older_file()
            && (modified || !may_be_linked && meanwhile(changed(&file.metadata)))
    }

    /// True if the file was there when ids were read and has the one that was recorded, but is not
    /// the one that was mapped: a folder was renamed, or a process saw another file under this
    /// path. (Of a build that was made afterwards the id was not read.)
    fn was_read_of_another(&self, file: &LateFile) -> bool {
        if file.is_mapped_one || changed(&file.metadata) > self.written {
            return false;
        }
        let opened = File::open(&file.path).ok();
        let source = opened.and_then(|it| FileSource::new(it).ok());
        source.and_then(|it| build_id_of_elf(&it)).is_some_and(|found| Some(found) == file.id)
    }

    /// A copy says nothing for an id: what changed before it was made did so before `made`.
    fn saw_no_change(&self, file: &LateFile) -> bool {
        let was_there = file.metadata.modified().is_ok_and(|modified| modified < self.made);
        self.is_original() && file.is_mapped_one && was_there
    }
}

/// When content or inode last changed: nobody can set that time.
pub fn changed(metadata: &Metadata) -> SystemTime {
    let seconds = u64::try_from(metadata.ctime()).unwrap_or(0);
    let nanos = u64::try_from(metadata.ctime_nsec()).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(nanos)
}
