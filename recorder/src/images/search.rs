//! Offers every file that may name a recording's DSOs to its session: files the user names, then
//! this machine's, then those of debuginfod servers.
//!
//! All of them are only offered. Which are used, the session decides by their build-ids. What was
//! tried for a DSO and what came of it is noted in the session, for those who wonder.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::iter;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use perftab_core::session::{OfferReport, OfferStep, Session, WantedDso};
use perftab_core::{
    DsoId, DsoKind, Image, ImageContents, NotAnImage, Rejection, SupplementaryLink,
};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::format::BuildId;

use super::code_of_processes;
use super::download::{self, DownloadOutcome, Job};
use super::forced;
use super::identity;
use super::kernel::{self, KernelPlaces, RunningSymbols};
use super::kernel_copies::KernelCopies;
use super::local::{self, Places};
use super::named::{NamedFile, NamedReport, Offered};
use crate::cli::{ImageArgs, NameArgs};
use crate::debuginfod_client::{Artifact, Client, FetchError, Fetched, Patience};
use crate::descriptors::raise_descriptor_limit;
use crate::file_source::FileSource;
use crate::output::{self, Progress, Unit};
use crate::record::own_vdso;
use crate::recording::Recording;

/// Frames named between two updates of the progress bar.
const FRAMES_AT_ONCE: usize = 4096;
/// Bytes of a file looked at between two updates.
const BYTES_AT_ONCE: usize = 16 << 20;
/// Processes that still run whose files are looked at.
const ROOTS_MAX: usize = 64;

/// Finds images and lets the session unwind its stacks and name its frames from them. `recording` is what it was read
/// from, unless that was a link.
///
/// Fails only if that can't be read again, or a file or folder that the user named can't be read or used as he wants.
pub fn name_frames(
    session: &mut Session,
    recording: Option<&Recording>,
    args: &NameArgs,
) -> anyhow::Result<()> {
    let say = &mut |file: NamedFile| file.notices.iter().for_each(output::notice);
    name_frames_with(session, recording, args, say)
}

/// The same, but that the host says what came of the files that the user named: of each, in their order.
pub fn name_frames_with(
    session: &mut Session,
    recording: Option<&Recording>,
    args: &NameArgs,
    say: &mut dyn FnMut(NamedFile),
) -> anyhow::Result<()> {
    raise_descriptor_limit();
    let images = &args.images;
    let mut search = Search::new(session);
    if let Some(vmlinux) = &args.vmlinux {
        search.offer_vmlinux(vmlinux)?;
    }
    let named: Vec<NamedReport> =
        images.image.iter().map(|path| search.offer_named(path)).collect::<Result<_, _>>()?;
    let places =
        (!images.no_local).then(|| Places::of_this_machine(images.cache.buildid_dir.as_deref()));
    if let Some(places) = &places {
        search.offer_local(places);
    }
    let written = recording.and_then(Recording::written);
    for &guesses in args.guesses() {
        search.session.guess_callers(guesses);
        loop {
            search.unwind(recording, places.as_ref())?;
            if places.is_some() {
                // Unwound stacks lead to more of it, and it may tell how they go on.
                code_of_processes::offer(search.session, written);
                search.unwind(recording, places.as_ref())?;
            }
            // Stacks may go on in what comes, and lead to other files.
            if !search.fetch(Client::new(images, Patience::OfCommand))? {
                break;
            }
        }
    }
    search.session.forget_held();
    search.find_supplementary(images)?;
    if args.vmlinux.is_none() {
        search.say_missing_kernels();
    }
    resolve(search.session);
    while places.is_some() && search.find_split_units() {
        resolve(search.session);
    }
    let waiting: HashSet<&str> = search.session.waiting_files().collect();
    let used_code: HashSet<&str> = search.session.used_code_tables().collect();
    named.iter().for_each(|file| say(file.named(&waiting, &used_code)));
    forced::force(session, args)
}

/// Names the frames of all DSOs that have files, with a progress bar.
fn resolve(session: &mut Session) {
    let mut progress = None;
    loop {
        let named = session.name_frames(FRAMES_AT_ONCE);
        if named.is_complete() {
            return;
        }
        let total = Some(named.total as u64);
        let bar = progress.get_or_insert_with(|| Progress::begin("Naming", Unit::Frames, total));
        bar.update(named.done as u64);
    }
}

