/**
 * Where clients leave what others need to go on with their holds: the secrets of bearers, for the
 * clients that adopt them, and the names of owners, for the next process of one.
 */
import type { HandedOver } from "../../../src/client/index.js";
import type { BeliefClaim } from "./belief.js";

/** A hold that an owner has from somebody, or is to have. */
export interface Legacy {
  readonly owner: string;
  /** Who left it, whose identity the owner has. */
  readonly host: number;
  /** At most what the hold is: as the client that left it knows it by now. */
  readonly claims: readonly BeliefClaim[];
}

const LEFT_MAX = 8;
const VERSION = 1;

export class HandOverBoard {
  #handed: HandedOver[] = [];
  #legacies: Legacy[] = [];
  readonly #tried = new Set<string>();
  readonly #shared = new Map<string, readonly string[]>();

  get handed(): readonly HandedOver[] {
    return this.#handed;
  }

  /** Old ones fall off. */
  post(handed: HandedOver): void {
    this.#handed = [...this.#handed, handed].slice(-LEFT_MAX);
  }

  /** As the SDK would hand it over. */
  postSecret(clusterId: string, secret: string, keys: readonly string[]): void {
    const holds = [{ keys, secret, task: 1 }];
    this.post({ version: VERSION, clusterId, confirmed: false, holds });
  }

  /**
   * What a client that knows the secret of the latest bearer may take it for. Nobody does so again:
   * by that name it is an owner like any other, and two who use one owner count on the same lease.
   */
  tryBearer(): Legacy | undefined {
    const hold = this.#handed.at(-1)?.holds[0];
    if (hold === undefined || this.#tried.has(hold.secret)) return undefined;
    this.#tried.add(hold.secret);
    const claims = hold.keys.map((key) => ({ key, mode: "exclusive" as const, slots: [] }));
    return { owner: hold.secret, host: 0, claims };
  }

  /** What an application wanted of a hold, when it left it, only as shared: by the secret of the bearer. */
  noteShared(secret: string, keys: readonly string[]): void {
    this.#shared.set(secret, keys);
  }

  sharedOf(secret: string): readonly string[] {
    return this.#shared.get(secret) ?? [];
  }

  leave(legacy: Legacy): void {
    this.#legacies = [...this.#legacies, legacy].slice(-LEFT_MAX);
  }

  /** The latest from one of these hosts, which nobody else takes then. */
  take(hosts: readonly number[]): Legacy | undefined {
    const found = this.#legacies.findLast(({ host }) => hosts.includes(host));
    this.#legacies = this.#legacies.filter((legacy) => legacy !== found);
    return found;
  }
}
