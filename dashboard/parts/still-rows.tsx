/**
 * A list that changes by itself and stands still under the pointer: around a table, it holds the
 * rows where they are while the pointer or the focus is in them. A line above the table says how many
 * new ones wait.
 */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { countText } from "../../src/views/index.js";
import { type Settled, settle } from "./settle.js";

export interface StillRowsProps<Row> {
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
  /** Another text is another list: nothing of the old one is held. */
  readonly list: string;
  /** "lock", "session". */
  readonly noun: string;
  readonly children: (settled: Settled<Row>) => ComponentChildren;
}

export function StillRows<Row>({ rows, keyOf, list, noun, children }: StillRowsProps<Row>) {
  const [isHeld, setHeld] = useState(false);
  const shown = useRef<{ list: string; rows: readonly Row[] }>({ list, rows });
  const isSame = shown.current.list === list;
  const settled = settle(isSame ? shown.current.rows : [], rows, keyOf, isHeld);
  shown.current = { list, rows: settled.rows };
  return (
    <>
      <p class="still hint" aria-live="off">
        {settled.newCount > 0 &&
          `${countText(settled.newCount, `new ${noun}`)}, shown when you leave the table`}
      </p>
      <div
        onPointerEnter={() => setHeld(true)}
        onPointerLeave={() => setHeld(false)}
        onFocusIn={() => setHeld(true)}
        onFocusOut={({ currentTarget, relatedTarget }) => {
          if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) {
            setHeld(false);
          }
        }}
      >
        {children(settled)}
      </div>
    </>
  );
}
