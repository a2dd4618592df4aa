// The one Tab stop of each view: the flame graph's tree for the keyboard, or a table.

/** Gives the focus to the view that is shown, so that its keys act; does nothing where none is. */
export function focusView(): void {
  document.querySelector<HTMLElement>("#view :is([role=tree], [role=grid], [role=treegrid])")?.focus({ preventScroll: true });
}

let isWanted = false;

/** The view that is shown next takes the focus, wherever that is: a key has named it. */
export function wantFocus(): void {
  isWanted = true;
}

/** Whether that was so, once. */
export function wasWanted(): boolean {
  const was = isWanted;
  isWanted = false;
  return was;
}

/**
 * Gives the focus to the view of a profile that has just opened, unless somebody is elsewhere already. The graph shows
 * that it has it once a key is used.
 */
export function focusFirstView(): void {
  if (document.activeElement !== null && document.activeElement !== document.body) {
    return;
  }
  focusView();
  const focused = document.activeElement;
  if (focused instanceof HTMLElement && focused.role === "tree") {
    focused.dataset.pointed = "";
  }
}

export function viewHasFocus(): boolean {
  return document.getElementById("view")?.contains(document.activeElement) ?? false;
}
