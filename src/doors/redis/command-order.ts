/**
 * The order of the commands of one connection. Writes go to the cluster one after the other without
 * waiting for answers, since the session that carries them keeps their order. A read does not, so it
 * begins when the earlier writes of its connection are answered, and a write begins when the earlier
 * reads are. A *look* is a read after which its command may write: looks begin together, and whatever
 * follows them waits until each has decided.
 *
 * It knows nothing of what a command does, and never lets a later command begin before an earlier one.
 */
export type CommandKind = "write" | "read" | "look";

/** What a look decides: an answer, or the write that its command makes. */
export type Decision<T> =
  | { readonly answer: T }
  | {
      /** Begins the write; called at once. */
      readonly write: () => Promise<T>;
    };

const FORGOTTEN_AT_ONCE = 256;

interface Waiting {
  readonly kind: CommandKind;
  readonly begin: () => void;
}

export class CommandOrder {
  readonly #running: Record<CommandKind, number> = { write: 0, read: 0, look: 0 };
  #waiting: Waiting[] = [];
  /** Of `#waiting`, those that have begun. */
  #begun = 0;

  /** Whether nothing runs or waits. */
  get isIdle(): boolean {
    const { write, read, look } = this.#running;
    return write + read + look === 0;
  }

  write<T>(task: () => Promise<T>): Promise<T> {
    return this.#mayBegin("write") ? this.#run("write", task) : this.#later("write", task);
  }

  read<T>(task: () => Promise<T>): Promise<T> {
    return this.#mayBegin("read") ? this.#run("read", task) : this.#later("read", task);
  }

  look<T>(task: () => Promise<Decision<T>>): Promise<T> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        this.#running.look += 1;
        task().then(
          (decision) => {
            this.#running.look -= 1;
            if ("write" in decision) {
              this.#run("write", decision.write).then(resolve, reject);
            } else {
              resolve(decision.answer);
            }
            this.#beginNext();
          },
          (error: unknown) => {
            this.#running.look -= 1;
            reject(error);
            this.#beginNext();
          },
        );
      };
      if (this.#mayBegin("look")) begin();
      else this.#waiting.push({ kind: "look", begin });
    });
  }

  #later<T>(kind: CommandKind, task: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        this.#run(kind, task).then(resolve, reject);
      };
      this.#waiting.push({ kind, begin });
    });
  }

  #run<T>(kind: CommandKind, task: () => Promise<T>): Promise<T> {
    this.#running[kind] += 1;
    let result: Promise<T>;
    try {
      result = task();
    } catch (error) {
      result = Promise.reject(error);
    }
    const onEnd = (): void => {
      this.#running[kind] -= 1;
      this.#beginNext();
    };
    result.then(onEnd, onEnd);
    return result;
  }

  #mayBegin(kind: CommandKind): boolean {
    return this.#begun === this.#waiting.length && this.#isCompatible(kind);
  }

  #isCompatible(kind: CommandKind): boolean {
    const { write, read, look } = this.#running;
    if (kind === "write") return read + look === 0;
    if (kind === "read") return write + look === 0;
    return write + read === 0;
  }

  #beginNext(): void {
    while (this.#begun < this.#waiting.length) {
      const next = this.#waiting[this.#begun] as Waiting;
      if (!this.#isCompatible(next.kind)) {
        this.#forgetBegun();
        return;
      }
      this.#begun += 1;
      next.begin();
    }
    this.#waiting = [];
    this.#begun = 0;
  }

  /** The line is rarely empty while there is much to do. */
  #forgetBegun(): void {
    if (this.#begun < FORGOTTEN_AT_ONCE) return;
    this.#waiting.splice(0, this.#begun);
    this.#begun = 0;
  }
}