struct Search<'a> {
    session: &'a mut Session,
    /// What came of each file offered, by device and inode: one file has many paths.
    offered: HashMap<(u64, u64), String>,
    /// DSOs that a file names.
    named: HashSet<DsoId>,
    /// DSOs with a file that tells source lines; more than that is nowhere to be had.
    have_lines: HashSet<DsoId>,
    /// What was wanted at first, most samples first, and then what stacks led to.
    wanted: Vec<WantedDso>,
    /// How many of these were looked for on this machine.
    looked_for: usize,
    /// How many servers were asked for.
    asked_for: usize,
    /// Units that were not used as they are newer than their programs.
    newer_units: HashSet<PathBuf>,
}

impl<'a> Search<'a> {
    fn new(session: &'a mut Session) -> Self {
        let wanted = session.wanted();
        Self {
            session,
            offered: HashMap::new(),
            named: HashSet::new(),
            have_lines: HashSet::new(),
            wanted,
            looked_for: 0,
            asked_for: 0,
            newer_units: HashSet::new(),
        }
    }

    /// Unwinds stacks that were copied, and looks for the files of the code that they lead to, until they lead no
    /// further.
    fn unwind(
        &mut self,
        recording: Option<&Recording>,
        places: Option<&Places>,
    ) -> anyhow::Result<()> {
        let Some(recording) = recording else { return Ok(()) };
        let mut known: HashSet<DsoId> = self.session.wanted().iter().map(|it| it.dso).collect();
        while recording.unwind(self.session)? {
            let mut more = self.session.wanted();
            more.retain(|wanted| known.insert(wanted.dso));
            self.wanted.extend(more);
            match places {
                Some(places) => self.offer_local(places),
                None => break,
            }
        }
        Ok(())
    }

    /// Offers a file; `None` if it is none that can be read, or was offered before.
    fn offer(&mut self, path: &Path) -> Option<OfferReport> {
        let file = local::open_regular(path)?;
        let metadata = file.metadata().ok()?;
        let key = (metadata.dev(), metadata.ino());
        if self.offered.contains_key(&key) {
            return None;
        }
        let source = FileSource::new(file).ok()?;
        let name = path.to_string_lossy();
        let report = self.offer_source(&name, source);
        self.offered.insert(key, words_of(&report));
        Some(report)
    }

    fn offer_source(&mut self, name: &str, source: FileSource) -> OfferReport {
        let mut offer = self.session.offer(name, Box::new(source));
        let mut progress = None;
        let report = loop {
            match offer.step(self.session, BYTES_AT_ONCE) {
                OfferStep::Done(report) => break report,
                OfferStep::More { done, total } => {
                    let begin =
                        || Progress::begin(&format!("Reading {name}"), Unit::Bytes, Some(total));
                    progress.get_or_insert_with(begin).update(done);
                }
            }
        };
        self.take(&report);
        report
    }

    /// Keeps in mind what a file was good for.
    fn take(&mut self, report: &OfferReport) {
        let lines = ImageContents { inlines: true, ..ImageContents::default() }.sentence();
        for used in &report.used {
            let dsos = || used.dsos.iter().map(|&row| DsoId(row));
            self.named.extend(dsos());
            if used.gives == lines {
                self.have_lines.extend(dsos());
            }
        }
    }

    // ---- what the user named ----------------------------------------------------------------

    /// The kernel's file, named by the user: no other is looked for. If it is not the kernel that
    /// ran, [`forced::force`] says so.
    fn offer_vmlinux(&mut self, path: &Path) -> anyhow::Result<()> {
        fs::metadata(path).with_context(|| format!("--vmlinux {}", path.display()))?;
        self.wanted.retain(|wanted| wanted.kind != DsoKind::Kernel);
        self.offer(path);
        Ok(())
    }

