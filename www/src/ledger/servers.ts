// Whom to ask by build-id: the debuginfod servers that the user names, or `perftab view` where it serves the page. Nothing
// is asked before the user has said so for that server.

import { computed, signal } from "@preact/signals";
import { served } from "../open/served.ts";
import type { Server } from "../session/types.ts";
import { recallText, remember } from "../state/storage.ts";

/** URLs separated by spaces, as in DEBUGINFOD_URLS; empty for none. */
export const serverField = signal(recallText("debuginfod") ?? "");

/** What `perftab view` calls its own machine in its answers, too. */
export const THIS_MACHINE = "this machine";

/** Whom a fetch asks now, in this order; none where no server is known. */
export const servers = computed<readonly Server[]>(() => {
  const view = served.value;
  if (view === null) {
    const server = (url: URL): Server => ({ kind: "debuginfod", url: url.href.replace(/\/$/, ""), host: url.host });
    return readServerUrls(serverField.value).map(server);
  }
  const { origin } = location;
  const here: Server = { kind: "this-machine", url: `${origin}/local`, host: THIS_MACHINE, token: view.token };
  const behind: Server = { kind: "perftab-view", url: `${origin}/debuginfod`, host: "perftab view", token: view.token };
  return view.debuginfod.length === 0 ? [here] : [here, behind];
});

/** Each server once; what is no address is left out. */
export function readServerUrls(text: string): URL[] {
  const urls = text
    .split(/\s+/)
    .map(readServerUrl)
    .filter((url) => url !== null);
  return urls.filter(({ href }, index) => urls.findIndex((other) => other.href === href) === index);
}

/** The base of a debuginfod as people write it, with or without its scheme; null if it is none. */
export function readServerUrl(text: string): URL | null {
  const trimmed = text.trim();
  if (trimmed === "") {
    return null;
  }
  try {
    const url = new URL(/^https?:\/\//.test(trimmed) ? trimmed : `https://${trimmed}`);
    return url.hostname === "" ? null : url;
  } catch {
    return null;
  }
}

/** Puts a server behind those that are named already. */
export function addServer(url: string): void {
  const urls = readServerUrls(`${serverField.peek()} ${url}`);
  serverField.value = urls.map(({ href }) => href).join(" ");
}

/** Servers that may be asked, because the user pressed the button that said what they see. */
const allowed = signal<ReadonlySet<string>>(new Set());

export function areAllowed(): boolean {
  return servers.value.length > 0 && servers.value.every(isAllowed);
}

/** Asking this machine sends nothing anywhere. */
export function isAllowed({ kind, url }: Server): boolean {
  return kind === "this-machine" || allowed.value.has(url);
}

/** The explicit click: these servers may be asked from now on. */
export function allowServers(): void {
  if (served.value === null) {
    remember("debuginfod", serverField.value);
  }
  allowed.value = new Set([...allowed.value, ...servers.value.map(({ url }) => url)]);
}

/** The servers that are asked as soon as a profile is opened, as they stood in the field when the user ticked that. */
const automatic = signal(recallText("fetch-automatically") ?? "");

const inField = computed(() => servers.value.map(({ url }) => url).join(" "));

/** True where the user has said so of just these servers. */
export const fetchesAutomatically = computed(
  () => served.value === null && inField.value !== "" && automatic.value === inField.value,
);

export function setAutomatic(how: "automatic" | "by click"): void {
  automatic.value = how === "automatic" ? inField.peek() : "";
  remember("fetch-automatically", automatic.value);
}

/** Where servers are asked. */
const NOTHING_ELSE =
  "When you look at code, its source files are asked for by their paths, too. Nothing else from the profile is sent.";

/** Who is asked for `what`, and what they learn of the user. */
export function whoSees(what: string): string {
  const view = served.value;
  if (view !== null) {
    return view.debuginfod.length === 0
      ? `perftab view looks for ${what} on this machine only. Nothing is sent.`
      : `perftab view asks ${view.debuginfod.join(", then ")} for ${what}. ${NOTHING_ELSE}`;
  }
  const hosts = servers.value.map(({ host }) => host);
  if (hosts.length > 1) {
    return `${hosts.join(", then ")} are asked for ${what}. They also see your IP address. ${NOTHING_ELSE}`;
  }
  return `${hosts[0] ?? "Your debuginfod server"} is asked for ${what}. It also sees your IP address. ${NOTHING_ELSE}`;
}

/** "debuginfod.internal" or "2 servers", for a line with little room. */
export const serversInShort = computed(() => {
  const [first, ...more] = servers.value.filter(isAllowed);
  return first === undefined ? "debuginfod" : more.length === 0 ? first.host : `${more.length + 1} servers`;
});
