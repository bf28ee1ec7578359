/**
 * What a record contains: a hash, or a text that a script sets next to one. Records belong to the door, and
 * are nobody's value. A character stands for each byte.
 */
export type RecordContent =
  | { readonly kind: "hash"; readonly fields: ReadonlyMap<string, string> }
  | { readonly kind: "note"; readonly value: string };
