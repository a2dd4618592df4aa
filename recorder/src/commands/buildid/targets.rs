//! The DSOs of a recording that are files, as the verbs want them.

use std::path::Path;

use perftab_core::format::BuildId;
use perftab_core::profile::{DsoId, DsoKind, Identity};
use perftab_core::session::Session;

use crate::buildid_cache::{EntryName, key_of};

/// Which DSOs are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// All that were recorded with an identity, and what samples pass through.
    All,
    /// Only what samples end in or pass through.
    Hit,
}

impl Which {
    /// As `--with-hits` says.
    pub fn with_hits(only: bool) -> Self {
        if only { Self::Hit } else { Self::All }
    }
}

/// A DSO that has, or had, a file.
#[derive(Debug, Clone)]
pub struct Target {
    /// What its file must have.
    pub identity: Option<Identity>,
    /// Its path, as recorded.
    pub path: String,
    /// The path that the build-id table has for it, where that is another.
    pub listed_as: Option<String>,
    /// What kind of thing.
    pub kind: DsoKind,
}

impl Target {
    /// What it is called in the cache.
    pub fn key(&self) -> Option<BuildId> {
        self.identity.and_then(key_of)
    }

    /// The path to print: as perf does, that of the build-id table.
    pub fn shown(&self) -> &str {
        self.listed_as.as_deref().unwrap_or(&self.path)
    }

    /// The id to print.
    pub fn id(&self) -> String {
        self.identity.map_or_else(|| "-".to_owned(), |identity| identity.to_string())
    }

    /// Where its file was, best first.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let paths = [self.listed_as.as_deref(), Some(&self.path)].into_iter().flatten();
        paths.map(Path::new).filter(|path| path.is_absolute())
    }

    /// The folder of the cache that its builds share.
    pub fn entry_name(&self) -> Option<EntryName> {
        match self.kind {
            DsoKind::Kernel => Some(EntryName::kernel()),
            _ => EntryName::new(Path::new(self.shown())),
        }
    }

    /// What an old perf may have recorded: the id as it stands, and without padding.
    pub fn readings(&self) -> Vec<BuildId> {
        match self.identity {
            Some(Identity::Gnu(id)) => {
                [Some(id), id.without_padding()].into_iter().flatten().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a file of this identity is it.
    pub fn is(&self, found: Identity) -> bool {
        match (self.identity, found) {
            (Some(Identity::Gnu(id)), Identity::Gnu(found)) => id.is_same_as(found),
            (identity, found) => identity == Some(found),
        }
    }
}

/// The DSOs, in the order of what samples they have.
pub fn targets(session: &Session, which: Which) -> Vec<Target> {
    let rows = session.dsos().into_iter();
    let wanted =
        rows.filter(|row| row.samples > 0 || (which == Which::All && row.build_id.is_some()));
    let dsos = wanted.map(|row| session.profile().dsos.get(DsoId(row.id)));
    let files = dsos.filter(|dso| match dso.kind {
        DsoKind::User | DsoKind::Kernel | DsoKind::Module | DsoKind::Vdso => true,
        DsoKind::Jit | DsoKind::Anon | DsoKind::Unmapped | DsoKind::Folded => false,
    });
    files
        .map(|dso| Target {
            identity: dso.identity,
            path: dso.path.clone(),
            listed_as: dso.listed_as.clone(),
            kind: dso.kind,
        })
        .collect()
}
