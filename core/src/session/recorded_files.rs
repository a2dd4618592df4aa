//! What the machine of a recording is told of its files: where they were, and what they must be.
//!
//! There they can be found by path, and files that became others can be seen by time and inode. The
//! page has read the recording, and `perftab view` can look: [`RecordedFiles`] crosses as JSON.

use perftab_profile::{Dso, DsoId, DsoKind, Identity, MappedBy, MappedFrom, RecordedBy};
use serde::{Deserialize, Serialize};

use super::Session;

/// The files of a recording that have an identity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFiles {
    /// Release of the kernel, as `uname -r` prints it.
    pub os_release: Option<String>,
    /// Nanoseconds from the first sample to the last; `None` without times.
    pub sampled_nanos: Option<u64>,
    /// Processes: those that still run may be in containers, which have the files.
    #[serde(default)]
    pub pids: Vec<u32>,
    /// One for each DSO, in the order of their numbers.
    pub files: Vec<RecordedFile>,
}

/// A file as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFile {
    /// Number of the DSO in this session.
    pub dso: DsoId,
    /// What kind of thing.
    pub kind: DsoKind,
    /// Path as recorded.
    pub path: String,
    /// The path that the build-id table has for it, where that is another.
    pub listed_as: Option<String>,
    /// What a file must be.
    pub identity: Identity,
    /// Where that was recorded, if anywhere.
    pub recorded_by: Option<RecordedBy>,
    /// The inode that was mapped, if that was recorded.
    pub inode: Option<RecordedInode>,
    /// Who wrote that; if nobody says it, the kernel.
    #[serde(default)]
    pub mapped_by: MappedBy,
}

/// What an MMAP2 record says of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedInode {
    /// Device, major.
    pub major: u32,
    /// Device, minor.
    pub minor: u32,
    /// Its number.
    pub inode: u64,
}

impl Session {
    /// What the machine of this recording is told of its files.
    pub fn recorded_files(&self) -> RecordedFiles {
        let profile = &self.profile;
        let sample_time = profile.clocks.sample_time;
        RecordedFiles {
            os_release: profile.host.os_release.clone(),
            sampled_nanos: sample_time.map(|(first, last)| last.saturating_sub(first)),
            pids: profile.threads.processes.iter().map(|process| process.pid).collect(),
            files: profile.dsos.iter().filter_map(|(id, dso)| RecordedFile::of(id, dso)).collect(),
        }
    }
}

impl RecordedFiles {
    /// As it crosses.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

impl RecordedFile {
    fn of(dso_id: DsoId, dso: &Dso) -> Option<Self> {
        Some(Self {
            dso: dso_id,
            kind: dso.kind,
            path: dso.path.clone(),
            listed_as: dso.listed_as.clone(),
            identity: dso.identity?,
            recorded_by: dso.recorded_by,
            inode: match dso.mapped_from {
                MappedFrom::Inode { major, minor, inode, .. } => {
                    Some(RecordedInode { major, minor, inode })
                }
                MappedFrom::BuildId(_) | MappedFrom::Nothing => None,
            },
            mapped_by: dso.mapped_by(),
        })
    }
}
