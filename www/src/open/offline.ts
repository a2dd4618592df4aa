// A hosted copy of the page works without network once it was visited: a service worker beside it keeps it. A page that is
// one file wherever it goes (from a disk, from `perftab view`, saved with a profile) has no manifest, and asks for none.

import { toast } from "../state/toasts.ts";

/** Starts the service worker where there is one. Call once, when nothing else waits for the network. */
export async function keepOffline(): Promise<void> {
  const isHosted = document.querySelector("link[rel=manifest]") !== null && location.protocol.startsWith("http");
  if (!isHosted || !("serviceWorker" in navigator)) {
    return;
  }
  const workers = navigator.serviceWorker;
  const before = workers.controller;
  workers.addEventListener("controllerchange", () => {
    // The first visit is no news.
    if (before !== null) {
      toast("info", "A new version of perftab is ready. Reload to use it.");
    }
  });
  try {
    await workers.register("sw.js", { updateViaCache: "none" });
  } catch {
    // Private windows, and hosts without sw.js: the page works as long as there is a network.
  }
}
