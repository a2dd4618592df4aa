// How much is tested, and how long anything may take.
import { getPriority } from "node:os";

/**
 * "fast" is what people run before each commit; "all" is everything. What is slow, and not alone in showing its point of
 * docs/viewer.md, is left to "all".
 */
export const tier = process.env.PERFTAB_TIER === "all" ? "all" : "fast";

/**
 * Limits tell what hangs from what is slow: machines that run tests are busy. Whoever runs them niced lets others go first,
 * so that everything may take ten times as long; `cargo xtask test` gives up after fifteen minutes without a word.
 */
const patience = getPriority() > 0 ? 10 : 1;
const most = (seconds) => Math.min(seconds * patience, 600) * 1000;

export const limits = {
  /** Something on the page. */
  wait: most(30),
  scene: most(60),
  /** What is compiled, recorded and served before the first scene of a file. */
  preparation: most(120),
  /** A program that is run to its end. */
  program: most(120),
};

/**
 * No task of the page is to take more than 50 ms, which `cargo xtask bench viewer` measures. Processors differ, and a scene
 * cannot know how fast its own is: it tells what is done in slices from what is not, and leaves the rest to the bench.
 */
export const MOST_MS_OF_A_TASK = 100;

/** A scene's limit where it is another one; each says why. */
export const seconds = (number) => most(number);

/** What `work` answers, or a failure that names what did not end in time. */
export async function limited(what, limit, work) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`${what} did not end within ${limit / 1000} s`)), limit);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}
