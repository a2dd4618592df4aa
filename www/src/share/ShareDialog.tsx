// Showing the profile to someone: a link, a page, a text file.

import type { JSX } from "preact";
import { Dialog } from "../shell/Dialog.tsx";
import { Segmented } from "../shell/Segmented.tsx";
import { ExportTab } from "./ExportTab.tsx";
import { LinkTab } from "./LinkTab.tsx";
import { PageTab } from "./PageTab.tsx";
import { shareOpen, shareTab } from "./links.ts";

export function ShareDialog(): JSX.Element | null {
  if (!shareOpen.value) {
    return null;
  }
  const tabs = (
    <Segmented
      label="How to share"
      choice={shareTab}
      choices={[
        ["link", "Link"],
        ["page", "Page"],
        ["export", "Export"],
      ]}
    />
  );
  return (
    <Dialog
      title="Share this profile"
      kind="share"
      head={tabs}
      onClose={() => {
        shareOpen.value = false;
      }}
    >
      {shareTab.value === "link" ? <LinkTab /> : shareTab.value === "page" ? <PageTab /> : <ExportTab />}
    </Dialog>
  );
}
