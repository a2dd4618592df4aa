// The one Tab stop of each view: the flame graph's tree for the keyboard, or a table.

/** Gives the focus to the view that is shown, so that its keys act; does nothing where none is. */
export function focusView(): void {
  document.querySelector<HTMLElement>("#view :is([role=tree], [role=grid], [role=treegrid])")?.focus();
}

export function viewHasFocus(): boolean {
  return document.getElementById("view")?.contains(document.activeElement) ?? false;
}
