//! Lines of source files.
//!
//! A path in debug information says where a file lay when it was compiled; what lies there now may be
//! another one. `perftab_listing::source` decides; a file that was changed after its binary is not used, as `objdump -S`
//! warns of.
//!
//! Constraint: the path may be anything that a binary says, and what is read goes into a link. So only
//! regular files are read that are called as sources are, also where links of the file system lead: who
//! lets somebody else's program run may read more than its author.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::Read;
use std::num::NonZeroU32;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::SystemTime;

use perftab_core::session::Session;
use perftab_core::{DsoId, FileId, HotPlace, PlaceTexts, TextCheck};
use perftab_listing::source::{
    self, MAX_SOURCE, Noted, OtherSource, SourceCheck, Written, is_called_as_source,
};
use perftab_perfdata::format::BuildId;
use perftab_perfdata::text::utc;
use rustix::fs::{Mode, OFlags};

use super::source_places::{self, MovedPaths};
use crate::cli::{ImageArgs, SourceArgs};
use crate::debuginfod_client::{Client, Patience};
use crate::images::answering::metadata;
use crate::output::{self, grouped};

/// No more than this is read of all, since many paths may lead to one file.
const MAX_SOURCES: u64 = 1 << 30;
/// Texts in debug information that are compared with each other.
const MOST_COMPARED: usize = 16;
/// Files that servers are asked for.
const MOST_ASKED: usize = 200;

/// Why a file is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// There is none of this path that can be read, or it is not called like a source.
    Missing,
    /// It is not the one that was compiled.
    Other(OtherSource),
    /// Others were read before, and more than anybody has.
    TooMuch,
}

impl Reason {
    fn sentence(self) -> String {
        match self {
            Self::Missing => {
                "no readable source file on this machine, by its path and suffix".to_owned()
            }
            Self::Other(other) => other.to_string(),
            Self::TooMuch => "1 GiB of source files had been read already".to_owned(),
        }
    }
}

/// What is to be said of source files.
#[derive(Debug, Default)]
pub struct SourceReport {
    /// Those that were not used.
    unused: BTreeMap<Reason, BTreeSet<String>>,
    /// Those that were, with nothing but the time of their last change to speak for them.
    unchecked: BTreeSet<String>,
    /// Those in a place that the user named, with when they were changed and the binary was built before.
    newer: BTreeMap<String, (SystemTime, SystemTime)>,
    /// Why servers gave nothing, other than that they have nothing.
    failed: BTreeSet<String>,
}

impl SourceReport {
    /// Says it on standard error.
    pub fn say(&self) {
        for why in &self.failed {
            output::notice(format_args!("sources: {why}"));
        }
        if let Some((path, &(changed, built))) = self.newer.first_key_value() {
            let more = match self.newer.len() - 1 {
                0 => String::new(),
                more => format!(", and {} more", grouped(more as u64)),
            };
            let [changed, built] = [changed, built].map(date);
            output::notice(format_args!(
                "{path}: not checked: no MD5 in the debug information; changed {changed}, the binary {built}{more}"
            ));
        }
        for (reason, paths) in &self.unused {
            let (paths, why) = (some_of(paths), reason.sentence());
            output::notice(format_args!("{paths}: lines stay without text: {why}"));
        }
        if !self.unchecked.is_empty() {
            let paths = some_of(&self.unchecked);
            output::notice(format_args!("{paths}: not checked: no MD5 in the debug information"));
        }
    }
}

/// Up to the second.
fn date(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    utc(since.as_secs().saturating_mul(1_000_000_000)).replace(".000000000Z", "Z")
}

/// The first, and how many others there are.
fn some_of(paths: &BTreeSet<String>) -> String {
    match (paths.first(), paths.len()) {
        (None, _) => String::new(),
        (Some(only), 1) => only.clone(),
        (Some(first), count) => format!("{first} and {} more", grouped(count as u64 - 1)),
    }
}

/// Reads the lines of all places, each file once.
pub fn read(
    session: &Session,
    places: &[HotPlace],
    (recording, from): (&Path, SourcePlaces),
    texts: &mut PlaceTexts,
) -> SourceReport {
    let mut files: BTreeMap<FileId, Vec<(NonZeroU32, &HotPlace)>> = BTreeMap::new();
    for place in places {
        let is_known = texts.line(place.line).is_some();
        if let (Some(file), Some(line), false) = (place.line.file, place.line.line, is_known) {
            files.entry(file).or_default().push((line, place));
        }
    }
    let mut sources = Sources::of(from);
    for (file, mut lines) in files {
        let path = session.symbols().file(file);
        let places = lines.iter().map(|(_, place)| (place.dso, place.address));
        let Some((content, check)) = sources.content(session, recording, path, places) else {
            continue;
        };
        texts.add_check(file, told(check));
        lines.sort_unstable_by_key(|(line, _)| *line);
        lines.dedup_by_key(|(line, _)| *line);
        let mut wanted = lines.into_iter().map(|(line, _)| line).peekable();
        for (number, text) in (1..).zip(content.lines()) {
            if let Some(line) = wanted.next_if(|line| line.get() == number) {
                texts.add_line(file, line, text);
            }
        }
    }
    sources.report
}

