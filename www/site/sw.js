// Keeps a hosted copy of the page working without network: its own files come from a cache, everything else is left to
// the browser.
//
// The page is one file, so its parts can never be of two versions. That is why a new worker takes over at once: an open
// page needs nothing more from it, and the next reload gets the new page whole. The browser looks for a new worker on
// every visit; `VERSION` is a hash of all files, so the worker changes exactly when one of them does.
"use strict";

const VERSION = "perftab:version";
const FILES = ["./", "manifest.webmanifest", "icon.svg", "icon-192.png", "icon-512.png"];

/** Other pages of this origin may have caches too: ours are those with this prefix and the folder that we are in. */
const PREFIX = `perftab ${new URL("./", self.location).pathname} `;
const CACHE = PREFIX + VERSION;

/** The files by their whole address. */
const OURS = new Map(FILES.map((file) => [new URL(file, self.location).href, file]));
const PAGE = new URL("./", self.location).href;

self.addEventListener("install", (event) => {
  // Past the browser's own cache, which may still hold the page of the version before.
  const requests = FILES.map((file) => new Request(file, { cache: "reload" }));
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(requests))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  const old = (name) => name.startsWith(PREFIX) && name !== CACHE;
  const forget = (names) => Promise.all(names.filter(old).map((name) => caches.delete(name)));
  event.waitUntil(
    caches
      .keys()
      .then(forget)
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const file = request.method === "GET" ? ourFile(request) : undefined;
  if (file !== undefined) {
    event.respondWith(fromCache(file, request));
  }
});

/** The page has several addresses: its folder, index.html, and either with a query. Other files have one. */
function ourFile(request) {
  const address = new URL(request.url);
  if (request.mode === "navigate") {
    const folder = new URL("./", address);
    const isPage = [folder.pathname, `${folder.pathname}index.html`].includes(address.pathname);
    return isPage && folder.href === PAGE ? "./" : undefined;
  }
  return OURS.get(address.href);
}

/** What is lost from the cache (browsers clear it when room is short) is fetched as if there were none. */
async function fromCache(file, request) {
  const cache = await caches.open(CACHE);
  return (await cache.match(file)) ?? fetch(request);
}
