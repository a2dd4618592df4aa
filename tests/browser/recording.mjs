// What browser tests open: programs compiled here, recordings of them, and the servers that hand them out. All of it real.
//
//   const parts = new Parts();   a folder of its own; `parts.end()` ends all servers and removes it
import { execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { getPriority, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { limits } from "./limits.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));

export const binary = process.env.PERFTAB_BIN ?? join(root, "target/release/perftab");
export const html = process.env.PERFTAB_HTML ?? join(root, "target/page/perftab.html");
/** What a static host serves. */
export const siteFolder = process.env.PERFTAB_SITE ?? join(root, "target/site");
export const tidesSource = join(root, "tests/programs/tides.c");
export const debuginfodManual = join(root, "docs/debuginfod.md");

/**
 * Options for perf, as hotspot gives them: when what it starts leaves a processor, and when it comes back. With `-a` it lost up
 * to 100,000 switches of a busy machine, even with 32 MB of rings for each CPU, and among them those that a test was about.
 */
export const SWITCHES = ["-e", "cpu-clock", "-e", "sched:sched_switch", "--switch-events"];

/** Nothing of the person who runs the tests: no servers, no cache. */
function environment(home) {
  const { DEBUGINFOD_URLS, DEBUGINFOD_CACHE_PATH, XDG_CACHE_HOME, PERFTAB_BASE_URL, ...rest } = process.env;
  return { ...rest, HOME: home };
}

/** Runs a program to its end; what it prints. It prints the same words in every language, and does not run for ever. */
export function run(program, options, { env = process.env, ...more } = {}) {
  const common = { encoding: "utf8", maxBuffer: 1 << 30, timeout: limits.program, killSignal: "SIGKILL" };
  // perf would put what it records into the cache of whoever runs the tests, and take names from there.
  const home = program === "perf" ? { HOME: "/dev/null" } : {};
  return execFileSync(program, options, { ...common, ...more, env: { ...env, ...home, LC_ALL: "C" } });
}

/** The build-id in an ELF file, as binutils read it. */
export function buildId(file) {
  const notes = run("readelf", ["--notes", "--wide", file]);
  return /Build ID: ([0-9a-f]+)/.exec(notes)[1];
}

/** The function whose code lies at an address of a program, past all that was inlined into it, as binutils read it. */
export function functionAt(program, address) {
  const output = run("addr2line", ["--functions", "--inlines", "--exe", program, address]);
  return output.trim().split("\n").at(-2);
}

/** How many samples perf finds in a recording, by event. */
export function samplesByPerf(recording) {
  const lines = run("perf", ["script", "-i", recording, "-F", "event"]);
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
  #folder = null;

  /** Made when it is first asked for: a file whose scenes are all left out leaves nothing behind. */
  get folder() {
    this.#folder ??= mkdtempSync(join(tmpdir(), "perftab-browser-"));
    return this.#folder;
  }

  /** Ends what was started, then removes the folder. */
  async end() {
    for (const end of this.#ends.reverse()) await end();
    if (this.#folder !== null) rmSync(this.#folder, { recursive: true, force: true });
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
    run("gcc", [...(options.length > 0 ? options : ["-O2"]), ...common]);
    return program;
  }

  /** Compiles tests/programs/canals.c in the same way. */
  compileCanals(names, ...options) {
    const program = this.path(...names);
    const common = ["-O2", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id=sha1", "-o", program];
    run("gcc", [...options, ...common, join(root, "tests/programs/canals.c")]);
    return program;
  }

  /** Compiles tests/programs/phases.c, which says when its phases began and ended. */
  compilePhases() {
    const program = this.path("phases");
    const options = ["-O2", "-g", "-fno-omit-frame-pointer", "-pthread", "-Wl,--build-id=sha1", "-o", program];
    run("gcc", [...options, join(root, "tests/programs/phases.c")]);
    return program;
  }

  /** Records a command; `options` are those of `perftab record`. */
  record(name, options, command) {
    const recording = this.path(name);
    this.#recorded([binary, "record", "-q", "-g", ...options, "-o", recording, "--", ...command], "ignore");
    return recording;
  }

  /** Runs perftab to its end, without anything of the person who runs the tests. */
  perftab(...options) {
    run(binary, options, { stdio: ["ignore", "ignore", "inherit"], env: environment(this.folder) });
  }

  /** What perftab prints, as JSON. */
  json(...options) {
    return JSON.parse(run(binary, options, { env: environment(this.folder) }));
  }

  /** Samples of threads of this name, in all and by the DSO that they ended in, as perf reads them. */
  leaves(recording, comm) {
    const options = ["script", "-i", recording, "--comms", comm, "-G", "-F", "ip,dso"];
    const lines = run("perf", options, { env: environment(this.folder) });
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
    this.#recorded(["perf", "record", "-q", "-g", "-N", ...options, "-o", recording, "--", ...command], "ignore");
    return recording;
  }

  /** What perf writes into a pipe, kept in a file. */
  perfPipe(name, options, command) {
    const recording = this.path(name);
    const file = openSync(recording, "w");
    this.#recorded(["perf", "record", "-q", "-g", "-N", ...options, "-o", "-", "--", ...command], file);
    closeSync(file);
    return recording;
  }

  /**
   * Runs a recorder. What is recorded may work for a time and not for an amount, so it is not niced even where the tests
   * are: beside others it would be sampled a few times only. Where that is not allowed, `nice` says so and goes on.
   */
  #recorded([program, ...options], output) {
    const niced = getPriority();
    const command = niced > 0 ? ["nice", "-n", String(-niced), program, ...options] : [program, ...options];
    run(command[0], command.slice(1), { stdio: ["ignore", output, "inherit"], env: environment(this.folder) });
  }

  /** Packs a file with a packer of the machine's; the packed one has this ending. */
  pack(packer, file, ending) {
    const packed = `${file}.${ending}`;
    writeFileSync(packed, run(packer, ["-c", file], { encoding: "buffer" }));
    return packed;
  }

  /** Serves a folder below `path` as a static host does; answers its address, and the paths that were asked for. */
  async site(folder, path = "/") {
    const types = {
      html: "text/html",
      js: "text/javascript",
      webmanifest: "application/manifest+json",
      svg: "image/svg+xml",
      png: "image/png",
    };
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
    const end = () =>
      new Promise((done) => {
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
    this.#ends.push(
      () =>
        new Promise((done) => {
          server.close(done);
          server.closeAllConnections();
        }),
    );
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
    const start = (port) => {
      const child = this.#spawn("debuginfod", ["-d", ":memory:", "-p", String(port), "-F", folder], environment(this.folder));
      child.stdout.resume();
      return child;
    };
    return await listening("debuginfod", start, async (address) => {
      const lines = (await (await fetch(`${address}/metrics`)).text()).split("\n");
      return lines.includes("ready 1") && lines.includes('thread_work_pending{role="scan"} 0');
    });
  }

  /** Runs nginx with this in its `server` block; answers its address. */
  async nginx(block) {
    const start = (port) => {
      const folder = dirname(this.path(`nginx-${port}`, "nginx.conf"));
      const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (what) => `${what}_temp_path ${folder}/${what};`,
      );
      const server = `server { listen 127.0.0.1:${port}; ${block} }`;
      const http = `http { access_log off; ${temporary.join(" ")} ${server} }`;
      const alone = `daemon off; master_process off; pid ${folder}/pid; error_log stderr;`;
      writeFileSync(join(folder, "nginx.conf"), `${alone} events {} ${http}\n`);
      return this.#spawn("nginx", ["-e", "stderr", "-p", folder, "-c", join(folder, "nginx.conf")], environment(folder));
    };
    return await listening("nginx", start, answersAnything);
  }

  /** Runs Caddy with what `site` makes of the address; answers that. */
  async caddy(site) {
    const start = (port) => {
      const file = this.path(`caddy-${port}`, "Caddyfile");
      writeFileSync(file, `{\n\tadmin off\n\tdefault_bind 127.0.0.1\n}\n${site(`http://127.0.0.1:${port}`)}`);
      return this.#spawn("caddy", ["run", "--config", file, "--adapter", "caddyfile"], environment(dirname(file)));
    };
    return await listening("caddy", start, answersAnything);
  }

  /** A server that dies with this process, whatever happens to it. */
  #spawn(program, options, env) {
    const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", program, ...options], {
      env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    this.#ends.push(
      () =>
        new Promise((done) => {
          child.once("exit", done);
          if (child.exitCode !== null || !child.kill("SIGKILL")) done();
        }),
    );
    return child;
  }
}

/** The address of a server that `start` starts at a port, once it is ready. It has no other way to tell than to be asked. */
async function listening(name, start, isReady) {
  const giveUp = performance.now() + limits.wait;
  while (performance.now() < giveUp) {
    const port = await freePort();
    const child = start(port);
    const address = `http://127.0.0.1:${port}`;
    // It ends if somebody else took the port in between.
    for (; child.exitCode === null && performance.now() < giveUp; await tick()) {
      if ((await isReady(address).catch(() => false)) && child.exitCode === null) return address;
    }
  }
  throw new Error(`${name} is not ready`);
}

async function answersAnything(address) {
  await fetch(address);
  return true;
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