/// What a link tells of it.
fn told(check: SourceCheck) -> TextCheck {
    match check {
        SourceCheck::Md5 => TextCheck::Checked,
        SourceCheck::Embedded => TextCheck::Embedded,
        SourceCheck::Time | SourceCheck::Server | SourceCheck::Place => TextCheck::NotChecked,
    }
}

/// Reads source files.
#[derive(Default)]
pub struct Sources {
    /// Bytes that were read.
    read: u64,
    /// What is to be said of them.
    pub report: SourceReport,
    places: SourcePlaces,
}

/// Where source files are looked for; by default where they were compiled.
pub struct SourcePlaces {
    /// `None`: not on this machine.
    here: Option<MovedPaths>,
    servers: Option<Client>,
    /// What servers were asked for, and what they gave.
    given: HashMap<(BuildId, String), Option<Vec<u8>>>,
}

impl Default for SourcePlaces {
    fn default() -> Self {
        Self { here: Some(MovedPaths::default()), servers: None, given: HashMap::new() }
    }
}

impl SourcePlaces {
    /// As the command line says: on this machine, unless it is to be left alone, then at servers.
    pub fn new(args: &SourceArgs, images: &ImageArgs) -> Self {
        let client = Client::new(images, Patience::OfCommand);
        Self {
            here: MovedPaths::on_this_machine(args, images),
            servers: Some(client).filter(|client| !client.servers().is_empty()),
            given: HashMap::new(),
        }
    }

    /// What a server gives for this path of a build. Each is asked for once.
    fn of_servers(
        &mut self,
        id: BuildId,
        path: &str,
        failed: &mut BTreeSet<String>,
    ) -> Option<Vec<u8>> {
        let Self { servers, given, .. } = self;
        let key = (id, path.to_owned());
        if let Some(known) = given.get(&key) {
            return known.clone();
        }
        let client = servers.as_ref().filter(|_| given.len() < MOST_ASKED)?;
        let answer = source_places::from_servers(client, id, path);
        if let Err(why) = &answer
            && !why.is_not_found()
        {
            failed.insert(why.to_string());
        }
        let bytes = answer.ok().flatten();
        given.insert(key, bytes.clone());
        bytes
    }
}

impl Sources {
    /// Those that are there.
    pub fn of(places: SourcePlaces) -> Self {
        Self { places, ..Self::default() }
    }

    /// What servers have of a file, if the code is of one build: another may have been compiled from another file.
    fn of_servers(
        &mut self,
        session: &Session,
        path: &str,
        places: &[(DsoId, u64)],
    ) -> Option<Result<FoundText, Reason>> {
        let &(dso, _) = places.first()?;
        places.iter().all(|(other, _)| *other == dso).then_some(())?;
        let id = session.profile().dsos.get(dso).build_id()?;
        let bytes = self.places.of_servers(id, path, &mut self.report.failed)?;
        self.read += bytes.len() as u64;
        let noted = places.iter().map(|&(dso, address)| {
            let md5 = session.source_md5(dso, address, path);
            Noted { md5, written: Written::BeforeBinary }
        });
        let checked = source::check(&bytes, noted).map_err(Reason::Other);
        Some(checked.map(|check| {
            let check = match check {
                SourceCheck::Time => SourceCheck::Server,
                check => check,
            };
            FoundText::of(&bytes, check)
        }))
    }

    /// What a file holds, if it is the one that the code at these places was made of.
    pub fn content(
        &mut self,
        session: &Session,
        recording: &Path,
        path: &str,
        places: impl Iterator<Item = (DsoId, u64)>,
    ) -> Option<(String, SourceCheck)> {
        let places: Vec<(DsoId, u64)> = places.collect();
        let here = self.places.here.as_ref();
        let compiled = CompiledSource { session, recording, path, here };
        let content = match self.read < MAX_SOURCES {
            true => compiled
                .content(&places, &mut self.read)
                .or_else(|why| self.of_servers(session, path, &places).unwrap_or(Err(why))),
            false => Err(Reason::TooMuch),
        };
        let path = path.to_owned();
        match &content {
            Ok(FoundText { times: Some(times), check: SourceCheck::Place, .. }) => {
                self.report.newer.insert(path, *times);
            }
            Ok(FoundText { check: SourceCheck::Md5 | SourceCheck::Embedded, .. }) => {}
            Ok(_) => {
                self.report.unchecked.insert(path);
            }
            Err(reason) => {
                self.report.unused.entry(*reason).or_default().insert(path);
            }
        }
        content.ok().map(|FoundText { text, check, .. }| (text, check))
    }
}

