// Makes the page: everything it needs in ONE html file, so that the same bytes are served by
// `perftab view`, hosted as a static site, and opened from file:// (where a browser refuses to
// fetch siblings, and Chromium refuses module workers).
//
//   node build.mjs page OUT.html WASM.packed IMAGES.packed LISTING.packed [SITE_DIR]
//                                 bundle src/ and write the page; and into a folder what a static
//                                 host serves: index.html, which is the page with a manifest, a
//                                 service worker, icons
//   node build.mjs tests OUT_DIR  bundle test/*.test.ts for `node --test`
//
// What draws the open screen comes first; the rest may arrive later. Script, worker and style sheet are LZMA
// in base64, which a small script unpacks: a seventh less than gzip makes of them. The wasm is a data block,
// streams of it as LZMA in base64, which the worker unpacks; that is a third less than gzip in base64, which a
// browser would unpack. A text of more letters than base64 has would save 1 % at most: gzip, in which the page
// is sent, takes off what base64 adds. Behind all of this stands what no first graph waits for: modules in the same form
// that read the files of a profile and decode code, and scripts of workers, which a browser unpacks itself. The text of
// a worker becomes a Blob and a classic worker. Data blocks do
// not run, so the content security policy needs the hashes of two scripts and one style sheet only.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { png, svg } from "./site/icons.mjs";

const www = dirname(fileURLToPath(import.meta.url));

// The binary's, so that a page says which perftab it is of.
const version = /^version = "(.+)"$/m.exec(readFileSync(join(www, "../Cargo.toml"), "utf8"))[1];
const define = { PERFTAB_VERSION: JSON.stringify(version) };

