//! Files of a build on this machine, for a page that asks by build-id alone.
//!
//! What the user named first, then by id. Where that finds nothing, the page has told of the
//! recordings that it read under which paths something with this id ran, and whether it is a kernel
//! or a module. A file without a build-id is found by those paths and by its hash. Whatever is handed
//! out has the id in its content, or is the content: the page believes it no more than a server.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::Context;
use perftab_core::session::{CodeWanted, RecordedFile, RecordedFiles};
use perftab_core::{
    Clock, CodeTable, CompanionId, ContentHash, DsoId, DsoKind, Identity, Svma, stamped_kallsyms,
};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::format::BuildId;
use perftab_perfdata::format::elf_note::build_id_of_elf;

use super::kept_files::{Asked, KeptFiles};
use super::route::LocalFile;
use super::sources::{FoundSource, NoSource, SourceSearch};
use crate::buildid_cache::Cache;
use crate::cli::ImageArgs;
use crate::debuginfod_client::{Artifact, Client};
use crate::images::candidates::{Candidates, SoughtDso};
use crate::images::companions::{Companions, GivenCompanions};
use crate::images::kernel_copies::KernelCopies;
use crate::images::local::{self, Holding, Located, Places};
use crate::images::trusted::{self, Doubt, Found, Making};
use crate::images::unpacked::unpacked;
use crate::images::{code_of_processes, folders, identity};
use crate::input::Input;
use crate::late_ids::{Judgement, ThisMachine};
use crate::output;
use crate::place_texts::source_places::MovedPaths;
use crate::record::own_vdso;
use crate::recording::Recording;
use crate::scratch;

/// What a request for a file of a build is answered with.
pub enum ServedFile {
    /// A file.
    Whole(File),
    /// Bytes of one.
    Part(File, Range<u64>),
}

impl ServedFile {
    /// The file.
    pub fn file(&self) -> &File {
        match self {
            Self::Whole(file) | Self::Part(file, _) => file,
        }
    }
}

/// This machine, for the DSOs of some recordings.
pub struct LocalMachine {
    named: NamedFiles,
    /// `None`: nothing else is to be looked at.
    places: Option<Places>,
    /// Where copies of kernels' memory may be.
    kernels: Option<Cache>,
    profiles: Arc<[Input]>,
    /// What the page has told of the profiles, by their numbers.
    told: Mutex<BTreeMap<usize, Arc<ToldRecording>>>,
    /// By profile and process; `None` where there are several.
    jitdumps: Mutex<BTreeMap<usize, BTreeMap<u32, Option<File>>>>,
    kept: KeptFiles,
    /// What is at the paths of profiles, by their numbers, once the user has asked for it.
    trusted: Mutex<BTreeMap<usize, Arc<[AtPath]>>>,
    /// What builds name, once the page asked for some of it.
    companions: Mutex<HashMap<BuildId, Arc<Companions>>>,
}

/// A DSO without an identity, its path, and what is there.
pub type AtPath = (DsoId, String, Result<Found, Doubt>);

/// Builds whose companions are known at once.
const MOST_BUILDS: usize = 64;

/// Paths at which a file is looked for by its content: of each file all bytes are read.
const MOST_PATHS: usize = 100;

/// What the page has told of a recording.
struct ToldRecording {
    files: Vec<RecordedFile>,
    /// `None`: this machine is left alone.
    machine: Option<Mutex<Candidates>>,
}

impl LocalMachine {
    /// As the command line says, for the DSOs of `profiles`. Fails if a file that is named can't
    /// be read.
    pub fn new(args: &ImageArgs, profiles: Arc<[Input]>) -> anyhow::Result<Self> {
        let places = || Places::of_this_machine(args.cache.buildid_dir.as_deref());
        Ok(Self {
            named: NamedFiles::find(&args.image)?,
            places: (!args.no_local).then(places),
            kernels: Cache::of_user(args.cache.buildid_dir.as_deref()).filter(|_| !args.no_local),
            profiles,
            told: Mutex::default(),
            jitdumps: Mutex::default(),
            kept: KeptFiles::default(),
            trusted: Mutex::default(),
            companions: Mutex::default(),
        })
    }

