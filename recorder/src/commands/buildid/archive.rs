//! `perftab buildid archive`: the binaries of a recording in one file.
//!
//! Its inside is that of the cache, as `perf archive` packs it: `tar xf FILE -C ~/.debug` puts
//! everything where perf and perftab look, and the viewer opens the file as it is. gzip, because
//! every tar unpacks it and it is several times faster than perf's bzip2; with zstd, `tar` needs a
//! second program on the machine that unpacks.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::find::{Content, Finder, Piece};
use super::targets::{DsoSelection, Target, targets};
use crate::buildid_cache::{EntryName, link_name, link_target};
use crate::cli::ArchiveArgs;
use crate::commands::{finish, read};
use crate::input::is_link_argument;
use crate::output::{self, Outcome, Progress, Readers, Unit};
use crate::recording::USUAL_NAME;
use crate::result_file::ResultFile;
use crate::stop::Stop;

/// Packs what is found; what is not, is said.
pub fn run(args: &ArchiveArgs) -> anyhow::Result<Outcome> {
    let session = read(&args.input)?;
    let mut outcome = finish(&session);
    let stop = Stop::install()?;
    let mut finder = Finder::new(&args.images, &session, stop.clone())?;
    let which = if args.all || !args.id.is_empty() { DsoSelection::All } else { DsoSelection::Hit };
    let mut wanted = targets(&session, which);
    if !args.id.is_empty() {
        let is_named =
            |target: &Target| args.id.iter().any(|id| target.identity.to_string().starts_with(id));
        wanted.retain(is_named);
    }
    if wanted.is_empty() {
        bail!(
            "no DSO with such a build-id or with samples was recorded; list them with: perftab buildid list"
        );
    }

    let output = output_path(args);
    let mut packer = Packer::create(&output, stop)?;
    let writing = || format!("writing {}", output.display());
    let mut seen = HashSet::new();
    for target in &wanted {
        if target.key().is_some_and(|key| !seen.insert(key)) {
            continue;
        }
        let found = finder.find(target);
        packer.stop.check("no archive was written")?;
        if found.pieces.is_empty() {
            let (id, path, why) = (target.identity, target.shown(), found.why_nothing());
            output::notice(format_args!("not packed: {id} {path}: {why}"));
            outcome = Outcome::WithLosses;
        } else {
            packer.add(target, &found.pieces).with_context(writing)?;
            finder.companions(target, &found.pieces, &mut |piece| {
                packer.add_piece(target, &piece).with_context(writing)
            })?;
        }
    }
    let packed = packer.packed;
    if packed == 0 {
        bail!("found nothing to pack; run this on the machine that was recorded");
    }
    let size = packer.finish().with_context(writing)?;
    let name = if output == Path::new("-") {
        "standard output".into()
    } else {
        output.display().to_string()
    };
    let dsos = if packed == 1 { "DSO" } else { "DSOs" };
    output::notice(format_args!(
        "{packed} {dsos} in {name}, {}: add it in the viewer, or unpack it with: tar xf FILE -C ~/.debug",
        output::size(size)
    ));
    Ok(outcome)
}

/// Beside the recording, as `perf archive` does; of what has no name, under the usual one.
fn output_path(args: &ArchiveArgs) -> PathBuf {
    args.output.clone().unwrap_or_else(|| {
        let given = args.input.path();
        let recording = match given == Path::new("-") || is_link_argument(given.as_os_str()) {
            true => Path::new(USUAL_NAME),
            false => given,
        };
        // A folder may be named with a slash behind it.
        let mut path = recording.components().collect::<PathBuf>().into_os_string();
        path.push(".tar.gz");
        path.into()
    })
}

/// An archive being written.
struct Packer {
    tar: Builder<GzEncoder<ResultFile>>,
    progress: Progress,
    done: u64,
    packed: usize,
    time: u64,
    stop: Stop,
}

