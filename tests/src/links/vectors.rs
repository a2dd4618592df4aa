//! Links that were written once and have to open for ever, beside what is in them.
//!
//! `v1-NAME.txt` has a payload in its first line; all others are what it holds.

use std::path::{Path, PathBuf};

use perftab_profile::Event;
use perftab_snapshot::Snapshot;
use perftab_views::Query;
use perftab_views::call_tree::CallTree;
use perftab_views::hot_lines::Origin;
use perftab_views::label::Labels;
use perftab_views::weights::Sum;

/// Where the vectors are.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("link_vectors")
}

/// What an opened link holds, a thing a line.
pub fn described(opened: &Snapshot) -> String {
    let Snapshot { profile, symbols, ledger, facts, fidelity, .. } = opened;
    let mut lines = vec![
        format!("{fidelity:?}"),
        format!("{:?} {:?} {} samples", profile.host, profile.lost, profile.samples.len()),
        format!("{:?}, {} processes, {} threads", facts.time, facts.processes, facts.threads),
    ];
    lines.extend(opened.warnings.iter().map(|warning| format!("{warning:?}")));
    lines.extend(profile.dsos.iter().map(|(id, dso)| {
        let status = ledger.row(id).status;
        format!("{:?} {:?} {:?} {status:?}", dso.path, dso.kind, dso.identity)
    }));
    let labels = Labels::new(profile, symbols);
    lines.extend(places(opened));
    for (index, event) in profile.events.iter().enumerate() {
        let Event { name, origin, samples, weight, .. } = event;
        lines.push(format!(
            "Event {{ name: {name:?}, origin: {origin:?}, samples: {samples}, weight: {weight} }}"
        ));
        let tree =
            CallTree::new(profile, symbols, &Query { event: index as u32, ..Query::default() });
        let mut nodes: Vec<_> = tree
            .ids()
            .map(|id| {
                let (own, path) = (tree.self_sum(id), labels.path(&tree, id).join(";"));
                format!("{path} {} {}", own.samples, own.weight)
            })
            .collect();
        nodes.sort();
        lines.extend(nodes);
    }
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// Where in functions samples of the first event ended.
fn places(opened: &Snapshot) -> Vec<String> {
    let Snapshot { profile, symbols, facts, .. } = opened;
    let labels = Labels::new(profile, symbols);
    let mut places = Vec::new();
    for id in facts.heat.functions() {
        let known = facts.heat.get(id).expect("it is there");
        let dso = symbols.function(id).dso;
        places.extend(known.places.iter().map(|place| {
            let line = place.line.unwrap_or_default();
            let file = line.file.map_or("-", |file| symbols.file(file));
            let (line, address) = (line.line.map_or(0, |it| it.get()), place.address.unwrap_or(0));
            let (name, sum) = (labels.function_text(id), place.sums[0]);
            let inlined = if place.is_inlined { " inlined" } else { "" };
            let origin = place.origin.map_or(String::new(), |Origin { inlined, line }| {
                let file = line.file.map_or("-", |file| symbols.file(file));
                let name = inlined.map_or("itself".to_owned(), |id| labels.function_text(id));
                format!(" of {name}: {file} {}", line.line.map_or(0, |it| it.get()))
            });
            let Sum { samples, weight } = sum;
            let place_text = format!(
                "place {name}: {file} {line} {address:x} {samples} {weight}{inlined}{origin}"
            );
            let source = facts.texts.line(place.line.unwrap_or_default());
            let assembly = facts.texts.instruction(dso, address);
            let texts =
                [source, assembly].map(|text| text.map_or(String::new(), |it| format!("\t{it}")));
            format!("{place_text}{}", texts.concat())
        }));
    }
    places.sort();
    places
}
