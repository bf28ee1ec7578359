/** What happened, in order, and a way to wait for what has not happened yet. */
export class Recorder<T> {
  readonly all: T[] = [];
  readonly #waiting = new Set<() => void>();

  push(event: T): void {
    this.all.push(event);
    for (const look of [...this.#waiting]) look();
  }

  /** Resolves once `holds` does; looked at after every event. */
  until(holds: (all: readonly T[]) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!holds(this.all)) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** The first event that fits, past or future, at or behind position `from`. */
  async find<S extends T>(fits: (event: T) => event is S, from?: number): Promise<S>;
  async find(fits: (event: T) => boolean, from?: number): Promise<T>;
  async find(fits: (event: T) => boolean, from = 0): Promise<T> {
    await this.until((all) => all.slice(from).some(fits));
    return this.all.slice(from).find(fits) as T;
  }
}
