//! What the recording says of the machine it was made on.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use perftab_perfdata::format::feature::Feature;
use perftab_perfdata::format::perftab_section::OsRelease;
use perftab_perfdata::format::write;
use rustix::thread::{CapabilitySet, capabilities};

use super::events::unit_types;
use super::topology;

/// CPUs that are online, ascending.
pub fn online_cpus() -> Result<Vec<u32>> {
    let path = "/sys/devices/system/cpu/online";
    let text = fs::read_to_string(path).with_context(|| path.to_owned())?;
    parse_cpu_list(text.trim()).with_context(|| path.to_owned())
}

/// Reads a list as the kernel writes it: `0-3,7`. Ascending, each once, at least one.
pub fn parse_cpu_list(text: &str) -> Result<Vec<u32>> {
    // The kernel's own limit (NR_CPUS) is 8192.
    const CPU_MAX: u32 = 1 << 16;
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.parse::<u32>(), last.parse::<u32>()) {
            (Ok(first), Ok(last)) if first <= last && last < CPU_MAX => cpus.extend(first..=last),
            _ => bail!("'{text}' is not a list of CPUs such as 0-3,7"),
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// A number under /proc/sys, if it is there.
pub fn sysctl_number<T: std::str::FromStr>(name: &str) -> Option<T> {
    fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?.trim().parse().ok()
}

/// Whether we see processes by numbers that are not those of the whole machine, as in a container.
/// (The line NSpid of /proc/self/status does not tell inside of one.)
pub fn is_in_pid_namespace() -> bool {
    // PROC_PID_INIT_INO, in include/linux/proc_ns.h.
    const INITIAL: &str = "pid:[4026531836]";
    fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link != Path::new(INITIAL))
}

/// Whether we have one of these capabilities, and not only in a namespace of users.
pub fn has_any(wanted: CapabilitySet) -> bool {
    // PROC_USER_INIT_INO, in include/linux/proc_ns.h.
    const INITIAL: &str = "user:[4026531837]";
    let is_initial =
        fs::read_link("/proc/self/ns/user").is_ok_and(|link| link == Path::new(INITIAL));
    let sets = capabilities(None);
    is_initial && sets.is_ok_and(|sets| sets.effective.intersects(wanted))
}

/// Whether a filter decides which system calls we may make.
pub fn has_seccomp_filter() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.split_whitespace().eq(["Seccomp:", "2"]))
}

/// What stays as it is while we record: on a machine with many CPUs that are thousands of files.
pub struct Machine {
    /// The feature sections that describe it and how we were called. What cannot be read is left out.
    pub features: Vec<(Feature, Vec<u8>)>,
    /// Its distribution.
    pub os_release: Option<OsRelease>,
}

impl Machine {
    /// Reads what there is to read.
    pub fn read() -> Self {
        let root = Path::new("/");
        let mut features = features();
        let units = unit_types(root);
        if !units.is_empty() {
            features.push(section(Feature::PMU_MAPPINGS, |out| write::pmu_mappings(out, &units)));
        }
        Self { features, os_release: os_release(root) }
    }
}

fn features() -> Vec<(Feature, Vec<u8>)> {
    let uname = rustix::system::uname();
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let version = concat!("perftab ", env!("CARGO_PKG_VERSION"));
    let strings = [
        (Feature::HOSTNAME, Some(uname.nodename().to_bytes().to_vec())),
        (Feature::OSRELEASE, Some(uname.release().to_bytes().to_vec())),
        (Feature::VERSION, Some(version.as_bytes().to_vec())),
        (Feature::ARCH, Some(uname.machine().to_bytes().to_vec())),
        (Feature::CPUDESC, cpu_description(&cpuinfo).map(Vec::from)),
        (Feature::CPUID, cpu_id(&cpuinfo).map(String::into_bytes)),
    ];
    let mut features = Vec::new();
    for (feature, text) in strings {
        let Some(text) = text else { continue };
        features.push(section(feature, |out| write::string(out, &text)));
    }
    if let Some((available, online)) = cpu_counts() {
        features.push(section(Feature::NRCPUS, |out| write::nrcpus(out, available, online)));
        features.extend(topology::features(Path::new("/"), available));
    }
    if let Some(kib) = total_memory_kib() {
        features.push(section(Feature::TOTAL_MEM, |out| write::total_mem(out, kib)));
    }
    use std::os::unix::ffi::OsStringExt;
    let arguments: Vec<Vec<u8>> = std::env::args_os().map(OsStringExt::into_vec).collect();
    features.push(section(Feature::CMDLINE, |out| write::string_list(out, &arguments)));
    features
}

