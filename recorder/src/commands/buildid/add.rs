//! `perftab buildid add` and `update`: files that the user names, into the cache.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use perftab_perfdata::format::BuildId;

use super::find::{self, holds_code};
use super::{Verdicts, cache};
use crate::buildid_cache::{Bytes, Cache, EntryName, Existing, Part};
use crate::cli::AddArgs;
use crate::images::identity;
use crate::images::local::{self, Places};
use crate::images::unpacked::unpacked;
use crate::output::Outcome;

/// Adds each file under its own build-id.
pub fn run(args: &AddArgs, existing: Existing) -> anyhow::Result<Outcome> {
    let cache = cache(&args.cache)?;
    let mut verdicts = Verdicts::new();
    for path in &args.files {
        match add(&cache, path, existing) {
            Ok(id) => verdicts.ok(id, path.display())?,
            Err(why) => verdicts.fail("-", path.display(), format_args!("{why:#}"))?,
        }
    }
    verdicts.finish("files are not in the cache", Outcome::Complete)
}

fn add(cache: &Cache, path: &Path, existing: Existing) -> anyhow::Result<BuildId> {
    if path == Path::new("/proc/kallsyms") {
        let (id, text) = find::kallsyms().map_err(anyhow::Error::msg)?;
        let name = EntryName::kernel();
        cache.store(id, &name, Part::Kallsyms, Bytes::Memory(&text), existing)?;
        return Ok(id);
    }
    let real = fs::canonicalize(path)?;
    let file = local::open_regular(&real).context("it is not a readable file")?;
    // perf finds no names in an entry that is packed.
    let file = unpacked(file)?;
    let Some(image) = identity::image(&file)? else {
        bail!("it is not an ELF file, or it is truncated")
    };
    let id = identity::build_id_of(&image).context("it has no build-id")?;
    let name = EntryName::new(&real).context("it is a link inside a cache")?;
    let part = if holds_code(&image) { Part::Elf } else { Part::Debug };
    cache.store(id, &name, part, Bytes::File(&file), existing)?;
    if part == Part::Elf {
        add_debug_file(cache, id, &name, &real, image.debug_link().as_deref())?;
    }
    Ok(id)
}

/// The debug file that is installed for an executable goes with it, as perf does it.
fn add_debug_file(
    cache: &Cache,
    id: BuildId,
    name: &EntryName,
    executable: &Path,
    link: Option<&str>,
) -> anyhow::Result<()> {
    let places = Places::of_this_machine(None);
    let mut candidates = places.debug_files(id);
    if let Some(link) = link {
        candidates.extend(places.debug_links(executable, Some(link.as_ref())));
    }
    let is_debug_file = |file: &fs::File| {
        let image = identity::image(file).ok().flatten();
        image.is_some_and(|i| identity::build_id_of(&i) == Some(id) && !holds_code(&i))
    };
    let found = candidates.iter().filter_map(|path| local::open_regular(path)).find(is_debug_file);
    if let Some(file) = found {
        cache.store(id, name, Part::Debug, Bytes::File(&file), Existing::Keep)?;
    }
    Ok(())
}
