/**
 * The load on one node whose power fails, and the promises to its clients: a granted lock is held
 * until its release is requested, a released lock is free, and no token is given out twice. Every
 * lock has a key of its own, so that a repeated command cannot be confused with another.
 */
import { type Client, connect, type Lock } from "../../../src/index.js";

const WORKERS = 8;
/** Locks that a worker keeps; it releases the oldest when it has more. */
const KEPT_MAX = 4;
/** How many of the released ones are looked at. */
const RELEASED_MAX = 40;
/** Fills the log, so that snapshots are taken. */
const VALUE = "v".repeat(1_000);
/** Longer than any test: no lease ends by itself. */
const TTL_MS = 600_000;

export class KeptPromises {
  readonly #endpoint: string;
  readonly #client: Client;
  /** Granted, and not yet asked to be released: keys with tokens. */
  readonly #held = new Map<string, number>();
  readonly #released: string[] = [];
  readonly #tokens = new Set<number>();
  readonly #broken: string[] = [];
  #isEnded = false;
  /** Called after each grant, for callers that wait for some. */
  readonly #looks = new Set<() => void>();
  #going: Promise<void> | undefined;
  #goOn: () => void = () => undefined;

  private constructor(endpoint: string, client: Client) {
    this.#endpoint = endpoint;
    this.#client = client;
    this.pause();
    for (let worker = 0; worker < WORKERS; worker += 1) {
      this.#work(worker).catch((error: Error) => {
        if (!this.#isEnded) this.#broken.push(`a call failed: ${error}`);
        this.#look();
      });
    }
  }

  /** It pauses until `resume` is called. */
  static async begin(endpoint: string): Promise<KeptPromises> {
    return new KeptPromises(endpoint, await connect({ endpoints: [endpoint], ttlMs: TTL_MS }));
  }

  /** Grants so far. */
  get grants(): number {
    return this.#tokens.size;
  }

  /** Waits for `count` more grants, or until a call fails or `end` comes. */
  async granted(count: number, end: Promise<unknown>): Promise<void> {
    const enough = this.grants + count;
    let look: () => void = () => undefined;
    const granted = new Promise<void>((resolve) => {
      look = () => {
        if (this.#broken.length > 0 || this.grants >= enough) resolve();
      };
    });
    this.#looks.add(look);
    look();
    await Promise.race([granted, end]);
    this.#looks.delete(look);
  }

  /** Nothing new is asked for. */
  pause(): void {
    this.#going = new Promise((resolve) => {
      this.#goOn = resolve;
    });
  }

  resume(): void {
    this.#goOn();
  }

  /** While it pauses and the node serves: every promise that was not kept, in words. */
  async broken(): Promise<readonly string[]> {
    const observer = await connect({ endpoints: [this.#endpoint] });
    for (const [key, token] of this.#held) {
      const tokens = (await observer.inspect(key)).holds.map((hold) => hold.token);
      if (tokens.length === 1 && tokens[0] === token) continue;
      this.#broken.push(`${key} was granted with token ${token}, and is held by [${tokens}]`);
    }
    for (const key of this.#released.slice(-RELEASED_MAX)) {
      const { holds } = await observer.inspect(key);
      if (holds.length > 0) this.#broken.push(`${key} was released, and is held`);
    }
    await observer.close();
    return this.#broken;
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    this.pause();
    await this.#client.close();
  }

  #look(): void {
    for (const look of this.#looks) look();
  }

  async #work(worker: number): Promise<void> {
    const kept: Lock[] = [];
    for (let round = 0; ; round += 1) {
      await this.#going;
      const lock = await this.#client.acquire(`work/${worker}/${round}`, { value: VALUE });
      if (this.#tokens.has(lock.token)) this.#broken.push(`token ${lock.token} came twice`);
      this.#tokens.add(lock.token);
      this.#look();
      this.#held.set(lock.key, lock.token);
      kept.push(lock);
      await this.#going;
      const oldest = kept.length > KEPT_MAX ? kept.shift() : undefined;
      if (oldest === undefined) continue;
      this.#held.delete(oldest.key);
      const { released } = await oldest.release();
      if (!released) this.#broken.push(`${oldest.key} was lost before its release`);
      this.#released.push(oldest.key);
    }
  }
}