    /// A file that is here, in the state that the page has begun with.
    pub fn open_kept(&self, wanted: &LocalFile, begun_with: Option<&str>) -> io::Result<Asked> {
        self.kept.get_or_find(wanted, begun_with, || match wanted {
            LocalFile::Build(id, artifact) => self.find(*id, artifact),
            LocalFile::Best(id) => [Artifact::DebugInfo, Artifact::Executable]
                .iter()
                .find_map(|artifact| self.find(*id, artifact)),
            LocalFile::Memory(id) => self.find_memory(*id).map(ServedFile::Whole),
            LocalFile::Companion(id, companion) => {
                self.find_companion(*id, *companion).map(ServedFile::Whole)
            }
            LocalFile::Content(hash) => self.find_content(*hash).map(ServedFile::Whole),
            LocalFile::Trusted(number, dso) => {
                let trusted = self.trusted(*number).ok().flatten()?;
                let (_, _, found) = trusted.iter().find(|(of, ..)| of == dso)?;
                Some(ServedFile::Whole(found.as_ref().ok()?.file.try_clone().ok()?))
            }
        })
    }

    /// The artifact of a build, if it is here.
    pub fn find(&self, id: BuildId, artifact: &Artifact) -> Option<ServedFile> {
        match artifact {
            Artifact::Executable => {
                self.open(id, Holding::Code).map(|it| ServedFile::Whole(it.file))
            }
            Artifact::DebugInfo => {
                self.open(id, Holding::Dwarf).map(|it| ServedFile::Whole(it.file))
            }
            // As debuginfod does: from the debug file, else from the executable.
            Artifact::Section(name) => {
                [Holding::Dwarf, Holding::Code].into_iter().find_map(|holding| {
                    let file = self.open(id, holding)?.file;
                    let range = identity::image(&file).ok()??.section_range(name)?;
                    Some(ServedFile::Part(file, range))
                })
            }
            // A source has no identity, so no file of this machine can be known to be it.
            Artifact::Source(_) => None,
        }
    }

    /// A copy of the memory of a kernel of this build.
    fn find_memory(&self, id: BuildId) -> Option<File> {
        let named = self.named.memories.get(&id).and_then(|path| local::open_regular(path));
        let kept = || Some(self.kernels.as_ref()?.kernel_memory(id)?.1);
        let is_it = |file: &File| identity::of(file) == Some(Identity::Gnu(id));
        named.filter(is_it).or_else(kept)
    }

    /// A file that the debug information of a build names by this id. The page says neither path nor name.
    fn find_companion(&self, build: BuildId, id: CompanionId) -> Option<File> {
        let known = self.companions().get(&build).cloned();
        let companions = known.or_else(|| {
            let dwarf = self.open(build, Holding::Dwarf)?;
            let image = identity::image(&dwarf.file).ok()??;
            let code = self.open(build, Holding::Code);
            let paths = [Some(dwarf), code].into_iter().flatten().filter_map(|it| it.path);
            let read = Arc::new(Companions::of(&image, build, paths.collect()));
            let mut known = self.companions();
            if known.len() >= MOST_BUILDS {
                known.clear();
            }
            known.insert(build, Arc::clone(&read));
            Some(read)
        })?;
        companions.open(id, &self.named.companions, self.places.as_ref())
    }

    /// The source file that the code at an address of a build was made of; `None` if it is not here.
    pub fn source(
        &self,
        here: Option<&MovedPaths>,
        servers: Option<&Client>,
        (identity, address): (Identity, Svma),
    ) -> Option<Result<FoundSource, NoSource>> {
        let debug = match identity {
            Identity::Gnu(id) => self.open(id, Holding::Dwarf)?.file,
            Identity::Content(hash) => self.find_content(hash)?,
        };
        let recorded = self.profiles.iter().filter_map(|it| it.recording()?.written()).max();
        let search = SourceSearch { here, servers, recorded };
        search.find(&debug, identity, address)
    }

    fn companions(&self) -> MutexGuard<'_, HashMap<BuildId, Arc<Companions>>> {
        self.companions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file of this content, if it is still where it ran, or a process still runs it.
    fn find_content(&self, hash: ContentHash) -> Option<File> {
        let told = if self.places.is_some() { self.told() } else { Vec::new() };
        let paths = told.iter().flat_map(|recording| recording.places_of(hash));
        let is_it = |file: &File| identity::of(file) == Some(Identity::Content(hash));
        // A recording may have a thousand spellings of one path, and each file is read whole.
        let mut seen = HashSet::new();
        let mut is_new =
            |file: &File| file.metadata().is_ok_and(|it| seen.insert((it.dev(), it.ino())));
        let mut files = paths.take(MOST_PATHS).filter_map(|path| local::open_regular(&path));
        let found = files.find(|file| is_new(file) && is_it(file));
        found.or_else(|| local::open_regular(self.named.of_content(hash)?).filter(is_it))
    }

