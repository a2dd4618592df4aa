// What browser tests open: programs compiled here, recordings of them, and the servers that hand them out. All of it real.
//
//   const parts = new Parts();   a folder of its own; `parts.end()` ends all servers and removes it
import { execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

export const binary = process.env.PERFTAB_BIN ?? join(root, "target/release/perftab");
export const html = process.env.PERFTAB_HTML ?? join(root, "target/page/perftab.html");
/** What a static host serves. */
export const siteFolder = process.env.PERFTAB_SITE ?? join(root, "target/site");
export const tidesSource = join(root, "tests/programs/tides.c");

/** Nothing of the person who runs the tests: no servers, no cache. */
function environment(home) {
  const { DEBUGINFOD_URLS, DEBUGINFOD_CACHE_PATH, XDG_CACHE_HOME, PERFTAB_BASE_URL, ...rest } = process.env;
  return { ...rest, HOME: home };
}

/** The build-id in an ELF file, as binutils read it. */
export function buildId(file) {
  const notes = execFileSync("readelf", ["--notes", "--wide", file], { encoding: "utf8" });
  return /Build ID: ([0-9a-f]+)/.exec(notes)[1];
}

/** The function whose code lies at an address of a program, past all that was inlined into it, as binutils read it. */
export function functionAt(program, address) {
  const output = execFileSync("addr2line", ["--functions", "--inlines", "--exe", program, address], { encoding: "utf8" });
  return output.trim().split("\n").at(-2);
}

/** How many samples perf finds in a recording, by event. */
export function samplesByPerf(recording) {
  const lines = execFileSync("perf", ["script", "-i", recording, "-F", "event"], { encoding: "utf8", maxBuffer: 1 << 30 });
  const counts = {};
  // Of a pipe it prints call chains too, asked or not.
  for (const [, event] of lines.matchAll(/^\s*(\S+):\s*$/gm)) counts[event] = (counts[event] ?? 0) + 1;
  return counts;
}

export function isInstalled(command) {
  return (process.env.PATH ?? "").split(":").some((folder) => existsSync(join(folder, command)));
}

export class Parts {
  #ends = [];
  folder = mkdtempSync(join(tmpdir(), "perftab-browser-"));

  /** Ends what was started, then removes the folder. */
  async end() {
    for (const end of this.#ends.reverse()) await end();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A path below the folder; folders on the way are made. */
  path(...names) {
    const path = join(this.folder, ...names);
    mkdirSync(dirname(path), { recursive: true });
    return path;
  }

  /** Compiles tests/programs/tides.c to `names`, with lines, frame pointers and a build-id made of its content. */
  compile(names, ...options) {
    const program = this.path(...names);
    const common = ["-g", "-fno-omit-frame-pointer", "-Wl,--build-id=sha1", "-o", program, tidesSource];
    execFileSync("gcc", [...(options.length > 0 ? options : ["-O2"]), ...common]);
    return program;
  }

  /** Compiles tests/programs/canals.c in the same way. */
  compileCanals(names, ...options) {
    const program = this.path(...names);
    const common = ["-O2", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id=sha1", "-o", program];
    execFileSync("gcc", [...options, ...common, join(root, "tests/programs/canals.c")]);
    return program;
  }

  /** Compiles tests/programs/phases.c, which says when its phases began and ended. */
  compilePhases() {
    const program = this.path("phases");
    const options = ["-O2", "-g", "-fno-omit-frame-pointer", "-pthread", "-Wl,--build-id=sha1", "-o", program];
    execFileSync("gcc", [...options, join(root, "tests/programs/phases.c")]);
    return program;
  }

  /** Records a command; `options` are those of `perftab record`. */
  record(name, options, command) {
    const recording = this.path(name);
    execFileSync(binary, ["record", "-q", "-g", ...options, "-o", recording, "--", ...command], {
      stdio: ["ignore", "ignore", "inherit"],
      env: environment(this.folder),
    });
    return recording;
  }

  /** Runs perftab to its end, without anything of the person who runs the tests. */
  perftab(...options) {
    execFileSync(binary, options, { stdio: ["ignore", "ignore", "inherit"], env: environment(this.folder) });
  }

  /** What perftab prints, as JSON. */
  json(...options) {
    return JSON.parse(execFileSync(binary, options, { encoding: "utf8", env: environment(this.folder), maxBuffer: 1 << 30 }));
  }

  /** Samples of threads of this name, in all and by the DSO that they ended in, as perf reads them. */
  leaves(recording, comm) {
    const options = ["script", "-i", recording, "--comms", comm, "-G", "-F", "ip,dso"];
    const lines = execFileSync("perf", options, { encoding: "utf8", maxBuffer: 1 << 30, env: environment(this.folder) });
    const counts = { all: 0 };
    for (const [, dso] of lines.matchAll(/^\s*[0-9a-f]+ \((.+)\)\s*$/gm)) {
      const name = dso.split("/").at(-1);
      counts[name] = (counts[name] ?? 0) + 1;
      counts.all += 1;
    }
    return counts;
  }

  /** Records with perf, which has forms of recordings that ours has not. */
  perf(name, options, command) {
    const recording = this.path(name);
    execFileSync("perf", ["record", "-q", "-g", ...options, "-o", recording, "--", ...command], {
      stdio: ["ignore", "ignore", "inherit"],
      env: environment(this.folder),
    });
    return recording;
  }

  /** What perf writes into a pipe, kept in a file. */
  perfPipe(name, options, command) {
    const recording = this.path(name);
    const file = openSync(recording, "w");
    execFileSync("perf", ["record", "-q", "-g", ...options, "-o", "-", "--", ...command], {
      stdio: ["ignore", file, "inherit"],
      env: environment(this.folder),
    });
    closeSync(file);
    return recording;
  }

  /** Packs a file with a packer of the machine's; the packed one has this ending. */
  pack(packer, file, ending) {
    const packed = `${file}.${ending}`;
    writeFileSync(packed, execFileSync(packer, ["-c", file], { maxBuffer: 1 << 30 }));
    return packed;
  }

  /** Serves a folder below `path` as a static host does; answers its address, and the paths that were asked for. */
  async site(folder, path = "/") {
    const types = { html: "text/html", js: "text/javascript", webmanifest: "application/manifest+json", svg: "image/svg+xml", png: "image/png" };
    const asked = [];
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url, "http://localhost");
      asked.push(pathname);
      const below = pathname.startsWith(path) ? pathname.slice(path.length) : "nothing is outside";
      const file = join(folder, below === "" || below.endsWith("/") ? `${below}index.html` : below);
      const found = existsSync(file);
      response.writeHead(found ? 200 : 404, { "content-type": types[file.split(".").at(-1)] ?? "text/plain" });
      response.end(found ? readFileSync(file) : "");
    });
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    const end = () => new Promise((done) => {
      server.close(done);
      server.closeAllConnections();
    });
    this.#ends.push(end);
    return { address: `http://127.0.0.1:${server.address().port}${path}`, asked, end };
  }

  /** Serves the page as a static host does; answers its address. */
  async host() {
    const page = readFileSync(html);
    const server = createServer((request, response) => {
      const isPage = new URL(request.url, "http://localhost").pathname === "/";
      response.writeHead(isPage ? 200 : 404, { "content-type": "text/html" });
      response.end(isPage ? page : "");
    });
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    this.#ends.push(() => new Promise((done) => {
      server.close(done);
      server.closeAllConnections();
    }));
    return `http://127.0.0.1:${server.address().port}/`;
  }

  /** Runs `perftab view`; answers the address that it prints. */
  async view(...options) {
    const home = this.path("home-of-view", "empty");
    const child = this.#spawn(binary, ["view", "--no-open", ...options], environment(dirname(home)));
    for await (const line of createInterface({ input: child.stdout })) return line.trim();
    throw new Error("perftab view ended without an address");
  }

  /** Runs elfutils' debuginfod over a folder; answers its address once it has read all of it. */
  async debuginfod(folder) {
    const port = await freePort();
    const options = ["-d", ":memory:", "-p", String(port), "-F", folder];
    const child = this.#spawn("debuginfod", options, environment(this.folder));
    child.stdout.resume();
    const address = `http://127.0.0.1:${port}`;
    // It has no other way to tell than to be asked.
    for (const giveUp = Date.now() + 30_000; Date.now() < giveUp; await tick()) {
      const metrics = await fetch(`${address}/metrics`).then((reply) => reply.text(), () => "");
      const lines = metrics.split("\n");
      if (lines.includes("ready 1") && lines.includes('thread_work_pending{role="scan"} 0')) return address;
    }
    throw new Error("debuginfod is not ready after half a minute");
  }

  /** A server that dies with this process, whatever happens to it. */
  #spawn(program, options, env) {
    const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", program, ...options], {
      env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    this.#ends.push(() => new Promise((done) => {
      child.once("exit", done);
      if (child.exitCode !== null || !child.kill("SIGKILL")) done();
    }));
    return child;
  }
}

const tick = () => new Promise((done) => setTimeout(done, 50));

function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** The lines of a function in tides.c, from its head to its closing brace. */
export function linesOf(name) {
  const lines = readFileSync(tidesSource, "utf8").split("\n");
  const first = lines.findIndex((line) => new RegExp(`^\\S.*\\b${name}\\(.*\\{$`).test(line));
  const length = lines.slice(first).indexOf("}");
  return { first: first + 1, last: first + 1 + length };
}
