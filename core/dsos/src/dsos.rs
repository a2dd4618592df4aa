//! Mapped files and what identifies them.

use perftab_perfdata::map::{Map, Set};
use std::ops::Range;

use perftab_perfdata::format::{BuildId, IdLength};
use serde::{Deserialize, Serialize};

use crate::{DsoId, Identity, MappedFrom, ProcessId};

/// What kind of thing was mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// Not code: what perftab has to say of a stack. Addresses are numbers of [`PseudoFrame`](crate::PseudoFrame).
    Pseudo,
}

/// Where a recorded identity stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordedBy {
    /// In the MMAP2 record, or read by perftab when that came: the build as mapped.
    Mmap,
    /// In the table written at the end: the build on disk after the run.
    Table,
    /// In a record that `perf inject` put into the stream.
    Stream,
}

/// A mapped file. Two builds of one path are two DSOs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dso {
    /// Path as recorded, without ` (deleted)`.
    pub path: String,
    /// It had been removed when it was seen mapped, and no build-id says what it was: whatever has
    /// its path is another file.
    pub is_deleted: bool,
    /// The path that the build-id table has for it, where that is another: of the kernel the
    /// vmlinux that it was, of a kernel module its file.
    pub listed_as: Option<String>,
    /// What kind of thing.
    pub kind: DsoKind,
    /// What its mappings said of it.
    pub mapped_from: MappedFrom,
    /// What an image must have to give names; `None`: recorded without one.
    pub identity: Option<Identity>,
    /// How much of a build-id is certain.
    pub id_length: IdLength,
    /// Where the identity stands.
    pub recorded_by: Option<RecordedBy>,
    /// Why there is no identity, where there is more to say than that none was recorded.
    #[serde(skip)]
    pub no_identity_because: Option<&'static str>,
    /// Where its code was mapped from, as far as that differs, in the order of the recording. An
    /// image is held against it.
    pub executable: Vec<ExecutableMapping>,
    /// For code without a file, and for the jitdump that a process maps: the process it belongs to.
    pub process: Option<ProcessId>,
    /// For the kernel and its modules: where it was.
    pub kernel_place: KernelPlace,
}

/// A part of a file that was mapped to be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutableMapping {
    /// File offset at which it begins, a multiple of a page; of code that `perf inject` put there, another.
    pub offset: u64,
    /// How many bytes, by whole pages; `None` where that is not known (in a link).
    pub length: Option<u64>,
}

/// Who wrote that a file was mapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MappedBy {
    /// The kernel, or whoever recorded what it had mapped.
    #[default]
    Kernel,
    /// `perf inject --jit`: the file has code of a process, which was elsewhere.
    Inject,
}

/// No kernel has smaller ones.
const PAGE: u64 = 0x1000;

impl MappedBy {
    /// By the path of a file and the offset of its code. `perf inject --jit` writes `jitted-PID-NUMBER.so`, one for each
    /// method that a run time compiled, with the code right behind the ELF header; what a kernel maps begins with a page.
    /// Code that moved has that offset, too, and a path without `.so`, where no file is (`jit_repipe_code_load` and
    /// `jit_repipe_code_move` in tools/perf/util/jitdump.c, Linux 6.12).
    pub fn of(path: &str, offset: u64) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let numbers = name.strip_prefix("jitted-");
        let numbers = numbers.map(|numbers| numbers.strip_suffix(".so").unwrap_or(numbers));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        let is_of_inject = numbers
            .and_then(|numbers| numbers.split_once('-'))
            .is_some_and(|(pid, number)| is_number(pid) && is_number(number));
        match is_of_inject && !offset.is_multiple_of(PAGE) {
            true => Self::Inject,
            false => Self::Kernel,
        }
    }
}

/// More are not kept: they are parts of what there is.
const MAX_EXECUTABLE: usize = 16;

/// Where the kernel, or a module of it, was while it was recorded. All addresses are AVMAs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelPlace {
    /// Of the kernel: where its reference symbol was; the slide of KASLR is the difference to that
    /// symbol's value in a vmlinux. Of a module: where its memory begins. `None` if it was not
    /// recorded or hidden (`kernel.kptr_restrict`).
    pub reference: Option<u64>,
    /// Name of the kernel's reference symbol; `None` if it was not recorded.
    pub symbol: Option<String>,
    /// The mapping as recorded: it may end anywhere behind the code.
    pub range: Option<Range<u64>>,
    /// Other references that were recorded: of a module that was loaded again. A kernel does not
    /// move, so one that has any has no known place.
    pub moved_to: Set<u64>,
}

