// The views over a fake session, for a look at them without a worker. Options are in the query:
// ?nodes=4000&samples=100000&view=flame&search=deflate&theme=dark&page (with the shell around it)&dense (a full graph)&plain (boxes of one colour, no labels)

import { render } from "preact";
import { dsos, info, phase, search, session, view } from "../../src/state/app.ts";
import type { DsoRow, ProfileInfo } from "../../src/session/types.ts";
import { followEventTasks } from "../../src/state/event_tasks.ts";
import { followHistory } from "../../src/state/history.ts";
import { followMarks } from "../../src/timeline/marks.ts";
import type { Theme } from "../../src/state/theme.ts";
import { followTheme, theme } from "../../src/state/theme.ts";
import { Profile } from "../../src/shell/Profile.tsx";
import { CallTreeView } from "../../src/views/call_tree_view.tsx";
import { FlameGraphView } from "../../src/views/flame_graph_view.tsx";
import { FunctionsView } from "../../src/views/functions_view.tsx";
import { ViewOptions } from "../../src/views/view_options.tsx";
import { DSOS, FakeSession } from "./fake_session.ts";

const options = new URLSearchParams(location.search);
const fake = new FakeSession(
  Number(options.get("nodes") ?? 4000),
  Number(options.get("samples") ?? 100_000),
  options.has("dense") ? "dense" : options.has("plain") ? "plain" : "of-the-tree",
);
fake.threads = Number(options.get("threads") ?? 0);
Object.assign(globalThis, { harness: { graph: () => fake.graph } });
theme.value = (options.get("theme") ?? "system") as Theme;
followTheme();
followHistory();
view.value = (options.get("view") ?? "flame") as typeof view.value;
search.value = options.get("search") ?? "";
// What the views and the shell read of it.
const profile: Partial<ProfileInfo> = {
  host: { hostname: "web-07", distribution: null, debuginfod: null, os_release: null, arch: "x86_64", cpus: 16, cmdline: [] },
  events: [
    {
      name: "cycles",
      samples: fake.samples,
      weight: fake.samples * 250_000,
      unit: "cycles",
      counted: "cycles",
      part_of: null,
      call_chains: true,
    },
  ],
  derived_events: [],
  samples: fake.samples,
  time: { start: 0, end: 60e9 - 1, wall_start: null },
  lost: { events: 0, samples: 0 },
  warnings: [],
  fidelity: null,
};
info.value = profile as ProfileInfo;
session.value = fake;
dsos.value = DSOS.map((name, id) => {
  const row: Partial<DsoRow> = {
    id,
    name,
    path: `/usr/lib/${name}`,
    status: name === "libcrypto.so.3" ? "missing" : "matched",
    kind: "user",
    samples: 1000 - id,
    leaf_samples: 1000 - id,
    sampled: true,
    unnamed_leaf_samples: 0,
    build_id: null,
    identity: "none",
  };
  return row as DsoRow;
});
phase.value = { kind: "open" };
followEventTasks();
followMarks();

function Harness(): preact.JSX.Element {
  return (
    <div class="harness">
      <div class="harness-tabs">
        <ViewOptions />
      </div>
      <main>{view.value === "flame" ? <FlameGraphView /> : view.value === "tree" ? <CallTreeView /> : <FunctionsView />}</main>
    </div>
  );
}

const app = document.getElementById("app");
if (app) {
  render(options.has("page") ? <Profile /> : <Harness />, app);
}
