/**
 * What calls of applications say when they fail, against the log: of a call that says that it was not
 * carried out the log shows no effect, then or later. Acquires have values by which the log knows
 * each of them (`exactly-once.ts`). The calls here have none; they are known by what they ask for, and
 * counted: of those that ask for the same, no more have an effect than were made and did not say so.
 */
import { OP, type Result, type SequencedCommand, STATUS } from "../../../../src/protocol/index.js";
import type { Fail } from "../violation.js";

/** What a call may ask for whose fate is followed. */
export type FollowedCommand =
  | { readonly op: typeof OP.upgrade; readonly target: number; readonly key: string }
  | { readonly op: typeof OP.handOver; readonly target: number }
  | { readonly op: typeof OP.adopt; readonly secret: string }
  | {
      readonly op: typeof OP.revoke;
      readonly key: string | undefined;
      readonly graceMs: number;
      readonly now: boolean;
    };

/** What a command asks for in `session`, as text; `undefined`: it is not followed. */
export function wishOf(session: number, command: FollowedCommand): string;
export function wishOf(session: number, command: SequencedCommand): string | undefined;
export function wishOf(
  session: number,
  command: FollowedCommand | SequencedCommand,
): string | undefined {
  switch (command.op) {
    case OP.upgrade:
      return `upgrade ${command.key} of ${session}/${command.target}`;
    case OP.handOver:
      return `${handOversOf(session)}/${command.target}`;
    case OP.adopt:
      return `adopt ${command.secret}`;
    case OP.revoke:
      return `revoke ${command.key} ${command.now ? "now" : `in ${command.graceMs}`}`;
    default:
      return undefined;
  }
}

function handOversOf(session: number): string {
  return `hand over ${session}`;
}

const EFFECTS: readonly number[] = [STATUS.leased, STATUS.upgraded, STATUS.adopted, STATUS.revoked];

interface Count {
  made: number;
  denied: number;
  effects: number;
  /** One call may need several commands; such an effect is not the last of its call. */
  begun: number;
}

export class ToldFates {
  readonly #fail: Fail;
  /** By client, and what it asked for. */
  readonly #counts = new Map<string, Count>();
  /** How often sessions were to hand everything over: a call for whatever they hold. */
  readonly #departures = new Map<string, number>();
  /** What was executed and had no effect yet, by call: an upgrade may wait. */
  readonly #executed = new Map<string, string>();

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  /** An application asks for it. */
  onMade(host: number, wish: string): void {
    this.#of(`client ${host}: ${wish}`).made += 1;
  }

  /** An application asks to hand over everything that its `session` holds. */
  onAllHandedOver(host: number, session: number): void {
    const giver = `client ${host}: ${handOversOf(session)}`;
    this.#departures.set(giver, (this.#departures.get(giver) ?? 0) + 1);
  }

  /** A call for it says that it was not carried out. */
  onDenied(host: number, wish: string): void {
    const what = `client ${host}: ${wish}`;
    this.#of(what).denied += 1;
    this.#judge(what);
  }

  /** An entry executed it. `call`: session and sequence. */
  onExecuted(host: number, call: string, wish: string): void {
    this.#executed.set(call, `client ${host}: ${wish}`);
  }

  /** What an entry answered, or how a wait ended. */
  onResult(call: string, result: Result): void {
    const what = this.#executed.get(call);
    if (what === undefined || !EFFECTS.includes(result.status)) return;
    this.#executed.delete(call);
    const count = this.#of(what);
    if ("remaining" in result && result.remaining > 0) count.begun += 1;
    else count.effects += 1;
    this.#judge(what);
  }

  #judge(what: string): void {
    const { made: madeAlone, denied, effects, begun } = this.#of(what);
    const made = madeAlone + (this.#departures.get(what.slice(0, what.lastIndexOf("/"))) ?? 0);
    const isRight = denied === made ? effects + begun === 0 : effects <= made - denied;
    if (denied === 0 || isRight) return;
    const calls = `of ${made} calls ${denied} say that they were not carried out`;
    this.#fail("not carried out is not executed", `${what}: ${calls}, and ${effects} were`);
  }

  #of(what: string): Count {
    let count = this.#counts.get(what);
    if (count === undefined) {
      count = { made: 0, denied: 0, effects: 0, begun: 0 };
      this.#counts.set(what, count);
    }
    return count;
  }
}
