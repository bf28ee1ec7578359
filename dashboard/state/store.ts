/**
 * A value that parts of the page share, and a hook that draws again when it changes. Knows nothing
 * of what it holds.
 */
import { useEffect, useState } from "preact/hooks";

export class Store<Value> {
  #value: Value;
  readonly #listeners = new Set<() => void>();

  constructor(value: Value) {
    this.#value = value;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Returns a function that ends it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** The value, now and after each change. */
export function useStore<Value>(store: Store<Value>): Value {
  const [, draw] = useState({});
  const drawn = store.value;
  useEffect(() => {
    const end = store.subscribe(() => draw({}));
    // Effects run after the frame: it may have changed since it was drawn.
    if (!Object.is(drawn, store.value)) draw({});
    return end;
  }, [store]);
  return drawn;
}
