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

/// Takes their identities away from those DSOs.
pub fn distrust(session: &mut Session, recording: &File) {
    let replaced = replaced(session.profile(), recording);
    session.distrust(&replaced);
}

/// Those DSOs.
pub fn replaced(profile: &Profile, recording: &File) -> Vec<DsoId> {
    let Ok(metadata) = recording.metadata() else { return Vec::new() };
    // perf makes the file before it starts what it records. A copy is younger than what it tells
    // of, and nothing is found.
    let (Ok(made), Ok(written)) = (metadata.created(), metadata.modified()) else {
        return Vec::new();
    };
    // One that was copied over an older file seems to have been made long ago.
    let Some((first, last)) = profile.clocks.sample_time else { return Vec::new() };
    let recorded = Duration::from_nanos(last.saturating_sub(first));
    if written.duration_since(made).is_ok_and(|making| making > recorded + BEGIN_AND_END) {
        return Vec::new();
    }
    let meanwhile = |time: SystemTime| (made..=written).contains(&time);
    let became_another = |dso: &Dso| {
        let is_late = matches!(dso.recorded_by, Some(RecordedBy::Table | RecordedBy::Stream));
        let MappedFrom::Inode { major, minor, inode, .. } = dso.mapped_from else { return false };
        if !is_late || dso.kind != DsoKind::User || inode == 0 {
            return false;
        }
        let Ok(file) = std::fs::metadata(&dso.path) else { return false };
        let is_same = file.ino() == inode && file.dev() == rustix::fs::makedev(major, minor);
        // A link to the file changes only the second time: perf makes one for its cache.
        file.modified().is_ok_and(meanwhile) || (!is_same && meanwhile(changed(&file)))
    };
    profile.dsos.iter().filter(|(_, dso)| became_another(dso)).map(|(id, _)| id).collect()
}

/// When content or inode last changed: nobody can set that time.
pub fn changed(metadata: &Metadata) -> SystemTime {
    let seconds = u64::try_from(metadata.ctime()).unwrap_or(0);
    let nanos = u64::try_from(metadata.ctime_nsec()).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(nanos)
}
