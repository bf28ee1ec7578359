/**
 * Somebody who decides who may do what: makes identities, hands out tokens, closes the cluster, and
 * changes its mind as the plan says. Each order is repeated, at one node after the other, until it is
 * answered, and the next one comes after that; so copies may be late, and must then have no effect.
 */
import type { RandomStream } from "../../../../lab/random-stream.js";
import { ERROR_NUMBERS } from "../../../../src/errors/index.js";
import {
  type AccessCommand,
  ANONYMOUS,
  MESSAGE,
  OP,
  STATUS,
} from "../../../../src/protocol/index.js";
import { digestOf } from "../../checks/access/digest.js";
import type { Simulation } from "../../engine/simulation.js";
import type { AccessChange, AccessPlan, GrantPlan } from "../../plan/access-plan.js";
import { type Keyring, ROOT } from "./keyring.js";
import { type LineSurroundings, SignedLine } from "./signed-line.js";

const PATIENCE_MS = 500;
const RETRY_MS = 30;
/** The share of orders that go to the node that answered last. */
const SAME_NODE_SHARE = 0.7;
/** Until a client with the old token has heard of the new one. */
const HURRIED_MS = 100;
/** Bounds the number of an order without a session. */
const NUMBER_MAX = 2 ** 32;
/** Whether the orders of the time before are still to be trusted, nobody knows. */
const AGAIN: readonly number[] = [ERROR_NUMBERS.FORBIDDEN, ERROR_NUMBERS.UNAUTHENTICATED];

type Wish<T> = T extends AccessCommand ? Omit<T, "sequence" | "mark" | "acknowledged"> : never;

type Step =
  | { readonly kind: "order"; readonly wish: Wish<AccessCommand> }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "hand"; readonly name: string; readonly token: string | undefined };

export interface AdministratorSurroundings extends LineSurroundings {
  readonly simulation: Simulation;
  readonly random: RandomStream;
  readonly nodes: readonly number[];
  readonly keyring: Keyring;
  /** A client has another token, or none. */
  readonly onHanded: (host: number) => void;
  readonly onNote: (text: string) => void;
}

export class Administrator {
  readonly #world: AdministratorSurroundings;
  readonly #plan: AccessPlan;
  readonly #steps: Step[] = [];
  /** The label and number of the newest token of each identity. */
  readonly #labels = new Map<string, number>();
  #changesLeft: number;
  #isBusy = false;
  /** The order count that it knows. */
  #orderCount = 0;
  #nodes: readonly number[];
  /** The node that answered last. */
  #good: number | undefined;
  #isHurried = false;
  #isOver = false;

  constructor(plan: AccessPlan, world: AdministratorSurroundings) {
    this.#plan = plan;
    this.#world = world;
    this.#changesLeft = plan.changes.length + 1;
    this.#nodes = world.nodes;
  }

  /** What it has heard of last. */
  get orderCount(): number {
    return this.#orderCount;
  }

  /** All is as it is to be. */
  get isDone(): boolean {
    return this.#isOver || (this.#changesLeft === 0 && this.#steps.length === 0 && !this.#isBusy);
  }

