//! `--trust-paths`: names of code that was recorded without a build-id, from the files at its paths on the machine that
//! recorded it, and of its kernel from the one that runs.
//!
//! Nothing tells that such a file is what ran, so names are forced: each is marked, and why stands in the ledger. Host,
//! inode, size and times cannot speak for a file, but any of them may speak against it. Then nothing is taken.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use perftab_core::session::{Session, TimeInfo};
use perftab_core::{Dso, DsoId, DsoKind, Status};
use perftab_perfdata::identity::MappedFrom;

use super::identity;
use super::local::{Places, open_regular};
use crate::file_source::FileSource;
use crate::late_ids::{self, Inode};
use crate::output::{self, counted, printable};
use crate::recording::Recording;
use crate::scratch;

/// Paths of one reason are counted beyond so many.
const MOST_NAMED: usize = 5;
/// No kernel maps less.
const PAGE: u64 = 0x1000;

/// What the ledger says of a file that was taken.
pub const TAKEN: &str = "taken by its path: nothing speaks against it";

/// What speaks against a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// The recording is of another machine.
    OtherHost(String),
    /// Nothing is known of the machine, and no inode of the file.
    Unknown,
    /// What was read of the recording says why, or it was deleted while it ran.
    Recorded(&'static str),
    /// No regular file is there, or none that can be read.
    NotThere,
    /// Another file was mapped.
    OtherInode,
    /// It ends before what was mapped of it.
    Shorter,
    /// It changed after the recording had been begun.
    Changed,
    /// Nothing tells when that was.
    NoTime,
    /// No function of it is at the sampled addresses.
    NoNames,
    /// Another release of the kernel runs.
    OtherKernel(String),
    /// The kernel is at other addresses, or does not tell this user.
    MovedKernel,
}

const NOT_TAKEN: &str = "not trusted: ";

impl Doubt {
    /// What the ledger says.
    pub fn sentence(&self) -> String {
        format!("{NOT_TAKEN}{self}")
    }
}

/// Whether the ledger says that of a file that was looked at for its path.
pub fn is_outcome(words: &str) -> bool {
    words == TAKEN || words.starts_with(NOT_TAKEN)
}

impl Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherHost(host) => {
                return write!(f, "the recording is of another machine, {}", printable(host));
            }
            Self::Unknown => "the recording tells neither its machine nor the inode",
            Self::Recorded(why) => why,
            Self::NotThere => "no file that can be read is there",
            Self::OtherInode => "another file was mapped, with another inode",
            Self::Shorter => "it ends before what was mapped of it",
            Self::Changed => {
                "since the recording was begun it was changed, linked or given other permissions"
            }
            Self::NoTime => {
                "the recording is a copy, or no recorder is at the other end of the pipe, so nothing tells when it was begun"
            }
            Self::NoNames => "it has no functions at the sampled addresses",
            Self::OtherKernel(release) => {
                return write!(f, "the recording is of another kernel, {}", printable(release));
            }
            Self::MovedKernel => {
                "the kernel is not where it was when it was recorded, or does not tell this user where it is"
            }
        })
    }
}

/// What is known of the making of a recording.
pub struct Making {
    /// When it was begun, or before; `None` if nothing tells.
    begun: Option<SystemTime>,
    /// The machine that it is of.
    host: Option<String>,
    /// The release of its kernel.
    release: Option<String>,
}

/// Where the kernel that runs tells its symbols.
const KALLSYMS: &str = "/proc/kallsyms";

impl Making {
    /// Of a recording that this session was read from. Its own clock on the wall tells more than its file, which may be a
    /// copy.
    pub fn of(recording: &Recording, session: &Session) -> Self {
        let TimeInfo { start, end, .. } = session.info().time;
        let of_clock = start.zip(session.profile().clocks.wall).map(|(first, wall)| {
            SystemTime::UNIX_EPOCH + Duration::from_nanos(wall.wall_nanos(first))
        });
        let sampled = start.zip(end).map_or(0, |(first, last)| last.saturating_sub(first));
        let length = Duration::from_nanos(sampled);
        Self {
            begun: of_clock.or_else(|| recording.begun(length)),
            host: session.profile().host.hostname.clone(),
            release: session.profile().host.os_release.clone(),
        }
    }

    /// What speaks against the file at a DSO's path; the file, if nothing does.
    pub fn file_of(&self, dso: &Dso) -> Result<File, Doubt> {
        self.is_of_this_machine()?;
        if dso.is_deleted {
            return Err(Doubt::Recorded("it was deleted while it ran"));
        }
        if let Some(why) = dso.no_identity_because {
            return Err(Doubt::Recorded(why));
        }
        let path = Path::new(&dso.path);
        let file = open_regular(path).ok_or(Doubt::NotThere)?;
        let metadata = file.metadata().map_err(|_| Doubt::NotThere)?;
        let inode = match dso.mapped_from {
            MappedFrom::Inode { major, minor, inode, .. } if inode != 0 => {
                let mapped = (rustix::fs::makedev(major, minor), inode);
                let compared = Inode::compare(path, &metadata, mapped);
                // Where devices mean nothing, numbers are mostly those of the file system below.
                if compared == Inode::Another || metadata.ino() != inode {
                    return Err(Doubt::OtherInode);
                }
                Some(compared)
            }
            _ if self.host.is_none() => return Err(Doubt::Unknown),
            _ => None,
        };
        let pages = metadata.len().next_multiple_of(PAGE);
        let mut mapped = dso.executable.iter();
        if mapped.any(|it| it.offset.saturating_add(it.length.unwrap_or(1)) > pages) {
            return Err(Doubt::Shorter);
        }
        let begun = self.begun.ok_or(Doubt::NoTime)?;
        // A link to the file changes only the second time: perf makes one for its cache. Whoever copies with the times of
        // the original sets only the first.
        let may_be_linked = inode == Some(Inode::Mapped) && metadata.nlink() > 1;
        let is_modified = metadata.modified().is_ok_and(|time| time > begun);
        match is_modified || !may_be_linked && late_ids::changed(&metadata) > begun {
            true => Err(Doubt::Changed),
            false => Ok(file),
        }
    }