impl KernelPlace {
    /// Takes in a mapping; `reference` is 0 where it was hidden.
    pub fn add(&mut self, reference: u64, range: Range<u64>) {
        match self.reference {
            _ if reference == 0 => {}
            None => self.reference = Some(reference),
            Some(known) if known == reference => {}
            Some(_) => {
                self.moved_to.insert(reference);
            }
        }
        self.range.get_or_insert(range);
    }

    /// All references: of a module everywhere that it was loaded.
    pub fn references(&self) -> impl Iterator<Item = u64> + '_ {
        self.reference.iter().chain(&self.moved_to).copied()
    }
}

impl Dso {
    /// True of a file that ran, if nothing tells which build it is.
    pub fn is_unidentified_file(&self) -> bool {
        self.kind == DsoKind::User && self.identity.is_none()
    }

    /// Last part of the path.
    pub fn name(&self) -> &str {
        match self.kind {
            DsoKind::User | DsoKind::Module => self.path.rsplit('/').next().unwrap_or(&self.path),
            _ => &self.path,
        }
    }

    /// Takes in a mapping of code.
    pub fn add_executable(&mut self, mapping: ExecutableMapping) {
        if self.executable.len() < MAX_EXECUTABLE && !self.executable.contains(&mapping) {
            self.executable.push(mapping);
        }
    }

    /// Who wrote that its code was mapped; of several, the kernel.
    pub fn mapped_by(&self) -> MappedBy {
        let mut offsets = self.executable.iter().map(|mapping| mapping.offset);
        let first = offsets.next().map(|offset| MappedBy::of(&self.path, offset));
        let others = |by: &MappedBy| offsets.all(|offset| MappedBy::of(&self.path, offset) == *by);
        first.filter(others).unwrap_or(MappedBy::Kernel)
    }

    /// File offset at which the first mapping of its code begins.
    pub fn executable_offset(&self) -> Option<u64> {
        self.executable.first().map(|mapping| mapping.offset)
    }

    /// The build-id, if zeros at its end may be padding, and what is known of its length. The kernel
    /// tells how long an id is.
    pub fn padded_id(&self) -> Option<(BuildId, IdLength)> {
        let is_exact = self.recorded_by == Some(RecordedBy::Mmap);
        let build_id = self.build_id().filter(|_| !is_exact);
        let build_id = build_id.filter(|build_id| build_id.as_bytes().last() == Some(&0));
        build_id.map(|build_id| (build_id, self.id_length))
    }

    /// True if a file of this build-id may be the one that was recorded. Where another DSO has the id
    /// to the byte, the gate decides.
    pub fn may_have(&self, found: BuildId) -> bool {
        let is_padded = |(recorded, length): (BuildId, _)| recorded.may_be(found, length);
        self.build_id() == Some(found) || self.padded_id().is_some_and(is_padded)
    }

    /// The GNU build-id, if that is the identity recorded.
    pub fn build_id(&self) -> Option<BuildId> {
        match self.identity {
            Some(Identity::Gnu(id)) => Some(id),
            _ => None,
        }
    }
}

/// What the kernel writes behind the path of a file that was removed while mapped.
const DELETED: &str = " (deleted)";

/// The path of a file that may have been removed while mapped.
fn without_deleted(path: &str) -> &str {
    path.strip_suffix(DELETED).unwrap_or(path)
}

/// Why nobody can say which build of a name it is.
const SEVERAL_BUILDS: &str = "several builds of it were mapped, and nothing says which this is";

/// What makes a mapped file that one and no other.
type DsoKey = (String, DsoKind, MappedFrom, Option<ProcessId>);

fn forms_with_less(kind: DsoKind, mapped_from: MappedFrom) -> impl Iterator<Item = MappedFrom> {
    let less_told = move |form: MappedFrom| match (kind, form) {
        // The kernel tells nothing of it. Who records tells the id of what was mapped before, and a machine has one of a name.
        (DsoKind::Vdso, MappedFrom::BuildId(_)) => Some(MappedFrom::Nothing),
        _ => form.less_told(),
    };
    std::iter::successors(less_told(mapped_from), move |&less| less_told(less))
}

/// All mapped files.
#[derive(Clone, Debug, Default)]
pub struct Dsos {
    dsos: Vec<Dso>,
    index: Map<DsoKey, DsoId>,
    /// What may be any of several builds that are here.
    of_any_build: Set<DsoId>,
}

