/**
 * Runs one target: first what is known, then changes of it, until a number of executions or a time is
 * reached. Where coverage is counted, an input that reaches something new is kept and changed further.
 * Without it, the same seed gives the same inputs.
 */
import { RandomStreams } from "../../../lab/random-stream.js";
import { corpusFiles } from "./corpus-files.js";
import { type Coverage, common, type Run, without } from "./coverage.js";
import { type Finding, findingOf, minimised } from "./finding.js";
import { GENERAL_MUTATORS, type Mutator, mutated } from "./mutators.js";
import { type FuzzTarget, Violation } from "./target.js";

export interface FuzzOptions {
  readonly seed: number;
  /** Besides the corpus. */
  readonly executionsMax: number;
  /** On the clock of `performance.now`. */
  readonly untilMs: number;
  readonly coverage?: Coverage | undefined;
  /** Called before each execution: what ends the process is then known. */
  readonly onInput?: (input: Uint8Array) => void;
  readonly minimiseTriesMax?: number;
}

export interface FuzzReport {
  readonly target: string;
  readonly executions: number;
  /** How many of these were taken and not refused. */
  readonly taken: number;
  readonly seconds: number;
  /** Inputs that are kept at the end. */
  readonly corpusSize: number;
  readonly findings: readonly Finding[];
}

const BATCH = { first: 16, most: 1_024 };
const REPAIRED = 0.9;
/** The most for one target: what else is wrong is seen when these are mended. */
const FINDINGS_MAX = 20;
/** How much more often a change that knows the format is drawn. */
const OWN_WEIGHT = 12;

export async function fuzz(target: FuzzTarget, options: FuzzOptions): Promise<FuzzReport> {
  return new Fuzzer(target, options).run();
}

class Fuzzer {
  readonly #target: FuzzTarget;
  readonly #options: FuzzOptions;
  readonly #mutators: readonly Mutator[];
  readonly #random;
  readonly #corpus: Uint8Array[] = [];
  readonly #findings = new Map<string, Finding>();
  #executions = 0;
  #taken = 0;

  constructor(target: FuzzTarget, options: FuzzOptions) {
    this.#target = target;
    this.#options = options;
    this.#random = new RandomStreams(options.seed).of(target.name);
    const own = target.mutators.flatMap((one) => new Array<Mutator>(OWN_WEIGHT).fill(one));
    this.#mutators = [...GENERAL_MUTATORS, ...own];
  }

  async run(): Promise<FuzzReport> {
    const began = performance.now();
    const target = this.#target;
    try {
      const known = [
        ...(await target.corpus()),
        ...corpusFiles(target.name).map((one) => one.input),
      ];
      this.#corpus.push(...known);
      await this.#runBatch(known, true);
      const limit = known.length + this.#options.executionsMax;
      let size = BATCH.first;
      while (this.#executions < limit && performance.now() < this.#options.untilMs) {
        if (this.#findings.size >= FINDINGS_MAX) break;
        const batch = this.#draw(Math.min(size, limit - this.#executions));
        const hasNew = await this.#runBatch(batch);
        size = hasNew ? Math.max(BATCH.first, size >> 1) : Math.min(BATCH.most, size * 2);
      }
    } finally {
      await target.close?.();
    }
    return {
      target: target.name,
      executions: this.#executions,
      taken: this.#taken,
      seconds: (performance.now() - began) / 1_000,
      corpusSize: this.#corpus.length,
      findings: [...this.#findings.values()],
    };
  }

  #draw(count: number): Uint8Array[] {
    const random = this.#random;
    // What was kept last is changed more often than what has been changed all the time.
    const pick = (): Uint8Array => {
      const newest = Math.ceil(this.#corpus.length / 5);
      const back = random.chance(0.3) ? random.below(newest) : random.below(this.#corpus.length);
      return this.#corpus.at(-1 - back) ?? new Uint8Array(0);
    };
    const source = { random, other: pick };
    const { bytesMax, repair } = this.#target;
    return Array.from({ length: count }, () => {
      const input = mutated(pick(), this.#mutators, source, bytesMax);
      return repair !== undefined && random.chance(REPAIRED) ? repair(input) : input;
    });
  }

  /** Returns whether anything new was reached. `isKept`: they are kept in any case. */
  async #runBatch(batch: readonly Uint8Array[], isKept = false): Promise<boolean> {
    const { coverage } = this.#options;
    // What was run in between, such as repairs, does not belong to an input.
    coverage?.look();
    for (const input of batch) await this.#execute(input);
    if (coverage === undefined) return false;
    const { run, steps } = coverage.look();
    if (steps > sum(batch.map((input) => this.#stepsMaxOf(input)))) await this.#findCostly(batch);
    const fresh = coverage.newIn(run);
    if (fresh === undefined) return false;
    coverage.keep(fresh);
    if (!isKept) await this.#keepThoseOf(batch, fresh, coverage);
    return true;
  }

  async #execute(input: Uint8Array): Promise<void> {
    this.#options.onInput?.(input);
    this.#executions += 1;
    try {
      const verdict = this.#target.run(input);
      if ((typeof verdict === "string" ? verdict : await verdict) === "taken") this.#taken += 1;
    } catch (error) {
      await this.#note(findingOf(this.#target.name, input, error));
    }
  }

  async #note(finding: Finding): Promise<void> {
    if (this.#findings.has(finding.signature)) return;
    const triesMax = this.#options.minimiseTriesMax ?? 1_000;
    this.#findings.set(finding.signature, await minimised(this.#target, finding, triesMax));
  }

  /** Halves the batch until those are found without which `fresh` would not have been reached. */
  async #keepThoseOf(batch: readonly Uint8Array[], fresh: Run, coverage: Coverage): Promise<void> {
    const [only] = batch;
    if (only === undefined) return;
    if (batch.length === 1) {
      this.#corpus.push(only);
      return;
    }
    const half = batch.slice(0, batch.length >> 1);
    coverage.look();
    for (const input of half) await this.#execute(input);
    const { run } = coverage.look();
    const [here, rest] = [common(fresh, run), without(fresh, run)];
    if (here !== undefined) await this.#keepThoseOf(half, here, coverage);
    if (rest !== undefined) await this.#keepThoseOf(batch.slice(half.length), rest, coverage);
  }

  async #findCostly(batch: readonly Uint8Array[]): Promise<void> {
    for (const input of batch) {
      this.#options.coverage?.look();
      await this.#execute(input);
      const { steps = 0 } = this.#options.coverage?.look() ?? {};
      const most = this.#stepsMaxOf(input);
      if (steps <= most) continue;
      const error = new Violation(`${steps} steps for ${input.length} bytes, at most ${most}`);
      this.#findings.set("steps", findingOf(this.#target.name, input, error));
    }
  }

  #stepsMaxOf({ length }: Uint8Array): number {
    const { fixed, perByte } = this.#target.steps;
    return fixed + perByte * length;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
