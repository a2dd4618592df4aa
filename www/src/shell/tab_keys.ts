// Left and Right move among the tabs of a list, and show what they stop at.

export function tabKeys(event: KeyboardEvent): void {
  const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  const tabs = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")];
  const at = tabs.findIndex((tab) => tab.ariaSelected === "true");
  const next = tabs.at((at + by) % tabs.length);
  if (by !== 0 && next !== undefined) {
    event.preventDefault();
    next.focus();
    next.click();
  }
}
