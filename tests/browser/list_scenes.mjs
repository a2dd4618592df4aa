// Writes what scenes the files named have, as JSON: [{ "file": …, "name": …, "tier": "fast" or "all" }, …]. Runs none of them.
import { pathToFileURL } from "node:url";
import { parentPort, workerData } from "node:worker_threads";

process.env.PERFTAB_SCENES = "list";
const { scenes } = await import("./scene.mjs");
const listed = [];
for (const file of workerData) {
  await import(pathToFileURL(file));
  listed.push(...scenes.splice(0).map((scene) => ({ file, ...scene })));
}
parentPort.postMessage(listed);
