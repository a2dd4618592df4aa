// What the page makes of recordings and files: hosts.mjs FILE, which holds cases as JSON, prints an answer for each.
// `tests/tests/real/build_ids/hosts.rs` asks, and holds the command line against it.
import { readFileSync } from "node:fs";
import { ask, force, functionsOf, nameFrames, offer, open, openLink } from "./session.mjs";

/** Rows of the functions table: name or address, file name of the DSO, weights. */
function functions(session) {
  const query = { event: 0, direction: "callees", group: "none", inlines: "shown" };
  const rows = functionsOf(session, query);
  return rows.names.map((name, i) => [name, rows.dsos[i], rows.self[i], rows.total[i]]);
}

function answer({ recording, carrier, files, forced, late }) {
  const session = carrier === "link" ? openLink(readFileSync(recording, "utf8")) : open(recording);
  // As the page does with what `perftab view` says of its machine.
  session.vouch(late.same);
  session.distrust(late.replaced);
  for (const file of files) {
    offer(session, file, file);
  }
  for (const { path, file } of forced) {
    const { id } = ask(session, "dsos").find((row) => row.path === path);
    force(session, id, file, file);
  }
  nameFrames(session);
  const answer = { dsos: ask(session, "info").dsos, functions: functions(session) };
  session.free();
  return answer;
}

const cases = JSON.parse(readFileSync(process.argv[2], "utf8"));
process.stdout.write(JSON.stringify(cases.map(answer)));
