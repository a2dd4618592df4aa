// What a recording says of itself beyond what the top bar has room for.

import type { ProfileInfo } from "../session/types.ts";
import { bytes, count, duration } from "../state/format.ts";

export interface Fact {
  name: string;
  value: string;
}

/** What is not known is left out. */
export function factsOf(profile: ProfileInfo): Fact[] {
  const { format, host, machine, recorder, time, aux, records } = profile;
  const facts: [string, string | null][] = [
    ["Format", formOf(format)],
    ["Recorder", recorder.version],
    ["Command", host.cmdline.join(" ")],
    ["Started", time.wall_start],
    ["Duration", time.start === null || time.end === null ? null : duration({ start: time.start, end: time.end })],
    ["Clock", recorder.clock],
    ["Host", host.hostname],
    ["Kernel", host.os_release],
    ["Architecture", host.arch],
    ["CPU", processorOf(profile)],
    ["Memory", machine.memory_mib === null ? null : memoryOf(machine)],
    ["Samples", count(profile.samples)],
    ["Tasks", `${counted(profile.processes, "process", "processes")}, ${counted(profile.threads, "thread", "threads")}`],
    ["Off-CPU", profile.unfinished_off_cpu === 0 ? null : describeUnfinished(profile.unfinished_off_cpu)],
    ["AUX data", aux.records === 0 ? null : `${bytes(aux.bytes)} in ${counted(aux.records, "record", "records")}, not decoded`],
    ["BPF programs", recorder.bpf_programs.map(({ name }) => name).join(", ")],
    ["Records", describeRecords(records)],
    ...recorder.properties.map(({ name, value }): [string, string] => [name, value]),
  ];
  return facts.flatMap(([name, value]) => (value === null || value === "" ? [] : [{ name, value }]));
}

function counted(number: number, one: string, many: string): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** "AMD EPYC, 4 of 8 CPUs online, 4 cores, 1 socket" */
function processorOf({ host, machine }: ProfileInfo): string {
  const online = host.cpus;
  const all = machine.cpus_available;
  const isPart = online !== null && all !== null && online !== all;
  const facts = [
    machine.cpu,
    online === null ? null : isPart ? `${count(online)} of ${count(all)} CPUs online` : counted(online, "CPU", "CPUs"),
    machine.cores === null ? null : counted(machine.cores, "core", "cores"),
    machine.sockets === null ? null : counted(machine.sockets, "socket", "sockets"),
    ...machine.core_kinds.map(({ pmu, cpus }) => `${pmu} ${cpus}`),
  ];
  return facts.filter((fact) => fact !== null).join(", ");
}

function memoryOf({ memory_mib, numa_nodes }: ProfileInfo["machine"]): string {
  const memory = bytes((memory_mib ?? 0) * 2 ** 20);
  return numa_nodes.length > 1 ? `${memory}, ${count(numa_nodes.length)} NUMA nodes` : memory;
}

function describeUnfinished(times: number): string {
  return `${counted(times, "interval", "intervals")} with no recorded end, left out`;
}

const MODES: Record<string, string> = {
  file: "file",
  pipe: "pipe",
  directory: "folder, one stream per recorder thread",
  link: "link",
  page: "page",
};

function formOf({ mode, byte_order, compression, wrapper }: ProfileInfo["format"]): string {
  const words = [MODES[mode] ?? mode, mode === "link" ? "" : `${byte_order}-endian`];
  words.push(compression === "none" ? "" : `records compressed with ${compression}`);
  words.push(wrapper === "none" ? "" : `packed with ${wrapper}`);
  return words.filter((word) => word !== "").join(", ");
}

/** Most of a kind first. */
function describeRecords(records: ProfileInfo["records"]): string {
  const kinds = Object.entries(records).sort(([, a], [, b]) => b - a);
  return kinds.map(([kind, number]) => `${kind} ${count(number)}`).join(", ");
}
