/**
 * Holds that applications hand over, against the log. An application that asked for a hand-over
 * gets the data if the log has executed it, and never hears that the log has confirmed what it has
 * not. What one process hands over at once goes to one process: among those that adopt it, only one
 * gets anything. A session that was left in that way has nothing any more when it is closed.
 */
import { Heirs } from "../../../../lab/laws/heirs.js";
import type { HandedOver } from "../../../../src/client/index.js";
import { OP, type Result, type SequencedCommand, STATUS } from "../../../../src/protocol/index.js";
import type { Fail } from "../violation.js";

/** An application has asked for a hand-over, and learns what became of that. */
export interface HandOverAsked {
  given(handed: HandedOver): void;
  /** It learns that nothing was handed over, or will be. */
  refused(): void;
}

interface Giver {
  /** Calls without an answer; calls of a process that is gone never get one. */
  open: number;
  /** Everything is handed over, and the session is closed then. */
  leaves: boolean;
  /** What the log has executed, and nobody was given. */
  readonly withheld: Set<string>;
}

interface Move {
  readonly op: typeof OP.handOver | typeof OP.adopt;
  /** The session that says it. */
  readonly by: string;
  readonly secret: string;
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

  /** @param leaves everything is to be handed over, and not one hold */
  onAsked(by: string, leaves: boolean): HandOverAsked {
    const giver = this.#givers.get(by) ?? { open: 0, leaves: false, withheld: new Set() };
    this.#givers.set(by, giver);
    giver.open += 1;
    if (leaves) giver.leaves = true;
    return {
      given: (handed) => {
        giver.open -= 1;
        this.#onGiven(giver, handed);
        this.#judge(by);
      },
      refused: () => {
        giver.open -= 1;
        if (leaves) giver.leaves = false;
        this.#judge(by);
      },
    };
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
      this.#moves.set(call, { op: command.op, by, secret: command.secret });
    } else if (command.op === OP.handOver && command.isBearer) {
      this.#moves.set(call, { op: command.op, by, secret: command.to });
    }
  }

  onResult(call: string, { status }: Result): void {
    const move = this.#moves.get(call);
    if (move === undefined) return;
    this.#moves.delete(call);
    if (move.op === OP.handOver && status === STATUS.leased) this.#onHandedOver(move);
    else if (move.op === OP.adopt && status === STATUS.adopted) this.#onAdopted(move);
  }

  #onHandedOver({ by, secret }: Move): void {
    this.#executed.add(secret);
    if (this.#wholes.has(secret)) return;
    this.#givers.get(by)?.withheld.add(secret);
    this.#judge(by);
  }

  #onAdopted({ by, secret }: Move): void {
    const other = this.#heirs.goesOn(by, this.#wholes.get(secret) ?? []);
    if (other === undefined) return;
    this.#complain(`${by} adopts some of what ${other} goes on with`);
  }

  /** The session of an application is closed by itself. `tokens`: of what it has. */
  onClosed(by: string, tokens: readonly number[]): void {
    if (this.#givers.get(by)?.leaves !== true || tokens.length === 0) return;
    this.#complain(`${by} is closed with ${tokens}, which it was to hand over`);
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