/// Which distribution this machine runs, from the first of the two files that is there.
fn os_release(root: &Path) -> Option<OsRelease> {
    let files = ["etc/os-release", "usr/lib/os-release"];
    let text = files.into_iter().find_map(|file| fs::read_to_string(root.join(file)).ok())?;
    let mut release = OsRelease::default();
    for line in text.lines() {
        if let Some((key, value)) = line.trim().split_once('=')
            && let Some(field) = release.field_mut(key)
        {
            *field = unquoted(value);
        }
    }
    (release != OsRelease::default()).then_some(release)
}

/// The value of a shell assignment: quotes of both kinds, and backslashes outside single ones.
fn unquoted(value: &str) -> String {
    let (value, is_literal) = match value.as_bytes() {
        [b'\'', .., b'\''] => (&value[1..value.len() - 1], true),
        [b'"', .., b'"'] => (&value[1..value.len() - 1], false),
        _ => (value, false),
    };
    let mut text = String::new();
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' if !is_literal => text.extend(characters.next()),
            _ => text.push(character),
        }
    }
    text
}

fn section(feature: Feature, encode: impl FnOnce(&mut Vec<u8>)) -> (Feature, Vec<u8>) {
    let mut payload = Vec::new();
    encode(&mut payload);
    (feature, payload)
}

fn cpu_counts() -> Option<(u32, u32)> {
    let present = fs::read_to_string("/sys/devices/system/cpu/present").ok()?;
    let present = parse_cpu_list(present.trim()).ok()?.len() as u32;
    Some((present, online_cpus().ok()?.len() as u32))
}

fn cpuinfo_field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// `model name` on x86; other architectures have other words for it (`cpu` on PowerPC).
fn cpu_description(cpuinfo: &str) -> Option<&str> {
    ["model name", "Processor", "cpu", "cpu model"]
        .into_iter()
        .find_map(|name| cpuinfo_field(cpuinfo, name))
}

/// `VENDOR,FAMILY,MODEL,STEPPING`, as perf writes it on x86; the main id register on arm64.
fn cpu_id(cpuinfo: &str) -> Option<String> {
    let fields = ["vendor_id", "cpu family", "model", "stepping"];
    let fields: Option<Vec<&str>> =
        fields.into_iter().map(|name| cpuinfo_field(cpuinfo, name)).collect();
    let midr = || {
        let path = "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1";
        Some(fs::read_to_string(path).ok()?.trim().to_owned())
    };
    fields.map(|fields| fields.join(",")).or_else(midr)
}

fn total_memory_kib() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    cpuinfo_field(&meminfo, "MemTotal")?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists() {
        assert_eq!(parse_cpu_list("0-2,7,1").unwrap(), [0, 1, 2, 7]);
        for bad in ["", "a", "3-1", "0-", "0-99999999", "-1"] {
            assert!(parse_cpu_list(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn values_of_os_release_have_quotes_of_the_shell() {
        let root = std::env::temp_dir().join(format!("perftab-os-release-{}", std::process::id()));
        fs::create_dir_all(root.join("usr/lib")).unwrap();
        let text =
            "NAME=\"Debian \\\"GNU\\\"/Linux\"\n#ID=x\nID=debian\nVERSION_ID='12'\nID_LIKE=\n";
        fs::write(root.join("usr/lib/os-release"), text).unwrap();
        let release = os_release(&root).unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(os_release(&root), None);
        let expected = OsRelease {
            id: "debian".into(),
            version_id: "12".into(),
            name: "Debian \"GNU\"/Linux".into(),
            id_like: String::new(),
        };
        assert_eq!(release, expected);
    }

    #[test]
    fn cpuinfo_of_x86() {
        let text = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n\
                    model name\t: Intel(R) Xeon(R)\nstepping\t: 7\n";
        assert_eq!(cpu_id(text).as_deref(), Some("GenuineIntel,6,85,7"));
        assert_eq!(cpu_description(text), Some("Intel(R) Xeon(R)"));
        assert_eq!(cpu_description(""), None);
    }
}
