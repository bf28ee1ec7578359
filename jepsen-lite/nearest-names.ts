/** What somebody may have meant by a name that does not exist. */

/** ` (did you mean "mutex"?)`, or nothing when no name is near. */
export function nearestNames(wrong: string, known: readonly { readonly name: string }[]): string {
  const near = known
    .map(({ name }) => ({ name, distance: editDistance(wrong.toLowerCase(), name) }))
    .filter(({ name, distance }) => distance <= 2 || (wrong !== "" && name.startsWith(wrong)))
    .sort((one, other) => one.distance - other.distance);
  const [best] = near;
  return best === undefined ? "" : ` (did you mean ${JSON.stringify(best.name)}?)`;
}

/** How many letters to insert, drop, replace or swap with a neighbour. */
function editDistance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const isEqual = one[i - 1] === other[j - 1];
      let best = Math.min(
        at(rows, i - 1, j) + 1,
        (row[j - 1] ?? 0) + 1,
        at(rows, i - 1, j - 1) + (isEqual ? 0 : 1),
      );
      const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (isSwap) best = Math.min(best, at(rows, i - 2, j - 2) + 1);
      row.push(best);
    }
    rows.push(row);
  }
  return at(rows, one.length, other.length);
}

function at(rows: readonly (readonly number[])[], row: number, column: number): number {
  return rows[row]?.[column] ?? 0;
}
