//! `perftab evlist`: the names of the events of a recording, one a line, or with `-g` one group; with `-v` and `-F` what was
//! asked of the kernel.

mod attr;

use std::io::Write;

use perftab_core::EventGroup;

use super::{finish, read};
use crate::cli::EvlistArgs;
use crate::output::{Outcome, Results, printable};

/// Prints events that were recorded, in the order in which they were opened.
pub fn run(args: &EvlistArgs) -> anyhow::Result<Outcome> {
    let session = read(&args.input)?;
    let (mut results, info) = (Results::new(), session.info());
    if args.details || args.freq {
        for event in &session.profile().events {
            let Some(attr) = event.attr else { continue };
            let asked = match args.details {
                true => attr::details(&attr),
                false => attr::rate(&attr),
            };
            writeln!(results, "{}: {asked}", printable(&event.name))?;
        }
        results.flush()?;
        return Ok(finish(&session));
    }
    let names: Vec<&str> = info.events.iter().map(|event| event.name.as_str()).collect();
    let mut at = 0;
    while let Some(name) = names.get(at) {
        let is_its = |group: &&EventGroup| group.leader as usize == at && group.members > 1;
        let group = info.recorder.groups.iter().find(is_its).filter(|_| args.group);
        let end = group.map_or(1, |group| group.members as usize).saturating_add(at);
        match (group, names.get(at..end.min(names.len()))) {
            (Some(group), Some(members)) => {
                let group = format!("{}{{{}}}", group.name, members.join(","));
                writeln!(results, "{}", printable(&group))?;
            }
            _ => writeln!(results, "{}", printable(name))?,
        }
        at = end;
    }
    results.flush()?;
    Ok(finish(&session))
}
