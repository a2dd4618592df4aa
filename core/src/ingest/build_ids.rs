//! Identities that are not in the mappings themselves.
//!
//! Precedence: the id in the MMAP2 record, then HEADER_BUILD_ID in the stream, then the table at
//! the end of the file. The table is by name and tells what was on disk after the run, so it is
//! used only where one name can mean one file.

use std::collections::{HashMap, HashSet};

use super::kernel::{KERNEL_NAME, is_module_name, module_name};
use super::warnings::Warnings;
use crate::decode::features::BuildIdEntry;
use crate::error::WarningKind;
use crate::format::BuildId;
use crate::format::record::misc;
use crate::profile::{Dso, DsoId, DsoKind, Dsos, Identity, MappedFrom, RecordedBy};

/// What a table entry is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Subject {
    Kernel,
    Module(String),
    File(String),
}

impl Subject {
    /// A kernel-mode entry that is no module is the kernel, under whatever path.
    fn of_entry(entry: &BuildIdEntry) -> Self {
        if entry.cpu_mode != misc::CPUMODE_KERNEL {
            Self::File(entry.path.clone())
        } else if is_module_name(&entry.path) {
            Self::Module(module_name(&entry.path))
        } else {
            Self::Kernel
        }
    }

    fn of_dso(dso: &Dso) -> Self {
        match dso.kind {
            DsoKind::Kernel => Self::Kernel,
            DsoKind::Module => Self::Module(module_name(&dso.path)),
            _ => Self::File(dso.path.clone()),
        }
    }
}

/// Gives identities to DSOs that were mapped without one, and adds those that are only listed.
pub(super) fn apply(
    dsos: &mut Dsos,
    table: &[BuildIdEntry],
    stream: &[BuildIdEntry],
    warnings: &mut Warnings,
) {
    for (entries, recorded_by) in [(stream, RecordedBy::Stream), (table, RecordedBy::Table)] {
        let mut ids: HashMap<Subject, Vec<&BuildIdEntry>> = HashMap::new();
        for entry in entries {
            ids.entry(Subject::of_entry(entry)).or_default().push(entry);
        }
        let mut subjects: Vec<_> = ids.into_iter().collect();
        subjects.sort_by(|a, b| a.0.cmp(&b.0));
        for (subject, entries) in subjects {
            apply_one(dsos, &subject, &entries, recorded_by, warnings);
        }
    }
}

fn apply_one(
    dsos: &mut Dsos,
    subject: &Subject,
    entries: &[&BuildIdEntry],
    recorded_by: RecordedBy,
    warnings: &mut Warnings,
) {
    let ids: HashSet<BuildId> = entries.iter().map(|entry| entry.build_id).collect();
    let of_subject: Vec<DsoId> =
        dsos.iter().filter(|(_, dso)| Subject::of_dso(dso) == *subject).map(|(id, _)| id).collect();
    if of_subject.is_empty() {
        list(dsos, subject, entries, recorded_by);
        return;
    }
    let without: Vec<DsoId> =
        of_subject.iter().copied().filter(|&dso| dsos.get(dso).identity.is_none()).collect();
    if without.is_empty() {
        let recorded: Vec<_> =
            of_subject.iter().filter_map(|&dso| dsos.get(dso).build_id()).collect();
        if ids.iter().any(|id| !recorded.contains(id)) {
            let path = dsos.get(of_subject[0]).path.clone();
            warnings.add(WarningKind::BuildIdConflict, None, || {
                format!(
                    "{path} was replaced: at the end of the recording its build-id was another \
                     than while it ran. Names are taken for the builds that ran."
                )
            });
        }
        return;
    }
    // Some mappings of one build may lack the id that others have: the kernel reads the note
    // without waiting for the disk. So inodes, not mappings, tell whether the name is one file.
    let inodes: HashSet<MappedFrom> =
        without.iter().map(|&dso| dsos.get(dso).mapped_from).collect();
    let only_id = (ids.len() == 1).then(|| ids.iter().next().copied()).flatten();
    for dso in without {
        let dso = dsos.get_mut(dso);
        match only_id {
            Some(id) if inodes.len() == 1 => {
                dso.identity = Some(Identity::Gnu(id));
                dso.recorded_by = Some(recorded_by);
            }
            _ => {
                dso.no_identity_because = Some("ambiguous: one path, several files or build-ids");
                let path = dso.path.clone();
                warnings.add(WarningKind::Ambiguous, None, || {
                    format!(
                        "{path} was more than one file during the recording and no mapping has \
                         a build-id, so it stays without names. Record with `perf record \
                         --buildid-mmap` or `perftab record`."
                    )
                });
            }
        }
    }
}

/// A DSO that is in the list but was never mapped: `buildid list` shows it.
fn list(dsos: &mut Dsos, subject: &Subject, entries: &[&BuildIdEntry], recorded_by: RecordedBy) {
    for entry in entries {
        let kind = match subject {
            Subject::Kernel => DsoKind::Kernel,
            Subject::Module(_) => DsoKind::Module,
            Subject::File(path) => super::kernel::user_dso_kind(path),
        };
        let path = match kind {
            DsoKind::Kernel => KERNEL_NAME,
            _ => entry.path.as_str(),
        };
        let dso = dsos.intern(path, kind, MappedFrom::BuildId(entry.build_id), None);
        dsos.get_mut(dso).recorded_by = Some(recorded_by);
    }
}
