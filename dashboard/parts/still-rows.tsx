/**
 * A list that changes by itself and stands still under the pointer: around a table, it holds the
 * rows where they are while the pointer or the focus is in them. New rows wait above the table, where
 * their number is shown with a button.
 */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
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
      <p class="still" aria-live="off">
        {settled.newCount > 0 && (
          <button type="button" onClick={() => setHeld(false)}>
            Show {settled.newCount} new {settled.newCount === 1 ? noun : `${noun}s`}
          </button>
        )}
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