impl Packer {
    fn create(output: &Path, stop: Stop) -> anyhow::Result<Self> {
        if output == Path::new("-") && io::stdout().is_terminal() {
            bail!("standard output is a terminal; name a file with -o");
        }
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Ok(Self {
            tar: Builder::new(GzEncoder::new(
                ResultFile::create(output, Readers::All)?,
                Compression::fast(),
            )),
            progress: Progress::begin("Packing", Unit::Bytes, None),
            done: 0,
            packed: 0,
            time,
            stop,
        })
    }

    /// The files of a DSO, then the link that leads to them.
    fn add(&mut self, target: &Target, pieces: &[Piece]) -> anyhow::Result<()> {
        let (Some(key), Some(name)) = (target.key(), entry_name(target)) else { return Ok(()) };
        for piece in pieces {
            self.add_piece(target, piece)?;
        }
        if let Some(link) = link_name(key) {
            let mut header = self.header(0o777, EntryType::Symlink);
            header.set_size(0);
            self.tar.append_link(&mut header, link, link_target(&name, key))?;
        }
        self.packed += 1;
        Ok(())
    }

    fn add_piece(&mut self, target: &Target, piece: &Piece) -> anyhow::Result<()> {
        let (Some(key), Some(name)) = (target.key(), entry_name(target)) else { return Ok(()) };
        let path = name.as_path().join(key.to_string()).join(&*piece.part.file_name());
        match &piece.content {
            Content::Memory(bytes) => self.append(&path, &mut bytes.as_slice(), bytes.len() as u64),
            Content::File(file) => self.append_file(&path, file),
        }
    }

    fn append_file(&mut self, path: &Path, mut file: &File) -> anyhow::Result<()> {
        let before = file.metadata()?;
        file.seek(SeekFrom::Start(0))?;
        self.append(path, &mut file, before.len())?;
        let after = file.metadata()?;
        let state = |metadata: &fs::Metadata| {
            (metadata.len(), metadata.mtime(), metadata.mtime_nsec(), metadata.ctime_nsec())
        };
        if state(&before) != state(&after) {
            bail!("{} changed while it was packed; pack again", path.display());
        }
        Ok(())
    }

    fn append(&mut self, path: &Path, content: &mut dyn Read, length: u64) -> anyhow::Result<()> {
        let mut header = self.header(0o644, EntryType::Regular);
        header.set_size(length);
        let mut watched = ProgressReader {
            content: content.take(length),
            done: &mut self.done,
            progress: &mut self.progress,
            stop: &self.stop,
        };
        self.tar.append_data(&mut header, path, &mut watched)?;
        if watched.content.limit() > 0 {
            bail!("{} changed while it was packed; pack again", path.display());
        }
        Ok(())
    }

    fn header(&self, mode: u32, kind: EntryType) -> Header {
        let mut header = Header::new_gnu();
        header.set_mode(mode);
        header.set_entry_type(kind);
        header.set_mtime(self.time);
        header
    }

    /// Ends the archive and gives it its name; its size.
    fn finish(self) -> anyhow::Result<u64> {
        let file = self.tar.into_inner()?.finish()?;
        self.stop.check("no archive was written")?;
        Ok(file.finish()?.unwrap_or(self.done))
    }
}

/// A DSO whose path is none of a file is packed all the same; its id finds it.
fn entry_name(target: &Target) -> Option<EntryName> {
    target.entry_name().or_else(|| EntryName::new(Path::new("[unknown]")))
}

/// Content that is being packed.
struct ProgressReader<'a, 'c> {
    content: io::Take<&'c mut dyn Read>,
    done: &'a mut u64,
    progress: &'a mut Progress,
    stop: &'a Stop,
}

impl Read for ProgressReader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_asked() {
            return Err(io::Error::other("stopped: no archive was written"));
        }
        let count = self.content.read(buffer)?;
        *self.done += count as u64;
        self.progress.update(*self.done);
        Ok(count)
    }
}
