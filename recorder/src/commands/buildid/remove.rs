//! `perftab buildid remove`: entries of single builds, out of the cache.

use std::path::Path;

use anyhow::Context;
use perftab_perfdata::format::BuildId;

use super::{Verdicts, cache};
use crate::cli::RemoveArgs;
use crate::images::unpacked::unpacked;
use crate::images::{identity, local};
use crate::output::{self, Outcome};

/// Removes the build of each file, or the build of each id. What is not there is no failure.
pub fn run(args: &RemoveArgs) -> anyhow::Result<Outcome> {
    let cache = cache(&args.cache)?;
    let mut verdicts = Verdicts::new();
    for what in &args.what {
        let removed = build_of(what).and_then(|id| {
            let had_kcores = cache.kcores().iter().any(|kcore| kcore.id == id);
            cache.remove_kcores(id)?;
            Ok((id, cache.remove(id)? || had_kcores))
        });
        match removed {
            Ok((id, true)) => verdicts.ok(id, what.display())?,
            Ok((_, false)) => {
                output::notice(format_args!("{} was not in the cache", what.display()));
            }
            Err(why) => verdicts.fail("-", what.display(), format_args!("{why:#}"))?,
        }
    }
    verdicts.finish("entries were not removed", Outcome::Complete)
}

fn build_of(what: &Path) -> anyhow::Result<BuildId> {
    if let Some(file) = local::open_regular(what) {
        return identity::build_id(&unpacked(file)?)?.context("it has no build-id");
    }
    let id = what.to_str().and_then(|hex| BuildId::from_hex(&hex.to_lowercase()));
    id.context("it is neither a readable file nor a build-id")
}
