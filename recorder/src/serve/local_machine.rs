//! Files of a build on this machine, for a page that asks by build-id alone.
//!
//! What the user named first, then by id. Where that finds nothing, the recordings that are served
//! say under which paths something with this id ran, and whether it is a kernel or a module.
//! Whatever is handed out has the id in its content: the page believes it no more than a server.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::Context;
use perftab_core::decode::SliceSource;
use perftab_core::format::BuildId;
use perftab_core::format::elf_note::build_id_of_elf;
use perftab_core::profile::DsoKind;
use perftab_core::symbolize::stamped_kallsyms;

use crate::cli::ImageArgs;
use crate::debuginfod_client::Artifact;
use crate::images::kernel::KernelPlaces;
use crate::images::local::{self, Holding, Places};
use crate::images::unpacked::unpacked;
use crate::images::{identity, search};
use crate::input::Input;
use crate::late_ids::Judgement;
use crate::output;
use crate::record::own_vdso;
use crate::scratch;

/// What a request for a file of a build is answered with.
pub enum ServedFile {
    /// A file.
    Whole(File),
    /// Bytes of one.
    Part(File, Range<u64>),
}

/// This machine, for the DSOs of some recordings.
pub struct LocalMachine {
    /// Files that the user named.
    named: HashMap<BuildId, Vec<PathBuf>>,
    /// `None`: nothing else is to be looked at.
    places: Option<Places>,
    profiles: Arc<[Input]>,
    /// What the recordings say of a build. Reading them takes a moment, and the page reads them
    /// first, so it is done when something is found nowhere else.
    recorded: OnceLock<RecordedBuilds>,
}

/// What recordings say of builds.
#[derive(Default)]
struct RecordedBuilds {
    by_id: HashMap<BuildId, Vec<RecordedDso>>,
    /// Of each recording, by the release of its kernel.
    kernels: Vec<Mutex<KernelPlaces>>,
    /// Of each recording, what this machine says of its build-ids.
    late_ids: Vec<Judgement>,
}

struct RecordedDso {
    recording: usize,
    kind: DsoKind,
    path: String,
    listed_as: Option<String>,
}

impl LocalMachine {
    /// As the command line says, for the DSOs of `profiles`. Fails if a file that is named can't
    /// be read.
    pub fn new(args: &ImageArgs, profiles: Arc<[Input]>) -> anyhow::Result<Self> {
        let places = || Places::of_this_machine(args.cache.buildid_dir.as_deref());
        Ok(Self {
            named: named_files(&args.image)?,
            places: (!args.no_local).then(places),
            profiles,
            recorded: OnceLock::new(),
        })
    }

    /// The artifact of a build, if it is here.
    pub fn find(&self, id: BuildId, artifact: &Artifact) -> Option<ServedFile> {
        match artifact {
            Artifact::Executable => self.open(id, Holding::Code).map(ServedFile::Whole),
            Artifact::DebugInfo => self.open(id, Holding::Dwarf).map(ServedFile::Whole),
            // As debuginfod does: from the debug file, else from the executable.
            Artifact::Section(name) => {
                [Holding::Dwarf, Holding::Code].into_iter().find_map(|holding| {
                    let file = self.open(id, holding)?;
                    let range = identity::image(&file).ok()??.section_range(name)?;
                    Some(ServedFile::Part(file, range))
                })
            }
            // A source has no identity, so no file of this machine can be known to be it.
            Artifact::Source(_) => None,
        }
    }

    /// What this machine says of build-ids that were read at the end, which the page cannot see.
    pub fn late_ids(&self, recording: usize) -> &Judgement {
        static NOTHING: Judgement = Judgement { replaced: Vec::new(), same: Vec::new() };
        match self.places {
            Some(_) => self.recorded().late_ids.get(recording).unwrap_or(&NOTHING),
            None => &NOTHING,
        }
    }

    fn recorded(&self) -> &RecordedBuilds {
        self.recorded.get_or_init(|| RecordedBuilds::of(&self.profiles))
    }

