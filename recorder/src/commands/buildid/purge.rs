//! `perftab buildid purge`: every build of a path, or everything, out of the cache.

use std::collections::BTreeSet;
use std::fs;
use std::path::{self, Path, PathBuf};

use perftab_perfdata::format::BuildId;

use super::{Verdicts, cache, warn_of_spoiled};
use crate::buildid_cache::Cache;
use crate::cli::PurgeArgs;
use crate::output::{self, Outcome};

/// What copies of a kernel's code are listed as.
const KCORE: &str = "[kernel.kcore]";

/// Removes what the cache has of the paths. What is not there is no failure.
pub fn run(args: &PurgeArgs) -> anyhow::Result<Outcome> {
    let cache = cache(&args.cache)?;
    let mut verdicts = Verdicts::new();
    if args.all {
        purge(&cache, None, &mut verdicts)?;
        purge_kcores(&cache, &mut verdicts)?;
    }
    for path in &args.paths {
        let before = verdicts.ok + verdicts.failed;
        if path == Path::new(KCORE) {
            purge_kcores(&cache, &mut verdicts)?;
        }
        purge(&cache, Some(&as_listed(path)), &mut verdicts)?;
        if verdicts.ok + verdicts.failed == before {
            output::notice(format_args!("{} was not in the cache", path.display()));
        }
    }
    verdicts.finish("entries were not removed", Outcome::Complete)
}

/// Removes the entries of a path; all without one.
fn purge(cache: &Cache, path: Option<&Path>, verdicts: &mut Verdicts) -> anyhow::Result<()> {
    for entry in cache.entries() {
        let listed = entry.name.to_string();
        if path.is_none_or(|path| path == Path::new(&listed)) {
            warn_of_spoiled(&entry);
            match cache.remove(entry.id) {
                Ok(_) => verdicts.ok(entry.id, listed)?,
                Err(error) => verdicts.fail(entry.id, listed, error)?,
            }
        }
    }
    Ok(())
}

fn purge_kcores(cache: &Cache, verdicts: &mut Verdicts) -> anyhow::Result<()> {
    let kernels: BTreeSet<BuildId> = cache.kcores().into_iter().map(|kcore| kcore.id).collect();
    for id in kernels {
        match cache.remove_kcores(id) {
            Ok(()) => verdicts.ok(id, KCORE)?,
            Err(error) => verdicts.fail(id, KCORE, error)?,
        }
    }
    Ok(())
}

/// A path as the cache knows it: the real one, also where the file is gone.
fn as_listed(path: &Path) -> PathBuf {
    if path.as_os_str().as_encoded_bytes().starts_with(b"[") {
        return path.to_owned();
    }
    let absolute = path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // Of a file that is gone, the folder may still be there under another name.
    let of_gone = || Some(fs::canonicalize(absolute.parent()?).ok()?.join(absolute.file_name()?));
    fs::canonicalize(path).ok().or_else(of_gone).unwrap_or(absolute)
}
