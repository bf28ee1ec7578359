/**
 * Chains through the records themselves: a record carries its neighbours, so joining and leaving
 * costs the same whatever the length, and no list allocates anything. The owner keeps the ends; it
 * must mend them before `unlink`, and a record must never stand in two chains over the same links.
 */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

/** Takes `record` out from between its neighbours. */
export function unlink<T extends Linked<T>>(record: T): void {
  const { previous, next } = record;
  if (previous !== undefined) previous.next = next;
  if (next !== undefined) next.previous = previous;
  record.previous = undefined;
  record.next = undefined;
}
