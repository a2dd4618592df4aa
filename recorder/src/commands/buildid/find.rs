//! Finds the files of a DSO, to be kept or packed: in the cache, on this machine, at debuginfod.
//!
//! Constraint: only files whose content has the recorded identity come out; what was met on the
//! way is told, so that a failure can be understood.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use perftab_core::session::Session;
use perftab_core::{DsoKind, Identity, Image, stamped_kallsyms};
use perftab_perfdata::format::BuildId;

use super::targets::Target;
use crate::buildid_cache::{Bytes, Cache, CachedFile, Part, Proof, key_of};
use crate::cli::ImageArgs;
use crate::debuginfod_client::{Artifact, Client, Fetched, Patience};
use crate::images::candidates::{Candidates, SoughtDso};
use crate::images::companions::{Companions, GivenCompanions};
use crate::images::download::{self, Job};
use crate::images::local::{self, Places};
use crate::images::unpacked::unpacked;
use crate::images::{folders, identity};
use crate::record::own_vdso;
use crate::stop::Stop;

/// Where files are looked for.
pub struct Finder {
    cache: Option<Cache>,
    /// `None`: this machine is left alone.
    machine: Option<Candidates>,
    client: Arc<Client>,
    /// Files that the user named, and what they are.
    named: Vec<(Identity, PathBuf)>,
    /// Those of them that debug information may name.
    companions: GivenCompanions,
    stop: Stop,
}

/// A file of a DSO.
pub struct Piece {
    /// What it is of the build.
    pub part: Part,
    /// Its bytes.
    pub content: Content,
}

/// Bytes of a piece.
pub enum Content {
    /// A file of this machine, or of a server.
    File(File),
    /// What is in no file.
    Memory(Vec<u8>),
}

impl Content {
    /// To be stored.
    pub fn bytes(&self) -> Bytes<'_> {
        match self {
            Self::File(file) => Bytes::File(file),
            Self::Memory(bytes) => Bytes::Memory(bytes),
        }
    }
}

/// What was found, and what was met instead.
#[derive(Default)]
pub struct Pieces {
    /// At most one of each part.
    pub pieces: Vec<Piece>,
    /// Why there is not more, in a sentence's parts.
    pub refusals: Vec<String>,
}

impl Pieces {
    fn has(&self, part: Part) -> bool {
        self.pieces.iter().any(|piece| piece.part == part)
    }

    fn add(&mut self, part: Part, content: Content) {
        if !self.has(part) {
            self.pieces.push(Piece { part, content });
        }
    }

    fn note(&mut self, refusal: String) {
        if !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
    }

    /// Why there is nothing.
    pub fn why_nothing(&self) -> String {
        match self.refusals.as_slice() {
            [] => "no file of this build was found here".to_owned(),
            refusals => refusals.join("; "),
        }
    }
}

impl Finder {
    /// As the command line says, for the DSOs of this recording.
    ///
    /// Fails only if a file or folder named by `--image` can't be read.
    pub fn new(args: &ImageArgs, session: &Session, stop: Stop) -> anyhow::Result<Self> {
        let mut named = Vec::new();
        let mut companions = GivenCompanions::default();
        for path in &args.image {
            let metadata =
                fs::metadata(path).with_context(|| format!("--image {}", path.display()))?;
            let files = match metadata.is_dir() {
                true => folders::files_below(path),
                false => vec![path.clone()],
            };
            for path in files {
                let Some(image) = image_at(&path) else { continue };
                let image = companions.add(image, &path).err();
                named.extend(image.and_then(|image| Some((image.identity()?, path))));
            }
        }
        let dir = args.cache.buildid_dir.as_deref();
        Ok(Self {
            cache: Cache::of_user(dir).filter(|_| !args.no_local || dir.is_some()),
            machine: (!args.no_local).then(|| {
                let profile = session.profile();
                let pids = profile.threads.processes.iter().map(|process| process.pid).collect();
                let release = profile.host.os_release.as_deref();
                Candidates::new(Places::of_this_machine(dir), release, pids)
            }),
            client: Arc::new(Client::new(args, Patience::OfCommand)),
            named,
            companions,
            stop,
        })
    }

