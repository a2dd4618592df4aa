//! Identities that are not in the mappings themselves, and those in mappings that are not to be
//! trusted.
//!
//! Precedence: the id in the MMAP2 record, then what perftab recorded for its inode, then
//! HEADER_BUILD_ID in the stream, then the table at the end of the file. The last two are by name
//! and tell what was on disk after the run, so they are used only where one name can mean one file.
//! Whatever is listed and belongs to no mapping is a DSO all the same, so that nothing that was
//! recorded is left out of the list.

use perftab_perfdata::map::{Map, Set};

use perftab_dsos::{is_module_name, module_name};
use perftab_perfdata::decode::features::BuildIdEntry;
use perftab_perfdata::error::WarningKind;
use perftab_perfdata::format::BuildId;
use perftab_perfdata::format::record::misc;

use super::kernel::KERNEL_NAME;
use super::warnings::Warnings;
use crate::{Dso, DsoId, DsoKind, Dsos, Identity, MappedFrom, RecordedBy};

/// What a table entry is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Subject {
    Kernel,
    Module(String),
    File(String),
    /// Anything in a guest: its files are not the host's of that name.
    Guest(String),
}

impl Subject {
    /// A kernel-mode entry that is no module is the kernel, under whatever path. A module is what
    /// is called one, or what was mapped as one: a file may have any name.
    fn of_entry(entry: &BuildIdEntry, mapped_modules: &Set<String>) -> Self {
        let path = entry.path.as_str();
        let module = || module_name(path);
        match entry.cpu_mode {
            misc::CPUMODE_GUEST_KERNEL | misc::CPUMODE_GUEST_USER => Self::Guest(path.to_owned()),
            misc::CPUMODE_KERNEL if is_module_name(path) => Self::Module(module()),
            misc::CPUMODE_KERNEL if mapped_modules.contains(&module()) => Self::Module(module()),
            misc::CPUMODE_KERNEL => Self::Kernel,
            _ => Self::File(path.to_owned()),
        }
    }

    fn of_dso(dso: &Dso) -> Self {
        match dso.kind {
            _ if dso.path.starts_with("[guest") => Self::Guest(dso.path.clone()),
            DsoKind::Kernel => Self::Kernel,
            DsoKind::Module => Self::Module(module_name(&dso.path)),
            // What is at its path now is another file, and the table tells of that.
            _ if dso.is_deleted => Self::File(format!("{} (deleted)", dso.path)),
            _ => Self::File(dso.path.clone()),
        }
    }
}

/// Where identities stand that are not in the mappings.
pub(super) struct Sources<'a> {
    /// What files are, by inode: in perftab's own section.
    pub files: &'a Map<MappedFrom, Identity>,
    /// HEADER_BUILD_ID records.
    pub stream: &'a [BuildIdEntry],
    /// The table at the end.
    pub table: &'a [BuildIdEntry],
    /// What wrote all of it, and its version.
    pub recorder: Option<&'a str>,
}

/// DSOs to warn of, by path: those that have samples.
#[derive(Default)]
struct DoubtfulDsos {
    several: Set<String>,
    ambiguous: Set<String>,
    replaced: Set<String>,
}

/// So many paths stand in a warning.
const MOST_NAMED: usize = 10;

