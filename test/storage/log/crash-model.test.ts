/**
 * Random writes, crashes that keep any subset of what was not synced, processes that die while the
 * machine lives on, and openings in between, against the plainest model: the list of what was
 * handed over. Everything reported as durable must be there, and nothing that was never written.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  MemoryFileSystem,
  type MemoryFileSystemOptions,
} from "../../../lab/memory/memory-file-system.js";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import { seededRandom } from "../../../lab/random-stream.js";
import type { Entry, HardState, SnapshotPoint, Write } from "../../../src/raft/index.js";
import {
  entryOf,
  equalEntries,
  HandTimer,
  memoryDisk,
  OpenLog,
  resetTo,
  snapshotAt,
  standsOn,
  storeSnapshot,
  writeOf,
} from "./log-harness.js";

interface State {
  readonly seq: number;
  /** The entry before the first; a reset moves it, a removal of segments need not follow. */
  readonly baseIndex: number;
  readonly baseTerm: number;
  readonly entries: readonly Entry[];
  readonly hardState: HardState;
  readonly snapshot: SnapshotPoint | undefined;
  readonly keepFrom: number;
}

const EMPTY: State = {
  seq: 0,
  baseIndex: 0,
  baseTerm: 0,
  entries: [],
  hardState: { term: 0, vote: 0 },
  snapshot: undefined,
  keepFrom: 0,
};

function lastOf({ baseIndex, baseTerm, entries }: State): Pick<Entry, "index" | "term"> {
  return entries.at(-1) ?? { index: baseIndex, term: baseTerm };
}

type Step =
  | { readonly type: "append"; readonly sizes: readonly number[]; readonly newTerm: boolean }
  | { readonly type: "truncate"; readonly share: number; readonly size: number }
  | { readonly type: "vote" }
  | { readonly type: "stand"; readonly share: number; readonly keepShare: number }
  | { readonly type: "reset"; readonly gap: number; readonly size: number }
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
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("stand"),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      keepShare: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("reset"),
      gap: fc.integer({ min: -5, max: 5 }),
      size: fc.nat(300),
    }),
  },
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

/** Operations that take effect in the cache wait here until they are let through, or forever. */
class Gate {
  #waiting: (() => void)[] = [];
  isOpen = true;

  readonly intercept = (): Promise<void> | undefined => {
    if (this.isOpen) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  };

