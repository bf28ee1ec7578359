/**
 * Whether one process of an application heeds what it hears: what it heard to be lost, and what
 * must have been reported lost before an answer that it heard, it no longer counts on once that
 * turn is over. Nor does it ask for what none of its tasks waits for, or hand over what it counts
 * on or has given back.
 */

import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import { OP, type SequencedCommand } from "../../../../src/protocol/index.js";
import type { ProcessSurroundings } from "./process-surroundings.js";
import type { SdkCalls } from "./sdk-calls.js";
import type { HeedfulProcess } from "./sdk-ear.js";
import type { SdkHold } from "./sdk-hold.js";
import type { SdkHolds } from "./sdk-holds.js";

export class SdkHeed implements HeedfulProcess {
  readonly #world: ProcessSurroundings;
  readonly #life: ProcessLife;
  readonly #calls: SdkCalls;
  readonly #holds: SdkHolds;

  readonly #hasSession: (session: number) => boolean;

  /** `hasSession`: whether the process has that session, and leaves it to nobody. */
  constructor(
    world: ProcessSurroundings,
    life: ProcessLife,
    calls: SdkCalls,
    holds: SdkHolds,
    hasSession: (session: number) => boolean,
  ) {
    this.#world = world;
    this.#hasSession = hasSession;
    this.#life = life;
    this.#calls = calls;
    this.#holds = holds;
  }

  endedInLog(session: number): readonly number[] {
    const { watch } = this.#world;
    const own = this.#holds.held.filter((hold) => hold.session === session);
    return own.map(({ token }) => token).filter((token) => !watch.isHeldInLog(session, token));
  }

  heedLater(ended: readonly number[] = []): void {
    this.#world.simulation.after(0, () => {
      this.#life.deliver(() => {
        this.demandHeed();
        for (const { token } of this.#holds.held) {
          if (!ended.includes(token)) continue;
          const what = `${token} had ended when something was asked that is answered now`;
          this.#calls.broken("losses are heeded", `${what}, and is counted on`);
        }
      });
    });
  }

  /** Goes by what the process heard before this turn. */
  demandHeed(): void {
    const { ears } = this.#world;
    for (const { session, token } of this.#holds.held) {
      if (!ears.of(session).isToldLost(token)) continue;
      this.#calls.broken("losses are heeded", `${token} was reported lost and is counted on`);
    }
    for (const hold of this.#holds.held) {
      const untold = this.#untold(hold);
      if (untold !== undefined)
        this.#calls.broken("what is reported reaches the application", untold);
    }
  }

  /** What the process heard of a hold before this turn, and its handles do not say. */
  #untold({ session, token, live }: SdkHold): string | undefined {
    const { ears, watch } = this.#world;
    if (!this.#hasSession(session)) return undefined;
    const told = ears.holdsOf(session).of(watch.numberInLog(session, token));
    if (told === undefined) return undefined;
    if (token < told.token) return `${token} is the token of a hold that has ${told.token}`;
    for (const { contendedCount, revokingCount } of live) {
      if (contendedCount !== (told.isContended ? 1 : 0)) {
        return `a handle of ${token} heard ${contendedCount} times that somebody waits`;
      }
      if (told.isRevoked && revokingCount === 0) return `a handle of ${token} heard of no revoke`;
    }
    return undefined;
  }

  nobodys(session: number): readonly number[] {
    if (!this.#hasSession(session)) return [];
    const { watch, ears } = this.#world;
    const told = ears.holdsOf(session);
    const kept = [...this.#holds.held, ...this.#holds.leaving]
      .filter((hold) => hold.session === session)
      .map(({ token }) => watch.numberInLog(session, token));
    return told.numbers.filter((number) => {
      if (kept.includes(number) || !watch.holdsInLog(session, number)) return false;
      return !this.#calls.isOpen(told.callOf(number));
    });
  }

  objection(session: number, command: SequencedCommand): string | undefined {
    if (command.op === OP.upgrade) return this.#objectionToUpgrade(session, command.target);
    if (command.op !== OP.handOver) return undefined;
    const hold = this.#holds.find(session, command.target);
    if (hold === undefined) return undefined;
    if (hold.count > 0) return `${hold.token} is handed over, and counted on`;
    if (hold.isCounted) return undefined;
    if (!hold.isHandedOver) return `${hold.token} was given back, and is handed over`;
    // A hold that is handed over by itself keeps an upgrade that is not answered yet.
    if (this.#holds.leaving.includes(hold)) return undefined;
    this.#world.board.noteShared(command.to, hold.sharedWhenLeft);
    return undefined;
  }

  /** A hold is to become stronger for a call of its task that still waits, and for nobody else. */
  #objectionToUpgrade(session: number, target: number): string | undefined {
    const hold = this.#holds.find(session, target);
    if (hold === undefined || hold.count === 0) return undefined;
    if (this.#calls.isWanted(hold.task)) return undefined;
    return `nobody waits for ${hold.token} to become exclusive`;
  }
}
