/** What happens in a simulated world and when: a binary heap ordered by (time, number). */
export interface WorldEvent {
  readonly atMs: number;
  readonly number: number;
  readonly run: () => void;
}

export class EventHeap {
  readonly #events: WorldEvent[] = [];

  get size(): number {
    return this.#events.length;
  }

  get first(): WorldEvent | undefined {
    return this.#events[0];
  }

  push(event: WorldEvent): void {
    const events = this.#events;
    let at = events.length;
    events.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = events[parent];
      if (above === undefined || !isEarlier(event, above)) break;
      events[at] = above;
      at = parent;
    }
    events[at] = event;
  }

  pop(): WorldEvent | undefined {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (first === undefined || last === undefined || events.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      let below = events[child];
      if (below === undefined) break;
      const right = events[child + 1];
      if (right !== undefined && isEarlier(right, below)) {
        below = right;
        child += 1;
      }
      if (!isEarlier(below, last)) break;
      events[at] = below;
      at = child;
    }
    events[at] = last;
    return first;
  }
}

function isEarlier(a: WorldEvent, b: WorldEvent): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.number < b.number);
}