    /// A file or folder that the user named.
    fn offer_named(&mut self, path: &Path) -> anyhow::Result<NamedReport> {
        let metadata = fs::metadata(path).with_context(|| format!("--image {}", path.display()))?;
        let offered = if metadata.is_dir() {
            let mut sum = OfferReport::default();
            // What compilers split off comes after the programs that name it.
            let mut files = files_below(path);
            files.sort_by_key(|file| file.extension() == Some(OsStr::new("dwo")));
            for file in files {
                if let Some(mut report) = self.offer(&file) {
                    sum.unrelated += report.unrelated;
                    sum.others += report.others;
                    sum.used.append(&mut report.used);
                    sum.not_used.append(&mut report.not_used);
                }
            }
            Offered::Folder(sum)
        } else if !metadata.is_file() {
            Offered::Unreadable
        } else {
            self.offer(path).map_or(Offered::Before, Offered::File)
        };
        Ok(NamedReport { path: path.to_owned(), offered })
    }

    // ---- this machine -----------------------------------------------------------------------

    /// Files of this machine: by path, by build-id, by what those say of their debug files.
    fn offer_local(&mut self, places: &Places) {
        let release = self.session.profile().host.os_release.clone();
        let mut kernels = KernelPlaces::new(Path::new("/"), release.as_deref());
        let roots = foreign_roots(self.session);
        let looked_for = std::mem::replace(&mut self.looked_for, self.wanted.len());
        let wanted: Vec<WantedDso> = self.wanted[looked_for..].to_vec();
        for wanted in wanted {
            if wanted.kind == DsoKind::Kernel {
                self.offer_kallsyms(&wanted, places, &kernels);
            }
            if wanted.kind == DsoKind::Vdso {
                self.offer_vdso();
            }
            let executables = self.executables(&wanted, places, &mut kernels, &roots);
            let used = executables.into_iter().find(|path| self.offer_for(&wanted, path));
            let mut debug_files: Vec<_> =
                readings(wanted.build_id).flat_map(|id| places.debug_files(id)).collect();
            if !matches!(wanted.kind, DsoKind::Kernel | DsoKind::Module) {
                debug_files.extend(places.of_path(Path::new(&wanted.path)));
            }
            debug_files.extend(used.into_iter().flat_map(|path| linked_from(places, &path)));
            for path in debug_files {
                if self.have_lines.contains(&wanted.dso) {
                    break;
                }
                if self.offer_for(&wanted, &path) {
                    linked_from(places, &path).iter().for_each(|path| {
                        self.offer_for(&wanted, path);
                    });
                }
            }
            if !self.named.contains(&wanted.dso) {
                self.session.note_attempt(wanted.dso, &places.by_id(), "no file of this build");
            }
        }
    }

    /// Where the file that was mapped may lie, best first.
    fn executables(
        &self,
        wanted: &WantedDso,
        places: &Places,
        kernels: &mut KernelPlaces,
        roots: &[PathBuf],
    ) -> Vec<PathBuf> {
        let recorded = Path::new(&wanted.path);
        let listed_as = self.session.profile().dsos.get(wanted.dso).listed_as.clone();
        let mut paths = Vec::new();
        match wanted.kind {
            DsoKind::Kernel => paths.extend(kernels.kernels(listed_as.as_deref())),
            DsoKind::Module => {
                let known = [Some(wanted.path.as_str()), listed_as.as_deref()];
                paths.extend(kernels.modules(known.into_iter().flatten()));
            }
            _ => {
                // `[vdso]`, `//anon` and what a stranger's recording may hold are no paths.
                if let Ok(below_root) = recorded.strip_prefix("/") {
                    paths.push(recorded.to_owned());
                    paths.extend(roots.iter().map(|root| root.join(below_root)));
                }
            }
        }
        paths.extend(readings(wanted.build_id).flat_map(|id| places.executables(id)));
        paths
    }

    /// Offers a file that may be one DSO's and notes what came of it; whether it names the DSO.
    fn offer_for(&mut self, wanted: &WantedDso, path: &Path) -> bool {
        let is_used =
            |report: &OfferReport| report.used.iter().any(|used| used.dsos.contains(&wanted.dso.0));
        if self.offer(path).is_some_and(|report| is_used(&report)) {
            return true;
        }
        let is_recorded = path == Path::new(&wanted.path);
        let outcome = match fs::metadata(path) {
            Ok(metadata) => self.offered.get(&(metadata.dev(), metadata.ino())).cloned(),
            Err(_) => is_recorded.then(|| "not there".to_owned()),
        };
        if let Some(outcome) = outcome
            && !self.named.contains(&wanted.dso)
        {
            self.session.note_attempt(wanted.dso, &path.to_string_lossy(), &outcome);
        }
        false
    }

