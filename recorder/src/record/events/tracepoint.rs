//! Tracepoints of the kernel, as tracefs describes them (`Documentation/trace/events.rst`).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use glob::Pattern;
use perftab_perfdata::format::attr::event_type;
use perftab_perfdata::format::tracing_data::TracingFiles;

use super::terms::Term;
use super::{EventCode, EventSpec, Sampled};

/// Where tracefs may be, below the root.
const PLACES: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];

/// Bytes of the largest read.
const PIECE: usize = 64 << 10;

/// A tracepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracepoint {
    /// `sched`.
    pub system: String,
    /// `sched_switch`.
    pub name: String,
    /// Where its files are below `events`.
    pub folder: PathBuf,
}

/// A tracepoint, or several by wildcards, as it is written: `SYSTEM:NAME:MODIFIERS`.
pub struct Written<'a> {
    system: &'a str,
    name: &'a str,
    terms: &'a str,
    /// What stands behind it.
    pub modifiers: &'a str,
}

impl<'a> Written<'a> {
    /// `None` if it does not look like one.
    pub fn read(text: &'a str) -> Option<Self> {
        let (system, rest) = text.split_once(':')?;
        let (name, terms, modifiers) = match rest.split_once('/') {
            Some((name, behind)) => {
                let (terms, modifiers) = behind.split_once('/')?;
                (name, terms, modifiers)
            }
            None => {
                let (name, modifiers) = rest.split_once(':').unwrap_or((rest, ""));
                (name, "", modifiers)
            }
        };
        let is_plain = !system.contains('/') && !modifiers.contains('/') && !system.is_empty();
        // The name of an event that nobody knows, with modifiers.
        let is_other = rest.chars().all(super::modifiers::is_modifier);
        (is_plain && !is_other).then_some(Self { system, name, terms, modifiers })
    }

    /// The tracepoints that it stands for, at least one.
    pub fn resolve(&self, root: &Path) -> Result<Vec<EventSpec>> {
        let tracefs = Tracefs::find(root)?;
        let mut events = Vec::new();
        for system in tracefs.systems(self.system)? {
            for name in tracefs.names(&system, self.name)? {
                let folder = Path::new(&system).join(&name);
                let tracepoint = Tracepoint { system: system.clone(), name, folder };
                let id = tracefs.id(&tracepoint)?;
                // As perf: without modifiers.
                let name = format!("{}:{}", tracepoint.system, tracepoint.name);
                let mut event = EventSpec {
                    sampled: Sampled::EachTime,
                    tracepoint: Some(tracepoint),
                    ..EventSpec::new(&name, EventCode::new(event_type::TRACEPOINT, id))
                };
                for term in Term::parse_list(self.terms) {
                    let taken =
                        if term.key.starts_with("config") { None } else { event.take(&term) };
                    taken.unwrap_or_else(|| bail!("a tracepoint has no term '{}'", term.key))?;
                }
                events.push(event);
            }
        }
        if events.is_empty() {
            bail!(self.answer(&tracefs));
        }
        Ok(events)
    }

    /// What to do where there is none.
    fn answer(&self, tracefs: &Tracefs) -> String {
        let Self { system, name, .. } = self;
        let is_known = tracefs.systems(system).is_ok_and(|found| found == [*system]);
        match *system {
            "kprobe" => {
                format!("perf probe {name} makes a probe of the kernel, which is -e probe:{name}")
            }
            "kretprobe" => format!(
                "perf probe {name}%return makes a probe of the kernel, which is -e probe:{name}__return"
            ),
            _ if is_known => format!(
                "no tracepoint is called so; perftab list {system}: prints those that there are"
            ),
            _ => "no tracepoint is called so; perftab list tracepoint prints those that there are"
                .to_owned(),
        }
    }

    /// Whether the name is one of a tracepoint that somebody made of a probe, as `perf probe` does.
    pub fn exists(&self, root: &Path) -> bool {
        let names = |tracefs: Tracefs| tracefs.names(self.system, self.name);
        Tracefs::find(root).and_then(names).is_ok_and(|names| !names.is_empty())
    }
}

/// What readers need to know of tracepoints; nothing if there are none.
pub fn tracing_data(root: &Path, tracepoints: &[&Tracepoint]) -> Result<Vec<u8>> {
    if tracepoints.is_empty() {
        return Ok(Vec::new());
    }
    let tracefs = Tracefs::find(root)?;
    let mut formats: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    let mut known = Vec::new();
    for tracepoint in tracepoints {
        if !known.contains(tracepoint) {
            let format = tracefs.read(&tracepoint.file("format"))?;
            formats.entry(tracepoint.system.clone()).or_default().push(format);
            known.push(*tracepoint);
        }
    }
    let files = TracingFiles {
        header_page: tracefs.read(Path::new("events/header_page"))?,
        header_event: tracefs.read(Path::new("events/header_event"))?,
        formats,
        printk_formats: tracefs.read(Path::new("printk_formats")).unwrap_or_default(),
    };
    Ok(files.encode(rustix::param::page_size() as u32))
}

impl Tracepoint {
    /// One that is yet to be made.
    pub fn made(system: &str, name: &str) -> Self {
        Self { system: system.to_owned(), name: name.to_owned(), folder: PathBuf::new() }
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::new("events").join(&self.folder).join(name)
    }
}

/// The file system that describes tracepoints.
pub struct Tracefs(PathBuf);

impl Tracefs {
    /// Where it is mounted, if this user may read it.
    pub fn find(root: &Path) -> Result<Self> {
        for place in PLACES.map(|place| root.join(place)) {
            match fs::read_dir(place.join("events")) {
                Ok(_) => return Ok(Self(place)),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => bail!(
                    "{} has the tracepoints and is not readable; record as root",
                    place.display()
                ),
                Err(_) => {}
            }
        }
        bail!("tracefs has the tracepoints: mount -t tracefs tracefs /sys/kernel/tracing, as root")
    }

    fn events(&self) -> PathBuf {
        self.0.join("events")
    }

    fn systems(&self, pattern: &str) -> Result<Vec<String>> {
        matching(&self.events(), pattern)
    }

    /// Of a system's tracepoints those that match.
    fn names(&self, system: &str, pattern: &str) -> Result<Vec<String>> {
        let mut names = matching(&self.events().join(system), pattern)?;
        // Some folders are none; and what is no folder says something of the whole system.
        names.retain(|name| self.events().join(system).join(name).join("id").exists());
        Ok(names)
    }

    /// One of its files.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The number by which the kernel knows it.
    pub fn id(&self, tracepoint: &Tracepoint) -> Result<u64> {
        let path = tracepoint.file("id");
        let text = String::from_utf8(self.read(&path)?).ok();
        let number = text.and_then(|text| text.trim().parse().ok());
        number.with_context(|| format!("{} has no number", self.0.join(path).display()))
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        let path = self.0.join(path);
        read_whole(&path)
            .with_context(|| format!("{} is not readable; record as root", path.display()))
    }
}

/// The content of a file, in large pieces: of some, the kernel gives only what the first read has
/// room for (`show_header` in `kernel/trace/trace_events.c`), and `fs::read` begins with 32 bytes.
fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, mut whole) = (File::open(path)?, Vec::new());
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(whole),
            length => whole.extend_from_slice(&piece[..length]),
        }
    }
}

/// Names of a folder's entries that match, in their own order.
fn matching(folder: &Path, pattern: &str) -> Result<Vec<String>> {
    let pattern = Pattern::new(pattern)?;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| pattern.matches(name)).collect();
    names.sort_unstable();
    Ok(names)
}