impl Dsos {
    /// The DSO with this path, content and process, new or known. A path may end in
    /// ` (deleted)`: without a build-id that is another file than what has the path now.
    pub fn intern(
        &mut self,
        path: &str,
        kind: DsoKind,
        mapped_from: MappedFrom,
        process: Option<ProcessId>,
    ) -> DsoId {
        let path = match mapped_from {
            MappedFrom::BuildId(_) => without_deleted(path),
            _ => path,
        };
        let key = (path.to_owned(), kind, mapped_from, process);
        if let Some(&known) = self.index.get(&key) {
            return known;
        }
        let id = self.of_less_told(&key).unwrap_or_else(|| self.new_dso(&key));
        // Of which less is told is the one that was met first.
        for less in forms_with_less(kind, mapped_from) {
            let less = (key.0.clone(), kind, less, process);
            match self.index.get(&less) {
                Some(&other)
                    if kind == DsoKind::Vdso
                        && other != id
                        && self.get(other).build_id().is_some() =>
                {
                    let unknown = self.new_dso(&less);
                    self.get_mut(unknown).no_identity_because = Some(SEVERAL_BUILDS);
                    self.of_any_build.insert(unknown);
                    self.index.insert(less, unknown);
                }
                Some(_) => {}
                None => drop(self.index.insert(less, id)),
            }
        }
        self.index.insert(key, id);
        id
    }

    /// The DSO with this path and build-id, new or known, which a table lists: nothing says that what was mapped without
    /// an id is that.
    pub fn intern_listed(&mut self, path: &str, kind: DsoKind, build_id: BuildId) -> DsoId {
        let key = (without_deleted(path).to_owned(), kind, MappedFrom::BuildId(build_id), None);
        if let Some(&known) = self.index.get(&key) {
            return known;
        }
        let id = self.new_dso(&key);
        self.index.insert(key, id);
        id
    }

    /// The DSO of which less had been told until now.
    fn of_less_told(&mut self, key: &DsoKey) -> Option<DsoId> {
        let (path, kind, mapped_from, process) = key;
        let known = forms_with_less(*kind, *mapped_from).find_map(|less| {
            let known = *self.index.get(&(path.clone(), *kind, less, *process))?;
            let dso = self.dsos.get(known.index())?;
            let is_any = self.of_any_build.contains(&known);
            (dso.mapped_from == less && !is_any).then_some(known)
        })?;
        let dso = self.get_mut(known);
        dso.mapped_from = *mapped_from;
        if let Some(build_id) = mapped_from.build_id() {
            dso.identity = Some(Identity::Gnu(build_id));
            dso.recorded_by = Some(RecordedBy::Mmap);
        }
        Some(known)
    }

