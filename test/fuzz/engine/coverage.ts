/**
 * Which parts of the sources were run, by V8's own counters, read through the inspector of this
 * process. Reading them takes a millisecond or more, whatever was run in between, so it is done
 * after many inputs, and the ones that brought something new are then found by halving.
 */
import { type Profiler, Session } from "node:inspector";

const ROOT = new URL("../../../", import.meta.url).href;
const FUZZED = [`${ROOT}src/`, `${ROOT}bin/`];

/** What was run since the last look: by script, one byte for each of its characters. */
export type Run = ReadonlyMap<string, Uint8Array>;

export interface Look {
  readonly run: Run;
  /** How often any block of the sources was entered. */
  readonly steps: number;
}

export class Coverage {
  readonly #session = new Session();
  /** All that was ever run. */
  readonly #reached = new Map<string, Uint8Array>();
  /** Beginnings of all blocks that V8 ever told of, by script. */
  readonly #blocks = new Map<string, Set<number>>();

  constructor() {
    this.#session.connect();
    this.#post("Profiler.enable");
    this.#post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
    // Loading the sources is not the work of an input.
    this.look();
  }

  close(): void {
    this.#session.disconnect();
  }

  /** Reads the counters and begins to count again. */
  look(): Look {
    const run = new Map<string, Uint8Array>();
    let steps = 0;
    const taken = this.#post("Profiler.takePreciseCoverage");
    for (const script of (taken as Profiler.TakePreciseCoverageReturnType).result) {
      if (!FUZZED.some((folder) => script.url.startsWith(folder))) continue;
      const ranges = script.functions.flatMap((one) => one.ranges);
      for (const { count } of ranges) steps += count;
      const blocks = this.#blocksOf(script.url);
      const isRun = ranges.some(({ count }) => count > 0);
      const painted = new Uint8Array(isRun ? Math.max(...ranges.map((one) => one.endOffset)) : 0);
      // What stands inside comes after what it stands in.
      for (const { startOffset, endOffset, count } of ranges) {
        blocks.add(startOffset);
        painted.fill(count > 0 ? 1 : 0, startOffset, endOffset);
      }
      if (isRun) run.set(script.url, painted);
    }
    return { run, steps };
  }

  /** The part of `run` that was never run before; `undefined` when there is none. */
  newIn(run: Run): Run | undefined {
    const fresh = new Map<string, Uint8Array>();
    for (const [url, painted] of run) {
      const known = this.#reached.get(url) ?? new Uint8Array(0);
      const part = painted.map((is, at) => (is === 1 && known[at] !== 1 ? 1 : 0));
      if (part.includes(1)) fresh.set(url, part);
    }
    return fresh.size === 0 ? undefined : fresh;
  }

  /** From here on this was run before. */
  keep(run: Run): void {
    for (const [url, painted] of run) {
      const known = this.#reached.get(url) ?? new Uint8Array(0);
      const all = new Uint8Array(Math.max(known.length, painted.length));
      all.set(known);
      for (const [at, is] of painted.entries()) if (is === 1) all[at] = 1;
      this.#reached.set(url, all);
    }
  }

  /** How many blocks the inputs have reached. */
  get branches(): number {
    let reached = 0;
    for (const [url, blocks] of this.#blocks) {
      const run = this.#reached.get(url);
      for (const start of blocks) if (run?.[start] === 1) reached += 1;
    }
    return reached;
  }

  #blocksOf(url: string): Set<number> {
    const known = this.#blocks.get(url);
    if (known !== undefined) return known;
    const blocks = new Set<number>();
    this.#blocks.set(url, blocks);
    return blocks;
  }

  /** In this process it answers before it returns. */
  #post(method: string, params: object = {}): unknown {
    let answer: unknown;
    this.#session.post(method, params, (error, result) => {
      if (error !== null) throw new Error(`${method}: ${error.message}`);
      answer = result;
    });
    return answer;
  }
}

/** What both have. */
export function common(one: Run, other: Run): Run | undefined {
  return combined(one, other, (is, isOther) => is === 1 && isOther === 1);
}

/** What only the first has. */
export function without(one: Run, other: Run): Run | undefined {
  return combined(one, other, (is, isOther) => is === 1 && isOther !== 1);
}

function combined(
  one: Run,
  other: Run,
  keeps: (is: number, isOther: number | undefined) => boolean,
): Run | undefined {
  const kept = new Map<string, Uint8Array>();
  for (const [url, painted] of one) {
    const painting = other.get(url);
    const part = painted.map((is, at) => (keeps(is, painting?.[at]) ? 1 : 0));
    if (part.includes(1)) kept.set(url, part);
  }
  return kept.size === 0 ? undefined : kept;
}