    /// The vdso is in no file; ours is that of every process under this kernel.
    fn offer_vdso(&mut self) {
        let Some(vdso) = own_vdso() else { return };
        // Why it is refused stands in the ledger.
        if let Ok(admitted) = self.session.admit("[vdso]", Box::new(SliceSource::new(vdso))) {
            self.named.extend(admitted.dsos);
        }
    }

    /// The symbols of the kernel that runs, and copies of those of others.
    fn offer_kallsyms(&mut self, wanted: &WantedDso, places: &Places, kernels: &KernelPlaces) {
        let copies = KernelCopies::of_user();
        for id in readings(wanted.build_id) {
            let open = |path: PathBuf, file| {
                let source = Box::new(FileSource::new(file).ok()?);
                let name = path.to_string_lossy().into_owned();
                Some((Image::open_cached_kallsyms(&name, source, id), name))
            };
            let admit_copy = |search: &mut Self| {
                let copy = copies.open(id).and_then(|(path, file)| open(path, file));
                copy.is_some_and(|(image, name)| search.admit_symbols(image, &name))
            };
            if admit_copy(self) {
                return;
            }
            if let Some(RunningSymbols { path, text, notes }) = kernels.running_symbols(id) {
                copies.keep(id, &text);
                // Where the names came from is the same the first time and later.
                if admit_copy(self) {
                    return;
                }
                let (name, source) = (path.to_string_lossy(), Box::new(SliceSource::new(text)));
                if self.admit_symbols(Image::open_kallsyms(&name, source, &notes), &name) {
                    return;
                }
            }
            let others = places.kernel_symbols(id).into_iter();
            let mut others = others.filter_map(|path| {
                let file = local::open_regular(&path)?;
                open(path, file)
            });
            if others.any(|(image, name)| self.admit_symbols(image, &name)) {
                return;
            }
        }
    }

    /// Whether the gate lets the symbols of a kernel in.
    fn admit_symbols(&mut self, image: Result<Image, NotAnImage>, name: &str) -> bool {
        let admitted = self.session.admit_image(name, image);
        let is_admitted = admitted.is_ok();
        self.named.extend(admitted.into_iter().flat_map(|it| it.dsos));
        is_admitted
    }

    /// Says which kernels have no names after all that was tried, and what to do about it.
    fn say_missing_kernels(&self) {
        let release = self.session.profile().host.os_release.as_deref();
        for wanted in self.session.wanted() {
            if let (DsoKind::Kernel, Some(id)) = (wanted.kind, wanted.build_id) {
                output::notice(kernel::missing_kernel(id, release));
            }
        }
    }

    // ---- servers ----------------------------------------------------------------------------

    /// Files from debuginfod servers, for what has no source lines yet: the debug file, or if
    /// there is none and nothing else names the DSO, the executable. False if nothing is to be asked for.
    fn fetch(&mut self, client: Client) -> anyhow::Result<bool> {
        let (builds, jobs) = self.jobs();
        if jobs.is_empty() {
            return Ok(false);
        }
        // A server that is down fails in the same words for each DSO.
        let mut said = HashSet::new();
        download::fetch_all(client, jobs, &mut |answered| {
            let DownloadOutcome { job, artifact, result } = answered;
            let Some(build) = builds.get(job) else { return };
            match result {
                Ok(fetched) => self.take_fetched(build, &artifact, fetched),
                Err(FetchError::Cancelled) => {}
                Err(error) => {
                    if !error.is_not_found() && said.insert(error.to_string()) {
                        output::notice(format_args!("{}: {error}", build.name));
                    }
                    let FetchError::NotGiven(servers) = error else { return };
                    for server in servers {
                        let what = format!("{artifact} from {}", server.host());
                        for &dso in &build.dsos {
                            self.session.note_attempt(dso, &what, &server.outcome.in_short());
                        }
                    }
                }
            }
        })?;
        Ok(true)
    }

