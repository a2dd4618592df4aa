//! What a recording makes a reader look up: what `cargo xtask bench ingest` prints beside its costs.

use std::path::Path;

use anyhow::{Context, Result};
use perftab_core::session::Opening;
use perftab_perfdata::decode::{ByteSource, SliceSource};
use perftab_profile::ingest::Lookups;
use perftab_tests::open::read_parts;

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).context("name a recording")?;
    let parts = read_parts(Path::new(&path));
    let bytes: usize = parts.iter().map(Vec::len).sum();
    let sources: Vec<_> = parts.iter().map(|part| SliceSource::new(part.as_slice())).collect();
    let sources: Vec<_> = sources.iter().map(|source| source as &dyn ByteSource).collect();
    let mut opening = Opening::new(&sources)?;
    while let Some(wanted) = opening.wants() {
        let rest = parts[wanted.part].get(wanted.offset as usize..).unwrap_or_default();
        let length = wanted.length.min(1 << 20).min(rest.len() as u64) as usize;
        opening.push(&rest[..length]);
    }
    let Lookups { chains, words, frames, missed } = opening.lookups().unwrap_or_default();
    let session = opening.finish();
    let profile = session.profile();
    let samples = profile.sample_records();
    let of = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    println!(
        "{samples} samples of {:.0} bytes; {chains} call chains of {:.1} words, {:.1} frames; \
         {:.0} % of frames not in the cache; {} frames and {} stacks",
        of(bytes as u64, samples),
        of(words, chains),
        of(frames, chains),
        100.0 * of(missed, frames),
        profile.frames.len(),
        profile.stacks.len(),
    );
    Ok(())
}
