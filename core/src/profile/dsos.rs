//! Mapped files and what identifies them.

use std::collections::HashMap;
use std::fmt;

use super::{DsoId, ProcessId};
use crate::format::BuildId;

/// Hash of a file's content, recorded where a file has no GNU build-id.
///
/// SHA-256 over the first 4096 bytes, the last 4096 bytes and the length as a big-endian u64; the
/// first 16 bytes of it (OpenTelemetry's `process.executable.build_id.htlhash`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(pub [u8; 16]);

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

/// What a file is, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identity {
    /// The GNU note's bytes.
    Gnu(BuildId),
    /// A hash of the content.
    Content(ContentHash),
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gnu(id) => id.fmt(f),
            Self::Content(hash) => hash.fmt(f),
        }
    }
}

/// What kind of thing was mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DsoKind {
    /// An executable or shared object.
    User,
    /// The kernel.
    Kernel,
    /// A kernel module.
    Module,
    /// The kernel's code in user space.
    Vdso,
    /// Code that a run time made, with symbols.
    Jit,
    /// Executable memory without a file.
    Anon,
    /// Not mapped at all: a run of call chain words in no mapping.
    Unmapped,
    /// Not code: in a link, the weight of what was left out below a call.
    Folded,
}

/// Where a recorded identity stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordedBy {
    /// In the MMAP2 record: the build as mapped.
    Mmap,
    /// In the table written at the end: the build on disk after the run.
    Table,
    /// In a record that `perf inject` put into the stream.
    Stream,
}

/// What an MMAP2 record says of the file behind a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MappedFrom {
    /// Its build-id.
    BuildId(BuildId),
    /// Its inode.
    Inode {
        /// Device, major.
        major: u32,
        /// Device, minor.
        minor: u32,
        /// Inode number.
        inode: u64,
        /// Generation of the inode.
        generation: u64,
    },
    /// Nothing (an MMAP record, or no file).
    Nothing,
}

/// A mapped file. Two builds of one path are two DSOs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dso {
    /// Path as recorded, without ` (deleted)`.
    pub path: String,
    /// The path that the build-id table has for it, where that is another: of the kernel the
    /// vmlinux that it was, of a kernel module its file.
    pub listed_as: Option<String>,
    /// What kind of thing.
    pub kind: DsoKind,
    /// What its mappings said of it.
    pub mapped_from: MappedFrom,
    /// What an image must have to give names; `None`: recorded without one.
    pub identity: Option<Identity>,
    /// Where the identity stands.
    pub recorded_by: Option<RecordedBy>,
    /// Why there is no identity, where there is more to say than that none was recorded.
    pub no_identity_because: Option<&'static str>,
    /// File offset at which an executable mapping of it begins; with it, an image whose segments
    /// have no file offsets (a separate debug file) can be placed.
    pub executable_offset: Option<u64>,
    /// For code without a file: the process it belongs to.
    pub process: Option<ProcessId>,
    /// Runtime address of `_text` when recorded, for the kernel. The slide of KASLR is the
    /// difference to that symbol's value in a vmlinux.
    pub kernel_reference: Option<u64>,
}

impl Dso {
    /// Last part of the path.
    pub fn name(&self) -> &str {
        match self.kind {
            DsoKind::User | DsoKind::Module => self.path.rsplit('/').next().unwrap_or(&self.path),
            _ => &self.path,
        }
    }

    /// The GNU build-id, if that is the identity recorded.
    pub fn build_id(&self) -> Option<BuildId> {
        match self.identity {
            Some(Identity::Gnu(id)) => Some(id),
            _ => None,
        }
    }
}

/// All mapped files.
#[derive(Clone, Debug, Default)]
pub struct Dsos {
    dsos: Vec<Dso>,
    index: HashMap<(String, DsoKind, MappedFrom, Option<ProcessId>), DsoId>,
}

impl Dsos {
    /// The DSO with this path, content and process, new or known.
    pub fn intern(
        &mut self,
        path: &str,
        kind: DsoKind,
        mapped_from: MappedFrom,
        process: Option<ProcessId>,
    ) -> DsoId {
        let key = (path.to_owned(), kind, mapped_from, process);
        if let Some(&known) = self.index.get(&key) {
            return known;
        }
        let id = DsoId(self.dsos.len() as u32);
        let identity = match mapped_from {
            MappedFrom::BuildId(id) => Some(Identity::Gnu(id)),
            _ => None,
        };
        self.dsos.push(Dso {
            path: path.to_owned(),
            listed_as: None,
            kind,
            mapped_from,
            identity,
            recorded_by: identity.map(|_| RecordedBy::Mmap),
            no_identity_because: None,
            executable_offset: None,
            process,
            kernel_reference: None,
        });
        self.index.insert(key, id);
        id
    }

    /// Adds a DSO that is known to be another than all there are.
    pub fn add(&mut self, dso: Dso) -> DsoId {
        self.dsos.push(dso);
        DsoId(self.dsos.len() as u32 - 1)
    }

    /// The DSO of an id; ids are only made by [`Self::intern`] and [`Self::add`].
    pub fn get(&self, id: DsoId) -> &Dso {
        &self.dsos[id.index()]
    }

    /// For `ingest`, which learns more of a DSO as it reads.
    pub fn get_mut(&mut self, id: DsoId) -> &mut Dso {
        &mut self.dsos[id.index()]
    }

    /// All of them, with their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (DsoId, &Dso)> {
        self.dsos.iter().enumerate().map(|(index, dso)| (DsoId(index as u32), dso))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.dsos.len()
    }

    /// True if nothing was mapped.
    pub fn is_empty(&self) -> bool {
        self.dsos.is_empty()
    }
}
