/**
 * The resource that the locks protect, with a gate that follows the rule of the mode
 * (docs/coding/fencing.md). Two things must hold, whatever clients, clocks and operators do: a
 * rightful holder is never refused, and a token never admits two processes unless one of them
 * lost it to the other.
 */
import type { GuardedWrite } from "../../clients/client-watch.js";
import type { Fail } from "../violation.js";

class Gate {
  /** The largest token of any mode that was seen. */
  newest = 0;
  /** The largest token that came as exclusive. */
  newestExclusive = 0;

  admits({ mode, token }: GuardedWrite): boolean {
    return token >= (mode === "shared" ? this.newestExclusive : this.newest);
  }

  see({ mode, token }: GuardedWrite): void {
    this.newest = Math.max(this.newest, token);
    if (mode === "exclusive") this.newestExclusive = Math.max(this.newestExclusive, token);
  }
}

export class FencedResource {
  readonly #fail: Fail;
  readonly #gates = new Map<string, Gate>();
  readonly #writers = new Map<number, GuardedWrite["belief"]>();
  refused = 0;
  accepted = 0;

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  /** `isRightful`: the writer counts on the hold, and nothing took it away untold. */
  write(write: GuardedWrite, isRightful: boolean): void {
    const { key, slot, token, belief } = write;
    const name = `${key}/${slot}`;
    let gate = this.#gates.get(name);
    if (gate === undefined) {
      gate = new Gate();
      this.#gates.set(name, gate);
    }
    const who = `client ${belief.client.host} with ${token}`;
    if (!gate.admits(write)) {
      this.refused += 1;
      if (isRightful)
        this.#fail("fencing", `${who} holds ${name} and is refused at ${gate.newest}`);
      return;
    }
    this.accepted += 1;
    gate.see(write);
    const other = this.#writers.get(token);
    this.#writers.set(token, belief);
    if (other === undefined || other === belief) return;
    this.#fail("fencing", `${who} and client ${other.client.host} both write to ${name}`);
  }
}