    /// Takes what the page has read of a recording, and says what it cannot see of build-ids that
    /// were read at the end. `None` if no profile has this number.
    pub fn learn(&self, number: usize, recorded: RecordedFiles) -> Option<Judgement> {
        let input = self.profiles.get(number)?;
        let judgement = match self.places {
            Some(_) => input.late_ids(&recorded),
            None => Judgement::default(),
        };
        let RecordedFiles { os_release, pids, files, .. } = recorded;
        let places = self.places.clone();
        let machine = places.map(|it| Mutex::new(Candidates::new(it, os_release.as_deref(), pids)));
        let told = ToldRecording { files, machine };
        self.lock_told().insert(number, Arc::new(told));
        Some(judgement)
    }

    /// What processes of a recording say of the code that they made. `None` if no profile has this number.
    pub fn code(&self, number: usize, wanted: &CodeWanted) -> Option<Vec<CodeTable>> {
        let written = self.profiles.get(number)?.recording().and_then(Recording::written);
        let find = |_: &Places| code_of_processes::find(wanted, written);
        let found = self.places.as_ref().map(find).unwrap_or_default();
        let mut jitdumps: BTreeMap<u32, Option<File>> = BTreeMap::new();
        for (table, file) in &found {
            if let Some(pid) = table.pid.filter(|_| table.clock != Clock::Absent) {
                // Of two, nobody can say which is meant.
                let first = (!jitdumps.contains_key(&pid)).then(|| file.try_clone().ok());
                jitdumps.insert(pid, first.flatten());
            }
        }
        self.lock_jitdumps().insert(number, jitdumps);
        Some(found.into_iter().map(|(table, _)| table).collect())
    }

    /// The jitdump in which [`Self::code`] has found what a process says of its code.
    pub fn jitdump(&self, number: usize, pid: u32) -> Option<File> {
        self.lock_jitdumps().get(&number)?.get(&pid)?.as_ref()?.try_clone().ok()
    }

    fn lock_jitdumps(&self) -> MutexGuard<'_, BTreeMap<usize, BTreeMap<u32, Option<File>>>> {
        self.jitdumps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What may name the DSOs of a recording that have no build-id, if the user trusts their paths. The recording is read
    /// for it: the page says no path. `None` if no profile has this number, it is a link, or this machine is left alone.
    pub fn trusted(&self, number: usize) -> anyhow::Result<Option<Arc<[AtPath]>>> {
        let recording = self.profiles.get(number).and_then(Input::recording);
        let (Some(places), Some(recording)) = (&self.places, recording) else { return Ok(None) };
        let mut known = self.trusted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&number) {
            return Ok(Some(Arc::clone(found)));
        }
        let session = recording.read(ThisMachine::Asked)?;
        let making = Making::of(recording, &session);
        let path = |dso: DsoId| session.profile().dsos.get(dso).path.clone();
        let found = trusted::find_all(&session, &making, places).into_iter();
        let found: Arc<[AtPath]> = found.map(|(dso, found)| (dso, path(dso), found)).collect();
        known.insert(number, Arc::clone(&found));
        Ok(Some(found))
    }

    /// Of all recordings; nothing is locked when files are looked for.
    fn told(&self) -> Vec<Arc<ToldRecording>> {
        self.lock_told().values().cloned().collect()
    }

    fn lock_told(&self) -> MutexGuard<'_, BTreeMap<usize, Arc<ToldRecording>>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, id: BuildId, holding: Holding) -> Option<Located> {
        local::open_matching(self.named.of_build(id), id, holding).or_else(|| {
            let places = self.places.as_ref()?;
            let by_id = match holding {
                Holding::Code => places.executables(id),
                Holding::Dwarf => [places.debug_files(id), places.executables(id)].concat(),
            };
            local::open_matching(by_id, id, holding)
                .or_else(|| self.told().iter().find_map(|recording| recording.open(id, holding)))
        })
    }
}

impl ToldRecording {
    /// Where a file of this content may be.
    fn places_of(&self, hash: ContentHash) -> Vec<PathBuf> {
        let Some(machine) = &self.machine else { return Vec::new() };
        let mut machine = machine.lock().unwrap_or_else(PoisonError::into_inner);
        let files = self.files.iter().filter(|file| {
            file.identity == Identity::Content(hash) && Path::new(&file.path).is_absolute()
        });
        let executables = files.flat_map(|file| {
            let listed_as = file.listed_as.as_deref();
            let path = &file.path;
            machine.executables(&SoughtDso { kind: file.kind, path, listed_as, ids: Vec::new() })
        });
        executables.collect()
    }

