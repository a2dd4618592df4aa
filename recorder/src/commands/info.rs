//! `perftab info`: what a recording says of itself, and what is known of its DSOs.

use std::io::{self, Write};

use perftab_core::session::{DsoRow, ProfileInfo};
use perftab_core::{EventGroup, NamingDepth};
use perftab_perfdata::format::perftab_section::EmbeddedFile;

use super::share::keeps;
use super::{finish, read_named};
use crate::cli::InfoArgs;
use crate::output::{Outcome, Results, counted, grouped, percent, printable, size};

/// Cgroups that are printed, those with most samples.
const MOST_CGROUPS: usize = 5;

/// Prints everything that is in a recording but its samples.
pub fn run(args: &InfoArgs) -> anyhow::Result<Outcome> {
    let session = read_named(&args.input, &args.images, NamingDepth::Functions)?;
    let info = session.info();
    let mut results = Results::new();
    if args.json {
        serde_json::to_writer(&mut results, &info).map_err(io::Error::from)?;
        writeln!(results)?;
    } else {
        write_facts(&mut results, &info, session.embedded_files())?;
        write_dsos(&mut results, &info.dsos)?;
    }
    results.flush()?;
    Ok(finish(&session))
}

fn write_facts(
    results: &mut Results,
    info: &ProfileInfo,
    embedded: &[EmbeddedFile],
) -> io::Result<()> {
    let host = &info.host;
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let mut fact = |name: &str, value: &str| writeln!(results, "{name:<11} {}", printable(value));
    let format = &info.format;
    let wrapper = match format.wrapper {
        "none" => String::new(),
        wrapper => format!(", in {wrapper}"),
    };
    let mode = match &info.fidelity {
        Some(fidelity) => {
            format!("{}, names as its sender had them; {}", format.mode, keeps(fidelity))
        }
        None => format!("{} mode, compression {}{wrapper}", format.mode, format.compression),
    };
    fact("Format", &mode)?;
    fact("Host", &known(&host.hostname))?;
    fact("Kernel", &format!("{} {}", known(&host.os_release), known(&host.arch)))?;
    if let Some(it) = &host.distribution {
        let version = it.version.as_deref().unwrap_or_default();
        fact("System", format!("{} {version}", it.name.as_ref().unwrap_or(&it.id)).trim())?;
    }
    for (name, value) in machine_facts(info) {
        fact(name, &value)?;
    }
    if !host.cmdline.is_empty() {
        fact("Command", &host.cmdline.join(" "))?;
    }
    if let (Some(start), Some(end)) = (info.time.start, info.time.end) {
        fact("Duration", &format!("{:.3} s", end.saturating_sub(start) as f64 / 1e9))?;
    }
    for event in &info.events {
        let samples = counted(event.samples, "sample", "samples");
        let weight = grouped(event.weight);
        fact("Event", &format!("{}: {samples}, weight {weight}", event.name))?;
    }
    for event in &info.derived_events {
        let (samples, weight) = (grouped(event.samples), grouped(event.weight));
        fact("Derived", &format!("{}: {samples} times, {weight} ns", event.name))?;
    }
    if info.unfinished_off_cpu > 0 {
        let times = grouped(info.unfinished_off_cpu);
        fact("Off CPU", &format!("{times} more times left out, as their end was not recorded"))?;
    }
    let processes = counted(info.processes, "process", "processes");
    let threads = counted(info.threads, "thread", "threads");
    fact("Tasks", &format!("{processes}, {threads}"))?;
    let sampled = info.cgroups.iter().filter(|cgroup| cgroup.samples > 0);
    for cgroup in sampled.take(MOST_CGROUPS) {
        let path = cgroup.path.as_deref().unwrap_or("unknown");
        let samples = counted(cgroup.samples, "sample", "samples");
        fact("Cgroup", &format!("{path}: {samples}"))?;
    }
    let (pid, mount) = (info.namespaces.pid, info.namespaces.mount);
    if pid > 1 || mount > 1 {
        fact("Containers", &format!("{pid} pid namespaces, {mount} mount namespaces"))?;
    }
    if info.branch_stacks > 0 {
        let samples = counted(info.branch_stacks, "sample has them", "samples have them");
        fact("Branches", &format!("{samples}; perftab report -b counts them"))?;
    }
    if info.memory_accesses > 0 {
        let samples = counted(info.memory_accesses, "sample has one", "samples have one");
        fact("Accesses", &format!("{samples}; perftab report --mem-mode counts them"))?;
    }
    let records = counted(info.lost.events, "record", "records");
    let samples = counted(info.lost.samples, "sample", "samples");
    fact("Lost", &format!("{records}, {samples}"))?;
    if info.aux.records > 0 {
        let (records, bytes) = (grouped(info.aux.records), grouped(info.aux.bytes));
        fact("AUX data", &format!("{records} pieces, {bytes} bytes, passed over"))?;
    }
    if !embedded.is_empty() {
        let files = counted(embedded.len() as u64, "file", "files");
        let bytes: usize = embedded.iter().map(|file| file.bytes.len()).sum();
        fact("Embedded", &format!("{files}, {} before packing", size(bytes as u64)))?;
    }
    let records = info.records.sorted().into_iter();
    let records = records.map(|(name, count)| format!("{name} {}", grouped(*count)));
    fact("Records", &records.collect::<Vec<_>>().join(", "))
}