    /// What dwz moved out of debug files that are used, into a file that several share.
    fn find_supplementary(&mut self, args: &ImageArgs) -> anyhow::Result<()> {
        let places =
            (!args.no_local).then(|| Places::of_this_machine(args.cache.buildid_dir.as_deref()));
        for (by, link) in self.session.wanted_supplementary() {
            let folder = Path::new(&by).parent().unwrap_or(Path::new(""));
            if let Some(places) = &places {
                let linked = iter::once(folder.join(&link.path));
                let by_id = places.debug_files(link.build_id).into_iter();
                for path in linked.chain(by_id) {
                    self.offer(&path);
                }
            }
        }
        let wanted = self.session.wanted_supplementary();
        let job = |link: &SupplementaryLink| Job {
            ids: vec![link.build_id],
            artifacts: vec![Artifact::DebugInfo],
        };
        let jobs = wanted.iter().map(|(_, link)| job(link)).collect();
        download::fetch_all(Client::new(args, Patience::OfCommand), jobs, &mut |answered| {
            let Some((by, _)) = wanted.get(answered.job) else { return };
            let name = format!("what {by} shares with others");
            if let Ok(fetched) = answered.result {
                self.take_fetched(&Build { name, dsos: Vec::new() }, &answered.artifact, fetched);
            }
        })
    }

    /// Units that compilers split off, where they put them or beside the files that name them; whether any
    /// came that is of use.
    fn find_split_units(&mut self) -> bool {
        let mut is_any_used = false;
        let mut newer = std::mem::take(&mut self.newer_units);
        for missing in self.session.missing_units() {
            let by = missing.named_by.iter().map(Path::new);
            let packages = by.clone().flat_map(packages_of);
            let folders: Vec<&Path> = by.filter_map(Path::parent).collect();
            let units = missing.paths.iter().map(Path::new).flat_map(|path| {
                let beside = |folder: &&Path| Some(folder.join(path.file_name()?));
                iter::once(path.to_owned()).chain(folders.iter().filter_map(beside))
            });
            // Compilers write units before a linker writes the program. An id need not tell a unit of a later build
            // from its own: clang's says nothing of where code lies.
            let linked = missing.named_by.iter().filter_map(|path| modified(Path::new(path))).max();
            let units = units.filter(|unit| match (modified(unit), linked) {
                (Some(written), Some(linked)) if written > linked => {
                    if newer.insert(unit.clone()) {
                        output::notice(format_args!(
                            "{} is not used: it is newer than its program. If it is of the same build, --image \
                             uses it",
                            unit.display()
                        ));
                    }
                    false
                }
                _ => true,
            });
            for path in packages.chain(units) {
                is_any_used |= self.offer(&path).is_some_and(|report| !report.used.is_empty());
            }
        }
        self.newer_units = newer;
        is_any_used
    }

    /// What is to be fetched: each build once, whatever number of paths it has.
    fn jobs(&mut self) -> (Vec<Build>, Vec<Job>) {
        let (mut builds, mut jobs): (Vec<Build>, Vec<Job>) = (Vec::new(), Vec::new());
        let mut known: HashMap<BuildId, usize> = HashMap::new();
        for wanted in &self.wanted[self.asked_for..] {
            let is_unwound = matches!(wanted.kind, DsoKind::User | DsoKind::Vdso);
            let lacks_tables = is_unwound && self.session.lacks_unwind_tables(wanted.dso);
            let has_all = self.have_lines.contains(&wanted.dso) && !lacks_tables;
            let Some(id) = wanted.build_id.filter(|_| !has_all) else {
                continue;
            };
            let index = *known.entry(id).or_insert(builds.len());
            if index == builds.len() {
                let name = wanted.path.rsplit('/').next().unwrap_or(&wanted.path).to_owned();
                builds.push(Build { name, dsos: Vec::new() });
                let ids = readings(Some(id)).collect();
                jobs.push(Job { ids, artifacts: vec![Artifact::DebugInfo] });
                if lacks_tables {
                    // Beside the debug file, which has none as a rule.
                    let (name, ids) = (builds[index].name.clone(), readings(Some(id)).collect());
                    builds.push(Build { name, dsos: vec![wanted.dso] });
                    jobs.push(Job { ids, artifacts: vec![Artifact::Executable] });
                }
            }
            builds[index].dsos.push(wanted.dso);
            let artifacts = &mut jobs[index].artifacts;
            if !self.named.contains(&wanted.dso) && !lacks_tables && artifacts.len() == 1 {
                artifacts.push(Artifact::Executable);
            }
        }
        self.asked_for = self.wanted.len();
        (builds, jobs)
    }