// The same for every bundle of the page; the browsers that have light-dark().
const browser = {
  bundle: true,
  write: false,
  minify: true,
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
  format: "iife",
  target: ["chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  define,
};

async function bundle(entry, options) {
  const result = await build({ ...options, entryPoints: [join(www, entry)] });
  return result.outputFiles[0].text.trimEnd();
}

const gzip = (bytes) => gzipSync(bytes, { level: 9 });

const sha256 = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

// A raw text element ends at the first `</script`, wherever it stands, and a script that holds `<!--` and then
// `<script` does not end where it should. esbuild escapes the first in what it prints, and base64 has no `<`; the
// second is for whoever writes such a string to avoid.
function rawText(text) {
  const [found] = /<\/script|<!--/i.exec(text) ?? [];
  if (found) throw new Error(`the text of <script> holds ${found}: it would not end where it should`);
  return text;
}

// `default-src 'none'` and then only what the page does: two scripts, one style sheet, a worker from
// a Blob, wasm, and requests to a debuginfod that the user names (any host, hence the schemes). A
// hosted copy also has a service worker and a manifest, beside it.
function policy(scripts, style, kind) {
  const hosted = kind === "hosted";
  return [
    "default-src 'none'",
    `script-src ${scripts.map(sha256).join(" ")} 'wasm-unsafe-eval'`,
    `style-src ${sha256(style)}`,
    `worker-src blob:${hosted ? " 'self'" : ""}`,
    ...(hosted ? ["manifest-src 'self'"] : []),
    "connect-src http: https:",
    `img-src data: blob:${hosted ? " 'self'" : ""}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

async function page(out, packedWasm, packedImages, packedListing, site) {
  const [boot, main, worker, style, imagesWorker, highlighter] = await Promise.all([
    bundle("src/boot.ts", browser),
    bundle("src/main.tsx", browser),
    bundle("src/worker/worker.ts", browser),
    bundle("src/style.css", browser),
    bundle("src/worker/images_worker.ts", browser),
    bundle("src/worker/highlight_worker.ts", browser),
  ]);
  const modules = [packedWasm, packedImages, packedListing];
  const [wasm, images, listing] = modules.map((path) => readFileSync(path));
  await Promise.all([wasm, images, listing].map((packed, at) => checkWasm(modules[at], packed)));
  const code = lzma([main, worker, style].join("\0"));
  await checkCode(code, [main, worker, style]);
  const [imagesScript, highlight] = [gzip(imagesWorker), gzip(highlighter)];
  const parts = { boot, main, style, code, wasm, images, imagesScript, listing, highlight };
  const html = fill({ ...parts, kind: "alone" });
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, html);
  if (site !== undefined) writeSite(site, fill({ ...parts, kind: "hosted" }));

  report("code", gzip(boot).length + code.length, boot.length + main.length + worker.length + style.length);
  // It begins with the size of what is packed.
  report("wasm", wasm.length, wasm.readUInt32LE(0));
  report("images", images.length, images.readUInt32LE(0));
  report("reader", imagesScript.length, imagesWorker.length);
  report("listing", listing.length, listing.readUInt32LE(0));
  report("highlight", highlight.length, highlighter.length);
  report("page", gzip(html).length, Buffer.byteLength(html));
  // What is sent before a recording that somebody drops can be drawn.
  const first = html.slice(0, html.indexOf('id="sample"'));
  report("first", gzip(first).length, Buffer.byteLength(first));
}

// What the page unpacks is what was packed. Both know instructions of WebAssembly, each from a table of its own.
async function checkWasm(packedWasm, wasm) {
  const { unpackWasm } = await imported("src/worker/packed_wasm.ts");
  const plain = readFileSync(packedWasm.replace(/\.packed$/, ""));
  if (!plain.equals(unpackWasm(wasm))) throw new Error(`${packedWasm} is not what it was packed from`);
}

// The same for what is unpacked first, which ends up as three texts.
async function checkCode(code, texts) {
  const { unpackLzma } = await imported("src/worker/lzma.ts");
  const unpacked = new TextDecoder().decode(unpackLzma(code)).split("\0");
  if (unpacked.length !== texts.length || unpacked.some((text, at) => text !== texts[at])) {
    throw new Error("the page's code is not what it was packed from");
  }
}

// A module of the page, to be used here.
async function imported(entry) {
  const text = await bundle(entry, { ...browser, format: "esm" });
  return import(`data:text/javascript,${encodeURIComponent(text)}`);
}

// perftab-bundle has been built when there is WebAssembly.
function lzma(text) {
  const command = ["run", "--quiet", "--locked", "--package=perftab-bundle", "--", "lzma"];
  return execFileSync(process.env.CARGO ?? "cargo", command, { input: text, cwd: www, maxBuffer: 1 << 24 });
}

// The template with its parts. `kind` is `alone` for a page that is one file wherever it goes, and
// `hosted` for one that has its manifest beside it: a browser must not look for what is not there.
function fill({ boot, main, style, code, wasm, images, imagesScript, listing, highlight, kind }) {
  const icon = `data:image/svg+xml,${encodeURIComponent(svg().trim())}`;
  const elements = {
    csp: `<meta http-equiv="Content-Security-Policy" content="${policy([boot, main], style, kind)}">`,
    icon:
      kind === "hosted"
        ? '<link rel="manifest" href="manifest.webmanifest">\n<link rel="icon" href="icon.svg">'
        : `<link rel="icon" href="${icon}">`,
    sample: block("sample", sample()),
    wasm: block("wasm", wasm.toString("base64")),
    images: block("images", images.toString("base64")),
    "images-script": block("images-script", imagesScript.toString("base64")),
    listing: block("listing", listing.toString("base64")),
    highlight: block("highlight", highlight.toString("base64")),
    code: `<script type="application/octet-stream" id="code">${code.toString("base64")}</script>`,
    boot: `<script>${rawText(boot)}</script>`,
  };
  // The profile marker stays: whoever saves a page with a profile inside replaces it.
  let html = readFileSync(join(www, "index.html"), "utf8");
  for (const [name, text] of Object.entries(elements)) {
    const marker = `<!--perftab:${name}-->`;
    if (html.split(marker).length !== 2) throw new Error(`index.html must hold ${marker} once`);
    html = html.replace(marker, () => text);
  }
  if (html.split("<!--perftab:profile-->").length !== 2) {
    throw new Error("the page must hold <!--perftab:profile--> once");
  }
  return html;
}

// A data block: its last line says that it is whole (src/session/data_block.ts).
const block = (id, text) => `<script type="application/octet-stream" id="${id}">${text}\n//end</script>`;

// The sample profile and the program that it is of, xz in base64: a name and a file in every pair.
function sample() {
  const files = ["mill.perf.data", "mill"].map((name) => [
    name,
    readFileSync(join(www, "sample", `${name}.xz`)).toString("base64"),
  ]);
  return JSON.stringify(files);
}

// What a static host serves. The service worker names the version of all of it, so that it changes
// when, and only when, something does.
function writeSite(folder, html) {
  const files = {
    "index.html": html,
    "manifest.webmanifest": readFileSync(join(www, "site/manifest.webmanifest")),
    "icon.svg": svg(),
    "icon-192.png": png(192),
    "icon-512.png": png(512),
  };
  // For hosts that read them. GitHub Pages passes over files that Jekyll would not take, unless told so.
  const forHosts = { _headers: readFileSync(join(www, "site/_headers")), ".nojekyll": "" };
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(forHosts)) writeFileSync(join(folder, name), content);
  const hash = createHash("sha256");
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), content);
    hash.update(content);
  }
  const worker = readFileSync(join(www, "site/sw.js"), "utf8");
  writeFileSync(join(folder, "sw.js"), worker.replace("perftab:version", hash.update(worker).digest("hex").slice(0, 16)));
}

// One line a part, read by xtask: `size NAME PACKED_BYTES PLAIN_BYTES`.
function report(name, packed, plain) {
  console.log(`size ${name} ${packed} ${plain}`);
}

// `node --test` takes no TypeScript in every version we support, so tests are bundled first.
async function tests(outDir) {
  const names = readdirSync(join(www, "test")).filter((name) => /\.test\.tsx?$/.test(name));
  await build({
    entryPoints: names.map((name) => join(www, "test", name)),
    outdir: outDir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node18",
    sourcemap: "inline",
    logLevel: "warning",
    jsx: "automatic",
    jsxImportSource: "preact",
    define,
  });
  console.log(`bundled ${names.length} test files`);
}

const [what, ...rest] = process.argv.slice(2);
if (what === "page" && (rest.length === 4 || rest.length === 5)) await page(...rest);
else if (what === "tests" && rest.length === 1) await tests(rest[0]);
else {
  console.error(
    `usage: ${basename(process.argv[1])} page OUT.html WASM.packed IMAGES.packed LISTING.packed [SITE_DIR] | tests OUT_DIR`,
  );
  process.exit(2);
}
