//! Features that describe the machine.

use super::text::{list, text, text_pairs};
use crate::decode::Cursor;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::machine::{CoreKind, CpuCache, Machine, NumaNode, Pmu};
use crate::sorting::sort;

/// perf's own limits are of this size; lists of more are damage.
const MOST_ENTRIES: u32 = 65_536;

/// `u32 n`, of things that take at least one byte each.
pub(super) fn count(cursor: &mut Cursor<'_>, what: &'static str) -> Result<u32, DecodeError> {
    let offset = cursor.offset();
    match cursor.u32()? {
        count if count <= MOST_ENTRIES => Ok(count),
        count => Err(DecodeErrorKind::Invalid { what, value: count.into() }.at(offset)),
    }
}

fn mib_of_kib(kib: u64) -> u32 {
    u32::try_from(kib / 1024).unwrap_or(u32::MAX)
}

/// `u64` in KiB.
pub(super) fn total_mem(machine: &mut Machine, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
    machine.memory_mib = Some(mib_of_kib(cursor.u64()?));
    Ok(())
}

/// Two lists of strings, the CPUs of each package (or die) and of each core. Since Linux 4.2 then,
/// for each available CPU, `u32 core, socket`; what follows about dies tells nothing more here.
pub(super) fn cpu_topology(
    machine: &mut Machine,
    cursor: &mut Cursor<'_>,
) -> Result<(), DecodeError> {
    let [packages, cores] = [list(cursor)?, list(cursor)?];
    machine.cores = u32::try_from(cores.len()).ok().filter(|&cores| cores > 0);
    machine.sockets = u32::try_from(packages.len()).ok().filter(|&packages| packages > 0);
    let cpus = machine.cpus_available.unwrap_or(0) as usize;
    let pairs = cursor.rest().get(..cpus.saturating_mul(8)).filter(|pairs| !pairs.is_empty());
    let Some(pairs) = pairs else { return Ok(()) };
    let order = cursor.order();
    let mut sockets: Vec<u32> =
        pairs.chunks_exact(8).filter_map(|pair| Some(order.u32(*pair.last_chunk()?))).collect();
    machine.socket_of_cpu = sockets.clone();
    sort(&mut sockets);
    sockets.dedup();
    machine.sockets = u32::try_from(sockets.len()).ok();
    Ok(())
}

/// `u32 n`, then n × { `u32 node`, `u64 total, free` in KiB, string cpus }.
pub(super) fn numa(machine: &mut Machine, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
    machine.numa_nodes.clear();
    for _ in 0..count(cursor, "the number of NUMA nodes")? {
        let node = cursor.u32()?;
        let memory_mib = mib_of_kib(cursor.u64()?);
        let _free = cursor.u64()?;
        machine.numa_nodes.push(NumaNode { node, memory_mib, cpus: text(cursor)? });
    }
    Ok(())
}

/// `u32 version` (1), `u32 n`, then n × { `u32 level, line, sets, ways`, strings type, size, cpus }.
pub(super) fn caches(machine: &mut Machine, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
    machine.caches.clear();
    let offset = cursor.offset();
    let version = cursor.u32()?;
    if version != 1 {
        let what = "the version of the list of caches";
        return Err(DecodeErrorKind::Invalid { what, value: version.into() }.at(offset));
    }
    for _ in 0..count(cursor, "the number of caches")? {
        let [level, line_bytes, _sets, ways] =
            [cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?];
        let [kind, size, cpus] = [text(cursor)?, text(cursor)?, text(cursor)?];
        machine.caches.push(CpuCache { level, kind, size, line_bytes, ways, cpus });
    }
    Ok(())
}

/// `u32 n`, then n strings { pmu, cpus }.
pub(super) fn hybrid(machine: &mut Machine, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
    machine.core_kinds.clear();
    for _ in 0..count(cursor, "the number of kinds of cores")? {
        machine.core_kinds.push(CoreKind { pmu: text(cursor)?, cpus: text(cursor)? });
    }
    Ok(())
}

/// `u32 n`, then n × { `u32 type`, string }.
pub(super) fn pmu_mappings(
    machine: &mut Machine,
    cursor: &mut Cursor<'_>,
) -> Result<(), DecodeError> {
    for _ in 0..count(cursor, "the number of PMUs")? {
        let event_type = Some(cursor.u32()?);
        let name = text(cursor)?;
        pmu(machine, &name).event_type = event_type;
    }
    Ok(())
}

/// `u32 n`, then n × { `u32 m`, m strings { name, value }, string pmu }.
pub(super) fn pmu_caps(machine: &mut Machine, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
    for _ in 0..count(cursor, "the number of PMUs")? {
        let capabilities = text_pairs(cursor)?;
        let name = text(cursor)?;
        pmu(machine, &name).capabilities = capabilities;
    }
    Ok(())
}

/// `u32 n`, then n strings { name, value }: those of the PMU `cpu`.
pub(super) fn cpu_pmu_caps(
    machine: &mut Machine,
    cursor: &mut Cursor<'_>,
) -> Result<(), DecodeError> {
    let capabilities = text_pairs(cursor)?;
    if !capabilities.is_empty() {
        pmu(machine, "cpu").capabilities = capabilities;
    }
    Ok(())
}

fn pmu<'a>(machine: &'a mut Machine, name: &str) -> &'a mut Pmu {
    let pmus = &mut machine.pmus;
    let known = pmus.iter().position(|pmu| pmu.name == name).unwrap_or(pmus.len());
    if known == pmus.len() {
        let capabilities = Vec::new();
        pmus.push(Pmu { event_type: None, name: name.to_owned(), capabilities });
    }
    &mut pmus[known]
}
