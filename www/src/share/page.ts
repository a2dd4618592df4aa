// The page as a file: this document's own source with the profile put in.
//
// The document is cloned as it stands, what the page drew is taken out, and what is left is what was shipped: template,
// style, worker, wasm, script, and the marker where a profile goes.

/** Where the template lets a profile be put; the profile follows it, so that a saved page can be saved again. */
const MARKER = "<!--perftab:profile-->";

/** `payload` is base64url, so it cannot end the element it stands in. */
export function pageWith(document: Document, payload: string): string {
  const root = document.documentElement.cloneNode(true) as HTMLElement;
  root.querySelector("#app")?.replaceChildren();
  root.querySelector("#profile")?.remove();
  delete root.dataset["theme"];
  const title = root.querySelector("title");
  if (title !== null) {
    title.textContent = "perftab";
  }
  const profile = `<script type="application/octet-stream" id="profile">${payload}</script>`;
  const html = `<!doctype html>\n${root.outerHTML}\n`;
  if (html.includes(MARKER)) {
    return html.replace(MARKER, () => `${MARKER}${profile}`);
  }
  // A page that `perftab export` wrote: the profile stands in the marker's place.
  return html.replace("</body>", () => `${profile}</body>`);
}

/** Hands a file to the user. */
export function saveFile(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  // The download has taken its own reference by the next task.
  setTimeout(() => URL.revokeObjectURL(address), 0);
}

/** "web-07.perf.data" gives "web-07.perf.html". */
export function fileNameFor(profile: string, ending: string): string {
  return `${profile.replace(/\.data$/, "").replace(/[^\w.-]+/g, "-")}.${ending}`;
}
