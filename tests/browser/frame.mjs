// What the tests of the frame around the views open: a recording of a program that is named by a file and of one that is not,
// with what perf says of it.
import { Parts, binary, run } from "./recording.mjs";
import { afterScenes, beforeScenes } from "./scene.mjs";
import { Tab } from "./tab.mjs";

export const count = (number) => number.toLocaleString("en-US");
export const chips = (tab) => tab.page.locator(".filter-chip");
export const chip = (tab, text) => chips(tab).filter({ hasText: text });

/** Made at the top of a file of tests; the recording is there when its tests run. */
export class Frame {
  host;
  program;
  recording;
  /** Of each sample, the names of the functions on its stack, as perf has them. */
  stacks;

  constructor() {
    const parts = new Parts();
    beforeScenes(async () => {
      this.program = parts.compile(["tides"]);
      const command = `${this.program} 20; sha256sum ${binary} > ${parts.path("sum")}`;
      this.recording = parts.record("tides.perf.data", ["-F", "999"], ["sh", "-c", command]);
      this.stacks = stacksByPerf(this.recording);
      this.host = await parts.host();
    });
    afterScenes(() => parts.end());
  }

  /** A tab with the recording, and the program that names it. */
  async opened(options = {}, fragment = "") {
    const tab = await Tab.open(this.host + fragment, options);
    await tab.drop(this.recording);
    await tab.opened();
    await tab.drop(this.program);
    await tab.page.locator(".toast", { hasText: "Used 1 of 1 file: tides." }).waitFor();
    await tab.settled();
    return tab;
  }

  /** Waits until the bar says that so many samples are shown. */
  async showing(tab, samples) {
    const words = `Showing ${count(samples)} of ${count(this.stacks.length)} samples, `;
    await tab.page.locator(".showing", { hasText: words }).waitFor();
  }

  /** How many samples have a function on their stack, as perf counts them. */
  withFunction(name) {
    return this.stacks.filter(({ names }) => names.includes(name)).length;
  }
}

function stacksByPerf(file) {
  const output = run("perf", ["script", "-i", file, "--no-inline", "-F", "comm,pid,ip,sym"]);
  return output
    .split(/\n\s*\n/)
    .filter((block) => block.trim() !== "")
    .map((block) => {
      const [head, ...frames] = block.trim().split("\n");
      const [, comm, pid] = /^(.*?)\s+(\d+)$/.exec(head.trim());
      return {
        comm,
        pid: Number(pid),
        names: frames.map((line) =>
          line
            .trim()
            .replace(/^[0-9a-f]+ /, "")
            .replace(/\+0x[0-9a-f]+$/, ""),
        ),
      };
    });
}

/** Selects a function's heaviest call, and gives the focus to the graph. */
export async function selectIn(tab, name) {
  await tab.select(name);
  await tab.page.keyboard.press("/");
  await tab.page.keyboard.press("Escape");
  await tab.page.waitForFunction(() => document.activeElement?.getAttribute("role") === "tree");
}
