/**
 * The order of the commands of one connection. Writes go to the cluster one after the other without
 * waiting for answers, since the session that carries them keeps their order. A read does not, so it
 * begins when the earlier writes of its connection are answered, and a write begins when the earlier
 * reads are. A *look* is a read after which its command may write: looks begin together and decide in
 * their order, and whatever follows them waits until each has decided. A look that had begun before an
 * earlier one decided to write begins again after that write, which it has to see. A *course* is several
 * reads and writes that belong together: nothing else of its keys begins before it has ended.
 *
 * It knows nothing of what a command does, and never lets a later command begin before an earlier one.
 */
export type CommandKind = "write" | "read" | "look" | "course";

/** What a look decides: an answer, or the write that its command makes. */
export type Decision<T> =
  | { readonly answer: T }
  | {
      /** Begins the write; called at once. */
      readonly write: () => Promise<T>;
    };

const FORGOTTEN_AT_ONCE = 256;

/** The names of keys, in whatever form, as long as it is always the same. */
export type KeyNames = readonly string[];

interface Waiting {
  readonly kind: CommandKind;
  readonly keys: KeyNames;
  readonly begin: () => void;
}

interface Look {
  /** How often it has begun. */
  attempt: number;
  /** An earlier look has decided to write since it began. */
  isStale: boolean;
  /** Acts by what was found, and returns whether that is a write; `undefined`: nothing is found yet. */
  decide: (() => boolean) | undefined;
  readonly begin: () => void;
}

export class CommandOrder {
  readonly #running: Record<CommandKind, number> = { write: 0, read: 0, look: 0, course: 0 };
  /** How many commands that run change, or may change, a key. */
  readonly #inUse: Readonly<Record<"write" | "course", Map<string, number>>> = {
    write: new Map(),
    course: new Map(),
  };
  /** In their order; each has begun and not decided. */
  readonly #looks: Look[] = [];
  #waiting: Waiting[] = [];
  /** The ones in `#waiting` that have begun. */
  #begun = 0;

  /** Whether nothing runs or waits. */
  get isIdle(): boolean {
    const { write, read, look, course } = this.#running;
    return write + read + look + course === 0;
  }

  write<T>(keys: KeyNames, task: () => Promise<T>): Promise<T> {
    return this.#beginOrWait("write", keys, task);
  }

  read<T>(task: () => Promise<T>): Promise<T> {
    return this.#beginOrWait("read", [], task);
  }

  course<T>(keys: KeyNames, task: () => Promise<T>): Promise<T> {
    return this.#beginOrWait("course", keys, task);
  }

  /** @param keys what is written, if it writes */
  look<T>(keys: KeyNames, task: () => Promise<Decision<T>>): Promise<T> {
    return new Promise((resolve, reject) => {
      const act = (decision: Decision<T>): boolean => {
        if (!("write" in decision)) {
          resolve(decision.answer);
          return false;
        }
        this.#run("write", keys, decision.write).then(resolve, reject);
        return true;
      };
      const fail = (error: unknown): boolean => {
        reject(error);
        return false;
      };
      const look = this.#lookOf(task, act, fail);
      const begin = (): void => {
        this.#running.look += 1;
        this.#looks.push(look);
        look.begin();
      };
      if (this.#mayBegin("look", [])) begin();
      else this.#waiting.push({ kind: "look", keys: [], begin });
    });
  }

  #lookOf<T>(
    task: () => Promise<Decision<T>>,
    act: (decision: Decision<T>) => boolean,
    fail: (error: unknown) => boolean,
  ): Look {
    const look: Look = {
      attempt: 0,
      isStale: false,
      decide: undefined,
      begin: () => {
        look.attempt += 1;
        look.isStale = false;
        look.decide = undefined;
        const { attempt } = look;
        const onEnd = (decide: () => boolean): void => {
          if (look.attempt !== attempt) return;
          look.decide = decide;
          this.#decideInOrder();
        };
        task().then(
          (decision) => onEnd(() => act(decision)),
          (error: unknown) => onEnd(() => fail(error)),
        );
      },
    };
    return look;
  }

  #decideInOrder(): void {
    for (;;) {
      const [first] = this.#looks;
      if (first?.decide === undefined || first.isStale) break;
      this.#looks.shift();
      this.#running.look -= 1;
      if (first.decide()) for (const later of this.#looks) later.isStale = true;
    }
    this.#beginNext();
  }

  #beginOrWait<T>(
    kind: Exclude<CommandKind, "look">,
    keys: KeyNames,
    task: () => Promise<T>,
  ): Promise<T> {
    if (this.#mayBegin(kind, keys)) return this.#run(kind, keys, task);
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        this.#run(kind, keys, task).then(resolve, reject);
      };
      this.#waiting.push({ kind, keys, begin });
    });
  }

  #run<T>(kind: Exclude<CommandKind, "look">, keys: KeyNames, task: () => Promise<T>): Promise<T> {
    this.#running[kind] += 1;
    this.#use(kind, keys, 1);
    let result: Promise<T>;
    try {
      result = task();
    } catch (error) {
      result = Promise.reject(error);
    }
    const onEnd = (): void => {
      this.#running[kind] -= 1;
      this.#use(kind, keys, -1);
      this.#beginNext();
    };
    result.then(onEnd, onEnd);
    return result;
  }

  #use(kind: Exclude<CommandKind, "look">, keys: KeyNames, more: 1 | -1): void {
    if (kind === "read") return;
    const inUse = this.#inUse[kind];
    for (const key of keys) {
      const count = (inUse.get(key) ?? 0) + more;
      if (count === 0) inUse.delete(key);
      else inUse.set(key, count);
    }
  }

  #mayBegin(kind: CommandKind, keys: KeyNames): boolean {
    return this.#begun === this.#waiting.length && this.#isCompatible(kind, keys);
  }

  #isCompatible(kind: CommandKind, keys: KeyNames): boolean {
    const { write, read, look, course } = this.#running;
    if (kind === "read") return write + look + course === 0;
    if (kind === "look") return write + read + course === 0;
    if (read + look > 0) return false;
    const isInUse = (by: "write" | "course"): boolean =>
      this.#running[by] > 0 && keys.some((key) => this.#inUse[by].has(key));
    return !isInUse("course") && (kind === "write" || !isInUse("write"));
  }

  #beginNext(): void {
    if (this.#isCompatible("look", [])) {
      for (const look of this.#looks) if (look.isStale) look.begin();
    }
    while (this.#begun < this.#waiting.length) {
      const next = this.#waiting[this.#begun] as Waiting;
      if (!this.#isCompatible(next.kind, next.keys)) {
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
