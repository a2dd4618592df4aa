// What the recording says of itself.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { info, opened } from "../state/app.ts";
import { bytes } from "../state/format.ts";
import { factsOf } from "./about.ts";
import { Copy } from "./Copy.tsx";
import { Dialog } from "./Dialog.tsx";

export const aboutOpen = signal(false);

export function AboutDialog(): JSX.Element | null {
  const profile = info.value;
  const file = opened.value;
  if (!aboutOpen.value || profile === null || file === null) {
    return null;
  }
  const size = file.bytes === null ? [] : [{ name: "Size", value: bytes(file.bytes) }];
  const facts = [{ name: "Name", value: file.name }, ...size, ...factsOf(profile)];
  const text = facts.map(({ name, value }) => `${name}\t${value}`).join("\n");
  return (
    <Dialog
      title="About this profile"
      kind="about"
      head={<Copy text={text} label="Copy as text" />}
      onClose={() => {
        aboutOpen.value = false;
      }}
    >
      <dl class="about-facts" tabIndex={0} aria-label="Facts">
        {facts.map(({ name, value }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
