/**
 * Hand-overs of single holds. Each keeps its handles until a connection has the session, and leaves
 * its client then, before the command is sent (semantics.md, 8.8).
 */
import { type Beginning, beginCall } from "../calls/begin-call.js";
import type { Call } from "../calls/call.js";
import type { Waiters } from "../calls/waiters.js";
import { nameOf, unavailable } from "../failures.js";
import {
  type HandedOver,
  type HandedOverHold,
  type HandOverOptions,
  handedOver,
  resolveHandOver,
} from "../options/hand-over-options.js";
import { HandOverCall } from "./hand-over-call.js";
import type { Hold } from "./hold.js";
import { DowngradeCall } from "./hold-calls.js";

const NEVER = Number.POSITIVE_INFINITY;

/** What hand-overs need from their session. */
export interface HandOversHost extends Beginning {
  /** The cluster of the session; "" before there was one. */
  readonly clusterId: string;
  /** How long a hand-over may look for the cluster. */
  readonly tryTimeoutMs: number;
  /** 32 random hex digits that cannot be guessed. */
  freshSecret(): string;
  submit(call: Call): void;
  /** Runs `depart` as soon as a connection has the session, which is at once if one has it. */
  departWhenAttached(): void;
}

export class HandOvers {
  readonly #host: HandOversHost;
  readonly #waiters: Waiters;
  readonly #takeOut: (hold: Hold) => void;
  /** Those that wait for a connection. */
  readonly #waiting = new Set<HandOverCall<Hold>>();

  /** `takeOut`: the session does not have the hold any more. */
  constructor(host: HandOversHost, waiters: Waiters, takeOut: (hold: Hold) => void) {
    this.#host = host;
    this.#waiters = waiters;
    this.#takeOut = takeOut;
  }

  async handOver(hold: Hold, options: HandOverOptions): Promise<HandedOver | undefined> {
    const wish = resolveHandOver(options, this.#host.freshSecret());
    const keys = hold.items.map(({ key }) => key);
    // The answer may be lost because no node of this cluster is left.
    const host = this.#host;
    const { clusterId } = host;
    const confirmed = await beginCall<boolean>(host, undefined, (nowMs, caller) => {
      const deadlineMs = nowMs + host.tryTimeoutMs;
      this.#waiting.add(new HandOverCall<Hold>(this.#waiters, hold, wish, deadlineMs, caller));
      host.departWhenAttached();
    });
    const { to: secret, isBearer } = wish;
    const task = hold.task.id;
    if (isBearer) return handedOver({ clusterId, confirmed, holds: [{ keys, secret, task }] });
    const what = `the hand-over of ${nameOf(hold.items)}`;
    if (!confirmed) throw unavailable(what, "the answer of the cluster was lost", true);
    return undefined;
  }

  /** A connection has the session: what is to be handed over goes now. */
  depart(): void {
    for (const call of this.#waiting) {
      const hold = call.target;
      this.#waiting.delete(call);
      // By an earlier one of these.
      if (hold.endedBy !== undefined) call.onLost(hold.endedBy);
      else if (this.#begin(call)) hold.end("moved");
    }
  }

  /**
   * Hands a hold over to a bearer, on a connection that has the session. The caller ends its handles.
   * Rejects if it was not handed over.
   */
  async leave(
    hold: Hold,
    ttlMs: number,
  ): Promise<HandedOverHold & { readonly confirmed: boolean }> {
    const secret = this.#host.freshSecret();
    const keys = hold.items.map(({ key }) => key);
    const wish = { to: secret, isBearer: true, ttlMs };
    const { upgrade } = hold;
    // The process that adopts it gets what its user knew that it had.
    if (upgrade?.mayBeExecuted === true) this.#host.submit(new DowngradeCall(hold, upgrade.key));
    const confirmed = await new Promise<boolean>((resolve, reject) => {
      const caller = { resolve, reject };
      this.#begin(new HandOverCall<Hold>(this.#waiters, hold, wish, NEVER, caller));
    });
    return { keys, secret, task: hold.task.id, confirmed };
  }

  /** Some holds have ended, perhaps one that was to be handed over. */
  strand(): void {
    for (const call of this.#waiting) {
      const { endedBy } = call.target;
      if (endedBy === undefined) continue;
      this.#waiting.delete(call);
      call.onLost(endedBy);
    }
  }

  #begin(call: HandOverCall<Hold>): boolean {
    if (!call.begins()) return false;
    const hold = call.target;
    this.#takeOut(hold);
    hold.ending = call;
    // Before requests are sent that wanted to share it.
    this.#host.submit(call);
    return true;
  }
}
