/** Which token each client was handed, as its administrator does outside of the cluster. */
import type { AccessPlan } from "../../plan/access-plan.js";
import { STEADY } from "../../plan/access-plan.js";

/** Who may do everything, from the beginning on. */
export const ROOT = "root";

export class Keyring {
  readonly #names = new Map<number, string>();
  readonly #tokens = new Map<string, string>();
  /** All that were ever made, in their order. */
  readonly #made: string[] = [];
  readonly #owners = new Map<string, string>();
  #isForgotten = false;

  constructor({ identities }: AccessPlan) {
    for (const { name, hosts } of identities) for (const host of hosts) this.#names.set(host, name);
  }

  /** The token of the administrator. */
  get root(): string | undefined {
    return this.#tokens.get(ROOT);
  }

  /** The tokens of everybody but the administrator, good or not. */
  get all(): readonly string[] {
    return this.#made;
  }

  /** Those that are of other identities than the client's. */
  foreignTo(host: number): readonly string[] {
    const own = this.#names.get(host);
    return this.#made.filter((token) => this.#owners.get(token) !== own);
  }

  /** Whether it is to come as somebody. */
  isNamed(host: number): boolean {
    return this.#names.has(host) && !this.#isForgotten;
  }

  /** What it was handed last, be it good for nothing by now; `undefined`: nothing yet. */
  lastTokenOf(host: number): string | undefined {
    const name = this.#names.get(host);
    return this.#made.findLast((token) => this.#owners.get(token) === name);
  }

  /** `undefined`: it has none, or none yet. */
  tokenOf(host: number): string | undefined {
    const name = this.#names.get(host);
    return name === undefined ? undefined : this.#tokens.get(name);
  }

  /** Whether the client may ever be told that nobody knows it. */
  mayBeRefused(host: number): boolean {
    return this.#isForgotten || this.#names.get(host) !== STEADY;
  }

  /** Says so to the clients that have the name: `onHanded` is called with each host. */
  hand(name: string, token: string | undefined, onHanded: (host: number) => void): void {
    if (token === undefined) this.#tokens.delete(name);
    else this.#tokens.set(name, token);
    if (token !== undefined && name !== ROOT) {
      this.#made.push(token);
      this.#owners.set(token, name);
    }
    for (const [host, owner] of this.#names) if (owner === name) onHanded(host);
  }

  /** The cluster that knew them is no more. */
  forget(): void {
    this.#isForgotten = true;
    this.#tokens.clear();
  }
}