  begin(): void {
    const { simulation } = this.#world;
    simulation.at(this.#plan.beginMs, () => this.#add(this.#setUp()));
    for (const change of this.#plan.changes) {
      simulation.at(change.atMs, () => this.#add(this.#stepsOf(change)));
    }
  }

  /** The storm is over: what is left is done soon, at these nodes. */
  hurry(nodes: readonly number[]): void {
    this.#isHurried = true;
    this.#nodes = nodes;
    this.#good = undefined;
  }

  /** Its cluster is lost, and nobody can prove anything to the next one. */
  end(): void {
    this.#isOver = true;
    this.#steps.length = 0;
    this.#world.keyring.forget();
  }

  #add(steps: readonly Step[]): void {
    this.#changesLeft -= 1;
    if (this.#isOver) return;
    this.#steps.push(...steps);
    if (!this.#isBusy) this.#goOn();
  }

  #goOn(): void {
    const step = this.#isOver ? undefined : this.#steps.shift();
    this.#isBusy = step !== undefined;
    if (step === undefined) return;
    const { simulation, keyring, onHanded, onNote } = this.#world;
    if (step.kind === "wait") {
      const ms = this.#isHurried ? Math.min(step.ms, HURRIED_MS) : step.ms;
      simulation.after(ms, () => this.#goOn());
    } else if (step.kind === "hand") {
      onNote(`hands ${step.token ?? "nothing"} to ${step.name}`);
      keyring.hand(step.name, step.token, onHanded);
      this.#goOn();
    } else {
      const sequence = 1 + this.#world.random.below(NUMBER_MAX);
      const command = {
        ...step.wish,
        sequence,
        mark: this.#orderCount,
        acknowledged: [],
      } as AccessCommand;
      this.#order(command);
    }
  }

  #order(first: AccessCommand): void {
    if (this.#isOver) return;
    const { random, simulation, keyring, onNote } = this.#world;
    let command = first;
    let isSettled = false;
    const settle = (isDone: boolean): void => {
      if (isSettled) return;
      isSettled = true;
      this.#good = isDone ? node : undefined;
      line.leave();
      simulation.after(RETRY_MS, () => {
        if (isDone) this.#goOn();
        else this.#order(command);
      });
    };
    const isSame = random.chance(SAME_NODE_SHARE);
    const node = (isSame ? this.#good : undefined) ?? random.pick(this.#nodes);
    const line = new SignedLine(this.#world, node, keyring.root, {
      onReady: (ready) => ready.order(command),
      onMessage: (message) => {
        if (message.kind === MESSAGE.refused) settle(false);
        if (message.kind !== MESSAGE.reply) return;
        // A copy of what has come to nothing.
        if (message.sequence !== command.sequence) return;
        const { result } = message;
        onNote(`${JSON.stringify(command)}: ${result.status}`);
        if (result.status === ERROR_NUMBERS.OUTDATED_ORDER) {
          const { sequence, mark } = command;
          command = {
            ...command,
            sequence: sequence + NUMBER_MAX,
            mark: result.orderCount ?? mark,
          };
          this.#orderCount = command.mark;
          line.order(command);
          return;
        }
        if (result.status === STATUS.ok) this.#orderCount = command.mark + 1;
        settle(!AGAIN.includes(result.status));
      },
      onClosed: () => settle(false),
    });
    simulation.after(PATIENCE_MS, () => settle(false));
  }

  #setUp(): Step[] {
    const { identities, anonymous } = this.#plan;
    return [
      ...this.#make(ROOT, [{ key: "", isPrefix: true, level: "admin" }]),
      ...identities.flatMap(({ name, grants }) => this.#make(name, grants)),
      ...anonymous.map((kept) => grant(ANONYMOUS, kept)),
      // What is kept for all keys takes the place of the grant that makes a cluster open.
      ...(anonymous.some(({ key, isPrefix }) => key === "" && isPrefix)
        ? []
        : [grant(ANONYMOUS, { key: "", isPrefix: true, level: "none" })]),
    ];
  }

  #make(name: string, grants: readonly GrantPlan[]): Step[] {
    return [
      { kind: "order", wish: { op: OP.putIdentity, name } },
      ...grants.map((one) => grant(name, one)),
      ...this.#newToken(name),
    ];
  }

  #newToken(name: string): Step[] {
    const number = (this.#labels.get(name) ?? 0) + 1;
    this.#labels.set(name, number);
    const token = `token-${number}-of-${name}`;
    const digest = digestOf(token);
    const proof = { name, label: `${number}`, kind: "token", digest, expiresWallMs: 0 } as const;
    return [
      { kind: "order", wish: { op: OP.putCredential, ...proof } },
      { kind: "hand", name, token },
    ];
  }

  #stepsOf(change: AccessChange): Step[] {
    const { name, kind } = change;
    if (kind === "grant") return [grant(name, change.grant)];
    const wait: Step = { kind: "wait", ms: change.forMs };
    if (kind === "removeIdentity") {
      const removal: Step[] = [{ kind: "order", wish: { op: OP.removeIdentity, name } }];
      if (change.forMs === 0) return [...removal, { kind: "hand", name, token: undefined }];
      const { grants = [] } = this.#plan.identities.find((one) => one.name === name) ?? {};
      return [...removal, wait, ...this.#make(name, grants)];
    }
    const label = `${this.#labels.get(name) ?? 0}`;
    const removal: Step = { kind: "order", wish: { op: OP.removeCredential, name, label } };
    if (kind === "removeToken") return [removal, wait, ...this.#newToken(name)];
    return [...this.#newToken(name), wait, removal];
  }
}

function grant(name: string, { key, isPrefix, level }: GrantPlan): Step {
  return { kind: "order", wish: { op: OP.setGrant, name, key, isPrefix, level } };
}