    /// The symbols of the kernel that runs, unless something speaks against them: a kernel that was started again is
    /// elsewhere, in all likelihood.
    pub fn kernel_of(&self, dso: &Dso) -> Result<Vec<u8>, Doubt> {
        self.is_of_this_machine()?;
        let here = rustix::system::uname();
        let release = self.release.as_ref().ok_or(Doubt::Unknown)?;
        if here.release().to_bytes() != release.as_bytes() {
            return Err(Doubt::OtherKernel(release.clone()));
        }
        let place = &dso.kernel_place;
        let (Some(symbol), Some(reference)) = (&place.symbol, place.reference) else {
            return Err(Doubt::Unknown);
        };
        let text = fs::read(KALLSYMS).map_err(|_| Doubt::NotThere)?;
        let is_it = |line: &[u8]| {
            let mut words = line.split(|byte| *byte == b' ');
            let address = words.next().and_then(|word| std::str::from_utf8(word).ok());
            let is_there = address.is_some_and(|it| u64::from_str_radix(it, 16) == Ok(reference));
            is_there && words.nth(1) == Some(symbol.as_bytes())
        };
        match place.moved_to.is_empty() && text.split(|byte| *byte == b'\n').any(is_it) {
            true => Ok(text),
            false => Err(Doubt::MovedKernel),
        }
    }

    fn is_of_this_machine(&self) -> Result<(), Doubt> {
        let here = rustix::system::uname();
        match &self.host {
            Some(host) if here.nodename().to_bytes() != host.as_bytes() => {
                Err(Doubt::OtherHost(host.clone()))
            }
            _ => Ok(()),
        }
    }
}

/// What names a DSO, as nothing speaks against it.
pub struct Found {
    /// What people are told.
    pub name: String,
    /// The file of its path, or the debug file of its build, which has more names than a program that was stripped.
    pub file: File,
}

/// What stands at the paths of all DSOs of a session that have samples and no identity, and are of files.
pub fn find_all(
    session: &Session,
    making: &Making,
    places: &Places,
) -> Vec<(DsoId, Result<Found, Doubt>)> {
    let rows = session.dsos().into_iter();
    let nameless = rows.filter(|row| row.samples > 0 && row.status == Status::NoIdentity);
    let found = nameless.filter_map(|row| {
        let id = DsoId(row.id);
        let dso = session.profile().dsos.get(id);
        match dso.kind {
            DsoKind::User if dso.path.starts_with('/') => {
                let file = making.file_of(dso);
                Some((id, file.map(|file| best_of_build(&dso.path, file, places))))
            }
            DsoKind::Kernel => Some((id, making.kernel_of(dso).and_then(in_a_file))),
            _ => None,
        }
    });
    found.collect()
}

fn in_a_file(symbols: Vec<u8>) -> Result<Found, Doubt> {
    let file = scratch::nameless_file().and_then(|mut file| {
        file.write_all(&symbols)?;
        Ok(file)
    });
    let file = file.map_err(|_| Doubt::NotThere)?;
    Ok(Found { name: KALLSYMS.to_owned(), file })
}

fn best_of_build(path: &str, file: File, places: &Places) -> Found {
    let own = identity::build_id(&file).ok().flatten();
    let debug_files = own.map(|id| places.debug_files(id)).unwrap_or_default();
    let mut of_build = debug_files.into_iter().filter_map(|path| {
        let file = open_regular(&path)?;
        let is_it = identity::build_id(&file).ok()? == own;
        is_it.then(|| Found { name: path.to_string_lossy().into_owned(), file })
    });
    of_build.next().unwrap_or(Found { name: path.to_owned(), file })
}

/// Names what has no identity, after everything that matches has given its names. `making` is `None` of a link.
pub fn force(session: &mut Session, making: Option<&Making>, places: &Places) {
    let Some(making) = making else {
        output::notice("--trust-paths is not used: a link does not tell which files were mapped");
        return;
    };
    let mut taken = 0;
    let mut left: BTreeMap<Doubt, Vec<String>> = BTreeMap::new();
    for (id, found) in find_all(session, making, places) {
        let path = session.profile().dsos.get(id).path.clone();
        let outcome = found.and_then(|Found { name, file }| {
            let source = FileSource::new(file).map_err(|_| Doubt::NotThere)?;
            session.force(id, &name, Box::new(source)).map_err(|_| Doubt::NoNames)
        });
        match outcome {
            Ok(_) => {
                session.note_attempt(id, &path, TAKEN);
                taken += 1;
            }
            Err(doubt) => {
                session.note_attempt(id, &path, &doubt.sentence());
                left.entry(doubt).or_default().push(path);
            }
        }
    }
    if taken > 0 {
        output::notice(format_args!(
            "UNSAFE: --trust-paths names {} from this machine's files at their paths. Nothing tells that they are what \
             ran; each name is marked [forced]",
            counted(taken, "DSO without a build-id", "DSOs without build-ids")
        ));
    }
    for (doubt, paths) in left {
        let named: Vec<_> = paths.iter().take(MOST_NAMED).map(|path| printable(path)).collect();
        let more = match paths.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        output::notice(format_args!("not trusted: {}{more}: {doubt}", named.join(", ")));
    }
}
