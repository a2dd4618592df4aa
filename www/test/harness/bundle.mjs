// Bundles the harness into one html file in a temporary folder.
import { build } from "esbuild";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

async function bundle(entry) {
  const result = await build({
    bundle: true,
    write: false,
    format: "iife",
    jsx: "automatic",
    jsxImportSource: "preact",
    entryPoints: [join(here, entry)],
  });
  return result.outputFiles[0].text;
}

/** Writes the page; answers its file: address, to which a query may be added. */
export async function harnessPage() {
  const [style, script] = await Promise.all([bundle("harness.css"), bundle("harness.tsx")]);
  const file = join(mkdtempSync(join(tmpdir(), "perftab-harness-")), "harness.html");
  writeFileSync(
    file,
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>views</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>${style}</style><div id="app"></div><script>${script.replaceAll("</script", "<\\/script")}</script>`,
  );
  return pathToFileURL(file).href;
}
