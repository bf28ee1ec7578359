/**
 * Hand-overs of single holds. Each keeps its handles until a connection has the session, and leaves
 * its client then, before the command is sent (semantics.md, 8.5).
 */
import type { Call } from "../calls/call.js";
import type { Caller, Waiters } from "../calls/waiters.js";
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

/** What hand-overs need from the locks of their client. */
export interface HandOversHost {
  readonly waiters: Waiters;
  readonly clusterId: string;
  freshSecret(): string;
  submit(call: Call): void;
  /** Runs `depart` as soon as a connection has the session, which is at once if one has it. */
  departWhenAttached(): void;
  /** Its owner does not have it any more. */
  takeOut(hold: Hold): void;
  /** Begins a call of the application, unless the client is ending. */
  begin<T>(begin: (deadlineMs: number, caller: Caller<T>) => void): Promise<T>;
}

export class HandOvers {
  readonly #host: HandOversHost;
  /** Those that wait for a connection. */
  readonly #waiting = new Set<HandOverCall<Hold>>();

  constructor(host: HandOversHost) {
    this.#host = host;
  }

  async handOver(hold: Hold, options: HandOverOptions): Promise<HandedOver | undefined> {
    const wish = resolveHandOver(options, this.#host.freshSecret());
    const keys = hold.items.map(({ key }) => key);
    // The answer may be lost because no node of this cluster is left.
    const { clusterId } = this.#host;
    const confirmed = await this.#host.begin<boolean>((deadlineMs, caller) => {
      const { waiters } = this.#host;
      this.#waiting.add(new HandOverCall<Hold>(waiters, hold, wish, deadlineMs, caller));
      this.#host.departWhenAttached();
    });
    const { to: secret, isBearer } = wish;
    const task = hold.owner.id;
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
    // Whoever adopts it gets what its user knew that it had.
    if (upgrade?.mayBeExecuted === true) this.#host.submit(new DowngradeCall(hold, upgrade.key));
    const confirmed = await new Promise<boolean>((resolve, reject) => {
      const caller = { resolve, reject };
      this.#begin(new HandOverCall<Hold>(this.#host.waiters, hold, wish, NEVER, caller));
    });
    return { keys, secret, task: hold.owner.id, confirmed };
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
    this.#host.takeOut(hold);
    hold.ending = call;
    // Before requests are sent that wanted to share it.
    this.#host.submit(call);
    return true;
  }
}
