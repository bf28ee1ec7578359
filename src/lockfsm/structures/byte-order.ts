/**
 * The order of keys: the order of their UTF-8 bytes, which equals the order of code points.
 * JavaScript compares UTF-16 units, which puts surrogate pairs before U+E000 … U+FFFF; this file
 * does not. It encodes nothing.
 */

/** A comparator: negative, zero or positive. Strings must be well formed. */
export function compareByteOrder(left: string, right: string): number {
  const length = left.length < right.length ? left.length : right.length;
  for (let at = 0; at < length; at += 1) {
    const a = left.charCodeAt(at);
    const b = right.charCodeAt(at);
    if (a !== b) return rankOf(a) - rankOf(b);
  }
  return left.length - right.length;
}

/** Moves surrogates after the rest of the basic plane, where their code points belong. */
function rankOf(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
