/**
 * Keeps rows where they are while somebody points at them or has the focus in them: what is under
 * the pointer must not become another row between looking and clicking. Pure.
 */

export interface Settled<Row> {
  readonly rows: readonly Row[];
  /** Keys of shown rows that are no longer there. */
  readonly gone: ReadonlySet<string | number>;
  /** Rows that are there and not shown yet. */
  readonly newCount: number;
}

/**
 * The rows to show. While `isHeld`, exactly those that were shown before, in that order, each with
 * what is known of it now; otherwise `present`.
 */
export function settle<Row>(
  shown: readonly Row[],
  present: readonly Row[],
  keyOf: (row: Row) => string | number,
  isHeld: boolean,
): Settled<Row> {
  if (!isHeld || shown.length === 0) return { rows: present, gone: new Set(), newCount: 0 };
  const byKey = new Map(present.map((row) => [keyOf(row), row]));
  const gone = new Set<string | number>();
  const rows = shown.map((row) => {
    const key = keyOf(row);
    const now = byKey.get(key);
    if (now === undefined) gone.add(key);
    return now ?? row;
  });
  const known = new Set(shown.map(keyOf));
  const newCount = present.reduce((count, row) => (known.has(keyOf(row)) ? count : count + 1), 0);
  return { rows, gone, newCount };
}
