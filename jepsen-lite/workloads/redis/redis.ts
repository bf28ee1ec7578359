/**
 * Lock clients of Redis at the port of any node: `SET key value NX PX`, polled until it is granted, and
 * a script that deletes the key if it has the value. Half of them use one value for each acquire, for
 * which the node waits in the queue (`--redis-fair`). The others use one value for all acquires of their
 * process, as with a host name: the port must not take two of them for one.
 *
 * A release without an answer may end a later lock of the same value. So a process takes another value
 * then, and relies on nothing that it was granted by the one before; it releases only while it is
 * certain of the lock for as long as the answer may take.
 */
import { HoldfastError } from "../../sdk.js";
import { leasedLock, leaseSession } from "../leases/lease-holds.js";
import { type LeasedLock, refused } from "../leases/leased-lock.js";
import { grantOf, hold, noteLoss, noteRenewal } from "../lock-operations.js";
import type { Worker, Workload } from "../workload.js";
import { RedisNodes } from "./redis-nodes.js";

const WAITS_MS = [0, 1_000, 3_000] as const;
/** While nobody leads every node refuses at once. */
const REFUSED_MS = 50;
const ASK_AGAIN_MS = [20, 100] as const;
/** A holder counts from before it asked, with a margin for clocks of another rate. */
const TRUST_SHARE = 0.85;
const ANSWER_SHARE = 0.3;
/** Workers of a client, at most. */
const PLACES = 20;
const IF_EQUAL = `if redis.call("get",KEYS[1])==ARGV[1] then`;
const RELEASE = `${IF_EQUAL} return redis.call("del",KEYS[1]) else return 0 end`;
const EXTEND = `${IF_EQUAL} return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end`;

export const redis: Workload = {
  name: "redis",
  about: "SET NX at the Redis port of any node, by constant values and in fair waits",
  model: "lock",
  compares: ["exactly-once"],
  needsRedis: true,
  async step(worker) {
    const { random } = worker;
    const key = random.pick(worker.keys);
    const value = random.chance(0.5) ? constantValue(worker) : `unique-${worker.unique()}`;
    const round = new RedisRound(worker, await nodesOf(worker), key, value);
    const waitMs = random.pick(WAITS_MS);
    const { session } = round;
    const lock = await worker.record(
      { f: "acquire", key, value: { waitMs, ttlMs: worker.ttlMs }, session },
      () => round.take(waitMs),
      (granted) => grantOf(worker, granted),
    );
    if (lock === undefined) {
      await worker.sleep(REFUSED_MS);
      return;
    }
    noteLoss(worker, lock, key);
    await hold(worker, lock, random.integer(0, 200));
    if (random.chance(0.3)) await round.look(lock);
    if (random.chance(0.3)) await round.extend(lock);
    await hold(worker, lock, random.integer(0, 200));
    await round.release(lock);
  },
};

/** This process's connections, and how often it had to take another value. */
let nodes: Promise<RedisNodes> | undefined;
let valuesGivenUp = 0;

function nodesOf(worker: Worker): Promise<RedisNodes> {
  const { redisEndpoints: endpoints, accessToken, ttlMs } = worker;
  nodes ??= RedisNodes.connect({ endpoints, accessToken, answerMs: ANSWER_SHARE * ttlMs });
  return nodes;
}

/** Each life of a client process has a host name of its own. */
function constantValue({ process }: Worker): string {
  return `host-${process - (process % 1_000)}-${valuesGivenUp}`;
}

class RedisRound {
  readonly session: number;
  readonly #worker: Worker;
  readonly #nodes: RedisNodes;
  readonly #key: string;
  readonly #value: string;
  readonly #valuesGivenUp = valuesGivenUp;

  constructor(worker: Worker, nodes: RedisNodes, key: string, value: string) {
    this.session = leaseSession(worker);
    this.#worker = worker;
    this.#nodes = nodes;
    this.#key = key;
    this.#value = value;
  }

