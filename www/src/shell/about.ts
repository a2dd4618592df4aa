// What a recording says of itself beyond what the top bar has room for.

import type { ProfileInfo } from "../session/types.ts";
import { count, seconds } from "../state/format.ts";

export interface Fact {
  name: string;
  value: string;
}

/** What is not known is left out. */
export function factsOf(profile: ProfileInfo): Fact[] {
  const { format, host, records } = profile;
  const facts: [string, string | null][] = [
    ["Form", formOf(format)],
    ["Command", host.cmdline.length === 0 ? null : host.cmdline.join(" ")],
    ["Host", host.hostname],
    ["Kernel", host.os_release],
    ["Architecture", host.arch],
    ["CPUs online", host.cpus === null ? null : count(host.cpus)],
    ["Duration", durationOf(profile)],
    ["Samples", count(profile.samples)],
    ["Processes", count(profile.processes)],
    ["Threads", count(profile.threads)],
    ["Records", describeRecords(records)],
  ];
  return facts.flatMap(([name, value]) => (value === null || value === "" ? [] : [{ name, value }]));
}

const MODES: Record<string, string> = {
  file: "file", pipe: "written into a pipe", directory: "a folder, a stream for each thread of the recorder", link: "link",
};

function formOf({ mode, byte_order, compression }: ProfileInfo["format"]): string {
  const words = [MODES[mode] ?? mode, mode === "link" ? "" : `${byte_order}-endian`];
  words.push(compression === "none" ? "" : `records compressed by ${compression}`);
  return words.filter((word) => word !== "").join(", ");
}

function durationOf({ time: { start, end } }: ProfileInfo): string | null {
  return start === null || end === null ? null : seconds(end - start);
}

/** Most of a kind first. */
function describeRecords(records: ProfileInfo["records"]): string {
  const kinds = Object.entries(records).sort(([, a], [, b]) => b - a);
  return kinds.map(([kind, number]) => `${kind} ${count(number)}`).join(", ");
}
