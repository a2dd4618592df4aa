// Focus that a pointer brought shows no ring until a key is pressed.

/** Gives the focus to an element because the pointer is on it. */
export function focusByPointer(element: HTMLElement | null): void {
  if (element !== null && document.activeElement !== element) {
    element.dataset.pointed = "";
    element.focus({ preventScroll: true });
  }
}

const forget = (event: { currentTarget: HTMLElement }): void => {
  delete event.currentTarget.dataset.pointed;
};

/** What such an element listens for. */
export const showsFocus = { onKeyDown: forget, onBlur: forget };