/// What a source file holds.
struct FoundText {
    text: String,
    check: SourceCheck,
    /// When it was changed, and when the binary was built.
    times: Option<(SystemTime, SystemTime)>,
}

impl FoundText {
    fn of(bytes: &[u8], check: SourceCheck) -> Self {
        Self { text: source::text(bytes), check, times: None }
    }
}

/// A source file as debug information names it.
struct CompiledSource<'a> {
    session: &'a Session,
    recording: &'a Path,
    path: &'a str,
    /// `None`: not on this machine.
    here: Option<&'a MovedPaths>,
}

impl CompiledSource<'_> {
    /// What the file holds, if it is the one that the code at these places was made of.
    fn content(&self, places: &[(DsoId, u64)], read: &mut u64) -> Result<FoundText, Reason> {
        match self.embedded(places) {
            Some(found) => {
                *read += found.text.len() as u64;
                Ok(found)
            }
            None => self.of_this_machine(places, read),
        }
    }

    /// The text that the compiler has put into the debug information, if all places have the same.
    fn embedded(&self, places: &[(DsoId, u64)]) -> Option<FoundText> {
        let text_at = |&(dso, at): &(DsoId, u64)| self.session.embedded_source(dso, at, self.path);
        let text = text_at(places.first()?)?;
        let noted = places.iter().map(|&(dso, address)| {
            let md5 = self.session.source_md5(dso, address, self.path);
            Noted { md5, written: Written::BeforeBinary }
        });
        let check = match source::check(&text, noted).ok()? {
            SourceCheck::Time => {
                // Without sums each text is compared, which is much work for many.
                let is_same = |place| text_at(place).as_ref() == Some(&text);
                (places.len() <= MOST_COMPARED && places.iter().skip(1).all(is_same))
                    .then_some(())?;
                SourceCheck::Embedded
            }
            check => check,
        };
        Some(FoundText::of(&text, check))
    }

    fn of_this_machine(
        &self,
        places: &[(DsoId, u64)],
        read: &mut u64,
    ) -> Result<FoundText, Reason> {
        let here = self.here.ok_or(Reason::Missing)?;
        let (bytes, changed) = readable(&here.of(self.path)).ok_or(Reason::Missing)?;
        *read += bytes.len() as u64;
        let mut built = BTreeMap::new();
        let noted = places.iter().map(|&(dso, address)| {
            let built = *built.entry(dso).or_insert_with(|| self.built(dso));
            let written = here.written(changed, built);
            Noted { md5: self.session.source_md5(dso, address, self.path), written }
        });
        let check = source::check(&bytes, noted).map_err(Reason::Other)?;
        let times = changed.zip(built.values().flatten().min().copied());
        Ok(FoundText { times, ..FoundText::of(&bytes, check) })
    }

    /// When the binary was written, or else the recording. A binary that is younger than what it ran in is a copy, which
    /// does not say when it was built.
    fn built(&self, dso: DsoId) -> Option<SystemTime> {
        let changed = |path: &Path| metadata(path)?.modified().ok();
        let image = self.session.image_name(dso).and_then(|name| changed(Path::new(name)));
        let recorded = changed(self.recording);
        match (image, recorded) {
            (Some(image), Some(recorded)) => Some(image.min(recorded)),
            (image, recorded) => image.or(recorded),
        }
    }
}

/// A source file's bytes, and when it was changed.
pub fn readable(path: &Path) -> Option<(Vec<u8>, Option<SystemTime>)> {
    is_named_as_source(path).then_some(())?;
    metadata(path).filter(fs::Metadata::is_file)?;
    // It may have become a pipe, which would wait.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let opened = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    let is_source = |file: &fs::Metadata| {
        file.is_file() && file.len() <= MAX_SOURCE && is_called_as_source(&opened)
    };
    let changed = file.metadata().ok().filter(is_source)?.modified().ok();
    let mut bytes = Vec::new();
    file.take(MAX_SOURCE).read_to_end(&mut bytes).ok()?;
    Some((bytes, changed))
}

/// Whether a path is one that sources have.
pub fn is_named_as_source(path: &Path) -> bool {
    path.is_absolute() && is_called_as_source(path)
}
