// Scenes: tests of the page, each with a tier and a time limit of its own. One that fails leaves a picture of every tab that
// is open, and closes those that it opened.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { endVisits, tabs } from "./chromium.mjs";
import { limited, limits, tier } from "./limits.mjs";
import { pictureOf } from "./pictures.mjs";

/** For what comes after a limit: pictures of a page that may hang. */
const GRACE = limits.preparation;

/** Whether this process runs any scene. */
let isWanted = false;

/** The scenes of the files that this process has imported. */
export const scenes = [];

/** `PERFTAB_SCENES=list`: scenes are named in `scenes`, and none is run. */
const isListing = process.env.PERFTAB_SCENES === "list";

/** What is printed where a scene is left out; `cargo xtask test` counts these. */
const LEFT = "left to --all";

/**
 * A test. Those of tier "all" are skipped in the fast tier. `limit` is in milliseconds, and longer than that of all others
 * only where the scene says why.
 */
export function scene(name, body, { tier: of = "fast", limit = limits.scene } = {}) {
  scenes.push({ name, tier: of });
  if (isListing) return;
  if (of === "all" && tier !== "all") return test(name, { skip: LEFT });
  isWanted = true;
  return test(name, { timeout: limit + GRACE }, async (t) => {
    const others = new Set(tabs);
    try {
      await limited(name, limit, async () => body(t));
    } catch (error) {
      await pictureAll(name, others);
      throw error;
    }
  });
}

async function pictureAll(name, others) {
  const words = name.replaceAll(/[^\w.]+/g, "-").slice(0, 60);
  for (const [number, tab] of [...tabs].entries()) {
    // A page that hangs has none to give; the scene's own failure counts.
    await tab.page.screenshot({ path: pictureOf(`failed-${words}-${number}`), timeout: 10_000 }).catch(() => {});
    if (!others.has(tab)) await tab.close().catch(() => {});
  }
}

/** Done before the first scene of a file or of a suite, where one of the file's runs at all. */
export function beforeScenes(body, { limit = limits.preparation } = {}) {
  if (isListing) return;
  before(
    async () => {
      // Node begins at once, before the scenes below have been seen.
      await new Promise(setImmediate);
      if (isWanted) await limited("What is done before the scenes", limit, async () => body());
    },
    { timeout: limit + GRACE },
  );
}

/** Done after the last scene of a file or of a suite. */
export function afterScenes(body) {
  if (!isListing)
    after(() => limited("What is done after the scenes", limits.preparation, async () => body()), {
      timeout: limits.preparation + GRACE,
    });
}

afterScenes(endVisits);

/** Makes something when it is first asked for, and hands out the same from then on. `isMade` tells whether it was. */
export function lazily(make) {
  let made = null;
  const get = () => {
    made ??= { value: make() };
    return made.value;
  };
  return Object.assign(get, { isMade: () => made !== null });
}

/**
 * Asserts what will be: asks again until `check` passes, and fails as it did last where that takes too long. For numbers and
 * words that follow from an answer that is still under way.
 */
export async function eventually(check) {
  for (const giveUp = performance.now() + limits.wait; ; await tick()) {
    try {
      return await check();
    } catch (error) {
      if (!(error instanceof assert.AssertionError) || performance.now() > giveUp) throw error;
    }
  }
}

const tick = () => new Promise((done) => setTimeout(done, 50));
