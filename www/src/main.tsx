// The page starts: theme, session, and whatever the address or the document already holds.

import { render } from "preact";
import { followComparison } from "./compare/second.ts";
import { followDrops, followPastes } from "./open/drop.ts";
import { payloadOf } from "./open/failure.ts";
import { keepOffline } from "./open/offline.ts";
import { openPayload, openServed, reopen } from "./open/open.ts";
import { followRecent } from "./open/recent.ts";
import { askServer } from "./open/served.ts";
import { findSample } from "./open/sample.ts";
import { blockBefore } from "./session/data_block.ts";
import { servedToken } from "./session/served_part.ts";
import { startSession } from "./session/start.ts";
import { App } from "./shell/App.tsx";
import { followCommands } from "./shell/all_commands.ts";
import { followKeys } from "./shell/keys.ts";
import { followTitle } from "./shell/TopBar.tsx";
import { followShare } from "./share/links.ts";
import { followPage } from "./share/pages.ts";
import { phase, session } from "./state/app.ts";
import { followEventTasks } from "./state/event_tasks.ts";
import { followHistory } from "./state/history.ts";
import { followDock, followLayout } from "./state/layout.ts";
import { followSearch } from "./state/search.ts";
import { followShown } from "./state/shown.ts";
import { followIdle } from "./views/idle.ts";
import { followTheme } from "./state/theme.ts";
import { readFragment, saysView } from "./state/url.ts";
import { followMarks } from "./timeline/marks.ts";
import { followPlaces } from "./views/places.ts";
import { keepSelection } from "./views/query_steps.ts";

/** What the page opens by itself: a link before the profile that the page carries before what a server offers. */
async function openWhatIsHere(): Promise<void> {
  const address = readFragment(location.hash);
  const embedded = payloadOf(blockBefore("profile") ?? "");
  const state = saysView(address) ? address.state : null;
  if (address.payload !== null || embedded !== null || servedToken() !== null) {
    phase.value = { kind: "arriving" };
  }
  if (address.payload !== null) {
    await openPayload(address.payload, "link", state);
  } else if (embedded !== null) {
    await openPayload(embedded, "page", state);
  } else {
    const here = await askServer();
    const [only, ...others] = here?.profiles ?? [];
    if (only !== undefined && others.length === 0) {
      await openServed(only);
    }
  }
  // It is for a person to choose.
  if (phase.peek().kind === "arriving") {
    phase.value = { kind: "empty", failure: null };
  }
}

/** A link pasted into the address bar of an open page changes only its fragment. */
function followLinks(): void {
  window.addEventListener("hashchange", (event) => {
    const before = readFragment(new URL(event.oldURL).hash).payload;
    // As it was given: what is open may have written its own address over it since.
    const address = readFragment(new URL(event.newURL).hash);
    if (address.payload !== null && address.payload !== before) {
      void openPayload(address.payload, "link", saysView(address) ? address.state : null);
    }
  });
}

function start(): void {
  session.value = startSession((message) => {
    phase.value = { kind: "died", message };
  });
  void openWhatIsHere().then(keepOffline);
  void findSample();
}

const root = document.getElementById("app");
if (root !== null) {
  followTheme();
  followLayout();
  followDock();
  followHistory(keepSelection, reopen);
  followLinks();
  followSearch();
  followShown();
  followEventTasks();
  followIdle();
  followPlaces();
  followMarks();
  followShare();
  followPage();
  followComparison();
  followTitle();
  followCommands();
  followKeys();
  followRecent();
  followDrops();
  followPastes();
  // Tasks of their own, so that none is long. What is asked for first is answered while the page is drawn.
  setTimeout(start, 0);
  setTimeout(() => render(<App />, root), 0);
}