  /** Polls at one node, at which it waits in the queue. */
  async take(waitMs: number): Promise<LeasedLock> {
    const { random, ttlMs, signal } = this.#worker;
    const node = random.pick(this.#nodes.ready);
    const endMs = performance.now() + waitMs;
    for (;;) {
      const askedMs = performance.now();
      const words = [this.#key, this.#value, "NX", "PX", ttlMs];
      const reply = await this.#nodes.send(node, "SET", ...words);
      if (reply === "OK") return this.#granted(askedMs);
      if (performance.now() >= endMs || signal.aborted) throw refused(this.#key, waitMs);
      await this.#worker.sleep(random.integer(...ASK_AGAIN_MS));
    }
  }

  /** Whether the value holds the key, as its fencing token shows. */
  async look(lock: LeasedLock): Promise<void> {
    await this.#verify(lock, async () => {
      const node = this.#worker.random.pick(this.#nodes.ready);
      return (await this.#nodes.send(node, "HOLDFAST.TOKEN", this.#key, this.#value)) !== null;
    });
  }

  async extend(lock: LeasedLock): Promise<void> {
    const { ttlMs } = this.#worker;
    const askedMs = performance.now();
    const isExtended = await this.#verify(lock, async () => {
      return (await this.#run(EXTEND, this.#value, ttlMs)) === 1;
    });
    if (!isExtended) return;
    lock.extend(askedMs + TRUST_SHARE * ttlMs);
    noteRenewal(this.#worker, lock);
  }

  /** Resolves to whether it is certainly held. */
  async #verify(lock: LeasedLock, isHeld: () => Promise<boolean>): Promise<boolean> {
    const { token, remainingMs } = lock;
    const untilMs = performance.now() + remainingMs;
    const operation = { f: "verify", key: this.#key, value: { token }, session: this.session };
    const answer = await this.#worker.record(operation, async () => {
      const current = await isHeld();
      // Later it may be about another lock of the same value.
      if (performance.now() > untilMs) throw unknown("the answer came late");
      return { current };
    });
    return answer?.current === true;
  }

  /** Leaves the lock to its end if an answer could come after that. */
  async release(lock: LeasedLock): Promise<void> {
    const { token, remainingMs } = lock;
    if (remainingMs < ANSWER_SHARE * this.#worker.ttlMs) return;
    const untilMs = performance.now() + remainingMs;
    const operation = { f: "release", key: this.#key, value: { token }, session: this.session };
    const releasing = async () => {
      const { released } = await lock.release();
      if (performance.now() > untilMs) throw unknown("the answer came late");
      return { released };
    };
    const answer = await this.#worker.record(operation, releasing);
    if (answer === undefined) valuesGivenUp += 1;
  }

  #granted(askedMs: number): LeasedLock {
    const untilMs = askedMs + TRUST_SHARE * this.#worker.ttlMs;
    if (this.#valuesGivenUp !== valuesGivenUp || performance.now() > untilMs) {
      throw unknown("taken, and nobody relies on it");
    }
    return leasedLock(nameOf(this.#worker), untilMs, async () => {
      return (await this.#run(RELEASE, this.#value)) === 1 ? undefined : "unknown";
    });
  }

  /** At any node. */
  #run(script: string, ...words: readonly (string | number)[]): Promise<unknown> {
    const node = this.#worker.random.pick(this.#nodes.ready);
    return this.#nodes.send(node, "EVAL", script, 1, this.#key, ...words);
  }
}

/**
 * Names a hold in the history, larger than every name that was given before: what the reply says is that
 * the lock is taken, and no more. One that comes too late to rely on it is not believed.
 */
function nameOf(worker: Worker): number {
  const { process, index } = worker;
  const place = (Math.floor((process % 100_000) / 1_000) * PLACES + index) % 1_000;
  return Math.floor(worker.now() / 1_000) * 1_000 + place;
}

function unknown(why: string): HoldfastError {
  return new HoldfastError("UNAVAILABLE", why, { details: { indeterminate: true } });
}
