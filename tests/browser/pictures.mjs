// Pictures of the page for people to look at; tests compare them with nothing. They are taken where PERFTAB_PICTURES says so:
// 1, or the folder to keep them in. Elsewhere no window is resized for them, and nothing waits for them.
import { mkdirSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

const wanted = process.env.PERFTAB_PICTURES ?? "";
const folder = isAbsolute(wanted) ? wanted : fileURLToPath(new URL("../../target/screenshots/", import.meta.url));

/** The width of a phone's window. */
export const PHONE = 420;
const SIZES = [
  [1440, 900],
  [1280, 800],
  [PHONE, 900],
];

/** For tests that are of a phone alone. */
export const ON_PHONE = { sizes: [[PHONE, 900]] };

/** Where a picture is kept. */
export function pictureOf(name) {
  mkdirSync(folder, { recursive: true });
  return join(folder, `${name}.png`);
}

/** Keeps a picture of the page, in the window's size and theme; `arrange` is done before it. */
export async function keepPicture(page, name, arrange) {
  if (wanted === "") return;
  await arrange?.();
  await page.screenshot({ path: pictureOf(name) });
}

/**
 * Pictures of a page in light and dark at each of these sizes. `arrange` is done before each, `restore` after it.
 * Window and theme are afterwards as they were.
 */
export async function picturesOf(page, name, { sizes = SIZES, arrange, restore } = {}) {
  if (wanted === "") return;
  const before = page.viewportSize();
  const colorScheme = await page.evaluate(() => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  for (const [width, height] of sizes) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await arrange?.(width);
      await page.screenshot({ path: pictureOf(`${name}-${width}-${colorScheme}`) });
      await restore?.(width);
    }
  }
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize(before);
}
