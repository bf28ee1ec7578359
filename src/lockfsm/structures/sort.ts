/**
 * A sort that can be paused. It moves numbers instead of the items they belong to, and a bounded
 * count of them between two pauses. Input that is already in order is only read.
 */

/** The engine sorts this many items within a millisecond. */
const SMALL_ITEMS = 2_048;
/** The most comparisons or moves between two pauses. */
const MOVES_MAX = 65_536;

/**
 * `items` by rising number; numbers must not be above 2^53. The result may be `items` itself,
 * sorted.
 */
export function* sortByNumber<T>(
  items: T[],
  numberOf: (item: T) => number,
): Generator<void, T[], void> {
  if (items.length <= SMALL_ITEMS) {
    if (isAscending(items, numberOf)) return items;
    return items.sort((left, right) => numberOf(left) - numberOf(right));
  }
  const numbers = new Float64Array(items.length);
  const order = new Uint32Array(items.length);
  let isSorted = true;
  for (let at = 0; at < items.length; at += 1) {
    const number = numberOf(items[at] as T);
    numbers[at] = number;
    order[at] = at;
    if (at > 0 && (numbers[at - 1] as number) > number) isSorted = false;
    if (at % MOVES_MAX === MOVES_MAX - 1) yield;
  }
  if (isSorted) return items;
  const sorted: T[] = [];
  for (const at of yield* inOrder(numbers, order)) {
    sorted.push(items[at] as T);
    if (sorted.length % MOVES_MAX === 0) yield;
  }
  return sorted;
}

function isAscending<T>(items: readonly T[], numberOf: (item: T) => number): boolean {
  for (let at = 1; at < items.length; at += 1) {
    if (numberOf(items[at - 1] as T) > numberOf(items[at] as T)) return false;
  }
  return true;
}

/**
 * Indexes of `numbers` by rising number, by merging runs of 1, 2, 4, … of them. Overwrites
 * `indexes`.
 */
function* inOrder(numbers: Float64Array, indexes: Uint32Array): Generator<void, Uint32Array, void> {
  const { length } = numbers;
  let source: Uint32Array = indexes;
  let target: Uint32Array = new Uint32Array(length);
  let moves = 0;
  for (let width = 1; width < length; width *= 2) {
    for (let from = 0; from < length; from += 2 * width) {
      const middle = Math.min(length, from + width);
      const end = Math.min(length, from + 2 * width);
      let [left, right] = [from, middle];
      for (let at = from; at < end; at += 1) {
        const isLeft =
          right === end ||
          (left < middle &&
            (numbers[source[left] as number] as number) <=
              (numbers[source[right] as number] as number));
        target[at] = source[isLeft ? left : right] as number;
        if (isLeft) left += 1;
        else right += 1;
        moves += 1;
        if (moves % MOVES_MAX === 0) yield;
      }
    }
    [source, target] = [target, source];
  }
  return source;
}
