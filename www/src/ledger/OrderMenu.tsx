// The ledger's order: a field where there is room; in the dock a menu, which also has the debuginfod's address.

import type { JSX } from "preact";
import { Icon } from "../shell/icons.tsx";
import { MenuItem, Popover } from "../shell/Popover.tsx";
import { served } from "../open/served.ts";
import type { LedgerOrder } from "./coverage.ts";
import { asking, unasked } from "./debuginfod.ts";
import { order } from "./state.ts";

const ORDERS: readonly { value: LedgerOrder; label: string }[] = [
  { value: "to-name", label: "Unnamed first" },
  { value: "samples", label: "Most samples first" },
  { value: "name", label: "By name" },
];

export function OrderField(): JSX.Element {
  return (
    <select
      class="select"
      aria-label="Sort DSOs"
      value={order.value}
      onChange={(event) => {
        order.value = event.currentTarget.value as LedgerOrder;
      }}
    >
      {ORDERS.map(({ value, label }) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}

export function OrderMenu(): JSX.Element {
  const present = ORDERS.find(({ value }) => value === order.value)?.label ?? "";
  return (
    <Popover
      label={
        <>
          <span class="order-words">{present}</span> <Icon name="chevron" size={12} />
        </>
      }
      name={`Sort DSOs: ${present}`}
      buttonClass="quiet order-button"
      panelClass="menu"
    >
      {(close) => (
        <>
          {ORDERS.map(({ value, label }) => (
            <MenuItem
              close={close}
              key={value}
              isOn={order.value === value}
              onChoose={() => {
                order.value = value;
              }}
            >
              {label}
            </MenuItem>
          ))}
          {served.value === null && (
            <MenuItem
              close={close}
              onChoose={() => {
                asking.value = unasked.value.map((row) => row.id);
              }}
            >
              debuginfod servers…
            </MenuItem>
          )}
        </>
      )}
    </Popover>
  );
}