  open(): void {
    this.isOpen = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** Half of the small records are written at once, half wait behind the gate. */
function optionsOf({ intercept }: Gate): MemoryFileSystemOptions {
  return { intercept, isQuickFor: (bytes) => bytes < 1_000 && bytes % 2 === 0 };
}

class Machine {
  #gate = new Gate();
  #files = new MemoryFileSystem(undefined, optionsOf(this.#gate));
  readonly #disk = new MemoryStoreDisk();
  #timer = new HandTimer();
  #log: OpenLog | undefined;
  /** Every state the log may be in, by sequence; later ones of an older life are dropped. */
  #states: State[] = [EMPTY];
  #reported = 0;

  get #last(): State {
    const last = this.#states.at(-1);
    if (last === undefined) throw new Error("no state");
    return last;
  }

  async boot(): Promise<void> {
    this.#timer = new HandTimer();
    const disk = memoryDisk(this.#files, this.#disk);
    const log = await OpenLog.open(disk, { timer: this.#timer.timer });
    const { baseIndex, baseTerm, entries, hardState, snapshot, lastSeq } = log.boot;
    expect(lastSeq).toBeGreaterThanOrEqual(this.#reported);
    const at = this.#states.findIndex(({ seq }) => seq === lastSeq);
    const state = this.#states[at];
    if (state === undefined) throw new Error(`opened at the unknown sequence ${lastSeq}`);
    // What lies before the last `keepFrom` may be there or not.
    const gone = state.entries.filter(({ index }) => index <= baseIndex);
    const base = gone.at(-1) ?? { index: state.baseIndex, term: state.baseTerm };
    expect({ index: baseIndex, term: baseTerm }).toMatchObject({
      index: base.index,
      term: base.term,
    });
    if (gone.length > 0) expect(baseIndex).toBeLessThan(state.keepFrom);
    expect(equalEntries(entries, state.entries.slice(gone.length))).toBe(true);
    expect(hardState).toEqual(state.hardState);
    expect(snapshot).toEqual(state.snapshot);
    // What an opening has shown must be there forever after: the core counts it as durable.
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
        const { hardState } = this.#last;
        const { index } = lastOf(this.#last);
        const term = hardState.term + (step.newTerm || hardState.term === 0 ? 1 : 0);
        const added = step.sizes.map((bytes, at) => entryOf(index + 1 + at, term, bytes));
        this.#write({ hardState: { term, vote: 1 }, entries: added });
        break;
      }
      case "truncate": {
        const { hardState } = this.#last;
        // Never what a snapshot holds: that is committed.
        const first = 1 + (this.#last.snapshot?.index ?? 0);
        const from = first + Math.floor(step.share * (lastOf(this.#last).index + 1 - first));
        const added = [entryOf(from, hardState.term + 1, step.size)];
        const raised = { term: hardState.term + 1, vote: 2 };
        this.#write({ hardState: raised, truncateFrom: from, entries: added });
        break;
      }
      case "vote": {
        const term = this.#last.hardState.term + 1;
        this.#write({ hardState: { term, vote: 3 }, entries: [] });
        break;
      }
      case "stand": {
        const { snapshot, entries } = this.#last;
        const from = entries.findIndex(({ index }) => index >= (snapshot?.index ?? 1));
        const entry = entries[from + Math.floor(step.share * (entries.length - from - 0.01))];
        if (from < 0 || entry === undefined) break;
        const keepFrom = entry.index + 1 - Math.floor(step.keepShare * 6);
        await this.#store(entry);
        this.#write({ ...standsOn(entry, Math.max(0, keepFrom)), entries: [] });
        break;
      }
      case "reset": {
        const { snapshot, hardState } = this.#last;
        const lowest = 1 + (snapshot?.index ?? 0);
        const index = Math.max(lowest, lastOf(this.#last).index + step.gap);
        const term = hardState.term + 1;
        await this.#store({ index, term });
        const added = step.size > 150 ? [entryOf(index + 1, term, step.size)] : [];
        const raised = { term, vote: 0 };
        this.#write({ ...resetTo({ index, term }), hardState: raised, entries: added });
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

  /** Before the log may name a snapshot it must exist. */
  async #store(place: Pick<Entry, "index" | "term">): Promise<void> {
    if (this.#log !== undefined) await storeSnapshot(this.#log, place);
  }

  #write({ entries: added, ...changes }: Partial<Write> & Pick<Write, "entries">): void {
    const last = this.#last;
    const seq = last.seq + 1;
    const { snapshot, truncateFrom, hardState = last.hardState } = changes;
    let { baseIndex, baseTerm, entries, keepFrom } = last;
    if (truncateFrom !== undefined) entries = entries.filter(({ index }) => index < truncateFrom);
    if (snapshot !== undefined) keepFrom = Math.max(keepFrom, snapshot.keepFrom);
    if (snapshot?.isReset === true) {
      ({ index: baseIndex, term: baseTerm } = snapshot);
      entries = [];
    }
    const point = snapshot === undefined ? last.snapshot : snapshotAt(snapshot);
    entries = [...entries, ...added];
    this.#states.push({ seq, baseIndex, baseTerm, entries, hardState, snapshot: point, keepFrom });
    this.#log?.append(writeOf(seq, added, changes));
  }

  /** The process dies; with `power` the machine does too. What hangs, hangs forever. */
  #crash({ seed, power }: Step & { readonly type: "crash" }): void {
    this.#note();
    const random = seededRandom(seed);
    this.#disk.crash(random);
    this.#gate = new Gate();
    const options = optionsOf(this.#gate);
    // Without a power cut the page cache survives, and with it what no sync ever confirmed.
    this.#files = power ? this.#files.crashed(random, options) : this.#files.inherited(options);
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
