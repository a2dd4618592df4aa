// A line of a list of facts: what it is called, and what it is.

import type { JSX } from "preact";

export function Fact({ label, children }: { label: string; children: JSX.Element | string }): JSX.Element {
  return (
    <>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </>
  );
}
