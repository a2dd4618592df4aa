// A recording of very many functions, whose names say nothing of each other: what makes a link long.
import { numbers, writeLibrary, writeRecording } from "./synthetic.mjs";

const CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

/** Writes `crowd.so` and `crowd.perf.data` with so many functions; answers both, and what was sampled. */
export function writeCrowd(parts, functions) {
  const below = numbers();
  const name = () => `f${Array.from({ length: 47 }, () => CHARACTERS[below(CHARACTERS.length)]).join("")}`;
  const code = writeLibrary(parts, "crowd", Array.from({ length: functions }, name));
  const task = { pid: 7, tid: 7, name: "crowd" };
  const samples = Array.from({ length: functions }, (_, index) => ({
    task,
    time: 1_000_000 + index * 1000,
    cpu: 0,
    weight: 1_000_000 + below(1_000_000),
    way: [index >> 10, index >> 4, index],
  }));
  const recording = parts.path("crowd.perf.data");
  writeRecording(recording, code, [task], samples);
  const weight = samples.reduce((sum, sample) => sum + sample.weight, 0);
  return { recording, library: code.library, samples: functions, weight };
}
