//! Files that were replaced while perf recorded them without build-ids in its mmap events.
//!
//! perf then reads the ids when the recording has ended, by path: of what is there by then. In the
//! recording nothing tells; but where it was made, the files do. So a DSO whose file became another
//! between the making of the recording and its last write has no identity. Times and inodes speak
//! against an id here, never for one; on another machine, where neither means anything, nothing is
//! found.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use perftab_core::profile::{Dso, DsoId, DsoKind, MappedFrom, Profile, RecordedBy};
use perftab_core::session::Session;

/// What perf takes at most to begin and to read build-ids at the end.
const BEGIN_AND_END: Duration = Duration::from_secs(30);

/// What the files of this machine say of build-ids that were read at the end.
#[derive(Default)]
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
    let Ok(metadata) = recording.metadata() else { return judgement };
    // perf makes the file before it starts what it records. A copy is younger than what it tells
    // of, and nothing is found.
    let (Ok(made), Ok(written)) = (metadata.created(), metadata.modified()) else {
        return judgement;
    };
    // One that was copied over an older file seems to have been made long ago.
    let Some((first, last)) = profile.clocks.sample_time else { return judgement };
    let recorded = Duration::from_nanos(last.saturating_sub(first));
    let making = written.duration_since(made).unwrap_or_default();
    if making > recorded + BEGIN_AND_END {
        return judgement;
    }
    // A copy says nothing for an id: what changed before it was made did so before `made`.
    let is_original = making >= recorded;
    let meanwhile = |time: SystemTime| (made..=written).contains(&time);
    // Nothing where nothing can be said.
    let is_another = |dso: &Dso| {
        let is_late = matches!(dso.recorded_by, Some(RecordedBy::Table | RecordedBy::Stream));
        let MappedFrom::Inode { major, minor, inode, .. } = dso.mapped_from else { return None };
        if !is_late || dso.kind != DsoKind::User || inode == 0 {
            return None;
        }
        let file = std::fs::metadata(&dso.path).ok()?;
        let is_same = file.ino() == inode && file.dev() == rustix::fs::makedev(major, minor);
        // A link to the file changes only the second time: perf makes one for its cache. Whoever
        // copies with the times of the original sets the first.
        let may_be_linked = is_same && file.nlink() > 1;
        if file.modified().is_ok_and(meanwhile) || (!may_be_linked && meanwhile(changed(&file))) {
            return Some(true);
        }
        let was_there = file.modified().is_ok_and(|modified| modified < made);
        (is_original && is_same && was_there).then_some(false)
    };
    for (id, dso) in profile.dsos.iter() {
        match is_another(dso) {
            Some(true) => judgement.replaced.push(id),
            Some(false) => judgement.same.push(id),
            None => {}
        }
    }
    judgement
}

/// When content or inode last changed: nobody can set that time.
pub fn changed(metadata: &Metadata) -> SystemTime {
    let seconds = u64::try_from(metadata.ctime()).unwrap_or(0);
    let nanos = u64::try_from(metadata.ctime_nsec()).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(nanos)
}
