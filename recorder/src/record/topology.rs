//! Which CPUs share a core, a package and memory. `perf report --sort socket` and `perf c2c` want to know.

use std::fs;
use std::path::Path;

use perftab_perfdata::format::feature::Feature;
use perftab_perfdata::format::write::{self, CpuLists, CpuPlace, MemoryNode};

use super::host::parse_cpu_list;

/// The feature sections, of CPUs below `available`; without those that sysfs does not tell.
pub fn features(root: &Path, available: u32) -> Vec<(Feature, Vec<u8>)> {
    let system = root.join("sys/devices/system");
    let mut features = Vec::new();
    let topology =
        |cpu: u32, name: &str| text(&system.join(format!("cpu/cpu{cpu}/topology/{name}")));
    let lists = |names: &[&str]| {
        let mut lists: Vec<String> = Vec::new();
        for cpu in 0..available {
            let list = names.iter().find_map(|name| topology(cpu, name));
            lists.extend(list.filter(|list| !lists.contains(list)));
        }
        lists
    };
    // Since Linux 5.3 by the first name.
    let lists = CpuLists {
        packages: lists(&["package_cpus_list", "core_siblings_list"]),
        cores: lists(&["core_cpus_list", "thread_siblings_list"]),
        dies: lists(&["die_cpus_list"]),
    };
    let number = |cpu, name| topology(cpu, name).and_then(|text| text.parse::<i32>().ok());
    // As perf has it for a CPU that is offline.
    let place = |cpu| CpuPlace {
        core: number(cpu, "core_id").unwrap_or(-1),
        package: number(cpu, "physical_package_id").unwrap_or(-1),
        die: number(cpu, "die_id").unwrap_or(-1),
    };
    if !lists.packages.is_empty() && !lists.cores.is_empty() {
        let places: Vec<CpuPlace> = (0..available).map(place).collect();
        let mut payload = Vec::new();
        write::cpu_topology(&mut payload, &lists, &places);
        features.push((Feature::CPU_TOPOLOGY, payload));
    }
    let nodes = text(&system.join("node/online")).and_then(|list| parse_cpu_list(&list).ok());
    let node = |number| memory_node(&system.join(format!("node/node{number}")), number);
    let nodes: Vec<MemoryNode> = nodes.unwrap_or_default().into_iter().filter_map(node).collect();
    if !nodes.is_empty() {
        let mut payload = Vec::new();
        write::numa_topology(&mut payload, &nodes);
        features.push((Feature::NUMA_TOPOLOGY, payload));
    }
    features
}

fn memory_node(folder: &Path, number: u32) -> Option<MemoryNode> {
    let meminfo = text(&folder.join("meminfo"))?;
    // `Node 0 MemTotal:       24684092 kB`
    let kib = |name: &str| {
        let line = meminfo.lines().find(|line| line.contains(name))?;
        line.split_whitespace().nth(3)?.parse().ok()
    };
    Some(MemoryNode {
        number,
        total_kib: kib(" MemTotal:")?,
        free_kib: kib(" MemFree:")?,
        cpus: text(&folder.join("cpulist"))?,
    })
}

fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}
