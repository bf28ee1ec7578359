/** Finds the known name that was probably meant. Pure. */

/** The nearest of `names`, if it is near enough to be a misspelling. */
export function similarName(word: string, names: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const distance = editDistance(word.toLowerCase(), name.toLowerCase());
    if (distance > slipsIn(name) || distance >= fewest) continue;
    nearest = name;
    fewest = distance;
  }
  return nearest;
}

/** Short words are near to many others. */
function slipsIn(name: string): number {
  if (name.length <= 5) return 1;
  return name.length <= 9 ? 2 : 3;
}

/** Insertions, deletions, replacements and swaps of neighbours. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      let least = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && isSwap) {
        least = Math.min(least, (beforeLast[column - 2] ?? 0) + 1);
      }
      current.push(least);
    }
    [beforeLast, last] = [last, current];
  }
  return last[to.length] ?? 0;
}
