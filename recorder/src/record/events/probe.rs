//! Probes of programs: `uprobe:FILE:FUNCTION`, `uretprobe:FILE:FUNCTION`, `sdt_PROVIDER:NAME@FILE`.
//!
//! Here they become places in files. `probes.rs` has the kernel make events of these.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use glob::Pattern;
use perftab_core::{FoundFunctions, Image, StaticProbe, Svma};
use perftab_listing::instructions::Instructions;
use perftab_perfdata::format::attr::event_type;

use super::arguments::{self, Argument};
use super::modifiers::is_modifier;
use super::terms::number;
use super::tracepoint::Tracepoint;
use super::{EventCode, EventSpec, Sampled};
use crate::images::identity;
use crate::images::local::{Holding, Places, open_matching, open_regular};
use crate::output::{self, notice};
use crate::record::probed_files::{self, ProbedFiles};

const CALL: &str = "uprobe:";
const RETURN: &str = "uretprobe:";
const STATIC: &str = "sdt_";

/// Addresses of functions of one name that an error lists.
const MAX_LISTED: usize = 5;

/// What the kernel has to make an event of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// At least one; all are the same event.
    pub places: Vec<ProbePlace>,
    /// When it occurs.
    pub moment: Moment,
}

/// An instruction of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbePlace {
    /// The file.
    pub file: PathBuf,
    /// Where in it.
    pub offset: u64,
    /// Where in it is what counts who looks, if the probe has that.
    pub semaphore: Option<u64>,
    /// What is read there: of all places of a probe the same, but for where it stands.
    pub arguments: Vec<Argument>,
}

/// When a probe's event occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// When the instruction runs.
    Call,
    /// When the function returns whose first instruction it is.
    Return,
}

/// Whether a text says so. Within it, a slash is one of a path.
pub fn is_probe(text: &str) -> bool {
    [CALL, RETURN, STATIC].iter().any(|prefix| text.starts_with(prefix))
}

/// Where the comma stands behind a probe: not in the name of its file, nor among a function's parameters.
pub fn end(list: &str) -> Option<usize> {
    match [CALL, RETURN].iter().find_map(|prefix| list.strip_prefix(prefix)) {
        Some(of_function) => {
            let written = list.len() - of_function.len();
            let function = written + of_function.find(':').unwrap_or(0);
            Some(function + end_of_function(&list[function..])?)
        }
        None => {
            let (_, files) = list.split_once('@').unwrap_or((list, list));
            let before = list.len() - files.len();
            let mut ends = files.match_indices(',').map(|(at, _)| at);
            let of_file = ends.clone().chain([files.len()]).find(|&end| is_file(&files[..end]));
            let end = before + of_file.or_else(|| ends.next()).unwrap_or(files.len());
            (end < list.len()).then_some(end)
        }
    }
}

fn is_file(path: &str) -> bool {
    Path::new(path).is_file()
}