/// Gives identities to DSOs that were mapped without one, and adds those that are only listed.
/// Warnings are about DSOs of `sampled`.
pub(super) fn apply(
    dsos: &mut Dsos,
    sampled: &Set<DsoId>,
    sources: &Sources<'_>,
    warnings: &mut Warnings,
) {
    distrust_shared_ids(dsos, warnings);
    identify_by_inode(dsos, sources.files);
    let mut doubtful =
        DoubtfulDsos { several: with_several_builds(dsos, sampled), ..DoubtfulDsos::default() };
    let mut by_subject: Map<Subject, Vec<DsoId>> = Map::new();
    for (id, dso) in dsos.iter() {
        by_subject.entry(Subject::of_dso(dso)).or_default().push(id);
    }
    let is_module = |(_, dso): &(_, &Dso)| dso.kind == DsoKind::Module;
    let mapped_modules: Set<String> =
        dsos.iter().filter(is_module).map(|(_, dso)| module_name(&dso.path)).collect();
    let lists = [(sources.stream, RecordedBy::Stream), (sources.table, RecordedBy::Table)];
    for (entries, recorded_by) in lists {
        let mut listed: Map<Subject, Vec<&BuildIdEntry>> = Map::new();
        for entry in entries {
            listed.entry(Subject::of_entry(entry, &mapped_modules)).or_default().push(entry);
        }
        for (subject, entries) in listed.into_sorted() {
            let of_subject = by_subject.get(&subject).map_or(&[][..], Vec::as_slice);
            let is_ambiguous = identify(dsos, of_subject, &entries, recorded_by);
            let was_replaced = is_another(dsos, of_subject, &entries);
            if let Some(&dso) = of_subject.iter().find(|&id| sampled.contains(id)) {
                let path = &dsos.get(dso).path;
                doubtful.ambiguous.extend(is_ambiguous.then(|| path.clone()));
                doubtful.replaced.extend(was_replaced.then(|| path.clone()));
            }
            let added = list(dsos, &subject, of_subject, &entries, recorded_by);
            by_subject.entry(subject).or_default().extend(added);
        }
    }
    doubtful.warn(sources.recorder.unwrap_or_default(), warnings);
}

impl DoubtfulDsos {
    fn warn(&self, recorder: &str, warnings: &mut Warnings) {
        if !self.ambiguous.is_empty() {
            // It reads the id of each file that it is in time for.
            let remedy = match recorder.starts_with("perftab") {
                true => "perftab record could not read them in time.",
                false => "Record with `perf record --buildid-mmap` or `perftab record`.",
            };
            warnings.add(WarningKind::Ambiguous, None, || {
                format!(
                    "More than one file had the same path during the recording, and not every \
                     mapping has a build-id, so these stay without names: {}. {remedy}",
                    in_words(&self.ambiguous)
                )
            });
        }
        if !self.several.is_empty() {
            warnings.add(WarningKind::BuildIdConflict, None, || {
                format!(
                    "More than one build ran from the same path, which was replaced meanwhile or is \
                     in several containers: {}. Each build is named by its own file alone.",
                    in_words(&self.several)
                )
            });
        }
        if !self.replaced.is_empty() {
            warnings.add(WarningKind::BuildIdConflict, None, || {
                format!(
                    "Replaced while they ran, with a different build-id at the end of the \
                     recording: {}. Names are those of the builds that ran.",
                    in_words(&self.replaced)
                )
            });
        }
    }
}