    /// The files of a DSO. Servers are asked only if there is none here.
    pub fn find(&mut self, target: &Target) -> Pieces {
        let mut pieces = Pieces::default();
        self.find_cached(target, Proof::Content, &mut pieces);
        for (_, path) in self.named.iter().filter(|(found, _)| target.is(*found)) {
            offer(target, path, &mut pieces, OtherBuild::Ignore);
        }
        if let Some(machine) = &mut self.machine {
            match target.kind {
                DsoKind::Vdso => find_vdso(target, &mut pieces),
                DsoKind::Kernel => find_kallsyms(target, &mut pieces),
                _ => {}
            }
            find_local(target, machine, &mut pieces);
        }
        if pieces.pieces.is_empty() {
            self.find_cached(target, Proof::Name, &mut pieces);
        }
        if pieces.pieces.is_empty() {
            self.fetch(target, &mut pieces);
        }
        pieces
    }

    /// What the debug information of these files names, as far as the user named it or it is on this machine: one file
    /// after the other, as there may be thousands.
    pub fn companions(
        &self,
        target: &Target,
        pieces: &[Piece],
        each: &mut dyn FnMut(Piece) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Some(build) = target.key() else { return Ok(()) };
        let files = pieces.iter().filter_map(|piece| match &piece.content {
            Content::File(file) => Some(file),
            Content::Memory(_) => None,
        });
        for image in files.filter_map(|file| identity::image(file).ok()?) {
            let paths = target.paths().map(Path::to_owned).collect();
            let companions = Companions::of(&image, build, paths);
            for (id, file) in
                companions.open_all(&self.companions, self.machine.as_ref().map(Candidates::places))
            {
                each(Piece { part: Part::Companion(id), content: Content::File(file) })?;
            }
        }
        Ok(())
    }

    fn find_cached(&self, target: &Target, proof: Proof, pieces: &mut Pieces) {
        let Some(cache) = &self.cache else { return };
        for id in target.readings().into_iter().chain(target.key()) {
            let Some(entry) = cache.lookup(id) else { continue };
            for spoiled in &entry.spoiled {
                pieces.note(format!("{} is another build", spoiled.path.display()));
            }
            let is_it = |it: &CachedFile| it.proof == proof && target.is_cached(it);
            for CachedFile { part, file, .. } in entry.found.into_iter().filter(is_it) {
                pieces.add(part, Content::File(file));
            }
        }
    }

    /// The debug file comes first: servers have those of kernel modules alone.
    fn fetch(&self, target: &Target, pieces: &mut Pieces) {
        let servers = self.client.servers().join(", ");
        if servers.is_empty() {
            return;
        }
        let name = target.shown().rsplit('/').next().unwrap_or_default();
        let artifacts = vec![Artifact::DebugInfo, Artifact::Executable];
        let job = Job { ids: target.readings(), artifacts };
        let mut notes = Vec::new();
        let fetching =
            download::fetch_until(&self.stop, &self.client, name, vec![job], &mut |it| match it
                .result
            {
                Ok(Fetched { fault: Some(fault), .. }) => {
                    notes.push(format!("{servers}: its {} is not kept: {fault}", it.artifact));
                }
                Ok(Fetched { file, fault: None }) => {
                    let part = match it.artifact {
                        Artifact::Executable => Part::Elf,
                        _ => Part::Debug,
                    };
                    pieces.add(part_of(&file).unwrap_or(part), Content::File(file));
                }
                Err(error) if error.is_not_found() => notes.push(format!("{servers}: not found")),
                Err(error) => notes.push(error.to_string()),
            });
        notes.extend(fetching.err().map(|error| error.to_string()));
        notes.into_iter().for_each(|note| pieces.note(note));
    }
}

/// A file, unpacked if it is packed; `None` if it is no image.
fn image_at(path: &Path) -> Option<Image> {
    identity::image(&unpacked(local::open_regular(path)?).ok()?).ok()?
}

/// Whether a file of another build is worth a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OtherBuild {
    Report,
    Ignore,
}

