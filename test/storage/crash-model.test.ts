/**
 * Random writes, crashes that keep any subset of what was not synced, processes that die while the
 * machine lives on, and openings in between, against the plainest model: the list of what was
 * handed over. Everything reported as durable must be there, and nothing that was never written.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Entry, HardState, Write } from "../../src/raft/index.js";
import { MemoryFileSystem, MemoryStoreDisk } from "../../src/storage/index.js";
import { entryOf, equalEntries, HandTimer, memoryDisk, OpenLog } from "./log-harness.js";

interface State {
  readonly seq: number;
  readonly entries: readonly Entry[];
  readonly hardState: HardState;
}

type Step =
  | { readonly type: "append"; readonly sizes: readonly number[]; readonly newTerm: boolean }
  | { readonly type: "truncate"; readonly share: number; readonly size: number }
  | { readonly type: "vote" }
  | { readonly type: "settle" }
  | { readonly type: "rest" }
  | { readonly type: "crash"; readonly seed: number; readonly power: boolean };

const sizes = fc.array(fc.oneof(fc.nat(60), fc.nat(1500), fc.constant(20_000)), {
  minLength: 1,
  maxLength: 4,
});
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ type: fc.constant("append"), sizes, newTerm: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("truncate"),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      size: fc.nat(300),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("vote") }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("settle") }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("rest") }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("crash"),
      seed: fc.integer({ min: 1, max: 2 ** 31 - 2 }),
      power: fc.boolean(),
    }),
  },
);

/** Park and Miller's generator, for the choices of a crash. */
function randomOf(seed: number): () => number {
  let state = seed;
  const next = (): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  // Small seeds begin with small numbers.
  for (let warmUp = 0; warmUp < 4; warmUp += 1) next();
  return next;
}

/** Operations that take effect in the cache wait here until they are let through, or for ever. */
class Gate {
  #waiting: (() => void)[] = [];
  isOpen = true;

  readonly intercept = (): Promise<void> | undefined => {
    if (this.isOpen) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  };

  /** Whoever waits, waits for ever. */
  abandon(): void {
    this.isOpen = true;
    this.#waiting = [];
  }

  open(): void {
    this.isOpen = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

class Machine {
  #gate = new Gate();
  #files = new MemoryFileSystem(undefined, { intercept: this.#gate.intercept });
  readonly #store = new MemoryStoreDisk();
  #timer = new HandTimer();
  #log: OpenLog | undefined;
  /** Every state the log may be in, by sequence; later ones of an older life are dropped. */
  #states: State[] = [{ seq: 0, entries: [], hardState: { term: 0, vote: 0 } }];
  #reported = 0;

  get #last(): State {
    const last = this.#states.at(-1);
    if (last === undefined) throw new Error("no state");
    return last;
  }

  async boot(): Promise<void> {
    this.#timer = new HandTimer();
    const disk = memoryDisk(this.#files, this.#store);
    const log = await OpenLog.open(disk, { timer: this.#timer.timer });
    const { entries, hardState, lastSeq } = log.boot;
    expect(lastSeq).toBeGreaterThanOrEqual(this.#reported);
    const at = this.#states.findIndex(({ seq }) => seq === lastSeq);
    expect(at).toBeGreaterThanOrEqual(0);
    expect(equalEntries(entries, this.#states[at]?.entries ?? [])).toBe(true);
    expect(hardState).toEqual(this.#states[at]?.hardState);
    // What an opening has shown must be there for ever after: the core counts it as durable.
    this.#states.length = at + 1;
    this.#reported = lastSeq;
    this.#log = log;
    this.#gate.isOpen = false;
  }

  async run(step: Step): Promise<void> {
    const log = this.#log;
    if (log === undefined) throw new Error("not running");
    switch (step.type) {
      case "append": {
        const { entries, hardState } = this.#last;
        const term = hardState.term + (step.newTerm || hardState.term === 0 ? 1 : 0);
        const added = step.sizes.map((bytes, at) => entryOf(entries.length + 1 + at, term, bytes));
        this.#write({ hardState: { term, vote: 1 }, truncateFrom: undefined, entries: added });
        break;
      }
      case "truncate": {
        const { entries, hardState } = this.#last;
        const from = 1 + Math.floor(step.share * entries.length);
        const added = [entryOf(from, hardState.term + 1, step.size)];
        const raised = { term: hardState.term + 1, vote: 2 };
        this.#write({ hardState: raised, truncateFrom: from, entries: added });
        break;
      }
      case "vote": {
        const term = this.#last.hardState.term + 1;
        this.#write({ hardState: { term, vote: 3 }, truncateFrom: undefined, entries: [] });
        break;
      }
      case "settle":
        this.#gate.open();
        await log.untilDurable(this.#last.seq);
        await log.directory.log.syncMark();
        this.#note();
        this.#gate.isOpen = false;
        break;
      case "rest":
        this.#timer.fire();
        await this.#turn();
        break;
      case "crash":
        await this.#turn();
        this.#crash(step);
        await this.boot();
        break;
    }
  }

  #write(write: Omit<Write, "seq">): void {
    const { seq, entries } = this.#last;
    const kept =
      write.truncateFrom === undefined ? entries : entries.slice(0, write.truncateFrom - 1);
    const hardState = write.hardState ?? this.#last.hardState;
    this.#states.push({ seq: seq + 1, entries: [...kept, ...write.entries], hardState });
    this.#log?.append({ seq: seq + 1, ...write });
  }

  /** The process dies; with `power` the machine does too. What hangs, hangs for ever. */
  #crash({ seed, power }: Step & { readonly type: "crash" }): void {
    this.#note();
    this.#store.crash();
    const random = randomOf(seed);
    if (power) {
      this.#gate = new Gate();
      this.#files = this.#files.crashed(random, { intercept: this.#gate.intercept });
    } else {
      // The page cache survives, and with it what no sync ever confirmed.
      this.#gate.abandon();
    }
  }

  #note(): void {
    this.#reported = Math.max(this.#reported, this.#log?.durable.at(-1) ?? 0);
    expect(this.#log?.failures).toEqual([]);
  }

  /** Lets everything run that can run without the disk. */
  async #turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("a log whose machine crashes at any moment", () => {
  it("has everything that was reported durable, and nothing that was not written", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 30 }), async (steps) => {
        const machine = new Machine();
        await machine.boot();
        for (const one of steps) await machine.run(one);
        await machine.run({ type: "settle" });
        await machine.run({ type: "crash", seed: 1, power: true });
      }),
      { numRuns: 150 },
    );
  });
});
