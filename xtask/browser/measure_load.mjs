// Loads the page from a distant server, as somebody who follows a link does, and prints what it took, one JSON line a run:
//
//   node measure_load.mjs PAGE.html LINK RUNS
//
// LINK is a file that holds what `perftab share` printed. The network is that of Chromium's developer tools, 10 Mbit/s and
// 40 ms; nothing is in a cache; the page comes in gzip. Both clocks start with the navigation.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { gzipSync } from "node:zlib";
import { launch } from "../../tests/browser/chromium.mjs";

const [html, link, runs] = process.argv.slice(2);
const NETWORK = { offline: false, latency: 40, downloadThroughput: 10e6 / 8, uploadThroughput: 10e6 / 8 };

const packed = gzipSync(readFileSync(html), { level: 9 });
const payload = /#(\S+)/.exec(readFileSync(link, "utf8"))[1];
const server = createServer((request, response) => {
  if (new URL(request.url, "http://localhost").pathname !== "/") {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { "content-type": "text/html; charset=utf-8", "content-encoding": "gzip" }).end(packed);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const address = `http://127.0.0.1:${server.address().port}/`;

for (let run = 0; run < Number(runs); run++) {
  const screenMs = await visit(address, () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  const linkMs = await visit(`${address}#${payload}`, () => performance.getEntriesByName("perftab:flame-graph")[0]?.startTime);
  console.log(JSON.stringify({ screenMs, linkMs }));
}
server.close();

/** When what `painted` looks for was painted, in a browser of its own. */
async function visit(url, painted) {
  const { page, errors, close } = await launch({ reducedMotion: "no-preference" });
  const network = await page.context().newCDPSession(page);
  await network.send("Network.enable");
  await network.send("Network.emulateNetworkConditions", NETWORK);
  await page.goto(url, { waitUntil: "commit" });
  const found = await (await page.waitForFunction(painted, undefined, { timeout: 60_000, polling: 20 })).jsonValue();
  await close();
  if (errors.length > 0) {
    console.error(errors.join("\n"));
    process.exitCode = 1;
  }
  return Math.round(found);
}
