//! Offers every file that may name a recording's DSOs to its session: files the user names, then
//! this machine's, then those of debuginfod servers.
//!
//! All of them are only offered. Which are used, the session decides by their build-ids.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::iter;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use perftab_core::decode::SliceSource;
use perftab_core::format::BuildId;
use perftab_core::profile::{DsoId, DsoKind};
use perftab_core::session::{Session, Wanted};
use perftab_core::symbolize::{Image, Rejection};

use super::identity;
use super::kernel::{self, KernelPlaces};
use super::local::{self, Places};
use crate::cli::ImageArgs;
use crate::debuginfod_client::{Artifact, Client, Receiver};
use crate::file_source::FileSource;
use crate::output::{self, Progress, Unit};

/// Frames named between two updates of the progress bar.
const FRAMES_AT_ONCE: usize = 4096;

/// Finds images and lets the session name its frames from them.
///
/// Fails only if a file or folder named by `--image` can't be read.
pub fn name_frames(session: &mut Session, args: &ImageArgs) -> anyhow::Result<()> {
    let mut search = Search::new(session);
    for path in &args.image {
        search.offer_named(path)?;
    }
    if !args.no_local {
        search.offer_local(&Places::of_this_machine());
    }
    search.fetch(&Client::new(args));
    search.report_missing_kernels();

    let mut progress = None;
    loop {
        let named = session.name_frames(FRAMES_AT_ONCE);
        if named.is_complete() {
            return Ok(());
        }
        let total = Some(named.total as u64);
        let bar = progress.get_or_insert_with(|| Progress::begin("Naming", Unit::Frames, total));
        bar.update(named.done as u64);
    }
}

struct Search<'a> {
    session: &'a mut Session,
    /// Device and inode of each file offered: one file has many paths.
    offered: HashSet<(u64, u64)>,
    /// DSOs with a file that tells source lines; more than that is nowhere to be had.
    have_lines: HashSet<DsoId>,
    /// What was wanted at first.
    wanted: Vec<Wanted>,
}

impl<'a> Search<'a> {
    fn new(session: &'a mut Session) -> Self {
        let wanted = session.wanted();
        Self { session, offered: HashSet::new(), have_lines: HashSet::new(), wanted }
    }

    /// Offers a file; `None` if it was offered before or can't be opened.
    fn offer(&mut self, path: &Path) -> Option<Result<Vec<DsoId>, Rejection>> {
        let file = local::open_regular(path)?;
        let metadata = file.metadata().ok()?;
        if !self.offered.insert((metadata.dev(), metadata.ino())) {
            return None;
        }
        self.offer_file(&path.to_string_lossy(), file)
    }

    fn offer_file(&mut self, name: &str, file: File) -> Option<Result<Vec<DsoId>, Rejection>> {
        let has_lines = identity::image(&file).ok()?.is_some_and(|image| {
            [".debug_info", ".zdebug_info"].iter().any(|s| image.section_range(s).is_some())
        });
        let source = FileSource::new(file).ok()?;
        Some(self.session.admit(name, Box::new(source)).map(|admitted| {
            if has_lines {
                self.have_lines.extend(&admitted.dsos);
            }
            admitted.dsos
        }))
    }

    /// A file or folder that the user named. What is of no use is said of a file, not of each
    /// file of a folder.
    fn offer_named(&mut self, path: &Path) -> anyhow::Result<()> {
        let metadata = fs::metadata(path).with_context(|| format!("--image {}", path.display()))?;
        if metadata.is_dir() {
            for file in files_below(path) {
                self.offer(&file);
            }
        } else if let Some(Err(rejection)) = self.offer(path) {
            output::notice(format_args!("--image {} is not used: {rejection}", path.display()));
        }
        Ok(())
    }

    /// Files of this machine: by build-id, by path, by what those say of their debug files.
    fn offer_local(&mut self, places: &Places) {
        let release = self.session.profile().host.os_release.clone();
        let mut kernels = KernelPlaces::new(Path::new("/"), release.as_deref());
        let roots = foreign_roots(self.session);
        for wanted in self.wanted.clone() {
            let recorded = Path::new(&wanted.path);
            let mut paths = Vec::new();
            for id in readings(wanted.build_id) {
                paths.extend(places.executables(id));
                paths.extend(places.debug_files(id));
            }
            paths.extend(match wanted.kind {
                DsoKind::Kernel => kernels.kernels(self.listed_as(&wanted).as_deref()),
                DsoKind::Module => {
                    let listed = self.listed_as(&wanted);
                    kernels.modules([Some(&*wanted.path), listed.as_deref()].into_iter().flatten())
                }
                _ => places.of_path(recorded),
            });
            if let Ok(below_root) = recorded.strip_prefix("/") {
                paths.extend(roots.iter().map(|root| root.join(below_root)));
            }
            if wanted.kind == DsoKind::Kernel {
                self.offer_kernel_symbols(places, &kernels, &wanted);
            }
            for path in paths {
                if let Some(Ok(dsos)) = self.offer(&path)
                    && !dsos.iter().all(|dso| self.have_lines.contains(dso))
                {
                    self.offer_debug_links(places, &path);
                }
            }
        }
    }