fn end_of_function(list: &str) -> Option<usize> {
    let mut depth = 0_u32;
    list.find(|letter| {
        match letter {
            '(' | '<' => depth += 1,
            ')' | '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
}

/// The events of a text, at least one, and the modifiers behind it.
pub fn parse<'a>(text: &'a str, files: &ProbedFiles<'_>) -> Result<(Vec<EventSpec>, &'a str)> {
    for (prefix, moment) in [(CALL, Moment::Call), (RETURN, Moment::Return)] {
        if let Some(written) = text.strip_prefix(prefix) {
            let (event, modifiers) = of_function(written, prefix, moment)?;
            return Ok((vec![event], modifiers));
        }
    }
    static_probes(text, files)
}

/// `FILE:FUNCTION+OFFSET:MODIFIERS` or `FILE:ADDRESS:MODIFIERS`.
fn of_function<'a>(written: &'a str, prefix: &str, moment: Moment) -> Result<(EventSpec, &'a str)> {
    let form = || format!("give file and function, as {prefix}/path/of/program:function");
    let splits = || written.match_indices(':').map(|(at, _)| (&written[..at], &written[at + 1..]));
    let (path, behind) =
        splits().find(|(path, _)| is_file(path)).or_else(|| splits().next()).with_context(form)?;
    // Names of C++ have colons, too.
    let modifiers = behind
        .rsplit_once(':')
        .filter(|(name, letters)| !name.ends_with(':') && letters.chars().all(is_modifier));
    let (place, modifiers) = modifiers.unwrap_or((behind, ""));
    if place.is_empty() {
        bail!(form());
    }
    let image = open(Path::new(path))?;
    let (name, offset) = match number(place).filter(|_| place.starts_with("0x")) {
        Some(address) => {
            let offset = image.code_offset(Svma(address));
            let offset = offset.with_context(|| format!("{path} has no code at {place}"))?;
            check_boundary(&image, path, Svma(address))?;
            (format!("abs_{address:x}"), offset.0)
        }
        None => {
            let behind = place.rsplit_once('+');
            let behind = behind.and_then(|(name, offset)| Some((name, number(offset)?)));
            let (function, further) = behind.unwrap_or((place, 0));
            let address = address_of(&image, path, function, prefix)?;
            let address = Svma(address.0.wrapping_add(further));
            let offset = image.code_offset(address);
            let offset = offset.with_context(|| format!("{path} has no code at {place}"))?;
            if further != 0 {
                check_boundary(&image, path, address)?;
            }
            let name =
                if further == 0 { function.to_owned() } else { format!("{function}_{further:#x}") };
            (name, offset.0)
        }
    };
    if moment == Moment::Return && place.contains('+') {
        bail!("a function returns as a whole: leave out what is behind the +");
    }
    let name = match moment {
        Moment::Call => name,
        Moment::Return => format!("{name}__return"),
    };
    let file = absolute(path)?;
    // As perf probe names the group.
    let stem = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem =
        stem.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default();
    let place = ProbePlace { file, offset, semaphore: None, arguments: Vec::new() };
    let probe = Probe { places: vec![place], moment };
    Ok((event(&format!("probe_{stem}"), &name, probe), modifiers))
}

/// A probe within an instruction would have the program run into what is none. The kernel does not look.
fn check_boundary(image: &Image, path: &str, address: Svma) -> Result<()> {
    let debug_file = debug_file(image, Path::new(path));
    let code = image.code_up_to(address, debug_file.as_ref());
    let Some(code) = code.map_err(|error| anyhow!("{path} cannot be read: {error}"))? else {
        notice(format_args!(
            "no symbol of {path} tells where instructions begin near {:#x}; a probe within one \
             breaks the program",
            address.0
        ));
        return Ok(());
    };
    let instructions = Instructions::of(code);
    let begins = |number| instructions.address(number).filter(|&it| it == address.0);
    match begins(instructions.number(address.0)) {
        Some(_) => Ok(()),
        None => {
            let around = instructions.number_around(address.0);
            let around = around.and_then(|number| instructions.address(number));
            let around = around.map_or(String::new(), |it| format!(": one begins at {it:#x}"));
            bail!("no instruction of {path} begins at {:#x}{around}", address.0)
        }
    }
}

/// Where a function is, if there is one of that name.
fn address_of(image: &Image, path: &str, name: &str, prefix: &str) -> Result<Svma> {
    let debug_file = debug_file(image, Path::new(path));
    let found = image.functions_called(name, debug_file.as_ref());
    match found.map_err(|error| anyhow!("{path} cannot be read: {error}"))? {
        FoundFunctions::At(places) => match places.as_slice() {
            [one] => Ok(*one),
            several => {
                let listed = several.iter().take(MAX_LISTED);
                let listed: Vec<_> =
                    listed.map(|at| format!("{prefix}{path}:{:#x}", at.0)).collect();
                bail!(
                    "{} functions of {path} are called {name}; say which by its address: {}{}",
                    several.len(),
                    listed.join(", "),
                    if several.len() > MAX_LISTED { ", …" } else { "" }
                )
            }
        },
        FoundFunctions::Similar(names) if names.is_empty() => bail!(
            "{path} has no function '{name}', as far as its symbols tell; debug symbols of its \
             package may have it, or give its address, as {prefix}{path}:0x1234"
        ),
        FoundFunctions::Similar(names) => {
            bail!("{path} has no function '{name}'; it has {}", names.join(", "))
        }
    }
}

/// The separate debug file of the same build, where packages put it.
fn debug_file(image: &Image, path: &Path) -> Option<Image> {
    let id = identity::build_id_of(image)?;
    let places = Places::of_this_machine(None);
    let link = image.debug_link();
    let linked = link.map(|link| places.debug_links(path, Some(link.as_ref())));
    let paths = places.debug_files(id).into_iter().chain(linked.unwrap_or_default());
    identity::image(&open_matching(paths, id, Holding::Dwarf)?.file).ok()?
}

/// `sdt_PROVIDER:NAME`, `sdt_PROVIDER:NAME@FILE`, with wildcards in either name.
fn static_probes<'a>(text: &'a str, files: &ProbedFiles<'_>) -> Result<(Vec<EventSpec>, &'a str)> {
    let form = || anyhow!("give provider and name, as sdt_python:function__entry");
    let written = text.strip_prefix(STATIC).unwrap_or(text);
    let (name, file) = match written.split_once('@') {
        Some((name, file)) => (name, Some(file)),
        None => (written, None),
    };
    let (provider, rest) = name.split_once(':').ok_or_else(form)?;
    let (name, modifiers) = rest.split_once(':').unwrap_or((rest, ""));
    let (provider, name) = (Pattern::new(provider)?, Pattern::new(name)?);
    let meant = |path: &Path| -> Result<Vec<(String, String, ProbePlace)>> {
        let named = probes_in(path)?.into_iter();
        let named = named.filter(|it| provider.matches(&it.provider) && name.matches(&it.name));
        let place = named.map(|it| {
            let place = ProbePlace {
                file: path.to_owned(),
                offset: it.place.0,
                semaphore: it.semaphore.map(|at| at.0),
                arguments: arguments::of_probe(&it.arguments),
            };
            (it.provider, it.name, place)
        });
        Ok(place.collect())
    };
    let mut found = match file {
        Some(file) => meant(&absolute(file)?)?,
        None => {
            let in_files = |paths: Vec<PathBuf>| -> Vec<_> {
                paths.iter().filter_map(|path| meant(path).ok()).flatten().collect()
            };
            let of_target = in_files(files.of_target());
            match of_target.is_empty() {
                false => of_target,
                true => {
                    let of_cache = in_files(probed_files::of_cache());
                    if !of_cache.is_empty() {
                        let paths: BTreeSet<_> = of_cache.iter().map(|it| &it.2.file).collect();
                        let paths: Vec<_> =
                            paths.iter().map(|it| it.display().to_string()).collect();
                        notice(format_args!(
                            "{text} is not in {}: looking for it in {}, which perf's cache lists",
                            files.words(),
                            paths.join(", ")
                        ));
                    }
                    of_cache
                }
            }
        }
    };
    if found.is_empty() {
        match file {
            Some(file) => {
                bail!("{file} has no such probe; perftab list sdt {file} prints those it has")
            }
            None => bail!(
                "no such probe is in {}, nor in what perf's cache lists; name the file that has it, \
                 as {text}@/path/of/library (perftab list sdt FILE prints those of a file)",
                files.words()
            ),
        }
    }
    found.sort_by(|one, other| name_and_place(one).cmp(&name_and_place(other)));
    found.dedup_by(|one, other| name_and_place(one) == name_and_place(other));
    let mut events: Vec<EventSpec> = Vec::new();
    for group in found.chunk_by(|one, other| (&one.0, &one.1) == (&other.0, &other.1)) {
        let mut places: Vec<_> = group.iter().map(|(.., place)| place.clone()).collect();
        arguments::keep_common(&mut places);
        let (provider, name, _) = &group[0];
        // Several places of one probe are one event to the kernel, and to whoever counts them.
        let probe = Probe { places, moment: Moment::Call };
        events.push(event(&format!("{STATIC}{provider}"), name, probe));
    }
    Ok((events, modifiers))
}

