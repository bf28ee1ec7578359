/**
 * Somebody who runs the cluster: asks for other members or another leader, of one node after the
 * other, until the wish is granted, turns out to be impossible, or has taken too long.
 */
import type { RandomStream } from "../../../lab/random-stream.js";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { type Answer, MESSAGE, type Operation, STATUS } from "../../../src/protocol/index.js";
import type { Simulation } from "../engine/simulation.js";
import type { ClientNetwork } from "../world/network/client-network.js";
import { SignedLine } from "./access/signed-line.js";

const PATIENCE_MS = 800;
const RETRY_MS = 60;
const TRIES_MAX = 12;

/** An operation before it has its number. */
type Wish<T> = T extends Operation ? Omit<T, "id"> : never;
export type OperatorWish = Wish<Operation>;

/** What is done for one cluster. */
interface Duty {
  isOver: boolean;
}

export interface OperatorSurroundings {
  readonly simulation: Simulation;
  readonly random: RandomStream;
  readonly network: ClientNetwork;
  readonly nodes: readonly number[];
  /** As a host on the network. */
  readonly host: number;
  /** As of `SignedLine`. */
  readonly waitsForHello: boolean;
  /** What it shows to be let in; `undefined`: nothing. */
  readonly token: () => string | undefined;
  readonly onAnswered: (op: Operation["op"], status: number) => void;
  readonly onNote: (text: string) => void;
}

export class Operator {
  readonly #world: OperatorSurroundings;
  #lastId = 0;
  #lastAskedMs = 0;
  #duty: Duty = { isOver: false };

  constructor(world: OperatorSurroundings) {
    this.#world = world;
  }

  /** When a node was last asked for anything, which it may do after nobody waits for it any more. */
  get lastAskedMs(): number {
    return this.#lastAskedMs;
  }

  /** `first`: the node to be asked first; default: any. */
  ask(wish: OperatorWish, first?: number): void {
    this.#lastId += 1;
    const duty = this.#duty;
    this.#try({ ...wish, id: this.#lastId } as Operation, duty, TRIES_MAX, first);
  }

  /** Nothing is asked again. */
  end(): void {
    this.#duty.isOver = true;
  }

  /** With another cluster, which nobody asks for what was wished of the one before. */
  goOn(): void {
    this.#duty = { isOver: false };
  }

  #try(operation: Operation, duty: Duty, triesLeft: number, first?: number): void {
    if (triesLeft === 0 || duty.isOver) return;
    const { network, host, nodes, random, simulation, token, waitsForHello } = this.#world;
    let isSettled = false;
    const settle = (isDone: boolean): void => {
      if (isSettled) return;
      isSettled = true;
      line.leave();
      if (isDone) return;
      simulation.after(RETRY_MS, () => this.#try(operation, duty, triesLeft - 1));
    };
    const line = new SignedLine(
      { network, host, waitsForHello, view: () => undefined },
      first ?? random.pick(nodes),
      token(),
      {
        onReady: (ready) => {
          this.#lastAskedMs = simulation.nowMs;
          ready.operate(operation);
        },
        onMessage: (message) => {
          if (message.kind === MESSAGE.answer) settle(this.#isFinal(operation, message));
        },
        onClosed: () => settle(false),
      },
    );
    simulation.after(PATIENCE_MS, () => settle(false));
  }

  #isFinal(operation: Operation, { status, payload }: Answer): boolean {
    this.#world.onAnswered(operation.op, status);
    this.#world.onNote(`${JSON.stringify(operation)}: ${status} ${JSON.stringify(payload)}`);
    return status === STATUS.ok || status === ERROR_NUMBERS.INVALID_ARGUMENT;
  }
}
