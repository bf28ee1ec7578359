/**
 * Somebody who tries what is forbidden: asks nodes for all that they show, with any token that there
 * ever was or with none, and gives orders that only some may give. It makes nothing of the answers: whether
 * they are right the laws of access know.
 */
import type { RandomStream } from "../../../../lab/random-stream.js";
import { ANONYMOUS, OP, type OrderCommand, type Query } from "../../../../src/protocol/index.js";
import type { Simulation } from "../../engine/simulation.js";
import type { Keyring } from "./keyring.js";
import { type LineSurroundings, SignedLine } from "./signed-line.js";

const PAUSE_MS = { least: 20, most: 120 } as const;
const PATIENCE_MS = 400;
const REQUESTS_MAX = 4;
const ORDER_SHARE = 0.25;
const ANONYMOUS_SHARE = 0.3;
const NUMBER_MAX = 2 ** 32;
/** Sessions and tokens that there may be. */
const SMALL_NUMBER_MAX = 40;

export interface StrangerSurroundings extends LineSurroundings {
  readonly simulation: Simulation;
  readonly random: RandomStream;
  readonly nodes: readonly number[];
  readonly keyring: Keyring;
  readonly keys: readonly string[];
  /** At which only the missing right stands in the way of an order. */
  readonly orderCount: () => number;
  /** Not everybody may do everything any more. */
  readonly isClosed: () => boolean;
}

export class Stranger {
  readonly #world: StrangerSurroundings;
  #isOver = false;

  constructor(world: StrangerSurroundings) {
    this.#world = world;
  }

  begin(): void {
    const { simulation, random } = this.#world;
    simulation.after(random.integer(PAUSE_MS.least, PAUSE_MS.most), () => {
      if (this.#isOver) return;
      this.#try();
      this.begin();
    });
  }

  end(): void {
    this.#isOver = true;
  }

  #try(): void {
    const { simulation, random, nodes, keyring } = this.#world;
    const token = random.chance(ANONYMOUS_SHARE) ? undefined : random.pickOrNone(keyring.all);
    const line = new SignedLine(this.#world, random.pick(nodes), token, {
      onReady: (ready) => this.#ask(ready),
      onMessage: () => {},
      onClosed: () => {},
    });
    simulation.after(PATIENCE_MS, () => line.leave());
  }

  #ask(line: SignedLine): void {
    const { random, isClosed } = this.#world;
    const count = random.integer(1, REQUESTS_MAX);
    for (let id = 1; id <= count; id += 1) line.ask(this.#query(id));
    if (isClosed() && random.chance(ORDER_SHARE)) line.order(this.#order());
  }

  #query(id: number): Query {
    const { random, keys } = this.#world;
    const key = random.pick(keys);
    return random.pick<Query>([
      { op: OP.inspect, id, key },
      { op: OP.query, id, prefix: "", after: undefined, limit: 10 },
      { op: OP.explain, id, key, session: 0, sequence: 0 },
      { op: OP.waitGraph, id, limit: 20 },
      { op: OP.verify, id, key, token: random.below(SMALL_NUMBER_MAX) },
      { op: OP.settings, id },
      { op: OP.sessions, id, after: 0, limit: 20 },
      { op: OP.watch, id, key: random.pick(["", key]), isPrefix: true, after: undefined },
      { op: OP.watch, id, key, isPrefix: false, after: undefined },
      { op: OP.access, id, after: undefined, limit: 10 },
      { op: OP.checkAccess, id, name: "blue", level: "acquire", key, isPrefix: false },
      { op: OP.whoAmI, id },
    ]);
  }

  #order(): OrderCommand {
    const { random, keys, orderCount } = this.#world;
    const key = random.pick(keys);
    const head = { sequence: 1 + random.below(NUMBER_MAX), mark: orderCount(), acknowledged: [] };
    const small = 1 + random.below(SMALL_NUMBER_MAX);
    const force = { graceMs: random.integer(0, 300), now: random.chance(0.3), reason: "" };
    return random.pick<OrderCommand>([
      { op: OP.revoke, ...head, key, token: 0, ...force },
      { op: OP.revoke, ...head, key: undefined, token: small, ...force },
      { op: OP.endSession, ...head, session: small, ...force },
      { op: OP.changeSetting, ...head, name: "priorityStepMs", value: 500 },
      { op: OP.putIdentity, ...head, name: "mallory" },
      { op: OP.setGrant, ...head, name: ANONYMOUS, key: "", isPrefix: true, level: "admin" },
      { op: OP.removeIdentity, ...head, name: "steady" },
    ]);
  }
}
