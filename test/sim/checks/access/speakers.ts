/**
 * With which credential each command that belongs to no session must stand in the log: that which its
 * connection showed. Commands of clients of whom nothing is known are not judged.
 */
import { NO_CREDENTIAL } from "../../../../src/protocol/index.js";
import { PromisedOrders } from "./promised-orders.js";
import type { Reckoning } from "./reckoning.js";
import { numberShowing } from "./reckoning.js";

export class Speakers {
  /** Of all who give orders without a session. */
  readonly orders = new PromisedOrders();
  /** SHA-256 of the tokens shown; several where the same command was sent again. */
  readonly #shown = new Map<string, Set<string | undefined>>();

  /** `digest`: of the token that the connection has shown, if any. */
  onSaid(what: string, digest: string | undefined): void {
    const shown = this.#shown.get(what);
    if (shown === undefined) this.#shown.set(what, new Set([digest]));
    else shown.add(digest);
  }

  /** Why the credential cannot belong to what was shown, then or before; `undefined` if it can. */
  problemOf(what: string, credential: number, reckoning: Reckoning): string | undefined {
    const shown = this.#shown.get(what);
    if (shown === undefined || (credential === NO_CREDENTIAL && shown.has(undefined))) {
      return undefined;
    }
    for (const digest of shown) {
      if (digest === undefined) continue;
      const isIts = reckoning.since(0).some((state) => numberShowing(state, digest) === credential);
      if (isIts) return undefined;
    }
    return `stands in the log with credential ${credential}, which its connection did not show`;
  }
}
