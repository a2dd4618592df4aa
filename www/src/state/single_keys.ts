// Whether keys without Ctrl do anything outside text fields (WCAG 2.1.4).

import { signal } from "@preact/signals";
import { recall, remember } from "./storage.ts";

export const singleKeys = signal<"on" | "off">(recall("singleKeys", ["on", "off"], "on"));

singleKeys.subscribe((chosen) => remember("singleKeys", chosen));
