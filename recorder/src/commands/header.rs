//! What a recording says of itself, as perf's `--header` has it.

use std::io::{self, Write};

use perftab_core::session::ProfileInfo;

use crate::output::printable;

/// Lines with perf's names, those of which the recording knows something.
pub fn write(results: &mut impl Write, info: &ProfileInfo) -> io::Result<()> {
    let (host, machine, recorder) = (&info.host, &info.machine, &info.recorder);
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let memory = machine.memory_mib.map(|mib| format!("{mib} MiB"));
    let cmdline = (!host.cmdline.is_empty()).then(|| host.cmdline.join(" ") + " ");
    let facts = [
        ("captured on   ", info.time.wall_start.clone()),
        ("hostname", host.hostname.clone()),
        ("os release", host.os_release.clone()),
        ("perf version", recorder.version.clone()),
        ("arch", host.arch.clone()),
        ("nrcpus online", number(host.cpus)),
        ("nrcpus avail", number(machine.cpus_available)),
        ("cpudesc", machine.cpu.clone()),
        ("total memory", memory),
        ("cmdline", cmdline),
    ];
    writeln!(results, "# ========")?;
    for (name, value) in facts {
        if let Some(value) = value {
            writeln!(results, "# {name} : {}", printable(&value))?;
        }
    }
    for event in &info.events {
        writeln!(results, "# event : name = {}", printable(&event.name))?;
    }
    if let (Some(start), Some(end)) = (info.time.start, info.time.end) {
        let seconds =
            |nanos: u64| format!("{}.{:06}", nanos / 1_000_000_000, nanos / 1000 % 1_000_000);
        writeln!(results, "# time of first sample : {}", seconds(start))?;
        writeln!(results, "# time of last sample : {}", seconds(end))?;
        let duration = end.saturating_sub(start) as f64 / 1e6;
        writeln!(results, "# sample duration : {duration:10.3} ms")?;
    }
    writeln!(results, "# ========\n#")
}