/// Takes the file at `path` if it is of the DSO's build.
fn offer(target: &Target, path: &Path, pieces: &mut Pieces, other_build: OtherBuild) {
    let Some(Ok(file)) = local::open_regular(path).map(unpacked) else { return };
    let Ok(Some(image)) = identity::image(&file) else { return };
    let Some(found) = image.identity() else { return };
    if target.is(found) {
        let part = match target.kind {
            DsoKind::Vdso => Part::Vdso,
            _ if holds_code(&image) => Part::Elf,
            _ => Part::Debug,
        };
        pieces.add(part, Content::File(file));
    } else if other_build == OtherBuild::Report {
        let is = match found {
            Identity::Gnu(id) => format!("is another build, {id}"),
            Identity::Content(_) => "is another file".to_owned(),
        };
        pieces.note(format!("{} {is}", path.display()));
    }
}

/// Whether the file was mapped, or is the separate debug file of one that was.
pub fn holds_code(image: &Image) -> bool {
    image.section_range(".text").is_some() || image.section_range(".debug_info").is_none()
}

fn part_of(file: &File) -> Option<Part> {
    let image = identity::image(file).ok()??;
    Some(if holds_code(&image) { Part::Elf } else { Part::Debug })
}

/// Files of this machine. Where the recorded path has another build, that is said.
fn find_local(target: &Target, machine: &mut Candidates, pieces: &mut Pieces) {
    let has_symbols = target.kind == DsoKind::Kernel && pieces.has(Part::Kallsyms);
    // A vmlinux is a hundred times as large, and here it would tell no more names.
    if has_symbols {
        return;
    }
    let dso = SoughtDso {
        kind: target.kind,
        path: &target.path,
        listed_as: target.listed_as.as_deref(),
        ids: target.readings(),
    };
    let mut paths = machine.executables(&dso);
    let linked: Vec<PathBuf> = paths.iter().flat_map(|path| machine.linked_from(path)).collect();
    paths.extend(machine.debug_files(&dso).into_iter().chain(linked));
    for path in paths {
        let is_recorded = target.paths().any(|recorded| recorded == path);
        let other_build = if is_recorded { OtherBuild::Report } else { OtherBuild::Ignore };
        offer(target, &path, pieces, other_build);
    }
}

/// The vdso is no file; ours is that of every process like ours.
fn find_vdso(target: &Target, pieces: &mut Pieces) {
    let Some(image) = own_vdso() else { return };
    let source = perftab_perfdata::decode::SliceSource::new(image.clone());
    let found = Image::open("[vdso]", Box::new(source)).ok().and_then(|i| key_of(i.identity()?));
    match found {
        Some(found) if target.is(Identity::Gnu(found)) => {
            pieces.add(Part::Vdso, Content::Memory(image));
        }
        Some(found) => pieces.note(format!("this machine's vdso is {found}")),
        None => {}
    }
}

/// The symbols of the kernel that runs, if it is the one.
fn find_kallsyms(target: &Target, pieces: &mut Pieces) {
    match kallsyms() {
        Ok((id, text)) if target.is(Identity::Gnu(id)) => {
            pieces.add(Part::Kallsyms, Content::Memory(text));
        }
        Ok((id, _)) => pieces.note(format!("the running kernel is {id}")),
        Err(why) => pieces.note(why),
    }
}

/// The symbols of the kernel that runs, with a stamp that says which kernel.
pub fn kallsyms() -> Result<(BuildId, Vec<u8>), String> {
    let id = identity::running_kernel().ok_or("/sys/kernel/notes has no build-id")?;
    let text = fs::read("/proc/kallsyms").map_err(|error| format!("/proc/kallsyms: {error}"))?;
    if has_hidden_addresses(&text) {
        return Err("the addresses in /proc/kallsyms are hidden; run as root".to_owned());
    }
    Ok((id, stamped_kallsyms(id, &text)))
}

/// With kptr_restrict every address reads as zero.
fn has_hidden_addresses(kallsyms: &[u8]) -> bool {
    let mut lines = kallsyms.split(|&byte| byte == b'\n').take(1000);
    !lines.any(|line| line.iter().take_while(|&&byte| byte != b' ').any(|&byte| byte != b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_addresses_are_seen() {
        assert!(has_hidden_addresses(b"0000000000000000 T _text\n0000000000000000 T _stext\n"));
        assert!(has_hidden_addresses(b""));
        assert!(!has_hidden_addresses(b"0000000000000000 A fixed\nffffffff81000000 T _text\n"));
    }
}
