//! `perftab buildid store`: copies of what a recording needs, before they are gone.

use anyhow::Context;

use super::find::{Finder, Piece};
use super::targets::{DsoSelection, Target, targets};
use super::{Verdicts, cache};
use crate::buildid_cache::{Cache, Existing};
use crate::cli::StoreArgs;
use crate::commands::{finish, read};
use crate::output::Outcome;
use crate::stop::Stop;

/// Stores the files of every DSO; says of each whether they are in the cache.
pub fn run(args: &StoreArgs) -> anyhow::Result<Outcome> {
    let session = read(&args.input)?;
    let outcome = finish(&session);
    let cache = cache(&args.images.cache)?;
    let stop = Stop::install()?;
    let mut finder = Finder::new(&args.images, &session, stop.clone())?;
    let mut verdicts = Verdicts::new();
    for target in targets(&session, DsoSelection::with_hits(args.with_hits)) {
        stop.check("the DSOs with an OK line are stored")?;
        match store(&cache, &mut finder, &target) {
            Ok(()) => verdicts.ok(target.identity, target.shown())?,
            Err(why) => verdicts.fail(target.identity, target.shown(), format_args!("{why:#}"))?,
        }
    }
    verdicts.finish("DSOs were not stored; store them on the machine that has them", outcome)
}

/// Stores what is found of a DSO, or says why it is not in the cache.
fn store(cache: &Cache, finder: &mut Finder, target: &Target) -> anyhow::Result<()> {
    let found = finder.find(target);
    if found.pieces.is_empty() {
        anyhow::bail!(found.why_nothing());
    }
    let key = target.key().context("it has no build-id")?;
    let name = target.entry_name().context("its path is not a file path")?;
    let store = |piece: &Piece| -> anyhow::Result<()> {
        cache.store(key, &name, piece.part, piece.content.bytes(), Existing::Keep)?;
        Ok(())
    };
    found.pieces.iter().try_for_each(store)?;
    finder.companions(target, &found.pieces, &mut |piece| store(&piece))
}
