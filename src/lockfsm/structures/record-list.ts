/**
 * Chains through the records themselves: a record has links to its neighbours, so adding and
 * removing cost the same at any length, and no list allocates anything. A record must never be in
 * two chains over the same links.
 */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

/**
 * Removes `record` from between its neighbours. A caller that keeps the ends must have updated
 * them.
 */
export function unlink<T extends Linked<T>>(record: T): void {
  const { previous, next } = record;
  if (previous !== undefined) previous.next = next;
  if (next !== undefined) next.previous = previous;
  record.previous = undefined;
  record.next = undefined;
}

interface Listed<T> extends Linked<T> {
  /**
   * Called before a record is removed, because a snapshot that is being written may not have it
   * yet.
   */
  change(): unknown;
}

/** Records in order of arrival. A snapshot can walk through them while others come and go. */
export class RecordList<T extends Listed<T>> {
  #first: T | undefined = undefined;
  #last: T | undefined = undefined;
  #size = 0;
  /** Where the walk continues. */
  #cursor: T | undefined = undefined;

  get size(): number {
    return this.#size;
  }

  add(record: T): void {
    record.previous = this.#last;
    if (this.#last === undefined) this.#first = record;
    else this.#last.next = record;
    this.#last = record;
    this.#size += 1;
  }

  remove(record: T): void {
    record.change();
    if (this.#cursor === record) this.#cursor = record.next;
    if (this.#first === record) this.#first = record.next;
    if (this.#last === record) this.#last = record.previous;
    unlink(record);
    this.#size -= 1;
  }

  forEach(visit: (record: T) => void): void {
    for (let record = this.#first; record !== undefined; record = record.next) visit(record);
  }

  /**
   * Yields every record that stays, and perhaps some that come or go meanwhile. One walk at a time.
   */
  *walk(): Generator<T, void, void> {
    this.#cursor = this.#first;
    for (let record = this.#cursor; record !== undefined; record = this.#cursor) {
      this.#cursor = record.next;
      yield record;
    }
  }
}
