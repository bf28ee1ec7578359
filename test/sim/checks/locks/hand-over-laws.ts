/**
 * Holds that applications hand over, against the log. An application that asked for a hand-over
 * gets the data if the log has executed it, and never hears that the log has confirmed what it has
 * not. What one process hands over at once goes to one process: among those that adopt it, only one
 * gets anything. A session that was left in that way has nothing any more when it is closed, but
 * what a call of its own has failed to hand over: the client ends that anyway.
 */
import { Heirs } from "../../../../lab/laws/heirs.js";
import type { HandedOver } from "../../../../src/client/index.js";
import { OP, type Result, type SequencedCommand, STATUS } from "../../../../src/protocol/index.js";
import type { Fail } from "../violation.js";

/** An application has asked for a hand-over, and learns what became of that. */
export interface HandOverAsked {
  given(handed: HandedOver): void;
  /** It learns that nothing was handed over, or will be. `isOver`: nor does it have that any more. */
  refused(isOver: boolean): void;
}

interface Giver {
  /** Calls without an answer; calls of a process that is gone never get one. */
  open: number;
  /** Everything is handed over, and the session is closed then. */
  leaves: boolean;
  /** What the log has executed, and nobody was given. */
  readonly withheld: Set<string>;
  /** Holds that a call of their own is to hand over, by number. */
  readonly alone: Set<number>;
  /** Some of `alone`: holds that were given up, and that the log leaves to the session. */
  readonly stranded: Set<number>;
}

interface Move {
  readonly op: typeof OP.handOver | typeof OP.adopt;
  /** The session that says it. */
  readonly by: string;
  readonly secret: string;
  /** The number of what is handed over; 0: of nothing. */
  readonly target: number;
}

export class HandOverLaws {
  readonly #fail: Fail;
  /** By session; only sessions of applications. */
  readonly #givers = new Map<string, Giver>();
  /** Secrets by which the log has given holds to bearers. */
  readonly #executed = new Set<string>();
  /** What was handed over by one call, by the secret of each of its holds. */
  readonly #wholes = new Map<string, readonly string[]>();
  /** Of these secrets, sessions. */
  readonly #heirs = new Heirs<string, string>();
  /** What was executed and is not answered yet, by session and sequence. */
  readonly #moves = new Map<string, Move>();

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  /** @param target the number of one hold; `undefined`: everything is to be handed over */
  onAsked(by: string, target: number | undefined): HandOverAsked {
    const giver = this.#giverOf(by);
    giver.open += 1;
    if (target === undefined) giver.leaves = true;
    else giver.alone.add(target);
    return {
      given: (handed) => {
        giver.open -= 1;
        if (target !== undefined && !handed.confirmed) giver.stranded.add(target);
        this.#onGiven(giver, handed);
        this.#judge(by);
      },
      refused: (isOver) => {
        giver.open -= 1;
        if (target === undefined) giver.leaves = false;
        else if (isOver) giver.stranded.add(target);
        else giver.alone.delete(target);
        this.#judge(by);
      },
    };
  }

  #giverOf(by: string): Giver {
    const sets = { withheld: new Set<string>(), alone: new Set<number>() };
    const fresh = { open: 0, leaves: false, ...sets, stranded: new Set<number>() };
    const giver = this.#givers.get(by) ?? fresh;
    this.#givers.set(by, giver);
    return giver;
  }

  #onGiven(giver: Giver, { confirmed, holds }: HandedOver): void {
    const whole = holds.map(({ secret }) => secret);
    for (const { secret, keys } of holds) {
      giver.withheld.delete(secret);
      this.#wholes.set(secret, whole);
      if (!confirmed || this.#executed.has(secret)) continue;
      this.#complain(`the hand-over of ${keys} is confirmed, and was not executed`);
    }
  }

  /** An entry executed that. `call`: its session and sequence; `by`: the session of a client. */
  onExecuted(call: string, by: string, command: SequencedCommand): void {
    if (command.op === OP.adopt) {
      this.#moves.set(call, { op: command.op, by, secret: command.secret, target: 0 });
    } else if (command.op === OP.handOver && command.isBearer) {
      const { op, to: secret, target } = command;
      this.#moves.set(call, { op, by, secret, target });
    }
  }

  onResult(call: string, { status }: Result): void {
    const move = this.#moves.get(call);
    if (move === undefined) return;
    this.#moves.delete(call);
    if (move.op === OP.handOver) this.#onHandOver(move, status === STATUS.leased);
    else if (move.op === OP.adopt && status === STATUS.adopted) this.#onAdopted(move);
  }

  #onHandOver({ by, secret, target }: Move, isDone: boolean): void {
    const giver = this.#givers.get(by);
    if (!isDone) {
      if (giver?.alone.has(target)) giver.stranded.add(target);
      return;
    }
    this.#executed.add(secret);
    if (this.#wholes.has(secret)) return;
    giver?.withheld.add(secret);
    this.#judge(by);
  }

  #onAdopted({ by, secret }: Move): void {
    const other = this.#heirs.goesOn(by, this.#wholes.get(secret) ?? []);
    if (other === undefined) return;
    this.#complain(`${by} adopts some of what ${other} goes on with`);
  }

  /** The session of an application is closed by itself. `numbers`: of what it has. */
  onClosed(by: string, numbers: readonly number[]): void {
    const giver = this.#givers.get(by);
    if (giver?.leaves !== true) return;
    const kept = numbers.filter((number) => !giver.stranded.has(number));
    if (kept.length === 0) return;
    this.#complain(`${by} is closed with ${kept}, which it was to hand over`);
  }

  #judge(by: string): void {
    const giver = this.#givers.get(by);
    if (giver === undefined || giver.open > 0 || giver.withheld.size === 0) return;
    this.#complain(
      `${giver.withheld.size} holds of ${by} are handed over, and nobody can adopt them`,
    );
  }

  #complain(what: string): void {
    this.#fail("what is handed over is one heir's", what);
  }
}
