// The page as a file: this document's own source with the profile put in.
//
// The document is cloned as it stands, what the page drew and unpacked is taken out, and what is left is what was shipped:
// template, code, wasm. The profile goes before the script, where it is met first.

/** `payload` is base64url, so it cannot end the element it stands in. */
export function pageWith(document: Document, payload: string): string {
  const root = document.documentElement.cloneNode(true) as HTMLElement;
  root.querySelector("#app")?.replaceChildren();
  root.querySelector("#profile")?.remove();
  // It is one file from now on: the sample has done its work, and nothing of a host lies beside it.
  root
    .querySelectorAll("style, #sample, link[rel=manifest], link[rel=icon][href='icon.svg']")
    .forEach((element) => element.remove());
  delete root.dataset.theme;
  const title = root.querySelector("title");
  if (title !== null) {
    title.textContent = "perftab";
  }
  // As an element, not as text beside the template's marker: the marker's spelling in this script would keep the
  // script from ending where it should, and would be found in it.
  const profile = document.createElement("script");
  profile.type = "application/octet-stream";
  profile.id = "profile";
  profile.textContent = payload;
  root.querySelector("#app")?.after(profile);
  return `<!doctype html>\n${root.outerHTML}\n`;
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