    /// A file of a build by where it ran.
    fn open(&self, id: BuildId, holding: Holding) -> Option<Located> {
        let is_of_build = |file: &&RecordedFile| match file.identity {
            Identity::Gnu(recorded) => recorded == id || recorded.without_padding() == Some(id),
            Identity::Content(_) => false,
        };
        let mut files = self.files.iter().filter(is_of_build);
        files.find_map(|file| self.open_file(id, holding, file))
    }

    /// A file that may be this one.
    fn open_file(&self, id: BuildId, holding: Holding, file: &RecordedFile) -> Option<Located> {
        let machine =
            || Some(self.machine.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner));
        let listed_as = file.listed_as.as_deref();
        let dso = SoughtDso { kind: file.kind, path: &file.path, listed_as, ids: vec![id] };
        let paths = {
            let mut machine = machine()?;
            let mut paths = machine.executables(&dso);
            if holding == Holding::Dwarf {
                let linked: Vec<_> = paths.iter().flat_map(|it| machine.linked_from(it)).collect();
                paths.extend(machine.debug_files(&dso).into_iter().chain(linked));
            }
            paths
        };
        local::open_matching(paths, id, holding).or_else(|| match (file.kind, holding) {
            // Names without lines: what there is of most kernels.
            (DsoKind::Kernel, Holding::Code) => {
                let copies = KernelCopies::of_user();
                let file = copies.open_checked(id).or_else(|| {
                    let symbols = machine()?.kernels().running_symbols(id)?;
                    copies.keep(id, &symbols.text);
                    nameless(&stamped_kallsyms(id, &symbols.text))
                });
                file.map(|file| Located { path: None, file })
            }
            (DsoKind::Vdso, Holding::Code) => {
                let vdso = own_vdso()?;
                let found = build_id_of_elf(&SliceSource::new(vdso.as_slice()));
                let file = if found == Some(id) { nameless(&vdso) } else { None };
                file.map(|file| Located { path: None, file })
            }
            _ => None,
        })
    }
}

/// The files that the user named, and those below folders. What holds several is nothing that the
/// page can ask for; it opens such files itself.
#[derive(Default)]
struct NamedFiles {
    builds: HashMap<BuildId, Vec<PathBuf>>,
    /// Copies of the memory of kernels.
    memories: HashMap<BuildId, PathBuf>,
    companions: GivenCompanions,
    without_id: Vec<PathBuf>,
    /// Of those without a build-id. Reading them whole takes a moment, so it is done when the page
    /// asks for such a file.
    contents: OnceLock<HashMap<ContentHash, PathBuf>>,
}

impl NamedFiles {
    fn find(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let mut named = Self::default();
        for path in paths {
            let name = path.display();
            let is_folder = fs::metadata(path).with_context(|| format!("--image {name}"))?.is_dir();
            let files = if is_folder { folders::files_below(path) } else { vec![path.clone()] };
            let images = files.into_iter().filter_map(|file| named.add(file)).count();
            if images == 0 {
                output::notice(format_args!(
                    "--image {name} has no executable or debug file; add archives on the page"
                ));
            }
        }
        Ok(named)
    }

    /// `None` if it is no image.
    fn add(&mut self, path: PathBuf) -> Option<()> {
        let file = unpacked(local::open_regular(&path)?).ok()?;
        let image = identity::image(&file).ok()??;
        let id = image.build_id();
        if let Some(id) = id.filter(|_| image.is_memory()) {
            self.memories.insert(id, path);
            return Some(());
        }
        let is_companion = self.companions.add(image, &path).is_ok();
        match id {
            Some(id) => self.builds.entry(id).or_default().push(path),
            None if is_companion => {}
            None => self.without_id.push(path),
        }
        Some(())
    }

    fn of_build(&self, id: BuildId) -> Vec<PathBuf> {
        self.builds.get(&id).cloned().unwrap_or_default()
    }

    fn of_content(&self, hash: ContentHash) -> Option<&Path> {
        let read = || {
            let hashed = self.without_id.iter().filter_map(|path| {
                match identity::of(&local::open_regular(path)?)? {
                    Identity::Content(hash) => Some((hash, path.clone())),
                    Identity::Gnu(_) => None,
                }
            });
            hashed.collect()
        };
        self.contents.get_or_init(read).get(&hash).map(PathBuf::as_path)
    }
}

/// What is in no file, as one.
fn nameless(bytes: &[u8]) -> Option<File> {
    let mut file = scratch::nameless_file().ok()?;
    file.write_all(bytes).ok()?;
    file.seek(SeekFrom::Start(0)).ok()?;
    Some(file)
}