    fn open(&self, id: BuildId, holding: Holding) -> Option<File> {
        let named = self.named.get(&id).cloned().unwrap_or_default();
        local::open_matching(named, id, holding).or_else(|| {
            let places = self.places.as_ref()?;
            let by_id = match holding {
                Holding::Code => places.executables(id),
                Holding::Dwarf => [places.debug_files(id), places.executables(id)].concat(),
            };
            local::open_matching(by_id, id, holding).or_else(|| {
                let recorded = self.recorded();
                let mut dsos = recorded.by_id.get(&id)?.iter();
                dsos.find_map(|dso| recorded.open(id, holding, dso, places))
            })
        })
    }
}

impl RecordedBuilds {
    /// A file that may be that of a DSO by where it ran.
    fn open(
        &self,
        id: BuildId,
        holding: Holding,
        dso: &RecordedDso,
        places: &Places,
    ) -> Option<File> {
        let kernels = || {
            let kernels = self.kernels.get(dso.recording)?;
            Some(kernels.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let listed_as = dso.listed_as.as_deref();
        let paths = match dso.kind {
            DsoKind::Kernel => kernels()?.kernels(listed_as),
            DsoKind::Module => kernels()?.modules(std::iter::once(&*dso.path).chain(listed_as)),
            _ => places.of_path(Path::new(&dso.path)),
        };
        local::open_matching(paths, id, holding).or_else(|| match (dso.kind, holding) {
            // Names without lines: what there is of most kernels.
            (DsoKind::Kernel, Holding::Code) => {
                let symbols = kernels()?.running_symbols(id)?;
                nameless(&stamped_kallsyms(id, &symbols.text))
            }
            (DsoKind::Vdso, Holding::Code) => {
                let vdso = own_vdso()?;
                let found = build_id_of_elf(&SliceSource::new(vdso.as_slice()));
                if found == Some(id) { nameless(&vdso) } else { None }
            }
            _ => None,
        })
    }

    fn of(profiles: &[Input]) -> Self {
        let mut recorded = Self::default();
        for (number, input) in profiles.iter().enumerate() {
            // What can't be read, the page says.
            let session = input.read_silently().ok();
            let late_ids = session.as_ref().map(|session| input.late_ids(session));
            recorded.late_ids.push(late_ids.unwrap_or_default());
            let profile = session.as_ref().map(|session| session.profile());
            let release = profile.and_then(|profile| profile.host.os_release.as_deref());
            recorded.kernels.push(Mutex::new(KernelPlaces::new(Path::new("/"), release)));
            for (_, dso) in profile.into_iter().flat_map(|profile| profile.dsos.iter()) {
                let Some(id) = dso.build_id() else { continue };
                for id in [Some(id), id.without_padding()].into_iter().flatten() {
                    recorded.by_id.entry(id).or_default().push(RecordedDso {
                        recording: number,
                        kind: dso.kind,
                        path: dso.path.clone(),
                        listed_as: dso.listed_as.clone(),
                    });
                }
            }
        }
        recorded
    }
}

/// The files that the user named, and those below folders, by build-id. What holds several is
/// nothing that the page can ask for; it opens such files itself.
fn named_files(paths: &[PathBuf]) -> anyhow::Result<HashMap<BuildId, Vec<PathBuf>>> {
    let mut by_id: HashMap<BuildId, Vec<PathBuf>> = HashMap::new();
    for path in paths {
        let name = path.display();
        let is_folder = fs::metadata(path).with_context(|| format!("--image {name}"))?.is_dir();
        let files = if is_folder { search::files_below(path) } else { vec![path.clone()] };
        let known_before = by_id.len();
        for file in files {
            let opened = local::open_regular(&file).and_then(|file| unpacked(file).ok());
            let id = opened.and_then(|file| identity::build_id(&file).ok()?);
            if let Some(id) = id {
                by_id.entry(id).or_default().push(file);
            }
        }
        if by_id.len() == known_before {
            output::notice(format_args!(
                "--image {name} has no file with a build-id; add archives on the page"
            ));
        }
    }
    Ok(by_id)
}

/// What is in no file, as one.
fn nameless(bytes: &[u8]) -> Option<File> {
    let mut file = scratch::nameless_file().ok()?;
    file.write_all(bytes).ok()?;
    file.seek(SeekFrom::Start(0)).ok()?;
    Some(file)
}
