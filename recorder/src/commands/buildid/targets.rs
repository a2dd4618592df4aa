//! The DSOs of a recording that are files, as the verbs want them.

use std::path::Path;
use std::rc::Rc;

use perftab_core::session::Session;
use perftab_core::{DsoId, DsoKind, Identity, RecordedIdentities};
use perftab_perfdata::format::BuildId;

use crate::buildid_cache::{CachedFile, EntryName, key_of};
use crate::output;

/// DsoSelection DSOs are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DsoSelection {
    /// All that were recorded with an identity.
    All,
    /// Only what samples end in or pass through; or may, as stacks that were copied are not unwound here.
    Hit,
}

impl DsoSelection {
    /// As `--with-hits` says.
    pub fn with_hits(only: bool) -> Self {
        if only { Self::Hit } else { Self::All }
    }
}

/// A DSO that has, or had, a file.
#[derive(Debug, Clone)]
pub struct Target {
    /// What its file must have.
    pub identity: Identity,
    /// Its path, as recorded.
    pub path: String,
    /// The path that the build-id table has for it, where that is another.
    pub listed_as: Option<String>,
    /// What kind of thing.
    pub kind: DsoKind,
    dso: DsoId,
    /// The gate's rule.
    recorded: Rc<RecordedIdentities>,
}

impl Target {
    /// What it is called in the cache.
    pub fn key(&self) -> Option<BuildId> {
        key_of(self.identity)
    }

    /// The path to print: as perf does, that of the build-id table.
    pub fn shown(&self) -> &str {
        self.listed_as.as_deref().unwrap_or(&self.path)
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
            Identity::Gnu(id) => {
                let readings = [Some(id), id.without_padding()].into_iter().flatten();
                readings.filter(|&id| self.is(Identity::Gnu(id))).collect()
            }
            Identity::Content(_) => Vec::new(),
        }
    }

    /// Whether a file of this identity is it.
    pub fn is(&self, found: Identity) -> bool {
        self.recorded.admits(self.dso, found)
    }

    /// Whether a file of the cache is it.
    pub fn is_cached(&self, file: &CachedFile) -> bool {
        self.key() == Some(file.build) || self.is(Identity::Gnu(file.build))
    }
}

/// The DSOs with an identity, in the order of what samples they have. Of others with samples it is
/// said that no file can be known to be theirs.
pub fn targets(session: &Session, which: DsoSelection) -> Vec<Target> {
    let mut targets = Vec::new();
    let mut unknown = Vec::new();
    let recorded = Rc::new(RecordedIdentities::new(&session.profile().dsos));
    for row in session.dsos() {
        let dso = session.profile().dsos.get(DsoId(row.id));
        let is_file = match dso.kind {
            DsoKind::User | DsoKind::Kernel | DsoKind::Module | DsoKind::Vdso => true,
            DsoKind::Jit | DsoKind::Anon => false,
            DsoKind::Unmapped | DsoKind::Folded | DsoKind::Pseudo => false,
        };
        let is_of_process = matches!(dso.kind, DsoKind::User | DsoKind::Vdso);
        let may_be_hit = is_of_process && session.profile().asks_for_unwind_tables();
        let is_hit = row.samples > 0;
        match dso.identity {
            _ if !is_file => {}
            Some(identity) if is_hit || may_be_hit || which == DsoSelection::All => {
                targets.push(Target {
                    identity,
                    path: dso.path.clone(),
                    listed_as: dso.listed_as.clone(),
                    kind: dso.kind,
                    dso: DsoId(row.id),
                    recorded: Rc::clone(&recorded),
                })
            }
            None if is_hit => unknown.push(dso.path.as_str()),
            _ => {}
        }
    }
    if !unknown.is_empty() {
        let paths = unknown.join(", ");
        output::notice(format_args!("skipped, as recorded without a build-id: {paths}"));
    }
    targets
}