    fn take_fetched(&mut self, build: &Build, artifact: &Artifact, fetched: Fetched) {
        let label = format!("{artifact} of {} from debuginfod", build.name);
        let Ok(source) = FileSource::new(fetched.file) else { return };
        if let Some(fault) = fetched.fault {
            output::notice(format_args!("{label} is not kept: {fault}"));
        }
        let report = self.offer_source(&label, source);
        for refused in &report.not_used {
            output::notice(format_args!("{label} is not used: {}", refused.message));
        }
    }
}

/// A build that servers are asked for.
struct Build {
    name: String,
    dsos: Vec<DsoId>,
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

/// What came of a file, in few words.
fn words_of(report: &OfferReport) -> String {
    if !report.used.is_empty() {
        return "another build that was also recorded".to_owned();
    }
    match report.not_used.first().map(|refused| (&refused.reason, &refused.message)) {
        Some((Rejection::NothingRecordedHasIt { found, .. }, _)) => {
            format!("another build, {found}")
        }
        Some((Rejection::NoIdentityInFile, _)) => "has no build-id".to_owned(),
        Some((_, message)) => message.clone(),
        None => "no file of this build".to_owned(),
    }
}

/// Where a package of split units may lie for a file that names them: `FILE.dwp`, also of `FILE.debug`.
fn packages_of(file: &Path) -> Vec<PathBuf> {
    let plain = file.extension().filter(|end| *end == "debug").map(|_| file.with_extension("dwp"));
    let mut package = file.as_os_str().to_owned();
    package.push(".dwp");
    iter::once(PathBuf::from(package)).chain(plain).collect()
}

/// Where the debug file lies that the image at `path` names.
fn linked_from(places: &Places, path: &Path) -> Vec<PathBuf> {
    let image = local::open_regular(path).and_then(|file| identity::image(&file).ok()?);
    let link = image.and_then(|image| image.debug_link());
    link.map_or(Vec::new(), |link| places.debug_links(path, Some(OsStr::new(&link))))
}

/// What a recorded id may be: as it stands, and without the zeros that perf may have padded it
/// with. Core's gate decides about the file.
fn readings(build_id: Option<BuildId>) -> impl Iterator<Item = BuildId> {
    build_id.into_iter().flat_map(|id| iter::once(id).chain(id.without_padding()))
}

/// The roots of recorded processes that still run, where they see other files than this one: a
/// container has its own under the recorded paths, and so has who mounted something for himself.
/// A process id may have gone to another process since; its files pass the gate or they don't.
pub fn foreign_roots(session: &Session) -> Vec<PathBuf> {
    let view = |process: &str| {
        let root = fs::metadata(format!("/proc/{process}/root")).ok()?;
        let mounts = fs::metadata(format!("/proc/{process}/ns/mnt")).ok()?;
        Some((root.dev(), root.ino(), mounts.ino()))
    };
    let mut known: HashSet<_> = view("self").into_iter().collect();
    let mut pids: Vec<u32> =
        session.profile().threads.processes.iter().map(|process| process.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    let is_other = |pid: &u32| view(&pid.to_string()).is_some_and(|view| known.insert(view));
    let roots = pids.into_iter().filter(is_other).take(ROOTS_MAX);
    roots.map(|pid| PathBuf::from(format!("/proc/{pid}/root"))).collect()
}

/// All files below a folder, without following links to folders.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                output::notice(format_args!("{} is skipped: {error}", folder.display()));
                continue;
            }
        };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(_) => files.push(entry.path()),
                Err(_) => {}
            }
        }
    }
    // Which file is shown as the source of names must not depend on the order on disk.
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    #[test]
    fn a_folder_is_searched_to_its_end_and_links_are_not_followed() {
        let folder = std::env::temp_dir().join(format!("perftab-{}", scratch::unique_suffix()));
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::write(folder.join("a/b/file"), "").unwrap();
        fs::write(folder.join("file"), "").unwrap();
        std::os::unix::fs::symlink(&folder, folder.join("a/loop")).unwrap();
        let found = files_below(&folder);
        let expected = ["a/b/file", "a/loop", "file"].map(|name| folder.join(name));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, expected);
    }
}