    /// Copies of a kernel's symbols in perf's cache, and those of the running kernel.
    fn offer_kernel_symbols(&mut self, places: &Places, kernels: &KernelPlaces, wanted: &Wanted) {
        for id in readings(wanted.build_id) {
            for path in places.kernel_symbols(id) {
                let Some(source) =
                    local::open_regular(&path).and_then(|it| FileSource::new(it).ok())
                else {
                    continue;
                };
                let name = path.to_string_lossy();
                let image = Image::open_cached_kallsyms(&name, Box::new(source), id);
                // Why it is refused stands in the ledger.
                let _ = self.session.admit_image(&name, image);
            }
            if let Some(running) = kernels.running_symbols(id) {
                let name = running.path.to_string_lossy();
                let source = Box::new(SliceSource::new(running.text));
                let image = Image::open_kallsyms(&name, source, &running.notes);
                let _ = self.session.admit_image(&name, image);
            }
        }
    }

    /// Says which kernels have no names after all that was tried, and what to do about it.
    fn report_missing_kernels(&self) {
        let release = self.session.profile().host.os_release.as_deref();
        for wanted in self.session.wanted() {
            if let (DsoKind::Kernel, Some(id)) = (wanted.kind, wanted.build_id)
                && wanted.used.samples > 0
            {
                output::notice(kernel::missing_kernel(id, release));
            }
        }
    }

    /// The path that the recording's table has for a DSO, where that is another.
    fn listed_as(&self, wanted: &Wanted) -> Option<String> {
        self.session.profile().dsos.get(wanted.dso).listed_as.clone()
    }

    fn offer_debug_links(&mut self, places: &Places, path: &Path) {
        let image = local::open_regular(path).and_then(|file| identity::image(&file).ok()?);
        if let Some(link) = image.and_then(|image| image.debug_link()) {
            for candidate in places.debug_links(path, Some(OsStr::new(&link))) {
                self.offer(&candidate);
            }
        }
    }

    /// Files from debuginfod servers, for what has no source lines yet: the debug file, or if
    /// there is none and nothing else names the DSO, the executable.
    fn fetch(&mut self, client: &Client) {
        if client.servers().is_empty() {
            return;
        }
        // A server that is down fails in the same words for each DSO.
        let mut said = HashSet::new();
        for wanted in self.wanted.clone() {
            if self.have_lines.contains(&wanted.dso) {
                continue;
            }
            let name = wanted.path.rsplit('/').next().unwrap_or(&wanted.path).to_owned();
            let artifacts = [Artifact::DebugInfo, Artifact::Executable];
            let attempts = artifacts.iter().flat_map(|artifact| {
                readings(wanted.build_id).map(move |build_id| (artifact, build_id))
            });
            for (artifact, build_id) in attempts {
                let mut shown = Shown { name: &name, progress: None };
                match client.fetch(build_id, artifact, &mut shown) {
                    Ok(file) => {
                        let label = format!("{artifact} of {name} from debuginfod");
                        let refused = self.offer_file(&label, file).and_then(Result::err);
                        if let Some(rejection) = refused {
                            output::notice(format_args!("{label} is not used: {rejection}"));
                        }
                        break;
                    }
                    Err(error) if error.is_not_found() => {}
                    Err(error) => {
                        if said.insert(error.to_string()) {
                            output::notice(format_args!("{name}: {error}"));
                        }
                    }
                }
                if !self.session.wanted().iter().any(|still| still.dso == wanted.dso) {
                    break;
                }
            }
        }
    }
}

/// What a recorded id may be: as it stands, and without the zeros that perf may have padded it
/// with. Core's gate decides about the file.
fn readings(build_id: Option<BuildId>) -> impl Iterator<Item = BuildId> {
    build_id.into_iter().flat_map(|id| iter::once(id).chain(id.without_padding()))
}

/// A progress bar that begins with the first byte.
struct Shown<'a> {
    name: &'a str,
    progress: Option<Progress>,
}

impl Receiver for Shown<'_> {
    fn received(&mut self, done: u64, total: Option<u64>) -> ControlFlow<()> {
        let begin = || Progress::begin(&format!("Fetching {}", self.name), Unit::Bytes, total);
        self.progress.get_or_insert_with(begin).update(done);
        ControlFlow::Continue(())
    }
}

/// The roots of recorded processes that still run, where they are not this process's: a container
/// has its own files under the recorded paths.
pub fn foreign_roots(session: &Session) -> Vec<PathBuf> {
    let identity = |path: &Path| fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
    let mut known: HashSet<_> = identity(Path::new("/")).into_iter().collect();
    let pids: HashSet<u32> =
        session.profile().threads.processes.iter().map(|process| process.pid).collect();
    let roots = pids.into_iter().map(|pid| PathBuf::from(format!("/proc/{pid}/root")));
    roots.filter(|root| identity(root).is_some_and(|id| known.insert(id))).collect()
}

/// All files below a folder, without following links to folders.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                output::notice(format_args!("{} is passed over: {error}", folder.display()));
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