fn in_words(paths: &Set<String>) -> String {
    let named: Vec<&str> =
        paths.sorted().into_iter().take(MOST_NAMED).map(String::as_str).collect();
    match paths.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Gives what was recorded for an inode to what was mapped from it.
fn identify_by_inode(dsos: &mut Dsos, files: &Map<MappedFrom, Identity>) {
    if files.is_empty() {
        return;
    }
    let without: Vec<DsoId> = dsos
        .iter()
        .filter(|(_, dso)| dso.identity.is_none() && dso.kind == DsoKind::User)
        .map(|(id, _)| id)
        .collect();
    for id in without {
        let dso = dsos.get_mut(id);
        if let Some(&identity) = files.get(&dso.mapped_from) {
            dso.identity = Some(identity);
            // perftab looked when it was mapped, and saw until the end that nothing was written.
            dso.recorded_by = Some(RecordedBy::Mmap);
        }
    }
}

/// Paths of which mappings with different build-ids were sampled.
fn with_several_builds(dsos: &Dsos, sampled: &Set<DsoId>) -> Set<String> {
    let mut first: Map<&str, &Dso> = Map::new();
    let mut several = Set::new();
    for (id, dso) in dsos.iter().filter(|(_, dso)| dso.kind == DsoKind::User) {
        if let (true, Some(build_id)) = (sampled.contains(&id), dso.build_id())
            && let first = *first.entry(&dso.path).or_insert(dso)
            && !(first.may_have(build_id) || first.build_id().is_some_and(|id| dso.may_have(id)))
        {
            several.insert(dso.path.clone());
        }
    }
    several
}

/// Takes an id away from kernel modules of different names that share it. perf 6.17 recorded the
/// first module's id for all of them.
fn distrust_shared_ids(dsos: &mut Dsos, warnings: &mut Warnings) {
    let mut modules: Map<BuildId, Vec<DsoId>> = Map::new();
    for (id, dso) in dsos.iter().filter(|(_, dso)| dso.kind == DsoKind::Module) {
        if let Some(build_id) = dso.build_id() {
            modules.entry(build_id).or_default().push(id);
        }
    }
    for (build_id, sharing) in modules.into_sorted() {
        let names: Set<String> =
            sharing.iter().map(|&id| module_name(&dsos.get(id).path)).collect();
        if names.len() < 2 {
            continue;
        }
        for id in sharing {
            let dso = dsos.get_mut(id);
            dso.identity = None;
            dso.recorded_by = None;
            dso.no_identity_because =
                Some("untrusted: the same build-id was recorded for other kernel modules too");
        }
        let count = names.len();
        warnings.add_named(WarningKind::Ambiguous, None, || {
            format!(
                "{count} kernel modules were recorded with one build-id, {build_id}, as perf 6.17 \
                 does by mistake: they stay without names. Record with another version of perf or \
                 with `perftab record`."
            )
        });
    }
}

/// Gives the id to those of one name that have none, if it can only be theirs; true if there are
/// some and it need not be.
fn identify(
    dsos: &mut Dsos,
    of_subject: &[DsoId],
    entries: &[&BuildIdEntry],
    recorded_by: RecordedBy,
) -> bool {
    let without: Vec<DsoId> =
        of_subject.iter().copied().filter(|&dso| dsos.get(dso).identity.is_none()).collect();
    let inodes: Set<MappedFrom> = without.iter().map(|&dso| dsos.get(dso).mapped_from).collect();
    // Where the kernel told the id of some mappings, what is listed may be theirs, and those
    // without one, which it did not read from the disk in time, another file that came later.
    let is_listed_for_others =
        of_subject.iter().any(|&dso| dsos.get(dso).recorded_by == Some(RecordedBy::Mmap));
    let [first, rest @ ..] = entries else { return false };
    let is_one_file = inodes.len() <= 1
        && !is_listed_for_others
        && rest.iter().all(|entry| entry.build_id == first.build_id);
    for &dso in &without {
        let dso = dsos.get_mut(dso);
        if is_one_file {
            dso.identity = Some(Identity::Gnu(first.build_id));
            dso.id_length = first.length;
            dso.recorded_by = Some(recorded_by);
            dso.no_identity_because = None;
        } else {
            dso.no_identity_because = Some("ambiguous: one path, several files or build-ids");
        }
    }
    !is_one_file && !without.is_empty()
}

/// True if an id is another than that of every mapping: the file was replaced.
fn is_another(dsos: &Dsos, of_subject: &[DsoId], entries: &[&BuildIdEntry]) -> bool {
    let recorded = || of_subject.iter().map(|&dso| dsos.get(dso));
    let has = |entry: &&BuildIdEntry| recorded().any(|dso| is_of(entry, dso));
    recorded().all(|dso| dso.identity.is_some()) && !entries.iter().all(has)
}

/// True if an entry may be of what a mapping was of.
fn is_of(entry: &BuildIdEntry, dso: &Dso) -> bool {
    let is_padded = |id| entry.build_id.may_be(id, entry.length);
    dso.may_have(entry.build_id) || dso.build_id().is_some_and(is_padded)
}

/// Adds a DSO for each id that no mapping has, and returns them. Where a mapping has it, the name
/// that it is listed under is kept beside the mapping's.
fn list(
    dsos: &mut Dsos,
    subject: &Subject,
    of_subject: &[DsoId],
    entries: &[&BuildIdEntry],
    recorded_by: RecordedBy,
) -> Vec<DsoId> {
    let mut added: Vec<DsoId> = Vec::new();
    for entry in entries {
        let mut candidates = of_subject.iter().chain(&added).copied();
        let known = candidates.find(|&dso| is_of(entry, dsos.get(dso)));
        let id = known.unwrap_or_else(|| {
            let kind = kind_of(subject);
            let path = match subject {
                Subject::Kernel => KERNEL_NAME,
                _ => entry.path.as_str(),
            };
            let before = dsos.len();
            let id = dsos.intern_listed(path, kind, entry.build_id);
            // A file that was removed is listed as that, and its mapping has told more.
            if dsos.len() > before {
                let dso = dsos.get_mut(id);
                dso.recorded_by = dso.identity.map(|_| recorded_by);
                dso.id_length = entry.length;
            }
            added.push(id);
            id
        });
        let dso = dsos.get_mut(id);
        if dso.path != entry.path {
            dso.listed_as.get_or_insert_with(|| entry.path.clone());
        }
    }
    added
}

fn kind_of(subject: &Subject) -> DsoKind {
    match subject {
        Subject::Kernel => DsoKind::Kernel,
        Subject::Module(_) => DsoKind::Module,
        Subject::File(path) => super::kernel::user_dso_kind(path),
        Subject::Guest(path) if path.starts_with("[guest") => DsoKind::Kernel,
        Subject::Guest(path) => super::kernel::user_dso_kind(path),
    }
}

#[cfg(test)]
mod tests {
    use perftab_perfdata::format::IdLength;

    use super::*;

    fn id(byte: u8, length: usize) -> BuildId {
        BuildId::new(&[byte; 20][..length]).expect("not all zero")
    }

    fn padded(byte: u8, length: usize) -> BuildId {
        let mut bytes = [0; 20];
        bytes[..length].fill(byte);
        BuildId::new(&bytes).expect("not all zero")
    }

    fn entry(cpu_mode: u16, build_id: BuildId, path: &str) -> BuildIdEntry {
        // Padded ones are of a perf that wrote no length.
        let length = match build_id.as_bytes().last() {
            Some(0) => IdLength::AtMost,
            _ => IdLength::Recorded,
        };
        BuildIdEntry { cpu_mode, build_id, length, path: path.to_owned() }
    }

    const INODE: MappedFrom = MappedFrom::Inode { major: 8, minor: 1, inode: 99, generation: 0 };
    const OTHER: MappedFrom = MappedFrom::Inode { major: 8, minor: 1, inode: 98, generation: 0 };

    /// Path, id, where that stands and what the table calls it.
    type Row<'a> = (&'a str, Option<BuildId>, Option<RecordedBy>, Option<&'a str>);

    fn row(dso: &Dso) -> Row<'_> {
        (&dso.path, dso.build_id(), dso.recorded_by, dso.listed_as.as_deref())
    }

    fn rows(dsos: &Dsos) -> Vec<Row<'_>> {
        dsos.iter().map(|(_, dso)| row(dso)).collect()
    }

    /// As if every DSO had samples.
    fn apply_all(
        dsos: &mut Dsos,
        table: &[BuildIdEntry],
        stream: &[BuildIdEntry],
        warnings: &mut Warnings,
    ) {
        let sampled = dsos.iter().map(|(id, _)| id).collect();
        let sources = Sources { files: &Map::new(), stream, table, recorder: None };
        apply(dsos, &sampled, &sources, warnings);
    }

    fn kinds(warnings: Warnings) -> Vec<WarningKind> {
        warnings.finish().into_iter().map(|warning| warning.kind).collect()
    }

    #[test]
    fn b14_b15_b16_b17_kernel_and_modules_are_found_under_any_name() {
        let mut dsos = Dsos::default();
        dsos.intern(KERNEL_NAME, DsoKind::Kernel, MappedFrom::Nothing, None);
        dsos.intern("[xt_nat]", DsoKind::Module, MappedFrom::Nothing, None);
        let table = [
            entry(misc::CPUMODE_KERNEL, id(2, 20), "/lib/modules/6.1/xt-nat.ko.zst"),
            entry(misc::CPUMODE_KERNEL, id(1, 20), "/usr/lib/debug/boot/vmlinux-6.1"),
        ];
        let mut warnings = Warnings::default();
        apply_all(&mut dsos, &table, &[], &mut warnings);
        let table = Some(RecordedBy::Table);
        let kernel_path = Some("/usr/lib/debug/boot/vmlinux-6.1");
        let module_path = Some("/lib/modules/6.1/xt-nat.ko.zst");
        let expected = [
            (KERNEL_NAME, Some(id(1, 20)), table, kernel_path),
            ("[xt_nat]", Some(id(2, 20)), table, module_path),
        ];
        assert_eq!(rows(&dsos), expected);
        assert_eq!(kinds(warnings), []);
    }

    #[test]
    fn b16_b18_b19_a_module_of_any_name_is_not_taken_for_the_kernel() {
        let mut dsos = Dsos::default();
        dsos.intern(KERNEL_NAME, DsoKind::Kernel, MappedFrom::Nothing, None);
        for path in ["/opt/driver/fast-net", "[zl]", "/x"] {
            dsos.intern(path, DsoKind::Module, MappedFrom::Nothing, None);
        }
        let table = [
            entry(misc::CPUMODE_KERNEL, id(1, 20), "/opt/driver/fast-net"),
            entry(misc::CPUMODE_KERNEL, id(2, 20), "/opt/zl"),
            entry(misc::CPUMODE_KERNEL, id(3, 20), "/x"),
            entry(misc::CPUMODE_KERNEL, id(4, 20), "/k"),
        ];
        let mut warnings = Warnings::default();
        apply_all(&mut dsos, &table, &[], &mut warnings);
        let by = Some(RecordedBy::Table);
        let expected = [
            (KERNEL_NAME, Some(id(4, 20)), by, Some("/k")),
            ("/opt/driver/fast-net", Some(id(1, 20)), by, None),
            ("[zl]", Some(id(2, 20)), by, Some("/opt/zl")),
            ("/x", Some(id(3, 20)), by, None),
        ];
        assert_eq!(rows(&dsos), expected);
        assert_eq!(kinds(warnings), []);
    }

    #[test]
    fn mapping_before_stream_before_table() {
        let mut dsos = Dsos::default();
        for (path, mapped) in
            [("/mapped", MappedFrom::BuildId(id(1, 16))), ("/streamed", INODE), ("/listed", INODE)]
        {
            dsos.intern(path, DsoKind::User, mapped, None);
        }
        let user = misc::CPUMODE_USER;
        let stream = [entry(user, id(2, 20), "/streamed")];
        let table = [
            entry(user, padded(1, 16), "/mapped"),
            entry(user, id(2, 20), "/streamed"),
            entry(user, padded(3, 16), "/listed"),
            entry(user, id(4, 20), "/only listed"),
        ];
        let mut warnings = Warnings::default();
        apply_all(&mut dsos, &table, &stream, &mut warnings);
        let expected = [
            ("/mapped", Some(id(1, 16)), Some(RecordedBy::Mmap), None),
            ("/streamed", Some(id(2, 20)), Some(RecordedBy::Stream), None),
            ("/listed", Some(padded(3, 16)), Some(RecordedBy::Table), None),
            ("/only listed", Some(id(4, 20)), Some(RecordedBy::Table), None),
        ];
        assert_eq!(rows(&dsos), expected);
        assert_eq!(kinds(warnings), []);
    }

    #[test]
    fn b05_a_file_that_was_replaced_is_said_and_both_ids_are_listed() {
        let mut dsos = Dsos::default();
        dsos.intern("/bin/a", DsoKind::User, MappedFrom::BuildId(id(1, 20)), None);
        let table = [entry(misc::CPUMODE_USER, id(2, 20), "/bin/a")];
        let mut warnings = Warnings::default();
        apply_all(&mut dsos, &table, &[], &mut warnings);
        let expected = [
            ("/bin/a", Some(id(1, 20)), Some(RecordedBy::Mmap), None),
            ("/bin/a", Some(id(2, 20)), Some(RecordedBy::Table), None),
        ];
        assert_eq!(rows(&dsos), expected);
        assert_eq!(kinds(warnings), [WarningKind::BuildIdConflict]);
    }

    #[test]
    fn a_file_that_was_removed_is_not_the_one_at_its_path() {
        let mut dsos = Dsos::default();
        dsos.intern("/bin/a (deleted)", DsoKind::User, INODE, None);
        dsos.intern("/bin/a", DsoKind::User, INODE, None);
        let table = [entry(misc::CPUMODE_USER, id(2, 20), "/bin/a")];
        let mut warnings = Warnings::default();
        apply_all(&mut dsos, &table, &[], &mut warnings);
        let expected = [
            ("/bin/a", None, None, None),
            ("/bin/a", Some(id(2, 20)), Some(RecordedBy::Table), None),
        ];
        assert_eq!(rows(&dsos), expected);
        assert_eq!(kinds(warnings), []);
    }

    #[test]
    fn a_file_that_was_removed_has_the_id_of_its_mapping() {
        let mut dsos = Dsos::default();
        dsos.intern("/bin/a (deleted)", DsoKind::User, MappedFrom::BuildId(id(1, 20)), None);
        let table = [entry(misc::CPUMODE_USER, id(1, 20), "/bin/a (deleted)")];
        let mut warnings = Warnings::default();
        apply_all(&mut dsos, &table, &[], &mut warnings);
        let listed_as = Some("/bin/a (deleted)");
        let mapped = Some(RecordedBy::Mmap);
        assert_eq!(rows(&dsos), [("/bin/a", Some(id(1, 20)), mapped, listed_as)]);
        assert_eq!(kinds(warnings), []);
    }

    #[test]
    fn one_name_for_two_files_gives_no_identity() {
        for (inodes, ids) in [([INODE, OTHER], vec![1]), ([INODE, INODE], vec![1, 2])] {
            let mut dsos = Dsos::default();
            for inode in inodes {
                dsos.intern("/bin/a", DsoKind::User, inode, None);
            }
            let entries: Vec<_> =
                ids.iter().map(|&it| entry(misc::CPUMODE_USER, id(it, 20), "/bin/a")).collect();
            let mut warnings = Warnings::default();
            apply_all(&mut dsos, &entries, &[], &mut warnings);
            let mapped = |dso: &&Dso| dso.mapped_from == INODE || dso.mapped_from == OTHER;
            assert!(
                dsos.iter().map(|(_, dso)| dso).filter(mapped).all(|dso| dso.identity.is_none())
            );
            let listed = rows(&dsos).into_iter().filter_map(|row| row.1).collect::<Vec<_>>();
            assert_eq!(listed, ids.iter().map(|&it| id(it, 20)).collect::<Vec<_>>());
            assert_eq!(kinds(warnings), [WarningKind::Ambiguous]);
        }
    }

    #[test]
    fn b04_an_id_in_one_mapping_says_nothing_of_a_mapping_without() {
        let mut dsos = Dsos::default();
        dsos.intern("/bin/a", DsoKind::User, MappedFrom::BuildId(id(1, 20)), None);
        let without = dsos.intern("/bin/a", DsoKind::User, INODE, None);
        let mut known = dsos.clone();
        let table = [entry(misc::CPUMODE_USER, id(1, 20), "/bin/a")];
        let mut warnings = Warnings::default();
        apply_all(&mut dsos, &table, &[], &mut warnings);
        assert_eq!(dsos.get(without).identity, None);
        assert_eq!(kinds(warnings), [WarningKind::Ambiguous]);

        // Of perftab's own recording it is no help to say that perftab would write it.
        for (recorder, remedy) in [("6.1.0", "Record with"), ("perftab 0.1.0", "could not read")] {
            let mut warnings = Warnings::default();
            let sources = Sources {
                files: &Map::new(),
                stream: &[],
                table: &table,
                recorder: Some(recorder),
            };
            let sampled = dsos.iter().map(|(id, _)| id).collect();
            apply(&mut dsos.clone(), &sampled, &sources, &mut warnings);
            let said = warnings.finish().into_iter().map(|it| it.message).collect::<String>();
            assert!(said.contains(remedy), "{recorder}: {said}");
        }

        // What was recorded for the inode does.
        let files = Map::from([(INODE, Identity::Gnu(id(2, 20)))]);
        let sources = Sources { files: &files, stream: &[], table: &table, recorder: None };
        let sampled = known.iter().map(|(id, _)| id).collect();
        let mut warnings = Warnings::default();
        apply(&mut known, &sampled, &sources, &mut warnings);
        assert_eq!(known.get(without).build_id(), Some(id(2, 20)));
        assert_eq!(kinds(warnings), [WarningKind::BuildIdConflict]);
    }

    #[test]
    fn b05_two_builds_under_one_path_are_said() {
        let mut dsos = Dsos::default();
        for byte in [1, 2] {
            dsos.intern("/bin/a", DsoKind::User, MappedFrom::BuildId(id(byte, 20)), None);
        }
        let mut warnings = Warnings::default();
        apply_all(&mut dsos, &[], &[], &mut warnings);
        assert_eq!(kinds(warnings), [WarningKind::BuildIdConflict]);
        // Only where both were hit.
        let mut warnings = Warnings::default();
        let sources = Sources { files: &Map::new(), stream: &[], table: &[], recorder: None };
        apply(&mut dsos, &Set::from([DsoId(0)]), &sources, &mut warnings);
        assert_eq!(kinds(warnings), []);
    }

    #[test]
    fn an_id_that_all_modules_share_is_no_identity() {
        let shared = MappedFrom::BuildId(id(7, 20));
        let mut dsos = Dsos::default();
        for path in ["/lib/modules/6.17/a.ko", "/lib/modules/6.17/b.ko.xz"] {
            dsos.intern(path, DsoKind::Module, shared, None);
        }
        let own = MappedFrom::BuildId(id(8, 20));
        dsos.intern("/lib/modules/6.17/c.ko", DsoKind::Module, own, None);
        let mut warnings = Warnings::default();
        apply_all(&mut dsos, &[], &[], &mut warnings);
        let ids: Vec<_> = rows(&dsos).into_iter().map(|row| row.1).collect();
        assert_eq!(ids, [None, None, Some(id(8, 20))]);
        assert_eq!(kinds(warnings), [WarningKind::Ambiguous]);
    }

    #[test]
    fn what_a_guest_has_is_not_the_hosts() {
        let mut dsos = Dsos::default();
        dsos.intern("/bin/a", DsoKind::User, INODE, None);
        dsos.intern(KERNEL_NAME, DsoKind::Kernel, MappedFrom::Nothing, None);
        let table = [
            entry(misc::CPUMODE_GUEST_USER, id(1, 20), "/bin/a"),
            entry(misc::CPUMODE_GUEST_KERNEL, id(2, 20), "[guest.kernel.kallsyms]"),
        ];
        apply_all(&mut dsos, &table, &[], &mut Warnings::default());
        let ids: Vec<_> = rows(&dsos).into_iter().map(|row| row.1).collect();
        assert_eq!(ids, [None, None, Some(id(1, 20)), Some(id(2, 20))]);
    }
}
