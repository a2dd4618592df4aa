//! `cargo xtask bench all`: every goal that perftab has for its speed and size, beside its peers, in one run.

use super::goals::Row;
use super::{Size, ingest, links, names, record, recording_of, unwind, viewer};
use crate::{demo, page};
use anyhow::Result;
use std::path::Path;

/// Measures everything and prints a table.
pub fn bench(binary: &Path, runs: usize) -> Result<()> {
    let [small, large, huge] =
        [recording_of(Size::Small)?, recording_of(Size::Large)?, recording_of(Size::Huge)?];
    let mut rows = ingest::goals(binary, &[&small, &large, &huge], runs)?;
    rows.extend(unwind::goals(binary, &recording_of(Size::Dumps)?, runs)?);
    rows.push(not_measured());
    rows.push(names::goal(binary, runs)?);
    rows.extend(viewer::goals(&large, &huge, runs)?);
    rows.push(page::goal()?);
    rows.extend(record::goals(binary, &demo::compile()?, runs)?);
    rows.push(links::goal(binary, &[small, large])?);
    println!("{:66}{:>13}   goal", "", "measured");
    rows.iter().for_each(Row::print);
    let met = rows.iter().filter(|row| row.verdict() == "met").count();
    let unknown = rows.iter().filter(|row| row.measured.is_err()).count();
    println!("    {met} of {} met, {unknown} not measured", rows.len());
    Ok(())
}

/// What has a goal and is not measured.
fn not_measured() -> Row {
    Row::unknown(
        "report with inlines / perf script with its own, CPU",
        0.02,
        "",
        "not measured: perf script takes too long",
    )
}