/// Machine and recorder, as far as they are known; the rest of it is in the JSON.
fn machine_facts(info: &ProfileInfo) -> Vec<(&'static str, String)> {
    let (host, machine, recorder) = (&info.host, &info.machine, &info.recorder);
    let mut facts = Vec::new();
    let mut cpu: Vec<String> = machine.cpu.iter().cloned().collect();
    match (host.cpus, machine.cpus_available) {
        (Some(online), Some(all)) if online != all => {
            cpu.push(format!("{} of {} CPUs", grouped(online.into()), grouped(all.into())));
        }
        (Some(online), _) => cpu.push(counted(online.into(), "CPU", "CPUs")),
        _ => {}
    }
    cpu.extend(machine.cores.map(|cores| counted(cores.into(), "core", "cores")));
    cpu.extend(machine.sockets.map(|sockets| counted(sockets.into(), "socket", "sockets")));
    cpu.extend(machine.core_kinds.iter().map(|kind| format!("{} {}", kind.pmu, kind.cpus)));
    if !cpu.is_empty() {
        facts.push(("CPU", cpu.join(", ")));
    }
    if let Some(mib) = machine.memory_mib {
        let mut memory = size(u64::from(mib) << 20);
        if machine.numa_nodes.len() > 1 {
            memory += &format!(", {} NUMA nodes", machine.numa_nodes.len());
        }
        facts.push(("Memory", memory));
    }
    facts.extend(info.title.iter().map(|title| ("Title", title.clone())));
    facts.extend(recorder.version.iter().map(|version| ("Recorder", version.clone())));
    facts.extend(info.time.wall_start.iter().map(|time| ("Began", time.clone())));
    facts.extend(recorder.clock.map(|clock| ("Clock", clock.to_owned())));
    if !recorder.groups.is_empty() {
        let group = |group: &EventGroup| {
            let (first, last) = (group.leader, group.leader.saturating_add(group.members));
            let members = info.events.get(first as usize..last as usize).unwrap_or_default();
            let names: Vec<&str> = members.iter().map(|event| event.name.as_str()).collect();
            format!("{}{{{}}}", group.name, names.join(", "))
        };
        facts.push(("Groups", recorder.groups.iter().map(group).collect::<Vec<_>>().join(" ")));
    }
    if !recorder.bpf_programs.is_empty() {
        facts.push(("BPF", counted(recorder.bpf_programs.len() as u64, "program", "programs")));
    }
    facts
}

fn write_dsos(results: &mut Results, dsos: &[DsoRow]) -> io::Result<()> {
    writeln!(results, "\n  Self    Status       Build-id  DSO")?;
    // Nobody looks for the file of a DSO without samples. A compiler maps hundreds.
    let (unsought, shown): (Vec<_>, Vec<_>) =
        dsos.iter().partition(|dso| !dso.sampled && dso.image.is_none());
    for dso in shown {
        let id = dso.build_id.as_deref().unwrap_or("-");
        let short = id.get(..8).unwrap_or(id);
        let (share, status) = (percent(dso.leaf_share, 1.0), dso.status.name());
        writeln!(results, "{share:>7}   {status:<11}  {short:<8}  {}", printable(&dso.path))?;
        let detail = [&dso.reason, &dso.gives].into_iter().flatten().next();
        let image = dso.image.as_ref().map(|image| format!("from {image}"));
        let found = dso.found.as_ref().map(|found| format!("found {found}"));
        let details = [detail, image.as_ref(), found.as_ref()].into_iter().flatten();
        let details: Vec<&str> = details.map(String::as_str).collect();
        if !details.is_empty() {
            writeln!(results, "{:33}{}", "", printable(&details.join(", ")))?;
        }
    }
    if !unsought.is_empty() {
        let more = counted(unsought.len() as u64, "more DSO has", "more DSOs have");
        writeln!(results, "{:33}{more} no samples; --json lists them", "")?;
    }
    Ok(())
}