/// What tells one from all others.
fn name_and_place(
    (provider, name, place): &(String, String, ProbePlace),
) -> (&str, &str, &Path, u64) {
    (provider, name, &place.file, place.offset)
}

/// Names of the probes that the authors of a program put into it, each once.
pub fn static_probes_of(path: &Path) -> Result<Vec<String>> {
    let probes = probes_in(path)?.into_iter();
    let names = probes.map(|it| format!("{STATIC}{}:{}", it.provider, it.name));
    Ok(names.collect::<BTreeSet<_>>().into_iter().collect())
}

/// Those with names that can be written and shown: a file may hold anything.
fn probes_in(path: &Path) -> Result<Vec<StaticProbe>> {
    let probes = open(path)?.static_probes();
    let mut probes =
        probes.map_err(|error| anyhow!("{} cannot be read: {error}", path.display()))?;
    let is_plain = |name: &str| !name.is_empty() && name.bytes().all(|it| it.is_ascii_graphic());
    probes.retain(|it| is_plain(&it.provider) && is_plain(&it.name));
    Ok(probes)
}

/// The same of the files that perf's cache lists; of several files each, as perf lists them.
pub fn listed_static_probes() -> Vec<String> {
    let mut files_by_name: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in probed_files::of_cache() {
        for name in static_probes_of(&file).unwrap_or_default() {
            files_by_name.entry(name).or_default().push(file.clone());
        }
    }
    let listed = files_by_name.into_iter().flat_map(|(name, files)| match files.as_slice() {
        [_] => vec![name],
        several => several.iter().map(|file| format!("{name}@{}", file.display())).collect(),
    });
    listed.collect()
}

fn event(system: &str, name: &str, probe: Probe) -> EventSpec {
    // The kernel tells the number once it has made the event.
    let code = EventCode::new(event_type::TRACEPOINT, 0);
    EventSpec {
        sampled: Sampled::EachTime,
        tracepoint: Some(Tracepoint::made(system, name)),
        probe: Some(probe),
        ..EventSpec::new(&format!("{system}:{name}"), code)
    }
}

/// A program or library.
pub fn open(path: &Path) -> Result<Image> {
    let shown = path.display();
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => bail!("{shown} is a folder"),
        Ok(metadata) if !metadata.is_file() => bail!("{shown} is no regular file"),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => bail!("there is no file {shown}"),
        Err(error) => bail!("{shown}: {}", output::reason(&error)),
    }
    let file: File = open_regular(path).with_context(|| format!("{shown} cannot be opened"))?;
    let image = identity::image(&file).with_context(|| format!("{shown}"))?;
    image.filter(Image::is_elf).with_context(|| format!("{shown} is no ELF file"))
}

/// Where a file is, wherever a link leads: `/proc/PID/root` is another folder than it reads.
fn absolute(path: &str) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("there is no file {path}"))
}