    fn new_dso(&mut self, key: &DsoKey) -> DsoId {
        let (path, kind, mapped_from, process) = key;
        let identity = mapped_from.build_id().map(Identity::Gnu);
        self.add(Dso {
            path: without_deleted(path).to_owned(),
            is_deleted: path.ends_with(DELETED),
            listed_as: None,
            kind: *kind,
            mapped_from: *mapped_from,
            identity,
            id_length: IdLength::Recorded,
            recorded_by: identity.map(|_| RecordedBy::Mmap),
            no_identity_because: None,
            executable: Vec::new(),
            process: *process,
            kernel_place: KernelPlace::default(),
        })
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

/// Those that are known already, in the order of their ids.
impl FromIterator<Dso> for Dsos {
    fn from_iter<T: IntoIterator<Item = Dso>>(dsos: T) -> Self {
        Self { dsos: dsos.into_iter().collect(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inode_is_one_file_until_its_generation_changes() {
        let inode = |inode, generation| match inode {
            0 => MappedFrom::Nothing,
            _ => MappedFrom::Inode { major: 8, minor: 1, inode, generation },
        };
        let mut dsos = Dsos::default();
        let mut intern = |mapped| dsos.intern("/bin/a", DsoKind::User, mapped, None).0;
        let met = [(5, 0), (5, 77), (5, 0), (5, 78), (5, 77), (0, 0), (6, 0), (7, 77), (7, 0)];
        let expected = [0, 0, 0, 1, 0, 0, 2, 3, 3];
        assert_eq!(met.map(|(number, generation)| intern(inode(number, generation))), expected);

        let mut dsos = Dsos::default();
        let mut intern = |path, mapped| dsos.intern(path, DsoKind::User, mapped, None).0;
        let deleted = "/bin/a (deleted)";
        assert_eq!(intern(deleted, inode(5, 0)), 0);
        assert_eq!([intern("/bin/a", inode(0, 0)), intern("/bin/a", inode(5, 3))], [1, 1]);
        assert_eq!(intern(deleted, inode(5, 3)), 0);
        assert_eq!(
            (dsos.get(DsoId(0)).path.as_str(), dsos.get(DsoId(0)).is_deleted),
            ("/bin/a", true)
        );
    }

    #[test]
    fn a_vdso_is_one_whether_its_id_is_told_or_not() {
        let id = |byte| MappedFrom::BuildId(BuildId::new(&[byte; 20]).expect("not all zero"));
        for met in [[id(1), MappedFrom::Nothing], [MappedFrom::Nothing, id(1)]] {
            let mut dsos = Dsos::default();
            let mut intern = |path, form| dsos.intern(path, DsoKind::Vdso, form, None).0;
            assert_eq!(met.map(|form| intern("[vdso]", form)), [0, 0]);
            // That of programs of 32 bits, and one that can be of another machine only.
            assert_eq!(intern("[vdso32]", MappedFrom::Nothing), 1);
            assert_eq!(intern("[vdso]", id(2)), 2);
            // Nor what a table lists.
            let listed = BuildId::new(&[3; 20]).expect("not all zero");
            assert_eq!(dsos.intern_listed("[vdso]", DsoKind::Vdso, listed), DsoId(4));
            let told = |id| (dsos.get(DsoId(id)).build_id(), dsos.get(DsoId(id)).recorded_by);
            assert_eq!(told(0), (id(1).build_id(), Some(RecordedBy::Mmap)));
            assert_eq!(told(1), (None, None));
        }
        // Of two machines, as it seems: which of them has what comes without an id, nobody knows.
        let mut dsos = Dsos::default();
        let mut intern = |form| dsos.intern("[vdso]", DsoKind::Vdso, form, None).0;
        let [nothing, third] = [MappedFrom::Nothing, id(3)];
        assert_eq!([id(1), nothing, id(2)].map(&mut intern), [0, 0, 1]);
        assert_eq!(intern(nothing), 2);
        // Others say why, too.
        dsos.get_mut(DsoId(2)).no_identity_because = None;
        let intern = |form| dsos.intern("[vdso]", DsoKind::Vdso, form, None).0;
        assert_eq!([third, nothing, id(1), id(2)].map(intern), [3, 2, 0, 1]);
        assert_eq!(dsos.get(DsoId(2)).build_id(), None);
        // A file may have been replaced.
        let mut dsos = Dsos::default();
        let mut intern = |form| dsos.intern("/bin/a", DsoKind::User, form, None).0;
        assert_eq!([intern(id(1)), intern(MappedFrom::Nothing)], [0, 1]);
    }

    #[test]
    fn what_perf_injected_is_known_by_its_name_and_its_place() {
        let by = |path: &str, offsets: &[u64]| {
            let mut dsos = Dsos::default();
            let dso = dsos.intern(path, DsoKind::User, MappedFrom::Nothing, None);
            for &offset in offsets {
                let length = Some(0x40);
                dsos.get_mut(dso).add_executable(ExecutableMapping { offset, length });
            }
            dsos.get(dso).mapped_by()
        };
        for path in
            ["jitted-1-2.so", "jitted-1-2", "/home/seven/.debug/jit/java-jit-x/jitted-4711-0.so"]
        {
            assert_eq!(by(path, &[0x80]), MappedBy::Inject, "{path}");
            assert_eq!(by(path, &[0x80, 0x40]), MappedBy::Inject, "{path}");
            // A program may call a library of its own so.
            for offsets in [&[0x1000][..], &[0], &[0x80, 0x1000], &[0x1000, 0x80], &[]] {
                assert_eq!(by(path, offsets), MappedBy::Kernel, "{path} {offsets:x?}");
            }
        }
        for path in [
            "/usr/lib/jitted.so",
            "jitted-1.so",
            "jitted-a-2.so",
            "jitted-1-2.so.so",
            "/jitted-1-2.so/x",
            "jitted--.so",
        ] {
            assert_eq!(by(path, &[0x80]), MappedBy::Kernel, "{path}");
        }
    }
}
