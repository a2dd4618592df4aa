// A recording that knows what nobody should be told unasked: a folder, the host, a command line.
import { hostname } from "node:os";
import { Parts } from "./recording.mjs";
import { afterScenes, beforeScenes } from "./scene.mjs";
import { Tab } from "./tab.mjs";

/** Made at the top of a file of tests; the recording is there when its tests run. */
export class PrivateRecording {
  parts = new Parts();
  host;
  program;
  recording;
  /** A folder, the host, and a word of the command line. */
  secrets = { folder: "secret-folder", host: hostname(), command: "record" };

  constructor() {
    beforeScenes(async () => {
      this.program = this.parts.compile([this.secrets.folder, "tides"]);
      this.recording = this.parts.record("tides.perf.data", ["-F", "999"], [this.program, "30"]);
      this.host = await this.parts.host();
    });
    afterScenes(() => this.parts.end());
  }

  /** A tab with the recording, and the program that names it. */
  async opened(options = {}) {
    const tab = await Tab.open(this.host, options);
    await tab.drop(this.recording);
    await tab.opened();
    await tab.drop(this.program);
    await tab.status("tides", "matched");
    return tab;
  }
}

/** Where a word stands by itself: kernels have functions with the names of hosts in theirs. */
export const wholeWord = (word) => new RegExp(`.{0,40}(?<![A-Za-z0-9_])${word}(?![A-Za-z0-9_]).{0,40}`);
