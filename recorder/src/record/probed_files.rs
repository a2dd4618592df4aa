//! Files in which a probe is looked for by its name alone: what the command would load, what
//! processes have mapped, and what perf's cache lists.
//!
//! Looked at anew each time. Only headers and notes are read: less than 10 ms for python3.11, 50 ms
//! for the 139 files of a cache. So a list kept by build-id would save nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use perftab_core::Loads;

use super::command;
use super::events::open_program;
use super::target::Target;
use crate::buildid_cache::Cache;

/// Files that a command may load; no program has more.
const MAX_FILES: usize = 1024;
/// Bytes of the line that says which interpreter a script has.
const SCRIPT_LINE: u64 = 256;
/// Folders that the dynamic linker searches last.
const FOLDERS: [&str; 4] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"];
/// Where it is told of more.
const LINKER_CONFIGURATION: &str = "/etc/ld.so.conf.d";

/// What is recorded, as far as it tells files.
pub struct ProbedFiles<'a> {
    /// What is recorded.
    pub target: &'a Target,
    /// The command, if one is to run.
    pub command: &'a [OsString],
}

impl ProbedFiles<'_> {
    /// For messages.
    pub fn words(&self) -> String {
        match (self.target, self.command.first()) {
            (Target::Command, Some(program)) => {
                format!("'{}' or what it loads", program.display())
            }
            (Target::Processes(_) | Target::Threads(_), _) => "what the process has mapped".into(),
            _ => "what is recorded, which can be any program".into(),
        }
    }

    /// Each once.
    pub fn of_target(&self) -> Vec<PathBuf> {
        match self.target {
            Target::Command => self.command.first().map_or(Vec::new(), |it| loaded_by(it)),
            Target::Processes(ids) | Target::Threads(ids) => mapped_in(ids),
            Target::Cpus(_) | Target::Cgroups { .. } => Vec::new(),
        }
    }
}

/// Paths of files that perf keeps copies of. Probes are of what lies there now.
pub fn of_cache() -> Vec<PathBuf> {
    let Some(cache) = Cache::of_user(None) else { return Vec::new() };
    let paths = cache.entries().map(|entry| Path::new("/").join(entry.name.as_path()));
    paths.filter(|path| path.is_file()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// A program, its interpreter, and libraries, as the dynamic linker would find them.
fn loaded_by(program: &OsStr) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut waiting: VecDeque<PathBuf> = command::find(program).ok().into_iter().collect();
    let configured = configured_folders();
    while let Some(path) = waiting.pop_front() {
        let Ok(path) = path.canonicalize() else { continue };
        if found.contains(&path) || found.len() == MAX_FILES {
            continue;
        }
        match open_program(&path) {
            Ok(image) => {
                let loads = image.loads();
                waiting.extend(loads.interpreter.as_ref().map(PathBuf::from));
                let folders = folders(&loads, &path, &configured);
                let library = |name: &String| match name.contains('/') {
                    true => Some(PathBuf::from(name)),
                    false => folders.iter().map(|it| it.join(name)).find(|it| it.is_file()),
                };
                waiting.extend(loads.libraries.iter().filter_map(library));
            }
            Err(_) => waiting.extend(interpreter_of_script(&path)),
        }
        found.push(path);
    }
    found
}

/// Where a file's libraries are searched, in order.
fn folders(loads: &Loads, path: &Path, configured: &[PathBuf]) -> Vec<PathBuf> {
    let own = path.parent().unwrap_or(path).display().to_string();
    let told = loads
        .folders
        .iter()
        .map(|folder| PathBuf::from(folder.replace("$ORIGIN", &own).replace("${ORIGIN}", &own)));
    let of_user = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let of_user = env::split_paths(&of_user).filter(|folder| folder.is_absolute());
    told.chain(of_user)
        .chain(configured.iter().cloned())
        .chain(FOLDERS.map(PathBuf::from))
        .collect()
}

/// Folders that are configured for this machine, those of its architecture among them.
fn configured_folders() -> Vec<PathBuf> {
    let files = fs::read_dir(LINKER_CONFIGURATION).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    let lines = |text: String| text.lines().map(PathBuf::from).collect::<Vec<_>>();
    texts.flat_map(lines).filter(|line| line.is_absolute()).collect()
}

/// `#!/usr/bin/python3` or `#!/usr/bin/env python3`.
fn interpreter_of_script(path: &Path) -> Option<PathBuf> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(SCRIPT_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let program = Path::new(OsStr::from_bytes(words.next()?));
    match program.file_name() {
        Some(name) if name == "env" => command::find(OsStr::from_bytes(words.next()?)).ok(),
        _ => Some(program.to_owned()),
    }
}

/// Files with code that processes have mapped. Those of a container are reached through its root,
/// whose link must not be resolved: it reads as ours.
fn mapped_in(processes: &[i32]) -> Vec<PathBuf> {
    let mut files = BTreeMap::new();
    for pid in processes {
        let Ok(maps) = fs::read(format!("/proc/{pid}/maps")) else { continue };
        for line in maps.split(|byte| *byte == b'\n') {
            // "address perms offset device inode   path"
            let Some(at) = line.iter().position(|byte| *byte == b'/') else { continue };
            let mut words = line.split(|byte| *byte == b' ');
            if !words.nth(1).is_some_and(|permissions| permissions.contains(&b'x')) {
                continue;
            }
            let here = Path::new(OsStr::from_bytes(&line[at..]));
            let there =
                Path::new(&format!("/proc/{pid}/root")).join(OsStr::from_bytes(&line[at + 1..]));
            let file = |path: &Path| path.metadata().ok().map(|it| (it.dev(), it.ino()));
            let number =
                words.nth(2).and_then(|inode| std::str::from_utf8(inode).ok()?.parse().ok());
            let (ours, theirs) = (file(here), file(&there));
            // Where a process has a folder of ours as its root (chroot), the kernel tells us the whole path.
            let is_ours = match theirs {
                Some(_) => ours == theirs,
                None => ours.map(|(_, inode)| inode) == number,
            };
            let path = if is_ours { here.to_owned() } else { there };
            if let Some(file) = theirs.or(ours.filter(|_| is_ours)) {
                files.entry(file).or_insert(path);
            }
        }
    }
    files.into_values().collect()
}
